"""Axes of arrays that have none: 0 and -1 are taken by reductions, in every mode, as in PyTorch."""

from collections.abc import Callable
from typing import Any

import pytest
from numpy.exceptions import AxisError

import dispatchkit as dk

REDUCTIONS: list[Any] = [
    *(dk.sum, dk.mean, dk.prod, dk.max, dk.min, dk.var, dk.std, dk.logsumexp, dk.average),
    *(dk.nansum, dk.nanmean, dk.nanprod, dk.nanmax, dk.nanmin, dk.nanvar, dk.nanstd),
    *(dk.softmax, dk.log_softmax, dk.linalg.vector_norm, dk.norm),
]
NEEDS_AXES: list[Any] = [dk.cumulative_sum, dk.cumulative_prod, dk.sort, dk.argsort, dk.flip, dk.median, dk.unstack]


def results(function: Callable[..., Any], **axis: Any) -> list[float]:
    """Return value, gradient, tangent, the value under vmap, and that without a graph."""
    x = dk.tensor(0.5, requires_grad=True)
    y = function(x, **axis)
    y.backward()
    _, tangent = dk.func.jvp(lambda v: function(v, **axis), (dk.tensor(0.5),), (dk.tensor(1.0),))
    (mapped,) = dk.func.vmap(lambda v: function(v, **axis))(dk.tensor([0.5]))
    assert y.shape == mapped.shape == ()
    return [one.item() for one in (y, dk.asarray(x.grad), tangent, mapped, function(dk.tensor(0.5), **axis))]


@pytest.mark.parametrize("function", REDUCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("axis", [0, -1])
def test_the_first_and_last_axis_are_none(function: Callable[..., Any], axis: int) -> None:
    assert results(function, axis=axis) == results(function, axis=None)


@pytest.mark.parametrize("function", [*REDUCTIONS, *NEEDS_AXES], ids=lambda f: f.__name__)
def test_others_are_out_of_bounds(function: Callable[..., Any]) -> None:
    with pytest.raises(AxisError, match="axis 1 is out of bounds"):
        function(dk.tensor(0.5), axis=1)


@pytest.mark.parametrize("function", NEEDS_AXES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("axis", [0, -1])
def test_what_needs_an_axis_says_so(function: Callable[..., Any], axis: int) -> None:
    with pytest.raises(AxisError, match=f"axis {axis} is out of bounds"):
        function(dk.tensor(0.5), axis=axis)


@pytest.mark.parametrize("function", [dk.logsumexp, dk.nanvar, dk.var, dk.random.permutation])
def test_an_axis_out_of_bounds_is_named(function: Callable[..., Any]) -> None:
    with pytest.raises(AxisError, match=r"axis 5 is out of bounds for an? array"):
        function(dk.ones(3), axis=5)

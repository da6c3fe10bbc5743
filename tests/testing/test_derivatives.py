"""Derivatives through a type compared with those of the dense computation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.testing.comparing.differences import WrongDerivatives, wrong_derivatives

Function = Callable[[Any], Any]


def compared(dense: Function, own: Function, *elements: float, **kwargs: Any) -> WrongDerivatives | None:
    """Compare the gradients of two functions of one array, weighted with 0.5 for the first element to 1.5."""
    with np.errstate(all="ignore"):
        return wrong_derivatives(
            lambda plain: lambda x: [(dense if plain else own)(x)], [dk.tensor(elements)], **kwargs
        )


def raising(x: Any) -> Any:
    raise ValueError("no answer today")


@pytest.mark.parametrize("own", [dk.sqrt, lambda x: x**0.5])
def test_equal_derivatives_are_not_reported(own: Function) -> None:
    assert compared(dk.sqrt, own, 1.0, 4.0) is None


@pytest.mark.parametrize(
    ("elements", "brief"),
    [((1.0, 4.0), "0.75 instead of 0.375 at (1,)"), ((0.0, 4.0), "0.75 instead of 0.375 at (1,)")],
    ids=["everywhere finite", "infinite at the first"],
)
def test_a_difference_is_found_wherever_the_dense_derivative_is_finite(elements: Any, brief: str) -> None:
    found = compared(dk.sqrt, lambda x: 2 * dk.sqrt(x), *elements)
    assert found is not None
    assert (found.place, found.brief, found.lost(0)) == (0, brief, False)


def test_nothing_is_compared_where_no_element_has_a_derivative() -> None:
    assert compared(dk.sqrt, lambda x: 2 * dk.sqrt(x), 0.0) is None


def test_a_derivative_that_is_cut_off_is_lost() -> None:
    found = compared(dk.exp, lambda x: dk.exp(x.detach()) + 0 * x, 0.0, 1.0)
    assert found is not None
    assert found.lost(0)
    np.testing.assert_array_equal(found.found, [[0.0, 0.0]])
    np.testing.assert_allclose(found.expected, [[0.5, 1.5 * np.e]], rtol=1e-15)


def test_what_is_raised_is_found_but_what_refuses_is_not() -> None:
    found = compared(dk.exp, raising, 1.0)
    assert found is not None
    assert repr(found.found) == "ValueError('no answer today')"
    assert compared(dk.exp, raising, 1.0, refusals=(ValueError,)) is None


def test_what_plain_tensors_cannot_do_is_not_asked() -> None:
    assert compared(raising, dk.exp, 1.0) is None


def test_a_corner_may_have_any_derivative() -> None:
    assert compared(lambda x: 0 * x, dk.sqrt, 0.0) is None


def test_a_derivative_is_as_exact_as_the_result() -> None:
    assert compared(lambda x: dk.astype(x, "float32") / 3, lambda x: x / 3, 1.0, 2.0) is None

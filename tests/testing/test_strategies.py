"""Strategies draw what they say."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.testing import axes, shapes, tensors


@given(tensors())
def test_tensors_are_finite_numbers_of_double_precision(x: dk.Tensor) -> None:
    assert type(x) is dk.Tensor
    assert x.dtype == dk.float64
    assert np.all(np.abs(x.numpy()) <= 10)
    assert not x.requires_grad


@given(tensors(shape=st.sampled_from([(2,), (3, 1)]), dtype=st.sampled_from(["float32", "int64", "bool"])))
def test_shape_and_dtype_may_be_strategies(x: dk.Tensor) -> None:
    assert x.shape in ((2,), (3, 1))
    assert str(x.dtype) in ("float32", "int64", "bool")


@given(tensors(dtype=st.sampled_from(["float64", "int32", "complex128"]), requires_grad=True))
def test_integers_require_no_gradient(x: dk.Tensor) -> None:
    assert x.requires_grad is (x.dtype.kind in "fc")


def test_whether_a_gradient_is_required_may_be_a_strategy() -> None:
    strategy = tensors(shape=(1,), requires_grad=st.booleans())
    assert find(strategy, lambda x: x.requires_grad).requires_grad
    assert not find(strategy, lambda x: not x.requires_grad).requires_grad


@given(tensors(shape=(3,), elements=st.floats(1, 2), unique=True))
def test_elements_may_be_chosen(x: dk.Tensor) -> None:
    assert np.all((x.numpy() >= 1) & (x.numpy() <= 2))
    assert len(set(x.tolist())) == 3


@given(shapes(min_dims=1, max_dims=2, min_side=2, max_side=3))
def test_shapes_are_within_bounds(shape: tuple[int, ...]) -> None:
    assert len(shape) in (1, 2)
    assert set(shape) <= {2, 3}


@given(st.data(), shapes(min_side=1))
def test_axes_fit_the_shape(data: Any, shape: tuple[int, ...]) -> None:
    axis = data.draw(axes(shape))
    np.testing.assert_allclose(dk.sum(dk.ones(shape), axis=axis).numpy(), np.sum(np.ones(shape), axis=axis))


def test_kinds_of_axes_can_be_left_out() -> None:
    assert find(axes(2, none=False, several=False), lambda axis: True) in (-2, -1, 0, 1)
    with pytest.raises(ValueError, match=r"^axes: an array without axes has no axis; allow none or several$"):
        axes((), none=False, several=False)


def test_without_hypothesis_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    for strategy in (shapes, tensors, lambda: axes(2)):
        with pytest.raises(
            ImportError, match=r"^dispatchkit.testing: strategies need Hypothesis; install dispatchkit\["
        ):
            strategy()

"""Numbers of Python stand for arrays without axes, alone and beside arrays; only integers are axes and counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

X = dk.reshape(dk.arange(6.0), (2, 3))


@pytest.mark.parametrize("function", [dk.sum, dk.mean, dk.max, dk.nansum, dk.linalg.vector_norm, dk.median])
def test_a_number_is_reduced_to_itself(function: Any) -> None:
    found = function(2.5)
    assert isinstance(found, dk.Tensor)
    assert found.shape == ()
    assert found.item() == 2.5


def test_arrays_like_a_number_have_its_dtype_and_no_axes() -> None:
    assert repr(dk.zeros_like(2.0)) == "tensor(0.)"
    assert dk.ones_like(True).dtype == dk.bool
    assert dk.empty_like(1).dtype == dk.int64
    assert dk.full_like(2.0, 3).tolist() == 3.0
    assert dk.random.normal(shape=()).shape == dk.rand_like(2.0).shape == ()


def test_what_is_computed_by_other_operations_takes_numbers() -> None:
    assert dk.average(3.0).item() == 3.0
    assert dk.quantile(2.0, dk.asarray([0.0, 1.0])).tolist() == [2.0, 2.0]
    assert dk.nn.functional.mse_loss(2.0, 0.5).item() == 2.25
    loss = dk.nn.functional.huber_loss(2, dk.asarray(0.5, dtype=dk.float32))
    assert (loss.item(), loss.dtype) == (1.0, dk.float32)


def test_a_number_has_no_axis_to_take_differences_along() -> None:
    with pytest.raises(np.exceptions.AxisError, match="diff: axis -1 is out of bounds for array of dimension 0"):
        dk.diff(2.0)
    with pytest.raises(np.exceptions.AxisError, match="gather: axis 0 is out of bounds for array of dimension 0"):
        dk.gather(2.0, 0, 0)


def test_numbers_are_indices_without_axes() -> None:
    x = dk.arange(3.0)
    assert dk.take(x, 1).item() == 1.0
    with pytest.raises(ValueError, match=r"gather: indices of shape \(\) do not fit x of shape \(3,\) along axis 0"):
        dk.gather(x, 0, 1)
    with pytest.raises(ValueError, match=r"bincount: weights of shape \(\) for integers of shape \(3,\)"):
        dk.bincount(dk.arange(3), weights=dk.asarray(1.0))


def test_a_number_takes_the_shape_that_is_asked_for() -> None:
    assert dk.reshape(2, (1, 1)).tolist() == [[2]]
    assert dk.broadcast_to(1.5, (2,)).tolist() == [1.5, 1.5]
    assert dk.ravel(True).tolist() == [True]


def test_a_number_without_axes_has_none_to_transpose() -> None:
    with pytest.raises(ValueError, match="axis"):
        dk.expand_dims(2.0, axis=4)


def test_numbers_beside_arrays_make_grids_and_broadcast() -> None:
    first, second = dk.meshgrid(dk.ones(3), 2.0)
    assert (first.shape, second.tolist()) == ((1, 3), [[2.0, 2.0, 2.0]])
    assert [x.tolist() for x in dk.broadcast_arrays(dk.ones(2), 3)] == [[1.0, 1.0], [3, 3]]
    assert [x.shape for x in dk.meshgrid(2.0, 3.0)] == [(1, 1), (1, 1)]


def test_numbers_beside_single_precision_do_not_widen_it() -> None:
    x = dk.ones(2, dtype=dk.float32)
    assert dk.where(dk.asarray([True, False]), x, 0.0).dtype == dk.float32
    assert dk.where(True, x, 0.0).dtype == dk.float32


@pytest.mark.parametrize("axis", [np.True_, dk.asarray(True), 1.0, "0"])
def test_what_is_no_integer_is_no_axis(axis: Any) -> None:
    for call in (
        lambda: dk.swapaxes(X, axis, 0),
        lambda: dk.unstack(X, axis=axis),
        lambda: dk.chunk(X, 2, axis=axis),
        lambda: dk.moveaxis(X, axis, 0),
        lambda: dk.flip(X, axis=axis),
    ):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize(
    ("function", "args", "options", "text"),
    [
        (dk.sum, (X,), {"axis": 1.0}, "dispatchkit.sum: axis must be an int, a tuple of ints or None, found 1.0"),
        (dk.gather, (X, 1.0, X), {}, "dispatchkit.gather: axis must be an int, found 1.0"),
        (dk.moveaxis, (X, 0, 1.0), {}, "moveaxis: destination must be an int or a tuple of ints, found 1.0"),
        (dk.permute_dims, (X, (1.0, 0)), {}, r"permute_dims: axes must be a tuple of ints, found \(1.0, 0\)"),
        (dk.diff, (X,), {"n": 1.0}, "dispatchkit.diff: n must be an int, found 1.0"),
        (dk.sort, (X,), {"axis": "a"}, "dispatchkit.sort: axis must be an int, found 'a'"),
        (dk.concat, (2.0,), {}, "dispatchkit.concat: arrays must be a sequence of arrays, found 2.0"),
        (dk.stack, (2,), {}, "dispatchkit.stack: arrays must be a sequence of arrays, found 2"),
    ],
)
def test_the_text_names_what_is_no_integer(function: Any, args: Any, options: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        function(*args, **options)


@pytest.mark.parametrize("count", [np.True_, dk.asarray(True), 1.0])
def test_what_is_no_integer_is_no_number_of_chunks(count: Any) -> None:
    with pytest.raises(TypeError, match="chunk: chunks must be an int, found"):
        dk.chunk(X, count)


def test_a_generator_is_asked_for_by_name() -> None:
    no_generator: Any = (0, 1)
    with pytest.raises(TypeError, match=r"generator must be a dispatchkit.random.Generator or None, found \(0, 1\)"):
        dk.random.normal(shape=(2,), generator=no_generator)


def test_shapes_to_broadcast_are_ints_and_tuples() -> None:
    assert dk.broadcast_shapes(3, (2, 1)) == (2, 3)
    no_shape: Any = 2.0
    with pytest.raises(TypeError, match=r"broadcast_shapes: shapes must be ints or tuples of ints, found 2\.0"):
        dk.broadcast_shapes(no_shape, (3,))

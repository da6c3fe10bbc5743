"""Indexing by everything NumPy knows, and tensors of one element as Python numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import basic_indices

import dispatchkit as dk

A = np.arange(12.0).reshape(3, 4)
MASK = A > 5
KEYS: dict[str, tuple[Any, Any]] = {
    "integer": (1, 1),
    "negative": (-1, -1),
    "NumPy integer": (np.int64(1), 1),
    "tensor integer": (dk.tensor(1), 1),
    "element": ((1, 2), (1, 2)),
    "tensor in a pair": ((dk.tensor(1), 2), (1, 2)),
    "slice": (slice(0, 2), slice(0, 2)),
    "step": (slice(None, None, -2), slice(None, None, -2)),
    "column": ((slice(None), 1), (slice(None), 1)),
    "ellipsis": ((..., 0), (..., 0)),
    "new axis": (None, None),
    "nothing": ((), ()),
    "list": ([0, 2], [0, 2]),
    "array": (np.array([0, 2]), [0, 2]),
    "tensor": (dk.tensor([0, 2]), [0, 2]),
    "two tensors": ((dk.tensor([0, 2]), dk.tensor([1, 1])), ([0, 2], [1, 1])),
    "mask": (MASK, MASK),
    "tensor mask": (dk.asarray(MASK), MASK),
    "row mask": (dk.tensor([True, False, True]), [True, False, True]),
    "slice to a tensor": (slice(None, dk.tensor(2)), slice(None, 2)),
}


@pytest.mark.parametrize("name", KEYS)
def test_reading(name: str) -> None:
    key, plain = KEYS[name]
    result = dk.asarray(A)[key]
    assert type(result) is dk.Tensor
    assert result.shape == A[plain].shape
    np.testing.assert_array_equal(result.numpy(), A[plain])
    np.testing.assert_array_equal(dk.getitem(dk.asarray(A), key).numpy(), A[plain])


@pytest.mark.parametrize("name", KEYS)
def test_writing(name: str) -> None:
    key, plain = KEYS[name]
    for value in (
        7.5,
        np.float64(7.5),
        dk.tensor(7.5),
        dk.tensor([7.5]) if name not in ("element", "tensor in a pair") else 7.5,
    ):
        x, a = dk.tensor(A), A.copy()
        x[key] = value
        a[plain] = 7.5
        np.testing.assert_array_equal(x.numpy(), a)


@given(basic_indices((3, 4), allow_newaxis=True))
def test_every_basic_index_reads_as_in_numpy(key: Any) -> None:
    result = dk.asarray(A)[key]
    assert result.shape == A[key].shape
    np.testing.assert_array_equal(result.numpy(), A[key])


@given(basic_indices((3, 4)), st.floats(-1, 1))
def test_every_basic_index_writes_as_in_numpy(key: Any, value: float) -> None:
    x, a = dk.tensor(A), A.copy()
    x[key] = value
    a[key] = value
    np.testing.assert_array_equal(x.numpy(), a)


def test_slices_share_memory_and_arrays_copy() -> None:
    x = dk.tensor(A)
    assert np.shares_memory(x[1:].array, x.array)
    assert np.shares_memory(x[0].array, x.array)
    assert not np.shares_memory(x[[0, 1]].array, x.array)


def test_iteration_goes_along_the_first_axis() -> None:
    rows = list(dk.asarray(A))
    assert [row.tolist() for row in rows] == A.tolist()
    first, *_ = dk.asarray(A)
    assert first.shape == (4,)


def test_iteration_lets_gradients_through() -> None:
    x = dk.tensor([1.0, 2.0, 3.0], requires_grad=True)
    a, b, c = x
    (a * b + c).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 1.0, 1.0]


def test_the_rows_of_a_tensor_in_the_graph_share_one_node() -> None:
    x = dk.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    first, second, third = x * 1.0
    places: list[Any] = [row.grad_fn for row in (first, second, third)]
    assert {place.name for place in places} == {"UnstackBackward"}
    assert len({place.main for place in places}) == 1
    (first * third).sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), [[5.0, 6.0], [0.0, 0.0], [1.0, 2.0]])


def test_rows_outside_the_graph_come_one_by_one_and_are_views() -> None:
    x = dk.zeros((2, 2))
    rows = iter(x)
    first = next(rows)
    first += 1.0
    x[1] = 5.0
    np.testing.assert_array_equal(next(rows).numpy(), [5.0, 5.0])
    np.testing.assert_array_equal(x.numpy(), [[1.0, 1.0], [5.0, 5.0]])


def test_membership() -> None:
    assert 3.0 in dk.asarray(A)
    assert 99.0 not in dk.asarray(A)


REFUSED: dict[str, Any] = {
    "too far": 3,
    "too many": (0, 0, 0),
    "text": "a",
    "float": 1.0,
    "float tensor": dk.tensor([1.0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_index_is_refused(name: str) -> None:
    with pytest.raises(IndexError):
        dk.asarray(A)[REFUSED[name]]
    with pytest.raises(IndexError):
        dk.tensor(A)[REFUSED[name]] = 1.0


def test_reductions_to_one_element_are_0d_tensors() -> None:
    for result in (dk.asarray(A).sum(), dk.asarray(A)[0, 0], dk.asarray(A).argmax(), dk.ones(2) @ dk.ones(2)):
        assert type(result) is dk.Tensor
        assert result.shape == ()
        assert type(result.array) is np.ndarray


@pytest.mark.parametrize(("value", "kind"), [(1, int), (1.5, float), (True, bool), (1j, complex)])
def test_item_is_a_python_number(value: Any, kind: type) -> None:
    assert type(dk.tensor(value).item()) is kind
    assert dk.tensor([[value]]).item() == value


def test_item_needs_one_element() -> None:
    with pytest.raises(ValueError, match=r"item\(\) needs a tensor of one element; this one has shape \(2,\)"):
        dk.ones(2).item()


def test_tolist_nests() -> None:
    assert dk.asarray(A).tolist() == A.tolist()
    assert dk.tensor(1.5).tolist() == 1.5


CONVERSIONS: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "float": (float, [2.5], 2.5),
    "int": (int, 2.7, 2),
    "complex": (complex, 1 + 2j, 1 + 2j),
    "bool": (bool, [0.0], False),
    "index": (operator.index, 3, 3),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_a_tensor_of_one_element_is_a_number_to_python(name: str) -> None:
    function, data, expected = CONVERSIONS[name]
    result = function(dk.tensor(data))
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("function", "error"),
    [(float, ValueError), (int, ValueError), (complex, ValueError), (operator.index, TypeError)],
)
def test_a_tensor_of_several_elements_is_none(function: Callable[[Any], Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=r"\(2,\)"):
        function(dk.tensor([1, 2]))


@pytest.mark.parametrize("shape", [(2,), (0,)])
def test_the_truth_of_several_elements_is_ambiguous(shape: tuple[int, ...]) -> None:
    with pytest.raises(
        ValueError, match=r"the truth value of a Tensor of shape .* is ambiguous; use any\(\) or all\(\)"
    ):
        bool(dk.ones(shape))


def test_a_floating_tensor_is_no_index() -> None:
    with pytest.raises(TypeError, match="only integers of one element can be an index, not a Tensor of float64"):
        operator.index(dk.tensor(1.0))
    with pytest.raises(
        TypeError, match=r"where a list is to be multiplied, make it an array: dk.asarray\(values\) \* x$"
    ):
        operator.mul([1.0, 2.0], dk.tensor(3.0))


def test_an_integer_tensor_indexes_lists() -> None:
    assert ["a", "b"][dk.tensor(1)] == "b"
    assert list(range(dk.tensor(2))) == [0, 1]


def test_a_0d_tensor_has_no_length() -> None:
    with pytest.raises(TypeError, match="0-D"):
        len(dk.tensor(1.0))
    with pytest.raises(TypeError, match="0-D"):
        iter(dk.tensor(1.0))
    with pytest.raises(IndexError):
        dk.tensor(1.0)[0]
    assert dk.tensor(1.5)[()].item() == dk.tensor(1.5)[...].item() == 1.5

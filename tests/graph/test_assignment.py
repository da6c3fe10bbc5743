"""`x[key] = value`: gradients to what stays, and to what is put in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

KEYS: dict[str, Any] = {
    "integer": 1,
    "negative": -1,
    "slice": slice(0, 2),
    "step": slice(None, None, 2),
    "everything": Ellipsis,
    "pair": (1, 0),
    "row and slice": (0, slice(None)),
    "column": (slice(None), 1),
    "list": [2, 0],
    "NumPy": np.array([2, 0]),
    "tensor": dk.tensor([2, 0]),
    "pairs": (dk.tensor([2, 0]), dk.tensor([1, 1])),
    "mask": np.array([[True, False], [False, True], [True, True]]),
    "tensor mask": dk.tensor([True, False, True]),
    "new axis": (None, 1),
}


@pytest.mark.parametrize("name", KEYS)
def test_gradients_reach_target_and_value(name: str) -> None:
    key = KEYS[name]
    raw = key.array if isinstance(key, dk.Tensor) else key
    raw = tuple(k.array if isinstance(k, dk.Tensor) else k for k in raw) if isinstance(raw, tuple) else raw
    shape = np.zeros((3, 2))[raw].shape
    rng = np.random.default_rng(0)

    def function(x: dk.Tensor, value: dk.Tensor) -> Any:
        y = x * 1.0
        y[key] = value
        return y * y

    x = dk.tensor(rng.normal(size=(3, 2)), requires_grad=True)
    value = dk.tensor(rng.normal(size=shape), requires_grad=True)
    assert dk.autograd.gradcheck(function, (x, value))
    expected = x.detach().numpy().copy()
    expected[raw] = value.detach().numpy()
    np.testing.assert_array_equal(function(x, value).detach().numpy(), expected**2)


@pytest.mark.parametrize("shape", [(), (2,), (1, 2), (3, 1), (3, 2)])
def test_a_value_broadcasts(shape: tuple[int, ...]) -> None:
    def function(value: dk.Tensor) -> Any:
        y = dk.zeros((3, 2))
        y[...] = value
        return y * y

    assert dk.autograd.gradcheck(function, (dk.ones(shape, requires_grad=True),))


def test_assigned_elements_give_no_gradient_to_what_they_replaced() -> None:
    x = dk.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    y[1] = 7.0
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 0.0, 2.0]


def test_a_constant_target_becomes_part_of_the_graph() -> None:
    value = dk.tensor(3.0, requires_grad=True)
    y = dk.zeros(2)
    y[0] = value
    assert y.requires_grad
    (y * y).sum().backward()
    assert value.grad is not None
    assert value.grad.item() == 6.0


def test_an_element_can_be_added_to() -> None:
    value = dk.tensor(3.0, requires_grad=True)
    y = dk.ones(2)
    y[0] += value
    y[0] *= value
    y.sum().backward()
    assert value.grad is not None
    assert value.grad.item() == 7.0


def test_a_slice_can_be_added_to() -> None:
    value = dk.tensor([3.0, 4.0], requires_grad=True)
    y = dk.ones(3)
    y[1:] += value
    (y * y).sum().backward()
    assert value.grad is not None
    assert value.grad.tolist() == [8.0, 10.0]


def test_an_element_assigned_twice_gives_the_gradient_to_the_last() -> None:
    value = dk.tensor([3.0, 5.0], requires_grad=True)
    y = dk.zeros(2)
    try:
        y[[0, 0]] = value
    except (dk.AutogradError, IndexError):
        return
    assert y.tolist() == [5.0, 0.0]
    y.sum().backward()
    assert value.grad is not None
    assert value.grad.tolist() == [0.0, 1.0]


def test_a_value_of_another_shape_is_refused() -> None:
    y = dk.zeros((3, 2))
    with pytest.raises(
        ValueError,
        match=r"setitem: a value of shape \(3,\) does not broadcast to the selected elements, of shape \(2,\)",
    ):
        y[0] = dk.ones(3)


OUTSIDE: dict[str, Callable[[dk.Tensor], Any]] = {
    "get": lambda y: y[5],
    "set": lambda y: y.__setitem__(5, 1.0),
    "too many": lambda y: y[0, 0, 0],
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_an_index_out_of_range_is_an_index_error(name: str) -> None:
    with pytest.raises(IndexError):
        OUTSIDE[name](dk.zeros((3, 2)))


def test_index_put_leaves_its_argument_alone() -> None:
    x = dk.zeros(3)
    assert dk.index_put(x, 1, 5.0).tolist() == [0.0, 5.0, 0.0]
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_index_put_adds_up_elements_named_twice() -> None:
    x = dk.zeros(2)
    assert dk.index_put(x, [0, 0], dk.tensor([1.0, 2.0]), accumulate=True).tolist() == [3.0, 0.0]


def test_indexing_adds_up_gradients_of_elements_read_twice() -> None:
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    (x[[0, 0, 1]] * dk.tensor([1.0, 2.0, 5.0])).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 5.0]

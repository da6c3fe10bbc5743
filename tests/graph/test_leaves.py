"""Leaves: which tensors are, what may require a gradient, and how gradients add up in them."""

from __future__ import annotations

import copy
import inspect
import rlcompleter
import warnings
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk


def leaf(*values: float) -> dk.Tensor:
    made: dk.Tensor = dk.tensor(list(values), requires_grad=True)
    return made


def test_a_tensor_made_by_the_user_is_a_leaf() -> None:
    x = leaf(1.0)
    assert x.is_leaf
    assert x.requires_grad
    assert x.grad_fn is None


def test_a_result_of_a_recorded_operation_is_no_leaf() -> None:
    y = leaf(1.0) * 2
    assert not y.is_leaf
    assert y.requires_grad
    assert repr(y.grad_fn) == "<MultiplyBackward>"


def test_a_result_that_needs_no_gradient_is_a_leaf() -> None:
    y = dk.ones(2) * 2
    assert y.is_leaf
    assert not y.requires_grad
    assert y.grad_fn is None


def test_next_functions_lead_to_the_leaf() -> None:
    x = leaf(1.0)
    node = (x * 2).grad_fn
    assert node is not None
    ((first, index), (second, _)) = node.next_functions  # type: ignore[attr-defined]
    assert repr(first) == "<AccumulateGrad>"
    assert (index, second) == (0, None)


def test_a_gradient_is_none_before_the_first_backward() -> None:
    assert leaf(1.0).grad is None


def test_gradients_of_several_passes_add_up() -> None:
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    (x * x).sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), [4.0, 8.0])


def test_a_gradient_set_to_none_starts_anew() -> None:
    x: Any = leaf(1.0, 2.0)
    x.sum().backward()
    x.grad = None
    (x * x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0])


def test_a_leaf_used_twice_gets_both_gradients() -> None:
    x = leaf(3.0)
    (x * x + x).sum().backward()
    assert x.grad is not None
    assert x.grad.item() == 7.0


def test_only_leaves_keep_their_gradients() -> None:
    x = leaf(1.0)
    y = x * 2
    (y * 3).sum().backward()
    message = r"^grad is None: a tensor that is no leaf keeps no gradient; call retain_grad\(\) before backward\(\)$"
    with pytest.warns(dk.errors.GradientWarning, match=message) as caught:
        assert y.grad is None
    assert caught[0].filename == __file__
    assert x.grad is not None


def test_the_missing_gradient_warns_once_per_place() -> None:
    y = leaf(1.0) * 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            y.grad  # noqa: B018  # which is what warns
        y.grad  # noqa: B018  # another place
    assert len(caught) == 2


@pytest.mark.parametrize(
    "look",
    [
        copy.copy,
        copy.deepcopy,
        dir,
        lambda y: inspect.getmembers(y[:, None]),
        repr,
        "{:.2f}".format,
        lambda y: rlcompleter.Completer({"y": y}).complete("y.gr", 0),
        lambda y: y.detach(),
        lambda y: (y.retain_grad(), y.grad),
    ],
)
def test_who_asks_for_no_gradient_is_not_warned(look: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        look(leaf(1.0) * 2)


@pytest.mark.parametrize("dtype", ["int64", "bool", "uint8"])
def test_whole_numbers_cannot_require_a_gradient(dtype: str) -> None:
    message = f"only floating-point and complex tensors can require gradients, not {dtype}"
    with pytest.raises(dk.AutogradError, match=message):
        dk.tensor([0, 1], dtype=dtype, requires_grad=True)
    with pytest.raises(dk.AutogradError, match=message):
        dk.tensor([0, 1], dtype=dtype).requires_grad_()


def test_requires_grad_can_be_switched_on_a_leaf() -> None:
    x = dk.ones(2)
    x.requires_grad = True
    assert (x * 1).requires_grad
    assert x.requires_grad_(False) is x
    assert not (x * 1).requires_grad


def test_a_gradient_outlives_switching_requires_grad_off() -> None:
    x = leaf(1.0)
    x.sum().backward()
    x.requires_grad_(False)
    assert x.grad is not None
    x.requires_grad_()
    assert x.grad.item() == 1.0


def test_requires_grad_of_a_non_leaf_cannot_be_switched_off() -> None:
    with pytest.raises(dk.AutogradError, match=r"no leaf cannot be switched off; use detach\(\)"):
        (leaf(1.0) * 2).requires_grad_(False)


def test_a_gradient_that_is_no_tensor_is_refused() -> None:
    with pytest.raises(TypeError, match="grad: expected a tensor or None, found float"):
        leaf(1.0).grad = 2.0  # type: ignore[assignment]


def test_a_gradient_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"grad: the tensor has shape \(2,\), the gradient \(3,\)"):
        leaf(1.0, 2.0).grad = dk.ones(3)


def test_a_tensor_as_its_own_gradient_is_refused() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(ValueError, match="grad: a tensor cannot be its own gradient"):
        x.grad = x
    assert x.grad is None


def test_gradients_have_the_shape_and_dtype_of_their_leaf() -> None:
    x = dk.tensor([1.0, 2.0], dtype=dk.float32, requires_grad=True)
    (x * dk.ones((3, 2))).sum().backward()
    assert x.grad is not None
    assert x.grad.shape == (2,)
    assert x.grad is not None
    assert x.grad.dtype == dk.float32
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 3.0])


def test_single_precision_parameters_learn_from_double_precision_data() -> None:
    weight = dk.tensor([[1.0], [2.0]], dtype=dk.float32, requires_grad=True)
    data = dk.tensor([[1.0, 3.0], [2.0, 5.0]])
    loss = ((data @ weight) ** 2).sum()
    assert loss.dtype == dk.float64
    loss.backward()
    assert weight.grad is not None
    assert weight.grad.dtype == dk.float32
    expected = 2 * data.numpy().T @ (data.numpy() @ [[1.0], [2.0]])
    assert weight.grad is not None
    np.testing.assert_allclose(weight.grad.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 1), (1, 3), (2, 3)])
def test_axes_that_broadcasting_stretched_are_summed(shape: tuple[int, ...]) -> None:
    x = dk.ones(shape, requires_grad=True)
    weights = dk.reshape(dk.arange(6.0), (2, 3))
    (x * weights).sum().backward()
    expected = weights.numpy()
    while expected.ndim > len(shape):
        expected = expected.sum(axis=0)
    for axis, length in enumerate(shape):
        if length == 1:
            expected = expected.sum(axis=axis, keepdims=True)
    assert x.grad is not None
    assert x.grad.shape == shape
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), expected)


def test_creation_functions_make_leaves() -> None:
    for made in (dk.zeros(2, requires_grad=True), dk.randn(2, requires_grad=True), dk.eye(2, requires_grad=True)):
        assert made.is_leaf
        assert made.requires_grad


def test_a_leaf_can_be_made_inside_no_grad() -> None:
    with dk.no_grad():
        assert dk.zeros(2, requires_grad=True).requires_grad


def test_gradients_accumulate_in_the_same_tensor_and_memory() -> None:
    x = leaf(1.0, 2.0)
    x.sum().backward()
    g = x.grad
    assert g is not None
    array = g.array
    (x * x).sum().backward()
    assert x.grad is g
    assert g.array is array
    assert g.tolist() == [3.0, 5.0]


def test_gradients_accumulate_in_a_tensor_that_was_assigned() -> None:
    x, buffer = leaf(1.0, 2.0), np.zeros(4)
    x.grad = dk.asarray(buffer[1:3])
    (x * x).sum().backward()
    assert buffer.tolist() == [0.0, 2.0, 4.0, 0.0]


def test_a_pass_that_is_recorded_replaces_the_gradient() -> None:
    x = leaf(1.0, 2.0)
    x.sum().backward()
    g = x.grad
    (x * x).sum().backward(create_graph=True)
    assert g is not None
    assert x.grad is not None
    assert x.grad is not g
    assert g.tolist() == [1.0, 1.0]
    assert x.grad.requires_grad
    recorded = x.grad
    x.sum().backward()
    assert x.grad is recorded
    assert recorded.tolist() == [4.0, 6.0]


def test_a_graph_that_used_a_gradient_refuses_after_it_was_accumulated_into() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    x.sum().backward()
    assert x.grad is not None
    loss = (w * x.grad).sum()
    x.sum().backward()
    with pytest.raises(dk.InplaceError, match=r"MultiplyBackward was changed by an in-place operation.* at version 1"):
        loss.backward()


READ_ONLY = np.zeros(2)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    "assigned",
    [dk.asarray(np.zeros(2, np.float32)), dk.asarray(READ_ONLY), dk.broadcast_to(dk.zeros(1), (2,))],
    ids=["another dtype", "read-only", "elements that are one"],
)
def test_a_gradient_that_cannot_be_added_to_is_replaced(assigned: dk.Tensor) -> None:
    x = leaf(1.0, 2.0)
    x.grad = assigned
    (x * x).sum().backward()
    assert assigned.tolist() == [0.0, 0.0]
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_gradient_of_no_axes_accumulates_in_place() -> None:
    x = dk.tensor(3.0, requires_grad=True)
    (x * x).backward()
    g = x.grad
    (x * x).backward()
    assert g is not None
    assert x.grad is g
    assert g.item() == 12.0

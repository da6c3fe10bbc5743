"""Hooks on tensors, and gradients that non-leaves retain."""

from __future__ import annotations

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.autograd import grad
from tests.graph.test_leaves import leaf


def test_a_hook_sees_the_gradient() -> None:
    x = leaf(1.0, 2.0)
    seen: list[dk.Tensor] = []
    y = x * 3
    y.register_hook(seen.append)
    (y * y).sum().backward()
    assert len(seen) == 1
    assert type(seen[0]) is dk.Tensor
    np.testing.assert_array_equal(seen[0].numpy(), [6.0, 12.0])


def test_what_a_hook_returns_takes_the_gradients_place() -> None:
    x = leaf(1.0)
    y = x * 3
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.item() == 30.0


def test_hooks_run_in_the_order_of_their_registration() -> None:
    x = leaf(1.0)
    x.register_hook(lambda g: g + 1)
    x.register_hook(lambda g: g * 10)
    x.sum().backward()
    assert x.grad is not None
    assert x.grad.item() == 20.0


def test_a_hook_on_a_leaf_runs_before_accumulation() -> None:
    x = leaf(1.0)
    x.register_hook(lambda g: -g)
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert x.grad is not None
    assert x.grad.item() == -4.0


def test_a_hook_gets_the_whole_gradient_once() -> None:
    x = leaf(1.0)
    seen: list[float] = []
    y = x * 1
    y.register_hook(lambda g: seen.append(g.item()))
    (y * 2 + y * 3).sum().backward()
    assert seen == [5.0]


def test_a_removed_hook_is_not_called() -> None:
    x = leaf(1.0)
    handle = x.register_hook(lambda g: g * 10)
    handle.remove()
    handle.remove()
    x.sum().backward()
    assert x.grad is not None
    assert x.grad.item() == 1.0


def test_removing_a_hook_leaves_the_others() -> None:
    x = leaf(1.0)
    first = x.register_hook(lambda g: g * 2)
    x.register_hook(lambda g: g * 3)
    first.remove()
    x.register_hook(lambda g: g * 5)
    x.sum().backward()
    assert x.grad is not None
    assert x.grad.item() == 15.0


def test_a_handle_removes_its_hook_on_leaving_a_with_block() -> None:
    x = leaf(1.0)
    with x.register_hook(lambda g: g * 10):
        x.sum().backward()
    x.sum().backward()
    assert x.grad is not None
    assert x.grad.item() == 11.0


def test_a_hook_needs_a_tensor_in_the_graph() -> None:
    with pytest.raises(dk.AutogradError, match="register_hook: the tensor does not require a gradient"):
        dk.ones(1).register_hook(lambda g: None)


def test_hooks_act_on_the_gradients_that_grad_returns() -> None:
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda g: g * 10)
    assert grad(y.sum(), x)[0].item() == 40.0


def test_a_hook_can_keep_a_gradient_that_can_be_differentiated() -> None:
    x = leaf(2.0)
    y = x * 1
    y.register_hook(lambda g: g * x)
    (g,) = grad(y * 1, x, create_graph=True)
    assert grad(g, x)[0].item() == 1.0


def test_what_a_hook_returns_must_be_a_tensor() -> None:
    x = leaf(1.0)
    x.register_hook(lambda g: 2.0)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match=r"hook.*float"):
        x.sum().backward()


def test_what_a_hook_returns_must_have_the_gradients_shape() -> None:
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: dk.ones(3))
    with pytest.raises((ValueError, dk.AutogradError), match=r"hook.*\(3,\).*\(2,\)|hook.*\(2,\).*\(3,\)"):
        x.sum().backward()


def test_a_changed_gradient_that_a_hook_kept_changes_nothing_else() -> None:
    x, z = leaf(1.0), leaf(1.0)
    kept: list[dk.Tensor] = []
    y = x + z
    y.register_hook(kept.append)
    (y * 2).backward()
    kept[0].zero_()
    assert x.grad is not None
    assert z.grad is not None
    assert (x.grad.item(), z.grad.item()) == (2.0, 2.0)


def test_after_accumulation_a_hook_sees_the_leaf_with_its_gradient() -> None:
    x = leaf(1.0)
    seen: list[float] = []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.item()))  # type: ignore[union-attr]
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    assert seen == [2.0, 5.0]


def test_a_hook_after_accumulation_is_for_leaves() -> None:
    with pytest.raises(dk.AutogradError, match="is for leaves; use register_hook here"):
        (leaf(1.0) * 2).register_post_accumulate_grad_hook(lambda p: None)


def test_a_retained_gradient_stays() -> None:
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    assert y.retains_grad
    (y * y).sum().backward()
    assert y.grad is not None
    assert y.grad.item() == 4.0


def test_retaining_is_nothing_new_for_a_leaf() -> None:
    x = leaf(1.0)
    x.retain_grad()
    assert not x.retains_grad
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert x.grad is not None
    assert x.grad.item() == 4.0


def test_a_gradient_is_retained_after_its_hooks() -> None:
    y = leaf(1.0) * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert y.grad is not None
    assert y.grad.item() == 10.0


def test_retain_grad_needs_a_tensor_in_the_graph() -> None:
    with pytest.raises(dk.AutogradError, match="retain_grad: the tensor does not require a gradient"):
        dk.ones(1).retain_grad()


def test_a_tensor_changed_in_place_retains_the_gradient_of_what_it_is_now() -> None:
    y = leaf(1.0) * 2
    y.retain_grad()
    y += 1
    (y * y).sum().backward()
    assert y.grad is not None
    assert y.grad.item() == 6.0


def test_a_retained_gradient_accumulates() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    kept = y.grad
    y.sum().backward(retain_graph=True)
    y.sum().backward(create_graph=True)
    assert y.grad is not None
    assert kept is not None
    assert y.grad.tolist() == [3.0, 3.0]
    assert kept.tolist() == [1.0, 1.0]


def test_a_retained_gradient_is_added_to_one_that_was_assigned() -> None:
    y = leaf(1.0, 2.0) * 2
    y.retain_grad()
    y.grad = dk.asarray([5.0, 6.0])
    y.sum().backward()
    assert y.grad.tolist() == [6.0, 7.0]


def test_gradients_accumulate_in_a_non_leaf_that_is_one_of_the_inputs() -> None:
    y = leaf(1.0, 2.0) * 2
    for _ in range(2):
        (y * 3).sum().backward(inputs=[y])
    assert y.grad is not None
    assert y.grad.tolist() == [6.0, 6.0]


def test_a_retained_gradient_of_no_axes_accumulates_and_can_be_changed() -> None:
    y = dk.tensor(1.0, requires_grad=True) * 2
    y.retain_grad()
    for _ in range(2):
        (y * 3).backward(retain_graph=True)
    assert y.grad is not None
    y.grad += 1
    assert y.grad.item() == 7.0


def test_a_retained_gradient_can_be_changed() -> None:
    y = leaf(1.0, 2.0) * 2
    y.retain_grad()
    y.sum().backward()
    assert y.grad is not None
    y.grad.zero_()
    assert y.grad.tolist() == [0.0, 0.0]


def test_a_retained_gradient_of_a_pass_that_is_differentiated_can_be_differentiated() -> None:
    x = leaf(3.0)
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward(create_graph=True)
    assert y.grad is not None
    assert grad(y.grad.sum(), x)[0].item() == 4.0


def test_a_change_in_place_keeps_the_gradient_that_is_retained() -> None:
    y = leaf(1.0, 2.0) * 2
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    kept = y.grad
    y += 1
    assert y.grad is kept
    assert y.retains_grad
    (y * 3).sum().backward()
    assert y.grad is not None
    assert y.grad.tolist() == [4.0, 4.0]


def test_a_change_in_place_keeps_a_gradient_that_was_assigned() -> None:
    x = leaf(1.0, 2.0)
    y, outside = x * 2, dk.zeros(2)
    y.grad, outside.grad = dk.ones(2), dk.ones(2)
    y += 1
    outside += x
    y[...] = dk.zeros(2)
    assert y.grad.tolist() == [1.0, 1.0]
    assert outside.grad.tolist() == [1.0, 1.0]


def test_detaching_in_place_keeps_the_gradient() -> None:
    x = leaf(1.0)
    x.sum().backward()
    assert x.detach_().grad is not None
    x.requires_grad_()
    assert x.grad is not None
    assert x.grad.item() == 1.0


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("outside", [False, True])
def test_hooks_record_a_graph_where_the_pass_is_recorded(create_graph: bool, outside: bool) -> None:
    x = leaf(1.0)
    y = (x * 2).sum()
    found: list[bool] = []
    for tensor in (x, y):
        tensor.register_hook(lambda g: found.append(dk.is_grad_enabled()))
    x.register_post_accumulate_grad_hook(lambda p: found.append(dk.is_grad_enabled()))
    with dk.set_grad_enabled(outside):
        y.backward(create_graph=create_graph)
        assert dk.is_grad_enabled() == outside
    assert found == [create_graph] * 3


def test_an_optimiser_can_step_in_the_backward_pass() -> None:
    p = leaf(1.0, 2.0)
    p.register_post_accumulate_grad_hook(lambda p: p.sub_(p.grad * 0.1))  # type: ignore[operator]
    (p * p).sum().backward()
    np.testing.assert_allclose(p.detach().numpy(), [0.8, 1.6])


def test_recording_is_as_before_where_a_hook_raises() -> None:
    x = leaf(1.0)

    def hook(g: dk.Tensor) -> None:
        raise KeyError("mine")

    x.register_hook(hook)
    with pytest.raises(KeyError, match="mine"):
        x.sum().backward()
    assert (x * 1).requires_grad


def test_a_tensor_that_is_not_on_the_way_to_the_inputs_retains_nothing() -> None:
    v = dk.tensor([1.0, 2.0], requires_grad=True)
    w = dk.tensor([3.0, 4.0], requires_grad=True)
    seen: list[object] = []
    aside = w * 1.0
    aside.retain_grad()
    aside.register_hook(seen.append)
    (found,) = dk.autograd.grad((aside * v).sum(), v)
    assert found.tolist() == [3.0, 4.0]
    assert aside.grad is None
    assert seen == []


def test_what_a_post_accumulate_hook_returns_is_refused() -> None:
    x = leaf(1.0, 2.0)
    x.register_post_accumulate_grad_hook(lambda p: p.grad * 2)  # type: ignore[operator]
    with pytest.raises(TypeError) as caught:
        (x * 2).sum().backward()
    assert str(caught.value) == (
        "register_post_accumulate_grad_hook: the hook returned a dispatchkit.Tensor, not None; the gradient is "
        "accumulated already: assign leaf.grad in the hook, or use register_hook"
    )

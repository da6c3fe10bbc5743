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

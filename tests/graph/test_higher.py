"""Gradients of gradients: `create_graph`."""

from __future__ import annotations

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.autograd import grad
from tests.graph.test_leaves import leaf


def test_derivatives_of_every_order() -> None:
    x = dk.tensor(2.0, requires_grad=True)
    y = x**5
    for expected in (80.0, 160.0, 240.0, 240.0, 120.0):
        (y,) = grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(expected)


def test_a_gradient_made_with_create_graph_has_a_graph() -> None:
    x = leaf(2.0)
    (x**3).sum().backward(create_graph=True)
    assert x.grad is not None
    assert x.grad.requires_grad
    assert x.grad.grad_fn is not None


def test_a_gradient_made_without_has_none() -> None:
    x = leaf(2.0)
    (x**3).sum().backward()
    assert x.grad is not None
    assert not x.grad.requires_grad


def test_a_penalty_on_the_gradient_can_be_learned_from() -> None:
    x = leaf(1.0, 2.0)
    (g,) = grad((x**3).sum(), x, create_graph=True)
    (g * g).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 36 * np.array([1.0, 8.0]))


def test_a_hessian_row_by_row() -> None:
    x = leaf(1.0, 2.0)
    (g,) = grad(x[0] ** 2 * x[1], x, create_graph=True)
    rows = [grad(g[i], x, retain_graph=True)[0].tolist() for i in range(2)]
    assert rows == [[4.0, 2.0], [2.0, 0.0]]


def test_the_gradient_by_the_cotangent_of_the_first_pass() -> None:
    x = leaf(3.0)
    v = leaf(1.0)
    (g,) = grad(x * x, x, v, create_graph=True)
    assert grad(g, v)[0].item() == 6.0


def test_second_derivatives_through_an_output_that_was_kept() -> None:
    x = dk.tensor(0.5, requires_grad=True)
    (first,) = grad(dk.exp(x) * dk.tanh(x), x, create_graph=True)
    (second,) = grad(first, x)
    e, t = np.exp(0.5), np.tanh(0.5)
    assert second.item() == pytest.approx(e * (t + 2 * (1 - t**2) - 2 * t * (1 - t**2)))


def test_create_graph_records_also_where_recording_is_off() -> None:
    x = dk.tensor(2.0, requires_grad=True)
    y = x**3
    with dk.no_grad():
        (first,) = grad(y, x, create_graph=True)
    assert first.requires_grad
    assert grad(first, x)[0].item() == 12.0


def test_gradients_with_a_graph_accumulate_with_it() -> None:
    x = leaf(2.0)
    (x**2).sum().backward(create_graph=True)
    (x**3).sum().backward(create_graph=True)
    assert x.grad is not None
    (g,) = grad(x.grad.sum(), x)
    assert g.item() == 2.0 + 12.0


def test_a_value_changed_between_the_passes_is_noticed() -> None:
    x = leaf(2.0)
    (g,) = grad((x**3).sum(), x, create_graph=True)
    with dk.no_grad():
        x += 1
    with pytest.raises(dk.InplaceError, match="changed by an in-place operation"):
        grad(g, x)

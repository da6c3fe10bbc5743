"""Dual tensors in levels: their tangents, nesting, the graph beside them, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.autograd import forward_ad
from dispatchkit.errors import AutogradError, LostDerivativeError, TransformError

X = dk.tensor([0.5, 2.0])
V = dk.tensor([1.0, -3.0])


@pytest.fixture
def level() -> Iterator[None]:
    with forward_ad.dual_level():
        yield


def equal(x: object, expected: object) -> None:
    np.testing.assert_allclose(dk.asarray(x).detach().numpy(), np.asarray(expected), rtol=1e-12)


@pytest.mark.usefixtures("level")
def test_tangents_go_through_operations_views_and_changes_in_place() -> None:
    dual = forward_ad.make_dual(X.clone(), V)
    primal, tangent = forward_ad.unpack_dual(dk.exp(dual)[::-1].reshape(1, 2))
    equal(primal, [np.exp([2.0, 0.5])])
    equal(tangent, [np.exp([2.0, 0.5]) * [-3.0, 1.0]])
    dual *= dual
    equal(forward_ad.unpack_dual(dual).tangent, [1.0, -12.0])
    dual[0] = 7.0
    equal(forward_ad.unpack_dual(dual).tangent, [0.0, -12.0])
    assert forward_ad.unpack_dual(X) == (X, None)
    assert forward_ad.unpack_dual(dual > 0).tangent is None


@pytest.mark.usefixtures("level")
def test_a_dual_shares_the_memory_of_its_tensor_and_keeps_the_tangent_itself() -> None:
    x = X.clone()
    dual = forward_ad.make_dual(x, V)
    assert forward_ad.unpack_dual(dual).tangent is V
    x += 1
    equal(forward_ad.unpack_dual(dual).primal, [1.5, 3.0])
    single = forward_ad.make_dual(X.astype(dk.float32), V)
    assert forward_ad.unpack_dual(single).tangent.dtype == dk.float32


def test_levels_nest() -> None:
    with forward_ad.dual_level() as outer:
        x = forward_ad.make_dual(X, V)
        with forward_ad.dual_level() as inner:
            y = forward_ad.make_dual(x, V) ** 3
            assert (outer, inner) == (0, 1)
            equal(forward_ad.unpack_dual(forward_ad.unpack_dual(y).tangent, level=0).tangent, 6 * X * V**2)
            equal(forward_ad.unpack_dual(forward_ad.unpack_dual(y, level=0).tangent).primal, 3 * X**2 * V)
        # What has ended keeps the tangents of what has not.
        equal(forward_ad.unpack_dual(y).primal, X**3)
        equal(forward_ad.unpack_dual(y).tangent, 3 * X**2 * V)
        equal(forward_ad.unpack_dual(y + x).tangent, 3 * X**2 * V + V)


def test_after_its_level_a_dual_is_its_tensor() -> None:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(X, V)
        with pytest.raises(LostDerivativeError):
            dual[0].item()
    assert type(dual + 1) is dk.Tensor
    equal(dual * 2, [1.0, 4.0])
    assert dual.sum().item() == 2.5
    assert forward_ad.unpack_dual(dual).tangent is None
    with forward_ad.dual_level():
        primal, tangent = forward_ad.unpack_dual(dual)
        assert primal is X
        assert tangent is None
        again = forward_ad.make_dual(dual, V)
        equal(forward_ad.unpack_dual(again * again).tangent, 2 * X * V)


def test_backward_goes_through_tangents() -> None:
    x, v = X.clone().requires_grad_(), V.clone().requires_grad_()
    with forward_ad.dual_level():
        y = forward_ad.make_dual(x, v) ** 3
        forward_ad.unpack_dual(y).tangent.sum().backward()
    equal(x.grad, 6 * X * V)
    equal(v.grad, 3 * X**2)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("of_leaf", [False, True])
def test_grad_of_duals_is_dual(of_leaf: bool) -> None:
    x = X.clone().requires_grad_()
    dual = forward_ad.make_dual(x, V)
    (g,) = dk.autograd.grad((dual**3).sum(), x if of_leaf else dual, create_graph=True)
    primal, tangent = forward_ad.unpack_dual(g)
    equal(primal, 3 * X**2)
    equal(tangent, 6 * X * V)
    equal(dk.autograd.grad(tangent.sum(), x)[0], 6 * V)
    other = dk.tensor([1.0], requires_grad=True)
    assert dk.autograd.grad(dual.sum(), [x, other], allow_unused=True)[1] is None
    equal(dk.autograd.grad(dual.sum(), [x, other], materialize_grads=True)[1], [0.0])
    (g,) = dk.autograd.grad(dual * 2, dual, forward_ad.make_dual(dk.ones(2), V))
    equal(forward_ad.unpack_dual(g).tangent, 2 * V)


@pytest.mark.usefixtures("level")
def test_grad_of_duals_refuses_what_grad_refuses() -> None:
    dual = forward_ad.make_dual(X.clone().requires_grad_(), V)
    with pytest.raises(AutogradError, match=r"an output inside a transformation needs grad_outputs \(2,\), found None"):
        dk.autograd.grad(dual * 2, dual)
    with pytest.raises(AutogradError, match="one of the inputs does not require grad"):
        dk.autograd.grad(dual.sum(), forward_ad.make_dual(X, V))


def test_levels_and_transformations_mix() -> None:
    def push(v: dk.Tensor) -> dk.Tensor:
        with forward_ad.dual_level():
            y = forward_ad.make_dual(X, v) ** 3
            return forward_ad.unpack_dual(y).tangent  # type: ignore[no-any-return]

    equal(dk.func.vmap(push)(dk.eye(2)), np.diag([0.75, 12.0]))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(X, V)
        inside = dk.func.vmap(lambda x: forward_ad.unpack_dual(x**3).tangent)(dual)
        equal(inside, 3 * X**2 * V)
        equal(forward_ad.unpack_dual(dk.func.vmap(lambda x: x**3)(dual)).tangent, 3 * X**2 * V)
        equal(forward_ad.unpack_dual(dk.func.grad(lambda x: (x**3).sum())(dual)).tangent, 6 * X * V)
        with pytest.raises(TransformError, match="inside a transformation that began later; enter another level"):
            dk.func.vmap(lambda v: forward_ad.make_dual(X, v))(dk.eye(2))


def test_an_error_ends_the_level() -> None:
    with pytest.raises(ValueError, match="the tensor has shape"), forward_ad.dual_level():
        forward_ad.make_dual(X, dk.ones(3))
    with pytest.raises(TransformError, match=r"make_dual: there is no level -1; call it inside of forward_ad"):
        forward_ad.make_dual(X, V)
    assert forward_ad.unpack_dual(X) == (X, None)


@pytest.mark.usefixtures("level")
def test_refusals() -> None:
    with pytest.raises(ValueError, match="tensor must hold floating-point or complex numbers, found int64"):
        forward_ad.make_dual(dk.arange(2), V)
    with pytest.raises(ValueError, match="tangent must hold floating-point or complex numbers, found int64"):
        forward_ad.make_dual(X, dk.arange(2))
    with pytest.raises(TransformError, match="a tensor has a tangent of this level"):
        forward_ad.make_dual(X, forward_ad.make_dual(X, V))
    with pytest.raises(TransformError, match="there is no level 1"):
        forward_ad.unpack_dual(X, level=1)
    with pytest.raises(TransformError, match="level 1 is not the innermost of 1 levels"):
        forward_ad.exit_dual_level(level=1)
    with pytest.raises(TransformError, match="made outside of what jvp follows"):
        dk.zeros(2)[:] = forward_ad.make_dual(X, V)


@pytest.mark.usefixtures("level")
def test_a_dual_shows_its_tangent() -> None:
    assert repr(forward_ad.make_dual(X, V)).endswith("tensor([0.5000, 2.0000]), tangent=tensor([ 1., -3.]))")

"""Results written into tensors that the rules read: NumPy's ``out=``, methods in place, and what is kept for shapes."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch
from dispatchkit.errors import RegistrationError

X = np.array([0.3, 0.6, 0.8])
UNARY = (
    *("absolute", "arccos", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt"),
    *("cos", "cosh", "deg2rad", "exp", "exp2", "expm1", "fabs"),
    *("log", "log10", "log1p", "log2", "negative", "positive", "rad2deg"),
    *("reciprocal", "sign", "sin", "sinh", "sqrt", "square", "tan"),
    "tanh",
)
BINARY = (
    *("add", "arctan2", "copysign", "divide", "float_power", "fmax", "fmin"),
    *("fmod", "hypot", "logaddexp", "logaddexp2", "maximum", "minimum", "multiply"),
    *("power", "remainder", "subtract"),
)
NUMPY: Any = np
MATRIX = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 2.0], [3.0, 0.0, 0.5]])


def unary(name: str) -> Callable[[Any], Any]:
    return lambda y: getattr(np, name)(y, out=y)


def binary(name: str) -> Callable[[Any], Any]:
    def write(y: Any) -> Any:
        getattr(np, name)(y, 2.5, out=y)
        getattr(np, name)(2.0, y, out=y)
        return getattr(np, name)(y, y, out=y)

    return write


WRITES: dict[str, Callable[[Any], Any]] = {
    **{name: unary(name) for name in UNARY},
    **{name: binary(name) for name in BINARY},
    "clip": lambda y: np.clip(y, 0.4, 0.7, out=y),
    "cumsum": lambda y: np.cumsum(y, out=y),
    "cumprod": lambda y: np.cumprod(y, out=y),
    "accumulate": lambda y: np.multiply.accumulate(y, out=y),
    "where": lambda y: np.sin(y, out=y, where=np.array([True, False, True])),
    "take": lambda y: np.take(y, [2, 0, 1], out=y),
    "matmul": lambda y: np.matmul(MATRIX, y, out=y),
    "dot": lambda y: np.dot(MATRIX, y, out=y),
    "einsum": lambda y: np.einsum("i,i->i", y, y, out=y),
    "into a view": lambda y: np.exp(y[:2], out=y[:2]),
    "a view beside": lambda y: np.multiply(y[:2], y[1:], out=y[:2]),
    "views that overlap": lambda y: np.exp(y[1:], out=y[:2]),
    "reversed": lambda y: np.exp(y[::-1], out=y),
    "modf": lambda y: NUMPY.modf(y * 3, out=(y, None)),
    "divmod": lambda y: NUMPY.divmod(y, 0.25, out=(None, y)),
    "itself in place": lambda y: y.mul_(y),
    "its view in place": lambda y: y[1:].mul_(y[:-1]),
}


def slopes(write: Callable[[Any], Any]) -> Any:
    """Return the derivative, by differences, of the sum of squares of what is written."""

    def value(x: Any) -> float:
        y = dk.tensor(x)
        write(y)
        return float((y * y).sum())

    return [(value(X + step) - value(X - step)) / 2e-6 for step in 1e-6 * np.eye(3)]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_result_written_over_its_argument_has_a_derivative(write: Callable[[Any], Any]) -> None:
    x: Any = dk.tensor(X, requires_grad=True)
    y = x * 1.0
    write(y)
    (y * y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), slopes(write), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("write", [WRITES["sin"], WRITES["multiply"], WRITES["into a view"], WRITES["itself in place"]])
def test_second_derivatives_flow_through_a_result_written_over_its_argument(write: Callable[[Any], Any]) -> None:
    def func(x: Any) -> Any:
        y = x * 1.0
        write(y)
        return (y * y).sum()

    x: Any = dk.tensor(X, requires_grad=True)
    assert dk.autograd.gradgradcheck(func, (x,))


def test_a_result_written_over_its_argument_outside_the_graph_is_not_copied() -> None:
    y = dk.asarray(X.copy())
    memory = y.array
    np.sin(y, out=y)
    assert y.array is memory
    np.testing.assert_allclose(y.numpy(), np.sin(X))


def test_message_passing_in_place_has_pytorchs_gradients() -> None:
    messages = torch.ones(4, 2, requires_grad=True)
    out = torch.zeros(3, 2)
    out.index_add_(0, torch.tensor([0, 0, 1, 2]), messages)
    (out**2).sum().backward()
    np.testing.assert_array_equal(messages.grad.numpy(), [[4, 4], [4, 4], [2, 2], [2, 2]])


# Values of PyTorch 2.13: gradients of the target and of the source.
IN_PLACE: dict[str, tuple[Callable[[Any, Any], Any], list[float], list[float] | None]] = {
    "index_add_": (lambda y, s: y.index_add_(0, torch.tensor([0, 2, 0]), s), [4.6, 1.2, 2.6], [4.6, 2.6, 4.6]),
    "index_copy_": (lambda y, s: y.index_copy_(0, torch.tensor([2, 0, 1]), s), [0.0, 0.0, 0.0], [2.0, 1.0, 2.0]),
    "scatter_": (lambda y, s: y.scatter_(0, torch.tensor([0, 2]), s[:2]), [0.0, 1.2, 0.0], [2.0, 1.0, 0.0]),
    "scatter_add_": (lambda y, s: y.scatter_add_(0, torch.tensor([0, 2]), s[:2]), [2.6, 1.2, 2.6], [2.6, 2.6, 0.0]),
    "clamp_": (lambda y, s: y.clamp_(min=0.5), [0.0, 1.2, 1.6], None),
    "clamp_min_": (lambda y, s: y.clamp_min_(0.5), [0.0, 1.2, 1.6], None),
    "clamp_max_": (lambda y, s: y.clamp_max_(0.7), [0.6, 1.2, 0.0], None),
    "addcmul_": (lambda y, s: y.addcmul_(y, y), [1.248, 4.224, 7.488], None),
    "lerp_": (lambda y, s: y.lerp_(s, 0.5), [0.65, 0.55, 0.9], [0.65, 0.55, 0.9]),
    "masked_fill_": (lambda y, s: y.masked_fill_(y > 0.5, 2.0), [0.6, 0.0, 0.0], None),
}


@pytest.mark.parametrize("case", IN_PLACE.values(), ids=IN_PLACE)
def test_pytorchs_methods_in_place_have_its_gradients(
    case: tuple[Callable[[Any, Any], Any], list[float], list[float] | None],
) -> None:
    write, of_target, of_source = case
    x, source = torch.tensor(X), torch.tensor([1.0, 0.5, 1.0])
    x.requires_grad_()
    source.requires_grad_()
    y = x * 1.0
    write(y, source)
    (y * y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), of_target, rtol=1e-9, atol=1e-12)
    if of_source is not None:
        np.testing.assert_allclose(source.grad.numpy(), of_source, rtol=1e-9)


def test_integers_take_no_fractions_in_place() -> None:
    x = torch.tensor([1, 2])
    with pytest.raises(
        RuntimeError, match="erfinv_: the result is float64, which the tensor's dtype int64 cannot hold"
    ):
        x.erfinv_()
    assert x.tolist() == [1, 2]


def change_embedding() -> tuple[Any, Any]:
    weight = dk.tensor(np.ones((3, 2)), requires_grad=True)
    y = dk.nn.functional.embedding(dk.asarray([0, 1, 1]), weight)
    with dk.no_grad():
        weight[...] = 5.0
    return y, weight


def change_target() -> tuple[Any, Any]:
    value, target = dk.tensor([1.0, 2.0], requires_grad=True), dk.zeros(3)
    y = dk.index_put(target, [0, 2], value)
    target[1] = 7.0
    return y, value


def change_image() -> tuple[Any, Any]:
    x = dk.tensor(np.ones((1, 1, 4)), requires_grad=True)
    image = x * 1.0
    y = dk.nn.functional.conv1d(image, dk.ones((1, 1, 2)))
    image.zero_()
    return y, x


def change_weight() -> tuple[Any, Any]:
    bias, weight = dk.tensor([1.0, 2.0], requires_grad=True), dk.ones((2, 3))
    y = dk.nn.functional.linear(dk.ones((4, 3)), weight, bias)
    weight.zero_()
    return y, bias


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (change_embedding, [[1, 1], [2, 2], [0, 0]]),
        (change_target, [1, 1]),
        (change_image, [[[1, 2, 2, 1]]]),
        (change_weight, [4, 4]),
    ],
)
def test_what_is_read_for_its_shape_alone_may_be_changed(
    change: Callable[[], tuple[Any, Any]], expected: list[Any]
) -> None:
    y, leaf = change()
    y.sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), expected)


def test_what_is_read_for_its_shape_alone_is_not_kept_alive() -> None:
    value: Any = dk.tensor([1.0, 2.0], requires_grad=True)
    target = dk.zeros(3)
    y = dk.index_put(target, [0, 2], value)
    held = weakref.ref(target.array)
    del target
    gc.collect()
    assert held() is None
    y.sum().backward()
    np.testing.assert_array_equal(value.grad.numpy(), [1.0, 1.0])


@dk.operation(kind=dk.kinds.manipulation)
def padded(xp: Any, x: dk.Tensor, target: dk.Tensor, /) -> Any:
    """Return as many zeros as `target` has, the first of which are those of `x`."""
    return xp.concat([x, xp.zeros_like(target)[x.shape[0] :]])


@padded.def_vjp("x", shapes=("x", "target"))
def padded_vjp_x(g: Any, x: Any, target: Any) -> Any:
    assert not isinstance(target, (dk.Tensor, np.ndarray))
    assert target.shape == g.shape
    return g[: x.shape[0]]


def test_a_rule_of_users_reads_shapes_alone() -> None:
    x: Any = dk.tensor([1.0, 2.0], requires_grad=True)
    target = dk.ones(3)
    y = padded(x * 1.0, target)
    target.zero_()
    (y * y).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0])


def test_shapes_are_of_array_parameters_and_of_rules_of_reverse_mode() -> None:
    with pytest.raises(RegistrationError, match=r"has no array parameter 'y'; it has x, target"):
        padded.def_vjp("x", shapes=("y",))
    with pytest.raises(RegistrationError, match="shapes is of def_transpose and def_vjp alone"):
        padded.def_jvp("x", shapes=("x",))  # type: ignore[call-arg]

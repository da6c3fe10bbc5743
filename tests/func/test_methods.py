"""Methods and conversions of tensors under transformations: forward against reverse mode, batches against a loop."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch

DATA = np.array([[0.3, 0.7, 0.2], [0.5, 0.9, 0.4], [0.35, 0.15, 0.8]])
# They draw numbers, count them, or leave what a transformation differentiates.
OTHERS = frozenset(
    [
        "backward",
        "bernoulli",
        "bernoulli_",
        "cauchy_",
        "data",
        "detach",
        "detach_",
        "exponential_",
        "geometric_",
        "histc",
        "item",
        "log_normal_",
        "normal_",
        "numpy",
        "register_hook",
        "requires_grad_",
        "resize_",
        "set_",
        "tolist",
        "uniform_",
    ]
)
CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "to a device": lambda x: x.to("cpu"),
    "to a device by name": lambda x: x.to(device="cpu"),
    "to_device": lambda x: x.to_device("cpu"),
    "cpu": lambda x: x.cpu(),
    "to a dtype": lambda x: x.to(dk.float64),
    "to a dtype and device": lambda x: x.to("cpu", dtype=dk.float64),
    "to another tensor": lambda x: x.to(dk.ones(1)),
    "to with a copy": lambda x: x.to(dk.float64, copy=True),
    "to another library": lambda x: x.to(like=np.ones(1)),
    "astype": lambda x: x.astype(dk.float64),
    "astype and back": lambda x: dk.real(x.astype(dk.complex128)),
    "astype on a device": lambda x: dk.astype(x, dk.float64, device="cpu"),
    "type_as": lambda x: x.type_as(dk.ones(1)),
    "double": lambda x: x.double(),
    "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.contiguous(),
    "contiguous of a transpose": lambda x: x.T.contiguous().T,
    "asarray": lambda x: dk.asarray(x, dtype=dk.float64, device="cpu"),
    "np.asarray": lambda x: np.asarray(x, like=x),
    "np.astype": lambda x: np.astype(x, np.float64),
    "np.copy": lambda x: np.copy(x),
    "iteration": lambda x: dk.stack(list(x)),
}


def called(name: str) -> Callable[[Any], Any]:
    """Return a function that calls a method, or reads a property, and sums up what floats it gives."""

    def func(x: Any) -> Any:
        value = getattr(x * 1.0, name)
        result = value() if callable(value) and not isinstance(value, dk.Tensor) else value
        members = result if isinstance(result, (tuple, list)) else [result]
        floats = [y for y in members if isinstance(y, dk.Tensor) and y.dtype.kind == "f"]
        assert floats
        return sum(dk.sum(dk.sin(y) * dk.asarray(np.cos(np.arange(y.size)).reshape(y.shape))) for y in floats)

    return func


def methods(cls: Any, make: Callable[[Any], Any]) -> list[str]:
    """Return the methods without arguments, and the properties, of a class that give floats."""
    names = []
    for name in sorted(set(dir(cls)) - OTHERS):
        if name.startswith("_"):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                value = float(called(name)(make(DATA)))
            except (AssertionError, TypeError, ValueError, AttributeError, RuntimeError):
                continue
        if np.isfinite(value):
            names.append(name)
    return names


def check(library: Any, func: Callable[[Any], Any], make: Callable[[Any], Any], rel: float = 1e-7) -> None:
    x, t = make(DATA), make(np.cos(DATA * 9))
    forward = float(library.func.jvp(func, (x,), (t,))[1])
    reverse = float((library.func.grad(func)(x) * t).sum())
    assert forward == pytest.approx(reverse, rel=rel, abs=1e-9, nan_ok=True)


def test_methods_have_the_same_derivative_forward_and_in_reverse(subtests: pytest.Subtests) -> None:
    names = methods(dk.Tensor, dk.asarray)
    assert len(names) > 100
    for name in names:
        with subtests.test(name):
            check(dk, called(name), dk.asarray)


def test_methods_of_pytorch_have_the_same_derivative_forward_and_in_reverse(subtests: pytest.Subtests) -> None:
    names = methods(torch.Tensor, torch.tensor)
    assert len(names) > 100
    for name in names:
        with subtests.test(name):
            rel = 1e-7
            if name == "half":  # has three digits
                rel = 1e-2
            check(torch, called(name), torch.tensor, rel)


@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
def test_conversions_keep_tangents_and_batches(convert: Callable[[Any], Any]) -> None:
    x, t = dk.asarray([[1.0, 2.0, 3.0]]), dk.asarray([[1.0, 0.5, 2.0]])
    tangent = dk.func.jvp(lambda x: convert(x * x), (x,), (t,))[1]
    np.testing.assert_allclose(np.asarray(tangent), [[2.0, 2.0, 12.0]])
    batch = dk.func.vmap(lambda row: convert(row * row))(dk.asarray([[[1.0, 2.0]], [[3.0, 4.0]]]))
    np.testing.assert_array_equal(np.asarray(batch), [[[1.0, 4.0]], [[9.0, 16.0]]])
    hessian = dk.func.hessian(lambda x: convert(x * x * x).sum())(x)
    np.testing.assert_allclose(np.asarray(hessian)[0, :, 0], np.diag([6.0, 12.0, 18.0]))


def test_moving_to_a_device_keeps_the_tangents_of_nested_transformations() -> None:
    x = dk.asarray([1.0, 2.0])

    def second(x: Any) -> Any:
        def inner(x: Any) -> Any:
            return (x * x * x).cpu().to("cpu").to_device("cpu")

        return dk.func.jvp(inner, (x,), (dk.ones_like(x),))[1].cpu()

    np.testing.assert_allclose(np.asarray(dk.func.jvp(second, (x,), (dk.ones(2),))[1]), [6.0, 12.0])
    rows = dk.func.vmap(lambda row: dk.func.jvp(second, (row,), (dk.ones_like(row),))[1])(dk.stack([x, x + 1]))
    np.testing.assert_allclose(np.asarray(rows), [[6.0, 12.0], [12.0, 18.0]])


MADE: dict[str, Callable[[Any], Any]] = {
    "np.zeros": lambda x: np.zeros(3, like=x),
    "np.ones": lambda x: np.ones(3, like=x),
    "np.empty": lambda x: np.empty(3, like=x),
    "np.full": lambda x: np.full(3, 2.0, like=x),
    "np.arange": lambda x: np.arange(3.0, like=x),
    "np.array": lambda x: np.array([1.0, 2.0, 3.0], like=x),
    "np.asarray": lambda x: np.asarray([1.0, 2.0, 3.0], like=x),
    "np.eye": lambda x: np.eye(3, like=x)[0],
    "np.identity": lambda x: np.identity(3, like=x)[1],
    "np.fromiter": lambda x: np.fromiter(iter([1.0, 2.0, 3.0]), float, like=x),
    "zeros_like": dk.zeros_like,
    "ones_like": dk.ones_like,
    "empty_like": dk.empty_like,
    "full_like": lambda x: dk.full_like(x, 0.5),
    "rand_like": dk.rand_like,
    "randn_like": dk.randn_like,
    "np.full_like": lambda x: np.full_like(x, 0.5),
    "new_tensor": lambda x: x.new_tensor([1.0, 2.0, 3.0]),
    "a copy of zeros_like": lambda x: dk.zeros_like(x).clone(),
    "a shape of zeros_like": lambda x: dk.zeros_like(x).reshape((1, 3))[0],
}
MADE_BY_TORCH: dict[str, Callable[[Any], Any]] = {
    "new_zeros": lambda x: x.new_zeros(3),
    "new_zeros of a shape": lambda x: x.new_zeros((3,)),
    "new_ones": lambda x: x.new_ones(3),
    "new_empty": lambda x: x.new_empty(3),
    "new_full": lambda x: x.new_full((3,), 2.0),
    "new_tensor": lambda x: x.new_tensor([1.0, 2.0, 3.0]),
    "full_like": lambda x: torch.full_like(x, 0.5),
    "randint_like": lambda x: torch.randint_like(x, 5),
    "np.zeros": lambda x: np.zeros(3, like=x),
}


class Tagged(dk.Tensor):
    """A subclass with an attribute."""

    tag: str


class Spelled(torch.Tensor):
    """A subclass of PyTorch's spelling."""


def check_targets(library: Any, make: Callable[[Any], Any], tensor: Callable[[Any], Any]) -> None:
    x, batch = tensor([1.0, 2.0, 3.0]), tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])

    def filled(x: Any) -> Any:
        return make(x).copy_(x * x)

    rows = library.func.vmap(filled, randomness="same")
    np.testing.assert_array_equal(rows(batch).numpy(), [[0, 1, 4], [9, 16, 25]])
    tangent = library.func.jvp(filled, (x,), (x,))[1]
    np.testing.assert_array_equal(tangent.numpy(), [2.0, 8.0, 18.0])
    tangents = library.func.jvp(rows, (batch,), (library.ones_like(batch),))[1]
    np.testing.assert_array_equal(tangents.numpy(), [[0, 2, 4], [6, 8, 10]])
    gradient = library.func.grad(lambda x: filled(x).sum())(x)
    np.testing.assert_array_equal(gradient.numpy(), [2.0, 4.0, 6.0])


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_what_is_made_in_the_likeness_of_a_tensor_can_be_assigned_to(make: Callable[[Any], Any]) -> None:
    check_targets(dk, make, dk.asarray)


@pytest.mark.parametrize("make", MADE_BY_TORCH.values(), ids=MADE_BY_TORCH)
def test_what_pytorchs_methods_make_can_be_assigned_to(make: Callable[[Any], Any]) -> None:
    check_targets(torch, make, torch.tensor)


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_what_is_made_in_the_likeness_of_a_subclass_is_of_it(make: Callable[[Any], Any]) -> None:
    model = Tagged([1.0, 2.0, 3.0])
    model.tag = "metres"
    made = make(model)
    assert type(made) is Tagged
    assert made.tag == "metres"


@pytest.mark.parametrize("make", MADE_BY_TORCH.values(), ids=MADE_BY_TORCH)
def test_what_pytorchs_methods_make_of_a_subclass_is_of_it(make: Callable[[Any], Any]) -> None:
    assert type(make(Spelled([1.0, 2.0, 3.0]))) is Spelled


def test_a_new_tensor_of_a_subclass_is_a_leaf_that_collects_its_gradient() -> None:
    leaf = Tagged([1.0, 2.0]).new_tensor([3.0, 4.0], requires_grad=True)
    (leaf * leaf).sum().backward()
    assert type(leaf.grad) is Tagged
    np.testing.assert_array_equal(leaf.grad.numpy(), [6.0, 8.0])
    assert type(dk.nn.Parameter(dk.ones(2)).new_tensor([1.0])) is dk.Tensor


def test_each_element_of_a_batch_has_memory_of_its_own_in_what_is_made_for_it() -> None:
    def changed(x: Any) -> Any:
        y = np.zeros(2, like=x)
        y[0] = x[0]
        return y

    rows = dk.func.vmap(changed)(dk.asarray([[1.0], [2.0]]))
    np.testing.assert_array_equal(rows.numpy(), [[1.0, 0.0], [2.0, 0.0]])

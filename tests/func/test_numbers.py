"""Python numbers asked of what a transformation differentiates, which would lose the derivative in silence."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import func
from dispatchkit.errors import AutogradError, LostDerivativeError, TransformError

X = dk.tensor(2.0)
Function = Callable[[Any], Any]

# What is called, and the name and the cure that the message has.
NUMBERS: dict[str, tuple[Function, str, str]] = {
    "item": (lambda x: x.item(), "item", "x.detach().item()"),
    "float": (float, "float", "float(x.detach())"),
    "int": (int, "int", "int(x.detach())"),
    "bool": (bool, "bool", "bool(x.detach())"),
    "complex": (complex, "complex", "complex(x.detach())"),
    "math.sqrt": (math.sqrt, "float", "float(x.detach())"),
    "math.trunc": (math.trunc, "math.trunc", "math.trunc(x.detach())"),
    "percent": (lambda x: "%.1f" % x, "float", "float(x.detach())"),  # noqa: UP031  # what asks for a float
    "tolist": (lambda x: x.tolist(), "tolist", "x.detach().tolist()"),
    "tolist of several": (lambda x: dk.stack([x, x]).tolist(), "tolist", "x.detach().tolist()"),
    "number of a type": (
        lambda x: float(dk.types.LowRankTensor(dk.reshape(x, (1, 1)), dk.ones((1, 1)))),
        "float",
        "float(x.detach())",
    ),
    "truth of a type": (lambda x: bool(dk.types.DiagonalTensor(dk.reshape(x, (1,)))), "bool", "bool(x.detach())"),
    "item of a type that wraps": (lambda x: dk.types.MetadataTensor(x).item(), "item", "x.detach().item()"),
}
TRANSFORMATIONS: dict[str, tuple[Callable[[Function], Any], str]] = {
    "grad": (lambda f: func.grad(f)(X), "grad"),
    "grad by a leaf": (lambda f: func.grad(f)(dk.tensor(2.0, requires_grad=True)), "grad"),
    "grad under no_grad": (lambda f: dk.no_grad()(lambda: func.grad(f)(X))(), "grad"),
    "value_and_grad": (lambda f: func.value_and_grad(f)(X), "grad"),
    "vjp": (lambda f: func.vjp(f, X), "vjp"),
    "linearize": (lambda f: func.linearize(f, X), "linearize"),
    "jvp": (lambda f: func.jvp(f, (X,), (X,)), "jvp"),
    "jacfwd": (lambda f: func.jacfwd(f)(X), "jvp"),
    "jacrev": (lambda f: func.jacrev(f)(X), "vjp"),
    "grad of grad": (lambda f: func.grad(func.grad(f))(X), "grad"),
    "grad by an outer argument": (lambda f: func.grad(lambda y: func.grad(lambda x: f(y) * x)(X))(X), "grad"),
    "jvp of grad": (lambda f: func.jvp(func.grad(f), (X,), (X,)), "jvp"),
    "grad of jvp": (lambda f: func.grad(lambda x: func.jvp(f, (x,), (x,))[1])(X), "jvp"),
    "grad of a checkpoint": (lambda f: func.grad(func.checkpoint(f))(X), "grad"),
    "grad over a vmap": (lambda f: func.grad(lambda x: func.vmap(lambda y: f(x) * y)(dk.ones(2)).sum())(X), "grad"),
}


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("called", NUMBERS)
def test_a_number_of_what_is_differentiated_is_an_error(called: str, transformation: str) -> None:
    number, name, cure = NUMBERS[called]
    transform, differentiates = TRANSFORMATIONS[transformation]
    with dk.densify(on="allow"), pytest.raises(LostDerivativeError) as caught:
        transform(lambda x: (number(x * 1), x * x)[1])
    assert str(caught.value) == (
        f"{name}() on a tensor that {differentiates} differentiates would lose the derivative; compute with the "
        f"tensor, or use {cure} where a constant is meant"
    )


@pytest.mark.parametrize("transformation", [name for name in TRANSFORMATIONS if name != "grad under no_grad"])
def test_a_detached_number_is_a_constant(transformation: str) -> None:
    transform, _ = TRANSFORMATIONS[transformation]

    def times_constant(x: Any) -> Any:
        return (x * 1).detach().item() * x

    def times_tensor(x: Any) -> Any:
        return dk.full((), 2.0) * x

    # The same derivatives as with the constant 2, the value at which it is detached.
    found, expected = transform(times_constant), transform(times_tensor)
    for one, other in zip(*[y if isinstance(y, tuple) else (y,) for y in (found, expected)], strict=True):
        if not callable(one):
            np.testing.assert_array_equal(one.numpy(), other.numpy())


CONSTANTS: dict[str, Function] = {
    "a comparison": lambda x: x * x if x > 0 else x,
    "a comparison of several": lambda x: x * x if (dk.stack([x, x]) > 0).all() else x,
    "membership": lambda x: x * x if 2.0 in dk.stack([x, x]) else x,
    "the larger of two": lambda x: max([x, x * x]),
    "an index": lambda x: dk.stack([x, x * x])[int(dk.argmax(dk.stack([x, x * x])))],
    "a constant": lambda x: x * x * dk.ones(()).item(),
    "zeros like it": lambda x: x * x if not dk.zeros_like(x) else x,
    "texts": lambda x: x * x if [f"{x}", f"{x:.2f}", repr(x), str(x)] else x,
    "the length": lambda x: x * x if len(dk.stack([x, x])) == 2 else x,
    "a text of a type": lambda x: x * x if repr(dk.types.ScalarTensor(2, x)) else x,
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_what_has_no_derivative_is_read_in_control_flow(name: str) -> None:
    f = CONSTANTS[name]
    assert func.grad(f)(X).item() == 4.0
    assert func.grad(func.grad(f))(X).item() == 2.0
    assert func.grad(func.checkpoint(f))(X).item() == 4.0
    assert [y.item() for y in func.jvp(f, (X,), (dk.ones(()),))] == [4.0, 4.0]


def test_a_parameter_from_elsewhere_and_no_grad_give_numbers_as_numpy_does() -> None:
    w = dk.tensor(3.0, requires_grad=True)
    assert func.grad(lambda x: (w * 2).item() * x)(X).item() == 6.0

    def silent(x: Any) -> Any:
        with dk.no_grad():
            return x.item() * x.numpy() * dk.ones(())

    assert func.grad(lambda x: silent(x) * x)(X).item() == 4.0


def test_a_plain_graph_gives_its_numbers_as_in_pytorch() -> None:
    x = dk.tensor(2.0, requires_grad=True)
    loss = x * x
    assert (loss.item(), float(loss), int(loss), bool(loss), loss.tolist()) == (4.0, 4.0, 4, True, 4.0)
    func.checkpoint(lambda x: float(x * 1) * x)(x).backward()
    assert np.asarray(x.grad) == 2.0
    (g,) = dk.autograd.grad(x**3, [x], create_graph=True)
    assert float(g) == 12.0


def test_results_are_read_once_the_transformation_has_ended() -> None:
    kept: list[Any] = []

    def squared(x: Any) -> Any:
        kept.append(x * x)
        return x * x

    value, pull = func.vjp(squared, X)
    assert (value.item(), kept[0].item(), pull(dk.ones(()))[0].item()) == (4.0, 4.0, 4.0)
    with pytest.raises(LostDerivativeError):
        func.grad(lambda x: float(x) * x)(X)
    assert func.grad(lambda x: x * x)(X).item() == 4.0


@dk.operation(kind=dk.kinds.elementwise)
def scaled_number(xp: Any, x: Any, /) -> Any:
    return xp.multiply(x, x)


@scaled_number.def_vjp
def scaled_vjp(g: Any, x: Any) -> Any:
    return 2 * float(x) * g


def test_a_derivative_rule_that_reads_a_number_has_a_first_derivative_alone() -> None:
    assert func.grad(scaled_number)(X).item() == 4.0
    with pytest.raises(LostDerivativeError, match=r"^float\(\) on a tensor that grad differentiates"):
        func.grad(func.grad(scaled_number))(X)


class Squared(dk.autograd.Function):
    """A square whose forward and backward read numbers, which are no part of a recorded graph there."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.x = float(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * ctx.x * g


def test_a_function_of_autograd_reads_numbers_in_its_forward() -> None:
    assert func.grad(Squared.apply)(X).item() == 4.0


def test_a_rule_of_a_type_that_reads_a_number_says_so_under_a_transformation() -> None:
    @dk.array_type(fallback=dk.fallback.refuse)
    class Scaled:
        def __init__(self, v: Any) -> None:
            self.v = v

        shape: Any = ()
        dtype: Any = np.dtype(np.float64)

    with dk.local_registrations():

        @dk.implements(dk.exp, Scaled)
        def exponential(x: Any, /) -> Any:
            return dk.asarray(math.exp(float(x.v)))

        assert dk.exp(Scaled(X)).item() == pytest.approx(math.exp(2.0))
        with pytest.raises(LostDerivativeError, match=r"^float\(\) on a tensor that grad differentiates"):
            func.grad(lambda v: dk.exp(Scaled(v)))(X)


def test_a_batch_has_no_number_whatever_differentiates_it() -> None:
    for f in (lambda x: float(x) * x, func.grad(lambda x: float(x) * x)):
        with pytest.raises(TransformError, match="a batch has no single value"):
            func.vmap(f)(dk.ones(2))


def test_the_error_is_one_of_the_graph() -> None:
    with pytest.raises(AutogradError):
        func.grad(lambda x: float(x) * x)(X)


def test_a_number_may_stand_in_a_tensordot_of_a_batch() -> None:
    x = dk.asarray([[1.0, 2.0], [3.0, 4.0]], dtype="float32")
    for function in (lambda x: dk.tensordot(x, 3, axes=0), lambda x: dk.tensordot(3, x, axes=0)):
        result = dk.func.vmap(function)(x)
        assert (result.tolist(), result.dtype) == ([[3.0, 6.0], [9.0, 12.0]], dk.float32)

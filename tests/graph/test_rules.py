"""How derivative rules are declared: they name what they read, and are called at every pass."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.autograd import gradcheck, gradgradcheck
from dispatchkit.declare.typing import Operation
from dispatchkit.protocol.overridable import of

SLOPE = 1.0


@pytest.fixture(autouse=True)
def _undone() -> Iterator[None]:
    with dk.local_registrations():
        yield


def cube() -> Operation[..., Any]:
    """Return an operation without rules: x cubed, plus an offset."""

    @dk.operation
    def cubed(xp: Any, x: dk.Tensor, /, *, offset: float = 0.5) -> Any:
        return x * x * x + offset

    return cubed


def gradient(operation: Any, at: float = 2.0, **parameters: Any) -> float:
    x = dk.tensor([at], requires_grad=True)
    operation(x, **parameters).sum().backward()
    assert x.grad is not None
    return float(x.grad)


def slopes(operation: Any) -> list[float]:
    """Return the derivative in reverse mode, with a graph, and in forward mode."""
    x = dk.tensor([2.0], requires_grad=True)
    (live,) = dk.autograd.grad(operation(x).sum(), x, create_graph=True)
    _, tangent = dk.func.jvp(operation, (dk.tensor([2.0]),), (dk.tensor([1.0]),))
    return [gradient(operation), float(live), float(tangent)]


def test_a_partial_that_reads_no_array_is_called_at_every_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    @dk.operation(kind=dk.kinds.elementwise)
    def reverse(xp: Any, x: dk.Tensor, /) -> Any:
        return x * 1.0

    @reverse.def_partial
    def reverse_partial() -> float:
        return -SLOPE

    assert slopes(reverse) == [-1.0, -1.0, -1.0]
    monkeypatch.setitem(globals(), "SLOPE", 0.1)
    assert slopes(reverse) == [-0.1, -0.1, -0.1]


def test_a_partial_with_the_former_parameters_is_called_at_every_pass() -> None:
    calls: list[int] = []

    @dk.operation(kind=dk.kinds.elementwise)
    def counted(xp: Any, x: dk.Tensor, /) -> Any:
        return x * 1.0

    @counted.def_partial
    def counted_partial(xp: Any, y: Any, x: Any) -> float:
        calls.append(1)
        return 1.0

    assert calls == []
    assert slopes(counted) == [1.0, 1.0, 1.0]
    assert len(calls) == 3


def test_a_partial_may_be_a_constant_array() -> None:
    @dk.operation(kind=dk.kinds.elementwise)
    def scaled(xp: Any, x: dk.Tensor, /) -> Any:
        return x * 3.0

    @scaled.def_partial
    def scaled_partial() -> Any:
        return np.asarray([3.0])

    assert gradient(scaled) == 3.0


def vjp_by_name(operation: Operation[..., Any]) -> None:
    @operation.def_vjp
    def rule(x: Any, g: Any) -> Any:
        return 3 * x * x * g


def vjp_in_full(operation: Operation[..., Any]) -> None:
    @operation.def_vjp
    def rule(xp: Any, g: Any, y: Any, x: Any, *, offset: float = 0.5) -> Any:
        return 3 * x * x * g


def vjp_with_starred_arguments(operation: Operation[..., Any]) -> None:
    @operation.def_vjp
    def rule(xp: Any, g: Any, y: Any, *arguments: Any) -> Any:
        x, offset = arguments
        assert offset == 0.5
        return 3 * x * x * g


def vjp_with_starred_arguments_and_keywords(operation: Operation[..., Any]) -> None:
    @operation.def_vjp
    def rule(xp: Any, g: Any, y: Any, *arguments: Any, **parameters: Any) -> Any:
        (x,) = arguments
        assert parameters == {"offset": 0.5}
        return 3 * x * x * g


def vjp_with_keywords(operation: Operation[..., Any]) -> None:
    @operation.def_vjp
    def rule(g: Any, **rest: Any) -> Any:
        assert sorted(rest) == ["offset", "x", "xp", "y"]
        return 3 * rest["x"] ** 2 * g


def vjp_behind_a_plain_decorator(operation: Operation[..., Any]) -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        def inner(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return inner

    @operation.def_vjp
    @logged
    def rule(xp: Any, g: Any, y: Any, x: Any, *, offset: float) -> Any:
        return 3 * x * x * g


def vjp_behind_a_decorator_with_wraps(operation: Operation[..., Any]) -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return inner

    @operation.def_vjp
    @logged
    def rule(g: Any, x: Any) -> Any:
        return 3 * x * x * g


def vjp_whose_wrapper_reads_more_than_it_wraps(operation: Operation[..., Any]) -> None:
    def times_g(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inner(xp: Any, g: Any, x: Any) -> Any:
            return function(x) * g

        return inner

    @operation.def_vjp
    @times_g
    def rule(x: Any) -> Any:
        return 3 * x * x


def vjp_as_a_callable_object(operation: Operation[..., Any]) -> None:
    class Rule:
        def __call__(self, g: Any, x: Any) -> Any:
            return 3 * x * x * g

    operation.def_vjp(Rule())


def vjp_as_a_partial(operation: Operation[..., Any]) -> None:
    def rule(factor: float, g: Any, x: Any) -> Any:
        return factor * x * x * g

    operation.def_vjp(functools.partial(rule, 3))


def vjp_with_a_parameter_of_its_own(operation: Operation[..., Any]) -> None:
    @operation.def_vjp
    def rule(g: Any, factor: float = 3.0, x: Any = None) -> Any:
        return factor * x * x * g


FORMS = [value for name, value in list(globals().items()) if name.startswith("vjp_")]


@pytest.mark.parametrize("declare", FORMS, ids=[form.__name__.removeprefix("vjp_") for form in FORMS])
def test_a_rule_is_given_what_it_names(declare: Callable[[Operation[..., Any]], None]) -> None:
    cubed = cube()
    declare(cubed)
    assert gradient(cubed) == 12.0
    x = dk.tensor([0.5, -2.0], requires_grad=True)
    assert gradcheck(cubed, (x,))
    assert gradgradcheck(cubed, (x,))


def test_rules_of_every_kind_name_what_they_read() -> None:
    @dk.operation
    def sides(xp: Any, x: dk.Tensor, other: dk.Tensor, /, *, weight: float = 2.0) -> Any:
        return weight * x + other * other

    @sides.def_transpose("x")
    def sides_transpose(weight: float, g: Any) -> Any:
        return weight * g

    @sides.def_partial("other")
    def sides_partial(other: Any) -> Any:
        return 2 * other

    @sides.def_jvp("x")
    def sides_jvp(t: Any, weight: float) -> Any:
        return weight * t

    x, other = (dk.tensor([1.0, -3.0], requires_grad=True) for _ in range(2))
    for parameters in ({}, {"weight": 5.0}):
        assert gradcheck(lambda a, b, p=parameters: sides(a, b, **p), (x, other))
        _, tangent = dk.func.jvp(lambda a, p=parameters: sides(a, other, **p), (dk.ones(2),), (dk.ones(2),))
        assert tangent.tolist() == [parameters.get("weight", 2.0)] * 2


def test_the_signature_of_a_rule_says_what_is_kept() -> None:
    reads_x, reads_y = cube(), cube()

    @reads_x.def_vjp
    def by_input(g: Any, x: Any) -> Any:
        return 3 * x * x * g

    @reads_y.def_vjp
    def by_output(g: Any, y: Any) -> Any:
        return g * y

    x = dk.tensor([2.0], requires_grad=True)
    z = reads_x(x)
    z.add_(1)
    z.backward()
    z = reads_y(x)
    z.add_(1)
    with pytest.raises(dk.InplaceError):
        z.backward()


def test_numbers_say_partials_that_never_change() -> None:
    @dk.operation(kind=dk.kinds.elementwise)
    def combined(xp: Any, x1: dk.Tensor, x2: dk.Tensor, /) -> Any:
        return 2.0 * x1 - x2

    combined.def_partial(2.0, -1)
    x1, x2 = (dk.tensor([1.0, -3.0], requires_grad=True) for _ in range(2))
    combined(x1, x2).sum().backward()
    assert x1.grad is not None
    assert x2.grad is not None
    assert (x1.grad.tolist(), x2.grad.tolist()) == ([2.0, 2.0], [-1.0, -1.0])
    assert dk.func.jvp(combined, (x1, x2), (dk.ones(2), dk.ones(2)))[1].tolist() == [1.0, 1.0]


def test_numbers_that_do_not_fit_the_arguments_are_refused() -> None:
    message = (
        r"def_partial: .*\.cubed takes a function that computes the derivative, or def_partial takes a number for each "
        r"of x; found 1, 2"
    )
    with pytest.raises(dk.RegistrationError, match=message):
        cube().def_partial(1, 2)
    with pytest.raises(dk.RegistrationError, match=r"def_vjp: .*\.cubed takes a function .*; found 1"):
        cube().def_vjp(1)  # type: ignore[arg-type]  # what is tested


def test_a_name_that_a_rule_cannot_have_is_refused() -> None:
    cubed = cube()

    def partial_of_z(xp: Any, z: Any) -> Any:
        return z

    message = r"partial_of_z cannot be the partial rule of .*\.cubed: it names 'z', and may name xp, y, x, offset"
    with pytest.raises(dk.RegistrationError, match=message):
        cubed.def_partial(partial_of_z)
    with pytest.raises(dk.RegistrationError, match=r"cannot be the partial rule of .*: it names 'g', and may name"):
        cubed.def_partial(lambda g, x: g)
    with pytest.raises(dk.RegistrationError, match=r"cannot be the transpose rule of .*: it names 'y', and may name"):
        cubed.def_transpose(lambda g, y: g)
    assert not dk.func.jvp(cubed, (dk.ones(1),), (dk.ones(1),))[1].requires_grad


def test_a_rule_without_a_signature_is_refused() -> None:
    message = r"cannot be the partial rule of .*\.cubed: it has no signature to read; wrap it in a function with def"
    with pytest.raises(dk.RegistrationError, match=message):
        cube().def_partial(getattr)


def test_a_rule_that_caches_arrays_is_refused() -> None:
    @functools.lru_cache
    def cached(x: Any) -> Any:
        return x

    message = r"cached cannot be the partial rule of .*\.cubed: it caches results by its arguments, and arrays cannot"
    with pytest.raises(dk.RegistrationError, match=message):
        cube().def_partial(cached)


def test_whether_the_output_is_kept_follows_from_the_rules_as_they_are() -> None:
    cubed = cube()
    operation: Any = of(cubed)
    derivative = operation.derivative

    def by_input(x: Any, g: Any) -> Any:
        return 3 * x * x * g

    def by_output(x: Any, y: Any, g: Any) -> Any:
        return 3 * (y - 0.5) / x * g

    cubed.def_vjp(by_input)
    assert not derivative.keeps_output
    cubed.def_vjp(by_output)
    assert derivative.keeps_output
    x = dk.tensor([2.0], requires_grad=True)
    y = cubed(x)
    shown = y.detach()
    shown += 1
    with pytest.raises(dk.InplaceError):
        y.sum().backward()

"""A package's own form of declarations, annotated with `dk.Operation`: what it declares has types and rules."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, assert_type

import pytest

import dispatchkit as dk
from dispatchkit.declare.decorators import OPTIONS, Options

P = ParamSpec("P")
R = TypeVar("R")


def signal(**options: Any) -> Callable[[Callable[Concatenate[Any, P], R]], dk.Operation[P, R]]:
    """Declare a function of the package."""
    return dk.operation(namespace="declared_signal", **options)


@signal(axis="axis")
def energy(xp: Any, x: dk.Tensor, /, *, axis: int = -1) -> dk.Tensor:
    result: dk.Tensor = xp.sum(x * x, axis=axis)
    return result


@energy.def_vjp
def energy_vjp(xp: Any, g: Any, x: Any, axis: int) -> Any:
    return 2 * xp.expand_dims(g, axis=axis) * x


def test_type_checkers_see_the_result_and_refuse_other_keywords() -> None:
    assert_type(energy(dk.ones(2), axis=0), dk.Tensor)
    with pytest.raises(TypeError, match=r"declared_signal\.energy: got an unexpected keyword argument 'axsi'"):
        energy(dk.ones(2), axsi=0)  # type: ignore[call-arg]


def test_rules_are_declared_as_for_any_operation() -> None:
    assert dk.func.grad(energy)(dk.tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert dk.autograd.gradgradcheck(energy, (dk.ones((2, 3), requires_grad=True),))


def test_an_option_that_there_is_not_is_named_with_those_that_there_are() -> None:
    with pytest.raises(TypeError, match=r"operation\(\) got an unexpected keyword argument 'methdos'; it takes kind, "):
        dk.operation(methdos=("energy",))  # type: ignore[call-overload]


def test_help_shows_every_option_with_its_default() -> None:
    parameters = inspect.signature(dk.operation).parameters
    assert parameters["differentiable"].default is True
    assert parameters["domain"].default == (-2.0, 2.0)


def test_a_wrapper_of_a_lambda_as_a_rule_takes_what_the_lambda_names() -> None:
    calls = []

    def counted(rule: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(rule)
        def call(*args: Any, **kwargs: Any) -> Any:
            calls.append(rule)
            return rule(*args, **kwargs)

        return call

    @dk.operation(kind=dk.kinds.elementwise)
    def thrice(xp: Any, x: dk.Tensor, /) -> dk.Tensor:
        return 3 * x

    thrice.def_vjp(counted(lambda g: 3 * g))
    assert dk.func.grad(lambda x: dk.sum(thrice(x)))(dk.tensor([1.0, 2.0])).tolist() == [3.0, 3.0]
    assert calls


def test_code_that_is_run_without_the_name_of_a_module_declares_operations_of_the_program() -> None:
    fivefold: Any = lambda xp, x, /: 5 * x  # noqa: E731
    fivefold.__module__ = None
    rule: Any = lambda x: 5.0  # noqa: E731
    rule.__module__ = None
    operation = dk.operation(kind=dk.kinds.elementwise)(fivefold)
    operation.def_partial(rule)
    assert dk.tensor_protocol.operation(operation).qualified_name.startswith("__main__.")
    assert dk.func.grad(operation)(dk.tensor(1.0)).item() == 5.0


def test_type_checkers_know_the_options_that_there_are() -> None:
    assert {"kind", *Options.__annotations__} == set(OPTIONS)

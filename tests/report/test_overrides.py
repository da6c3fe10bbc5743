"""`dk.overrides`: what can be overridden, dummies to test against, and what cannot."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import overrides
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.protocol.overridable import Overridable

TENSOR: Any = dk.Tensor
OPERATIONS = {name: entry for name, entry in dk.tensor_protocol.operations.items() if name.startswith("dispatchkit.")}
DECLARED = [entry for entry in OPERATIONS.values() if isinstance(entry, DeclaredOperation) and entry.samples]
MEMBERS = [member for member in dk.tensor_protocol.surface if isinstance(member.operation, DeclaredOperation)]


@dk.array_type()
class Surface:
    """Has no rules."""

    shape = (2, 2)
    dtype = dk.float64


class Probe:
    """Answers every call with what it was told."""

    shape = (2, 2)
    dtype = dk.float64

    @classmethod
    def __tensor_function__(
        cls, func: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        return func, types, args, kwargs


def listed() -> list[Any]:
    return [function for functions in overrides.get_overridable_functions().values() for function in functions]


def probed(entry: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    def replaced(name: str, value: Any) -> Any:
        return Probe() if isinstance(value, np.ndarray) else value

    return dk.tensor_protocol.map_arguments(entry.function, args, kwargs, replaced)


@pytest.mark.parametrize("entry", DECLARED, ids=lambda entry: entry.qualified_name)
def test_a_type_is_asked_for_every_function_under_its_own_key(entry: DeclaredOperation) -> None:
    asked = 0
    for sample in entry.samples:
        args, kwargs = probed(entry, *sample.make(np.random.default_rng(0)))
        if not any(isinstance(v, Probe) for _, v in entry.parameters.values(args, kwargs)):
            continue
        asked += 1
        result = entry.function(*args, **kwargs)
        if entry.name == "setitem":
            continue
        func, types, got_args, got_kwargs = result
        assert func is entry.function
        assert types == (Probe,)
        assert got_args == args
        assert got_kwargs == kwargs
        assert overrides.get_testing_overrides()[func](*got_args, **got_kwargs) == -1
    if not entry.parameters.nullary and entry.parameters.arrays and entry.samples:
        assert asked or entry.name == "full"


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_methods_operators_and_properties_reach_their_operation(member: Any) -> None:
    operation = member.operation
    for sample in operation.samples[:1]:
        args, kwargs = sample.make(np.random.default_rng(0))
        first, *rest = args
        if not isinstance(first, np.ndarray):
            return
        value = member.value
        result = value.function(Probe()) if hasattr(value, "function") else value(Probe(), *rest, **kwargs)
        if operation.name == "setitem":
            return
        assert result[0] is operation.function


def test_namespaces() -> None:
    found = overrides.get_overridable_functions()
    assert {dk, dk.fft, dk.linalg, dk.random, dk.special, dk.Tensor} <= set(found)
    assert dk.add in found[dk]
    assert dk.linalg.inv in found[dk.linalg]
    assert dk.fft.fft in found[dk.fft]
    assert dk.special.erf in found[dk.special]
    assert TENSOR.sum in found[dk.Tensor]


def test_every_public_operation_is_listed() -> None:
    functions = set(listed())
    for name, entry in OPERATIONS.items():
        assert entry.function in functions, name


def test_functions_made_overridable_are_listed_under_their_module() -> None:
    @dk.overridable
    def listed_here(x: Any, /) -> Any:
        return x

    assert listed_here in listed()
    assert listed_here in overrides.get_testing_overrides()


def test_dummies_have_the_very_same_signature_and_name() -> None:
    dummies = overrides.get_testing_overrides()
    assert set(dummies) == set(listed())
    for function, dummy in dummies.items():
        target = getattr(function, "function", function)
        assert inspect.signature(dummy) == inspect.signature(target)
        assert dummy.__name__ == target.__name__


def test_dummies_refuse_what_their_functions_refuse() -> None:
    dummy = overrides.get_testing_overrides()[dk.add]
    assert dummy(1, 2) == -1
    with pytest.raises(TypeError):
        dummy(1)
    with pytest.raises(TypeError):
        dummy(1, 2, alpha=3)


def test_ignored_functions_are_a_tuple_disjoint_from_the_others() -> None:
    ignored = overrides.get_ignored_functions()
    assert isinstance(ignored, tuple)
    assert len(set(ignored)) == len(ignored)
    assert set(ignored).isdisjoint(listed())


def test_every_public_function_is_either_overridable_or_ignored() -> None:
    known = {*listed(), *overrides.get_ignored_functions()}
    for name in vars(dk)["__all__"]:
        value = getattr(dk, name)
        if callable(value) and not isinstance(value, type):
            assert value in known, name


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (dk.add, "dispatchkit.add"),
        (dk.linalg.inv, "dispatchkit.linalg.inv"),
        (TENSOR.sum, "dispatchkit.Tensor.sum"),
        (TENSOR.__radd__, "dispatchkit.Tensor.__radd__"),
        (TENSOR.T, "dispatchkit.Tensor.T"),
        (dk.mul, "dispatchkit.multiply"),
        (len, None),
    ],
)
def test_names(function: Any, name: str | None) -> None:
    assert overrides.resolve_name(function) == name


def test_every_listed_function_has_a_name() -> None:
    assert all(overrides.resolve_name(function) for function in listed())


def test_tensor_likes() -> None:
    assert overrides.is_tensor_like(dk.ones(1))
    assert overrides.is_tensor_like(Probe())
    assert overrides.is_tensor_like(dk.types.ScalarTensor(2, 1.0))
    assert not overrides.is_tensor_like([1.0])
    assert not overrides.is_tensor_like(1.0)


def test_methods_and_properties() -> None:
    for value in (TENSOR.sum, TENSOR.T, TENSOR.__add__):
        assert overrides.is_tensor_method_or_property(value)
    assert not overrides.is_tensor_method_or_property(len)
    assert not overrides.is_tensor_method_or_property(dk.linalg.svdvals)


def test_has_tensor_function() -> None:
    assert overrides.has_tensor_function((1.0, Probe()))
    assert not overrides.has_tensor_function((dk.ones(1), np.ones(1), 1.0))


def test_a_function_can_dispatch_by_hand() -> None:
    def half(x: Any, by: float = 2.0) -> Any:
        if overrides.has_tensor_function((x,)):
            return overrides.handle_tensor_function(half, (x,), x, by=by)
        return x / by

    assert half(4.0) == 2.0
    x = Probe()
    assert half(x, 3.0) == (half, (Probe,), (x,), {"by": 3.0})
    with pytest.raises(dk.NoImplementationError, match="half"):
        half(Surface())


def test_a_function_can_be_wrapped() -> None:
    @overrides.wrap_tensor_function(lambda x, y: (x, y))
    def both(x: Any, y: Any) -> Any:
        """Docstring."""
        return x + y

    assert both(1, 2) == 3
    assert both.__doc__ == "Docstring."
    x = Probe()
    assert both(1.0, x) == (both, (Probe,), (1.0, x), {})

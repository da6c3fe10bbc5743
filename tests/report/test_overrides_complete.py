"""Every function that `dk.overrides` lists asks a type in each of its array positions, under its own key: 100 %."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit import overrides
from dispatchkit.protocol.overridable import Overridable, of
from dispatchkit.protocol.parameters import ArrayParameter, Form
from dispatchkit.protocol.surface import REFLECTED, Property

LISTED: list[tuple[Any, Any]] = [
    (getattr(place, "__name__", place), function)
    for place, functions in overrides.get_overridable_functions().items()
    for function in functions
    # Functions that other tests make overridable stand under the names of their modules.
    if not isinstance(place, str)
]


@dataclass
class Arrived:
    """What a probe was told."""

    function: Any
    types: tuple[type, ...]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


class Probe:
    """Answers every call, and notes what it was told."""

    shape = (2, 2)
    dtype = dk.float64
    arrived: list[Arrived] = []  # noqa: RUF012  # the notes of all probes

    @classmethod
    def __tensor_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> str:
        assert type(kwargs) is dict
        cls.arrived.append(Arrived(func, types, args, kwargs))
        return "answered"


class Collecting(dk.TensorFunctionMode):
    """Answers every call made inside."""

    def __init__(self) -> None:
        self.arrived: list[Arrived] = []

    def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> str:
        self.arrived.append(Arrived(func, types, args, kwargs))
        return "answered"


class Option:
    """An argument that is no array; where it arrives it must be this very object."""


def operation_of(function: Any) -> Overridable:
    operation = of(function)
    assert operation is not None
    return operation


def value_of(parameter: ArrayParameter | None, probe: Probe | None) -> Any:
    """Return an argument for a parameter: with a probe in it, else a tensor or an option."""
    if parameter is None:
        return Option()
    x = dk.ones((2, 2)) if probe is None else probe
    return {Form.SEQUENCE: [dk.ones((2, 2)), x], Form.INDEX: (0, x)}.get(parameter.form, x)


def calls(operation: Overridable) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield arguments from the signature alone, with a probe in the place of each array in turn.

    Each is made with what must be given, and with everything that can be.
    """
    arrays = {p.name: p for p in operation.parameters.arrays}
    named = list(operation.parameters.signature.parameters.values())
    spread = any(p.kind is p.VAR_POSITIONAL for p in named)
    for place in arrays or (None,):
        for everything in (False, True):
            args: list[Any] = []
            kwargs: dict[str, Any] = {}
            last = next((i for i, p in enumerate(named) if p.name == place), 0)
            for index, p in enumerate(named):
                value = value_of(arrays.get(p.name), Probe() if p.name == place else None)
                needed = everything or p.default is p.empty or p.name == place
                if p.kind is p.VAR_POSITIONAL:
                    args += [dk.ones((2, 2)), value]
                elif p.kind is p.POSITIONAL_ONLY or (spread and p.kind is p.POSITIONAL_OR_KEYWORD):
                    # What stands before the probe has to be given, too.
                    args += [value] if needed or index < last else []
                elif needed and p.kind is not p.VAR_KEYWORD:
                    kwargs[p.name] = value
            yield tuple(args), kwargs


def made(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Make a call of a function, or of a member of `Tensor` with the first array as the instance."""
    if isinstance(function, Property):
        function.__get__(args[0])
    elif name in REFLECTED.values():
        function(*reversed(args))
    else:
        function(*args, **kwargs)


def same(one: Any, other: Any) -> bool:
    """Return whether what arrived is what was passed: the same objects in lists, tuples and dicts of the same kind."""
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return isinstance(other, dict) and list(one) == list(other) and all(same(one[k], other[k]) for k in one)
    return one is other


def member_name(function: Any) -> str:
    return next((m.name for m in dk.tensor_protocol.surface if m.value is function), "")


def arrivals(place: str, function: Any) -> int:
    """Return how many calls of a function were made, each of which a probe or mode was told of as it was written."""
    operation = operation_of(function)
    name = member_name(function) if place == "Tensor" else ""
    count = 0
    for args, kwargs in calls(operation):
        if isinstance(function, Property) and (len(args) > 1 or kwargs):
            continue  # a property is the operation on the instance alone
        if operation.parameters.nullary:
            with Collecting() as mode:
                made(name, function, args, kwargs)
            arrived, types = mode.arrived, []
        else:
            Probe.arrived.clear()
            made(name, function, args, kwargs)
            arrived, types = Probe.arrived, [Probe]
        assert len(arrived) == 1, (args, kwargs)
        (found,) = arrived
        assert found.function is operation.function
        assert place == "Tensor" or found.function is function
        assert [cls for cls in found.types if cls is not dk.Tensor] == types
        assert same(args, found.args), (args, found.args)
        assert same(kwargs, found.kwargs), (kwargs, found.kwargs)
        count += 1
    return count


@pytest.mark.parametrize(
    ("place", "function"), LISTED, ids=lambda value: value if isinstance(value, str) else overrides.resolve_name(value)
)
def test_the_function_arrives_under_its_own_key(place: str, function: Any) -> None:
    assert arrivals(place, function)


def test_every_one_of_them_arrives() -> None:
    reached = [function for place, function in LISTED if arrivals(place, function)]
    print(f"{len(reached)} of {len(LISTED)} listed functions arrive: {100 * len(reached) / len(LISTED):.0f} %")  # noqa: T201
    assert len(reached) == len(LISTED) > 400


def test_functions_without_arrays_arrive_at_modes_alone() -> None:
    nullary = {operation_of(function).name for _, function in LISTED if operation_of(function).parameters.nullary}
    assert {"zeros", "eye", "ones", "empty"} <= nullary


def test_every_dummy_has_the_signature_of_its_function() -> None:
    dummies = overrides.get_testing_overrides()
    for _, function in LISTED:
        target = function.function if isinstance(function, Property) else function
        assert inspect.signature(dummies[function]) == inspect.signature(target)
        for args, kwargs in calls(operation_of(function)):
            if target is operation_of(function).function:
                assert dummies[function](*args, **kwargs) == -1


def test_what_is_listed_and_what_is_ignored_are_disjoint_and_have_names() -> None:
    ignored = overrides.get_ignored_functions()
    operations = {id(operation_of(function).function) for _, function in LISTED}
    for function in ignored:
        assert of(function) is None
        assert id(function) not in operations
    for _, function in LISTED:
        name = overrides.resolve_name(function)
        assert name is not None
        assert name.startswith("dispatchkit.")


def modules(module: Any) -> Iterator[Any]:
    yield module
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.ismodule(value) and value.__name__.startswith("dispatchkit."):
            yield from modules(value)


@pytest.mark.parametrize("module", list(modules(dk)), ids=lambda module: module.__name__)
def test_every_function_of_every_public_module_is_listed_or_ignored(module: Any) -> None:
    ignored = {id(function) for function in overrides.get_ignored_functions()}
    listed = {id(operation_of(function)) for _, function in LISTED}
    for name in module.__all__:
        value = getattr(module, name)
        if callable(value) and not isinstance(value, type):
            operation = of(value)
            assert (id(value) in ignored) if operation is None else (id(operation) in listed), name

"""What every operation refuses, tried for each argument that its signature declares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.protocol.parameters import ArrayParameter, Form
from tests.bad_input.support import refuses
from tests.declared import OPERATIONS, by_operation

NO_ARRAYS: dict[str, Any] = {
    "string": "a",
    "list": [1.0],
    "dict": {"a": 1},
    "object": object(),
    "array of strings": np.array(["a", "b"]),
    "array of objects": np.array([1.0, None]),
    "array of dates": np.array(["2020"], dtype="M8[D]"),
    "string of NumPy": np.str_("a"),
    "duration of NumPy": np.timedelta64(1, "s"),
}


def call_with(entry: DeclaredOperation, parameter: str, value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of the first stated call, with one of them replaced."""
    args, kwargs = entry.samples[0].make(np.random.default_rng(1))
    args, kwargs = dk.tensor_protocol.map_arguments(
        entry.function, args, kwargs, lambda name, x: dk.tensor(x) if isinstance(x, np.ndarray) else x
    )
    bound = entry.parameters.signature.bind(*args, **kwargs)
    star = entry.parameters.signature.parameters[parameter].kind is bound.signature.parameters[parameter].VAR_POSITIONAL
    bound.arguments[parameter] = (value,) if star else value
    return bound.args, bound.kwargs


def array_arguments() -> list[Any]:
    return [
        pytest.param(entry, p, id=f"{name.removeprefix('dispatchkit.')}-{p.name}")
        for name, entry in OPERATIONS.items()
        for p in entry.parameters.arrays
        if entry.samples and p.form not in (Form.INDEX, Form.LOOSE)
    ]


@by_operation(("entry", "parameter"), array_arguments())
def test_what_is_no_array_of_numbers(entry: DeclaredOperation, parameter: ArrayParameter) -> None:
    optional = entry.parameters.signature.parameters[parameter.name].default is None
    for kind, value in NO_ARRAYS.items() if optional else [("None", None), *NO_ARRAYS.items()]:
        if parameter.form is Form.SEQUENCE and kind == "list":
            value = ["a"]
        args, kwargs = call_with(entry, parameter.name, value)
        found = value.dtype if isinstance(value, (np.ndarray, np.generic)) else type(value).__name__
        found = "str" if kind == "list" and parameter.form is Form.SEQUENCE else str(found)
        error = refuses(
            lambda args=args, kwargs=kwargs: entry.function(*args, **kwargs),  # type: ignore[misc]
            dk.ForeignArgumentError,
            entry.name,
            f"argument '{parameter.name}' ",
            "None" if value is None else found,
            "not an array",
        )
        assert str(error).startswith(f"{entry.qualified_name}: ")


# What a parameter of a name refuses, where it is nobody's array.
PARAMETERS: dict[str, list[Any]] = {
    "axis": [99, "a", 1.5],
    "axes": [99, "a", 1.5],
    "axis1": [99, "a"],
    "source": [99, "a"],
    "dim": [99, "a", 1.5],
    "dim0": [99, "a", 1.5],
    "start_dim": [99],
    "shape": ["a", 1.5, (2, "a"), (-2, -2)],
    "dtype": ["no such dtype", object, "U1"],
    "device": ["cuda"],
    "ord": ["no such norm"],
    "mode": ["no such mode"],
    "side": ["no such side"],
    "indexing": ["no such order"],
    "repeats": ["a", -1],
    "repetitions": ["a"],
    "shift": ["a"],
    "num": ["a", -1],
    "k": ["a"],
    "offset": ["a"],
    "correction": ["a"],
}


def plain_arguments() -> list[Any]:
    return [
        pytest.param(entry, parameter, value, id=f"{name.removeprefix('dispatchkit.')}-{parameter}-{value}")
        for name, entry in OPERATIONS.items()
        for parameter, values in PARAMETERS.items()
        for value in values
        if entry.samples and parameter in entry.parameters.signature.parameters
        if (entry.name, parameter) not in OTHERS
    ]


# An axis is not looked at where an int is permuted, and a shape may be spread out; both have tests of their own.
OTHERS = {("permutation", "axis"), ("rand", "shape"), ("randn", "shape")}


NAMED = {"axis1": "axis", "start_dim": "axis"}


@by_operation(("entry", "parameter", "value"), plain_arguments())
def test_what_a_parameter_does_not_take(entry: DeclaredOperation, parameter: str, value: Any) -> None:
    args, kwargs = call_with(entry, parameter, value)
    error = refuses(lambda: entry.function(*args, **kwargs), Exception, entry.name, NAMED.get(parameter, parameter))
    assert isinstance(error, (TypeError, ValueError, IndexError))


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_keyword_that_is_not_there(name: str) -> None:
    entry = OPERATIONS[name]
    args, kwargs = entry.samples[0].make(np.random.default_rng(1)) if entry.samples else ((dk.ones(2), 0, 1.0), {})
    refuses(lambda: entry.function(*args, **kwargs, no_such_keyword=1), TypeError, entry.name, "no_such_keyword")


@pytest.mark.parametrize("name", [name for name, entry in OPERATIONS.items() if entry.parameters.least])
def test_no_argument_at_all(name: str) -> None:
    refuses(OPERATIONS[name].function, TypeError, OPERATIONS[name].name, "missing")


BINARY = [
    name for name, entry in OPERATIONS.items() if entry.kind.family is dk.kinds.elementwise and entry.parameters.binary
]


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("tracked", [False, True])
def test_shapes_that_do_not_broadcast(name: str, tracked: bool) -> None:
    entry = OPERATIONS[name]
    content = getattr(entry.samples[0].args[0], "content", "integer")  # a number is the order of a function
    dtype = {"integer": "int64", "boolean": "bool"}.get(content, "float64")
    x1 = dk.ones((2, 3), dtype=dtype, requires_grad=tracked and dtype == "float64")
    first, second = entry.parameters.listed
    texts = ("called with", f"{first} = {dtype} array of shape (2, 3)", f"{second} = {dtype} array of shape (2,)")
    for x2 in (dk.ones(2, dtype=dtype), np.ones(2, dtype=dtype)):
        refuses(lambda x2=x2: entry.function(x1, x2), ValueError, name, "broadcast", *texts)  # type: ignore[misc]
    refuses(lambda: entry.function(x1, dk.ones(2, dtype=dtype)), ValueError, entry.qualified_name, *texts)

"""Functions compiled from their signatures: arguments reach handlers and bodies as they were given."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Sample
from tests.declared import OPERATIONS


class Told(dk.TensorFunctionMode):
    """Keeps the arguments of calls, and passes on."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        self.calls.append((func.__name__, args, dict(kwargs)))
        return NotImplemented


class Own:
    """Gives back what it is asked with."""

    @classmethod
    def __tensor_function__(cls, func: Any, types: Any, args: Any, kwargs: Any = None) -> Any:
        return args, kwargs


@dk.operation
def scaled(xp: Any, x: dk.Tensor, /, factor: float, *more: float, shift: float = 0.0) -> Any:
    """Multiply by numbers, and add one."""
    for one in (factor, *more):
        x = x * one
    return x + shift


@dk.operation
def combined(
    xp: Any, x1: dk.Tensor, x2: dk.Tensor, /, mode: str = "sum", *, weight: dk.Tensor | None = None, rounds: int = 1
) -> Any:
    """Add or multiply two arrays."""
    y = x1 + x2 if mode == "sum" else x1 * x2
    return (y if weight is None else y * weight) * rounds


X = dk.asarray([1.0, 2.0])
CALLS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any], list[float]]] = {
    "one by place": (scaled, (X, 3.0), {}, [3.0, 6.0]),
    "one by name": (scaled, (X,), {"factor": 3.0}, [3.0, 6.0]),
    "any number": (scaled, (X, 3.0, 2.0, 0.5), {}, [3.0, 6.0]),
    "with a keyword": (scaled, (X, 3.0), {"shift": 1.0}, [4.0, 7.0]),
    "two arrays": (combined, (X, X), {}, [2.0, 4.0]),
    "a parameter by place": (combined, (X, X, "product"), {}, [1.0, 4.0]),
    "a parameter by name": (combined, (X, X), {"mode": "product"}, [1.0, 4.0]),
    "an array by name": (combined, (X, X), {"weight": X, "rounds": 2}, [4.0, 16.0]),
    "nothing for an array": (combined, (X, X), {"weight": None}, [2.0, 4.0]),
    "a number for an array": (combined, (X, 1.0), {"weight": 2.0}, [4.0, 6.0]),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_at_once_by_the_table_and_recorded_gives_the_same(name: str) -> None:
    function, args, kwargs, expected = CALLS[name]
    assert function(*args, **kwargs).tolist() == expected
    x = dk.tensor(X.tolist(), requires_grad=True)
    tracked = function(x, *args[1:], **kwargs)
    assert tracked.tolist() == expected
    assert tracked.requires_grad


@pytest.mark.parametrize("name", CALLS)
def test_who_answers_is_given_the_arguments_as_they_came(name: str) -> None:
    function, args, kwargs, expected = CALLS[name]
    with Told() as mode:
        assert function(*args, **kwargs).tolist() == expected
    assert mode.calls[0] == (function.__name__, args, kwargs)
    own = Own()
    for _ in range(2):  # the second is known to the table
        assert function(own, *args[1:], **kwargs) == ((own, *args[1:]), kwargs)


MISTAKES: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any], str]] = {
    "nothing": (scaled, (), {}, "missing a required.* 'x'"),
    "too few": (scaled, (X,), {}, "missing a required argument: 'factor'"),
    "twice": (scaled, (X, 1.0), {"factor": 2.0}, "multiple values for argument"),
    "too many": (combined, (X, X, "sum", 1), {}, "too many positional arguments"),
    "an unknown name": (combined, (X, X), {"axis": 0}, "unexpected keyword argument"),
    "an array by its name": (
        combined,
        (X,),
        {"x2": X},
        "x2' parameter is positional only|positional-only arg.* 'x2'|missing a required arg.* 'x2'",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_arguments_that_do_not_fit_are_told_with_the_signature(name: str) -> None:
    function, args, kwargs, text = MISTAKES[name]
    with pytest.raises(TypeError, match=text) as caught:
        function(*args, **kwargs)
    assert f"its signature is {function.__name__}(" in str(caught.value)


def test_names_of_parameters_are_free() -> None:
    @dk.operation
    def named(xp: Any, call: dk.Tensor, /, *, live: int = 1, make: int = 2, base: Any = None, r: int = 3) -> Any:
        return call * live * make * r

    @dk.operation
    def named_two(xp: Any, new: dk.Tensor, rest: dk.Tensor, /, *, settle: int = 1, fail: int = 2) -> Any:
        return new * rest * settle * fail

    @dk.operation
    def underscored(xp: Any, x: dk.Tensor, y: dk.Tensor, /, *, __live: int = 3) -> Any:
        return x * y * __live

    assert named(X, live=2, r=5).tolist() == [20.0, 40.0]
    assert named_two(X, X, settle=3).tolist() == [6.0, 24.0]
    assert underscored(X, X).tolist() == [3.0, 12.0]


def test_a_default_is_the_bodys_own() -> None:
    nothing = object()

    @dk.operation
    def defaulted(xp: Any, x: dk.Tensor, /, *, given: Any = nothing) -> Any:
        return x + (1.0 if given is nothing else 2.0)

    assert defaulted(X).tolist() == [2.0, 3.0]
    assert defaulted(X, given=None).tolist() == [3.0, 4.0]


def test_a_full_traceback_shows_the_compiled_line() -> None:
    # In an interpreter of its own: arrays of other libraries and modes, which other tests may leave, send calls by the
    # table, and the variable is read once.
    program = """
import traceback
import dispatchkit as dk
try:
    dk.roll(dk.ones(2), 1, axis=4)
except IndexError as error:
    print(*traceback.format_exception(error))
"""
    environment = {**os.environ, "DISPATCHKIT_TRACEBACK": "full"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True)
    assert "AxisError: dispatchkit.roll: axis 4 is out of bounds" in done.stdout
    assert "_r = _compute(" in done.stdout


def makers() -> list[Any]:
    """Return the calls of operations that make arrays, of any and of none."""
    return [
        pytest.param(entry, call, id=f"{entry.name}-{index}")
        for entry in OPERATIONS.values()
        if "requires_grad" in entry.parameters.signature.parameters
        for index, call in enumerate(entry.samples)
    ]


@pytest.mark.parametrize(("entry", "call"), makers())
def test_every_function_that_makes_an_array_makes_a_leaf(entry: DeclaredOperation, call: Sample) -> None:
    args, kwargs = call.make(np.random.default_rng(1))
    for one in (args, [dk.asarray(x) if isinstance(x, np.ndarray) else x for x in args]):
        if entry.function(*one, **kwargs).dtype.kind in "fc":
            y = entry.function(*one, **kwargs, requires_grad=True)
            assert y.requires_grad
            assert y.is_leaf
        else:
            with pytest.raises(dk.AutogradError, match="only floating-point and complex tensors can require gradients"):
                entry.function(*one, **kwargs, requires_grad=True)

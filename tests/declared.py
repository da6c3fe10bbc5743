"""What the tests that follow from declarations share: the library's operations, and the calls they state."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.protocol.kinds import kinds
from tests.turns import some_of

__all__ = [
    "CALLS",
    "LIBRARY",
    "OPERATIONS",
    "by_operation",
    "differentiable_calls",
    "flat",
    "leaves",
    "library_for",
    "marks_of",
]

# The functions of the library, for checks of types: other tests declare operations, with wrong derivatives too.
LIBRARY = [entry.function for name, entry in dk.tensor_protocol.operations.items() if name.startswith("dispatchkit.")]
OPERATIONS = {
    name: entry
    for name, entry in dk.tensor_protocol.operations.items()
    if isinstance(entry, DeclaredOperation) and name.startswith("dispatchkit.")
}


def library_for(cls: type, place: int) -> list[Callable[..., Any]]:
    """Return the functions of the library that a quick run checks a type with.

    Those that a type has a rule for are all among them. The others become dense or are composed of the same few, by the
    same code: one in three, counted from `place`, stands for them. A long run checks with all.
    """
    answered = {f"dispatchkit.{rule.target}" for rule in dk.rules(cls)}
    others = [function for function in LIBRARY if _qualified_name(function) not in answered]
    left_to_the_long_run = set(others) - set(some_of(others, 3, place))
    return [function for function in LIBRARY if function not in left_to_the_long_run]


def _qualified_name(function: Callable[..., Any]) -> str:
    return dk.tensor_protocol.operation(function).qualified_name


def marks_of(name: str) -> list[pytest.MarkDecorator]:
    """Return what keeps an operation from being called without its optional dependency."""
    computed_by_scipy = name.startswith("dispatchkit.special.") or name == "dispatchkit.nn.functional.gelu"
    absent = computed_by_scipy and find_spec("scipy") is None
    return [pytest.mark.skip(reason="SciPy is not installed")] if absent else []


CALLS = [
    pytest.param(entry, sample, id=f"{name.removeprefix('dispatchkit.')}-{index}", marks=marks_of(name))
    for name, entry in OPERATIONS.items()
    for index, sample in enumerate(entry.samples)
]
RANDOM = kinds.random


def by_operation(names: tuple[str, ...], cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Parametrize a test by operation: the cases of one are subtests of one item, each under its own id.

    The id of a case is the operation's name, a hyphen and what tells it from the others. Collecting an item takes
    longer than most cases.
    """
    groups: dict[str, list[Any]] = {}
    for case in cases:
        groups.setdefault(case.id.partition("-")[0], []).append(case)
    items = [pytest.param(group, id=operation, marks=group[0].marks) for operation, group in groups.items()]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        fixtures = [parameter for name, parameter in signature.parameters.items() if name not in names]
        added = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in ("cases_of_one", "subtests")]
        added += [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in fixtures]

        @functools.wraps(test)
        def run(cases_of_one: list[Any], subtests: pytest.Subtests, **fixtures: Any) -> None:
            for case in cases_of_one:
                with subtests.test(case.id):
                    test(**dict(zip(names, case.values, strict=True)), **fixtures)

        vars(run)["__signature__"] = signature.replace(parameters=added)
        parametrized: Callable[..., None] = pytest.mark.parametrize("cases_of_one", items)(run)
        return parametrized

    return decorate


def flat(result: Any) -> list[Any]:
    """Return the arrays of a result."""
    return [r for one in result for r in flat(one)] if isinstance(result, (tuple, list)) else [result]


def differentiable_calls() -> list[Any]:
    return [
        case
        for case in CALLS
        if all(one.differentiable for one in case.values) and case.values[0].kind is not RANDOM  # type: ignore[union-attr]
    ]


def leaves(
    entry: DeclaredOperation, args: tuple[Any, ...], kwargs: dict[str, Any], call: Callable[..., Any] | None = None
) -> tuple[Callable[..., Any], list[dk.Tensor]]:
    """Return an operation as a function of its floating and complex arguments, and those arguments as leaves.

    What is called is `call`, by default the operation.
    """
    found: list[dk.Tensor] = []

    def leaf(name: str, value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
            found.append(dk.tensor(value, requires_grad=True))
            return found[-1]
        return value

    args, kwargs = dk.tensor_protocol.map_arguments(entry.function, args, kwargs, leaf)

    def function(*values: dk.Tensor) -> Any:
        given = iter(values)
        own, keywords = dk.tensor_protocol.map_arguments(
            entry.function, args, kwargs, lambda name, value: next(given) if isinstance(value, dk.Tensor) else value
        )
        result = flat((call or entry.function)(*own, **keywords))
        return tuple(r for r in result if r.dtype.kind in "fc")

    return function, found

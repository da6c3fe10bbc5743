"""A declared operation with the functions that follow: public ones, what computes by default, what declares rules."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dispatchkit.declare.compiled.default_implementations import default_implementation
from dispatchkit.declare.compiled.entry_points import entry_point, operator_entry_point
from dispatchkit.declare.declared import Declared
from dispatchkit.declare.kernels import define_kernel
from dispatchkit.declare.rules import TABLES, Rule, RuleKind
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.errors import RegistrationError
from dispatchkit.graph.storage import Storage
from dispatchkit.marks import override
from dispatchkit.protocol.fallbacks.base import map_members
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form, Key, Layout, flatten
from dispatchkit.versions import is_newer

# Axes that are longer stand as one of these lengths, of which no sum and no product is another one.
LONGEST = 16
LENGTHS = (17, 37, 53)
ARRAYS: Any = (Layout, Storage, np.ndarray)


def is_cheap(operation: Overridable, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Return whether a call makes no large array, and draws no random numbers."""
    if operation.kind is kinds.random:
        return False
    if operation.kind is not kinds.creation:
        return True
    counts: list[int] = []
    map_members((args, dict(kwargs)), lambda value: counts.append(abs(value)) if type(value) is int else None)
    return math.prod(count for count in counts if count) <= 4096


def layouts(operation: Overridable, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Return the result of a call with a `Layout` in the place of each array, among the arguments, too.

    Long axes are shortened alike everywhere, so that no array is large, and the lengths of the result put back.

    Raises
    ------
    Exception : whatever the operation raises for such arrays
    """
    keywords = dict(kwargs)
    if operation.kind is kinds.random and not any(isinstance(arg, Layout) for arg in args):
        return Layout()
    long = _long_axes(operation, (args, keywords))
    if len(long) > len(LENGTHS):
        return Layout()
    short = dict(zip(long, LENGTHS, strict=False))
    base = operation.types.base

    def small(value: Any) -> Any:
        if isinstance(value, Layout):
            if value.shape is None or value.dtype is None:
                raise ValueError("an array of unknown shape")
            return wrap_array(base, _array([short.get(n, n) for n in value.shape], value.dtype))  # type: ignore[arg-type]
        if isinstance(value, Storage):
            if value.is_tracer:
                return value
            return wrap_array(type(value), _shorten(value.array, short))
        if isinstance(value, np.ndarray):
            return _shorten(value, short)
        if type(value) is int:
            return short.get(value, value)
        return value

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = operation.function(*map_members(args, small), **map_members(keywords, small))
    back = {length: before for before, length in short.items()}
    return map_members(result, lambda value: _layout_of(value, back))


def _long_axes(operation: Overridable, arguments: Any) -> list[int]:
    """Return the lengths of axes that are too long, and such integers where an array is made."""
    lengths: dict[int, None] = {}

    def note(value: Any) -> None:
        if isinstance(value, ARRAYS):
            lengths.update((length, None) for length in value.shape or () if length > LONGEST)
        elif operation.kind is kinds.creation and type(value) is int and value > LONGEST:
            lengths[value] = None

    map_members(arguments, note)
    return list(lengths)


def _layout_of(value: Any, back: Mapping[int, int]) -> Any:
    """Return the layout of an array of a result, lengths of axes put back where they are known."""
    if not isinstance(value, ARRAYS):
        return value
    known = all(length in back or length <= LONGEST for length in value.shape)
    return Layout(tuple(back.get(n, n) for n in value.shape) if known else None, value.dtype)


def _shorten(array: Any, long: Mapping[int, int]) -> Any:
    """Return an array with its long axes cut."""
    if long:
        return array[tuple(slice(long.get(length)) for length in array.shape)]
    return array


def _array(shape: list[int], dtype: Any) -> Any:
    """Return an array that most operations take: matrices are positive definite, integers are indices."""
    if dtype.kind in "biu":
        if dtype.kind != "b":
            return np.zeros(shape, dtype)
        return np.ones(shape, dtype)
    array = np.full(shape, 0.5, dtype)
    if len(shape) > 1:
        diagonal = np.arange(min(shape[-2:]))
        array[..., diagonal, diagonal] += shape[-1]
    return array


class DeclaredOperation(Declared):
    """An operation on arrays, with the functions that call and compute it."""

    @override
    def make_function(self) -> Callable[..., Any]:
        """Return the public function, which computes plain tensors without reading the table."""
        return entry_point(self)

    @override
    def make_operator(self, reflected: str) -> Callable[..., Any]:
        return operator_entry_point(self, reflected)

    @override
    def default(self, key: Key, result: type | None) -> Callable[..., Any] | None:
        cls = result
        if result is None:
            cls = self.protocol.types.base
        assert cls is not None
        tracer: Any = next((t for t in flatten(key) if issubclass(t, Storage) and t.is_tracer), None)
        if tracer is None:
            function: Any = default_implementation(self, key, cls)
            function.gives = cls  # which short paths know it by
            return function

        def by_tracer(*args: Any, **kwargs: Any) -> Any:
            """Let a type answer whose instances have no raw array."""
            return tracer.__tensor_function__(self.function, (tracer,), args, kwargs)

        return by_tracer

    @override
    def declare_from(self, state: Mapping[str, Any]) -> None:
        state["its"].fill(self, state)

    @override
    def update_from(self, state: Mapping[str, Any]) -> None:
        if state["changed"] is None or not is_newer(state["changed"], self.changed):
            return
        for kind, of, rule in state["rules"]:
            if callable(rule):
                store(self, kind, of, rule)
            else:
                self.derivative.rules.partials[of[0]] = rule
        for library, (forward, gradients) in state["kernels"].items():
            define_kernel(self, library, forward, gradients)
        self.rules_changed()
        self.changed = state["changed"]

    @override
    def is_cheap(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        return is_cheap(self, args, kwargs)

    @override
    def layouts(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return layouts(self, args, kwargs)


def define(entry: Declared, kind: RuleKind, rule: Any, /, *others: Any, shapes: Sequence[str] = ()) -> Any:
    """Store a derivative rule: for the only array argument or for those that are named; or numbers, one for each.

    Of the array parameters in `shapes` it reads shape and dtype alone, so that their values are not kept for it.
    In this library the first parameters are arrays, which are not read yet; its tests look at what its rules are for.
    """
    if shapes and kind not in ("transpose", "vjp"):
        raise RegistrationError(f"def_{kind}: {entry.qualified_name}: shapes is of def_transpose and def_vjp alone")
    trusted = entry.implementation.trusted
    if isinstance(rule, str):
        chosen = rule, *others
        if not trusted:
            chosen = _check_names(entry, kind, chosen, shapes)
        return partial(store, entry, kind, chosen, shapes=shapes)
    if trusted:
        names = list(entry.parameters.listed[: 1 + len(others)])
    else:
        names = entry.parameters.names
    if not names:
        raise RegistrationError(
            f"def_{kind}: {entry.qualified_name} has no array parameters; make them positional-only, or annotate them "
            f"with Tensor"
        )
    if not callable(rule) or others:
        return store_numbers(entry, kind, names, (rule, *others))
    if len(names) != 1:
        raise RegistrationError(
            f"def_{kind}: {entry.qualified_name} has the array parameters {', '.join(names)}; name the one that the "
            f"rule is for: @{entry.name}.def_{kind}('{names[0]}')"
        )
    return store(entry, kind, (names[0],), rule, shapes)


def _defining(kind: RuleKind) -> Callable[..., Any]:
    def define_rule(entry: Declared, rule: Any, /, *others: Any, **options: Any) -> Any:
        return define(entry, kind, rule, *others, **options)

    return define_rule


# What `def_partial` and the like of a public function call with its record: methods of that are smaller than partials.
DEFINING = {kind: _defining(kind) for kind in TABLES} | {"kernel": define_kernel}


def _check_names(entry: Declared, kind: RuleKind, chosen: tuple[Any, ...], shapes: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the arguments that a rule is for: one, or all for a rule that gives all cotangents."""
    names = [p.name for p in entry.parameters.arrays]
    unknown = next((name for name in (*chosen, *shapes) if name not in names), None)
    if unknown is not None:
        raise RegistrationError(
            f"def_{kind}: {entry.qualified_name} has no array parameter {unknown!r}; it has {', '.join(names)}"
        )
    of_all = (
        kind == "vjp" and sorted(chosen) == sorted(names) and all(p.form is Form.ONE for p in entry.parameters.arrays)
    )
    if len(chosen) > 1 and not of_all:
        raise RegistrationError(
            f"def_{kind}: a rule of {entry.qualified_name} is for one argument, or def_vjp names all parameters, where "
            f"each is of one array: {', '.join(names)}; found {', '.join(chosen)}"
        )
    return chosen


def store(
    entry: Declared, kind: RuleKind, of: tuple[str, ...], function: Callable[..., Any], shapes: Sequence[str] = ()
) -> Callable[..., Any]:
    """Store a derivative rule for the arguments that are named; those of this library are read when they are used."""
    rule = Rule(kind, of, function, entry.qualified_name, entry.parameters, shapes)
    if getattr(function, "__module__", "").partition(".")[0] != "dispatchkit":
        rule.check()
        entry.derivative.trusted = False
    entry.derivative.rules.add(rule)
    entry.rules_changed()
    return function


def store_numbers(entry: Declared, kind: RuleKind, names: list[str], numbers: tuple[Any, ...]) -> None:
    """Store partial derivatives that are the same number everywhere, None where there is none."""
    fits = len(numbers) == len(names) and all(x is None or isinstance(x, (int, float, complex)) for x in numbers)
    if kind != "partial" or not fits:
        shown = ", ".join(repr(x) for x in numbers)
        raise RegistrationError(
            f"def_{kind}: {entry.qualified_name} takes a function that computes the derivative, or def_partial takes a "
            f"number for each of {', '.join(names)}; found {shown}"
        )
    stated = {name: x for name, x in zip(names, numbers, strict=True) if x is not None}
    entry.derivative.rules.partials = {**entry.derivative.rules.partials, **stated}
    entry.rules_changed()

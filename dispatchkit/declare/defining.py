"""What declares the derivative rules and the kernels of an operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dispatchkit.declare.kernels import define_kernel
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.rules import TABLES, Rule, RuleKind
from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.parameters import Form
from dispatchkit.signatures import module_of


def define(entry: DeclaredOperation, kind: RuleKind, rule: Any, /, *others: Any, shapes: Sequence[str] = ()) -> Any:
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
    def define_rule(entry: DeclaredOperation, rule: Any, /, *others: Any, **options: Any) -> Any:
        return define(entry, kind, rule, *others, **options)

    return define_rule


# What `def_partial` and the like of a public function call with its record: methods of that are smaller than partials.
DEFINING = {kind: _defining(kind) for kind in TABLES} | {"kernel": define_kernel}


def _check_names(
    entry: DeclaredOperation, kind: RuleKind, chosen: tuple[Any, ...], shapes: Sequence[str]
) -> tuple[str, ...]:
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
    entry: DeclaredOperation,
    kind: RuleKind,
    of: tuple[str, ...],
    function: Callable[..., Any],
    shapes: Sequence[str] = (),
) -> Callable[..., Any]:
    """Store a derivative rule for the arguments that are named; those of this library are read when they are used."""
    rule = Rule(kind, of, function, entry.qualified_name, entry.parameters, shapes)
    if module_of(function).partition(".")[0] != "dispatchkit":
        rule.check()
        entry.derivative.trusted = False
    entry.derivative.rules.add(rule)
    entry.rules_changed()
    return function


def store_numbers(entry: DeclaredOperation, kind: RuleKind, names: list[str], numbers: tuple[Any, ...]) -> None:
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

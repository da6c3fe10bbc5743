"""How tangents flow through an operation: by the rules of its gradients, applied forward.

A partial derivative multiplies the tangent; an operation that is linear in an argument is applied to the tangent in
its place; anything else has a rule of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dispatchkit.backends.arrays import is_inexact
from dispatchkit.declare.declared import Declared
from dispatchkit.declare.rules import Rule
from dispatchkit.errors import TransformError
from dispatchkit.protocol.parameters import ArrayParameter, Form

Tangents = Sequence[tuple[ArrayParameter, Any]]


def apply_jvp(
    operation: Declared,
    call: Callable[..., Any],
    xp: Any,
    y: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    tangents: Tangents,
) -> Any:
    """Return the tangent of an operation's output, None where none flows; a list of them for several outputs.

    Parameters
    ----------
    operation : that was called
    call : computes it on arrays of the namespace
    xp : namespace that the rules compute with
    y : its output
    args, kwargs : of the call
    tangents : array parameters with the tangents of their arguments, a list of them (None where there is none) for
        a parameter that takes several

    Raises
    ------
    TransformError : where there is no rule for one of the arguments
    """
    several = isinstance(y, (tuple, list))
    total: Any = [None] * len(y) if several else None
    for p, t in tangents:
        part = _from_argument(operation, call, xp, y, args, kwargs, p, t)
        if several:
            total = [_added(before, t) for before, t in zip(total, part or [None] * len(y), strict=True)]
        else:
            total = _added(total, part)
    if several:
        return [_like(xp, t, output) for t, output in zip(total, y, strict=True)]
    return _like(xp, total, y)


def _added(before: Any, part: Any) -> Any:
    return part if before is None else before if part is None else before + part


def _like(xp: Any, t: Any, y: Any) -> Any:
    """Return a tangent in the shape and dtype of its output; None where that has no derivative."""
    if t is None or not is_inexact(y.dtype):
        return None
    t = xp.asarray(t)
    if t.dtype != y.dtype:
        t = xp.astype(t, y.dtype)
    return xp.broadcast_to(t, y.shape) if t.shape != y.shape else t


def _from_argument(
    operation: Declared,
    call: Callable[..., Any],
    xp: Any,
    y: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    p: ArrayParameter,
    t: Any,
) -> Any:
    rules = operation.derivative.rules
    name = p.name
    if name in rules.jvps:
        return rules.jvps[name].forward(xp, t, y, *args, **kwargs)
    if name in rules.partials:
        factor = rules.partials[name]
        if isinstance(factor, Rule):
            factor = factor.forward(xp, t, y, *args, **kwargs)
        if type(factor) in (int, float):
            return t if factor == 1 else -t if factor == -1 else None if factor == 0 else t * factor
        return t * factor
    if name in rules.transposes:
        if p.form is not Form.ONE:
            members = p.members(p.find(args, kwargs))
            pairs = zip(members, t, strict=True)
            t = [xp.zeros_like(xp.asarray(x)) if tangent is None else tangent for x, tangent in pairs]
        arguments, keywords = _replaced(p, args, kwargs, t)
        return call(*arguments, **keywords)
    raise TransformError(
        f"jvp: {operation.qualified_name} has no rule for tangents of '{name}'; declare one with def_jvp"
    )


def _replaced(p: ArrayParameter, args: tuple[Any, ...], kwargs: dict[str, Any], value: Any) -> Any:
    """Return the arguments of a call with that of one parameter replaced."""
    if p.form is Form.STAR and p.position is not None:
        return (*args[: p.position], *value), kwargs
    if p.position is not None and p.position < len(args):
        return (*args[: p.position], value, *args[p.position + 1 :]), kwargs
    return args, {**kwargs, p.name: value}

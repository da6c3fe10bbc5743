"""Derivative rules: what they read, and how they become the pulls of a backward sweep."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dispatchkit.errors import RegistrationError
from dispatchkit.graph.arrays import is_complex
from dispatchkit.graph.numpy_namespace import DOUBLE

__all__ = ["ArgumentRule", "Rules", "check_rule", "reads"]

LOADS = ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE", "STORE_FAST_LOAD_FAST", "MAKE_CELL")
Pull = Callable[..., Any]


def reads(rule: Callable[..., Any]) -> frozenset[str]:
    """Return the parameters that a rule's code loads; what it does not load need not be kept for it.

    >>> def exp_partial(xp, y, x):
    ...     return y
    >>> sorted(reads(exp_partial))
    ['y']
    """
    code = getattr(inspect.unwrap(rule), "__code__", None)
    if code is None:
        return frozenset(inspect.signature(rule).parameters)
    loaded: set[str] = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith(LOADS):
            argval = instruction.argval
            loaded.update(argval if isinstance(argval, tuple) else (argval,))
    return frozenset(loaded.intersection(code.co_varnames[: _argument_count(code)]))


def _argument_count(code: Any) -> int:
    variadic = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return int(code.co_argcount + code.co_kwonlyargcount) + variadic


@dataclass(slots=True)
class ArgumentRule:
    """How gradients reach one argument.

    Attributes
    ----------
    pull : ``pull(xp, g, y, *args, **kwargs)``, the cotangent of the argument
    reads : names of the arguments whose values it needs, ``"y"`` for the output
    specs : names of the arguments of which it needs shape and dtype alone
    partial : the partial derivative that `pull` multiplies with, where it does no more
    factor : the same, where it is the number 1 or -1
    """

    pull: Pull
    reads: frozenset[str]
    specs: frozenset[str] = frozenset()
    partial: Callable[..., Any] | None = None
    factor: int = 0


@dataclass(slots=True)
class Rules:
    """The derivative rules of an operation, by the name of the argument."""

    partials: dict[str, Callable[..., Any]] = field(default_factory=dict)
    transposes: dict[str, Callable[..., Any]] = field(default_factory=dict)
    vjps: dict[str, Callable[..., Any]] = field(default_factory=dict)
    jvps: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.partials or self.transposes or self.vjps)

    def for_argument(self, name: str) -> ArgumentRule | None:
        """Return how gradients reach an argument, None where no rule says."""
        if name in self.vjps:
            rule = self.vjps[name]
            return ArgumentRule(rule, reads(rule))
        if name in self.transposes:
            rule = self.transposes[name]
            seen = reads(rule)
            return ArgumentRule(_transposed(rule), seen - {name}, seen & {name})
        if name in self.partials:
            return _from_partial(self.partials[name])
        return None


def _transposed(rule: Callable[..., Any]) -> Pull:
    def pull(xp: Any, g: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        return rule(xp, g, *args, **kwargs)

    return pull


def _from_partial(rule: Callable[..., Any]) -> ArgumentRule:
    """Multiply the cotangent with the partial derivative, conjugated where that is complex."""
    seen = reads(rule)
    if not seen:
        pull = _constant(rule)
        return ArgumentRule(pull, seen, factor=1 if pull is _pass_on else -1 if pull is _negate else 0)

    def pull_partial(xp: Any, g: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        partial = rule(xp, y, *args, **kwargs)
        if g.dtype is not DOUBLE and is_complex(g.dtype):
            partial = xp.conj(xp.asarray(partial))
        return g * partial

    return ArgumentRule(pull_partial, seen, partial=rule)


def _constant(rule: Callable[..., Any]) -> Pull:
    """Return the pull of a partial derivative that is the same number everywhere."""
    parameters = inspect.signature(rule).parameters.values()
    named = dict.fromkeys(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
    factor = rule(*[None] * (len(parameters) - len(named)), **named)
    if factor == 1:
        return _pass_on
    if factor == -1:
        return _negate
    if factor == 0:
        return _vanish

    def scale(xp: Any, g: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        return g * factor

    return scale


def _pass_on(xp: Any, g: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
    return g


def _vanish(xp: Any, g: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
    return xp.zeros_like(xp.asarray(g))


def _negate(xp: Any, g: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
    return -g


def check_rule(
    kind: str, rule: Callable[..., Any], operation: str, leading: Sequence[str], names: Sequence[str]
) -> None:
    """Raise if a rule does not take what it will be given.

    Parameters
    ----------
    kind : of rule, for the message
    rule : the function
    operation : its operation's name, for the message
    leading : what comes before the operation's arguments
    names : the operation's parameters

    Raises
    ------
    RegistrationError : naming rule, operation and the signature that is right
    """
    wanted = [*leading, *names]
    right = f"write def {rule.__name__}({', '.join(wanted)})"
    reserved = [name for name in names if name in ("xp", "y", "g", "t")]
    if reserved:
        raise RegistrationError(
            f"{operation} cannot have derivative rules while a parameter is called '{reserved[0]}': in rules that is "
            f"the namespace xp, the output y, the cotangent g or the tangent t"
        )
    parameters = [p for p in inspect.signature(rule).parameters.values() if p.kind is not p.VAR_KEYWORD]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return
    given = [p.name for p in parameters]
    if given[: len(leading)] != list(leading) or any(name not in names for name in given[len(leading) :]):
        raise RegistrationError(f"{rule.__name__} cannot be the {kind} rule of {operation}: {right}")

"""Derivative rules: what they name, and how they are called.

A rule is a function that names what it reads, in any order: the namespace ``xp``, the output ``y``, the cotangent ``g``
or the tangent ``t``, and parameters of its operation. It is given these by name, at every pass, and a recorded call
keeps the values of the arrays that its rules name. ``*args`` and ``**kwargs`` receive everything else.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from types import CodeType
from typing import Any, Literal, TypeAlias

from dispatchkit.backends.arrays import is_complex
from dispatchkit.backends.numpy_sums import DOUBLE
from dispatchkit.declare.source import code_of, with_name
from dispatchkit.errors import RegistrationError
from dispatchkit.fields import with_fields
from dispatchkit.protocol.parameters import Parameters
from dispatchkit.signatures import read_signature

Function: TypeAlias = Callable[..., Any]
Pull: TypeAlias = Callable[..., Any]
RuleKind: TypeAlias = Literal["partial", "transpose", "vjp", "jvp"]

# What a rule of each kind may name besides the parameters of its operation, in the order in which `*args` gets it.
LEADING: dict[RuleKind, tuple[str, ...]] = {
    "partial": ("xp", "y"),
    "transpose": ("xp", "g"),
    "vjp": ("xp", "g", "y"),
    "jvp": ("xp", "t", "y"),
}
RESERVED = ("xp", "y", "g", "t")
# The attribute of `Rules` for each kind.
TABLES: dict[RuleKind, str] = {"partial": "partials", "transpose": "transposes", "vjp": "vjps", "jvp": "jvps"}
NAMED, PLACES, KEYWORDS = (
    inspect.Parameter.KEYWORD_ONLY,
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
)
VARIADIC = (PLACES, KEYWORDS)

# Compiled once for each list of names. The names that are not a rule's own begin with two underscores.
CALL = """
def make(__rule, __defaults, __conjugated):
    def call({taken}):
        return __rule({passed})
    return call
"""
MULTIPLY = """
def make(__rule, __defaults, __conjugated):
    def pull({taken}):
        __partial = __rule({passed})
        if g.dtype is not __DOUBLE:
            __partial = __conjugated(xp, g, __partial)
        return g * __partial
    return pull
"""


def _name_of_rule(operation: str, kind: RuleKind, of: tuple[str, ...]) -> str:
    """Return the name of a lambda: ``log_partial``, and ``where_transpose_x1`` for one argument of several."""
    name = f"{operation.rpartition('.')[2]}_{kind}"
    if len(of) == 1 and of[0] != "x":
        return f"{name}_{of[0]}"
    return name


class Rule:
    """A derivative rule for one argument of an operation, or one that gives the cotangents of all.

    Attributes
    ----------
    kind : of rule
    function : the rule as it was declared
    of : names of the array parameters that it is for
    shapes : names of the array parameters of which it reads shape and dtype alone
    """

    def __init__(
        self,
        kind: RuleKind,
        of: tuple[str, ...],
        function: Function,
        operation: str,
        parameters: Parameters,
        shapes: Sequence[str] = (),
    ) -> None:
        """Keep a rule, whose signature is read when it is first used.

        Parameters
        ----------
        kind, of, function, shapes : the rule
        operation : its operation's name, for messages
        parameters : of the operation
        """
        self.kind = kind
        self.of = of
        self.shapes = frozenset(shapes)
        self.function = with_name(function, _name_of_rule(operation, kind, of))
        self._operation = operation
        self._parameters = parameters

    def check(self) -> None:
        """Read the signature now.

        Raises
        ------
        RegistrationError : naming rule, operation, what is wrong and what a rule may name
        """
        reserved = [name for name in self._parameters.listed if name in RESERVED]
        if reserved:
            raise RegistrationError(
                f"{self._operation} cannot have derivative rules while a parameter is called '{reserved[0]}': in rules "
                f"that is the namespace xp, the output y, the cotangent g or the tangent t"
            )
        names = self.names
        if hasattr(self.function, "cache_info") and not names.isdisjoint(self._parameters.names):
            raise RegistrationError(f"{self._title}: it caches results by its arguments, and arrays cannot be hashed")

    @property
    def names(self) -> frozenset[str]:
        """What it names or, with ``*args`` or ``**kwargs``, all that it receives."""
        return self._read[1]

    @property
    def by_name(self) -> bool:
        """Whether some arguments are passed to it by name."""
        return "=" in self._read[0]

    @property
    def _title(self) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        return f"{name} cannot be the {self.kind} rule of {self._operation}"

    @cached_property
    def pull(self) -> Function:
        """``pull(xp, g, y, *args, **kwargs)``: the cotangent of the argument, or those of all."""
        return self._compile(MULTIPLY if self.kind == "partial" else CALL, "g")

    @cached_property
    def forward(self) -> Function:
        """``forward(xp, t, y, *args, **kwargs)``: what the rule returns when tangents flow."""
        return self._compile(CALL, "t")

    @cached_property
    def slope(self) -> Function:
        """``slope(xp, y, *args, **kwargs)``: the derivative of a partial, which nothing flows into."""
        return self._compile(CALL)

    def _compile(self, template: str, *flows: str) -> Function:
        names: dict[str, Any] = {"__DOUBLE": DOUBLE}
        signature = self._parameters.signature
        code = _code(template, _parameter_list(signature, ("xp", *flows, "y")), self._read[0])
        exec(code, names)  # noqa: S102  # of names that signatures hold
        defaults = {name: p.default for name, p in signature.parameters.items()}
        function: Function = names["make"](self.function, defaults, _conjugate)
        return function

    @cached_property
    def _read(self) -> tuple[str, frozenset[str]]:
        """Return the arguments that the rule is called with, as source, and the names of what it receives."""
        parameters = self._parameters.signature.parameters
        known = (*LEADING[self.kind], *parameters)
        taken = _signature_of(self.function, self._title).parameters.values()
        named = frozenset(p.name for p in taken if p.kind not in VARIADIC)
        kinds = {name: p.kind for name, p in parameters.items()}
        rest = [name for name in known if name not in named]
        variadic = [p.kind for p in taken if p.kind in VARIADIC]
        # With both, `*args` receives what the operation takes in place and `**kwargs` what it takes by name.
        by_name = [name for name in rest if variadic == [KEYWORDS] or kinds.get(name) in (NAMED, KEYWORDS)]
        passed: list[str] = []
        in_place = True
        for p in taken:
            if p.kind is PLACES:
                passed += [
                    f"*{x}" if kinds.get(x) is PLACES else x for x in rest if len(variadic) == 1 or x not in by_name
                ]
            elif p.kind is KEYWORDS:
                passed += [f"**{x}" if kinds.get(x) is KEYWORDS else f"{x}={x}" for x in by_name]
            elif p.name in known:
                passed.append(p.name if in_place and p.kind is not NAMED else f"{p.name}={p.name}")
            elif p.default is p.empty:
                raise RegistrationError(f"{self._title}: it names '{p.name}', and may name {', '.join(known)}")
            else:
                in_place = False
        return ", ".join(passed), frozenset(known) if variadic else named.intersection(known)


def _signature_of(function: Function, title: str) -> inspect.Signature:
    """Return the signature of a rule; of a wrapper that takes anything, that of the wrapped function."""
    try:
        signature = read_signature(function, follow_wrapped=False)
    except ValueError:
        try:
            signature = read_signature(function)
        except ValueError:
            raise RegistrationError(f"{title}: it has no signature to read; wrap it in a function with def") from None
    inside = getattr(function, "__wrapped__", None)
    if inside is not None and all(p.kind in VARIADIC for p in signature.parameters.values()):
        return _signature_of(inside, title)
    return signature


def _parameter_list(signature: inspect.Signature, leading: tuple[str, ...]) -> str:
    """Return the parameter list of what calls a rule: the leading values, then those of a call of the operation."""
    taken = list(leading)
    parameters = list(signature.parameters.values())
    kinds = [p.kind for p in parameters]
    last = kinds.count(inspect.Parameter.POSITIONAL_ONLY) - 1
    if last < 0:
        taken.append("/")
    for i, p in enumerate(parameters):
        if p.kind is NAMED and PLACES not in kinds and kinds.index(NAMED) == i:
            taken.append("*")
        if p.kind is PLACES:
            prefix = "*"
        elif p.kind is KEYWORDS:
            prefix = "**"
        else:
            prefix = ""
        taken.append(f"{prefix}{p.name}" if p.default is p.empty else f"{p.name}=__defaults[{p.name!r}]")
        if i == last:
            taken.append("/")
    return ", ".join(taken)


def _code(template: str, taken: str, passed: str) -> CodeType:
    return code_of(template.format(taken=taken, passed=passed), "rule")


def _conjugate(xp: Any, g: Any, partial: Any) -> Any:
    if is_complex(g.dtype):
        return xp.conj(xp.asarray(partial))
    return partial


@with_fields
class ArgumentRule:
    """How gradients reach one argument.

    Attributes
    ----------
    reads : names of the arguments whose values it needs, ``"y"`` for the output
    specs : names of the arguments of which it needs shape and dtype alone
    rule : that says so; None where the partial derivative is `factor` everywhere
    place : of the argument among those whose cotangents the rule gives; None where it gives that of this one alone
    factor : the partial derivative where that is declared as a number
    """

    reads: frozenset[str] = frozenset()
    specs: frozenset[str] = frozenset()
    rule: Rule | None = None
    place: int | None = None
    factor: complex | None = None

    def pull(self) -> Pull:
        """Return ``pull(xp, g, y, *args, **kwargs)``, which computes the cotangent of the argument."""
        if self.rule is None:
            return _multiplying_by(self.factor)
        if self.place is None:
            return self.rule.pull
        return _one_of(self.rule.pull, self.place)


class Rules:
    """The derivative rules of an operation, by the name of the argument; numbers are partials that never change."""

    def __init__(self) -> None:
        self.partials: dict[str, Rule | complex] = {}
        self.transposes: dict[str, Rule] = {}
        self.vjps: dict[str, Rule] = {}
        self.jvps: dict[str, Rule] = {}

    def declarations(self) -> list[tuple[RuleKind, tuple[str, ...], Any, tuple[str, ...]]]:
        """Return each rule as it was declared: kind, arguments that it is for, function or number, and shapes."""
        listed: list[tuple[RuleKind, tuple[str, ...], Any, tuple[str, ...]]] = []
        for kind, attribute in TABLES.items():
            for name, rule in getattr(self, attribute).items():
                if isinstance(rule, Rule):
                    listed.append((kind, rule.of, rule.function, tuple(sorted(rule.shapes))))
                else:
                    listed.append((kind, (name,), rule, ()))
        return listed

    def add(self, rule: Rule) -> None:
        """Take a rule in the place of others for its arguments; the rules stay in the order of their declaration."""
        table = getattr(self, TABLES[rule.kind])
        others = {name: other for name, other in table.items() if name not in rule.of}
        # Another table, since threads may be reading that one.
        setattr(self, TABLES[rule.kind], {**others, **dict.fromkeys(rule.of, rule)})

    def over(self, others: Rules) -> Rules:
        """Return these rules, and others for the arguments that these are not for."""
        rules = copy(others)
        rules.vjps = {**others.vjps, **self.vjps}
        return rules

    def of_all(self) -> Rule | None:
        """Return the rule that gives the cotangents of all arguments, None where each has its own."""
        rules = list(self.vjps.values())
        if rules and rules.count(rules[0]) == len(rules[0].of) > 1:
            return rules[0]
        return None

    def __bool__(self) -> bool:
        return bool(self.partials or self.transposes or self.vjps)

    def for_argument(self, name: str) -> ArgumentRule | None:
        """Return how gradients reach an argument, None where no rule says."""
        rule = self.vjps.get(name) or self.transposes.get(name)
        if rule is None:
            partial = self.partials.get(name)
            if partial is not None and not isinstance(partial, Rule):
                return ArgumentRule(factor=partial)
            rule = partial
        if rule is None:
            return None
        if rule.kind == "transpose":
            shapes = rule.shapes | {name}
        else:
            shapes = rule.shapes
        place = None
        if len(rule.of) > 1:
            place = rule.of.index(name)
        return ArgumentRule(rule.names - shapes, rule.names & shapes, rule, place)


def _one_of(pull: Pull, place: int) -> Pull:
    def one(*args: Any, **kwargs: Any) -> Any:
        return pull(*args, **kwargs)[place]

    return one


def _multiplying_by(factor: Any) -> Pull:
    def pass_on(xp: Any, g: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        return g

    def negate(xp: Any, g: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        return -g

    def vanish(xp: Any, g: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        return xp.zeros_like(xp.asarray(g))

    def scale(xp: Any, g: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        return g * factor

    return {1: pass_on, -1: negate, 0: vanish}.get(factor, scale)

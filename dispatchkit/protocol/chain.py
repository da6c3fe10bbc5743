"""What answers calls with one combination of types: declining, rules ranked, and the chain that is tried in order."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from types import NotImplementedType
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from dispatchkit.errors import (
    AmbiguousImplementationError,
    AnswerError,
    NoImplementationError,
    UnsupportedArgumentError,
)
from dispatchkit.protocol.blocks import state_variable
from dispatchkit.protocol.handlers import ANY, LEFT_OUT, Rule, type_name
from dispatchkit.protocol.kinds import Kind, kinds
from dispatchkit.protocol.locks import SectionLock
from dispatchkit.protocol.outcome import AMBIGUOUS, FOREIGN, KIND, METHOD, RULE, Outcome
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form, Key, Parameters, flatten
from dispatchkit.protocol.types.array_types import ArrayTypes
from dispatchkit.protocol.types.declaration import Conversion
from dispatchkit.protocol.versions import Version

_pending_reason: ContextVar[str] = state_variable("reason of a decline", "")


def decline(reason: str) -> NotImplementedType:
    """Decline a call from inside a handler: the next candidate is asked.

    Parameters
    ----------
    reason : why, shown by `explain` and by the error when all decline; where a handler gives a reason and then
        answers after all, a later message may show it

    Returns
    -------
    NotImplementedType
        `NotImplemented`, for the handler to return.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> class Even(dk.Tensor):
    ...     pass
    >>> @dk.implements(dk.sum)
    ... def sum_even(x: Even, /):
    ...     return dk.decline("its size is odd") if x.size % 2 else "an even sum"
    >>> dk.sum(Even([1.0, 2.0])), dk.sum(Even([1.0]))
    ('an even sum', Even(1.))
    """
    _pending_reason.set(reason)
    return NotImplemented  # type: ignore[no-any-return]  # typeshed has no type for it


def pop_decline_reason() -> str:
    """Return the reason of the last decline in this context, and forget it."""
    reason = _pending_reason.get()
    if reason:
        _pending_reason.set("")
    return reason


# The operation whose next answer is asked for, and who declined before, with reasons.
_declined: ContextVar[tuple[Any, tuple[str, ...]]] = state_variable("declines of a call", (None, ()))


def declined_of(operation: Any) -> str:
    """Return who declined a call of an operation that is being answered, and why; "" where nobody did."""
    noted, reasons = _declined.get()
    return "; ".join(reasons) if noted is operation else ""


def declined_text(reason: str) -> str:
    """Return in words that something declined, and why where it gave a reason."""
    if reason:
        return f"declined: {reason}"
    return "declined"


class ModeDecline(NamedTuple):
    """A mode that declined a call.

    Attributes
    ----------
    mode : name of its class
    reason : why, "" where it gave none
    """

    mode: str
    reason: str


_mode_declines: ContextVar[tuple[ModeDecline, ...]] = state_variable("declines of modes", ())


def record_mode_decline(decline_of_mode: ModeDecline) -> None:
    """Remember that a mode declined the current call."""
    _mode_declines.set((*_mode_declines.get(), decline_of_mode))


def pop_mode_declines() -> list[ModeDecline]:
    """Return which modes declined the current call, and forget it."""
    declines = _mode_declines.get()
    if declines:
        _mode_declines.set(())
    return list(declines)


WRITTEN = (METHOD, RULE, KIND, AMBIGUOUS)

# Called with the operation, and with a step before it is asked to answer.
OnStep: TypeAlias = "Callable[[Overridable, Step], None]"


@dataclass(eq=False, slots=True)
class Step:
    """One answer of a chain.

    Attributes
    ----------
    source : how it answers a call
    cls : the type that gives it
    call : takes the arguments as the caller wrote them
    text : its description
    rule : the rule that it calls, if any
    error : makes the error of an ambiguity
    rivals : the equally specific rules of an ambiguity
    path : the conversions that it makes, in order
    then : types of the call that it makes itself, with a plain array for the first field of a wrapper
    follow : finds what comes of it without calling a function of a user; takes what follows its calls, and arguments
        with stand-ins for arrays
    """

    source: Outcome
    cls: type
    call: Callable[..., Any]
    text: str
    rule: Rule | None = None
    error: Callable[[], Exception] | None = None
    rivals: tuple[Rule, ...] = ()
    path: tuple[Conversion, ...] = ()
    then: Key | None = None
    follow: Callable[..., Any] | None = None


class StepDecline(NamedTuple):
    """A step that was asked and declined.

    Attributes
    ----------
    step : which
    reason : why, "" where it gave none
    """

    step: Step
    reason: str

    @property
    def text(self) -> str:
        """What declined, and why."""
        return f"{self.step.text} {declined_text(self.reason)}"


class Skipped:
    """An answer that is known not to come before it is asked.

    Attributes
    ----------
    cls : the type that would give it
    text : why it does not
    """

    __slots__ = ("cls", "text")

    def __init__(self, cls: type, text: str) -> None:
        self.cls, self.text = cls, text


# Whether a rule takes every call of an operation, which takes longer to find out than all else about a call.
_complete: WeakKeyDictionary[Rule, WeakKeyDictionary[Overridable, bool]] = WeakKeyDictionary()


def rule_steps(operation: Overridable, key: Key, cls: type) -> list[Step]:
    """Return the rules by which a type answers, the most specific first, rules for kinds last."""
    order, parameters = operation.types.counts_as, operation.parameters
    counted = order(cls)
    steps: list[Step] = []
    for target in (operation, *operation.kind.lineage()):
        fitting = [
            (far, rule)
            for rule in operation.protocol.handlers.of(target)
            if rule.serves(counted) and (far := rule.distances(key, parameters, cls, order)) is not None
        ]
        if fitting:
            steps += _rank(operation, key, cls, fitting, RULE if target is operation else KIND)
    return steps


def _rank(
    operation: Overridable, key: Key, cls: type, fitting: list[tuple[tuple[int, ...], Rule]], source: Outcome
) -> list[Step]:
    fitting.sort(key=lambda pair: (-_demands(pair[0]), pair[1].anywhere, sum(pair[0])))
    # Of the members of a handler's union the nearest counts: the handler is asked once.
    nearest: dict[Version, tuple[tuple[int, ...], Rule]] = {}
    for far, rule in fitting:
        nearest.setdefault(rule.registration, (far, rule))
    fitting = list(nearest.values())
    steps: list[Step] = []
    for index, (far, rule) in enumerate(fitting):
        rivals = [
            other
            for other_far, other in fitting[index + 1 :]
            if _demands(other_far) == _demands(far) and not _dominates(far, other_far, rule, other)
        ]
        if rivals:
            steps.append(_ambiguity(operation, cls, key, [rule, *rivals]))
            return steps
        steps.append(_rule_step(operation, key, cls, rule, source))
    return steps


def _demands(far: tuple[int, ...]) -> int:
    """Return how many arguments of a call are of a type that the rule at these distances names."""
    return sum(distance < LEFT_OUT for distance in far)


def _dominates(near: tuple[int, ...], far: tuple[int, ...], rule: Rule, other: Rule) -> bool:
    """Return whether `rule` is at least as specific everywhere, and more so somewhere."""
    if rule.anywhere is not other.anywhere or len(near) != len(far):
        return other.anywhere and not rule.anywhere
    return all(a <= b for a, b in zip(near, far, strict=True)) and near != far


def _rule_step(operation: Overridable, key: Key, cls: type, rule: Rule, source: Outcome) -> Step:
    call = rule.handler
    if isinstance(rule.target, Kind):
        call = partial(call, operation.function)
    change = _wrapped_positions(operation, key, rule)
    if any(change):
        call = _wrapping(operation, key, call, change)
    known = _complete.setdefault(rule, WeakKeyDictionary())
    if operation not in known:
        known[operation] = rule.takes_everything(operation.parameters)
    if not known[operation]:
        call = _guard(rule, call, operation.parameters)
    return Step(source, cls, call, str(rule), rule)


def _wrapped_positions(operation: Overridable, key: Key, rule: Rule) -> list[bool]:
    """Return for each array parameter whether its arguments reach the handler as instances of the base type.

    Arrays of the base type's library always do; scalars where the handler asks for the base type.
    """
    types = operation.types
    base = types.base
    if base is None:
        return []
    asked = rule.types if not rule.anywhere and len(rule.types) == len(key) else [ANY] * len(key)
    return [
        wanted not in (bool, int, float, complex)
        and any(
            types.wrapped_always(cls) or (issubclass(wanted, base) and types.is_raw(cls)) for cls in flatten((entry,))
        )
        for entry, wanted in zip(key, asked, strict=True)
    ]


def _wrapping(
    operation: Overridable, key: Key, handler: Callable[..., Any], change: Sequence[bool]
) -> Callable[..., Any]:
    types, parameters = operation.types, operation.parameters
    if parameters.binary and parameters.least == 2:
        return _wrapping_operands(types, key, handler, change)
    names = {p.name for p, wanted in zip(parameters.arrays, change, strict=True) if wanted}
    indices = {p.name for p in parameters.arrays if p.form is Form.INDEX}
    # Python's numbers are weak. Where arrays are not promoted to one dtype, an int may be an index or a count.
    weak = (int, float, complex) if operation.kind.family in (kinds.elementwise, kinds.searching) else (float, complex)

    def with_wrapped_arrays(*args: Any, **kwargs: Any) -> Any:
        def wrap(name: str, value: Any) -> Any:
            if name not in names or not types.is_raw(type(value)):
                return value
            if type(value) not in weak or name in indices:
                return types.wrap(value)
            return types.wrap(value, [array for p, array in parameters.values(args, kwargs) if p.name not in indices])

        args, kwargs = parameters.replace(args, kwargs, wrap)
        return handler(*args, **kwargs)

    return with_wrapped_arrays


def _wrapping_operands(
    types: ArrayTypes, key: Key, handler: Callable[..., Any], change: Sequence[bool]
) -> Callable[..., Any]:
    """Wrap the operands of a function of two arrays, whose types are those of the key."""
    wrap = types.wrap
    left, right = (wanted and types.is_raw(cls) for cls, wanted in zip(key, change, strict=True))
    weak_left, weak_right = (cls in (int, float, complex) for cls in key)

    def with_wrapped_operands(x1: Any, x2: Any, /) -> Any:
        first = wrap(x1, (x2,) if weak_left else ()) if left else x1
        return handler(first, wrap(x2, (x1,) if weak_right else ()) if right else x2)

    return with_wrapped_operands


def _guard(rule: Rule, handler: Callable[..., Any], parameters: Parameters) -> Callable[..., Any]:
    # The refusal depends on the number of arguments, the names of keywords, and which of them are lists, alone.
    known: dict[tuple[Any, ...], list[str]] = {}
    taken = frozenset(rule.takes.parameters)

    def where_accepted(*args: Any, **kwargs: Any) -> Any:
        if kwargs and not taken.issuperset(kwargs):
            kwargs = dict(rule.without_defaults(kwargs, parameters))
        call = (len(args), *kwargs)
        if rule.single:
            call += tuple([type(arg) in (list, tuple) for arg in args])
        refused = known.get(call)
        if refused is None:
            refused = known[call] = rule.refusal(args, kwargs)
        if refused:
            return decline(f"it cannot be called with {', '.join(refused)}")
        return handler(*args, **kwargs)

    return where_accepted


def _ambiguity(operation: Overridable, cls: type, key: Key, rules: Sequence[Rule]) -> Step:
    resolving = [
        min((rule.types[i] for rule in rules), key=lambda t: -len(t.__mro__))
        for i in range(min(len(rule.types) for rule in rules))
    ]
    if len(resolving) == len(key):
        # Where nothing was passed, it takes a rule without a demand.
        resolving = [ANY if entry == () else wanted for entry, wanted in zip(key, resolving, strict=True)]
    error = partial(
        AmbiguousImplementationError,
        operation.qualified_name,
        [type_name(t) for entry in key for t in (entry if isinstance(entry, tuple) else (entry,))],
        [str(rule) for rule in rules],
        ", ".join(map(type_name, resolving)),
    )

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise error()  # a new one each time

    text = "ambiguous: " + "; ".join(map(str, rules))
    return Step(AMBIGUOUS, cls, refuse, text, error=error, rivals=tuple(rules))


# Makes a step, or says why it is skipped.
Later: TypeAlias = "partial[Step | Skipped]"
_making = SectionLock()


class Chain:
    """The answers to calls with one combination of types.

    Attributes
    ----------
    operation : the operation
    types : distinct types that take part, in signature order
    order : the candidates in the order they are asked
    entries : the answers and the skipped ones, in order; of a fallback that nobody has come to what makes it
    whole : whether all are made
    """

    __slots__ = ("entries", "operation", "order", "types", "whole")

    def __init__(
        self, operation: Overridable, types: tuple[type, ...], order: list[type], entries: Sequence[Any] = ()
    ) -> None:
        self.operation, self.types, self.order, self.whole = operation, types, order, False
        self.entries: list[Step | Skipped | Later] = [*entries]

    def __iter__(self) -> Iterator[Step | Skipped]:
        """Yield the answers and the skipped ones, in order; fallbacks are made as far as somebody asks for them."""
        for place, entry in enumerate(self.entries):
            yield self._make(place) if isinstance(entry, partial) else entry
        self.whole = True

    def _make(self, place: int) -> Step | Skipped:
        """Return the entry of a fallback, made if nobody came to it before."""

        def make_once() -> Step | Skipped:
            entry = self.entries[place]
            if isinstance(entry, partial):
                entry = self.entries[place] = entry()
            return entry

        return _making.run(make_once)

    @property
    def steps(self) -> list[Step]:
        """The answers, in order."""
        return [entry for entry in (self.entries if self.whole else self) if isinstance(entry, Step)]

    @property
    def handlers(self) -> list[Step]:
        """The answers that people wrote: methods and rules, in order."""
        return [entry for entry in self.entries if isinstance(entry, Step) and entry.source in WRITTEN]

    @property
    def skipped(self) -> list[tuple[type, str]]:
        """Type and reason of each skipped answer."""
        entries = self.entries if self.whole else self
        return [(entry.cls, entry.text) for entry in entries if isinstance(entry, Skipped)]

    @property
    def foreign(self) -> bool:
        """Whether an argument is neither an array nor mixes with arrays."""
        return any(step.source is FOREIGN for step in self.steps[:1])

    def head(self) -> Callable[..., Any]:
        """Return the first answer; it declines where there is none."""
        steps = self.steps
        return steps[0].call if steps else _nobody

    def attempt(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        declined: list[StepDecline],
        start: int = 0,
        on_step: OnStep | None = None,
    ) -> Any:
        """Return the first result from step `start` on; NotImplemented if all decline.

        Parameters
        ----------
        args, kwargs : of the call
        declined : the steps that decline are added to it, also where a later one raises
        start : number of the first step that is asked
        on_step : called with the operation and each step before it is asked
        """
        parameters = self.operation.parameters
        if (kwargs or not parameters.least <= len(args) <= parameters.most) and not parameters.allows(args, kwargs):
            self.operation.check_call(args, kwargs)
        steps = self.steps
        if start and steps:
            declined.append(StepDecline(steps[0], pop_decline_reason()))
        before = _declined.get()
        try:
            _declined.set((self.operation, ()))
            for step in steps[start:]:
                pop_decline_reason()  # an earlier one, of a handler that answered after all
                _declined.set((self.operation, tuple(entry.text for entry in declined)))
                if on_step is not None:
                    on_step(self.operation, step)
                result = step.call(*args, **kwargs)
                if result is not NotImplemented:
                    return self.check_result(step, result)
                declined.append(StepDecline(step, pop_decline_reason()))
        finally:
            _declined.set(before)
        return NotImplemented

    def check_result(self, step: Step, result: Any) -> Any:
        """Return the result of a step.

        Raises
        ------
        AnswerError : if a rule gave None, where the operation always gives something
        """
        if result is None and step.rule is not None and not self.operation.may_give_none:
            problem = 'returned None; return a result, NotImplemented or dk.decline("reason")'
            raise AnswerError(self.operation.qualified_name, str(step.rule), problem)
        return result

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any], start: int = 0, on_step: OnStep | None = None) -> Any:
        """Return the first result from step `start` on; parameters as of `attempt`.

        Raises
        ------
        NoImplementationError : if all decline
        """
        declined: list[StepDecline] = []
        result = self.attempt(args, kwargs, declined, start, on_step)
        if result is NotImplemented:
            raise self.error(args, kwargs, declined)
        return result

    def error(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], declined: Sequence[StepDecline], brief: bool = False
    ) -> NoImplementationError:
        """Return the error that says who declined and, unless `brief`, what would help."""
        operation = self.operation
        reasons = {id(entry.step): entry.text for entry in declined}
        asked = [f"{entry.mode}: {declined_text(entry.reason)}" for entry in pop_mode_declines()]
        for entry in self:
            if isinstance(entry, Skipped):
                asked.append(f"{type_name(entry.cls)}: {entry.text}")
            elif id(entry) in reasons:
                asked.append(f"{type_name(entry.cls)}: {reasons[id(entry)]}")
        data: dict[str, Any] = {
            "function": operation.qualified_name,
            "method": operation.types.method,
            "types": [type_name(cls) for cls in self.types],
            "asked": asked,
            "nearest": [] if brief else self._nearest(),
        }
        if not brief:
            key = operation.parameters.key(args, kwargs)
            data["instead"] = _instead_of_rule(operation, key)
            data["stub"] = "" if data["instead"] else stub_for(operation, key)
        refused = [
            step.rule.refusal(args, kwargs, operation.parameters) for step in self.steps if step.rule is not None
        ]
        arguments = [text for texts in refused for text in texts]
        if arguments and all(refused):
            return UnsupportedArgumentError(**data, arguments=list(dict.fromkeys(arguments)))
        return NoImplementationError(**data)

    def _nearest(self) -> list[str]:
        """Return rules that were not asked and share types with the call, the closest first; a kind's come last."""
        asked = [step.rule for step in self.steps]
        plain = {object, self.operation.types.base}
        related = {ancestor for cls in self.types for ancestor in cls.__mro__} - plain
        close = [(len(related.intersection(rule.types)), rule) for rule in self.operation.rules_for_calls()]
        near = sorted((pair for pair in close if pair[0] and pair[1] not in asked), key=lambda pair: -pair[0])
        return [str(rule) for _, rule in near[:3]]


def _nobody(*args: Any, **kwargs: Any) -> Any:
    return NotImplemented


def _instead_of_rule(operation: Overridable, key: Key) -> str:
    """Return what helps where operation and types are of this library, to which callers add no rules; else ""."""
    types = operation.types
    package = __name__.partition(".")[0]
    if operation.qualified_name.partition(".")[0] != package:
        return ""
    shipped = [cls for cls in types.participating(key) if cls is not types.base]
    if not shipped or any(cls.__module__.partition(".")[0] != package for cls in shipped):
        return ""
    names = " and ".join(dict.fromkeys(cls.__name__ for cls in shipped))
    return f"what the reasons above say, or compute with plain arrays; the rules of {names} are {package}'s own"


def stub_for(operation: Overridable, key: Key) -> str:
    """Return a handler to paste for calls with arguments of these types; "" where none of them takes part."""
    types = operation.types
    owner = next((cls for cls in types.participating(key) if not types.ranks_as_base(cls)), None)
    if owner is None:
        return ""
    named = operation.parameters.signature.parameters
    hints = {
        p.name: _hint(types, entry, p.form)
        for p, entry in zip(operation.parameters.arrays, key, strict=True)
        if (p.form is not Form.INDEX or owner in entry)
        and (p.form is not Form.LOOSE or owner in flatten((entry,)) or named[p.name].default is inspect.Parameter.empty)
    }
    parameters = [
        p.replace(annotation=hints.get(p.name) or p.empty, default=_pasteable(p.default)) for p in named.values()
    ]
    # Annotations given as text print in quotes, which a stub does without.
    signature = re.sub(r": '([^']*)'", r": \1", str(inspect.Signature(parameters)))
    handler = f"{operation.name}_{owner.__name__.lower()}"
    decorator = "protocol" if types.base is None else "dk"
    return f"@{decorator}.implements({public_path(operation)})\ndef {handler}{signature}:\n    ..."


def _hint(types: ArrayTypes, entry: Any, form: Form) -> str:
    """Return the annotation that the types of an argument give its parameter; "" for none."""
    if not isinstance(entry, tuple):
        return _name_to_paste(types, entry)
    members = [cls for cls in entry if cls is not type(None)]
    if form is Form.INDEX:  # what the rule is for is one of the arrays in it
        members = list(types.participating(tuple(members)))
    names = list(dict.fromkeys([_name_to_paste(types, cls) or "object" for cls in members]))
    if set(names) <= {"object"}:
        return ""
    union = " | ".join(names)
    return union if form in (Form.STAR, Form.INDEX) else f"list[{union}]"


def _name_to_paste(types: ArrayTypes, cls: type) -> str:
    """Return a type as users write it: array types by name, built-in ones, and plain arrays; "" for any other."""
    if types.base is not None and (types.ranks_as_base(cls) or types.wrapped_always(cls)):
        return f"dk.{types.base.__name__}"
    if types.participates(cls):
        return cls.__name__
    known = cls is not type(None) and getattr(builtins, cls.__name__, None) is cls
    return cls.__name__ if known else ""


def public_path(operation: Overridable) -> str:
    """Return an operation as users write it: ``dk.linalg.inv``."""
    prefix, _, path = operation.qualified_name.partition(".")
    return f"dk.{path}" if prefix == "dispatchkit" else operation.name


class _Ellipsis:
    """Prints as ``...``, for a default that has no literal."""

    def __repr__(self) -> str:
        return "..."


def _pasteable(default: Any) -> Any:
    """Return a default that prints as valid Python."""
    if default is inspect.Parameter.empty:
        return default
    try:
        ast.literal_eval(repr(default))
    except (ValueError, SyntaxError):
        return _Ellipsis()
    return default

"""Who answers a call: the candidates in order, and the chain of answers they give.

The chain depends on the types of the arguments alone, so it is built once for each combination of types. What it
holds are steps: the methods and rules of the candidates first, then the default of the protocol's base type, then
the fallbacks the candidates have declared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from dispatchkit.errors import (
    AnswerError,
    ForeignArgumentError,
    NoImplementationError,
    UnsupportedArgumentError,
)
from dispatchkit.protocol.decline import note_declined, take_mode_notes, take_reason
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.outcome import DEFAULT, FOREIGN, METHOD
from dispatchkit.protocol.parameters import Form, Key, flatten
from dispatchkit.protocol.specificity import Step, rule_steps

if TYPE_CHECKING:
    from dispatchkit.protocol.overridable import Overridable

__all__ = [
    "Chain",
    "Passed",
    "build_chain",
    "build_plain_chain",
    "candidates",
    "default_chain",
]

# Told of the operation that is called, and of a step that is asked to answer.
Asks: TypeAlias = "Callable[[Overridable, Step], None]"


@dataclass(eq=False, slots=True)
class Passed:
    """An answer known beforehand not to come.

    Attributes
    ----------
    cls : the type that does not give it
    text : why
    """

    cls: type
    text: str


@dataclass(eq=False, slots=True)
class Chain:
    """Everything known about calls with one combination of types.

    Attributes
    ----------
    operation : the operation
    types : distinct types that take part, in signature order
    order : the candidates in the order they are asked
    entries : the answers, and those known not to come, in order
    """

    operation: Overridable
    types: tuple[type, ...]
    order: list[type]
    entries: list[Step | Passed] = field(default_factory=list)

    @property
    def steps(self) -> list[Step]:
        """The answers, in order."""
        return [entry for entry in self.entries if isinstance(entry, Step)]

    @property
    def passed(self) -> list[tuple[type, str]]:
        """Type and reason of each answer known not to come."""
        return [(entry.cls, entry.text) for entry in self.entries if isinstance(entry, Passed)]

    @property
    def foreign(self) -> bool:
        """Whether an argument is a stranger to the protocol."""
        return any(step.source is FOREIGN for step in self.steps[:1])

    def head(self) -> Callable[..., Any]:
        """Return the first answer; it declines where there is none."""
        steps = self.steps
        return steps[0].call if steps else _nobody

    def attempt(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], start: int = 0, asks: Asks | None = None
    ) -> tuple[Any, list[tuple[type, str]]]:
        """Return the first answer from step `start` on, NotImplemented where all decline, and who declined why.

        Parameters
        ----------
        args, kwargs, start : the call, and the first step that is asked
        asks : called with the operation and each step before it is asked
        """
        parameters = self.operation.parameters
        if (kwargs or not parameters.least <= len(args) <= parameters.most) and not parameters.allows(args, kwargs):
            self.operation.check_call(args, kwargs)
        declined: list[tuple[type, str]] = []
        steps = self.steps
        if start and steps:
            declined.append((steps[0].cls, _why(steps[0])))
        for step in steps[start:]:
            take_reason()  # one that was given and thought better of
            note_declined(self.operation, (text for _, text in declined))
            if asks is not None:
                asks(self.operation, step)
            result = step.call(*args, **kwargs)
            if result is not NotImplemented:
                return self.checked(step, result), declined
            declined.append((step.cls, _why(step)))
        return NotImplemented, declined

    def checked(self, step: Step, result: Any) -> Any:
        """Return the result of a step.

        Raises
        ------
        AnswerError : if a rule gave None, where the operation always gives something
        """
        if result is None and step.rule is not None and not self.operation.may_give_none:
            problem = 'returned None; return a result, NotImplemented or dk.decline("reason")'
            raise AnswerError(self.operation.qualified_name, str(step.rule), problem)
        return result

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any], start: int = 0, asks: Asks | None = None) -> Any:
        """Return the first answer from step `start` on that does not decline; parameters as of `attempt`.

        Raises
        ------
        NoImplementationError : if all decline
        """
        result, declined = self.attempt(args, kwargs, start, asks)
        if result is NotImplemented:
            raise self.error(args, kwargs, declined)
        return result

    def error(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], declined: list[tuple[type, str]]
    ) -> NoImplementationError:
        """Return the error that tells who declined and what would help."""
        operation = self.operation
        told = dict(zip(map(id, self.steps), declined, strict=False))
        asked = take_mode_notes()
        for entry in self.entries:
            cls, text = (entry.cls, entry.text) if isinstance(entry, Passed) else told.get(id(entry), (entry.cls, ""))
            if text:
                asked.append(f"{type_name(cls)}: {text}")
        data: dict[str, Any] = {
            "function": operation.qualified_name,
            "method": operation.protocol.method,
            "types": [type_name(cls) for cls in self.types],
            "asked": asked,
            "nearest": _nearest(operation, self.types),
            "stub": operation.protocol.stub(operation, operation.parameters.key(args, kwargs)),
        }
        refused = [step.rule.refusal(args, kwargs) for step in self.steps if step.rule is not None]
        arguments = [text for texts in refused for text in texts]
        if arguments and all(refused):
            return UnsupportedArgumentError(**data, arguments=list(dict.fromkeys(arguments)))
        return NoImplementationError(**data)


def candidates(types: Sequence[type], priority: Callable[[type], float]) -> list[type]:
    """Order types as they are asked: priority, then a subclass before its superclass, then left to right.

    >>> class A: ...
    >>> class B: ...
    >>> class S(A): ...
    >>> [cls.__name__ for cls in candidates([A, B, S], lambda cls: 0)]
    ['S', 'A', 'B']
    """
    ranked: dict[float, list[type]] = {}
    for cls in types:
        order = ranked.setdefault(priority(cls), [])
        place = next((i for i, other in enumerate(order) if issubclass(cls, other)), len(order))
        order.insert(place, cls)
    return [cls for rank in sorted(ranked, reverse=True) for cls in ranked[rank]]


def build_chain(operation: Overridable, key: Key, without: type | None = None, limited: bool = False) -> Chain:
    """Decide who answers calls of these types.

    Parameters
    ----------
    operation : that is called
    key : types of its array arguments
    without : a type that is taken to have declined
    limited : whether fallbacks after decomposition are off
    """
    protocol = operation.protocol
    types = protocol.participating(key)
    base = protocol.base
    order = candidates([cls for cls in types if cls is not base], protocol.priority)
    chain = Chain(operation, types, order)
    stranger = _stranger(operation, key)
    if stranger is not None:
        chain.entries.append(stranger)
        return chain
    for cls in order:
        protocol.take_in(cls)
        if cls is without:
            chain.entries.append(Passed(cls, "taken to have declined"))
        else:
            found = [*_own_method(operation, types, cls), *rule_steps(operation, key, cls)]
            known = {id(step.rule) for step in chain.steps if step.rule is not None}
            chain.entries += [step for step in found if step.rule is None or id(step.rule) not in known]
            if not found:
                chain.entries.append(Passed(cls, f"no rule for {operation.name}"))
    default = _default(operation, key, order)
    if default is not None:
        chain.entries.append(default)
        return chain
    for cls in order:
        protocol.fallback(cls).extend(chain, key, cls, limited)
    return chain


def _own_method(operation: Overridable, types: tuple[type, ...], cls: type) -> list[Step]:
    """Return the step for a `__tensor_function__` that a type wrote itself, of calls with these types."""
    protocol = operation.protocol
    found = protocol.records.own_method(cls)
    if found is None or protocol.records.is_generated(cls):
        return []
    function = operation.function
    plain = not isinstance(found, (classmethod, staticmethod))
    name = protocol.method

    def own_method(*args: Any, **kwargs: Any) -> Any:
        owner: Any = cls
        if plain:
            owner = next(v for _, v in operation.parameters.values(args, kwargs) if type(v) is cls)
        return getattr(owner, name)(function, types, args, kwargs)

    return [Step(METHOD, cls, own_method, f"{type_name(cls)}.{name}")]


def _default(operation: Overridable, key: Key, order: Sequence[type]) -> Step | None:
    """Return the default of the base type, where it computes every type of the call."""
    protocol = operation.protocol
    if not all(map(operation.computes, order)):
        return None
    results = [protocol.results_of(cls) for cls in order]
    return _default_step(operation, key, next((cls for cls in results if cls is not protocol.base), protocol.base))


def _default_step(operation: Overridable, key: Key, result: type | None) -> Step | None:
    call = operation.default(key, result)
    if call is None:
        return None
    base = operation.protocol.base
    return Step(DEFAULT, result or object, call, "default" if base is None else f"default of {type_name(base)}")


def default_chain(operation: Overridable, key: Key, cls: type) -> Chain:
    """Return what the library's own protocol method of one type answers: its rules, default and fallback."""
    protocol = operation.protocol
    types = protocol.participating(key)
    chain = Chain(operation, types, [cls], [*rule_steps(operation, key, cls)])
    family = protocol.base is not None and all(map(operation.computes, types))
    default = _default_step(operation, key, protocol.results_of(cls)) if family else None
    if default is not None:
        chain.entries.append(default)
    elif not (protocol.base is not None and issubclass(cls, protocol.base)):
        protocol.fallback(cls).extend(chain, key, cls, False)
    return chain


def build_plain_chain(operation: Overridable, key: Key) -> Chain:
    """Return what answers where overrides are off: the default, if only the base type's family is there."""
    protocol = operation.protocol
    types = protocol.participating(key)
    chain = Chain(operation, types, [])
    stranger = _stranger(operation, key)
    if stranger is not None:
        chain.entries.append(stranger)
        return chain
    if protocol.base is None or all(map(operation.computes, types)):
        default = _default_step(operation, key, protocol.base)
        if default is not None:
            chain.entries.append(default)
    chain.entries += [Passed(cls, "overrides are switched off") for cls in types if cls is not protocol.base]
    return chain


def _stranger(operation: Overridable, key: Key) -> Step | None:
    """Return a step that raises for the first argument that is no array."""
    parameters, protocol = operation.parameters, operation.protocol
    if not parameters.strict:
        return None
    for p, entry in zip(parameters.arrays, key, strict=True):
        if p.form in (Form.INDEX, Form.LOOSE):
            continue
        optional = parameters.signature.parameters[p.name].default is None
        for cls in flatten((entry,)):
            if not protocol.admits(cls) and not (optional and cls is type(None)):
                refusal = _refusal(operation, p.name, cls, isinstance(entry, tuple))
                return Step(FOREIGN, cls, refusal, f"{cls.__name__} is no array")
    return None


def _refusal(operation: Overridable, parameter: str, cls: type, member: bool) -> Callable[..., Any]:
    """Return an answer that raises for an argument that is no array, or is not there at all.

    Parameters
    ----------
    operation, parameter : that the argument is for
    cls : its type
    member : whether it is one of several in a sequence
    """
    library = cls.__module__.partition(".")[0]
    found = cls.__name__ if library in ("builtins", "__main__") else f"{library}.{cls.__name__}"

    def refuse(*args: Any, **kwargs: Any) -> Any:
        operation.check_call(args, kwargs)
        advice = operation.protocol.advice
        raise ForeignArgumentError(operation.qualified_name, parameter, found, advice, member=member)

    return refuse


def _nearest(operation: Overridable, types: Sequence[type]) -> list[str]:
    """Return the rules of the same operation, and of the same types for its kind, that came closest."""
    rules = [rule for reference in operation.rules if (rule := reference()) is not None]
    related = {ancestor for cls in types for ancestor in cls.__mro__ if ancestor is not object}
    rules.sort(key=lambda rule: -len(related.intersection(rule.types)))
    return [str(rule) for rule in rules[:3]]


def _why(step: Step) -> str:
    reason = take_reason()
    return f"{step.text} declined" + (f": {reason}" if reason else "")


def _nobody(*args: Any, **kwargs: Any) -> Any:
    return NotImplemented

"""The chain of answers to calls with one combination of types, asked in order, and the error where all decline."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from dispatchkit.errors import AnswerError, NoImplementationError, UnsupportedArgumentError
from dispatchkit.locks import SectionLock
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.outcome import FOREIGN
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form, Key, flatten
from dispatchkit.protocol.steps import (
    WRITTEN,
    OnStep,
    Step,
    StepDecline,
    declined_steps,
    declined_text,
    no_answer,
    pop_decline_reason,
    pop_mode_declines,
)
from dispatchkit.protocol.types.array_types import ArrayTypes

# Makes the step of a fallback, which takes longer than all else about a chain.
StepMaker: TypeAlias = Callable[[], Step]
_making = SectionLock()


class Chain:
    """The answers to calls with one combination of types.

    Attributes
    ----------
    operation : the operation
    types : distinct types that take part, in signature order
    order : the candidates in the order they are asked
    declared : the methods, the rules and the default, in order, with what is skipped among them
    fallbacks : the steps of the fallbacks that are made by now, in order; they come after those declared
    makers : what makes the step of each fallback, in order
    """

    __slots__ = ("declared", "fallbacks", "makers", "operation", "order", "types")

    def __init__(
        self, operation: Overridable, types: tuple[type, ...], order: list[type], declared: Iterable[Step] = ()
    ) -> None:
        self.operation, self.types, self.order = operation, types, order
        self.declared = list(declared)
        self.fallbacks: list[Step] = []
        self.makers: list[StepMaker] = []

    def __iter__(self) -> Iterator[Step]:
        """Yield all steps in order; those of fallbacks are made as far as somebody asks for them."""
        yield from self.declared
        for place in range(len(self.makers)):
            if place == len(self.fallbacks):
                self._make_fallback(place)
            yield self.fallbacks[place]

    def _make_fallback(self, place: int) -> None:
        """Make the step of a fallback, unless another thread has done so."""

        def make_once() -> None:
            if place == len(self.fallbacks):
                self.fallbacks.append(self.makers[place]())

        _making.run(make_once)

    @property
    def steps(self) -> list[Step]:
        """The answers, in order."""
        return [step for step in self if step.answers]

    @property
    def handlers(self) -> list[Step]:
        """The answers that people wrote: methods and rules, in order."""
        return [step for step in self.declared if step.source in WRITTEN]

    @property
    def skipped(self) -> list[Step]:
        """The steps that are known not to answer, whose texts are the reasons."""
        return [step for step in self if not step.answers]

    @property
    def foreign(self) -> bool:
        """Whether an argument is neither an array nor mixes with arrays."""
        return any(step.source is FOREIGN for step in self.declared)

    def head(self) -> Callable[..., Any]:
        """Return the first answer; it declines where there is none."""
        for step in self:
            if step.answers:
                return step.call
        return no_answer

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
        before = declined_steps.get()
        try:
            declined_steps.set((self.operation, ()))
            for step in steps[start:]:
                pop_decline_reason()  # an earlier one, of a handler that answered after all
                declined_steps.set((self.operation, tuple(entry.text for entry in declined)))
                if on_step is not None:
                    on_step(self.operation, step)
                result = step.call(*args, **kwargs)
                if result is not NotImplemented:
                    return self.check_result(step, result)
                declined.append(StepDecline(step, pop_decline_reason()))
        finally:
            declined_steps.set(before)
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
        for step in self:
            if not step.answers:
                asked.append(f"{type_name(step.cls)}: {step.text}")
            elif id(step) in reasons:
                asked.append(f"{type_name(step.cls)}: {reasons[id(step)]}")
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
            if data["instead"]:
                data["stub"] = ""
            else:
                data["stub"] = stub_for(operation, key)
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
    decorator = "dk"
    if types.base is None:
        decorator = "protocol"
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
    if form in (Form.STAR, Form.INDEX):
        return union
    return f"list[{union}]"


def _name_to_paste(types: ArrayTypes, cls: type) -> str:
    """Return a type as users write it: array types by name, built-in ones, and plain arrays; "" for any other."""
    if types.base is not None and (types.ranks_as_base(cls) or types.wrapped_always(cls)):
        return f"dk.{types.base.__name__}"
    if types.participates(cls):
        return cls.__name__
    known = cls is not type(None) and getattr(builtins, cls.__name__, None) is cls
    if known:
        return cls.__name__
    return ""


def public_path(operation: Overridable) -> str:
    """Return an operation as users write it: ``dk.linalg.inv``."""
    prefix, _, path = operation.qualified_name.partition(".")
    if prefix == "dispatchkit":
        return f"dk.{path}"
    return operation.name


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

"""The chain of answers to calls with one combination of types, asked in order, and the error where all decline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from dispatchkit.errors import AnswerError, NoImplementationError, UnsupportedArgumentError
from dispatchkit.locks import SectionLock
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.outcome import FOREIGN
from dispatchkit.protocol.overridable import Overridable
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
from dispatchkit.protocol.stubs import instead_of_rule, stub_for

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

    __slots__ = ("_answers", "declared", "fallbacks", "makers", "operation", "order", "types")

    def __init__(
        self, operation: Overridable, types: tuple[type, ...], order: list[type], declared: Iterable[Step] = ()
    ) -> None:
        self.operation, self.types, self.order = operation, types, order
        self.declared = list(declared)
        self.fallbacks: list[Step] = []
        self.makers: list[StepMaker] = []
        self._answers: list[Step] | None = None  # once they are asked for: each call that is declined asks

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
        """The answers, in order, all of them made."""
        if self._answers is None:
            self._answers = [step for step in self if step.answers]
        return self._answers

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
        """Return the first answer; it declines where there is none. No later one is made for it."""
        if self._answers:
            return self._answers[0].call
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
        steps = self._answers or self.steps
        before = declined_steps.get()
        if start and steps:
            declined.append(StepDecline(steps[0], pop_decline_reason()))
        elif steps and before[0] is not self.operation:
            # Most calls end with the first answer, before which nobody has declined.
            pop_decline_reason()
            if on_step is not None:
                on_step(self.operation, steps[0])
            result = steps[0].call(*args, **kwargs)
            if result is not NotImplemented:
                return self.check_result(steps[0], result)
            declined.append(StepDecline(steps[0], pop_decline_reason()))
            start = 1
        try:
            for step in steps[start:]:
                pop_decline_reason()  # an earlier one, of a handler that answered after all
                declined_steps.set((self.operation, tuple([entry.text for entry in declined])))
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
            data["instead"] = instead_of_rule(operation, key)
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

"""A recorded program in a trial of further rules: all its calls predicted once more, with what results then are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dispatchkit.protocol.fallbacks.base import map_members
from dispatchkit.protocol.fallbacks.strategies import Dense
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.observers import CallEvent
from dispatchkit.protocol.outcome import KIND, METHOD, MODE, RULE
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.prediction import Prediction, PredictionCache, StandIn, make_stand_in, predict_result
from dispatchkit.protocol.prediction.stand_in import stand_ins_in
from dispatchkit.report.covering.advice import Advice, Event, advise
from dispatchkit.report.covering.survey import Survey
from dispatchkit.report.operations import Named
from dispatchkit.report.outcomes import SHOWN
from dispatchkit.report.record.call import TracedCall
from dispatchkit.report.record.flow import Flow, Placed, members_of
from dispatchkit.testing.calls import Arguments, measuring

# How a call is answered by code of users, whose own calls are calls of the program.
WRITTEN = frozenset(SHOWN[outcome].how for outcome in (RULE, KIND, METHOD, MODE))


@dataclass(frozen=True)
class RecordedProgram:
    """What a record knows of a program.

    Attributes
    ----------
    calls : that it made
    events : what was noted of each
    flow : the arguments of those with array types, and which results they are
    """

    calls: Sequence[TracedCall]
    events: Sequence[CallEvent]
    flow: Flow


def recorded_advice(
    program: RecordedProgram, n: int, *, cls: type | None, impossible: Named, with_kinds: bool
) -> Advice:
    """Return the rules that would have kept the most of some recorded calls from becoming dense.

    Parameters
    ----------
    program, n : the record, and how many rules at most
    cls : the type that they are for, None for the one whose calls became dense most often
    impossible, with_kinds : as of `advise`
    """
    counted = Counter(call.asked for call in program.calls if call.how == Dense.outcome.name and call.asked is not None)
    chosen = cls or next((commonest for commonest, _ in counted.most_common(1)), None)
    if chosen is None:
        return Advice("the record", ())
    with measuring():
        survey = Survey(tensor_protocol, chosen)
        replay = Replay(program, chosen, survey.memory)
        return advise(survey, replay.events_of, n, impossible=impossible, with_kinds=with_kinds)


@dataclass
class _Course:
    """How a program goes in a trial, as far as it has been followed.

    Attributes
    ----------
    results : the members of the result of each call that is another than recorded
    whole : calls whose inner calls are part of how the library answers them, as recorded
    gone : calls whose inner calls are no longer made, or others
    """

    results: dict[CallEvent, list[Any]]
    whole: set[int]
    gone: set[int]


class Replay:
    """Makes a recorded program once more in trials.

    Parameters
    ----------
    program : the record
    cls : the type whose dense calls are counted
    memory : of predictions without a trial
    """

    def __init__(self, program: RecordedProgram, cls: type, memory: PredictionCache) -> None:
        self.program, self.cls = program, cls
        self.protocol = tensor_protocol
        self.before: list[Prediction | None] = [
            self._predicted(index, {}, memory)[0] for index in range(len(program.calls))
        ]

    def events_of(self, survey: Survey) -> list[Event]:
        """Return the calls that become dense in a trial: those of the survey's rules."""
        course = _Course({}, set(), set())
        events: list[Event] = []
        for index, call in enumerate(self.program.calls):
            if call.parent in course.gone:
                course.gone.add(index)
            elif call.parent in course.whole:
                course.whole.add(index)
                events += self._as_recorded(index)
            else:
                events += self._next(index, course, survey.memory)
        return events

    def _next(self, index: int, course: _Course, memory: PredictionCache) -> Iterator[Event]:
        """Follow a call of the program, and yield the dense calls that come of it."""
        call, event = self.program.calls[index], self.program.events[index]
        prediction, result, arguments = self._predicted(index, course.results, memory)
        before = self.before[index]
        same = prediction is None or before is None or _way(prediction) == _way(before)
        if same and (prediction is None or before is None or prediction.key == before.key):
            if call.how not in WRITTEN:
                course.whole.add(index)
            yield from self._as_recorded(index)
            return
        assert prediction is not None
        course.gone.add(index)
        members = [self._of_one_class(member) for member in members_of(result)]
        if not _as_they_were(members, self.program.flow.results[event]):
            course.results[event] = members
        for nbytes in self._losses(prediction, arguments):
            yield self._event(index, arguments, nbytes)

    def _as_recorded(self, index: int) -> Iterator[Event]:
        call = self.program.calls[index]
        if call.how == Dense.outcome.name and call.asked is self.cls and call.function in self.protocol.operations:
            yield self._event(index, self._arguments(index, {}), call.self_densified)

    def _event(self, index: int, arguments: Arguments | None, nbytes: int) -> Event:
        call = self.program.calls[index]
        operation = self.protocol.operations[call.function]
        return Event(operation, arguments, nbytes, call.duration, call.place, number=index)

    def _arguments(self, index: int, results: dict[CallEvent, list[Any]]) -> Arguments | None:
        """Return the arguments of a call with stand-ins for arrays, None where they were not noted."""
        arguments = self.program.flow.arguments.get(self.program.events[index])
        if arguments is None:
            return None

        def stand_in(value: Any) -> Any:
            if not isinstance(value, Placed):
                return value
            changed = None
            if value.source is not None:
                changed = results.get(value.source)
            if changed is not None and value.member < len(changed):
                return changed[value.member]
            return make_stand_in(self.protocol, (value.cls,), value.layout)

        args, kwargs = arguments
        return map_members(args, stand_in), map_members(kwargs, stand_in)

    def _predicted(
        self, index: int, results: dict[CallEvent, list[Any]], memory: PredictionCache
    ) -> tuple[Prediction | None, Any, Arguments | None]:
        """Return what is predicted of a call, None where its arguments were not noted; its result, its arguments."""
        operation: Overridable | None = self.program.events[index].operation
        arguments = self._arguments(index, results)
        if operation is None or arguments is None or operation.protocol is not self.protocol:
            return None, None, None
        prediction, result = predict_result(operation, *arguments, memory)
        return prediction, result, arguments

    def _of_one_class(self, value: Any) -> Any:
        """Return a stand-in of one class: of one that may be several a number is plain, all else keeps the type."""
        if not issubclass(type(value), StandIn) or len(value._classes) == 1:
            return value
        base = self.protocol.types.base
        if base is not None and base in value._classes and value._layout.shape == ():
            return make_stand_in(self.protocol, (base,), value._layout)
        if self.cls in value._classes:
            return make_stand_in(self.protocol, (self.cls,), value._layout)
        return value

    def _losses(self, prediction: Prediction, arguments: Arguments | None) -> Iterator[int]:
        """Yield the bytes of each call by which arrays of the type become dense, of this and those inside it."""
        if prediction.outcome is Dense.outcome and prediction.by is not None and prediction.by.cls is self.cls:
            yield sum(_nbytes(each) for each in stand_ins_in(arguments) if each._classes == (self.cls,))
        elif prediction.by is not None:
            for inner in prediction.by.inner:
                yield from self._losses(inner, None)


def _way(prediction: Prediction) -> tuple[Any, ...]:
    """Return who answers, and how."""
    if prediction.by is None:
        return (prediction.outcome, prediction.error)
    by = prediction.by
    rule = None
    if by.rule is not None:
        rule = id(by.rule)
    return prediction.outcome, by.cls, by.what, rule, prediction.results, tuple(map(_way, by.inner))


def _as_they_were(members: Sequence[Any], recorded: Sequence[type]) -> bool:
    """Return whether results are of the classes that were recorded, as far as it is known."""
    if len(members) != len(recorded):
        return False
    for member, cls in zip(members, recorded, strict=True):
        if issubclass(type(member), StandIn) and member._classes not in ((), (cls,)):
            return False
    return True


def _nbytes(array: StandIn) -> int:
    """Return the bytes of the dense copy of an array, 0 where its shape is not known."""
    shape, dtype = array._layout.shape, array._layout.dtype
    if shape is None or dtype is None:
        return 0
    return math.prod(shape) * int(getattr(dtype, "itemsize", 0))

"""Calls of two arrays: how each operation can be called with a pair of types, and who would answer."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np

from dispatchkit.protocol.chain import Chain
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.explain.call import predicted_steps
from dispatchkit.protocol.fallbacks import Decompose
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.outcome import AMBIGUOUS, ANSWERS, AT_RUN_TIME, DECLINES, IF_DECLINED, RAISES, REFUSED
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import ArrayParameter, Form, Key, Parameters
from dispatchkit.protocol.prediction import Layout, PredictionCache, make_stand_in, predict
from dispatchkit.protocol.steps import Step
from dispatchkit.report.covering.survey import dry_calls
from dispatchkit.report.outcomes import LOSSY, OUTCOMES, SHOWN
from dispatchkit.testing.calls import Arguments, Operand


def _stand_ins(operation: Overridable, sample: Arguments, key: Key) -> Arguments | None:
    """Return a sample call with stand-ins of some types for its arrays; None where it gives others."""
    classes: dict[str, Iterator[type]] = {}
    for p, entry in zip(operation.parameters.arrays, key, strict=True):
        value = p.find(*sample)
        kinds: Sequence[type]
        if isinstance(entry, tuple):
            kinds = entry
        else:
            kinds = (entry,)
        if p.form is not Form.INDEX:
            several = isinstance(value, (list, tuple))
            if (several or isinstance(value, Operand)) is (entry is type(None)) or (
                several and len(value) < len(kinds)
            ):
                return None
        if kinds:
            classes[p.name] = itertools.chain(kinds, itertools.repeat(kinds[-1]))
        else:
            classes[p.name] = iter(())

    def stand_in(name: str, value: Any) -> Any:
        if not isinstance(value, Operand):
            return value
        cls, array = next(classes[name], float), value.make()
        if cls is operation.types.base:
            return array
        return make_stand_in(operation.protocol, (cls,), Layout(array.shape, array.dtype))

    return operation.parameters.replace(*sample, stand_in)


def _matrices(operation: Overridable, key: Key) -> list[Arguments]:
    """Return the shortest call with stand-ins for square matrices; none where it needs more than arrays."""
    layout = Layout((3, 3), np.dtype(np.float64))
    matrices = {
        p.name: make_stand_in(operation.protocol, (entry,), layout)
        for p, entry in zip(operation.parameters.arrays, key, strict=True)
        if isinstance(entry, type) and entry is not type(None)
    }
    required = {p.name for p in operation.parameters.signature.parameters.values() if p.default is p.empty}
    if required <= matrices.keys():
        return [operation.parameters.shortest_call(matrices)]
    return []


SEVERAL = (Form.SEQUENCE, Form.STAR)
# How calls end, from the answer that is made for them to none; what the shares of a pair are counted by.
SHARES = {one.share: one.outcome.meaning for one in OUTCOMES if one.share}


@dataclass(frozen=True, slots=True)
class PairRow:
    """One call of an operation with a pair of types.

    Attributes
    ----------
    operation : qualified name
    call : the call in words, such as ``"where(Tensor, A, B)"``
    outcome : ``"answers"``, ``"decides at run time"``, ``"ambiguous"`` or ``"raises"``
    winner : name of the type that answers, or is asked first to decide; "" where the call raises
    share : by what, one of `SHARES`
    answer : the rule with file and line, or the fallback, as `explain` prints it; else why nobody answers
    location : file and line of the rule, "" where none is behind the answer
    otherwise : who comes next if the winner declines, "" where nobody does
    """

    operation: str
    call: str
    outcome: str
    winner: str
    share: str
    answer: str
    location: str
    otherwise: str


@dataclass(frozen=True, slots=True)
class Pair:
    """All calls with one ordered pair of types.

    Attributes
    ----------
    left, right : names of the types, in the order of the arguments
    rows : one for each call
    """

    left: str
    right: str
    rows: tuple[PairRow, ...]

    @property
    def winners(self) -> dict[str, int]:
        """Number of calls that each type wins, most first; calls that raise have no winner."""
        return dict(Counter(row.winner for row in self.rows if row.winner).most_common())

    @property
    def shares(self) -> dict[str, int]:
        """Number of calls that end in each way, in the order of `SHARES`; ways that none takes are left out."""
        counted = Counter(row.share for row in self.rows)
        return {share: counted[share] for share in SHARES if counted[share]}

    @property
    def share(self) -> str:
        """The way in which most calls end, "" where there are none."""
        return max(self.shares, key=self.shares.__getitem__, default="")

    def __getitem__(self, name: str) -> PairRow:
        """Return the first row of an operation, by its name, qualified or not, or by the call.

        Raises
        ------
        KeyError : if there is none
        """
        for row in self.rows:
            inner, short = row.operation.partition(".")[2], row.operation.rpartition(".")[2]
            if name in (row.call, row.operation, inner, short):
                return row
        raise KeyError(f"no call with ({self.left}, {self.right}) is of {name!r}")


@dataclass(frozen=True, slots=True, eq=False)
class PairCall:
    """A way to call an operation with two arrays.

    Attributes
    ----------
    operation : that is called
    first, second : the parameters that take the two; the same where it takes both
    """

    operation: Overridable
    first: ArrayParameter
    second: ArrayParameter

    @property
    def alike(self) -> bool:
        """Whether the two arrays play the same part, so that their order should not decide who answers."""
        if self.first is self.second or not self.operation.parameters.strict:
            return True
        named = self.operation.parameters.signature.parameters
        if any(named[p.name].default is not named[p.name].empty for p in (self.first, self.second)):
            return False
        stems = {p.name.rstrip("0123456789") for p in (self.first, self.second)}
        return len(stems) == 1 or self.operation.kind.family is kinds.elementwise

    def values(self, left: Any, right: Any, filler: Any) -> dict[str, Any]:
        """Return what each array parameter is given; what may be left out is."""
        named = self.operation.parameters.signature.parameters
        values: dict[str, Any] = {}
        for p in self.operation.parameters.arrays:
            if p is self.first:
                if p is self.second:
                    values[p.name] = left, right
                else:
                    values[p.name] = left
            elif p is self.second:
                values[p.name] = right
            elif named[p.name].default is named[p.name].empty and p.form is not Form.STAR:
                if p.form is Form.INDEX:
                    values[p.name] = int
                else:
                    values[p.name] = filler
        return values

    def text(self, left: str, right: str, filler: str) -> str:
        """Return a call in words."""
        values = self.values(left, right, filler)
        for p in self.operation.parameters.arrays:
            if p.form is Form.INDEX:
                values[p.name] = p.name
            elif p.form is Form.SEQUENCE and isinstance(values.get(p.name), tuple):
                values[p.name] = f"[{', '.join(values[p.name])}]"
        args, kwargs = self.operation.parameters.shortest_call(values)
        words = [*map(str, args), *(f"{name}={value}" for name, value in kwargs.items())]
        return f"{self.operation.name}({', '.join(words)})"


def key_of(parameters: Parameters, given: Mapping[str, Any]) -> Key:
    """Return the key of a call that gives arrays of some types, a tuple of types where it gives several."""
    entries: list[Any] = []
    for p in parameters.arrays:
        default: Any = type(p.default)
        if p.form is Form.STAR:
            default = ()
        entry = given.get(p.name, default)
        if isinstance(entry, tuple):
            entry = tuple(dict.fromkeys(entry))
        elif p.form in (*SEVERAL, Form.INDEX):
            entry = (entry,)
        entries.append(entry)
    return tuple(entries)


def calls_of_two(operation: Overridable) -> list[PairCall]:
    """Return the ways to call an operation with two arrays: every two of its array parameters, in their order.

    A parameter that takes several arrays takes both. Indices are no arrays here; of a function made overridable without
    naming its arrays, the parameters without a default count.
    """
    parameters = operation.parameters
    named = parameters.signature.parameters
    calls = [PairCall(operation, p, p) for p in parameters.arrays if p.form in SEVERAL]
    places: list[ArrayParameter] = []
    for p in parameters.arrays:
        formal = named[p.name]
        required = formal.default is formal.empty
        if p.form in (*SEVERAL, Form.INDEX) or not (required or parameters.strict):
            continue
        if required or formal.kind is not formal.POSITIONAL_ONLY or formal.name == _first_without_name(parameters):
            places.append(p)
    return [*calls, *(PairCall(operation, first, second) for first, second in combinations(places, 2))]


def _first_without_name(parameters: Parameters) -> str:
    """Return the one optional parameter without a keyword that can be given while those after it are left out."""
    listed = parameters.signature.parameters.values()
    return next((p.name for p in listed if p.kind is p.POSITIONAL_ONLY and p.default is not p.empty), "")


class Chains:
    """The chains of a protocol, each built once, and without a trace in the protocol."""

    def __init__(self, protocol: DispatchProtocol) -> None:
        self.protocol = protocol
        self.memory = PredictionCache()
        self._reasons: dict[Step, str] = {}

    def __call__(self, operation: Overridable, key: Key) -> Chain:
        """Return who answers calls of an operation with arguments of these types."""
        return self.memory.chain(operation, key)

    def declines(self, operation: Overridable, key: Key, step: Step) -> str:
        """Return why the body that a step runs cannot be run, by the samples; "" where it may, or the step runs none.

        Parameters
        ----------
        operation : that is decomposed
        key : types of its array arguments
        step : the answer that runs the body
        """
        if step.source is not Decompose.outcome:
            return ""
        if step not in self._reasons:
            self._reasons[step] = self._reason(operation, key, step)
        return self._reasons[step]

    def _reason(self, operation: Overridable, key: Key, step: Step) -> str:
        samples = [sample for call in dry_calls(operation) if not any(call.form) for sample in call.samples]
        calls: Iterator[tuple[tuple[Any, ...], dict[str, Any]]] = filter(
            None, (_stand_ins(operation, sample, key) for sample in samples)
        )
        first, reason = next(calls, None), ""
        if first is None:
            calls = iter(_matrices(operation, key))
        else:
            calls = itertools.chain((first,), calls)
        for call in calls:
            asked = predict(operation, *call, self.memory, until=step).asked
            body = next((entry for entry in asked if (entry.outcome, entry.cls) == (step.source, step.cls)), None)
            if body is None or body.verdict != DECLINES:
                return ""
            reason = reason or body.reason
        return reason


@dataclass(slots=True, eq=False)
class Decision:
    """Who answers a call.

    Attributes
    ----------
    operation : that is called
    types : of the arrays that the call is about, in the order of its arguments
    chain : everything known of it
    step : the first answer, or the type that decides at run time; None where nobody answers
    verdict : of that step, as `explain` has it; "" where there is none
    otherwise : the answer that comes next
    call : the call in words
    reason : why nobody answers
    """

    operation: Overridable
    types: tuple[type, ...]
    chain: Chain
    step: Step | None
    verdict: str
    otherwise: Step | None
    call: str
    reason: str

    @property
    def outcome(self) -> str:
        """What comes of the call."""
        if self.step is None:
            return RAISES
        if self.step.source is AMBIGUOUS:
            return SHOWN[AMBIGUOUS].share
        return self.verdict

    @property
    def share(self) -> str:
        """By what it is answered."""
        if self.step is None:
            return SHOWN[REFUSED].share
        source = self.step.source
        if any(edge.lossy for edge in self.step.path):
            source = LOSSY
        return SHOWN[source].share

    def row(self, names: Mapping[type, str]) -> PairRow:
        """Return what the report says of the call."""
        winner, answer, location, otherwise = "", self.reason, "", ""
        if self.step is not None:
            answer = self.step.text
            if self.outcome in (ANSWERS, AT_RUN_TIME):
                winner = _step_name(self.step, names)
            if self.step.rule is not None:
                location = self.step.rule.location
        if self.otherwise is not None:
            otherwise = f"{_step_name(self.otherwise, names)}: {self.otherwise.text}"
        function = self.operation.qualified_name
        return PairRow(function, self.call, self.outcome, winner, self.share, answer, location, otherwise)


def _step_name(step: Step, names: Mapping[type, str]) -> str:
    return names.get(step.cls) or type_name(step.cls)


def decide(
    chains: Chains, operation: Overridable, types: tuple[type, ...], given: Mapping[str, Any], call: str
) -> Decision:
    """Return who answers the shortest call that gives some parameters arrays of some types; nothing is called."""
    args, kwargs = operation.parameters.shortest_call(given)
    key = key_of(operation.parameters, given)
    declined: list[str] = []
    steps = list(islice(_answers(chains, operation, key, args, kwargs, declined), 2))
    if steps:
        step, verdict = steps[0]
    else:
        step, verdict = None, ""
    otherwise = None
    if len(steps) > 1 and verdict != RAISES:
        otherwise = steps[1][0]
    reason = ""
    if not steps:
        reason = "; ".join(declined)
    seen = {key}
    turn = step
    turns: list[str] = []
    # What becomes another call is answered by whoever answers that one.
    while turn is not None and turn.then is not None and turn.then not in seen:
        seen.add(turn.then)
        turns.append(turn.text)
        declined = []
        turn, last = next(_answers(chains, operation, turn.then, args, kwargs, declined), (None, RAISES))
        if last == RAISES:
            step, verdict, otherwise = None, "", None
            if turn is None:
                turns += declined
            else:
                turns.append(turn.text)
            reason = "; ".join(turns)
            break
    return Decision(operation, types, chains(operation, key), step, verdict, otherwise, call, reason)


def _answers(
    chains: Chains,
    operation: Overridable,
    key: Key,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    declined: list[str],
) -> Iterator[tuple[Step, str]]:
    """Yield the answers that a call may get with their verdicts; note why others do not come once all are taken."""
    chain = chains(operation, key)
    bodies: list[str] = []
    at_run_time = True
    for entry, verdict in predicted_steps(operation, chain, args, kwargs):
        if not entry.answers:
            declined.append(f"{type_name(entry.cls)}: {entry.text}")
            continue
        if verdict.startswith("passed over"):
            continue
        reason = chains.declines(operation, key, entry)
        if reason:
            bodies.append(f"{type_name(entry.cls)}: {entry.text} declines: {reason}")
            continue
        if verdict == IF_DECLINED and at_run_time:
            verdict = ANSWERS
        at_run_time = at_run_time and verdict == AT_RUN_TIME
        yield entry, verdict
    declined += bodies


def names_of(types: Sequence[type]) -> dict[type, str]:
    """Return a name for each type: its own, with its module where two have the same."""
    counted = Counter(map(type_name, types))
    return {
        cls: type_name(cls) if counted[type_name(cls)] == 1 else f"{cls.__module__}.{type_name(cls)}" for cls in types
    }

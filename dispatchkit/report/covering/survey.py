"""The dry survey: what is predicted of the sample calls of each function with a type, without calling anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, repeat
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dispatchkit.declare.samples import Sample
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.outcome import DEPENDS, PASSED_OVER, RULE
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form, Key, flatten
from dispatchkit.protocol.prediction import Asked, Layout, Prediction, PredictionCache, make_stand_in, predict
from dispatchkit.protocol.prediction.tree import promise_of
from dispatchkit.protocol.rules import Rule
from dispatchkit.protocol.steps import Step
from dispatchkit.report.covering.rows import FAULTS, STRUCTURED, Row, RuleEntry, rank, typical
from dispatchkit.report.covering.sources import RunLines
from dispatchkit.report.operations import Named, declared_operations
from dispatchkit.report.outcomes import INHERITED, SHOWN, UNDECIDED, Shown
from dispatchkit.tensor import Tensor
from dispatchkit.testing.calls import Arguments, Call, Operand, generic_samples, measuring, placements


@dataclass(frozen=True, eq=False, slots=True)
class DryCall:
    """A sample call of an operation, with places for the arrays of a type.

    Attributes
    ----------
    operation : that is called
    form : the types of its arrays, "" for a place
    keywords : names of the arguments that are given by name
    samples : arguments of calls that differ in nothing else, with operands in the places
    """

    operation: Overridable
    form: tuple[str, ...]
    keywords: tuple[str, ...]
    samples: list[Arguments] = field(default_factory=list)

    def predictions(self, cls: type, memory: PredictionCache) -> Iterator[Prediction]:
        """Yield what comes of each of the samples with arrays of a type in its places."""
        for args, kwargs in self.filled(cls):
            yield predict(self.operation, args, kwargs, memory)

    def filled(self, cls: type) -> Iterator[Arguments]:
        """Yield the arguments of each of the samples with stand-ins for arrays of a type in its places."""

        def fill(name: str, value: Any) -> Any:
            if not isinstance(value, Operand):
                return value
            array = value.make()
            return make_stand_in(self.operation.protocol, (cls,), Layout(array.shape, array.dtype))

        for args, kwargs in self.samples:
            yield self.operation.parameters.replace(args, kwargs, fill)

    def key(self, cls: type) -> Key:
        """Return the types of its arrays, with a type in its places."""
        return tuple(_with_type(entry, cls) for entry in self.operation.parameters.key(*self.samples[0]))


def _with_type(entry: Any, cls: type) -> Any:
    if isinstance(entry, tuple):
        return tuple(_with_type(member, cls) for member in entry)
    if entry is Operand:
        return cls
    return entry


_KNOWN: WeakKeyDictionary[Overridable, list[DryCall]] = WeakKeyDictionary()


def dry_calls(operation: Overridable) -> list[DryCall]:
    """Return the sample calls of an operation; those with places alone come first."""
    calls = _KNOWN.get(operation)
    if calls is None:
        with measuring():
            calls = _KNOWN[operation] = list(_make_dry_calls(operation).values())
    return calls


def _make_dry_calls(operation: Overridable) -> dict[Any, DryCall]:
    by_key: dict[Any, DryCall] = {}
    arrays = [p for p in operation.parameters.arrays if p.form is not Form.INDEX]
    if not arrays:
        return by_key
    declared: Sequence[Sample] = getattr(operation, "samples", []) or generic_samples(operation, (2, 2), np.float64)
    calls = [call for sample in declared for call in _with_roles(operation, sample)] or [_least_call(operation)]
    named = {name for _, call in calls for name in call.sample.kwargs}
    for p in operation.parameters.signature.parameters.values():
        optional = p.default is not p.empty and p.kind is not p.POSITIONAL_ONLY and p.name not in named
        if optional and all(p.name != array.name for array in operation.parameters.arrays):
            form, call = calls[0]
            kwargs = {**call.sample.kwargs, p.name: p.default}
            calls.append((form, replace(call, sample=replace(call.sample, kwargs=kwargs))))
    for form, call in sorted(calls, key=lambda entry: any(entry[0])):
        args, kwargs = call.arguments(lambda operand: operand if operand.own else operand.make())
        shown = tuple((name, repr(value)) for name, value in kwargs.items() if not isinstance(value, (Operand, Tensor)))
        key = (form, operation.parameters.key(args, kwargs), len(args), tuple(kwargs), shown)
        by_key.setdefault(key, DryCall(operation, form, tuple(kwargs))).samples.append((args, kwargs))
    return by_key


def _least_call(operation: Overridable) -> tuple[tuple[str, ...], Call]:
    """Return a call of a function of which nothing is known, with a matrix for each argument that it must have."""
    (sample,) = generic_samples(operation, (2, 2), np.float64, guessed=True)
    count = len(sample.arrays(operation.parameters))
    return ("",), Call(operation, sample, (_operand("", np.zeros((2, 2))),) * count)


def _with_roles(operation: Overridable, sample: Sample) -> Iterator[tuple[tuple[str, ...], Call]]:
    """Yield a sample with places for all its arrays, then with plain tensors and numbers at all but one."""
    values = operation.parameters.values(*sample.make(np.random.default_rng(0)))
    arrays = [value for _, value in values if isinstance(value, np.ndarray)]
    places = [p for p, value in values if isinstance(value, np.ndarray) and p.form is not Form.INDEX]
    if not places:
        return
    scalars: tuple[str, ...] = ()
    if all(p.form in (Form.ONE, Form.LOOSE) for p in places):
        scalars = ("float", "int")
    for form in placements(len(places), "", ("Tensor", *scalars)):
        roles = chain(form, repeat("Tensor"))
        call = Call(operation, sample, tuple(map(_operand, roles, arrays)))
        # A number may stand where an array does if plain tensors take it there.
        if not {"float", "int"} & set(form) or call.is_valid():
            yield form, call


def _operand(role: str, array: Any) -> Operand:
    """Return what stands at an array: in the place for the type a plain tensor of its shape and dtype."""
    value: Any = {"float": 2.0, "int": 2}.get(role)
    if value is None:
        value = Tensor(array)
    return Operand(not role, lambda: value, lambda: value)


@dataclass(frozen=True)
class Verdict:
    """How a sample call ends.

    Attributes
    ----------
    bucket : of coverage
    prediction : that says so
    """

    bucket: str
    prediction: Prediction

    @property
    def entered(self) -> tuple[Rule, ...]:
        """The rules that come to the call."""
        prediction = self.prediction
        if prediction.by is None:
            asked = prediction.asked
        else:
            asked = prediction.asked[: prediction.asked.index(prediction.by) + 1]
        return tuple(answer.rule for answer in asked if answer.rule is not None and answer.verdict != PASSED_OVER)

    @cached_property
    def functions(self) -> frozenset[str]:
        """The qualified names of all functions that the call comes to, read for each rule that is tried."""
        return frozenset(inner.function for _, inner in self.prediction.walk())

    @property
    def is_certain(self) -> bool:
        """Whether the call keeps the structure even where every rule declines that may."""
        return self.bucket in STRUCTURED and not self.prediction.depends_on_values

    @property
    def note(self) -> str:
        """What else is to be said: other types in the call, why nobody answers, on what it depends."""
        prediction = self.prediction
        if self.bucket == "refused" and prediction.by is None:
            return "; ".join(answer.reason or answer.what for answer in prediction.asked)
        if self.bucket == "refused":
            return prediction.error
        if self.bucket == UNDECIDED.name:
            return prediction.depends_on_values
        return ""


def outcome_of(answer: Step | Asked, cls: type) -> Shown:
    """Return how an answer comes about for a type: a rule that names a superclass alone is inherited."""
    if isinstance(answer, Asked):
        outcome = answer.outcome
    else:
        outcome = answer.source
    assert outcome is not None
    inherited = outcome is RULE and (answer.rule is None or cls not in answer.rule.types)
    if inherited:
        outcome = INHERITED
    return SHOWN[outcome]


def family(operation: Overridable) -> str:
    """Return the widest kind of an operation but `kinds.all`."""
    return operation.kind.lineage()[-2:][0].name


class Survey:
    """Sorts the sample calls of the operations of a protocol for one type, by what is predicted of them.

    Parameters
    ----------
    protocol : whose operations are sorted
    cls : a type that takes part in it
    closed : functions and kinds under which the author says it is closed, besides those that it declares
    memory : of the predictions, for several types together
    refuses : exceptions by which it refuses calls, besides those that it declares
    """

    def __init__(
        self,
        protocol: DispatchProtocol,
        cls: type,
        closed: Named = (),
        memory: PredictionCache | None = None,
        refuses: Iterable[type[Exception]] = (),
    ) -> None:
        self.refuses = (*protocol.types.refuses(cls), *refuses)
        self.protocol = protocol
        self.cls = cls
        self.closed = declared_operations(protocol, cls, "closed", closed)
        if memory is None:
            self.memory = PredictionCache()
        else:
            self.memory = memory
        self.verdicts: dict[DryCall, Verdict] = {}
        self.lines = RunLines()

    def supposing(self, operations: Iterable[Overridable]) -> Survey:
        """Return the same survey with operations that are taken to have a rule for every call with the type."""
        supposed = dict.fromkeys(operations, self.cls)
        other = Survey(self.protocol, self.cls, memory=self.memory.supposing(supposed))
        return self._with_verdicts(other, supposed)

    def trying(self, rules: Sequence[Rule]) -> Survey:
        """Return the same survey in a trial of further rules, whose handlers are not called."""
        other = Survey(self.protocol, self.cls, memory=self.memory.trying(rules), refuses=self.refuses)
        other.closed = self.closed
        targets = {rule.target for rule in rules}
        operations = self.protocol.operations.values()
        return self._with_verdicts(
            other, [each for each in operations if not targets.isdisjoint((each, *each.kind.lineage()))]
        )

    def _with_verdicts(self, other: Survey, changed: Iterable[Overridable]) -> Survey:
        """Return another survey with the verdicts on calls that come to none of the operations that changed."""
        names = {operation.qualified_name for operation in changed}
        for call, verdict in self.verdicts.items():
            if names.isdisjoint(verdict.functions):
                other.verdicts[call] = verdict
        return other

    def row(self, operation: Overridable) -> Row:
        """Return the row of an operation; made inside `measuring`."""
        place = (operation.name, operation.namespace, family(operation))
        calls = [(call, self.sort(call)) for call in dry_calls(operation)]
        entries = self.rule_entries(operation, [rule for _, verdict in calls for rule in verdict.entered])
        if not calls:
            return Row(*place, "no array argument")
        bucket = typical((call.form, not call.keywords, verdict.bucket) for call, verdict in calls)
        deciding = next(verdict for _, verdict in calls if verdict.bucket == bucket)
        types = list(flatten(deciding.prediction.key))
        others = dict.fromkeys(type_name(cls) for cls in types if cls not in (self.cls, type(None)))
        notes = []
        if others and self.cls in types:
            notes = [f"with {', '.join(others)}"]
        if deciding.note:
            notes += [deciding.note]
        by = deciding.prediction.by
        buckets = Counter(verdict.bucket for _, verdict in sorted(calls, key=lambda entry: rank(entry[1].bucket)))
        location, certain = "", sum(verdict.is_certain for _, verdict in calls)
        if by is not None:
            location = by.location
        return Row(*place, bucket, location, ", ".join(notes), len(calls), dict(buckets), entries, certain)

    def sort(self, call: DryCall) -> Verdict:
        """Return how a sample call ends, inside `measuring`; of several samples the one that ends worst."""
        worst = self.verdicts.get(call)
        if worst is None:
            predictions = call.predictions(self.cls, self.memory)
            each = [Verdict(self._bucket_of(call, prediction), prediction) for prediction in predictions]
            worst = self.verdicts[call] = max(each, key=lambda verdict: (rank(verdict.bucket), not verdict.is_certain))
        return worst

    def verdict(self, operation: Overridable, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Verdict:
        """Return how a call ends, which has arrays or stand-ins for them, inside `measuring`."""
        prediction = predict(operation, args, kwargs, self.memory)
        return Verdict(self._bucket(prediction), prediction)

    def _bucket(self, prediction: Prediction) -> str:
        by = prediction.by
        if by is None or prediction.error:
            return "refused"
        if by.verdict == DEPENDS:
            return UNDECIDED.name
        return outcome_of(by, self.cls).bucket

    def _bucket_of(self, call: DryCall, prediction: Prediction) -> str:
        bucket, results = self._bucket(prediction), prediction.results
        if call.operation not in self.closed or any(call.form) or bucket in FAULTS:
            return bucket
        # As far as is known, the call gives the type again.
        known = [cls for cls in results if self.protocol.types.participates(cls)]
        related = any(issubclass(self.cls, result) or issubclass(result, self.cls) for result in known)
        if bucket != "refused" and (related or not results):
            return bucket
        return "plain result"

    def rule_entries(self, operation: Overridable, entered: Iterable[Rule]) -> tuple[RuleEntry, ...]:
        """Return all rules that the type has for an operation and its kinds, with how many calls come to each."""
        counted, types = Counter(map(id, entered)), self.protocol.types.counts_as(self.cls)
        optional = [p for p in operation.parameters.signature.parameters.values() if p.default is not p.empty]
        entries = []
        for rule in (rule for rule in operation.rules_for_calls() if rule.serves(types)):
            takes = rule.takes.parameters.values()
            names = {p.name for p in takes}
            everything = any(p.kind is p.VAR_KEYWORD for p in takes)
            keywords = tuple(p.name for p in optional if everything or p.name in names)
            result = " or ".join(map(type_name, promise_of(rule.handler).classes))
            entries.append(RuleEntry(rule.types_text, rule.location, keywords, result, counted[id(rule)]))
        return tuple(entries)

"""Measured coverage: every overridable function is called, and sorted by what comes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from dispatchkit.errors import NoImplementationError
from dispatchkit.func.containers import with_floats
from dispatchkit.protocol.densify import separate_ledger
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.overridable import Dispatcher, Overridable
from dispatchkit.protocol.parameters import Form
from dispatchkit.protocol.prediction.tree import first_line, promise_of, promise_of_rule
from dispatchkit.protocol.rules import Rule
from dispatchkit.protocol.steps import Step, StepDecline
from dispatchkit.report.covering.rows import FAULTS, STRUCTURED, MeasuredRow, rank, typical
from dispatchkit.report.covering.survey import Survey, family, outcome_of
from dispatchkit.report.outcomes import SHOWN
from dispatchkit.testing.calls import Call, Operand
from dispatchkit.testing.comparing.differences import (
    OPAQUE,
    difference,
    error_text,
    is_determined,
    numbers,
    with_plain_tensors,
)
from dispatchkit.testing.examination import CallResult, compare_call, make_call, wrong_derivatives_of
from dispatchkit.testing.samples import TypeSample, sample_calls
from dispatchkit.tree import with_members

# Where a difference of each aspect lands.
BUCKET_OF = {
    "container": "wrong type",
    "type": "wrong type",
    "shape": "wrong value",
    "value": "wrong value",
    "dtype": "wrong dtype",
}


@dataclass(frozen=True)
class _Counted:
    """What came of a call, and the bucket that it counts in."""

    call_result: CallResult
    bucket: str
    step: Step | None = None
    problem: str = ""
    densified: int = 0
    entered: tuple[Rule, ...] = ()

    @property
    def call(self) -> Call:
        """The call that was made."""
        return self.call_result.call

    @property
    def form(self) -> tuple[str, ...]:
        """The types of its arrays, "" for the one that is measured."""
        return tuple("" if operand.own else type_name(operand.cls) for operand in self.call.operands)

    @property
    def mixed(self) -> bool:
        """Whether it has an array of another array type than the one that is measured."""
        types = self.call.operation.protocol.types
        others = [operand.cls for operand in self.call.operands if not operand.own and operand.cls is not types.base]
        return any(map(types.participates, others))


def measured_row(
    survey: Survey, operation: Overridable, subjects: Sequence[TypeSample], companions: Sequence[TypeSample]
) -> MeasuredRow:
    """Make the calls of an operation with samples of a type, inside `measuring`; return what came of them."""
    place = (operation.name, operation.namespace, family(operation))
    if not any(p.form is not Form.INDEX for p in operation.parameters.arrays):
        return MeasuredRow(*place, "no array argument")
    calls = [call for subject in subjects for call in sample_calls(operation, subject, companions)]
    outcomes = [_count_call(survey, call) for call in calls]
    entries = survey.rule_entries(operation, [rule for outcome in outcomes for rule in outcome.entered])
    if not outcomes:
        return MeasuredRow(*place, "never reached", rules=entries)
    deciding = _deciding(outcomes)
    rule = None
    if deciding.step is not None:
        rule = deciding.step.rule
    bad = next((outcome for outcome in (deciding, *outcomes) if outcome.problem), None)
    location = ""
    if rule is not None:
        location = rule.location
    problem = ""
    if bad is not None:
        problem = f"{bad.call.text.removeprefix(f'{operation.namespace}.')}: {bad.problem}"
    return MeasuredRow(
        *place,
        deciding.bucket,
        location=location,
        note=_note(deciding),
        calls=len(outcomes),
        outcomes=dict(Counter(sorted((outcome.bucket for outcome in outcomes), key=rank))),
        rules=entries,
        certain=sum(outcome.bucket in STRUCTURED for outcome in outcomes),
        results=dict(Counter(_result_name(outcome.call_result.result) for outcome in outcomes if outcome.step)),
        takes_keywords=_takes_keywords(survey.cls, operation, outcomes),
        densified=sum(outcome.densified for outcome in outcomes),
        problem=problem,
    )


def _deciding(outcomes: Sequence[_Counted]) -> _Counted:
    """Return the first call that ends as the function does; those with further types count if there are no others."""
    counted = [outcome for outcome in outcomes if not outcome.mixed or outcome.bucket in FAULTS] or outcomes
    bucket = typical((outcome.form, not outcome.call.sample.kwargs, outcome.bucket) for outcome in counted)
    return next(outcome for outcome in counted if outcome.bucket == bucket)


def _note(counted: _Counted) -> str:
    notes = []
    others = dict.fromkeys(type_name(operand.cls) for operand in counted.call.operands if not operand.own)
    if others and counted.bucket != "refused":
        notes.append(f"with {', '.join(others)}")
    if not all(operand.has_values for operand in counted.call.operands):
        notes.append("values not compared: no dense form")
    return ", ".join(notes)


def _takes_keywords(cls: type, operation: Overridable, outcomes: Sequence[_Counted]) -> bool | None:
    steps = [outcome.step for outcome in outcomes if outcome.step is not None]
    rules = [step.rule for step in steps if step.rule is not None and cls in step.rule.types]
    if rules:
        return all(rule.takes_everything(operation.parameters) for rule in rules)
    return None


def _count_call(survey: Survey, call: Call) -> _Counted:
    """Make a call, compare it with the same on plain tensors, and say in which bucket it counts."""
    protocol, entered = survey.protocol, list[Step]()
    answered: list[Step] = []

    def run(args: Any, kwargs: Any) -> Any:
        chain = protocol.chain(call.operation, call.operation.parameters.key(args, kwargs))
        declined: list[StepDecline] = []
        with survey.lines.noted(chain):
            result = chain.attempt(args, kwargs, declined, on_step=lambda _, step: entered.append(step))
        if result is NotImplemented:
            raise chain.error(args, kwargs, declined)
        answered.append(chain.steps[len(declined)])
        return result

    with separate_ledger() as book:
        outcome = make_call(call, call.make(), run)
    rules = [step.rule for step in entered if step.rule is not None and not step.rule.refusal(*outcome.arguments)]
    error = outcome.error
    if error is not None:
        others = (protocol.types.refuses(operand.cls) for operand in call.operands)
        refused = isinstance(error, (NoImplementationError, *survey.refuses, *chain.from_iterable(others)))
        if isinstance(error, NoImplementationError):
            problem = error.headline()
        else:
            problem = first_line(error)
        bucket = "raises"
        if refused:
            bucket = "refused"
        return _Counted(outcome, bucket, problem=problem, entered=tuple(rules))
    (step,) = answered
    declined = [other for other in entered if other is not step]
    fault = _declined_promise(declined, outcome) or _fault(protocol, outcome, step)
    if fault is None and call.operation in survey.closed and all(operand.own for operand in call.operands):
        fault = _plain_result(protocol, survey.cls, outcome.result)
    bucket, problem = fault or (outcome_of(step, survey.cls).buckets[1], "")
    # Made dense inside of a rule.
    if bucket in STRUCTURED and any(entry.type == type_name(survey.cls) for entry in book.values()):
        bucket = "dense"
    size = sum(entry.nbytes for entry in book.values())
    return _Counted(outcome, bucket, step, problem, size, tuple(rules))


def _result_name(result: Any) -> str:
    """Return the type of a result, of several those of all."""
    if isinstance(result, (tuple, list)):
        return f"({', '.join(dict.fromkeys(map(_result_name, result)))})"
    return type_name(type(result))


def _plain_result(protocol: DispatchProtocol, cls: type, result: Any) -> tuple[str, str] | None:
    """Return bucket and description where a result is plain; None where it keeps a structure."""
    if isinstance(result, (tuple, list)):
        parts = result
    else:
        parts = [result]
    for part in parts:
        if type(part) is protocol.types.base or not protocol.types.participates(type(part)):
            return "plain result", f"a {type_name(type(part))}, though {type_name(cls)} is closed under it"
    return None


def _fault(protocol: DispatchProtocol, outcome: CallResult, step: Step) -> tuple[str, str] | None:
    """Return bucket and description of what is wrong with a result; None where nothing is."""
    broken = _broken_promise(step, outcome.result)
    if broken:
        return "wrong type", broken
    call, dense = outcome.call, partial(with_plain_tensors, protocol)
    comparable = all(operand.has_values for operand in call.operands)
    if not comparable:
        dense = partial(_as_far_as_possible, protocol)
    try:
        wrong = compare_call(outcome, dense, values=comparable)
        if wrong is not None:
            return BUCKET_OF[wrong.aspect], wrong.brief
        changed: Iterable[tuple[str, Any, Any]] = ()
        if comparable:
            changed = outcome.arrays_after()
        for name, value, plain in changed:
            wrong = None
            if protocol.types.participates(type(value)):
                wrong = difference(dense(value), dense(plain))
            if wrong is not None:
                return "wrong value", f"argument '{name}' is left changed: {wrong.brief}"
    except Exception as error:  # noqa: BLE001  # a result that cannot become dense is no result
        return "raises", f"the result cannot become dense: {first_line(error)}"
    differentiable = getattr(call.operation, "differentiable", True) and not SHOWN[step.source].reference
    determined = comparable and is_determined(call.operation)
    lost = ""
    if determined and differentiable:
        lost = _wrong_gradient(protocol, call)
    if lost:
        return "wrong gradient", lost
    return None


def _as_far_as_possible(protocol: Dispatcher, value: Any) -> Any:
    """Return a result with plain tensors for arrays of all types, `OPAQUE` for those that refuse their dense form."""
    if isinstance(value, (tuple, list)):
        return with_members(value, [_as_far_as_possible(protocol, member) for member in value])
    try:
        return with_plain_tensors(protocol, value)
    except Exception:  # noqa: BLE001  # a type of a user's may refuse by any exception
        return OPAQUE


def _wrong_gradient(protocol: DispatchProtocol, call: Call) -> str:
    """Return how derivatives through a type differ from those of the dense computation; "" where they agree.

    Floating tensors and numbers in the fields of the arrays are what is differentiated by.
    """

    def takes_part(operand: Operand) -> bool:
        return protocol.types.participates(operand.cls)

    wrong = wrong_derivatives_of(call, partial(with_plain_tensors, protocol), takes_part)
    if wrong is None:
        return ""
    if isinstance(wrong.found, Exception):
        return error_text(wrong.found)
    operands = filter(takes_part, call.operands)
    names = [operand.text for operand in operands for _ in numbers(with_floats(operand.make()))]
    if wrong.lost(wrong.place):
        return f"no gradient flows to {names[wrong.place]}"
    return f"gradient of {names[wrong.place]}: {wrong.brief}"


def _declined_promise(declined: Sequence[Step], outcome: CallResult) -> tuple[str, str] | None:
    """Return bucket and description where a rule declined that declares to answer; None where none did."""
    for step in declined:
        rule = step.rule
        if rule is not None and not promise_of_rule(rule).may_decline and not rule.refusal(*outcome.arguments):
            return "wrong type", f"{rule.title} declines, though it declares that it always answers"
    return None


def _broken_promise(step: Step, result: Any) -> str:
    """Return how a result differs from what the rule's annotation promises."""
    if step.rule is None:
        return ""
    promised = promise_of(step.rule.handler).classes
    if not promised or isinstance(result, promised):
        return ""
    return f"a {type_name(type(result))} where {' or '.join(map(type_name, promised))} is promised"

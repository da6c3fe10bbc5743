"""Measured coverage: every overridable function is called, and sorted by what comes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from dispatchkit.errors import NoImplementationError
from dispatchkit.protocol.chain import Step
from dispatchkit.protocol.densify import separate_ledger
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.handlers import Rule, type_name
from dispatchkit.protocol.overridable import Dispatcher, Overridable
from dispatchkit.protocol.parameters import Form
from dispatchkit.protocol.prediction.declining import promise_of, promise_of_rule
from dispatchkit.protocol.prediction.tree import first_line
from dispatchkit.report.coverage.calls import calls_of
from dispatchkit.report.coverage.compare import densified, gradient_mismatch, mismatch
from dispatchkit.report.coverage.rows import FAULTS, STRUCTURED, MeasuredRow, rank, typical
from dispatchkit.report.coverage.samples import TypeSample
from dispatchkit.report.coverage.survey import Survey, family, outcome_of, rule_entries
from dispatchkit.testing.calls import Call, Operand
from dispatchkit.testing.differences import difference
from dispatchkit.testing.invariants import is_determined

__all__ = ["measured_row"]

REPEATS = 3


@dataclass(frozen=True)
class _Outcome:
    """What came of one call."""

    call: Call
    bucket: str
    step: Step | None = None
    problem: str = ""
    densified: int = 0
    result: str = ""
    entered: tuple[Rule, ...] = ()

    @property
    def form(self) -> tuple[str, ...]:
        """The types of its arrays, "" for the one that is measured."""
        return tuple("" if operand.own else type_name(operand.cls) for operand in self.call.operands)

    @property
    def mixed(self) -> bool:
        """Whether it has an array of another array type than the one that is measured."""
        types = self.call.operation.protocol.types
        others = [one.cls for one in self.call.operands if not one.own and one.cls is not types.base]
        return any(map(types.participates, others))


def measured_row(
    survey: Survey, operation: Overridable, subjects: Sequence[TypeSample], companions: Sequence[TypeSample]
) -> MeasuredRow:
    """Make the calls of an operation with samples of a type, inside `measuring`; return what came of them."""
    place = (operation.name, operation.namespace, family(operation))
    if not any(p.form is not Form.INDEX for p in operation.parameters.arrays):
        return MeasuredRow(*place, "no array argument")
    calls = [call for subject in subjects for call in calls_of(operation, subject, companions)]
    outcomes = [_outcome(survey, call) for call in calls]
    entries = rule_entries(survey.protocol, survey.cls, operation, [rule for one in outcomes for rule in one.entered])
    if not outcomes:
        return MeasuredRow(*place, "never reached", rules=entries)
    deciding = _deciding(outcomes)
    rule = None if deciding.step is None else deciding.step.rule
    bad = next((one for one in (deciding, *outcomes) if one.problem), None)
    return MeasuredRow(
        *place,
        deciding.bucket,
        location="" if rule is None else rule.location,
        note=_note(deciding),
        calls=len(outcomes),
        outcomes=dict(Counter(one.bucket for one in sorted(outcomes, key=lambda one: rank(one.bucket)))),
        rules=entries,
        results=dict(Counter(one.result for one in outcomes if one.result)),
        takes_keywords=_takes_keywords(survey.cls, operation, outcomes),
        time_ratio=_time_ratio(survey.protocol, deciding),
        densified=sum(one.densified for one in outcomes),
        problem="" if bad is None else f"{bad.call.text.removeprefix(f'{operation.namespace}.')}: {bad.problem}",
    )


def _deciding(outcomes: Sequence[_Outcome]) -> _Outcome:
    """Return the first call that ends as the function does; those with further types count if there are no others."""
    counted = [one for one in outcomes if not one.mixed or one.bucket in FAULTS] or outcomes
    bucket = typical((one.form, not one.call.sample.kwargs, one.bucket) for one in counted)
    return next(one for one in counted if one.bucket == bucket)


def _note(one: _Outcome) -> str:
    notes = []
    others = dict.fromkeys(type_name(operand.cls) for operand in one.call.operands if not operand.own)
    if others and one.bucket != "refused":
        notes.append(f"with {', '.join(others)}")
    if any(_to_dense(one.call.operation.protocol, operand) is None for operand in one.call.operands):
        notes.append("values not compared: no dense form")
    return ", ".join(notes)


def _to_dense(protocol: Dispatcher, operand: Operand) -> Any:
    """Return what makes an operand dense; True where it is plain."""
    if not protocol.types.participates(operand.cls) or protocol.types.takes_default(operand.cls):
        return True
    return protocol.types.to_dense(operand.cls)


def _takes_keywords(cls: type, operation: Overridable, outcomes: Sequence[_Outcome]) -> bool | None:
    rules = {id(one.step.rule): one.step.rule for one in outcomes if one.step is not None and one.step.rule is not None}
    own = [rule for rule in rules.values() if cls in rule.types]
    return all(rule.takes_everything(operation.parameters) for rule in own) if own else None


def _attempt(
    protocol: DispatchProtocol, call: Call, args: Any, kwargs: Any, entered: list[Step]
) -> tuple[Any, Step | None]:
    """Make a call; return the result and who gave it, and note whom it came to."""
    chain = protocol.chain(call.operation, call.operation.parameters.key(args, kwargs))
    result, declined = chain.attempt(args, kwargs, on_step=lambda _, step: entered.append(step))
    if result is NotImplemented:
        raise chain.error(args, kwargs, declined)
    return result, chain.steps[len(declined)]


def _outcome(survey: Survey, call: Call) -> _Outcome:
    """Make one call, and compare it with the same on plain tensors."""
    protocol = survey.protocol
    args, kwargs = call.make()
    entered: list[Step] = []

    def came(bucket: str, step: Step | None = None, problem: str = "", size: int = 0, result: str = "") -> _Outcome:
        refused = [step.rule for step in entered if step.rule is not None and not step.rule.refusal(args, kwargs)]
        return _Outcome(call, bucket, step, problem, size, result, tuple(refused))

    with separate_ledger() as book:
        try:
            result, step = _attempt(protocol, call, args, kwargs, entered)
        except NoImplementationError as error:
            return came("refused", problem=error.headline())
        except Exception as error:  # noqa: BLE001  # whatever a rule raises is what is reported
            return came("raises", problem=first_line(error))
    size = sum(entry.nbytes for entry in book.values())
    assert step is not None
    name = _result_name(result)
    fault = _declined_promise([one for one in entered if one is not step], args, kwargs)
    fault = fault or _fault(protocol, call, step, result, (args, kwargs))
    if fault is None and call.operation in survey.closed and all(one.own for one in call.operands):
        fault = _plain_result(protocol, survey.cls, result)
    if fault is not None:
        return came(fault[0], step, fault[1], size, name)
    bucket = outcome_of(step, survey.cls).buckets[1]
    if bucket in STRUCTURED and any(entry.type == type_name(survey.cls) for entry in book.values()):  # inside of a rule
        return came("dense", step, size=size, result=name)
    return came(bucket, step, size=size, result=name)


def _result_name(result: Any) -> str:
    """Return the type of a result, of several those of all."""
    if isinstance(result, (tuple, list)):
        return f"({', '.join(dict.fromkeys(map(_result_name, result)))})"
    return type_name(type(result))


def _plain_result(protocol: DispatchProtocol, cls: type, result: Any) -> tuple[str, str] | None:
    """Return bucket and description where a result is plain; None where it keeps a structure."""
    for one in result if isinstance(result, (tuple, list)) else [result]:
        if type(one) is protocol.types.base or not protocol.types.participates(type(one)):
            return "plain result", f"a {type_name(type(one))}, though {type_name(cls)} is closed under it"
    return None


def _fault(
    protocol: DispatchProtocol, call: Call, step: Step, result: Any, after: tuple[Any, Any]
) -> tuple[str, str] | None:
    """Return bucket and description of what is wrong with a result; None where nothing is."""
    broken = _broken_promise(step, result)
    if broken:
        return "wrong type", broken
    operation = call.operation
    comparable = all(_to_dense(protocol, operand) is not None for operand in call.operands)
    drawn = not is_determined(operation)
    want, plain_after = call.on_plain
    try:
        got = densified(protocol, result)
        found = mismatch(operation, got, densified(protocol, want), values=comparable and not drawn)
        if found is None and comparable:
            found = _changed(protocol, operation, after, plain_after)
    except Exception as error:  # noqa: BLE001  # a result that cannot become dense is no result
        return "raises", f"the result cannot become dense: {first_line(error)}"
    differentiable = getattr(operation, "differentiable", True) and not step.source.reference
    if found is not None or not comparable or drawn or not differentiable:
        return found
    wrong = gradient_mismatch(call)
    return ("wrong gradient", wrong) if wrong else None


def _changed(
    protocol: DispatchProtocol, operation: Overridable, after: tuple[Any, Any], plain_after: tuple[Any, Any]
) -> tuple[str, str] | None:
    """Return which argument a call left other than the same call leaves a plain tensor."""
    for (p, value), (_, plain) in zip(
        operation.parameters.values(*after), operation.parameters.values(*plain_after), strict=True
    ):
        if protocol.types.participates(type(value)):
            found = difference(densified(protocol, value), densified(protocol, plain))
            if found is not None:
                return "wrong value", f"argument '{p.name}' is left changed: {found.brief}"
    return None


def _declined_promise(declined: Sequence[Step], args: Any, kwargs: Any) -> tuple[str, str] | None:
    """Return bucket and description where a rule declined that declares to answer; None where none did."""
    for step in declined:
        if step.rule is not None and not promise_of_rule(step.rule).may_decline and not step.rule.refusal(args, kwargs):
            return "wrong type", f"{step.rule.title} declines, though it declares that it always answers"
    return None


def _broken_promise(step: Step, result: Any) -> str:
    """Return how a result differs from what the rule's annotation promises."""
    promised = () if step.rule is None else promise_of(step.rule.handler).classes
    if not promised or isinstance(result, promised):
        return ""
    return f"a {type_name(type(result))} where {' or '.join(map(type_name, promised))} is promised"


def _time_ratio(protocol: DispatchProtocol, one: _Outcome) -> float | None:
    """Return how long a call takes by how long the same takes on plain tensors."""
    if one.step is None:
        return None
    function = one.call.operation.function
    own = _seconds(one.call, lambda operand: operand.make(), function)
    plain = _seconds(one.call, lambda operand: operand.plain(), function)
    return None if own is None or not plain else own / plain


def _seconds(call: Call, make: Callable[[Operand], Any], function: Callable[..., Any]) -> float | None:
    """Return the shortest time of a few calls; None where one raises."""
    best = float("inf")
    for _ in range(REPEATS):
        args, kwargs = call.arguments(make)
        start = perf_counter()
        try:
            function(*args, **kwargs)
        except Exception:  # noqa: BLE001  # what it raises has been reported
            return None
        best = min(best, perf_counter() - start)
    return best

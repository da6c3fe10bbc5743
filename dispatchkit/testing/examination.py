"""The one place where calls are made and compared: outcomes of calls, and `Examination`, all calls of an operation.

`make_call` makes a call, `Call.on_plain` makes it on dense forms, and `compare_call` and `wrong_derivatives_of` compare
the two; measured coverage and all checks of `check_type` do it by these.

An examination is made once for a type and operation. The checks on values read it, and those that go deeper (gradients,
forms, companions) pass over what is wrong already, so that a fault is reported under its own name alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.rules import Rule
from dispatchkit.tensor import Tensor
from dispatchkit.testing.annotated import annotated_calls
from dispatchkit.testing.attribution import noting
from dispatchkit.testing.authored import has_member, is_authored
from dispatchkit.testing.calls import Arguments, Call, Operand, TypeCall, calls_of, variations_of
from dispatchkit.testing.comparing.beside import Beside
from dispatchkit.testing.comparing.differences import (
    NUMBERS,
    Difference,
    Function,
    Transformed,
    WrongDerivatives,
    error_text,
    gradients,
    invariants_of,
    members,
    same,
    value_text,
    wrong_derivatives,
)
from dispatchkit.testing.comparing.memory import shared_memory
from dispatchkit.testing.comparing.relations import member_difference, relation_of, result_difference
from dispatchkit.testing.findings import Failure, Subject, dense_form_failure
from dispatchkit.testing.instances import deep_copy, renew
from dispatchkit.testing.laws import MustRefuse, expected_metadata, must_refuse
from dispatchkit.testing.lines import Line
from dispatchkit.testing.partners import partners


@dataclass(frozen=True)
class CallResult:
    """What came of a call. Coverage counts outcomes, the checks report what is wrong with them.

    Attributes
    ----------
    call : that was made
    arguments : of the call, as they are after it
    result : what it gave, None where it raised
    error : what it raised, None where it gave a result
    """

    call: Call
    arguments: Arguments
    result: Any = None
    error: Exception | None = None

    def arrays_after(self) -> Iterator[tuple[str, Any, Any]]:
        """Yield the name and value of each array argument after the call, and after the same call on plain tensors."""
        of = self.call.operation.parameters.values
        for (p, value), (_, plain) in zip(of(*self.arguments), of(*self.call.on_plain[1]), strict=True):
            yield p.name, value, plain


def make_call(call: Call, arguments: Arguments, run: Callable[..., Any] | None = None) -> CallResult:
    """Make a call.

    Parameters
    ----------
    call, arguments : the call, and its arguments made
    run : makes it, by default as the program does
    """
    try:
        return CallResult(call, arguments, (run or call.run)(*arguments))
    except Exception as error:  # noqa: BLE001  # whatever a handler raises is what is looked for
        return CallResult(call, arguments, error=error)


def compare_call(outcome: CallResult, dense: Callable[[Any], Any], *, values: bool = True) -> Difference | None:
    """Compare what a call gave with what it gives on dense forms; None where they agree.

    Parameters
    ----------
    outcome : of the call
    dense : makes plain tensors of results
    values : whether elements are compared where the arguments determine them, and not shapes and dtypes alone
    """
    call, operation = outcome.call, outcome.call.operation
    operands = [value for _, value in operation.parameters.values(*outcome.arguments)]
    wrong = result_difference(operation, outcome.result, call.expected, dense, operands, values=values)
    if wrong is not None or not values:
        return wrong
    return member_difference(operation, *outcome.arguments, outcome.result, dense)


def wrong_derivatives_of(
    call: Call,
    dense: Callable[[Any], Any],
    chosen: Callable[[Operand], bool],
    transformed: Transformed = gradients,
    refusals: tuple[type[Exception], ...] = (),
) -> WrongDerivatives | None:
    """Compare the derivatives of a call with those of the dense computation; None where they agree.

    Parameters
    ----------
    call : that is differentiated
    dense : makes plain tensors of arguments and results
    chosen : tells the operands by whose fields it is differentiated
    transformed, refusals : as of `wrong_derivatives`
    """
    instances = [operand.make() for operand in call.operands if chosen(operand)]
    return wrong_derivatives_by(
        call.operation,
        lambda values: call.run(*call.with_values(values, chosen)),
        dense,
        instances,
        transformed,
        refusals,
    )


def wrong_derivatives_by(
    operation: Overridable,
    run: Callable[[Iterable[Any]], Any],
    dense: Callable[[Any], Any],
    instances: list[Any],
    transformed: Transformed = gradients,
    refusals: tuple[type[Exception], ...] = (),
) -> WrongDerivatives | None:
    """Compare the derivatives of a call by some of its arrays with those of the dense computation.

    Parameters
    ----------
    operation, run : that is called; makes the call with values in the place of these arrays
    dense : makes plain tensors of arguments and results
    instances : the arrays
    transformed, refusals : as of `wrong_derivatives`
    """
    relation = relation_of(operation.types, instances)
    if not relation.compared or relation.holds is not None:
        return None

    def form(on_dense: bool) -> Function:
        def function(*arrays: Any) -> list[Any]:
            arrays = tuple(map(renew, arrays))
            if on_dense:
                arrays = tuple(map(dense, arrays))
            result = dense(run(arrays))
            parts = members(invariants_of(operation, result, result)[0])
            return [xp.asarray(part) for part in parts if isinstance(part, (Tensor, *NUMBERS))]

        return function

    return wrong_derivatives(form, instances, transformed, refusals, relation.tolerance)


Novelty = tuple[Any, ...]
OF_A_KIND = 6  # operations of a kind that stand for what its rule does alike


@dataclass
class Examination:
    """What came of the calls of an operation.

    Attributes
    ----------
    operation : that was called
    calls : that were made
    answered : those of them that the type answered, rightly or not, each with what tells it from others: the instance
        and the rules that it entered; None where others like it are looked into
    failures : what was wrong
    """

    operation: Overridable
    calls: list[TypeCall] = field(default_factory=list)
    answered: dict[TypeCall, Novelty | None] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    @property
    def sound(self) -> list[TypeCall]:
        """The answered calls, none where one of the operation's calls went wrong."""
        wrong = any(failure.check != "metadata" for failure in self.failures)
        if wrong:
            return []
        return list(self.answered)

    def some(self, count: int | None) -> list[TypeCall]:
        """Return so many of the sound calls of each instance and each group of rules."""
        if count is None:
            return self.sound
        seen: Counter[Novelty] = Counter()
        chosen: list[TypeCall] = []
        for call in self.sound:
            novelty = self.answered[call]
            if novelty is not None:
                seen[novelty] += 1
                if seen[novelty] <= count:
                    chosen.append(call)
        return chosen

    @property
    def refused(self) -> bool:
        """Whether the type answered no call."""
        return bool(self.calls) and not self.answered


def examination(subject: Subject, operation: Overridable) -> Examination:
    """Return the examination of an operation, made at the first request."""
    known: dict[Overridable, Examination] = subject.memory.setdefault("examination", {})
    if operation not in known:
        known[operation] = _examine(subject, operation)
    return known[operation]


def found_by(
    check: Callable[..., Iterator[Failure | None]], subject: Subject, operation: Overridable
) -> list[Failure | None]:
    """Return what a check finds of an operation, made at the first request."""
    known: dict[Overridable, list[Failure | None]] = subject.memory.setdefault(check.__name__, {})
    if operation not in known:
        known[operation] = list(check(subject, operation))
    return known[operation]


def fails(subject: Subject, operation: Overridable, check: Callable[..., Iterator[Failure | None]]) -> bool:
    """Return whether a check finds an operation wrong, for checks that build on it."""
    return any(found_by(check, subject, operation))


def _examine(subject: Subject, operation: Overridable) -> Examination:
    examined = Examination(operation)
    varied: set[int] = set()
    for call in calls_of(subject, operation):
        entered = _note(subject, examined, call)
        # What a rule makes of other arguments is its author's, what a fallback does the library's.
        if not entered and not has_member(subject, operation):
            continue
        for other in _with_partners(subject, call):
            _note(subject, examined, other)
        if call.index is not None and call.index not in varied:
            varied.add(call.index)
            for other in variations_of(subject, call):
                _note(subject, examined, other)
    for call in annotated_calls(subject, operation):
        if _note(subject, examined, call):
            for other in _with_partners(subject, call):
                _note(subject, examined, other)
    return examined


def _with_partners(subject: Subject, call: TypeCall) -> Iterator[TypeCall]:
    """Yield a call with other instances of the type in all seats but the first."""
    if len(call.seats) < 2 or not subject.copies:
        return
    for number in range(1, len(partners(subject, call.index)) + 1):
        yield replace(call, partner=number)


def _note(subject: Subject, examined: Examination, call: TypeCall) -> bool:
    """Make a call, and note what came of it; return whether it entered a rule."""
    if not call.is_valid():  # there is nothing to compare with
        return False
    examined.calls.append(call)
    rules: dict[Rule, None] = {}
    lines: set[Line] = set()
    has_rule = is_authored(subject, call.operation)

    def run(*arguments: Any) -> Any:
        with noting(subject, rules), subject.lines.noted(lines) if has_rule else nullcontext():
            return call.run(*arguments)

    answered, failures = _looked_at(subject, call, run)
    if answered:
        novelty = None
        if not call.partner or len(call.seats) == 2:  # of more, some are equal, where derivatives may be any
            novelty = _novelty(subject, call, tuple(rules), lines)
        examined.answered[call] = novelty
    examined.failures += failures
    return bool(rules)


def _novelty(subject: Subject, call: TypeCall, rules: tuple[Rule, ...], lines: set[Line]) -> Novelty | None:
    """Return what tells a call from others, such as the lines it enters; None where others like it are looked into.

    A rule or method for the operation is looked into for each instance, a rule for its kind for some operations, too.
    Rules that are entered inside a decomposition are so once, and so are the fallbacks of a few operations: what else
    there is is the library's.
    """
    operation = call.operation
    novelty = (call.index, *rules, frozenset(lines))
    if has_member(subject, operation) or any(rule.target is operation for rule in rules):
        return novelty
    if any(rule.target in operation.kind.lineage() for rule in rules):
        return _shared(subject, operation, novelty, OF_A_KIND)
    if rules:
        return _shared(subject, operation, (call.index, *rules), 1)
    if operation in subject.by_fallback and not call.index:
        return ()
    return None


def _shared(subject: Subject, operation: Overridable, novelty: Novelty, most: int) -> Novelty | None:
    """Return what tells a call from others unless so many operations stand for it already."""
    listed = subject.looked_into.setdefault(novelty, [])
    if operation not in listed and (len(listed) < most or subject.thorough):
        listed.append(operation)
    if operation in listed:
        return novelty
    return None


def _looked_at(subject: Subject, call: TypeCall, run: Callable[..., Any] | None = None) -> tuple[bool, list[Failure]]:
    """Make a call; return whether it was answered, and what is wrong with the answer."""
    operation = call.operation
    args, kwargs = call.make()
    before = Snapshot(subject, [(p.name, value) for p, value in operation.parameters.values(args, kwargs)])
    outcome = make_call(call, (args, kwargs), run)
    if isinstance(outcome.error, subject.refusals) or _dense_forms_raise(subject, call, outcome.error):
        return False, []
    if outcome.error is not None and must_refuse(subject, operation, (args, kwargs)):
        return False, []
    if outcome.error is not None:
        return True, [_failure("raises", subject, call, error_text(outcome.error), "an answer, or a decline")]
    changed = before.first_change()
    if changed:
        return True, [_failure("mutation", subject, call, *changed)]
    result = outcome.result
    fault = _fault(subject, outcome, call) or _plain_result(subject, call, result)
    if fault:
        return True, [fault]
    shared = None
    if is_authored(subject, operation):
        plain = [value for _, value in operation.parameters.values(*call.on_plain[1])]
        shared = shared_memory(operation.parameters.values(args, kwargs), plain, result, call.expected)
    if shared is not None:
        return True, [_failure("alias", subject, call, *shared)]
    return True, list(lost_metadata("metadata", subject, call, (args, kwargs), result))


def _dense_forms_raise(subject: Subject, call: TypeCall, error: Exception | None) -> bool:
    """Return whether the dense forms that the type makes raise the same: they may be views, where copies would do."""
    if error is None:
        return False
    dense = call.operation.parameters.replace(*call.make(), lambda _, value: subject.dense(value))
    return type(make_call(call, dense).error) is type(error)


def _again(subject: Subject, check: str, call: TypeCall) -> Failure | None:
    """Return the failure of a check on one call, None where it passes."""
    failures = []
    if call.is_valid():
        failures = _looked_at(subject, call)[1]
    return next((failure for failure in failures if failure.check == check), None)


# What is wrong with a call in which a rule's annotations say what the other arguments are.
BESIDE_OTHERS = frozenset({"raises", "container", "shape", "value", "dtype", "keywords", "metadata"})


def _failure(
    check: str, subject: Subject, call: TypeCall, found: str, expected: str, beside: Beside | None = None
) -> Failure:
    if call.others and check in BESIDE_OTHERS:
        check = "companions"
    failure = call.failure(check, found, expected, again=partial(_again, subject, check))
    return replace(failure, beside=beside)


def _plain_result(subject: Subject, call: TypeCall, result: Any) -> Failure | None:
    """Return that a call among instances alone gave plain tensors, where the type says that it is closed."""
    values = []
    if call.operation in subject.closed:
        values = call.values()
    if not all(isinstance(value, subject.cls) for value in values) or len({tuple(x.shape) for x in values}) != 1:
        return None
    outside = next((member for member in members(result) if not isinstance(member, subject.cls)), None)
    text = f"a {type_name(type(outside))}"
    if outside is None:
        return None
    return _failure("closed", subject, call, text, f"a {subject.name}")


def _fault(subject: Subject, outcome: CallResult, call: TypeCall) -> Failure | None:
    """Return in what a result differs from the right one."""
    wrong = wrong_result(subject, outcome)
    if wrong is None:
        return None
    options: Iterable[str] = ()
    if wrong[0] != "container":
        options = call.options()
    for name in options:
        bare = call.without(name)
        if bare.is_valid() and wrong_result(subject, replace(outcome, call=bare)) is None:
            return _failure("keywords", subject, call, f"what a call without '{name}' gives", f"'{name}' honoured")
    return _failure(wrong[0], subject, call, *wrong[1:])


def wrong_result(subject: Subject, outcome: CallResult) -> tuple[str, str, str, Beside | None] | None:
    """Return by which check a result is wrong, found and expected as text, and as arrays; None where it is right."""
    try:
        wrong = compare_call(outcome, subject.dense)
    except Exception as error:  # noqa: BLE001  # whatever to_dense() of a wrong result raises is shown
        return (*dense_form_failure(subject, outcome.result, outcome.call.expected, error), None)
    if wrong is None:
        return None
    return (*wrong.failure, wrong.beside)


def lost_metadata(check: str, subject: Subject, call: TypeCall, arguments: Arguments, result: Any) -> Iterator[Failure]:
    """Yield what a result has lost of what its arguments carried."""
    operation = call.operation
    if not {operation.name, operation.qualified_name}.isdisjoint(subject.plain):
        return
    try:
        wanted = expected_metadata(subject, operation, arguments)
    except MustRefuse as refusal:
        carrying = next((member for member in members(result) if isinstance(member, subject.cls)), None)
        if carrying is not None:
            yield _failure(check, subject, call, value_text(carrying), f"a refusal, such as {refusal}")
        return
    if not wanted:
        return
    for member in members(result):
        if not isinstance(member, subject.cls):
            if subject.metadata and not subject.laws:
                yield _failure(check, subject, call, f"a {type(member).__name__}", f"a {subject.name} with {wanted!r}")
            return
        carried = {name: getattr(member, name, None) for name in wanted}
        if not all(same(carried[name], wanted[name]) for name in wanted):
            yield _failure(check, subject, call, repr(carried), repr(wanted))
            return


class Snapshot:
    """Arrays and their metadata as they were.

    Parameters
    ----------
    subject : the type under test
    values : instances and other arrays, each with its name
    """

    def __init__(self, subject: Subject, values: Iterable[tuple[str, Any]]) -> None:
        self.subject = subject
        self.values = list(values)
        self.states = [self._state(value) for _, value in self.values]

    def _state(self, value: Any) -> tuple[Any, dict[str, Any]]:
        carried = {}
        if isinstance(value, self.subject.cls):
            carried = self.subject.metadata_of(value)
        return self.subject.array(value), {name: deep_copy(entry) for name, entry in carried.items()}

    def first_change(self) -> tuple[str, str] | None:
        """Return what has changed since, as found and expected; None where nothing has."""
        for (name, value), (array, carried) in zip(self.values, self.states, strict=True):
            now, now_carried = self._state(value)
            if not same(now, array):
                return f"'{name}' became {value_text(now)}", f"'{name}' still {value_text(array)}"
            for key, before in carried.items():
                if not same(now_carried[key], before):
                    return f"'{key}' of '{name}' became {now_carried[key]!r}", f"still {before!r}"
        return None

"""Measured coverage: every overridable function is called, and sorted by what comes of it."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from dispatchkit.declare.samples import Draw, Sample
from dispatchkit.declare.wrapping import wrapped
from dispatchkit.errors import NoImplementationError
from dispatchkit.func.containers import with_floats
from dispatchkit.graph.storage import vertex_of
from dispatchkit.protocol.chain import Step
from dispatchkit.protocol.densify import separate_ledger
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.handlers import Rule, type_name
from dispatchkit.protocol.overridable import Dispatcher, Overridable
from dispatchkit.protocol.parameters import Form
from dispatchkit.protocol.prediction.tree import first_line, promise_of, promise_of_rule
from dispatchkit.report.coverage.rows import FAULTS, STRUCTURED, MeasuredRow, rank, typical
from dispatchkit.report.coverage.survey import Survey, family, outcome_of, rule_entries
from dispatchkit.report.outcomes import SHOWN
from dispatchkit.tensor import Tensor
from dispatchkit.testing.calls import Call, Operand, content_of, fitted, generic_samples
from dispatchkit.testing.differences import OPAQUE, described, difference, members, numbers, wrong_derivatives
from dispatchkit.testing.examination import determined, is_determined
from dispatchkit.testing.instances import anew, drawn, is_strategy
from dispatchkit.tree import with_members

Shape: TypeAlias = tuple[int, ...]


class TypeSample:
    """A sample of a type, made anew for each call.

    Parameters
    ----------
    protocol : that the type takes part in
    given : an instance, or a function without arguments that makes one

    Raises
    ------
    TypeError : if it is no instance of a type that takes part, or tells neither its dense form nor its shape and dtype
    """

    def __init__(self, protocol: DispatchProtocol, given: Any) -> None:
        self.protocol = protocol
        made_by_call = callable(given) and not protocol.types.participates(type(given))
        self.make: Callable[[], Any] = given if made_by_call else partial(anew, given)
        value = self.make()
        self.cls = type(value)
        if not protocol.types.participates(self.cls):
            raise TypeError(
                f"coverage: a sample must be an instance of an array type, or a function without arguments that makes "
                f"one; found {value!r}"
            )
        self.to_dense = _dense_maker(protocol, self.cls)
        described = value if self.to_dense is None else self.to_dense(value)
        try:
            self.shape: Shape = tuple(described.shape)
            self.dtype: Any = described.dtype
        except AttributeError:
            raise TypeError(
                f"coverage: {type_name(self.cls)} has neither a dense form nor shape and dtype, so no call can be made "
                f"for it; give it to_dense(), or shape and dtype"
            ) from None

    @property
    def text(self) -> str:
        """Type, shape and, if it is not float64, dtype."""
        dtype = "" if self.dtype == np.float64 else f" {self.dtype}"
        return f"{type_name(self.cls)}{list(self.shape)}{dtype}"

    def plain(self) -> Any:
        """Return the plain tensor of the same values; one of the same shape and dtype where there is no dense form."""
        if self.to_dense is not None:
            return self.to_dense(self.make())
        drawn = Draw(self.shape, content=content_of(self.dtype)).make(np.random.default_rng(0))
        return self.protocol.types.wrap(np.asarray(drawn, dtype=self.dtype))

    def operand(self, own: bool) -> Operand:
        """Return this sample as an argument."""
        return Operand(own, self.make, self.plain, self.text)


def samples_of(protocol: DispatchProtocol, given: Any) -> list[TypeSample]:
    """Return the sample that is given, or those that a strategy of Hypothesis gives."""
    found = drawn(given, lambda value: TypeSample(protocol, value).plain()) if is_strategy(given) else [given]
    return [TypeSample(protocol, one) for one in found]


def _dense_maker(protocol: DispatchProtocol, cls: type) -> Callable[[Any], Any] | None:
    """Return what makes a plain tensor of an instance; those of subclasses of the plain type share their array."""
    maker = protocol.types.to_dense(cls)
    if maker is None and protocol.types.takes_default(cls):
        return lambda value: protocol.types.wrap(value.array)
    return maker


# Values other than the default for keywords that the declared samples leave out.
OTHER_VALUES: dict[str, tuple[Any, ...]] = {
    "dtype": (np.dtype(np.float64), np.dtype(np.complex128)),
    "device": ("cpu",),
    "keepdims": (True,),
}


def calls_of(operation: Overridable, subject: TypeSample, companions: Sequence[TypeSample] = ()) -> list[Call]:
    """Return the calls to be made of an operation with a sample of a type.

    Parameters
    ----------
    operation : that is called; without array arguments it has no calls
    subject : takes the place of each of its arrays, and of all
    companions : samples of other types for its other arrays, which plain tensors, NumPy arrays and numbers are, too

    Returns
    -------
    calls that plain tensors take, none twice; those with instances of the type alone first
    """
    if operation.parameters.nullary:
        return []
    found: dict[str, Call] = {}
    refused: set[str] = set()
    own, others = subject.operand(own=True), [one.operand(own=False) for one in companions]
    for sample in getattr(operation, "samples", []) or generic_samples(operation, subject.shape, subject.dtype):
        for roles in _roles(operation, sample, own, others):
            for call in _fitted(operation, sample, subject.shape, roles):
                if call.text in found:
                    break
                if call.text not in refused and call.is_valid():
                    found[call.text] = call
                    break
                refused.add(call.text)
    if found:
        for call in _with_other_keywords(operation, list(found.values())):
            found.setdefault(call.text, call)
    return list(found.values())


# Who stands at one array of a call: the subject, a companion, or a type of plain array or number.
Role: TypeAlias = "Operand | type"


def _roles(
    operation: Overridable, sample: Sample, own: Operand, companions: Sequence[Operand]
) -> Iterator[tuple[Role, ...]]:
    """Yield who stands at the arrays of a sample: the subject at all, then at each with others at the rest."""
    arrays = sample.arrays(operation.parameters)
    base = operation.protocol.types.base
    if not arrays or base is None:
        return
    yield (own,) * len(arrays)
    if len(arrays) == 1:
        return
    single = {p.name for p in operation.parameters.arrays if p.form in (Form.ONE, Form.LOOSE)}
    scalars = all(name in single for name, _ in arrays)
    others: list[Role] = [base, np.ndarray, *([float] if scalars else []), *companions]
    for other in others:
        for place in range(len(arrays)):
            yield tuple(own if index == place else other for index in range(len(arrays)))


def _fitted(operation: Overridable, sample: Sample, shape: Shape, roles: tuple[Role, ...]) -> Iterator[Call]:
    """Yield ways to fit a sample to the shape of the subject, the likeliest first."""
    seats = [place for place, role in enumerate(roles) if isinstance(role, Operand) and role.own]
    alone = len(seats) == len(roles)
    for one in fitted(operation, sample, shape, None if alone else seats, unnamed=alone):
        arrays = zip(roles, one.arrays(operation.parameters), strict=True)
        yield Call(operation, one, tuple(_operand(operation.protocol, role, drawn) for role, (_, drawn) in arrays))


def _operand(protocol: Dispatcher, role: Role, described: Any) -> Operand:
    """Return what stands at an array: of a type of plain arrays or numbers one of its shape and elements."""
    if isinstance(role, Operand):
        return role
    array = np.asarray(_drawn(described, ()) if role is float else _drawn(described, described.shape))
    if role is float:
        number = array.flat[0].item() if array.size else 1.0
        return Operand(False, lambda: number, lambda: number, repr(number))
    make: Callable[[], Any] = array.copy if role is np.ndarray else partial(_tensor_of, protocol, array)
    dtype = "" if array.dtype == np.float64 else f" {array.dtype}"
    return Operand(False, make, make, f"{role.__name__}{list(array.shape)}{dtype}")


def _tensor_of(protocol: Dispatcher, array: Any) -> Any:
    return protocol.types.wrap(array.copy())


def _drawn(described: Any, shape: Shape) -> Any:
    """Return the elements of an array, the same at every run."""
    if not isinstance(described, Draw):
        return described
    content = "real" if described.content == "definite" and not shape else described.content
    return replace(described, shape=shape, content=content).make(np.random.default_rng(1))


def _with_other_keywords(operation: Overridable, calls: Sequence[Call]) -> Iterator[Call]:
    """Yield a call with each keyword that none of the calls has: with another value than the default, else with it."""
    used = {name for call in calls for name in call.sample.kwargs}
    for p in operation.parameters.signature.parameters.values():
        if p.default is p.empty or p.name in used or p.kind is p.POSITIONAL_ONLY:
            continue
        values = [*OTHER_VALUES.get(p.name, ()), p.default]
        found = next(filter(Call.is_valid, _with_keyword(calls, p, values)), None)
        if found is not None:
            yield found


def _with_keyword(calls: Iterable[Call], parameter: inspect.Parameter, values: Sequence[Any]) -> Iterator[Call]:
    for value in values:
        for call in calls:
            kwargs = {**call.sample.kwargs, parameter.name: value}
            yield replace(call, sample=replace(call.sample, kwargs=kwargs))


# Where a difference of each aspect lands.
BUCKET_OF = {
    "container": "wrong type",
    "type": "wrong type",
    "shape": "wrong value",
    "value": "wrong value",
    "dtype": "wrong dtype",
}


def densified(protocol: Dispatcher, value: Any) -> Any:
    """Return a result with plain tensors for arrays of all types, `OPAQUE` for those without dense form."""
    if isinstance(value, (tuple, list)):
        return with_members(value, [densified(protocol, member) for member in value])
    cls = type(value)
    if cls is protocol.types.base or not protocol.types.participates(cls):
        return value
    maker = protocol.types.to_dense(cls)
    if maker is not None:
        dense = maker(value)
        return OPAQUE if type(dense) is cls else densified(protocol, dense)
    if isinstance(value, Tensor):
        return wrapped(Tensor, value.array, vertex_of(value))
    return OPAQUE


def mismatch(operation: Overridable, got: Any, want: Any, *, values: bool = True) -> tuple[str, str] | None:
    """Return the bucket and a description of the first difference between two densified results; None where equal.

    Parameters
    ----------
    operation : that was called
    got, want : from the type, and from plain tensors
    values : whether elements are compared, and not types, shapes and dtypes alone
    """
    found = difference(*determined(operation, got, want), values=values)
    return None if found is None else (BUCKET_OF[found.aspect], found.brief)


def gradient_mismatch(call: Call) -> str:
    """Return how derivatives through a type differ from those of the dense computation; "" where they agree.

    Floating tensors and numbers in the fields of the arrays are what is differentiated by.
    """
    protocol = call.operation.protocol
    operands = [one for one in call.operands if protocol.types.participates(one.cls)]
    values = [one.make() for one in operands]
    wrong = wrong_derivatives(partial(_function, call), values)
    if wrong is None:
        return ""
    if isinstance(wrong.found, Exception):
        return described(wrong.found)
    names = [one.text for one, value in zip(operands, values, strict=True) for _ in numbers(with_floats(value))]
    if wrong.lost(wrong.place):
        return f"no gradient flows to {names[wrong.place]}"
    return f"gradient of {names[wrong.place]}: {wrong.brief}"


def _function(call: Call, dense: bool) -> Callable[..., list[Any]]:
    """Return a call as a function of its arrays that gives plain tensors."""
    protocol = call.operation.protocol

    def function(*arrays: Any) -> list[Any]:
        given = map(partial(densified, protocol), arrays) if dense else arrays
        arguments = call.with_values(given, lambda operand: protocol.types.participates(operand.cls))
        result = densified(protocol, call.run(*arguments))
        return [one for one in members(determined(call.operation, result, result)[0]) if isinstance(one, Tensor)]

    return function


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
    differentiable = getattr(operation, "differentiable", True) and not SHOWN[step.source].reference
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

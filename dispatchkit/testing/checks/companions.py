"""Companions: what may stand in the other places of a call, of every shape, dtype and layout that goes with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from operator import methodcaller
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.rules import Rule
from dispatchkit.testing.attribution import noting
from dispatchkit.testing.authored import is_authored, is_examined_in_full
from dispatchkit.testing.calls import TypeCall, mistakes
from dispatchkit.testing.comparing.differences import error_text, same, value_text
from dispatchkit.testing.examination import CallResult, examination, lost_metadata, make_call, wrong_result
from dispatchkit.testing.findings import Failure, Subject
from dispatchkit.testing.instances import ZERO
from dispatchkit.testing.laws import must_refuse

Companion = Callable[[Any], Any]


def _tensor(change: Companion) -> Companion:
    return lambda value: xp.asarray(np.array(change(np.asarray(value)), order="K"))


def _number(number: Any) -> Companion:
    return lambda value: number


# A plain tensor, a NumPy array, a Python number and a NumPy scalar.
COMPANIONS: tuple[Companion, ...] = (xp.asarray, lambda value: value, _number(2.0), _number(np.float64(2.0)))


def _small_number(value: Any) -> Any:
    """Stand in for an array as a NumPy scalar of fewer digits; for integers, which may be indices, as one of those."""
    if np.asarray(value).dtype.kind in "iu":
        return np.int32(2)
    return np.float32(2)


SHAPES: tuple[Companion, ...] = (
    _tensor(lambda x: x.ravel()[:1].reshape(())),  # 0-D
    _tensor(lambda x: x[(slice(1),) * x.ndim]),  # (1, 1)
    _tensor(lambda x: x[..., :1]),  # (n, 1)
    _tensor(lambda x: x[..., :1, :] if x.ndim > 1 else x[None]),  # (1, n)
    _tensor(lambda x: x[0] if x.ndim else x),  # (n,)
    _tensor(lambda x: np.stack([x, x + 1])),  # a batch in front
    _tensor(lambda x: x.reshape(x.shape)[::-1].T if x.ndim > 1 and x.shape[0] == x.shape[-1] else x),  # other strides
)
DTYPES = tuple(_tensor(methodcaller("astype", dtype)) for dtype in ("float32", "int64", "complex128"))
NUMBERS = (*map(_number, (3, 0.0, -0.0, -1.5, float("inf"), float("nan"), 1.5 + 2j, True)), _small_number)
ELEMENTS = tuple(_tensor(partial(np.full_like, fill_value=x, dtype=float)) for x in (0.0, -0.0, np.inf, np.nan))
# What the dense algorithms of linear algebra make of infinite numbers is by their way of summing.
ANY_ELEMENTS = (kinds.elementwise,)


def companions(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Plain tensors, NumPy arrays, numbers and other instances may stand in any of the other places."""
    arrays = [*SHAPES, *DTYPES]
    if operation.kind.family in ANY_ELEMENTS:
        arrays += ELEMENTS
    in_full = is_examined_in_full(subject, operation)
    yield from (failure for failure in examination(subject, operation).failures if failure.check == "companions")
    for call in _calls(subject, operation):
        for place in range(len(call.operands)):
            alone = replace(call, seats=(place,))
            if not in_full:
                yield _among(subject, replace(alone, other=xp.asarray), "companions")
                continue
            for others, further in ((COMPANIONS[:2], arrays), (COMPANIONS[2:], NUMBERS)):
                rules: dict[Rule, None] = {}
                yield from [_among(subject, replace(alone, other=other), "companions", rules) for other in others]
                # A rule is to be right for everything like it, a fallback is the library's.
                if rules:
                    yield from [_among(subject, replace(alone, other=other), "companions") for other in further]
            if call.index is None:
                continue
            for index in range(subject.count):
                if index != call.index:
                    beside = replace(alone, other=partial(lambda other, _: subject.sample(other), index))
                    yield _among(subject, beside, "companions")


def _calls(subject: Subject, operation: Overridable) -> list[TypeCall]:
    """Return calls of several arrays: those that rules answer, and one of each instance."""
    examined = examination(subject, operation)
    first = {call.index: call for call in reversed(examined.sound)}
    chosen = {id(call): call for call in (*first.values(), *examined.some(subject.depth))}
    return [call for call in chosen.values() if len(call.operands) > 1 and not call.turn and not call.others]


def _among(subject: Subject, call: TypeCall, check: str, rules: dict[Rule, None] | None = None) -> Failure | None:
    """Compare a call of one instance among companions with the same on plain tensors; note the rules that it enters."""
    if not call.is_valid():
        return _missing_refusal(subject, call, rules)
    failure = partial(call.failure, check, again=partial(_again, subject, check))
    with noting(subject, rules):
        outcome = make_call(call, call.make())
    if isinstance(outcome.error, subject.refusals):
        return None
    if outcome.error is not None and must_refuse(subject, call.operation, outcome.arguments):
        return None
    if outcome.error is not None:
        return failure(error_text(outcome.error), "an answer, or a decline")
    wrong = wrong_result(subject, outcome)
    if wrong is not None:
        return replace(failure(*wrong[1:3]), beside=wrong[3])
    changed = _companion_change(subject, outcome)
    if changed is not None:
        return failure(*changed)
    return next(lost_metadata(check, subject, call, outcome.arguments, outcome.result), None)


def _again(subject: Subject, check: str, call: TypeCall) -> Failure | None:
    failure = _among(subject, call, check)
    if failure is not None and failure.check == check:
        return failure
    return None


def _companion_change(subject: Subject, outcome: CallResult) -> tuple[str, str] | None:
    """Return which companion a call has changed, as found and expected."""
    if outcome.call.operation.name == "setitem":
        return None
    for name, value, plain in outcome.arrays_after():
        if isinstance(value, subject.cls) or not hasattr(value, "shape"):
            continue
        now, right = subject.array(value), subject.array(plain)
        if not same(now, right):
            return f"'{name}' became {value_text(now)}", f"'{name}' still {value_text(right)}"
    return None


def refusals(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Refused is what plain tensors refuse: an axis, an index or sizes that do not fit."""
    if not isinstance(operation, DeclaredOperation):
        return
    seen: set[Any] = set()
    for call in examination(subject, operation).some(1):
        if call.index in seen:
            continue
        seen.add(call.index)
        shape = tuple(getattr(call.values()[0], "shape", ()))
        mistaken = [replace(call, sample=sample) for sample in mistakes(operation, call.sample, shape)]
        if kinds.linalg in operation.kind.lineage() and is_authored(subject, operation):
            mistaken.append(replace(call, turn=ZERO))  # which is singular
        for wrong in mistaken:
            if not wrong.is_valid() and wrong.has_dense_arguments:
                yield _missing_refusal(subject, wrong)


def _missing_refusal(subject: Subject, call: TypeCall, rules: dict[Rule, None] | None = None) -> Failure | None:
    """Return that a type answered a call that plain tensors refuse because of a shape, an axis or an index."""
    error = call.refusal
    singular = isinstance(error, np.linalg.LinAlgError) and call.turn != ZERO
    if not isinstance(error, (ValueError, IndexError)) or singular:
        return None
    try:
        with noting(subject, rules):
            # A result that is computed when somebody asks for its elements is refused then.
            answered = value_text(subject.array(call.result()))
    except Exception:  # noqa: BLE001  # by which exception it refuses is its own
        return None
    return call.failure("refusals", answered, error_text(error), again=partial(_missing_refusal, subject))

"""Companions: what may stand in the other places of a call, of every shape, dtype and layout that goes with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.testing.attribution import entering, noting
from dispatchkit.testing.calls import Arguments, TypeCall, mistakes
from dispatchkit.testing.differences import described, shown
from dispatchkit.testing.examination import comparable, examination, lost_metadata
from dispatchkit.testing.findings import Failure, Subject, different

Companion = Callable[[Any], Any]


def two(value: Any) -> float:
    """Stand in for an array as a Python number."""
    return 2.0


def numpy_two(value: Any) -> Any:
    """Stand in for an array as a NumPy scalar."""
    return np.float64(2.0)


def as_it_is(value: Any) -> Any:
    """Stand in for an array as a NumPy array."""
    return value


COMPANIONS: tuple[Companion, ...] = (xp.asarray, as_it_is, two, numpy_two)


def _shaped(change: Companion) -> Companion:
    return lambda value: xp.asarray(np.array(change(np.asarray(value)), order="K"))


def _of_dtype(dtype: str) -> Companion:
    return lambda value: xp.asarray(np.asarray(value).astype(dtype))


def _number(number: Any) -> Companion:
    return lambda value: number


def _small_number(value: Any) -> Any:
    """Stand in for an array as a NumPy scalar of fewer digits; for integers, which may be indices, as one of those."""
    return np.int32(2) if np.asarray(value).dtype.kind in "iu" else np.float32(2)


def _filled(number: float) -> Companion:
    return lambda value: xp.asarray(np.full(np.shape(value), number))


def _corner(value: Any) -> Any:
    return value[(slice(1),) * value.ndim]


SHAPES: tuple[Companion, ...] = (
    _shaped(lambda x: x.ravel()[:1].reshape(())),  # 0-D
    _shaped(_corner),  # (1, 1)
    _shaped(lambda x: x[..., :1]),  # (n, 1)
    _shaped(lambda x: x[..., :1, :] if x.ndim > 1 else x[None]),  # (1, n)
    _shaped(lambda x: x[0] if x.ndim else x),  # (n,)
    _shaped(lambda x: np.stack([x, x + 1])),  # a batch in front
    _shaped(lambda x: x.reshape(x.shape)[::-1].T if x.ndim > 1 and x.shape[0] == x.shape[-1] else x),  # other strides
)
DTYPES = tuple(map(_of_dtype, ("float32", "int64", "complex128")))
NUMBERS = (*map(_number, (3, 0.0, -0.0, -1.5, float("inf"), float("nan"), 1.5 + 2j, True)), _small_number)
ELEMENTS = tuple(map(_filled, (0.0, -0.0, float("inf"), float("nan"))))
# What the dense algorithms of linear algebra make of infinite numbers is by their way of summing.
ANY_ELEMENTS = (kinds.elementwise,)


def companions(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Plain tensors, NumPy arrays, numbers and other instances may stand in any of the other places."""
    for call in _calls(subject, operation):
        for place in range(len(call.operands)):
            own = replace(call, seats=(place,))
            for others, further in ((COMPANIONS[:2], _arrays(operation)), (COMPANIONS[2:], NUMBERS)):
                with entering() as entered:
                    yield from [_among(subject, replace(own, other=other), "companions") for other in others]
                # A rule is to be right for everything like it, a fallback is the library's.
                chosen = further if entered.rules else ()
                yield from [_among(subject, replace(own, other=other), "companions") for other in chosen]
            for other in _other_samples(subject, call):
                yield _among(subject, replace(own, other=other), "companions")


def _arrays(operation: Overridable) -> tuple[Companion, ...]:
    return (*SHAPES, *DTYPES, *(ELEMENTS if operation.kind.family in ANY_ELEMENTS else ()))


def _calls(subject: Subject, operation: Overridable) -> list[TypeCall]:
    """Return calls of several arrays: those that rules answer, and one of each instance."""
    found = examination(subject, operation)
    first = {call.index: call for call in reversed(found.sound)}
    chosen = {id(call): call for call in (*first.values(), *found.some(subject.depth))}
    return [call for call in chosen.values() if len(call.operands) > 1 and not call.turn]


def _other_samples(subject: Subject, call: TypeCall) -> Iterator[Companion]:
    """Yield what puts another of the type's samples in the place of an array."""
    if call.index is None:
        return
    for index in range(len(subject.samples())):
        if index != call.index:
            yield partial(_other_sample, subject, index)


def _other_sample(subject: Subject, index: int, value: Any) -> Any:
    return subject.sample(index)


def _among(subject: Subject, call: TypeCall, check: str) -> Failure | None:
    """Compare a call of one instance among companions with the same on plain tensors."""
    operation = call.operation
    try:
        expected, before = call.on_plain
        expected = comparable(subject, operation, expected)
    except Exception as error:  # noqa: BLE001  # what plain tensors refuse the type is to refuse, too
        return _refused(subject, call, error)
    args, kwargs = call.make()
    failure = partial(
        Failure, check, operation.qualified_name, made=call, again=lambda other: _checked(subject, other, check)
    )
    try:
        with noting(subject):
            result = call.run(args, kwargs)
        found = different(subject, comparable(subject, operation, result), expected, call.values())
    except subject.refusals:
        return None
    except Exception as error:  # noqa: BLE001  # what a handler raises is what is looked for
        return failure(call.text, described(error), "an answer, or a decline")
    if found is not None:
        return failure(call.text, *found[1:])
    changed = _changed(call, subject, args, kwargs, before)
    if changed is not None:
        return failure(call.text, *changed)
    return next(lost_metadata(check, subject, call, (args, kwargs), result), None)


def _checked(subject: Subject, call: TypeCall, check: str) -> Failure | None:
    found = _among(subject, call, check)
    return found if found is not None and found.check == check else None


def _changed(call: TypeCall, subject: Subject, args: Any, kwargs: Any, before: Arguments) -> tuple[str, str] | None:
    """Return which companion a call has changed, as found and expected."""
    parameters = call.operation.parameters
    if call.operation.name == "setitem":
        return None
    for (p, value), (_, old) in zip(parameters.values(args, kwargs), parameters.values(*before), strict=True):
        if isinstance(value, subject.cls) or not hasattr(value, "shape"):
            continue
        now, then = subject.array(value), subject.array(old)
        if now.shape != then.shape or not np.array_equal(now, then, equal_nan=now.dtype.kind in "fc"):
            return f"'{p.name}' became {shown(now)}", f"'{p.name}' still {shown(then)}"
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
        instance = call.values()[0]
        shape = tuple(getattr(instance, "shape", ()))
        for sample in mistakes(operation, call.sample, shape):
            mistaken = replace(call, sample=sample)
            try:
                _ = mistaken.expected
            except Exception as error:  # noqa: BLE001  # that it is raised is what counts
                yield _refused(subject, mistaken, error)


def _refused(subject: Subject, call: TypeCall, error: Exception) -> Failure | None:
    """Return that a type answered a call that plain tensors refuse because of a shape, an axis or an index."""
    if not isinstance(error, (ValueError, IndexError)) or isinstance(error, np.linalg.LinAlgError):
        return None
    try:
        with noting(subject):
            result = call.result()
    except Exception:  # noqa: BLE001  # by which exception it refuses is its own
        return None
    return Failure(
        "refusals",
        call.operation.qualified_name,
        call.text,
        shown(subject.array(result)),
        described(error),
        made=call,
        again=lambda other: _refused_again(subject, other),
    )


def _refused_again(subject: Subject, call: TypeCall) -> Failure | None:
    try:
        _ = call.expected
    except Exception as error:  # noqa: BLE001  # that it is raised is what counts
        return _refused(subject, call, error)
    return None

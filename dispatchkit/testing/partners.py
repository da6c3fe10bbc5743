"""Other instances that meet a sample in a call: with other numbers, and with other plain fields, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.func.containers import with_variables
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.types.declaration import FieldRule
from dispatchkit.tensor import Tensor
from dispatchkit.testing.comparing.differences import difference, same
from dispatchkit.testing.findings import Subject
from dispatchkit.testing.instances import anew

MOST = 6  # partners of a sample
# What gives an instance with other elements, where these are no numbers to be multiplied.
TURNING = ("flip", "logical_not", "negative")
FACTOR = 1.5  # between the numbers of two instances


@dataclass(frozen=True)
class Partner:
    """How an instance becomes another of the same shape and dtype.

    Attributes
    ----------
    field : that is changed beside the numbers, "" for these alone
    change : returns the other instance
    """

    field: str
    change: Callable[[Any], Any]


def partners(subject: Subject, index: int | None) -> list[Partner]:
    """Return how a sample can be varied, so that two different instances meet; by the first for index None."""
    known: dict[Any, list[Partner]] = subject.memory.setdefault("partners", {})
    if index not in known:
        known[index] = _partners(subject, index or 0)
    return known[index]


def unvaried(subject: Subject) -> list[str]:
    """Return the fields in which no two instances that meet in calls differ, those aside that others determine."""
    samples = subject.samples()
    pairs = [(sample, partner.change(sample)) for sample, partner in _met(subject, samples)]
    pairs += [(sample, other) for sample in samples for other in samples if tuple(sample.shape) == tuple(other.shape)]
    names = [name for name in _names(samples[0]) if not _rule(subject.cls, name).dependent]
    return [name for name in names if all(_is_alike(name, *pair) for pair in pairs)]


def _is_alike(name: str, one: Any, other: Any) -> bool:
    return _equal(getattr(one, name, None), getattr(other, name, None))


def _met(subject: Subject, samples: list[Any]) -> Iterator[tuple[Any, Partner]]:
    """Yield each sample with each of its partners."""
    for index, sample in enumerate(samples):
        for partner in partners(subject, index):
            yield sample, partner


def _partners(subject: Subject, index: int) -> list[Partner]:
    try:
        sample = subject.sample(index)
        dense = subject.right_dense(sample)
    except Exception:  # noqa: BLE001  # the check of the dense form reports it
        return []
    chosen: list[Partner] = []
    for partner in _candidates(subject, sample):
        other = _made(subject, partner, sample)
        if other is None:
            continue
        form = subject.dense(other)
        alike = (tuple(form.shape), form.dtype) == (tuple(dense.shape), dense.dtype)
        changed = any(not _equal(getattr(sample, name), getattr(other, name, None)) for name in _names(sample))
        if alike and changed and len(chosen) < MOST and partner.field not in _fields(chosen):
            chosen.append(partner)
    return chosen


def _fields(listed: list[Partner]) -> set[str]:
    return {partner.field for partner in listed}


def _made(subject: Subject, partner: Partner, sample: Any) -> Any:
    """Return another instance, None where the type holds no such one."""
    try:
        other = partner.change(sample)
        subject.right_dense(other)
    except Exception:  # noqa: BLE001  # that is how the type says so
        return None
    if type(other) is type(sample):
        return other
    return None


def _candidates(subject: Subject, sample: Any) -> Iterator[Partner]:
    yield Partner("", other_numbers)
    for name in TURNING:
        yield Partner("", partial(_turned, subject, name))
    for name in _names(sample):
        rule = _rule(type(sample), name)
        if rule.dependent:
            continue
        value = getattr(sample, name)
        if _is_code(sample, value):
            yield Partner(name, partial(_with_field, name, _swapped))
        for other in _other_values(subject, name, value, rule):
            yield Partner(name, partial(_with_field, name, partial(_constant, other)))


def _turned(subject: Subject, name: str, value: Any) -> Any:
    """Return what the type itself makes of an instance, with the elements in other places or others.

    Raises
    ------
    ValueError : if that is none of its instances, or a wrong one
    """
    function = getattr(xp, name)
    other, right = function(anew(value)), function(subject.dense(value))
    if not isinstance(other, subject.cls) or difference(subject.dense(other), right) is not None:
        raise ValueError(f"{name} gives no instance")
    return other


def _constant(value: Any, _: Any) -> Any:
    return value


def _names(sample: Any) -> tuple[str, ...]:
    if isinstance(sample, Storage):
        return tuple(getattr(sample, "__dict__", ()))
    return tensor_protocol.types.fields_of(sample)


def _rule(cls: type, name: str) -> FieldRule:
    return tensor_protocol.types.field_rules(cls).get(name, FieldRule())


def other_numbers(value: Any) -> Any:
    """Return an instance with other floating-point numbers in the fields that are differentiated."""
    return with_variables(lambda x: x * FACTOR, anew(value))


def _is_code(sample: Any, value: Any) -> bool:
    """Return whether a field holds an integer or boolean for each element or row, which can change places.

    Lengths, pointers and packed bits are of other lengths.
    """
    array = getattr(value, "array", value)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iub" or array.size < 2:
        return False
    shape = tuple(sample.shape)
    return array.shape == shape or (array.ndim == 1 and array.size in shape)


def _swapped(value: Any) -> Any:
    """Return an array with two of its elements in each other's place, which differ if any do."""
    array = np.array(getattr(value, "array", value))
    flat = array.reshape(-1)
    other = int(np.argmax(flat != flat[0]))
    flat[0], flat[other] = flat[other], flat[0]
    if isinstance(value, Tensor):
        return type(value)(array)
    return array


def _other_values(subject: Subject, name: str, value: Any, rule: FieldRule) -> Iterator[Any]:
    """Yield other values for a plain field: those of other samples, declared ones, and other numbers and flags."""
    for sample in subject.samples():
        other = getattr(sample, name, value)
        plain = not isinstance(other, (Storage, np.ndarray)) and not tensor_protocol.types.participates(type(other))
        if plain and not _equal(other, value):
            yield other
    declared = rule.discrete
    if not isinstance(declared, bool) and isinstance(value, (int, float, str)):
        yield from (other for other in declared if other != value)
    if rule.discrete is not False:
        return
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (other for other in (value - 1, value + 1) if other >= 0 or value < 0)
    elif isinstance(value, float):
        yield value * FACTOR


def _with_field(name: str, change: Callable[[Any], Any], value: Any) -> Any:
    """Return an instance with another field and other numbers, made by the constructor where it takes the fields."""
    varied = other_numbers(value)
    changed = change(getattr(varied, name))
    if not isinstance(value, Storage):
        names = [field for field in _names(varied) if not _rule(type(value), field).dependent]
        fields = {**{field: getattr(varied, field) for field in names}, name: changed}
        try:
            return type(value)(**fields)
        except TypeError:  # its constructor takes something else
            pass
    if any(_rule(type(value), field).dependent for field in _names(value)):
        raise ValueError(f"{type(value).__name__} computes fields from '{name}'")
    object.__setattr__(varied, name, changed)
    return varied


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, Storage) and isinstance(second, Storage):
        return same(first.array, second.array)
    return type(first) is type(second) and same(first, second)

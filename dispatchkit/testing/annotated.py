"""Calls for the rules that name other types beside the tested one: with arguments as their annotations say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, product
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.naming import ANY
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.testing.authored import own_rules
from dispatchkit.testing.calls import TypeCall, fitted_samples
from dispatchkit.testing.findings import Subject

Maker = Callable[[Any], Any]


def _itself(value: Any) -> Any:
    return value


def _numbers(*listed: Any) -> tuple[Maker, ...]:
    def maker(number: Any) -> Maker:
        return lambda value: number

    return tuple(map(maker, listed))


# What stands where a rule names a type, for numbers several.
BY_TYPE: dict[Any, tuple[Maker, ...]] = {
    int: _numbers(3, -2, 0, 1),
    float: _numbers(2.5, -0.5, 0.0),
    bool: _numbers(True, False),
    complex: _numbers(1.5 + 2j, -1j),
    np.ndarray: (_itself,),
    ANY: (xp.asarray,),
    tensor_protocol.types.base: (xp.asarray,),
}


def annotated_calls(subject: Subject, operation: Overridable) -> Iterator[TypeCall]:
    """Yield calls of an operation by the signatures of its rules that name more than the tested type."""
    if not isinstance(operation, DeclaredOperation):
        return
    seen: set[Any] = set()
    for rule in own_rules(subject, operation):
        seats = tuple(place for place, cls in enumerate(rule.types) if issubclass(subject.cls, cls) and _is_own(cls))
        alone = rule.anywhere or len(seats) == len(rule.types) or not seats
        if alone or rule.types in seen:
            continue
        seen.add(rule.types)
        makers = [(_itself,) if place in seats else BY_TYPE.get(cls, ()) for place, cls in enumerate(rule.types)]
        for index in range(subject.count):
            for others in product(*makers):
                yield from _call(subject, operation, seats, index, others)


def _is_own(cls: type) -> bool:
    return cls not in (tensor_protocol.types.base, object)


def _call(
    subject: Subject, operation: DeclaredOperation, seats: tuple[int, ...], index: int, others: tuple[Maker, ...]
) -> Iterator[TypeCall]:
    """Yield the first call that plain tensors take with arrays of the instance's shape, and with other arguments."""
    shape = tuple(subject.sample(index).shape)
    for fitting_seats in (None, seats):
        fitted = (
            fitted
            for sample in operation.samples
            if len(sample.arrays(operation.parameters)) == len(others)
            for fitted in fitted_samples(operation, sample, shape, fitting_seats)
        )
        calls = (TypeCall(operation, sample, subject, seats, index, others=others) for sample in fitted)
        yield from islice(filter(TypeCall.is_valid, calls), 1)

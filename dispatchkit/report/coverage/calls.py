"""Valid calls of an operation with instances of a type, made from the calls that its declaration states.

An instance takes the place of one array or of all; others stand at the rest. What comes of it is a call if plain
tensors take it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from dispatchkit.declare.samples import Draw, Sample
from dispatchkit.protocol.overridable import Dispatcher, Overridable
from dispatchkit.protocol.parameters import Form
from dispatchkit.report.coverage.samples import Shape, TypeSample
from dispatchkit.testing.calls import Call, Operand
from dispatchkit.testing.fitting import fitted, generic_samples

__all__ = ["calls_of"]

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

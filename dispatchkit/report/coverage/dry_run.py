"""Sample calls without an instance: how each operation is called, with a place left for a type.

A place is left in the calls that an operation declares as its samples: at all arrays, and at each with plain tensors
and numbers at the others. A stand-in of the type fills it, and what is predicted of the call is what the report says.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dispatchkit.declare.samples import Sample
from dispatchkit.ops.random.generator import default_generator
from dispatchkit.protocol.densify import separate_ledger, unbounded
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form, Key
from dispatchkit.protocol.prediction import Layout, Memory, Prediction, make_stand_in, predict
from dispatchkit.tensor import Tensor
from dispatchkit.testing.calls import Arguments, Call, Operand
from dispatchkit.testing.fitting import generic_samples

__all__ = ["DryCall", "dry_calls", "measuring"]


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

    def predicted(self, cls: type, memory: Memory) -> Iterator[Prediction]:
        """Yield what comes of each of the samples with arrays of a type in its places."""

        def filled(name: str, value: Any) -> Any:
            if not isinstance(value, Operand):
                return value
            array = value.make()
            return make_stand_in(self.operation.protocol, (cls,), Layout(array.shape, array.dtype))

        for args, kwargs in self.samples:
            yield predict(self.operation, *self.operation.parameters.replace(args, kwargs, filled), memory)

    def key(self, cls: type) -> Key:
        """Return the types of its arrays, with a type in its places."""
        return tuple(_with_type(entry, cls) for entry in self.operation.parameters.key(*self.samples[0]))


def _with_type(entry: Any, cls: type) -> Any:
    if isinstance(entry, tuple):
        return tuple(_with_type(one, cls) for one in entry)
    return cls if entry is Operand else entry


@contextmanager
def measuring() -> Iterator[None]:
    """Silence warnings, count densifications apart, and put random numbers back to where they were."""
    source = default_generator.source
    default_generator.source = np.random.Generator(np.random.PCG64(0))
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), unbounded(), separate_ledger():
            warnings.simplefilter("ignore")
            yield
    finally:
        default_generator.source = source


_KNOWN: WeakKeyDictionary[Overridable, list[DryCall]] = WeakKeyDictionary()


def dry_calls(operation: Overridable) -> list[DryCall]:
    """Return the sample calls of an operation; those with places alone come first."""
    found = _KNOWN.get(operation)
    if found is None:
        with measuring():
            found = _KNOWN[operation] = list(_made(operation).values())
    return found


def _made(operation: Overridable) -> dict[Any, DryCall]:
    found: dict[Any, DryCall] = {}
    arrays = [p for p in operation.parameters.arrays if p.form is not Form.INDEX]
    if not arrays:
        return found
    declared: Sequence[Sample] = getattr(operation, "samples", []) or generic_samples(operation, (2, 2), np.float64)
    calls = [call for sample in declared for call in _with_roles(operation, sample)] or [_least_call(operation)]
    named = {name for _, call in calls for name in call.sample.kwargs}
    for p in operation.parameters.signature.parameters.values():
        optional = p.default is not p.empty and p.kind is not p.POSITIONAL_ONLY and p.name not in named
        if optional and all(p.name != one.name for one in operation.parameters.arrays):
            form, call = calls[0]
            kwargs = {**call.sample.kwargs, p.name: p.default}
            calls.append((form, replace(call, sample=replace(call.sample, kwargs=kwargs))))
    for form, call in sorted(calls, key=lambda one: any(one[0])):
        args, kwargs = call.arguments(lambda operand: operand if operand.own else operand.make())
        shown = tuple((name, repr(value)) for name, value in kwargs.items() if not isinstance(value, (Operand, Tensor)))
        key = (form, operation.parameters.key(args, kwargs), len(args), tuple(kwargs), shown)
        found.setdefault(key, DryCall(operation, form, tuple(kwargs))).samples.append((args, kwargs))
    return found


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
    forms: list[tuple[str, ...]] = [("",) * len(places)]
    if len(places) > 1:
        scalars = ("float", "int") if all(p.form in (Form.ONE, Form.LOOSE) for p in places) else ()
        for other in ("Tensor", *scalars):
            forms += [
                tuple("" if one == place else other for one in range(len(places))) for place in range(len(places))
            ]
    for form in forms:
        roles = chain(form, repeat("Tensor"))
        call = Call(operation, sample, tuple(map(_operand, roles, arrays)))
        # A number may stand where an array does if plain tensors take it there.
        if not {"float", "int"} & set(form) or call.is_valid():
            yield form, call


def _operand(role: str, array: Any) -> Operand:
    """Return what stands at an array: in the place for the type a plain tensor of its shape and dtype."""
    value = 2.0 if role == "float" else 2 if role == "int" else Tensor(array)
    return Operand(not role, lambda: value, lambda: value)

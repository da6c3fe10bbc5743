"""The calls that a type is tested with: the samples of the operations, with instances in the place of arrays.

Where the type can hold any elements, the samples are taken as they are. Otherwise they are adapted to the shapes of
the type's instances; what the plain call refuses is no call to test.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Sample
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.testing.fitting import fitted, variations
from dispatchkit.testing.instances import NEGATIVE, SPECIAL, simple, varied
from dispatchkit.testing.subject import Subject

__all__ = ["Arguments", "Call", "arguments_text", "calls_of", "variations_of"]

Arguments: TypeAlias = "tuple[tuple[Any, ...], dict[str, Any]]"


@dataclass(frozen=True, eq=False)
class Call:
    """A call with instances of a type among its arrays.

    Attributes
    ----------
    operation : that is called
    sample : the arrays and the other arguments
    seats : which of the arrays are instances, counted from 0 in the order of the signature
    index : which of the type's samples they are; None where they have the elements that the call's sample says
    other : makes what stands in the other places of a NumPy array
    turn : 0 for the samples themselves; for other numbers instances have other elements
    plain : whether the elements of instances are 1, 2, 3 and so on
    """

    operation: Overridable
    sample: Sample
    seats: frozenset[int]
    index: int | None
    other: Callable[[Any], Any] = tensor_namespace.asarray
    turn: int = 0
    plain: bool = False

    def make(self, subject: Subject) -> Arguments:
        """Return arguments of the call, instances made anew."""
        args, kwargs = self.sample.make(np.random.default_rng(0))
        place = itertools.count()

        def seated(name: str, value: Any) -> Any:
            if not isinstance(value, np.ndarray):
                return value
            return self._instance(subject, value) if next(place) in self.seats else self.other(value)

        return self.operation.parameters.replace(args, kwargs, seated)

    def given(self, subject: Subject) -> Iterator[Any]:
        """Yield the array arguments of the call."""
        for _, value in self.operation.parameters.values(*self.make(subject)):
            yield value

    def _instance(self, subject: Subject, value: Any) -> Any:
        if self.index is not None:
            found = subject.sample(self.index)
        else:
            assert subject.from_dense is not None
            found = subject.from_dense(tensor_namespace.asarray(value))
        return simple(found) if self.plain else varied(found, self.turn)

    def without(self, name: str) -> Call:
        """Return the call without an optional argument."""
        signature = self.operation.parameters.signature
        bound = signature.bind(*self.sample.args, **self.sample.kwargs)
        del bound.arguments[name]
        return replace(self, sample=replace(self.sample, args=bound.args, kwargs=bound.kwargs))

    def options(self) -> list[str]:
        """Return the names of the optional arguments that are no arrays."""
        parameters = self.operation.parameters
        bound = parameters.signature.bind(*self.sample.args, **self.sample.kwargs)
        arrays = {p.name for p in parameters.arrays}
        named = parameters.signature.parameters
        return [name for name in bound.arguments if name not in arrays and named[name].default is not inspect._empty]

    def count(self) -> int:
        """Return how many arrays it has."""
        return len(self.sample.arrays(self.operation.parameters))

    def expected(self, subject: Subject) -> Any:
        """Return what the call gives on plain tensors, computed at the first request, or raise what they raise."""
        known = subject.dense_results.get(self)
        if known is None:
            try:
                known = subject.dense_call(self.operation, *self.make(subject)), None
            except Exception as error:  # noqa: BLE001  # whatever it raises is raised again
                known = None, error.with_traceback(None)
            subject.dense_results[self] = known
        result, raised = known
        if raised is not None:
            raise raised
        return result

    def is_valid(self, subject: Subject) -> bool:
        """Return whether the operation answers the call on plain tensors."""
        try:
            self.expected(subject)
        except Exception:  # noqa: BLE001  # whatever it raises, there is nothing to compare with
            return False
        return True

    def text(self, subject: Subject) -> str:
        """Return the call as a message shows it, arrays by type and shape."""
        args, kwargs = self.make(subject)
        return f"{self.operation.qualified_name}({arguments_text(args, kwargs)})"


def arguments_text(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Return arguments as a message shows them."""
    return ", ".join([*map(_shown, args), *(f"{name}={_shown(value)}" for name, value in kwargs.items())])


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)) and any(hasattr(member, "shape") for member in value):
        return f"[{', '.join(map(_shown, value))}]"
    if not isinstance(value, np.generic) and hasattr(value, "shape"):
        return f"{type(value).__name__} {tuple(value.shape)}"
    return repr(value)


def calls_of(subject: Subject, operation: Overridable) -> list[Call]:
    """Return the calls of an operation: every array an instance where that is possible, else one of them."""
    if not isinstance(operation, DeclaredOperation):
        return []
    samples = [*operation.samples, *_with_dtype(operation)]
    if subject.from_dense is not None:
        return [Call(operation, sample, seats, None) for sample in samples if (seats := _seats(operation, sample))]
    found: dict[str, Call] = {}
    for index, instance in enumerate(subject.samples()):
        for sample in samples:
            for call in _adapted(subject, operation, sample, index, tuple(instance.shape)):
                found.setdefault(f"{index}: {call.text(subject)}", call)
    return list(found.values())


def variations_of(subject: Subject, call: Call) -> Iterator[Call]:
    """Yield a call of one of the type's samples with other arguments, and with other elements of the instances."""
    assert call.index is not None
    yield replace(call, turn=NEGATIVE)
    if call.operation.kind.family is kinds.elementwise:
        yield replace(call, turn=SPECIAL)
    for sample in variations(call.operation, call.sample, tuple(subject.sample(call.index).shape)):
        yield replace(call, sample=sample)


def _with_dtype(operation: DeclaredOperation) -> Iterator[Sample]:
    """Yield a sample with a dtype where an operation takes one and none of its samples has it."""
    signature = operation.parameters.signature
    parameter = signature.parameters.get("dtype")
    if parameter is None or parameter.kind is not parameter.KEYWORD_ONLY:
        return
    if operation.samples and not any("dtype" in sample.kwargs for sample in operation.samples):
        first = operation.samples[0]
        yield replace(first, kwargs={**first.kwargs, "dtype": "float32"}, differentiable=False)


def _seats(operation: Overridable, sample: Sample) -> frozenset[int]:
    """Return the places of a sample's arrays."""
    return frozenset(range(len(sample.arrays(operation.parameters))))


def _adapted(
    subject: Subject, operation: Overridable, sample: Sample, index: int, shape: tuple[int, ...]
) -> Iterator[Call]:
    """Yield calls with an instance of fixed shape: in every place, else in each place where the call is valid."""
    everywhere = _seats(operation, sample)
    if not everywhere:
        return
    # An index is made for the array of the sample, and is no instance.
    for seats in (None, *(frozenset({seat}) for seat in everywhere)):
        calls = (
            Call(operation, one, everywhere if seats is None else seats, index)
            for one in fitted(operation, sample, shape, seats)
        )
        found = next((call for call in calls if call.is_valid(subject)), None)
        if found is not None:
            yield found
            if seats is None:
                return

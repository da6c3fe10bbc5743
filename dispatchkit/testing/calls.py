"""The calls that are made by `check_type` and by coverage: the samples of operations, with operands at their arrays.

Each operand makes its value anew, and the plain tensor of the same values, so that what comes of a call can be compared
with what plain tensors give. Those of `check_type` have instances of the type under test in the place of arrays. Where
the type can hold any elements, the samples are taken as they are. Otherwise they are adapted to the shapes of the
type's instances; what the plain call refuses is no call to test.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Draw, Sample
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.testing.fitting import fitted, variations
from dispatchkit.testing.instances import NEGATIVE, SPECIAL, simple, varied
from dispatchkit.testing.subject import Subject

__all__ = ["Arguments", "Call", "Operand", "TypeCall", "arguments_text", "calls_of", "variations_of"]

Arguments: TypeAlias = "tuple[tuple[Any, ...], dict[str, Any]]"


@dataclass(frozen=True, eq=False, repr=False)
class Operand:
    """What stands at an array of a call.

    Attributes
    ----------
    own : whether it is of the type that is tested or measured
    make : makes it
    plain : makes the plain tensor or number of the same values
    text : what readers see of it; by default type and shape
    """

    own: bool
    make: Callable[[], Any]
    plain: Callable[[], Any]
    text: str = ""

    @cached_property
    def cls(self) -> type:
        """Its type."""
        return type(self.make())

    def __repr__(self) -> str:
        if self.text:
            return self.text
        value = self.make()
        array = hasattr(value, "shape") and not isinstance(value, np.generic)
        return f"{type(value).__name__} {tuple(value.shape)}" if array else repr(value)


@dataclass(frozen=True, eq=False)
class Call:
    """A call to be made.

    Attributes
    ----------
    operation : that is called
    sample : its arguments, with draws or NumPy arrays at the places of the operands
    operands : what stands at the arrays of the sample, in the order of the signature
    """

    operation: Overridable
    sample: Sample
    operands: tuple[Operand, ...]

    def arguments(self, make: Callable[[Operand], Any]) -> Arguments:
        """Return arguments with what `make` gives for each operand."""
        operands = iter(self.operands)

        def filled(name: str, value: Any) -> Any:
            return make(next(operands)) if isinstance(value, (Draw, np.ndarray)) else value

        return self.operation.parameters.replace(self.sample.args, self.sample.kwargs, filled)

    def make(self) -> Arguments:
        """Return arguments of the call, made anew."""
        return self.arguments(lambda operand: operand.make())

    def with_values(self, values: Iterable[Any], chosen: Callable[[Operand], bool]) -> Arguments:
        """Return arguments with values in the place of chosen operands, the others made anew."""
        given = iter(values)
        return self.arguments(lambda operand: next(given) if chosen(operand) else operand.make())

    def values(self) -> list[Any]:
        """Return the array arguments of the call, made anew."""
        return [value for _, value in self.operation.parameters.values(*self.make())]

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what the operation gives for some arguments; random functions draw the same numbers each time."""
        if self.operation.kind is kinds.random:
            tensor_namespace.random.manual_seed(0)
        return self.operation.function(*args, **kwargs)

    def result(self) -> Any:
        """Return what the call gives."""
        return self.run(*self.make())

    @cached_property
    def _on_plain(self) -> tuple[Any, Arguments, Exception | None]:
        arguments: Arguments = (), {}
        try:
            arguments = self.arguments(lambda operand: operand.plain())
            return self.run(*arguments), arguments, None
        except Exception as error:  # noqa: BLE001  # whatever it raises is raised again
            return None, arguments, error.with_traceback(None)

    @property
    def on_plain(self) -> tuple[Any, Arguments]:
        """Result and arguments of the same call on plain tensors, made at the first request; raises what they raise."""
        result, arguments, error = self._on_plain
        if error is not None:
            raise error
        return result, arguments

    @property
    def expected(self) -> Any:
        """What the call gives on plain tensors; raises what they raise."""
        return self.on_plain[0]

    def is_valid(self) -> bool:
        """Return whether plain tensors take the call."""
        return self._on_plain[2] is None

    @cached_property
    def text(self) -> str:
        """The call as readers see it."""
        return f"{self.operation.qualified_name}({arguments_text(*self.arguments(lambda operand: operand))})"


def arguments_text(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Return arguments, operands by their text, as a message shows them."""
    words = [*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())]
    return ", ".join(words).replace("Ellipsis", "...")


@dataclass(frozen=True, eq=False)
class TypeCall(Call):
    """A call with instances of the type under test among its arrays.

    Attributes
    ----------
    subject : the type
    seats : at which of the arrays instances stand, counted from 0 in the order of the signature
    index : which of the type's samples they are; None where they have the elements that the call's sample says
    other : makes what stands in the other places of a NumPy array
    turn : 0 for the samples themselves; for other numbers instances have other elements
    counted : whether the elements of instances are 1, 2, 3 and so on
    """

    operands: tuple[Operand, ...] = field(init=False)
    subject: Subject
    seats: Collection[int]
    index: int | None = None
    other: Callable[[Any], Any] = tensor_namespace.asarray
    turn: int = 0
    counted: bool = False

    def __post_init__(self) -> None:
        values = self.operation.parameters.values(*self.sample.make(np.random.default_rng(0)))
        arrays = [value for _, value in values if isinstance(value, np.ndarray)]
        operands = tuple(self._operand(place in self.seats, array) for place, array in enumerate(arrays))
        object.__setattr__(self, "operands", operands)

    def _operand(self, own: bool, array: Any) -> Operand:
        # Operands do not refer to their call, so that it is freed as soon as it is no longer used.
        subject, index, other, turn, counted = self.subject, self.index, self.other, self.turn, self.counted

        def make() -> Any:
            if not own:
                return other(array.copy(order="K"))
            if index is not None:
                found = subject.sample(index)
            else:
                assert subject.from_dense is not None
                found = subject.from_dense(tensor_namespace.asarray(array.copy(order="K")))
            return simple(found) if counted else varied(found, turn)

        return Operand(own, make, lambda: subject.dense(make()))

    def without(self, name: str) -> TypeCall:
        """Return the call without an optional argument that is no array."""
        bound = self._bound()
        del bound.arguments[name]
        return replace(self, sample=replace(self.sample, args=bound.args, kwargs=bound.kwargs))

    def options(self) -> list[str]:
        """Return the names of the optional arguments that are no arrays."""
        arrays = {p.name for p in self.operation.parameters.arrays}
        bound = self._bound()
        named = bound.signature.parameters
        return [name for name in bound.arguments if name not in arrays and named[name].default is not inspect._empty]

    def _bound(self) -> inspect.BoundArguments:
        return self.operation.parameters.signature.bind(*self.sample.args, **self.sample.kwargs)


def calls_of(subject: Subject, operation: Overridable) -> list[TypeCall]:
    """Return the calls of an operation: every array an instance where that is possible, else one of them."""
    if not isinstance(operation, DeclaredOperation):
        return []
    samples = [*operation.samples, *_with_dtype(operation)]
    if subject.from_dense is not None:
        return [TypeCall(operation, one, subject, seats) for one in samples if (seats := _seats(operation, one))]
    found: dict[str, TypeCall] = {}
    for index, instance in enumerate(subject.samples()):
        for sample in samples:
            for call in _adapted(subject, operation, sample, index, tuple(instance.shape)):
                found.setdefault(f"{index}: {call.text}", call)
    return list(found.values())


def variations_of(subject: Subject, call: TypeCall) -> Iterator[TypeCall]:
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


def _seats(operation: Overridable, sample: Sample) -> Collection[int]:
    """Return the places of a sample's arrays."""
    return range(len(sample.arrays(operation.parameters)))


def _adapted(
    subject: Subject, operation: Overridable, sample: Sample, index: int, shape: tuple[int, ...]
) -> Iterator[TypeCall]:
    """Yield calls with an instance of fixed shape: in every place, else in each place where the call is valid."""
    everywhere = _seats(operation, sample)
    if not everywhere:
        return
    # An index is made for the array of the sample, and is no instance.
    for seats in (None, *((seat,) for seat in everywhere)):
        places = everywhere if seats is None else seats
        calls = (TypeCall(operation, one, subject, places, index) for one in fitted(operation, sample, shape, seats))
        found = next(filter(TypeCall.is_valid, calls), None)
        if found is not None:
            yield found
            if seats is None:
                return

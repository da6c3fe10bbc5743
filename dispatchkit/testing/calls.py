"""The calls that `check_type` and coverage make: the samples of operations, fitted to an instance and varied."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Draw, Sample, with_arrays
from dispatchkit.ops.random.generator import default_generator
from dispatchkit.protocol.densify import separate_ledger, without_bounds
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form
from dispatchkit.testing.authored import is_authored, is_examined_in_full
from dispatchkit.testing.findings import Again, Failure, Subject
from dispatchkit.testing.instances import COMPLEX, LONG, NEGATIVE, SPECIAL, ZERO, anew, simple, vary
from dispatchkit.testing.partners import partners

# Arguments other than arrays that have to fit the shape of the instance.
ADAPTED = {"shape", "axes"}
AXES = {"axis", "axes", "dim", "source", "destination"}
MOST = 10  # variations of a call
FEW = 3  # samples of an operation that others stand for, and ways to fit each
# Of these every type has samples with complex numbers, made of those that it has.
SUMMING = frozenset({"cumulative_sum", "matmul", "vecdot"})  # besides reductions
OF_COMPLEX_NUMBERS = frozenset({"conj", "real", "imag", "angle"})
Shape: TypeAlias = tuple[int, ...]


@contextmanager
def measuring(source: Any = None) -> Iterator[None]:
    """Let calls densify, warn, overflow and draw random numbers: they are no part of the program.

    Parameters
    ----------
    source : of the random numbers; by default one that is the same each time
    """
    before, default_generator.source = default_generator.source, source or np.random.Generator(np.random.PCG64(0))
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), without_bounds(), separate_ledger():
            warnings.simplefilter("ignore")
            yield
    finally:
        default_generator.source = before


def fitted_samples(
    operation: Overridable,
    sample: Sample,
    shape: tuple[int, ...],
    seats: Collection[int] | None = None,
    unnamed: bool = True,
) -> Iterator[Sample]:
    """Yield ways to fit a call to instances of a shape, the likeliest first.

    Parameters
    ----------
    operation : that is called
    sample : as it is declared
    shape : of the instances
    seats : which of the arrays they are, counted from 0; all by default
    unnamed : whether to try other values of the last argument, whatever it is called
    """
    place = 0
    if seats is not None:
        place = min(seats)
    drawn_shape = sample.arrays(operation.parameters)[place][1].shape
    carried = _lengths(tuple(drawn_shape), shape)
    samples = [with_shapes(sample, lambda _: shape)]
    if seats is not None:
        samples = [with_shapes(sample, lambda lengths: tuple(carried.get(n, n) for n in lengths)), *samples, sample]
    for candidate in samples:
        names = {*_positional_names(operation, len(candidate.args)), *candidate.kwargs}
        if names & ADAPTED:
            yield _with_arguments(operation, candidate, lambda name, value: _carry_over(carried, name, value))
        yield candidate
        if names & ADAPTED:
            yield _with_arguments(operation, candidate, lambda name, value: _by_name(shape, name, value))
    last = []
    if unnamed:
        last = [*sample.args[1:], *sample.kwargs.values()][-1:]
    if last and not isinstance(last[0], (Draw, np.ndarray)):
        count = len(shape)
        for value in ((-1,), shape, tuple(reversed(range(count))), (2,) * count, -1, 0):
            yield _with_last(samples[0], value)


def generic_samples(
    operation: Overridable, shape: tuple[int, ...], dtype: Any, *, guessed: bool = False
) -> list[Sample]:
    """Return a call of a function that states none: arrays of one shape for what must be given.

    Of what is no array nothing is known: there is no call, or where it is to be guessed, one with None.
    """
    x = Draw(shape, content=content_of(dtype))
    by_form = {Form.ONE: x, Form.LOOSE: x, Form.STAR: (x,), Form.SEQUENCE: [x], Form.INDEX: ...}
    arrays = {p.name: by_form[p.form] for p in operation.parameters.arrays}
    listed = operation.parameters.signature.parameters.values()
    required = [p for p in listed if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    unknown = {p.name: (None,) if p.kind is p.VAR_POSITIONAL else None for p in required if p.name not in arrays}
    if unknown and not guessed:
        return []
    values = unknown | {p.name: arrays[p.name] for p in required if p.name in arrays}
    return [Sample(*operation.parameters.shortest_call(values))]


def content_of(dtype: Any) -> Any:
    """Return what elements a dtype holds, in the words of `Draw`."""
    return {"c": "complex", "i": "integer", "u": "integer", "b": "boolean"}.get(getattr(dtype, "kind", "f"), "real")


def _lengths(shape: Sequence[int], lengths: Sequence[int]) -> dict[int, int]:
    """Return how lengths of axes in a sample are carried over to an instance."""
    return {math.prod(shape): math.prod(lengths), **dict(zip(reversed(shape), reversed(lengths), strict=False))}


def _carry_over(lengths: dict[int, int], name: str, value: Any) -> Any:
    if name != "shape":
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(lengths.get(n, n) for n in value)
    if isinstance(value, int):
        return lengths.get(value, value)
    return value


def _by_name(shape: tuple[int, ...], name: str, value: Any) -> Any:
    """Return a value that an argument of this name can have for any array of this shape."""
    if name == "axes" and isinstance(value, (list, tuple)):
        return tuple(reversed(range(len(shape))))
    if name != "shape":
        return value
    if isinstance(value, (list, tuple)):
        return shape
    return -1


def with_shapes(sample: Sample, change: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Sample:
    """Return a sample with its arrays of other shapes; no matrix is positive definite that is not square."""

    def reshape(draw: Draw) -> Draw:
        shape = change(draw.shape)
        square = len(shape) > 1 and shape[-1] == shape[-2]
        content = draw.content
        if content == "definite" and not square:
            content = "real"
        return replace(draw, shape=shape, content=content)

    return with_arrays(sample, reshape)


def placements(count: int, own: Any, others: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield what stands at some places: `own` at all of them, then at each alone, with each of the others elsewhere."""
    yield (own,) * count
    if count == 1:
        return
    for other in others:
        for place in range(count):
            yield tuple(own if index == place else other for index in range(count))


def _with_arguments(operation: Overridable, sample: Sample, change: Callable[[str, Any], Any]) -> Sample:
    """Return a sample with other arguments than arrays."""

    def change_argument(name: str, value: Any) -> Any:
        members = value
        if not isinstance(value, (list, tuple)):
            members = (value,)
        if any(isinstance(member, (Draw, np.ndarray)) for member in members):
            return value
        return change(name, value)

    names = _positional_names(operation, len(sample.args))
    args = tuple(change_argument(name, arg) for name, arg in zip(names, sample.args, strict=True))
    return replace(sample, args=args, kwargs={name: change_argument(name, arg) for name, arg in sample.kwargs.items()})


def _with_last(sample: Sample, value: Any) -> Sample:
    if sample.kwargs:
        return replace(sample, kwargs={**sample.kwargs, list(sample.kwargs)[-1]: value})
    return replace(sample, args=(*sample.args[:-1], value))


def _positional_names(operation: Overridable, count: int) -> list[str]:
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    names = [p.name for p in operation.parameters.signature.parameters.values() if p.kind not in kinds]
    return [names[min(index, len(names) - 1)] for index in range(count)]


def variations(operation: Overridable, sample: Sample, shape: tuple[int, ...]) -> Iterator[Sample]:
    """Yield a call with further values of the arguments that are no arrays, for instances of a shape."""
    yield from _each(operation, sample, lambda p, given: _values(p, given, len(shape)), MOST)
    for key in _keys(shape):
        yield from _with_key(operation, sample, key)


def mistakes(operation: Overridable, sample: Sample, shape: tuple[int, ...]) -> Iterator[Sample]:
    """Yield a call with arguments beyond the shape: axes and indices that no array of it has."""
    ndim = len(shape)

    def beyond(p: inspect.Parameter, given: Any) -> list[Any]:
        if p.name == "axis" and not isinstance(given, (tuple, list)):
            return [ndim, -ndim - 1]
        return []

    yield from _each(operation, sample, beyond, MOST)
    if ndim and 0 not in shape:
        zeros = (0,) * (ndim - 1)
        for key in ((*zeros, shape[-1]), (*zeros, -shape[-1] - 1), shape[0]):
            yield from _with_key(operation, sample, key)


def _each(operation: Overridable, sample: Sample, values: Any, most: int) -> Iterator[Sample]:
    """Yield a sample with each of some values for each argument that is no array, one at a time."""
    signature = operation.parameters.signature
    arrays = {p.name for p in operation.parameters.arrays}
    try:
        bound = signature.bind(*sample.args, **sample.kwargs)
    except TypeError:
        return
    count = 0
    for p in signature.parameters.values():
        if p.name in arrays or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) or p.name in ("device", "requires_grad"):
            continue
        value_now = bound.arguments.get(p.name, p.default)
        for value in values(p, value_now):
            if count < most and (value is not value_now and repr(value) != repr(value_now)):
                count += 1
                arguments = {**bound.arguments, p.name: value}
                ordered = {name: arguments[name] for name in signature.parameters if name in arguments}
                changed = inspect.BoundArguments(signature, ordered)
                yield replace(sample, args=changed.args, kwargs=changed.kwargs)


def _values(p: inspect.Parameter, given: Any, ndim: int) -> list[Any]:
    """Return values for an argument, by what it is called and what it is."""
    if p.name in AXES and (given is None or isinstance(given, (int, tuple))):
        several = [(0, -1)] if ndim > 1 else [(0,)]
        return [-1, 0, ndim - 1, -ndim, *(several if not isinstance(given, int) or p.name == "axis" else [])]
    if p.name == "shape" and isinstance(given, tuple):
        return [(-1,), (-1, 1)]
    if isinstance(given, bool):
        return [not given]
    if isinstance(given, int):
        return [-1, 1, 2, 0]
    if p.name == "dtype":
        return [np.dtype(np.float32), np.dtype(np.complex128)]
    if p.name == "correction":
        return [1.0]
    return []


def _keys(shape: tuple[int, ...]) -> list[Any]:
    """Return indices for an array of a shape."""
    if not shape or 0 in shape:
        return [(), ...]
    last = tuple(n - 1 for n in shape)
    first = (0,) * len(shape)
    keys: list[Any] = [first, last, (-1,) * len(shape), (*first[:-1], -1), 0, -1, slice(None, None, -1), (..., 0), None]
    if len(shape) > 1:
        keys += [(0, -shape[1]), (slice(None), -1), (-1, slice(1))]
    return [*keys, np.array([0, -1]), [-1, 0]]


def _with_key(operation: Overridable, sample: Sample, key: Any) -> Iterator[Sample]:
    """Yield a call with another index, where it has one and no array in it."""
    named = [p for p in operation.parameters.arrays if p.form is Form.INDEX]
    if named and named[0].position == 1 and len(sample.args) > 1 and not isinstance(sample.args[1], Draw):
        yield replace(sample, args=(sample.args[0], key, *sample.args[2:]))


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
    has_values : whether the plain tensor has its values: it has none where a type has no dense form, or refuses it
    """

    own: bool
    make: Callable[[], Any]
    plain: Callable[[], Any]
    text: str = ""
    has_values: bool = True

    @cached_property
    def cls(self) -> type:
        """Its type."""
        return type(self.make())

    def __repr__(self) -> str:
        return self.text or self._description

    @cached_property
    def _description(self) -> str:
        value = self.make()
        array = hasattr(value, "shape") and not isinstance(value, np.generic)
        if array:
            return f"{type(value).__name__} {tuple(value.shape)}"
        return repr(value)


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

        def fill(name: str, value: Any) -> Any:
            if isinstance(value, (Draw, np.ndarray)):
                return make(next(operands))
            return value

        return self.operation.parameters.replace(self.sample.args, self.sample.kwargs, fill)

    def make(self) -> Arguments:
        """Return arguments of the call, made anew."""
        return self.arguments(lambda operand: operand.make())

    def with_values(self, values: Iterable[Any], chosen: Callable[[Operand], bool]) -> Arguments:
        """Return arguments with values in the place of chosen operands, the others made anew."""
        chosen_values = iter(values)
        return self.arguments(lambda operand: next(chosen_values) if chosen(operand) else operand.make())

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
    def refusal(self) -> Exception | None:
        """What the same call on plain tensors raises; None where they take it."""
        return self._on_plain[2]

    @property
    def has_dense_arguments(self) -> bool:
        """Whether all of its arguments have dense forms; a singular matrix has no inverse, for one."""
        return self._on_plain[1] != ((), {})

    @property
    def on_plain(self) -> tuple[Any, Arguments]:
        """Result and arguments of the same call on plain tensors, made at the first request; raises what they raise."""
        if self.refusal is not None:
            raise self.refusal
        return self._on_plain[:2]

    @property
    def expected(self) -> Any:
        """What the call gives on plain tensors; raises what they raise."""
        return self.on_plain[0]

    def is_valid(self) -> bool:
        """Return whether plain tensors take the call."""
        return self.refusal is None

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
    others : for each array what makes it, in the place of `other`; those of instances are left aside
    partner : which of the type's other instances stands in all seats but the first; 0 for the same in all
    turn : 0 for the samples themselves; for other numbers instances have other elements
    counted : whether the elements of instances are 1, 2, 3 and so on
    """

    operands: tuple[Operand, ...] = field(init=False)
    subject: Subject
    seats: Collection[int]
    index: int | None = None
    other: Callable[[Any], Any] = tensor_namespace.asarray
    others: tuple[Callable[[Any], Any], ...] = ()
    partner: int = 0
    turn: int = 0
    counted: bool = False

    def __post_init__(self) -> None:
        values = self.operation.parameters.values(*self.sample.drawn)
        arrays = [value for _, value in values if isinstance(value, np.ndarray)]
        operands = tuple(self._operand(place, array) for place, array in enumerate(arrays))
        object.__setattr__(self, "operands", operands)

    def _operand(self, place: int, array: Any) -> Operand:
        # Operands do not refer to their call, so that it is freed as soon as it is no longer used.
        subject, index, other, turn, counted = self.subject, self.index, self.other, self.turn, self.counted
        own, number = place in self.seats, self.partner
        if self.others:
            other = self.others[place]
        if place == min(self.seats, default=0):
            number = 0

        def make() -> Any:
            if not own:
                return other(array.copy(order="K"))
            if index is not None:
                instance = subject.sample(index)
            else:
                assert subject.from_dense is not None
                instance = subject.from_dense(tensor_namespace.asarray(array.copy(order="K")))
            if number:
                instance = partners(subject, index)[number - 1].change(instance)
            if counted:
                return simple(instance)
            return vary(instance, turn)

        form = cache(lambda: subject.right_dense(make()))
        shared = own and index is not None  # the same in all calls
        operand = Operand(own, make, (lambda: anew(form())) if shared else form)
        if not shared:
            return operand
        known: Operand = subject.operands.setdefault((index, number, turn, counted), operand)
        return known

    def failure(self, check: str, found: str, expected: str, text: str = "", again: Again | None = None) -> Failure:
        """Return that a check found something wrong with the call, or with a form of it that has a text of its own."""
        return Failure(check, self.operation.qualified_name, text or self.text, found, expected, made=self, again=again)

    def without(self, name: str) -> TypeCall:
        """Return the call without an optional argument that is no array."""
        bound = self._bind()
        del bound.arguments[name]
        return replace(self, sample=replace(self.sample, args=bound.args, kwargs=bound.kwargs))

    def options(self) -> list[str]:
        """Return the names of the optional arguments that are no arrays."""
        arrays = {p.name for p in self.operation.parameters.arrays}
        bound = self._bind()
        named = bound.signature.parameters
        return [name for name in bound.arguments if name not in arrays and named[name].default is not inspect._empty]

    def _bind(self) -> inspect.BoundArguments:
        return self.operation.parameters.signature.bind(*self.sample.args, **self.sample.kwargs)


def calls_of(subject: Subject, operation: Overridable) -> list[TypeCall]:
    """Return the calls of an operation: every array an instance where that is possible, else one of them."""
    if not isinstance(operation, DeclaredOperation):
        return []
    samples = [*operation.samples, *_with_dtype(operation)]
    in_full = is_examined_in_full(subject, operation)
    ways = None
    if not in_full:
        samples, ways = samples[:FEW], FEW
    if subject.from_dense is not None:
        counts = [len(sample.arrays(operation.parameters)) for sample in samples]
        return [TypeCall(operation, sample, subject, range(n)) for sample, n in zip(samples, counts, strict=True) if n]
    calls: dict[str, TypeCall] = {}
    for index, instance in enumerate(subject.samples()):
        known: dict[str, TypeCall] = {}
        for sample in samples:
            for call in _calls_with_instance(subject, operation, sample, index, tuple(instance.shape), known, ways):
                calls.setdefault(f"{index}: {call.text}", call)
                if not in_full:  # what a fallback does with others is the library's
                    return [call]
    return list(calls.values())


def variations_of(subject: Subject, call: TypeCall) -> Iterator[TypeCall]:
    """Yield a call of one of the type's samples with other arguments, and with other elements of the instances."""
    assert call.index is not None
    if subject.copies:
        yield replace(call, turn=NEGATIVE)
        yield replace(call, turn=ZERO)
        if call.operation.kind.family is kinds.elementwise:
            yield replace(call, turn=SPECIAL)
        if call.operation.name in OF_COMPLEX_NUMBERS and is_authored(subject, call.operation):
            yield replace(call, turn=COMPLEX)
        if call.operation.kind.family is kinds.reduction or call.operation.name in SUMMING:
            yield replace(call, turn=LONG)
    for sample in variations(call.operation, call.sample, tuple(subject.sample(call.index).shape)):
        yield replace(call, sample=sample)


def _with_dtype(operation: DeclaredOperation) -> Iterator[Sample]:
    """Yield a sample with a dtype where an operation takes one and none of its samples has it."""
    parameter = operation.parameters.signature.parameters.get("dtype")
    taken = parameter is not None and parameter.kind is parameter.KEYWORD_ONLY
    if taken and operation.samples and not any("dtype" in sample.kwargs for sample in operation.samples):
        first = operation.samples[0]
        yield replace(first, kwargs={**first.kwargs, "dtype": "float32"}, differentiable=False)


def _calls_with_instance(
    subject: Subject,
    operation: Overridable,
    sample: Sample,
    index: int,
    shape: Shape,
    known: dict[str, TypeCall],
    ways: int | None,
) -> Iterator[TypeCall]:
    """Yield calls with an instance of fixed shape: in every place, else in each place where the call is valid.

    Many samples become the same call, which is made once and is `known` from then on. So many `ways` to fit a sample
    to the instance are tried.
    """
    everywhere = range(len(sample.arrays(operation.parameters)))
    # An index is made for the array of the sample, and is no instance.
    if not everywhere:
        return
    for seats in (None, *((seat,) for seat in everywhere)):
        places: Collection[int] = everywhere
        if seats is not None:
            places = seats
        samples = islice(fitted_samples(operation, sample, shape, seats), ways)
        make = partial(TypeCall, operation, subject=subject, seats=places, index=index)
        keys = ((f"{seats} {variant}", variant) for variant in samples)
        calls = (known.get(key) or known.setdefault(key, make(variant)) for key, variant in keys)
        valid = next(filter(TypeCall.is_valid, calls), None)
        if valid is not None:
            yield valid
            if seats is None:
                return

"""Samples of a type whose calls coverage counts, and these calls: in place of each array, and of all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from dispatchkit.declare.samples import Draw, Sample
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.overridable import Dispatcher, Overridable
from dispatchkit.protocol.parameters import Form
from dispatchkit.testing.calls import Call, Operand, Shape, content_of, fitted_samples, generic_samples, placements
from dispatchkit.testing.instances import anew, drawn, is_strategy


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
        self.make: Callable[[], Any]
        if made_by_call:
            self.make = given
        else:
            self.make = partial(anew, given)
        value = self.make()
        self.cls = type(value)
        if not protocol.types.participates(self.cls):
            raise TypeError(
                f"coverage: a sample must be an instance of an array type, or a function without arguments that makes "
                f"one; found {value!r}"
            )
        self.to_dense = _dense_maker(protocol, self.cls)
        described = value
        if self.to_dense is not None:
            try:
                described = self.to_dense(value)
            except Exception:  # noqa: BLE001  # a type may refuse it: a length in metres has no plain number
                self.to_dense = None
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
        dtype = ""
        if self.dtype != np.float64:
            dtype = f" {self.dtype}"
        return f"{type_name(self.cls)}{list(self.shape)}{dtype}"

    def plain(self) -> Any:
        """Return the plain tensor of the same values; one of the same shape and dtype where there is no dense form."""
        return anew(self._plain)

    @cached_property
    def _plain(self) -> Any:
        if self.to_dense is not None:
            return self.to_dense(self.make())
        drawn = Draw(self.shape, content=content_of(self.dtype)).make(np.random.default_rng(0))
        return self.protocol.types.wrap(np.asarray(drawn, dtype=self.dtype))

    def operand(self, own: bool) -> Operand:
        """Return this sample as an argument."""
        return Operand(own, self.make, self.plain, self.text, has_values=self.to_dense is not None)


def samples_of(protocol: DispatchProtocol, given: Any) -> list[TypeSample]:
    """Return the sample that is given, or those that a strategy of Hypothesis gives."""
    if is_strategy(given):
        instances = drawn(given, lambda value: TypeSample(protocol, value).plain())
    else:
        instances = [given]
    return [TypeSample(protocol, instance) for instance in instances]


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


def sample_calls(operation: Overridable, subject: TypeSample, companions: Sequence[TypeSample] = ()) -> list[Call]:
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
    calls: dict[str, Call] = {}
    refused: set[str] = set()
    operand, others = subject.operand(own=True), [companion.operand(own=False) for companion in companions]
    for sample in getattr(operation, "samples", []) or generic_samples(operation, subject.shape, subject.dtype):
        for roles in _roles(operation, sample, operand, others):
            for call in _calls_that_fit(operation, sample, subject.shape, roles):
                if call.text in calls:
                    break
                if call.text not in refused and call.is_valid():
                    calls[call.text] = call
                    break
                refused.add(call.text)
    for call in _with_other_keywords(operation, list(calls.values())):
        calls.setdefault(call.text, call)
    return list(calls.values())


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
    single = {p.name for p in operation.parameters.arrays if p.form in (Form.ONE, Form.LOOSE)}
    scalars = all(name in single for name, _ in arrays)
    others: list[Role] = [base, np.ndarray]
    if scalars:
        others.append(float)
    others += companions
    yield from placements(len(arrays), own, others)


def _calls_that_fit(operation: Overridable, sample: Sample, shape: Shape, roles: tuple[Role, ...]) -> Iterator[Call]:
    """Yield ways to fit a sample to the shape of the subject, the likeliest first."""
    seats = [place for place, role in enumerate(roles) if isinstance(role, Operand) and role.own]
    alone = len(seats) == len(roles)
    for fitted in fitted_samples(operation, sample, shape, None if alone else seats, unnamed=alone):
        arrays = zip(roles, fitted.arrays(operation.parameters), strict=True)
        yield Call(operation, fitted, tuple(_operand(operation.protocol, role, drawn) for role, (_, drawn) in arrays))


def _operand(protocol: Dispatcher, role: Role, described: Any) -> Operand:
    """Return what stands at an array: of a type of plain arrays or numbers one of its shape and elements."""
    if isinstance(role, Operand):
        return role
    if role is float:
        array = np.asarray(_elements(described, ()))
        number = 1.0
        if array.size:
            number = array.flat[0].item()
        return Operand(False, lambda: number, lambda: number, repr(number))
    array = np.asarray(_elements(described, described.shape))
    wrap = protocol.types.wrap

    def wrapped() -> Any:
        return wrap(array.copy())

    make: Callable[[], Any] = wrapped
    if role is np.ndarray:
        make = array.copy
    dtype = ""
    if array.dtype != np.float64:
        dtype = f" {array.dtype}"
    return Operand(False, make, make, f"{role.__name__}{list(array.shape)}{dtype}")


def _elements(described: Any, shape: Shape) -> Any:
    """Return the elements of an array, the same at every run."""
    if not isinstance(described, Draw):
        return described
    content = described.content
    if content == "definite" and not shape:
        content = "real"
    return replace(described, shape=shape, content=content).make(np.random.default_rng(1))


def _with_other_keywords(operation: Overridable, calls: Sequence[Call]) -> Iterator[Call]:
    """Yield a call with each keyword that none of the calls has: with another value than the default, else with it."""
    used = {name for call in calls for name in call.sample.kwargs}
    for p in operation.parameters.signature.parameters.values():
        if p.default is p.empty or p.name in used or p.kind is p.POSITIONAL_ONLY:
            continue
        for value, call in product([*OTHER_VALUES.get(p.name, ()), p.default], calls):
            other = replace(call, sample=replace(call.sample, kwargs={**call.sample.kwargs, p.name: value}))
            if other.is_valid():
                yield other
                break

"""Valid calls of an operation with instances of a type, made from the calls that its declaration states.

A declared sample says which arguments are arrays, of what shapes, and gives the others. An instance takes the place of
one array or of all; the shapes of the rest follow, by carrying the lengths of the sample's axes over to the instance's.
What comes of it is a call if plain tensors take it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from dispatchkit.declare.samples import Draw, Sample
from dispatchkit.protocol.overridable import Dispatcher, Overridable
from dispatchkit.protocol.parameters import Form
from dispatchkit.report.coverage.operands import Call, Operand, Shape, Subject, content_of

__all__ = ["calls_of", "generic_samples"]

# Values other than the default for keywords that the declared samples leave out.
OTHER_VALUES: dict[str, tuple[Any, ...]] = {
    "dtype": (np.dtype(np.float64), np.dtype(np.complex128)),
    "device": ("cpu",),
    "keepdims": (True,),
}

# Arguments other than arrays that have to fit the shape of the instance.
ADAPTED = {"shape", "axes"}


def calls_of(operation: Overridable, subject: Subject, companions: Sequence[Subject] = ()) -> list[Call]:
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
    for sample in getattr(operation, "samples", []) or generic_samples(operation, subject.shape, subject.dtype):
        for roles in _roles(operation, sample, companions):
            for call in _fitted(operation, sample, subject, roles):
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


def generic_samples(operation: Overridable, shape: Shape, dtype: Any) -> list[Sample]:
    """Return a call of a function that states none: arrays of one shape for what must be given."""
    x = Draw(shape, content=content_of(dtype))
    by_form = {Form.ONE: x, Form.LOOSE: x, Form.STAR: x, Form.SEQUENCE: [x], Form.INDEX: ...}
    forms = {p.name: p.form for p in operation.parameters.arrays}
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for p in operation.parameters.signature.parameters.values():
        if p.default is not p.empty or p.kind is p.VAR_KEYWORD:
            continue
        if p.name not in forms:
            return []
        if p.kind is p.KEYWORD_ONLY:
            kwargs[p.name] = by_form[forms[p.name]]
        else:
            args.append(by_form[forms[p.name]])
    return [Sample(tuple(args), kwargs)]


# Who stands at one array of a call: None for the subject, a companion, or a type of plain array or number.
Role: TypeAlias = "Subject | type | None"


def _roles(operation: Overridable, sample: Sample, companions: Sequence[Subject]) -> Iterator[tuple[Role, ...]]:
    """Yield who stands at the arrays of a sample: the subject at all, then at each with others at the rest."""
    arrays = sample.arrays(operation.parameters)
    base = operation.protocol.types.base
    if not arrays or base is None:
        return
    yield (None,) * len(arrays)
    if len(arrays) == 1:
        return
    single = {p.name for p in operation.parameters.arrays if p.form in (Form.ONE, Form.LOOSE)}
    scalars = all(name in single for name, _ in arrays)
    others: list[Role] = [base, np.ndarray, *([float] if scalars else []), *companions]
    for other in others:
        for place in range(len(arrays)):
            yield tuple(None if index == place else other for index in range(len(arrays)))


def _fitted(operation: Overridable, sample: Sample, subject: Subject, roles: tuple[Role, ...]) -> Iterator[Call]:
    """Yield ways to fit a sample to the shape of the subject, the likeliest first."""
    arrays = sample.arrays(operation.parameters)
    own = arrays[roles.index(None)][1]
    carried = _lengths(tuple(own.shape), subject.shape)
    reshapes: list[Callable[[Shape], Shape]] = [carried.shape]
    if any(isinstance(role, type) for role in roles):
        reshapes += [lambda shape: subject.shape, tuple]
    adapts: list[Callable[[str, Any], Any]] = [_unchanged]
    names = {*_positional_names(operation, len(sample.args)), *sample.kwargs}
    if names & ADAPTED:
        adapts = [carried.argument, _unchanged, partial(_by_name, subject.shape)]
    for reshape in reshapes:
        for adapt in adapts:
            yield _with_operands(operation, sample, subject, roles, reshape, adapt)


@dataclass(frozen=True)
class _Lengths:
    """How lengths of axes in a sample are carried over to an instance."""

    of: dict[int, int]

    def shape(self, shape: Shape) -> Shape:
        return tuple(self.of.get(n, n) for n in shape)

    def argument(self, name: str, value: Any) -> Any:
        if name != "shape":
            return value
        if isinstance(value, (list, tuple)):
            return type(value)(self.of.get(n, n) for n in value)
        return self.of.get(value, value) if isinstance(value, int) else value


def _lengths(shape: Shape, found: Shape) -> _Lengths:
    lengths = {math.prod(shape): math.prod(found)}
    lengths.update(zip(reversed(shape), reversed(found), strict=False))
    return _Lengths(lengths)


def _unchanged(name: str, value: Any) -> Any:
    return value


def _by_name(shape: Shape, name: str, value: Any) -> Any:
    """Return a value that an argument of this name can have for any array of this shape."""
    if name == "axes" and isinstance(value, (list, tuple)):
        return tuple(reversed(range(len(shape))))
    if name != "shape":
        return value
    return shape if isinstance(value, (list, tuple)) else -1


def _with_operands(
    operation: Overridable,
    sample: Sample,
    subject: Subject,
    roles: Sequence[Role],
    reshape: Callable[[Shape], Shape],
    adapt: Callable[[str, Any], Any],
) -> Call:
    """Return the call of a sample with operands for its arrays."""
    protocol = operation.protocol
    waiting = iter(roles)

    def operand(name: str, value: Any) -> Any:
        if not isinstance(value, (Draw, np.ndarray)):
            return value
        role = next(waiting)
        if role is None or isinstance(role, Subject):
            return (role or subject).operand(own=role is None)
        if isinstance(value, Draw):
            value = replace(value, shape=reshape(value.shape))
        return _other_operand(protocol, role, value)

    args, kwargs = operation.parameters.replace(sample.args, sample.kwargs, operand)
    names = _positional_names(operation, len(args))
    args = tuple(_adapted(adapt, name, arg) for name, arg in zip(names, args, strict=True))
    return Call(operation, args, {name: _adapted(adapt, name, arg) for name, arg in kwargs.items()})


def _positional_names(operation: Overridable, count: int) -> list[str]:
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    names = [p.name for p in operation.parameters.signature.parameters.values() if p.kind not in kinds]
    return [names[min(index, len(names) - 1)] for index in range(count)]


def _adapted(adapt: Callable[[str, Any], Any], name: str, value: Any) -> Any:
    members = value if isinstance(value, (list, tuple)) else (value,)
    return value if any(isinstance(member, Operand) for member in members) else adapt(name, value)


def _other_operand(protocol: Dispatcher, cls: type, described: Any) -> Operand:
    """Return a plain tensor, a NumPy array or a number as an argument."""
    array = np.asarray(_drawn(described, ()) if cls is float else _drawn(described, described.shape))
    if cls is float:
        number = array.flat[0].item() if array.size else 1.0
        return Operand(repr(number), False, type(number), lambda: number, lambda: number)
    make: Callable[[], Any] = array.copy if cls is np.ndarray else partial(_tensor_of, protocol, array)
    dtype = "" if array.dtype == np.float64 else f" {array.dtype}"
    return Operand(f"{cls.__name__}{list(array.shape)}{dtype}", False, cls, make, make)


def _tensor_of(protocol: Dispatcher, array: Any) -> Any:
    return protocol.types.wrap(array.copy())


def _drawn(described: Any, shape: Shape) -> Any:
    """Return the elements of an array, the same at every run; no matrix is positive definite that is not square."""
    if not isinstance(described, Draw):
        return described
    square = len(shape) > 1 and shape[-1] == shape[-2]
    content = "real" if described.content == "definite" and not square else described.content
    return replace(described, shape=shape, content=content).make(np.random.default_rng(1))


def _with_other_keywords(operation: Overridable, calls: Sequence[Call]) -> Iterator[Call]:
    """Yield a call with each keyword that none of the calls has: with another value than the default, else with it."""
    used = {name for call in calls for name in call.kwargs}
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
            given: Mapping[str, Any] = {**call.kwargs, parameter.name: value}
            yield Call(call.operation, call.args, dict(given))

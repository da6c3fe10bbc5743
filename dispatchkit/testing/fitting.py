"""Declared calls fitted to an instance, and varied: shapes of the other arrays, arguments that name lengths or axes.

A declared sample says which arguments are arrays, of what shapes, and gives the others. Where an instance takes the
place of one array, the lengths of that array's axes are carried over to the instance's. What comes of it is a call if
plain tensors take it.

Further values are a negative axis, the last of several, an index that counts from the end, a flag the other way round:
what declared samples leave out, and where handlers of structured types go wrong. Others are mistaken.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dispatchkit.declare.samples import Draw, Sample
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form

__all__ = ["content_of", "fitted", "generic_samples", "mistakes", "variations"]

# Arguments other than arrays that have to fit the shape of the instance.
ADAPTED = {"shape", "axes"}
AXES = {"axis", "axes", "dim", "source", "destination"}
MOST = 10  # variations of a call


def fitted(
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
    own = sample.arrays(operation.parameters)[0 if seats is None else min(seats)][1]
    carried = _lengths(tuple(own.shape), shape)
    alike = _with_shapes(sample, lambda _: shape)
    arrays = [alike] if seats is None else [_with_shapes(sample, _carried_by(carried)), alike, sample]
    for one in arrays:
        names = {*_positional_names(operation, len(one.args)), *one.kwargs}
        if names & ADAPTED:
            yield _with_arguments(operation, one, lambda name, value: _carried(carried, name, value))
        yield one
        if names & ADAPTED:
            yield _with_arguments(operation, one, lambda name, value: _by_name(shape, name, value))
    last = [*sample.args[1:], *sample.kwargs.values()][-1:] if unnamed else []
    if last and not isinstance(last[0], (Draw, np.ndarray)):
        count = len(shape)
        for value in ((-1,), shape, tuple(reversed(range(count))), (2,) * count, -1, 0):
            yield _with_last(arrays[0], value)


def generic_samples(
    operation: Overridable, shape: tuple[int, ...], dtype: Any, *, guessed: bool = False
) -> list[Sample]:
    """Return a call of a function that states none: arrays of one shape for what must be given.

    Of what is no array nothing is known: there is no call, or where it is to be guessed, one with None.
    """
    x = Draw(shape, content=content_of(dtype))
    by_form = {Form.ONE: x, Form.LOOSE: x, Form.STAR: x, Form.SEQUENCE: [x], Form.INDEX: ...}
    forms = {p.name: p.form for p in operation.parameters.arrays}
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for p in operation.parameters.signature.parameters.values():
        if p.default is not p.empty or p.kind is p.VAR_KEYWORD:
            continue
        if p.name not in forms and not guessed:
            return []
        value = by_form[forms[p.name]] if p.name in forms else None
        if p.kind is p.KEYWORD_ONLY:
            kwargs[p.name] = value
        else:
            args.append(value)
    return [Sample(tuple(args), kwargs)]


def content_of(dtype: Any) -> Any:
    """Return what elements a dtype holds, in the words of `Draw`."""
    return {"c": "complex", "i": "integer", "u": "integer", "b": "boolean"}.get(getattr(dtype, "kind", "f"), "real")


def _lengths(shape: Sequence[int], found: Sequence[int]) -> dict[int, int]:
    """Return how lengths of axes in a sample are carried over to an instance."""
    return {math.prod(shape): math.prod(found), **dict(zip(reversed(shape), reversed(found), strict=False))}


def _carried_by(lengths: dict[int, int]) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    return lambda shape: tuple(lengths.get(n, n) for n in shape)


def _carried(lengths: dict[int, int], name: str, value: Any) -> Any:
    if name != "shape":
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(lengths.get(n, n) for n in value)
    return lengths.get(value, value) if isinstance(value, int) else value


def _by_name(shape: tuple[int, ...], name: str, value: Any) -> Any:
    """Return a value that an argument of this name can have for any array of this shape."""
    if name == "axes" and isinstance(value, (list, tuple)):
        return tuple(reversed(range(len(shape))))
    if name != "shape":
        return value
    return shape if isinstance(value, (list, tuple)) else -1


def _with_shapes(sample: Sample, change: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Sample:
    """Return a sample with its arrays of other shapes; no matrix is positive definite that is not square."""

    def deep(value: Any) -> Any:
        if isinstance(value, (list, tuple)) and any(isinstance(member, Draw) for member in value):
            return type(value)(map(deep, value))
        if not isinstance(value, Draw):
            return value
        shape = change(value.shape)
        square = len(shape) > 1 and shape[-1] == shape[-2]
        return replace(
            value, shape=shape, content="real" if value.content == "definite" and not square else value.content
        )

    return replace(
        sample, args=tuple(map(deep, sample.args)), kwargs={name: deep(value) for name, value in sample.kwargs.items()}
    )


def _with_arguments(operation: Overridable, sample: Sample, change: Callable[[str, Any], Any]) -> Sample:
    """Return a sample with other arguments than arrays."""

    def changed(name: str, value: Any) -> Any:
        members = value if isinstance(value, (list, tuple)) else (value,)
        return value if any(isinstance(one, (Draw, np.ndarray)) for one in members) else change(name, value)

    names = _positional_names(operation, len(sample.args))
    args = tuple(changed(name, arg) for name, arg in zip(names, sample.args, strict=True))
    return replace(sample, args=args, kwargs={name: changed(name, arg) for name, arg in sample.kwargs.items()})


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
        return [ndim, -ndim - 1] if p.name == "axis" and not isinstance(given, (tuple, list)) else []

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
        given = bound.arguments.get(p.name, p.default)
        for value in values(p, given):
            if count < most and (value is not given and repr(value) != repr(given)):
                count += 1
                changed = inspect.BoundArguments(signature, bound.arguments.copy())
                changed.arguments[p.name] = value
                ordered = {name: changed.arguments[name] for name in signature.parameters if name in changed.arguments}
                changed = inspect.BoundArguments(signature, ordered)
                yield replace(sample, args=changed.args, kwargs=changed.kwargs)


def _values(p: inspect.Parameter, given: Any, ndim: int) -> list[Any]:
    """Return values for an argument, by what it is called and what it is."""
    if p.name in AXES and (given is None or isinstance(given, (int, tuple))):
        several = [(0, -1)] if ndim > 1 else [(0,)]
        return [-1, 0, -ndim, *(several if not isinstance(given, int) or p.name == "axis" else [])]
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

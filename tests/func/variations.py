"""Calls like those that an operation states, with other shapes: drawn lengths, further axes in front, broadcasting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dispatchkit.declare.call_errors import BACKEND_ERRORS
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Draw, Sample
from dispatchkit.protocol.kinds import kinds

__all__ = ["Variation", "takes_floats", "variations", "varied"]


@dataclass(frozen=True)
class Variation:
    """How a stated call is changed.

    Attributes
    ----------
    lengths : for each length in the stated shapes, the one in its place
    front : axes put before those of every array
    ones : of the arrays in turn, which has its axes shortened to 1, to be broadcast against the others
    seed : of the numbers
    """

    lengths: Mapping[int, int]
    front: tuple[int, ...]
    ones: tuple[bool, ...]
    seed: int


@st.composite
def variations(draw: st.DrawFn) -> Variation:
    lengths = {old: draw(st.integers(1, 4), label=f"length for {old}") for old in (2, 3, 4)}
    front = draw(st.sampled_from([(), (), (2,), (1, 2)]))
    ones = draw(st.tuples(*[st.sampled_from([False, False, True])] * 3))
    return Variation(lengths, front, ones, draw(st.integers(0, 1000)))


def varied(entry: DeclaredOperation, sample: Sample, how: Variation) -> tuple[tuple[Any, ...], dict[str, Any], bool]:
    """Return arguments for a changed call, as far as the operation takes the changes, and whether it took any.

    A stated call may leave no room: its lengths may be tied to other arguments, its axes counted from the front. What
    NumPy warns of is not taken either: statistics of a single observation.
    """
    for changed in _changed(entry, sample, how):
        args, kwargs = changed.make(np.random.default_rng(how.seed))
        try:
            entry.function(*args, **kwargs)
        except (*BACKEND_ERRORS, RuntimeWarning):
            continue
        return args, kwargs, changed != sample
    raise AssertionError(f"{entry.qualified_name} does not take a call that it states: {sample}")


def _changed(entry: DeclaredOperation, sample: Sample, how: Variation) -> Iterator[Sample]:
    """Yield the sample with all changes, with fewer of them, with none."""
    if entry.kind.family is kinds.elementwise:
        yield _with_shapes(sample, how.lengths, how.front, how.ones)
    yield _with_shapes(sample, how.lengths, how.front)
    yield _with_shapes(sample, how.lengths, ())
    yield _with_shapes(sample, {}, how.front)
    yield sample


def _with_shapes(
    sample: Sample, lengths: Mapping[int, int], front: tuple[int, ...], ones: tuple[bool, ...] = ()
) -> Sample:
    shorten = iter(ones)

    def other(value: Any) -> Any:
        if isinstance(value, Draw):
            shape = value.shape if 0 in value.shape else tuple(lengths.get(n, n) for n in value.shape)
            return replace(value, shape=front + (tuple(1 for _ in shape) if next(shorten, False) else shape))
        if isinstance(value, (list, tuple)) and any(isinstance(member, Draw) for member in value):
            return type(value)(map(other, value))
        return value

    kwargs = {name: other(value) for name, value in sample.kwargs.items()}
    return replace(sample, args=tuple(map(other, sample.args)), kwargs=kwargs)


def takes_floats(sample: Sample, entry: DeclaredOperation) -> bool:
    """Return whether a stated call has an array to differentiate by."""
    args, kwargs = sample.make(np.random.default_rng(0))
    return any(isinstance(v, np.ndarray) and v.dtype.kind == "f" for _, v in entry.parameters.values(args, kwargs))

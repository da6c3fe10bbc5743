"""What an uncertain array depends on before it is asked for, such as sums of other numbers.

A number that is computed notes the numbers that it was computed of and its derivatives by them, in as much time and
memory however many sources these have. Its own sources are added up when it is asked for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.tensor import Tensor
from dispatchkit.types.rules import array_of
from dispatchkit.types.uncertain_sources import DOUBLE, NONE, Sources, size_of_columns

new: Callable[[Any], Any] = object.__new__

# Sums that may wait below a number, besides as many again as it has sources twice over: so that what is kept alive
# grows no faster than the sources do, and to add up takes no more time for each sum than for each source.
WAITING = 64


class Waiting:
    """What the factor and the sources of an array are found from, and its numbers, where they wait, too."""

    __slots__ = ()

    def find_numbers(self) -> Any:
        """Return the numbers of an array that does not have them yet."""
        raise NotImplementedError

    def find(self, shape: tuple[int, ...]) -> tuple[Any, Sources]:
        """Return factor and sources of an array of a shape."""
        raise NotImplementedError


class FoundNumbers:
    """The numbers of an uncertain array, which are kept in the instance, of what an index chose once they are asked."""

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        attributes = instance.__dict__
        waiting = attributes.get("_waiting")
        if waiting is not None:
            return attributes.setdefault("data", waiting.find_numbers())
        if "data" not in attributes:  # another thread may have put them there meanwhile
            raise AttributeError(f"{owner.__name__} object has no attribute 'data'")
        return attributes["data"]


class Found:
    """An attribute of uncertain numbers that is found when it is first asked for, and kept in the instance."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        attributes = instance.find_out()
        if self.name not in attributes:
            raise AttributeError(f"{owner.__name__} object has no attribute {self.name!r}")
        return attributes[self.name]


# A slope, and what it is by: a sum, with None, or ids of sources with the derivatives by them.
Term = tuple[float, Any, list[float] | None]


class Sum(Waiting):
    """One number as a sum of others, each times a slope.

    Attributes
    ----------
    terms : slope, and another sum with None, or the ids of sources and the derivatives by each of these. To replace
        them is one step, so that other threads find the sum either as it was or added up
    depth : greater than those of the sums in it
    waiting : number of sums to add up, one that is met twice counted twice
    size : a number of sources that it has at least, unless some cancel
    """

    __slots__ = ("depth", "size", "terms", "waiting")

    def __init__(self, terms: tuple[Term, ...]) -> None:
        self.terms = terms
        depth, waiting, size = 0, 1, 0
        for _, part, slopes in terms:
            if slopes is None:
                waiting += part.waiting
                if part.depth >= depth:
                    depth = part.depth + 1
                least = part.size
            else:
                least = len(slopes)
            if least > size:  # noqa: PLR1730  # in half of the time of `max`
                size = least
        self.depth, self.waiting, self.size = depth, waiting, size
        if waiting > WAITING + 2 * size:
            self.add_up()

    def as_part(self) -> tuple[Any, list[float] | None]:
        """Return what another sum holds of this one: its sources, if they are known."""
        slope, part, slopes = self.terms[0]
        if slopes is not None and len(self.terms) == 1 and slope == 1:
            return part, slopes
        return self, None

    def add_up(self) -> tuple[list[int], list[float]]:
        """Return the ids of all sources and the derivatives by each; the sums below are let go."""
        ids, slopes = self.as_part()
        if slopes is not None:
            return ids, slopes
        terms = self.terms
        total: dict[int, float] = {}
        if self.depth:
            for weight, part in _weighed(self, terms):
                _add_leaves(total, weight, part)
        else:
            _add_leaves(total, 1.0, terms)
        total.pop(NONE, None)
        ids, slopes = [*total], [*total.values()]
        self.terms = ((1.0, ids, slopes),)
        self.waiting, self.size = 0, len(ids)
        return ids, slopes

    def find(self, shape: tuple[int, ...]) -> tuple[Any, Sources]:
        ids, slopes = self.add_up()
        return wrap_array(Tensor, _column(slopes, DOUBLE, shape)), Sources(_column(ids, np.int64, shape))

    def std(self, shape: tuple[int, ...]) -> Any:
        """Return the standard deviation of an array of a shape, which holds one number."""
        return wrap_array(Tensor, size_of_columns(_column(self.add_up()[1], DOUBLE, shape)))


def _column(values: list[Any], dtype: Any, shape: tuple[int, ...]) -> Any:
    """Return a value for each source of a number in an array of a shape."""
    array = np.array(values, dtype)
    if shape:
        return array.reshape(-1, *shape)
    return array


def _weighed(top: Sum, terms: tuple[Term, ...]) -> list[tuple[float, tuple[Term, ...]]]:
    """Return the terms of a sum and of all below it, with its derivative by each sum."""
    # Terms are read once: another thread may add up a sum meanwhile.
    below, order = {top: terms}, [top]
    for node in order:
        for _, part, slopes in below[node]:
            if slopes is None and part not in below:
                below[part] = part.terms
                order.append(part)
    order.sort(key=attrgetter("depth"), reverse=True)
    weights = dict.fromkeys(order, 0.0)
    weights[top] = 1.0
    for node in order:
        weight = weights[node]
        for slope, part, slopes in below[node]:
            if slopes is None and weight and slope:  # what does not vary adds nothing, however steep the slope
                weights[part] += weight * slope
    return [(weights[node], below[node]) for node in order]


def _add_leaves(total: dict[int, float], weight: float, terms: tuple[Term, ...]) -> None:
    """Add the derivatives of the terms that are no sums, times a weight, to those by each source."""
    for slope, ids, slopes in terms:
        if slopes is None:
            continue
        scale = 0.0
        if weight and slope:
            scale = weight * slope
        for source, by in zip(ids, slopes, strict=True):
            part = 0.0
            if by and scale:
                part = scale * by
            if source in total:
                total[source] += part
            else:
                total[source] = part


def sum_of_numbers(result: Any, args: Sequence[Any], uncertain: Sequence[tuple[Any, Any]]) -> Sum | None:
    """Return what the one number that an elementwise function gives depends on; None where numbers have other shapes.

    Parameters
    ----------
    result : of the function, an array of NumPy
    args : its arguments, which the slopes read
    uncertain : slope and `UncertainTensor` of each uncertain one
    """
    shape, terms = result.shape, []
    for slope, x in uncertain:
        waiting = getattr(x, "_waiting", None)  # rather than `__dict__`, which Python makes when it is first asked for
        if type(waiting) is not Sum:
            part = term_of(x, shape)
        elif x.data.array.shape == shape:
            part = waiting.as_part()
        else:
            part = None
        if part is None:
            return None
        if type(slope) is not float:
            if callable(slope):
                slope = slope(numpy_namespace, result, *args)
            if type(slope) is not float:
                slope = float(slope.item() if isinstance(slope, np.ndarray) else slope)
        terms.append((slope, part[0], part[1]))
    return Sum(tuple(terms))


def term_of(x: Any, shape: tuple[int, ...]) -> tuple[Any, list[float] | None] | None:
    """Return what a number of a shape depends on whose sources are known, in double precision: the end of a term."""
    array = array_of(x.factor)
    if array is None or array.dtype is not DOUBLE or array.shape[1:] != shape or x.sources.ids.ndim != array.ndim:
        return None
    return x.sources.listed(), array.ravel().tolist()

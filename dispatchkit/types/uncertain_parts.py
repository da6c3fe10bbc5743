"""Elements of uncertain arrays that an index chose or an operation moved, before anything of them is asked for.

All that is done at once is to choose or move the numbers: a view of their array, of which the tensor is made later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import Any

import numpy as np

from dispatchkit import ops
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.graph.recording import set_grad_enabled
from dispatchkit.protocol.overridable import of
from dispatchkit.tensor import Tensor
from dispatchkit.types.levels import BASIC, MOVING
from dispatchkit.types.rules import array_of
from dispatchkit.types.uncertain_sources import Sources, move_parts
from dispatchkit.types.uncertain_sums import Waiting

new: Callable[[Any], Any] = object.__new__
ndarray = np.ndarray

# What moves elements into a view, where the memory allows one.
SHOWING: dict[Any, Any] = {op: of(op) for op in MOVING - {ops.roll, ops.flatten}}
INTEGER = frozenset({int})
# What NumPy raises of an index that does not fit.
REFUSALS = (IndexError, ValueError, TypeError)


class ShownPart(Waiting):
    """Elements of another array, which a view of its numbers shows.

    Attributes
    ----------
    numbers, factor, sources : of the other array; the numbers and the factor were tensors outside the graph
    array : the view of the array of the numbers, which is NumPy's
    """

    __slots__ = ("array", "factor", "numbers", "sources")

    array: Any
    factor: Any
    numbers: Any
    sources: Sources

    def show(self) -> Any:
        """Return the view of the numbers as a tensor."""
        raise NotImplementedError

    def find_numbers(self) -> Any:
        numbers, array = self.numbers, self.array
        if not np.may_share_memory(array, numbers.array):  # as they were given other contents since
            return wrap_array(Tensor, array)
        if numbers._node is None:
            return self.show()
        # An assignment to them was recorded since, or they became a leaf, which an earlier view is outside of.
        with set_grad_enabled(not numbers.is_leaf):
            return self.show()


class ChosenPart(ShownPart):
    """Elements of another array, by an index without arrays.

    Attributes
    ----------
    key : the index
    """

    __slots__ = ("key",)

    key: Any

    def show(self) -> Any:
        return self.numbers[self.key]

    def find(self, shape: tuple[int, ...]) -> tuple[Any, Sources]:
        return choose(self.factor, self.sources, self.key)


class MovedPart(ShownPart):
    """Elements of another array in other places.

    Attributes
    ----------
    op, args : the operation that moves them, and its other arguments
    """

    __slots__ = ("args", "op")

    args: tuple[Any, ...]
    op: Any

    def show(self) -> Any:
        return self.op(self.numbers, *self.args)

    def find(self, shape: tuple[int, ...]) -> tuple[Any, Sources]:
        return move_parts(self.op, self.factor, self.sources, self.args, {})


class OnePart(Waiting):
    """One of the parts of an array along its first axis.

    Attributes
    ----------
    whole : all numbers of the array, in its own place
    place : along the axis
    """

    __slots__ = ("place", "whole")

    place: int
    whole: ShownPart

    def find_numbers(self) -> Any:
        whole, chosen = self.whole, new(ChosenPart)
        chosen.numbers, chosen.array, chosen.key = whole.numbers, whole.array[self.place, ...], self.place
        return chosen.find_numbers()

    def find(self, shape: tuple[int, ...]) -> tuple[Any, Sources]:
        return choose(self.whole.factor, self.whole.sources, self.place)


class CopiedPart(Waiting):
    """Elements that an array of places chose, which are copied with all that is theirs.

    Attributes
    ----------
    numbers, factor, ids : arrays of NumPy, of which the last are those of the sources
    """

    __slots__ = ("factor", "ids", "numbers")

    factor: Any
    ids: Any
    numbers: Any

    def find_numbers(self) -> Any:
        return wrap_array(Tensor, self.numbers)

    def find(self, shape: tuple[int, ...]) -> tuple[Any, Sources]:
        return wrap_array(Tensor, self.factor), Sources(self.ids)


def choose(factor: Any, sources: Sources, key: Any) -> tuple[Any, Sources]:
    """Return factor and sources of the elements at an index."""
    place: tuple[Any, ...] = (slice(None), *key) if type(key) is tuple else (slice(None), key)
    raw = place
    if Tensor in map(type, place):
        raw = tuple([np.asarray(part) if type(part) is Tensor else part for part in place])
    if sources.ids.ndim == factor.ndim:
        sources = Sources(sources.ids[raw])
    array = array_of(factor)
    if array is None or (raw is place and ndarray not in map(type, place)):
        return factor[place], sources
    return wrap_array(Tensor, array[raw]), sources  # a copy, as an array in an index makes


def choose_part(x: Any, key: Any, /) -> Any:
    """Return elements of an uncertain array, by an index without arrays or by one array.

    Of an index without arrays nothing is done at once but to look whether it fits, where the numbers are plain; an
    array of places makes copies of everything.
    """
    numbers, factor = x.data, x.factor
    if not (type(numbers) is type(factor) is Tensor and type(a := numbers.array) is type(factor.array) is ndarray):
        return _choose_now(x, key)
    if numbers._node is not None or factor._node is not None:
        return _choose_now(x, key)
    kind = type(key)
    if kind not in BASIC and kind is not tuple:
        return _take(x, a, factor.array, key)
    try:
        array = a[key, ...] if kind is int else a[key]
    except REFUSALS:
        return numbers[key]  # which says so
    if type(array) is not ndarray:
        array = a[(*key, ...)]  # a number
    chosen = new(type(x))
    # Without a constructor, which takes a tenth of the time of all of this.
    chosen._waiting = waiting = new(ChosenPart)
    waiting.numbers, waiting.factor, waiting.sources = numbers, factor, x.sources
    waiting.key, waiting.array = key, array
    return chosen


def _choose_now(x: Any, key: Any) -> Any:
    """Return elements with what is theirs."""
    part = new(type(x))
    part.data = x.data[key]
    part.factor, part.sources = choose(x.factor, x.sources, key)
    return part


def _take(x: Any, numbers: Any, factor: Any, key: Any) -> Any:
    """Return the elements that an array of places chooses."""
    places, ids = key, x.sources.ids
    if type(key) is Tensor:
        places = key.array
    if type(places) is not ndarray or ids.ndim != factor.ndim or not numbers.ndim:
        return _choose_now(x, key)
    try:
        elements = numbers[places]
    except REFUSALS:
        return x.data[key]  # which says so
    if type(elements) is not ndarray:
        return _choose_now(x, key)
    taken = new(type(x))
    taken._waiting = waiting = new(CopiedPart)
    waiting.numbers = elements
    if len(factor) == 1:  # in less than a third of the time of an index of two axes
        waiting.factor, waiting.ids = factor[0][places][None], ids[0][places][None]
    else:
        waiting.factor, waiting.ids = factor[:, places], ids[:, places]
    return taken


def move_later(op: Any, x: Any, args: tuple[Any, ...]) -> Any:
    """Return elements of an uncertain array that an operation moves; None where nothing of them can wait.

    Parameters
    ----------
    op : moves elements
    x : uncertain array
    args : the other arguments of the operation
    """
    numbers, factor, operation = x.data, x.factor, SHOWING.get(op)
    if not (type(numbers) is type(factor) is Tensor and type(a := numbers.array) is type(f := factor.array) is ndarray):
        return None
    if operation is None or numbers._node is not None or factor._node is not None or not len(f):
        return None
    for arg in args:
        if type(arg) is not int and not (type(arg) is tuple and INTEGER.issuperset(map(type, arg))):
            return None
    try:
        array = operation.implementation.on_numpy(a, *args)
    except Exception:  # noqa: BLE001  # said where it is done again
        return None
    # A copy waits for nothing, nor does what may be one of a factor that can be written to.
    if type(array) is not ndarray or (array.base is not a and (a.base is None or array.base is not a.base)):
        return None
    flags = f.flags
    if flags.writeable and not flags.c_contiguous:
        return None
    moved = new(type(x))
    moved._waiting = waiting = new(MovedPart)
    waiting.numbers, waiting.factor, waiting.sources = numbers, factor, x.sources
    waiting.op, waiting.args, waiting.array = op, args, array
    return moved


def rows_of_parts(x: Any) -> Iterator[Any]:
    """Return the parts of an uncertain array along its first axis, one after the other."""
    cls, waiting = type(x), getattr(choose_part(x, ...), "_waiting", None)
    if type(waiting) is ChosenPart:
        return _rows_later(cls, waiting, len(waiting.array))
    ids, factors = x.sources.ids, iter(ops.permute_dims(x.factor, (1, 0, *range(2, x.factor.ndim))))
    if ids.ndim < x.factor.ndim:
        sources: Iterable[Any] = repeat(x.sources)
    else:
        sources = map(Sources, np.moveaxis(ids, 1, 0))
    return _rows_at_once(cls, zip(x.data, factors, sources, strict=False))


def _rows_later(cls: Any, whole: ShownPart, count: int) -> Iterator[Any]:
    for place in range(count):
        part = new(cls)
        part._waiting = row = new(OnePart)
        row.whole, row.place = whole, place
        yield part


def _rows_at_once(cls: Any, rows: Iterable[tuple[Any, Any, Any]]) -> Iterator[Any]:
    for row in rows:
        part = new(cls)
        part.data, part.factor, part.sources = row
        yield part

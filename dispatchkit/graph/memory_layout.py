"""Where the elements of NumPy arrays lie in memory, and which elements of two arrays are the same.

Views of one another differ in their layouts alone, however they were made.
"""

from __future__ import annotations

import weakref
from itertools import starmap
from typing import Any

import numpy as np

__all__ = ["Layout", "shared_elements"]

Indices = np.ndarray[Any, np.dtype[np.int64]]


class Layout:
    """Where the elements of an array lie.

    Parameters
    ----------
    array : looked at once; it is not kept alive

    Attributes
    ----------
    array : weak reference to the array
    shape, strides, itemsize : of the array
    size : number of elements
    address : of the first element
    low, high : lowest address of the elements, and the one after the last of their bytes
    """

    __slots__ = ("address", "array", "high", "itemsize", "low", "shape", "size", "strides")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = weakref.ref(array)
        self.shape = array.shape
        self.strides = array.strides
        self.itemsize = array.itemsize
        self.size = array.size
        self.address = low = high = array.__array_interface__["data"][0]
        for stride, n in zip(self.strides, self.shape, strict=True):
            if stride < 0:
                low += stride * (n - 1)
            else:
                high += stride * (n - 1)
        self.low, self.high = low, high + self.itemsize

    @property
    def decodable(self) -> bool:
        """Whether an address determines the index: each axis steps over all that the axes of smaller steps reach.

        So it is for every array that owns its memory, and for what indexing and reordering axes make of such an array.
        """
        reach = self.itemsize - 1
        for stride, n in sorted(starmap(_ascending, zip(self.strides, self.shape, strict=True))):
            if n > 1:
                if stride <= reach:
                    return False
                reach += stride * (n - 1)
        return True

    def apart_from(self, other: Layout) -> bool:
        """Return whether no element of another array can be one of this one, as the bounds show."""
        return self.size == 0 or other.size == 0 or self.high <= other.low or other.high <= self.low

    def covers(self, other: Layout) -> bool:
        """Return whether all elements of another array are elements of this one, which is decodable."""
        if other.size == 0:
            return True
        if other.low < self.low or other.high > self.high:
            return False
        # What fills its bounds without a gap holds every element within them.
        if self.high - self.low == self.size * self.itemsize and self._in_step(other):
            return True
        return bool((self.find(other.addresses()) >= 0).all())

    def _in_step(self, other: Layout) -> bool:
        """Return whether the elements of another array lie at whole numbers of elements from those of this one."""
        itemsize = self.itemsize
        for stride in other.strides:
            if stride % itemsize:
                return False
        return bool((other.low - self.low) % itemsize == 0)

    def addresses(self) -> Indices:
        """Return the address of each element, in the order of a flattened array."""
        found = np.full((1,) * len(self.shape), self.address, dtype=np.int64)
        for axis, (n, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            steps = np.arange(n, dtype=np.int64) * stride
            found = found + steps.reshape((-1,) + (1,) * (len(self.shape) - 1 - axis))
        return found.reshape(-1)

    def find(self, addresses: Indices) -> Indices:
        """Return the index, in the flattened array, of the element at each address; -1 where there is none."""
        if self.size == 0:
            return np.full(addresses.shape, -1, dtype=np.int64)
        rest = addresses - self.low
        inside = rest >= 0
        flat = np.zeros(addresses.shape, dtype=np.int64)
        weights = np.cumprod((1, *self.shape[:0:-1]))[::-1] if self.shape else ()
        axes = sorted(zip(self.strides, self.shape, weights, strict=True), key=lambda axis: -abs(axis[0]))
        for stride, n, weight in axes:
            if n > 1:
                index, rest = np.divmod(rest, abs(stride))
                inside &= index < n
                flat += weight * (index if stride > 0 else n - 1 - index)
        return np.where(inside & (rest == 0), flat, -1)


def _ascending(stride: int, n: int) -> tuple[int, int]:
    return abs(stride), n


def shared_elements(one: Layout, other: Layout) -> tuple[Indices, Indices]:
    """Return the indices, in the flattened arrays, of the elements that two arrays have in common.

    Parameters
    ----------
    one, other : of which at least one is decodable
    """
    if one.decodable and (one.size >= other.size or not other.decodable):
        there, here = _elements_in(one, other)
        return here, there
    return _elements_in(other, one)


def _elements_in(whole: Layout, part: Layout) -> tuple[Indices, Indices]:
    """Return the indices of common elements: in `part`, then in `whole`, which is decodable."""
    found = whole.find(part.addresses())
    inside = np.flatnonzero(found >= 0)
    return inside, found[inside]

"""Windows over images: where they lie along an axis, and images made longer so that all of them fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.typing import Namespace


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows along one axis.

    Attributes
    ----------
    length : of the axis
    kernel : elements of a window
    stride : from a window to the next
    dilation : from an element of a window to the next
    before, after : elements added at the ends of the axis
    count : of windows
    """

    length: int
    kernel: int
    stride: int
    dilation: int
    before: int
    after: int
    count: int

    @classmethod
    def along(cls, length: int, kernel: int, stride: int, dilation: int, before: int, after: int) -> Windows:
        """Return as many windows as fit; none or fewer where the axis is too short."""
        count = (length + before + after - dilation * (kernel - 1) - 1) // stride + 1
        return cls(length, kernel, stride, dilation, before, after, count)

    @property
    def total(self) -> int:
        """The length of the axis with what is added."""
        return self.before + self.length + self.after

    @property
    def reach(self) -> int:
        """The number of elements from the first of a window to its last."""
        return self.dilation * (self.kernel - 1) + 1

    @property
    def apart(self) -> bool:
        """Whether no two windows have an element in common."""
        return self.stride >= self.reach

    @property
    def dense(self) -> bool:
        """Whether a window begins at every element where one fits."""
        return self.stride == 1 and self.count == self.total - self.reach + 1

    @property
    def reversible(self) -> bool:
        """Whether each element of the axis lies in adjacent windows, of which some may be missing at the ends."""
        return self.stride == 1 and min(self.reversed().before, self.reversed().after) >= 0

    def reversed(self) -> Windows:
        """Return the windows over windows: for each element of the axis, those that it lies in, the last one first."""
        gap = self.dilation * (self.kernel - 1)
        before, after = gap - self.before, self.length + self.before - self.count
        return Windows(self.count, self.kernel, 1, self.dilation, before, after, self.length)

    def element(self, index: int) -> slice:
        """Return where one element of every window lies on the longer axis."""
        start = index * self.dilation
        return slice(start, start + self.stride * (self.count - 1) + 1, self.stride)

    def elements(self, x: Any, axis: int) -> list[Any]:
        """Return for each element of a window the part of an array that has it, along an axis counted from the end."""
        behind = (slice(None),) * (-1 - axis)
        return [x[..., self.element(i), *behind] for i in range(self.kernel)]


def places(rows: Windows, columns: Windows) -> Iterator[tuple[Any, slice, slice]]:
    """Yield for each element of a window the index that selects it in every window of images."""
    for i in range(rows.kernel):
        for j in range(columns.kernel):
            yield Ellipsis, rows.element(i), columns.element(j)


def padded(xp: Namespace, x: Any, rows: Windows, columns: Windows, value: Any = 0) -> Any:
    """Return images of shape (..., H, W) with a value around them; as they are where nothing is added."""
    if not (rows.before or rows.after or columns.before or columns.after):
        return x
    if xp is numpy_namespace:
        y = np.full((*x.shape[:-2], rows.total, columns.total), value, x.dtype)
        cropped(y, rows, columns)[...] = x
        return y
    for axis, windows in ((x.ndim - 1, columns), (x.ndim - 2, rows)):
        ends = [
            xp.full((*x.shape[:axis], n, *x.shape[axis + 1 :]), value, dtype=x.dtype)
            for n in (windows.before, windows.after)
        ]
        x = xp.concat([ends[0], x, ends[1]], axis=axis)
    return x


def cropped(x: Any, rows: Windows, columns: Windows) -> Any:
    """Return the images inside longer ones, a view."""
    if not (rows.before or rows.after or columns.before or columns.after):
        return x
    return x[..., rows.before : rows.before + rows.length, columns.before : columns.before + columns.length]


def summed_windows(
    xp: Namespace, parts: Any, shape: tuple[int, ...], dtype: Any, rows: Windows, columns: Windows
) -> Any:
    """Return images whose elements are sums of what the windows around them have in their place.

    Parameters
    ----------
    xp : namespace to compute with
    parts : for each place in a window, in the order of `places`, an array of shape (..., rows, columns) of windows
    shape, dtype : of the images
    rows, columns : the windows
    """
    lengths = (*shape[:-2], rows.total, columns.total)
    total = np.zeros(lengths, dtype) if xp is numpy_namespace else xp.zeros(lengths, dtype=dtype)
    for place, part in zip(places(rows, columns), parts, strict=True):
        if xp is numpy_namespace:
            total[place] += part
        else:
            total = xp.index_put(total, place, part, accumulate=True)
    return cropped(total, rows, columns)

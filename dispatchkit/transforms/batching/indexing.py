"""Rules for batches of indexing: each element of a batch may have indices of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.errors import TransformError
from dispatchkit.ops.shared.axes import normal_axis
from dispatchkit.transforms.batching.rules import Batch, ndim_of, rule_for

__all__: list[str] = []


@dataclass(frozen=True, slots=True)
class Selection:
    """An index that selects for the whole batch at once.

    Attributes
    ----------
    key : the index
    count : number of axes that the function's own index selects
    source, target : axes of what `key` selects, and where they belong, the batch being in front
    """

    key: tuple[Any, ...]
    count: int
    source: tuple[int, ...] = ()
    target: tuple[int, ...] = ()

    def ordered(self, y: Any) -> Any:
        """Return what was selected with its axes where the function expects them."""
        return xp.moveaxis(y, self.source, self.target) if self.source else y

    def arranged(self, batch: Batch, value: Any) -> Any:
        """Return a value to assign with its axes in the order of what `key` selects."""
        if not batch.holds(value) and not self.source:
            return value
        value = batch.cls(batch.front(value), batch.level)
        extra = len(value.shape) - self.count
        if extra > 0 and value.shape[:extra] == (1,) * extra:
            value = xp.reshape(value, value.shape[extra:])
        elif extra > 0:
            raise ValueError(
                f"{batch.operation.name}: a value of shape {value.shape} does not broadcast to the selected elements, "
                f"which have {self.count} axes"
            )
        value = batch.aligned(value, self.count)
        return xp.moveaxis(value, self.target, self.source) if self.source else value


def _selection(batch: Batch, key: Any, shape: tuple[int, ...], *, own: bool) -> Selection:
    """Return the index for the whole batch.

    Parameters
    ----------
    batch, key : of the call
    shape : of the array that is indexed, as the function sees it
    own : whether that array has an axis for the batch, in front

    Notes
    -----
    What arrays select together stands where the first of them does, or in front if a slice parts them. Arrays that
    differ within the batch select along its axis, too, by an array that counts its elements where there is one.
    """
    parts, rest = _parts(batch, key, shape)
    places = [i for i, part in enumerate(parts) if _is_array(part) or isinstance(part, int)]
    depth = max((_depth(parts[i]) for i in places), default=0)
    adjacent = not places or places == list(range(places[0], places[-1] + 1))
    before = sum(rest if part is Ellipsis else 1 for part in parts[: places[0]]) if places and adjacent else 0
    count = depth + rest + sum(part is None or isinstance(part, slice) for part in parts)
    if not any(map(batch.holds, parts)):
        behind = depth if not adjacent else 0
        return Selection((slice(None), *parts), count, *(((behind,), (0,)) if behind else ()))
    aligned = tuple(batch.aligned(part, depth) for part in parts)
    if not own:
        return Selection(aligned, count, *(((before,), (0,)) if before else ()))
    index = xp.reshape(xp.arange(batch.size), (batch.size, *(1,) * depth))
    if not before or not depth:
        return Selection((index, *aligned), count)
    return Selection(
        (index, *aligned),
        count,
        tuple(range(1, depth + 1)),
        tuple(range(before + 1, before + depth + 1)),
    )


def _parts(batch: Batch, key: Any, shape: tuple[int, ...]) -> tuple[list[Any], int]:
    """Return the parts of an index, lists as arrays, and how many axes it leaves out or ``...`` stands for.

    Raises
    ------
    TransformError : for a mask that differs within the batch
    """
    parts = [_as_part(part) for part in (key if isinstance(key, tuple) else (key,))]
    for part in parts:
        if batch.holds(part) and _is_mask(part):
            raise TransformError(
                "vmap: a mask that differs within the batch selects different numbers of elements; "
                "use where(mask, x1, x2) instead"
            )
    taken = sum(map(_axes_of, parts))
    if taken > len(shape):
        raise IndexError(f"{batch.operation.name}: too many indices: {taken} for an array of {len(shape)} axes")
    return parts, len(shape) - taken


def _as_part(part: Any) -> Any:
    if not isinstance(part, list):
        return part
    return xp.asarray(part) if part else xp.zeros(0, dtype=np.int64)


def _is_array(part: Any) -> bool:
    return hasattr(part, "shape")


def _is_mask(part: Any) -> bool:
    return isinstance(part, bool) or (_is_array(part) and bool(xp.isdtype(part.dtype, "bool")))


def _axes_of(part: Any) -> int:
    """Return how many axes of the array a part of an index is about."""
    if part is None or part is Ellipsis:
        return 0
    return ndim_of(part) if _is_mask(part) else 1


def _depth(part: Any) -> int:
    """Return how many axes a part of an index has in what it selects together with others."""
    return 1 if _is_mask(part) else ndim_of(part)


@rule_for("getitem")
def getitem(batch: Batch, x: Any, key: Any, /) -> Any:
    own = batch.holds(x)
    selection = _selection(batch, key, tuple(x.shape), own=own)
    return selection.ordered((x.value if own else x)[selection.key])


@rule_for("index_put")
def index_put(batch: Batch, x: Any, key: Any, value: Any, /, *, accumulate: bool = False) -> Any:
    selection = _selection(batch, key, tuple(x.shape), own=True)
    return xp.index_put(batch.front(x), selection.key, selection.arranged(batch, value), accumulate=accumulate)


@rule_for("setitem")
def setitem(batch: Batch, x: Any, key: Any, value: Any, /) -> None:
    if not batch.holds(x):
        raise TransformError(
            "vmap: a value that differs within the batch cannot be assigned into a tensor that is the same for all; "
            "make the target from an input (zeros_like), or use index_put"
        )
    selection = _selection(batch, key, tuple(x.shape), own=True)
    x.value[selection.key] = selection.arranged(batch, value)


@rule_for("take")
def take(batch: Batch, x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    if axis is None:
        x, axis = xp.reshape(x, (-1,)), 0
    axis = normal_axis(axis, len(x.shape), "take")
    if not batch.holds(indices):
        return xp.take(x.value, indices, axis=axis + 1)
    return getitem(batch, x, (*(slice(None),) * axis, indices))


@rule_for("take_along_axis")
def take_along_axis(batch: Batch, x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    axis = normal_axis(axis, len(x.shape), "take_along_axis")
    return xp.take_along_axis(batch.front(x), batch.front(indices), axis=axis + 1)


@rule_for("isin")
def isin(batch: Batch, x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    members = batch.flat(x2, ndim_of(x1))
    found = xp.any(xp.expand_dims(batch.front(x1), axis=-1) == members, axis=-1)
    return ~found if invert else found


@rule_for("searchsorted")
def searchsorted(batch: Batch, x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """Count the sorted elements before each value."""
    if sorter is not None:
        x1 = xp.take_along_axis(*(batch.cls(batch.front(one), batch.level) for one in (x1, sorter)))
    elif not batch.holds(x1):
        return xp.searchsorted(x1, batch.front(x2), side=side)
    members = batch.flat(x1, ndim_of(x2))
    values = xp.expand_dims(batch.front(x2), axis=-1)
    return xp.sum(members < values if side == "left" else members <= values, axis=-1)

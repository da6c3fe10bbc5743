"""Reductions and accumulations by universal functions that are no operation of that meaning, step by step."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.ops.shared import normal_axis

# Whose results are not of the kind of what they compare: truth values and angles.
OF_OTHER_KIND = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "arctan2"})


def _steps(name: str, x: Any, axis: Any) -> tuple[list[Any], int] | None:
    """Return the parts of an array along an axis, each of length 1; None where there are none, or several axes."""
    function = getattr(np, name, None)
    if not isinstance(function, np.ufunc):
        return None
    binary = (function.nin, function.nout, function.signature) == (2, 1, None)
    if axis is None and x.ndim == 1:
        axis = 0
    if not binary or not isinstance(axis, int) or not x.ndim:
        return None
    axis = normal_axis(axis, x.ndim, "axis")
    front = (slice(None),) * axis
    parts = [x[(*front, slice(place, place + 1))] for place in range(x.shape[axis])]
    if not parts or name in OF_OTHER_KIND:
        return None
    number = np.ones((), x.dtype)
    parts[0] = xp.astype(parts[0], np.result_type(function(number, number)))
    return parts, axis


def fold(name: str, x: Any, given: Mapping[str, Any]) -> Any:
    """Return the reduction by a universal function along an axis; `NotImplemented` for what is no fold.

    Parameters
    ----------
    name : of the universal function
    x : array
    given : keywords of the call
    """
    steps = _steps(name, x, given.get("axis", 0))
    if steps is None or given.keys() - {"axis", "keepdims"}:
        return NotImplemented
    parts, axis = steps
    total = parts[0]
    if getattr(np, name).identity == 0 and len(parts) == 1:
        parts = [total, xp.zeros_like(total)]  # of which hypot and the like make another number
    for part in parts[1:]:
        total = getattr(np, name)(total, part)
    if given.get("keepdims"):
        return total
    return xp.squeeze(total, axis=axis)


def accumulate(name: str, x: Any, given: Mapping[str, Any]) -> Any:
    """Return all steps of a fold, in the place of the elements.

    Parameters
    ----------
    name, x, given : as of `fold`
    """
    steps = _steps(name, x, given.get("axis", 0))
    if steps is None or given.keys() - {"axis"}:
        return NotImplemented
    parts, axis = steps
    totals = [parts[0]]
    for part in parts[1:]:
        totals.append(getattr(np, name)(totals[-1], part))
    return xp.concat(totals, axis=axis)


def reduce_at(name: str, x: Any, indices: Any, given: Mapping[str, Any]) -> Any:
    """Return the folds from each index to the next one, of one element where the next index is not larger.

    Parameters
    ----------
    name, x, given : as of `fold`
    indices : vector of places along the axis
    """
    if given.keys() - {"axis"} or not x.ndim:
        return NotImplemented
    axis = normal_axis(given.get("axis", 0), x.ndim, "axis")
    starts = np.asarray(indices).tolist()
    front, length = (slice(None),) * axis, x.shape[axis]
    if not starts or not all(0 <= start < length for start in starts):
        return NotImplemented
    stops = [max(stop, start + 1) for start, stop in itertools.pairwise(starts)]
    parts = [x[(*front, slice(start, stop))] for start, stop in zip(starts, [*stops, length], strict=True)]
    return xp.concat([getattr(np, name).reduce(part, axis=axis, keepdims=True) for part in parts], axis=axis)


FOLDS: dict[str, Callable[..., Any]] = {"reduce": fold, "accumulate": accumulate, "reduceat": reduce_at}

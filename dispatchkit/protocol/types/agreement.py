"""Whether two values of a field agree: by their elements where they have some, whatever library they are of."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


def agree(left: Any, right: Any) -> bool:
    """Return whether two values are equal, element by element for containers and arrays; NaN agrees with NaN.

    Parameters
    ----------
    left, right : anything

    Examples
    --------
    >>> from dispatchkit.protocol.types.agreement import agree
    >>> agree({"origin": [0.0, float("nan")]}, {"origin": [0.0, float("nan")]}), agree([1, 2], [1, 3])
    (True, False)
    """
    if left is right:
        return True
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(agree(left[key], right[key]) for key in left)
    same_class = type(left) is type(right)
    if isinstance(left, (list, tuple)) and same_class:
        return len(left) == len(right) and all(map(agree, left, right))
    if dataclasses.is_dataclass(left) and same_class:
        if hasattr(left, "__dict__"):
            return agree(vars(left), vars(right))
        return bool(left == right)
    try:
        return _are_equal(left, right)
    except Exception:  # noqa: BLE001  # a comparison that raises says nothing; what the two hold may
        return same_class and bool(getattr(left, "__dict__", None)) and agree(vars(left), vars(right))


def _are_equal(left: Any, right: Any) -> bool:
    """Return whether two values that are no containers are equal by their own comparison."""
    if type(left) is type(right) and callable(getattr(left, "equals", None)):  # which sees labels and missing values
        return bool(left.equals(right))
    if tuple(getattr(left, "shape", ())) != tuple(getattr(right, "shape", ())):
        return False
    equal = left == right
    if getattr(equal, "shape", ()) == () and bool(equal):
        return True
    unknown = (left != left) & (right != right)  # noqa: PLR0124  # NaN
    either = equal | unknown
    return bool(either.all() if hasattr(either, "all") else either)

"""Results that have names, as `torch.return_types` has them, and those in memory of their own."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from dispatchkit.as_torch.shared import in_memory
from dispatchkit.as_torch.table import Values
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.tree import map_leaves, sequence_items

__all__ = ["in_own_memory", "make_read_only", "named"]


@cache
def _kind(path: str, names: tuple[str, ...]) -> Any:
    if names == Values._fields:
        return Values
    kind = namedtuple(path.replace(".", "_"), names)  # type: ignore[misc]  # whose names a table says
    kind.__module__ = "dispatchkit.as_torch.return_types"
    return kind


def named(path: str, names: tuple[str, ...], parts: Sequence[Any]) -> Any:
    """Return the parts of a result under their names.

    Parameters
    ----------
    path : of the function
    names, parts : as many of one as of the other
    """
    return _kind(path, names)(*parts)


def make_read_only(y: Any, arguments: Any) -> None:
    """Let nothing be written into a copy that is a view in PyTorch, where the argument would change with it."""
    if in_memory(y) and not any(in_memory(x) and np.may_share_memory(y.array, x.array) for x in arguments):
        y.array.flags.writeable = False


def in_own_memory(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the results of a function in memory of their own."""
    return apart(function(*args, **kwargs), [*args, *kwargs.values()])


def apart(y: Any, arguments: Any) -> Any:
    """Return results in memory of their own, where they share that of arguments."""
    arrays = [x.array for x in arguments if in_memory(x)]
    if in_memory(y) and (array := y.array).base is None:
        for x in arrays:  # a generator takes longer than the loop
            if x is array or x.base is array:
                return xp.clone(y)
        return y
    if in_memory(y):
        return xp.clone(y) if any(np.may_share_memory(y.array, x) for x in arrays) else y

    def copied(part: Any) -> Any:
        if in_memory(part) and any(np.may_share_memory(part.array, x) for x in arrays):
            return xp.clone(part)
        return part

    return map_leaves(sequence_items, copied, y)

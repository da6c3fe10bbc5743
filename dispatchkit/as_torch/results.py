"""Results that have names, as `torch.return_types` has them."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from functools import cache
from typing import Any

from dispatchkit.as_torch.table import Values

__all__ = ["named"]


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

"""How loops are compiled: with what freedom to round otherwise than the formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

__all__ = ["loop", "summing_loop"]

F = TypeVar("F", bound=Callable[..., Any])
# A division by 0 gives an infinity, as in NumPy.
OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


def loop(function: F) -> F:
    """Compile a function of arrays and numbers, in which products are added without rounding in between."""
    compiled: F = numba.njit(function, fastmath={"contract"}, **OPTIONS)
    return compiled


def summing_loop(function: F) -> F:
    """Compile a function that sums: in any order, so that several elements are summed at a time."""
    compiled: F = numba.njit(function, fastmath={"contract", "reassoc"}, **OPTIONS)
    return compiled

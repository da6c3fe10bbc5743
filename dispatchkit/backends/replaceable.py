"""Kernels of NumPy arrays that an engine may replace: one table says by what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

__all__ = ["replace_kernels", "replaceable"]

_replacements: dict[Callable[..., Any], Callable[..., Any]] = {}


def replaceable(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Let the table decide who computes a kernel; the kernel itself where a replacement returns `NotImplemented`."""

    @wraps(kernel)
    def chosen(*args: Any) -> Any:
        replacement = _replacements.get(chosen)
        if replacement is not None:
            found = replacement(*args)
            if found is not NotImplemented:
                return found
        return kernel(*args)

    return chosen


def replace_kernels(replacements: Mapping[Callable[..., Any], Callable[..., Any]]) -> None:
    """Let other functions, of the same parameters, compute kernels in all threads; all other kernels compute again."""
    global _replacements  # noqa: PLW0603  # one setting for all threads
    _replacements = dict(replacements)

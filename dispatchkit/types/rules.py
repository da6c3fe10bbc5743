"""What the rules of several types share: one rule for many functions, checks of shapes and axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any


def bound(function: Any, rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return a rule of several functions, which takes the function first, as the rule of one of them."""
    handler = partial(rule, function)
    handler.__dict__["__qualname__"] = f"{rule.__qualname__}[{function.__name__}]"
    return handler


def check_inner(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    """Check that arrays of two shapes have one inner length.

    Raises
    ------
    ValueError : if not
    """
    if not left or not right or left[-1] != right[-2:][0]:
        raise ValueError(f"matmul: arrays of shapes {left} and {right} cannot be multiplied")


def axis_of_matrix(name: str, kind: type, axis: int) -> int:
    """Return an axis of a matrix, 0 or 1.

    Raises
    ------
    IndexError : if it is none
    """
    if not -2 <= axis < 2:
        raise IndexError(f"{name}: axis {axis} is out of range for a {kind.__name__}, which has 2 axes")
    return axis % 2

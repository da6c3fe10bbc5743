"""What losses share: arguments that are checked before anything is computed, and the reduction at the end."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod
from typing import Any, Literal

import numpy as np

from dispatchkit.backends.arrays import is_inexact
from dispatchkit.declare.call_errors import BACKEND_ERRORS
from dispatchkit.declare.typing import Namespace
from dispatchkit.nn.functional.bodies import real_floats
from dispatchkit.nn.functional.shapes import expect, real_numbers
from dispatchkit.ops.shared.arguments import Named
from dispatchkit.ops.shared.arrays import shape_of

__all__ = [
    "REDUCTIONS",
    "Reduction",
    "alike",
    "check_reduction",
    "check_weight",
    "first_wrong",
    "reduced",
    "spread",
]

Reduction = Literal["none", "mean", "sum"]
REDUCTIONS = ("none", "mean", "sum")


def check_reduction(name: str, reduction: str, accepted: tuple[str, ...] = REDUCTIONS) -> None:
    """Raise if the loss of a name is to be reduced in a way there is not.

    Raises
    ------
    ValueError : naming the loss, what was found, and what is accepted
    """
    if reduction not in accepted:
        *others, last = map(repr, accepted)
        raise ValueError(f"{name}: reduction must be {', '.join(others)} or {last}, found {reduction!r}")


def alike(xp: Namespace, op: Named, x: Any, target: Any) -> tuple[Any, Any]:
    """Return input and target of a loss as real numbers that can be subtracted, of one shape.

    Raises
    ------
    TypeError : for complex numbers
    ValueError : if the shapes differ: broadcasting would sum over pairs that do not belong together
    """
    real_numbers(op, "x", x)
    real_numbers(op, "target", target)
    shape, found = shape_of(x), shape_of(target)
    expect(op, "target", found, found == shape, f"{shape}, that of x")
    if not (is_inexact(x.dtype) or is_inexact(target.dtype)):
        # Differences of unsigned integers and of booleans are none.
        return real_floats(xp, op, x), real_floats(xp, op, target)
    return x, target


def check_weight(op: Named, parameter: str, weight: Any, x: Any) -> None:
    """Raise if weights do not broadcast to the shape of a loss's input.

    Raises
    ------
    TypeError : for complex numbers
    ValueError : naming the loss, the argument and both shapes
    """
    real_numbers(op, parameter, weight)
    shape, found = shape_of(x), shape_of(weight)
    try:
        fits = np.broadcast_shapes(found, shape) == shape
    except ValueError:
        fits = False
    expect(op, parameter, found, fits, f"one that broadcasts to {shape}, that of x")


def first_wrong(x: Any, wrong: Callable[[Any], bool]) -> str:
    """Return the first element that is wrong as the end of a message; nothing where elements cannot be read."""
    try:
        elements = np.asarray(getattr(x, "array", x)).ravel().tolist()
    except BACKEND_ERRORS:
        return ""
    return next((f"; found {element}" for element in elements if wrong(element)), "")


def reduced(xp: Namespace, loss: Any, reduction: str) -> Any:
    """Return the losses as they are, their sum or their mean; the mean of none is NaN."""
    if reduction == "none":
        return loss
    total = xp.sum(loss)
    return total if reduction == "sum" else total / prod(loss.shape) if prod(loss.shape) else total * math.nan


def spread(g: Any, x: Any, reduction: str) -> Any:
    """Return the cotangent of each loss, from that of what they are reduced to."""
    return g / max(prod(x.shape), 1) if reduction == "mean" else g

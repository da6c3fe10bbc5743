"""The line search of L-BFGS: a step that satisfies the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Point", "strong_wolfe"]

# How much of the decrease that the slope promises is enough, and which share of the slope may be left.
DECREASE, CURVATURE = 1e-4, 0.9


class Point(NamedTuple):
    """A point on the line.

    Attributes
    ----------
    step : where it lies
    loss : the function there
    gradient : vector, as a tensor
    slope : of the function along the line
    """

    step: float
    loss: float
    gradient: Any
    slope: float


def strong_wolfe(
    evaluate: Callable[[float], Point], start: Point, step: float, extent: float, *, tolerance: float, most: int
) -> tuple[Point, int]:
    """Return a point of low loss and small slope, and how many points were evaluated.

    Parameters
    ----------
    evaluate : gives the point of a step
    start : the point of step 0, with a negative slope
    step : to try first
    extent : largest change of an element for a step of 1
    tolerance : the search ends where steps differ by less, times `extent`
    most : number of points, besides the first, that may be evaluated

    Notes
    -----
    Source: Nocedal and Wright, "Numerical optimization", algorithms 3.5 and 3.6, with the choices of Schmidt's minFunc
    and PyTorch's `torch.optim.LBFGS`.
    """

    def too_high(point: Point) -> bool:
        return point.loss > start.loss + DECREASE * point.step * start.slope

    def is_flat(point: Point) -> bool:
        return abs(point.slope) <= -CURVATURE * start.slope

    last, point, count = start, evaluate(step), 0
    while count < most:
        if too_high(point) or (count > 1 and point.loss >= last.loss):
            break
        if is_flat(point):
            return point, 1 + count
        if point.slope >= 0:
            break
        step = _least_of_cubic(last, point, point.step + 0.01 * (point.step - last.step), 10 * point.step)
        last, point, count = point, evaluate(step), count + 1
    else:
        last = start
    # A point that is right lies between these two.
    ends = [last, point]
    low, stuck = _lower(ends), False
    while count < most:
        least, most_step = sorted(end.step for end in ends)
        if (most_step - least) * extent < tolerance:
            break
        step = _least_of_cubic(ends[0], ends[1], least, most_step)
        step, stuck = _apart(step, least, most_step, stuck)
        point, count = evaluate(step), count + 1
        if too_high(point) or point.loss >= ends[low].loss:
            ends[1 - low] = point
            low = _lower(ends)
            continue
        if not is_flat(point) and point.slope * (ends[1 - low].step - ends[low].step) >= 0:
            ends[1 - low] = ends[low]
        ends[low] = point
        if is_flat(point):
            break
    return ends[low], 1 + count


def _lower(ends: list[Point]) -> int:
    return 0 if ends[0].loss <= ends[1].loss else 1


def _apart(step: float, least: float, most: float, stuck: bool) -> tuple[float, bool]:
    """Return a step that is not too near to an end twice in a row, and whether this one is."""
    margin = 0.1 * (most - least)
    if min(most - step, step - least) >= margin:
        return step, False
    if not stuck and least < step < most:
        return step, True
    return (most - margin if abs(step - most) < abs(step - least) else least + margin), False


def _least_of_cubic(one: Point, other: Point, least: float, most: float) -> float:
    """Return where the cubic through two points with their slopes is least, within bounds; else their middle."""
    first, second = sorted((one, other), key=lambda point: point.step)
    if first.step != second.step:
        d1 = first.slope + second.slope - 3 * (first.loss - second.loss) / (first.step - second.step)
        square = d1 * d1 - first.slope * second.slope
        root = math.sqrt(square) if square >= 0 else math.nan
        divisor = second.slope - first.slope + 2 * root
        if math.isfinite(divisor) and divisor:
            found = second.step - (second.step - first.step) * ((second.slope + root - d1) / divisor)
            return min(max(found, least), most)
    return (least + most) / 2

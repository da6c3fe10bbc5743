"""Where the boxes and arrows of a drawing go: layers from top to bottom, few crossings, straight lines.

The steps are those of Sugiyama, Tagawa and Toda (1981): layers by the longest way to the bottom, placeholders where an
arrow passes a layer, and then time and again each box as near to the middle of its neighbours as the others of its
layer let it be, in the order of these middles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import accumulate, pairwise

SIDE = 20.0  # between boxes of a layer
BETWEEN = 34.0  # between layers
SWEEPS = 12  # that order the layers by the neighbours on one side, down and up again
ROUNDS = 60  # of sweeps altogether

Place = tuple[float, float]


@dataclass
class DrawingLayout:
    """Coordinates of a drawing.

    Attributes
    ----------
    centres : of each box
    routes : for each edge the points that it goes straight through; pairs of them belong to one layer
    width, height : of everything
    """

    centres: list[Place]
    routes: list[list[Place]]
    width: float
    height: float


def arrange(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> DrawingLayout:
    """Return coordinates for boxes and arrows.

    Parameters
    ----------
    sizes : width and height of each box
    edges : source and target of each arrow, without circles; arrows lead down
    """
    layers, chains = _layers(len(sizes), edges)
    boxes = [*sizes, *[(0.0, 0.0)] * (sum(map(len, layers)) - len(sizes))]
    xs = _across(layers, chains, [width for width, _ in boxes])
    left = min((x - width / 2 for x, (width, _) in zip(xs, boxes, strict=True)), default=0.0)
    xs = [x - left for x in xs]
    spans: dict[int, Place] = {}  # top and bottom of the layer of each
    bottom = -BETWEEN
    for layer in layers:
        top = bottom + BETWEEN
        bottom = top + max(boxes[v][1] for v in layer)
        spans.update(dict.fromkeys(layer, (top, bottom)))
    centres = [(xs[v], sum(spans[v]) / 2) for v in range(len(boxes))]
    routes = []
    for chain in chains:
        first, last = (centres[v][1] + side * boxes[v][1] / 2 for v, side in ((chain[0], 1), (chain[-1], -1)))
        _, *inner, _ = [(xs[v], y) for v in chain for y in spans[v]]
        routes.append([(xs[chain[0]], first), *inner, (xs[chain[-1]], last)])
    width = max((x + width / 2 for x, (width, _) in zip(xs, boxes, strict=True)), default=0.0)
    return DrawingLayout(centres[: len(sizes)], routes, width, max(bottom, 0.0))


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> tuple[list[list[int]], list[list[int]]]:
    """Return the layers of boxes and placeholders, and for each edge all that it leads through.

    Each box is as far down as its longest way to the bottom lets it be; placeholders have the numbers after the boxes.
    """
    targets: dict[int, list[int]] = {v: [] for v in range(count)}
    for source, target in edges:
        targets[source].append(target)
    height: dict[int, int] = {}  # above the bottom layer
    for v in TopologicalSorter(targets).static_order():
        height[v] = max((height[target] + 1 for target in targets[v]), default=0)
    layers: list[list[int]] = [[] for _ in range(max(height.values(), default=-1) + 1)]
    for v in targets:
        layers[-1 - height[v]].append(v)
    chains = []
    for source, target in edges:
        chain = [source]
        for passed in range(height[source] - 1, height[target], -1):
            chain.append(count)
            layers[-1 - passed].append(count)
            count += 1
        chains.append([*chain, target])
    return layers, chains


def _across(layers: list[list[int]], chains: Sequence[Sequence[int]], widths: Sequence[float]) -> list[float]:
    """Order the layers, and return the coordinate of each box and placeholder across them."""
    above: list[list[int]] = [[] for _ in widths]
    below: list[list[int]] = [[] for _ in widths]
    for upper, lower in (pair for chain in chains for pair in pairwise(chain)):
        above[lower].append(upper)
        below[upper].append(lower)
    xs = [0.0] * len(widths)
    for sweep in range(ROUNDS):
        down = sweep % 2 == 0
        order = layers
        if not down:
            order = layers[::-1]
        for layer in order:
            pulls = {}
            for v in layer:
                if sweep >= SWEEPS:
                    near = above[v] + below[v]
                elif down:
                    near = above[v]
                else:
                    near = below[v]
                if near:
                    pulls[v] = sum(xs[n] for n in near) / len(near)
                else:
                    pulls[v] = xs[v]
            if sweep < SWEEPS:
                layer.sort(key=pulls.__getitem__)
            # With the distances that are needed taken off, the coordinates must only not decrease.
            gaps = [(widths[node] + widths[other]) / 2 + SIDE for node, other in pairwise(layer)]
            shifts = list(accumulate(gaps, initial=0.0))
            wanted = [pulls[v] - shift for v, shift in zip(layer, shifts, strict=True)]
            least = list(accumulate(wanted[::-1], min))[::-1]
            for v, low, high, shift in zip(layer, least, accumulate(wanted, max), shifts, strict=True):
                xs[v] = (low + high) / 2 + shift
    return xs

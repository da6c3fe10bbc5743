"""Where the boxes and arrows of a drawing go: layers from top to bottom, few crossings, straight lines.

The steps are those of Sugiyama, Tagawa and Toda (1981): layers by the longest way to the bottom, placeholders where an
arrow passes a layer, an order within each layer by the mean place of the neighbours, and then coordinates: each box as
near to the middle of its neighbours as the others of its layer let it be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import accumulate, pairwise

SIDE = 22.0  # between boxes of a layer
BETWEEN = 34.0  # between layers
LANE = 10.0  # width of an arrow that passes a layer
SWEEPS = 12  # for the order
ROUNDS = 60  # for the coordinates

Place = tuple[float, float]


@dataclass
class Layout:
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


@dataclass
class _Layered:
    """Boxes and placeholders in layers.

    Attributes
    ----------
    layers : numbers of boxes and placeholders, in order
    above, below : neighbours in the layers next to that of each
    widths : of each
    chains : for each edge all that it leads through, from its source to its target
    """

    layers: list[list[int]]
    above: defaultdict[int, list[int]]
    below: defaultdict[int, list[int]]
    widths: list[float]
    chains: list[list[int]]


def arrange(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Layout:
    """Return coordinates for boxes and arrows.

    Parameters
    ----------
    sizes : width and height of each box
    edges : source and target of each arrow, without circles; arrows lead down
    """
    graph = _assign_layers(sizes, edges)
    _order(graph)
    xs = _across(graph)
    left = min((x - w / 2 for x, w in zip(xs, graph.widths, strict=True)), default=0.0)
    right = max((x + w / 2 for x, w in zip(xs, graph.widths, strict=True)), default=0.0)
    xs = [x - left for x in xs]
    spans: dict[int, Place] = {}  # top and bottom of the layer of each
    bottom = -BETWEEN
    for layer in graph.layers:
        top = bottom + BETWEEN
        bottom = top + max((sizes[v][1] for v in layer if v < len(sizes)), default=0.0)
        spans.update(dict.fromkeys(layer, (top, bottom)))
    centres = [(xs[v], sum(spans[v]) / 2) for v in range(len(sizes))]
    return Layout(centres, _routes(graph, sizes, xs, spans), right - left, max(bottom, 0.0))


def _assign_layers(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> _Layered:
    """Put each box as far down as its longest way to the bottom lets it be, a placeholder where an arrow passes."""
    targets: dict[int, list[int]] = {v: [] for v in range(len(sizes))}
    for source, target in edges:
        targets[source].append(target)
    height: dict[int, int] = {}  # above the bottom layer
    for v in TopologicalSorter(targets).static_order():
        height[v] = max((height[target] + 1 for target in targets[v]), default=0)
    layers: list[list[int]] = [[] for _ in range(max(height.values(), default=-1) + 1)]
    for v in targets:
        layers[-1 - height[v]].append(v)
    graph = _Layered(layers, defaultdict(list), defaultdict(list), [width for width, _ in sizes], [])
    for source, target in edges:
        chain = [source]
        for passed in range(height[source] - 1, height[target], -1):
            chain.append(len(graph.widths))
            layers[-1 - passed].append(len(graph.widths))
            graph.widths.append(LANE)
        graph.chains.append([*chain, target])
        for upper, lower in pairwise(graph.chains[-1]):
            graph.below[upper].append(lower)
            graph.above[lower].append(upper)
    return graph


def _order(graph: _Layered) -> None:
    """Order each layer by the mean place of the neighbours, down and up again."""
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        neighbours = graph.above if down else graph.below
        for layer in graph.layers if down else reversed(graph.layers):
            places = _places(graph)
            # What has no neighbours stays where it is.
            means = {v: sum(places[n] for n in neighbours[v]) / len(neighbours[v]) for v in layer if neighbours[v]}
            moving = iter(sorted(means, key=means.__getitem__))
            layer[:] = [next(moving) if v in means else v for v in layer]


def _places(graph: _Layered) -> dict[int, int]:
    return {v: place for layer in graph.layers for place, v in enumerate(layer)}


def _across(graph: _Layered) -> list[float]:
    """Return the coordinate across the layers of each box and placeholder: time and again the mean of its neighbours.

    Where boxes would overlap, it is as near to that as the others let it, in the sense of least squares.
    """
    xs = [0.0] * len(graph.widths)
    for sweep in range(ROUNDS):
        down = sweep % 2 == 0
        for layer in graph.layers if down else reversed(graph.layers):
            gaps = [_gap(graph, *pair) for pair in pairwise(layer)]
            # With the distances that are needed taken off, the coordinates must only not decrease.
            shifts = list(accumulate(gaps, initial=0.0))
            pulls = [_pull(graph, v, xs) for v in layer]
            means = _increasing([(x - shift, weight) for (x, weight), shift in zip(pulls, shifts, strict=True)])
            for v, mean, shift in zip(layer, means, shifts, strict=True):
                xs[v] = mean + shift
    return xs


def _gap(graph: _Layered, left: int, right: int) -> float:
    """Return how far the middles of two neighbours of a layer have to lie apart."""
    passing = graph.widths[left] == graph.widths[right] == LANE
    return (graph.widths[left] + graph.widths[right]) / 2 + (LANE if passing else SIDE)


def _pull(graph: _Layered, v: int, xs: Sequence[float]) -> tuple[float, float]:
    """Return where the neighbours of a box want it, and how much: most by long arrows, less by one of many."""
    total = weights = 0.0
    for upper, lower, other in [*((n, v, n) for n in graph.above[v]), *((v, n, n) for n in graph.below[v])]:
        passing = (graph.widths[upper] == LANE) + (graph.widths[lower] == LANE)
        weight = (1.0, 2.0, 8.0)[passing] / max(len(graph.below[upper]), len(graph.above[lower]))
        total, weights = total + weight * xs[other], weights + weight
    return (total / weights, weights) if weights else (xs[v], 0.01)


def _increasing(points: Sequence[tuple[float, float]]) -> list[float]:
    """Return numbers that do not decrease, as near as they can be to others, each of a weight."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, members
    for mean, weight in points:
        members = 1
        while blocks and blocks[-1][0] > mean:
            other, more, number = blocks.pop()
            mean = (mean * weight + other * more) / (weight + more)
            weight, members = weight + more, members + number
        blocks.append((mean, weight, members))
    return [mean for mean, _, members in blocks for _ in range(members)]


def _routes(graph: _Layered, sizes: Sequence[Place], xs: list[float], spans: dict[int, Place]) -> list[list[Place]]:
    """Return the points of each edge: out of its box, straight through the layers it passes, into the next box."""
    starts, ends = (_ports(graph.chains, sizes, xs, end, neighbour) for end, neighbour in ((0, 1), (-1, -2)))
    routes = []
    for (source, *passed, target), start, end in zip(graph.chains, starts, ends, strict=True):
        through = [(xs[v], y) for v in passed for y in spans[v]]
        (top, bottom), height = spans[source], sizes[source][1]
        first = [(start, (top + bottom + height) / 2), (start, bottom)]
        (top, bottom), height = spans[target], sizes[target][1]
        routes.append([*first, *through, (end, top), (end, (top + bottom - height) / 2)])
    return routes


def _ports(
    chains: Sequence[Sequence[int]], sizes: Sequence[Place], xs: Sequence[float], end: int, neighbour: int
) -> list[float]:
    """Return where each edge leaves the box at one of its ends: side by side, in the order of where they lead."""
    numbers_at: defaultdict[int, list[int]] = defaultdict(list)
    for number in sorted(range(len(chains)), key=lambda number: xs[chains[number][neighbour]]):
        numbers_at[chains[number][end]].append(number)
    ports = {}
    for v, numbers in numbers_at.items():
        step = min(28.0, 0.7 * sizes[v][0] / len(numbers))
        for place, number in enumerate(numbers):
            ports[number] = xs[v] + (place - (len(numbers) - 1) / 2) * step
    return [ports[number] for number in range(len(chains))]

"""Where the boxes and arrows of a drawing go: layers from top to bottom, few crossings, straight lines.

The steps are those of Sugiyama, Tagawa and Toda (1981): layers by the longest way to the bottom, placeholders where an
arrow passes a layer, an order within each layer by the mean place of the neighbours, and then coordinates: each box as
near as it can be to the middle of its neighbours, which is a regression with constraints.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

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
    above: list[list[int]]
    below: list[list[int]]
    widths: list[float]
    chains: list[list[int]] = field(default_factory=list)


def arranged(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Layout:
    """Return coordinates for boxes and arrows.

    Parameters
    ----------
    sizes : width and height of each box
    edges : source and target of each arrow, without circles; arrows lead down
    """
    depth = _depths(len(sizes), edges)
    graph = _layered(sizes, edges, depth)
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


def _depths(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of each box: as far down as the longest way from it to the bottom lets it be."""
    sources: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for source, target in edges:
        sources[target].append(source)
        waiting[source] += 1
    height = [0] * count
    ready = [v for v in range(count) if not waiting[v]]
    while ready:
        v = ready.pop()
        for source in sources[v]:
            height[source] = max(height[source], height[v] + 1)
            waiting[source] -= 1
            if not waiting[source]:
                ready.append(source)
    top = max(height, default=0)
    return [top - steps for steps in height]


def _layered(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]], depth: Sequence[int]) -> _Layered:
    """Put the boxes in their layers, and a placeholder wherever an arrow passes one."""
    layers: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for v, layer in enumerate(depth):
        layers[layer].append(v)
    widths = [width for width, _ in sizes]
    chains = []
    for source, target in edges:
        chain = [source]
        for layer in range(depth[source] + 1, depth[target]):
            chain.append(len(widths))
            layers[layer].append(len(widths))
            widths.append(LANE)
        chains.append([*chain, target])
    graph = _Layered(layers, [[] for _ in widths], [[] for _ in widths], widths, chains)
    for chain in chains:
        for upper, lower in pairwise(chain):
            graph.below[upper].append(lower)
            graph.above[lower].append(upper)
    return graph


def _order(graph: _Layered) -> None:
    """Order each layer by the mean place of the neighbours, down and up again; the fewest crossings stay."""
    best, fewest = [list(layer) for layer in graph.layers], _crossings(graph)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        down = sweep % 2 == 0
        neighbours = graph.above if down else graph.below
        for layer in graph.layers if down else reversed(graph.layers):
            _by_mean(layer, neighbours, _places(graph))
        crossings = _crossings(graph)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in graph.layers], crossings
    graph.layers[:] = best


def _places(graph: _Layered) -> dict[int, int]:
    return {v: place for layer in graph.layers for place, v in enumerate(layer)}


def _by_mean(layer: list[int], neighbours: Sequence[Sequence[int]], places: dict[int, int]) -> None:
    """Sort a layer; what has no neighbours stays where it is."""
    keys = {v: sum(places[n] for n in neighbours[v]) / len(neighbours[v]) for v in layer if neighbours[v]}
    moving = iter(sorted(keys, key=keys.__getitem__))
    layer[:] = [next(moving) if v in keys else v for v in layer]


def _crossings(graph: _Layered) -> int:
    """Return how many pairs of arrows cross."""
    count = 0
    places = _places(graph)
    for layer in graph.layers:
        ends: list[int] = []
        for v in layer:
            targets = sorted(places[n] for n in graph.below[v])
            count += sum(len(ends) - bisect_right(ends, end) for end in targets)
            for end in targets:
                insort(ends, end)
    return count


def _across(graph: _Layered) -> list[float]:
    """Return the coordinate across the layers of each box and placeholder."""
    xs = [0.0] * len(graph.widths)
    for layer in graph.layers:
        _place(layer, graph, xs, [0.0] * len(layer), [1.0] * len(layer))
    for sweep in range(ROUNDS):
        down = sweep % 2 == 0
        for layer in graph.layers if down else reversed(graph.layers):
            wanted, weights = [], []
            for v in layer:
                pulls = [(n, _weight(graph, n, v)) for n in graph.above[v]]
                pulls += [(n, _weight(graph, v, n)) for n in graph.below[v]]
                total = sum(weight for _, weight in pulls)
                wanted.append(sum(xs[n] * weight for n, weight in pulls) / total if pulls else xs[v])
                weights.append(total or 0.01)
            _place(layer, graph, xs, wanted, weights)
    return xs


def _weight(graph: _Layered, upper: int, lower: int) -> float:
    """Return how much it matters that an arrow is straight: most where it is long, less where it is one of many."""
    passing = (graph.widths[upper] == LANE) + (graph.widths[lower] == LANE)
    return (1.0, 2.0, 8.0)[passing] / max(len(graph.below[upper]), len(graph.above[lower]))


def _place(layer: list[int], graph: _Layered, xs: list[float], wanted: list[float], weights: list[float]) -> None:
    """Put each of a layer as near to where it is wanted as the others let it, in the sense of least squares.

    With the distances that are needed taken off, the coordinates must only not decrease: neighbours that would are
    merged to a block at their mean.
    """
    shift = 0.0
    shifts: list[float] = []
    blocks: list[tuple[float, float, int]] = []  # mean, weight, members
    for place, v in enumerate(layer):
        if place:
            before = layer[place - 1]
            gap = LANE if graph.widths[v] == graph.widths[before] == LANE else SIDE
            shift += (graph.widths[before] + graph.widths[v]) / 2 + gap
        shifts.append(shift)
        mean, weight, members = wanted[place] - shift, weights[place], 1
        while blocks and blocks[-1][0] > mean:
            other, more, number = blocks.pop()
            mean = (mean * weight + other * more) / (weight + more)
            weight, members = weight + more, members + number
        blocks.append((mean, weight, members))
    means = [mean for mean, _, members in blocks for _ in range(members)]
    for v, mean, shift in zip(layer, means, shifts, strict=True):
        xs[v] = mean + shift


def _routes(graph: _Layered, sizes: Sequence[Place], xs: list[float], spans: dict[int, Place]) -> list[list[Place]]:
    """Return the points of each edge: out of its box, straight through the layers it passes, into the next box."""
    starts, ends = _ports(graph, sizes, xs)
    routes = []
    for (source, *passed, target), start, end in zip(graph.chains, starts, ends, strict=True):
        through = [(xs[v], y) for v in passed for y in spans[v]]
        x, (top, bottom) = xs[source] + start, spans[source]
        first = [(x, (top + bottom + sizes[source][1]) / 2), (x, bottom)]
        x, (top, bottom) = xs[target] + end, spans[target]
        routes.append([*first, *through, (x, top), (x, (top + bottom - sizes[target][1]) / 2)])
    return routes


def _ports(graph: _Layered, sizes: Sequence[Place], xs: list[float]) -> tuple[list[float], list[float]]:
    """Return for each edge how far from the middle of its source it starts, and of its target it ends."""
    starts, ends = [0.0] * len(graph.chains), [0.0] * len(graph.chains)
    for offsets, end, neighbour in ((starts, 0, 1), (ends, -1, -2)):
        groups: dict[int, list[int]] = {}
        for number, chain in enumerate(graph.chains):
            groups.setdefault(chain[end], []).append(number)
        for v, numbers in groups.items():
            numbers.sort(key=lambda number: (xs[graph.chains[number][neighbour]], number))
            step = min(28.0, 0.7 * sizes[v][0] / len(numbers))
            for place, number in enumerate(numbers):
                offsets[number] = (place - (len(numbers) - 1) / 2) * step
    return starts, ends

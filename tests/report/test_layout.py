"""Where boxes and arrows go: nothing overlaps, arrows lead down and around boxes, and few of them cross."""

from __future__ import annotations

from itertools import combinations, pairwise

import hypothesis.strategies as st
from hypothesis import given

from dispatchkit.report.graph.layout import DrawingLayout, arrange

Size = tuple[float, float]
Edge = tuple[int, int]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Size], list[Edge]]:
    count = draw(st.integers(1, 14))
    lengths = st.sampled_from([20.0, 44.0, 90.0, 160.0])
    sizes = [(draw(lengths), draw(st.sampled_from([30.0, 46.0, 62.0]))) for _ in range(count)]
    pairs = [(v, w) for v in range(count) for w in range(v + 1, count)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=24)) if pairs else []
    return sizes, edges


def sides(layout: DrawingLayout, sizes: list[Size], v: int) -> tuple[float, float, float, float]:
    (x, y), (width, height) = layout.centres[v], sizes[v]
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


@given(graphs())
def test_boxes_lie_apart_and_inside(graph: tuple[list[Size], list[Edge]]) -> None:
    sizes, edges = graph
    layout = arrange(sizes, edges)
    places = [sides(layout, sizes, v) for v in range(len(sizes))]
    for left, top, right, bottom in places:
        assert left >= -1e-6
        assert right <= layout.width + 1e-6
        assert top >= -1e-6
        assert bottom <= layout.height + 1e-6
    for one, other in combinations(places, 2):
        apart = one[2] + 10 <= other[0] or other[2] + 10 <= one[0] or one[3] + 10 <= other[1] or other[3] + 10 <= one[1]
        assert apart


@given(graphs())
def test_arrows_lead_down_from_box_to_box(graph: tuple[list[Size], list[Edge]]) -> None:
    sizes, edges = graph
    layout = arrange(sizes, edges)
    for (source, target), route in zip(edges, layout.routes, strict=True):
        left, _, right, bottom = sides(layout, sizes, source)
        assert left < route[0][0] < right
        assert abs(route[0][1] - bottom) < 1e-6
        left, top, right, _ = sides(layout, sizes, target)
        assert left < route[-1][0] < right
        assert abs(route[-1][1] - top) < 1e-6
        assert all(lower >= upper for (_, upper), (_, lower) in pairwise(route))


@given(graphs())
def test_arrows_go_through_no_box(graph: tuple[list[Size], list[Edge]]) -> None:
    sizes, edges = graph
    layout = arrange(sizes, edges)
    for (source, target), route in zip(edges, layout.routes, strict=True):
        # Within a layer an arrow is vertical; boxes are in layers, so nothing else can meet one.
        for (x, upper), (_, lower) in zip(route[::2], route[1::2], strict=True):
            for v in range(len(sizes)):
                left, top, right, bottom = sides(layout, sizes, v)
                if v not in (source, target) and top < lower and upper < bottom:
                    assert not left < x < right


def test_what_need_not_cross_does_not() -> None:
    # Three sources whose targets stand in the opposite order.
    sizes = [(40.0, 30.0)] * 6
    layout = arrange(sizes, [(0, 5), (1, 4), (2, 3)])
    order = sorted(range(3), key=lambda v: layout.centres[v][0])
    assert sorted(range(3, 6), key=lambda v: layout.centres[v][0]) == [5 - v for v in order]


def test_a_chain_is_straight() -> None:
    layout = arrange([(40.0, 30.0), (90.0, 30.0), (60.0, 30.0)], [(0, 1), (1, 2)])
    assert max(x for x, _ in layout.centres) - min(x for x, _ in layout.centres) < 1e-6


def test_a_leaf_stands_right_above_the_operation_that_uses_it() -> None:
    layout = arrange([(40.0, 30.0)] * 5, [(0, 1), (1, 2), (2, 3), (4, 3)])
    assert layout.centres[4][1] == layout.centres[2][1]


def test_nothing_has_no_size() -> None:
    layout = arrange([], [])
    assert (layout.width, layout.height, layout.centres) == (0.0, 0.0, [])

"""Declared conversions between types, and the cheapest path along them."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Conversion", "Conversions"]


@dataclass(frozen=True, slots=True, eq=False)
class Conversion:
    """An edge of the conversion graph.

    Attributes
    ----------
    source, target : the types
    function : makes a target of a source
    cost : what a path pays for it
    lossy : whether something is lost
    """

    source: type
    target: type
    function: Callable[[Any], Any]
    cost: float
    lossy: bool


class Conversions:
    """The conversion graph of a protocol.

    Parameters
    ----------
    edges : gives the conversions that start at a type (superclasses included)
    """

    def __init__(self, edges: Callable[[type], list[Conversion]]) -> None:
        self._edges = edges

    def reachable(self, start: type) -> Iterator[tuple[float, type, tuple[Conversion, ...]]]:
        """Yield each type that can be reached, the cheapest first, with the path to it.

        At equal cost a path without loss goes first, then the one declared first.
        """
        order = itertools.count()
        heap: list[tuple[float, int, int, type, tuple[Conversion, ...]]] = [(0.0, 0, next(order), start, ())]
        done: set[type] = set()
        while heap:
            cost, losses, _, cls, path = heapq.heappop(heap)
            if cls in done:
                continue
            done.add(cls)
            if path:
                yield cost, cls, path
            for edge in self._edges(cls):
                if edge.target not in done:
                    heapq.heappush(
                        heap, (cost + edge.cost, losses + edge.lossy, next(order), edge.target, (*path, edge))
                    )

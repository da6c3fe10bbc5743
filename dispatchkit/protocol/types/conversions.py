"""Declared conversions between types, and the cheapest path along them."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dispatchkit.protocol.types.records import Records, Undo
from dispatchkit.protocol.types.stamps import Stamp, stamp

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
    stamp : of its declaration
    """

    source: type
    target: type
    function: Callable[[Any], Any]
    cost: float
    lossy: bool
    stamp: Stamp = field(default_factory=stamp)


class Conversions:
    """The conversion graph of a protocol; the source of a conversion owns it.

    Parameters
    ----------
    records : of the protocol's types
    """

    def __init__(self, records: Records) -> None:
        self._records = records

    def add(self, edge: Conversion) -> Undo:
        """Store a conversion in place of one between the same types; return what restores the state before."""
        owned = self._records.make(edge.source).owned
        replaced = [one for one in owned if isinstance(one, Conversion) and one.target is edge.target]
        owned[:] = [*(one for one in owned if one not in replaced), edge]

        def undo() -> None:
            owned[:] = [*(one for one in owned if one is not edge), *replaced]

        return undo

    def stamp_of(self, edge: Conversion) -> Stamp | None:
        """Return the stamp of the conversion between the same types as a new one, None where there is none."""
        owned = self._records.make(edge.source).owned
        return next((one.stamp for one in owned if isinstance(one, Conversion) and one.target is edge.target), None)

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

    def _edges(self, cls: type) -> list[Conversion]:
        """Return the conversions that start at a type or a superclass."""
        records = [record for record in map(self._records.find, cls.__mro__) if record is not None]
        return [edge for record in records for edge in record.owned if isinstance(edge, Conversion)]

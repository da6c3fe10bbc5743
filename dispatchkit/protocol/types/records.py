"""Storage of what belongs to a type, declared conversions between types, and the cheapest path along them."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

from dispatchkit.protocol.types.declaration import Declaration, Version, is_newer, new_version

Undo = Callable[[], None]
ATTRIBUTE = "__dispatch_records__"
_keys = itertools.count()


# One lock for all protocols, which share the attribute: two records made at once would lose the rules of one.
_making = threading.Lock()


@dataclass(slots=True)
class Record:
    """What a protocol keeps for one type.

    Attributes
    ----------
    declaration : what the type declares, None where it takes part by its method alone, or not at all
    owned : rules and conversions that live as long as the type
    serial : grows from record to record
    version : of the declaration
    """

    declaration: Declaration | None = None
    owned: list[Any] = field(default_factory=list)
    serial: int = field(default_factory=lambda: next(_keys))
    version: Version | None = None


class TypeRecords(dict[int, Record]):
    """The records of one type, by the keys of the protocols that keep them."""

    def __init__(self, cls: type | None, mark: Version) -> None:
        super().__init__()
        self.cls = cls
        self.mark = mark
        _by_version[mark] = self

    def __reduce__(self) -> Any:
        # In the state, since the class refers to itself; a second copy of the class finds what the first has brought.
        packed = [(_protocols[key], _protocols[key].packed(self.cls)) for key in self if self.cls and key in _protocols]
        return _with_version, (self.mark,), (self.cls, packed)

    def __setstate__(self, state: tuple[type, list[tuple[Any, dict[str, Any]]]]) -> None:
        self.cls, packed = state
        # Before the class gets the attributes that its pickle holds: rules refer to the record.
        if self.cls.__dict__.get(ATTRIBUTE) is not self:
            setattr(self.cls, ATTRIBUTE, self)
        for protocol, found in packed:
            protocol.unpack(self.cls, found)


_by_version: WeakValueDictionary[Version, TypeRecords] = WeakValueDictionary()
# The protocols by the key of their records; both are numbered anew in each process.
_protocols: WeakValueDictionary[int, Any] = WeakValueDictionary()


def _with_version(mark: Version) -> TypeRecords:
    """Return the records that have a mark, made where the process has none."""
    with _making:
        found = _by_version.get(mark)
        return TypeRecords(None, mark) if found is None else found


class Records:
    """The records of one protocol, by type."""

    def __init__(self) -> None:
        # Not its id, which another protocol may get once this one is collected.
        self._key = next(_keys)
        self._static: dict[type, Record] = {}

    def pickle_with(self, protocol: Any) -> None:
        """Let a protocol say what pickles of a class hold of its records (`packed`), and take it back (`unpack`)."""
        _protocols[self._key] = protocol

    def find(self, cls: type) -> Record | None:
        """Return the record of exactly this type, if there is one."""
        records: dict[int, Record] | None = cls.__dict__.get(ATTRIBUTE)
        if records is not None and self._key in records:
            return records[self._key]
        return self._static.get(cls)

    def make(self, cls: type) -> Record:
        """Return the record of exactly this type, made if needed."""
        with _making:
            record = self.find(cls)
            if record is not None:
                return record
            record = Record()
            try:
                if ATTRIBUTE not in cls.__dict__:
                    setattr(cls, ATTRIBUTE, TypeRecords(cls, new_version()))
                cls.__dict__[ATTRIBUTE][self._key] = record
            except (AttributeError, TypeError):
                self._static[cls] = record
            return record

    def declare(self, cls: type, declaration: Declaration) -> Undo:
        """Store what a type declares; return what restores the state before."""
        record = self.make(cls)
        before = record.declaration, record.version
        record.declaration, record.version = declaration, new_version()

        def undo() -> None:
            record.declaration, record.version = before

        return undo

    def receive(self, cls: type, declaration: Declaration | None, mark: Version | None) -> bool:
        """Store what another process has declared for a type; return whether it was not known."""
        record = self.make(cls)
        if mark is None or not is_newer(mark, record.version):
            return False
        record.declaration, record.version = declaration, mark
        return True

    def declared(self, cls: type, name: str) -> Any:
        """Return what the type, or the nearest of its superclasses, declares; None where none does."""
        for ancestor in cls.__mro__:
            record = self.find(ancestor)
            if record is not None and record.declaration is not None:
                value = getattr(record.declaration, name)
                if value is not None:
                    return value
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Conversion:
    """An edge of the conversion graph.

    Attributes
    ----------
    source, target : the types
    function : makes a target of a source
    cost : what a path pays for it
    lossy : whether something is lost
    version : of its declaration
    """

    source: type
    target: type
    function: Callable[[Any], Any]
    cost: float
    lossy: bool
    version: Version = field(default_factory=new_version)


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

    def version_of(self, edge: Conversion) -> Version | None:
        """Return the version of the conversion between the same types as a new one, None where there is none."""
        owned = self._records.make(edge.source).owned
        return next((one.version for one in owned if isinstance(one, Conversion) and one.target is edge.target), None)

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

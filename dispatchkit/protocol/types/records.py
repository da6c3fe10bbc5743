"""Storage of what belongs to a type.

It is kept on the type itself (`__dispatch_records__`), so that a type and its handlers are collected together once
nobody uses them. For types that take no attributes, the protocol keeps it.

A class that no module holds, as of a notebook, is pickled by value (by cloudpickle, which joblib and Dask use) with its
attributes. This one then takes what is declared for the class along, and declares it where it arrives.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakValueDictionary

from dispatchkit.protocol.types.declaration import Declaration
from dispatchkit.protocol.types.stamps import Stamp, is_newer, stamp

__all__ = ["ATTRIBUTE", "Record", "Records", "Travels", "Undo"]

Undo = Callable[[], None]
ATTRIBUTE = "__dispatch_records__"
_keys = itertools.count()


class Travels(Protocol):
    """What the records of a class ask of a protocol when the class travels to another process."""

    def packed(self, cls: type, /) -> dict[str, Any]:
        """Return what is declared for a class."""

    def unpack(self, cls: type, found: dict[str, Any], /) -> None:
        """Declare for a class what another process has declared."""


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
    stamp : of the declaration
    """

    declaration: Declaration | None = None
    owned: list[Any] = field(default_factory=list)
    serial: int = field(default_factory=lambda: next(_keys))
    stamp: Stamp | None = None


class TypeRecords(dict[int, Record]):
    """The records of one type, by the keys of the protocols that keep them."""

    def __init__(self, cls: type | None, mark: Stamp) -> None:
        super().__init__()
        self.cls = cls
        self.mark = mark
        _travellers[mark] = self

    def __reduce__(self) -> Any:
        # In the state, since the class refers to itself; a second copy of the class finds what the first has brought.
        packed = [(_protocols[key], _protocols[key].packed(self.cls)) for key in self if self.cls and key in _protocols]
        return _arrived, (self.mark,), (self.cls, packed)

    def __setstate__(self, state: tuple[type, list[tuple[Travels, dict[str, Any]]]]) -> None:
        self.cls, packed = state
        # Before the class gets the attributes that travel with it: rules refer to the record.
        if self.cls.__dict__.get(ATTRIBUTE) is not self:
            setattr(self.cls, ATTRIBUTE, self)
        for protocol, found in packed:
            protocol.unpack(self.cls, found)


_travellers: WeakValueDictionary[Stamp, TypeRecords] = WeakValueDictionary()
# The protocols by the key of their records; both are numbered anew in each process.
_protocols: WeakValueDictionary[int, Travels] = WeakValueDictionary()


def _arrived(mark: Stamp) -> TypeRecords:
    """Return the records that have a mark, made where the process has none."""
    with _making:
        found = _travellers.get(mark)
        return TypeRecords(None, mark) if found is None else found


class Records:
    """The records of one protocol, by type."""

    def __init__(self) -> None:
        # Not its id, which another protocol may get once this one is collected.
        self._key = next(_keys)
        self._static: dict[type, Record] = {}

    def travel_by(self, protocol: Travels) -> None:
        """Let a protocol say what of its records travels with a class."""
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
                    setattr(cls, ATTRIBUTE, TypeRecords(cls, stamp()))
                cls.__dict__[ATTRIBUTE][self._key] = record
            except (AttributeError, TypeError):
                self._static[cls] = record
            return record

    def declare(self, cls: type, declaration: Declaration) -> Undo:
        """Store what a type declares; return what restores the state before."""
        record = self.make(cls)
        before = record.declaration, record.stamp
        record.declaration, record.stamp = declaration, stamp()

        def undo() -> None:
            record.declaration, record.stamp = before

        return undo

    def arrive(self, cls: type, declaration: Declaration | None, mark: Stamp | None) -> bool:
        """Store what another process has declared for a type; return whether it was not known."""
        record = self.make(cls)
        if mark is None or not is_newer(mark, record.stamp):
            return False
        record.declaration, record.stamp = declaration, mark
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

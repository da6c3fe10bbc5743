"""Storage of what belongs to a type.

It is kept on the type itself (`__dispatch_records__`), so that a type and its handlers are collected together once
nobody uses them. For types that take no attributes, the protocol keeps it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dispatchkit.protocol.types.declaration import Declaration

__all__ = ["ATTRIBUTE", "Record", "Records", "Undo"]

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
    """

    declaration: Declaration | None = None
    owned: list[Any] = field(default_factory=list)
    serial: int = field(default_factory=lambda: next(_keys))


class Records:
    """The records of one protocol, by type."""

    def __init__(self) -> None:
        # Not its id, which another protocol may get once this one is collected.
        self._key = next(_keys)
        self._static: dict[type, Record] = {}

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
                    setattr(cls, ATTRIBUTE, {})
                cls.__dict__[ATTRIBUTE][self._key] = record
            except (AttributeError, TypeError):
                self._static[cls] = record
            return record

    def declare(self, cls: type, declaration: Declaration) -> Undo:
        """Store what a type declares; return what restores the state before."""
        record = self.make(cls)
        before = record.declaration
        record.declaration = declaration

        def undo() -> None:
            record.declaration = before

        return undo

    def declared(self, cls: type, name: str) -> Any:
        """Return what the type, or the nearest of its superclasses, declares; None where none does."""
        for ancestor in cls.__mro__:
            record = self.find(ancestor)
            if record is not None and record.declaration is not None:
                value = getattr(record.declaration, name)
                if value is not None:
                    return value
        return None

"""Which types take part in a protocol, and what each has declared.

What belongs to a type is kept on the type itself (`__dispatch_records__`), so that a type and its handlers are
collected together once nobody uses them. Types that take no attributes are kept in the protocol.
"""

from __future__ import annotations

import copy
import itertools
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.fields import FieldRule, rule_of

if TYPE_CHECKING:
    from dispatchkit.protocol.fallbacks import Fallback

__all__ = ["ATTRIBUTE", "DENSE", "RESULTS", "Declaration", "Record", "Records", "Undo", "with_field"]

Undo = Callable[[], None]
ATTRIBUTE = "__dispatch_records__"
DENSE = "to_dense"  # the method that makes a plain array, where a type names no other
# Of the base type's family: the class of what is computed with a type by default, None for the type itself.
RESULTS = "__dispatch_results__"
_keys = itertools.count()
# One for all protocols, which share the attribute: two records made at once would lose the rules of one.
_making = threading.Lock()


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a type has said of itself; None means not said, and is looked up in its superclasses."""

    fallback: Fallback | None = None
    priority: float | None = None
    fields: tuple[str, ...] | Mapping[str, Any] | None = None
    dense: str | Callable[[Any], Any] | None = None
    rules: Mapping[str, FieldRule] | None = None
    closed: tuple[Any, ...] = ()
    impossible: tuple[Any, ...] = ()


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
    """The records of one protocol, by type.

    Parameters
    ----------
    method : name of the method by which types take part
    """

    def __init__(self, method: str) -> None:
        self.method = method
        # Not its id, which another protocol may have once this one is gone.
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
        """Store what a type declares; return what puts back the state before."""
        record = self.make(cls)
        before = record.declaration
        record.declaration = declaration

        def undo() -> None:
            record.declaration = before

        return undo

    def declared(self, cls: type, name: str) -> Any:
        """Return what the type, or the nearest of its superclasses, declares; None where nobody does."""
        for ancestor in cls.__mro__:
            record = self.find(ancestor)
            if record is not None and record.declaration is not None:
                value = getattr(record.declaration, name)
                if value is not None:
                    return value
        return None

    def participates(self, cls: type) -> bool:
        """Return whether calls ask this type."""
        if self.own_method(cls) is not None:
            return True
        return any(record is not None and record.declaration is not None for record in map(self.find, cls.__mro__))

    def own_method(self, cls: type) -> Any:
        """Return the protocol method as it stands in the class body: a function, classmethod or staticmethod."""
        for ancestor in cls.__mro__:
            if self.method in ancestor.__dict__:
                return ancestor.__dict__[self.method]
        return None

    def is_generated(self, cls: type) -> bool:
        """Return whether the protocol method of a type was written by the library, not by its author."""
        method = self.own_method(cls)
        return bool(getattr(getattr(method, "__func__", method), "__generated__", False))

    def to_dense(self, cls: type) -> Callable[[Any], Any] | None:
        """Return what makes a plain array of an instance, if the type has it."""
        dense = self.declared(cls, "dense")
        if callable(dense):
            return dense  # type: ignore[no-any-return]  # what the declaration holds
        name = dense or DENSE
        method = getattr(cls, name, None)
        if method is None:
            return None

        def call(value: Any) -> Any:
            return getattr(value, name)()

        call.__name__, call.__wrapped__ = name, method  # type: ignore[attr-defined]  # for messages
        return call

    def field_names(self, cls: type) -> tuple[str, ...]:
        """Return the fields that hold an instance's content.

        Raises
        ------
        RegistrationError : if the constructor's parameters cannot be told
        """
        declared: tuple[str, ...] | None = self.declared(cls, "fields")
        if declared is not None:
            return declared
        named: tuple[str, ...] | None = getattr(cls, "_fields", None) if issubclass(cls, tuple) else None
        if named is not None:
            return named
        dataclass_fields = getattr(cls, "__dataclass_fields__", None)
        if dataclass_fields is not None:
            return tuple(dataclass_fields)
        code = getattr(getattr(cls, "__init__"), "__code__", None)  # noqa: B009  # of the class, not of an instance
        if code is None:
            raise RegistrationError(
                f"{cls.__qualname__} has neither dataclass fields nor a constructor to read them from; "
                f"declare them: array_type(fields=('value', ...))"
            )
        count = code.co_argcount + code.co_kwonlyargcount
        return tuple(code.co_varnames[1:count])

    def constants_of(self, cls: type) -> frozenset[str]:
        """Return the fields that are not differentiated, whatever they hold."""
        rules = {name: rule_of(field) for name, field in getattr(cls, "__dataclass_fields__", {}).items()}
        rules.update(self.declared(cls, "rules") or {})
        return frozenset([name for name, rule in rules.items() if rule is not None and not rule.grad])

    def fields_of(self, value: Any) -> tuple[str, ...]:
        """Return the fields that an instance really has as attributes.

        Raises
        ------
        RegistrationError : if the type declares one that the instance does not have
        """
        cls = type(value)
        names = self.field_names(cls)
        found = tuple(name for name in names if hasattr(value, name))
        if len(found) < len(names) and self.declared(cls, "fields") is not None:
            missing = next(name for name in names if name not in found)
            listed = ", ".join(getattr(value, "__dict__", ())) or "none"
            raise RegistrationError(
                f"fields={names!r} of {cls.__qualname__} name '{missing}', which an instance does not have; its "
                f"attributes are {listed}"
            )
        return found


def with_field(source: Any, name: str, value: Any) -> Any:
    """Return a copy of an object in which one attribute has another value."""
    if isinstance(source, tuple):
        return source._replace(**{name: value})  # type: ignore[attr-defined]  # a named one, which has fields
    made = copy.copy(source)
    object.__setattr__(made, name, value)
    return made

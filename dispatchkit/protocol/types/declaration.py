"""What an array type declares, which conversions there are between types, and what is kept of both for each type."""

from __future__ import annotations

import copy
import dataclasses
import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args
from weakref import WeakSet, WeakValueDictionary, ref

from dispatchkit.locks import SectionLock
from dispatchkit.protocol.types.agreement import agree
from dispatchkit.versions import Version, is_newer, new_version

KEY = "dispatchkit"  # in the metadata of a dataclass field


Merge = Literal["left", "right", "error", "drop"] | Callable[[str, Sequence[Any]], Any]
View = Literal["keep", "drop"] | Callable[..., Any]
Copy = Literal["share", "deep"] | Callable[[Any], Any]
DROPPED = object()


class FieldRule(NamedTuple):
    """What an array type declares about one of its fields.

    Attributes
    ----------
    grad : whether floating-point numbers in it are differentiated; a function gives what the field is in a gradient
    merge, view, copy : what becomes of it where operands meet, in parts and other shapes, and in copies
    discrete : whether its numbers are taken from a few values, or these values
    dependent : whether the constructor computes it from the other fields
    """

    grad: bool | Callable[[Any, list[Any]], Any] = True
    merge: Merge = "left"
    view: View = "keep"
    copy: Copy = "share"
    discrete: bool | Sequence[Any] = False
    dependent: bool = False

    def __saved__(self) -> dict[str, Any]:
        return self._asdict()

    @classmethod
    def __loaded__(cls, saved: Any) -> FieldRule:
        if not isinstance(saved, dict) or set(saved) != set(cls._fields):
            raise TypeError(f"a rule of a field has {', '.join(cls._fields)}")
        return cls(**saved)

    def merge_values(self, name: str, values: Sequence[Any]) -> Any:
        """Return the field of a result whose operands have the field, `DROPPED` for none.

        Raises
        ------
        ValueError : if they disagree under the law ``"error"``, naming the field and the values
        """
        if all(agree(values[0], value) for value in values[1:]):
            return values[0]
        if callable(self.merge):
            return self.merge(name, values)
        if self.merge == "error":
            shown = " and ".join(map(repr, values))
            raise ValueError(f"metadata: operands disagree on '{name}': {shown}; choose another merge law")
        if self.merge == "drop":
            return DROPPED
        return values[0 if self.merge == "left" else -1]

    def view_value(self, value: Any, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return the field of a part of an array, or of one of another shape."""
        if callable(self.view):
            return self.view(value, function, args, kwargs)
        if self.view == "drop":
            return DROPPED
        return value

    def copy_value(self, value: Any) -> Any:
        """Return the field of a copy."""
        if callable(self.copy):
            return self.copy(value)
        if self.copy == "deep":
            return copy.deepcopy(value)
        return value


# The names among each of these laws.
CHOICES = {name: get_args(get_args(law)[0]) for name, law in (("merge", Merge), ("view", View), ("copy", Copy))}


def field(
    *,
    grad: bool | Callable[[Any, list[Any]], Any] = True,
    merge: Merge = "left",
    view: View = "keep",
    copy: Copy = "share",
    discrete: bool | Sequence[Any] = False,
    dependent: bool = False,
    metadata: Mapping[Any, Any] | None = None,
    **options: Any,
) -> Any:
    """Declare how a field of an array type behaves: in a dataclass, or as a value of ``array_type(fields={...})``.

    Parameters
    ----------
    grad : whether floating-point numbers in the field are differentiated. If False, transformations such as `func.grad`
        leave them unchanged, `nn.Parameter` does not make them parameters, and optimisers do not update them. A
        function returns the value of the field in a gradient, such as a quotient of units: it is called with the
        argument's field and a list of the outputs' fields, None for an output without the field
    merge : the field of a result whose operands disagree, under `fallback.rewrap` and in `types.MetadataTensor`; equal
        arrays agree. ``"left"`` and ``"right"`` take that operand's, ``"error"`` raises, ``"drop"`` sets None; a
        function is called with the name and the values, and returns the value
    view : the field of results of `kinds.indexing` and `kinds.manipulation`: ``"keep"``, ``"drop"``, or a function of
        the value and the call, that is its function, arguments and keywords
    copy : the field of a copy by `clone`: ``"share"`` is the same object, ``"deep"`` a copy, or a function of the value
    discrete : whether its numbers are taken from a few values, such as signs; or a sequence of these values. It is
        not differentiated, and the checks of `dk.testing` give it no other values
    dependent : whether the constructor computes the field from the others, and does not need it. It is not
        differentiated, and the checks of `dk.testing` compute it anew
    metadata, **options : of `dataclasses.field`, such as ``default`` and ``default_factory``

    Returns
    -------
    dataclasses.Field
        The declaration, for a dataclass or for ``fields``.

    Raises
    ------
    TypeError : if an option is neither one of its words nor a function, or `dataclasses.field` has no such option

    Examples
    --------
    >>> import dataclasses
    >>> import dispatchkit as dk
    >>> @dk.array_type(fallback=dk.fallback.dense)
    ... @dataclasses.dataclass
    ... class Shifted:
    ...     shift: dk.Tensor
    ...     base: dk.Tensor = dk.field(grad=False)
    ...     def to_dense(self):
    ...         return self.base + self.shift
    >>> weight = dk.nn.Parameter(Shifted(shift=dk.zeros(2), base=dk.ones(2)))
    >>> weight.base.requires_grad, weight.shift.requires_grad
    (False, True)
    """
    if not isinstance(grad, bool) and not callable(grad):
        raise TypeError(f"field: grad must be True, False or a function, found {grad!r}")
    for name, law in (("merge", merge), ("view", view), ("copy", copy)):
        if not callable(law) and law not in CHOICES[name]:
            listed = ", ".join(map(repr, CHOICES[name]))
            raise TypeError(f"field: {name} must be {listed} or a function, found {law!r}")
    if grad is True and (discrete is not False or dependent):
        grad = False
    rule = FieldRule(grad, merge, view, copy, discrete, dependent)
    return dataclasses.field(metadata={**(metadata or {}), KEY: rule}, **options)


def rule_of(field: dataclasses.Field[Any]) -> FieldRule | None:
    """Return what a dataclass field declares, None for one that is not made by `field`."""
    rule: FieldRule | None = field.metadata.get(KEY)
    return rule


@dataclass(frozen=True, slots=True, repr=False)
class Fallback:
    """Names of fallback strategies, tried in order; ``a | b`` tries `a`, then `b`.

    >>> from dispatchkit.protocol.fallbacks import fallback
    >>> fallback.decompose | fallback.dense
    fallback.decompose | fallback.dense
    """

    names: tuple[str, ...]

    def __or__(self, other: Fallback) -> Fallback:
        return Fallback(tuple(dict.fromkeys((*self.names, *other.names))))

    def __repr__(self) -> str:
        return " | ".join(f"fallback.{name}" for name in self.names)

    def __contains__(self, other: Fallback) -> bool:
        return set(self.names).issuperset(other.names)


REFUSE = Fallback(("refuse",))  # of a type that declares none


class Relation(NamedTuple):
    """How the results of an array type relate to those of the same calls on plain tensors, for the checks of a type.

    Parameters
    ----------
    holds : a function of an instance that a call returned and the plain tensor that the same call on dense forms
        returned: whether the one is right for the other. By default the elements must be equal
    members : a function of an instance that returns plain tensors that it stands for, such as the ends of an interval:
        results of calls on these must be right, too. By default `to_dense` alone
    tolerance : relative error of elements, and error relative to the largest one; 0 for half the digits of the dtype
    compared : whether results are compared at all

    See Also
    --------
    TypeTests : declares it for a type.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.testing import Relation, verify
    >>> contains = Relation(lambda x, y: dk.all((x.low <= y) & (y <= x.high)), lambda x: [x.low, x.high])
    >>> @dk.array_type(tests=dk.TypeTests(relation=contains))
    ... class Interval:
    ...     def __init__(self, low, high):
    ...         self.low, self.high = dk.asarray(low), dk.asarray(high)
    ...     def to_dense(self):
    ...         return (self.low + self.high) / 2
    >>> @dk.implements(dk.negative)
    ... def negative(x: Interval, /):
    ...     return Interval(-x.low, -x.high)
    >>> verify(dk.negative, Interval([1.0], [2.0]))
    Traceback (most recent call last):
        ...
    dispatchkit.testing.WrongCallError: value: dispatchkit.negative(Interval (1,) float64)
        ...
    """

    holds: Callable[[Any, Any], Any] | None = None
    members: Callable[[Any], Sequence[Any]] | None = None
    tolerance: float = 0.0
    compared: bool = True


RELATIONS = {"equal": Relation(), "unrelated": Relation(compared=False)}


class Declaration(NamedTuple):
    """What a type declares; what is None is inherited from its superclasses."""

    fallback: Fallback | None = None
    priority: float | None = None
    fields: tuple[str, ...] | Mapping[str, Any] | None = None
    dense: str | Callable[[Any], Any] | None = None
    from_dense: str | Callable[[Any, Any], Any] | None = None
    rules: Mapping[str, FieldRule] | None = None
    closed: tuple[Any, ...] = ()
    impossible: tuple[Any, ...] = ()
    relation: Any = None  # a Relation once it is checked
    refuses: tuple[type[Exception], ...] | None = None
    derivative: str | Callable[..., Any] | None = None


Undo = Callable[[], None]
ATTRIBUTE = "__dispatch_records__"
_keys = itertools.count()


# One lock for all protocols, which share the attribute: two records made at once would lose the rules of one.
_making = SectionLock()


class Record:
    """What a protocol keeps for one type.

    Attributes
    ----------
    declaration : what the type declares, None where it takes part by its method alone, or not at all
    owned : rules that live as long as the type, in the order of registration, as keys
    named_by : by the id of an operation or kind, references to the rules for it that need the type; some may be gone
    conversions : from the type, by their targets
    serial : grows from record to record
    version : of the declaration
    """

    __slots__ = ("conversions", "declaration", "named_by", "owned", "serial", "version")

    def __init__(self) -> None:
        self.declaration: Declaration | None = None
        self.owned: dict[Any, None] = {}
        self.named_by: dict[int, list[ref[Any]]] = {}
        self.conversions: dict[type, Conversion] = {}
        self.serial = next(_keys)
        self.version: Version | None = None


class TypeRecords(dict[int, Record]):
    """The records of one type, by the keys of the protocols that keep them.

    A pickle of the type by value has them with what its protocols say of the type. One of a type that a module holds
    has the name alone.

    Parameters
    ----------
    cls : the type; None while it is unpickled
    version : by which its copies in other processes are known
    """

    def __init__(self, cls: type | None, version: Version) -> None:
        super().__init__()
        self.cls = cls
        self.version = version
        _by_version[version] = self

    def __reduce__(self) -> Any:
        # In the state, since the type refers to itself.
        packed = []
        for key in self:
            protocol = _protocols.get(key)
            if protocol is not None and self.cls is not None:
                packed.append((protocol, protocol.pack(self.cls)))
        return _records_of, (self.version,), (self.cls, packed)

    def __setstate__(self, state: tuple[type, list[tuple[Any, dict[str, Any]]]]) -> None:
        self.cls, packed = state
        # Before the type gets the attributes that its pickle holds: rules refer to the record.
        if self.cls.__dict__.get(ATTRIBUTE) is not self:
            setattr(self.cls, ATTRIBUTE, self)
        for protocol, declared in packed:
            protocol.unpack(self.cls, declared)


_by_version: WeakValueDictionary[Version, TypeRecords] = WeakValueDictionary()
# The protocols by the key of their records; both are numbered anew in each process.
_protocols: WeakValueDictionary[int, Any] = WeakValueDictionary()


def _records_of(version: Version) -> TypeRecords:
    """Return the records that have a version, made where this process has none."""

    def find_or_make() -> TypeRecords:
        records = _by_version.get(version)
        if records is None:
            return TypeRecords(None, version)
        return records

    return _making.run(find_or_make)


class Records:
    """The records of one protocol, by type."""

    def __init__(self) -> None:
        # Not its id, which another protocol may get once this one is collected.
        self._key = next(_keys)
        self._static: dict[type, Record] = {}

    def pickle_with(self, protocol: Any) -> None:
        """Let a protocol say what pickles of a type by value hold of it (`pack`), and take it back (`unpack`)."""
        _protocols[self._key] = protocol

    def find(self, cls: type) -> Record | None:
        """Return the record of exactly this type, if there is one."""
        records: dict[int, Record] | None = cls.__dict__.get(ATTRIBUTE)
        if records is not None and self._key in records:
            return records[self._key]
        return self._static.get(cls)

    def make(self, cls: type) -> Record:
        """Return the record of exactly this type, made if needed."""

        def find_or_make() -> Record:
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

        return _making.run(find_or_make)

    def declare(self, cls: type, declaration: Declaration) -> Undo:
        """Store what a type declares; return what restores the state before."""
        record = self.make(cls)
        before, version = (record.declaration, record.version), new_version()

        def undo() -> None:
            record.declaration, record.version = before

        record.declaration, record.version = declaration, version
        return undo

    def receive(self, cls: type, declaration: Declaration | None, version: Version | None) -> bool:
        """Store what another process declares for a type; return whether that was not known."""
        record = self.make(cls)
        if version is None or not is_newer(version, record.version):
            return False
        record.declaration, record.version = declaration, version
        return True

    def declared_value(self, cls: type, name: str) -> Any:
        """Return what the type, or the nearest of its superclasses, declares; None where none does."""
        for ancestor in cls.__mro__:
            record = self.find(ancestor)
            if record is not None and record.declaration is not None:
                value = getattr(record.declaration, name)
                if value is not None:
                    return value
        return None


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

    __slots__ = ("cost", "function", "lossy", "source", "target", "version")

    def __init__(self, source: type, target: type, function: Callable[[Any], Any], cost: float, lossy: bool) -> None:
        self.source, self.target, self.function, self.cost, self.lossy = source, target, function, cost, lossy
        self.version = new_version()


class Conversions:
    """The conversion graph of a protocol; the source of a conversion owns it.

    Parameters
    ----------
    records : of the protocol's types
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        # What arrays are one of that conversions lead to: they answer calls that do not hold them.
        self._targets: WeakSet[type] = WeakSet()

    def leads_to(self, types: Iterable[type]) -> bool:
        """Return whether a conversion leads to one of some types, or to a subclass; also one that has been undone."""
        return any(cls in self._targets for cls in types)

    def add(self, edge: Conversion) -> Undo:
        """Store a conversion in place of one between the same types; return what restores the state before."""
        conversions, target = self._records.make(edge.source).conversions, edge.target
        replaced = conversions.get(target)

        def undo() -> None:
            if conversions.get(target) is not edge:
                return
            if replaced is None:
                del conversions[target]
            else:
                conversions[target] = replaced

        self._targets.update(target.__mro__)
        conversions[target] = edge
        return undo

    def version_of(self, source: type, target: type) -> Version | None:
        """Return the version of the conversion between two types, None where there is none."""
        known = self._records.make(source).conversions.get(target)
        if known is None:
            return None
        return known.version

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
            for edge in self.of(cls):
                if edge.target not in done:
                    heapq.heappush(
                        heap, (cost + edge.cost, losses + edge.lossy, next(order), edge.target, (*path, edge))
                    )

    def of(self, cls: type) -> list[Conversion]:
        """Return the conversions that start at a type or a superclass."""
        records = [record for record in map(self._records.find, cls.__mro__) if record is not None]
        # Each dictionary is listed in one step: another thread may register a conversion meanwhile.
        return [edge for record in records for edge in list(record.conversions.values())]

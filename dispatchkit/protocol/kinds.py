"""Kinds: families of operations that one rule can answer together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar


class Kind:
    """A family of operations, which may be part of a wider one.

    Iterating over a kind gives its overridable functions, those of the kinds inside it, too.

    Parameters
    ----------
    name : how it prints
    parent : the wider family, if any

    Attributes
    ----------
    family : the widest kind around it but `kinds.all`
    listed : the operations that iteration looks through, those of the tensor protocol
    load_all : loads those of parts of the library that a program has not used yet
    """

    __slots__ = ("__weakref__", "_lineage", "family", "name", "parent")

    listed: ClassVar[Mapping[str, Any]] = {}
    load_all: ClassVar[Callable[[], None]]

    def __init__(self, name: str, parent: Kind | None = None) -> None:
        self.name = name
        self.parent = parent
        self._lineage: tuple[Kind, ...]
        if parent is None:
            self._lineage = (self,)
        else:
            self._lineage = (self, *parent.lineage())
        self.family: Kind
        if parent is None or parent.parent is None:
            self.family = self
        else:
            self.family = parent.family

    def __repr__(self) -> str:
        return f"kinds.{self.name}"

    def __reduce__(self) -> str | tuple[object, ...]:
        return (kind_named, (self.name,))

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        Kind.load_all()
        return iter([member.function for member in self.listed.values() if self in member.kind.lineage()])

    def lineage(self) -> tuple[Kind, ...]:
        """Return the kind and the wider ones that it is part of, the narrowest first."""
        return self._lineage


class CreationKind(Kind):
    """A family of operations that make arrays: their functions also take ``requires_grad`` and ``like``."""

    __slots__ = ()


class _Kinds:
    """The kinds of the library; `all` holds every operation.

    >>> kinds.comparison.lineage()
    (kinds.comparison, kinds.elementwise, kinds.all)
    """

    all = Kind("all")

    elementwise = Kind("elementwise", all)
    arithmetic = Kind("arithmetic", elementwise)
    additive = Kind("additive", arithmetic)
    multiplicative = Kind("multiplicative", arithmetic)
    bounds = Kind("bounds", elementwise)
    rounding = Kind("rounding", elementwise)
    complex_parts = Kind("complex_parts", elementwise)
    comparison = Kind("comparison", elementwise)
    predicate = Kind("predicate", elementwise)
    logical = Kind("logical", elementwise)
    bitwise = Kind("bitwise", elementwise)
    transcendental = Kind("transcendental", elementwise)
    exponential = Kind("exponential", transcendental)
    trigonometric = Kind("trigonometric", transcendental)
    hyperbolic = Kind("hyperbolic", transcendental)
    special = Kind("special", transcendental)
    activation = Kind("activation", elementwise)

    reduction = Kind("reduction", all)
    manipulation = Kind("manipulation", all)
    linalg = Kind("linalg", all)
    product = Kind("product", linalg)
    decomposition = Kind("decomposition", linalg)
    creation = CreationKind("creation", all)
    indexing = Kind("indexing", all)
    assignment = Kind("assignment", all)
    searching = Kind("searching", all)
    sorting = Kind("sorting", all)
    set = Kind("set", all)
    fft = Kind("fft", all)
    random = CreationKind("random", all)
    conversion = Kind("conversion", all)
    function = Kind("function", all)
    loss = Kind("loss", function)
    normalization = Kind("normalization", function)

    def __iter__(self) -> Iterator[Kind]:
        return iter([kind for kind in vars(type(self)).values() if isinstance(kind, Kind)])


kinds = _Kinds()


def kind_named(name: str) -> Kind:
    """Return the kind of a name, for pickles."""
    kind: Kind = getattr(kinds, name)
    return kind

"""Kinds: families of operations that one rule can answer together."""

from __future__ import annotations

from types import SimpleNamespace

__all__ = ["Kind", "kinds"]


class Kind:
    """A family of operations, which may be part of a wider one.

    Parameters
    ----------
    name : how it prints
    parent : the wider family, if any
    """

    __slots__ = ("__weakref__", "name", "parent")

    def __init__(self, name: str, parent: Kind | None = None) -> None:
        self.name = name
        self.parent = parent

    def __repr__(self) -> str:
        return f"kinds.{self.name}"

    def __reduce__(self) -> str | tuple[object, ...]:
        return (_named, (self.name,))

    def lineage(self) -> tuple[Kind, ...]:
        """Return the kind and the wider ones that it is part of, the narrowest first."""
        return (self,) if self.parent is None else (self, *self.parent.lineage())


class _Kinds(SimpleNamespace):
    """The kinds of the library; `all` holds every operation.

    >>> kinds.reduction.lineage()
    (kinds.reduction, kinds.all)
    """

    all = Kind("all")
    elementwise = Kind("elementwise", all)
    reduction = Kind("reduction", all)
    manipulation = Kind("manipulation", all)
    linalg = Kind("linalg", all)
    creation = Kind("creation", all)
    indexing = Kind("indexing", all)
    searching = Kind("searching", all)
    sorting = Kind("sorting", all)
    set = Kind("set", all)
    fft = Kind("fft", all)
    random = Kind("random", all)
    conversion = Kind("conversion", all)
    function = Kind("function", all)


kinds = _Kinds()


def _named(name: str) -> Kind:
    kind: Kind = getattr(kinds, name)
    return kind

"""Where the tensors are in a value: the value itself, or fields of an array type, at any depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchkit.errors import RegistrationError
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.types.fields import with_field

__all__ = ["NOTHING", "TENSOR", "Parts", "parts_of"]

Path = tuple[str, ...]


class Parts:
    """The places of the tensors in a value.

    Parameters
    ----------
    cls : what the value is an instance of
    paths : the names of the attributes that lead to each tensor; none where the value is the tensor itself
    """

    __slots__ = ("cls", "paths")

    def __init__(self, cls: type, paths: tuple[Path, ...]) -> None:
        self.cls = cls
        self.paths = paths

    def take(self, value: Any) -> list[Any]:
        """Return what a value has at these places."""
        return [_at(value, path) for path in self.paths]

    def put(self, value: Any, tensors: Sequence[Any]) -> Any:
        """Return a copy of a value with other things at these places; all else is shared with it."""
        for path, tensor in zip(self.paths, tensors, strict=True):
            value = _with(value, path, tensor)
        return value

    def emptied(self, value: Any) -> Any:
        """Return a copy of a value with None in place of its tensors."""
        return self.put(value, [None] * len(self.paths))


NOTHING = Parts(object, ())
TENSOR = Parts(Storage, ((),))


def parts_of(value: Any) -> Parts:
    """Return where the tensors are in a value; `NOTHING` for what is neither a tensor nor an array type."""
    if isinstance(value, Storage):
        return TENSOR
    cls = type(value)
    return Parts(cls, tuple(_paths(value))) if tensor_protocol.types.participates(cls) else NOTHING


def _paths(value: Any) -> list[Path]:
    records = tensor_protocol.types
    try:
        names = records.fields_of(value)
    except RegistrationError:  # a type that has no fields at all
        return []
    return [(name, *path) for name in names for path in parts_of(getattr(value, name)).paths]


def _at(value: Any, path: Path) -> Any:
    for name in path:
        value = getattr(value, name)
    return value


def _with(value: Any, path: Path, tensor: Any) -> Any:
    if not path:
        return tensor
    return with_field(value, path[0], _with(getattr(value, path[0]), path[1:], tensor))

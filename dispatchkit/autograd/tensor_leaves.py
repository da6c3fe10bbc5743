"""Where the tensors are in a value: the value itself, or fields of an array type, at any depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tree import Item, Path, leaves_with_paths, with_attributes

__all__ = ["NO_LEAVES", "TENSOR", "TensorLeaves", "mapped", "tensor_leaves"]


class TensorLeaves:
    """The places of the tensors in a value.

    Parameters
    ----------
    cls : class of the value
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
        """Return a copy of a value with others at these places; all else is shared with it."""
        for path, tensor in zip(self.paths, tensors, strict=True):
            value = _with(value, path, tensor)
        return value

    def emptied(self, value: Any) -> Any:
        """Return a copy of a value with None in place of its tensors."""
        return self.put(value, [None] * len(self.paths))


NO_LEAVES = TensorLeaves(object, ())
TENSOR = TensorLeaves(Storage, ((),))


def tensor_leaves(value: Any) -> TensorLeaves:
    """Return where the tensors are in a value; `NO_LEAVES` for what is neither a tensor nor an array type."""
    if isinstance(value, Storage):
        return TENSOR
    cls = type(value)
    if not tensor_protocol.types.participates(cls):
        return NO_LEAVES
    found = leaves_with_paths(_fields, value)
    return TensorLeaves(cls, tuple([path for path, leaf in found if isinstance(leaf, Storage)]))


def mapped(value: Any, change: Any) -> Any:
    """Return a value with each tensor in it changed; one without tensors is returned itself."""
    layout = tensor_leaves(value)
    return value if layout is NO_LEAVES else layout.put(value, [change(tensor) for tensor in layout.take(value)])


def _fields(value: Any) -> Sequence[Item] | None:
    return None if isinstance(value, Storage) else tensor_protocol.types.items_of(value, strict=False)


def _at(value: Any, path: Path) -> Any:
    for name in path:
        value = getattr(value, name)
    return value


def _with(value: Any, path: Path, tensor: Any) -> Any:
    if not path:
        return tensor
    return with_attributes(value, [(path[0], _with(getattr(value, path[0]), path[1:], tensor))])

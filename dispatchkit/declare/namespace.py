"""The namespace of tensor operations, as bodies and rules receive it when their results are to be differentiable.

Operations enter it as they are declared; `dispatchkit` itself publishes the same names.
"""

from __future__ import annotations

from typing import Any

__all__ = ["TensorNamespace", "enter", "public_namespace", "publish", "tensor_namespace"]


class TensorNamespace:
    """An array API namespace made of operations.

    Parameters
    ----------
    name : as printed
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __repr__(self) -> str:
        return f"<namespace {self.__name__}>"


tensor_namespace: Any = TensorNamespace("dispatchkit")
_published: list[Any] = [tensor_namespace]


def enter(path: str, value: Any) -> None:
    """Put a value at a path such as ``"add"`` or ``"linalg.inv"``."""
    place = tensor_namespace
    *outer, name = path.split(".")
    for part in outer:
        if not hasattr(place, part):
            setattr(place, part, TensorNamespace(f"{place.__name__}.{part}"))
        place = getattr(place, part)
    setattr(place, name, value)


def publish(module: Any) -> None:
    """Let tensors name a module as their array namespace."""
    _published[0] = module


def public_namespace() -> Any:
    """Return what ``Tensor.__array_namespace__`` gives."""
    return _published[0]

"""Arrays that stand for others while another library traces a function: JAX's tracers, PyTorch's fake tensors."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["UnsaidDevice", "is_traced"]


def is_traced(value: Any) -> bool:
    """Return whether an array stands for one whose elements nobody knows yet."""
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(value, jax.core.Tracer):
        return True
    torch = sys.modules.get("torch._subclasses.fake_tensor")
    return torch is not None and isinstance(value, torch.FakeTensor)


class UnsaidDevice:
    """The device of arrays that do not say theirs: tracers of JAX, and Dask's arrays.

    Arrays made with it are of the same library.

    Parameters
    ----------
    namespace : that computes on the arrays
    """

    __slots__ = ("namespace",)

    def __init__(self, namespace: Any) -> None:
        self.namespace = namespace

    def __repr__(self) -> str:
        return f"a device that {self.namespace.__name__} chooses"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnsaidDevice) and self.namespace is other.namespace

    def __hash__(self) -> int:
        return hash(self.namespace)

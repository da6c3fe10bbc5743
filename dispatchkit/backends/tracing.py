"""Arrays that stand for others while a library follows a program, and the device of those that do not say theirs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any


def is_traced(value: Any) -> bool:
    """Return whether an array stands for one whose elements nobody knows yet."""
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(value, jax.core.Tracer):
        return True
    torch = sys.modules.get("torch._subclasses.fake_tensor")
    return torch is not None and isinstance(value, torch.FakeTensor)


@dataclass(frozen=True, slots=True, repr=False)
class UnsaidDevice:
    """The device of arrays that do not say theirs: tracers of JAX, and Dask's arrays.

    Arrays made with it are of the same library.

    Parameters
    ----------
    namespace : that computes on the arrays
    """

    namespace: Any

    def __repr__(self) -> str:
        return f"a device that {self.namespace.__name__} chooses"

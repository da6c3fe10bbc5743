"""Lets einops' own functions take tensors and array types.

einops finds its backends among the subclasses of a class of its own. A program that imports einops imports this module
with it. `einops.array_api` needs none of this.

Examples
--------
>>> import dispatchkit as dk
>>> import einops  # doctest: +SKIP
>>> einops.rearrange(dk.ones((6, 4)), "(a b) c -> a c b", a=2).shape  # doctest: +SKIP
(2, 4, 3)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.protocol.instance import tensor_protocol

try:
    from einops._backends import AbstractBackend
except ImportError as error:
    raise ImportError("dispatchkit.interop.einops needs einops: pip install einops") from error


class DispatchkitBackend(AbstractBackend):  # type: ignore[misc]  # `Any` where einops is not installed
    """What einops asks of an array library."""

    framework_name = "dispatchkit"

    def is_appropriate_type(self, tensor: Any) -> bool:
        """Return whether a value is a tensor, or of an array type."""
        return tensor_protocol.types.participates(type(tensor))

    def from_numpy(self, x: Any) -> Any:
        """Return a NumPy array as a tensor."""
        return tensor_namespace.asarray(x)

    def to_numpy(self, x: Any) -> Any:
        """Return an array as NumPy's."""
        return np.asarray(x.detach())

    def arange(self, start: int, stop: int) -> Any:
        """Return consecutive integers."""
        return tensor_namespace.arange(start, stop)

    def reduce(self, x: Any, operation: str, axes: Sequence[int]) -> Any:
        """Reduce along axes: ``"min"``, ``"max"``, ``"sum"``, ``"mean"``, ``"prod"``, ``"any"`` or ``"all"``."""
        return getattr(tensor_namespace, operation)(x, axis=tuple(axes))

    def transpose(self, x: Any, axes: Sequence[int]) -> Any:
        """Return a tensor with its axes in another order; methods of its class may take other arguments."""
        return tensor_namespace.permute_dims(x, tuple(axes))

    def reshape(self, x: Any, shape: Sequence[int]) -> Any:
        """Return a tensor with its elements in another shape."""
        return tensor_namespace.reshape(x, tuple(shape))

    def stack_on_zeroth_dimension(self, tensors: list[Any]) -> Any:
        """Return tensors stacked."""
        return tensor_namespace.stack(tensors)

    def tile(self, x: Any, repeats: Sequence[int]) -> Any:
        """Return a tensor repeated along each axis."""
        return tensor_namespace.tile(x, tuple(repeats))

    def concat(self, tensors: list[Any], axis: int) -> Any:
        """Return tensors joined along an axis."""
        return tensor_namespace.concat(tensors, axis=axis)

    def is_float_type(self, x: Any) -> bool:
        """Return whether a tensor holds floating-point numbers."""
        return bool(tensor_namespace.isdtype(x.dtype, "real floating"))

    def add_axis(self, x: Any, new_position: int) -> Any:
        """Return a tensor with a new axis."""
        return tensor_namespace.expand_dims(x, axis=new_position)

    def einsum(self, pattern: str, *x: Any) -> Any:
        """Return a sum of products; axes under dots that the result has no place for are summed over, too."""
        inputs, arrow, output = pattern.replace(" ", "").partition("->")
        if not arrow or "..." not in inputs or "..." in output:
            return tensor_namespace.einsum(pattern, *x)
        y = tensor_namespace.einsum(f"{inputs}->...{output}", *x)
        return tensor_namespace.sum(y, axis=tuple(range(y.ndim - len(output))))

"""The dense form of an array type, for a library that takes no other."""

from __future__ import annotations

from typing import Any

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.protocol.densify import make_dense
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor

__all__ = ["dense_tensor"]


def dense_tensor(function: str, value: Any) -> Tensor:
    """Return a tensor, or the dense form of an array type under the budget of `densify`, as a plain tensor.

    Parameters
    ----------
    function : that asks for it, for messages
    value : tensor, array type, or what `asarray` takes

    Raises
    ------
    TypeError : for a type without a dense form
    DensifyError : where the budget forbids it
    """
    cls = type(value)
    if isinstance(value, Tensor):
        return value
    if not tensor_protocol.types.participates(cls):
        found: Tensor = tensor_namespace.asarray(value)
        return found
    to_dense = tensor_protocol.types.to_dense(cls)
    if to_dense is None:
        raise TypeError(f"{function}: {cls.__name__} has no dense form; define to_dense()")
    dense: Tensor = tensor_namespace.asarray(make_dense(function, cls, to_dense, value, tensor_protocol.types.is_plain))
    return dense

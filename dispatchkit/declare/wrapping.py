"""Tensors around raw arrays, made without a constructor; and the description of arrays without their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import Spec, is_inexact, namespace_of
from dispatchkit.backends.tracing import is_traced
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.errors import AutogradError
from dispatchkit.graph.node import Leaf
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.instance import tensor_protocol

new: Callable[[Any], Any] = object.__new__

# Classes of tensors that take over nothing from what they are computed of, and need not be asked.
taking_nothing: set[type] = set()


def wrap_array(cls: type, array: Any, vertex: Any = None) -> Any:
    """Return a tensor of a class around a raw array, without calling its constructor."""
    y = new(cls)
    y.array = array
    y._node = vertex
    y._memory = None
    return y


def make_leaf(array: Any) -> Leaf:
    """Return the vertex of a tensor that is to require a gradient.

    Raises
    ------
    AutogradError : for an array of integers or booleans
    """
    if not is_inexact(array.dtype):
        raise AutogradError(f"only floating-point and complex tensors can require gradients, not {array.dtype}")
    return Leaf(tuple(array.shape), array.dtype)


def spec_of(value: Any) -> Any:
    """Return shape and dtype of an array, and anything else as it is."""
    if isinstance(value, Storage):
        array = value.array
        if type(array) is np.ndarray:
            spec = new(Spec)  # whose constructor would take longer than the rest
            spec.shape, spec.dtype, spec.strides, spec.device = array.shape, array.dtype, array.strides, None
            return spec
        return Spec(tuple(array.shape), array.dtype, device=getattr(array, "device", None))
    if isinstance(value, (list, tuple)):
        return [spec_of(member) for member in value]
    if hasattr(value, "dtype"):
        return Spec(tuple(value.shape), value.dtype)
    return value


def holds(condition: Any, *, traced: bool = False) -> bool:
    """Return whether a condition is true for every element, under `vmap` for every element of the batch.

    In a rule's guard, ``if`` alone asks for a value that a batch does not have. The answer of `holds` is a Python bool,
    and no derivative flows through it.

    Parameters
    ----------
    condition : array of booleans of any type, or a bool
    traced : what is returned where JAX traces the call and nobody knows the elements; True for a check that raises

    Returns
    -------
    bool
        True if the condition is true everywhere; `traced` if its value is not known.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> def safe_log(x):
    ...     return dk.log(x) if dk.holds(x > 0) else dk.log(dk.abs(x) + 1)
    >>> dk.func.vmap(safe_log)(dk.asarray([1.0, 2.0]))
    tensor([0.0000, 0.6931])
    """
    if type(condition) is np.ndarray:  # as in most checks of NumPy's arrays
        return bool(np.logical_and.reduce(condition, None))
    if not isinstance(condition, Storage) and tensor_protocol.types.participates(type(condition)):
        condition = tensor_namespace.all(condition)
    condition = values_of_batch(condition)
    if tensor_protocol.types.participates(type(condition)):
        return bool(condition)
    if is_traced(condition):
        return traced
    # On a device, one boolean comes to main memory, rather than the array.
    return bool(namespace_of(condition).all(condition))


def values_of_batch(x: Any) -> Any:
    """Return the raw array of a tensor or of a dense form, under `vmap` of the whole batch; all else as it is."""
    if not isinstance(x, Storage) and tensor_protocol.types.participates(type(x)):
        dense = tensor_protocol.types.to_dense(type(x))
        if dense is not None:
            x = dense(x)
    while isinstance(x, Storage):
        x = x.value if x.is_tracer else x.array  # type: ignore[attr-defined]
    return x

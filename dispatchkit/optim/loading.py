"""What a saved state holds for a parameter, as an optimiser can use it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dispatchkit.backends.arrays import is_complex, is_raw
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.func.containers import as_array_like
from dispatchkit.tensor import Tensor

__all__ = ["fitted"]


def fitted(p: Tensor, state: Mapping[str, Any], buffers: Iterable[str], where: str) -> dict[str, Any]:
    """Return what was saved for a parameter, with tensors of its library in the place of arrays.

    Parameters
    ----------
    p : the parameter
    state : what was saved for it
    buffers : names of the arrays of the parameter's shape
    where : the parameter, for messages

    Raises
    ------
    TypeError : if `state` is no dictionary, an array cannot be read, a buffer is no array, or complex where the
        parameter is real
    ValueError : if a buffer has another shape than the parameter
    """
    if not isinstance(state, Mapping):
        raise TypeError(f"the state of {where} is a {type(state).__name__}, not a dictionary")
    made = {key: _fitted(p, value, f"{key!r} of {where}", key == "step") for key, value in state.items()}
    for name in buffers:
        part = made.get(name)
        if part is None:
            continue
        if not isinstance(part, Tensor):
            raise TypeError(f"{name!r} of {where} is a {type(part).__name__}, not a tensor or an array of numbers")
        if is_complex(part.dtype) and not is_complex(p.dtype):
            raise TypeError(f"{name!r} of {where} is complex, {part.dtype}, the parameter {p.dtype}")
        if part.shape != p.shape:
            raise ValueError(f"{name!r} of {where} has shape {part.shape}, the parameter {p.shape}")
    return made


def _fitted(p: Tensor, value: Any, what: str, counts: bool) -> Any:
    """Return a saved value with tensors of the parameter's dtype, except for the number of steps."""
    if isinstance(value, Tensor) or is_raw(value):
        try:
            tensor: Tensor = as_array_like(value, tensor_namespace.zeros(()) if counts else p)
        except TypeError as error:
            raise TypeError(f"{what} cannot be read: {error}") from error
        real = tensor.is_floating_point() and p.is_floating_point()
        return tensor if counts or not real else tensor_namespace.astype(tensor, p.dtype, copy=False)
    if isinstance(value, dict):
        return {key: _fitted(p, part, f"{key!r} in {what}", key == "step") for key, part in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_fitted(p, part, what, False) for part in value)
    return value

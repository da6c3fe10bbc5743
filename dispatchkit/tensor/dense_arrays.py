"""Array types as NumPy arrays: their dense form, under the budget of `densify`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.declare.call_errors import NUMBERS
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.densify import make_dense
from dispatchkit.protocol.instance import tensor_protocol

__all__ = ["dense_form", "has_numpy_array", "length", "numpy_array"]


def dense_form(value: Any) -> Any:
    """Return the plain array that an array inside of another type stands for, by the method that its type declares.

    Raises
    ------
    TypeError : if the type has no dense form
    """
    cls = type(value)
    if isinstance(value, (Storage, np.ndarray)):
        return value
    to_dense = tensor_protocol.types.to_dense(cls)
    if to_dense is None:
        raise TypeError(f"{cls.__name__} has no dense form; define to_dense()")
    return to_dense(value)


def numpy_array(self: Any, dtype: Any = None, copy: bool | None = None) -> Any:
    """Return the dense form as a NumPy array; what NumPy calls as ``__array__``.

    NumPy makes an array of objects of whatever it cannot read, so a type without a dense form has this method, too.

    Raises
    ------
    TypeError : if the type has no dense form, or one that is no array of numbers
    ValueError : if `copy` is False
    DensifyError : where the budget of `densify` forbids it
    AutogradError : if a gradient flows to the dense form, where a graph is recorded
    """
    cls = type(self)
    to_dense = tensor_protocol.types.to_dense(cls)
    if to_dense is None:
        raise TypeError(
            f"{cls.__name__} has no dense form that NumPy could read; define to_dense(), or __array__, or give NumPy "
            f"the array inside"
        )
    if copy is False:
        raise ValueError(f"a NumPy array of a {cls.__name__} is its dense form, a copy; leave copy=False out")
    array = np.asarray(make_dense("numpy.asarray", cls, to_dense, self, tensor_protocol.types.is_plain))
    if array.dtype.kind not in NUMBERS:
        raise TypeError(f"the dense form of {cls.__name__} is no array of numbers: to_dense() gave dtype {array.dtype}")
    return np.asarray(array, dtype=dtype, copy=copy)


def has_numpy_array(cls: type) -> bool:
    """Return whether NumPy can make an array of a type: by the dense form, or by a method that the type defines."""
    method = getattr(cls, "__array__", None)
    return method is not None and (method is not numpy_array or tensor_protocol.types.to_dense(cls) is not None)


def length(self: Any) -> int:
    """Return the length of the first axis; what an array type has as ``__len__``."""
    if not self.shape:
        raise TypeError(f"len() of a 0-D {type(self).__name__}")
    return int(self.shape[0])

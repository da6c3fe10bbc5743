"""NumPy as the standard has it, and without the detours on the way to its kernels.

Everything is NumPy's own but for the functions below. Results that NumPy gives as scalars are left so; whoever
wraps them makes 0-D arrays of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["NumpyNamespace", "numpy_namespace"]

_add, _multiply = np.add.reduce, np.multiply.reduce
_maximum, _minimum = np.maximum.reduce, np.minimum.reduce
_SMALL_INTEGERS = {
    np.dtype(small): np.dtype(wide)
    for kind, wide in (("int", "int64"), ("uint", "uint64"))
    for small in (f"{kind}{bits}" for bits in (8, 16, 32))
}


class NumpyNamespace:
    """The array API namespace that bodies and rules receive for NumPy arrays."""

    __name__ = "numpy"

    def __getattr__(self, name: str) -> Any:
        value = getattr(np, name)
        setattr(self, name, value)
        return value

    @staticmethod
    def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        """Sum without the Python layers of `numpy.sum`."""
        return _add(x, axis, dtype or _SMALL_INTEGERS.get(x.dtype), None, keepdims)

    @staticmethod
    def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        """Multiply without the Python layers of `numpy.prod`."""
        return _multiply(x, axis, dtype or _SMALL_INTEGERS.get(x.dtype), None, keepdims)

    @staticmethod
    def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        """Return the largest without the Python layers of `numpy.max`."""
        return _maximum(x, axis, None, None, keepdims)

    @staticmethod
    def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        """Return the smallest without the Python layers of `numpy.min`."""
        return _minimum(x, axis, None, None, keepdims)

    @staticmethod
    def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        """Average without the Python layers of `numpy.mean`; half precision is summed in single."""
        if x.dtype.kind not in "fc" or x.dtype.itemsize < 4 or x.size == 0:
            return np.mean(x, axis=axis, keepdims=keepdims)
        total = _add(x, axis, None, None, keepdims)
        count = x.size // total.size
        return total / x.dtype.type(count)

    @staticmethod
    def matrix_transpose(x: Any, /) -> Any:
        """Swap the last two axes without NumPy's dispatch layer."""
        return x.mT

    @staticmethod
    def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        """Sort, also in descending order."""
        kind = "stable" if stable else None
        if not descending:
            return np.sort(x, axis=axis, kind=kind)
        return np.flip(np.sort(x, axis=axis, kind=kind), axis=axis)

    @staticmethod
    def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        """Return sorting indices, also in descending order; equal elements keep their order."""
        if not descending:
            return np.argsort(x, axis=axis, kind="stable" if stable else None)
        flipped = np.argsort(np.flip(x, axis=axis), axis=axis, kind="stable")
        return x.shape[axis] - 1 - np.flip(flipped, axis=axis)


numpy_namespace = NumpyNamespace()

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
        return _add(x, axis, dtype, None, keepdims)

    @staticmethod
    def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        """Multiply without the Python layers of `numpy.prod`."""
        return _multiply(x, axis, dtype, None, keepdims)

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
    def floor_divide(x1: Any, x2: Any, /) -> Any:
        """Divide and round down; where one operand is infinite, ``floor(x1 / x2)`` as the standard asks."""
        y = np.floor_divide(x1, x2)
        if y.dtype.kind == "f":
            x1, x2 = np.asarray(x1, dtype=y.dtype), np.asarray(x2, dtype=y.dtype)
            infinite = np.isinf(x1) | np.isinf(x2)
            if infinite.any():
                return np.where(infinite, np.floor(x1 / x2), y)
        return y

    @staticmethod
    def expm1(x: Any, /) -> Any:
        """Raise e to a power and subtract one; complex zeros and infinities go by ``exp(x) - 1``."""
        y = np.expm1(x)
        if y.dtype.kind == "c":
            return np.where(np.isfinite(x) & (x != 0), y, np.exp(x) - 1)
        return y

    @staticmethod
    def real(x: Any, /) -> Any:
        """Copy the real part: results of element-wise operations have memory of their own."""
        return np.array(x.real)

    @staticmethod
    def imag(x: Any, /) -> Any:
        """Copy the imaginary part: results of element-wise operations have memory of their own."""
        return np.array(x.imag)

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

    @staticmethod
    def index_put(x: Any, key: Any, value: Any, /, *, accumulate: bool = False) -> Any:
        """Return a copy of an array with other elements at `key`, or with `value` added there."""
        out = x.copy()
        if not accumulate:
            out[key] = value
        elif _selects_once(key):
            out[key] += value
        else:
            np.add.at(out, key, value)
        return out


def _selects_once(key: Any) -> bool:
    """Return whether an index selects no element twice: it holds no integer arrays."""
    parts = key if isinstance(key, tuple) else (key,)
    return all(
        part is None
        or part is Ellipsis
        or isinstance(part, (int, slice, np.integer))
        or (isinstance(part, np.ndarray) and part.dtype == bool)
        for part in parts
    )


numpy_namespace = NumpyNamespace()

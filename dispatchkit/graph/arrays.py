"""Raw arrays: which library computes on one, and what the layers above ask of it.

Almost every array is NumPy's. `foreign` stays empty until a program wraps an array of another library; until then
the hot paths need not look.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.graph.numpy_namespace import numpy_namespace

__all__ = [
    "SCALARS",
    "Spec",
    "foreign",
    "holds_complex",
    "is_complex",
    "is_inexact",
    "is_raw",
    "namespace_of",
    "project",
    "raw_array",
]

foreign: list[type] = []
SCALARS = frozenset(np.dtype(code).type for code in np.typecodes["All"] if code not in "SUVMmaO") | {
    bool,
    int,
    float,
    complex,
}


class Spec:
    """Shape and dtype of an array whose values are not kept.

    Parameters
    ----------
    shape, dtype : of the array
    strides : of the array where it has some, so that a gradient can be given its layout
    """

    __slots__ = ("dtype", "shape", "strides")

    def __init__(self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None) -> None:
        self.shape = shape
        self.dtype = dtype
        self.strides = strides

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape))


def is_raw(value: Any) -> bool:
    """Return whether a value is an array that a tensor can hold: one with an array namespace."""
    return isinstance(value, np.ndarray) or hasattr(value, "__array_namespace__") or _is_torch(value)


def _is_torch(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach")


def raw_array(value: Any) -> Any:
    """Return the array to hold for a result or an argument: an exact ndarray, or another library's array.

    Raises
    ------
    TypeError : if it is neither an array nor a scalar
    """
    cls = type(value)
    if cls in SCALARS:
        return np.asarray(value)
    if cls is np.ndarray:
        return value
    if isinstance(value, np.ndarray):
        return value.view(np.ndarray)
    if isinstance(value, (np.generic, int, float, complex)):
        return np.asarray(value)
    if not is_raw(value):
        raise TypeError(f"an operation gave a {cls.__name__}, not an array; annotate its body if it gives several")
    if cls not in foreign:
        foreign.append(cls)
    return value


def is_complex(dtype: Any) -> bool:
    """Return whether a dtype, of any library, is of complex numbers."""
    kind = getattr(dtype, "kind", None)
    return kind == "c" if kind is not None else "complex" in str(dtype)


def holds_complex(value: Any) -> bool:
    """Return whether an array or scalar is complex."""
    dtype = getattr(value, "dtype", None)
    return isinstance(value, complex) if dtype is None else is_complex(dtype)


def is_inexact(dtype: Any) -> bool:
    """Return whether a dtype, of any library, is of real or complex floating-point numbers."""
    kind = getattr(dtype, "kind", None)
    return kind in ("f", "c") if kind is not None else any(name in str(dtype) for name in ("float", "complex"))


def namespace_of(array: Any) -> Any:
    """Return the array API namespace that computes on a raw array.

    Raises
    ------
    ImportError : for PyTorch arrays where array-api-compat is not installed
    """
    if isinstance(array, (np.ndarray, np.generic, int, float, complex)):
        return numpy_namespace
    namespace = getattr(array, "__array_namespace__", None)
    if namespace is not None:
        return namespace()
    if _is_torch(array):
        try:
            from array_api_compat import array_namespace  # noqa: PLC0415  # optional dependency
        except ImportError as error:
            raise ImportError(
                "computing on PyTorch arrays needs array-api-compat: pip install array-api-compat"
            ) from error
        return array_namespace(array)
    raise TypeError(f"{type(array).__name__} is no array: it has no __array_namespace__")


def project(xp: Any, g: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Bring a cotangent to the shape and dtype of what it belongs to.

    Axes that broadcasting stretched are summed; the gradient of something real is real.

    Parameters
    ----------
    xp : namespace that computes on `g`
    g : the cotangent
    shape, dtype : of the value whose gradient it is
    """
    if g.shape != shape:
        extra = g.ndim - len(shape)
        axes = tuple(range(extra)) + tuple(i + extra for i, n in enumerate(shape) if n == 1 and g.shape[i + extra] != 1)
        if axes:
            g = xp.sum(g, axis=axes)
        if g.shape != shape:
            g = xp.reshape(g, shape)
    if g.dtype != dtype:
        if xp.isdtype(g.dtype, "complex floating") and not xp.isdtype(dtype, "complex floating"):
            g = xp.real(g)
        if g.dtype != dtype:
            g = xp.astype(g, dtype)
    return g

"""What the sweep calls operations with: all dtypes, the values at the edges of each, and all layouts in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dispatchkit.declare.samples import Draw, Sample

__all__ = ["DTYPES", "LAYOUTS", "drawn", "edge_values", "laid_out"]

DTYPES = [
    np.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float32", "float64", "complex64", "complex128"),
    )
]


def edge_values(dtype: np.dtype[Any]) -> Any:
    """Return a vector of a dtype: small numbers, the largest and smallest, infinities, NaN, both zeros, subnormals."""
    if dtype.kind == "b":
        return np.array([False, True, True, False])
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        small = [0, 1, 2, 3, 5, 7, 8, 31, 100]
        return np.array(small + ([-n for n in small[1:]] if low else []) + [low, low + 1, high - 1, high], dtype=dtype)
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        size = [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 10.0, np.pi, 1e5, np.inf, np.nan]
        size += [float(x) for x in (limits.smallest_subnormal, limits.smallest_normal, limits.eps, limits.max)]
        return np.array([sign * x for x in size for sign in (1.0, -1.0)], dtype=dtype)
    parts = np.array([0.0, -0.0, 0.5, -1.0, 2.5, np.inf, -np.inf, np.nan])
    found = np.empty((parts.size, parts.size), dtype=dtype)
    found.real, found.imag = parts[:, None], parts
    return found.ravel()


def laid_out(x: Any, layout: str) -> Any:
    """Return an array of the same values that lies in memory in another way."""
    if layout == "Fortran order":
        return np.asfortranarray(x)
    if layout == "read-only":
        x = x.copy()
        x.flags.writeable = False
        return x
    if x.ndim == 0:
        return x.copy()
    if layout == "every other element":
        spread = np.zeros(tuple(2 * n for n in x.shape), dtype=x.dtype)
        part = spread[(slice(None, None, 2),) * x.ndim]
    elif layout == "backwards":
        part = np.zeros_like(x)[(slice(None, None, -1),) * x.ndim]
    else:
        part = np.zeros(x.shape[::-1], dtype=x.dtype).T if layout == "transposed" else np.zeros_like(x)
    part[...] = x
    return part


LAYOUTS = ("contiguous", "Fortran order", "transposed", "every other element", "backwards", "read-only")


def drawn(sample: Sample, dtype: np.dtype[Any], layout: str, edges: bool) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a stated call with its numbers in another dtype and layout.

    Parameters
    ----------
    sample : the call
    dtype : of the arrays that are drawn as numbers; integers and booleans, which select, stay
    layout : one of `LAYOUTS`
    edges : whether some numbers are infinite, NaN, negative zero and subnormal
    """
    rng = np.random.default_rng(1)

    def made(value: Any) -> Any:
        if isinstance(value, Draw):
            x = value.make(rng)
            if value.content not in ("integer", "boolean"):
                x = _converted(x, dtype, rng)
                if edges and dtype.kind in "fc" and x.size:
                    x.flat[:: max(1, x.size // 3)] = edge_values(dtype)[rng.integers(0, 20)]
            return laid_out(np.asarray(x), layout)
        if isinstance(value, (list, tuple)) and any(isinstance(member, Draw) for member in value):
            return type(value)(made(member) for member in value)
        return value

    return [made(arg) for arg in sample.args], {name: made(value) for name, value in sample.kwargs.items()}


def _converted(x: Any, dtype: np.dtype[Any], rng: np.random.Generator) -> Any:
    """Return numbers in another dtype: several different ones also as integers, imaginary parts where there are any."""
    if dtype.kind == "b":
        return x > 0
    if dtype.kind in "iu":
        return np.round(np.abs(x) * 3 if dtype.kind == "u" else x * 3).astype(dtype)
    if dtype.kind == "c":
        return (x + 1j * np.triu(rng.uniform(-0.1, 0.1, size=x.shape), 1) if x.ndim > 1 else x * (1 + 0.5j)).astype(
            dtype
        )
    return x.astype(dtype)


def pairs() -> Iterator[tuple[np.dtype[Any], np.dtype[Any]]]:
    """Yield every pair of dtypes."""
    yield from ((a, b) for a in DTYPES for b in DTYPES)

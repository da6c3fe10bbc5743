"""Functions of integers, of places and of numbers taken apart, such as `gcd`, `tril_indices` and `frexp`."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from dispatchkit.as_torch.shared import written_functions
from dispatchkit.as_torch.table import ALONE, TRANSLATIONS, is_array
from dispatchkit.backends.arrays import dtype_name, numpy_dtype
from dispatchkit.declare.decorators import operation
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.protocol.kinds import kinds

# Where the dtype of places is not asked for.
PLACES = "int64"


@operation(kind=kinds.elementwise, namespace="torch", decomposes=False)
def greatest_common_divisor(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Return the greatest integers that divide both elements."""
    return xp.gcd(x1, x2)


@operation(kind=kinds.elementwise, namespace="torch", decomposes=False)
def least_common_multiple(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Return the least integers that both elements divide."""
    return xp.lcm(x1, x2)


@operation(kind=kinds.elementwise, namespace="torch", decomposes=False)
def binary_exponent(xp: Any, x: Any, /) -> Any:
    """Return the exponents of the powers of two by which elements are from 0.5 to 1; 0 of infinities and NaN."""
    return xp.where(xp.isfinite(x), xp.frexp(x)[1], 0)


def _of_integers(name, function, /, input, other):
    for x in (input, other):
        if not xp.isdtype(x.dtype, ("integral", "bool")):
            raise NotImplementedError(f'"{name}" not implemented for {dtype_name(x.dtype)!r}')
    return function(input, other)


def gcd(input, other):
    return _of_integers("gcd", greatest_common_divisor, input, other)


def lcm(input, other):
    return _of_integers("lcm", least_common_multiple, input, other)


def frexp(input):
    if not xp.isdtype(input.dtype, "real floating"):
        raise RuntimeError(f"torch.frexp() only supports floating-point dtypes, found {input.dtype}")
    exponent = binary_exponent(input.detach())
    # In two steps, as no power of two takes the smallest numbers there at once.
    half = exponent // 2
    mantissa = input * xp.astype(2.0 ** (-half), input.dtype) * xp.astype(2.0 ** (half - exponent), input.dtype)
    return mantissa, xp.astype(exponent, xp.int32)


def unravel_index(indices, shape):
    lengths = _lengths("unravel_index", shape)
    rest, places = xp.astype(indices, xp.int64, copy=False), []
    for length in reversed(lengths):
        places.append(xp.remainder(rest, length))
        rest = xp.floor_divide(rest, length)
    return tuple(reversed(places))


def _lengths(name: str, shape: Any) -> tuple[int, ...]:
    """Return a shape as numbers.

    Raises
    ------
    TypeError : for what is no shape
    ValueError : for a negative length
    """
    try:
        if is_array(shape):
            raise TypeError
        lengths = tuple(map(operator.index, shape if isinstance(shape, (tuple, list)) else (shape,)))
    except TypeError:
        raise TypeError(f"{name}: expected 'shape' to be int or sequence of ints, found {type(shape)}") from None
    if any(length < 0 for length in lengths):
        raise ValueError(f"{name}: 'shape' cannot have negative values, found {lengths}")
    return lengths


def _indices_of(name, of_numpy, /, row, col, offset=0, *, dtype=None, **options):
    """Return the rows and columns of the places of a triangle."""
    for argument, length in (("row", row), ("col", col)):
        if length < 0:
            raise RuntimeError(f"{name}: {argument} must be non-negative, got {length}")
    if numpy_dtype(dtype or PLACES).name not in ("int32", "int64"):
        raise NotImplementedError(f'"{name}" not implemented for {dtype_name(dtype)!r}')
    places = np.stack(of_numpy(row, offset, col))
    return xp.asarray(places.astype(numpy_dtype(dtype or PLACES)), **options)


def tril_indices(row, col, offset=0, *, dtype=None, device=None, layout=None):
    return _indices_of("tril_indices", np.tril_indices, row, col, offset, dtype=dtype, device=device)


def triu_indices(row, col, offset=0, *, dtype=None, device=None, layout=None):
    return _indices_of("triu_indices", np.triu_indices, row, col, offset, dtype=dtype, device=device)


def vander(x, N=None, increasing=False):
    if x.ndim != 1:
        raise RuntimeError(f"x must be a one-dimensional tensor, found {x.ndim} dimensions")
    count = len(x) if N is None else N
    if count < 0:
        raise RuntimeError(f"N must be non-negative, found {count}")
    powers = np.arange(count)
    if not increasing:
        powers = powers[::-1].copy()
    return x[:, None] ** xp.asarray(powers)


OPERATIONS = frozenset({"binary_exponent", "greatest_common_divisor", "least_common_multiple"})
TRANSLATIONS.update({path: f for path, f in written_functions(globals()).items() if path not in OPERATIONS})
# Of numbers alone, by which calls from PyTorch are not answered.
ALONE.update({name: TRANSLATIONS.pop(name) for name in ("tril_indices", "triu_indices")})

"""Tells Dask how many elements of an array with missing ones there are, by which it divides sums of chunks.

A program that imports Dask's arrays imports this module with them.

Examples
--------
>>> import dask.array as da  # doctest: +SKIP
>>> from dispatchkit.types import MaskedTensor
>>> x = MaskedTensor([1.0, 2.0, 4.0], [True, False, True])
>>> da.from_array(x, asarray=False, chunks=2).mean().compute()  # doctest: +SKIP
MaskedTensor(2.5000)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.types.levels import Wrapper

try:
    from dask.array.dispatch import nannumel_lookup, numel_lookup
except ImportError as error:
    raise ImportError("dispatchkit.interop.dask needs Dask's arrays: pip install dask[array]") from error


def count_elements(x: Any, **options: Any) -> Any:
    """Return how many elements there are along axes, as an array of NumPy.

    Parameters
    ----------
    x : array of a type of this library
    **options : ``axis``, ``keepdims`` and ``dtype``, as of `numpy.sum`
    """
    return np.sum(np.asarray(_present(x)), **options)


def count_numbers(x: Any, **options: Any) -> Any:
    """Return how many elements that are not NaN there are along axes, as `count_elements` does."""
    inner = _innermost(x)
    numbers = np.ones(inner.shape, bool)
    if inner.dtype.kind in "fc":
        numbers = ~np.asarray(tensor_namespace.isnan(inner))
    return np.sum(np.asarray(_present(x)) & numbers, **options)


def _present(x: Any) -> Any:
    """Return which elements are there: all, but for a type that says so itself, or one that it wraps."""
    while True:
        if hasattr(x, "valid"):
            return x.valid
        if not _is_wrapper(x):
            return np.ones(x.shape, bool)
        x = x.data


def _innermost(x: Any) -> Any:
    """Return the plain array inside of wrappers."""
    while _is_wrapper(x):
        x = x.data
    return x


def _is_wrapper(x: Any) -> bool:
    """Return whether an array wraps another one, which is its `data`."""
    return not isinstance(x, tensor_namespace.Tensor) and hasattr(x, "data") and hasattr(x, "with_data")


numel_lookup.register(Wrapper, count_elements)
nannumel_lookup.register(Wrapper, count_numbers)

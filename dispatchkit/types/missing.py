"""What is missing in arrays of other libraries: masked arrays of NumPy, and arrays, series and tables of pandas."""

from __future__ import annotations

from typing import Any

import numpy as np


def split_missing(data: Any) -> tuple[Any, Any]:
    """Return the elements of data of another library, and which are there; anything else as it is, with None.

    Parameters
    ----------
    data : anything

    Raises
    ------
    TypeError : for data of pandas that are no numbers
    """
    if isinstance(data, np.ma.MaskedArray):
        return np.asarray(data.data), ~np.ma.getmaskarray(data)
    if _is_of_pandas(data):
        return _numbers_of(data), ~np.asarray(data.isna())
    if isinstance(data, (list, tuple)) and any(map(_is_marked, map(type, data))):
        return _stacked(data)
    return data, None


def _is_of_pandas(data: Any) -> bool:
    """Return whether data are an array, an index, a series or a table of pandas, which is not imported for that."""
    cls = type(data)
    return (cls.__module__ or "").partition(".")[0] == "pandas" and hasattr(cls, "isna") and hasattr(cls, "to_numpy")


def _is_marked(cls: type) -> bool:
    """Return whether a member of a sequence says itself what is missing in it."""
    return issubclass(cls, np.ma.MaskedArray) or (cls.__module__ or "").partition(".")[0] == "pandas"


def _stacked(members: Any) -> tuple[Any, Any]:
    """Return the members of a sequence as one array, and what is there; the missing value of pandas has no dtype."""
    there = [not _is_missing_value(member) for member in members]
    parts = [split_missing(member) for member, known in zip(members, there, strict=True) if known]
    valid = np.zeros(len(there), bool)
    if not parts:
        return np.zeros(len(there)), valid
    flags = [np.ones(np.shape(data), bool) if known is None else known for data, known in parts]
    stacked = np.stack([np.asarray(data) for data, _ in parts])
    numbers = np.zeros((len(there), *stacked.shape[1:]), stacked.dtype)
    valid = np.zeros(numbers.shape, bool)
    numbers[there], valid[there] = stacked, np.stack(flags)
    return numbers, valid


def _is_missing_value(member: Any) -> bool:
    """Return whether a member of a sequence is `pandas.NA`."""
    return type(member).__name__ == "NAType" and _is_marked(type(member))


def _numbers_of(data: Any) -> Any:
    """Return the elements of an array, series or table of pandas, 0 in the place of missing ones."""
    if data.ndim > 1:
        columns = data.dtypes
    else:
        columns = [data.dtype]
    dtypes = [getattr(dtype, "numpy_dtype", dtype) for dtype in columns]
    for dtype in dtypes:
        if getattr(dtype, "kind", "O") not in "biufc" or not isinstance(dtype, np.dtype):
            raise TypeError(f"MaskedTensor: data of pandas must hold numbers or booleans, not {dtype}")
    dtype = np.result_type(*dtypes)
    return data.to_numpy(dtype=dtype, na_value=dtype.type(0))

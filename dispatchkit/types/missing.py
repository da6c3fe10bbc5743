"""What is missing in arrays of other libraries: masked arrays of NumPy, and columns and tables of pandas and polars."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.types.uncertainties_numbers import is_number


def split_missing(data: Any) -> tuple[Any, Any]:
    """Return the elements of data of another library, and which are there; anything else as it is, with None.

    Parameters
    ----------
    data : anything

    Raises
    ------
    TypeError : for data that are no numbers
    """
    if isinstance(data, np.ma.MaskedArray):
        if data.dtype.names is not None:
            raise TypeError(
                f"a masked array must hold numbers or booleans, not fields {data.dtype.names}; take one field"
            )
        valid = ~np.ma.getmaskarray(data)
        return _without_objects(np.asarray(data.data), valid), valid
    if _is_of_pandas(data):
        return _numbers_of(data), ~np.asarray(data.isna(), dtype=bool)
    if _is_of_polars(data):
        return _numbers_of_polars(data)
    if isinstance(data, (list, tuple)) and any(map(is_marked, map(type, data))):
        return _stacked(data)
    return data, None


def _is_of_pandas(data: Any) -> bool:
    """Return whether data are an array, an index, a series or a table of pandas, which is not imported for that."""
    cls = type(data)
    return (cls.__module__ or "").partition(".")[0] == "pandas" and hasattr(cls, "isna") and hasattr(cls, "to_numpy")


def _is_of_polars(data: Any) -> bool:
    """Return whether data are a series or a table of polars, which is not imported for that."""
    cls = type(data)
    return (cls.__module__ or "").partition(".")[0] == "polars" and hasattr(cls, "to_numpy")


def marks_by_nan(data: Any) -> bool:
    """Return whether data of pandas hold NumPy's numbers, in which NaN may be a number as well as a missing element.

    Parameters
    ----------
    data : anything
    """
    return _is_of_pandas(data) and all(isinstance(dtype, np.dtype) and dtype.kind != "O" for dtype in _dtypes(data))


def _dtypes(data: Any) -> list[Any]:
    """Return the dtypes of the columns of data of pandas."""
    if data.ndim > 1:
        return list(data.dtypes)
    return [data.dtype]


def is_marked(cls: type) -> bool:
    """Return whether a member of a sequence says itself what is missing in it.

    Parameters
    ----------
    cls : its class
    """
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
    return type(member).__name__ == "NAType" and is_marked(type(member))


def _without_objects(numbers: Any, valid: Any) -> Any:
    """Return an array with 0 in the place of missing objects, such as None among numbers of uncertainties."""
    if numbers.dtype != object:
        return numbers
    return np.where(valid, numbers, 0.0)


def _numbers_of(data: Any) -> Any:
    """Return the elements of an array, series or table of pandas, 0 in the place of missing ones."""
    dtypes = [getattr(dtype, "numpy_dtype", dtype) for dtype in _dtypes(data)]
    if not dtypes:
        return np.zeros(data.shape)
    if object in dtypes:
        objects = data.to_numpy(dtype=object)
        valid = ~np.asarray(data.isna(), dtype=bool)
        known = objects[valid].tolist()
        if any(map(is_number, known)) and all(is_number(number) or isinstance(number, float) for number in known):
            return _without_objects(objects, valid)
    for dtype in dtypes:
        if not isinstance(dtype, np.dtype) or dtype.kind not in "biufc":
            raise TypeError(f"data of pandas must hold numbers or booleans, not {dtype}")
    dtype = np.result_type(*dtypes)
    return data.to_numpy(dtype=dtype, na_value=dtype.type(0))


def _numbers_of_polars(data: Any) -> tuple[Any, Any]:
    """Return the elements of a series or table of polars, 0 in the place of missing ones, and which are there."""
    columns = [data]
    if hasattr(data, "get_columns"):
        columns = data.get_columns()
    if not columns:
        return np.zeros((0, 0)), np.zeros((0, 0), bool)
    for column in columns:
        if not (column.dtype.is_numeric() or str(column.dtype) == "Boolean") or column.dtype.is_decimal():
            raise TypeError(f"data of polars must hold numbers or booleans, not {column.dtype}")
    numbers = [_fill_nulls(column).to_numpy() for column in columns]
    valid = [column.is_not_null().to_numpy() for column in columns]
    if columns[0] is data:
        return numbers[0], valid[0]
    return np.stack(numbers, axis=1), np.stack(valid, axis=1)


def _fill_nulls(column: Any) -> Any:
    """Return a column of polars with 0 or False in the place of missing elements."""
    if str(column.dtype) == "Boolean":
        return column.fill_null(value=False)
    return column.fill_null(0)

"""Columns and tables of pandas and polars, made of the shipped types, and read into them with their labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.protocol.types.declaration import field
from dispatchkit.types.exchange.libraries import class_of, is_of, library
from dispatchkit.types.exchange.parts import Parts, around
from dispatchkit.types.exchange.reading import as_array
from dispatchkit.types.missing import split_missing

# The key that xarray's users have for a unit among the attributes.
UNITS = "units"
# Labels are of places: those of a part are others, and operands must agree on them.
LABELS = {name: field(merge="error", view="drop") for name in ("index", "columns", "coords")}


def read_pandas(data: Any, caller: str) -> Any:
    """Return data of pandas without labels: what is missing, and the unit that ``attrs["units"]`` names, are kept.

    Parameters
    ----------
    data : an array, index, series or table
    caller : the method, for errors

    Raises
    ------
    TypeError : for anything else, or no numbers
    """
    if not is_of("pandas", data) or not hasattr(data, "isna"):
        raise TypeError(f"{caller}: data must be a Series, DataFrame, Index or array of pandas, not a {_name(data)}")
    numbers, valid = split_missing(data)
    array = as_array(numbers)
    plain = isinstance(getattr(data, "dtype", None), np.dtype) or data.ndim > 1
    if plain and valid.all():
        valid = None
    return around(array, mask=valid, unit=getattr(data, "attrs", {}).get(UNITS))


def read_polars(data: Any, caller: str) -> Any:
    """Return a series or table of polars without its names, with what is missing in it.

    Parameters
    ----------
    data : a Series or DataFrame
    caller : the method, for errors

    Raises
    ------
    TypeError : for anything else, or no numbers
    """
    if not is_of("polars", data) or not hasattr(data, "to_numpy"):
        raise TypeError(f"{caller}: data must be a Series or DataFrame of polars, not a {_name(data)}")
    numbers, valid = split_missing(data)
    if valid.all():
        valid = None
    return around(as_array(numbers), mask=valid)


def names_of_pandas(data: Any) -> tuple[str, ...]:
    """Return names for the axes of data of pandas: those of its index and columns, or what these are."""
    names = [getattr(data, "index", data).name or "index"]
    if data.ndim > 1:
        names.append(data.columns.name or "columns")
    return tuple(map(str, names))


def with_labels_of(data: Any, array: Any) -> Any:
    """Return an array with the name, the labels and the attributes of data of pandas or polars as metadata.

    Parameters
    ----------
    data : of pandas or polars
    array : what its elements became
    """
    metadata: dict[str, Any] = {}
    for name in ("index", "columns"):
        labels = getattr(data, name, None)
        if labels is not None and not callable(labels) and not _is_default(labels):
            metadata[name] = labels
    title = getattr(data, "name", None)
    if title not in (None, ""):
        metadata["name"] = title
    others = {key: value for key, value in getattr(data, "attrs", {}).items() if key != UNITS}
    return with_labels(array, metadata, others)


def with_labels(array: Any, labels: dict[str, Any], others: dict[str, Any]) -> Any:
    """Return an array with labels and attributes of another library as metadata.

    Parameters
    ----------
    array : the array
    labels : by the keys under which they go back
    others : attributes

    Raises
    ------
    ValueError : for an attribute that has the key of a label
    """
    twice = sorted({*LABELS, "name"} & others.keys())
    if twice:
        raise ValueError(f"metadata have the labels under {twice[0]!r}, which is an attribute here, too; rename that")
    return class_of("metadata")(array, labels | others, merge="drop", laws=LABELS)


def _is_default(labels: Any) -> bool:
    """Return whether an index of pandas counts from 0, and says nothing."""
    return type(labels).__name__ == "RangeIndex" and labels.start == 0 and labels.step == 1 and labels.name is None


def make_pandas(parts: Parts, caller: str, options: dict[str, Any]) -> Any:
    """Return a series or a table of pandas.

    Parameters
    ----------
    parts : what the array holds
    caller : the method, for errors
    options : of `pandas.Series` or `pandas.DataFrame`
    """
    ndim = len(parts.array.shape)
    if ndim not in (1, 2):
        raise ValueError(f"{caller}: data of pandas have one axis or two, and this array has {ndim}")
    pandas = library("pandas", caller)
    metadata = dict(parts.metadata or {})
    known = ("index", "name") if ndim == 1 else ("index", "columns")
    options = {key: metadata.pop(key) for key in known if key in metadata} | options
    elements, missing = parts.elements(caller), parts.missing()
    masked = parts.valid is not None
    if ndim == 1:
        result = pandas.Series(_column(elements, missing, masked, caller), **options)
    else:
        columns = {i: _column(elements[:, i], missing[:, i], masked, caller) for i in range(elements.shape[1])}
        labels = options.pop("columns", None)
        result = pandas.DataFrame(columns, **options)
        if labels is not None:
            result.columns = labels
    if parts.names:
        result = result.rename_axis(**dict(zip(("index", "columns"), parts.names, strict=False)))
    if parts.unit is not None and parts.unit.parts:
        metadata[UNITS] = str(parts.unit)
    result.attrs.update(metadata)
    return result


def _column(elements: Any, missing: Any, masked: bool, caller: str) -> Any:
    """Return the elements of a column; a nullable array where they can be missing."""
    if not masked:
        return elements
    if elements.dtype == object:
        elements[missing] = library("pandas", caller).NA
        return elements
    arrays = library("pandas.arrays", caller)
    makers = {"b": arrays.BooleanArray, "i": arrays.IntegerArray, "u": arrays.IntegerArray}
    if elements.dtype in (np.float32, np.float64):
        makers["f"] = arrays.FloatingArray
    if elements.dtype.kind not in makers:
        raise TypeError(
            f"{caller}: pandas has no array of {elements.dtype} with missing elements; write x.astype(dtype) first"
        )
    return makers[elements.dtype.kind](elements, missing)


def make_polars(parts: Parts, caller: str, options: dict[str, Any]) -> Any:
    """Return a series or a table of polars.

    Parameters
    ----------
    parts : what the array holds
    caller : the method, for errors
    options : of `polars.Series` or `polars.DataFrame`
    """
    metadata = dict(parts.metadata or {})
    if set(metadata) <= {"name", "columns"}:
        parts = parts.with_parts(metadata=None)
    parts.require(caller, "a Series of polars", ("mask",))
    polars = library("polars", caller)
    ndim = len(parts.array.shape)
    if ndim not in (1, 2):
        raise ValueError(f"{caller}: data of polars have one axis or two, and this array has {ndim}")
    numbers, missing = parts.values(), parts.missing()
    if numbers.dtype.kind == "c":
        raise TypeError(f"{caller}: polars has no complex numbers; write x.real and x.imag")
    if ndim == 1:
        return _polars_column(polars, options.pop("name", metadata.get("name", "")), numbers, missing, options)
    names = options.pop("schema", metadata.get("columns", [f"column_{i}" for i in range(numbers.shape[1])]))
    columns = [
        _polars_column(polars, name, column, gaps, {})
        for name, column, gaps in zip(names, numbers.T, missing.T, strict=True)
    ]
    return polars.DataFrame(columns, **options)


def _polars_column(polars: Any, name: str, numbers: Any, missing: Any, options: dict[str, Any]) -> Any:
    column = polars.Series(name, np.ascontiguousarray(numbers), **options)
    if not missing.any():
        return column
    return column.zip_with(polars.Series(~missing), polars.Series([None] * len(column), dtype=column.dtype))


def _name(data: Any) -> str:
    return type(data).__name__

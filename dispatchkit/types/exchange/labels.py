"""`DataArray` of xarray, made of the shipped types, and read into them with or without its coordinates."""

from __future__ import annotations

import warnings
from typing import Any

from dispatchkit.tensor import Tensor
from dispatchkit.types.exchange.libraries import library
from dispatchkit.types.exchange.reading import as_array
from dispatchkit.types.exchange.tables import with_labels


def read_xarray(array: Any, caller: str) -> tuple[Any, tuple[Any, ...]]:
    """Return what is inside of a `DataArray`, and the names of its dimensions.

    Parameters
    ----------
    array : the `DataArray`
    caller : the method, for errors

    Raises
    ------
    TypeError : for anything else
    """
    if not hasattr(array, "dims") or not hasattr(array, "coords") or not hasattr(array, "data"):
        raise TypeError(f"{caller}: array must be an xarray.DataArray, not a {type(array).__name__}")
    return as_array(array.data), array.dims


def with_coordinates_of(array: Any, named: Any) -> Any:
    """Return an array with the coordinates, the name and the attributes of a `DataArray` as metadata.

    Parameters
    ----------
    array : the `DataArray`
    named : what its elements and dimensions became
    """
    labels = {}
    if len(array.coords):
        labels["coords"] = {name: coordinate.variable for name, coordinate in array.coords.items()}
    if array.name is not None:
        labels["name"] = array.name
    return with_labels(named, labels, dict(array.attrs))


def warn_of_coordinates(array: Any, caller: str) -> None:
    """Warn of the coordinates of a `DataArray`, which names do not hold.

    Parameters
    ----------
    array : the `DataArray`
    caller : the method, for the warning
    """
    if len(array.coords):
        warnings.warn(
            f"{caller}: names hold no coordinates, and {', '.join(map(str, array.coords))} are left out; "
            f"MetadataTensor.from_xarray(array) keeps them, array.drop_vars(array.coords) leaves them out in silence",
            stacklevel=3,
        )


def make_xarray(array: Any, names: Any, metadata: dict[str, Any], caller: str) -> Any:
    """Return a `DataArray`.

    Parameters
    ----------
    array : the array; array types become its data as they are
    names : of its axes; None for those that xarray gives
    metadata : its coordinates and its name under ``"coords"`` and ``"name"``, and its attributes
    caller : the method, for errors
    """
    xarray = library("xarray", caller)
    if isinstance(array, Tensor):
        array = array.numpy()
    attrs = dict(metadata)
    coords, name = attrs.pop("coords", None), attrs.pop("name", None)
    return xarray.DataArray(array, coords=coords, dims=names, name=name, attrs=attrs)

"""Python numbers that reach a rule as tensors: of the dtype that promotion with the call's arrays gives them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.errors import RegistrationError
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.densify import known_layout
from dispatchkit.protocol.instance import tensor_protocol

__all__ = ["weak_dtype"]


def weak_dtype(number: complex, arrays: Iterable[Any]) -> np.dtype[Any] | None:
    """Return the dtype that a Python number has among some arrays, None where theirs are unknown.

    Parameters
    ----------
    number : a Python number
    arrays : the array arguments of the call; further numbers among them are passed over

    Notes
    -----
    An int that does not fit the integers of the arrays keeps its own dtype.
    """
    dtypes = [dtype for array in arrays for dtype in _dtypes_of(array)]
    if not dtypes:
        return None
    kind: Any = type(number)
    found, least, largest = _promoted(kind, *dtypes)
    return found if least is None or least <= number.real <= largest else None


@lru_cache
def _promoted(number: type, *dtypes: np.dtype[Any]) -> tuple[np.dtype[Any], Any, Any]:
    """Return the dtype that promotion with others gives a type of Python numbers, and the bounds of integers."""
    found = np.result_type(number(), *dtypes)
    if found.kind not in "iu":
        return found, None, None
    info = np.iinfo(found)
    return found, int(info.min), int(info.max)


def _dtypes_of(value: Any) -> Sequence[np.dtype[Any]]:
    """Return the dtype of an array; of a type that would have to become dense for it those of its fields."""
    cls = type(value)
    if cls is float or cls is int or value is None or isinstance(value, (str, type, np.dtype)):
        return ()  # quickly: what the fields of most types hold but arrays
    dtype = getattr(value, "dtype", None) if isinstance(value, Storage) else known_layout(value)[1]
    if dtype is not None:
        try:
            return (numpy_dtype(dtype),)
        except TypeError:
            return ()  # of another library, and none that NumPy has
    records = tensor_protocol.types
    if not records.participates(cls):
        return ()
    try:
        names = records.fields_of(value)
    except RegistrationError:
        return ()  # nothing says which they are
    found = [dtype for name in names for dtype in _dtypes_of(getattr(value, name))]
    # Integers next to floating-point numbers are indices or counts, as in a sparse matrix.
    return [dtype for dtype in found if dtype.kind in "fc"] or found

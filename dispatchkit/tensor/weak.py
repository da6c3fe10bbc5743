"""Python numbers that reach a rule as tensors: of the dtype that promotion gives them beside the call's arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.densify import told_layout
from dispatchkit.protocol.instance import tensor_protocol

__all__ = ["weak_dtype"]


def weak_dtype(number: complex, arrays: Iterable[Any]) -> np.dtype[Any] | None:
    """Return the dtype of a Python number beside some arrays, None where theirs are unknown.

    Parameters
    ----------
    number : a Python number
    arrays : the array arguments of the call; further numbers among them are passed over

    Notes
    -----
    An int that does not fit the integers beside it keeps its own dtype.
    """
    dtypes = [dtype for array in arrays for dtype in _dtypes_of(array)]
    if not dtypes:
        return None
    found = np.result_type(number, *dtypes)
    if found.kind in "iu" and not np.iinfo(found).min <= number.real <= np.iinfo(found).max:
        return None
    return found


def _dtypes_of(value: Any) -> Iterator[np.dtype[Any]]:
    """Yield the dtype of an array; of a type that would have to become dense for it those of its fields."""
    dtype = told_layout(value)[1]
    if dtype is not None:
        try:
            yield numpy_dtype(dtype)
        except TypeError:
            return  # of another library, and none that NumPy has
    elif tensor_protocol.records.participates(type(value)):
        try:
            names = tensor_protocol.records.fields_of(value)
        except RegistrationError:
            return  # nothing says which they are
        found = [dtype for name in names for dtype in _dtypes_of(getattr(value, name))]
        # Integers beside floating-point numbers are places or counts, as in a sparse matrix.
        yield from [dtype for dtype in found if dtype.kind in "fc"] or found

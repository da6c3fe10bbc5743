"""Indices as PyTorch takes them, and what it refuses of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from dispatchkit.as_torch.calling.checks import dtype_name
from dispatchkit.as_torch.shared import in_dtype_of, kind_of
from dispatchkit.as_torch.table import is_array
from dispatchkit.backends.arrays import dtype_name as numpy_name
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.storage import Storage

__all__ = [
    "check_dtype_of_places",
    "expect_places",
    "index_like_pytorch",
    "is_basic",
    "mixes",
    "selected_first",
    "without_leading_ones",
]


# What makes a list an index of several axes.
NOT_NUMBERS = (list, tuple, slice, type(None), type(Ellipsis), Storage, np.ndarray)


def index_like_pytorch(key: Any, x: Any = None) -> Any:
    """Return an index as operations take it: arrays of uint8 are masks.

    Parameters
    ----------
    key : the index
    x : the tensor that it is of

    Raises
    ------
    IndexError : for arrays of other dtypes than PyTorch takes, and for what stands behind two ellipses
    ValueError : for a slice that goes backwards
    """
    if type(key) is list and any(isinstance(part, NOT_NUMBERS) for part in key):
        key = tuple(key)  # as PyTorch takes a list of anything but numbers
    if type(key) is tuple:
        for part in key:
            if type(part) is slice:
                index_like_pytorch(part)
        return tuple([index_like_pytorch(part) for part in without_further_ellipses(key, x)])
    if isinstance(key, np.integer):
        return int(key)
    if isinstance(key, Storage) and is_whole_number(key):
        return int(key.array)
    if type(key) is slice:
        if isinstance(key.step, int) and key.step <= 0:
            raise ValueError("step must be greater than zero")
    elif is_array(key):
        dtype = numpy_name(key.dtype)
        if dtype == "uint8":
            warnings.warn(
                "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
                stacklevel=4,
            )
            return xp.astype(key, xp.bool)
        if key.ndim or kind_of(key) not in "iu":  # numbers may be of any dtype of whole numbers
            expect_places(key)
    return key


def is_basic(key: Any) -> bool:
    """Return whether an index means here what it means in NumPy: of integers, slices, new axes and one ellipsis.

    Parameters
    ----------
    key : the index; a slice goes forward by an integer
    """
    ellipses = 0
    for part in key if type(key) is tuple else (key,):
        cls = type(part)
        if cls is slice:
            if part.step is not None and (type(part.step) is not int or part.step <= 0):
                return False
        elif cls is not int and part is not None:
            ellipses += 1
            if part is not Ellipsis or ellipses > 1:
                return False
    return True


def without_further_ellipses(key: tuple[Any, ...], x: Any) -> tuple[Any, ...]:
    """Return an index without all ellipses but the first: the others stand for no axes.

    Raises
    ------
    IndexError : where something stands behind the second one, and the first one stands for axes
    """
    places = [place for place, part in enumerate(key) if part is Ellipsis]
    if len(places) < 2:
        return key
    others = [part for part in key if part is not None and not isinstance(part, (bool, type(Ellipsis)))]
    count = sum(part.ndim if is_array(part) and kind_of(part) == "b" else 1 for part in others)
    behind = [part for part in key[places[1] :] if part is not Ellipsis and part != slice(None)]
    if x is not None and behind and x.ndim > count:
        raise IndexError(f"too many indices for tensor of dimension {x.ndim}: an index has one ellipsis")
    return tuple([part for place, part in enumerate(key) if part is not Ellipsis or place == places[0]])


def is_whole_number(key: Any) -> bool:
    """Return whether an index is a single integer in NumPy's memory, which selects one place, as a plain one does."""
    array = key.array
    return (
        not key.is_tracer
        and type(array) is np.ndarray
        and not array.ndim
        and array.dtype.kind in "iu"
        and (array.dtype != np.uint8)
    )


def selected_first(x: Any, key: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Return what integers of an index select, and the index of the rest, as PyTorch does one after the other.

    In one step NumPy would take an integer beside an array for an array of one number, and move axes.
    """
    first: list[Any] = []
    for part in key:
        if part is Ellipsis or type(part) is int:
            first.append(part)
        elif part is not None and part is not True and part is not False:
            count = 1
            if is_array(part) and kind_of(part) == "b":
                count = part.ndim
            first += [slice(None)] * count
    return x[tuple(first)], tuple([part for part in key if type(part) is not int])


def mixes(key: Any) -> bool:
    """Return whether an index has integers and arrays."""
    if type(key) is not tuple or int not in map(type, key):
        return False
    return any(type(part) in (list, bool) or is_array(part) or isinstance(part, np.ndarray) for part in key)


def without_leading_ones(value: Any) -> Any:
    """Return elements that are assigned, without first axes of one element, which what is selected need not have."""
    if not isinstance(value, Storage):
        return value
    elements: Any = value
    if not elements.ndim or elements.shape[0] != 1:
        return value
    first = next((axis for axis, length in enumerate(elements.shape) if length != 1), elements.ndim)
    return xp.reshape(elements, tuple(elements.shape[first:]))


def check_dtype_of_places(x: Any, key: Any, value: Any, *, accumulate: bool = False) -> None:
    """Raise if elements of another dtype than that of a tensor are assigned to places that arrays name.

    Parameters
    ----------
    x, key, value : of an assignment ``x[key] = value``
    accumulate : whether elements are added to those that there are, which no single element may be in another dtype

    Raises
    ------
    RuntimeError : naming both dtypes; a single element goes into the places of one mask
    """
    if not isinstance(value, Storage) or type(key) in (slice, bool):
        return
    elements: Any = value
    if elements.dtype == x.dtype:
        return
    parts = key if type(key) is tuple else (key,)
    arrays = [part for part in parts if isinstance(part, (list, bool)) or is_array_of_places(part)]
    of_one = not accumulate and len(arrays) == 1 and elements.numel() == 1 and kind_of(arrays[0]) == "b"
    if of_one and np.ndim(arrays[0]) and kind_of(elements) == "c" and kind_of(x) != "c" and elements.item().imag:
        raise RuntimeError(f"value cannot be converted to type {dtype_name(x)} without overflow")
    if of_one and np.ndim(arrays[0]) and not elements.is_tracer:
        in_dtype_of(x, elements.item())  # raises if it is a number that the dtype does not hold
    if (not arrays and not accumulate) or (of_one and np.ndim(arrays[0])):
        return
    x[key]  # raises if the index itself is at fault
    raise RuntimeError(
        f"Index put requires the source and destination dtypes match, got {dtype_name(x)} for the destination and "
        f"{dtype_name(elements)} for the source."
    )


def expect_places(index: Any) -> None:
    """Raise for an array of another dtype than PyTorch takes for masks and places.

    Raises
    ------
    IndexError : naming the dtype
    """
    dtype = numpy_name(index.dtype)
    if dtype not in ("bool", "uint8", "int64", "int32"):
        raise IndexError(f"tensors used as indices must be long, int, byte or bool tensors, found {dtype}")


def is_array_of_places(part: Any) -> bool:
    """Return whether a part of an index is a mask, or an array of places."""
    return is_array(part) and bool(part.ndim or kind_of(part) == "b")

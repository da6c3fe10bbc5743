"""What functions of PyTorch that read and write at places refuse about the values of arguments.

An index that counts from the end is taken where PyTorch takes it: by `take`, `put`, `index_fill` and `take_along_dim`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.as_torch.calling.checks import (
    Given,
    axis_of,
    check_of,
    dtype_name,
    look_each_time_of,
    look_of,
    without,
)
from dispatchkit.as_torch.calling.indices import expect_places
from dispatchkit.as_torch.shared import kind_of
from dispatchkit.as_torch.table import is_array
from dispatchkit.backends.arrays import dtype_name as numpy_name
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.ops.shared import nearest_offset

# The stub of the reduction does not know its positional form.
_largest: Callable[..., Any] = np.maximum.reduce
UNSIGNED = {bits // 8: np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)}


def _are_of_places(dtype: Any) -> bool:
    """Return whether a dtype is one of the two of indices."""
    if getattr(dtype, "kind", None) == "i" and getattr(dtype, "itemsize", 0) >= 4:
        return True
    return numpy_name(dtype) in ("int64", "int32")


def check_bounds(index: Any, length: int, axis: int, error: type[Exception] = RuntimeError, least: int = 0) -> None:
    """Raise if a place is not in an axis.

    Parameters
    ----------
    index : places
    length, axis : of the axis, and its number
    error : the class of the error
    least : the least place that is taken

    Raises
    ------
    RuntimeError : naming the place, or another error
    """
    if getattr(index, "is_tracer", False) or not hasattr(index, "array"):
        return
    places = np.asarray(index.array)
    if places.dtype.kind == "i" and not least and places.dtype.isnative:
        # Without a sign the negative ones are the largest.
        unsigned = places.view(UNSIGNED[places.itemsize])
        if not places.size or _largest(unsigned, None) < length:
            return
    if places.size and not least <= places.min() <= places.max() < length:
        outside = places[(places < least) | (places >= length)]
        raise error(f"index {outside.flat[0]} is out of bounds for dimension {axis} with size {length}")


@check_of(
    "gather", "index_select", "take_along_dim", "index_add", "index_copy", "index_fill", "index_reduce", "put", "take"
)
def dtypes_at_places(given: Given) -> None:
    index: Any = given.get("index", given.get("indices"))
    if is_array(index) and not _are_of_places(index.dtype) and index.numel():
        raise RuntimeError("index: Expected dtype int32/int64 for index")
    source: Any = given.get("source")
    if is_array(source) and source.dtype != given["input"].dtype:
        raise RuntimeError("self and source expected to have the same dtype")


@look_each_time_of("scatter", "scatter_add", "scatter_reduce")
def scattered(given: Given) -> None:
    source: Any = given.get("src")
    x, index = given["input"], given["index"]
    if is_array(source) and source.dtype != x.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not index.size:
        return
    if numpy_name(index.dtype) not in ("int64", "int32"):
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    if max(index.ndim, 1) != max(x.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    if not is_array(source):
        return
    count = max(source.ndim, 1)
    if count < max(x.ndim, 1):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {x.ndim - 1})"
        )
    if count > max(x.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    axis = given["dim"] % max(x.ndim, 1)
    for place, length in enumerate(index.shape):
        if length > (source.shape or (1,))[place] or (place != axis and length > (x.shape or (1,))[place]):
            raise RuntimeError(
                f"Expected index {[*index.shape]} to be no larger than self {[*x.shape]} apart from dimension {axis} "
                f"and to be no larger size than src {[*source.shape]}"
            )


@look_of("slice_scatter")
def step_of_slice(given: Given) -> None:
    if is_array(given["input"]) and not given["input"].ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if given.get("step", 1) <= 0:
        raise RuntimeError("slice step must be positive")


@look_of("unravel_index")
def dtype_of_flat_places(given: Given) -> None:
    indices: Any = given.get("indices")
    if is_array(indices) and kind_of(indices) not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")


@look_each_time_of("index_select")
def one_place_of_number(given: Given) -> None:
    index = given["index"]
    if is_array(given["input"]) and not given["input"].ndim and is_array(index) and index.numel() != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)")


@look_of("take_along_dim")
def long_places_along_axis(given: Given) -> None:
    index = given["indices"]
    if not is_array(index):
        return
    if given.get("dim") is None and numpy_name(index.dtype) not in ("int32", "int64"):
        raise RuntimeError(f"gather(): Expected dtype int32/int64 for index, found {dtype_name(index)}")
    if given.get("dim") is None:
        return
    if numpy_name(index.dtype) != "int64":
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {dtype_name(index)}")
    if is_array(given["input"]) and given["input"].ndim != index.ndim:
        raise RuntimeError(
            f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{given['input'].ndim} dimensions for input, and {index.ndim} dimensions for indices"
        )


@look_each_time_of("searchsorted", "bucketize")
def ordered_numbers(given: Given) -> None:
    if given.get("side") not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {given['side']}")
    sorted_ones = given.get("sorted_sequence", given.get("boundaries"))
    if is_array(given["input"]) and not given["input"].numel():
        return
    operands = (sorted_ones, given["input"])
    kinds = [kind_of(x) for x in operands]
    if "c" in kinds or kinds == ["b", "b"]:
        name = "bucketize" if "boundaries" in given else "searchsorted"
        refused = next(x for x, kind in zip(operands, kinds, strict=True) if kind in "bc")
        dtype = dtype_name(refused) if is_array(refused) else type(refused).__name__
        raise NotImplementedError(f'"{name}" not implemented for {dtype!r}')


@look_of("take", "put")
def long_places(given: Given) -> None:
    index = given["index"]
    if is_array(index) and numpy_name(index.dtype) != "int64":
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {dtype_name(index)}")


@check_of("slice_scatter")
def slice_to_replace(given: Given) -> None:
    _check_part(given, of_slices=True)


@look_each_time_of("diagonal_scatter")
def diagonal_to_replace(given: Given) -> None:
    x = given["input"]
    for name, default in (("dim1", 0), ("dim2", 1)):
        axis = given.get(name, default)
        if not -x.ndim <= axis < x.ndim:
            raise np.exceptions.AxisError(
                f"Dimension out of range (expected to be in range of [{-x.ndim}, {x.ndim - 1}], but got {axis})"
            )
    _check_part(given, of_slices=False)


@look_each_time_of("select_scatter")
def place_to_replace(given: Given) -> None:
    x = given["input"]
    axis, length = axis_of(given)
    if x.ndim and not -length <= given["index"] < length:
        raise IndexError(
            f"select(): index {given['index']} out of range for tensor of size {[*x.shape]} at dimension {axis}"
        )
    _check_part(given, of_slices=False)


def _check_part(given: Given, *, of_slices: bool) -> None:
    """Raise if what is put in the place of a part of a tensor has another shape than that."""
    x, source = given["input"], given["src"]
    if not x.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    whole: Any = np.broadcast_to(np.empty(()), x.shape)
    dim = given.get("dim", 0)
    if "index" in given:
        if -whole.shape[dim] <= given["index"] < whole.shape[dim]:
            whole = np.take(whole, given["index"], axis=dim)
    elif of_slices:
        part = slice(given.get("start"), given.get("end"), given.get("step", 1))
        whole = whole[(*(slice(None),) * (dim % whole.ndim), part)]
    else:
        dims = given.get("dim1", 0), given.get("dim2", 1)
        lengths = whole.shape[dims[0]], whole.shape[dims[1]]
        whole = np.diagonal(whole, nearest_offset(lengths, given.get("offset", 0)), *dims)
    if tuple(source.shape) != whole.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {[*source.shape]}, slice size = "
            f"{[*whole.shape]}"
        )


@look_of("index_reduce")
def words_of_reductions(given: Given) -> None:
    if given.get("reduce") not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {given.get('reduce')}."
        )


@look_each_time_of("gather")
def gathered_places(given: Given) -> None:
    axis, length = axis_of(given)
    check_bounds(given["index"], length, axis)


@look_each_time_of("index_select")
def selected_places(given: Given) -> None:
    axis, length = axis_of(given)
    check_bounds(given["index"], length, axis, IndexError)


@look_each_time_of("scatter", "scatter_add", "scatter_reduce")
def written_places(given: Given) -> None:
    axis, length = axis_of(given)
    check_bounds(given["index"], length, axis)


@look_each_time_of("take_along_dim")
def places_along_all(given: Given) -> None:
    if given.get("dim") is None:
        check_bounds(given["indices"], given["input"].numel(), 0)


@look_each_time_of("index_fill")
def filled_places(given: Given) -> None:
    if numpy_name(given["index"].dtype) != "int64":
        raise IndexError(f"index_fill_(): Expected dtype int64 for index, found {dtype_name(given['index'])}")
    if isinstance(given["value"], complex) and kind_of(given["input"]) != "c":
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")


@look_each_time_of("index_add", "index_reduce")
def slices_to_combine(given: Given) -> None:
    x, index, source = given["input"], given["index"], given["source"]
    axis, length = axis_of(given)
    count = index.numel()
    if not axis and not source.ndim and count != 1:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if count != (source.shape[axis] if axis < source.ndim else 1):
        raise RuntimeError(
            f"Number of indices ({count}) should be equal to source.size(dim), found source of shape "
            f"{[*source.shape]} and dim {axis}"
        )
    if source.ndim != x.ndim or without(source.shape, axis) != without(x.shape, axis):
        raise RuntimeError(
            f"source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{[*x.shape]} source.shape = {[*source.shape]}"
        )
    check_bounds(index, length, axis, IndexError)


@look_each_time_of("index_copy")
def slices_to_copy(given: Given) -> None:
    x, index, source = given["input"], given["index"], given["source"]
    axis, length = axis_of(given)
    count = index.numel()
    if x.ndim and source.ndim and x.ndim != source.ndim:
        raise IndexError(
            f"index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.ndim}), destination dimensionality ({x.ndim})"
        )
    if not source.ndim and count != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {count})")
    if without(source.shape, axis) != without(x.shape, axis):
        raise RuntimeError(
            f"index_copy_(): Source/destination tensor must have same slice shapes, found {[*source.shape]} and "
            f"{[*x.shape]} apart from dimension {axis}"
        )
    if source.ndim and count != source.shape[axis]:
        raise IndexError(
            f"index_copy_(): Number of indices ({count}) should be equal to source.size(dim) ({source.shape[axis]})"
        )
    check_bounds(index, length, axis, IndexError)


@look_each_time_of("put")
def elements_to_put(given: Given) -> None:
    index, source = given["index"], given["source"]
    if index.numel() != source.numel():
        raise IndexError(
            f"put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.numel()}, index.numel() = {index.numel()}"
        )


@look_each_time_of("nn.functional.embedding")
def places_of_embedding(given: Given) -> None:
    index, weight = given["input"], given["weight"]
    counts = given.get("scale_grad_by_freq", False)  # how often each place is looked up
    if counts and is_array(index) and is_array(weight) and weight.ndim:
        check_bounds(index, weight.shape[0], 0, IndexError)


@look_each_time_of("index_put")
def axes_of_values(given: Given) -> None:
    x, indices, values = given["input"], given["indices"], given["values"]
    if not all(map(is_array, (x, values, *indices))) or not indices:
        return
    for index in indices:
        expect_places(index)
    found = [(1, index.ndim) if kind_of(index) in "bu" else (index.ndim, 1) for index in indices]
    left = x.ndim - sum(count for _, count in found)
    axes = max(count for count, _ in found) + left
    if left >= 0 and values.ndim > axes:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {[*values.shape]} cannot be broadcast to an indexing result of "
            f"{axes} axes"
        )


@look_of("scatter_add")
def axes_of_source(given: Given) -> None:
    if not given["src"].ndim and given["index"].ndim == given["input"].ndim == 1:
        given["src"] = xp.reshape(given["src"], (1,))


@look_of("gather")
def axes_of_places(given: Given) -> None:
    if not given["input"].ndim and given["index"].ndim > 1:
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")


@look_each_time_of("scatter_reduce")
def order_of_complex_numbers(given: Given) -> None:
    if kind_of(given["input"]) == "b" and given.get("reduce") == "mean":
        raise NotImplementedError("\"scatter_reduce\" with 'mean' not implemented for 'Bool'")
    index: Any = given.get("index")
    if is_array(index) and not index.numel():
        return
    if kind_of(given["input"]) == "c" and given.get("reduce") in ("amax", "amin", "max", "min"):
        raise NotImplementedError(
            f'"scatter_reduce" with {given["reduce"]!r} not implemented for {dtype_name(given["input"])!r}'
        )


def expect_classes(words: str, x: Any, target: Any, least: int) -> None:
    """Raise for a target that is no class of scores, nor anything else from `least` on.

    Raises
    ------
    RuntimeError : in PyTorch's words, with what is found behind
    """
    if target.is_tracer or not target.numel() or kind_of(target) not in "ui":
        return
    classes, numbers = (1, *x.shape)[-1], np.asarray(target.array)
    if numbers.min() < least or numbers.max() >= classes:
        raise RuntimeError(f"{words}: found {numbers.min()} to {numbers.max()} for {classes} classes")


@look_each_time_of("nn.functional.multilabel_margin_loss")
def classes_of_margins(given: Given) -> None:
    x, target = given["input"], given["target"]
    if target.dtype != np.int64:
        raise RuntimeError(
            f"multilabel_margin_loss(): expected argument 'target' to have another dtype, but got {dtype_name(target)}"
        )
    sizes = [(y.numel(),) if y.ndim < 2 else tuple(y.shape) for y in (x, target)]
    if sizes[0] != sizes[1]:
        raise RuntimeError(f"inconsistent target size: {[*target.shape]} for input of size: {[*x.shape]}")
    if 0 in x.shape[-1:]:
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {[*x.shape]}")
    expect_classes("argument #2 'target' is out of range", x, target, -1)


@look_each_time_of("nn.functional.multi_margin_loss")
def order_of_margins(given: Given) -> None:
    if given.get("p", 1) not in (1, 2):
        raise ValueError(f"only p == 1 and p == 2 supported, found {given['p']}")
    x, target = given["input"], given["target"]
    if x.ndim == 2 and x.shape[0] == 1 and not target.ndim:
        x = given["input"] = x[0]
    weight: Any = given.get("weight")
    if is_array(weight) and weight.ndim != 1:
        raise ValueError(f"weight must be one-dimensional, found shape {[*weight.shape]}")
    samples = x.shape[0] if x.ndim == 2 else 1
    if target.ndim > 1 or target.numel() != samples:
        raise RuntimeError(f"multi_margin_loss: Expected target size [{samples}], but got {[*target.shape]}")
    expect_classes("target out of range", x, target, 0)


@look_of("grid_sampler_2d", "grid_sampler_3d", "nn.functional.grid_sample")
def axes_of_samples(given: Given) -> None:
    if not (given["input"].ndim and given["grid"].ndim):
        raise np.exceptions.AxisError("Dimension specified as 0 but tensor has no dimensions")

"""What functions of shapes and parts refuse about the values of arguments, in PyTorch's words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dispatchkit.as_torch.calling.checks import (
    Given,
    axis_of,
    check_of,
    dtype_name,
    kind_of,
    look_each_time_of,
    look_of,
)
from dispatchkit.as_torch.shared import element_strides
from dispatchkit.as_torch.table import is_array
from dispatchkit.backends.arrays import dtype_name as numpy_name


@look_each_time_of("istft")
def axes_of_frames(given: Given) -> None:
    if not given["input"].numel():
        raise RuntimeError(f"istft: expected a tensor with elements, but got shape {[*given['input'].shape]}")
    if given["input"].ndim > 3:
        raise RuntimeError(f"istft: expected a tensor with 2 or 3 dimensions, but got {given['input'].ndim}")


@look_each_time_of("gradient")
def places_of_elements(given: Given) -> None:
    x, spacing, axes = given["input"], given.get("spacing"), given.get("dim")
    if not isinstance(spacing, tuple):
        return
    if axes is None:
        axes = range(x.ndim)
    for part, axis in zip(spacing, (axes,) if isinstance(axes, int) else axes, strict=False):
        if is_array(part) and part.shape[0] != x.shape[axis]:
            raise RuntimeError(
                f"torch.gradient expected one place for each element along an axis, but got {part.shape[0]} places for "
                f"{x.shape[axis]} elements along axis {axis}"
            )


@look_each_time_of("gradient")
def lengths_of_differences(given: Given) -> None:
    x, axes = given["input"], given.get("dim")
    if axes is None:
        axes = range(x.ndim)
    elif not isinstance(axes, (tuple, list)):
        axes = (axes,)
    least = given.get("edge_order", 1) + 1
    if any(x.shape[axis] < least for axis in axes):
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")


@look_of("reshape", "view", "view_copy")
def lengths_of_axes(given: Given) -> None:
    lengths: Any = given.get("shape")
    if not isinstance(lengths, tuple):
        return
    for place, length in enumerate(lengths):
        if isinstance(length, int) and length < -1:
            raise RuntimeError(f"invalid shape dimension {length} at index {place} of shape {[*lengths]}")


@look_of("transpose", "transpose_copy")
def two_axes(given: Given) -> None:
    if "dim1" not in given and hasattr(given.get("dim0"), "__index__"):
        raise TypeError("transpose() missing 1 required positional argument: 'dim1'")
    if "dim1" not in given:
        return  # as NumPy's method is called, by all axes
    for place, name in enumerate(("dim0", "dim1")):
        value: Any = given.get(name)
        stands_for_axis = hasattr(value, "__index__") and not isinstance(value, bool)
        if is_array(value):
            stands_for_axis = not value.ndim and kind_of(value) in "ui"
        if not stands_for_axis:
            raise TypeError(
                f"transpose(): argument {name!r} (position {place + 2}) must be int, not {type(value).__name__}"
            )


@check_of("split", "unsafe_split", "split_with_sizes", "split_with_sizes_copy", "unsafe_split_with_sizes")
def split_sizes(given: Given) -> None:
    x: Any = given.get("tensor", given.get("input"))
    size: Any = given.get("split_size_or_sections", given.get("split_sizes", given.get("split_size")))
    axis, length = axis_of(given)
    if is_array(size) and math.prod(size.shape) != 1:
        raise TypeError("split(): argument 'split_size_or_sections' must be tuple of ints, not Tensor")
    if is_array(size) and not size.is_tracer:
        number = size.item()
        if not math.isfinite(number):
            raise TypeError(f"split(): argument 'split_size_or_sections' must be tuple of ints, found {number}")
        size = given["split_size_or_sections"] = int(number)
    if not x.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if isinstance(size, (tuple, list)):
        if any(each < 0 for each in size):
            raise RuntimeError(
                f"split_with_sizes expects split_sizes have only non-negative entries, but got {[*size]}"
            )
        if sum(size) != length:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at dimension "
                f"{axis}), but got split_sizes={[*size]}"
            )
    elif isinstance(size, int):
        if size < 0:
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
        if not size and length:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")


@check_of("narrow", "narrow_copy")
def part_of_axis(given: Given) -> None:
    x, start, count = given["input"], given["start"], given["length"]
    if not x.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    _, length = axis_of(given)
    if count < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if is_array(start) and (start.ndim or kind_of(start) not in "iu"):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    first = int(start)  # whatever the dtype, in which lengths may not be held
    if not -length <= first <= length:
        raise IndexError(f"start out of range (expected to be in range of [{-length}, {length}], but got {first})")
    if first < 0:
        first += length
    if first + count > length:
        raise RuntimeError(f"start ({first}) + length ({count}) exceeds dimension size ({length}).")


@check_of("unflatten")
def lengths_of_parts(given: Given) -> None:
    sizes = given["sizes"]
    if not isinstance(sizes, (tuple, list)):
        return
    if not len(sizes):
        raise RuntimeError("unflatten: sizes must be non-empty")
    if sizes.count(-1) > 1:
        raise RuntimeError(f"unflatten: only one dimension can be inferred, found {[*sizes]}")
    axis, length = axis_of(given)
    if not given["input"].ndim:
        raise RuntimeError("unflatten: a tensor of 0 dimensions has no dimension to unflatten")
    if -1 not in sizes and math.prod(sizes) != length:
        raise RuntimeError(
            f"unflatten: Provided sizes {[*sizes]} don't multiply up to the size of dim {axis} ({length}) in the input "
            f"tensor"
        )


@check_of("chunk", "unsafe_chunk")
def pieces(given: Given) -> None:
    if not given["input"].ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if given["chunks"] <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {given['chunks']}")


@check_of("tensor_split", "hsplit", "vsplit", "dsplit")
def sections(given: Given) -> None:
    names = ("sections", "indices_or_sections", "tensor_indices_or_sections", "indices")
    count: Any = next((given[name] for name in names if name in given), None)
    if not given["input"].ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    if is_array(count) and numpy_name(count.dtype) != "int64":
        raise RuntimeError(
            f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {dtype_name(count)}"
        )
    if is_array(count) and count.ndim > 1:
        raise RuntimeError(
            f"tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but "
            f"got a tensor with {count.ndim} dims"
        )
    if is_array(count) and not count.ndim and not count.is_tracer:
        count = int(count)
    if isinstance(count, int) and count <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {count}")


@check_of("unfold", "unfold_copy")
def windows(given: Given) -> None:
    size, step = given["size"], given["step"]
    _, length = axis_of(given, "dimension")
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {given['dimension']} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")


@check_of("select", "select_copy")
def one_place(given: Given) -> None:
    x = given["input"]
    if not x.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    _, length = axis_of(given)
    if not -length <= given["index"] < length:
        raise IndexError(
            f"select(): index {given['index']} out of range for tensor of size {[*x.shape]} at dimension {given['dim']}"
        )


@check_of("roll")
def shifts(given: Given) -> Given:
    amount, dims = given.get("shifts"), given.get("dims", ())
    count = len(amount) if isinstance(amount, (tuple, list)) else 1
    along = len(dims) if isinstance(dims, (tuple, list)) else 1
    if not count:
        raise RuntimeError("`shifts` required")
    if count != along and not (not along and count == 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {count}, dims:{along}")
    if along:
        return given
    if isinstance(amount, (tuple, list)):
        amount = amount[0]
    return {"input": given["input"], "shifts": amount}


@look_each_time_of("narrow_copy")
def start_of_copy(given: Given) -> None:
    if given["input"].ndim and isinstance(given["start"], int):
        _, length = axis_of(given)
        if not -length <= given["start"] <= length:
            raise IndexError(
                f"start out of range (expected to be in range of [{-length}, {length}], but got {given['start']})"
            )


@look_each_time_of("unique", "unique_consecutive")
def parts_of_nothing(given: Given) -> None:
    x, axis = given["input"], given.get("dim")
    if axis is not None and x.ndim and 0 in x.shape and (x.shape[axis] or x.shape.count(0) > 1):
        raise RuntimeError(
            f"There are 0 sized dimensions, and they aren't selected, so unique cannot be applied, found {[*x.shape]}"
        )


@look_of("moveaxis", "movedim")
def moved_axes(given: Given) -> None:
    count = max(given["input"].ndim, 1)
    axes = [np.atleast_1d(given.get(name, 0)) for name in ("source", "destination")]
    for axis in np.concatenate(axes):
        if not -count <= axis < count:
            raise np.exceptions.AxisError(
                f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {axis})"
            )
    if not given["input"].ndim and len(axes[0]) == len(axes[1]) < 2:
        given["source"] = given["destination"] = ()


@look_of("fft.fftshift", "fft.ifftshift")
def shifted_axes(given: Given) -> None:
    x: Any = next(iter(given.values()))
    if given.get("dim") == () or (given.get("dim") is None and not x.ndim):
        raise RuntimeError("`shifts` required")


@check_of("sum_to_size")
def target_shape(given: Given) -> None:
    x, size = given["input"], given["size"]
    try:
        fits = np.broadcast_shapes(tuple(size), x.shape) == tuple(x.shape)
    except ValueError:
        fits = False
    if not fits:
        raise RuntimeError(f"size {{{[*size]}}} is not expandable to size {{{[*x.shape]}}}.")


@check_of("view_as_complex")
def pairs(given: Given) -> None:
    x: Any = given["input"]
    if not x.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if x.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if x.is_tracer or type(x.array) is not np.ndarray:
        return
    *steps, last = element_strides(x.array)
    if last != 1 and x.size:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(step % 2 for step in steps) and x.size:
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")


@look_of("view")
def memory_in_other_dtype(given: Given) -> None:
    x: Any = given["input"]
    asked: Any = given.get("shape")
    if not isinstance(asked, np.dtype) or x.is_tracer or type(x.array) is not np.ndarray:
        return
    own, size = x.array.itemsize, asked.itemsize
    if own == size:
        return
    if not x.ndim:
        raise RuntimeError(f"self.dim() cannot be 0 to view {dtype_name(x)} as {asked} (different element sizes)")
    *steps, last = element_strides(x.array)
    if last != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 to view {dtype_name(x)} as {asked}, but got {last}")
    ratio = size // own
    if own > size:
        return
    starts = {"self.size(-1)": x.shape[-1]}
    if x.size:
        starts["self.storage_offset()"] = x.storage_offset()
    starts |= {f"self.stride({place})": step for place, step in enumerate(steps)}
    for name, count in starts.items():
        if count % ratio:
            raise RuntimeError(f"{name} must be divisible by {ratio} to view {dtype_name(x)} as {asked}, found {count}")


@check_of("repeat")
def repeats_of_all_axes(given: Given) -> None:
    counts: Any = given.get("dims")
    if isinstance(counts, (tuple, list)) and len(counts) < given["input"].ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: "
            f"found {[*counts]} for a tensor of shape {[*given['input'].shape]}"
        )
    repeats(given)


@check_of("tile")
def repeats(given: Given) -> None:
    counts: Any = given.get("dims")
    if isinstance(counts, int):
        counts = (counts,)
    if counts is None or any(is_array(n) for n in counts):
        return
    if any(n < 0 for n in counts):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {[*counts]}")


MASKED = ("amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logsumexp", "mean", "median", "norm")


@look_of(*(f"masked.{name}" for name in (*MASKED, "normalize", "prod", "softmax", "softmin", "std", "sum", "var")))
def axes_of_mask(given: Given) -> None:
    # Before a number is taken as one element along an axis.
    if not hasattr(given["input"], "dtype"):
        raise TypeError(f"argument 'input' (position 1) must be Tensor, not {type(given['input']).__name__}")
    mask: Any = given.get("mask")
    if is_array(mask) and kind_of(mask) != "b":
        given["mask"] = mask = mask != 0
    check_axes_of_mask(given["input"], mask)


@look_of("masked.logaddexp")
def axes_of_masks(given: Given) -> None:
    for operand, mask in (("input", "input_mask"), ("other", "other_mask")):
        check_axes_of_mask(given[operand], given.get(mask))
        kind = kind_of(given[operand])
        if is_array(given.get(mask)) and kind in "bc":
            raise NotImplementedError(f"identity of logaddexp on {'boolean' if kind == 'b' else 'complex'} input")


@look_of(*(f"masked.{name}" for name in ("amax", "amin", "argmax", "argmin", "softmax", "log_softmax", "softmin")))
def least_and_most(given: Given) -> None:
    if given.get("mask") is None:
        return
    if kind_of(given["input"]) == "c":
        raise TypeError(f"no complex number is the least or the largest: the input is of dtype {given['input'].dtype}")
    if kind_of(given["input"]) == "b" and given.get("dtype") is None:
        raise NotImplementedError("the largest and the least of all are not implemented for 'Bool'")


def check_axes_of_mask(x: Any, mask: Any) -> None:
    """Raise for a mask that has more axes than what it hides."""
    if is_array(mask) and is_array(x) and mask.ndim > x.ndim:
        raise IndexError(
            f"_input_mask expected broadcastable mask (got mask dimensionality higher than of the input): {mask.ndim} "
            f"and {x.ndim}"
        )


@look_of("stack", "hstack", "vstack", "row_stack", "dstack", "column_stack")
def tensors_to_stack(given: Given) -> None:
    if given.get("tensors") == ():
        raise RuntimeError("stack expects a non-empty TensorList")


@look_of("linalg.multi_dot")
def matrices_to_multiply(given: Given) -> None:
    count = len(given["tensors"])
    if count < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}")

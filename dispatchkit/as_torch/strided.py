"""Views of the memory that a tensor has a part of: by strides, `as_strided`, and of the parts of complex numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dispatchkit.as_torch.shared import element_strides, in_memory, of_parts
from dispatchkit.as_torch.table import ALONE, TRANSLATIONS
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.decorators import operation
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.protocol.kinds import kinds

# The dtypes of the parts of complex numbers, and of numbers of such parts, by NumPy's letters.
REAL = {"F": np.dtype(np.float32), "D": np.dtype(np.float64)}
COMPLEX = {"f": np.dtype(np.complex64), "d": np.dtype(np.complex128)}


def memory_of(array: Any) -> tuple[Any, int]:
    """Return all bytes of the memory that an array has a part of, and at which of them the array begins."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if not owner.size:
        return np.empty(0, dtype=np.uint8), 0
    whole = owner.ravel(order="K")
    if not np.may_share_memory(whole, owner):
        # Not in one piece: what the array itself spans is all that is known.
        whole = np.ascontiguousarray(array)
        if not np.may_share_memory(whole, array):
            raise RuntimeError("as_strided: the memory of the tensor is not in one piece; write x.clone().as_strided()")
    first = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return whole.reshape(-1).view(np.uint8), first


def _places(size: Any, stride: Any, first: int) -> Any:
    """Return where elements stand in memory."""
    places = np.full(size, first, dtype=np.int64)
    for axis, (length, step) in enumerate(zip(size, stride, strict=True)):
        along = np.arange(length, dtype=np.int64) * step
        places += along.reshape(-1, *(1,) * (len(size) - 1 - axis))
    return places


def _numbers_at(shape: Any, own: Any, size: Any, stride: Any, shift: int) -> Any:
    """Return which elements of a tensor, counted in its own order, stand at places; for others their number."""
    mine, theirs = _places(shape, own, 0).reshape(-1), _places(size, stride, shift).reshape(-1)
    least = min(mine.min(initial=0), theirs.min(initial=0))
    numbers = np.full(max(mine.max(initial=0), theirs.max(initial=0)) - least + 1, mine.size)
    numbers[mine - least] = np.arange(mine.size)
    return numbers[theirs - least]


def _taken(xp: Any, x: Any, own: Any, size: Any, stride: Any, shift: int) -> Any:
    """Return copies of elements, zeros for places that are none of the tensor's."""
    numbers = _numbers_at(x.shape, own, size, stride, shift)
    elements = xp.concat([xp.reshape(x, (-1,)), xp.zeros((1,), dtype=x.dtype)])
    return xp.reshape(xp.take(elements, xp.asarray(numbers)), size)


@operation(kind=kinds.manipulation, namespace="torch", decomposes=False)
def strided_view(xp: Any, x: Any, /, own: Any, size: Any, stride: Any, shift: int) -> Any:
    """Return elements of the memory of `x`, whose strides are `own`, at other strides, `shift` behind its first."""
    return _taken(xp, x, own, size, stride, shift)


@strided_view.def_kernel("numpy")
def strided_view_numpy(x: Any, /, own: Any, size: Any, stride: Any, shift: int) -> Any:
    width = x.dtype.itemsize
    memory, first = memory_of(x)
    steps = tuple(step * width for step in stride)
    view = np.ndarray(size, x.dtype, memory.data, first + shift * width, steps)
    if not x.flags.writeable or _repeats(size, stride):
        view.flags.writeable = False
    return view


@strided_view.def_vjp("x", shapes=("x",))
def strided_view_vjp(xp: Any, g: Any, x: Any, own: Any, size: Any, stride: Any, shift: int) -> Any:
    numbers = _numbers_at(x.shape, own, size, stride, shift)
    zeros = xp.zeros((math.prod(x.shape) + 1,), dtype=g.dtype)
    sums = xp.index_put(zeros, xp.asarray(numbers), xp.reshape(g, (-1,)), accumulate=True)
    return xp.reshape(sums[:-1], x.shape)


@strided_view.def_jvp("x")
def strided_view_jvp(xp: Any, t: Any, x: Any, own: Any, size: Any, stride: Any, shift: int) -> Any:
    return _taken(xp, t, own, size, stride, shift)


def _repeats(size: Any, stride: Any) -> bool:
    """Return whether a place has more than one element."""
    if 0 in size:
        return False
    reach = 0
    for step, length in sorted((step, length) for step, length in zip(stride, size, strict=True) if length > 1):
        if step <= reach:
            places = _places(size, stride, 0)
            return bool(len(np.unique(places)) < places.size)
        reach += step * (length - 1)
    return False


def _checked(input: Any, size: Any, stride: Any, offset: Any) -> tuple[Any, Any, Any, int]:
    """Return the strides of a tensor, lengths and strides as they are asked for, and how far from its first element."""
    size, stride = (size,) if isinstance(size, int) else size, (stride,) if isinstance(stride, int) else stride
    size, stride = tuple(map(int, size)), tuple(map(int, stride))
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(step < 0 for step in stride):
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {[*stride]}; "
            "write x.flip(dims)"
        )
    if any(length < 0 for length in size):
        raise RuntimeError(f"as_strided: lengths must be 0 or greater, found size={[*size]}")
    if in_memory(input):
        width = input.array.dtype.itemsize
        memory, first = memory_of(input.array)
        own, count, first = element_strides(input.array), memory.size // width, first // width
    else:
        own = tuple(math.prod(input.shape[axis + 1 :]) for axis in range(input.ndim))
        count, first = math.prod(input.shape), 0
    start = first if offset is None else int(offset)
    last = start + sum(step * (length - 1) for step, length in zip(stride, size, strict=True))
    if start < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {start}")
    if 0 not in size and last >= count:
        raise RuntimeError(
            f"as_strided: sizes {[*size]}, strides {[*stride]} and storage offset {start} reach element {last}, "
            f"which is out of bounds for storage of {count} elements"
        )
    if 0 in size:
        return own, size, stride, 0  # nothing is looked at, wherever it begins
    return own, size, stride, start - first


def as_strided(input: Any, size: Any, stride: Any, storage_offset: Any = None) -> Any:
    own, size, stride, shift = _checked(input, size, stride, storage_offset)
    if in_memory(input):
        return strided_view(input, own, size, stride, shift)
    # Inside a transformation, and of an array type, the elements are taken in order.
    return _taken(xp, input, own, size, stride, shift)


def as_strided_scatter(input: Any, src: Any, size: Any, stride: Any, storage_offset: Any = None) -> Any:
    own, size, stride, shift = _checked(input, size, stride, storage_offset)
    if _repeats(input.shape, own):
        input = xp.reshape(xp.reshape(input, (-1,)), input.shape)  # which has memory of its own
        own, size, stride, shift = _checked(input, size, stride, storage_offset)
    if _repeats(size, stride):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location"
        )
    if tuple(src.shape) != size:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {[*src.shape]}, slice size = {[*size]}"
        )
    numbers = xp.asarray(_numbers_at(input.shape, own, size, stride, shift))
    # What the tensor shows none of is written behind its elements.
    elements = xp.concat([xp.reshape(input, (-1,)), xp.zeros((1,), dtype=input.dtype)])
    return xp.reshape(xp.index_put(elements, numbers, xp.reshape(src, (-1,)))[:-1], input.shape)


def empty_strided(size: Any, stride: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    reach = sum(step * (length - 1) for step, length in zip(stride, size, strict=True))
    if 0 in size:
        reach = -1
    y = as_strided(xp.empty(reach + 1, dtype=dtype, device=device), size, stride)
    return y.requires_grad_(requires_grad)


def new_empty_strided(
    input: Any, size: Any, stride: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    device = device or input.device
    return empty_strided(size, stride, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad)


def empty_permuted(
    size: Any, physical_layout: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    if sorted(physical_layout) != [*range(len(size))]:
        raise RuntimeError(
            f"empty_permuted: physical_layout must name each of the {len(size)} axes once, found {[*physical_layout]}"
        )
    y = xp.empty(tuple(size[axis] for axis in physical_layout), dtype=dtype, device=device)
    order = tuple(physical_layout.index(axis) for axis in range(len(size)))
    return xp.permute_dims(y, order).requires_grad_(requires_grad)


@operation(kind=kinds.manipulation, namespace="torch", decomposes=False)
def part_view(xp: Any, x: Any, /, imaginary: bool) -> Any:
    """Return the real or the imaginary part of each complex number, a view where the library makes one."""
    return xp.imag(x) if imaginary else xp.real(x)


part_view.def_kernel("numpy", lambda x, /, imaginary: x.imag if imaginary else x.real)


@part_view.def_vjp("x", shapes=("x",))
def part_view_vjp(xp: Any, g: Any, x: Any, imaginary: bool) -> Any:
    return of_parts(xp.zeros_like(g), g) if imaginary else g


@part_view.def_jvp("x")
def part_view_jvp(xp: Any, t: Any, x: Any, imaginary: bool) -> Any:
    return xp.imag(t) if imaginary else xp.real(t)


def real(input: Any) -> Any:
    if in_memory(input):
        return part_view(input, False) if input.array.dtype.kind == "c" else input
    return xp.real(input) if numpy_dtype(input.dtype).kind == "c" else input


def imag(input: Any) -> Any:
    return part_view(input, True) if in_memory(input) else xp.imag(input)


def view_as_real(input: Any) -> Any:
    if in_memory(input):
        return xp.view(xp.expand_dims(input, axis=-1), REAL[input.array.dtype.char])
    return xp.stack([xp.real(input), xp.imag(input)], axis=-1)


def view_as_complex(input: Any) -> Any:
    if in_memory(input) and input.array.dtype.char in COMPLEX:
        return xp.getitem(xp.view(input, COMPLEX[input.array.dtype.char]), (..., 0))
    return of_parts(input[..., 0], input[..., 1])


TRANSLATIONS.update({"view_as_complex": view_as_complex, "view_as_real": view_as_real})
ALONE.update(
    {
        "as_strided": as_strided,
        "as_strided_scatter": as_strided_scatter,
        "empty_permuted": empty_permuted,
        "empty_strided": empty_strided,
        "imag": imag,
        "new_empty_strided": new_empty_strided,
        "real": real,
    }
)

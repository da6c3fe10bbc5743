"""`QuantizedTensor`: a matrix of 8-bit integers with a scale for each row."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import attrgetter, iadd
from typing import Any, Self

import numpy as np

from dispatchkit import autograd, ops
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import ArrayMethods, Tensor
from dispatchkit.tensor.printing import summarised
from dispatchkit.types.rules import (
    all_finite,
    axes_of,
    axis_of,
    check_product,
    implements,
    is_finite_array,
    plain_arrays,
)

LARGEST = 127
# Elements that are dequantised at a time in a product: they stay in the processor's cache.
BLOCK = 65536
SCALED_LATER = "with infinite scales it matters that they multiply sums rather than the integers"


@tensor_protocol.array_type(
    fallback=fallback.decompose | fallback.dense,
    fields=("data", "scale", "axis", "elements"),
    from_dense="from_dense",
)
class QuantizedTensor(ArrayMethods):
    """A matrix of 8-bit integers, each row times a number: ``data[i, j] * scale[i]``.

    Parameters
    ----------
    data : matrix of dtype int8
    scale : vector of real floating-point numbers, one for each row; it may require a gradient
    axis : along which the scales stand: -2 for one scale a row, -1 for one scale a column, as in the transpose
    elements : dtype of the elements, that of the scales by default. Scales of a narrow dtype, such as float16, are kept
        in float32: they are 127 times smaller than what they scale

    Raises
    ------
    TypeError : if `data` is not of dtype int8, or `scale` and `elements` not of real floating-point numbers
    ValueError : if `data` is no matrix, `scale` does not fit it, or `axis` is neither -2 nor -1

    Notes
    -----
    Products with tensors dequantise blocks of rows, ``(x @ data[i:j].T) * scale[i:j]``, in the forward and in the
    backward pass, so that no dense matrix is stored: a float32 weight takes a quarter of its memory. Products with
    numbers, slices and joins of rows, and transposes keep the type; rows that are looked up are dequantised alone. What
    else is asked is computed on the dense matrix, with a warning. Source: symmetric linear quantisation by rows;
    Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference" (2018).

    Examples
    --------
    >>> import dispatchkit as dk
    >>> q = dk.types.QuantizedTensor.from_dense(dk.asarray([[1.0, -2.0], [0.0, 0.0]]))
    >>> q
    QuantizedTensor(data=tensor([[  64, -127],
            [   0,    0]], dtype=int8), scale=tensor([0.0157, 1.0000]))
    >>> dk.ones(2) @ q.mT
    tensor([-0.9921,  0.0000])
    """

    elements: Any = None

    def __init__(self, data: Any, scale: Any, axis: int = -2, elements: Any = None) -> None:
        self.data, self.scale, self.axis = ops.asarray(data), ops.asarray(scale), axis
        if self.data.dtype != np.int8:
            raise TypeError(f"QuantizedTensor: data must be of dtype int8, not {self.data.dtype}")
        if not ops.isdtype(self.scale.dtype, "real floating"):
            raise TypeError(
                f"QuantizedTensor: scale must be of real floating-point numbers, not of dtype {self.scale.dtype}"
            )
        if axis not in (-2, -1):
            raise ValueError(f"QuantizedTensor: axis must be -2 (rows) or -1 (columns), not {axis!r}")
        if self.data.ndim != 2 or self.scale.shape != (self.data.shape[axis],):
            raise ValueError(
                f"QuantizedTensor: data must be a matrix and scale a vector with an element for each "
                f"{'row' if axis == -2 else 'column'}; found shapes {self.data.shape} and {self.scale.shape}"
            )
        if elements is None:
            wanted = self.scale.dtype
        else:
            wanted = np.dtype(elements)
        if wanted.kind != "f":
            raise TypeError(f"QuantizedTensor: elements must be a dtype of real floating-point numbers, not {wanted}")
        if wanted == self.scale.dtype:
            self.elements = None
        else:
            self.elements = wanted

    @classmethod
    def from_dense(cls, x: Any, like: QuantizedTensor | None = None) -> Self:
        """Return the nearest matrix of the type: each row's largest magnitude becomes 127, a row of zeros has scale 1.

        Parameters
        ----------
        x : matrix of real floating-point numbers
        like : an instance, by whose axis the result has its scales

        Raises
        ------
        TypeError : if `x` is not of real floating-point numbers
        ValueError : if `x` is no matrix, or holds infinities or NaN
        """
        x, axis = ops.asarray(x), -2 if like is None else like.axis
        if not ops.isdtype(x.dtype, "real floating"):
            raise TypeError(f"{cls.__name__}.from_dense: x must be of real floating-point numbers, not {x.dtype}")
        if x.ndim != 2:
            raise ValueError(f"{cls.__name__}.from_dense: x must be a matrix, found shape {x.shape}")
        if not all_finite(x):
            raise ValueError(f"{cls.__name__}.from_dense: x holds infinities or NaN, which have no nearest integers")
        with autograd.no_grad():
            if not x.size:
                ones = ops.ones((x.shape[axis],), dtype=scale_dtype(x.dtype))
                return cls(ops.zeros(x.shape, dtype=np.int8), ones, axis, x.dtype)
            wide = ops.astype(x, scale_dtype(x.dtype), copy=False)
            scale = _scales(wide, -3 - axis)
            data = ops.astype(ops.clip(ops.round(wide / scale), -LARGEST, LARGEST), np.int8)
            return cls(data, ops.reshape(scale, (-1,)), axis, x.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.data.shape

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        if self.elements is None:
            return self.scale.dtype
        return self.elements

    device = property(attrgetter("data.device"), doc="Where the data is.")

    def to_dense(self) -> Tensor:
        """Return the matrix as a plain tensor."""
        if self.axis == -2:
            scale = self.scale[:, None]
        else:
            scale = self.scale
        return in_dtype_of(self, ops.astype(self.data, self.scale.dtype) * scale)

    @summarised
    def __repr__(self) -> str:
        axis = ""
        if self.axis != -2:
            axis = f", axis={self.axis}"
        elements = ""
        if self.elements is not None:
            elements = f", elements={self.elements.name!r}"
        return f"QuantizedTensor(data={self.data!r}, scale={self.scale!r}{axis}{elements})"


def scale_dtype(dtype: Any) -> Any:
    """Return the dtype of the scales of elements of a dtype: float32 for narrower ones."""
    return np.result_type(dtype, np.float32)


def _scales(x: Any, axis: int) -> Any:
    """Return a 127th of the largest magnitude along an axis, which stays; 1 of zeros alone."""
    largest = ops.max(ops.abs(x), axis=axis, keepdims=True)
    scale = largest / LARGEST
    # Among the smallest numbers of a dtype a quotient is rounded far: up, so that 127 scales reach the largest.
    step = float(np.finfo(x.dtype).smallest_subnormal)
    scale = ops.where(scale * LARGEST < largest * (1 - 4 * float(np.finfo(x.dtype).eps)), scale + step, scale)
    return ops.where(scale > 0, scale, ops.ones_like(scale))


def in_dtype_of(x: QuantizedTensor, y: Any) -> Any:
    """Return what was computed with the scales in the dtype of the elements."""
    return ops.astype(y, x.dtype, copy=False)


@implements(ops.astype)
def astype_quantized(x: QuantizedTensor, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    dtype = np.dtype(dtype)
    if dtype.kind != "f":
        return decline("the scales are real floating-point numbers")
    if device is None and not copy and dtype == x.dtype:
        return x
    data = ops.astype(x.data, x.data.dtype, copy=copy, device=device)
    scale = ops.astype(x.scale, scale_dtype(dtype), copy=copy, device=device)
    return QuantizedTensor(data, scale, x.axis, dtype)


# Products. The rows that have a scale each are contiguous in memory, so blocks are blocks of these.


class BlockedProduct(autograd.Function):
    """``x @ rows``, or ``x @ rows.mT``, with integers `rows` that are converted block by block, backward too."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any, rows: Any, transposed: bool) -> Any:
        count, length = rows.shape
        step = max(1, BLOCK // max(1, length))
        total, parts = None, []
        for start in range(0, max(1, count), step):
            block = ops.astype(rows[start : start + step], x.dtype)
            if transposed:
                parts.append(x @ ops.matrix_transpose(block))
            else:
                part = x[..., start : start + step] @ block
                if total is None:
                    total = part
                else:
                    total = total + part
        if transposed:
            return ops.concat(parts, axis=-1)
        return total

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _, rows, ctx.transposed = inputs
        ctx.save_for_backward(rows)
        ctx.save_for_forward(rows)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return BlockedProduct.apply(g, *ctx.saved_tensors, not ctx.transposed), None, None

    @staticmethod
    def jvp(ctx: Any, t: Any, *_: Any) -> Any:
        return BlockedProduct.apply(t, *ctx.saved_tensors, ctx.transposed)


@implements(ops.matmul)
def matmul_tensor_quantized(x1: Tensor, x2: QuantizedTensor, /) -> Any:
    check_product(x1.shape, x2.shape)
    arrays = plain_arrays(x1, x2.data, x2.scale)
    if arrays is not None and is_finite_array(arrays[2]):
        return wrap_array(Tensor, _product_of_arrays(arrays, x2))
    if not all_finite(x2.scale):
        return decline(SCALED_LATER)
    dtype = np.result_type(x1.dtype, x2.dtype)
    wide = scale_dtype(dtype)
    x, scale = ops.astype(x1, wide, copy=False), ops.astype(x2.scale, wide, copy=False)
    if x2.axis == -1:
        y = BlockedProduct.apply(x, ops.matrix_transpose(x2.data), True) * scale
    else:
        y = BlockedProduct.apply(x * scale, x2.data, False)
    return ops.astype(y, dtype, copy=False)


def _product_of_arrays(arrays: Any, matrix: QuantizedTensor) -> Any:
    """Return the product with a matrix, of arrays of NumPy: the other factor, the integers and the scales."""
    x, integers, scale = arrays
    dtype = wide = x.dtype
    if dtype is not scale.dtype or matrix.elements is not None:  # sums of integers leave the range of half precision
        dtype = np.result_type(dtype, matrix.dtype)
        wide = scale_dtype(dtype)
        x, scale = x.astype(wide, copy=False), scale.astype(wide, copy=False)
    if matrix.axis == -1:
        y = _times_rows(x, integers.T) * scale
    else:
        y = _sum_of_rows(x * scale, integers)
    if dtype is not wide:
        y = y.astype(dtype, copy=False)
    if type(y) is not np.ndarray:  # the product of two vectors is a number of NumPy
        y = np.asarray(y)
    return y


def _times_rows(x: Any, rows: Any) -> Any:
    """Return ``x @ rows.T`` of integers, which are converted into one block of memory by turns."""
    if rows.size <= BLOCK:
        return np.matmul(x, rows.astype(x.dtype).T)
    y = np.empty((*x.shape[:-1], len(rows)), x.dtype)
    for part, block in _convert_blocks(rows, x.dtype):
        np.matmul(x, block.T, out=y[..., part])
    return y


def _sum_of_rows(x: Any, rows: Any) -> Any:
    """Return ``x @ rows`` of integers, which are converted into one block of memory by turns."""
    if rows.size <= BLOCK:
        return np.matmul(x, rows.astype(x.dtype))
    return reduce(iadd, [np.matmul(x[..., part], block) for part, block in _convert_blocks(rows, x.dtype)])


def _convert_blocks(rows: Any, dtype: Any) -> Iterator[tuple[slice, Any]]:
    """Yield blocks of rows of integers in a dtype, in memory that the next block takes, and which rows these are."""
    count, length = rows.shape
    step = min(max(1, BLOCK // length), count)
    memory = np.empty((step, length), dtype)
    for start in range(0, count, step):
        block = memory[: count - start]
        np.copyto(block, rows[start : start + step])
        yield slice(start, start + step), block


@implements(ops.matmul)
def matmul_quantized_tensor(x1: QuantizedTensor, x2: Tensor, /) -> Any:
    check_product(x1.shape, x2.shape)
    if not all_finite(x1.scale):
        return decline(SCALED_LATER)
    if x2.ndim == 1:
        return ops.matmul(x2, ops.matrix_transpose(x1))
    return ops.matrix_transpose(ops.matmul(ops.matrix_transpose(x2), ops.matrix_transpose(x1)))


@implements(ops.matrix_transpose)
def matrix_transpose_quantized(x: QuantizedTensor, /) -> QuantizedTensor:
    transposed: QuantizedTensor = object.__new__(QuantizedTensor)  # of parts that were checked
    transposed.data, transposed.scale = ops.matrix_transpose(x.data), x.scale
    transposed.axis, transposed.elements = -3 - x.axis, x.elements
    return transposed


@implements(ops.permute_dims)
def permute_dims_quantized(x: QuantizedTensor, /, axes: tuple[int, ...]) -> Any:
    data = ops.permute_dims(x.data, axes)
    return QuantizedTensor(data, x.scale, x.axis if axes[0] in (0, -2) else -3 - x.axis, x.elements)


# Arithmetic that changes the scales alone.


@implements(ops.negative)
def negative_quantized(x: QuantizedTensor, /) -> QuantizedTensor:
    return QuantizedTensor(x.data, -x.scale, x.axis, x.elements)


@implements(ops.positive)
def positive_quantized(x: QuantizedTensor, /) -> QuantizedTensor:
    return x


@implements(ops.multiply, commutative=True)
def multiply_quantized(x1: QuantizedTensor, x2: int | float | Tensor, /) -> Any:
    if isinstance(x2, Tensor) and (x2.ndim or ops.isdtype(x2.dtype, "complex floating")):
        return decline("only products and quotients with one real number scale all rows alike")
    return QuantizedTensor(x1.data, x1.scale * x2, x1.axis, _elements_with(x1, x2))


@implements(ops.divide)
def divide_quantized(x1: QuantizedTensor, x2: int | float, /) -> QuantizedTensor:
    return QuantizedTensor(x1.data, x1.scale / x2, x1.axis, _elements_with(x1, x2))


def _elements_with(x: QuantizedTensor, other: Any) -> Any:
    """Return the dtype of elements that are scaled: a number of NumPy has a dtype, and one of Python has none."""
    if isinstance(other, (Tensor, np.generic)):
        return np.result_type(x.dtype, other.dtype)
    return x.dtype


# Sums, rows and joins.


@implements(ops.sum)
def sum_quantized(x: QuantizedTensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    axes = {place - 2 for place in axes_of("sum", x, axis)}
    if not axes:
        return decline("a sum along no axis is the matrix itself")
    if not all_finite(x.scale):
        return decline(SCALED_LATER)
    if axes == {x.axis}:
        ones = ops.ones((x.shape[x.axis],), dtype=x.dtype, device=x.device)
        y = ones @ (x if x.axis == -2 else ops.matrix_transpose(x))
    else:
        y = ops.astype(ops.sum(x.data, axis=-3 - x.axis), x.scale.dtype) * x.scale
        y = in_dtype_of(x, y if len(axes) == 1 else ops.sum(y))
    shape = tuple(1 if a in axes else x.shape[a] for a in (-2, -1))
    if keepdims:
        return ops.reshape(y, shape)
    return y


@implements(ops.getitem)
def getitem_quantized(x: QuantizedTensor, key: Any, /) -> Any:
    if isinstance(key, tuple):
        rows, *rest = key
    else:
        rows, *rest = (key,)
    if x.axis != -2 or len(rest) > 1 or not all(_is_basic(part) for part in rest):
        return decline("rows, and single elements or slices of them, are read without the dense matrix")
    if isinstance(rows, slice) and all(isinstance(part, slice) for part in rest):
        return QuantizedTensor(x.data[key], x.scale[rows], x.axis, x.elements)
    if _is_basic(rows):
        return in_dtype_of(x, x.data[key] * x.scale[rows])
    if rest or not isinstance(rows, Tensor) or not ops.isdtype(rows.dtype, "integral"):
        return decline("rows are chosen by an integer, a slice or an array of integers")
    return in_dtype_of(x, x.data[rows] * x.scale[rows][..., None])


def _is_basic(part: Any) -> bool:
    return isinstance(part, slice) or (isinstance(part, (int, np.integer)) and not isinstance(part, bool))


@implements(ops.take)
def take_quantized(x: QuantizedTensor, indices: Tensor, /, *, axis: int | None = None) -> Any:
    if axis is None or x.axis != axis_of("take", x, axis) - 2:
        return decline("what is taken has no scales of its own")
    if not ops.isdtype(indices.dtype, "integral"):
        return decline("rows are chosen by an array of integers")
    scale = ops.take(x.scale, indices)
    if x.axis == -2:
        scale = scale[..., None]
    return in_dtype_of(x, ops.take(x.data, indices, axis=axis) * scale)


@implements(ops.concat, QuantizedTensor)
def concat_quantized(arrays: Any, /, *, axis: int | None = 0) -> Any:
    if not all(isinstance(x, QuantizedTensor) for x in arrays):
        return decline("some of the matrices are not quantised")
    if axis is None or any(x.axis != axis_of("concat", x, axis) - 2 for x in arrays):
        return decline("joined along the other axis the parts of a row have different scales")
    data = ops.concat([x.data for x in arrays], axis=axis)
    elements = np.result_type(*[x.dtype for x in arrays])
    return QuantizedTensor(data, ops.concat([x.scale for x in arrays]), arrays[0].axis, elements)

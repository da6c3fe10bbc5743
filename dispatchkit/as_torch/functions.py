"""The functions of PyTorch that are no operation, in terms of operations.

Each has the name and the arguments that it has in PyTorch: `linalg_solve` is `torch.linalg.solve`. What begins with an
underscore is no function of PyTorch. They get tensors and array types.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from itertools import accumulate
from types import FunctionType
from typing import Any

import numpy as np

from dispatchkit import nn
from dispatchkit.as_torch.shared import NO_DEFAULT, index_along, times, with_parameters
from dispatchkit.as_torch.table import TRANSLATIONS, Function, NotTranslated, Values, is_array
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.tensor.numpy_arguments import signature_in_numpy

# Functions of NumPy, which operations answer, by what PyTorch calls their arguments.
OF_NUMPY = {
    "input": ("angle", "deg2rad", "exp2", "fliplr", "flipud", "isneginf", "isposinf", "isreal", "rad2deg", "sinc"),
    "input other": ("fmax", "fmin", "fmod", "inner", "logaddexp2", "vdot"),
    "input values": ("heaviside",),
    "input exponent": ("float_power",),
    "input decimals": ("round",),
    "input offset": ("diagflat",),
    "input k dims": ("rot90",),
    "input offset dim1 dim2": ("diagonal",),
    "input sections": ("dsplit", "hsplit", "vsplit"),
    "input other rtol atol equal_nan": ("allclose", "isclose"),
    "tensors": ("column_stack", "dstack", "hstack", "linalg.multi_dot", "vstack"),
    "y x dx dim": ("trapezoid",),
    "input p": ("linalg.cond",),
    "A UPLO": ("linalg.eigh", "linalg.eigvalsh"),
}
# Layers whose options are the further arguments of functions.
OF_LAYERS = {
    "avg_pool1d": nn.AvgPool1d,
    "interpolate": nn.Upsample,
    "pixel_shuffle": nn.PixelShuffle,
    "pixel_unshuffle": nn.PixelUnshuffle,
}


def _of_numpy(path: str, names: list[str]) -> Function:
    function: Any = functools.reduce(getattr, path.split("."), np)
    signature = signature_in_numpy(function)
    defaults = [NO_DEFAULT] * len(names) if signature is None else [p.default for p in signature.parameters.values()]
    return with_parameters(function, dict(zip(names, defaults, strict=False)))


def _of_layer(layer: type[nn.Module]) -> Function:
    def of_layer(input: Any, *options: Any) -> Any:
        return layer(*options)(input)

    options = {p.name: p.default for p in inspect.signature(layer).parameters.values()}
    return with_parameters(of_layer, {"input": NO_DEFAULT, **options})


TRANSLATIONS.update({path: _of_numpy(path, names.split()) for names, paths in OF_NUMPY.items() for path in paths})
TRANSLATIONS["trapz"] = TRANSLATIONS["trapezoid"]
TRANSLATIONS.update({f"nn.functional.{name}": _of_layer(layer) for name, layer in OF_LAYERS.items()})


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    if rounding_mode is None:
        return xp.divide(input, other)
    if rounding_mode == "floor":
        return xp.floor_divide(input, other)
    if rounding_mode != "trunc":
        raise NotTranslated
    return xp.trunc(xp.divide(input, other))


divide = true_divide = div


def _extreme(name: str, of_two: str, where: str) -> Function:
    def extreme(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        other = dim if is_array(dim) else other
        if other is not None:
            return getattr(xp, of_two)(input, other)
        if dim is None:
            return getattr(xp, name)(input)
        values = getattr(xp, name)(input, axis=dim, keepdims=keepdim)
        return Values(values, getattr(xp, where)(input, axis=dim, keepdims=keepdim))

    return extreme


TRANSLATIONS["max"] = _extreme("max", "maximum", "argmax")
TRANSLATIONS["min"] = _extreme("min", "minimum", "argmin")


def _spread(name: str, *, with_mean: bool = False) -> Function:
    def spread(
        input: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        correction = int(unbiased) if correction is None else correction
        along = {"axis": (tuple(dim) or None) if isinstance(dim, Sequence) else dim, "keepdims": keepdim}
        y = getattr(xp, name)(input, correction=correction, **along)
        return (y, xp.mean(input, **along)) if with_mean else y

    return spread


for _name in ("std", "var"):
    TRANSLATIONS[_name], TRANSLATIONS[f"{_name}_mean"] = _spread(_name), _spread(_name, with_mean=True)


def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    order = {"axis": dim, "descending": descending}
    return Values(xp.sort(input, **order), xp.argsort(input, **order))


def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    place = slice(k - 1, k) if keepdim else k - 1
    return Values(*(sequence[index_along(dim, place, input.ndim)] for sequence in sort(input, dim)))


def median(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    if dim is None:
        return median(xp.reshape(input, (-1,)), 0).values
    return kthvalue(input, (input.shape[dim] + 1) // 2, dim, keepdim)


def transpose(input: Any, dim0: int, dim1: int) -> Any:
    if {dim0 % input.ndim, dim1 % input.ndim} == {input.ndim - 2, input.ndim - 1}:
        return xp.matrix_transpose(input)
    return xp.swapaxes(input, dim0, dim1)


def _transform(name: str, axes: Any = None) -> Function:
    def transform(input: Any, s: Any = None, dim: Any = axes, norm: Any = None) -> Any:
        dim = tuple(range(-len(s), 0)) if dim is None and s is not None else (dim,) if isinstance(dim, int) else dim
        return getattr(xp.fft, name)(input, s=s, axes=dim, norm=norm or "backward")

    return transform


for _name in ("fft", "ifft", "rfft", "irfft"):
    TRANSLATIONS[f"fft.{_name}n"] = _transform(f"{_name}n")
    TRANSLATIONS[f"fft.{_name}2"] = _transform(f"{_name}n", (-2, -1))


def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    return xp.nonzero(condition) if input is None else xp.where(condition, input, other)


def _softmax(name: str) -> Function:
    def softmax(input: Any, dim: int | None = None, dtype: Any = None, *, _stacklevel: int = 3) -> Any:
        if dim is None:
            raise NotTranslated
        return getattr(xp, name)(input if dtype is None else xp.astype(input, numpy_dtype(dtype)), axis=dim)

    return softmax


for _name in ("softmax", "log_softmax"):
    for _place in ("", "special.", "nn.functional."):
        TRANSLATIONS[f"{_place}{_name}"] = _softmax(_name)


def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    start = int(start) % input.shape[dim] if start < 0 else int(start)
    return input[index_along(dim, slice(start, start + length), input.ndim)]


def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    size = split_size_or_sections
    cuts = range(size, tensor.shape[dim], size) if isinstance(size, int) else accumulate(size[:-1])
    return xp.split(tensor, tuple(cuts), axis=dim)


def unflatten(input: Any, dim: int, sizes: Sequence[int]) -> Any:
    dim %= input.ndim
    return xp.reshape(input, (*input.shape[:dim], *sizes, *input.shape[dim + 1 :]))


def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    return xp.index_put(input, index_along(dim, index, input.ndim), times(source, alpha), accumulate=True)


def index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    values = xp.asarray(value, dtype=input.dtype)
    return xp.index_put(input, index_along(dim, index, input.ndim), values)


def scatter(input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None) -> Any:
    src = src if value is None else value
    elements = src[tuple(map(slice, index.shape))] if is_array(src) else xp.asarray(src, dtype=input.dtype)
    places = [
        xp.reshape(xp.arange(length), (-1, *(1,) * (index.ndim - axis - 1))) for axis, length in enumerate(index.shape)
    ]
    places[dim] = index
    return xp.index_put(input, tuple(places), elements)


def squeeze(input: Any, dim: Any = None) -> Any:
    axes = range(input.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    return xp.squeeze(input, axis=tuple(axis for axis in axes if input.shape[axis] == 1))


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dtype is not None or p == "nuc":
        raise NotTranslated
    axis = tuple(dim) if isinstance(dim, list) else dim
    return xp.linalg.vector_norm(input, ord=2 if p in ("fro", None) else p, axis=axis, keepdims=keepdim)


def svd(input: Any, some: bool = True) -> Any:
    u, s, vh = xp.linalg.svd(input, full_matrices=not some)
    return u, s, xp.conj(xp.matrix_transpose(vh))


def linalg_solve(A: Any, B: Any) -> Any:
    if 1 < B.ndim == A.ndim - 1 and B.shape == A.shape[:-1]:
        return xp.linalg.solve(A, B[..., None])[..., 0]
    return xp.linalg.solve(A, B)


def linalg_matrix_norm(A: Any, ord: Any = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False) -> Any:
    y = xp.linalg.matrix_norm(xp.moveaxis(A, tuple(dim), (-2, -1)), ord=ord)
    return xp.expand_dims(y, axis=tuple(axis % A.ndim for axis in dim)) if keepdim else y


def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    return xp.linalg.cross(input, other, axis=input.shape.index(3) if dim is None else dim)


def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    if dim is None:
        return xp.take_along_axis(xp.reshape(input, (-1,)), xp.reshape(indices, (-1,)), axis=0)
    return xp.take_along_axis(input, indices, axis=dim)


def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    if dim is not None:
        raise NotTranslated
    return np.unique(input, return_inverse=return_inverse, return_counts=return_counts)  # type: ignore[call-overload]


def searchsorted(
    sorted_sequence: Any, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None
) -> Any:
    places = xp.searchsorted(sorted_sequence, input, side=side or ("right" if right else "left"))
    return xp.astype(places, xp.int32) if out_int32 else places


def nn_functional_pad(input: Any, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Any:
    last = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    # What is negative is cut off.
    cuts = [slice(max(0, -before), min(0, after) or None) for before, after in last]
    input = input[(..., *cuts)] if min(pad, default=0) < 0 else input
    widths = ((0, 0),) * (input.ndim - len(last)) + tuple((max(0, before), max(0, after)) for before, after in last)
    if mode == "constant":
        return xp.pad(input, widths, constant_values=value or 0)
    return xp.pad(input, widths, {"replicate": "edge", "circular": "wrap"}.get(mode, mode))


# Of NumPy, with other arguments.


def nan_to_num(input: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    return np.nan_to_num(input, nan=nan or 0.0, posinf=posinf, neginf=neginf)


def gradient(input: Any, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> Any:
    steps = spacing if isinstance(spacing, (list, tuple)) else () if spacing is None else (spacing,)
    slopes: Any = np.gradient(input, *steps, axis=dim, edge_order=edge_order)  # type: ignore[call-overload]
    return slopes if isinstance(slopes, tuple) else (slopes,)


# More of several operations.


def logspace(start: Any, end: Any, steps: int, base: Any = 10.0, *, dtype: Any = None, device: Any = None) -> Any:
    return xp.pow(base, xp.linspace(start, end, steps, dtype=dtype, device=device))


def logdet(input: Any) -> Any:
    sign, logarithm = xp.linalg.slogdet(input)
    return xp.log(sign) + logarithm


def aminmax(input: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
    return xp.amin(input, axis=dim, keepdims=keepdim), xp.amax(input, axis=dim, keepdims=keepdim)


def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def cdist(x1: Any, x2: Any, p: Any = 2.0, compute_mode: Any = None) -> Any:
    apart = xp.expand_dims(x1, axis=-2) - xp.expand_dims(x2, axis=-3)
    return xp.linalg.vector_norm(apart, ord=p, axis=-1)


def slice_scatter(input: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return xp.index_put(input, index_along(dim, slice(start, end, step), input.ndim), src)


def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    length, size = input.shape[-1], input.shape[-1] + abs(offset)
    places = (..., xp.arange(length) - min(offset, 0), xp.arange(length) + max(offset, 0))
    matrices = xp.index_put(xp.zeros((*input.shape[:-1], size, size), dtype=input.dtype), places, input)
    return xp.moveaxis(matrices, (-2, -1), (dim1, dim2))


def scatter_reduce(input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    low, high = -np.inf, np.inf
    if xp.isdtype(input.dtype, "integral"):
        low, high = xp.iinfo(input.dtype).min, xp.iinfo(input.dtype).max
    start: Any = {"sum": 0, "mean": 0, "prod": 1, "amax": low, "amin": high}.get(reduce)
    if start is None:
        raise NotTranslated
    base = input if include_self else scatter(input, dim, index, value=start)
    if reduce == "sum":
        return xp.scatter_add(base, dim, index, src)
    if reduce == "mean":
        pairs = (input, src), (xp.ones_like(input), xp.ones_like(src))
        total, counts = (scatter_reduce(x, dim, index, y, "sum", include_self=include_self) for x, y in pairs)
        return div(total, counts, rounding_mode=None if xp.isdtype(input.dtype, "real floating") else "floor")
    # Elements stand behind what their place has, along a last axis.
    region = tuple(slice(None if axis == dim % input.ndim else length) for axis, length in enumerate(index.shape))
    index, elements = (xp.moveaxis(x, dim, -1) for x in (index, src[tuple(map(slice, index.shape))]))
    hits = xp.expand_dims(index, axis=-2) == xp.reshape(xp.arange(input.shape[dim]), (-1, 1))
    elements = xp.where(hits, xp.expand_dims(elements, axis=-2), xp.asarray(start, dtype=input.dtype))
    before = xp.expand_dims(xp.moveaxis(base[region], dim, -1), axis=-1)
    reduced = getattr(xp, reduce)(xp.concat([before, elements], axis=-1), axis=-1)
    return xp.index_put(base, region, xp.moveaxis(reduced, -1, dim))


def index_reduce(input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    index = xp.reshape(index, (-1, *(1,) * (input.ndim - dim % input.ndim - 1)))
    return scatter_reduce(input, dim, xp.broadcast_to(index, source.shape), source, reduce, include_self=include_self)


def linalg_matrix_rank(A: Any, *, atol: Any = None, rtol: Any = None) -> Any:
    if atol is None:
        return xp.linalg.matrix_rank(A, rtol=rtol)
    s = xp.linalg.svdvals(A)
    rtol = xp.where(atol > 0, 0.0, max(A.shape[-2:]) * xp.finfo(s.dtype).eps) if rtol is None else rtol
    return xp.count_nonzero(s > xp.maximum(atol, rtol * s[..., 0])[..., None], axis=-1)


def linalg_solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    A = (xp.triu if upper else xp.tril)(A)
    A = xp.where(xp.eye(A.shape[-1], dtype=xp.bool), 1, A) if unitriangular else A
    return xp.linalg.solve(A, B) if left else xp.linalg.solve(A.mT, B.mT).mT


def cholesky_solve(input: Any, input2: Any, upper: bool = False) -> Any:
    adjoint = xp.conj(xp.matrix_transpose(input2))
    return xp.linalg.solve(adjoint @ input2 if upper else input2 @ adjoint, input)


def cholesky_inverse(input: Any, upper: bool = False) -> Any:
    return cholesky_solve(xp.eye(input.shape[-1], dtype=input.dtype), input, upper)


# Of neural networks.


def nn_functional_softmin(input: Any, dim: Any = None, dtype: Any = None, *, _stacklevel: int = 3) -> Any:
    return TRANSLATIONS["softmax"](-input, dim, dtype)


def nn_functional_cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    x1, x2 = xp.broadcast_arrays(x1, x2)
    lengths = [xp.maximum(xp.linalg.vector_norm(x, axis=dim, keepdims=True), eps) for x in (x1, x2)]
    return xp.sum((x1 / lengths[0]) * (x2 / lengths[1]), axis=dim)


def nn_functional_pairwise_distance(x1: Any, x2: Any, p: Any = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    return xp.linalg.vector_norm(x1 - x2 + eps, ord=p, axis=-1, keepdims=keepdim)


for _name, _function in list(globals().items()):
    if isinstance(_function, FunctionType) and _function.__module__ == __name__ and not _name.startswith("_"):
        TRANSLATIONS[_name.replace("linalg_", "linalg.").replace("nn_functional_", "nn.functional.")] = _function

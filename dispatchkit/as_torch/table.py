"""PyTorch's names and arguments for operations: the one table of `dispatchkit.as_torch` and of calls from PyTorch.

An operation answers the function of PyTorch that has its name, but for what stands here: other names, other arguments,
and functions that mean something else, put in terms of operations. Those have PyTorch's signatures, and get tensors and
array types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import closeness

# What PyTorch calls otherwise than the array API and so the operations.
NAMES = {
    **{name: f"linalg.{name}" for name in ("det", "matrix_power", "slogdet", "trace")},
    **{name: f"special.{name}" for name in ("digamma", "erf", "erfc", "erfinv", "logit", "xlogy")},
    **{f"special.{name}": name for name in ("expm1", "log1p", "logsumexp")},
    **{f"nn.functional.{name}": name for name in ("sigmoid", "tanh")},
    "clamp_max": "minimum",
    "clamp_min": "maximum",
    "cumprod": "cumulative_prod",
    "cumsum": "cumulative_sum",
    "fix": "trunc",
    "ger": "outer",
    "inverse": "linalg.inv",
    "lgamma": "special.gammaln",
    "linalg.vecdot": "vecdot",
    "repeat": "tile",
    "repeat_interleave": "repeat",
    "special.psi": "special.digamma",
    "spmm": "mm",
    "unbind": "unstack",
}
# Of the same name, but another meaning.
OTHERS = frozenset({"empty_like", "equal", "index_put", "nn.functional.batch_norm", "nn.functional.dropout"})
# Not overridable in PyTorch, or of random numbers: for `as_torch` alone.
CREATION = {
    "bernoulli": "random.bernoulli",
    "empty_like": "empty_like",
    "from_numpy": "asarray",
    "multinomial": "random.multinomial",
    "nn.functional.dropout": "nn.functional.dropout",
    "normal": "random.normal",
}
# What arguments are called, and by which parameters of operations they are taken.
KEYWORDS = {
    "dim": ("axis", "axes"),
    "dims": ("axes", "axis"),
    "keepdim": ("keepdims",),
    "size": ("shape",),
    "shifts": ("shift",),
    "diagonal": ("offset", "k"),
    "end": ("stop",),
    "index": ("indices",),
    "interpolation": ("method",),
    "steps": ("num",),
}
# The arguments of functions that do not follow from the parameters of their operations, in PyTorch's order.
ARGUMENTS = {
    "size": ("empty", "ones", "rand", "randn", "zeros"),
    "n m": ("eye",),
    "data": ("as_tensor", "asarray", "from_numpy"),
    "input": ("bernoulli",),
    "input shape": ("reshape", "view"),
    "input dims": ("flip", "permute", "repeat", "tile"),
    "input shifts dims": ("roll",),
    "a b dims": ("tensordot",),
    "elements test_elements": ("isin",),
    "input exponent": ("pow",),
    "input max": ("clamp_max",),
    "input min": ("clamp_min",),
    "input mat2": ("bmm", "mm", "spmm"),
    "input vec": ("mv",),
    "input vec2": ("ger", "outer"),
    "input tensor": ("dot",),
    "input axis0 axis1": ("swapaxes",),
    "input dim0 dim1": ("swapdims",),
    "input q dim keepdim interpolation": ("quantile",),
    "input k dim largest sorted": ("topk",),
    "input dim keepdim dtype": ("nanmean", "nansum"),
    "input ord dim keepdim": ("linalg.vector_norm",),
    "x y dim": ("linalg.vecdot",),
    # What PyTorch takes next is deprecated.
    "input target": tuple(f"nn.functional.{name}" for name in ("kl_div", "l1_loss", "mse_loss", "smooth_l1_loss")),
    "input target weight": tuple(
        f"nn.functional.{name}"
        for name in ("binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "nll_loss")
    ),
}
# Taken for these, too.
SYNONYMS = {"A": "input", "axis": "dim", "keepdims": "keepdim"}
# Given as several numbers, too, as in `x.view(2, 3)`.
SPREAD = frozenset({"size", "shape", "dims"})
# What tensors of dispatchkit do not tell apart, or decide themselves.
IGNORED = frozenset({"inplace", "layout", "memory_format", "non_blocking", "pin_memory", "sparse_grad"})
# Arguments of these, by their names.
LAYOUTS = ("channels_last", "channels_last_3d", "contiguous_format", "preserve_format", "strided")
# Methods alone in PyTorch.
METHODS = frozenset({"expand", "repeat", "view"})
# In-place methods beyond those of elementwise operations.
IN_PLACE = (
    *("addcdiv", "addcmul", "addmm", "clamp_max", "clamp_min", "div", "erfinv"),
    *("index_add", "index_copy", "index_fill"),
    *("lerp", "masked_fill", "scatter", "scatter_add", "tril", "triu"),
)
# Modules that show what others have.
ALIASES = {
    **dict.fromkeys(("nn.modules", "nn.modules.module", "nn.parameter"), "nn"),
    **{f"utils.data.{name}": "utils.data" for name in ("dataloader", "dataset", "sampler")},
}
# PyTorch's classes of tensors by their dtypes.
CLASSES = {
    dtype: f"{name}Tensor"
    for name, dtype in (
        *(("Bool", "bool"), ("Byte", "uint8"), ("Char", "int8"), ("Short", "int16"), ("Int", "int32")),
        *(("Long", "int64"), ("Float", "float32"), ("Double", "float64")),
    )
}
# What to write for names that dispatchkit has and PyTorch lacks, and for those of PyTorch that it has otherwise.
INSTEAD = {
    **{name: f"dk.{name}" for name in ("average", "cbrt", "convolve", "einsum_path", "getitem", "interp", "setitem")},
    **{name: f"dk.{name}" for name in ("nanmax", "nanmin", "nanprod", "nanstd", "nanvar", "unique_all")},
    **dict.fromkeys(("unique_counts", "unique_inverse", "unique_values"), "unique"),
    **{f"linalg.{name}": name for name in ("outer", "tensordot", "trace")},
    **{f"linalg.{name}": f"dk.linalg.{name}" for name in ("cg", "matrix_transpose")},
    **{f"nn.functional.{name}": f"dk.nn.functional.{name}" for name in ("gru", "lstm", "standardize")},
    **dict.fromkeys(("bfloat16", "float16", "half", "autocast", "amp"), "float32 or float64"),
    **{name: f"x.{name}" for name in METHODS},
    "astype": "x.to(dtype)",
    "bitwise_invert": "bitwise_not",
    "broadcast_arrays": "broadcast_tensors",
    "cdist": "linalg.vector_norm(x1[:, None] - x2, dim=-1)",
    "conjugate": "conj",
    "cuda": "x.to(device) with arrays of a library that has devices",
    "cumulative_prod": "cumprod",
    "cumulative_sum": "cumsum",
    "distributions": "log_softmax, multinomial and gather",
    "expand_dims": "unsqueeze",
    "isdtype": "x.is_floating_point()",
    "matrix_transpose": "x.mT",
    "mod": "remainder",
    "nelement": "x.numel()",
    "nn.functional.batch_norm": "nn.BatchNorm1d or nn.BatchNorm2d",
    "pad": "nn.functional.pad",
    "permute_dims": "permute",
    "power": "pow",
    "take_along_axis": "take_along_dim",
    "unstack": "unbind",
    "vecdot": "linalg.vecdot",
}
Function = Callable[..., Any]
TRANSLATIONS: dict[str, Function] = {}


class NotTranslated(Exception):  # noqa: N818  # no error: another way is taken
    """A call that is not put in terms of operations."""


class Values(NamedTuple):
    """Elements, and where they stand along an axis."""

    values: Any
    indices: Any


def translation(*paths: str) -> Callable[[Function], Function]:
    """Enter a function under the names that PyTorch has for it."""

    def enter(function: Function) -> Function:
        TRANSLATIONS.update(dict.fromkeys(paths, function))
        return function

    return enter


def _times(x: Any, alpha: Any) -> Any:
    """Return an array times a factor, itself where that is 1, which may be of another dtype."""
    return x if alpha == 1 else x * alpha


@translation("add")
def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    return xp.add(input, _times(other, alpha))


@translation("sub", "subtract")
def subtract(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    return xp.subtract(input, _times(other, alpha))


@translation("rsub")
def reflected_subtract(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    return xp.subtract(other, _times(input, alpha))


@translation("div", "divide", "true_divide")
def divide(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    if rounding_mode is None:
        return xp.divide(input, other)
    if rounding_mode == "floor":
        return xp.floor_divide(input, other)
    if rounding_mode != "trunc":
        raise NotTranslated
    return xp.trunc(xp.divide(input, other))


def is_array(value: Any) -> bool:
    """Return whether a value is a tensor or of an array type."""
    return isinstance(value, Storage) or tensor_protocol.types.participates(type(value))


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


def _spread(name: str) -> Function:
    def spread(
        input: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is None:
            correction = 1 if unbiased else 0
        axis = None if dim is None or (isinstance(dim, Sequence) and not dim) else dim
        axis = tuple(axis) if isinstance(axis, list) else axis
        return getattr(xp, name)(input, axis=axis, correction=correction, keepdims=keepdim)

    return spread


TRANSLATIONS["std"], TRANSLATIONS["var"] = _spread("std"), _spread("var")


def _with_mean(spread: Function) -> Function:
    def with_mean(
        input: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
    ) -> Any:
        axis = None if isinstance(dim, bool) else tuple(dim) if isinstance(dim, list) else dim
        mean = xp.mean(input, axis=axis, keepdims=keepdim)
        return spread(input, dim, unbiased, keepdim, correction=correction), mean

    return with_mean


TRANSLATIONS.update({f"{_name}_mean": _with_mean(TRANSLATIONS[_name]) for _name in ("std", "var")})


@translation("sort")
def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    order = {"axis": dim, "descending": descending}
    return Values(xp.sort(input, **order), xp.argsort(input, **order))


@translation("kthvalue")
def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    place = slice(k - 1, k) if keepdim else k - 1
    return Values(*(select(sequence, dim, place) for sequence in sort(input, dim)))


@translation("median")
def median(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    if dim is None:
        return median(xp.reshape(input, (-1,)), 0).values
    return kthvalue(input, (input.shape[dim] + 1) // 2, dim, keepdim)


@translation("transpose")
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    if {dim0 % input.ndim, dim1 % input.ndim} == {input.ndim - 2, input.ndim - 1}:
        return xp.matrix_transpose(input)
    return xp.swapaxes(input, dim0, dim1)


def _transform(name: str) -> Function:
    def transform(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
        axes = tuple(range(-len(s), 0)) if dim is None and s is not None else (dim,) if isinstance(dim, int) else dim
        return getattr(xp.fft, name)(input, s=s, axes=axes, norm=norm or "backward")

    return transform


TRANSLATIONS.update({f"fft.{name}": _transform(name) for name in ("fftn", "ifftn", "rfftn", "irfftn")})


@translation("diagonal")
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    if (dim1 % input.ndim, dim2 % input.ndim) != (input.ndim - 2, input.ndim - 1):
        input = xp.moveaxis(input, (dim1, dim2), (-2, -1))
    return xp.linalg.diagonal(input, offset=offset)


@translation("where")
def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    return xp.nonzero(condition) if input is None else xp.where(condition, input, other)


@translation("nonzero")
def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    return xp.nonzero(input) if as_tuple else xp.argwhere(input)


@translation("masked_fill")
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    return xp.where(mask, value, input)


@translation("masked_select")
def masked_select(input: Any, mask: Any) -> Any:
    input, mask = xp.broadcast_arrays(input, mask)
    return input[mask]


def _softmax(name: str) -> Function:
    def softmax(input: Any, dim: int | None = None, dtype: Any = None, *, _stacklevel: int = 3) -> Any:
        if dim is None:
            raise NotTranslated
        return getattr(xp, name)(input if dtype is None else xp.astype(input, numpy_dtype(dtype)), axis=dim)

    return softmax


for _name in ("softmax", "log_softmax"):
    for _place in ("", "special.", "nn.functional."):
        TRANSLATIONS[f"{_place}{_name}"] = _softmax(_name)


@translation("addmm", "addmv", "baddbmm")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _times(input, beta) + _times(mat1 @ mat2, alpha)


@translation("addcmul")
def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    return input + _times(tensor1 * tensor2, value)


@translation("addcdiv")
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    return input + _times(tensor1 / tensor2, value)


@translation("lerp")
def lerp(input: Any, end: Any, weight: Any) -> Any:
    return input + weight * (end - input)


@translation("select")
def select(input: Any, dim: int, index: Any) -> Any:
    return input[_index_along(dim, index, input.ndim)]


@translation("narrow")
def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    start = int(start) % input.shape[dim] if start < 0 else int(start)
    return select(input, dim, slice(start, start + length))


@translation("split")
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    size = split_size_or_sections
    cuts = range(size, tensor.shape[dim], size) if isinstance(size, int) else accumulate(size[:-1])
    return xp.split(tensor, tuple(cuts), axis=dim)


@translation("unflatten")
def unflatten(input: Any, dim: int, sizes: Sequence[int]) -> Any:
    dim %= input.ndim
    return xp.reshape(input, (*input.shape[:dim], *sizes, *input.shape[dim + 1 :]))


@translation("index_select")
def index_select(input: Any, dim: int, index: Any) -> Any:
    return xp.take(input, index, axis=dim)


def _index_along(dim: int, index: Any, ndim: int) -> tuple[Any, ...]:
    """Return the index that takes elements along one axis, and all of the others."""
    return (*(slice(None),) * (dim % ndim), index)


@translation("index_add")
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    return xp.index_put(input, _index_along(dim, index, input.ndim), _times(source, alpha), accumulate=True)


@translation("index_copy")
def index_copy(input: Any, dim: int, index: Any, source: Any) -> Any:
    return xp.index_put(input, _index_along(dim, index, input.ndim), source)


@translation("index_fill")
def index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    return index_copy(input, dim, index, xp.asarray(value, dtype=input.dtype))


@translation("scatter")
def scatter(input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None) -> Any:
    src = src if value is None else value
    elements = src[tuple(map(slice, index.shape))] if is_array(src) else xp.asarray(src, dtype=input.dtype)
    places = [
        xp.reshape(xp.arange(length), (-1, *(1,) * (index.ndim - axis - 1))) for axis, length in enumerate(index.shape)
    ]
    places[dim] = index
    return xp.index_put(input, tuple(places), elements)


@translation("squeeze")
def squeeze(input: Any, dim: Any = None) -> Any:
    axes = range(input.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    return xp.squeeze(input, axis=tuple(axis for axis in axes if input.shape[axis] == 1))


@translation("hstack")
def hstack(tensors: Any) -> Any:
    return xp.concat([xp.reshape(x, (-1,)) if x.ndim < 2 else x for x in tensors], axis=min(1, tensors[0].ndim - 1))


@translation("vstack")
def vstack(tensors: Any) -> Any:
    return xp.concat([xp.reshape(x, (1, -1)) if x.ndim < 2 else x for x in tensors], axis=0)


@translation("broadcast_tensors")
def broadcast_tensors(*tensors: Any) -> Any:
    return xp.broadcast_arrays(*tensors)


@translation("meshgrid")
def meshgrid(*tensors: Any, indexing: str = "ij") -> Any:
    arrays = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    return xp.meshgrid(*arrays, indexing=indexing)


@translation("norm")
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dtype is not None or p == "nuc":
        raise NotTranslated
    axis = tuple(dim) if isinstance(dim, list) else dim
    return xp.linalg.vector_norm(input, ord=2 if p in ("fro", None) else p, axis=axis, keepdims=keepdim)


@translation("svd")
def svd(input: Any, some: bool = True) -> Any:
    u, s, vh = xp.linalg.svd(input, full_matrices=not some)
    return u, s, xp.conj(xp.matrix_transpose(vh))


def _of_triangle(name: str) -> Function:
    def of_triangle(A: Any, UPLO: str = "L") -> Any:
        return getattr(xp.linalg, name)(A if UPLO in "Ll" else xp.conj(xp.matrix_transpose(A)))

    return of_triangle


TRANSLATIONS.update({f"linalg.{name}": _of_triangle(name) for name in ("eigh", "eigvalsh")})


@translation("linalg.solve")
def solve(A: Any, B: Any) -> Any:
    if 1 < B.ndim == A.ndim - 1 and B.shape == A.shape[:-1]:
        return xp.linalg.solve(A, B[..., None])[..., 0]
    return xp.linalg.solve(A, B)


@translation("linalg.matrix_norm")
def matrix_norm(A: Any, ord: Any = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False) -> Any:
    y = xp.linalg.matrix_norm(xp.moveaxis(A, tuple(dim), (-2, -1)), ord=ord)
    return xp.expand_dims(y, axis=tuple(axis % A.ndim for axis in dim)) if keepdim else y


@translation("cross")
def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    return xp.linalg.cross(input, other, axis=input.shape.index(3) if dim is None else dim)


@translation("round")
def round_to(input: Any, *, decimals: int = 0) -> Any:
    return xp.round(input * 10**decimals) / 10**decimals if decimals else xp.round(input)


@translation("take_along_dim")
def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    if dim is None:
        return xp.take_along_axis(xp.reshape(input, (-1,)), xp.reshape(indices, (-1,)), axis=0)
    return xp.take_along_axis(input, indices, axis=dim)


@translation("einsum")
def einsum(*args: Any) -> Any:
    if not isinstance(args[0], str):
        raise NotTranslated
    operands = args[1] if len(args) == 2 and isinstance(args[1], (list, tuple)) else args[1:]
    return xp.einsum(args[0], *operands)


@translation("unique")
def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    if dim is not None:
        raise NotTranslated
    values, _, inverse, counts = xp.unique_all(input)
    results = (values, *(inverse,) * return_inverse, *(counts,) * return_counts)
    return results if len(results) > 1 else values


@translation("searchsorted")
def searchsorted(
    sorted_sequence: Any, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None
) -> Any:
    places = xp.searchsorted(sorted_sequence, input, side=side or ("right" if right else "left"))
    return xp.astype(places, xp.int32) if out_int32 else places


@translation("isclose")
def isclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    return closeness.isclose(input, other, rtol, atol, equal_nan)


@translation("allclose")
def allclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    return closeness.allclose(input, other, rtol, atol, equal_nan)


@translation("equal")
def equal(input: Any, other: Any) -> bool:
    return input.shape == other.shape and bool(xp.all(input == other))


@translation("numel")
def numel(input: Any) -> int:
    return int(input.size)


@translation("is_floating_point")
def is_floating_point(input: Any) -> bool:
    return bool(xp.isdtype(input.dtype, "real floating"))


@translation("is_complex")
def is_complex(input: Any) -> bool:
    return bool(xp.isdtype(input.dtype, "complex floating"))


@translation("nn.functional.pad")
def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Any:
    last = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    widths = ((0, 0),) * (input.ndim - len(last)) + tuple(last)
    if mode == "constant":
        return xp.pad(input, widths, constant_values=value or 0)
    return xp.pad(input, widths, {"replicate": "edge", "circular": "wrap"}.get(mode, mode))

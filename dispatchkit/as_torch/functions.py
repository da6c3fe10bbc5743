"""The functions of PyTorch that are no operation, in terms of operations.

Each has the name and the arguments that it has in PyTorch: `linalg_solve` is `torch.linalg.solve`. What begins with an
underscore is no function of PyTorch. They get tensors and array types.
"""

from __future__ import annotations

import inspect
import itertools
import math
import sys
from collections.abc import Sequence
from functools import cache, partial, reduce
from itertools import accumulate
from typing import Any

import numpy as np

from dispatchkit import nn
from dispatchkit.as_torch.calling.promotion import NUMBERS, common_dtype, promote_types
from dispatchkit.as_torch.shared import (
    between,
    implicit_axis,
    in_floats,
    in_single_precision,
    in_spelling_of,
    index_along,
    kept,
    kind_of,
    lengths_of,
    norm_of_vectors,
    plain_array,
    rounded_to_dtype_of,
    running,
    scaled_product,
    sign,
    written_functions,
)
from dispatchkit.as_torch.table import ALONE, TRANSLATIONS, Function, NotTranslated, Values, is_array
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.wrapping import holds
from dispatchkit.graph.storage import Storage
from dispatchkit.tensor.numpy_arguments import compose, signature_in_numpy

NO_DEFAULT = inspect.Parameter.empty
# Functions of NumPy, which operations answer, by what PyTorch calls their arguments.
OF_NUMPY = {
    "input": ("deg2rad", "fliplr", "flipud", "isneginf", "isposinf", "isreal", "rad2deg", "sinc"),
    "input other": ("fmod", "logaddexp2", "vdot"),
    "input exponent": ("float_power",),
    "input decimals": ("round",),
    "input offset": ("diagflat",),
    "input k dims": ("rot90",),
    "input sections": ("dsplit", "hsplit", "vsplit"),
    "input other rtol atol equal_nan": ("allclose", "isclose"),
    "tensors": ("column_stack", "dstack", "linalg.multi_dot", "vstack"),
    "A UPLO": ("linalg.eigh", "linalg.eigvalsh"),
}
# The module that answers functions of NumPy, which loads with the first call of one.
ANSWERS = "dispatchkit.tensor.numpy_calls"
# Layers whose options are the further arguments of functions.
OF_LAYERS = {
    "avg_pool1d": nn.AvgPool1d,
    "pixel_shuffle": nn.PixelShuffle,
    "pixel_unshuffle": nn.PixelUnshuffle,
}


def _with_parameters(function: Function, parameters: dict[str, Any]) -> Function:
    """Return a function that calls another by position; of its parameters the defaults are given, or `NO_DEFAULT`."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(name, kind, default=value) for name, value in parameters.items()])

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) == len(parameters) and not kwargs:
            return function(*args)
        arguments = signature.bind(*args, **kwargs)
        arguments.apply_defaults()
        return function(*arguments.args)

    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _of_numpy(path: str, names: list[str]) -> Function:
    function: Any = reduce(getattr, path.split("."), np)
    signature = signature_in_numpy(function)
    if signature is None:
        defaults = [NO_DEFAULT] * len(names)
    else:
        defaults = [p.default for p in signature.parameters.values()]
    by_answer = _past_protocol(function, sum(name in ("input", "other") for name in names))
    return _with_parameters(by_answer, dict(zip(names, defaults, strict=False)))


def _past_protocol(function: Function, operands: int) -> Function:
    """Return a function of NumPy that computes plain tensors by the operations that answer it, without asking for them.

    Parameters
    ----------
    function : of NumPy
    operands : how many arguments are arrays, of which none means that the first may be a sequence of some
    """

    def call(*args: Any) -> Any:
        arrays = args[:operands]
        if not operands and type(args[0]) in (tuple, list):
            arrays = args[0]
        plain = all(isinstance(x, Storage) and not x.is_tracer and type(x.array) is np.ndarray for x in arrays)
        # The first call goes through the protocol, which loads what answers.
        if arrays and plain and ANSWERS in sys.modules:
            composition = _composition_of(function)
            if composition is not None:
                return compose(composition, *args)
        return function(*args)

    return call


@cache
def _composition_of(function: Function) -> Function | None:
    """Return what answers a function of NumPy by operations, None where one operation does, or nothing."""
    answer = sys.modules[ANSWERS].answer_of(function)
    if answer is None or answer.how != "composition":
        return None
    composition: Function = answer.composition
    return composition


def _of_layer(layer: type[nn.Module]) -> Function:
    options = {p.name: p.default for p in inspect.signature(layer).parameters.values()}
    return _with_parameters(lambda input, *options: layer(*options)(input), {"input": NO_DEFAULT, **options})


TRANSLATIONS.update({path: _of_numpy(path, names.split()) for names, paths in OF_NUMPY.items() for path in paths})
TRANSLATIONS["row_stack"] = TRANSLATIONS["vstack"]
_round_to_decimals = TRANSLATIONS["round"]


def _round(input, decimals=0):
    if not decimals:
        return xp.round(input)
    return _round_to_decimals(input, decimals)


TRANSLATIONS["round"] = _round
TRANSLATIONS.update({f"nn.functional.{name}": _of_layer(layer) for name, layer in OF_LAYERS.items()})


def _extreme(name, of_two, where, /, input, dim=None, keepdim=None, *, other=None):
    if isinstance(dim, tuple):  # as NumPy's methods take them
        return getattr(xp, name)(input, axis=dim, keepdims=bool(keepdim))
    if is_array(dim) and keepdim is None:
        other = dim
    elif is_array(dim):
        dim = int(dim)
    keepdim = bool(keepdim)
    if other is not None:
        return getattr(xp, of_two)(input, other)
    if dim is None:
        return getattr(xp, name)(input)
    is_tensor = isinstance(input, Storage)
    if not is_tensor or not input.ndim or not input.shape[dim]:
        values = getattr(xp, name)(input, axis=dim, keepdims=keepdim)
        return Values(values, getattr(xp, where)(input, axis=dim, keepdims=keepdim))
    if input._node is None and not input.is_tracer:
        return Values(
            getattr(xp, name)(input, axis=dim, keepdims=keepdim), getattr(xp, where)(input, axis=dim, keepdims=keepdim)
        )
    # The gradient goes to the element that the index names, also where others are equal to it.
    places = getattr(xp, where)(input, axis=dim, keepdims=True)
    values = xp.take_along_axis(input, places, axis=dim)
    if keepdim:
        return Values(values, places)
    return Values(xp.squeeze(values, axis=dim), xp.squeeze(places, axis=dim))


TRANSLATIONS["max"] = partial(_extreme, "max", "maximum", "argmax")
TRANSLATIONS["min"] = partial(_extreme, "min", "minimum", "argmin")


def _spread(name, with_mean, /, input, dim=None, unbiased=True, keepdim=False, *, correction=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = int(unbiased)
    axis = dim
    if type(dim) is not int and isinstance(dim, Sequence):
        axis = tuple(dim) or None
    along = {"axis": axis, "keepdims": keepdim}
    y = getattr(xp, name)(input, correction=correction, **along)
    if 0 in lengths_of(input):
        y = xp.full_like(y, math.nan)
    if with_mean:
        return y, xp.mean(input, **along)
    return y


for _name in ("std", "var"):
    TRANSLATIONS[_name], TRANSLATIONS[f"{_name}_mean"] = partial(_spread, _name, False), partial(_spread, _name, True)


def sort(input, dim=-1, descending=False, stable=False):
    order = {"axis": dim, "descending": descending}
    return Values(xp.sort(input, **order), xp.argsort(input, **order))


def transpose(input, dim0=None, dim1=None):
    if dim1 is None:  # as NumPy's method is called, by all axes
        return xp.permute_dims(input, axes=dim0 or tuple(range(input.ndim))[::-1])
    n = input.ndim
    first, second = dim0 % n, dim1 % n
    if first != second and first + second == 2 * n - 3:  # the last two
        return xp.matrix_transpose(input)
    return xp.swapaxes(input, dim0, dim1)


OPPOSITE = {None: "forward", "backward": "forward", "forward": "backward"}
TRANSFORMS = {"fft": "fft", "ifft": "ifft", "rfft": "rfft", "irfft": "irfft", "hfft": "irfft", "ihfft": "rfft"}


def _transform(name, conjugate, axes, /, input, s=None, dim=None, norm=None):
    if dim is None:
        dim = axes
    elif isinstance(dim, int):
        dim = (dim,)
    if dim is None and s is not None:
        dim = tuple(range(-len(s), 0))
    if not conjugate and name in ("fft", "ifft") and s is None and (dim == () or (dim is None and not input.ndim)):
        return input + 0j  # there is no axis to transform
    transformed = partial(getattr(xp.fft, f"{name}n"), s=s, axes=dim)
    if conjugate:
        return xp.conj(transformed(xp.conj(input), norm=OPPOSITE.get(norm, norm)))
    return transformed(input, norm=norm or "backward")


for _path, _name in TRANSFORMS.items():
    TRANSLATIONS[f"fft.{_path}n"] = partial(_transform, _name, _path != _name, None)
    TRANSLATIONS[f"fft.{_path}2"] = partial(_transform, _name, _path != _name, (-2, -1))


def _conjugate(input):
    if kind_of(input) == "c":
        return xp.conj(input)
    return input


for _path in ("conj", "conj_physical"):
    ALONE[_path] = _conjugate


def _sign(input):
    kind = kind_of(input)
    if kind == "f":
        return sign(input)
    if kind == "b":
        return xp.clone(input)
    return xp.sign(input)


ALONE["sign"] = ALONE["sgn"] = _sign


def positive(input):
    if input.dtype == xp.bool:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def where(condition, input=None, other=None):
    if input is None:
        return np.nonzero(np.atleast_1d(condition))
    y = xp.where(condition, input, other)
    if type(input) in NUMBERS and type(other) in NUMBERS:
        return xp.astype(y, common_dtype((input, other)), copy=False)
    return y


def _softmax(name, /, input, dim=None, dtype=None, *, _stacklevel=3):
    if dim is None:
        raise NotTranslated
    x = input
    if dtype is not None:
        x = xp.astype(input, numpy_dtype(dtype))
    if 0 in lengths_of(input):
        return x  # along an axis of nothing there is no largest element
    return getattr(xp, name)(x, axis=dim)


def _implicit_softmax(name, /, input, dim=None, _stacklevel=3, dtype=None):
    if dim is None:
        dim = implicit_axis(name, input.ndim)
    return _softmax(name, input, dim, dtype)


for _name in ("softmax", "log_softmax"):
    for _place in ("", "special."):
        TRANSLATIONS[f"{_place}{_name}"] = partial(_softmax, _name)
    TRANSLATIONS[f"nn.functional.{_name}"] = partial(_implicit_softmax, _name)


def narrow(input, dim, start, length):
    if start < 0:
        start = int(start) % input.shape[dim]
    else:
        start = int(start)
    return input[index_along(input, dim, slice(start, start + length))]


def split(tensor, split_size_or_sections, dim=0):
    size = split_size_or_sections
    if is_array(size) and not size.ndim:
        size = int(size)
    if isinstance(size, int):
        # Where there is nothing, pieces may have no elements.
        cuts = tuple(range(size, tensor.shape[dim], max(size, 1)))
    elif not size:
        return ()
    else:
        cuts = tuple(accumulate(size[:-1]))
    return xp.split(tensor, cuts, axis=dim)


def unfold(input, dimension, size, step):
    if not input.ndim:
        return unfold(xp.reshape(input, (1,)), 0, size, step)[0]
    windows = np.lib.stride_tricks.sliding_window_view(input, size, dimension)
    return windows[index_along(windows, dimension % input.ndim, slice(None, None, step))]


def unflatten(input, dim, sizes):
    dim %= input.ndim
    if -1 in sizes:
        known = -math.prod(sizes)
        sizes = tuple(input.shape[dim] // known if n == -1 else n for n in sizes)
    return xp.reshape(input, (*input.shape[:dim], *sizes, *input.shape[dim + 1 :]))


def squeeze(input, dim=None):
    if dim is None:
        return xp.squeeze(input)
    lengths = tuple(input.shape)
    if not isinstance(dim, (tuple, list)):
        dim = (dim,)
    return xp.squeeze(input, axis=tuple([axis for axis in dim if lengths[axis] == 1]))


def norm(input, p="fro", dim=None, keepdim=False, *, dtype=None):
    if dtype is not None:
        input = xp.astype(input, numpy_dtype(dtype))
    axis = dim
    if isinstance(dim, list):
        axis = tuple(dim)
    if p == "nuc" and dim is None:
        axis = tuple(range(input.ndim))
    if (p == "nuc" and np.size(axis) != 2) or (p == "fro" and np.size(axis) > 2):
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {axis}")
    if p == "nuc":
        return linalg_matrix_norm(input, p, axis, keepdim)
    if axis == ():  # all of them
        axis = None
    order = p
    if p in ("fro", None):
        order = 2
    elif isinstance(p, str):
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    return norm_of_vectors(input, order, axis, keepdim)


def linalg_solve(A, B, *, left=True):
    if not left:
        return xp.linalg.solve(A.mT, B.mT).mT
    if 1 < B.ndim == A.ndim - 1 and B.shape == A.shape[:-1]:
        return xp.linalg.solve(A, B[..., None])[..., 0]
    return xp.linalg.solve(A, B)


def linalg_norm(x, ord=None, dim=None, keepdim=False, *, dtype=None):
    if dtype is not None:
        x = xp.astype(x, numpy_dtype(dtype))
    return xp.linalg.norm(x, ord=ord, axis=dim, keepdims=keepdim)


def linalg_matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    if dtype is not None:
        A = xp.astype(A, numpy_dtype(dtype))
    y = xp.linalg.matrix_norm(xp.moveaxis(A, tuple(dim), (-2, -1)), ord=ord)
    if keepdim:
        return xp.expand_dims(y, axis=tuple(axis % A.ndim for axis in dim))
    return y


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    if dim is None:
        array = plain_array(input)
        if array is not None and not (return_inverse or return_counts):
            return in_spelling_of(input, np.unique(array))
        return np.unique(input, return_inverse=return_inverse, return_counts=return_counts)
    order = xp.arange(input.shape[dim])
    if input.size:
        order = _order_of_parts(input, dim)
    values, inverse, counts = unique_consecutive(xp.take(input, order, axis=dim), True, True, dim)
    inverse = inverse[xp.argsort(order)]
    further = [x for x, wanted in ((inverse, return_inverse), (counts, return_counts)) if wanted]
    if further:
        return (values, *further)
    return values


def _order_of_parts(input, dim):
    """Return the indices that sort the parts of an array along an axis, the first of their elements first."""
    parts = np.moveaxis(np.asarray(input.detach().numpy()), dim, 0)
    columns = parts.reshape(parts.shape[0], -1).T
    if not columns.shape[0]:
        return xp.arange(parts.shape[0])
    return xp.asarray(np.lexsort(columns[::-1]))


def nn_functional_pad(input, pad, mode="constant", value=None):
    last = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    others = ((0, 0),) * (input.ndim - len(last))
    if mode == "constant" and min(pad, default=0) >= 0:
        return xp.pad(input, (*others, *last), constant_values=value or 0)
    # What is negative is cut off; of elements that are repeated, those behind it count, too.
    cuts = (..., *(slice(max(0, -before), min(0, after) or None) for before, after in last))
    cuts_first = min(pad, default=0) < 0 and mode in ("constant", "circular")
    lengths = input.shape[input.ndim - len(last) :]
    if cuts_first and any(n + min(w[0], 0) + min(w[1], 0) < 0 for n, w in zip(lengths, last, strict=True)):
        raise RuntimeError(f"narrow(): length must be non-negative, found {[*lengths]} and padding {[*pad]}")
    if cuts_first:
        input = input[cuts]
    widths = others + tuple((max(0, before), max(0, after)) for before, after in last)
    if mode == "constant":
        return xp.pad(input, widths, constant_values=value or 0)
    y = xp.pad(input, widths, {"replicate": "edge", "circular": "wrap"}.get(mode, mode))
    if min(pad, default=0) < 0 and not cuts_first:
        return y[cuts]
    return y


# Of NumPy, with other arguments.


def nan_to_num(input, nan=None, posinf=None, neginf=None):
    return np.nan_to_num(input, nan=nan or 0.0, posinf=posinf, neginf=neginf)


def gradient(input, *, spacing=None, dim=None, edge_order=1):
    axes = tuple(range(input.ndim)) if dim is None else dim
    if isinstance(axes, int):
        axes = (axes,)
    steps = spacing
    if not isinstance(spacing, (list, tuple)):
        steps = (spacing,) * len(axes)
    return tuple(_slopes(input, step, axis, edge_order) for step, axis in zip(steps, axes, strict=True))


def _slopes(x, step, axis, edge_order):
    """Return differences along an axis over a step, or between places, of a dtype in common with these."""
    if is_array(step) and step.ndim:
        x = xp.astype(x, promote_types(numpy_dtype(x.dtype), numpy_dtype(in_floats(step).dtype)), copy=False)
        return np.gradient(x, step, axis=axis, edge_order=edge_order)
    slopes = np.gradient(in_floats(x), axis=axis, edge_order=edge_order)
    if step is None:
        return slopes
    return slopes / (step if not is_array(step) or step.is_tracer else step.item())


# More of several operations.


def scalar_tensor(s, *, dtype=None, **options):
    dtype = numpy_dtype(dtype or xp.get_default_dtype())
    return xp.full((), rounded_to_dtype_of(np.empty((), dtype), s), dtype=dtype, **options)


def logdet(input):
    sign, logarithm = xp.linalg.slogdet(input)
    return xp.log(sign) + logarithm


def aminmax(input, *, dim=None, keepdim=False):
    return xp.amin(input, axis=dim, keepdims=keepdim), xp.amax(input, axis=dim, keepdims=keepdim)


def cdist(x1, x2, p=2.0, compute_mode=None):
    x2 = xp.astype(x2, x1.dtype, copy=False)  # of another dtype where there are no elements
    return xp.linalg.vector_norm(xp.expand_dims(x1, axis=-2) - xp.expand_dims(x2, axis=-3), ord=p, axis=-1)


def slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    return xp.index_put(input, index_along(input, dim, slice(start, end, step)), src)


def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    size = input.shape[-1] + abs(offset)
    zeros = xp.zeros((*input.shape[:-1], size, size), dtype=input.dtype)
    return xp.moveaxis(diagonal_scatter(zeros, input, offset, -2, -1), (-2, -1), (dim1, dim2))


def angle(input):
    if xp.isdtype(input.dtype, "complex floating"):
        return np.angle(input)
    x = input
    if not xp.isdtype(x.dtype, "real floating"):
        x = xp.astype(x, xp.get_default_dtype())
    # That of -0.0 is 0, and that of NaN stays NaN.
    nothing = xp.where(xp.isnan(x), x, xp.zeros_like(x))
    return xp.where(x < 0, xp.asarray(np.pi, dtype=x.dtype), nothing)


def cross(input, other, dim=None):
    if dim is None:
        dim = input.shape.index(3)
    return xp.linalg.cross(input, other, axis=dim)


def linalg_vander(x, *, N=None):
    if not x.ndim:
        x = xp.reshape(x, (1,))
    if N is None:
        N = x.shape[-1]
    return xp.expand_dims(x, axis=-1) ** xp.arange(N)


@in_single_precision
def addbmm(input, batch1, batch2, *, beta=1, alpha=1):
    return kept(input, beta) + xp.sum(scaled_product(batch1, batch2, alpha), axis=0)


def combinations(input, r=2, with_replacement=False):
    choose: Any = itertools.combinations
    if with_replacement:
        choose = itertools.combinations_with_replacement
    places = xp.asarray([*choose(range(input.shape[0]), r)], dtype=xp.int64)
    if r:
        return xp.take(input, xp.reshape(places, (-1, r)), axis=0)
    return input[:0]


def cartesian_prod(*tensors):
    columns = [xp.ravel(x) for x in xp.meshgrid(*tensors, indexing="ij")]
    if len(columns) > 1:
        return xp.stack(columns, axis=-1)
    return columns[0]


def sum_to_size(input, size):
    if isinstance(size, int):
        size = (size,)
    if input.dtype == np.uint8 and (not size or tuple(size) != input.shape):
        input = xp.astype(input, xp.int64)
    if not size:
        return xp.sum(input)
    first = input.ndim - len(size)
    axes = [axis for axis in range(input.ndim) if axis < first or (size[axis - first] == 1 != input.shape[axis])]
    if axes:
        return xp.reshape(xp.sum(input, axis=tuple(axes)), tuple(size))
    return input


def _extreme_so_far(is_before, /, input, dim):
    def later(first, second):
        x, y = (xp.take_along_axis(rows, places, axis=-1) for places in (first, second))
        return xp.where((is_before(x, y) | xp.isnan(x)) & ~xp.isnan(y), first, second)

    rows = xp.moveaxis(input, dim, -1)
    places = running(later, xp.broadcast_to(xp.arange(rows.shape[-1]), rows.shape), -1)
    values = xp.take_along_axis(rows, places, axis=-1)
    return Values(xp.moveaxis(values, -1, dim), xp.moveaxis(places, -1, dim))


TRANSLATIONS["cummax"], TRANSLATIONS["cummin"] = partial(_extreme_so_far, xp.greater), partial(_extreme_so_far, xp.less)


def diagonal(input, offset=0, dim1=0, dim2=1):
    if input.ndim > 1 and (dim1 - dim2) % input.ndim == 0:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if input.ndim == 2 and (dim1, dim2) == (0, 1):
        return xp.linalg.diagonal(input, offset=offset)
    return xp.linalg.diagonal(xp.moveaxis(input, (dim1, dim2), (-2, -1)), offset=offset)


def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    matrices = xp.moveaxis(input, (dim1, dim2), (-2, -1))
    places = (..., xp.arange(src.shape[-1]) - min(offset, 0), xp.arange(src.shape[-1]) + max(offset, 0))
    return xp.moveaxis(xp.index_put(matrices, places, src), (-2, -1), (dim1, dim2))


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    if dim is None:
        rows = xp.ravel(input)
    else:
        rows = xp.moveaxis(input, dim, 0)
    differs = rows[1:] != rows[:-1]
    if rows.ndim > 1:
        differs = xp.any(differs, axis=tuple(range(1, rows.ndim)))
    starts = xp.concat([xp.ones((min(rows.shape[0], 1),), dtype=xp.bool), differs])
    (places,) = xp.nonzero(starts)
    if dim is None:
        values = rows[places]
    else:
        values = xp.moveaxis(rows[places], 0, dim)
    inverse = xp.cumulative_sum(xp.astype(starts, xp.int64)) - 1
    counts = xp.diff(xp.concat([places, xp.asarray([rows.shape[0]])]))
    if dim is None:
        inverse = xp.reshape(inverse, input.shape)
    further = [x for x, wanted in ((inverse, return_inverse), (counts, return_counts)) if wanted]
    if further:
        return (values, *further)
    return values


def histogram(input, bins=100, *, range=None, weight=None, density=False):
    if weight is not None:
        weight = xp.ravel(weight)
    x = xp.ravel(input)
    if isinstance(bins, int) and bins > 0:
        _, ends = np.histogram(x.detach(), 1, range)
        edges = between(float(ends[0]), float(ends[1]), bins + 1)
        bins = xp.asarray(edges, dtype=input.dtype).to(like=x)
    elif is_array(bins) and holds(xp.any(xp.isnan(bins))):
        raise ValueError(f"`bins` must increase, found NaN among {bins.detach().tolist()}")
    if weight is None:
        counts, edges = np.histogram(x, bins, None, density)
    else:  # added up bin by bin: differences of running sums are NaN behind a weight that is
        counts, (edges,) = np.histogramdd([x], [bins], None, density, weight)
    return tuple(xp.asarray(x, dtype=input.dtype) for x in (counts, edges))


# Of neural networks.


def nn_functional_softmin(input, dim=None, _stacklevel=3, dtype=None):
    return _implicit_softmax("softmax", -input, dim, _stacklevel, dtype)


TRANSLATIONS.update(written_functions(globals()))
ALONE["positive"] = TRANSLATIONS.pop("positive")

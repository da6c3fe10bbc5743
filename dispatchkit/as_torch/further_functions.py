"""Functions of PyTorch that are operations but for some of their arguments, or for some dtypes."""

from __future__ import annotations

import math
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from dispatchkit.as_torch.calling.checks import is_zero_somewhere
from dispatchkit.as_torch.calling.indices import check_dtype_of_places, index_like_pytorch
from dispatchkit.as_torch.calling.promotion import common_dtype, in_common_dtype
from dispatchkit.as_torch.shared import (
    in_floats,
    in_single_precision,
    index_along,
    is_half,
    norm_of_vectors,
    rounded_quotient,
    rounded_to_dtype_of,
    running,
    several,
    written_functions,
)
from dispatchkit.as_torch.table import ALONE, TRANSLATIONS, is_array
from dispatchkit.backends.arrays import numpy_dtype, same_dtype
from dispatchkit.backends.numpy_sums import HALF, SINGLE
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.storage import Storage

# Of elements.


def square(input):
    if input.dtype == xp.bool:
        return xp.astype(input, xp.int64)
    return xp.square(input)


def logaddexp(input, other):
    if not xp.isdtype(xp.result_type(input, other), "complex floating"):
        return xp.logaddexp(input, other)
    is_larger = xp.real(input) >= xp.real(other)
    large, small = xp.where(is_larger, input, other), xp.where(is_larger, other, input)
    # The difference of equal infinities is no number.
    apart = xp.where((large == small) & xp.isinf(large), 0.0, small - large)
    return xp.log1p(xp.exp(apart)) + large


def _is_integral(x):
    """Return whether an operand is of integers."""
    if is_array(x):
        return bool(xp.isdtype(x.dtype, "integral"))
    return isinstance(x, int) and not isinstance(x, bool)


def pow(input, exponent):
    if isinstance(input, bool) and _is_integral(exponent):
        input = int(input)
    if not (_is_integral(input) and _is_integral(exponent)):
        return xp.pow(input, exponent)
    if not is_array(exponent):
        if exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        return xp.pow(input, exponent)
    # Powers of what is further from 0 than 1 are less than 1.
    powers = xp.pow(input, xp.maximum(exponent, 0))
    signs = xp.where(exponent % 2 == 0, xp.multiply(input, input), input)
    return xp.where(exponent < 0, xp.where(xp.multiply(input, input) == 1, signs, 0), powers)


def _by_number(operation, input, other):
    """Return a product or quotient; of half precision by a plain number, it is computed in single precision."""
    if is_half(other):
        return operation(rounded_to_dtype_of(other, input), other)
    if not is_half(input):
        return operation(input, other)
    with np.errstate(over="ignore"):
        return xp.astype(operation(xp.astype(input, SINGLE), other), HALF)


def mul(input, other):
    if type(other) in (float, int) or type(input) in (float, int):
        return _by_number(xp.multiply, input, other)
    return xp.multiply(input, other)


multiply = mul


def _without_graph(x: Any) -> Any:
    """Return an operand as it is, but a tensor that requires a gradient without its graph."""
    tensor: Any = x
    if isinstance(x, Storage) and tensor.requires_grad:
        return tensor.detach()
    return x


def div(input, other, *, rounding_mode=None):
    if rounding_mode is None:
        if type(other) in (float, int) or type(input) in (float, int):
            y = _by_number(xp.divide, input, other)
        else:
            y = xp.divide(input, other)
        if xp.isdtype(xp.result_type(input, other), ("integral", "bool")):
            return xp.astype(y, xp.get_default_dtype(), copy=False)
        return y
    is_whole = xp.isdtype(xp.result_type(input, other), ("integral", "bool"))
    if is_whole and is_zero_somewhere(other) and not (is_array(input) and not input.size):
        raise RuntimeError("ZeroDivisionError")
    if rounding_mode not in ("floor", "trunc"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}"
        )
    first, second = map(_without_graph, (input, other))
    if rounding_mode == "floor":
        y = floor_divide(first, second)
    else:
        y = _cut_quotient(first, second)
    if first is not input or second is not other:
        return rounded_quotient(y, input, other)
    return y


divide = true_divide = div


def floor_divide(input, other):
    input, other = _as_operand(input, other), _as_operand(other, input)
    if not (is_array(input) and is_array(other) and xp.isdtype(xp.result_type(input, other), "real floating")):
        return xp.floor_divide(input, other)
    x, y = input.detach(), other.detach()
    with np.errstate(all="ignore"):
        return _whole_quotient(x, y)


def _as_operand(value, other):
    """Return a plain number beside a tensor as a tensor, in the dtype that both have in common."""
    if isinstance(other, Storage) and type(value) in (int, float):
        return xp.asarray(value, dtype=common_dtype((value, other)))
    return value


def _whole_quotient(x, y):
    """Return PyTorch's quotient rounded down."""
    rest = np.fmod(x, y)
    quotient = (x - rest) / y
    quotient = xp.where((rest != 0) & ((y < 0) != (rest < 0)), quotient - 1, quotient)
    whole = xp.floor(quotient)
    whole = xp.where(quotient - whole > 0.5, whole + 1, whole)
    whole = xp.where(quotient == 0, xp.copysign(xp.zeros_like(whole), x / y), whole)
    return xp.where(y == 0, x / y, whole)


def _cut_quotient(x, y):
    """Return a quotient rounded to 0."""
    quotient, dtype = xp.trunc(xp.divide(x, y)), xp.result_type(x, y)
    if xp.isdtype(dtype, "integral"):
        return xp.astype(quotient, dtype)
    return quotient


def logit(input, eps=None):
    # No number limits nothing.
    if eps is not None and not math.isnan(eps):
        input = xp.where(input < eps, eps, xp.where(input > 1 - eps, 1 - eps, input))
    return xp.special.logit(input)


def lgamma(input):
    # The limit at minus infinity is infinity, too.
    return xp.special.gammaln(xp.where(input == -np.inf, np.inf, input))


@in_single_precision
def lerp(input, end, weight):
    apart = end - input
    if is_array(weight):
        return xp.where(xp.abs(weight) < 0.5, input + weight * apart, end - apart * (1 - weight))
    if abs(weight) < 0.5:
        return input + weight * apart
    return end - apart * (1 - weight)


def fmax(input, other):
    # Of equals, the first one's gradient passes.
    return xp.where((input >= other) | xp.isnan(other), input, other)


def fmin(input, other):
    return xp.where((input <= other) | xp.isnan(other), input, other)


def heaviside(input, values):
    # NaN is not greater than 0.
    return xp.where(input == 0, values, xp.astype(input > 0, input.dtype))


def clamp_max(input, max):
    return xp.clip(input, None, max)


def clamp_min(input, min):
    return xp.clip(input, min, None)


# Of whole arrays.


def mean(input, dim=None, keepdim=False, *, dtype=None):
    if dtype is not None:
        input = xp.astype(input, numpy_dtype(dtype))
    return xp.mean(input, axis=dim, keepdims=keepdim)


def linalg_vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    if dtype is not None:
        x = xp.astype(x, numpy_dtype(dtype))
    return norm_of_vectors(x, ord, dim, keepdim)


def linalg_vecdot(x, y, *, dim=-1):
    if x.ndim == y.ndim and x.shape[dim] == y.shape[dim]:
        return xp.vecdot(x, y, axis=dim)
    return xp.sum(xp.conj(x) * y, axis=dim, dtype=xp.result_type(x, y))


def bincount(input, weights=None, minlength=0):
    if not input.numel() and minlength >= 0:
        return xp.zeros((minlength,), dtype=xp.int64)  # whatever the weights
    if weights is not None and xp.isdtype(weights.dtype, "complex floating"):
        weights = xp.astype(xp.real(weights), xp.float64)
    if is_half(weights):
        weights = xp.astype(weights, xp.float64)  # as all but those of single precision are
    return xp.bincount(input, weights, minlength=minlength)


def isin(elements, test_elements, *, assume_unique=False, invert=False):
    operands = {"elements": elements, "test_elements": test_elements}
    operands |= in_common_dtype(operands, frozenset(operands))
    return xp.isin(*operands.values(), invert=invert)


def trapezoid(y, x=None, *, dx=1, dim=-1):
    if not y.shape[dim]:
        return xp.astype(xp.zeros_like(xp.sum(y, axis=dim)), y.dtype)
    if x is None:
        ends = xp.take(y, xp.asarray([0]), axis=dim) + xp.take(y, xp.asarray([y.shape[dim] - 1]), axis=dim)
        return (xp.sum(y, axis=dim) - xp.squeeze(ends, axis=dim) * 0.5) * dx
    return xp.sum(_pairs(y, dim) * _steps("trapezoid", y, x, dim), axis=dim % y.ndim) / 2


def cumulative_trapezoid(y, x=None, *, dx=1, dim=-1):
    if x is None:
        return xp.cumulative_sum(_pairs(y, dim) * (dx / 2), axis=dim % y.ndim)
    steps = _steps("cumulative_trapezoid", y, x, dim)
    return xp.cumulative_sum(_pairs(y, dim) * steps, axis=dim % y.ndim) / 2


def _pairs(y, dim):
    """Return the sums of neighbours along an axis."""
    return y[index_along(y, dim, slice(1, None))] + y[index_along(y, dim, slice(None, -1))]


def _steps(name, y, x, dim):
    """Return the differences of places along an axis, beside the elements."""
    dim %= y.ndim
    if x.ndim == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError(
                f"{name}: There must be one `x` value for each sample point, found {x.shape[0]} for {y.shape[dim]}"
            )
        x = xp.reshape(x, tuple(x.shape[0] if axis == dim else 1 for axis in range(y.ndim)))
    elif x.ndim < y.ndim:
        x = xp.reshape(x, (*(1,) * (y.ndim - x.ndim), *x.shape))
    return x[index_along(x, dim, slice(1, None))] - x[index_along(x, dim, slice(None, -1))]


def diff(input, n=1, dim=-1, prepend=None, append=None):
    if not input.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n == 0:
        return xp.clone(input)
    if input.dtype != xp.bool:
        return xp.diff(input, axis=dim, n=n, prepend=prepend, append=append)
    y = xp.concat([x for x in (prepend, input, append) if x is not None], axis=dim)
    for _ in range(min(n, y.shape[dim])):
        y = y[index_along(y, dim, slice(1, None))] ^ y[index_along(y, dim, slice(None, -1))]
    return y


def cov(input, *, correction=1, fweights=None, aweights=None):
    x = input
    if aweights is not None and not xp.isdtype(input.dtype, ("real floating", "complex floating")):
        x = xp.astype(input, aweights.dtype)
    x = in_floats(x)
    fweights, aweights = (w if w is None else xp.reshape(w, (-1,)) for w in (fweights, aweights))
    return xp.cov(x, correction=correction, fweights=fweights, aweights=aweights)


def index_select(input, dim, index):
    if not input.ndim:
        return xp.reshape(input, ())
    if index.ndim != 1:
        index = xp.reshape(index, (-1,))
    return xp.take(input, index, axis=dim)


def gather(input, dim, index, *, sparse_grad=False):
    if not index.size:
        return xp.zeros(index.shape, dtype=input.dtype)
    if not input.ndim:
        return xp.clone(xp.broadcast_to(input, index.shape))
    if not index.ndim and input.ndim == 1:
        return xp.reshape(xp.gather(input, dim, xp.reshape(index, (1,))), ())
    return xp.gather(input, dim, index)


# Of shapes.


def cat(tensors, dim=0):
    try:
        return xp.concat(tensors, axis=dim)
    except Exception:
        # Of old, an array of shape (0,) goes with any.
        of_nothing = [x.ndim == 1 and not len(x) for x in tensors]
        if not any(of_nothing):
            raise
    if all(of_nothing):
        return xp.concat(tensors, axis=0)
    return xp.concat([x for x, is_nothing in zip(tensors, of_nothing, strict=True) if not is_nothing], axis=dim)


concat = concatenate = cat


def hstack(tensors):
    tensors = [xp.reshape(x, (1,)) if not x.ndim else x for x in tensors]
    return cat(tensors, int(tensors[0].ndim > 1))


def ravel(input):
    y = xp.reshape(input, (-1,))
    if y.is_contiguous():
        return y
    return xp.clone(y)


def broadcast_to(input, size):
    return xp.expand(input, size)


def linalg_diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    if not A.ndim:
        raise np.exceptions.AxisError(f"Dimension out of range (expected to be in range of [-1, 0], but got {dim1})")
    return TRANSLATIONS["diagonal"](A, offset, dim1, dim2)


def expand(input, size, *, implicit=False):
    if isinstance(size, int):
        size = (size,)
    return xp.expand(input, size)


def tensordot(a, b, dims=2):
    first, second = _axes_of(dims)
    for i, j in zip(first, second, strict=True):
        if a.shape[i] == b.shape[j]:
            continue
        # An axis of one element goes with any.
        if a.shape[i] == 1:
            b = xp.sum(b, axis=j, keepdims=True, dtype=b.dtype)
        elif b.shape[j] == 1:
            a = xp.sum(a, axis=i, keepdims=True, dtype=a.dtype)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has size "
                f"{b.shape[j]} in dim {j}"
            )
    return xp.tensordot(a, b, axes=(first, second))


def _axes_of(dims):
    """Return the axes of both arrays that a tensor product is summed along."""
    if is_array(dims):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        return tuple(range(-dims, 0)), tuple(range(dims))
    first, second = ((axis,) if isinstance(axis, int) else tuple(axis) for axis in dims)
    if len(first) != len(second):
        raise RuntimeError(f"both dimension lists should have same length, got {len(first)} and {len(second)}")
    return first, second


# Of places.


def _quantile(leaves_nan, /, input, q, dim=None, keepdim=False, *, interpolation="linear"):
    if not input.ndim:
        dim = None
    x, axis = input, dim
    if dim is None:
        x, axis = xp.reshape(input, (-1,)), 0
    # NaN is behind all numbers.
    x = xp.sort(xp.moveaxis(x, axis, -1), axis=-1)
    counts = xp.count_nonzero(~xp.isnan(x), axis=-1, keepdims=True)
    q = xp.asarray(q, dtype=x.dtype)
    last = xp.astype(xp.maximum(counts - 1, 0), x.dtype)
    if leaves_nan:
        ranks = xp.reshape(q, (-1,)) * last
    else:
        end = x.shape[-1] - 1
        ranks = xp.where(counts == x.shape[-1], xp.reshape(q, (-1,)) * end, xp.full_like(last, end))
    y = _between_ranks(x, ranks, interpolation)
    y = xp.moveaxis(y, -1, 0)
    if keepdim and dim is None:
        y = xp.reshape(y, (y.shape[0], *(1,) * input.ndim))
    elif keepdim:
        y = xp.expand_dims(y, axis=1 + axis % max(input.ndim, 1))
    if not q.ndim:
        return y[0]
    return y


TRANSLATIONS["quantile"], TRANSLATIONS["nanquantile"] = partial(_quantile, False), partial(_quantile, True)


def _between_ranks(x, ranks, interpolation):
    """Return elements of sorted rows at ranks, which need not be whole."""
    if interpolation in ("lower", "higher", "nearest"):
        ranks = {"lower": xp.floor, "higher": xp.ceil, "nearest": xp.round}[interpolation](ranks)
        return xp.take_along_axis(x, xp.astype(ranks, xp.int64), axis=-1)
    below = xp.floor(ranks)
    low, high = (xp.take_along_axis(x, xp.astype(r, xp.int64), axis=-1) for r in (below, xp.ceil(ranks)))
    share = ranks - below
    if interpolation == "midpoint":
        share = xp.full_like(share, 0.5)
    with np.errstate(invalid="ignore"):
        return lerp(low, high, share)


def _running_in_single(operation, input, dim, dtype, include_initial):
    """Return running sums or products, of half precision in single precision, as what comes before leaves the range."""
    if not same_dtype(input.dtype if dtype is None else dtype, HALF):
        return operation(input, axis=dim, dtype=dtype, include_initial=include_initial)
    with np.errstate(over="ignore"):
        x = xp.astype(xp.astype(input, HALF, copy=False), SINGLE)
        return xp.astype(operation(x, axis=dim, include_initial=include_initial), HALF)


def cumsum(input, dim=None, dtype=None, include_initial=False):
    return _running_in_single(xp.cumulative_sum, input, dim, dtype, include_initial)


def cumprod(input, dim=None, dtype=None, include_initial=False):
    return _running_in_single(xp.cumulative_prod, input, dim, dtype, include_initial)


def logcumsumexp(input, dim):
    if not xp.isdtype(input.dtype, "complex floating"):
        return running(logaddexp, input, dim)
    # One after the other, since the order decides which of the logarithms of complex numbers a sum is.
    rows = xp.moveaxis(input, dim, 0)
    sums = [rows[:1]]
    for place in range(1, rows.shape[0]):
        sums.append(logaddexp(rows[place : place + 1], sums[-1]))
    return xp.moveaxis(xp.concat(sums, axis=0), 0, dim)


def histc(input, bins=100, min=0, max=0):
    if bins <= 0:
        raise RuntimeError(f"histc: bins must be > 0, but got {bins}")
    x = xp.ravel(input.detach())
    min, max = +min, +max  # no booleans
    if min == max and x.numel():
        min, max = xp.min(x).item(), xp.max(x).item()
    if min == max:
        min, max = min - 1, max + 1
    if not (math.isfinite(min) and math.isfinite(max)):
        raise RuntimeError(f"histc: range of [{min}, {max}] is not finite")
    if min > max:
        raise RuntimeError("histc: max must be larger than min")
    is_inside = (x >= min) & (x <= max)
    shares = xp.where(is_inside, x - min, 0) * bins / (max - min)
    places = xp.clip(xp.astype(shares, xp.int64), 0, bins - 1)
    zeros = xp.zeros((bins,), dtype=input.dtype)
    return xp.scatter_add(zeros, 0, places, xp.astype(is_inside, input.dtype))


def index_put(input, indices, values, accumulate=False):
    if not isinstance(indices, (tuple, list)):
        raise TypeError(
            f"index_put(): argument 'indices' (position 2) must be tuple of Tensors, not {type(indices).__name__}"
        )
    if not is_array(input):
        raise TypeError(f"index_put(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if not is_array(values):
        raise TypeError(f"index_put(): argument 'values' (position 3) must be Tensor, not {type(values).__name__}")
    if len(indices) > input.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input.ndim} (got {len(indices)})")
    if values.dtype != input.dtype:
        # Numbers that are arrays name places here, too.
        places = tuple([xp.reshape(each, (1,)) if is_array(each) and not each.ndim else each for each in indices])
        check_dtype_of_places(input, places, values, accumulate=accumulate)
        values = xp.astype(values if xp.isdtype(input.dtype, "complex floating") else xp.real(values), input.dtype)
    return xp.index_put(input, tuple([index_like_pytorch(each) for each in indices]), values, accumulate=accumulate)


def put(input, index, source, accumulate=False):
    y = xp.index_put(xp.ravel(input), xp.ravel(index), xp.ravel(source), accumulate=accumulate)
    return xp.reshape(y, input.shape)


def inner(input, other):
    if input.ndim and other.ndim:
        return np.inner(input, other)
    pair = {"input": input, "other": other}
    pair |= in_common_dtype(pair)
    return pair["input"] * pair["other"]


def scatter_add(input, dim, index, src):
    if not index.size:
        return xp.clone(input)
    if input.ndim and index.ndim:
        return xp.scatter_add(input, dim, index, src)
    one, places, elements = (xp.reshape(x, (-1,)) for x in (input, index, src))
    y = xp.scatter_add(one, 0, places, elements)
    return xp.reshape(y, input.shape)


def renorm(input, p, dim, maxnorm):
    axes = tuple(axis for axis in range(input.ndim) if axis != dim % input.ndim)
    lengths = xp.linalg.vector_norm(input, ord=p, axis=axes, keepdims=True)
    return input * xp.where(lengths > maxnorm, maxnorm / (lengths + 1e-7), 1.0)


def nonzero_static(input, *, size, fill_value=-1):
    places = xp.argwhere(input)[:size]
    return xp.pad(places, ((0, size - places.shape[0]), (0, 0)), constant_values=fill_value)


def block_diag(*tensors):
    given = {"tensors": tuple(several(tensors))}
    if not given["tensors"]:
        return xp.empty((1, 0))
    matrices, rows = [np.atleast_2d(x) for x in (given | in_common_dtype(given))["tensors"]], []
    ends = list(accumulate(m.shape[1] for m in matrices))
    for m, end in zip(matrices, ends, strict=True):
        rows.append(xp.pad(m, ((0, 0), (end - m.shape[1], ends[-1] - end))))
    return xp.concat(rows, axis=0)


TRANSLATIONS.update(written_functions(globals()))
# Of the same names as operations, by which calls from PyTorch are answered.
ALONE.update(
    {
        name: TRANSLATIONS.pop(name)
        for name in (
            "broadcast_to",
            "concat",
            "cov",
            "cumprod",
            "cumsum",
            "diff",
            "floor_divide",
            "gather",
            "lgamma",
            "logaddexp",
            "mul",
            "multiply",
            "pow",
            "ravel",
            "scatter_add",
            "square",
        )
    }
)
TRANSLATIONS |= {"trapz": trapezoid, "special.logit": logit}
TRANSLATIONS |= {f"special.{name}": TRANSLATIONS[name] for name in ("round", "sinc")}
ALONE["special.gammaln"] = lgamma

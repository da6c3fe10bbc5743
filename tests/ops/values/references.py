"""For each operation a function of NumPy arrays with the meaning that the array API standard gives it.

Most are NumPy's of the same name. Where NumPy has none, or departs from the standard, an independent one stands here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dispatchkit.declare.operation import DeclaredOperation

__all__ = ["NOT_SWEPT", "SINCE", "STRICTER", "reference"]


def reference(entry: DeclaredOperation) -> Callable[..., Any] | None:
    """Return what computes an operation's values independently; None where nothing does."""
    if entry.name in REFERENCES:
        return REFERENCES[entry.name]
    if entry.namespace == "dispatchkit.special":
        return scipy_special(entry)
    found: Any = np
    for part in entry.qualified_name.removeprefix("dispatchkit.").split("."):
        found = getattr(found, part, None)
    if not callable(found):
        return None
    place: Callable[..., Any] = found
    # Where NumPy gives small integers small floating numbers, a body that is not NumPy's gives the default ones.
    if entry.facts.gives == "float" and not entry.implementation.passthrough:
        return lambda *arrays: place(*map(inexact, arrays))
    return place


# The versions of NumPy that first have a function, or take what the standard has it take.
SINCE = {
    **dict.fromkeys(("clip", "cumulative_prod", "cumulative_sum", "nonzero", "reshape", "unstack"), "2.1.0"),
    "take_along_axis": "2.3.0",
    **dict.fromkeys(("matrix_rank", "pad"), "2.4.0"),
}


def floor_divide(x1: Any, x2: Any) -> Any:
    y = np.floor_divide(x1, x2)
    if y.dtype.kind != "f":
        return y
    infinite = np.isinf(np.broadcast_arrays(x1, x2)).any(axis=0)
    return np.where(infinite, np.floor(np.true_divide(x1, x2, dtype=y.dtype)), y)


def expm1(x: Any) -> Any:
    y = np.expm1(x)
    return np.where(np.isfinite(x) & (x != 0), y, np.exp(x) - 1) if y.dtype.kind == "c" else y


def sign(x: Any) -> Any:
    return (
        np.where(np.isnan(x), np.asarray(complex(np.nan, np.nan), x.dtype), np.sign(x))
        if x.dtype.kind == "c"
        else np.sign(x)
    )


def inexact(x: Any) -> Any:
    return np.asarray(x, dtype=None if np.asarray(x).dtype.kind in "fc" else np.float64)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-inexact(x)))


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.log(np.sum(np.exp(inexact(x)), axis=axis, keepdims=keepdims))


def transpose(x: Any, axes: Any = None, *more: int) -> Any:
    return np.swapaxes(x, axes, more[0]) if more else np.transpose(x, axes)


def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    if x.ndim == 0:
        return x.reshape(1)
    stop = range(x.ndim)[end_dim] + 1
    return x.reshape(*x.shape[:start_dim], -1 if x.size else int(np.prod(x.shape[start_dim:stop])), *x.shape[stop:])


def view(x: Any, shape: Any) -> Any:
    if isinstance(shape, np.dtype):
        return x.view(shape)
    y = x.reshape(shape)
    if not np.shares_memory(x, y):
        raise ValueError("not a view")
    return y


def expand(x: Any, shape: Any) -> Any:
    return np.broadcast_to(x, tuple(x.shape[i - len(shape)] if n == -1 else n for i, n in enumerate(shape)))


def index_put(x: Any, key: Any, value: Any, accumulate: bool = False) -> Any:
    out = x.copy()
    if accumulate:
        np.add.at(out, key, value)
    else:
        out[key] = value
    return out


def gather(x: Any, axis: int, indices: Any) -> Any:
    part = x[tuple(slice(None if i == axis % x.ndim else n) for i, n in enumerate(indices.shape))]
    return np.take_along_axis(part, indices, axis)


def scatter_add(x: Any, axis: int, indices: Any, src: Any) -> Any:
    out = x.copy()
    for place in np.ndindex(indices.shape):
        target = list(place)
        target[axis] = indices[place]
        out[tuple(target)] += src[place]
    return out


def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    if mask.dtype != bool:
        raise TypeError("no mask")
    if np.ndim(value):
        raise ValueError("no number")
    out = np.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, mask.shape)))
    if np.result_type(out, value) != out.dtype and out.dtype.kind not in "fc":
        raise TypeError("a value of another kind")
    out[np.broadcast_to(mask, out.shape)] = value
    return out


def topk(x: Any, k: int, axis: int = -1, largest: bool = True) -> Any:
    order = argsort(x, axis, largest).take(range(k), axis)
    return np.take_along_axis(x, order, axis), order


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    if x.dtype.kind not in "iu":
        raise TypeError("no integers")
    added = np.ones(x.shape, np.int64) if weights is None else inexact(weights)
    y = np.zeros(np.bincount(x.astype(np.int64), minlength=minlength).shape, added.dtype)
    np.add.at(y, x, added)
    return y


def sort(x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    y = np.sort(x, axis=axis)
    return np.flip(y, axis) if descending else y


def argsort(x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    # Equal elements keep their order: by the values' ranks, of which the descending order is the negative.
    ranks = np.apply_along_axis(lambda lane: np.unique(lane, return_inverse=True)[1], axis, x) if x.size else x
    return np.argsort(-ranks.astype(np.int64) if descending else ranks, axis=axis, kind="stable")


def matrices(function: Callable[..., Any]) -> Callable[..., Any]:
    def checked(x: Any, k: int = 0) -> Any:
        if np.ndim(x) < 2:
            raise ValueError("not matrices")
        return function(x, k)

    return checked


def complex_eig(x: Any) -> Any:
    values, vectors = np.linalg.eig(x)
    dtype = np.result_type(values, np.complex64)
    return values.astype(dtype), vectors.astype(dtype)


def complex_eigvals(x: Any) -> Any:
    values = np.linalg.eigvals(x)
    return values.astype(np.result_type(values, np.complex64))


def least_squares(a: Any, b: Any, rcond: Any = None) -> Any:
    """Return what NumPy finds for each matrix of a batch; it takes one."""
    vectors = b.shape in (a.shape[-2:-1], a.shape[:-1])
    sides = np.expand_dims(b, -1) if vectors else b
    batch = np.broadcast_shapes(a.shape[:-2], sides.shape[:-2])
    matrices, sides = (np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, sides))
    found = [np.linalg.lstsq(matrices[place], sides[place], rcond) for place in np.ndindex(batch)]
    x, residuals = (np.reshape(part, (*batch, *part[0].shape)) for part in list(zip(*found, strict=True))[:2])
    s = np.linalg.svd(a, compute_uv=False)
    rank = np.asarray(np.linalg.matrix_rank(a, rtol=rcond))
    return x[..., 0] if vectors else x, residuals, rank, s


def parts(x: Any, chunks: int, axis: int = 0) -> Any:
    step = -(-x.shape[axis] // chunks)
    return np.split(x, range(step, x.shape[axis], step) if step else [0] * (chunks - 1), axis)


def softmax(x: Any, axis: Any = -1) -> Any:
    axis = axis if np.ndim(x) else None
    e = np.exp(x - np.max(inexact(x), axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: Any = -1) -> Any:
    axis = axis if np.ndim(x) else None
    d = x - np.max(inexact(x), axis=axis, keepdims=True)
    return d - np.log(np.sum(np.exp(d), axis=axis, keepdims=True))


def cov(x: Any, rowvar: bool = True, correction: float = 1, fweights: Any = None, aweights: Any = None) -> Any:
    if np.iscomplexobj(aweights):
        raise TypeError
    x = inexact(x)
    y = np.cov(x, rowvar=rowvar, ddof=0, fweights=fweights, aweights=aweights, dtype=x.dtype)
    # NumPy takes integers only for what is taken from the number of observations.
    weights = np.ones(x.shape[-1 if rowvar else 0]) if fweights is None else fweights
    ratios = weights if aweights is None else weights * aweights
    squares = ratios if aweights is None else ratios * aweights
    total = np.sum(ratios)
    dtype = np.result_type(x, x if aweights is None else inexact(aweights))
    return (y * (total / max(total - correction * np.sum(squares) / total, 0))).astype(dtype)


def corrcoef(x: Any, rowvar: bool = True) -> Any:
    return np.corrcoef(inexact(x), rowvar=rowvar, dtype=inexact(x).dtype)


def average(x: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    if weights is None and not returned:
        return np.mean(x, axis=axis, keepdims=keepdims)
    function: Any = np.average
    return function(x, axis, weights, returned, keepdims=keepdims)


def median(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    if x.size == 0 and np.sum(x, axis=axis).size:
        raise ValueError("no elements")
    return np.median(x, axis=axis, keepdims=keepdims)


def interp(x: Any, points: Any, values: Any, **options: Any) -> Any:
    y = np.interp(x, points, values, **options)
    return np.asarray(y, dtype=np.result_type(x, points, inexact(values)))


def quantile(x: Any, q: Any, method: Any = "linear", **options: Any) -> Any:
    y: Any = np.quantile(inexact(x), inexact(q) if np.ndim(q) else q, method=method, **options)
    return y if method in ("linear", "midpoint") else np.asarray(y, dtype=x.dtype)


def scipy_special(entry: DeclaredOperation) -> Callable[..., Any]:
    """Return SciPy's function, in the precision of its arguments."""
    function = getattr(pytest.importorskip("scipy.special"), entry.name)

    def computed(*args: Any) -> Any:
        arrays = [x for x in args if isinstance(x, (np.ndarray, np.generic))]
        dtype = np.result_type(*arrays)
        # Numbers of Python count in double precision for it.
        return np.asarray(function(*args), dtype=dtype if dtype.kind == "f" and len(arrays) < len(args) else None)

    return computed


REFERENCES: dict[str, Callable[..., Any]] = {
    "getitem": lambda x, key: x[key],
    "index_put": index_put,
    "gather": gather,
    "scatter_add": scatter_add,
    "masked_fill": masked_fill,
    "topk": topk,
    "bincount": bincount,
    "sigmoid": sigmoid,
    "relu": lambda x: np.maximum(x, 0),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "square": lambda x: x * x,
    "floor_divide": floor_divide,
    "expm1": expm1,
    "sign": sign,
    "real": lambda x: np.array(np.real(x)),
    "imag": lambda x: np.array(np.imag(x)),
    "logsumexp": logsumexp,
    "mm": np.matmul,
    "mv": np.matmul,
    "bmm": np.matmul,
    "flatten": flatten,
    "view": view,
    "unsqueeze": np.expand_dims,
    "t": np.transpose,
    "transpose": transpose,
    "expand": expand,
    "clone": np.copy,
    "asarray": np.array,
    "norm": np.linalg.norm,
    "chunk": parts,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "quantile": quantile,
    "cov": cov,
    "corrcoef": corrcoef,
    "average": average,
    "median": median,
    "interp": interp,
    "fftfreq": lambda n, d=1.0, dtype=None: np.fft.fftfreq(n, d).astype(dtype or np.float64),
    "rfftfreq": lambda n, d=1.0, dtype=None: np.fft.rfftfreq(n, d).astype(dtype or np.float64),
    "sort": sort,
    "argsort": argsort,
    "pinv": lambda x, rtol=None: np.linalg.pinv(inexact(x), rtol=rtol),
    "lstsq": least_squares,
    "eig": complex_eig,
    "eigvals": complex_eigvals,
    "diag": lambda x, offset=0: np.diag(x, offset),
    "tril": matrices(np.tril),
    "triu": matrices(np.triu),
    "unique_values": lambda x: np.unique(x, equal_nan=False),
}


# What NumPy takes and the standard does not: kinds of dtype that are refused.
STRICTER = {
    "diff": "b",
    **dict.fromkeys(("fft", "ifft", "irfft", "hfft", "fftn", "ifftn", "irfftn"), "biu"),
    **dict.fromkeys(("rfft", "ihfft", "rfftn"), "biuc"),
    **dict.fromkeys(("median", "erf", "erfc", "erfinv", "ndtr", "gammaln", "digamma", "polygamma", "xlogy"), "c"),
    **dict.fromkeys(("relu", "logit", "softmax", "log_softmax"), "c"),
}


# Operations without a value to compare on arrays of every dtype, each with the place of its own tests.
NOT_SWEPT = {
    "polygamma": "its order is an integer: tests/special/test_polygamma.py",
    "setitem": "changes its argument: tests/graph/test_assignment.py, tests/tensor/test_indexing.py",
    "tensor": "makes tensors: tests/tensor/test_construction.py",
    "from_dlpack": "makes tensors: tests/tensor/test_construction.py",
    **dict.fromkeys(("zeros", "ones", "full", "arange", "linspace", "eye"), "no array argument: test_creation"),
    **dict.fromkeys(("empty", "empty_like"), "no values: test_creation compares shape and dtype"),
    **dict.fromkeys(
        (
            "uniform",
            "normal",
            "randint",
            "permutation",
            "bernoulli",
            "multinomial",
            "rand",
            "randn",
            "randperm",
            "rand_like",
            "randn_like",
        ),
        "random: the doctests and tests of the chapter",
    ),
}

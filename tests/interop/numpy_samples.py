"""Calls of NumPy's functions, one or more for each, of which the sweeps over array-likes and dtypes are made.

Each array in a call stands for one place where NumPy takes an array-like.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.tensor.numpy_calls import WRITERS, answer_of
from tests.interop.numpy_page import FUNCTIONS, UFUNCS

__all__ = ["SAMPLES", "WITHOUT", "Call"]

Call = tuple[tuple[Any, ...], dict[str, Any]]

V = np.array([1.0, 2.0, 4.0])
W = np.array([0.5, 3.0, 1.0])
A = np.array([[4.0, 1.0, 2.0], [1.0, 3.0, 0.5], [2.0, 0.5, 5.0]])
B = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0], [1.0, 0.0, 1.0]])
T = np.arange(12.0).reshape(2, 2, 3)
MASK = np.array([True, False, True])
PLACES = np.array([2, 0, 1])
Z = np.array([1 + 2j, -1.5 + 0j, 0.5 - 3j])


def call(*args: Any, **kwargs: Any) -> Call:
    return args, kwargs


# What takes one vector, and one matrix.
OF_A_VECTOR = """
all amax amin any argmax argmin argsort argwhere around average copy count_nonzero cumprod cumsum cumulative_sum
cumulative_prod diagflat diff ediff1d fft.fft fft.fftshift fft.ifft fft.ifftshift fft.ihfft fft.rfft flatnonzero
flip gradient i0 iscomplex iscomplexobj isneginf isposinf isreal isrealobj max mean median min min_scalar_type
nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar
ndim nonzero ones_like polyder prod ptp ravel real real_if_close imag round shape sinc size sort squeeze std sum
trim_zeros unique unique_all unique_counts unique_inverse unique_values unwrap vander var zeros_like angle
array2string array_repr array_str fix linalg.norm linalg.vector_norm trapezoid unstack common_type histogram
histogram_bin_edges poly polyint roots sort_complex lib.scimath.sqrt lib.scimath.log lib.scimath.log2
lib.scimath.log10 lib.scimath.arccos lib.scimath.arcsin lib.scimath.arctanh atleast_1d atleast_2d atleast_3d
"""
OF_A_MATRIX = """
corrcoef cov diag diag_indices_from diagonal fft.fft2 fft.fftn fft.ifft2 fft.ifftn fft.irfft2 fft.irfftn fft.rfft2
fft.rfftn fliplr flipud linalg.cholesky linalg.cond linalg.det linalg.diagonal linalg.eig linalg.eigh linalg.eigvals
linalg.eigvalsh linalg.inv linalg.matrix_norm linalg.matrix_rank linalg.matrix_transpose linalg.pinv linalg.qr
linalg.slogdet linalg.svd linalg.svdvals linalg.trace matrix_transpose rot90 trace transpose tril tril_indices_from
triu triu_indices_from
"""
SAMPLES: dict[str, list[Call]] = {
    **{name: [] for name in WRITERS},  # they give nothing back
    **{name: [call(V)] for name in OF_A_VECTOR.split()},
    **{name: [call(A)] for name in OF_A_MATRIX.split()},
    "allclose": [call(V, W), call(V, V, V * 1e-5, V * 1e-8)],
    "append": [call(V, W), call(A, B, axis=1)],
    "apply_along_axis": [call(np.sum, 0, A)],
    "apply_over_axes": [call(np.sum, A, [0])],
    "arange": [],
    "argpartition": [],  # NumPy's order is another, and says nothing
    "array_equal": [call(V, W), call(V, V)],
    "array_equiv": [call(V, W), call(V, A)],
    "array_split": [call(V, 2), call(V, np.array([1, 2]))],
    "astype": [call(V, np.float32)],
    "average": [call(V, weights=W), call(A, axis=0, weights=W), call(V, returned=True)],
    "bincount": [call(PLACES, W)],
    "block": [call([[A, B], [B, A]]), call([V, W])],
    "broadcast_arrays": [call(V, A)],
    "broadcast_to": [call(V, (2, 3))],
    "can_cast": [],
    "choose": [call(np.array([0, 1, 0]), [V, W])],
    "clip": [call(V, W, 2.5), call(V, np.array([0, 0, 0]), W + 3), call(V, 1.5, W + 2), call(V, min=W)],
    "column_stack": [call((V, W)), call([V, A])],
    "common_type": [call(V, W)],
    "compress": [call(MASK, V), call(MASK, A, axis=1)],
    "concatenate": [call((V, W)), call([A, B], axis=1), call((A, B), axis=None), call((V, W), dtype=np.float32)],
    "convolve": [call(V, W), call(V, W, "same")],
    "corrcoef": [call(A), call(V, W)],
    "correlate": [call(V, W), call(V, W, "full")],
    "cov": [
        call(A),
        call(V, W),
        call(A, B, rowvar=False),
        call(A, fweights=np.array([1, 2, 1]), aweights=W),
        call(A, V, bias=True),
    ],
    "cross": [call(V, W), call(A, B)],
    "delete": [call(V, np.array([1])), call(A, MASK, axis=0)],
    "diff": [call(V), call(V, prepend=W), call(V, append=0), call(A, prepend=0.5, append=np.array(1.0))],
    "digitize": [call(W, V)],
    "dot": [call(V, W), call(A, B), call(A, V), call(V, 2.0)],
    "dsplit": [call(T, 3)],
    "dstack": [call((V, W))],
    "ediff1d": [call(V, W, V)],
    "einsum": [
        call("i,i", V, W),
        call("ij,j", A, V),
        call("ij,jk->ki", A, B),
        call(A, [0, 1], B, [1, 2]),
        call(A, [0, 1], B, [1, 2], [2, 0]),
    ],
    "einsum_path": [call("ij,jk->ki", A, B)],
    "empty_like": [],
    "expand_dims": [call(V, 0), call(V, (0, 2))],
    "extract": [call(MASK, V)],
    "eye": [],
    "fft.hfft": [call(V)],
    "fft.irfft": [call(V)],
    "full_like": [call(V, 3.0), call(V, W)],
    "geomspace": [call(V, W, 3)],
    "gradient": [call(V), call(V, W.cumsum()), call(A, V, W.cumsum()), call(V, 2.0)],
    "histogram": [call(V, bins=W.cumsum()), call(V, weights=W)],
    "histogram2d": [call(V, W)],
    "histogram_bin_edges": [call(V)],
    "histogramdd": [call(A)],
    "hsplit": [call(A, 3)],
    "hstack": [call((V, W)), call([A, B])],
    "in1d": [call(V, W)],  # which NumPy 2.4 has no more
    "inner": [call(V, W), call(A, V)],
    "insert": [call(V, 1, 7.0), call(V, np.array([0, 2]), np.array([8.0, 9.0])), call(A, 1, V, axis=0)],
    "interp": [call(W, V, V[::-1].copy()), call(1.5, V, W)],
    "intersect1d": [call(V, W)],
    "isclose": [call(V, W), call(V, V, V * 1e-5, V * 1e-8)],
    "isin": [call(V, W)],
    "ix_": [call(PLACES, PLACES)],
    "kron": [call(V, W), call(A, V)],
    "lexsort": [call((V, W))],
    "lib.scimath.logn": [call(V, W + 1)],
    "lib.scimath.power": [call(V, W)],
    "lib.stride_tricks.sliding_window_view": [call(V, 2)],
    "linalg.cross": [call(V, W)],
    "linalg.lstsq": [call(A[:, :2], V), call(A, B)],
    "linalg.matmul": [call(A, B)],
    "linalg.matrix_norm": [call(A, ord="nuc"), call(A, ord=1)],
    "linalg.matrix_power": [call(A, 3), call(A, -1)],
    "linalg.matrix_rank": [call(A), call(V), call(np.zeros(4)), call(A, tol=3.0), call(A, rtol=0.5)],
    "linalg.multi_dot": [call([V, A, B]), call((A, B, V))],
    "linalg.outer": [call(V, W)],
    "linalg.pinv": [call(A), call(A, rcond=1e-9), call(A, rtol=1e-9)],
    "linalg.solve": [call(A, V), call(A, B)],
    "linalg.tensordot": [call(A, B)],
    "linalg.tensorinv": [call((np.eye(6) * 2 + 0.1).reshape(3, 2, 6), 2)],
    "linalg.tensorsolve": [call((np.eye(6) * 2 + 0.1).reshape(3, 2, 6), np.arange(6.0).reshape(3, 2))],
    "linalg.vecdot": [call(V, W)],
    "linspace": [
        call(V, W, 4),
        call(0.0, V, 3, endpoint=False),
        call(V, 3, 3, axis=-1),
        call(V, W, 3, retstep=True),
        call(V, W, 3, dtype=np.float32),
        call(V, W, 5, dtype=np.int64),
        call(V, W, 1),
    ],
    "logspace": [call(V, W, 3)],
    "may_share_memory": [call(V, W)],
    "meshgrid": [call(V, W), call(V, W, indexing="ij"), call(V, W, sparse=True)],
    "moveaxis": [call(T, 0, -1), call(T, [0, 1], [1, 0])],
    "nan_to_num": [call(V, nan=1.0)],
    "nanpercentile": [call(V, 30), call(A, W * 20, axis=0)],
    "nanquantile": [call(V, 0.3), call(A, W / 4, axis=0)],
    "outer": [call(V, W), call(V, 2.0), call(A, V)],
    "pad": [call(V, 1), call(V, (1, 2), constant_values=3), call(A, 1, "edge"), call(V, 1, "mean")],
    "partition": [],  # sorted here, of which NumPy promises less
    "percentile": [call(V, 30), call(A, W * 20, axis=0), call(V, 30, method="hazen")],
    "piecewise": [call(V, [MASK, ~MASK], [1.0, 2.0])],
    "polyadd": [call(V, W)],
    "polydiv": [call(V, W)],
    "polyfit": [call(V, W, 1)],
    "polymul": [call(V, W)],
    "polysub": [call(V, W)],
    "polyval": [call(V, W), call(V, 2.0)],
    "quantile": [call(V, 0.3), call(A, W / 4, axis=0), call(V, W / 4, method="lower")],
    "ravel_multi_index": [call((PLACES, PLACES), (3, 3))],
    "repeat": [call(V, 2), call(V, PLACES)],
    "reshape": [call(A, (9,)), call(A, -1), call(A, [3, 3])],
    "resize": [call(V, (2, 3)), call(V, np.uint64(2)), call(V, [4])],
    "result_type": [call(V, np.float32), call(V, 3)],
    "roll": [call(V, 1), call(A, (1, 2), axis=(0, 1))],
    "rollaxis": [call(T, 2)],
    "searchsorted": [call(V, W), call(V, W, side="right"), call(V, 1.5)],
    "select": [call([MASK, ~MASK], [V, W], 7.0), call([MASK], [V], W)],
    "setdiff1d": [call(V, W)],
    "setxor1d": [call(V, W)],
    "shares_memory": [call(V, W)],
    "split": [call(V, 3), call(V, np.array([1, 2]))],
    "stack": [call((V, W)), call([V, W], axis=1), call([V, W], dtype=np.float32)],
    "swapaxes": [call(A, 0, 1)],
    "take": [call(V, PLACES), call(A, PLACES, axis=1), call(V, 1), call(V, PLACES, mode="wrap")],
    "take_along_axis": [call(V, PLACES, axis=0)],
    "tensordot": [call(A, B), call(A, V, axes=1)],
    "tile": [call(V, 2), call(V, (2, 1))],
    "trapezoid": [call(V), call(V, W.cumsum()), call(A, dx=2.0)],
    "union1d": [call(V, W)],
    "unravel_index": [call(PLACES, (3, 3))],
    "vander": [call(V), call(V, 2)],
    "vdot": [call(V, W), call(Z, Z[::-1].copy())],
    "vsplit": [call(A, 3)],
    "vstack": [call((V, W)), call([A, V])],
    "where": [call(MASK, V, W), call(V > 1, V, 0.0), call(MASK), call(V, V, W)],
    "packbits": [call(MASK)],
    "unpackbits": [call(np.array([2, 3], np.uint8))],
    "polynomial.polynomial.polyval2d": [],
    "polynomial.polynomial.polygrid2d": [],
    "datetime_as_string": [],
}
INTEGERS = """
bitwise_and bitwise_or bitwise_xor bitwise_not invert left_shift right_shift bitwise_left_shift gcd lcm
bitwise_right_shift bitwise_invert bitwise_count
"""
FRACTIONS = ("arccos", "arcsin", "arctanh", "acos", "asin", "atanh")
for _name, _ufunc in UFUNCS.items():
    _answer = answer_of(_ufunc)
    if (
        _name in FUNCTIONS
        or _answer is None
        or _answer.how == "declined"
        or _name in ("matmul", "vecdot", "matvec", "vecmat", "ldexp")
    ):
        continue
    _x, _y = (
        (PLACES, np.array([1, 2, 3])) if _name in INTEGERS.split() else (V / 8, W) if _name in FRACTIONS else (V, W)
    )
    SAMPLES[_name] = [call(_x)] if _ufunc.nin == 1 else [call(_x, _y), call(_x, 2), call(2, _x)]
SAMPLES |= {
    "matmul": [call(A, B), call(A, V), call(V, W)],
    "vecdot": [call(V, W)],
    "matvec": [call(A, V)],
    "vecmat": [call(V, A)],
    "ldexp": [call(V, PLACES), call(V, 2)],
}
# What takes no array: it makes one, of numbers, of text, of a file, or of `like`; or it writes a file.
WITHOUT = """
array asanyarray asarray ascontiguousarray asfortranarray empty frombuffer fromfile fromfunction fromiter
fromstring full genfromtxt identity loadtxt ones require save savetxt savez savez_compressed tri zeros
"""

"""What random calls beside PyTorch found: numbers beside small integers, windows, norms, solutions and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch

torch: Any = dispatchkit.as_torch
F, T = torch.nn.functional, torch.tensor
INF, NAN = math.inf, math.nan
BYTES = T([3, 4], dtype=torch.uint8)
SINGLE = T([1.5, 2.5], dtype=torch.float32)
SHORT = T([3], dtype=torch.int8)
PIVOTS = T([1, 2], dtype=torch.int32)
SINGULAR = T([[1.0, 2.0], [0.0, 0.0]])
LU = T([[1.0, 2.0], [0.5, 3.0]])
COLUMNS = torch.ones(4, 9)
COLUMN = T([[1.0], [2.0]])
MAPS = torch.ones(1, 1, 2) + 0j
ROWS = T([[2.0, 9.0], [2.0, 9.0], [1.0, 0.0], [1.0, 0.0]])

TAKEN: list[tuple[Callable[[], Any], Any]] = [
    # Numbers beside small integers are not brought into their dtype before they are divided by.
    (lambda: BYTES / -1, [-3.0, -4.0]),
    (lambda: BYTES.div(T(-2)), [-1.5, -2.0]),
    (lambda: torch.divide(SHORT, 300), [0.01]),
    (lambda: torch.div(SHORT, -2, rounding_mode="floor"), [-2]),
    (lambda: torch.cumulative_trapezoid(T([0, 4, 1], dtype=torch.uint8), dx=-1), [-2.0, -4.5]),
    (lambda: torch.cumulative_trapezoid(T([100, 100, 1], dtype=torch.int8), dx=2), [-56.0, 45.0]),
    (lambda: torch.clamp(T([3], dtype=torch.uint8), 1, 255), [3]),
    # Norms of one element are absolute values.
    (lambda: torch.linalg.vector_norm(T([-8.5]), ord=1e300), 8.5),
    (lambda: torch.linalg.vector_norm(T([[8.5], [0.5]]), ord=500, dim=1, keepdim=True), [[8.5], [0.5]]),
    (lambda: torch.norm(T(-8.5), p=NAN), 8.5),
    (lambda: F.pairwise_distance(T(8.5), T(8.0), 3.0, 0.0), 0.5),
    (lambda: torch.dist(T([8.5]), T([8.0]), p=1e300), 0.5),
    (lambda: torch.linalg.vector_norm(T([0.0]), ord=0), 0.0),
    # Norms of matrices without elements are 0.
    (lambda: torch.linalg.matrix_norm(torch.zeros(2, 0), 2), 0.0),
    (lambda: torch.linalg.norm(torch.zeros(0, 2, requires_grad=True), INF, (0, 1)), 0.0),
    # Solutions by factors of singular matrices are infinite.
    (lambda: torch.linalg.lu_solve(SINGULAR, PIVOTS, T([[1.0], [2.0]])), [[-INF], [INF]]),
    (lambda: torch.linalg.lu_solve(LU, T([2, 2], dtype=torch.int32), T([[1.0], [2.0]]), adjoint=True), [[0.0], [1.0]]),
    (lambda: torch.linalg.lu_solve(LU, T([2, 2], dtype=torch.int32), T([[1.0, 2.0]]), left=False), [[0.0, 1.0]]),
    (lambda: torch.linalg.inv_ex(T([[NAN, 1.0], [1.0, 1.0]])).inverse, [[NAN, NAN], [NAN, NAN]]),
    (lambda: torch.linalg.solve_ex(T([[NAN, 1.0], [1.0, 1.0]]), T([1.0, 1.0])).info, 0),
    # What is written at steps stands where it does in the tensor's own memory.
    (lambda: torch.as_strided_scatter(ROWS[::2], T([7.0, 8.0]), (2,), (1,), 1), [[2.0, 7.0], [1.0, 0.0]]),
    (lambda: torch.as_strided_scatter(ROWS[1], T([7.0, 8.0]), (2,), (1,)), [7.0, 8.0]),
    (lambda: torch.as_strided_scatter(ROWS[0].expand(2, 2), T([7.0]), (1,), (1,), 1), [[2.0, 7.0], [2.0, 9.0]]),
    # Windows and norms of nothing.
    (lambda: F.adaptive_avg_pool1d(torch.zeros(2, 0), 1), [[NAN], [NAN]]),
    (lambda: F.max_unpool2d(torch.ones(1, 1, 2), torch.ones(1, 1, 2, dtype=torch.int64), (0, 2)), np.zeros((1, 0, 4))),
    (lambda: F.max_unpool1d(torch.ones(0, 3), torch.ones(0, 3, dtype=torch.int64), 1), np.zeros((0, 3))),
    (lambda: F.fold(torch.zeros(0, 4, 9), (4, 4), 2), np.zeros((0, 1, 4, 4))),
    (lambda: F.instance_norm(torch.zeros(2, 0, 3)), np.zeros((2, 0, 3))),
    (lambda: F.batch_norm(torch.zeros(0, 2), T([1.0, 1.0]), T([1.0, 1.0]), training=True), np.zeros((0, 2))),
    # Dropouts that draw nothing take any axes.
    (lambda: F.feature_alpha_dropout(T([3.0]), 1.0, True), [0.0]),
    (lambda: F.dropout2d(T([3.0]), 1.0), [0.0]),
    (lambda: torch.feature_dropout(T([3.0]), 0.5, False), [3.0]),
    (lambda: torch.alpha_dropout(T([3]), 1.0, True), [0]),
    # The old words for a reduction say whether a mean is taken.
    (lambda: F.hinge_embedding_loss(T([1, 4]), T([1, 1]), 0.0, False), 5),
    (lambda: torch.segment_reduce(T([2.0, 3.0]), "sum", lengths=T([0.5]), offsets=T([0, 2])), [5.0]),
    (lambda: torch.bincount(T([1]), T([2 + 1j], dtype=torch.complex64)).reshape(1, 2), [[0.0, 2.0]]),
    # A complex window makes a spectrum of all frequencies.
    (
        lambda: torch.stft(torch.ones(4), 4, 1, window=torch.ones(4) + 0j, center=False).real,
        [[4.0], [0.0], [0.0], [0.0]],
    ),
    # Numbers that a dtype holds are brought into it; those of unsigned integers may be counted from the end.
    (lambda: torch.scatter(BYTES, 0, T([0]), -1), [255, 4]),
    (lambda: torch.scatter(BYTES, 0, T([0]), 1 + 0j), [1, 4]),
    (lambda: T(5, dtype=torch.uint8).scatter_(-1, T(0), -1), 255),
    # Where no axis is padded, no number is written.
    (lambda: F.pad(BYTES, (-1, 0), value=INF), [4]),
    (lambda: torch.constant_pad_nd(BYTES, (0, -1), 300), [3]),
    (lambda: torch.take_along_dim(T([[4, 5], [3, 4]]), T([[1, 2]], dtype=torch.int32)), [5, 3]),
    # Factors of matrices that are not finite are not refused.
    (lambda: torch.linalg.ldl_factor_ex(T([[0.0, INF], [INF, 0.0]])).pivots, [-2, -2]),
    # An axis may be one of the operand that has more.
    (lambda: torch.linalg.vecdot(torch.ones(2, 3), torch.ones(4, 2, 3), dim=2), np.full((4, 2), 3.0)),
    # Solutions by factors with infinities are computed row by row, and not refused as those of singular matrices.
    (lambda: torch.cholesky_solve(T([[2.0], [3.0]]), T([[1.0, 0.0], [INF, 1.0]])), [[INF], [-INF]]),
    (lambda: torch.cholesky_solve(T([[2.0], [3.0]]), T([[1.0, 0.0], [0.0, 0.0]])), [[NAN], [INF]]),
    (lambda: torch.linalg.solve_triangular(T([[1.0, INF], [0.0, 2.0]]), COLUMN, upper=True), [[-INF], [1.0]]),
    (lambda: torch.linalg.solve_triangular(T([[1.0, 0.0], [INF, 1.0]]), COLUMN, upper=False), [[1.0], [-INF]]),
    (lambda: torch.linalg.solve_triangular(T([[1.0, NAN], [0.0, 1.0]]), COLUMN, upper=True), [[NAN], [2.0]]),
    (
        lambda: torch.linalg.solve_triangular(T([[1.0, INF], [0, 1]]), COLUMN.mT, upper=True, left=False),
        [[1, -INF]],
    ),
    (lambda: torch.triangular_solve(COLUMN, T([[1.0, INF], [0.0, 2.0]])).solution, [[-INF], [1.0]]),
    # Elements that have a gradient stay infinite where it is given them apart from their value.
    (
        lambda: F.max_unpool1d(T([[INF, -INF, NAN]]).requires_grad_(), T([[0, 2, 4]]), 2).detach(),
        [[INF, 0.0, -INF, 0.0, NAN, 0.0]],
    ),
    (
        lambda: F.embedding(T([0, 0]), T([[INF, -INF]]).requires_grad_(), scale_grad_by_freq=True).detach(),
        [[INF, -INF], [INF, -INF]],
    ),
    # Tensors of one element are numbers where they stand in lists, and None before them is an element of none.
    (lambda: torch.tensor([T([1.0]), 2]), [1.0, 2.0]),
    (lambda: torch.as_tensor([[T([[3]])], [T(4)]]), [[3], [4]]),
    (lambda: T([1.0]).new_tensor([1, 0], dtype=torch.bool), [True, False]),
    (lambda: torch.arange(end=3), [0, 1, 2]),
    # Edges of cells are counted from the nearer end.
    (lambda: torch.histogram(T([-2.28, 1.8, 3.84], dtype=torch.float64), 3).hist, [1.0, 1.0, 1.0]),
    # A single element goes into the places of a mask in any dtype.
    (lambda: torch.index_put(SHORT, (T([True]),), T(1.5)), [1]),
    (lambda: T([1, 2]).index_put_([T([False, True])], T([True])), [1, 1]),
    # A number that is a tensor is one element along an axis.
    (lambda: torch.zeros(3).scatter(0, T([1]), T(2.0)), [0.0, 2.0, 0.0]),
    (lambda: T([True, True]).scatter_(0, T([1]), T(False)), [True, False]),
    # Quantiles of a number have no further axes.
    (lambda: torch.quantile(T(-0.5), T(1.0), dim=0, keepdim=True), -0.5),
    (lambda: torch.nanquantile(T(-0.5), T([0.25]), dim=0), [-0.5]),
    (lambda: torch.quantile(T(-0.5), T([0.25, 0.5]), dim=-1, keepdim=True), [-0.5, -0.5]),
    # Numbers of repeats are no axis, in the second place without a third.
    (lambda: torch.repeat_interleave(T([[True], [False]]), 0, None, output_size=0), np.zeros(0)),
    (lambda: torch.repeat_interleave(T([5, 6]), 2, None, output_size=4), [5, 5, 6, 6]),
    # Means of complex numbers are none of whole divisions.
    (lambda: T([2j]).scatter_reduce(0, T([0]), T([1.0 + 0j]), "mean"), [0.5 + 1j]),
    (lambda: T([2j]).scatter_reduce(0, T([0]), T([1.0 + 0j]), "mean", include_self=False), [1.0]),
    (lambda: F.linear_cross_entropy(torch.ones(3), torch.ones(4, 3), T([1])), math.log(4)),
    # At 0 activations are 0, whatever the factor.
    (lambda: F.elu(T([0.0, -0.0, 1.0]), INF), [0.0, 0.0, 1.0]),
    (lambda: F.celu(T([0.0, 2.0]), NAN), [0.0, 2.0]),
    (lambda: torch.special.legendre_polynomial_p(T([0.5]), 3), [-0.4375]),
    (lambda: torch.addcmul(BYTES, BYTES, BYTES, value=-1), [250, 244]),
    # Of infinitely many trials there are infinitely many successes.
    (lambda: torch.binomial(T([INF, 1e300, INF, 1e19]), T([0.5, 1.0, 0.0, 1.0])), [INF, 1e300, 0.0, 1e19]),
    (lambda: torch.binomial(T([NAN, 2.0, -3.0]), T([1.0, NAN, 0.5])), [NAN, NAN, 0.0]),
    # An array of one whole number stands for it among lengths and axes.
    (lambda: torch.zeros(T([2]), T([[1]])), [[0.0], [0.0]]),
    (lambda: torch.ones([T([2])]), [1.0, 1.0]),
    (lambda: torch.sum(COLUMN, [T([0])]), [3.0]),
    (lambda: torch.sum(COLUMN, T([1])), [1.0, 2.0]),
    (lambda: torch.amax(COLUMN, [T([True])]), [1.0, 2.0]),
    (lambda: COLUMN.reshape(T([1]), 2), [[1.0, 2.0]]),
    (lambda: COLUMN.permute([T([1]), 0]), [[1.0, 2.0]]),
    (lambda: F.avg_pool1d(COLUMN.mT, [T([2])]), [[1.5]]),
    (lambda: torch.split(COLUMN, [T([1]), 1])[1], [[2.0]]),
    (lambda: torch.tensordot(COLUMN, COLUMN, T([[0], [0]])), [[5.0]]),
    # Nothing has no parts, and nothing is solved for in each of a batch.
    (lambda: T(len(torch.zeros(0).split(()))), 0),
    (lambda: T(len(torch.split_with_sizes(torch.zeros(2, 0), [], 1))), 0),
    (lambda: torch.triangular_solve(torch.zeros(0, 4), torch.zeros(5, 0, 0)).solution, np.zeros((5, 0, 4))),
    (lambda: torch.linalg.solve_triangular(torch.zeros(5, 0, 0), torch.zeros(0, 4), upper=True), np.zeros((5, 0, 4))),
    (
        lambda: torch.linalg.lu_solve(torch.zeros(3, 0, 0), torch.zeros(3, 0).int(), torch.zeros(0, 4)),
        np.zeros((3, 0, 4)),
    ),
    # Reductions of segments by their other names, and weights of one point.
    (lambda: torch.segment_reduce(T([1.0, 2.0]), "amin", lengths=T([0, 2])), [INF, 1.0]),
    (lambda: torch.segment_reduce(T([1.0, 2.0]), "amax", offsets=T([0, 2])), [2.0]),
    (lambda: torch.histogramdd(T([[-0.5]]), [2], [-1.0, 1.0], T(0.9)).hist, [0.9, 0.0]),
    # Weighted losses of integers.
    (lambda: F.mse_loss(BYTES, BYTES + 2, weight=T([1, 3])), 4.0),
    (lambda: F.mse_loss(T([1, 5]), T([3, 4]), reduction="none", weight=T([1, 3])), [4, 3]),
    (lambda: F.l1_loss(T([1, 5]), T([3, 4]), weight=T([1, 3])), 1.25),
]


@pytest.mark.filterwarnings("ignore:dropout2d. Received a 1-D input", "ignore:invalid value encountered")
@pytest.mark.parametrize(("call", "value"), TAKEN)
def test_random_calls_are_answered_as_by_pytorch(call: Callable[[], Any], value: Any) -> None:
    y = call()
    assert tuple(y.shape) == np.shape(value)
    np.testing.assert_allclose(np.asarray(y.detach()), value, rtol=1e-6)


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: torch.scatter(BYTES, 0, T([0]), 300), RuntimeError, "value cannot be converted to type uint8"),
    (lambda: torch.scatter(SHORT, 0, T([0]), NAN, reduce="add"), RuntimeError, "cannot be converted to type int8"),
    (lambda: torch.scatter(SINGLE, 0, T([0]), 1e300), RuntimeError, "value cannot be converted to type float32"),
    (lambda: torch.ones(2, 2, dtype=torch.int8).fill_diagonal_(300), RuntimeError, "cannot be converted to type int8"),
    (
        lambda: torch.index_fill(T([True]), 0, T([0]), 1 + 2j),
        RuntimeError,
        r"index_fill_\(\): Converting complex Scalar to non-complex type is not supported",
    ),
    (lambda: torch.logspace(0, 1, 2, T([1, 0])), TypeError, r"argument 'base' .*must be float, not Tensor"),
    (
        lambda: torch.take_along_dim(BYTES, T([1], dtype=torch.int16)),
        RuntimeError,
        r"gather\(\): Expected dtype int32/int64 for index, found Short",
    ),
    (lambda: F.unfold(torch.ones(2, 0, 5, 5), 2), RuntimeError, "other non-zero dimensions for input, but got: .2, 0,"),
    (lambda: F.unfold(torch.ones(1, 5, 1), 2), RuntimeError, r"sliding blocks is \(4, 0\), but its components must"),
    (lambda: F.unfold(torch.ones(1, 4, 4), (2,)), RuntimeError, "It is expected kernel_size equals to 2, but got size"),
    (lambda: F.unfold(torch.ones(1, 4, 4), 2, 0), RuntimeError, r"dilation should be greater .* got dilation=\(0, 0\)"),
    (lambda: F.unfold(torch.ones(1, 4, 4), 2, 1, -1), RuntimeError, "padding should be non-negative"),
    (lambda: F.unfold(torch.ones(4, 4), 2), IndexError, r"Expected 3D or 4D tensor for input, but got: \[4, 4\]"),
    (lambda: F.fold(COLUMNS[None, None], 4, 2), RuntimeError, r"Expected 2D or 3D .* but got: \[1, 1, 4, 9\]"),
    (lambda: F.fold(COLUMNS[:3], 4, 2), RuntimeError, r"divisible by the product of kernel_size, but got input.size"),
    (lambda: F.fold(COLUMNS[:, :8], 4, 2), RuntimeError, r"sliding blocks 3 \* 3 = 9, but got input.size\(2\)=8"),
    (lambda: F.fold(COLUMNS.long(), 4, 2), NotImplementedError, "\"fold\" not implemented for 'Long'"),
    (lambda: F.fold(COLUMNS, 4.0, 2), TypeError, r"argument 'output_size' \(position 2\) must be tuple of ints"),
    (
        lambda: F.max_unpool1d(torch.ones(1, 2), T([[0, -1]]), 1),
        RuntimeError,
        r"Found an invalid max index: -1 \(output volumes are of size 2\)",
    ),
    (
        lambda: F.max_unpool2d(torch.ones(1, 1, 1), T([[[4]]]), 2),
        RuntimeError,
        r"Found an invalid max index: 4 \(output volumes are of size 2x2\)",
    ),
    (
        lambda: F.max_unpool2d(torch.ones(1, 0, 3), torch.ones(1, 0, 3, dtype=torch.int64), 1),
        RuntimeError,
        r"non-zero size for non-batch dimensions, but got \[1, 0, 3\]",
    ),
    (
        lambda: F.max_unpool3d(torch.ones(1, 1, 1, 1), torch.zeros(1, 1, 1, 1, dtype=torch.int64), 1, (0, 1, 1)),
        RuntimeError,
        r"strides should be greater than zero, but got stride: \[0, 1, 1\]",
    ),
    (lambda: F.adaptive_avg_pool1d(torch.ones(2, 0), 2), RuntimeError, r"non-batch .* sizes \[2, 0\]"),
    (lambda: F.adaptive_max_pool2d(torch.ones(2, 0, 3), 1), RuntimeError, r"non-batch .* sizes \[2, 0, 3\]"),
    (lambda: F.fractional_max_pool3d(T(1.0), (3, 1), 1), IndexError, r"Expected input to have 4 to 5 dimensions"),
    (lambda: F.interpolate(torch.ones(1, 1, 2, 2), (True, 1)), TypeError, "argument 'size' must be tuple of ints"),
    (lambda: F.dropout2d(T([3.0]), 0.5), RuntimeError, "Feature dropout requires at least 2 dimensions"),
    (lambda: torch.feature_dropout(T([3.0]), 0.5, True), RuntimeError, "Feature dropout requires at least 2 dim"),
    (lambda: F.gaussian_nll_loss(T(1.0), T([1.0]), T([1.0])), ValueError, r"var is of incorrect size: found \[1\]"),
    (
        lambda: F.cross_entropy(torch.ones(2, 3, 2), torch.ones(2, 2, dtype=torch.uint8)),
        RuntimeError,
        "expected scalar type Long but found Byte",
    ),
    (lambda: F.batch_norm(torch.ones(2, 1), T([1.0]), T([1.0]), eps=-1.0), ValueError, "eps must be non-negative"),
    (lambda: torch.clamp(BYTES, 1, 300), RuntimeError, "value 300 cannot be converted to type uint8 without overflow"),
    (lambda: torch.clamp_max(SHORT, -300), RuntimeError, "value -300 cannot be converted to type int8"),
    (lambda: torch.where(T([True]), SHORT, 300), RuntimeError, "value 300 cannot be converted to type int8"),
    (
        lambda: torch.addcdiv(SINGLE, SINGLE, SINGLE, value=1e300),
        RuntimeError,
        "value 1e.300 cannot be converted to type float32 without overflow",
    ),
    (lambda: F.hinge_embedding_loss(SINGLE, SINGLE, 1e300), RuntimeError, "value 1e.300 cannot be converted to type"),
    (lambda: torch.where(SINGLE > 0, SINGLE, -1e300), RuntimeError, "value -1e.300 cannot be converted to type"),
    (lambda: torch.linspace(0, 1e300, 2, dtype=torch.float32), RuntimeError, "value 1e.300 cannot be converted to"),
    (lambda: torch.native_batch_norm(T([1]), None, None, None, None, True, 0.1, 0.1), IndexError, "at least 2 dim"),
    (lambda: torch.lu_unpack(T([1.0]), T([1])), IndexError, "Expected LU_data to have at least 2 dimensions"),
    (
        lambda: F.max_unpool3d(
            torch.ones(1, 1, 1, 1), torch.zeros(1, 1, 1, 1, dtype=torch.int64), 2, 2, 0.5, (1, 1, 1)
        ),
        TypeError,
        r"max_unpool3d\(\): argument 'padding' must be tuple of ints, found .0.5, 0.5, 0.5.",
    ),
    (lambda: F.pad(BYTES, (0, 1), "constant", -3), RuntimeError, "value -3 cannot be converted to type Byte"),
    (lambda: torch.unique(T([1j]), out=T([])), TypeError, "unexpected keyword argument 'out'"),
    (lambda: torch.fft.irfft(T([1.0, 1.0]), out=T([1j])), RuntimeError, "irfft expects a floating point output tensor"),
    (lambda: torch.repeat_interleave(T([True])), NotImplementedError, "not implemented for 'Bool'"),
    (lambda: torch.istft(torch.ones(2, 1) + 0j, 2, 3), RuntimeError, "expected 0 < hop_length <= win_length, found 3"),
    (
        lambda: torch.lu_unpack(torch.ones(3, 2, 2), torch.ones(2, 2, dtype=torch.int32)),
        RuntimeError,
        r"LU_pivots must have the batch of LU_data, found shapes \[2, 2\] and \[3, 2, 2\]",
    ),
    (
        lambda: torch.as_strided_scatter(ROWS, torch.ones(2, 2), (2, 2), (1, 1)),
        RuntimeError,
        "more than one element of the written-to tensor refers to a single memory location",
    ),
    (
        lambda: torch.native_group_norm(torch.ones(1, 4), None, None, 1, -4, -1, 1, 1e-5),
        RuntimeError,
        r"expected 1 \* -4 \* -1 elements, found shape \[1, 4\]",
    ),
    (
        lambda: torch.native_group_norm(torch.ones(1, 4), None, None, 1, 4, 1, 3, 1e-5),
        RuntimeError,
        "divisible by num_groups, but got input of shape .1, 4. and num_groups=3",
    ),
    (
        lambda: torch.native_batch_norm(torch.ones(2, 3), T([1.0]), None, None, None, True, 0.1, 1e-5),
        ValueError,
        r"argument 'weight' has shape \(1,\), expected \(3,\)",
    ),
    (
        lambda: torch.native_batch_norm(torch.ones(0, 3), None, None, None, None, True, 0.1, 1e-5),
        RuntimeError,
        r"at least one element, but got input_sizes = \[0, 3\]",
    ),
    (
        lambda: torch.lu_unpack(torch.ones(3, 2, 2), torch.ones(6, dtype=torch.int32)),
        RuntimeError,
        r"LU_pivots must have the batch of LU_data, found shapes \[6\] and \[3, 2, 2\]",
    ),
    (
        lambda: torch.repeat_interleave(T([1, 2]), 0, None, output_size=3),
        RuntimeError,
        "repeat_interleave: Invalid output_size, expected 0 but got 3",
    ),
    (
        lambda: F.multilabel_margin_loss(T([1.0, 2.0, 3.0]), T([0, -2, 1])),
        RuntimeError,
        "argument #2 'target' is out of range: found -2 to 1 for 3 classes",
    ),
    (
        lambda: F.multilabel_margin_loss(T([[1.0, 2.0]]), T([[2, -1]])),
        RuntimeError,
        "argument #2 'target' is out of range: found -1 to 2 for 2 classes",
    ),
    (
        lambda: F.multi_margin_loss(torch.ones(2, 3), T([0, -1])),
        RuntimeError,
        "target out of range: found -1 to 0 for 3 classes",
    ),
    (lambda: F.multi_margin_loss(T([1.0, 2.0]), T(2)), RuntimeError, "target out of range: found 2 to 2 for 2 classes"),
    (
        lambda: F.group_norm(torch.ones(2, 2), True),
        TypeError,
        r"argument 'num_groups' \(position 2\) must be int, not bool",
    ),
    (
        lambda: F.batch_norm(torch.ones(2, 3), T([0.0] * 3), torch.ones(1, 3), training=True),
        RuntimeError,
        r"running statistics should have shape \[3\], a number for each channel, found \[1, 3\]",
    ),
    (
        lambda: torch.triangular_solve(torch.ones(2, 3), T([[0.0]])),
        RuntimeError,
        "sizes for triangular_solve: each A matrix is 1 by 1 but each b matrix is 2 by 3",
    ),
    (
        lambda: torch.cholesky_solve(torch.zeros(2, 0), T([[0.0]])),
        RuntimeError,
        "sizes for cholesky_solve: each A matrix is 1 by 1 but each b matrix is 2 by 0",
    ),
    (
        lambda: torch.linalg.solve_triangular(T([[0.0]]), torch.ones(3, 2), upper=True, left=False),
        RuntimeError,
        "sizes for linalg.solve_triangular: each A matrix is 1 by 1 but each b matrix is 3 by 2",
    ),
    (
        lambda: torch.gradient(torch.ones(3, 3), spacing=[T([1.0, 3.0, 4.0]), T([8.0, 6.0])], edge_order=2),
        RuntimeError,
        "one place for each element along an axis, but got 2 places for 3 elements along axis 1",
    ),
    (
        lambda: torch.gradient(torch.ones(3, 2), dim=-1, spacing=[T([1.0, 3.0, 4.0])]),
        RuntimeError,
        "one place for each element along an axis, but got 3 places for 2 elements along axis -1",
    ),
    (
        lambda: torch.istft(torch.ones(2, 2, 3, 3) + 0j, 4),
        RuntimeError,
        "istft: expected a tensor with 2 or 3 dimensions, but got 4",
    ),
    (
        lambda: torch.segment_reduce(torch.ones(2, 3), "sum", offsets=T([2, 0])),
        RuntimeError,
        r"Expected segment_length >= 0, found offsets \[2, 0\]",
    ),
    (lambda: torch.addcmul(BYTES, BYTES, BYTES, value=-1.5), RuntimeError, "value cannot be converted to type Byte"),
    (lambda: torch.addcmul(SHORT, SHORT, SHORT, value=300), RuntimeError, "value cannot be converted to type Char"),
    (lambda: torch.tensor(None), RuntimeError, "Could not infer dtype of NoneType"),
    (lambda: torch.tensor(None, dtype=torch.float32), TypeError, "must be real number, not NoneType"),
    (lambda: torch.as_tensor(None, dtype=torch.complex64), TypeError, "must be real number, not NoneType"),
    (lambda: torch.asarray(None, dtype=torch.bool), TypeError, "'NoneType' object cannot be interpreted as an integer"),
    (lambda: T([True]).normal_([1], 2.0), TypeError, "argument 'mean' must be float, not list"),
    (lambda: T([1.0]).exponential_(lambd=None), TypeError, "argument 'lambd' must be float, not NoneType"),
    (lambda: T([1.0]).bernoulli_("x"), TypeError, "argument 'p' must be float, not str"),
    (lambda: T([1.0]).normal_(T([1.0])), TypeError, "argument 'mean' must be float, not Tensor"),
    (lambda: T([1.0]).uniform_(0.0, T([1.0, 2.0])), TypeError, "argument 'high' must be float, not Tensor"),
    (lambda: T([1.0]).cauchy_(sigma=T([1.0])), TypeError, "argument 'sigma' must be float, not Tensor"),
    (lambda: T([1.0]).random_(T([3])), TypeError, r"random_\(\) .*: the bounds must be int, not Tensor"),
    # Elements that are no numbers, also where a dtype is asked for.
    (lambda: torch.tensor([None]), RuntimeError, "Could not infer dtype of NoneType"),
    (lambda: torch.tensor([[1.0, None]], dtype=torch.float32), TypeError, "must be real number, not NoneType"),
    (lambda: torch.tensor([None], dtype=torch.complex64), TypeError, "must be real number, not NoneType"),
    (lambda: torch.as_tensor([None], dtype=torch.bool), TypeError, "'NoneType' object cannot be interpreted as an int"),
    (lambda: torch.asarray([{}], dtype=torch.bool), TypeError, "'dict' object cannot be interpreted as an integer"),
    (lambda: torch.tensor({1}), RuntimeError, "Could not infer dtype of set"),
    (lambda: torch.tensor(["1"], dtype=torch.int64), ValueError, "too many dimensions 'str'"),
    (lambda: torch.tensor("a", dtype=torch.bool), TypeError, r"new\(\): invalid data type 'str'"),
    (
        lambda: torch.tensor([T([1.0, 2.0])]),
        ValueError,
        r"only one element tensors .*, found shape \[2\]",
    ),
    (lambda: torch.Tensor([None]), TypeError, "must be real number, not NoneType"),
    (lambda: torch.BoolTensor([None]), TypeError, "'NoneType' object cannot be interpreted as an integer"),
    (lambda: T([1.0]).new_tensor([None]), TypeError, "must be real number, not NoneType"),
    # A boolean is no length, and no number of a row.
    (lambda: torch.zeros(True), TypeError, r"zeros\(\): argument 'size' must be tuple of ints, not bool"),
    (lambda: torch.ones((True, 2)), TypeError, r"ones\(\): argument 'size' .*must be tuple of ints, not tuple"),
    (lambda: torch.rand(True), TypeError, r"rand\(\): argument 'size' must be tuple of ints, not bool"),
    (lambda: F.embedding(T([1]), LU, padding_idx=True), TypeError, "argument 'padding_idx' .*must be int, not bool"),
    (
        lambda: torch.take_along_dim(T(1.0), T([0]), 0),
        RuntimeError,
        "same number of dimensions, but got 0 dimensions for input, and 1 dimensions for indices",
    ),
    (
        lambda: torch.take_along_dim(T([1.0]), T(0), 0),
        RuntimeError,
        "same number of dimensions, but got 1 dimensions for input, and 0 dimensions for indices",
    ),
    (lambda: torch.arange(1, None, 2), TypeError, r"invalid combination of arguments: got \(int, NoneType, int\)"),
    (
        lambda: F.conv1d(MAPS, MAPS, T([1.0]), padding="same"),
        RuntimeError,
        r"Input type \(ComplexDouble\) and bias type \(Double\) should be the same",
    ),
    (
        lambda: F.conv_transpose1d(MAPS, MAPS, T([True])),
        RuntimeError,
        r"Input type \(ComplexDouble\) and bias type \(Bool\) should be the same",
    ),
    (
        lambda: F.binary_cross_entropy_with_logits(LU, LU, pos_weight=T([True, False])),
        RuntimeError,
        "Subtraction, the `-` operator, with a bool tensor is not supported",
    ),
    (lambda: F.avg_pool1d(torch.zeros(2, 0), 3, padding=1, ceil_mode=True), RuntimeError, r"but got shape \[2, 0\]"),
    (
        lambda: torch.cov(T([1.0]), aweights=T([[2.0]])),
        RuntimeError,
        "expected aweights to have one or fewer dimensions but got aweights with 2 dimensions",
    ),
    (
        lambda: torch.gradient(T([1.0, 2.0]), spacing=[T([True, False])]),
        RuntimeError,
        "Negation, the `-` operator, on a bool",
    ),
    (
        lambda: torch.index_put(SHORT, (T([True]),), T(1.5), accumulate=True),
        RuntimeError,
        "got Char for the destination and Double for the source",
    ),
    (
        lambda: torch.grid_sampler_2d(T([True]), T(False), 4, -1, True),
        IndexError,
        "Dimension specified as 0 but tensor has no dimensions",
    ),
    (
        lambda: F.cross_entropy(COLUMN.mT, T([[1, 0]])),
        RuntimeError,
        "Expected floating point type for target with class probabilities, got Long",
    ),
    (
        lambda: F.mse_loss(SINGLE, T([True, False]), weight=SINGLE),
        RuntimeError,
        "Subtraction, the `-` operator, with a bool tensor is not supported",
    ),
    (lambda: torch.arange(1.1, 1, 2.0, dtype=torch.int64), RuntimeError, "inconsistent with step sign, found 1.1, 1"),
    (lambda: torch.arange(0, 3, 0.5, dtype=torch.int64), ValueError, "step must be nonzero, found 0.5, which is 0"),
    (
        lambda: torch.bincount(T([1, 2]), T([[0.5, 1.0]])),
        RuntimeError,
        r"weights should be 1-d and have the same length as input, found shape \[1, 2\] for \[2\]",
    ),
    (
        lambda: torch.nn.utils.rnn.pad_sequence([SINGLE], padding_side="top"),
        RuntimeError,
        "padding_side 'left' or 'right', found 1 and 'top'",
    ),
    (
        lambda: torch.nn.utils.rnn.pad_sequence([SINGLE], padding_side=3),
        TypeError,
        r"argument 'padding_side' \(position 4\) must be str, not int",
    ),
    (lambda: (COLUMN + 0j).index_put_((), COLUMN, True), RuntimeError, "source and destination dtypes match"),
    (lambda: torch.sum(COLUMN, [T([0, 1])]), TypeError, "received an invalid combination of arguments"),
]


@pytest.mark.filterwarnings("ignore:dropout2d. Received a 1-D input")
@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_random_calls_are_refused_as_by_pytorch(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_numbers_that_a_call_of_a_known_kind_has_are_looked_at_each_time() -> None:
    assert F.hardtanh(T([2.0]), -1.0, 1.0).tolist() == [1.0]
    with pytest.raises(ValueError, match="min_val cannot be greater than max_val"):
        F.hardtanh(T([2.0]), 1.0, -1.0)
    assert F.alpha_dropout(T([2]), 1.0, True).tolist() == [0]
    with pytest.raises(RuntimeError, match="result type Double can't be cast"):
        F.alpha_dropout(T([2]), 0.5, True)


@pytest.fixture
def single() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    yield
    torch.set_default_dtype(before)


@pytest.mark.usefixtures("single")
def test_plain_numbers_have_the_default_dtype() -> None:
    assert torch.add(True, 2.0).dtype == torch.float32
    assert torch.div(1, 2).dtype == torch.float32
    assert torch.mul(2, 3).dtype == torch.int64
    assert torch.kron(T([1.0]), T(2.0, dtype=torch.float64)).dtype == torch.float64
    z = T(1 + 2j, dtype=torch.complex128)
    assert torch.linspace(z, z, 2).dtype == torch.complex64
    assert torch.logspace(z, 2, 2).dtype == torch.complex64


def test_statistics_of_nothing_stay_as_they_are() -> None:
    mean, var = T([1.5]), T([2.5])
    F.batch_norm(torch.zeros(0, 1), mean, var, training=True)
    F.instance_norm(torch.zeros(2, 1, 0), mean, var)
    assert (mean.tolist(), var.tolist()) == ([1.5], [2.5])


def test_parts_of_infinite_numbers_stay_apart() -> None:
    z = T([complex(1.0, INF)])
    z.real = T([2.0])
    assert z.real.tolist() == [2.0]
    assert z.imag.tolist() == [INF]
    x = T([1 + 2j]).requires_grad_()
    x.imag.backward(T([INF]))
    assert type(x.grad.array) is np.ndarray
    assert (x.grad.real.tolist(), x.grad.imag.tolist()) == ([0.0], [INF])


def test_gradients_of_parts_and_pairs_stay_apart() -> None:
    x = dispatchkit.asarray([1 + 2j]).requires_grad_()
    dispatchkit.imag(x).backward(dispatchkit.asarray([INF]))
    assert x.grad is not None
    assert (x.grad.real.tolist(), x.grad.imag.tolist()) == ([0.0], [INF])
    pairs = T([1 + 2j, 3j]).requires_grad_()
    torch.view_as_real(pairs).backward(T([[0.0, INF], [1.0, -INF]]))
    assert (pairs.grad.real.tolist(), pairs.grad.imag.tolist()) == ([0.0, 1.0], [INF, -INF])


def test_a_product_of_tensors_keeps_the_dtype_where_one_axis_is_of_one_element() -> None:
    x = torch.ones(2, 2, 2, dtype=torch.int16)
    y = torch.tensordot(x, x[:1], dims=2)
    assert (y.dtype, y.tolist()) == (torch.int16, [[4, 4], [4, 4]])


def test_factors_by_blocks_of_two_rows_are_those_of_the_matrix() -> None:
    A = T([[0.0, 2.0, 1.0], [2.0, 0.0, 3.0], [1.0, 3.0, 4.0]], dtype=torch.float64)
    LD, pivots = torch.linalg.ldl_factor(A)
    assert min(pivots.tolist()) < 0
    B = T([[1.0], [2.0], [3.0]], dtype=torch.float64)
    np.testing.assert_allclose(np.asarray(A @ torch.linalg.ldl_solve(LD, pivots, B)), np.asarray(B))


def test_gradients_of_solutions_by_factors_are_those_of_differences() -> None:
    B = torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
    factors = LU.double().requires_grad_()
    for options in ({}, {"adjoint": True}, {"left": False}, {"left": False, "adjoint": True}):
        assert torch.autograd.gradcheck(
            lambda A, y, options=options: torch.linalg.lu_solve(A, T([2, 2], dtype=torch.int32), y, **options),
            (factors, B),
        )


def test_derivatives_of_the_airy_function_may_be_taken_of_one_another() -> None:
    func, x = torch.func, T(-1.25, dtype=torch.float64)

    def pulled(f: Any) -> Any:
        return lambda x: func.vjp(f, x)[1](torch.ones_like(x))[0]

    second = func.jacfwd(pulled(torch.special.airy_ai))(x)
    assert float(second) == pytest.approx(float(x * torch.special.airy_ai(x)))
    third = func.jacfwd(pulled(func.jacfwd(torch.special.airy_ai)))(x)
    slope = func.grad(torch.special.airy_ai)(x)
    assert float(third) == pytest.approx(float(torch.special.airy_ai(x) + x * slope))


def test_logspace_is_computed_in_a_wide_dtype_where_one_is_asked_for() -> None:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        wide = torch.logspace(0, T(253), 3, 2.0, dtype=torch.float64)
        narrow = torch.logspace(0, 1, 3)
    finally:
        torch.set_default_dtype(before)
    assert wide.tolist() == [1.0, 2.0**126.5, 2.0**253]
    assert narrow.dtype == torch.float32


def test_powers_in_double_precision_take_all_digits_of_a_number() -> None:
    x = torch.tensor([0.5], dtype=torch.float32)
    assert torch.float_power(x, 0.1).tolist() == x.float_power(0.1).tolist() == [0.5**0.1]
    assert torch.float_power(0.1, x).tolist() == [0.1**0.5]


def test_factors_are_solved_by_one_after_the_other() -> None:
    # Of condition number 1e3, whose square float32 does not hold.
    L = T([[1.0, 0.0], [1.0, 1e-3]], dtype=torch.float32)
    inverse = np.linalg.inv(np.asarray(L, np.float64) @ np.asarray(L, np.float64).T)
    np.testing.assert_allclose(np.asarray(torch.cholesky_inverse(L)), inverse, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(torch.cholesky_inverse(L.mT, upper=True)), inverse, rtol=1e-5)
    b = T([[1.0], [2.0]], dtype=torch.float32)
    np.testing.assert_allclose(np.asarray(torch.cholesky_solve(b, L)), inverse @ [[1.0], [2.0]], rtol=1e-5)


@pytest.mark.parametrize("step", [0.0, 0.25])
def test_second_derivatives_at_whole_places_are_those_of_the_side_behind(step: float) -> None:
    images = T([[[[1.0, 7.0, -3.0, 4.0, 9.0]]]])

    def slope(x: Any) -> Any:
        grid = torch.stack([x, torch.zeros(())])[None, None, None]
        y = F.grid_sample(images, grid, mode="bicubic", padding_mode="border", align_corners=True)
        return torch.autograd.grad(y.sum(), x, create_graph=True)[0]

    x = T(step, requires_grad=True)
    (second,) = torch.autograd.grad(slope(x), x)
    near = (slope(T(step + 1e-6, requires_grad=True)) - slope(x)) / 1e-6
    assert second.item() == pytest.approx(near.item(), rel=1e-3)


def test_polynomials_of_high_degrees_stay_in_the_range_of_their_dtype_where_their_values_do() -> None:
    y = torch.special.laguerre_polynomial_l(T(-8.0, dtype=torch.float32), 254)
    assert y.item() == pytest.approx(1.3476657e36, rel=1e-4)


def test_a_boolean_may_be_a_further_length() -> None:
    assert torch.zeros(2, True).shape == torch.full((2, True), 1.0).shape == (2, 1)
    assert torch.flip(T([[1, 2], [3, 4]]), (0, True)).tolist() == [[4, 3], [2, 1]]


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64])
def test_alpha_dropout_of_nothing_keeps_the_dtype(dtype: Any) -> None:
    assert F.alpha_dropout(torch.zeros(0, 3, dtype=dtype), 0.5, True).dtype == dtype


def test_a_product_by_a_logarithm_of_what_has_none_has_no_gradient_at_0() -> None:
    x = T([0.0, 0.0, 0.0], requires_grad=True)
    torch.special.xlog1py(x, T([-1.0, -4.0, 1.0])).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, math.log(2)]


def test_what_stands_at_a_place_has_a_gradient_though_it_is_infinite() -> None:
    x = T([[INF, -INF]]).requires_grad_()
    F.max_unpool1d(x, T([[0, 3]]), 2).backward(T([[1.0, 2.0, 3.0, 4.0]]))
    assert x.grad.tolist() == [[1.0, 4.0]]

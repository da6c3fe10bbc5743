"""What half a million random calls beside PyTorch found: steps, factors, lengths, and calls of nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch
from dispatchkit.as_torch.calling.signatures import signatures_of

torch: Any = dispatchkit.as_torch
F, T = torch.nn.functional, torch.tensor
INF, NAN = math.inf, math.nan
ROW, BYTES, SHORT = T([1.0, 2.0, 4.0]), T([1, 2, 4], dtype=torch.uint8), T([1, 2, 4], dtype=torch.int16)
PLACES = T([0.0, 1.0, 3.0], dtype=torch.float32)
WHOLE, NAMED = T([[1, 2], [3, 4]]), T([[1.0, 2.0], [3.0, NAN]])
SINGLE = T([1.0, 2.0, 4.0], dtype=torch.float32)
IMAGE, ROWS = torch.ones(1, 1, 2, 2), torch.ones(2, 1, 3)
NONE, HALF = torch.zeros(0, 3), T(1.0, dtype=torch.float16)

VALUES: list[tuple[Callable[[], Any], Any]] = [
    # Steps of 0, at the edges of second order, too.
    (lambda: torch.gradient(ROW, spacing=0, edge_order=2)[0], [INF, INF, INF]),
    (lambda: torch.gradient(ROW, spacing=T(0.0), edge_order=2)[0], [INF, INF, INF]),
    (lambda: torch.gradient(ROW, spacing=2j)[0].imag, [-0.5, -0.75, -1.0]),
    (lambda: torch.gradient(torch.ones(2, 3), spacing=[2.0, 4.0])[1], np.zeros((2, 3))),
    # A factor of 0 leaves a product of matrices out, and of complex factors the real part.
    (lambda: torch.addmm(T(5.0), NAMED, NAMED, alpha=0), np.full((2, 2), 5.0)),
    (lambda: torch.addmv(T([5.0, 6.0]), NAMED, T([1.0, 1.0]), alpha=0.0), [5.0, 6.0]),
    (lambda: torch.addmm(torch.ones(2, 3), torch.ones(2, 0), NONE, alpha=NAN), np.ones((2, 3))),
    (lambda: torch.baddbmm(ROWS, torch.ones(2, 1, 0), torch.ones(2, 0, 3), alpha=NAN), np.ones((2, 1, 3))),
    (lambda: torch.as_strided_copy(ROW, (0,), (2,), 7), []),
    (lambda: ROW.split(T([2.0]))[1], [4.0]),
    (lambda: torch.addbmm(torch.ones(2, 2), NAMED[None], NAMED[None], alpha=0, beta=0), np.zeros((2, 2))),
    (lambda: torch.addmm(WHOLE, WHOLE, WHOLE, alpha=2 + 0j), [[15, 22], [33, 48]]),
    (lambda: torch.addmm(WHOLE, WHOLE, WHOLE, beta=2.5), [[9, 14], [21, 30]]),
    (lambda: torch.baddbmm(ROWS, ROWS, torch.ones(2, 3, 3), beta=3 + 0j), np.full((2, 1, 3), 6.0)),
    (lambda: torch.addr(T([1, 2]), T([1, 2]), T([1.0, 2.0]), beta=INF), np.full((2, 2), INF)),
    # A weight without axes brings whole numbers to its dtype.
    (lambda: torch.lerp(T([-1]), T([3]), T(0.5)), [1.0]),
    (lambda: torch.lerp(T([True]), T([False]), T(0.25)), [0.75]),
    (lambda: torch.lerp(T([1.0]), T([2.0]), T(1j)), [1 + 1j]),
    # Whole numbers below 0 are counted from the end of those of bytes.
    (lambda: torch.tensor([[1, -1], [-255, True]], dtype=torch.uint8), [[1, 255], [1, 1]]),
    (lambda: torch.as_tensor(-2, dtype=torch.uint8), 254),
    (lambda: BYTES.new_tensor([-1]), [255]),
    (lambda: torch.ByteTensor([-3]), [253]),
    (lambda: torch.tensor([2**63], dtype=torch.float64), [2.0**63]),
    (lambda: torch.tensor([2**63, 0.5]), [2.0**63, 0.5]),
    # What is left of nothing.
    (lambda: F.interpolate(IMAGE, scale_factor=0, mode="area"), np.zeros((1, 1, 0, 0))),
    (lambda: F.interpolate(IMAGE, (0, 3), mode="area"), np.zeros((1, 1, 0, 3))),
    (lambda: F.interpolate(IMAGE, scale_factor=(1, 1.5), mode="area"), np.ones((1, 1, 2, 3))),
    (lambda: F.fractional_max_pool2d(ROWS, (1, 1), output_ratio=0.5), np.zeros((2, 0, 1))),
    (lambda: F.fractional_max_pool2d(ROWS, 1, (1, 3), _random_samples=torch.ones(1, 2, 2) / 2), np.ones((2, 1, 3))),
    (lambda: torch.scatter(BYTES, 0, torch.zeros(0, dtype=torch.int64), INF), [1, 2, 4]),
    (lambda: torch.scatter(BYTES, 0, torch.zeros(0, dtype=torch.int64), 2j, reduce="add"), [1, 2, 4]),
    (lambda: F.scaled_dot_product_attention(torch.ones(2, 3), NONE, torch.zeros(0, 2)), np.zeros((2, 2))),
    (lambda: F.scaled_dot_product_attention(NONE, NONE, NONE, is_causal=True), np.zeros((0, 3))),
    (
        lambda: F.scaled_dot_product_attention(torch.ones(1, 2, 3), NONE[None], NONE[None], torch.ones(2, 0) > 0),
        np.zeros((1, 2, 3)),
    ),
    # Arrays without axes that stand for numbers, and numbers that have axes to look at.
    (lambda: torch.min(T([-9, 2]), T(0), keepdim=True).indices, [0]),
    (lambda: ROW.max(T(0), keepdim=False).values, 4.0),
    (lambda: torch.max(T([-9, 2]), T(0)), [0, 2]),
    (lambda: torch.linalg.tensorsolve(T(2.0), T(3.0), (0,)), 1.5),
    (lambda: torch.linalg.tensorsolve(T(2.0), T(3.0), (-1,)), 1.5),
    (lambda: F.pairwise_distance(HALF, HALF / 4, 1.0, 2.0, True), 2.75),
    (lambda: F.triplet_margin_loss(HALF, HALF, HALF), 1.0),
    (lambda: torch.index_fill(BYTES, 0, T([0]), T(-3)), [253, 2, 4]),
    # Of truths each factor but 0 counts as one.
    (lambda: T(True).add_(True, alpha=-1), True),
    (lambda: T([True, False]).add(True, alpha=0), [True, False]),
    # Bounds that are numbers, and those that are arrays.
    (lambda: torch.ones(3).clamp_(2, T(3.0)), [2.0, 2.0, 2.0]),
    (lambda: torch.ones(3).clamp_(None, 0.5), [0.5, 0.5, 0.5]),
    (lambda: torch.arange(1, end=5, step=2), [1, 3]),
    (lambda: torch.arange(T(3)), [0, 1, 2]),
    (lambda: torch.randint(1, size=(2,)), [0, 0]),
    (lambda: torch.randint(T(1), [3]), [0, 0, 0]),
    (lambda: F.pad(torch.tensor([[1.0, 2.0, 3.0]]), (2, -1), "circular"), [[1.0, 2.0, 1.0, 2.0]]),
    (lambda: torch.lu_unpack(torch.eye(2), T([[2, 2]], dtype=torch.int32))[0], [[0.0, 1.0], [1.0, 0.0]]),
    (lambda: torch.ones(3).index_put([T(0)], T(5.0)), [5.0, 1.0, 1.0]),
    # The sign of a zero is kept, and a number that is divided is an operand as an array is.
    (lambda: torch.copysign(torch.ones(2), torch.fill(ROW[:2], -0.0)), [-1.0, -1.0]),
    (lambda: torch.copysign(torch.ones(2), ROW[:2].clone().fill_(T(-0.0))), [-1.0, -1.0]),
    (lambda: torch.div(1.5, T([-INF, INF]), rounding_mode="floor"), [-1.0, 0.0]),
    (lambda: torch.floor_divide(INF, T([2.0, -2.0])), [NAN, NAN]),
    # Weights that are NaN count where they are, and one weight goes with one observation.
    (lambda: torch.histogram(T([0.5, 1.5, 1.75]), T([0.0, 1.0, 2.0]), weight=T([NAN, 2.0, 1.0])).hist, [NAN, 3.0]),
    (lambda: torch.histogram(T(-7.0), T([0.0, 1.0]), weight=T(NAN)).hist, [0.0]),
    (lambda: torch.histogram(T([[0.5, 1.5]]), T([0.0, 1.0, 2.0]), weight=T([2.0, 3.0])).hist, [2.0, 3.0]),
    (lambda: torch.linalg.cholesky_ex(T([[1.0, 2.0], [0.5, 1.0]]), upper=True).info, 2),
    (lambda: torch.linalg.cholesky_ex(T([[1.0, 0.5], [2.0, 1.0]]), upper=True).info, 0),
    (lambda: torch.cov(T([[1.0], [2.0]]), correction=0, aweights=T(2.0)), np.zeros((2, 2))),
    # Weights of classes in images are as many numbers as there are classes, in any shape.
    (lambda: F.nll_loss(torch.ones(1, 3, 2), T([[0, 2]]), T([[2.0], [3.0], [4.0]]), reduction="none"), [[-2.0, -4.0]]),
    # Running sums and products of half precision leave its range on the way, and weighted means are of the weights.
    (lambda: torch.cumprod(T([256.0, 512.0, 0.25]).half(), 0), [256.0, INF, 32768.0]),
    (lambda: torch.cumsum(T([60000.0, 60000.0, -60000.0]).half(), 0), [60000.0, INF, 60000.0]),
    (lambda: torch.masked.cumprod(T([256.0, 512.0, 0.25]).half(), 0, mask=T([True] * 3)), [256.0, INF, 32768.0]),
    (lambda: F.mse_loss(ROW, ROW * 3, weight=T([1.0, 1.0, 2.0])), 37.0),
    (lambda: F.l1_loss(ROW, ROW * 3, None, None, "mean", T([1.0, 1.0, 2.0])), 5.5),
    (lambda: F.huber_loss(ROW, ROW * 3, "none", 1.0, T([1.0, 1.0, 2.0])), [1.5, 3.5, 15.0]),
    # Neighbours that have no part in any element may be infinite.
    (lambda: F.interpolate(T([[[INF, 1.0]]]), 2, mode="linear"), [[[INF, 1.0]]]),
    (lambda: F.upsample_bilinear(T([[[[1.0, INF], [2.0, 3.0]]]]), scale_factor=1), [[[[1.0, INF], [2.0, 3.0]]]]),
    # An order that the dtype does not hold is infinite or 0.
    (lambda: torch.cdist(torch.zeros(1, 3).float(), SINGLE[None], 1e39), [[4.0]]),
    (lambda: torch.pdist(torch.stack([SINGLE, SINGLE * 2]), 1e300), [4.0]),
    (lambda: torch.pdist(torch.stack([SINGLE, SINGLE * 2]), 1e-300), [3.0]),
]


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value encountered")
@pytest.mark.parametrize(("call", "value"), VALUES)
def test_calls_are_answered_as_by_pytorch(call: Callable[[], Any], value: Any) -> None:
    y = call()
    assert tuple(y.shape) == np.shape(value)
    np.testing.assert_allclose(np.asarray(y.detach()), value, rtol=1e-6)


DTYPES: list[tuple[Callable[[], Any], str]] = [
    (lambda: torch.gradient(SHORT, spacing=(PLACES,))[0], "float32"),
    (lambda: torch.gradient(SHORT, spacing=(T([0, 1, 3]),))[0], "float64"),
    (lambda: torch.gradient(SINGLE, spacing=(PLACES.double(),))[0], "float64"),
    (lambda: torch.gradient(SINGLE, spacing=(T([0, 1, 3]),))[0], "float64"),
    (lambda: torch.gradient(SINGLE, spacing=(PLACES.to(torch.complex64),))[0], "complex64"),
    (lambda: torch.gradient(SINGLE, spacing=T(2.0, dtype=torch.float64))[0], "float32"),
    (lambda: torch.gradient(SINGLE, spacing=2j)[0], "complex64"),
    (lambda: torch.lerp(SINGLE[0], SINGLE[1], T(0.5, dtype=torch.float64)), "float64"),
    (lambda: torch.lerp(SINGLE, SINGLE, T(0.5, dtype=torch.float64)), "float32"),
    (lambda: torch.cdist(torch.ones(2, 3, dtype=torch.float32), NONE.double()), "float32"),
    (lambda: torch.addmm(WHOLE, WHOLE, WHOLE, alpha=0), "int64"),
    (lambda: torch.randint(3, size=(2,), dtype=torch.int32), "int32"),
    (lambda: BYTES[0].sum_to_size(()), "int64"),
    (lambda: BYTES.sum_to_size(3), "uint8"),
    (lambda: F.kl_div(SINGLE, T(0.5), reduction="none"), "float32"),
    (lambda: F.multilabel_soft_margin_loss(SINGLE, T(1.0)), "float32"),
    (lambda: F.binary_cross_entropy(SINGLE / 4, SINGLE / 4, weight=ROW), "float32"),
    (lambda: torch.cumsum(ROW, 0, dtype=torch.float16), "float16"),
]


@pytest.mark.parametrize(("call", "dtype"), DTYPES)
def test_results_have_the_dtypes_of_pytorch(call: Callable[[], Any], dtype: str) -> None:
    assert str(call().dtype) == f"torch.{dtype}"


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: torch.addmm(WHOLE, WHOLE, WHOLE, alpha=1 + 2j), RuntimeError, "cannot be converted to type int64 without"),
    (lambda: torch.baddbmm(ROWS, ROWS, torch.ones(2, 3, 3), beta=2j), RuntimeError, "cannot be converted to type flo"),
    (lambda: torch.addmv(BYTES[:2], BYTES.expand(2, 3), BYTES, beta=-1.5), RuntimeError, "converted to type Byte"),
    (lambda: ROW.clip(100, ROW), TypeError, r"clip\(\) received an invalid combination of arguments"),
    (lambda: ROW.clone().clip_(100, ROW), TypeError, r"clip\(\) received an invalid combination of arguments"),
    (lambda: ROW.clone().clamp_(ROW, 100), TypeError, r"clamp\(\) received an invalid combination of arguments"),
    (lambda: T([-1]).lerp_(T([3]), T(1.0)), RuntimeError, "lerp_: the result is float64, which the tensor's dtype int"),
    (lambda: torch.lerp(T([-1]), T([3]), T(1)), NotImplementedError, "\"lerp\" not implemented for 'Long'"),
    (
        lambda: torch.lerp(T([-1]), T([3.0]), T(1.0)),
        RuntimeError,
        "expected tensors of one dtype, but got Long and Dou",
    ),
    (lambda: torch.gradient(T(8, dtype=torch.uint8)), NotImplementedError, "\"gradient\" not implemented for 'Byte'"),
    (lambda: torch.gradient(ROW, spacing=(1, 2), dim=0), RuntimeError, "to have the same length, but got 2 and 1"),
    (lambda: torch.logspace(0, 1, 3, base=2j), TypeError, "argument 'base' .*must be float, not complex"),
    (lambda: torch.tensor([2**63]), ValueError, "Overflow when unpacking long long: int64 does not hold 92233720"),
    (lambda: torch.tensor(-(2**64)), ValueError, "Overflow when unpacking long long: int64 does not hold 184467440"),
    (lambda: torch.tensor([-256], dtype=torch.uint8), RuntimeError, "-256 out of bounds for uint8"),
    (lambda: torch.Tensor(2.5), TypeError, r"new\(\): data must be a sequence \(got float\)"),
    (lambda: torch.Tensor(True), TypeError, r"new\(\): data must be a sequence \(got bool\)"),
    (lambda: torch.LongTensor(2.5), TypeError, r"new\(\): data must be a sequence \(got float\)"),
    (lambda: ROW.new(2j), TypeError, r"new\(\): data must be a sequence \(got complex\)"),
    (lambda: ROW.size(True), TypeError, r"size\(\): argument 'dim' must be int, not bool"),
    (lambda: ROW.stride(False), TypeError, r"stride\(\): argument 'dim' must be int, not bool"),
    (lambda: ROW.view(-2), RuntimeError, r"invalid shape dimension -2 at index 0 of shape \[-2\]"),
    (lambda: ROW.reshape((3, -7)), RuntimeError, r"invalid shape dimension -7 at index 1 of shape \[3, -7\]"),
    (lambda: torch.view_copy(ROW, (-3,)), RuntimeError, r"invalid shape dimension -3 at index 0"),
    (lambda: WHOLE.transpose(0), TypeError, r"transpose\(\) missing 1 required positional argument: 'dim1'"),
    (
        lambda: torch.transpose(WHOLE, dim0=0),
        TypeError,
        r"transpose\(\) missing 1 required positional argument: 'dim1'",
    ),
    (lambda: WHOLE.clone().transpose_(1), TypeError, r"transpose\(\) missing 1 required positional argument: 'dim1'"),
    (lambda: torch.arange(5, step=2), TypeError, r"arange\(\) received an invalid combination of arguments: got \(int"),
    (lambda: torch.arange(end=5, step=2), TypeError, r"arange\(\) received an invalid combination of arguments"),
    (lambda: torch.arange(start=5), TypeError, r"arange\(\) received an invalid combination of arguments"),
    (lambda: torch.range(end=5), TypeError, "missing 1 required positional argument: 'start'"),
    (lambda: torch.randint(True, (2,)), TypeError, r"randint\(\) received an invalid combination .*got \(bool, tuple"),
    (lambda: torch.randint(0, True, (2,)), TypeError, r"randint\(\) received an invalid combination"),
    (lambda: torch.randint(3, (True,)), TypeError, r"randint\(\) received an invalid combination"),
    (lambda: torch.randperm(True), TypeError, r"randperm\(\) received an invalid combination"),
    (lambda: torch.remainder(5, 3), TypeError, r"remainder\(\) received an invalid combination .*got \(int, int\)"),
    (lambda: torch.unsafe_split_with_sizes("x", [2]), TypeError, "argument 'input' .*must be Tensor, not str"),
    (
        lambda: F.fractional_max_pool2d(ROWS, 1, (3, 2)),
        RuntimeError,
        "windows of 1 are too large relative to an axis of length 1 for 3 of them",
    ),
    (lambda: F.interpolate(IMAGE, scale_factor=0), RuntimeError, "scale_factor=0 leaves nothing of the axes"),
    (lambda: F.interpolate(IMAGE, scale_factor=-1, mode="area"), RuntimeError, "scale_factor=-1 leaves nothing of the"),
    (
        lambda: F.interpolate(IMAGE, scale_factor=(2, 3, 4)),
        ValueError,
        r"expected 2 numbers for scale_factor, found \[2, 3, 4\]",
    ),
    (lambda: F.pad(ROWS, (-2, -2), "circular"), RuntimeError, "length must be non-negative, found .3. and padding .-2"),
    (lambda: F.pad(ROWS, (3, -1), "circular"), RuntimeError, "wrapping around more than once: .3, -1. of .2, 1, 3."),
    (lambda: F.nll_loss(NONE, T(2)), IndexError, "Dimension specified as 0 but tensor has no dimensions"),
    (lambda: F.nll_loss(torch.ones(1, 3), T(2)), ValueError, r"batch_size \(1\) to match target batch_size \(0\)"),
    (
        lambda: torch.istft(torch.zeros(2, 0) + 0j, 3),
        RuntimeError,
        r"expected a tensor with elements, but got shape \[2",
    ),
    (
        lambda: torch.istft(torch.ones(2, 2) + 0j, 3, return_complex=True),
        RuntimeError,
        "one half of the frequencies, 2 of 3, says nothing of a complex signal",
    ),
    (
        lambda: torch.istft(torch.ones(5, 6) + 0j, 8, window=torch.ones(8) + 0j),
        RuntimeError,
        "Complex windows are incompatible with return_complex=False",
    ),
    (lambda: torch.linspace(1e300, 0, 2, dtype=torch.complex64), RuntimeError, "value 1e.300 cannot be converted to"),
    (lambda: torch.linspace(0, 1e300j, 2, dtype=torch.complex64), RuntimeError, "value 1e.300j cannot be converted to"),
    (
        lambda: torch.where(ROW > 0, ROW.to(torch.complex64), 1e300),
        RuntimeError,
        "value 1e.300 cannot be converted to type complex64 without overflow",
    ),
    (
        lambda: F.scaled_dot_product_attention(WHOLE, WHOLE, WHOLE, torch.ones(2, 2)),
        NotImplementedError,
        "\"scaled_dot_product_attention\" not implemented for 'Long'",
    ),
    (
        lambda: torch.index_put(ROW, [T(0)], SINGLE[0]),
        RuntimeError,
        "dtypes match, got Double for the destination and Float for the source",
    ),
    (
        lambda: torch.index_put(SINGLE, [T(0, dtype=torch.int8)], SINGLE[0]),
        IndexError,
        "must be long, int, byte or bool tensors, found int8",
    ),
    (
        lambda: torch.ones(1, dtype=torch.uint8).masked_fill_(T(True), T(-8.6)),
        RuntimeError,
        "value cannot be converted to type uint8 without overflow",
    ),
    (
        lambda: torch.masked_fill(torch.ones(1, dtype=torch.float16), T(True), T(1e9)),
        RuntimeError,
        "value cannot be converted to type float16 without overflow",
    ),
    (
        lambda: torch.index_fill(WHOLE, 0, T([0]), T(float("nan"))),
        RuntimeError,
        "value cannot be converted to type int64 without overflow",
    ),
    (
        lambda: torch.triu_indices(0, 2, dtype=torch.int16),
        NotImplementedError,
        '"triu_indices" not implemented for \'i',
    ),
    (lambda: torch.tril_indices(2, 2, dtype=torch.int8), NotImplementedError, '"tril_indices" not implemented for \'i'),
    (
        lambda: T([True]).scatter_reduce(0, torch.zeros(0, dtype=torch.int64), T([True]), "mean"),
        NotImplementedError,
        "with 'mean' not implemented for 'Bool'",
    ),
    (
        lambda: torch.lu_unpack(torch.eye(2), T([[2, 2], [1, 2]], dtype=torch.int32)),
        RuntimeError,
        r"LU_pivots must have the batch of LU_data, found shapes \[2, 2\] and \[2, 2\]",
    ),
    (lambda: torch.cov(T([5]), fweights=T(0)), RuntimeError, "weights sum to zero, can't be normalized"),
    (
        lambda: torch.cov(ROW, aweights=T([1.0, 2.0])),
        RuntimeError,
        "expected aweights to have the same numel as there are observations in the input but got 2 != 3",
    ),
    (lambda: F.mse_loss(ROW, ROW, weight=T([1.0])), ValueError, "mse_loss: Weights and input must have the same size"),
    (lambda: F.avg_pool1d(NONE, 1), RuntimeError, r"Expected 2D or 3D \(batch mode\) tensor .* shape \[0, 3\]"),
    (lambda: F.max_pool2d(torch.ones(2, 0, 3, 3), 1), RuntimeError, r"but got shape \[2, 0, 3, 3\], whose samples"),
    (
        lambda: F.batch_norm(WHOLE[0], NONE[:, 0], NONE[:, 0], training=True),
        IndexError,
        r"shape \[2\], expected \(N, C",
    ),
    (
        lambda: F.batch_norm(WHOLE.double(), ROW[:2], None, training=True),
        ValueError,
        "running_mean and running_var must either both be None or neither be None",
    ),
    (
        lambda: torch.histogram(ROW, T([0.0, 1.0]), weight=T([1.0, 2.0])),
        RuntimeError,
        r"it should have the same shape as the input tensor excluding .*shape \[3, 1\] and weight with shape \[2\]",
    ),
    (lambda: T([1]).bernoulli(T(0.5 + 0.25j)), RuntimeError, "value cannot be converted to type double"),
    (
        lambda: torch.linalg.solve(torch.eye(3).expand(2, 3, 3), torch.ones(2, 3), left=False),
        RuntimeError,
        r"Incompatible shapes of A and B for the equation XA = B \(3x3 and 3x1\)",
    ),
    (lambda: F.hardtanh(WHOLE, max_val=-1.5), ValueError, "min_val cannot be greater than max_val"),
    (lambda: torch.masked.cumsum(1, -1, mask=T(True)), TypeError, "argument 'input' .* must be Tensor, not int"),
    (
        lambda: torch.ormqr(torch.ones(2, 3, 3), torch.ones(1, 3), torch.ones(2, 3, 3)),
        RuntimeError,
        r"Expected batch dimensions of tau to be equal to input.shape\[:-2\], \[2\], but got \[1\]",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_calls_are_refused_as_by_pytorch(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize(
    ("call", "shape", "other", "text"),
    [
        (F.soft_margin_loss, ((2, 3), (2, 3)), ((2, 1), (2, 3)), "doesn't match the broadcast shape"),
        (F.instance_norm, ((2, 3, 4), (3,), (3,)), ((2, 3, 4), (2,), (3,)), "running_mean should have shape"),
        (torch.linalg.lstsq, ((2, 3, 2), (2, 3)), ((2, 3, 2), (3, 3)), "The sizes of tensors must match"),
    ],
)
def test_shapes_of_a_call_of_a_known_kind_are_looked_at_each_time(call: Any, shape: Any, other: Any, text: str) -> None:
    for _ in range(2):
        call(*(torch.ones(lengths) for lengths in shape))
    with pytest.raises(RuntimeError, match=text):
        call(*(torch.ones(lengths) for lengths in other))


def test_complex_extremes_are_refused_where_a_call_of_nothing_was_taken() -> None:
    x = T([1j])
    x.scatter_reduce(0, torch.zeros(0, dtype=torch.int64), x, "amax")
    with pytest.raises(NotImplementedError, match="with 'amax' not implemented for 'ComplexDouble'"):
        x.scatter_reduce(0, torch.zeros(1, dtype=torch.int64), x, "amax")


def test_a_product_that_is_left_out_has_a_gradient_of_0() -> None:
    x = T([[1.0, 2.0], [3.0, 4.0]]).requires_grad_()
    torch.addmm(torch.ones(2, 2), x, torch.ones(2, 2), alpha=0).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_differences_between_places_have_derivatives_by_both() -> None:
    x, places = T([1.0, 2.0, 4.0]).requires_grad_(), T([0.0, 1.0, 3.0]).requires_grad_()
    torch.gradient(x, spacing=(places,))[0][0].backward()
    assert (x.grad.tolist(), places.grad.tolist()) == ([-1.0, 1.0, 0.0], [1.0, -1.0, 0.0])


def test_reflections_are_found_for_each_of_a_batch() -> None:
    x = T([[[3.0, 1.0], [4.0, 2.0]], [[0.0, 1.0], [2.0, 3.0]]])
    a, tau = torch.func.vmap(torch.geqrf)(x)
    for place in range(2):
        one = torch.geqrf(x[place])
        assert torch.allclose(a[place], one.a)
        assert torch.allclose(tau[place], one.tau)
    assert abs(a[0, 0, 0].item()) == pytest.approx(5.0)


def test_numbers_alone_decide_what_is_made_by_pytorchs_own_forms() -> None:
    least = {path: min(map(len, signatures_of(path).overloads)) for path in ("arange", "randint", "randperm", "range")}
    assert all(least.values())


def test_one_bound_and_a_size_are_taken_by_the_library_too() -> None:
    assert dk.randint(1, size=(2, 2)).tolist() == [[0, 0], [0, 0]]
    assert dk.nn.functional.scaled_dot_product_attention(
        dk.ones((2, 3)), dk.ones((0, 3)), dk.ones((0, 1))
    ).tolist() == [
        [0.0],
        [0.0],
    ]


def test_products_of_others_beyond_half_precision_leave_a_gradient_within_it() -> None:
    x = T([0.25, 320.0, 256.0], dtype=torch.float16).requires_grad_()
    (x.prod() / 2).backward()
    assert x.grad.tolist() == [40960.0, 32.0, 40.0]
    tangent = torch.func.jvp(torch.prod, (x.detach(),), (T([0.5, 0.0, 0.0], dtype=torch.float16),))[1]
    assert (tangent.item(), tangent.dtype) == (40960.0, torch.float16)


def test_complex_samples_keep_their_dtype_beside_a_weight_of_more_digits() -> None:
    x = T([1 + 0j], dtype=torch.complex64)
    assert F.rms_norm(x, (1,), T([8.0])).dtype == torch.complex64


def test_the_first_of_two_numbers_is_a_factor() -> None:
    with pytest.warns(UserWarning, match=r"give the factor by its name after the tensors \(alpha=3\)"):
        assert ROW.add(3, 0.5).tolist() == [2.5, 3.5, 5.5]
    with (
        pytest.warns(UserWarning, match="alpha=True"),
        pytest.raises(RuntimeError, match="Boolean alpha only supported for Boolean results"),
    ):
        T(True).add_(True, -1)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dtype", ["complex64", "int64", "float32"])
def test_a_softmax_of_nothing_is_what_it_is_of(name: str, dtype: str) -> None:
    for shape, dim in (((0, 3), 1), ((3, 0), 1), ((3, 0), 0)):
        x = torch.zeros(shape, dtype=getattr(torch, dtype))
        y = getattr(torch, name)(x, dim)
        assert (y.shape, y.dtype) == (x.shape, x.dtype)


def test_margins_that_are_booleans_are_numbers() -> None:
    functional, x, sign = torch.nn.functional, torch.tensor([0.5, -2.0]), torch.tensor([1.0, -1.0])
    for margin in (True, False):
        number = float(margin)
        for loss in (
            functional.hinge_embedding_loss,
            lambda *args, **kwargs: functional.margin_ranking_loss(x, *args, **kwargs),
        ):
            assert loss(x, sign, margin=margin) == loss(x, sign, margin=number)
        both = functional.cosine_embedding_loss, functional.multi_margin_loss
        for loss, args in zip(both, ((x[None], sign[None], sign[1:]), (x[None], torch.tensor([1]))), strict=True):
            assert loss(*args, margin=margin) == loss(*args, margin=number)


@pytest.mark.parametrize("name", ["transpose", "transpose_", "swapaxes"])
def test_axes_that_are_exchanged_are_whole_numbers_or_tensors_of_one(name: str) -> None:
    x = torch.zeros((2, 3, 4))
    assert getattr(x.clone(), name)(torch.tensor(1), 2).shape == (2, 4, 3)
    for axis in (torch.tensor([1, 0]), torch.tensor([1]), torch.tensor(1.5), 1.0, True):
        with pytest.raises(TypeError, match=r"argument '\w+' \(position 2\) must be int, not (Tensor|float|bool)"):
            getattr(x.clone(), name)(axis, 2)


@pytest.mark.parametrize("weights", [torch.float32, torch.float16])
@pytest.mark.parametrize(
    "kind",
    [
        lambda: torch.nn.LayerNorm(3),
        lambda: torch.nn.GroupNorm(2, 2),
        lambda: torch.nn.RMSNorm(3),
        lambda: torch.nn.BatchNorm1d(2),
        lambda: torch.nn.InstanceNorm1d(2, affine=True, track_running_stats=True),
    ],
)
def test_norms_of_half_precision_are_computed_in_single_precision(kind: Callable[[], Any], weights: Any) -> None:
    x = torch.arange(12.0).reshape(2, 2, 3) * 50  # whose squares are beyond half precision
    layer, single = kind().to(weights), kind().float()
    for training in (True, False):
        y = layer.train(training)(x.half())
        assert y.dtype == torch.float16
        assert torch.allclose(y.double(), single.train(training)(x.float()).double(), rtol=2e-3, atol=1e-6)
    assert all(p.dtype == weights for p in (*layer.parameters(), *layer.buffers()) if p.is_floating_point())


def test_functions_of_norms_take_weights_of_single_precision_beside_half() -> None:
    x, (weight, bias) = torch.ones(2, 2, 3).half().requires_grad_(), SINGLE[:2].unbind()
    weight, bias = weight.expand(2), bias.expand(2)
    for y in (
        F.batch_norm(x, None, None, weight, bias, training=True),
        F.group_norm(x, 2, weight, bias),
        F.instance_norm(x, None, None, weight, bias),
        F.layer_norm(x, (3,), SINGLE, SINGLE),
        F.rms_norm(x, (3,), SINGLE),
    ):
        assert y.dtype == torch.float16
        (gradient,) = torch.autograd.grad(y.sum(), x)
        assert gradient.dtype == torch.float16
    with pytest.raises(RuntimeError, match=r"mixed dtype \(CPU\): expect parameter bias"):
        F.group_norm(x, 2, weight.half(), bias)


def test_methods_take_axes_and_places_number_by_number() -> None:
    x = torch.arange(12.0).reshape(1, 3, 1, 4)
    assert x.squeeze(0, 2).shape == x.clone().squeeze_(0, 2).shape == x.squeeze((0, 2)).shape == (3, 4)
    assert (x.squeeze(0).shape, x.squeeze().shape) == ((3, 1, 4), (3, 4))
    assert x.count_nonzero(1, 3).tolist() == [[11]]
    assert [part.shape[1] for part in x.hsplit(1, 2)] == [1, 1, 1]
    assert [part.shape[0] for part in x[0].vsplit(1, 2)] == [1, 1, 1]
    assert [part.shape[1] for part in x.hsplit(3)] == [1, 1, 1]


@pytest.mark.parametrize("name", ["max", "min"])
def test_a_tensor_that_is_named_as_the_axis_is_no_second_operand(name: str) -> None:
    function, x = getattr(torch, name), torch.tensor([[1.0, 5.0], [4.0, 2.0]])
    for axis in (0, 1, 0):
        assert function(x, dim=T(axis)).values.tolist() == function(x, axis).values.tolist()
    assert function(x, T(3.0)).shape == function(x, other=T(3.0)).shape == (2, 2)
    with pytest.raises(TypeError, match="dim=Tensor"):
        function(x, dim=T([0, 1]))


def test_numbers_beyond_half_precision_count_in_products_and_quotients() -> None:
    x = T([0.25, -0.5]).half().requires_grad_()
    assert (x * 65536.0).tolist() == torch.mul(x, 65536.0).tolist() == (65536.0 * x).tolist() == [16384.0, -32768.0]
    assert x.detach().clone().mul_(65536.0).tolist() == [16384.0, -32768.0]
    assert (x / 65536.0).tolist() == torch.div(x, 65536.0).tolist() == [2.0**-18, -(2.0**-17)]
    (gradient,) = torch.autograd.grad((x / 65536.0).sum(), x)
    assert (gradient.tolist(), gradient.dtype) == ([2.0**-16] * 2, torch.float16)


def test_types_of_complex_numbers_have_names() -> None:
    z = T([1j])
    assert (z.type(), z.type("torch.ComplexFloatTensor").type()) == (
        "torch.ComplexDoubleTensor",
        "torch.ComplexFloatTensor",
    )


def test_the_method_takes_a_shape_number_by_number() -> None:
    assert ROW.broadcast_to(2, 3).shape == ROW.broadcast_to((2, 3)).shape == (2, 3)
    assert T([True]).broadcast_to(T(1)).shape == (1,)


def test_running_statistics_may_be_of_other_dtypes_than_samples() -> None:
    x, mean, var = torch.ones(2, 2, 3).float(), torch.zeros(2), torch.ones(2)
    assert F.instance_norm(x, mean, var, use_input_stats=False).dtype == torch.float32
    F.instance_norm(x, mean, var)
    assert (mean.tolist(), var.dtype) == (pytest.approx([0.1, 0.1]), torch.float64)


@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_rounded_quotients_have_gradients_of_0(mode: str) -> None:
    x, y = T([1.5, -2.5]).requires_grad_(), T([0.5, 1e-200]).requires_grad_()
    for operands in ((x, y), (x, 2.0), (2.0, y)):
        quotient = torch.div(*operands, rounding_mode=mode)
        leaves = [each for each in operands if isinstance(each, torch.Tensor)]
        gradients = torch.autograd.grad(quotient.sum(), leaves)
        assert [gradient.tolist() for gradient in gradients] == [[0.0, 0.0]] * len(leaves)


def test_infinite_quotients_are_reflected_as_by_pytorch() -> None:
    assert torch.isnan(1e300 // SINGLE).all()


@pytest.mark.parametrize("path", ["addmm", "index_fill", "lerp", "masked.sum", "masked_fill", "quantile", "scatter"])
def test_arguments_that_are_missing_are_named(path: str) -> None:
    function = torch
    for name in path.split("."):
        function = getattr(function, name)
    with pytest.raises(TypeError, match=r"missing \d required positional arguments: \"\w+\"|combination of arguments"):
        function()
    if path == "masked_fill":
        with pytest.raises(TypeError, match=r'masked_fill\(\) missing 2 required positional arguments: "mask"'):
            ROW.masked_fill()

"""Numbers among arguments: tensors without axes in their place, factors of sums, and numbers beside small integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch

torch: Any = dispatchkit.as_torch
F, T = torch.nn.functional, torch.tensor
SMALL = torch.ones(2, dtype=torch.int8)
BYTES = T([44, 2], dtype=torch.uint8)
SQUARE = T([[1.0, 2.0], [3.0, 4.0]])
SPECTRUM = torch.ones(3, 4, dtype=torch.complex128)
PLACES = torch.ones(1, 1, 3), torch.zeros(1, 1, 3, dtype=torch.int64)

TAKEN: list[tuple[Callable[[], Any], Any]] = [
    # Tensors without axes.
    (lambda: torch.addmm(T([1.0, 1.0]), SQUARE, SQUARE, alpha=T(2), beta=T(True)), [[15.0, 21.0], [31.0, 45.0]]),
    (lambda: torch.ones(2, 3, dtype=torch.int64).sum(T(True)), [3, 3]),
    (lambda: SQUARE.flip((T(True), T(0))), [[4.0, 3.0], [2.0, 1.0]]),
    (lambda: torch.concatenate([SQUARE], T(1)), SQUARE.tolist()),
    (lambda: torch.fft.fft2(torch.ones(2, 2), dim=T(1)).real, [[2.0, 0.0], [2.0, 0.0]]),
    (lambda: torch.min(SQUARE, T(2)), [[1.0, 2.0], [2.0, 2.0]]),
    (lambda: F.leaky_relu(T([-1.0, 1.0]), T(2.0)), [-2.0, 1.0]),
    (lambda: torch.masked.norm(T([3.0, 4.0]), T(2.0)), 5.0),
    (lambda: F.hardtanh(T([-3.0, 0.5, 3.0]), T(-1.0), T(2)), [-1.0, 0.5, 2.0]),
    (lambda: torch.norm(T([3.0, -4.0]), T(1)), 7.0),
    (lambda: torch.linalg.matrix_norm(SQUARE, T(float("inf"))), SQUARE.abs().sum(1).max()),
    # Factors.
    (lambda: SMALL.add(2, alpha=100), [-55, -55]),
    (lambda: torch.rsub(SMALL, 3, alpha=100), [-97, -97]),
    (lambda: BYTES.add(2, alpha=-1), [42, 0]),
    (lambda: BYTES.sub(SMALL, alpha=300), [-256, -298]),
    # Numbers that a dtype does not hold.
    (lambda: -1 / T([4], dtype=torch.uint8), [-0.25]),
    (lambda: 300 / T([4], dtype=torch.uint8), [75.0]),
    (lambda: torch.logspace(T(1.29), -4, 1, dtype=torch.uint8), [19]),
    (lambda: torch.isin(300, BYTES), True),
    (lambda: torch.isin(-1, T([255], dtype=torch.uint8)), True),
    (lambda: torch.isin(BYTES, 300), [True, False]),
    (lambda: torch.isin(1.5, BYTES), False),
    (lambda: F.hardtanh(T([3, 0], dtype=torch.uint8), -0.5, 1.5), [1, 0]),
    (lambda: torch.histc(T([1.5]), bins=2, min=True, max=3), [1.0, 0.0]),
    # Options that say nothing.
    (lambda: torch.masked.mean(T([2.0, 4.0]), dim=0, keepdim=None), 3.0),
    (lambda: torch.masked.amax(T([2.0, 4.0]), dim=0, keepdim="x"), [4.0]),
    (lambda: torch.masked.norm(T([3.0, 4.0]), 2.0, keepdim=None), 5.0),
    (lambda: [x.tolist() for x in torch.meshgrid(T([1, 2]), indexing=None)], [[1, 2]]),
    (lambda: [*torch.gradient(T([True, False]), dim=[])], []),
    (lambda: F.poisson_nll_loss(T([1j]), T([1]), full=True, reduction="none").real, [0.5403023]),
]


@pytest.mark.parametrize(("call", "value"), TAKEN)
def test_numbers_are_taken_as_in_pytorch(call: Callable[[], Any], value: Any) -> None:
    np.testing.assert_allclose(np.asarray(call()), value, rtol=1e-6)


REFUSED: list[tuple[Callable[[], Any], Any, str]] = [
    (lambda: SMALL.add(SMALL, alpha=300), RuntimeError, "value cannot be converted to type int8 without overflow"),
    (
        lambda: torch.index_add(SMALL, 0, T([0]), SMALL[:1], alpha=-300),
        RuntimeError,
        "cannot be converted to type int8",
    ),
    (lambda: torch.cumsum(SQUARE, T(True)), TypeError, r"'dim' \(position 2\) must be int, not Tensor"),
    (lambda: F.hardshrink(SQUARE, T(2.0, requires_grad=True)), TypeError, "'lambd' .* must be Number, not Tensor"),
    (lambda: torch.hstack(T([1, 0])), TypeError, r"'tensors' \(position 1\) must be tuple of Tensors, not Tensor"),
    (lambda: torch.full_like(SQUARE, 1, dtype=()), TypeError, "'dtype' .* must be torch.dtype, not tuple"),
    (lambda: torch.full_like(SQUARE, 1, device=[]), TypeError, "'device' .* must be Device, not list"),
    (lambda: torch.linspace(0, 1, 2, device=()), TypeError, "'device' must be Device, not tuple"),
    (lambda: torch.gather(SQUARE, 0, T([[0]]), sparse_grad=()), TypeError, "'sparse_grad' .* must be bool, not tuple"),
    (lambda: torch.index_put(SQUARE, (T([0]),), SQUARE[0], 1), TypeError, "'accumulate' .* must be bool, not int"),
    (lambda: torch.index_put(SQUARE, [1, 2], SQUARE[0]), TypeError, "'indices' .* must be tuple of Tensors"),
    (lambda: F.group_norm(SQUARE, 1, eps=[]), TypeError, r"'eps' \(position 5\) must be float, not tuple"),
    (
        lambda: F.local_response_norm(torch.ones(1, 3, 3), True),
        TypeError,
        r"'size' \(position 2\) must be int, not bool",
    ),
    (
        lambda: T([1, 2]).repeat_interleave(output_size=3),
        TypeError,
        r"got \(output_size=int\), but expected \(Tensor re",
    ),
    (lambda: torch.einsum("x", [1]), TypeError, "expected Tensor as element 0 in argument 1, but got int"),
    (lambda: torch.einsum("x", 1), TypeError, "expected Tensor as element 0 in argument 1, but got int"),
    (lambda: torch.tensor_split(SQUARE, T(2, dtype=torch.uint8)), RuntimeError, "to have dtype of long"),
    (lambda: torch.hstack([SQUARE], out=T([True])), TypeError, "can't be cast to the desired output type bool"),
    (lambda: torch.logit(SQUARE.float(), 1e300), RuntimeError, "cannot be converted to type Float without overflow"),
    (lambda: torch.meshgrid(), RuntimeError, "meshgrid expects a non-empty TensorList"),
    (lambda: torch.histogram(T([1.0]), T([2.0])), RuntimeError, "bins must be > 0, but got 0 .* with one edge"),
    (lambda: F.pad(T([[2, 1]]), (1, 0), "circular", 0.5), RuntimeError, "doesn't take in value argument"),
    (lambda: torch.masked.amax(T([True]), mask=T([True])), NotImplementedError, "not implemented for 'Bool'"),
    (
        lambda: torch.masked.logaddexp(T([1j]), T([1j]), input_mask=T([True])),
        NotImplementedError,
        "on complex input",
    ),
    (
        lambda: F.interpolate(torch.ones(1, 1, 2), None, 1e300, "linear", recompute_scale_factor=True),
        TypeError,
        "scale_factor=1e",
    ),
    (lambda: torch.logit(torch.ones(2, dtype=torch.float32), 1e300), RuntimeError, "type Float without overflow"),
    (lambda: torch.ones(3, generator=None), TypeError, "unexpected keyword argument 'generator'"),
    (lambda: torch.add(SQUARE, SQUARE, generator=None), TypeError, "generator"),
    (lambda: torch.sin(SQUARE, weight=None), TypeError, "unexpected keyword argument 'weight'"),
    (
        lambda: torch.stft(torch.ones(9), 4, win_length=0, return_complex=True),
        RuntimeError,
        "win_length <= n_fft, but got win_length=0",
    ),
    (lambda: torch.istft(SPECTRUM, 4, win_length=0), RuntimeError, "win_length <= n_fft, but got win_length=0"),
    (lambda: torch.istft(SPECTRUM, 4, hop_length=0), RuntimeError, "hop_length > 0, but got hop_length=0"),
    (lambda: torch.gradient(torch.ones(2, 1) + 1j, dim=1), RuntimeError, r"at least edge_order\+1"),
    (lambda: torch.gradient(SQUARE, dim=(0, 1), edge_order=2), RuntimeError, r"at least edge_order\+1"),
    (lambda: torch.linalg.lstsq(SQUARE, SQUARE, driver="x"), RuntimeError, "`driver` should be one of .* found 'x'"),
    (lambda: F.max_unpool2d(*PLACES, [3], 1.5), TypeError, "but found element of type float at pos 0"),
    (lambda: F.fractional_max_pool2d(torch.ones(1, 3, 3), [1], 1), RuntimeError, "kernel_size must .* tuple of 2 ints"),
    (lambda: F.fractional_max_pool3d(torch.ones(1, 3, 3, 3), 1, [1]), RuntimeError, "output_size must .* of 3 ints"),
    (lambda: F.multi_margin_loss(torch.ones(5), T([[3]])), RuntimeError, r"target size \[1\], but got \[1, 1\]"),
    (lambda: F.feature_alpha_dropout(torch.ones(3), 0.5, True), RuntimeError, "at least 2 dimensions in the input"),
    (
        lambda: F.instance_norm(torch.ones(3, 2, 4), torch.ones(1, 2), torch.ones(2)),
        RuntimeError,
        r"running_mean should have shape \[2\], .* found \[1, 2\]",
    ),
    (
        lambda: F.gaussian_nll_loss(*[torch.ones(2, dtype=torch.float32)] * 3, eps=1e300),
        RuntimeError,
        "type Float without overflow",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_numbers_are_refused_as_in_pytorch(call: Callable[[], Any], error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize(
    ("call", "dtype", "value"),
    [
        (lambda: torch.masked.median(SQUARE, 0, dtype=torch.int64)[0], SQUARE.dtype, 1.0),
        (lambda: torch.masked.median(T([1, 2, 3]), 0, dtype=torch.float64), torch.float64, 2.0),
        (lambda: torch.masked.argmax(T([1.0, 3.0]), 0, dtype=torch.bool), torch.bool, True),
        (lambda: torch.masked.argmin(T([3, 1]), 0, dtype=torch.complex64), torch.complex64, 1),
        (lambda: torch.masked.amin(T([-2, -4]), dtype=torch.complex128), torch.complex128, -4),
        (lambda: torch.masked.amax(T([1.5, 2.5]), dtype=torch.int64, mask=T([True, False])), torch.int64, 1),
        (lambda: torch.masked.prod(T([1.5, 2.5]), dtype=torch.int64), torch.int64, 2),
        (lambda: torch.masked.logaddexp(T([1 + 0j]), T([1 + 0j])).real.round()[0], SQUARE.dtype, 2.0),
    ],
)
def test_masked_reductions_are_cast_where_pytorch_casts_them(call: Callable[[], Any], dtype: Any, value: Any) -> None:
    y = call()
    assert y.dtype == dtype
    assert y.item() == value


def test_grids_and_inverses_of_no_elements_have_none() -> None:
    nothing = torch.grid_sampler_2d(torch.ones(0, 3, 5, 2), torch.ones(0, 3, 1, 2), 0, 0, False)
    assert tuple(nothing.shape) == (0, 3, 3, 1)
    assert tuple(torch.linalg.tensorinv(torch.ones(0, 2, 2, 0)).shape) == (2, 0, 0, 2)
    assert tuple(torch.linalg.tensorsolve(torch.ones(0, 2, 2, 0), torch.ones(0, 2)).shape) == (2, 0)


@pytest.mark.parametrize("least", [-1.0, 1e300, math.nan])
def test_the_least_share_of_integers_is_a_floating_point_number(least: float) -> None:
    for dtype in (torch.uint8, torch.int64, torch.bool):
        x = torch.tensor([1, 0], dtype=dtype)
        np.testing.assert_array_equal(torch.logit(x, least), torch.logit(x.to(torch.float64), least))


def test_nan_is_written_among_booleans_as_true() -> None:
    assert torch.tensor([False]).index_fill_(0, T([0]), math.nan).tolist() == [True]


@pytest.mark.parametrize("offset", [2**40, -(2**40), 2**63 - 1])
def test_diagonals_far_beyond_a_matrix_have_no_elements(offset: int) -> None:
    x = torch.ones(2, 3).requires_grad_()
    for y in (torch.linalg.diagonal(x, offset=offset), torch.diagonal(x, offset), torch.diag(x, offset)):
        assert tuple(y.shape) == (0,)
    (gradient,) = torch.autograd.grad(torch.diagonal(x, offset).sum(), x)
    assert gradient.tolist() == [[0.0] * 3] * 2
    assert torch.diagonal_scatter(x.detach(), torch.ones(0), offset).tolist() == [[1.0] * 3] * 2


def test_counts_of_cells_may_be_tensors_without_axes() -> None:
    points = torch.tensor([[0.1, 0.2], [0.9, 0.7], [0.3, 0.9]])
    expected = torch.histogramdd(points, [3, 2])
    for bins in ([T(3), T(2)], (3, T(2))):
        result = torch.histogramdd(points, bins)
        assert result.hist.tolist() == expected.hist.tolist()
        assert [edges.tolist() for edges in result.bin_edges] == [edges.tolist() for edges in expected.bin_edges]
    assert torch.histogramdd(points, T(2)).hist.tolist() == torch.histogramdd(points, 2).hist.tolist()


def test_factors_of_no_matrices_are_unpacked_whatever_their_pivots_are() -> None:
    P, L, U = torch.lu_unpack(torch.ones(0, 7, 5), torch.zeros(0, 5, 1, dtype=torch.int32))
    assert [tuple(x.shape) for x in (P, L, U)] == [(0, 7, 7), (0, 7, 5), (0, 5, 5)]
    P, L, U = torch.lu_unpack(torch.ones(2, 0, 3), torch.zeros(2, 1, dtype=torch.int32))
    assert [tuple(x.shape) for x in (P, L, U)] == [(2, 0, 0), (2, 0, 0), (2, 0, 3)]


def test_similarities_are_along_an_axis_of_what_both_are_broadcast_to() -> None:
    rows = torch.tensor([[1.0, 2.0], [3.0, -1.0]])
    for first in (T(2.0), T([2.0, 2.0])):
        expected = F.cosine_similarity(first.expand(2, 2), rows)
        np.testing.assert_allclose(F.cosine_similarity(first, rows, dim=1), expected)


def test_leaky_units_of_random_slopes_take_no_generator() -> None:
    assert torch.rrelu(T([-1.0, 1.0]), 0.25, 0.25, generator=None).tolist() == [-0.25, 1.0]


@pytest.mark.parametrize("function", [torch.norm, torch.linalg.norm, torch.linalg.vector_norm])
def test_gradients_of_norms_whose_order_is_a_tensor_are_arrays(function: Any) -> None:
    x = T([3.0, -4.0], requires_grad=True)
    function(x, T(1)).backward()
    assert type(x.grad.array) is np.ndarray
    assert x.grad.tolist() == [1.0, -1.0]


def test_norms_of_an_order_that_there_is_not_are_refused() -> None:
    for x in (T(2.0), T([2.0]), SQUARE):
        with pytest.raises(RuntimeError, match=r"linalg\.matrix_norm: Order x not supported"):
            torch.norm(x, "x", 0)

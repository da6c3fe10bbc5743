"""Functions whose values, dtypes or gradients PyTorch has otherwise than the array API or NumPy: its own are given."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch

torch: Any = dispatchkit.as_torch
F = torch.nn.functional
NAN, INF = math.nan, math.inf


def numbers(*elements: Any) -> Any:
    """Return a tensor of numbers in float64."""
    return torch.tensor([*elements], dtype=torch.float64)


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: torch.linspace(4.3, 50, 7, dtype=torch.uint8), [4, 11, 19, 27, 34, 42, 50]),
        (lambda: torch.linspace(-1, 2, 5, dtype=torch.int64), [-1, 0, 0, 1, 2]),
        (lambda: torch.linspace(3, -4.5, 6, dtype=torch.int32), [3, 1, 0, -1, -2, -4]),
        (lambda: torch.logspace(0.0, 2.5, 4, dtype=torch.int64), [1, 4, 21, 100]),
        (lambda: torch.arange(0, 5.0, 1.5, dtype=torch.int64), [0, 1, 2, 3, 4]),
        (lambda: torch.arange(0, 5.0, 1.5, dtype=torch.int32), [0, 1, 2, 3]),
        (lambda: torch.arange(-1, 2, 2, dtype=torch.uint8), [255, 1]),
        (lambda: torch.arange(4.7, -2, -1.2, dtype=torch.int64), [4, 3, 2, 1, 0, -1]),
        (lambda: torch.histc(numbers(-0.62, -0.9, 2.51), bins=3, min=-1.5), [0, 2, 0]),
        (lambda: torch.heaviside(numbers(NAN, 1, 0, -1), numbers(5.0)), [0, 1, 5, 0]),
        (lambda: torch.div(numbers(-INF, 7.0), 2.0, rounding_mode="floor"), [NAN, 3]),
        (lambda: INF // numbers(2.0, 0.0), [NAN, INF]),
        (lambda: torch.fmax(numbers(1, NAN, NAN), numbers(NAN, 2, NAN)), [1, 2, NAN]),
        (lambda: torch.fmin(numbers(1, NAN, 3), numbers(NAN, 2, 2)), [1, 2, 2]),
        (lambda: torch.diff(torch.tensor([True, False, False])), [True, False]),
        (lambda: torch.diff(numbers(1, 2), 0, append=numbers(5)), [1, 2]),
        (lambda: torch.linalg.pinv(numbers([2, 9], [1, 3]), hermitian=True), [[0.6, -0.2], [-0.2, 0.4]]),
        (lambda: torch.linalg.matrix_rank(numbers([1, 9], [1, 1]), hermitian=True), 1),
        (
            lambda: F.upsample_bilinear(torch.tensor([[[[50, 255]]]], dtype=torch.uint8), size=(1, 3)),
            [[[[50, 153, 255]]]],
        ),
        (lambda: F.max_pool2d(numbers([[1, NAN], [NAN, 2]]), 2, return_indices=True)[1], [[[2]]]),
        (lambda: F.hinge_embedding_loss(torch.tensor([1, 2, -3]), numbers(1, -1, 1), 2.5, reduction="sum"), -2),
        (lambda: F.huber_loss(numbers(0.0), numbers(-2.0), delta=INF), 2.0),
        (lambda: torch.special.chebyshev_polynomial_v(torch.tensor([2], dtype=torch.uint8), -1), [0.0]),
        (lambda: torch.istft(torch.arange(12.0).reshape(4, 3) * (1 + 0.5j), 4, onesided=False), [5 / 6, -7 / 6]),
        (lambda: torch.nanquantile(numbers([1, NAN, 4], [2, 6, 9]), numbers(0.25, 1), dim=1), [[1.75, 4], [4, 9]]),
        (lambda: torch.nanquantile(numbers([1, NAN, 4]), 0.4, dim=1, keepdim=True, interpolation="nearest"), [[1]]),
        (lambda: F.huber_loss(numbers(1, 2).float(), numbers(3, 6).float(), delta=1e300), 5.0),
        (lambda: F.smooth_l1_loss(numbers(1.0).float(), numbers(3.0).float(), beta=1e300), 0.0),
        (lambda: F.smooth_l1_loss(torch.tensor([3 + 4j]), torch.tensor([0j]), beta=0), 5.0),
        (lambda: F.smooth_l1_loss(torch.tensor([1, 2]), torch.tensor([4, 3]), beta=0.0, reduction="none"), [3, 1]),
        (lambda: F.nll_loss(numbers(1, 2, 3), torch.tensor([1]), reduction="none"), -2),
        (lambda: F.cross_entropy(numbers(0, 0), torch.tensor([1])), math.log(2)),
        (lambda: torch.stack(torch.split(torch.arange(4), torch.tensor(2.5))), [[0, 1], [2, 3]]),
        (lambda: torch.stack(torch.arange(2).split(torch.tensor(True))), [[0], [1]]),
    ],
)
def test_values_are_pytorchs(call: Callable[[], Any], value: Any) -> None:
    np.testing.assert_allclose(call().numpy(), value, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        (lambda x: torch.special.xlog1py(True, x), "float32"),
        (lambda x: torch.special.xlog1py(x, 2), "float32"),
        (lambda x: torch.diff(x, prepend=torch.tensor([1])), "float32"),
        (lambda x: torch.cov(torch.tensor([[1, 2]]), aweights=x), "float32"),
        (lambda x: torch.block_diag(torch.tensor([[1]]), x), "float32"),
        (lambda x: torch.column_stack([x[:1], torch.tensor(1j, dtype=torch.complex128)]), "complex128"),
        (lambda x: torch.addr(torch.tensor(1.0, dtype=torch.float64), x, x), "float64"),
        (lambda x: F.smooth_l1_loss(x, torch.tensor([1, 2])), "float32"),
        (lambda x: F.gaussian_nll_loss(x, x, torch.tensor(4.0, dtype=torch.float64)), "float64"),
        (lambda x: torch.trapezoid(torch.zeros(0, dtype=torch.int8)), "int8"),
        (lambda x: torch.gradient(x, spacing=1j)[0], "complex64"),
        (lambda x: F.cosine_similarity(x, torch.tensor(1.0, dtype=torch.float64), 0), "float64"),
        (lambda x: F.smooth_l1_loss(torch.tensor([1]), torch.tensor([4]), beta=0, reduction="sum"), "int64"),
    ],
)
def test_dtypes_are_pytorchs(call: Callable[[Any], Any], dtype: str) -> None:
    assert call(torch.tensor([1.0, 2.0], dtype=torch.float32)).dtype.name == dtype


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("weights", [None, torch.tensor([1, 2])])
def test_covariances_of_integers_have_the_default_dtype(dtype: Any, weights: Any) -> None:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        assert torch.cov(torch.tensor([1, 2]), fweights=weights).dtype == dtype
    finally:
        torch.set_default_dtype(before)


@pytest.mark.parametrize(
    ("one", "other", "of_single", "of_double"),
    [
        (1.0, 0.0, "float32", "float64"),
        (True, 0.5, "float32", "float64"),
        (1, 2j, "complex64", "complex128"),
        (1, 2, "int64", "int64"),
    ],
)
def test_a_choice_between_numbers_has_the_default_dtype(one: Any, other: Any, of_single: str, of_double: str) -> None:
    before = torch.get_default_dtype()
    try:
        for dtype, name in ((torch.float64, of_double), (torch.float32, of_single), (torch.float64, of_double)):
            torch.set_default_dtype(dtype)
            y = torch.where(torch.tensor([True, False]), one, other)
            assert (y.dtype.name, y.tolist()) == (name, [one, other])
    finally:
        torch.set_default_dtype(before)


def test_the_gradient_of_logarithms_of_sums_of_equal_complex_numbers_is_shared() -> None:
    x = torch.tensor([1 + 2j, 1 + 2j], requires_grad=True)
    torch.logcumsumexp(x, 0)[1].real.backward()
    assert x.grad.tolist() == [0.5, 0.5]


def test_sums_of_complex_exponentials_are_taken_one_after_the_other() -> None:
    y = torch.logcumsumexp(torch.tensor([8.3 - 2.4j, -3 - 8.3j, 8.4 - 7.2j]), 0)
    np.testing.assert_allclose(y.numpy()[2], 8.7408 - 7.8959j, atol=1e-4)


def test_of_equal_numbers_the_first_gets_the_gradient_of_fmax_and_fmin() -> None:
    for function in (torch.fmax, torch.fmin):
        x, y = (torch.tensor([1.0], requires_grad=True) for _ in range(2))
        function(x, y).sum().backward()
        assert (x.grad.tolist(), y.grad.tolist()) == ([1.0], [0.0])


def test_the_gradient_of_a_quantile_without_nan_reaches_the_neighbours() -> None:
    x = torch.tensor([1.0, NAN, 4.0], dtype=torch.float64, requires_grad=True)
    torch.nanquantile(x, 0.25).backward()
    assert x.grad.tolist() == [0.75, 0.0, 0.25]


# Below the line through the rows' neighbours of a quantile; at an element, and where one is chosen, 0.
SLOPES = [("linear", [3, 6, 0], [9, 6, 0]), ("midpoint", [0] * 3, [0] * 3), ("lower", [0] * 3, [0] * 3)]


@pytest.mark.parametrize("function", [torch.quantile, torch.nanquantile])
@pytest.mark.parametrize(("method", "first", "second"), SLOPES)
def test_quantiles_have_the_derivative_by_the_share(function: Any, method: str, first: Any, second: Any) -> None:
    x = numbers([1, 4, 2, 8], [3, 5, 9, 0])
    q = numbers(0.1, 0.55, 1 / 3).requires_grad_()
    y = function(x, q, dim=1, interpolation=method)
    assert y.requires_grad == (method == "linear")
    if y.requires_grad:
        for row, slopes in enumerate((first, second)):
            (slope,) = torch.autograd.grad(y[:, row].sum(), [q], retain_graph=True)
            np.testing.assert_allclose(slope.numpy(), slopes, atol=1e-12)


@pytest.mark.parametrize("function", [torch.quantile, torch.nanquantile])
def test_derivatives_of_quantiles_are_those_of_differences(function: Any) -> None:
    x = numbers([1, 4, 2, 8], [3, 5, 9, 0]).requires_grad_()
    q = numbers(0.1, 0.55).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, q: function(x, q, 1), (x, q))
    assert torch.autograd.gradgradcheck(lambda x, q: function(x, q, 1) ** 2, (x, q))
    x, q = x.detach(), q.detach()
    tangent = torch.func.jvp(lambda q: function(x, q, 1), (q,), (torch.ones_like(q),))[1]
    np.testing.assert_allclose(tangent.numpy(), [[3, 9], [6, 6]])
    by_row = torch.vmap(torch.func.grad(lambda x, q: function(x, q).sum(), argnums=1), in_dims=(0, None))
    np.testing.assert_allclose(by_row(x, q).numpy(), [[3, 6], [9, 6]])
    by_share = torch.vmap(torch.func.grad(lambda q: function(x, q, 1).sum()))
    np.testing.assert_allclose(by_share(q).numpy(), [12, 12])


def test_the_derivative_of_a_quantile_by_the_share_leaves_out_nan() -> None:
    q = numbers(0.25).requires_grad_()
    torch.nanquantile(numbers(1, NAN, 4), q).sum().backward()
    assert q.grad.tolist() == [3.0]


@pytest.mark.parametrize("delta", [1e300, INF])
def test_a_bound_that_a_dtype_does_not_hold_bounds_no_gradient(delta: float) -> None:
    x = torch.tensor([1.0, 2.0], dtype=torch.float32, requires_grad=True)
    F.huber_loss(x, numbers(3, 6).float(), delta=delta, reduction="sum").backward()
    assert x.grad.tolist() == [-2.0, -4.0]


def test_results_share_the_memory_that_they_share_in_pytorch() -> None:
    x = torch.tensor(2.0)
    assert np.shares_memory(torch.masked.prod(x).numpy(), x.numpy())
    assert np.shares_memory(F.dropout(x, 0.0, True).numpy(), x.numpy())
    assert not np.shares_memory(x.sum_to_size([]).numpy(), x.numpy())


@pytest.mark.parametrize("offset", [-7, -2, 2, 7])
def test_diagonals_beyond_the_matrix_have_a_derivative(offset: int) -> None:
    x = dk.ones((2, 2)).requires_grad_()
    dk.sum(dk.linalg.diagonal(x, offset=offset)).backward()
    assert np.asarray(x.grad).tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: torch.arange(0, INF), "arange: unsupported range: 0 -> inf"),
        (lambda: torch.arange(0, 3, 0), "arange: step must be nonzero"),
        (lambda: torch.arange(0, -3), "arange: upper bound and lower bound inconsistent with step sign"),
        (lambda: torch.linspace(0, 1, -1), "number of steps must be non-negative"),
        (lambda: torch.linspace(3, -4.5, 6, dtype=torch.uint8), "value cannot be converted to type uint8"),
        (lambda: torch.linalg.pinv(torch.ones(3, 2), hermitian=True), "linalg.pinv: A must be batches of square"),
        (lambda: torch.histc(numbers(1.0), min=2, max=1), "histc: max must be larger than min"),
        (lambda: torch.diff(torch.tensor(1.0)), "diff expects input to be at least one-dimensional"),
    ],
)
def test_what_pytorch_refuses_of_ranges_and_matrices_is_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        call()


@pytest.mark.parametrize(("name", "sign"), [("max", 1.0), ("min", -1.0)])
def test_the_gradient_of_an_extreme_along_an_axis_goes_to_the_element_of_the_index(name: str, sign: float) -> None:
    x = torch.tensor([[3.0 * sign, 3.0 * sign], [-1.0 * sign, -4.0 * sign]], requires_grad=True)
    values, indices = getattr(torch, name)(x, -1, keepdim=True)
    values.sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0], [1.0, 0.0]]
    assert indices.tolist() == [[0], [0]]
    assert getattr(x, name)(0).values.tolist() == getattr(x.detach(), f"a{name}")(0).tolist()


@pytest.mark.parametrize(
    ("name", "elements", "gradient"),
    [
        ("median", (NAN, 1.0, NAN), [0.5, 0.0, 0.5]),
        ("median", (INF, INF, 1.0), [0.5, 0.5, 0.0]),
        ("nanmedian", (NAN, NAN), [0.5, 0.5]),
        ("nanmedian", (-INF, NAN, -INF), [0.5, 0.0, 0.5]),
    ],
)
def test_the_gradient_of_a_median_that_is_not_finite_is_shared_by_the_elements_that_are_it(
    name: str, elements: Any, gradient: Any
) -> None:
    x = numbers(*elements).requires_grad_()
    getattr(torch, name)(x).backward()
    assert x.grad.tolist() == gradient


@pytest.mark.parametrize("loss", [F.huber_loss, F.smooth_l1_loss])
def test_the_second_derivative_of_a_bounded_square_is_0_at_its_bound(loss: Any) -> None:
    x = numbers(-1.0, 0.5, 1.0, 2.0).requires_grad_()
    (slope,) = torch.autograd.grad(loss(x, torch.zeros_like(x), reduction="sum"), x, create_graph=True)
    assert slope.tolist() == [-1.0, 0.5, 1.0, 1.0]
    assert torch.autograd.grad(slope.sum(), x)[0].tolist() == [0.0, 1.0, 0.0, 0.0]


def test_places_of_another_shape_than_the_elements_are_counted_along_the_same_axis() -> None:
    assert torch.trapz(numbers(4.5), torch.tensor(2.0)).tolist() == 0.0
    assert torch.cumulative_trapezoid(numbers(1.0), numbers(1.0)[None]).shape == (0, 0)
    y = torch.arange(6.0).reshape(2, 3)
    assert torch.trapezoid(y, numbers(1.0, 3.0)[:, None], dim=0).tolist() == [3.0, 5.0, 7.0]


def test_grid_sample_reads_infinities_and_nothing_beyond_the_ends() -> None:
    x = torch.tensor([[[[INF, 1.0], [2.0, 3.0]]]])
    grid = torch.tensor([[[[-1.0, -1.0], [1.0, 1.0], [1.0, -1.0], [INF, 0.0], [NAN, 0.0]]]])
    assert F.grid_sample(x, grid, "nearest", align_corners=True).tolist() == [[[[INF, 3.0, 1.0, 0.0, 0.0]]]]
    y = F.grid_sample(x, grid, padding_mode="border", align_corners=True)
    assert y.tolist() == [[[[INF, 3.0, 1.0, 2.0, INF]]]]


def test_bicubic_grid_sample_is_a_convolution_with_the_cubic_of_minus_three_quarters() -> None:
    x, grid = torch.tensor([[[[1.0, 2.0, 4.0, 8.0]]]]), torch.tensor([[[[0.0, 0.0], [-1 / 3, 0.0]]]])
    y = F.grid_sample(x, grid, "bicubic", "border", align_corners=True)
    halfway = 0.59375 * (2 + 4) - 0.09375 * (1 + 8)
    np.testing.assert_allclose(y.numpy().ravel(), [halfway, 2.0], rtol=1e-6)
    with pytest.raises(RuntimeError, match="bicubic interpolation only supports 4D input"):
        F.grid_sample(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 1, 1, 3), "bicubic")


def test_solutions_have_the_dtype_of_the_matrix() -> None:
    A = 2 * torch.eye(2, dtype=torch.complex64)
    y = torch.linalg.solve_triangular(A, torch.ones(2, 1, dtype=torch.float64), upper=True)
    assert (y.dtype, y.tolist()) == ("complex64", [[0.5], [0.5]])
    with pytest.raises(RuntimeError, match="expected tensors of one dtype, but got Double and ComplexFloat"):
        torch.triangular_solve(torch.ones(2, 1, dtype=torch.float64), A)


def test_ends_of_other_dtypes_make_numbers_of_the_default_dtype() -> None:
    assert torch.linspace(numbers(0.0)[0], 1, 2).dtype == torch.get_default_dtype()


def test_masked_logarithms_of_sums_have_the_dtype_of_the_first_operand() -> None:
    y = torch.masked.logaddexp(torch.tensor([1, 2]), numbers(-INF, 2.0), other_mask=torch.tensor([True, False]))
    assert (y.dtype, y.tolist()) == ("int64", [1, 2])


@pytest.mark.parametrize("upper", [False, True])
def test_the_triangle_that_a_factor_has_not_gets_no_gradient(upper: bool) -> None:
    factor = torch.tensor([[2.0, 0.7], [1.0, 3.0]], dtype=torch.float64, requires_grad=True)
    unread = (1, 0) if upper else (0, 1)
    for solution in (
        torch.cholesky_inverse(factor, upper),
        torch.cholesky_solve(torch.ones_like(factor), factor, upper),
    ):
        (gradient,) = torch.autograd.grad(solution.sum(), factor)
        assert gradient[unread].item() == 0.0
        assert gradient[unread[::-1]].item() != 0.0


def test_quantiles_between_infinities_are_pytorchs() -> None:
    assert math.isnan(torch.quantile(torch.tensor([INF, INF, INF]), 0.5).item())
    assert torch.nanquantile(torch.tensor([NAN, INF, 1.0]), 0.9, interpolation="higher").item() == INF
    assert torch.quantile(torch.tensor([[1.0, NAN], [1.0, 3.0]]), 0.5, dim=1).tolist()[1] == 2.0


def test_products_of_small_integers_leave_their_dtype_as_in_pytorch() -> None:
    x, y = torch.tensor([[1, 200]], dtype=torch.uint8), torch.tensor([[3, 100]], dtype=torch.uint8)
    assert abs(F.cosine_embedding_loss(x, y, torch.tensor([1])).item() - 0.1318) < 1e-4
    assert torch.masked.logsumexp(torch.tensor(6, dtype=torch.int16), -1, mask=torch.tensor(False)).item() == -(2**15)
    assert (
        torch.masked.var(torch.tensor([200, 100, 3]), dtype=torch.uint8, mask=torch.tensor([True, True, False])).item()
        == 136
    )


def test_the_variance_of_nothing_is_nan_whatever_the_correction() -> None:
    assert math.isnan(torch.var(torch.zeros(0), correction=-1.5).item())

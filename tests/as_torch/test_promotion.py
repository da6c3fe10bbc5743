"""Operands of several dtypes have PyTorch's dtype in common, and what cannot be cast is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch

torch: Any = dispatchkit.as_torch
INTS = torch.tensor([1, 2])
FLOATS = torch.tensor([1.5, 2.5], dtype=torch.float32)
F = torch.nn.functional


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        (lambda: INTS + FLOATS, "float32"),
        (lambda: torch.add(INTS, FLOATS), "float32"),
        (lambda: INTS.mul(FLOATS), "float32"),
        (lambda: FLOATS * torch.tensor(2.0), "float32"),
        (lambda: INTS * torch.tensor(2.0, dtype=torch.float32), "float32"),
        (lambda: INTS.to(torch.int8) + torch.tensor(300), "int8"),
        (lambda: INTS.to(torch.uint8) + INTS.to(torch.int8), "int16"),
        (lambda: FLOATS * 1j, "complex64"),
        (lambda: 2 ** INTS.to(torch.int32), "int32"),
        (lambda: torch.cat([INTS, FLOATS]), "float32"),
        (lambda: torch.where(INTS > 1, INTS, 0.5), "float64"),
        (lambda: torch.div(INTS, INTS, rounding_mode="trunc"), "int64"),
        (lambda: INTS / INTS, "float64"),
        (lambda: F.relu6(INTS), "int64"),
        (lambda: torch.square(INTS > 1), "int64"),
        (lambda: torch.special.chebyshev_polynomial_t(1, FLOATS), "float32"),
        (lambda: torch.logspace(0, 2, 3, dtype=torch.int64), "int64"),
        (lambda: torch.masked.std(torch.tensor([1 + 1j, 2j])), "complex128"),
        (lambda: FLOATS * np.log(2.0), "float32"),
        (lambda: np.float64(2.0) * FLOATS, "float32"),
        (lambda: torch.add(FLOATS, np.float64(2.0)), "float32"),
        (lambda: FLOATS.clamp(min=np.float64(2.0)), "float32"),
        (lambda: torch.where(INTS > 1, FLOATS, np.float64(2.0)), "float32"),
        (lambda: INTS.to(torch.int8) * np.int64(2), "int8"),
        (lambda: torch.as_tensor(np.float32(2.0)), "float32"),
    ],
)
def test_results_have_pytorchs_dtype(call: Callable[[], Any], dtype: str) -> None:
    assert str(call().dtype) == f"torch.{dtype}"


def test_a_dtype_in_common_is_differentiated_through() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * INTS + x * FLOATS).sum().backward()
    assert x.grad.tolist() == [2.5, 4.5]
    assert torch.func.vmap(lambda row: row + INTS)(FLOATS[:, None]).tolist() == [[2.5, 3.5], [3.5, 4.5]]


def test_numbers_beyond_the_range_of_a_dtype_wrap() -> None:
    small = torch.tensor([1, 2], dtype=torch.uint8)
    assert (small - 3).tolist() == [254, 255]
    assert (1 - small).tolist() == [0, 255]
    small //= 2
    assert (small.dtype, small.tolist()) == ("uint8", [0, 1])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: INTS.clone().add_(0.5), RuntimeError, "add_: the result is float64, which the tensor's dtype int64"),
        (lambda: INTS.clone().clamp_(), RuntimeError, "At least one of 'min' or 'max' must not be None"),
        (
            lambda: torch.mm(torch.eye(2), torch.eye(2, dtype=torch.float32)),
            RuntimeError,
            "mm: expected tensors of",
        ),
        (lambda: torch.add(INTS, INTS, alpha=0.5), RuntimeError, "argument alpha must not be a floating point number"),
        (lambda: INTS // 0, RuntimeError, "ZeroDivisionError"),
        (lambda: INTS**-1, RuntimeError, "Integers to negative integer powers are not allowed"),
        (lambda: INTS - True, RuntimeError, "with a bool tensor is not supported"),
        (lambda: abs(INTS > 1), NotImplementedError, "\"abs\" not implemented for 'Bool'"),
        (lambda: torch.trace(INTS), RuntimeError, "trace(): Expected input to have 2 dimensions, but got 1"),
        (lambda: torch.index_select(INTS, 0, INTS[None]), IndexError, "Expected index to have 0 to 1 dimensions"),
        (lambda: F.mse_loss(FLOATS, FLOATS, reduction="all"), ValueError, "mse_loss: reduction must be 'none', 'mean'"),
        (lambda: F.mse_loss(FLOATS, FLOATS, axis=1), TypeError, "got an unexpected keyword argument 'axis'"),
        (lambda: torch.block_diag([INTS]), TypeError, "expected Tensor as element 0 in argument 0, but got list"),
        (lambda: torch.meshgrid(INTS, FLOATS), RuntimeError, "meshgrid expects all tensors to have the same dtype"),
        (lambda: torch.meshgrid([torch.eye(2)]), RuntimeError, "Expected tensors to have 0 to 1 dimensions"),
        (lambda: torch.mvlgamma(FLOATS, 0), RuntimeError, "p has to be greater than or equal to 1"),
        (lambda: torch.view_as_complex(torch.ones(3)), RuntimeError, "Tensor must have a last dimension of size 2"),
        (lambda: torch.tensordot(torch.ones(2), torch.ones(3), 1), RuntimeError, "contracted dimensions need to match"),
        (lambda: F.dropout(FLOATS, 2.0), ValueError, "dropout: p must be from 0 to 1, found 2.0"),
    ],
)
def test_what_pytorch_refuses_is_refused_in_its_class(call: Callable[[], Any], error: Any, text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        call()


def test_losses_take_the_old_words_for_a_reduction() -> None:
    x, y = torch.ones(2), torch.zeros(2)
    assert F.mse_loss(x, y, False).item() == 2.0
    assert F.mse_loss(x, y, reduce=False).tolist() == [1.0, 1.0]
    assert F.mse_loss(x, y, None, None, "sum").item() == 2.0
    with pytest.warns(UserWarning, match="Using a target size"):
        assert F.l1_loss(x, torch.zeros(1)).item() == 1.0


def test_powers_and_interpolations_are_pytorchs() -> None:
    assert torch.pow(torch.tensor([2, 1, -1]), torch.tensor([-1, -2, -3])).tolist() == [0, 1, -1]
    assert torch.lerp(torch.tensor([float("inf")]), torch.tensor([3.0]), 1.5).tolist() == [-float("inf")]
    assert torch.linspace(-2.0, 0, 5, dtype=torch.int64).tolist() == [-2, -1, -1, 0, 0]
    assert torch.logsumexp(torch.tensor([1 + 8j, -50 + 0j]), 0).imag.item() == pytest.approx(8 - 2 * 3.141592653589793)
    assert torch.lgamma(torch.tensor([-float("inf")])).tolist() == [float("inf")]
    assert torch.cholesky_inverse(torch.tensor([[2.0, 9.0], [0.0, 1.0]])).tolist() == [[0.25, 0.0], [0.0, 1.0]]


def test_copies_that_are_views_in_pytorch_are_not_written_into() -> None:
    z = torch.tensor([1 + 2j, 3 - 1j])
    for part in (z.conj(), torch.ones(2, 2).unfold(0, 1, 1)):
        with pytest.raises(ValueError, match="read-only"):
            part.zero_()
    x = torch.arange(4.0).reshape(1, 1, 2, 2)
    torch.nn.functional.pixel_shuffle(x, 1).zero_()
    assert x.sum().item() == 6.0
    assert F.dropout(x, 0.5, False) is x


def test_infinities_and_complex_numbers_are_those_of_pytorchs_formulas() -> None:
    inf = float("inf")
    assert torch.tensor([inf, -1.0]).floor_divide(torch.tensor([3.0, inf])).isnan().tolist() == [True, False]
    assert (torch.tensor([-1.0]) // torch.tensor([inf])).tolist() == [-1.0]
    z = torch.logaddexp(torch.tensor([1.0 + 5j]), torch.tensor([-40.0 + 0j]))
    assert z.imag.item() == pytest.approx(5.0)
    assert torch.linalg.lu_factor(torch.tensor([[3.0 + 3j, 1], [5.0, 1]])).pivots.tolist() == [1, 2]
    assert torch.trapezoid(torch.tensor([100, 100], dtype=torch.int8), dx=1).item() == 228.0


def test_numbers_of_a_list_are_spread_over_the_arguments_of_methods_alone() -> None:
    x = torch.zeros(2, 3)
    assert x.permute(1, 0).shape == x.view(3, 2).shape == x.reshape(3, 2).shape == (3, 2)
    with pytest.raises(TypeError, match="permute"):
        torch.permute(x, 1, 0)
    line = torch.ones(2, requires_grad=True)
    line.permute(0).sum().backward()
    assert line.grad.tolist() == [1.0, 1.0]


def test_one_index_without_axes_keeps_an_axis() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.index_select(x, 1, torch.tensor(1)).tolist() == [[1.0], [4.0]]


@pytest.mark.parametrize(
    ("name", "dtype", "of_result"),
    [
        ("sum", None, "int64"),
        ("sum", "int32", "int32"),
        ("sum", "uint8", "uint8"),
        ("sum", "bool", "bool"),
        ("cumsum", None, "int16"),
        ("cumsum", "int32", "int32"),
        ("cumprod", "uint8", "uint8"),
        ("prod", "int32", "int64"),
    ],
)
def test_masked_sums_have_the_dtype_that_is_asked_for(name: str, dtype: str | None, of_result: str) -> None:
    x, mask = torch.tensor([2, 3], dtype=torch.int16), torch.tensor([True, False])
    asked = None
    if dtype is not None:
        asked = getattr(torch, dtype)
    assert getattr(torch.masked, name)(x, dim=0, mask=mask, dtype=asked).dtype == of_result


def test_masked_products_are_along_several_axes() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert torch.masked.prod(x, (0, 1), mask=x != 3.0).item() == 8.0
    assert torch.masked.prod(x, (0,), keepdim=True).tolist() == [[3.0, 8.0]]


def test_programs_ask_for_dtypes_in_common() -> None:
    assert torch.promote_types(torch.int64, torch.float32) == torch.float32
    assert torch.result_type(FLOATS, 1j) == torch.complex64
    assert torch.result_type(INTS, torch.tensor(1.0, dtype=torch.float32)) == torch.float32
    assert (torch.can_cast(torch.float32, torch.int64), torch.can_cast(torch.int64, torch.uint8)) == (False, True)


def test_elements_of_a_tensor_without_axes_are_gathered_in_the_shape_of_the_index() -> None:
    assert torch.gather(torch.tensor(3.0), 0, torch.tensor([0])).tolist() == [3.0]
    assert torch.gather(torch.eye(2), 1, torch.tensor([[0], [1]])).tolist() == [[1.0], [1.0]]
    assert torch.masked.var(torch.tensor([1, 2, 3])).dtype == torch.float32


def test_numbers_of_polynomials_and_targets_of_losses_count_for_the_dtype() -> None:
    x, whole = torch.ones(2, dtype=torch.float32), torch.ones(2, dtype=torch.int32)
    assert torch.nn.functional.mse_loss(x, x).dtype == torch.float32  # after which tensors are known to fit
    assert torch.nn.functional.mse_loss(x, whole).dtype == torch.float32
    assert torch.nn.functional.mse_loss(whole, x).dtype == torch.float32
    assert torch.special.hermite_polynomial_he(whole, x).dtype == torch.float32
    assert torch.special.chebyshev_polynomial_w(x, whole).dtype == torch.float32


def test_infinite_divisors_and_dividends_have_pytorchs_whole_quotients() -> None:
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([-1.0, 1.0], dtype=torch.float64)
    assert (
        torch.floor_divide(x, inf).tolist() == (x // inf).tolist() == x.clone().floor_divide_(inf).tolist() == [-1, 0]
    )
    y = torch.tensor([inf, -3.0], dtype=torch.float64)
    y //= 2.0
    assert repr(y.tolist()) == repr([nan, -2.0])
    assert torch.tensor([nan, -2.0, 0.0]).sgn_().tolist() == [0, -1, 0]
    assert torch.angle(torch.tensor([-0.0, -1.0, 2.0])).tolist() == [0, 3.141592653589793, 0]


def test_whole_numbers_are_rolled_compared_and_averaged_as_in_pytorch() -> None:
    x = torch.tensor([[0, -4, 3], [0, -2, 4]])
    assert x.roll((2,), dims=()).tolist() == [[-2, 4, 0], [-4, 3, 0]]
    assert torch.nn.functional.threshold(torch.tensor([-1, -3, 5]), -1.5, 2.0).tolist() == [2, 2, 5]
    target = torch.tensor([[-1.0, -2.0], [-3.0, -4.0]], dtype=torch.float64)
    whole = torch.nn.functional.kl_div(torch.tensor(0.0), target, reduction="batchmean", log_target=True)
    # The batch is that of the input, which is one number.
    assert abs(whole.item() + sum(n * 2.718281828459045**-n for n in (1, 2, 3, 4))) < 1e-12
    assert torch.linalg.vander(torch.tensor(4), N=3).tolist() == [[1, 4, 16]]
    assert torch.ones(2, 3).bernoulli(p=0.0).tolist() == [[0] * 3] * 2
    empty = torch.masked_scatter(x, x > 9, torch.zeros(0, dtype=torch.int64))
    empty.zero_()
    assert x[0, 1] == -4


def test_images_of_bytes_are_resized_by_whole_numbers_and_do_not_wrap() -> None:
    x = torch.tensor([[[[0, 255, 0, 255]]]], dtype=torch.uint8)
    y = torch.nn.functional.interpolate(x, size=(1, 8), mode="bicubic")
    assert y.flatten().tolist() == [0, 67, 224, 215, 40, 31, 188, 255]


@pytest.mark.parametrize("name", ["clamp", "clamp_", "clip", "clip_"])
def test_bounds_ask_for_one_of_them(name: str) -> None:
    with pytest.raises(RuntimeError, match=r"torch\.clamp: At least one of 'min' or 'max' must not be None"):
        getattr(torch.ones(2), name)()

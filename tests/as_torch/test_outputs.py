"""Results are written into tensors that are given as `out`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit.as_torch

torch: Any = dispatchkit.as_torch
ONES = torch.ones(2)


def test_a_result_is_written_into_the_tensor_that_is_given() -> None:
    out = torch.empty(2, dtype=torch.float32)
    assert torch.add(ONES, ONES, alpha=2, out=out) is out
    assert (out.dtype, out.tolist()) == ("float32", [3.0, 3.0])
    values, indices = torch.empty(0), torch.empty(0, dtype=torch.int64)
    result = torch.max(torch.eye(2), 1, out=(values, indices))
    assert result.values is values
    assert (values.tolist(), indices.tolist()) == ([1.0, 1.0], [0, 1])
    assert torch.zeros(2, 1, out=torch.empty(0)).shape == (2, 1)


def test_a_tensor_of_another_shape_takes_that_of_the_result() -> None:
    out = torch.empty(3)
    with pytest.warns(UserWarning, match=r"resized since it had shape \[3\], which does not match .* shape \[2\]"):
        torch.exp(torch.zeros(2), out=out)
    assert out.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: torch.add(ONES, ONES, out=torch.empty(2, dtype=torch.int64)),
            RuntimeError,
            "result type float64 can't",
        ),
        (lambda: torch.exp(torch.ones(2, requires_grad=True), out=torch.empty(2)), RuntimeError, "don't support autom"),
        (lambda: torch.exp(ONES, out=[1.0]), TypeError, "argument 'out' must be Tensor, not float"),
        (lambda: ONES.add(ONES, out=ONES), TypeError, "got an unexpected keyword argument 'out'"),
        (lambda: torch.max(ONES, 0, out=torch.empty(0)), TypeError, "must be tuple of Tensors, not Tensor"),
        (lambda: torch.flip(ONES, (0,), out=ONES), TypeError, "'out'"),
        (
            lambda: torch.clamp(ONES, 0, 2, out=torch.empty(2, dtype=torch.float32)),
            RuntimeError,
            "to have dtype float64",
        ),
        (lambda: torch.clamp_min(torch.ones(2).int(), 0, out=torch.empty(2)), RuntimeError, "to have dtype int32"),
        (
            lambda: torch.where(ONES > 0, ONES, ONES, out=torch.empty(2, dtype=torch.float32)),
            RuntimeError,
            "to have dtype float64",
        ),
    ],
)
def test_what_cannot_be_written_is_refused(call: Callable[[], Any], error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        call()
    assert ONES.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x, out: torch.ge(x, 1.5, out=out), [False, True]),
        (lambda x, out: torch.eq(2.0 * ONES, x, out=out), [False, True]),
        (lambda x, out: torch.logical_not(x, out=out), [False, False]),
        (lambda x, out: torch.isin(x, ONES, out=out), [True, False]),
        (lambda x, out: torch.argmax(x, 0, out=out.long()), 1),
        (lambda x, out: torch.bucketize(x, ONES, out=out.long()), [0, 2]),
    ],
)
def test_truth_and_places_of_what_requires_gradients_are_written(
    call: Callable[[Any, Any], Any], expected: Any
) -> None:
    y = call(torch.tensor([1.0, 2.0], requires_grad=True), torch.empty(0, dtype=torch.bool))
    assert (y.tolist(), y.requires_grad) == (expected, False)


def test_inverse_transforms_of_complex_numbers_are_written_in_another_precision() -> None:
    single = torch.empty(0, dtype=torch.complex64)
    assert torch.fft.ifft(ONES + 0j, out=single).tolist() == [1.0, 0.0]
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype complex128, but got complex64 instead"):
        torch.fft.ifft(ONES, out=single)


@pytest.mark.parametrize("power", [-1, 2, 3])
def test_powers_of_matrices_are_written_in_their_own_dtype(power: int) -> None:
    matrix, single = torch.eye(2) * 2.0, torch.empty(0, dtype=torch.float32)
    assert torch.matrix_power(matrix, 1, out=single).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    for function in (torch.matrix_power, torch.linalg.matrix_power):
        assert function(matrix, power, out=torch.empty(0)).tolist() == [[2.0**power, 0.0], [0.0, 2.0**power]]
        with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float64, but got float32 instead"):
            function(n=power, out=single, input=matrix)


def test_a_tensor_of_another_dtype_takes_what_tensors_bound() -> None:
    out = torch.empty(2, dtype=torch.float32)
    assert torch.clamp(torch.ones(2), torch.zeros(2), out=out) is out
    assert out.tolist() == [1.0, 1.0]

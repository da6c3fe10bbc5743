"""Plain numbers beyond half precision, beside tensors of it: computed in single precision, rounded, or refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch

torch: Any = dispatchkit.as_torch
F, T = torch.nn.functional, torch.tensor
INF = math.inf
LARGE = 1e5  # which half precision does not hold


def half(values: Any, **options: Any) -> Any:
    """Return a tensor of half precision."""
    return T(values, dtype=torch.float16, **options)


def assigned(key: Any) -> Any:
    """Return a tensor of half precision with a large number at a place."""
    x = half([1.0, 2.0])
    x[key] = LARGE
    return x


SMALL = half([0.001])
MATRIX, BATCH = half([[0.001]]), half([[[0.001]]])
MASK = T([True, False])

TAKEN: list[tuple[Callable[[], Any], Any]] = [
    # Rounded, to infinity.
    (lambda: torch.where(MASK, LARGE, half([1.0, 2.0])), [INF, 2.0]),
    (lambda: half([1.0, 2.0]).where(MASK, -1e300), [1.0, -INF]),
    (lambda: assigned(0), [INF, 2.0]),
    (lambda: assigned(slice(None)), [INF, INF]),
    (lambda: assigned(MASK), [INF, 2.0]),
    (lambda: assigned(T([1])), [1.0, INF]),
    (lambda: torch.scalar_tensor(1e300, dtype=torch.float16), INF),
    (lambda: half([[1.0, 2.0]]).fill_diagonal_(LARGE), [[INF, 2.0]]),
    # What is divided or multiplied is rounded first; what is divided or multiplied by is not.
    (lambda: torch.div(LARGE, half([2.0])), [INF]),
    (lambda: torch.true_divide(70000, half([2.0])), [INF]),
    (lambda: torch.mul(LARGE, SMALL), [INF]),
    (lambda: torch.div(half([2.0]), LARGE), [2e-5]),
    (lambda: torch.mul(SMALL, LARGE), [100.0]),
    (lambda: LARGE / half([2.0]), [49984.0]),
    (lambda: LARGE * SMALL, [100.0]),
    # Steps in single precision.
    (lambda: torch.addcmul(half([1.0]), SMALL, SMALL, value=LARGE), [1.1]),
    (lambda: torch.addcdiv(half([1.0]), SMALL, half([3.0]), value=LARGE), [34.34]),
    (lambda: torch.addcmul(half([60000.0]), half([60000.0]), half([-2.0])), [-60000.0]),
    (lambda: half([1.0]).addcmul_(SMALL, SMALL, value=LARGE), [1.1]),
    (lambda: torch.lerp(half([60000.0]), half([-60000.0]), 0.5), [0.0]),
    (lambda: torch.lerp(half([1.0]), half([1.001]), LARGE), [98.6]),
    (lambda: torch.addmm(half([[1.0]]), MATRIX, MATRIX, alpha=LARGE), [[1.1]]),
    (lambda: torch.addmm(MATRIX, MATRIX, MATRIX, beta=100000), [[100.0]]),
    (lambda: torch.baddbmm(half([[[1.0]]]), BATCH, BATCH, alpha=LARGE), [[[1.1]]]),
    (lambda: torch.addbmm(half([[1.0]]), BATCH, BATCH, alpha=LARGE), [[1.1]]),
    (lambda: F.rrelu(half([-0.001]), LARGE, LARGE), [-100.0]),
    # Means of losses whose sums are beyond.
    (lambda: F.mse_loss(half([300.0] * 10), half([100.0] * 10)), 40000.0),
    (lambda: F.l1_loss(half([60000.0] * 3), half([0.0] * 3)), 60000.0),
    (lambda: F.huber_loss(half([60000.0] * 3), half([0.0] * 3)), 60000.0),
    (lambda: F.hinge_embedding_loss(half([60000.0] * 2), half([1.0] * 2)), 60000.0),
]


@pytest.mark.parametrize(("call", "value"), TAKEN)
def test_numbers_beyond_half_precision_are_taken_where_pytorch_takes_them(call: Callable[[], Any], value: Any) -> None:
    y = call()
    assert y.dtype == torch.float16
    np.testing.assert_allclose(y.numpy(), value, rtol=2e-3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.addcmul(half([1.0]), SMALL, SMALL, value=1e39),
        lambda: torch.addmm(half([[1.0]]), MATRIX, MATRIX, alpha=1e39),
        lambda: torch.lerp(half([1.0]), SMALL, 1e300),
        lambda: torch.addmv(half([1.0]), MATRIX, SMALL, alpha=LARGE),
        lambda: half([1.0]).fill_(LARGE),
        lambda: torch.clamp(half([1.0]), max=LARGE),
        lambda: torch.pow(half([0.5]), LARGE),
        lambda: half([0.5]) ** 70000,
        lambda: half([0.5]).pow_(LARGE),
        lambda: torch.pow(T([2], dtype=torch.int8), 300),
        lambda: torch.where(MASK, T([1.0, 2.0], dtype=torch.float32), 1e300),
    ],
)
def test_numbers_that_no_step_is_computed_in_are_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(RuntimeError, match=r"cannot be converted to type .* without overflow"):
        call()


def test_gradients_of_what_is_computed_in_single_precision_are_of_half_precision() -> None:
    x = half([60000.0], requires_grad=True)
    (gradient,) = torch.autograd.grad(torch.lerp(x, half([-60000.0]), 0.25).sum(), [x])
    assert gradient.dtype == torch.float16
    assert gradient.tolist() == [0.75]


def test_whole_weights_do_not_make_a_loss_of_shares_wider() -> None:
    scores = T([1.5, 2.5], dtype=torch.float32)
    shares = T([1.0, 0.0], dtype=torch.float32)
    assert F.cross_entropy(scores, shares, T([1, 2])).dtype == torch.float32


def test_counts_by_weights_of_half_precision_are_of_double_precision() -> None:
    counts = torch.bincount(T([1, 2]), half([1.0, 2.0]))
    assert (counts.dtype, counts.tolist()) == (torch.float64, [0.0, 1.0, 2.0])

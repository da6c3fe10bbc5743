"""How many steps of Python small calls of functions of networks take: of what NumPy computes at once, few."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import dispatchkit as dk
from dispatchkit.nn import functional as F  # noqa: N812  # as everybody calls it
from tests.nn.functional.support import drawn
from tests.protocol.support import steps_of

X, TABLE = dk.asarray(drawn(4, 6).astype("float32")), drawn(6, 3).astype("float32")
NUMBERS = dk.asarray(np.asarray([3, 0, 5, 2]))
IMAGES = dk.asarray(drawn(2, 4, 6, 6).astype("float32"))

CALLS: dict[str, tuple[Callable[[], Any], int]] = {
    "embedding": (lambda: F.embedding(NUMBERS, dk.asarray(TABLE)), 60),
    "silu": (lambda: F.silu(X), 40),
    "softmax": (lambda: dk.softmax(X, axis=-1), 40),
    "group_norm": (lambda: F.group_norm(IMAGES, 2), 115),
    "avg_pool2d beside padding": (lambda: F.avg_pool2d(IMAGES, 3, padding=1), 97),
    "adaptive_avg_pool2d": (lambda: F.adaptive_avg_pool2d(IMAGES, 2), 90),
    "holds": (lambda: dk.holds(np.asarray([True, True])), 5),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_small_call_takes_few_steps(name: str) -> None:
    call, most = CALLS[name]
    call()
    assert steps_of(call) <= most


RECORDED: dict[str, Callable[[Any], Any]] = {
    "layer_norm": lambda x: F.layer_norm(x, 6),
    "cross_entropy": lambda x: F.cross_entropy(x, NUMBERS),
    "gelu": F.gelu,
}


@pytest.mark.parametrize("name", RECORDED)
def test_to_record_a_call_of_a_kernel_takes_few_steps_more(name: str) -> None:
    function, leaf = RECORDED[name], dk.tensor(X.numpy(), requires_grad=True)
    for x in (X, leaf):
        function(x)
    assert steps_of(lambda: function(leaf)) <= steps_of(lambda: function(X)) + 90


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "uint64"])
def test_rows_of_a_table_are_copies_that_have_the_shape_of_the_numbers(dtype: str) -> None:
    table = dk.asarray(TABLE.copy())
    y = F.embedding(dk.asarray(np.asarray([[3, 0], [5, 3]], dtype)), table)
    npt.assert_array_equal(y.numpy(), TABLE[[[3, 0], [5, 3]]])
    y += 1.0
    npt.assert_array_equal(table.numpy(), TABLE)


@pytest.mark.parametrize("numbers", [[-1, 2], [2, 6]])
def test_a_number_that_no_row_has_is_refused(numbers: list[int]) -> None:
    text = r"^embedding: argument 'x' must be of integers from 0 to 5 for a weight of shape \(6, 3\)$"
    with pytest.raises(IndexError, match=text):
        F.embedding(dk.asarray(numbers), dk.asarray(TABLE))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64"])
def test_the_score_of_each_class_is_read_at_its_place(order: Any, dtype: str) -> None:
    scores, target = np.asarray(drawn(5, 7), order=order), np.asarray([6, 0, 3, 3, 1], dtype)
    leaf = dk.tensor(scores, requires_grad=True)
    loss = F.cross_entropy(leaf, dk.asarray(target), reduction="sum")
    shares = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    npt.assert_allclose(loss.item(), -np.log(shares[range(5), target.astype(int)]).sum(), rtol=1e-12)
    loss.backward()
    assert leaf.grad is not None
    shares[range(5), target.astype(int)] -= 1
    npt.assert_allclose(leaf.grad.numpy(), shares, atol=1e-14)

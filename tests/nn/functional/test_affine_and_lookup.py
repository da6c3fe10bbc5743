"""`linear`, `embedding`, `one_hot`: values, gradients, array types as weights, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import InplaceError
from dispatchkit.nn import functional as F  # noqa: N812  # as everybody calls it
from tests.nn.functional.support import agree_with_torch, drawn, gradients, torch_functional

LINEAR: dict[str, tuple[tuple[int, ...], ...]] = {
    "bias": ((2, 3), (4, 3), (4,)),
    "no bias": ((2, 3), (4, 3)),
    "vector": ((3,), (4, 3), (4,)),
    "batches": ((2, 5, 3), (4, 3), (4,)),
    "one output": ((2, 5, 3), (3,), ()),
    "one output of a vector": ((3,), (3,), ()),
    "nothing": ((0, 3), (4, 3), (4,)),
    "no features": ((2, 2, 0), (4, 0), (4,)),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_is_pytorchs(name: str) -> None:
    functional = torch_functional()
    agree_with_torch(F.linear, functional.linear, *[drawn(*shape) for shape in LINEAR[name]])


@pytest.mark.parametrize("name", LINEAR)
def test_linear_is_a_product_and_a_sum(name: str) -> None:
    x, weight, *bias = [drawn(*shape) for shape in LINEAR[name]]
    y, _ = gradients(F.linear, [x, weight, *bias])
    np.testing.assert_allclose(y, np.inner(x, weight) + (bias[0] if bias else 0), atol=1e-12)
    found = F.linear(dk.tensor(x), dk.tensor(weight), bias=dk.tensor(bias[0]) if bias else None)
    np.testing.assert_allclose(found.numpy(), y)


def test_the_gradient_of_a_weight_lies_in_memory_as_the_weight() -> None:
    w = dk.tensor(drawn(4, 3), requires_grad=True)
    F.linear(dk.tensor(drawn(2, 3)), w).sum().backward()
    assert w.grad is not None
    assert w.grad.array.flags.c_contiguous


def test_a_bias_by_name_or_of_numpy_gives_the_same_gradients() -> None:
    arrays = drawn(2, 3), drawn(4, 3), drawn(4)
    _, expected = gradients(F.linear, arrays)
    _, named = gradients(lambda x, w, b: F.linear(x, w, bias=b), arrays)
    _, mixed = gradients(lambda x, w: F.linear(x, w, arrays[2]), arrays[:2])
    for one, other in zip((*named, *mixed), (*expected, *expected[:2]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("changed", ["x", "w"])
def test_a_change_before_the_backward_pass_is_noticed(changed: str) -> None:
    leaves = {"x": dk.tensor(drawn(2, 3), requires_grad=True), "w": dk.tensor(drawn(4, 3), requires_grad=True)}
    y = F.linear(leaves["x"], leaves["w"], dk.ones(4))
    with dk.no_grad():
        leaves[changed].add_(1.0)
    with pytest.raises(InplaceError, match="LinearBackward"):
        y.sum().backward()


def test_dtypes_of_linear_are_promoted() -> None:
    x, w, b = (
        dk.ones(shape, dtype=dtype) for shape, dtype in (((2, 3), "float32"), ((4, 3), "float32"), (4, "float64"))
    )
    assert F.linear(x, w).dtype == np.float32
    assert F.linear(x, w, b).dtype == np.float64


def test_a_weight_may_be_of_an_array_type() -> None:
    """By decomposition: the type answers `matrix_transpose` and `matmul`, or is made dense."""
    s = dk.types.ScalarTensor(3, dk.tensor(2.0, requires_grad=True))
    x = dk.tensor(drawn(2, 3))
    y = F.linear(x, s, dk.ones(3))
    np.testing.assert_allclose(y.detach().numpy(), 2 * x.numpy() + 1)
    y.sum().backward()
    assert s.value.grad is not None
    assert s.value.grad.item() == pytest.approx(x.sum().item())


TABLE = drawn(5, 3)


@pytest.mark.parametrize("padding", [None, 1, -1])
@pytest.mark.parametrize("numbers", [[2, 1, 2], [[0, 4], [4, 4]], 3, []])
def test_embedding_is_pytorchs(numbers: Any, padding: int | None) -> None:
    torch = pytest.importorskip("torch")
    x = np.asarray(numbers, dtype=np.int64)
    agree_with_torch(
        lambda w: F.embedding(dk.asarray(x), w, padding_idx=padding),
        lambda w: torch.nn.functional.embedding(torch.tensor(x), w, padding_idx=padding),
        TABLE,
    )


def test_embedding_takes_rows() -> None:
    x = np.array([[2, 1], [2, 2]])
    y, (g,) = gradients(lambda w: F.embedding(dk.asarray(x), w, padding_idx=1), [TABLE])
    np.testing.assert_array_equal(y, TABLE[x])
    expected = np.zeros_like(TABLE)
    given = drawn(2, 2, 3, seed=9)
    for place in np.ndindex(2, 2):
        if x[place] != 1:
            expected[x[place]] += given[place]
    np.testing.assert_allclose(g, expected)


def test_one_hot_is_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    for x, count in (([0, 2, 1], -1), ([[0, 1], [1, 1]], 4), (2, 3)):
        expected = torch.nn.functional.one_hot(torch.tensor(x), count)
        assert F.one_hot(dk.asarray(x), count).tolist() == expected.tolist()


def test_one_hot_has_a_one_at_each_number() -> None:
    y = F.one_hot(dk.asarray([[0, 3]], dtype="int32"))
    assert y.shape == (1, 2, 4)
    assert y.dtype == np.int32
    assert y.tolist() == [[[1, 0, 0, 0], [0, 0, 0, 1]]]


X, W = dk.ones((2, 3)), dk.ones((4, 3))
REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "x": (
        lambda: F.linear(dk.ones((2, 5)), W),
        ValueError,
        "linear: argument 'x' has shape (2, 5), expected (..., 3) for a weight of shape (4, 3)",
    ),
    "number": (lambda: F.linear(dk.ones(()), W), ValueError, "linear: argument 'x' has shape (), expected (..., 3)"),
    "weight": (
        lambda: F.linear(X, dk.ones((1, 4, 3))),
        ValueError,
        "linear: argument 'weight' has shape (1, 4, 3), expected (out_features, in_features)",
    ),
    "bias": (
        lambda: F.linear(X, W, dk.ones(3)),
        ValueError,
        "linear: argument 'bias' has shape (3,), expected (4,) for a weight of shape (4, 3)",
    ),
    "row": (
        lambda: F.embedding(dk.asarray([0, 4]), W),
        IndexError,
        "embedding: argument 'x' must be of integers from 0 to 3 for a weight of shape (4, 3)",
    ),
    "negative row": (lambda: F.embedding(dk.asarray([-1]), W), IndexError, "must be of integers from 0 to 3"),
    "rows that are no integers": (
        lambda: F.embedding(dk.asarray([0.0]), W),
        TypeError,
        "embedding: argument 'x' must be of integers, found float64",
    ),
    "table": (
        lambda: F.embedding(dk.asarray([0]), dk.ones(3)),
        ValueError,
        "embedding: argument 'weight' has shape (3,), expected (num_embeddings, embedding_dim)",
    ),
    "padding": (
        lambda: F.embedding(dk.asarray([0]), W, padding_idx=4),
        ValueError,
        "embedding: padding_idx must be a row of the weight, from -4 to 3, found 4",
    ),
    "class": (
        lambda: F.one_hot(dk.asarray([3]), 3),
        IndexError,
        "one_hot: argument 'x' must be of integers from 0 to 2 for 3 classes",
    ),
    "no class": (lambda: F.one_hot(dk.asarray([0]), 0), ValueError, "one_hot: num_classes must be positive, found 0"),
    "no numbers": (
        lambda: F.one_hot(dk.zeros(0, dtype="int64")),
        ValueError,
        "one_hot: num_classes must be given for an array without elements",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_named(name: str) -> None:
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=re.escape(text)):
        call()

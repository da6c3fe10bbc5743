"""PyTorch's layers where they and the operations of the library would part: infinities, NaN, ties, few numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign
from dispatchkit.nn import functional as F  # noqa: N812  # as everybody calls it

torch = pytest.importorskip("torch")
INF, NAN = np.inf, np.nan


@pytest.fixture(autouse=True)
def of_numpy_alone() -> Iterator[None]:
    yield
    foreign.clear()  # the tests of other modules go the way of programs that have NumPy's arrays alone


def outcome(function: Callable[..., Any], make: Callable[[Any], Any], arrays: list[Any]) -> list[Any]:
    """Return what a function gives of arrays of a library, and its gradients."""
    tensors = [dk.Tensor(make(x)) for x in arrays]
    leaves = [x.requires_grad_() for x in tensors if x.dtype.kind == "f"]
    y = function(*tensors)
    y = y if isinstance(y, dk.Tensor) else y[0]
    return [x.numpy() for x in (y.detach(), *dk.autograd.grad(y.sum(), leaves, allow_unused=True)) if x is not None]


RNG = np.random.default_rng(0)
LAST = [[NAN, 1, 2, 0], [INF, 1, 2, 0], [-INF, 1, 2, 0], [-INF] * 4, [INF, INF, 0, 0], [1, 1, 0, 2]]
ROWS = {f"{row}": np.array([[0.5, -1.0, 2.0, 0.25], row]) for row in LAST}
OF_ROWS: dict[str, Callable[[Any], Any]] = {
    "softmax": dk.softmax,
    "log_softmax": dk.log_softmax,
    "gelu": F.gelu,
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "sort": dk.sort,
    "sort, descending": lambda x: dk.sort(x, descending=True),
    "topk": lambda x: dk.topk(x, 2),
    "topk of the smallest": lambda x: dk.topk(x, 2, largest=False),
    "topk of one": lambda x: dk.topk(x, 1),
    "topk of all": lambda x: dk.topk(x, 4),
    "layer_norm": lambda x: F.layer_norm(x, 4),
    "rms_norm": lambda x: F.rms_norm(x, 4),
}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("name", OF_ROWS)
@pytest.mark.filterwarnings("ignore:.* encountered in:RuntimeWarning")
def test_rows_of_awkward_numbers_are_as_over_numpy(name: str, row: str) -> None:
    wanted, got = (outcome(OF_ROWS[name], make, [ROWS[row]]) for make in (np.array, torch.tensor))
    for x, y in zip(got, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-10)


IMAGE = RNG.normal(size=(1, 1, 4, 4))
IMAGE[0, 0, 1, 1] = NAN
Q, K, V = RNG.normal(size=(3, 2, 3, 4))
X_LSTM, W_LSTM = RNG.normal(size=(5, 3, 8)), RNG.normal(size=(8, 2))
H0, C0 = RNG.normal(size=(2, 3, 2))
ALIVE = np.array([[True, False, True], [False, False, False], [True, True, True]])
CAUSAL = partial(F.scaled_dot_product_attention, is_causal=True)
CALLS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "a window with a NaN": (lambda x: F.max_pool2d(x, 2), [IMAGE]),
    "equal elements of a window": (lambda x: F.max_pool2d(x, 2), [np.ones((1, 1, 4, 4))]),
    "a query without keys": (F.scaled_dot_product_attention, [Q, K, V, ALIVE]),
    "numbers to add": (F.scaled_dot_product_attention, [Q, K, V, np.where(ALIVE, 0.0, -INF)]),
    "fewer keys than queries": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        [Q, K[:, :2], V[:, :2]],
    ),
    "more keys than queries": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        [Q[:, :2], K, V],
    ),
    "heads": (F.scaled_dot_product_attention, [Q[None], K[None], V[None]]),
    "heads, one after another": (partial(F.scaled_dot_product_attention, is_causal=True, scale=2.0), [Q[None]] * 3),
    "images": (partial(F.conv2d, stride=2, padding=1), [Q[None], Q.reshape(3, 2, 2, 2), Q[0, :, 0]]),
    "images in groups": (lambda x, w: F.conv2d(x, w, groups=2, dilation=(1, 2)), [Q[None], Q[:, None, :2, :2]]),
    "overlapping windows": (lambda x: F.max_pool2d(x, 2, 1, padding=1), [Q[None]]),
    "rows with a weight and a bias": (lambda x, w, b: F.layer_norm(x, 4, w, b), [Q, Q[0, 0], K[0, 0]]),
    "several axes standardized": (lambda x, w: F.layer_norm(x, (3, 4), w), [Q, Q[0]]),
    "the sum of losses": (lambda *x: F.cross_entropy(*x, reduction="sum"), [Q[0], np.array([0, 1, 3])]),
    "all losses": (lambda *x: F.cross_entropy(*x, reduction="none"), [Q[0], np.array([0, 1, 3])]),
    "an ignored class": (F.cross_entropy, [Q[0], np.array([0, -100, 3])]),
    "weights and smoothing": (
        lambda *x: F.cross_entropy(*x, label_smoothing=0.2),
        [Q[0], np.array([0, -100, 3]), np.arange(1.0, 5.0)],
    ),
    "short integers of rows": (F.embedding, [np.array([0, 2, 0], "int8"), Q[0]]),
    "short integers of classes": (F.cross_entropy, [Q[0], np.array([0, 1, 3], "int8")]),
    "one tensor by two names": (lambda x, w: F.layer_norm(x, 4, weight=w, bias=w), [Q, np.arange(4.0)]),
    "the mean square with a weight": (lambda x, w: F.rms_norm(x, (3, 4), w, 0.1), [Q, K[0]]),
    "the mean square of one row": (lambda x, w: F.rms_norm(x, 4, w), [Q[0, 0], np.arange(4.0)]),
    "magnitudes, also of 0": (lambda x: dk.abs(dk.fft.rfft(x)), [np.stack([Q[0, 0], np.zeros(4)])]),
    "a memory with gates": (F.lstm, [X_LSTM, W_LSTM, H0, C0, W_LSTM[:, 0]]),
    "a memory without a bias, of which the last counts": (lambda *x: F.lstm(*x)[1], [X_LSTM, W_LSTM, H0, C0]),
    "gates that take infinities": (F.lstm, [np.full_like(X_LSTM, INF), W_LSTM, H0, C0]),
    "a step of a memory": (F.lstm, [X_LSTM[0], W_LSTM, H0, C0, W_LSTM[:, 0]]),
    "a step from inputs": (
        lambda x, u, h, c, b, w, d: F.lstm(x, u, h, c, b, w, d)[0],
        [X_LSTM[0, :, :3], W_LSTM, H0, C0, W_LSTM[:, 0], W_LSTM[:, [0, 1, 1]], W_LSTM[:, 1]],
    ),
    "a step of gated units from inputs": (
        F.gru,
        [X_LSTM[0, :, :3], W_LSTM[:6], H0, W_LSTM[:6, 0], W_LSTM[:6, [0, 1, 1]], W_LSTM[:6, 1]],
    ),
    "a step of gated units": (F.gru, [X_LSTM[0, :, :6], W_LSTM[:6], H0, W_LSTM[:6, 0]]),
    "gated units": (F.gru, [X_LSTM[..., :6], W_LSTM[:6], H0, W_LSTM[:6, 0]]),
    "gated units without a bias": (F.gru, [X_LSTM[..., :6], W_LSTM[:6], H0]),
    "rows and a bias": (F.linear, [Q, K[0], V[0, :, 0]]),
    "rows without a bias": (F.linear, [Q[0], K[0]]),
    "a weight of one axis": (lambda x, w, b: F.linear(x, w, b.sum()), [Q, K[0, 0], V[0, :, 0]]),
    "one row": (F.linear, [Q[0, 0], K[0], V[0, :, 0]]),
    "a rectifier": (dk.relu, [Q]),
    "slices": (lambda x: x[:, None, 1:, ::2], [Q]),
    "a step backwards": (lambda x: x[::-1, 1], [Q]),
    "padding": (lambda i, w: F.embedding(i, w, padding_idx=-1), [np.array([0, 2, 0]), Q[0]]),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_as_over_numpy(name: str) -> None:
    function, arrays = CALLS[name]
    wanted, got = (outcome(function, make, arrays) for make in (np.array, torch.tensor))
    for x, y in zip(got, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-10)


REFUSED: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "a class that is not there": (F.cross_entropy, [Q[0], np.array([0, 9, 3])]),
    "a row that is not there": (F.embedding, [np.array([0, -1]), Q[0]]),
    "padding less than none": (partial(F.conv2d, padding=-1), [Q[None], Q[None, :, :2, :2]]),
    "padding in words": (partial(F.conv2d, padding="full"), [Q[None], Q[None, :, :2, :2]]),
    "another length": (lambda x: F.layer_norm(x, 3), [Q]),
    "a state of other sequences": (F.gru, [X_LSTM[..., :6], W_LSTM[:6], H0[:2]]),
    "a weight of other gates": (F.lstm, [X_LSTM, W_LSTM[:6], H0, C0]),
    "one value of a channel": (lambda x: F.batch_norm(x, training=True), [np.ones((1, 4))]),
    "groups that do not divide": (lambda x: F.group_norm(x, 2), [Q]),
    "too much smoothing": (lambda *x: F.cross_entropy(*x, label_smoothing=2.0), [Q[0], np.array([0, 1, 3])]),
    "more than there are": (lambda x: dk.topk(x, 9), [Q]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused_in_the_same_words(name: str) -> None:
    function, arrays = REFUSED[name]
    said = []
    for make in (np.array, torch.tensor):
        with pytest.raises((ValueError, TypeError, IndexError)) as info:
            outcome(function, make, arrays)
        said.append((type(info.value), str(info.value).partition("\n")[0]))
    assert said[0] == said[1]


def test_a_weight_that_needs_no_gradient_gets_none_and_rules_may_be_differentiated() -> None:
    x, w = dk.Tensor(torch.ones(2, 3), requires_grad=True), dk.Tensor(torch.full((4, 3), 2.0))
    (g,) = dk.autograd.grad((F.linear(x, w) ** 3).sum(), [x], create_graph=True)
    (second,) = dk.autograd.grad(g.sum(), [x])
    assert second.tolist() == [[4 * 6 * 6.0 * 2 * 6.0] * 3] * 2


def test_a_place_that_is_not_there_is_said_in_the_same_words() -> None:
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 2"):
        dk.index_put(dk.asarray(torch.ones(2)), 3, 1.0)


def test_gradients_accumulate_in_their_memory() -> None:
    x: Any = dk.Tensor(torch.ones(2), requires_grad=True)
    (x * 2.0).sum().backward()
    g, array = x.grad, x.grad.array
    (x * 3.0).sum().backward()
    assert x.grad is g
    assert g.array is array
    assert g.tolist() == [5.0, 5.0]


def test_an_array_becomes_a_tensor_as_it_is_unless_pytorch_follows_it() -> None:
    array = torch.ones(2)
    for _ in range(2):  # also once the library knows the class
        x = dk.asarray(array)
        assert type(x) is dk.Tensor
        assert x.array is array
    with pytest.raises(dk.AutogradError, match="asarray: the array is part of torch's own graph"):
        dk.asarray(array.clone().requires_grad_())

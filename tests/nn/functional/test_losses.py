"""Losses: what they refuse and what they give at the edges; values and gradients beside PyTorch's."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.nn import functional as F  # noqa: N812  # as everybody calls it
from tests.nn.functional.peers import agree_with_torch

REDUCTIONS = ["mean", "sum", "none"]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def theirs(torch: Any, name: str) -> Any:
    return getattr(torch.nn.functional, name)


NUMBERS: list[tuple[str, dict[str, Any]]] = [
    ("mse_loss", {}),
    ("l1_loss", {}),
    ("huber_loss", {}),
    ("huber_loss", {"delta": 0.3}),
    ("smooth_l1_loss", {}),
    ("smooth_l1_loss", {"beta": 0.3}),
    ("smooth_l1_loss", {"beta": 0.0}),
]


@pytest.mark.parametrize(("name", "kwargs"), NUMBERS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(4,), (2, 3), ()])
def test_losses_of_numbers_are_those_of_pytorch(
    name: str, kwargs: dict[str, Any], reduction: str, shape: tuple[int, ...], rng: np.random.Generator
) -> None:
    torch = pytest.importorskip("torch")
    x, target = rng.normal(size=(2, *shape)) * 2
    arrays = [np.asarray(x), np.asarray(target)]
    options = {**kwargs, "reduction": reduction}
    agree_with_torch(torch, getattr(F, name), theirs(torch, name), arrays, options, gradients=(0, 1))
    single = [a.astype("float32") for a in arrays]
    agree_with_torch(torch, getattr(F, name), theirs(torch, name), single, options, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["l1_loss", "huber_loss", "smooth_l1_loss"])
def test_kinks_and_bounds_follow_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    x = np.array([0.0, 1.0, -1.0, 1e200, -1e200])
    agree_with_torch(torch, getattr(F, name), theirs(torch, name), [x, np.zeros(5)], {"reduction": "none"})


@pytest.mark.parametrize("name", ["huber_loss", "smooth_l1_loss"])
def test_infinite_differences_have_finite_derivatives(name: str) -> None:
    x = dk.tensor([math.inf, -math.inf, 0.5], requires_grad=True)
    loss = getattr(F, name)(x, dk.zeros(3), reduction="none")
    np.testing.assert_array_equal(loss.detach().numpy(), [math.inf, math.inf, 0.125])
    loss.backward(dk.ones(3))
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, -1.0, 0.5])


@pytest.mark.parametrize("reduction", [*REDUCTIONS, "batchmean"])
@pytest.mark.parametrize("log_target", [False, True])
@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides:UserWarning")
def test_kl_div_is_that_of_pytorch(reduction: str, log_target: bool, rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    x, target = np.log(rng.dirichlet(np.ones(4), size=(2, 3)))
    arrays = [x, target if log_target else np.exp(target)]
    options = {"reduction": reduction, "log_target": log_target}
    agree_with_torch(torch, F.kl_div, theirs(torch, "kl_div"), arrays, options, gradients=(0, 1))


def test_kl_div_of_impossible_outcomes_is_zero() -> None:
    x = dk.tensor([0.0, -math.inf], requires_grad=True)
    loss = F.kl_div(dk.log(dk.tensor([0.5, 0.5])), dk.tensor([1.0, 0.0]), reduction="none")
    np.testing.assert_allclose(loss.numpy(), [math.log(2), 0.0])
    assert F.kl_div(x[:1], dk.tensor([1.0]), reduction="batchmean").item() == 0.0


SHAPES = [((5, 3), (5,)), ((2, 3, 4), (2, 4)), ((2, 3, 2, 2), (2, 2, 2)), ((3,), ())]
WEIGHT = np.array([0.5, 2.0, 1.5])


def classes(shape: tuple[int, ...], ignored: int | None) -> Any:
    target = np.asarray(np.random.default_rng(5).integers(0, 3, size=shape))
    if ignored is not None and target.size > 1:
        target.flat[1] = ignored
    return target


@pytest.mark.parametrize(("shape", "places"), SHAPES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignored", [None, -100, 1, 7])
def test_cross_entropy_of_numbers_is_that_of_pytorch(
    shape: tuple[int, ...],
    places: tuple[int, ...],
    reduction: str,
    weighted: bool,
    ignored: int | None,
    rng: np.random.Generator,
) -> None:
    torch = pytest.importorskip("torch")
    x, target = rng.normal(size=shape) * 3, classes(places, ignored)
    for smoothing in (0.0, 0.2, 1.0):
        options = {"reduction": reduction, "label_smoothing": smoothing}
        if ignored is not None:
            options["ignore_index"] = ignored
        if weighted:
            options["weight"] = WEIGHT
        agree_with_torch(torch, F.cross_entropy, theirs(torch, "cross_entropy"), [x, target], options)
    del options["label_smoothing"]
    agree_with_torch(torch, F.nll_loss, theirs(torch, "nll_loss"), [-np.abs(x), target], options)


@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 4), (2, 3, 2, 2), (3,)])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2, 1.0])
def test_cross_entropy_of_probabilities_is_that_of_pytorch(
    shape: tuple[int, ...], reduction: str, weighted: bool, smoothing: float, rng: np.random.Generator
) -> None:
    torch = pytest.importorskip("torch")
    x, target = rng.normal(size=shape) * 3, rng.uniform(size=shape)
    options: dict[str, Any] = {"reduction": reduction, "label_smoothing": smoothing}
    if weighted:
        options["weight"] = WEIGHT
    agree_with_torch(torch, F.cross_entropy, theirs(torch, "cross_entropy"), [x, target], options, gradients=(0, 1))


def test_second_derivatives_of_cross_entropy_are_those_of_pytorch(rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    x, target = rng.normal(size=(4, 3)), classes((4,), -100)
    ours = dk.func.hessian(lambda x: F.cross_entropy(x, target, dk.tensor(WEIGHT), label_smoothing=0.1))(dk.tensor(x))
    wanted = torch.autograd.functional.hessian(
        lambda x: torch.nn.functional.cross_entropy(x, torch.tensor(target), torch.tensor(WEIGHT), label_smoothing=0.1),
        torch.tensor(x),
    )
    np.testing.assert_allclose(ours.numpy(), wanted.numpy(), rtol=1e-9, atol=1e-12)


def test_the_gradient_of_cross_entropy_is_softmax_minus_target(rng: np.random.Generator) -> None:
    x = dk.tensor(rng.normal(size=(4, 3)), requires_grad=True)
    target = np.array([2, 0, 1, 1])
    F.cross_entropy(x, dk.tensor(target), reduction="sum").backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), dk.softmax(x.detach()).numpy() - np.eye(3)[target], atol=1e-15)


def test_scores_that_are_far_apart_or_infinite() -> None:
    x = dk.tensor([[1e4, -1e4, 0.0], [0.0, -math.inf, 0.0]], requires_grad=True)
    loss = F.cross_entropy(x, dk.tensor([1, 0]), reduction="none")
    np.testing.assert_allclose(loss.detach().numpy(), [2e4, math.log(2)])
    loss.backward(dk.ones(2))
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), [[1.0, -1.0, 0.0], [-0.5, 0.0, 0.5]])


@pytest.mark.parametrize("loss", [F.cross_entropy, F.nll_loss])
def test_where_everything_is_ignored_the_mean_is_nan_and_the_rest_zero(loss: Any, rng: np.random.Generator) -> None:
    x, target = dk.tensor(rng.normal(size=(2, 3)), requires_grad=True), dk.tensor([-100, -100])
    assert math.isnan(loss(x, target).item())
    assert loss(x, target, reduction="sum").item() == 0.0
    np.testing.assert_array_equal(loss(x, target, reduction="none").detach().numpy(), [0.0, 0.0])
    loss(x, target, reduction="sum").backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), np.zeros((2, 3)))


def test_losses_of_nothing() -> None:
    for reduction, wanted in (("mean", math.nan), ("sum", 0.0)):
        np.testing.assert_equal(F.mse_loss(dk.zeros((0, 2)), dk.zeros((0, 2)), reduction=reduction).item(), wanted)  # type: ignore[call-overload]
        empty = dk.zeros((0,), dtype=dk.int64)
        np.testing.assert_equal(F.cross_entropy(dk.zeros((0, 2)), empty, reduction=reduction).item(), wanted)  # type: ignore[call-overload]
        found = F.binary_cross_entropy(dk.zeros((0, 2)), dk.zeros((0, 2)), reduction=reduction)  # type: ignore[call-overload]
        np.testing.assert_equal(found.item(), wanted)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "uint64"])
def test_numbers_of_classes_may_be_of_any_integers(dtype: str, rng: np.random.Generator) -> None:
    x = dk.tensor(rng.normal(size=(3, 3)))
    target = np.array([2, 0, 1])
    found = F.cross_entropy(x, dk.tensor(target.astype(dtype)))
    assert found.item() == F.cross_entropy(x, dk.tensor(target)).item()


def test_differences_of_unsigned_integers_do_not_wrap_around() -> None:
    x, target = dk.tensor([3, 250], dtype=dk.uint8), dk.tensor([5, 0], dtype=dk.uint8)
    np.testing.assert_array_equal(F.l1_loss(x, target, reduction="none").numpy(), [2.0, 250.0])
    assert F.mse_loss(dk.tensor([True, False]), dk.tensor([False, False])).item() == 0.5


BINARY = [(4,), (2, 3), ()]
OF_WEIGHTS: list[Any] = [None, "same", "last", "one"]


def weights(kind: str | None, shape: tuple[int, ...]) -> Any:
    if kind is None:
        return None
    shapes = {"same": shape, "last": shape[-1:], "one": (1,) * len(shape)}
    return np.random.default_rng(6).uniform(0.5, 2.0, size=shapes[kind])


@pytest.mark.parametrize("shape", BINARY)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("kind", OF_WEIGHTS)
def test_binary_losses_are_those_of_pytorch(
    shape: tuple[int, ...], reduction: str, kind: str | None, rng: np.random.Generator
) -> None:
    torch = pytest.importorskip("torch")
    x, target = np.asarray(rng.normal(size=shape) * 3), np.asarray(rng.uniform(size=shape))
    options: dict[str, Any] = {"reduction": reduction}
    if kind is not None:
        options["weight"] = np.asarray(weights(kind, shape))
    share = 1 / (1 + np.exp(-x))
    ours, his = F.binary_cross_entropy, theirs(torch, "binary_cross_entropy")
    agree_with_torch(torch, ours, his, [share, target], options, gradients=(0, 1))
    for positive in OF_WEIGHTS:
        if positive is not None:
            options["pos_weight"] = np.asarray(weights(positive, shape))
        ours, his = F.binary_cross_entropy_with_logits, theirs(torch, "binary_cross_entropy_with_logits")
        agree_with_torch(torch, ours, his, [x, target], options, gradients=(0, 1))


def test_probabilities_of_zero_and_one_follow_pytorch() -> None:
    torch = pytest.importorskip("torch")
    x = np.array([0.0, 0.0, 1.0, 1.0, 0.5, 1e-300, 1e-13])
    target = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0])
    his = theirs(torch, "binary_cross_entropy")
    # PyTorch's least denominator is 1e-12 in single precision.
    agree_with_torch(torch, F.binary_cross_entropy, his, [x, target], {"reduction": "none"}, rtol=1e-8)


def test_a_certain_and_wrong_answer_costs_a_hundred() -> None:
    x = dk.tensor([0.0, 1.0, 0.0], requires_grad=True)
    loss = F.binary_cross_entropy(x, dk.tensor([1.0, 0.0, 0.0]), reduction="none")
    np.testing.assert_array_equal(loss.detach().numpy(), [100.0, 100.0, 0.0])


def test_scores_that_overflow_exponentials() -> None:
    x = dk.tensor([1e4, -1e4, -1e4], requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(x, dk.tensor([0.0, 1.0, 0.0]), reduction="none")
    np.testing.assert_array_equal(loss.detach().numpy(), [1e4, 1e4, 0.0])
    loss.backward(dk.ones(3))
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, -1.0, 0.0])


X, T = dk.zeros((2, 3)), dk.zeros((2, 3))
REFUSED: list[tuple[Any, type[Exception], str]] = [
    *(
        (
            lambda loss=loss: loss(dk.zeros((2, 1)), dk.zeros(2)),
            ValueError,
            rf"{loss.__name__}: argument 'target' has shape \(2,\), expected \(2, 1\), that of x",
        )
        for loss in (
            *(F.mse_loss, F.l1_loss, F.huber_loss, F.smooth_l1_loss, F.kl_div),
            *(F.binary_cross_entropy, F.binary_cross_entropy_with_logits),
        )
    ),
    (
        lambda: F.mse_loss(X, T, reduction="average"),  # type: ignore[call-overload]
        ValueError,
        "mse_loss: reduction must be 'none', 'mean' or 'sum', found 'average'",
    ),
    (lambda: F.kl_div(X, T, reduction="average"), ValueError, "kl_div: reduction must be 'none', .*or 'batchmean'"),  # type: ignore[call-overload]
    (lambda: F.huber_loss(X, T, delta=0.0), ValueError, "huber_loss: delta must be greater than 0, found 0.0"),
    (lambda: F.smooth_l1_loss(X, T, beta=-1.0), ValueError, "smooth_l1_loss: beta must not be negative, found -1.0"),
    (
        lambda: F.cross_entropy(X, dk.tensor([0, 3])),
        IndexError,
        r"cross_entropy: argument 'target' must be numbers of the 3 classes, from 0 to 2, or .* -100; found 3",
    ),
    (lambda: F.nll_loss(X, dk.tensor([-1, 0])), IndexError, r"nll_loss: argument 'target' .* 3 classes.*; found -1"),
    (
        lambda: F.cross_entropy(X, dk.tensor([0, 1, 2])),
        ValueError,
        r"cross_entropy: argument 'target' has shape \(3,\), expected \(2,\), that of x without its 3 classes",
    ),
    (
        lambda: F.cross_entropy(X, dk.tensor([0.0, 1.0])),
        ValueError,
        r"cross_entropy: argument 'target' has shape \(2,\), expected \(2, 3\), that of x, for probabilities",
    ),
    (
        lambda: F.cross_entropy(X, dk.tensor([True, False])),
        TypeError,
        r"cross_entropy: argument 'target' must be numbers of classes \(integers\), or probabilities .*, found bool",
    ),
    (
        lambda: F.nll_loss(X, dk.tensor([0.0, 1.0])),
        TypeError,
        r"nll_loss: argument 'target' must be numbers of classes \(integers\), found float64",
    ),
    (
        lambda: F.cross_entropy(X, dk.tensor([0, 1]), dk.ones(2)),
        ValueError,
        r"cross_entropy: argument 'weight' has shape \(2,\), expected \(3,\), a number for each class",
    ),
    (
        lambda: F.cross_entropy(X, dk.tensor([0, 1]), label_smoothing=1.5),
        ValueError,
        "cross_entropy: label_smoothing must be from 0 to 1, found 1.5",
    ),
    (
        lambda: F.cross_entropy(X, dk.tensor([0, 1]), ignore_index=0.5),  # type: ignore[call-overload]
        TypeError,
        "cross_entropy: ignore_index must be an int, found 0.5",
    ),
    (lambda: F.cross_entropy(dk.zeros(()), dk.tensor(0)), ValueError, r"cross_entropy: argument 'x' has shape \(\)"),
    (
        lambda: F.binary_cross_entropy(dk.tensor([0.5, 1.5]), dk.zeros(2)),
        ValueError,
        "binary_cross_entropy: argument 'x' must be of probabilities, from 0 to 1; found 1.5",
    ),
    (
        lambda: F.binary_cross_entropy(dk.tensor([math.nan]), dk.zeros(1)),
        ValueError,
        "binary_cross_entropy: argument 'x' must be of probabilities, from 0 to 1; found nan",
    ),
    (
        lambda: F.binary_cross_entropy_with_logits(X, T, dk.ones((4, 2, 3))),
        ValueError,
        r"with_logits: argument 'weight' has shape \(4, 2, 3\), expected one that broadcasts to \(2, 3\)",
    ),
    (
        lambda: F.binary_cross_entropy_with_logits(X, T, pos_weight=dk.ones(2)),
        ValueError,
        r"with_logits: argument 'pos_weight' has shape \(2,\), expected one that broadcasts",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_what_is_refused_is_named(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("tracked", [False, True])
def test_a_class_out_of_range_is_found_in_every_mode(tracked: bool) -> None:
    x, target = dk.zeros((2, 3), requires_grad=tracked), dk.tensor([0, 5])
    with pytest.raises(IndexError, match=r"cross_entropy: .* found 5"):
        F.cross_entropy(x, target)
    with pytest.raises(IndexError, match="cross_entropy: "):
        dk.func.vmap(F.cross_entropy)(dk.zeros((4, 2, 3)), dk.stack([target] * 4))
    with pytest.raises(IndexError, match=r"cross_entropy: .* found 5"):
        dk.func.grad(lambda x: F.cross_entropy(x, target))(dk.zeros((2, 3)))


LOSSES = [
    *(F.mse_loss, F.l1_loss, F.huber_loss, F.smooth_l1_loss, F.kl_div),
    *(F.binary_cross_entropy, F.binary_cross_entropy_with_logits),
]


@pytest.mark.parametrize(("loss", "reduction"), list(itertools.product(LOSSES, REDUCTIONS)))
def test_losses_take_array_types(loss: Any, reduction: str) -> None:
    x = np.array([[0.5, 0.0], [0.0, 0.5]])
    target = np.array([[0.3, 0.7], [0.6, 0.4]])
    with dk.densify(on="allow"):
        found = loss(dk.types.ScalarTensor(2, 0.5), dk.tensor(target), reduction=reduction)
    wanted = loss(dk.tensor(x), dk.tensor(target), reduction=reduction)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-12)
    dressed = loss(dk.types.MetadataTensor(x, {"run": 1}), dk.tensor(target), reduction=reduction)
    assert dressed.metadata == {"run": 1}
    np.testing.assert_array_equal(dressed.data.numpy(), wanted.numpy())


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("ignore_index", [-100, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_short_way_of_numpy_is_the_long_one(
    reduction: Any, ignore_index: int, dtype: str, rng: np.random.Generator
) -> None:
    numbers, target = rng.normal(size=(6, 4)).astype(dtype), dk.tensor([0, 3, 1, 2, 2, 0])
    options = {"ignore_index": ignore_index, "reduction": reduction}
    # Weights of 1 change nothing but the way.
    short, long = (dk.tensor(numbers, requires_grad=True) for _ in range(2))
    y = F.cross_entropy(short, target, **options)
    z = F.cross_entropy(long, target, dk.ones(4, dtype=dtype), **options)
    y.backward(dk.asarray(0.5, dtype=dtype))
    z.backward(dk.asarray(0.5, dtype=dtype))
    assert short.grad is not None
    assert long.grad is not None
    assert y.dtype == z.dtype == short.grad.dtype
    rtol = 1e-12 if dtype == "float64" else 1e-5
    np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), rtol=rtol)
    np.testing.assert_allclose(short.grad.numpy(), long.grad.numpy(), rtol=10 * rtol, atol=rtol)


def test_scores_of_minus_infinity_have_no_probability() -> None:
    x = dk.tensor([[-dk.inf, 0.0], [0.0, -dk.inf]])
    assert F.cross_entropy(x, dk.tensor([1, 0])).item() == 0.0
    assert F.cross_entropy(x, dk.tensor([0, 1])).item() == dk.inf

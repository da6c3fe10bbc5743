"""Norms, softmax and cross entropy by the compiled core: the results of NumPy, which computes what the core leaves."""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.accelerator import rows
from dispatchkit.nn.functional import channels_numpy, normalization_numpy, norms_of_core
from tests.references import are_let_go

F = dk.nn.functional
DTYPES = [np.float64, np.float32]
SHAPES = [(1, 1), (4, 4), (3, 7), (5, 1), (2, 33), (130, 40), (3, 2500), (2, 3, 17)]
IMAGES = [(1, 4, 3), (2, 4, 3, 3), (3, 8, 1), (5, 4, 31, 17), (70, 4, 5)]
NAMES = ["layer_norm", "group_norm", "batch_norm"]
core_only = pytest.mark.skipif(rows is None, reason="the compiled core is not in use")


def draw(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def close(found: Any, wanted: Any, rough: float = 60) -> None:
    """Compare arrays, or tuples of arrays and None, by the precision of their dtype and the size of the largest one."""
    if isinstance(wanted, (tuple, list)):
        for one, other in zip(found, wanted, strict=True):
            close(one, other, rough)
        return
    if wanted is None:
        assert found is None
        return
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    scale = max(1.0, float(np.abs(wanted).max()))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=rough * scale * np.finfo(wanted.dtype).eps)


def calls(name: str, x: Any, weight: Any, bias: Any, eps: float = 1e-5) -> tuple[Any, ...]:
    """Return the arguments of a norm by its name."""
    middle: tuple[Any, ...] = {"layer_norm": (x.shape[-1],), "group_norm": (2,), "batch_norm": ()}[name]
    return (x, *middle, weight, bias, eps)


def by_numpy(name: str, kind: str) -> Any:
    """Return the function that computes a norm by NumPy."""
    module: ModuleType = normalization_numpy
    if name != "layer_norm":
        module = channels_numpy
    return getattr(module, f"{name}_{kind}")


def parameters(name: str, x: Any, which: str) -> tuple[Any, Any]:
    """Return weight and bias, of those that are asked for."""
    length = x.shape[1]
    if name == "layer_norm":
        length = x.shape[-1]
    weight = bias = None
    if "w" in which:
        weight = draw((length,), x.dtype, 1)
    if "b" in which:
        bias = draw((length,), x.dtype, 2)
    return weight, bias


@pytest.mark.parametrize("which", ["", "w", "b", "wb"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_norms_are_those_of_numpy(name: str, dtype: Any, which: str) -> None:
    shapes = IMAGES
    if name == "layer_norm":
        shapes = SHAPES
    for shape in shapes:
        x = draw(shape, dtype) * 3 + 1
        g = draw(shape, dtype, 3)
        args = calls(name, x, *parameters(name, x, which))
        wanted, back = by_numpy(name, "flow")(*args)
        found, our_back = getattr(norms_of_core, f"{name}_flow")(*args)
        close(found, wanted)
        close(getattr(norms_of_core, f"{name}_alone")(*args), wanted)
        ours, theirs = list(our_back((g,), (True,) * 5)), list(back((g,), (True,) * 5))
        for i, parameter in zip((-2, -1), args[-3:-1], strict=True):
            if parameter is None:  # what nobody asks for may be anything
                ours[i] = theirs[i] = None
        close(ours, theirs, 400)


@core_only
@pytest.mark.parametrize("name", NAMES)
def test_the_core_takes_contiguous_arrays(name: str) -> None:
    x = draw((4, 4, 6), np.float32)
    args = calls(name, x, *parameters(name, x, "wb"))
    assert type(getattr(rows, name)(*args, False)) is np.ndarray
    y, kept = getattr(rows, name)(*args, True)
    assert y.shape == x.shape
    assert kept[0].shape[0] == 3


@core_only
@pytest.mark.parametrize("name", NAMES)
def test_the_core_leaves_other_arguments_to_numpy(name: str) -> None:
    x = draw((4, 4, 6), np.float64)
    weight, bias = parameters(name, x, "wb")
    function = getattr(rows, name)
    others = [
        x[:, ::2],
        x.astype(np.float16),
        x.astype(">f8"),
        x[:0],
        x.view(np.recarray),
        x.tolist(),
        dk.asarray(x),
        x[0, 0, 0],
    ]
    for other in others:
        assert function(other, *calls(name, x, weight, bias)[1:], False) is None
    for wrong in (weight.astype(np.float32), weight[:-1], weight[None], 1.0, weight.tolist()):
        assert function(*calls(name, x, wrong, bias), False) is None
        assert function(*calls(name, x, weight, wrong), False) is None
    assert function(x) is None
    for eps in (None, "1", np.float64(1e-5)):
        assert function(*calls(name, x, weight, bias)[:-1], eps, False) is None


@core_only
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, np.finfo(np.float32).max])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_finite_is_left_to_numpy(name: str, value: float, dtype: Any) -> None:
    x = draw((4, 4, 6), dtype)
    x[1, 2, 3] = value
    left = getattr(rows, name)(*calls(name, x, None, None), False) is None
    assert left == (dtype is np.float32 or not np.isfinite(value))  # the square of the last one is one of the doubles


@core_only
def test_lengths_are_those_of_the_last_axes() -> None:
    x = draw((2, 3, 4), np.float64)
    lengths: Any
    for lengths in (4, (4,), [4], (3, 4), (2, 3, 4)):
        assert rows.layer_norm(x, lengths, None, None, 1e-5, False).shape == x.shape
    for lengths in (3, (), (4, 4), (1, 2, 3, 4), True, 4.0, -1, 1 << 80, "4", None):
        assert rows.layer_norm(x, lengths, None, None, 1e-5, False) is None
    for groups in (0, -1, 2, 4, 1.0, True, 1 << 80):
        assert rows.group_norm(x, groups, None, None, 1e-5, False) is None


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_far_from_zero_are_standardized_precisely(dtype: Any) -> None:
    x = draw((3, 300), dtype) + dtype(3000)
    wide = (x - dtype(3000)).astype(np.float64)  # exact
    wanted = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    found = F.layer_norm(dk.asarray(x), 300).numpy()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=100 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_is_that_of_the_formula(name: str, dtype: Any) -> None:
    for shape in [*SHAPES, (7,), (3, 9000)]:
        x = draw(shape, dtype) * 5
        wide = x.astype(np.float64)
        shares = np.exp(wide - wide.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        wanted = shares
        if name == "log_softmax":
            wanted = np.log(shares)
        close(getattr(dk, name)(dk.asarray(x)).numpy(), wanted.astype(dtype))
        tensor, g = dk.asarray(x, requires_grad=True), draw(shape, dtype, 4)
        (found,) = dk.autograd.grad(getattr(dk, name)(tensor), tensor, dk.asarray(g))
        of_x = shares * (g - (g * shares).sum(-1, keepdims=True))
        if name == "log_softmax":
            of_x = g - shares * g.sum(-1, keepdims=True)
        close(found.numpy(), of_x.astype(dtype))


@core_only
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_the_core_leaves_other_softmaxes_to_numpy(name: str) -> None:
    x = draw((3, 4), np.float64)
    function, back = getattr(rows, name), getattr(rows, f"{name}_back")
    assert function(x, 1).shape == function(x, -1).shape == (3, 4)
    for axis in (0, -2, 2, None, (1,), 1.0, True, 1 << 80):
        assert function(x, axis) is None
    for other in (x.T, x.astype(np.float16), x[:, :0], dk.asarray(x), x[0, 0], None):
        assert function(other, -1) is None
        assert back(other, x, -1) is None
    for value in (np.nan, np.inf, -np.inf):
        odd = x.copy()
        odd[1] = value
        assert function(odd, -1) is None
    assert np.exp(rows.log_softmax(np.asarray([[0.0, -np.inf]]), -1)).tolist() == [[1.0, 0.0]]
    assert back(np.broadcast_to(np.float64(1), (3, 4)), x, -1).shape == (3, 4)


@core_only
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_underflow_is_warned_of_as_by_numpy(name: str) -> None:
    x = dk.asarray([[0.0, -740.0]])
    assert rows.softmax(x.numpy(), -1) is None
    with np.errstate(under="raise"), pytest.raises(FloatingPointError, match="underflow"):
        getattr(dk, name)(x)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_cross_entropy_is_that_of_the_formula(kind: Any, dtype: Any, reduction: Any) -> None:
    for shape in [(1, 1), (4, 4), (64, 10), (300, 33), (2, 5000)]:
        x, target = draw(shape, dtype) * 4, np.arange(shape[0]).astype(kind) % min(shape[1], 200)
        wide = x.astype(np.float64)
        shares = np.exp(wide - wide.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        each = -np.log(shares[np.arange(shape[0]), target])
        tensor = dk.asarray(x, requires_grad=True)
        loss = F.cross_entropy(tensor, dk.asarray(target), reduction=reduction)
        close(loss.detach().numpy(), np.asarray(getattr(each, reduction)(), dtype))
        (found,) = dk.autograd.grad(loss, tensor)
        shares[np.arange(shape[0]), target] -= 1
        if reduction == "mean":
            shares /= shape[0]
        close(found.numpy(), shares.astype(dtype))


@core_only
def test_the_core_leaves_other_losses_to_numpy() -> None:
    x, target = draw((3, 4), np.float64), np.asarray([0, 1, 3])
    assert len(rows.cross_entropy(x, target, True)) == 4
    others = [target - 1, target + 1, target[:2], target.astype(float), target > 0, target[None], target.tolist(), None]
    for other in others:
        assert rows.cross_entropy(x, other, True) is None
    for other in (x.T, x[0], x.astype(np.float16), np.full((3, 4), np.nan), np.full((3, 4), np.inf), x[:, :0], None):
        assert rows.cross_entropy(other, target, True) is None
    with pytest.raises(IndexError, match="numbers of the 4 classes"):
        F.cross_entropy(dk.asarray(x), dk.asarray(target + 1))


def test_places_that_do_not_count_are_left_out() -> None:
    x, target = draw((3, 4), np.float64), np.asarray([0, 1, 3])
    kept = F.cross_entropy(dk.asarray(x[:2]), dk.asarray(target[:2]))
    close(F.cross_entropy(dk.asarray(x), dk.asarray(target), ignore_index=3).numpy(), kept.numpy())


def test_scores_may_be_changed_before_the_backward_pass() -> None:
    x, target = dk.asarray(draw((3, 4), np.float64), requires_grad=True), dk.asarray([0, 1, 3])
    scores = x * 1.0
    loss = F.cross_entropy(scores, target)
    (wanted,) = dk.autograd.grad(F.cross_entropy(x, target), x)
    scores.fill_(0.0)
    (found,) = dk.autograd.grad(loss, x)
    close(found.numpy(), wanted.numpy())


@pytest.mark.parametrize("name", NAMES)
def test_a_cotangent_that_overflows_is_warned_of_as_by_numpy(name: str) -> None:
    x = draw((4, 4, 6), np.float32)
    args = calls(name, x, *parameters(name, x, "wb"))
    _, back = getattr(norms_of_core, f"{name}_flow")(*args)
    _, their_back = by_numpy(name, "flow")(*args)
    g = np.full(x.shape, 3e38, np.float32)
    with warnings.catch_warnings(record=True) as ours:
        warnings.simplefilter("always")
        back((g,), (True,) * 5)
    with warnings.catch_warnings(record=True) as theirs:
        warnings.simplefilter("always")
        their_back((g,), (True,) * 5)
    assert {str(each.message) for each in ours} == {str(each.message) for each in theirs}


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_differences(name: str) -> None:
    x = draw((2, 4, 3), np.float64)
    weight, bias = parameters(name, x, "wb")
    options: dict[str, Any] = {}
    if name == "batch_norm":
        options["training"] = True

    def norm(x: Any, weight: Any, bias: Any) -> Any:
        middle = calls(name, x, None, None)[1:-3]
        return getattr(F, name)(x, *middle, weight=weight, bias=bias, **options)

    tensors = [dk.asarray(each, requires_grad=True) for each in (x, weight, bias)]
    assert dk.autograd.gradcheck(norm, tensors)
    assert dk.autograd.gradgradcheck(norm, tensors)


@core_only
def test_all_references_are_let_go() -> None:
    x, target = draw((8, 6), np.float32), np.arange(8) % 6
    weight, g = draw((6,), np.float32), draw((8, 6), np.float32)
    images = draw((2, 6, 5), np.float32)

    def once() -> None:
        _, kept = rows.layer_norm(x, 6, weight, weight, 1e-5, True)
        rows.norm_back(g, x, weight, None, kept)
        rows.norm_back(g.T, x, weight, None, kept)
        rows.group_norm(images, 2, weight, weight, 1e-5, False)
        rows.batch_norm(images, weight, weight, 1e-5, True)
        y = rows.softmax(x, -1)
        rows.softmax_back(g, y, -1)
        rows.log_softmax_back(g, rows.log_softmax(x, -1), -1)
        rows.softmax(np.full((2, 2), np.inf), -1)
        loss, *parts = rows.cross_entropy(x, target, True)
        rows.cross_entropy_back(loss, True, *parts)
        rows.cross_entropy(x, target + 1, True)

    assert are_let_go(once, (x, target, weight, g, images))

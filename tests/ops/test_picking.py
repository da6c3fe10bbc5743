"""`topk`, `gather`, `scatter_add`, `masked_fill`, `bincount` and `random.multinomial`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import dispatchkit as dk
from dispatchkit.backends.numpy import numpy_namespace

X = dk.asarray([[3.0, 1.0, 2.0], [5.0, 7.0, 7.0]])


def gradient_of(x: dk.Tensor) -> dk.Tensor:
    assert x.grad is not None
    return x.grad


def test_topk_gives_the_first_of_equal_elements_first_and_nan_as_the_largest() -> None:
    found = dk.topk(X, 2)
    assert found.values.tolist() == [[3.0, 2.0], [7.0, 7.0]]
    assert found.indices.tolist() == [[0, 2], [1, 2]]
    assert X.topk(1, 0, False).indices.tolist() == [[0, 0, 0]]
    assert dk.topk(dk.asarray([1.0, dk.nan, 3.0]), 2).indices.tolist() == [1, 2]


RARE = [np.nan, np.inf, -np.inf, 0.0, -0.0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("rare", [0.0, 0.02, 0.5, 0.98])
def test_ranks_of_long_rows_are_those_of_a_stable_sort(dtype: str, rare: float) -> None:
    rng = np.random.default_rng(0)
    numbers = [rng.standard_normal((5, 200)) * 50, rng.integers(0, 5, (2, 3, 64)), np.zeros((2, 40)), np.zeros((0, 40))]
    for x in numbers:
        if np.dtype(dtype).kind == "f":
            x = np.where(rng.random(x.shape) < rare, rng.choice(RARE, x.shape), x)
        x = x.astype(dtype)
        for axis, largest in itertools.product((-1, 0), (True, False)):
            order = numpy_namespace.argsort(x, axis=axis, descending=largest)
            for k in {0, 1, 3, 8, 9, 20, x.shape[axis]}:
                if k <= x.shape[axis]:
                    wanted = np.take(order, np.arange(k), axis)
                    found = dk.topk(dk.asarray(x), k, axis, largest)
                    npt.assert_array_equal(found.indices.numpy(), wanted, strict=True)
                    npt.assert_array_equal(found.values.numpy(), np.take_along_axis(x, wanted, axis), strict=True)


def test_the_gradient_of_topk_goes_to_the_elements_found() -> None:
    x = dk.tensor(X.numpy(), requires_grad=True)
    (dk.topk(x, 2, axis=1).values * dk.asarray([1.0, 10.0])).sum().backward()
    assert gradient_of(x).tolist() == [[1.0, 0.0, 10.0], [0.0, 1.0, 10.0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dk.topk(X, 4), "topk: k must be at most 3, the length of axis -1, found 4"),
        (lambda: dk.topk(X, -1), "topk: k must be at least 0, found -1"),
        (
            lambda: dk.gather(X, 1, dk.asarray([0])),
            r"gather: indices of shape \(1,\) do not fit x of shape \(2, 3\) along axis 1: they have as many axes, and",
        ),
        (lambda: dk.gather(X, 1, dk.asarray([[0]] * 3)), r"gather: indices of shape \(3, 1\) do not fit x"),
        (
            lambda: dk.scatter_add(X, 1, dk.asarray([[0, 1]]), dk.ones((1, 1))),
            r"scatter_add: indices of shape \(1, 2\) do not fit src of shape \(1, 1\) along axis 1",
        ),
        (lambda: dk.masked_fill(X, X > 2, dk.ones(3)), r"masked_fill: value must be a number or 0-D, found shape \(3,"),
        (lambda: dk.bincount(dk.asarray([0, -2])), "bincount: x must be of integers from 0 on, found -2"),
        (lambda: dk.bincount(dk.asarray([[0]])), r"bincount: x must be a vector, found shape \(1, 1\)"),
        (
            lambda: dk.bincount(dk.asarray([0]), dk.ones(2)),
            r"bincount: weights of shape \(2,\) for integers of shape \(1,\)",
        ),
        (lambda: dk.random.multinomial(-X, 1), "a probability is neither negative nor infinite nor NaN"),
        (
            lambda: dk.random.multinomial(dk.asarray([0.0, 1.0]), 2),
            "multinomial: fewer than 2 categories have a probability other than 0",
        ),
        (lambda: dk.random.multinomial(X, 0), "multinomial: num_samples must be at least 1, found 0"),
        (lambda: dk.random.multinomial(dk.asarray(1.0), 1), r"probs must have shape \(\.\.\., K\), found \(\)"),
    ],
)
def test_a_wrong_argument_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dk.masked_fill(X, X, 0.0), "masked_fill: mask must be of booleans, found float64"),
        (
            lambda: dk.masked_fill(dk.asarray([1, 2]), dk.asarray([True, False]), 0.5),
            "masked_fill: an array of int64 cannot hold the value 0.5",
        ),
        (lambda: dk.masked_fill(X, X > 2, 1j), "masked_fill: an array of float64 cannot hold the value 1j"),
        (lambda: dk.bincount(X[0]), "bincount: x must be of integers, found float64"),
    ],
)
def test_a_wrong_dtype_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


def test_indices_shorter_than_the_array_leave_its_rest_out() -> None:
    assert dk.gather(X, 1, dk.asarray([[2]])).tolist() == [[2.0]]
    assert X.gather(0, dk.asarray([[1, 0]])).tolist() == [[5.0, 1.0]]


def test_elements_named_twice_are_added_twice_and_their_gradient_comes_back_to_each() -> None:
    src = dk.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    found = dk.zeros((1, 2)).scatter_add(1, dk.asarray([[0, 0, 1]]), src)
    assert found.tolist() == [[3.0, 3.0]]
    (found * dk.asarray([[5.0, 7.0]])).sum().backward()
    assert gradient_of(src).tolist() == [[5.0, 5.0, 7.0]]


def test_masked_fill_keeps_the_dtype_and_parts_the_gradient() -> None:
    assert dk.masked_fill(dk.zeros(2, dtype="float32"), dk.asarray([True, False]), dk.asarray(0.5)).dtype == dk.float32
    x, value = dk.tensor([1.0, 2.0, 3.0], requires_grad=True), dk.tensor(0.0, requires_grad=True)
    (x.masked_fill(x > 1, value) * dk.asarray([1.0, 10.0, 100.0])).sum().backward()
    assert gradient_of(x).tolist() == [1.0, 0.0, 0.0]
    assert gradient_of(value).item() == 110.0


def test_weights_keep_their_dtype_where_integers_are_counted() -> None:
    counts = dk.bincount(dk.asarray([0, 2, 2]), dk.asarray([1.0, 2.0, 4.0], dtype="float32"), minlength=4)
    assert counts.tolist() == [1.0, 0.0, 6.0, 0.0]
    assert counts.dtype == dk.float32


def test_functions_that_pick_go_through_vmap() -> None:
    indices = dk.asarray([[0, 2], [1, 1]])
    vmap = dk.func.vmap
    assert vmap(lambda x, i: dk.gather(x, 0, i))(X, indices).tolist() == [[3.0, 2.0], [7.0, 7.0]]
    assert vmap(lambda x, i: x.scatter_add(0, i, dk.ones(2)))(X, indices).tolist() == [[4.0, 1.0, 3.0], [5.0, 9.0, 7.0]]
    assert vmap(lambda x: dk.topk(x, 1).indices)(X).tolist() == [[0], [1]]
    assert vmap(lambda x: dk.masked_fill(x, x > 2, 0.0))(X).tolist() == [[0.0, 1.0, 2.0], [0.0] * 3]
    assert vmap(lambda x: dk.bincount(dk.asarray([0, 1, 1]), x))(X).tolist() == [[3.0, 3.0], [5.0, 14.0]]
    with pytest.raises(dk.errors.TransformError, match=r"dispatchkit\.bincount gives depends on the values"):
        vmap(dk.bincount)(indices)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("rows", [(), (2,)])
def test_categories_are_drawn_as_often_as_their_probabilities_say(replacement: bool, rows: tuple[int, ...]) -> None:
    probs = dk.asarray(np.broadcast_to([0.0, 1.0, 3.0, 0.0], (*rows, 4)))
    draw = dk.Generator(0)
    count, samples = (4000, 1) if replacement else (1, 4000)
    drawn = np.stack(
        [dk.random.multinomial(probs, count, replacement, generator=draw).numpy() for _ in range(samples)]
    ).reshape(samples, *rows, count)
    assert set(drawn.flat) == {1, 2}
    assert drawn.dtype == np.int64
    shares = (drawn == 2).mean(axis=(0, -1))
    assert np.all(np.abs(shares - 0.75) < 0.03)


def test_without_replacement_a_category_comes_once() -> None:
    drawn = dk.random.multinomial(dk.ones((50, 6)), 6, generator=dk.Generator(0))
    assert dk.all(dk.sort(drawn) == dk.arange(6))
    assert len(np.unique(drawn.numpy()[:, 0])) == 6


@pytest.mark.parametrize("randomness", ["same", "different"])
@pytest.mark.parametrize("replacement", [True, False])
def test_each_element_of_a_batch_draws_by_its_own_probabilities(randomness: Any, replacement: bool) -> None:
    dk.manual_seed(0)
    probs = dk.asarray([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    drawn = dk.func.vmap(lambda p: dk.random.multinomial(p, 2, replacement), randomness=randomness)(probs)
    assert drawn.shape == (2, 2)
    assert 2 not in drawn[0].tolist()
    assert 0 not in drawn[1].tolist()


@pytest.mark.parametrize(("axis", "shape"), [(0, (3, 5)), (1, (2, 7)), (-1, (4, 2)), (0, (6, 3))])
def test_gathered_elements_have_a_gradient_of_their_own(axis: int, shape: tuple[int, ...]) -> None:
    draws = np.random.default_rng(0)
    x, indices = dk.tensor(draws.standard_normal((4, 5)), requires_grad=True), draws.integers(0, 4, shape)
    y = dk.gather(x, axis, dk.asarray(indices))
    wanted = np.zeros((4, 5))
    for place, index in np.ndenumerate(indices):
        named = (index, place[1]) if axis == 0 else (place[0], index)
        assert y[place].item() == x[named].item()
        wanted[named] += 1
    y.sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), wanted)
    assert "GatherBackward" in repr(y)

    def squares(x: Any) -> Any:
        return (dk.gather(x, axis, dk.asarray(indices)) ** 2).sum()

    assert dk.autograd.gradgradcheck(squares, (x.detach().requires_grad_(),))

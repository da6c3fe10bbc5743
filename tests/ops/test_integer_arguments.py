"""Parameters that are integers: tensors in their place, and numbers that are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

X: Any = dk.asarray([1.0, 2.0, 3.0])
MATRIX = dk.asarray([[1.0, 2.0], [3.0, 4.0]])
REPETITIONS: list[Any] = [dk.asarray([2, 1]), dk.asarray([2, 2])]
ONE: Any = dk.asarray([1])
TWO: list[Any] = [2, np.int64(2), dk.asarray(2), dk.asarray([2])]
CALLS: dict[str, Callable[[Any], Any]] = {
    "tile": lambda n: dk.tile(X, n),
    "np.tile": lambda n: np.tile(X, n),
    "repeat": lambda n: dk.repeat(X, n),
    "roll": lambda n: dk.roll(X, n),
    "roll along an axis": lambda n: dk.roll(MATRIX, n, axis=0),
    "reshape": lambda n: dk.reshape(dk.asarray([1.0, 2.0, 3.0, 4.0]), (n, 2)),
    "diagonal": lambda n: dk.diagonal(dk.ones((3, 3)), offset=n),
    "tril": lambda n: dk.tril(dk.ones((3, 3)), k=n),
    "fft": lambda n: dk.real(dk.fft.fft(X, n=n)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_tensors_of_one_integer_are_taken_for_it(call: Callable[[Any], Any]) -> None:
    for n in TWO:
        np.testing.assert_array_equal(call(n).numpy(), call(2).numpy())


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x, n: dk.tile(x, n), [6.0, 6.0, 6.0]),
        (lambda x, n: dk.repeat(x, n), [6.0, 6.0, 6.0]),
        (lambda x, n: dk.roll(x, n) * dk.asarray([1.0, 2.0, 3.0]) * 1.0, [3.0, 1.0, 2.0]),
    ],
    ids=["tile", "repeat", "roll"],
)
def test_their_gradients_and_batches_are_those_of_the_integer(call: Callable[[Any, Any], Any], expected: Any) -> None:
    for n in TWO:
        weight = 1.0 if expected[0] == 3.0 else 3.0
        gradient = dk.func.grad(lambda x: (call(x, n) * weight).sum())(X)  # noqa: B023  # called at once
        np.testing.assert_array_equal(gradient.numpy(), expected)
        rows = dk.func.vmap(lambda row: call(row, n))(dk.stack([X, X + 1]))  # noqa: B023
        np.testing.assert_array_equal(rows.numpy(), np.stack([call(X, 2).numpy(), call(X + 1, 2).numpy()]))


def test_tile_takes_several_repetitions_in_a_tensor() -> None:
    np.testing.assert_array_equal(dk.tile(X, REPETITIONS[0]).numpy(), np.tile([1.0, 2.0, 3.0], (2, 1)))
    gradient = dk.func.grad(lambda x: dk.tile(x, REPETITIONS[1]).sum())(X)
    np.testing.assert_array_equal(gradient.numpy(), [4.0, 4.0, 4.0])


def test_split_takes_a_number_of_parts_in_a_tensor() -> None:
    parts = dk.split(dk.arange(4), TWO[2])
    assert [part.tolist() for part in parts] == [[0, 1], [2, 3]]
    assert [part.tolist() for part in dk.split(dk.arange(4), ONE)] == [[0], [1, 2, 3]]


REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda n: dk.tile(X, n), "tile: repetitions must be an integer or several, found"),
    (lambda n: dk.repeat(X, n), "repeat: repeats must be integers, found"),
    (lambda n: dk.roll(X, n), "roll: shift must be an integer or several, found"),
    (lambda n: dk.tril(MATRIX, k=n), "tril: k must be integers, found"),
    (lambda n: dk.triu(MATRIX, k=n), "triu: k must be integers, found"),
    (lambda n: dk.split(X, n), "split: indices_or_sections must be an int, found"),
    (lambda n: dk.take(X, n), "take: indices must be integers, found"),
    (lambda n: X.take(n), "take: indices must be integers, found"),
    (lambda n: np.take(X, n), "take: indices must be integers, found"),
    (lambda n: dk.take(MATRIX, n, axis=0), "take: indices must be integers, found"),
    (lambda n: dk.bincount(n), "bincount: x must be of integers, found"),
    (lambda n: np.put(X.clone(), n, 5.0), "put: ind must be integers, found"),
    (lambda n: dk.nn.functional.one_hot(n, 3), "one_hot: argument 'x' must be of integers, found"),
    (lambda n: dk.nn.functional.embedding(n, MATRIX), "embedding: argument 'x' must be of integers, found"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
@pytest.mark.parametrize("number", [1.7, 1.0, np.float64(1.0), dk.asarray(1.7)], ids=repr)
def test_numbers_that_are_no_integers_are_refused(call: Callable[[Any], Any], text: str, number: Any) -> None:
    with pytest.raises(TypeError, match=text):
        call(number)


@pytest.mark.parametrize("number", [1.7, dk.asarray([1.7, 0.0])], ids=repr)
def test_floats_select_nothing(number: Any) -> None:
    selections: list[Callable[[], Any]] = [
        lambda: X[number],
        lambda: X.clone().__setitem__(number, 5.0),
        lambda: dk.index_put(X, number, 5.0),
        lambda: dk.take_along_axis(X, number, axis=0),
    ]
    for select in selections:
        with pytest.raises(IndexError):
            select()


@pytest.mark.parametrize("truth", [True, np.True_, dk.asarray(True), dk.asarray([True, False])], ids=repr)
def test_booleans_are_no_indices(truth: Any) -> None:
    with pytest.raises(TypeError, match="take: indices must be integers, found"):
        dk.take(X, truth)
    with pytest.raises(TypeError, match="take: indices must be integers, found"):
        dk.func.vmap(lambda x: dk.take(x, truth))(dk.stack([X, X]))


def test_the_text_says_what_was_found() -> None:
    with pytest.raises(TypeError, match=r"dispatchkit\.take: indices must be integers, found 1\.7"):
        dk.take(X, 1.7)
    with pytest.raises(TypeError, match=r"dispatchkit\.take: indices must be integers, found an array of bool"):
        dk.take(X, dk.asarray([True]))

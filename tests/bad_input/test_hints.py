"""What was meant by a call that does not fit, where that can be guessed; and what messages leave out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit import nn
from tests.bad_input.support import refuses

X: Any = dk.ones((2, 3))
KEYWORDS: dict[str, tuple[Callable[[], Any], str, str]] = {
    "dim": (lambda: dk.sum(X, dim=0), "sum", "'dim'; did you mean 'axis'?"),  # type: ignore[call-arg]
    "dim of a method": (lambda: X.sum(dim=1), "sum", "'dim'; did you mean 'axis'?"),
    "dim of softmax": (lambda: nn.functional.softmax(X, dim=-1), "softmax", "'dim'; did you mean 'axis'?"),  # type: ignore[call-arg]
    "dim of cat": (lambda: dk.cat([X], dim=0), "concat", "'dim'; did you mean 'axis'?"),  # type: ignore[call-arg]
    "keepdim": (lambda: dk.mean(X, keepdim=True), "mean", "'keepdim'; did you mean 'keepdims'?"),  # type: ignore[call-arg]
    "unbiased": (lambda: dk.std(X, unbiased=False), "std", "'unbiased'; did you mean 'correction'?"),  # type: ignore[call-arg]
    "ddof": (lambda: X.var(ddof=1), "var", "'ddof'; did you mean 'correction'?"),
    "a misspelling": (lambda: dk.sum(X, axsi=0), "sum", "'axsi'; did you mean 'axis'?"),  # type: ignore[call-arg]
}
TUPLES: dict[str, tuple[Callable[[], Any], str, str]] = {
    "ones": (lambda: dk.ones(2, 3), "ones", "give the shape as a tuple: ones((2, 3));"),  # type: ignore[call-arg]
    "zeros": (lambda: dk.zeros(2, 3, dtype=dk.float32), "zeros", "give the shape as a tuple: zeros((2, 3));"),  # type: ignore[misc]
    "full": (lambda: dk.full(2, 3, 1.0), "full", "give the shape as a tuple: full((2, 3), fill_value);"),  # type: ignore[call-arg]
    "empty": (lambda: dk.empty(2, 3, 4), "empty", "give the shape as a tuple: empty((2, 3, 4));"),  # type: ignore[call-arg]
    "reshape": (lambda: dk.reshape(X, 3, 2), "reshape", "give the shape as a tuple: reshape(x, (3, 2));"),  # type: ignore[call-arg]
    "permute_dims": (lambda: dk.permute_dims(X, 1, 0), "permute_dims", "as a tuple: permute_dims(x, (1, 0));"),  # type: ignore[call-arg]
}


@pytest.mark.parametrize("case", [*KEYWORDS, *TUPLES])
def test_what_was_meant_is_said(case: str) -> None:
    call, name, text = {**KEYWORDS, **TUPLES}[case]
    refuses(call, TypeError, name, text)


def test_nothing_is_guessed_where_nothing_is_near() -> None:
    assert "did you mean" not in str(refuses(lambda: dk.sum(X, nothing_like_it=0), TypeError, "sum"))  # type: ignore[call-arg]
    assert "as a tuple" not in str(refuses(lambda: dk.eye(2, 3, 4), TypeError, "eye"))  # type: ignore[call-arg]


def test_a_dtype_that_is_none_is_all_that_is_named() -> None:
    error = refuses(lambda: dk.ones(2, dtype="floot"), TypeError, "ones")
    assert str(error) == "dispatchkit.ones: 'floot' is no dtype; did you mean 'float64'?"
    for name, call in (
        ("sum", lambda: dk.sum(X, dtype="floot")),
        ("astype", lambda: X.astype("floot")),
        ("asarray", lambda: dk.asarray([1], dtype="floot")),
    ):
        error = refuses(call, TypeError, name)
        assert str(error) == f"dispatchkit.{name}: 'floot' is no dtype; did you mean 'float64'?"


def test_an_axis_out_of_bounds_is_said_in_plain_words() -> None:
    error = refuses(lambda: dk.sum(X, axis=5), IndexError, "sum")
    assert str(error) == (
        "dispatchkit.sum: axis 5 is out of bounds for an array with 2 dimensions\n"
        "  called with x = float64 array of shape (2, 3), axis = 5"
    )
    refuses(lambda: dk.sum(dk.ones(3), axis=1), IndexError, "sum", "for an array with 1 dimension\n")


def test_messages_hold_nothing_of_the_documentation() -> None:
    calls: list[Callable[[], Any]] = [
        lambda: X + dk.ones(2),
        lambda: X[5],
        lambda: dk.sum(X, axis=5),
        lambda: dk.asarray([[1], [1, 2]]),
    ]
    for call in calls:
        with pytest.raises((ValueError, IndexError)) as caught:
            call()
        assert "wanted" not in str(caught.value)

"""`assert_close`: what agrees, what does not, and what the message shows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.testing import assert_close
from dispatchkit.types import (
    MaskedTensor,
    MetadataTensor,
    NamedTensor,
    QuantityTensor,
    ScalarTensor,
    SparseTensor,
    UncertainTensor,
)

Q = QuantityTensor([1.0, 2.0], "m")
M = MaskedTensor([1.0, np.nan], [True, False])
U = UncertainTensor([1.0, 2.0], [0.1, 0.2])
S = ScalarTensor(3, 2.0)


@dk.array_type()
class Opaque:
    def __init__(self, data: Any, mode: str = "a") -> None:
        self.data, self.mode = dk.asarray(data), mode

    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)


class Sub(dk.Tensor):
    pass


ALIKE: list[tuple[Any, Any]] = [
    (dk.asarray([0.1]) + 0.2, dk.asarray([0.3])),
    (dk.ones(2, requires_grad=True), np.ones(2)),
    (1.0, dk.tensor(1.0)),
    ({"a": [dk.ones(2), (1, "b")]}, {"a": [dk.ones(2), (1, "b")]}),
    (dk.zeros(0), dk.zeros(0)),
    (dk.asarray([np.inf, -np.inf]), dk.asarray([np.inf, -np.inf])),
    (Q.to("cm"), Q),
    (QuantityTensor([20.0], "degC"), QuantityTensor([293.15], "K")),
    (M, MaskedTensor([1.0, 7.0], [True, False])),
    (MaskedTensor([1.0, 2.0]), dk.asarray([1.0, 2.0])),
    (U, UncertainTensor([1.0, 2.0], [0.1, 0.2])),
    (NamedTensor(Q, ("x",)), NamedTensor(Q.to("cm"), ("x",))),
    (MetadataTensor(M, metadata={"a": 1}), MetadataTensor(M, metadata={"a": 1})),
    (S, 2 * dk.eye(3)),
    (2 * dk.eye(3), S),
    (SparseTensor.from_dense(2 * dk.eye(3)), S),
    (QuantityTensor(S, "m"), QuantityTensor(200 * dk.eye(3), "cm")),
    (Opaque([1.0]), Opaque([1.0])),
    (Sub([1.0]), dk.ones(1)),
]


@pytest.mark.parametrize(("actual", "expected"), ALIKE)
def test_what_is_alike_passes(actual: Any, expected: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_close(actual, expected)


@pytest.mark.parametrize(
    ("actual", "expected", "text"),
    [
        (dk.ones(2), dk.ones(3), r"^shape \(2,\) instead of \(3,\)$"),
        (dk.ones(2), dk.ones(2, dtype="float32"), "^dtype float64 instead of float32; check_dtype=False compares"),
        ([1], [1, 2], "^1 members instead of 2$"),
        ({"a": 1}, {"b": 1}, r"^keys \['a'\] instead of \['b'\]$"),
        ({"a": [dk.ones(2), "x"]}, {"a": [dk.ones(2), "y"]}, r"^\['a'\]\[1\]: 'x' instead of 'y'$"),
        (None, dk.ones(1), r"^None instead of \[1\.\]$"),
        (Q, QuantityTensor([1.0, 2.0], "s"), "^unit 'm' instead of 's', into which it does not convert$"),
        (Q, dk.asarray([1.0, 2.0]), "^a QuantityTensor instead of a Tensor$"),
        (Q, QuantityTensor([1.0, 2.0], "km"), "^in 'km': 2 of 2 elements differ\n"),
        (M, MaskedTensor([1.0, 1.0], [False, True]), "^valid elements: 2 of 2 elements differ\n"),
        (
            M,
            MaskedTensor([2.0, 1.0], [True, False]),
            r"^1 of 2 elements differs\n(.*\n)*  at \(0,\): 1.0 instead of",
        ),
        (U, UncertainTensor([1.0, 2.0], [0.1, 0.3]), "^std: 1 of 2 elements differs\n"),
        (NamedTensor(Q, ("x",)), NamedTensor(Q, ("y",)), r"^names \('x',\) instead of \('y',\)$"),
        (
            MetadataTensor(M, metadata={"a": 1}),
            MetadataTensor(M, metadata={}),
            r"^metadata \{'a': 1\} instead of",
        ),
        (S, 2 * dk.eye(4), r"^shape \(3, 3\) instead of \(4, 4\)$"),
        (Opaque([1.0]), Opaque([1.0], "b"), "^mode 'a' instead of 'b'$"),
        (Opaque([1.0]), Opaque([2.0]), "^1 of 1 elements differs"),
        (Opaque([1.0]), S, "^an? Opaque instead of a ScalarTensor$"),
        (dk.asarray([np.nan]), dk.asarray([np.nan]), "^1 of 1 elements differs"),
        (dk.asarray([True]), dk.asarray([False]), r"^1 of 1 elements differs\n  at \(0,\): True instead of False\n"),
    ],
)
def test_what_differs_is_named(actual: Any, expected: Any, text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        assert_close(actual, expected)


@pytest.mark.parametrize(
    ("dtype", "allowed"),
    [
        ("float16", (1e-3, 1e-5)),
        ("float32", (1.3e-6, 1e-5)),
        ("float64", (1e-7, 1e-7)),
        ("complex64", (1.3e-6, 1e-5)),
        ("complex128", (1e-7, 1e-7)),
        ("int64", (0.0, 0.0)),
    ],
)
def test_the_tolerances_are_those_of_pytorch(dtype: str, allowed: tuple[float, float]) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_close(dk.zeros(1, dtype=dtype), dk.ones(1, dtype=dtype))
    lines = str(caught.value).splitlines()
    assert lines[1] == f"  greatest absolute difference: 1 at (0,), allowed are {allowed[1]:g}"
    assert lines[2] == f"  greatest relative difference: 1 at (0,), allowed are {allowed[0]:g}"


def test_the_tolerances_bound_what_passes() -> None:
    assert_close(1.0, 1.1, rtol=0.1, atol=0)
    assert_close(dk.asarray([1.0]), dk.asarray([1.1]), rtol=0, atol=0.11)
    assert_close(Q, QuantityTensor([1.1, 2.1], "m"), rtol=0, atol=QuantityTensor(11.0, "cm"))
    assert_close(QuantityTensor([110.0, 210.0], "cm"), Q, rtol=0, atol=0.11)
    with pytest.raises(AssertionError, match=r"^in 'm': 2 of 2 elements differ"):
        assert_close(Q, QuantityTensor([1.1, 2.1], "m"), rtol=0, atol=QuantityTensor(9.0, "cm"))
    text = "^assert_close: rtol is given without atol; give both, or none for those of the dtype$"
    with pytest.raises(ValueError, match=text):
        assert_close(1.0, 1.0, rtol=0.1)


def test_what_is_not_asked_for_is_not_compared() -> None:
    assert_close(dk.ones(1), dk.ones(1, dtype="float32"), check_dtype=False)
    assert_close(dk.asarray([np.nan]), dk.asarray([np.nan]), equal_nan=True)
    for actual, expected, text in ((S, 2 * dk.eye(3), "a ScalarTensor"), (Sub([1.0]), dk.ones(1), "a Sub")):
        with pytest.raises(AssertionError, match=f"^{text} instead of a Tensor$"):
            assert_close(actual, expected, check_structure=True)
    with pytest.raises(AssertionError, match=r"^the sums$"):
        assert_close(1.0, 2.0, msg="the sums")


def test_the_message_shows_places_and_a_picture() -> None:
    expected = np.zeros((2, 3, 4))
    actual = expected.copy()
    actual[1, :2, 1:] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    with pytest.raises(AssertionError) as caught:
        assert_close(dk.asarray(actual), dk.asarray(expected))
    assert str(caught.value).splitlines() == [
        "6 of 24 elements differ",
        "  greatest absolute difference: 6 at (1, 1, 3), allowed are 1e-07",
        "  greatest relative difference: inf at (1, 0, 1), allowed are 1e-07",
        *(f"  at (1, {i // 3}, {i % 3 + 1}): {i + 1.0} instead of 0.0" for i in range(5)),
        "  and 1 more",
        "  in [1, :, :], x differs:",
        "    . x x x",
        "    . x x x",
        "    . . . .",
    ]


def test_a_large_array_is_shown_in_blocks() -> None:
    actual = np.zeros((24, 400))
    actual[23, 399] = 1.0
    with pytest.raises(AssertionError) as caught:
        assert_close(actual, np.zeros((24, 400)))
    head, *rows = str(caught.value).splitlines()[4:]
    assert head == "  in the array, x differs, each mark stands for 2 x 10 elements:"
    assert [row.count(".") for row in rows] == [40] * 11 + [39]
    assert rows[-1].endswith(" x")

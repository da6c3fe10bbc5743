"""`pad`, `split`, `chunk`, `kron`, `argwhere` against NumPy and PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk

A = np.arange(24.0).reshape(2, 3, 4)
Z = np.array([0.5 + 1.25j, -0.75 + 0.5j])


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=3),
    st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap"]),
    st.sampled_from(["float64", "float32", "complex64", "int8", "bool"]),
)
def test_any_widths_give_what_numpy_gives(axes: list[tuple[int, int, int]], mode: Any, dtype: str) -> None:
    shape, widths = tuple(n for n, _, _ in axes), [(before, after) for _, before, after in axes]
    x = np.random.default_rng(0).integers(-9, 9, size=shape).astype(dtype)
    expected = np.pad(x, widths, mode=mode)
    found = dk.pad(x, widths, mode)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected)


FORMS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "a number": (A, 2, {}),
    "a sequence of a number": (A, (2,), {}),
    "a pair": (A, (1, 2), {}),
    "a pair in a sequence": (A, [[1, 2]], {}),
    "a number for each axis": (A, [[1], [2], [0]], {}),
    "by axis": (A, {-1: (2, 1), 0: 1}, {}),
    "an array": (A, np.array([[1, 0], [0, 0], [2, 2]]), {}),
    "a value for each end": (A, 1, {"constant_values": (5, 6)}),
    "a value for each axis": (A, 1, {"constant_values": [[1], [2], [3]]}),
    "values by axis": (A, 1, {"constant_values": {0: 1, 2: (2, 3)}}),
    "0-D": (np.array(3.0), 1, {}),
    "nothing to add": (A, 0, {}),
    "empty": (np.ones((0, 2)), 1, {"constant_values": 4}),
    "empty by elements": (np.ones((0, 2)), ((0, 0), (1, 1)), {"mode": "wrap"}),
    "not contiguous": (A.T[::-1], 2, {"mode": "reflect"}),
    "not finite": (np.array([np.nan, 1.0, np.inf]), 2, {"mode": "symmetric"}),
    "a value brought to the dtype": (np.arange(3), 1, {"constant_values": 2.7}),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_widths_and_values(form: str) -> None:
    x, widths, kwargs = FORMS[form]
    pairs = [(1, 1), (0, 0), (2, 1)] if isinstance(widths, dict) else widths  # NumPy takes dictionaries from 2.2 on
    values = kwargs.get("constant_values")
    if isinstance(values, dict):
        kwargs["constant_values"], expected_values = values, [(1, 1), (0, 0), (2, 3)]
        expected = np.pad(x, pairs, constant_values=expected_values)
    else:
        expected = np.pad(x, pairs, **kwargs)
    found = dk.pad(x, widths, **kwargs)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected)


def test_pad_copies() -> None:
    x = dk.zeros(3)
    assert not np.shares_memory(dk.pad(x, 0).array, x.array)


PAD_ERRORS: list[tuple[Any, Any, type[Exception], str]] = [
    (2.5, {}, TypeError, r"pad: pad_width must hold integers, found 2\.5"),
    (-1, {}, ValueError, r"pad: pad_width must not be negative, found -1"),
    ([1, 2, 3], {}, ValueError, r"pad: pad_width must be a number, a pair, or a pair for each of 3 axes, found \[1, 2"),
    (1, {"constant_values": [1, 2, 3]}, ValueError, r"pad: constant_values must be a number, a pair, or"),
    (1, {"mode": "mirror"}, ValueError, r"pad: mode must be one of 'constant', 'edge', .* found 'mirror'"),
    ({3: 1}, {}, ValueError, r"pad: axis 3 is out of bounds"),
]


@pytest.mark.parametrize(("widths", "kwargs", "error", "message"), PAD_ERRORS)
def test_pad_names_what_is_wrong(widths: Any, kwargs: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        dk.pad(A, widths, **kwargs)


def test_an_axis_without_elements_cannot_be_mirrored() -> None:
    with pytest.raises(ValueError, match=r"pad: axis 0 has no elements to extend it by in mode 'reflect'"):
        dk.pad(np.ones((0, 2)), 1, "reflect")


@pytest.mark.parametrize(
    ("cut", "axis"), [(2, 0), (3, 1), (4, -1), ([1], 0), ([0, 2, 2, 9], 1), ([-3, -1], 2), (np.array([1, 2]), 1)]
)
def test_split_gives_what_numpy_gives(cut: Any, axis: int) -> None:
    x = dk.asarray(A)
    found = dk.split(x, cut, axis=axis)
    assert type(found) is tuple
    for part, expected in zip(found, np.split(A, cut, axis), strict=True):
        np.testing.assert_array_equal(part.numpy(), expected)
        assert np.shares_memory(part.array, x.array) or not part.size


def test_split_of_nothing() -> None:
    assert [part.shape for part in dk.split(dk.zeros((0, 2)), 3)] == [(0, 2)] * 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dk.split(A, 5, axis=2), r"split: axis 2, 4 long, has no 5 parts of equal length"),
        (lambda: dk.split(A, 0), r"split: axis 0, 2 long, has no 0 parts of equal length"),
        (lambda: dk.split(A, [3, 1], axis=2), r"split: indices_or_sections must be in ascending order, found \[3, 1\]"),
        (lambda: dk.split(A, 1, axis=3), r"split: axis 3 is out of bounds"),
        (lambda: dk.chunk(A, 0), r"chunk: chunks must be at least 1, found 0"),
        (lambda: dk.chunk(A, 1, axis=-4), r"chunk: axis -4 is out of bounds"),
    ],
)
def test_parts_that_do_not_exist(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(("n", "chunks"), [(5, 2), (5, 3), (6, 4), (2, 5), (0, 3), (1, 1)])
def test_chunks_are_those_of_pytorch(n: int, chunks: int) -> None:
    torch = pytest.importorskip("torch")
    x = np.arange(2.0 * n).reshape(2, n)
    expected = torch.tensor(x).chunk(chunks, 1)
    found = dk.asarray(x).chunk(chunks, 1)
    assert [part.tolist() for part in found] == [part.tolist() for part in expected]


@pytest.mark.parametrize("shapes", [((2,), (3,)), ((2, 3), (1, 2)), ((2,), (3, 2)), ((), (2, 2)), ((0, 2), (2, 2))])
@pytest.mark.parametrize("dtype", ["float32", "complex128", "int16"])
def test_kron_gives_what_numpy_gives(shapes: tuple[tuple[int, ...], ...], dtype: str) -> None:
    a, b = (np.random.default_rng(0).integers(-5, 5, size=shape).astype(dtype) for shape in shapes)
    found = dk.asarray(a).kron(b)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.numpy(), np.kron(a, b))


def test_kron_takes_numbers() -> None:
    np.testing.assert_array_equal(dk.kron(2, dk.ones(2)).numpy(), [2, 2])


def test_complex_gradients_agree_with_differences() -> None:
    z, w = dk.tensor(Z, requires_grad=True), dk.tensor([[1j, 2.0]], requires_grad=True)
    assert dk.autograd.gradcheck(dk.kron, (z, w))
    assert dk.autograd.gradcheck(lambda z: dk.pad(z, 3, "reflect"), (z,))
    assert dk.autograd.gradcheck(lambda z: dk.split(z * z, 2), (z,))


@pytest.mark.parametrize("x", [A, A > 5, np.array(0.0), np.array(True), np.zeros((0, 2)), np.array([np.nan, 0, 1j])])
def test_argwhere_gives_what_numpy_gives(x: Any) -> None:
    found, expected = dk.asarray(x).argwhere(), np.argwhere(x)
    assert found.dtype == np.int64
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.numpy(), expected)

"""The text of tensors, character for character."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

NAN, INF = float("nan"), float("inf")

TEXTS: list[tuple[Any, str]] = [
    ([1.0, 2.0], "tensor([1., 2.])"),
    ([7.3890561], "tensor([7.3891])"),
    ([1.5, 2], "tensor([1.5000, 2.0000])"),
    (3.0, "tensor(3.)"),
    (3.5, "tensor(3.5000)"),
    ([1, 2], "tensor([1, 2])"),
    ([-1.0, 2.0], "tensor([-1.,  2.])"),
    ([True, False], "tensor([ True, False])"),
    ([[2.0, 0.0], [0.0, 2.0]], "tensor([[2., 0.],\n        [0., 2.]])"),
    ([NAN, 1.5, -INF], "tensor([   nan, 1.5000,   -inf])"),
    ([], "tensor([])"),
    ([0.1, 100.25], "tensor([1.0000e-01, 1.0025e+02])"),
    ([1e-10, 1.0], "tensor([1.0000e-10, 1.0000e+00])"),
    ([1e10, 1.0], "tensor([1.0000e+10, 1.0000e+00])"),
    ([1001.0, 0.5], "tensor([1.0010e+03, 5.0000e-01])"),
]


@pytest.mark.parametrize(("data", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_elements(data: Any, text: str) -> None:
    assert repr(dk.tensor(data)) == text
    assert str(dk.tensor(data)) == text


def test_a_dtype_is_printed_where_it_says_something() -> None:
    assert repr(dk.tensor([1.0], dtype=dk.float32)) == "tensor([1.], dtype=float32)"
    assert repr(dk.tensor([1], dtype=dk.uint8)) == "tensor([1], dtype=uint8)"
    for dtype in (dk.float64, dk.int64, dk.bool):
        assert "dtype" not in repr(dk.ones(1, dtype=dtype))


def test_a_leaf_says_that_it_requires_a_gradient() -> None:
    assert repr(dk.tensor([1.0], requires_grad=True)) == "tensor([1.], requires_grad=True)"


def test_a_result_names_what_made_it() -> None:
    x = dk.tensor([1.0], requires_grad=True)
    assert repr(x + 1) == "tensor([2.], grad_fn=<AddBackward>)"
    assert repr(dk.linalg.det(dk.eye(1) * x)) == "tensor(1., grad_fn=<DetBackward>)"
    assert repr(dk.cumulative_sum(x)) == "tensor([1.], grad_fn=<CumulativeSumBackward>)"


def test_the_dtype_stands_before_the_gradient() -> None:
    x = dk.tensor([1.0], dtype=dk.float32, requires_grad=True)
    assert repr(x) == "tensor([1.], dtype=float32, requires_grad=True)"
    assert repr(x + 1) == "tensor([2.], dtype=float32, grad_fn=<AddBackward>)"


def test_an_empty_tensor_says_its_shape() -> None:
    assert repr(dk.zeros((0, 3))) == "tensor([], size=(0, 3))"


def test_long_tensors_are_summarised() -> None:
    assert repr(dk.arange(2000)) == "tensor([   0,    1,    2, ..., 1997, 1998, 1999])"
    assert "..." not in repr(dk.zeros(1000))
    assert repr(dk.zeros((100, 100))).count("\n") == 6


def test_a_subclass_prints_under_its_name() -> None:
    class Mine(dk.Tensor):
        pass

    assert repr(Mine([1.0, 2.0])) == "Mine([1., 2.])"
    assert repr(Mine([[1.0], [2.0]])) == "Mine([[1.],\n      [2.]])"


def test_lines_continue_below_the_first_element() -> None:
    lines = repr(dk.arange(100)).splitlines()
    assert len(lines) > 1
    assert all(line.startswith("        ") for line in lines[1:])
    assert all(len(line) <= 80 for line in lines)


@pytest.fixture
def options() -> Iterator[None]:
    yield
    dk.set_printoptions(profile="default")
    dk.set_default_dtype(dk.float64)


@pytest.mark.usefixtures("options")
def test_precision() -> None:
    dk.set_printoptions(precision=2)
    assert repr(dk.tensor([3.14159, 1.0])) == "tensor([3.14, 1.00])"


@pytest.mark.usefixtures("options")
def test_threshold_and_edge_items() -> None:
    dk.set_printoptions(threshold=5, edgeitems=1)
    assert repr(dk.arange(6)) == "tensor([0, ..., 5])"
    assert repr(dk.arange(5)) == "tensor([0, 1, 2, 3, 4])"


@pytest.mark.usefixtures("options")
def test_line_width() -> None:
    dk.set_printoptions(linewidth=20)
    assert repr(dk.arange(6)) == "tensor([0, 1, 2, 3,\n        4, 5])"


@pytest.mark.usefixtures("options")
def test_a_negative_option_is_refused_and_changes_nothing() -> None:
    with pytest.raises(ValueError, match="set_printoptions: threshold is -1; it cannot be negative"):
        dk.set_printoptions(precision=2, threshold=-1)
    assert repr(dk.tensor([3.14159])) == "tensor([3.1416])"


@pytest.mark.usefixtures("options")
def test_profiles_set_what_is_not_given() -> None:
    dk.set_printoptions(profile="short", edgeitems=1, threshold=5)
    assert repr(dk.arange(6) / 3) == "tensor([0.00, ..., 1.67])"
    dk.set_printoptions(profile="full")
    assert "..." not in repr(dk.arange(2000))
    dk.set_printoptions(profile="default")
    assert "..." in repr(dk.arange(2000))
    with pytest.raises(ValueError, match="set_printoptions: profile is 'long'; it is one of default, short, full"):
        dk.set_printoptions(precision=2, profile="long")
    assert repr(dk.tensor([3.14159])) == "tensor([3.1416])"


@pytest.mark.usefixtures("options")
def test_exponents_are_printed_or_left_out_as_is_asked() -> None:
    x = dk.tensor([1e-7, 3.14159, 1e9])
    as_at_first = "tensor([1.0000e-07, 3.1416e+00, 1.0000e+09])"
    assert repr(x) == as_at_first
    dk.set_printoptions(sci_mode=False)
    assert repr(x) == "tensor([         0.0000,          3.1416, 1000000000.0000])"
    assert repr(dk.tensor([1.0, -2e9, float("inf")])) == "tensor([          1., -2000000000.,          inf])"
    assert repr(dk.tensor([float("nan"), float("-inf")])) == "tensor([ nan, -inf])"
    assert repr(dk.types.MaskedTensor(x, dk.tensor([True, False, True]))).count("e+") == 0
    assert repr(dk.arange(3)) == "tensor([0, 1, 2])"
    dk.set_printoptions(sci_mode=True)
    assert repr(dk.tensor([3.14159, 20.0])) == "tensor([3.1416e+00, 2.0000e+01])"
    dk.set_printoptions()
    assert repr(x) == as_at_first


@pytest.mark.usefixtures("options")
def test_a_dtype_is_printed_where_the_elements_would_not_give_it_again() -> None:
    single, double = dk.ones(2, dtype=dk.float32), dk.ones(2)
    assert (repr(single), repr(double)) == ("tensor([1., 1.], dtype=float32)", "tensor([1., 1.])")
    assert (repr(dk.tensor([1j])), repr(dk.empty((2, 0)))) == ("tensor([0.+1.j])", "tensor([], size=(2, 0))")
    dk.set_default_dtype(dk.float32)
    assert (repr(single), repr(double)) == ("tensor([1., 1.])", "tensor([1., 1.], dtype=float64)")
    assert repr(dk.tensor([1j], dtype=dk.complex128)) == "tensor([0.+1.j], dtype=complex128)"
    assert repr(dk.types.MaskedTensor(single, dk.tensor([True, False]))) == "MaskedTensor([1., --])"


def test_a_tensor_without_axes_is_a_number_inside_a_text() -> None:
    loss = dk.tensor(0.5, requires_grad=True) * 3
    assert f"loss {loss}, {loss:.2f}, {dk.tensor(3)}" == "loss 1.5, 1.50, 3"
    assert f"{dk.tensor([0.5])}" == "tensor([0.5000])"
    assert f"{dk.nn.Parameter(dk.tensor(0.5))}" == "Parameter containing:\ntensor(0.5000, requires_grad=True)"
    shown: list[str] = []

    def show(x: dk.Tensor) -> dk.Tensor:
        shown.append(f"{x}")
        return x

    dk.func.vmap(show)(dk.ones(2))
    assert shown[0].startswith("Batched(level=")
    assert shown[0].endswith(", tensor([1., 1.]))")


@pytest.mark.usefixtures("options")
def test_numpys_options_count_where_the_librarys_own_are_as_at_first() -> None:
    with np.printoptions(precision=1, threshold=3, edgeitems=1):
        assert repr(dk.tensor([3.14159])) == "tensor([3.1])"
        assert repr(dk.zeros(9)) == "tensor([0., ..., 0.])"
        dk.set_printoptions(precision=2)
        assert repr(dk.tensor([3.14159])) == "tensor([3.14])"


def rows_of(html: str) -> list[list[str]]:
    """Return the texts of the cells of a table, row by row."""
    rows = re.findall("<tr>(.*?)</tr>", html)
    return [re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def test_a_notebook_gets_a_table_of_a_vector_or_matrix() -> None:
    text = dk.tensor([[1.5, 2], [3, 4]])._repr_html_()
    assert rows_of(text) == [["1.5000", "2.0000"], ["3.0000", "4.0000"]]
    assert "Tensor, 2×2, float64" in text
    assert rows_of(dk.tensor([1.0])._repr_html_()) == [["1."]]


def test_a_notebook_gets_the_ends_of_a_large_matrix() -> None:
    rows = rows_of(dk.zeros((30, 2))._repr_html_())
    assert [row[0] for row in rows] == ["0.", "0.", "0.", "…", "0.", "0.", "0."]


def test_a_notebook_gets_the_text_of_anything_else() -> None:
    text = (dk.ones((), requires_grad=True) * 2)._repr_html_()
    assert "<span>2. </span>" in text
    assert "grad_fn=&lt;MultiplyBackward&gt;" in text
    assert dk.zeros((2, 2, 2))._repr_html_().startswith("<pre>[[[0., 0.],")


def test_a_0d_tensor_is_formatted_as_its_number() -> None:
    assert f"{dk.tensor(1.23456):.2f}" == "1.23"
    assert f"{dk.tensor(7):03d}" == "007"
    assert f"{dk.tensor([1.0])}" == "tensor([1.])"


def test_half_precision_prints_without_a_warning() -> None:
    assert repr(dk.asarray(np.array([1.0, 2.0], "float16"))) == "tensor([1., 2.], dtype=float16)"
    assert repr(dk.asarray(np.array([0.5, 6e4], "float16"))) == "tensor([5.0000e-01, 6.0000e+04], dtype=float16)"


def test_the_default_dtype_is_not_printed() -> None:
    before = dk.get_default_dtype()
    try:
        dk.set_default_dtype(dk.float32)
        assert repr(dk.ones(2)) == "tensor([1., 1.])"
        assert repr(dk.ones(2, dtype=dk.float64)) == "tensor([1., 1.], dtype=float64)"
    finally:
        dk.set_default_dtype(before)

"""`einsum` against NumPy's, and what it says of operands and subscripts that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk

SIZES = dict(zip("abcdef", (2, 3, 1, 4, 2, 3), strict=True))


def drawn(*shapes: tuple[int, ...], dtype: str = "float64") -> list[Any]:
    rng = np.random.default_rng(0)
    values = [rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype[0] == "c" else 0) for shape in shapes]
    return [np.asarray(3 * value).astype(dtype) for value in values]


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, list[tuple[int, ...]]]:
    """Subscripts and shapes: letters repeated within and among operands, axes of length 1, an ellipsis."""
    count = draw(st.integers(1, 4))
    terms, shapes = [], []
    for _ in range(count):
        letters = draw(st.lists(st.sampled_from("abcdef"), max_size=4).map("".join))
        dots = draw(st.booleans())
        lengths = [SIZES[letter] for letter in letters]
        if len(set(letters)) == len(letters):
            lengths = [draw(st.sampled_from([n, 1])) for n in lengths]
        covered = (draw(st.sampled_from([1, 2])),) if dots else ()
        place = draw(st.integers(0, len(letters)))
        terms.append(letters[:place] + ("..." if dots else "") + letters[place:])
        shapes.append((*lengths[:place], *covered, *lengths[place:]))
    text = ",".join(terms)
    if draw(st.booleans()):
        used = sorted(set(text) - set(",."))
        output = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
        text += "->" + ("..." if "..." in text else "") + "".join(output)
    return text, shapes


@given(calls(), st.sampled_from([True, False, "optimal"]))
def test_any_subscripts_give_what_numpy_gives(call: tuple[str, list[tuple[int, ...]]], optimize: bool | str) -> None:
    text, shapes = call
    operands = drawn(*shapes)
    expected = np.einsum(text, *operands)
    found = dk.einsum(text, *operands, optimize=optimize)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10, atol=1e-10)


CASES: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ij,jk->ik", [(0, 3), (3, 2)]),
    ("ij,jk->ik", [(2, 0), (0, 2)]),
    (" i j , j k -> i k ", [(2, 3), (3, 2)]),
    ("iij->j", [(2, 2, 3)]),
    ("iii->i", [(3, 3, 3)]),
    ("i...i->...", [(2, 3, 2)]),
    ("...,...", [(2, 1), (3,)]),
    ("->", [()]),
    ("", [()]),
    ("ba", [(2, 3)]),
]


@pytest.mark.parametrize(("text", "shapes"), CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int64", "int8", "bool"])
def test_dtypes_stay(text: str, shapes: list[tuple[int, ...]], dtype: str) -> None:
    operands = drawn(*shapes, dtype=dtype)
    expected = np.einsum(text, *operands)
    found = dk.einsum(text, *operands)
    assert found.dtype == expected.dtype
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-5)


def test_operands_of_several_dtypes_and_layouts() -> None:
    a, b, c = drawn((3, 2), (3, 4), (4, 2))
    got = dk.einsum("ji,kj,kl", a[::-1], b.T.astype("float32"), c[:, ::-1].astype(complex))
    np.testing.assert_allclose(got.numpy(), np.einsum("ji,kj,kl", a[::-1], b.T, c[:, ::-1] + 0j), rtol=1e-5)


def test_a_number_is_an_operand_without_axes() -> None:
    np.testing.assert_array_equal(dk.einsum(",i->i", 2.0, dk.ones(3)).numpy(), [2.0, 2.0, 2.0])


def test_nan_and_infinity_pass_through() -> None:
    a = np.array([[np.nan, 1.0], [np.inf, 2.0]])
    np.testing.assert_array_equal(dk.einsum("ij->i", a).numpy(), [np.nan, np.inf])


def test_the_result_of_one_operand_is_a_view_as_in_numpy() -> None:
    x = dk.asarray(drawn((2, 3))[0])
    assert np.shares_memory(dk.einsum("ij->ji", x).array, x.array)


def test_a_path_is_found_and_followed() -> None:
    shapes: list[tuple[int, ...]] = [(9, 8), (8, 7), (7,)]
    operands = drawn(*shapes)
    path, text = dk.einsum_path("ij,jk,k->i", *operands, optimize="optimal")
    assert path == ["einsum_path", (1, 2), (0, 1)]
    assert "Optimized scaling" in text
    assert dk.einsum_path("ij,jk,k->i", *operands, optimize=path[1:])[0] == path
    assert dk.einsum_path("ij,jk,k->i", *operands, optimize=False)[0] == ["einsum_path", (0, 1, 2)]
    followed: list[Any] = []

    class Noted(dk.TensorFunctionMode):
        def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            followed.append((func.__name__, [x.shape for x in args if isinstance(x, dk.Tensor)]))
            return NotImplemented

    leaves = [dk.tensor(x, requires_grad=True) for x in operands]
    expected = np.einsum("ij,jk,k->i", *operands)
    for optimize in ("optimal", path, path[1:], ("optimal", 10**6)):
        followed.clear()
        with Noted():
            found = dk.einsum("ij,jk,k->i", *leaves, optimize=optimize)
        assert [shapes for name, shapes in followed if name == "matmul"] == [[(8, 7), (7,)], [(9, 8), (8,)]]
        np.testing.assert_allclose(found.detach().numpy(), expected)


COMPLEX: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ij,jk->ik", [(2, 3), (3, 2)]),
    ("bij,bj->b", [(2, 2, 3), (2, 3)]),
    ("i,j,i->ij", [(2,), (3,), (2,)]),
    ("ii->i", [(2, 2)]),
]


@pytest.mark.parametrize(("text", "shapes"), COMPLEX)
def test_complex_gradients_agree_with_differences(text: str, shapes: list[tuple[int, ...]]) -> None:
    leaves = [dk.tensor(x, requires_grad=True) for x in drawn(*shapes, dtype="complex128")]
    assert dk.autograd.gradcheck(lambda *xs: dk.einsum(text, *xs), leaves)
    assert dk.autograd.gradgradcheck(lambda *xs: dk.einsum(text, *xs), leaves, atol=1e-4)


ERRORS: list[tuple[str, list[tuple[int, ...]], dict[str, Any], str]] = [
    ("ij,jk", [(2, 3)], {}, r"einsum: subscripts 'ij,jk' are for 2 operands, found 1"),
    ("ij,ijk", [(2, 3), (2, 3)], {}, r"einsum: operand 1 has 2 axes, its subscripts 'ijk' name 3"),
    ("i...jk", [(2, 3)], {}, r"einsum: operand 0 has 2 axes, its subscripts 'i\.\.\.jk' name at least 3"),
    ("ij,jk", [(2, 3), (4, 2)], {}, r"einsum: subscript 'j' is 3 long in operand 0 and 4 long in operand 1"),
    ("...i,...i", [(2, 3), (4, 3)], {}, r"an axis under '\.\.\.' is 2 long in operand 0 and 4 long in operand 1"),
    ("ii", [(2, 3)], {}, r"einsum: subscript 'i' stands for lengths 2 and 3 in operand 0"),
    ("ij->ik", [(2, 3)], {}, r"einsum: subscript 'k' of the output 'ik' is in no operand"),
    ("ij->ii", [(2, 3)], {}, r"einsum: the output 'ii' names subscript 'i' 2 times"),
    ("i1->i", [(2, 3)], {}, r"einsum: subscripts are letters, ',', '\.\.\.' and one '->', found '1' in 'i1->i'"),
    ("i->j->k", [(2,)], {}, r"found '->' in 'i->j->k'"),
    ("i..", [(2, 3)], {}, r"einsum: the subscripts 'i\.\.' of operand 0 hold dots other than one '\.\.\.'"),
    ("...i->i", [(2, 3)], {}, r"einsum: the output 'i' has no place for the axes under '\.\.\.'; write '\.\.\.i'"),
    ("i,i,i", [(2,)] * 3, {"optimize": "best"}, r"optimize must be True, False, 'greedy', 'optimal' or a path, found"),
    ("i,i", [(2,)] * 2, {"optimize": 2}, r"optimize must be True, False, 'greedy', 'optimal' or a path, found 2"),
    ("i,i,i", [(2,)] * 3, {"optimize": [(0, 3), (0, 1)]}, r"step \(0, 3\) of the path is no choice among the 3"),
    ("i,i,i", [(2,)] * 3, {"optimize": [(0, 1)]}, r"einsum: the path \[\(0, 1\)\] leaves 2 operands of 3, not one"),
]


@pytest.mark.parametrize(("text", "shapes", "kwargs", "message"), ERRORS)
def test_what_does_not_fit_is_named(
    text: str, shapes: list[tuple[int, ...]], kwargs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        dk.einsum(text, *drawn(*shapes), **kwargs)


def test_subscripts_are_a_string() -> None:
    with pytest.raises(TypeError, match=r"einsum: subscripts must be a string such as 'ij,jk->ik', found list"):
        dk.einsum([0, 1], dk.ones((2, 2)))


def test_a_type_with_matrix_products_has_einsum() -> None:
    @dk.array_type(fallback=dk.fallback.decompose)
    class Scaled:
        def __init__(self, n: int, value: float) -> None:
            self.shape, self.dtype, self.value = (n, n), np.dtype("float64"), value

    @dk.implements(dk.matmul)
    def scaled_matmul(x1: Scaled, x2: Scaled, /) -> Scaled:
        return Scaled(x1.shape[0], x1.value * x2.value)

    product = dk.einsum("ij,jk,kl->il", Scaled(3, 2.0), Scaled(3, 5.0), Scaled(3, 0.5))
    assert type(product) is Scaled
    assert product.value == 5.0


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize(("text", "expected"), [("ij->ji", [[2, 2], [2, 2]]), ("ii->i", [[2, 1], [1, 2]])])
def test_a_result_that_needs_no_sum_is_a_view(text: str, expected: list[list[int]], optimize: bool) -> None:
    x = dk.ones((2, 2), requires_grad=True)
    y = x * 1.0
    dk.einsum(text, y, optimize=optimize).mul_(2.0)
    assert y.tolist() == expected
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == expected


def test_the_diagonal_that_diag_takes_is_a_view() -> None:
    x = dk.zeros((2, 3))
    dk.diag(x, offset=1).add_(1.0)
    dk.diag(x).add_(2.0)
    assert x.tolist() == [[2, 1, 0], [0, 2, 1]]


def test_a_number_takes_the_dtype_of_the_other_operand() -> None:
    assert dk.einsum(",i->i", 2.0, dk.ones(2, dtype="float32")).dtype == np.float32


@pytest.mark.parametrize("subscripts", ["ij,jk->ik", "...ij,...jk->...ik", "ij,jk->k"])
def test_what_broadcasts_along_a_summed_axis_is_multiplied_before_the_sum(subscripts: str) -> None:
    x = dk.asarray([[np.inf]])
    base, left, right = dk.asarray([[0.0, 1.0], [-1.0, 2.0]]), dk.zeros((2, 1)), dk.zeros((1, 2))
    with dk.densify(on="allow"), np.errstate(invalid="ignore"):
        found = dk.einsum(subscripts, x, dk.types.LoraTensor(base, left, right))
        np.testing.assert_array_equal(found, np.einsum(subscripts, x.numpy(), base.numpy()))

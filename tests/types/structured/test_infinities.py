"""Infinities and NaN: zeros that a structure says are there contribute nothing, every other number counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import types

PATTERN = types.SparsePattern([0, 1, 1, 2, 3], [1, 0, 2, 3, 0], (4, 4))
ORDER = types.PermutationTensor([2, 0, 3, 1])


def square(v: Any) -> Any:
    """Return a vector of 4 or 16 numbers as a square matrix."""
    side = int(v.size**0.5)
    return dk.reshape(v, (side, side))


# By structure of shape (4, 4): how many numbers one takes, and how it is made of a vector of them.
MATRICES: dict[str, tuple[int, Callable[[Any], Any]]] = {
    "Scalar": (1, lambda v: types.ScalarTensor(4, v[0])),
    "Diagonal": (4, types.DiagonalTensor),
    "Lower": (16, lambda v: types.TriangularTensor(square(v))),
    "Upper": (16, lambda v: types.TriangularTensor(square(v), upper=True)),
    "Banded": (12, lambda v: types.BandedTensor(dk.reshape(v, (3, 4)), lower=1, upper=1)),
    "Permutation": (0, lambda v: ORDER),
    "BlockDiagonal": (8, lambda v: types.BlockDiagonalTensor([square(v[:4]), square(v[4:])])),
    "LowRank": (16, lambda v: types.LowRankTensor(dk.reshape(v[:8], (4, 2)), dk.reshape(v[8:], (2, 4)))),
    "LowRankUpdate": (
        12,
        lambda v: types.LowRankTensor(v[:4, None], v[None, 4:8]) + types.DiagonalTensor(v[8:]),
    ),
    "Kronecker": (8, lambda v: types.KroneckerTensor(square(v[:4]), square(v[4:]))),
    "Kronecker of Diagonal": (6, lambda v: types.KroneckerTensor(types.DiagonalTensor(v[:2]), square(v[2:]))),
    "Kronecker of Lower": (8, lambda v: types.KroneckerTensor(square(v[:4]), types.TriangularTensor(square(v[4:])))),
    "ShiftedKronecker": (
        7,
        lambda v: types.KroneckerTensor(types.DiagonalTensor(v[:2]), square(v[2:6])) + types.ScalarTensor(4, v[6]),
    ),
    "Toeplitz": (8, lambda v: types.ToeplitzTensor(v[:4], v[4:])),
    "Circulant": (4, types.CirculantTensor),
    "Sum": (4, lambda v: types.DiagonalTensor(v) + ORDER),
    "Sum of triangles": (
        32,
        lambda v: types.TriangularTensor(square(v[:16])) + types.TriangularTensor(square(v[16:]), upper=True),
    ),
    "Product": (4, lambda v: ORDER @ types.DiagonalTensor(v)),
    "Sparse": (5, lambda v: types.SparseTensor(v, PATTERN)),
}
NUMBERS = {"finite": 2.0, "inf": np.inf, "-inf": -np.inf, "nan": np.nan, "zero": 0.0}
SHAPES = {"vector": (4,), "matrix": (4, 3), "batch": (2, 4, 2)}


def with_number(rng: np.random.Generator, shape: tuple[int, ...], number: float) -> Any:
    """Return numbers of both signs, some of them replaced."""
    x = rng.choice([1.0, 2.0, -1.0, 0.5, 3.0, -2.0], shape)
    x[rng.random(shape) < 0.2] = number
    return x


def elements_of(name: str, numbers: Any) -> tuple[Any, Any]:
    """Return the elements of a structure, and where it has some: where it is not zero for numbers that all are one."""
    count, make = MATRICES[name]
    return make(dk.asarray(numbers)).to_dense().numpy(), make(dk.ones(count)).to_dense().numpy() != 0


def product(elements: Any, places: Any, columns: Any, column_places: Any = True) -> Any:
    """Return the product of arrays, in which elements that a structure does not have are left out."""
    terms = elements[..., :, :, None] * columns[..., None, :, :]
    return np.where(places[..., None] & column_places, terms, 0.0).sum(axis=-2)


pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::dispatchkit.errors.DensifyWarning"),
]


@pytest.mark.parametrize("outside", NUMBERS)
@pytest.mark.parametrize("inside", NUMBERS)
@pytest.mark.parametrize("name", MATRICES)
def test_a_product_leaves_out_the_zeros_of_the_structure_and_nothing_else(name: str, inside: str, outside: str) -> None:
    count, make = MATRICES[name]
    rng = np.random.default_rng(len(name))
    for shape in SHAPES.values():
        numbers = with_number(rng, (count,), NUMBERS[inside])
        matrix, (elements, places) = make(dk.asarray(numbers)), elements_of(name, numbers)
        x = with_number(rng, shape, NUMBERS[outside])
        columns = x if x.ndim > 1 else x[:, None]
        rows = np.swapaxes(x, -1, -2) if x.ndim > 1 else x
        right = product(elements, places, columns)
        left = np.swapaxes(product(elements.T, places.T, columns), -1, -2)
        found = matrix @ dk.asarray(x), dk.asarray(rows) @ matrix
        expected = (right, left) if x.ndim > 1 else (right[:, 0], left[0])
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.numpy(), other, rtol=1e-6, atol=1e-9)


# Two matrices of low rank are not paired here, nor a sparse one and a structure, which have no common rule.
PAIRED = [name for name in MATRICES if name != "Sparse"]


@pytest.mark.parametrize("number", ["inf", "nan"])
@pytest.mark.parametrize("left", PAIRED)
def test_a_product_of_structures_leaves_out_the_zeros_of_both(
    left: str, number: str, subtests: pytest.Subtests
) -> None:
    for right in PAIRED:
        if (left, right) != ("LowRank", "LowRank"):
            with subtests.test(right):
                leaves_out_the_zeros_of_both(left, right, number)


def leaves_out_the_zeros_of_both(left: str, right: str, number: str) -> None:
    """Compare the product of two structures with that of their elements, without those that one does not have."""
    rng = np.random.default_rng(3)
    vectors = [with_number(rng, (MATRICES[name][0],), NUMBERS[number]) for name in (left, right)]
    first, second = (MATRICES[name][1](dk.asarray(v)) for name, v in zip((left, right), vectors, strict=True))
    (x1, places1), (x2, places2) = (elements_of(name, v) for name, v in zip((left, right), vectors, strict=True))
    found = first @ second
    found = found if isinstance(found, dk.Tensor) else found.to_dense()
    np.testing.assert_allclose(found.numpy(), product(x1, places1, x2, places2), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("number", ["inf", "-inf", "nan"])
@pytest.mark.parametrize("name", MATRICES)
def test_sums_elements_and_functions_of_them_are_those_of_the_dense_matrix(name: str, number: str) -> None:
    count, make = MATRICES[name]
    numbers = with_number(np.random.default_rng(1), (count,), NUMBERS[number])
    matrix, plain = make(dk.asarray(numbers)), dk.asarray(elements_of(name, numbers)[0])
    for function in (
        *(dk.sum, dk.mean, dk.max, dk.linalg.trace, dk.linalg.diagonal, dk.matrix_transpose, dk.isnan),
        *(lambda x: dk.sum(x, axis=-1), lambda x: dk.sum(x, axis=-2), lambda x: x[1], lambda x: x[2, 3]),
        *(lambda x: x * np.inf, lambda x: x * 2.0, lambda x: x + x, lambda x: x * x, lambda x: x / 0.0, dk.exp),
    ):
        found = function(matrix)
        found = found if isinstance(found, dk.Tensor) else found.to_dense()
        np.testing.assert_allclose(found.numpy(), function(plain).numpy(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("number", ["inf", "-inf", "nan"])
@pytest.mark.parametrize("name", ["svdvals", "svd", "eigvalsh", "eigh", "matrix_rank", "pinv"])
@pytest.mark.parametrize("structure", MATRICES)
def test_decompositions_of_matrices_with_inf_or_nan_raise(structure: str, name: str, number: str) -> None:
    count, make = MATRICES[structure]
    if count:
        matrix = make(dk.full((count,), NUMBERS[number]))
        with pytest.raises(np.linalg.LinAlgError, match="must not contain infs or NaNs"):
            getattr(dk.linalg, name)(matrix)


def test_the_error_of_a_decomposition_names_the_operation_and_the_structure() -> None:
    with pytest.raises(np.linalg.LinAlgError) as caught:
        dk.linalg.svdvals(types.DiagonalTensor([np.inf, 1.0]))
    assert str(caught.value) == "svdvals: the DiagonalTensor x must not contain infs or NaNs"


@pytest.mark.parametrize("number", [np.inf, -np.inf])
def test_an_infinite_determinant_has_a_sign(number: float) -> None:
    bands = np.full((3, 4), 1.0)
    bands[1] = number, 3.0, 4.0, 5.0
    for matrix in (
        types.DiagonalTensor([number, 2.0]),
        types.ScalarTensor(1, number),
        types.TriangularTensor([[number, 0.0], [1.0, 2.0]]),
        types.BandedTensor(bands, lower=1, upper=1),
    ):
        sign, logarithm = dk.linalg.slogdet(matrix)
        assert (sign.item(), logarithm.item()) == (np.sign(number), np.inf)
        assert dk.linalg.det(matrix).item() == number


@pytest.mark.parametrize("matrix", [types.DiagonalTensor([np.nan, 4.0]), types.ScalarTensor(2, np.nan)])
def test_the_cholesky_factor_of_nan_is_nan(matrix: Any) -> None:
    factor = dk.linalg.cholesky(matrix).to_dense()
    assert np.isnan(factor[0, 0].numpy())
    assert factor[0, 1].item() == 0.0


def test_a_sum_does_not_become_dense_where_its_terms_agree_with_its_elements() -> None:
    matrix = types.DiagonalTensor([1.0, 2.0, 3.0, 4.0]) + ORDER
    with dk.densify(on="error"):
        assert (matrix @ dk.asarray([np.inf, 1.0, 1.0, 1.0])).tolist() == [np.inf, np.inf, 4.0, 5.0]


@pytest.mark.parametrize("name", [name for name in MATRICES if name not in ("Permutation", "Sum", "Product", "Sparse")])
def test_products_with_infinity_are_the_same_in_arrays_of_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    count, make = MATRICES[name]
    numbers, x = np.linspace(-2.0, 3.0, count), np.array([np.inf, 1.0, -np.inf, 2.0])
    expected = make(dk.asarray(numbers)) @ dk.asarray(x)
    found = make(dk.asarray(torch.asarray(numbers))) @ dk.asarray(torch.asarray(x))
    assert isinstance(found.array, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), expected.numpy())


def test_numbers_that_a_triangle_does_not_read_leave_a_kronecker_product_its_structure() -> None:
    triangle = types.TriangularTensor([[1.0, np.nan], [2.0, 4.0]])
    with dk.densify(on="error"):
        inverse = dk.linalg.inv(types.KroneckerTensor(triangle, triangle))
    assert isinstance(inverse, types.KroneckerTensor)


@pytest.mark.parametrize("upper", [False, True])
def test_the_gradient_of_a_product_with_infinity_leaves_out_the_zeros_too(upper: bool) -> None:
    data = dk.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    x = dk.tensor([np.inf, 1.0] if not upper else [1.0, np.inf], requires_grad=True)
    grads = [dk.autograd.grad((types.TriangularTensor(data, upper=upper) @ x).sum(), [one])[0] for one in (data, x)]
    expected = [[np.inf, 0.0], [np.inf, 1.0]] if not upper else [[1.0, np.inf], [0.0, np.inf]]
    assert grads[0].tolist() == expected
    assert grads[1].tolist() == ([4.0, 4.0] if not upper else [1.0, 6.0])


@pytest.mark.filterwarnings("ignore")  # what the numbers cause
@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("place", ["left", "right", "base", "tensor", "scale"])
def test_updates_of_low_rank_and_scales_multiply_infinities_as_the_dense_matrix_does(number: float, place: str) -> None:
    parts = {
        "base": np.asarray([[0.0, 1.0], [2.0, 3.0]]),
        "left": np.asarray([[0.0], [1.0]]),
        "right": np.asarray([[1.0, 0.0]]),
        "tensor": np.asarray([[0.0, 1.0], [1.0, -1.0]]),
        "scale": np.asarray([1.0, 2.0]),
    }
    parts[place].flat[-1] = number
    integers, tensor = np.asarray([[0, 3], [5, 0]], np.int8), dk.asarray(parts["tensor"])
    matrices: list[Any] = [
        types.LoraTensor(parts["base"], parts["left"], parts["right"], 0.5),
        types.LowRankTensor(parts["left"], parts["right"]),
        *(types.QuantizedTensor(integers, parts["scale"], axis) for axis in (-2, -1)),
    ]
    for matrix in matrices:
        full = matrix.to_dense()
        for call in (
            *(lambda x: x @ tensor, lambda x: tensor @ x, lambda x: x.mT @ tensor[0], lambda x: tensor[1] @ x),
            *(lambda x: x.sum(), lambda x: x.sum(axis=0), lambda x: x.sum(axis=1), dk.linalg.matrix_norm),
        ):
            np.testing.assert_array_equal(call(matrix).numpy(), call(full).numpy())

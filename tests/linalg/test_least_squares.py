"""`linalg.lstsq`: solutions, derivatives, batches, and types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.types import MaskedTensor, NamedTensor, QuantityTensor, UncertainTensor

TALL = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
SIDE = np.array([0.5, 2.0, 2.5, 5.0])
SHAPES = {
    "vector": ((4, 2), (4,)),
    "columns": ((4, 2), (4, 3)),
    "wide": ((2, 4), (2,)),
    "wide, columns": ((2, 3), (2, 2)),
    "square": ((3, 3), (3,)),
}


def numbers(*shapes: tuple[int, ...], dtype: str = "float64") -> list[Any]:
    rng = np.random.default_rng(4)
    arrays = [rng.normal(size=shape) + 1j * rng.normal(size=shape) for shape in shapes]
    return [x.astype(dtype) if dtype[0] == "c" else x.real.copy() for x in arrays]


def test_a_line_through_points_is_found_with_its_residual() -> None:
    fit = dk.linalg.lstsq(dk.asarray(TALL), dk.asarray(SIDE))
    np.testing.assert_allclose(fit.solution.numpy(), [0.4, 1.4], rtol=1e-12)
    np.testing.assert_allclose(fit.residuals.numpy(), [0.7], rtol=1e-12)
    assert fit.rank.item() == 2
    np.testing.assert_allclose(fit.singular_values.numpy(), np.sqrt([9 + np.sqrt(61), 9 - np.sqrt(61)]), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("case", SHAPES)
def test_each_part_is_that_of_numpy(case: str, dtype: str) -> None:
    a, b = numbers(*SHAPES[case], dtype=dtype)
    for ours, theirs in zip(dk.linalg.lstsq(dk.asarray(a), dk.asarray(b)), np.linalg.lstsq(a, b), strict=True):
        assert ours.shape == np.shape(theirs)
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("case", SHAPES)
def test_derivatives_of_either_order_agree_with_differences(case: str, dtype: str) -> None:
    a, b = (dk.tensor(x, requires_grad=True) for x in numbers(*SHAPES[case], dtype=dtype))

    def parts(a: Any, b: Any) -> Any:
        fit = dk.linalg.lstsq(a, b)
        return fit.solution, fit.residuals, fit.singular_values

    assert dk.autograd.gradcheck(parts, (a, b))
    assert dk.autograd.gradgradcheck(lambda a, b: parts(a, b)[:2], (a, b), rtol=1e-3, atol=1e-4)


def test_the_tangent_of_the_solution_is_that_of_the_normal_equations() -> None:
    a, b, da, db = (dk.asarray(x) for x in numbers((4, 2), (4,), (4, 2), (4,)))
    x, dx = dk.func.jvp(lambda a, b: dk.linalg.lstsq(a, b).solution, (a, b), (da, db))
    wanted = dk.linalg.solve(a.T @ a, da.T @ (b - a @ x) + a.T @ (db - da @ x))
    np.testing.assert_allclose(dx.numpy(), wanted.numpy(), rtol=1e-9)


def test_of_many_solutions_the_shortest_is_found_and_residuals_are_there() -> None:
    fit = dk.linalg.lstsq(dk.ones((3, 2)), dk.asarray([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(fit.solution.numpy(), [1.0, 1.0])
    np.testing.assert_allclose(fit.residuals.numpy(), [2.0])
    assert fit.rank.item() == 1
    g = dk.func.grad(lambda b: dk.linalg.lstsq(dk.ones((3, 2)), b).solution.sum())(dk.ones(3))
    np.testing.assert_allclose(g.numpy(), np.full(3, 1 / 3))


def test_small_singular_values_are_taken_for_0_by_rcond() -> None:
    a, b = dk.asarray([[4.0, 0.0], [0.0, 1.0]]), dk.asarray([8.0, 3.0])
    assert dk.linalg.lstsq(a, b, rcond=0.2).solution.tolist() == [2.0, 3.0]
    fit = dk.linalg.lstsq(a, b, rcond=0.25)
    assert (fit.solution.tolist(), fit.rank.item()) == ([2.0, 0.0], 1)


def test_batches_are_solved_one_by_one() -> None:
    a, vectors, matrices = numbers((3, 4, 2), (3, 4), (4, 5))
    for b, of_each in ((vectors, vectors), (vectors[..., None], vectors[..., None]), (matrices, [matrices] * 3)):
        fit = dk.linalg.lstsq(dk.asarray(a), dk.asarray(b))
        wanted = [np.linalg.lstsq(x, y) for x, y in zip(a, of_each, strict=True)]
        np.testing.assert_allclose(fit.solution.numpy(), [one[0] for one in wanted])
        np.testing.assert_allclose(fit.residuals.numpy(), [one[1] for one in wanted])


def test_vmap_reads_a_matrix_as_one_where_a_batch_could_make_it_vectors() -> None:
    a, b = numbers((3, 3, 2), (3, 3))
    found = dk.func.vmap(lambda x: dk.linalg.lstsq(x, dk.asarray(b)).solution)(dk.asarray(a))
    np.testing.assert_allclose(found.numpy(), [np.linalg.lstsq(x, b)[0] for x in a])


def test_units_are_those_of_the_quotient_and_of_the_square() -> None:
    fit = dk.linalg.lstsq(QuantityTensor(TALL, "s"), QuantityTensor(SIDE, "m"))
    found: Any = (fit.solution, fit.residuals, fit.singular_values)
    assert [str(part.unit) for part in found] == ["m/s", "m**2", "s"]
    assert isinstance(fit.rank, dk.Tensor)
    plain: Any = dk.linalg.lstsq(dk.asarray(TALL), QuantityTensor(SIDE, "m"))
    assert [str(plain[0].unit), str(plain[3].unit)] == ["m", ""]
    with pytest.raises(dk.UnitError, match="points on a scale, in 'degC', have no products"):
        dk.linalg.lstsq(dk.asarray(TALL), QuantityTensor(SIDE, "degC"))


def test_uncertainty_goes_through_as_the_inverse_of_the_normal_matrix() -> None:
    x: Any = dk.linalg.lstsq(dk.asarray(TALL), UncertainTensor(SIDE, 0.1)).solution
    covariance = 0.01 * np.linalg.inv(TALL.T @ TALL)
    np.testing.assert_allclose(x.std.numpy(), np.sqrt(np.diag(covariance)), rtol=1e-9)


REFUSED: dict[str, tuple[Any, str]] = {
    "masked": (lambda: MaskedTensor(TALL, TALL > 2), "it needs every element, and some may be missing"),
    "named": (lambda: NamedTensor(TALL, ("point", "term")), "axes of the result would have no names"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_types_that_cannot_say_what_all_parts_are_refuse(case: str) -> None:
    make, reason = REFUSED[case]
    matrix: Any = make()
    with pytest.raises(dk.NoImplementationError, match=reason):
        dk.linalg.lstsq(matrix, dk.asarray(SIDE))


@pytest.mark.parametrize("rcond", [None, -1, 0.6])
def test_the_function_of_numpy_leaves_residuals_out_where_the_rank_is_deficient(rcond: Any) -> None:
    a = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    for ours, theirs in zip(
        np.linalg.lstsq(dk.asarray(a), dk.ones(3), rcond), np.linalg.lstsq(a, np.ones(3), rcond), strict=True
    ):
        np.testing.assert_allclose(np.asarray(ours), theirs)

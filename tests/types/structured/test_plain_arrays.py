"""Structured matrices of plain arrays: what NumPy, BLAS and LAPACK compute at once, in few steps."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import dispatchkit as dk
from dispatchkit.types import (
    BandedTensor,
    DiagonalTensor,
    LowRankTensor,
    PermutationTensor,
    ScalarTensor,
    StructuredTensor,
    ToeplitzTensor,
    TriangularTensor,
)
from dispatchkit.types.rules import is_finite_array
from tests.protocol.support import steps_of

RNG = np.random.default_rng(0)
N = 150
ROOT = Path(__file__).parents[3]


def bands(lower: int, upper: int, n: int, outside: float = np.nan) -> np.ndarray:
    """Return bands around a heavy diagonal, with a number that is not to be read in the places outside the matrix."""
    values = RNG.uniform(1.0, 2.0, (lower + upper + 1, n))
    values[upper] += 10.0
    rows = np.arange(n) + np.arange(-upper, lower + 1)[:, None]
    return np.where((rows >= 0) & (rows < n), values, outside)


@pytest.mark.parametrize("shape", [(5,), (5, 3), (2, 5, 3)], ids=str)
@pytest.mark.parametrize(("lower", "upper"), [(0, 0), (1, 2), (3, 0), (6, 7)])
@pytest.mark.parametrize("batch", [(), (2,)], ids=str)
def test_a_product_with_bands_is_that_of_the_dense_matrix_and_reads_nothing_outside(
    shape: tuple[int, ...], lower: int, upper: int, batch: tuple[int, ...]
) -> None:
    held = np.broadcast_to(bands(lower, upper, 5), (*batch, lower + upper + 1, 5))
    a, x = BandedTensor(held, lower=lower, upper=upper), RNG.normal(size=shape)
    npt.assert_allclose((a @ dk.asarray(x)).numpy(), a.to_dense().numpy() @ x, rtol=1e-12)


@pytest.mark.parametrize("upper", [False, True])
def test_the_banded_factor_of_lapack_is_the_dense_one(upper: bool) -> None:
    pytest.importorskip("scipy")
    half = bands(0, 2, 6, outside=0.0)[::-1]
    a = BandedTensor(np.stack([np.roll(half[2], 2), np.roll(half[1], 1), *half]), lower=2, upper=2)
    symmetric = a.to_dense().numpy()
    npt.assert_array_equal(symmetric, symmetric.T)
    factor = dk.linalg.cholesky(a, upper=upper)
    assert isinstance(factor, BandedTensor)
    npt.assert_allclose(factor.to_dense().numpy(), np.linalg.cholesky(symmetric, upper=upper), atol=1e-13)
    with pytest.raises(np.linalg.LinAlgError, match="matrix is not positive definite: its 1-th leading minor"):
        dk.linalg.cholesky(BandedTensor(-a.bands, lower=2, upper=2))


@pytest.mark.parametrize("upper", [False, True])
def test_the_other_side_of_a_triangle_is_never_read(upper: bool) -> None:
    inside = np.tri(N, dtype=bool)
    if upper:
        inside = inside.T
    held = np.where(inside, RNG.normal(size=(N, N)), np.inf)
    t, dense = TriangularTensor(held, upper), np.where(inside, held, 0.0)
    v, m = RNG.normal(size=N), RNG.normal(size=(N, 3))
    npt.assert_allclose((t @ dk.asarray(v)).numpy(), dense @ v, atol=1e-12)
    npt.assert_allclose((t @ dk.asarray(m)).numpy(), dense @ m, atol=1e-12)
    npt.assert_array_equal((t - t).to_dense().numpy(), np.zeros((N, N)))
    npt.assert_array_equal((0.0 * t + t).to_dense().numpy(), dense)


@pytest.mark.parametrize("n", [5, 400])
@pytest.mark.parametrize("values", [[1.0, -2.0], [1.0, np.nan], [1.0, 2j], [3.0, 1e-320]], ids=str)
def test_a_diagonal_is_singular_if_a_number_on_it_is_zero(n: int, values: list[complex]) -> None:
    diagonal = np.resize(np.array(values), n)
    right = np.linspace(1.0, 2.0, n).astype(diagonal.dtype)
    with np.errstate(over="ignore"):
        npt.assert_array_equal(dk.linalg.solve(DiagonalTensor(diagonal), dk.asarray(right)).numpy(), right / diagonal)
    for zero in (0.0, -0.0):
        diagonal[n // 2] = zero
        with pytest.raises(np.linalg.LinAlgError, match="a DiagonalTensor with 0 on its diagonal"):
            dk.linalg.solve(DiagonalTensor(diagonal), dk.asarray(right))


def test_a_permutation_and_its_inverse_move_vectors_back_and_forth() -> None:
    order, v = RNG.permutation(N), RNG.normal(size=N)
    p, dense = PermutationTensor(order), np.eye(N)[order]
    npt.assert_array_equal((p @ dk.asarray(v)).numpy(), dense @ v)
    npt.assert_array_equal((dk.asarray(v) @ p).numpy(), v @ dense)
    npt.assert_array_equal(dk.linalg.solve(p, dk.asarray(v)).numpy(), dense.T @ v)
    npt.assert_array_equal(dk.linalg.inv(p).to_dense().numpy(), dense.T)


@pytest.mark.parametrize("n", [3, 700], ids=["by recursion", "by conjugate gradients first"])
def test_toeplitz_systems_of_several_columns_have_small_residuals(n: int) -> None:
    pytest.importorskip("scipy")
    t, b = ToeplitzTensor(3 * 0.5 ** np.arange(n)), RNG.normal(size=(n, 2))
    npt.assert_allclose((t @ dk.linalg.solve(t, dk.asarray(b))).numpy(), b, atol=1e-10)


def test_a_leading_minor_of_zero_ends_the_recursion_alone() -> None:
    pytest.importorskip("scipy")
    t = ToeplitzTensor([0.0, 1.0, 0.5], [0.0, 1.0, 2.0])
    b = np.array([1.0, 2.0, 3.0])
    with dk.densify(on="allow"):
        npt.assert_allclose(dk.linalg.solve(t, dk.asarray(b)).numpy(), np.linalg.solve(t.to_dense().numpy(), b))


@pytest.mark.parametrize("offset", [0, 1])
def test_the_trace_of_a_low_rank_matrix_is_that_of_the_dense_one(offset: int) -> None:
    a = LowRankTensor(RNG.normal(size=(6, 2)), RNG.normal(size=(2, 6)))
    npt.assert_allclose(dk.linalg.trace(a, offset=offset).item(), np.trace(a.to_dense().numpy(), offset), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("rank", [1, 3, 20])
def test_traces_of_large_matrices_of_low_rank_are_those_of_the_dense_ones(dtype: str, order: Any, rank: int) -> None:
    left, right = RNG.normal(size=(600, rank)) * 3, RNG.normal(size=(rank, 600)) * 3
    left, right = (np.asarray(x, dtype, order=order) for x in (left, right))
    trace = dk.linalg.trace(LowRankTensor(left, right))
    assert trace.dtype == dtype
    npt.assert_allclose(trace.item(), np.trace(left @ right), rtol=1e-4)


@pytest.mark.parametrize("n", [3, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_inverse_of_a_diagonal_is_refused_or_as_the_quotient_is(dtype: str, n: int) -> None:
    values = np.linspace(1.0, 2.0, n).astype(dtype)
    values[1] = np.inf
    values[2] = np.nan
    inverse = dk.linalg.inv(DiagonalTensor(values)).values
    npt.assert_array_equal(inverse.numpy(), 1 / values)
    assert inverse.dtype == dtype
    values[0] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match=r"^inv: singular matrix: a DiagonalTensor with 0 on its diagonal$"):
        dk.linalg.inv(DiagonalTensor(values))


@pytest.mark.parametrize("shape", [(N, 2), (N, 0)], ids=str)
@pytest.mark.parametrize("batch", [(), (2,)], ids=str)
def test_a_diagonal_scales_rows_and_columns(shape: tuple[int, ...], batch: tuple[int, ...]) -> None:
    values, x = RNG.normal(size=(*batch, N)), RNG.normal(size=shape)
    a = DiagonalTensor(values)
    npt.assert_array_equal((a @ dk.asarray(x)).numpy(), values[..., :, None] * x)
    npt.assert_array_equal((dk.asarray(x.T) @ a).numpy(), x.T * values[..., None, :])
    with pytest.raises(ValueError, match=r"^matmul: arrays of shapes \(.*150, 150\) and \(3, 2\) cannot be multiplied"):
        a @ dk.ones((3, 2))


def test_a_product_of_a_diagonal_with_columns_takes_few_steps() -> None:
    a, x = DiagonalTensor(np.ones(N)), dk.ones((N, 3))
    rows = x.mT
    for product in (partial(dk.matmul, a, x), partial(dk.matmul, rows, a)):
        product()
        assert steps_of(product) < 60


@pytest.mark.parametrize("n", [1, 2, 300, 20_000])
@pytest.mark.parametrize("wrong", [np.inf, np.nan, None])
def test_finite_arrays_are_those_without_infinities_and_nan(n: int, wrong: float | None) -> None:
    x = np.full(n, np.finfo(float).max)
    if wrong is not None:
        x[-1] = wrong
    assert is_finite_array(x) == is_finite_array(x[::-1]) == is_finite_array(np.stack([x, x]).T) == (wrong is None)


MATRICES: dict[str, tuple[Callable[[], StructuredTensor], int]] = {
    "diagonal": (lambda: DiagonalTensor(np.ones(N)), 60),
    "scalar": (lambda: ScalarTensor(N, 2.0), 60),
    "permutation": (lambda: PermutationTensor(np.arange(N)), 60),
    "banded": (lambda: BandedTensor(bands(2, 2, N), lower=2, upper=2), 150),
    "triangular": (lambda: TriangularTensor(np.ones((N, N))), 130),
}


def steps_of_products() -> dict[str, int]:
    """Return how many lines run in the product of each matrix with a vector."""
    steps = {}
    for name, (make, _) in MATRICES.items():
        a, v = make(), dk.asarray(RNG.normal(size=N))
        product = partial(dk.matmul, a, v)
        product()
        steps[name] = steps_of(product)
    return steps


def test_a_product_with_a_vector_takes_few_steps() -> None:
    # In a process of its own, in which no other test has registered anything.
    code = f"import json; from {__name__} import steps_of_products; print(json.dumps(steps_of_products()))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True, capture_output=True)
    steps = json.loads(ran.stdout)
    assert {name: found for name, found in steps.items() if found > MATRICES[name][1]} == {}


@pytest.mark.parametrize(
    "a", [DiagonalTensor(np.arange(1.0, 4.0)), ScalarTensor(3, 2.0)], ids=lambda a: type(a).__name__
)
def test_vectors_have_derivatives_as_columns_have(a: StructuredTensor) -> None:
    x = dk.asarray([1.0, 2.0, 3.0])

    def loss(x: Any) -> Any:
        return dk.sum((a @ x) ** 2) + dk.sum(dk.linalg.solve(a, x)) + dk.sum(x @ a)

    def of_columns(x: Any) -> Any:
        return dk.sum((a @ x[:, None]) ** 2) + dk.sum(dk.linalg.solve(a, x[:, None])) + dk.sum(x[None, :] @ a)

    npt.assert_array_equal(dk.func.grad(loss)(x).numpy(), dk.func.grad(of_columns)(x).numpy())


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64", "float16"])
def test_trace_and_inverse_of_a_diagonal_have_the_dtype_of_the_operations(dtype: str) -> None:
    values = np.asarray([1, 2, 4], dtype)
    diagonal = DiagonalTensor(values)
    trace, inverse = dk.linalg.trace(diagonal), dk.linalg.inv(diagonal)
    wanted, quotient = dk.sum(dk.asarray(values)), 1 / dk.asarray(values)
    assert (trace.item(), trace.dtype, trace.shape) == (7, wanted.dtype, ())
    assert (inverse.values.tolist(), inverse.dtype) == ([1, 0.5, 0.25], quotient.dtype)


@pytest.mark.parametrize(("function", "most"), [(dk.linalg.trace, 30), (dk.linalg.inv, 40)])
def test_trace_and_inverse_of_a_diagonal_take_few_steps(function: Callable[..., Any], most: int) -> None:
    diagonal = DiagonalTensor(np.arange(1.0, 101.0))
    function(diagonal)
    assert steps_of(lambda: function(diagonal)) <= most


def test_trace_and_inverse_of_a_diagonal_are_differentiable() -> None:
    leaf = dk.tensor(np.asarray([1.0, 2.0]), requires_grad=True)
    (dk.linalg.trace(DiagonalTensor(leaf)) + dk.linalg.inv(DiagonalTensor(leaf)).values.sum()).backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [0.0, 0.75]

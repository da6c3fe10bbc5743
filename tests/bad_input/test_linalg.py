"""What linear algebra refuses: shapes, matrices that are not square, singular ones, and which of a batch they are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.linalg import LinAlgError

import dispatchkit as dk
from tests.bad_input.support import Refusal, refuses

M = dk.ones((2, 3))
V = dk.ones(3)
SINGULAR = dk.stack([dk.eye(2), dk.ones((2, 2)), dk.eye(2)])
SQUARE = ("inv", "det", "slogdet", "cholesky", "eigh", "eigvalsh", "eig", "eigvals")
MATRIX = ("svd", "svdvals", "qr", "pinv", "matrix_rank", "matrix_norm", "trace", "diagonal")


@pytest.mark.parametrize("name", SQUARE)
@pytest.mark.parametrize("x", [M, V, dk.ones((4, 2, 3)), dk.tensor(1.0)], ids=["2x3", "vector", "batch", "0-D"])
def test_matrices_that_are_not_square(name: str, x: dk.Tensor) -> None:
    function = getattr(dk.linalg, name)
    refuses(lambda: function(x), ValueError, name, "x must be square", "(..., M, M)", f"found shape {x.shape}")


@pytest.mark.parametrize("name", MATRIX)
@pytest.mark.parametrize("x", [V, dk.tensor(1.0)], ids=["vector", "0-D"])
def test_what_is_no_matrix(name: str, x: dk.Tensor) -> None:
    function = getattr(dk.linalg, name)
    refuses(lambda: function(x), ValueError, name, "x must be matrices", "(..., M, N)", f"found shape {x.shape}")


UNFIT = "shapes (2, 3) and (2, 3) do not fit: the last axis of x1 (3) must equal the last but one of x2 (2)"
SHAPES: dict[str, Refusal] = {
    "matmul": (lambda: M @ M, ValueError, "matmul", (UNFIT,)),
    "matmul of a number": (lambda: M @ dk.tensor(1.0), ValueError, "matmul", ("x2 must have at least one axis",)),
    "mm of a vector": (lambda: dk.mm(M, V), ValueError, "mm", ("x2 must be a matrix", "(3,)", "use matmul")),
    "mm of other lengths": (lambda: dk.mm(M, M), ValueError, "mm", (UNFIT,)),
    "mv of other lengths": (lambda: dk.mv(M, dk.ones(2)), ValueError, "mv", ("(2, 3) and (2,) do not fit",)),
    "bmm of other lengths": (
        lambda: dk.bmm(dk.ones((2, 2, 3)), dk.ones((2, 2, 3))),
        ValueError,
        "bmm",
        ("the last axis of x1 (3) must equal the last but one of x2 (2)",),
    ),
    "bmm of other batches": (
        lambda: dk.bmm(dk.ones((2, 2, 3)), dk.ones((3, 3, 2))),
        ValueError,
        "bmm",
        ("batches must have the same length, found 2 and 3",),
    ),
    "matmul of batches": (
        lambda: dk.matmul(dk.ones((2, 2, 3)), dk.ones((3, 3, 2))),
        ValueError,
        "matmul",
        ("the batch axes (2,) of x1 and (3,) of x2 do not broadcast",),
    ),
    "mv of a matrix": (lambda: dk.mv(M, M), ValueError, "mv", ("x2 must be a vector",)),
    "bmm of matrices": (lambda: dk.bmm(M, M), ValueError, "bmm", ("x1 must be a batch of matrices",)),
    "dot of matrices": (lambda: dk.dot(M, M), ValueError, "dot", ("x1 must be a vector",)),
    "dot of other lengths": (lambda: dk.dot(V, dk.ones(2)), ValueError, "dot", ("(3,) and (2,) do not fit",)),
    "vecdot": (
        lambda: dk.vecdot(V, dk.ones(2)),
        ValueError,
        "vecdot",
        ("the last axis of x1 (3) must equal the last axis of x2 (2)",),
    ),
    "vecdot along another axis": (
        lambda: dk.vecdot(M, dk.ones((3, 3)), axis=0),
        ValueError,
        "vecdot",
        ("axis 0 of x1 (2) must equal axis 0 of x2 (3)",),
    ),
    "outer of a matrix": (lambda: dk.linalg.outer(M, V), ValueError, "outer", ("x1 must be a vector",)),
    "cross of pairs": (lambda: dk.linalg.cross(dk.ones(2), dk.ones(2)), ValueError, "cross", ("must have length 3",)),
    "tensordot": (lambda: dk.tensordot(M, M, axes=1), ValueError, "tensordot", ("of x1", "of x2", "differ in length")),
    "solve": (lambda: dk.linalg.solve(dk.eye(2), V), ValueError, "solve", ("x2 must be of shape (2,)", "found (3,)")),
    "solve with 2x3": (lambda: dk.linalg.solve(M, V), ValueError, "solve", ("x1 must be square", "(2, 3)")),
    "lstsq of a vector": (
        lambda: dk.linalg.lstsq(V, V),
        ValueError,
        "lstsq",
        ("a must be matrices", "found shape (3,)"),
    ),
    "lstsq": (lambda: dk.linalg.lstsq(M, V), ValueError, "lstsq", ("b must be of shape (2,)", "found (3,)")),
    "lstsq rcond": (
        lambda: dk.linalg.lstsq(M, M, rcond=-1),
        ValueError,
        "lstsq",
        ("rcond must not be negative, found -1",),
    ),
    "matrix_power of 2x3": (lambda: dk.linalg.matrix_power(M, 2), ValueError, "matrix_power", ("x must be square",)),
    "matrix_power 0.5": (lambda: dk.linalg.matrix_power(dk.eye(2), 0.5), TypeError, "matrix_power", ("n must", "0.5")),  # type: ignore[call-overload]
    "norm of three axes": (lambda: dk.linalg.norm(dk.ones((2, 2, 2)), ord=2), ValueError, "norm", ("axis",)),
    "qr mode": (lambda: dk.linalg.qr(M, mode="raw"), ValueError, "qr", ("mode must be 'reduced' or", "'raw'")),  # type: ignore[call-overload]
    "mT of a vector": (lambda: V.mT, ValueError, "matrix_transpose", ("x = float64 array of shape (3,)",)),
    "T of a batch": (lambda: dk.ones((2, 2, 2)).T, ValueError, "t", ("(2, 2, 2)",)),
}


@pytest.mark.parametrize("case", SHAPES)
def test_shapes(case: str) -> None:
    call, error, name, texts = SHAPES[case]
    refuses(call, error, name, *texts)


FAILING: dict[str, Refusal] = {
    "inv": (lambda: dk.linalg.inv(SINGULAR), LinAlgError, "inv", ("singular matrix in matrix x[1]", "(3, 2, 2)")),
    "inv of one": (lambda: dk.linalg.inv(dk.ones((2, 2))), LinAlgError, "inv", ("singular matrix in matrix x\n",)),
    "inv of batches": (
        lambda: dk.linalg.inv(dk.reshape(SINGULAR, (3, 1, 2, 2))),
        LinAlgError,
        "inv",
        ("in matrix x[1, 0]",),
    ),
    "solve": (
        lambda: dk.linalg.solve(SINGULAR, dk.ones(2)),
        LinAlgError,
        "solve",
        ("singular matrix in matrix x1[1]",),
    ),
    "solve of matrices": (lambda: dk.linalg.solve(SINGULAR, dk.ones((2, 2))), LinAlgError, "solve", ("x1[1]",)),
    "matrix_power": (lambda: dk.linalg.matrix_power(SINGULAR, -2), LinAlgError, "matrix_power", ("matrix x[1]",)),
    "cholesky": (
        lambda: dk.linalg.cholesky(dk.stack([dk.eye(2), -dk.eye(2)])),
        LinAlgError,
        "cholesky",
        ("not positive definite in matrix x[1]",),
    ),
    "eig of NaN": (lambda: dk.linalg.eig(dk.full((2, 2), np.nan)), LinAlgError, "eig", ("x = float64 array of",)),
    "eigvals of NaN": (
        lambda: dk.linalg.eigvals(dk.full((2, 2), np.nan)),
        LinAlgError,
        "eigvals",
        ("must not contain infs or NaNs in matrix x",),
    ),
    "svd of NaN": (
        lambda: dk.linalg.svd(dk.full((2, 2), np.nan)),
        LinAlgError,
        "svd",
        ("must not contain infs or NaNs in matrix x",),
    ),
}


@pytest.mark.parametrize("case", FAILING)
def test_matrices_that_a_computation_fails_for(case: str) -> None:
    call, error, name, texts = FAILING[case]
    refuses(call, error, name, *texts)


ITERATIONS: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    **{
        name: (name, getattr(dk.linalg, name), "")
        for name in ("svd", "svdvals", "pinv", "matrix_rank", "eigh", "eigvalsh", "eig", "eigvals")
    },
    **{
        f"matrix_norm {ord}": ("matrix_norm", partial(dk.linalg.matrix_norm, ord=ord), f", ord = {ord!r}")
        for ord in ("nuc", 2, -2)
    },
    **{
        f"norm {ord}": ("norm", partial(dk.linalg.norm, ord=ord, axis=(-2, -1)), f", ord = {ord!r}, axis = (-2, -1)")
        for ord in ("nuc", 2, -2)
    },
    "np.linalg.svd": ("svd", np.linalg.svd, ""),
    "np.linalg.pinv": ("pinv", np.linalg.pinv, ""),
    "np.linalg.eigh": ("eigh", np.linalg.eigh, ""),
    "np.linalg.cond": ("svdvals", np.linalg.cond, ""),
}


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("case", ITERATIONS)
def test_an_iteration_looks_for_inf_and_nan_first_because_it_might_not_end(
    case: str, number: float, dtype: str, tracked: bool
) -> None:
    name, call, rest = ITERATIONS[case]
    matrices = np.stack([np.eye(3, dtype=dtype)] * 3)
    matrices[1, 2, 0] = number
    x = dk.tensor(matrices, requires_grad=tracked)
    with pytest.raises(LinAlgError) as caught:
        call(x)
    assert str(caught.value) == (
        f"dispatchkit.linalg.{name}: array must not contain infs or NaNs in matrix x[1]\n"
        f"  called with x = {dtype} array of shape (3, 3, 3){rest}"
    )


@pytest.mark.parametrize("name", ["eigh", "eigvalsh"])
def test_the_triangle_that_an_eigensolver_does_not_read_may_hold_nan(name: str) -> None:
    x = dk.asarray([[2.0, np.nan], [0.0, 1.0]])
    found = getattr(dk.linalg, name)(x)
    assert (found if name == "eigvalsh" else found.eigenvalues).tolist() == [1.0, 2.0]


def test_least_squares_with_infinity_raise_before_the_iteration() -> None:
    with pytest.raises(LinAlgError, match="lstsq: array must not contain infs or NaNs in matrix a\n"):
        np.linalg.lstsq(dk.asarray([[np.inf, 1.0], [1.0, 1.0]]), dk.ones(2), rcond=None)


def test_the_gradient_of_determinants_is_nan_for_the_matrix_with_nan_alone() -> None:
    x = dk.tensor([[[0.0, 0.0], [0.0, 1.0]], [[np.nan, 1.0], [1.0, 1.0]]], requires_grad=True)
    with np.errstate(invalid="ignore"):
        (g,) = dk.autograd.grad(dk.linalg.det(x).sum(), [x])
    np.testing.assert_allclose(g.numpy(), np.array([[[1.0, 0.0], [0.0, 0.0]], [[np.nan, np.nan], [np.nan, np.nan]]]))


@pytest.mark.parametrize("tracked", [False, True])
def test_the_outer_operation_is_named_also_where_a_graph_is_recorded(tracked: bool) -> None:
    x = dk.tensor(SINGULAR, requires_grad=tracked)
    refuses(
        lambda: dk.linalg.matrix_power(x, -1),
        LinAlgError,
        "linalg.matrix_power",
        "singular matrix in matrix x[1]",
        "n = -1",
    )


@pytest.mark.parametrize("name", ["inv", "det", "cholesky", "qr", "svd", "eigh", "eig", "slogdet", "pinv"])
@pytest.mark.parametrize("dtype", ["float16"])
def test_a_dtype_that_numpy_does_not_decompose(name: str, dtype: Any) -> None:
    function = getattr(dk.linalg, name)
    refuses(
        lambda: function(dk.astype(dk.eye(2), dtype)), TypeError, name, "x = float16 array of shape (2, 2)", "float16"
    )

"""`ScalarTensor`: every rule gives what the dense matrix gives."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.types import ScalarTensor

ROWS: Any = dk.reshape(dk.arange(1.0, 10.0), (3, 3)) / 4
VECTOR: Any = dk.tensor([1.0, -2.0, 0.5])
values = st.sampled_from([-2.5, -1.0, 0.5, 1.0, 2.0, 3, -2])
positive = st.sampled_from([0.5, 1.0, 2.0, 3.25])


def dense(x: Any) -> Any:
    return x.to_dense() if isinstance(x, ScalarTensor) else x


def same(structured: Any, plain: Any) -> None:
    """Check a result against that of the dense matrix: values, shape, dtype."""
    structured, plain = dense(structured), dense(plain)
    if isinstance(plain, tuple):
        assert type(structured) is type(plain)
        for one, other in zip(structured, plain, strict=True):
            same(one, other)
        return
    assert structured.shape == plain.shape
    assert structured.dtype == plain.dtype
    np.testing.assert_allclose(structured.detach().numpy(), plain.detach().numpy(), rtol=1e-12, atol=1e-12)


UNARY: dict[str, Callable[[Any], Any]] = {
    name: getattr(dk, name)
    for name in (
        *("negative", "positive", "abs", "sign", "square", "floor", "ceil", "trunc", "round", "expm1", "sin", "tan"),
        *("atan", "sinh", "tanh", "asinh", "conj", "real", "imag", "matrix_transpose", "sum", "mean", "t"),
    )
} | {
    "-x": operator.neg,
    "+x": operator.pos,
    "abs(x)": abs,
    "sum over rows": lambda x: dk.sum(x, axis=0),
    "sum, kept": lambda x: dk.sum(x, axis=1, keepdims=True),
    "sum over both": lambda x: x.sum((0, 1), keepdims=True),
    "sum over none": lambda x: dk.sum(x, axis=()),
    "mean from the end": lambda x: dk.mean(x, axis=-1),
    "mean, kept": lambda x: x.mean(0, keepdims=True),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "permuted": lambda x: dk.permute_dims(x, (1, 0)),
    "transposed": lambda x: x.transpose(0, 1),
    "trace": dk.linalg.trace,
    "trace of another diagonal": lambda x: dk.linalg.trace(x, offset=1),
    "diagonal": dk.linalg.diagonal,
    "another diagonal": lambda x: dk.linalg.diagonal(x, offset=-2),
    "square by pow": lambda x: x**2,
    "cube by pow": lambda x: dk.pow(x, 3),
    "element": lambda x: x[1, 1],
    "other element": lambda x: x[0, -1],
    "times a number": lambda x: x * 1.5,
    "number times": lambda x: 1.5 * x,
    "times a NumPy number": lambda x: np.float64(1.5) * x,
    "times a 0-D tensor": lambda x: x * dk.tensor(1.5),
    "0-D tensor times": lambda x: dk.tensor(1.5) * x,
    "over a number": lambda x: x / 4,
    "over a 0-D tensor": lambda x: x / dk.tensor(4.0),
    "inv": dk.linalg.inv,
    "det": dk.linalg.det,
    "slogdet": dk.linalg.slogdet,
    "eigvalsh": dk.linalg.eigvalsh,
    "solve a vector": lambda x: dk.linalg.solve(x, VECTOR),
    "solve a matrix": lambda x: dk.linalg.solve(x, ROWS),
    "solve NumPy": lambda x: dk.linalg.solve(x, ROWS.numpy()),
    "solve itself": lambda x: dk.linalg.solve(x, x),
    "x @ vector": lambda x: x @ VECTOR,
    "vector @ x": lambda x: VECTOR @ x,
    "x @ matrix": lambda x: x @ ROWS,
    "matrix @ x": lambda x: ROWS @ x,
    "x @ stack": lambda x: x @ dk.ones((2, 3, 4)),
    "NumPy @ x": lambda x: ROWS.numpy() @ x,
    "x @ NumPy": lambda x: x @ VECTOR.numpy(),
    "x + matrix": lambda x: x + ROWS,
    "matrix + x": lambda x: ROWS + x,
    "NumPy + x": lambda x: ROWS.numpy() + x,
    "x - matrix": lambda x: x - ROWS,
    "matrix - x": lambda x: ROWS - x,
    "x + stack": lambda x: x + dk.ones((2, 3, 3)),
    "matrix of integers + x": lambda x: dk.ones((3, 3), dtype=dk.int64) + x,
    "single precision + x": lambda x: dk.ones((3, 3), dtype=dk.float32) + x,
}


@pytest.mark.parametrize("name", UNARY)
@given(value=values)
def test_a_rule_gives_what_the_dense_matrix_gives(name: str, value: float) -> None:
    x = ScalarTensor(3, value)
    same(UNARY[name](x), UNARY[name](x.to_dense()))


POSITIVE: dict[str, Callable[[Any], Any]] = {name: getattr(dk, name) for name in ("sqrt", "log1p")} | {
    "cholesky": dk.linalg.cholesky,
    "upper cholesky": lambda x: dk.linalg.cholesky(x, upper=True),
    "root by pow": lambda x: x**0.5,
}


@pytest.mark.parametrize("name", POSITIVE)
@given(value=positive)
def test_a_rule_for_positive_values_gives_what_the_dense_matrix_gives(name: str, value: float) -> None:
    x = ScalarTensor(3, value)
    same(POSITIVE[name](x), POSITIVE[name](x.to_dense()))


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "@": operator.matmul,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "solve": dk.linalg.solve,
    "add": lambda x, y: x.add(y),
}


@pytest.mark.parametrize("name", BINARY)
@given(left=values, right=values)
def test_two_of_them_give_what_their_dense_matrices_give(name: str, left: float, right: float) -> None:
    x, y = ScalarTensor(3, left), ScalarTensor(3, right)
    with dk.densify(on="allow"):
        same(BINARY[name](x, y), BINARY[name](x.to_dense(), y.to_dense()))


@pytest.mark.parametrize("name", ["+", "-", "*", "==", "<", "<="])
@pytest.mark.parametrize("sizes", [(1, 3), (3, 1), (1, 1)])
def test_one_by_one_matrices_broadcast(name: str, sizes: tuple[int, int]) -> None:
    x, y = ScalarTensor(sizes[0], 2.0), ScalarTensor(sizes[1], 3.0)
    with dk.densify(on="allow"):
        same(BINARY[name](x, y), BINARY[name](x.to_dense(), y.to_dense()))


UNSTRUCTURED: dict[str, Callable[[Any], Any]] = {
    "exp": dk.exp,
    "plus a number": lambda x: x + 1,
    "power 0": lambda x: x**0,
    "plus a vector": lambda x: x + VECTOR,
    "rows": lambda x: x[0:2],
    "max": dk.max,
    "concat": lambda x: dk.concat([x, ROWS]),
    "number minus": lambda x: 1 - x,
    "reshape": lambda x: x.reshape(9),
}


@pytest.mark.parametrize("name", UNSTRUCTURED)
def test_what_has_no_structure_is_computed_on_the_dense_matrix_and_says_so(name: str) -> None:
    x = ScalarTensor(3, 2.0)
    with pytest.warns(dk.DensifyWarning, match="ScalarTensor"):
        result = UNSTRUCTURED[name](x)
    same(result, UNSTRUCTURED[name](x.to_dense()))


@pytest.mark.parametrize("name", ["+", "-", "*"])
def test_booleans_stay_booleans(name: str) -> None:
    x = ScalarTensor(2, 1.0) != ScalarTensor(2, 2.0)
    assert x.dtype == dk.bool
    if name == "-":
        return  # NumPy subtracts no booleans
    same(BINARY[name](x, x), BINARY[name](x.to_dense(), x.to_dense()))


@pytest.mark.parametrize(
    "name", ["times a number", "number times", "x + matrix", "inv", "det", "sum", "mean", "x @ vector"]
)
@pytest.mark.parametrize(
    "value", [np.float32(2), dk.tensor(2.0, dtype=dk.float32), np.int32(2), 2, 1 + 2j, dk.tensor(3)]
)
def test_values_of_every_dtype(name: str, value: Any) -> None:
    x = ScalarTensor(3, value)
    same(UNARY[name](x), UNARY[name](x.to_dense()))


def test_a_factor_that_spoils_the_zeros_gives_what_the_dense_matrix_gives() -> None:
    x = ScalarTensor(2, 2.0)
    with dk.densify(on="allow"), np.errstate(invalid="ignore"):
        same(x * np.inf, x.to_dense() * np.inf)
        same(x / np.nan, x.to_dense() / np.nan)
        same(x**np.nan, x.to_dense() ** np.nan)


def test_what_is_infinite_or_undefined_on_the_diagonal_leaves_the_zeros() -> None:
    assert ScalarTensor(2, np.inf).to_dense().tolist() == [[np.inf, 0.0], [0.0, np.inf]]
    with np.errstate(invalid="ignore"):
        same(dk.asin(ScalarTensor(2, 2.0)), dk.asin(ScalarTensor(2, 2.0).to_dense()))


def test_booleans() -> None:
    x = ScalarTensor(2, True)
    same(x + x, x.to_dense() + x.to_dense())
    same(x @ x, x.to_dense() @ x.to_dense())
    mask = dk.asarray([[True, False], [True, True]])
    same(ScalarTensor(2, 2.0) - mask, ScalarTensor(2, 2.0).to_dense() - mask)


def test_the_factor_of_a_complex_matrix_is_the_dense_one() -> None:
    x = ScalarTensor(2, 4.0 + 0j)
    with dk.densify(on="allow"):
        same(dk.linalg.cholesky(x).to_dense(), dk.linalg.cholesky(x.to_dense()))


@pytest.mark.parametrize("name", ["sum", "trace", "det", "sum over rows", "diagonal", "T", "-x"])
def test_an_empty_matrix(name: str) -> None:
    x = ScalarTensor(0, 2.0)
    same(UNARY[name](x), UNARY[name](x.to_dense()))


def test_the_logarithm_of_a_singular_determinant() -> None:
    x = ScalarTensor(2, 0.0)
    result = dk.linalg.slogdet(x)
    assert result.sign.item() == 0.0
    assert result.logabsdet.item() == -np.inf


def test_what_a_decomposition_creates_can_require_a_gradient() -> None:
    x = ScalarTensor(2, 2.0)
    leaf = dk.full_like(x, 2.5, requires_grad=True)
    assert leaf.is_leaf
    assert leaf.requires_grad
    assert not dk.full_like(x, 2.5, requires_grad=False).requires_grad


def test_an_assignment_that_would_change_a_dense_copy_alone_is_refused() -> None:
    x = ScalarTensor(2, 2.0)
    with pytest.raises(dk.NoImplementationError, match="setitem would change a dense copy, and the change be lost"):
        x[0, 0] = 5.0
    plain = dk.zeros((2, 2))
    with dk.densify(on="allow"):
        plain[...] = x
    same(plain, x)

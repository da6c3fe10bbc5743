"""`ScalarTensor`: what it costs, how gradients reach its value, and what it refuses."""

from __future__ import annotations

import operator
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.types import ScalarTensor
from tests.types.structured.test_scalar import ROWS, UNARY, VECTOR

N = 10**6
BIG: Any = dk.ones(N)

LINEAR: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda s: (2 * (s + s) - s * s) / 4 @ (-s),
    "power": lambda s: s**3,
    "mean": dk.mean,
    "sum": dk.sum,
    "sum over rows": lambda s: s.sum(0),
    "mean, kept": lambda s: s.mean(1, keepdims=True),
    "trace": dk.linalg.trace,
    "diagonal": dk.linalg.diagonal,
    "inv": dk.linalg.inv,
    "solve": lambda s: dk.linalg.solve(s, BIG),
    "solve its like": lambda s: dk.linalg.solve(s, s),
    "solve a matrix": lambda s: dk.linalg.solve(s, dk.ones((N, 2))),
    "det": lambda s: dk.linalg.det(s / 2),
    "slogdet": dk.linalg.slogdet,
    "cholesky": dk.linalg.cholesky,
    "eigvalsh": dk.linalg.eigvalsh,
    "product with a vector": lambda s: s @ BIG,
    "vector times": lambda s: BIG @ s,
    "product with a matrix": lambda s: s @ dk.ones((N, 2)),
    "transposes": lambda s: s.T.mT.transpose(0, 1).t(),
    "comparison": lambda s: (s == s, s != s, s < s, s <= s),
    "element": lambda s: s[5, 5] + s[-1, 0],
    "decomposed": lambda s: dk.mm(s, s) @ s.sqrt(),
    "norm": dk.linalg.matrix_norm,
}


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("value", [2.0, dk.tensor(2.0)], ids=["number", "tensor"])
def test_nothing_of_the_size_of_the_matrix_is_made(name: str, value: Any) -> None:
    s = ScalarTensor(N, value)
    tracemalloc.start()
    try:
        with dk.densify(on="error"):
            LINEAR[name](s)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200 * N


KEPT = ["-x", "T", "inv", "square by pow", "times a number", "over a number", "solve itself", "sin", "floor"]


@pytest.mark.parametrize("name", KEPT)
def test_results_of_the_form_keep_it(name: str) -> None:
    result = UNARY[name](ScalarTensor(3, 2.0))
    assert type(result) is ScalarTensor
    assert result.n == 3


DIFFERENTIABLE = [
    *("-x", "abs", "square", "sin", "tanh", "sum", "mean", "sum over rows", "T", "trace", "diagonal", "cube by pow"),
    *("element", "times a number", "over a number", "inv", "det", "eigvalsh", "solve a vector", "solve a matrix"),
    *("x @ vector", "vector @ x", "x @ matrix", "matrix @ x", "x + matrix", "matrix + x", "x - matrix", "matrix - x"),
    *("solve itself", "x + stack", "trace of another diagonal", "NumPy + x", "x @ NumPy"),
]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_reach_the_value(name: str) -> None:
    def function(value: dk.Tensor) -> Any:
        result = UNARY[name](ScalarTensor(3, value))
        return result.value if isinstance(result, ScalarTensor) else result

    value = dk.tensor(1.75, requires_grad=True)
    assert dk.autograd.gradcheck(function, (value,))
    assert dk.autograd.gradgradcheck(function, (value,), atol=1e-4)


def test_gradients_reach_both_sides() -> None:
    value, other = dk.tensor(2.0, requires_grad=True), dk.tensor(ROWS.numpy(), requires_grad=True)
    functions: list[Callable[[Any, Any], Any]] = [
        lambda v, m: ScalarTensor(3, v) + m,
        lambda v, m: m - ScalarTensor(3, v),
        lambda v, m: ScalarTensor(3, v) @ m,
        lambda v, m: dk.linalg.solve(ScalarTensor(3, v), m),
        lambda v, m: dk.linalg.cholesky(ScalarTensor(3, v)).value * m,
        lambda v, m: dk.linalg.slogdet(ScalarTensor(3, v)).logabsdet * m,
    ]
    for function in functions:
        assert dk.autograd.gradcheck(function, (value, other))


def test_gradients_reach_the_value_through_the_dense_matrix() -> None:
    value = dk.tensor(2.0, requires_grad=True)
    with dk.densify(on="allow"):
        dk.exp(ScalarTensor(3, value)).sum().backward()
    assert value.grad is not None
    assert value.grad.item() == pytest.approx(3 * np.exp(2.0))


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "negative n": (lambda: ScalarTensor(-1, 1.0), ValueError, "^ScalarTensor: n is -1; it cannot be negative$"),
    "floating n": (lambda: ScalarTensor(2.0, 1.0), TypeError, "^ScalarTensor: n must be an integer, not float$"),  # type: ignore[arg-type]
    "boolean n": (lambda: ScalarTensor(True, 1.0), TypeError, "n must be an integer, not bool"),
    "text": (lambda: ScalarTensor(2, "a"), TypeError, "value must be a number or a 0-D tensor, not 'a'"),
    "nothing": (lambda: ScalarTensor(2, None), TypeError, "value must be a number or a 0-D tensor, not None"),
    "vector": (lambda: ScalarTensor(2, VECTOR), TypeError, "value must be a number or a 0-D tensor"),
    "NumPy vector": (lambda: ScalarTensor(2, np.ones(2)), TypeError, "value must be a number or a 0-D tensor"),
    "sizes": (
        lambda: ScalarTensor(2, 1.0) + ScalarTensor(3, 1.0),
        ValueError,
        r"^add: ScalarTensors of shapes \(2, 2\) and \(3, 3\) do not broadcast$",
    ),
    "sizes of a comparison": (lambda: dk.less(ScalarTensor(2, 1.0), ScalarTensor(3, 1.0)), ValueError, "^less: "),
    "sizes of a product": (
        lambda: dk.matmul(ScalarTensor(2, 1.0), ScalarTensor(3, 1.0)),
        ValueError,
        r"^matmul: arrays of shapes \(2, 2\) and \(3, 3\) cannot be multiplied$",
    ),
    "vector of another length": (lambda: dk.matmul(ScalarTensor(2, 1.0), VECTOR), ValueError, r"\(2, 2\) and \(3,\)"),
    "0-D factor": (lambda: dk.matmul(ScalarTensor(2, 1.0), dk.tensor(1.0)), ValueError, r"\(2, 2\) and \(\)"),
    "right-hand side": (
        lambda: dk.linalg.solve(ScalarTensor(2, 1.0), VECTOR),
        ValueError,
        r"^solve: matrix of shape \(2, 2\) and right-hand side of shape \(3,\) do not fit$",
    ),
    "singular inverse": (
        lambda: dk.linalg.inv(ScalarTensor(2, 0.0)),
        np.linalg.LinAlgError,
        r"^inv: singular matrix: ScalarTensor\(2, 0\)$",
    ),
    "singular system": (lambda: dk.linalg.solve(ScalarTensor(3, 0), VECTOR), np.linalg.LinAlgError, "^solve: singular"),
    "indefinite": (
        lambda: dk.linalg.cholesky(ScalarTensor(2, -1.0)),
        np.linalg.LinAlgError,
        r"^cholesky: matrix is not positive definite: ScalarTensor\(2, -1.0\)$",
    ),
    "axis": (lambda: dk.sum(ScalarTensor(2, 1.0), axis=2), IndexError, "axis 2 is out of range"),
    "index": (lambda: dk.getitem(ScalarTensor(2, 1.0), (2, 0)), IndexError, "^getitem: index 2 is out of range"),
    "axes": (
        lambda: dk.permute_dims(ScalarTensor(2, 1.0), (0, 0)),
        ValueError,
        r"^permute_dims: axes \(0, 0\) are no permutation of \(0, 1\)$",
    ),
    "foreign": (lambda: operator.add(ScalarTensor(2, 1.0), [1.0]), TypeError, "unsupported operand"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_and_why(name: str) -> None:
    call, error, message = REFUSED[name]
    with dk.densify(on="allow"), pytest.raises(error, match=message):
        call()


def test_attributes() -> None:
    s = ScalarTensor(3, 2.0)
    assert (s.shape, s.ndim, s.size, s.dtype, s.device) == ((3, 3), 2, 9, dk.float64, "cpu")
    assert ScalarTensor(2, 3).dtype == dk.int64
    assert ScalarTensor(2, np.float32(3)).dtype == dk.float32


def test_printing() -> None:
    assert repr(ScalarTensor(3, 2.0)) == "ScalarTensor(n=3, value=2.0)"
    assert repr(ScalarTensor(3, dk.tensor(2.0))) == "ScalarTensor(n=3, value=2.0)"
    tracked = ScalarTensor(3, dk.tensor(2.0, requires_grad=True))
    assert repr(tracked) == "ScalarTensor(n=3, value=tensor(2., requires_grad=True))"


def test_the_truth_of_a_matrix_is_ambiguous() -> None:
    with pytest.raises(ValueError, match="ambiguous"):
        bool(ScalarTensor(2, 1.0) != ScalarTensor(2, 1.0))


def test_it_stands_in_code_written_for_tensors() -> None:
    def ridge(x: Any, y: Any, penalty: Any) -> Any:
        return dk.linalg.solve(x.T @ x + penalty, x.T @ y)

    np.testing.assert_allclose(
        ridge(ROWS, VECTOR, ScalarTensor(3, 0.5)).numpy(), ridge(ROWS, VECTOR, 0.5 * dk.eye(3)).numpy()
    )


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_zeros_of_the_dense_matrix_are_zeros_whatever_the_value(value: float) -> None:
    np.testing.assert_array_equal(ScalarTensor(2, value).to_dense().numpy(), [[value, 0], [0, value]])


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kind", [float, dk.tensor])
def test_factors_that_spoil_the_zeros(value: float, kind: Callable[[Any], Any]) -> None:
    x, factor = ScalarTensor(2, 2.0), kind(value)
    with dk.densify(on="allow"), np.errstate(invalid="ignore"):
        for found, expected in ((x * factor, 2 * np.eye(2) * value), (x / factor, 2 * np.eye(2) / value)):
            dense = found.to_dense() if isinstance(found, ScalarTensor) else found
            np.testing.assert_array_equal(dense.numpy(), expected)


OF_BATCHES: dict[str, Callable[[Any], Any]] = {
    "inv": dk.linalg.inv,
    "solve": lambda x: dk.linalg.solve(x, dk.ones(3)),
    "cholesky": dk.linalg.cholesky,
    "determinant": lambda x: dk.linalg.slogdet(x).logabsdet,
    "divided": lambda x: x / dk.tensor(2.0),
    "compared": lambda x: dk.equal(x, x),
}


@pytest.mark.parametrize("name", OF_BATCHES)
def test_rules_that_ask_for_values_work_on_batches(name: str) -> None:
    function = OF_BATCHES[name]

    def dense(value: Any) -> Any:
        found = function(ScalarTensor(3, value))
        return found.to_dense() if isinstance(found, ScalarTensor) else found

    values = dk.tensor([2.0, 5.0])
    batch = dk.func.vmap(dense)(values)
    np.testing.assert_allclose(batch.numpy(), np.stack([dense(value).numpy() for value in values]))


def test_a_batch_that_holds_a_singular_matrix() -> None:
    values = dk.tensor([2.0, 0.0])
    with pytest.raises(np.linalg.LinAlgError, match=r"^inv: singular matrix"):
        dk.func.vmap(lambda value: dk.linalg.inv(ScalarTensor(2, value)).to_dense())(values)
    with dk.densify(on="allow"), np.errstate(divide="ignore"):
        found = dk.func.vmap(lambda value: dk.linalg.slogdet(ScalarTensor(2, value)).logabsdet)(values)
    np.testing.assert_allclose(found.numpy(), [2 * np.log(2.0), -np.inf])

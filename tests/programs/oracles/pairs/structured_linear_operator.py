"""Structured matrices against linear_operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

import dispatchkit as dk
from dispatchkit import types
from tests.programs.oracles.drawing import Draw
from tests.programs.oracles.pair import Operand, Pair, Parts
from tests.programs.oracles.pairs.structured_scipy import elements_of

__all__ = ["StructuredLinearOperator"]

KINDS = ("diagonal", "scalar", "lower", "blocks", "kronecker", "toeplitz", "root plus diagonal")
# Ours, and theirs where it has another spelling.
LINES = {
    **dict.fromkeys(
        ("a @ v", "a @ b", "a + b", "a.mT @ v", "2.0 * a", "a / 4.0", "a[0, 0]", "a[0]", "a[:, -1]", "a + a")
    ),
    "np.linalg.solve(a, v)": "a.solve(v)",
    "np.linalg.slogdet(a)[1]": "a.logdet()",
    "np.linalg.inv(a) @ v": "a.inverse() @ v",
    "np.trace(a)": "a.diagonal().sum()",
    "np.diagonal(a)": "a.diagonal()",
    "np.sum(a)": "a.sum(-1).sum()",
    "np.sum(a, axis=0)": "a.sum(-2)",
    "np.sum(a, axis=1)": "a.sum(-1)",
    "np.transpose(a)": "a.mT",
    "a + 2.0 * np.eye(a.shape[-1])": "a.add_jitter(2.0)",
    "dk.linalg.cholesky(a)": "a.cholesky()",
    "a @ a.mT": None,
    "dk.types.structured.inv_quad(a, v)": "a.inv_quad(v)",
    "a.mT": None,
    "-a": "a.mul(-1.0)",
}


class StructuredLinearOperator(Pair):
    """Positive definite matrices of the structures that both have."""

    name: ClassVar[str] = "structured-linear-operator"
    ours: ClassVar[str] = "StructuredTensor"
    specialist: ClassVar[str] = "linear_operator"
    needs: ClassVar[tuple[str, ...]] = ("torch", "linear_operator")
    dtypes: ClassVar[Sequence[str]] = ("float64",)
    tolerance: ClassVar[float] = 1e4

    def lines(self) -> Sequence[str]:
        """Return the lines of linear_operator's methods."""
        return list(LINES)

    def line_of_theirs(self, line: str) -> str:
        """Return the method."""
        return LINES[line] or line

    def names_of_ours(self) -> dict[str, Any]:
        """Return NumPy and the package."""
        return {"np": np, "dk": dk}

    def wanted(self, line: str, operands: Mapping[str, Operand]) -> bool:
        """Return whether there are matrices and vectors that fit, without inf and nan."""
        if not all(np.isfinite(x.data).all() and x.data.ndim < 3 for x in operands.values()):
            return False
        return len({_size(operand) for operand in operands.values()}) == 1

    def draw_extra(self, draw: Draw, name: str, data: np.ndarray[Any, Any], before: Mapping[str, Operand]) -> Any:
        """Return the structure; None for vectors."""
        return draw.pick(KINDS) if name in ("a", "b") else None

    def make_ours(self, operand: Operand) -> Any:
        """Return the structured matrix."""
        data = operand.data
        if operand.extra is None:
            return dk.asarray(data.copy())
        root, diagonal = _root(data), 1.0 + np.abs(data[0])
        makers: dict[str, Callable[[], Any]] = {
            "diagonal": lambda: types.DiagonalTensor(diagonal),
            "scalar": lambda: types.ScalarTensor(len(data), float(diagonal[0])),
            "lower": lambda: types.TriangularTensor(root, upper=False),
            "blocks": lambda: types.BlockDiagonalTensor([root @ root.T, root.T @ root]),
            "kronecker": lambda: types.KroneckerTensor(root @ root.T, root.T @ root),
            "toeplitz": lambda: types.ToeplitzTensor(_column(data)),
            "root plus diagonal": lambda: (
                types.DiagonalTensor(diagonal) + types.LowRankTensor(data[:, :1], data[:, :1].T)
            ),
        }
        return makers[operand.extra]()

    def make_theirs(self, operand: Operand) -> Any:
        """Return the operator."""
        import torch  # optional
        from linear_operator import operators  # optional

        data = np.ascontiguousarray(operand.data)
        if operand.extra is None:
            return torch.tensor(data)
        root, diagonal = torch.tensor(_root(data)), torch.tensor(1.0 + np.abs(data[0]))
        makers: dict[str, Callable[[], Any]] = {
            "diagonal": lambda: operators.DiagLinearOperator(diagonal),
            "scalar": lambda: operators.ConstantDiagLinearOperator(diagonal[:1], len(data)),
            "lower": lambda: operators.TriangularLinearOperator(root),
            "blocks": lambda: operators.BlockDiagLinearOperator(
                operators.to_linear_operator(torch.stack([root @ root.T, root.T @ root]))
            ),
            "kronecker": lambda: operators.KroneckerProductLinearOperator(root @ root.T, root.T @ root),
            "toeplitz": lambda: operators.ToeplitzLinearOperator(torch.tensor(_column(data))),
            "root plus diagonal": lambda: operators.LowRankRootAddedDiagLinearOperator(
                operators.LowRankRootLinearOperator(torch.tensor(data[:, :1])), operators.DiagLinearOperator(diagonal)
            ),
        }
        return makers[operand.extra]()

    def parts_of_ours(self, result: Any) -> Parts:
        """Return the elements."""
        return {"value": elements_of(result)}

    def parts_of_theirs(self, result: Any) -> Parts:
        """Return the same of an operator or a tensor."""
        dense = result.to_dense() if hasattr(result, "to_dense") else result
        return {"value": np.asarray(dense)}


def _size(operand: Operand) -> int:
    """Return the length of a vector, or of the axes of a matrix."""
    n: int = operand.data.shape[-1]
    return {"blocks": 2 * n, "kronecker": n * n}.get(operand.extra, n)


def _root(data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a lower triangular matrix with a diagonal from 2 on."""
    return np.tril(data, -1) / 4 + np.diag(2.0 + np.abs(np.diagonal(data)))


def _column(data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the first column of a positive definite Toeplitz matrix: its diagonal dominates."""
    column = data[:, 0] / 4
    column[0] = 1.0 + 2 * np.abs(column).sum()
    return column

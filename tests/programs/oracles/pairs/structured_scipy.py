"""Structured matrices against the dense matrices of scipy.linalg."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

import dispatchkit as dk
from dispatchkit import types
from dispatchkit.types import StructuredTensor
from tests.programs.oracles.drawing import Draw
from tests.programs.oracles.pair import Operand, Pair, Parts

__all__ = ["StructuredSciPy", "elements_of"]

KINDS = (
    "diagonal",
    "scalar",
    "banded",
    "lower",
    "upper",
    "blocks",
    "kronecker",
    "toeplitz",
    "circulant",
    "low rank",
    "update",
)
LINES = (
    *(f"a {op} b" for op in ("+", "-", "@", "*")),
    *("a @ v", "v @ a", "a @ plain_columns", "2 * a", "a / 4", "-a", "a - a", "a.mT @ b", "a + a", "a @ a", "a ** 2"),
    *(
        "a * 2j",
        "a.T",
        "a.mT",
        "a[0]",
        "a[:, -1]",
        "a[0, -1]",
        "a[1:, 1:]",
        "a[::2]",
        "a + np.eye(a.shape[-1])",
        "abs(a)",
    ),
    *("np.linalg.det(a)", "np.linalg.slogdet(a)", "np.linalg.inv(a)", "np.linalg.solve(a, v)", "np.linalg.solve(a, b)"),
    *("np.trace(a)", "np.diagonal(a)", "np.diagonal(a, 1)", "np.sum(a)", "np.sum(a, axis=0)", "np.mean(a, axis=1)"),
    *(
        "np.linalg.norm(a)",
        "np.linalg.matrix_power(a, 2)",
        "np.linalg.matrix_power(a, 3)",
        "np.linalg.matrix_power(a, 0)",
    ),
    *(
        "np.tril(a)",
        "np.triu(a)",
        "np.transpose(a)",
        "np.conj(a)",
        "np.real(a)",
        "np.sqrt(abs(a))",
        "np.max(a)",
        "np.min(a, axis=0)",
    ),
    *(
        "np.kron(a, b)",
        "np.exp(a)",
        "a > 0",
        "a == b",
        "np.any(a)",
        "np.where(a > 0, a, b)",
        "np.linalg.eigvalsh(a @ a.mT)",
    ),
    *("np.linalg.svd(a, compute_uv=False)", "np.linalg.matrix_rank(a)", "np.maximum(a, b)", "a.astype(np.float32)"),
    *(
        "np.linalg.cholesky(a @ a.mT + 4 * np.eye(a.shape[-1]))",
        "np.linalg.pinv(a)",
        "a += b; result = a",
        "a *= 2; result = a",
    ),
)


class StructuredSciPy(Pair):
    """Matrices of every structure, made by scipy.linalg as dense ones."""

    name: ClassVar[str] = "structured-scipy"
    ours: ClassVar[str] = "StructuredTensor"
    specialist: ClassVar[str] = "scipy.linalg"
    needs: ClassVar[tuple[str, ...]] = ("scipy",)
    tolerance: ClassVar[float] = 100.0

    def lines(self) -> Sequence[str]:
        """Return the lines of what linear algebra asks of matrices."""
        return [line.replace("plain_columns", "np.ones((a.shape[-1], 2))") for line in LINES]

    def wanted(self, line: str, operands: Mapping[str, Operand]) -> bool:
        """Return whether there is one matrix, of finite numbers, that is not nearly singular where it is solved."""
        matrices = [operands[name] for name in ("a", "b") if name in operands]
        n = matrices[0].data.shape[-1]
        if any(x.data.ndim != 2 or not np.isfinite(x.data).all() for x in matrices):
            return False
        if any(name in operands and operands[name].data.shape != (n,) for name in "v"):
            return False
        if not any(word in line for word in ("inv", "solve", "det", "rank", "svd", "cholesky", "norm", "eig")):
            return True
        dense = np.asarray(self.make_theirs(matrices[0]), np.complex128)
        exact = all(x.data.dtype.name not in ("float16", "float32", "complex64") for x in matrices)
        return exact and (not n or np.linalg.cond(dense) < 1e6)

    def draw_extra(self, draw: Draw, name: str, data: np.ndarray[Any, Any], before: Mapping[str, Operand]) -> Any:
        """Return the structure; None for what is a plain array."""
        return draw.pick(KINDS) if name in ("a", "b") else None

    def make_ours(self, operand: Operand) -> Any:
        """Return a structured matrix made of elements of the data."""
        if operand.extra is None:
            return dk.asarray(operand.data.copy())
        return _ours(operand.extra, operand.data.copy())

    def make_theirs(self, operand: Operand) -> Any:
        """Return the dense matrix."""
        return operand.data.copy() if operand.extra is None else _theirs(operand.extra, operand.data)

    def line_of_theirs(self, line: str) -> str:
        """Return the line for arrays of NumPy."""
        return line.replace("a ** 2", "np.power(a, 2)")

    def parts_of_ours(self, result: Any) -> Parts:
        """Return the elements."""
        return {"value": elements_of(result)}

    def parts_of_theirs(self, result: Any) -> Parts:
        """Return the same of an array."""
        return {"value": np.asarray(result)}


def elements_of(result: Any) -> np.ndarray[Any, Any]:
    """Return the elements of a result of ours as an array of NumPy's."""
    return np.asarray(dk.asarray(result.to_dense() if isinstance(result, StructuredTensor) else result))


def _ours(kind: str, data: np.ndarray[Any, Any]) -> Any:
    n = data.shape[-1]
    makers: dict[str, Callable[[], Any]] = {
        "diagonal": lambda: types.DiagonalTensor(data[0]),
        "scalar": lambda: types.ScalarTensor(n, dk.asarray(data[0, 0])),
        "banded": lambda: types.BandedTensor(np.resize(data, (3, n)), lower=1, upper=1),
        "lower": lambda: types.TriangularTensor(data, upper=False),
        "upper": lambda: types.TriangularTensor(data, upper=True),
        "blocks": lambda: types.BlockDiagonalTensor([data[:1, :1], data[1:, 1:]] if n > 1 else [data]),
        "kronecker": lambda: types.KroneckerTensor(data, data[:1, :1]),
        "toeplitz": lambda: types.ToeplitzTensor(data[:, 0], np.append(data[:1, 0], data[0, 1:])),
        "circulant": lambda: types.CirculantTensor(data[:, 0]),
        "low rank": lambda: types.LowRankTensor(data[:, :1], data[:1]),
        "update": lambda: types.DiagonalTensor(data[0]) + types.LowRankTensor(data[:, :1], data[-1:]),
    }
    return makers[kind]()


def _theirs(kind: str, data: np.ndarray[Any, Any]) -> Any:
    from scipy import linalg  # optional

    n = data.shape[-1]
    # Sums of products of small integers are int64, as those of `np.sum`.
    wide = data.astype(np.int64) if data.dtype.kind in "biu" and data.dtype != np.uint64 else data
    makers: dict[str, Callable[[], Any]] = {
        "diagonal": lambda: np.diag(data[0]),
        "scalar": lambda: data[0, 0] * np.eye(n, dtype=data.dtype),
        "banded": lambda: _banded(np.resize(data, (3, n))),
        "lower": lambda: np.tril(data),
        "upper": lambda: np.triu(data),
        "blocks": lambda: linalg.block_diag(data[:1, :1], data[1:, 1:]) if n > 1 else data.copy(),
        "kronecker": lambda: np.kron(wide, wide[:1, :1]),
        "toeplitz": lambda: linalg.toeplitz(data[:, 0], np.append(data[:1, 0], data[0, 1:])),
        "circulant": lambda: linalg.circulant(data[:, 0]),
        "low rank": lambda: wide[:, :1] @ wide[:1],
        "update": lambda: np.diag(wide[0]) + wide[:, :1] @ wide[-1:],
    }
    return makers[kind]()


def _banded(bands: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the matrix of three bands, as `scipy.linalg.solve_banded` takes them."""
    n = bands.shape[-1]
    return np.diag(bands[0, 1:], 1)[:n, :n] + np.diag(bands[1]) + np.diag(bands[2, : n - 1], -1)[:n, :n]

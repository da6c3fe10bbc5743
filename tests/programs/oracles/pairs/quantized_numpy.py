"""QuantizedTensor against the matrix of float64 that it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from dispatchkit.types import QuantizedTensor
from tests.programs.oracles.drawing import Draw
from tests.programs.oracles.pair import Operand, Pair, Parts

__all__ = ["QuantizedNumpy"]

LINES = (
    *("a @ b", "a @ a.T", "a.T", "a.mT", "a * 2", "2.5 * a", "a / 4", "-a", "+a", "a + b", "a - b", "a * b", "a ** 2"),
    *(
        "a == b",
        "a < b",
        "abs(a)",
        "a @ np.ones(a.shape[-1], a.dtype)",
        "np.ones(a.shape[-1], a.dtype) @ a",
        "np.ones((2, len(a)), a.dtype) @ a",
    ),
    *("np.sum(a)", "np.sum(a, axis=0)", "np.sum(a, axis=-1, keepdims=True)", "a.sum()", "np.mean(a)", "np.max(a)"),
    *(
        "np.min(a, axis=0)",
        "np.prod(a)",
        "np.std(a)",
        "np.exp(a / 64)",
        "np.sin(a)",
        "np.sqrt(np.abs(a))",
        "np.sort(a)",
    ),
    *(
        "np.argmax(a)",
        "np.cumsum(a, axis=0)",
        "np.trace(a)",
        "np.linalg.norm(a)",
        "np.linalg.det(a + 4 * np.eye(len(a), dtype=a.dtype))",
    ),
    *("a[0]", "a[-1]", "a[:, 0]", "a[::2]", "a[0, -1]", "a[:1, :1]", "a[np.array([0, -1])]", "a[a > 0]", "a[None]"),
    *(
        "np.concatenate([a, b])",
        "np.concatenate([a, b], axis=1)",
        "np.stack([a, b])",
        "np.vstack([a, b])",
        "np.tril(a)",
    ),
    *(
        "np.take(a, np.array([0, 0]), axis=0)",
        "np.where(a > 0, a, 0)",
        "np.clip(a, -1, 1)",
        "np.round(a)",
        "np.diag(a)",
    ),
    *("np.reshape(a, -1)", "np.transpose(a)", "np.dot(a, b)", "np.outer(a, b)", "np.kron(a, b)", "np.isfinite(a)"),
    *("a.astype(np.float64)", "a.astype(np.float32)", "a.astype(np.float16)", "np.zeros_like(a)", "np.ones_like(a)"),
    *(
        "a *= 2; result = a",
        "a += b; result = a",
        "np.linalg.solve(a + 999 * np.eye(len(a), dtype=a.dtype), b)",
        "a @ a @ a",
        "a.copy()",
    ),
)


class QuantizedNumpy(Pair):
    """Integers times a scale for each row, against their product in double precision."""

    name: ClassVar[str] = "quantized-float64"
    ours: ClassVar[str] = "QuantizedTensor"
    specialist: ClassVar[str] = "a float64 matrix"
    dtypes: ClassVar[Sequence[str]] = ("float64", "float64", "float32", "float16")
    tolerance: ClassVar[float] = 8.0

    def lines(self) -> Sequence[str]:
        """Return calls on one and two matrices."""
        return LINES

    def wanted(self, line: str, operands: Mapping[str, Operand]) -> bool:
        """Return whether there is no batch of matrices, and no infinity or NaN, which have no integers."""
        finite = all(each.data.ndim == 2 and bool(np.isfinite(each.data).all()) for each in operands.values())
        return finite and len({each.data.dtype for each in operands.values()}) == 1

    def draw_extra(self, draw: Draw, name: str, data: np.ndarray[Any, Any], before: Mapping[str, Operand]) -> Any:
        """Return a power of two by which the numbers are multiplied, down to where a narrow scale would vanish."""
        return draw.pick((1.0, 1.0, 0.25, 2.0**-8, 2.0**-12))

    def _matrix(self, operand: Operand) -> np.ndarray[Any, Any]:
        matrix: np.ndarray[Any, Any] = (operand.data.astype(np.float64) * operand.extra).astype(operand.data.dtype)
        return matrix

    def make_ours(self, operand: Operand) -> Any:
        """Return the nearest quantised matrix."""
        return QuantizedTensor.from_dense(self._matrix(operand))

    def make_theirs(self, operand: Operand) -> Any:
        """Return the same matrix in double precision."""
        return self._rounded(self._matrix(operand))

    def _rounded(self, matrix: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return a matrix whose rows are whole multiples of a 127th of their largest magnitude."""
        wide = matrix.astype(np.result_type(matrix.dtype, np.float32))
        scale = np.abs(wide).max(axis=1, keepdims=True) / 127
        scale[scale == 0] = 1.0
        rounded: np.ndarray[Any, Any] = np.round(wide / scale).astype(np.float64) * scale
        return rounded

    def parts_of_ours(self, result: Any) -> Parts:
        """Return the elements."""
        if isinstance(result, QuantizedTensor):
            result = result.to_dense()
        return {"value": np.asarray(result)}

    def parts_of_theirs(self, result: Any) -> Parts:
        """Return the elements."""
        return {"value": np.asarray(result)}

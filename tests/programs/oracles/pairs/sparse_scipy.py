"""SparseTensor against SciPy's sparse arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

import dispatchkit as dk
from dispatchkit.types import SparseTensor
from tests.programs.oracles.drawing import Draw
from tests.programs.oracles.pair import Operand, Pair, Parts

__all__ = ["SparseSciPy"]

UNARY = "sin tan arcsin arctan sinh tanh arcsinh arctanh expm1 log1p sqrt floor ceil trunc rint sign deg2rad rad2deg"
LINES = (
    *(f"np.{name}(x)" for name in UNARY.split()),
    *(f"np.{name}(x)" for name in ("abs", "negative", "conj", "real", "imag", "transpose", "nonzero", "count_nonzero")),
    *(f"np.{name}(x)" for name in ("sum", "mean", "max", "min", "argmax", "argmin")),
    *(f"np.{name}(x, axis={{axis}})" for name in ("sum", "mean", "max", "min", "argmax", "argmin", "count_nonzero")),
    *("np.sum(x, dtype=np.float32)", "np.sum(x, axis={axis}, dtype=np.complex128)"),
    *("x.sum()", "x.mean()", "x.max()", "x.min()", "x.sum(axis={axis})", "x.T", "-x", "abs(x)", "x.astype(np.float32)"),
    *(
        "x + u",
        "x - u",
        "x * u",
        "x.T @ u",
        "a @ b",
        "a @ b.T",
        "x @ u.T",
        "a @ np.ones(a.shape[1])",
        "np.ones(x.shape[0]) @ x",
    ),
    *(
        "x + plain",
        "plain - x",
        "x * 2",
        "3 * x",
        "x / 4",
        "x * 2j",
        "x / u[:1].sum()",
        "np.multiply(x, u)",
        "np.add(x, u)",
    ),
    *(
        "x != u",
        "x < u",
        "x > u",
        "x == u",
        "x <= u",
        "x > 0",
        "x < 0",
        "x != 0",
        "x > 1.5",
        "x >= 1",
        "x <= -1",
        "x == 2",
    ),
    *("x < 1", "x == 0", "x ** 2", "np.power(x, 3)", "np.maximum(x, u)", "np.minimum(x, u)", "np.maximum(x, 0)"),
    *(
        "x[{slice}]",
        "x[{slice}]",
        "x[{slice}]",
        "x[0, 0]",
        "x[-1]",
        "x[:, -1]",
        "x[1:, ::-1]",
        "x[[0, -1]]",
        "x[:, [0, 0]]",
    ),
    *("x[np.ix_([0, -1], [0])]", "x[[0, -1], [0, 0]]", "x[..., 0]", "x[condition]", "x[x > 0]", "x[-1, ::2]", "x.T[0]"),
    *("np.diagonal(x)", "np.trace(a)", "np.trace(a, 1)", "np.tril(x)", "np.triu(x)", "np.tril(x, -1)", "np.triu(x, 1)"),
    *(
        "np.kron(a, b)",
        "np.concatenate([x, u])",
        "np.vstack([x, u])",
        "np.hstack([x, u])",
        "np.block([[x, u], [u, x]])",
    ),
    *("np.linalg.norm(x)", "np.linalg.norm(x, 1)", "np.linalg.norm(x, np.inf)", "np.linalg.matrix_power(a, 2)"),
    *(
        "np.dot(a, b)",
        "np.matmul(a, b)",
        "np.swapaxes(x, 0, 1)",
        "x.mT",
        "np.isnan(x)",
        "list(x)",
        "len(x)",
        "np.argwhere(x)",
    ),
)


class SparseSciPy(Pair):
    """Sparse matrices of all three formats, with zeros among what they store."""

    name: ClassVar[str] = "sparse-scipy"
    ours: ClassVar[str] = "SparseTensor"
    specialist: ClassVar[str] = "scipy.sparse"
    needs: ClassVar[tuple[str, ...]] = ("scipy",)

    def lines(self) -> Sequence[str]:
        """Return the lines of what SciPy's sparse arrays have a method, an operator or a function for."""
        return LINES

    def wanted(self, line: str, operands: Mapping[str, Operand]) -> bool:
        """Return whether all operands are matrices that fit each other, of numbers that SciPy can store."""
        matrices = all(operand.data.ndim == 2 for operand in operands.values())
        return matrices and all(operand.data.dtype.name != "float16" for operand in operands.values())

    def draw_extra(self, draw: Draw, name: str, data: np.ndarray[Any, Any], before: Mapping[str, Operand]) -> Any:
        """Return the format, and which of the elements are stored: those that are not zero, and some others."""
        stored = np.asarray([draw.chance(0.5) for _ in range(data.size)], bool).reshape(data.shape)
        return draw.pick(("coo", "csr", "csc")), stored

    def make_ours(self, operand: Operand) -> Any:
        """Return a SparseTensor of what is stored, the rest being zero."""
        return SparseTensor.from_scipy(self.make_theirs(operand).copy())

    def make_theirs(self, operand: Operand) -> Any:
        """Return a sparse array of SciPy's."""
        from scipy import sparse  # optional

        chosen, stored = operand.extra
        rows, columns = np.nonzero(stored)
        array = sparse.coo_array((operand.data[rows, columns], (rows, columns)), shape=operand.data.shape)
        return array.asformat(chosen)

    def names_of_theirs(self) -> dict[str, Any]:
        """Return the functions by SciPy's methods in the place of NumPy's."""
        return {
            "np": Spelled(),
            "list": lambda x: [x.tocsr()[i] for i in range(x.shape[0])],
            "len": lambda x: x.shape[0],
        }

    def line_of_theirs(self, line: str) -> str:
        """Return the line by formats that have indices, and by the elementwise methods of the arrays."""
        line = line.replace("x * u", "x.multiply(u)").replace(".mT", ".T")
        for name in ("x.T[", "x[", "u["):
            line = line.replace(name, f"{name[:-1]}.tocsr()[")
        return line

    def parts_of_ours(self, result: Any) -> Parts:
        """Return the elements."""
        return {"value": np.asarray(dk.asarray(result.to_dense() if isinstance(result, SparseTensor) else result))}

    def parts_of_theirs(self, result: Any) -> Parts:
        """Return the same of a sparse array, or of what is dense already."""
        return {"value": result.toarray() if hasattr(result, "toarray") else np.asarray(result)}


class Spelled:
    """NumPy's functions as SciPy's sparse arrays and its `scipy.sparse` have them."""

    def __getattr__(self, name: str) -> Any:
        from scipy import sparse  # optional

        if name in (
            *UNARY.split(),
            "sum",
            "mean",
            "max",
            "min",
            "argmax",
            "argmin",
            "conj",
            "transpose",
            "nonzero",
            "trace",
        ):
            return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)
        if name in ("kron", "vstack", "hstack", "tril", "triu"):
            return getattr(sparse, name)
        return getattr(np, name)

    def real(self, x: Any) -> Any:
        return x.real

    def imag(self, x: Any) -> Any:
        return x.imag

    def abs(self, x: Any) -> Any:
        return abs(x)

    def negative(self, x: Any) -> Any:
        return -x

    def count_nonzero(self, x: Any, axis: Any = None) -> Any:
        return x.count_nonzero(axis=axis)

    def power(self, x: Any, n: int) -> Any:
        return x.power(n)

    def multiply(self, x: Any, y: Any) -> Any:
        return x.multiply(y)

    def add(self, x: Any, y: Any) -> Any:
        return x + y

    def maximum(self, x: Any, y: Any) -> Any:
        return x.maximum(y)

    def minimum(self, x: Any, y: Any) -> Any:
        return x.minimum(y)

    def diagonal(self, x: Any) -> Any:
        return x.diagonal()

    def concatenate(self, arrays: Any) -> Any:
        return self.vstack(arrays)

    def block(self, arrays: Any) -> Any:
        from scipy import sparse  # optional

        return sparse.block_array(arrays)

    def dot(self, x: Any, y: Any) -> Any:
        return x @ y

    matmul = dot

    def swapaxes(self, x: Any, *_: int) -> Any:
        return x.T

    def isnan(self, x: Any) -> Any:
        return x != x

    def argwhere(self, x: Any) -> Any:
        return np.argwhere(x.toarray())

    @property
    def linalg(self) -> Any:
        from scipy.sparse import linalg  # optional

        return linalg

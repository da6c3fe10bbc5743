"""Solutions by iteration, which multiply by a matrix and never look into it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any

import numpy as np
from typing_extensions import override

from dispatchkit.backends.arrays import as_numpy, namespace_of
from dispatchkit.declare.decorators import operation
from dispatchkit.declare.namespace import enter, tensor_namespace
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.errors import AutogradError
from dispatchkit.graph.recording import no_grad
from dispatchkit.graph.storage import Storage
from dispatchkit.ops.creation.fields import with_arrays
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.operations import OverridableFunction
from dispatchkit.protocol.parameters import Form, Parameters, signature_of

__all__ = ["cg"]

STEPS = 2  # to which order derivatives are computed


@dataclass(frozen=True, eq=False)
class ConjugateGradients:
    """Solves with a Hermitian, positive definite matrix that stays as it is.

    Attributes
    ----------
    product : gives NumPy's array of the matrix times one
    options : of SciPy's function
    """

    product: Callable[[Any], Any]
    options: dict[str, Any]

    def solve(self, b: Any) -> Any:
        """Return the solution for NumPy's array of one right side, or of several as columns.

        Raises
        ------
        numpy.linalg.LinAlgError : if it is not found in `maxiter` steps
        """
        try:
            from scipy.sparse import linalg  # noqa: PLC0415  # optional dependency
        except ImportError as error:
            raise ImportError(
                'dispatchkit.linalg.cg computes with SciPy, which is not installed: pip install "dispatchkit[scipy]"'
            ) from error
        if b.ndim == 2:
            columns = [self.solve(column) for column in b.T]
            return np.stack(columns, axis=1) if columns else b.copy()
        matrix = linalg.LinearOperator((b.shape[0],) * 2, matvec=self.product, dtype=b.dtype)
        x, steps = linalg.cg(matrix, b, **self.options)
        if steps:
            raise np.linalg.LinAlgError(f"linalg.cg: not solved after {steps} steps; raise maxiter= or rtol=")
        return x


@operation(namespace="dispatchkit.linalg", samples=[])
def correction(xp: Namespace, r: Array, /, *, solver: Any, order: int) -> Array:
    """Return the solution for a right side, as a linear function of it.

    Parameters
    ----------
    r : the right side; known to be 0 where `order` is 0
    solver : has the matrix, as a constant
    order : how often the solution was differentiated
    """
    return _solved(r, solver, order) if order else xp.zeros_like(r)


@correction.def_transpose
def correction_transpose(g, solver, order):
    return _corrected(g, solver, order + 1)


@correction.def_jvp
def correction_jvp(t, solver, order):
    return _corrected(t, solver, order + 1)


def _corrected(x: Any, solver: Any, order: int) -> Any:
    """Return the correction of a tensor, or of a raw array."""
    return correction(x, solver=solver, order=order) if isinstance(x, Storage) else _solved(x, solver, order)


def _solved(r: Any, solver: Any, order: int) -> Any:
    if order > STEPS:
        raise AutogradError("linalg.cg: its derivatives are computed to the second order; use linalg.solve")
    return namespace_of(r).asarray(solver.solve(as_numpy("linalg.cg", r)))


tensor_protocol.operations.forget(tensor_protocol.operation(correction))


class Solution(OverridableFunction):
    """A function that multiplies by any type but wrappers, so that nothing needs to become dense for it."""

    @override
    def computes(self, cls: type) -> bool:
        return super().computes(cls) or fallback.rewrap not in self.types.fallback(cls)


def _cg(A: Any, b: Any, /, *, rtol: float = 1e-10, atol: float = 0.0, maxiter: int | None = None) -> Any:
    """Solve ``A @ x = b`` for a Hermitian, positive definite matrix by the method of conjugate gradients.

    Parameters
    ----------
    A : matrix of shape (n, n): a tensor, an array type, or a function that gives its product with a vector
    b : array of shape (n,), or (n, k) for k systems
    rtol, atol : the solution is found where the norm of ``b - A @ x`` is at most ``max(rtol * norm(b), atol)``
    maxiter : the most steps; by default ten times n

    Returns
    -------
    Tensor
        The solution, of the shape of `b`.

    Raises
    ------
    numpy.linalg.LinAlgError : if the solution is not found in `maxiter` steps
    TypeError : if `b` is no array of floating-point or complex numbers
    ValueError : if the shapes of `A` and `b` do not fit

    Notes
    -----
    The matrix is multiplied and nothing else: a type needs a rule for `matmul` with a vector, and does not become
    dense. Gradients flow to `b`, to a matrix or the fields of a type, and to tensors that a function uses. They are
    those of the solution, not of the steps, to the second order; a backward pass solves twice more. Source: SciPy,
    `scipy.sparse.linalg.cg`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> a = dk.asarray([[4.0, 1.0], [1.0, 3.0]])
    >>> dk.linalg.cg(a, dk.asarray([1.0, 2.0]))
    tensor([0.0909, 0.6364])
    """
    b = _right_side(A, b)
    options = {"rtol": rtol, "atol": atol, "maxiter": maxiter}
    solver = ConjugateGradients(_product_of(A, b), options)
    with no_grad():
        start = _bare(b)
        x = tensor_namespace.asarray(
            namespace_of(start.array).asarray(solver.solve(as_numpy("linalg.cg", start.array)))
        )
    # Steps of the chord method for ``b - A @ x = 0`` from its solution, which keep the values: each makes one more
    # order of derivatives right.
    for _ in range(STEPS):
        residual = b - _times(A, x)
        if not (residual.requires_grad or residual.is_tracer):
            break
        x = x + correction(residual, solver=solver, order=0)
    return x


def _right_side(A: Any, b: Any) -> Any:
    """Return the right side as a tensor, after a check."""
    x: Any = b if isinstance(b, Storage) else tensor_namespace.asarray(b)
    is_tensor = isinstance(x, Storage)
    if not is_tensor or x.dtype.kind not in "fc":
        found = f"{type(x).__name__} of {x.dtype}"
        raise TypeError(f"linalg.cg: b must be a tensor of floating-point numbers, found {found}")
    shape, sizes = None if _is_function(A) else tuple(A.shape), tuple(x.shape)
    if len(sizes) not in (1, 2) or (shape is not None and shape != sizes[:1] * 2):
        raise ValueError(
            f"linalg.cg: A must have shape (n, n) and b (n,) or (n, k), found {shape or 'a function'} and {sizes}"
        )
    return x


def _is_function(A: Any) -> bool:
    return callable(A) and not tensor_protocol.types.participates(type(A))


def _times(A: Any, x: Any) -> Any:
    """Return the product of an operator with a vector or with columns."""
    if not _is_function(A):
        return tensor_namespace.matmul(A, x)
    if x.ndim == 1:
        return A(x)
    return tensor_namespace.stack([A(x[:, k]) for k in range(x.shape[1])], axis=1)


def _product_of(A: Any, b: Any) -> Callable[[Any], Any]:
    """Return the product with NumPy's vectors by an operator outside any graph."""
    fixed = A
    if not _is_function(A) and not isinstance(A, np.ndarray):
        fixed = _bare(A)
        fixed = A if fixed is None else fixed  # whose fields are not known
    like = namespace_of(_bare(b).array)

    def product(v: Any) -> Any:
        with no_grad():
            y = _bare(_times(fixed, tensor_namespace.asarray(like.asarray(v.ravel()))))
        if y.shape != (v.size,):
            raise ValueError(f"linalg.cg: A gives an array of shape {tuple(y.shape)} for a vector of {v.size} elements")
        return as_numpy("linalg.cg", y.array)

    return product


def _bare(x: Any) -> Any:
    """Return a tensor outside the graph, and out of the transformations that look into it."""
    while isinstance(x, Storage) and x.is_tracer:
        x = x.value  # type: ignore[attr-defined]  # of a pair, or a batch
    found: Any = x
    return found.detach() if isinstance(x, Storage) else with_arrays(x, _bare)


_solution = Solution(
    tensor_protocol,
    "cg",
    "dispatchkit.linalg",
    kinds.linalg,
    Parameters(signature_of(_cg, "overridable"), dict.fromkeys(("A", "b"), Form.LOOSE)),
    _cg,
)
cg: Any = update_wrapper(tensor_protocol.operations.add(_solution), _cg)
cg.__name__ = cg.__qualname__ = "cg"
del cg.__wrapped__
cg.__signature__ = _solution.parameters.signature
enter("linalg.cg", cg)

"""Linear equations, inverses, determinants and powers of square matrices; solutions by iteration."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dispatchkit.backends.arrays import as_numpy, holds_complex, namespace_of
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.decorators import linalg, operation
from dispatchkit.declare.namespace import enter, tensor_namespace
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.declare.wrapping import holds
from dispatchkit.errors import AutogradError
from dispatchkit.graph.recording import no_grad
from dispatchkit.graph.storage import Storage
from dispatchkit.marks import override
from dispatchkit.ops.creation.fields import with_arrays
from dispatchkit.ops.linalg.products import matmul, tensordot, vecdot
from dispatchkit.ops.manipulation.permuting import matrix_transpose
from dispatchkit.ops.shared import adjoint, conjugate, integer, locate_errors, require_square, shape_of
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.operations import OverridableFunction
from dispatchkit.protocol.parameters import Form, Parameters, signature_of

__all__ = ["cg", "det", "inv", "matmul", "matrix_power", "matrix_transpose", "slogdet", "solve", "tensordot", "vecdot"]

for _function in (matmul, matrix_transpose, tensordot, vecdot):
    enter(f"linalg.{_function.__name__}", _function)


class SlogdetResult(NamedTuple):
    """Sign and logarithm of the absolute value of determinants.

    Attributes
    ----------
    sign : 1, -1 or 0, for complex matrices a number of magnitude 1, shape (...)
    logabsdet : the logarithms, -inf for singular matrices, shape (...)
    """

    sign: Array
    logabsdet: Array


@linalg(
    methods=("inverse",), samples=[sample(draw(3, 3, content="definite")), sample(draw(2, 2, 2, content="definite"))]
)
def inv(xp: Namespace, x: Array, /) -> Array:
    """Inverse of square matrices.

    Parameters
    ----------
    x : array of shape (..., M, M)

    Returns
    -------
    array of the shape of `x`

    Raises
    ------
    ValueError : if the matrices are not square
    numpy.linalg.LinAlgError : if one is singular

    Notes
    -----
    ``dy = -y @ dx @ y``.

    Examples
    --------
    >>> dk.linalg.inv(dk.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    require_square(inv, x)
    return locate_errors(xp.linalg.inv, x)


@inv.def_vjp
def inv_vjp(xp, g, y):
    turned = adjoint(xp, y)
    return -(turned @ g @ turned)


inv.def_jvp(lambda t, y: -(y @ t @ y))


@linalg(
    samples=lambda: [
        sample(draw(3, 3, content="definite"), draw(3)),
        sample(draw(3, 3, content="definite"), draw(3, 2)),
        sample(draw(2, 3, 3, content="definite"), draw(3)),
        sample(draw(2, 2, content="definite"), draw(3, 2, 1)),
    ]
)
def solve(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Solve systems of linear equations ``x1 @ y = x2``.

    Parameters
    ----------
    x1 : array of shape (..., M, M)
    x2 : array of shape (M,), one vector, or (..., M, K), matrices; batch axes broadcast

    Returns
    -------
    array of shape (..., M), or (..., M, K)

    Raises
    ------
    ValueError : if the matrices are not square, or `x2` does not fit them
    numpy.linalg.LinAlgError : if a matrix is singular

    Notes
    -----
    With ``w = solve(x1^H, g)`` the cotangents are ``-w @ y^H`` and ``w``.

    Examples
    --------
    >>> dk.linalg.solve(dk.tensor([[2.0, 0.0], [0.0, 4.0]]), dk.tensor([1.0, 1.0]))
    tensor([0.5000, 0.2500])
    """
    require_square(solve, x1, "x1")
    rows, shape = x1.shape[-1], shape_of(x2)
    if not shape or shape[-1 if len(shape) == 1 else -2] != rows:
        raise ValueError(
            f"{solve.__name__}: x2 must be of shape ({rows},) or (..., {rows}, K) to fit x1 of shape "
            f"{tuple(x1.shape)}, found {shape}"
        )
    return locate_errors(xp.linalg.solve, x1, x2, name="x1")


def _solve_batch(xp: Namespace, matrices: Array, right: Array, vectors: bool) -> Array:
    """Solve for batches of matrices, or of vectors, which the standard knows only as single ones."""
    if vectors:
        return xp.linalg.solve(matrices, right[..., None])[..., 0]
    return xp.linalg.solve(matrices, right)


@solve.def_vjp("x1")
def solve_vjp_x1(xp, g, y, x1):
    vectors = y.ndim < x1.ndim
    solution = _solve_batch(xp, adjoint(xp, x1), g, vectors)
    if vectors:
        return -(solution[..., None] * conjugate(xp, y)[..., None, :])
    return -(solution @ adjoint(xp, y))


@solve.def_jvp("x1")
def solve_jvp_x1(xp, t, y, x1):
    vectors = y.ndim < x1.ndim
    if vectors:
        product = (t @ y[..., None])[..., 0]
    else:
        product = t @ y
    return -_solve_batch(xp, x1, product, vectors)


solve.def_transpose("x2")(lambda xp, g, x1, x2: _solve_batch(xp, adjoint(xp, x1), g, x2.ndim == 1))


@linalg(methods=("det",), samples=lambda: [sample(draw(3, 3)), sample(draw(2, 2, 2)), sample(draw(1, 1))])
def det(xp: Namespace, x: Array, /) -> Array:
    """Compute the determinant of square matrices.

    Parameters
    ----------
    x : array of shape (..., M, M)

    Returns
    -------
    array of shape (...)

    Raises
    ------
    ValueError : if the matrices are not square

    Notes
    -----
    The derivative is the matrix of cofactors: ``y * inv(x)^T``, and where a determinant is 0 the same from
    the singular value decomposition, so that singular matrices have their true, finite gradient. Derivatives
    of higher order there need distinct singular values.

    Examples
    --------
    >>> dk.linalg.det(dk.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.0000)
    """
    require_square(det, x)
    return xp.linalg.det(x)


def _cofactors(xp: Namespace, y: Array, x: Array) -> Array:
    """Return the derivative of each determinant `y` by the elements of its matrix."""
    if holds(y != 0):
        return y[..., None, None] * xp.matrix_transpose(xp.linalg.inv(x))
    finite = xp.all(xp.isfinite(x), axis=(-2, -1), keepdims=True)
    u, s, vh = xp.linalg.svd(xp.where(finite, x, 0))
    diagonal = xp.eye(s.shape[-1], dtype=xp.bool)
    others = xp.prod(xp.where(diagonal, 1.0, s[..., None, :]), axis=-1)
    phase = xp.linalg.det(u) * xp.linalg.det(vh)
    cofactors = phase[..., None, None] * ((conjugate(xp, u) * others[..., None, :]) @ conjugate(xp, vh))
    return xp.where(finite, cofactors, float("nan"))


det.def_vjp(lambda xp, g, y, x: g[..., None, None] * conjugate(xp, _cofactors(xp, y, x)))
det.def_jvp(lambda xp, t, y, x: xp.sum(_cofactors(xp, y, x) * t, axis=(-2, -1)))


@linalg(
    methods=("slogdet",), samples=[sample(draw(3, 3, content="definite")), sample(draw(2, 2, 2, content="definite"))]
)
def slogdet(xp: Namespace, x: Array, /) -> SlogdetResult:
    """Sign and logarithm of the absolute value of the determinant of square matrices.

    Parameters
    ----------
    x : array of shape (..., M, M)

    Returns
    -------
    sign : array of shape (...), 0 for singular matrices; of absolute value 1 otherwise
    logabsdet : real array of shape (...), -inf for singular matrices

    Raises
    ------
    ValueError : if the matrices are not square

    Notes
    -----
    With ``w = trace(inv(x) @ dx)`` the tangents are ``1j * sign * imag(w)`` and ``real(w)``. The gradient at
    a singular matrix is infinite.

    Examples
    --------
    >>> dk.linalg.slogdet(dk.tensor([[1.0, 2.0], [3.0, 4.0]])).sign
    tensor(-1.)
    """
    return _sign_and_logarithm(xp, x)


def _sign_and_logarithm(xp: Namespace, x: Array) -> SlogdetResult:
    require_square(slogdet, x)
    return SlogdetResult(*xp.linalg.slogdet(x))


def _inverse_or_infinity(xp: Namespace, sign: Array, x: Array) -> Array:
    """Return inverses, infinity in place of that of a matrix without one."""
    singular = sign == 0
    if holds(~singular):
        return xp.linalg.inv(x)
    singular = singular[..., None, None]
    unit = xp.eye(x.shape[-1], dtype=x.dtype)
    return xp.where(singular, float("inf"), xp.linalg.inv(xp.where(singular, unit, x)))


def slogdet_numpy_flow(x, /):
    """Keep the signs where gradients flow, in a copy: a program may change the results."""
    sign, logarithm = map(np.asarray, _sign_and_logarithm(numpy_namespace, x))
    kept: Any = sign.copy()
    y = SlogdetResult._make((sign, logarithm))
    return y, lambda g, wanted: (_pulled_to_factors(numpy_namespace, g, kept, x),)


@slogdet.def_kernel("numpy", flow=slogdet_numpy_flow, reads=("x",))
def slogdet_numpy(x, /):
    return _sign_and_logarithm(numpy_namespace, x)


@slogdet.def_vjp
def slogdet_vjp(xp, g, y, x):
    return _pulled_to_factors(xp, g, y[0], x)


def _pulled_to_factors(xp: Namespace, g: Any, sign: Array, x: Array) -> Array:
    g_sign, g_log = g
    if holds_complex(x):
        g_log = g_log - 1j * xp.imag(xp.conj(g_sign) * sign)
    return g_log[..., None, None] * adjoint(xp, _inverse_or_infinity(xp, sign, x))


@slogdet.def_jvp
def slogdet_jvp(xp, t, y, x):
    sign, _ = y
    w = xp.sum(xp.matrix_transpose(_inverse_or_infinity(xp, sign, x)) * t, axis=(-2, -1))
    if holds_complex(x):
        return SlogdetResult(1j * sign * xp.imag(w), xp.real(w))
    return SlogdetResult(xp.zeros_like(sign), w)


@linalg(samples=[sample(draw(2, 2), n, differentiable=n != 0) for n in (-2, 0, 1, 2, 5)] + [sample(draw(2, 2, 2), 3)])
def matrix_power(xp: Namespace, x: Array, n: int, /) -> Array:
    """Integer power of square matrices, by repeated squaring.

    Parameters
    ----------
    x : array of shape (..., M, M)
    n : the exponent; a negative one takes the inverse, 0 gives identities

    Returns
    -------
    array of the shape of `x`

    Raises
    ------
    ValueError : if the matrices are not square
    TypeError : if `n` is no int
    numpy.linalg.LinAlgError : if `n` is negative and a matrix is singular

    Notes
    -----
    Differentiated through its products.

    Examples
    --------
    >>> dk.linalg.matrix_power(dk.tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """
    require_square(matrix_power, x)
    count = abs(integer(matrix_power, "n", n))
    if count == 0:
        return xp.zeros_like(x) + xp.eye(x.shape[-1], dtype=x.dtype)
    square = x
    if n < 0:
        square = locate_errors(xp.linalg.inv, x)
    if count == 1:
        if n < 0:
            return square
        return xp.astype(square, square.dtype)
    power: Any = None
    while count:
        if count % 2:
            if power is None:
                power = square
            else:
                power = power @ square
        count //= 2
        if count:
            square = square @ square
    return power  # set in the first round in which `count` is odd


STEPS = 2  # to which order derivatives are computed


def _solve_by_products(product: Callable[[Any], Any], options: dict[str, Any], b: Any) -> Any:
    """Return the solution for NumPy's array of one right side, or of several as columns.

    Parameters
    ----------
    product : gives NumPy's array of the matrix, which stays as it is, times one
    options : of SciPy's function
    b : the right side

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
        columns = [_solve_by_products(product, options, column) for column in b.T]
        if columns:
            return np.stack(columns, axis=1)
        return b.copy()
    matrix = linalg.LinearOperator((b.shape[0],) * 2, matvec=product, dtype=b.dtype)
    x, steps = linalg.cg(matrix, b, **options)
    if steps:
        raise np.linalg.LinAlgError(f"linalg.cg: not solved after {steps} steps; raise maxiter= or rtol=")
    return x


@operation(namespace="dispatchkit.linalg", samples=list)
def correction(xp: Namespace, r: Array, /, *, solver: Any, order: int) -> Array:
    """Return the solution for a right side, as a linear function of it.

    Parameters
    ----------
    r : the right side; known to be 0 where `order` is 0
    solver : solves for NumPy's array, with the matrix as a constant
    order : how often the solution was differentiated
    """
    if order:
        return _solve_by_solver(r, solver, order)
    return xp.zeros_like(r)


correction.def_transpose(lambda g, solver, order: _correct(g, solver, order + 1))
correction.def_jvp(lambda t, solver, order: _correct(t, solver, order + 1))


def _correct(x: Any, solver: Any, order: int) -> Any:
    """Return the correction of a tensor, or of a raw array."""
    if isinstance(x, Storage):
        return correction(x, solver=solver, order=order)
    return _solve_by_solver(x, solver, order)


def _solve_by_solver(r: Any, solver: Any, order: int) -> Any:
    if order > STEPS:
        raise AutogradError("linalg.cg: its derivatives are computed to the second order; use linalg.solve")
    return namespace_of(r).asarray(solver(as_numpy("linalg.cg", r)))


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
    solver = partial(_solve_by_products, _product_of(A, b), options)
    with no_grad():
        x = tensor_namespace.asarray(_solve_by_solver(_bare(b).array, solver, 0))
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
    x: Any
    if isinstance(b, Storage):
        x = b
    else:
        x = tensor_namespace.asarray(b)
    is_tensor = isinstance(x, Storage)
    if not is_tensor or x.dtype.kind not in "fc":
        description = f"{type(x).__name__} of {x.dtype}"
        raise TypeError(f"linalg.cg: b must be a tensor of floating-point numbers, found {description}")
    shape, sizes = None, tuple(x.shape)
    if not _is_function(A):
        shape = tuple(A.shape)
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
        # whose fields are not known
        if fixed is None:
            fixed = A
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
    tensor: Any = x
    if isinstance(x, Storage):
        return tensor.detach()
    return with_arrays(x, _bare)


_solution = Solution(
    tensor_protocol,
    "cg",
    "dispatchkit.linalg",
    kinds.linalg,
    Parameters(signature_of(_cg, "cg"), {"A": Form.LOOSE, "b": Form.LOOSE}, whole=tensor_protocol.types.participates),
    _cg,
)
_cg.__name__ = _cg.__qualname__ = "cg"
tensor_protocol.operations.add(_solution)
cg: Any = _solution.named_function()
enter("linalg.cg", cg)

"""`DiagonalTensor`: numbers on the diagonal of a square matrix; `ScalarTensor`: one number."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from dispatchkit import linalg, ops
from dispatchkit.declare.wrapping import holds, wrap_array
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.printing import format_number, summarised
from dispatchkit.types.rules import array_of, axes_of, check_product, implements, implements_each, is_nonzero_array
from dispatchkit.types.structured.base import (
    StructuredTensor,
    as_tensor,
    floating,
    full_tensor,
    implement_pairs,
    require_finite,
    same_size,
    slogdet_of_diagonal,
)

FEW = 1_000  # elements, of which to look at each takes less than to have the processor tell


@tensor_protocol.array_type(fields=("values",))
class DiagonalTensor(StructuredTensor):
    """The matrices with given numbers on their diagonals and zeros elsewhere.

    Parameters
    ----------
    diagonal : tensor of shape (..., n), or what `asarray` makes one of; the axes in front are a batch

    Raises
    ------
    ValueError : if `diagonal` has no axis

    Notes
    -----
    Sums, products, inverses, powers, factors and eigenvectors are diagonal again or permutations, and take O(n); a
    product with a matrix scales its rows or columns. Source: the diagonal matrices of linear_operator and of Julia's
    LinearAlgebra.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> d = dk.types.DiagonalTensor([1.0, 2.0, 4.0])
    >>> d @ d + d, dk.linalg.inv(d)
    (DiagonalTensor([ 2.,  6., 20.]), DiagonalTensor([1.0000, 0.5000, 0.2500]))
    >>> dk.linalg.slogdet(d)
    SlogdetResult(sign=tensor(1.), logabsdet=tensor(2.0794))
    """

    _regular = b""  # the diagonal, if it is short, in which there was no 0

    def __init__(self, diagonal: Any) -> None:
        self.values = as_tensor("DiagonalTensor", "diagonal", diagonal, 1)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes: (..., n, n)."""
        shape = self.values.shape
        return (*shape, shape[-1])

    dtype = property(attrgetter("values.dtype"), doc="Type of the elements.")

    def to_dense(self) -> Tensor:
        """Return the matrix as a plain tensor."""
        dense: Tensor = self.added_to(ops.zeros(self.shape, dtype=self.dtype, device=self.values.device))
        return dense

    def map_elements(self, function: Callable[[Any], Any]) -> DiagonalTensor:
        """Return the matrix with a function applied to the diagonal."""
        return _diagonal(function(self.values))

    map_batch = map_elements

    def zip_elements(self, other: DiagonalTensor, function: Callable[[Any, Any], Any]) -> DiagonalTensor:
        """Return a function of two diagonals."""
        return _diagonal(function(self.values, other.values))

    def fits(self, other: DiagonalTensor) -> bool:
        """Return whether another matrix has the shape of this one."""
        return self.values.shape == other.values.shape

    def restricted(self, x: Tensor) -> DiagonalTensor:
        """Return the diagonal of a tensor."""
        return DiagonalTensor(linalg.diagonal(x))

    def added_to(self, x: Tensor) -> Any:
        """Return a tensor with the numbers added on its diagonal."""
        index = ops.arange(self.shape[-1], device=x.device)
        return ops.index_put(x, (..., index, index), self.values, accumulate=True)

    def elements_at(self, rows: Tensor, columns: Tensor) -> Any:
        """Return the elements at indices."""
        return ops.where(rows == columns, self.values[..., rows], ops.zeros((), dtype=self.dtype))

    def times(self, columns: Tensor) -> Any:
        """Return a tensor with its rows scaled."""
        return self.values[..., :, None] * columns

    def times_vector(self, x: Tensor) -> Any:
        """Return a vector with its elements scaled."""
        return self.values * x

    vector_times = times_vector

    def times_from_left(self, rows: Tensor) -> Any:
        """Return a tensor with its columns scaled."""
        return rows * self.values[..., None, :]

    def solve_columns(self, columns: Tensor) -> Any:
        """Return a tensor with its rows divided."""
        require_regular("solve", self, self.values)
        return columns / self.values[..., :, None]

    def solve_vector(self, x: Tensor) -> Any:
        """Return a vector with its elements divided."""
        require_regular("solve", self, self.values)
        return x / self.values

    def times_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return a vector with its elements scaled, or columns with their rows."""
        values = array_of(self.values)
        if values is None or values.dtype != x.dtype or values.ndim != 1 or values.shape != x.shape[:1]:
            return None
        if x.ndim == 1:
            return values * x
        return values[:, None] * x if x.ndim == 2 else None

    def array_times(self, x: np.ndarray) -> np.ndarray | None:
        """Return a vector with its elements scaled, or rows with their columns."""
        values = array_of(self.values)
        if values is None or values.dtype != x.dtype or values.ndim != 1 or values.shape != x.shape[-1:]:
            return None
        return x * values if x.ndim <= 2 else None

    def solve_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return a vector with its elements divided."""
        values = array_of(self.values)
        if values is None or values.shape != x.shape or x.ndim != 1 or values.dtype != x.dtype:
            return None
        if x.dtype.kind not in "fc":
            return None
        return self._quotient(x, values)

    def _quotient(self, x: np.ndarray, divisor: np.ndarray) -> np.ndarray | None:
        """Return a vector divided by the diagonal; None where a divisor is 0.

        Of many elements the processor says so when it divides, which takes less than to look at them.
        """
        result: np.ndarray
        if x.size >= FEW and SEES_ZEROS:
            try:
                return _checked_quotient(x, divisor)
            except FloatingPointError:  # of inf / inf, too
                pass
        if not is_nonzero_array(divisor):
            return None
        if x.size < FEW:
            self._regular = divisor.tobytes()
        result = x / divisor
        return result

    def principal(self, start: int, stop: int) -> DiagonalTensor:
        """Return the matrix of some of the rows and columns."""
        return DiagonalTensor(self.values[..., start:stop])

    @summarised
    def __repr__(self) -> str:
        return f"DiagonalTensor({repr(self.values).removeprefix('tensor(')}"


def _diagonal(values: Any) -> DiagonalTensor:
    """Return a matrix of what is known to be a tensor with an axis."""
    matrix = object.__new__(DiagonalTensor)
    matrix.values = values
    return matrix


implement_pairs(DiagonalTensor, "values")


def require_regular(name: str, x: StructuredTensor, diagonal: Tensor) -> None:
    """Check that there is no 0 on the diagonal of a matrix that has an inverse only then.

    Raises
    ------
    numpy.linalg.LinAlgError : if there is
    """
    if not is_nonzero(diagonal):
        raise np.linalg.LinAlgError(f"{name}: singular matrix: a {type(x).__name__} with 0 on its diagonal")


def is_nonzero(x: Tensor) -> bool:
    """Return whether no element is 0, as far as it is known."""
    if type(x) is Tensor and type(x.array) is np.ndarray:
        return is_nonzero_array(x.array)
    return holds(x != 0, traced=True)


@np.errstate(divide="raise", invalid="raise")
def _checked_quotient(x: Any, divisor: np.ndarray) -> np.ndarray:
    result: np.ndarray = x / divisor
    return result


def _sees_zeros() -> bool:
    """Return whether divisions by 0 are reported: there are processors and compilers by which they are not."""
    for number in (0.0, 1.0):
        try:
            _checked_quotient(np.full(100, number), np.zeros(100))
        except FloatingPointError:
            continue
        return False
    return True


SEES_ZEROS = _sees_zeros()


@implements(ops.matmul)
def matmul_diagonals(x1: DiagonalTensor, x2: DiagonalTensor, /) -> DiagonalTensor:
    check_product(x1.shape, x2.shape)
    return DiagonalTensor(x1.values * x2.values)


@implements(ops.matrix_transpose)
def matrix_transpose_diagonal(x: DiagonalTensor, /) -> DiagonalTensor:
    return x


@implements(linalg.diagonal)
def diagonal_of_diagonal(x: DiagonalTensor, /, *, offset: int = 0) -> Tensor:
    n = x.shape[-1]
    if offset == 0:
        return ops.clone(x.values)
    return ops.zeros((*x.shape[:-2], max(n - abs(offset), 0)), dtype=x.dtype)


@implements(linalg.trace)
def trace_diagonal(x: DiagonalTensor, /, *, offset: int = 0, dtype: Any = None) -> Any:
    if offset:
        return decline("off the main diagonal there are zeros")
    values = array_of(x.values)
    if values is not None and values.ndim == 1 and values.dtype.char in "fdFD" and dtype is None:
        return wrap_array(Tensor, np.asarray(np.add.reduce(values)))
    return ops.sum(x.values, axis=-1, dtype=dtype)


@implements(linalg.inv)
def inv_diagonal(x: DiagonalTensor, /) -> DiagonalTensor:
    values = array_of(x.values)
    if values is not None and values.ndim == 1 and values.dtype.char in "fd":
        if values.size >= FEW and SEES_ZEROS:
            try:
                return _diagonal(wrap_array(Tensor, _checked_quotient(values.dtype.type(1), values)))
            except FloatingPointError:
                pass
        elif is_nonzero_array(values):
            return _diagonal(wrap_array(Tensor, np.reciprocal(values)))  # of more it takes more than to divide
    require_regular("inv", x, x.values)
    return DiagonalTensor(1 / x.values)


@implements(linalg.det, DiagonalTensor)
def det_by_diagonal(x: StructuredTensor, /) -> Tensor:
    return ops.prod(floating(linalg.diagonal(x)), axis=-1)


@implements(linalg.slogdet, DiagonalTensor)
def slogdet_by_diagonal(x: StructuredTensor, /) -> Any:
    return slogdet_of_diagonal(linalg.diagonal(x))


# Factors.


@implements(linalg.cholesky)
def cholesky_diagonal(x: DiagonalTensor, /, *, upper: bool = False) -> Any:
    if ops.isdtype(x.dtype, "complex floating"):
        return decline("of complex numbers the dense algorithm looks at the real part alone")
    if not holds(ops.logical_not(x.values <= 0), traced=True):
        raise np.linalg.LinAlgError("cholesky: matrix is not positive definite: a DiagonalTensor with numbers <= 0")
    return DiagonalTensor(ops.sqrt(floating(x.values)))


@implements(linalg.eigvalsh)
def eigvalsh_diagonal(x: DiagonalTensor, /) -> Tensor:
    require_finite("eigvalsh", x, x.values)
    return ops.sort(ops.real(floating(x.values)), axis=-1)


@implements(linalg.svdvals)
def svdvals_diagonal(x: DiagonalTensor, /) -> Tensor:
    require_finite("svdvals", x, x.values)
    return ops.sort(ops.abs(floating(x.values)), axis=-1, descending=True)


@tensor_protocol.array_type(fields=("value", "n"))
class ScalarTensor(StructuredTensor):
    """The n×n matrix with `value` on its diagonal and zeros elsewhere.

    Parameters
    ----------
    n : number of rows and of columns
    value : number or 0-D tensor, which may require a gradient

    Raises
    ------
    ValueError : if `n` is negative
    TypeError : if `n` is no integer, or `value` neither a number nor 0-D

    Notes
    -----
    Arithmetic with its like and with numbers, products with matrices and vectors, sums and means, inverse, solving,
    determinant, Cholesky factor and eigenvalues take O(1) or O(n), and the memory of their result. What has no rule
    is computed by decomposition, else on the dense matrix, with a warning. Source: the scaled identity of PyTorch's
    note "Extending PyTorch".

    Examples
    --------
    >>> import dispatchkit as dk
    >>> s = dk.types.ScalarTensor(3, 2.0)
    >>> s + s, s @ s, dk.mean(s)
    (ScalarTensor(n=3, value=4.0), ScalarTensor(n=3, value=4.0), tensor(0.6667))
    >>> dk.linalg.solve(s, dk.ones(3))
    tensor([0.5000, 0.5000, 0.5000])
    """

    def __init__(self, n: int, value: Any) -> None:
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
            raise TypeError(f"ScalarTensor: n must be an integer, not {type(n).__name__}")
        if n < 0:
            raise ValueError(f"ScalarTensor: n is {n}; it cannot be negative")
        scalar = isinstance(value, (int, float, complex, np.generic))
        if not scalar and not (isinstance(value, (Tensor, np.ndarray)) and value.ndim == 0):
            raise TypeError(f"ScalarTensor: value must be a number or a 0-D tensor, not {value!r}")
        self.n = int(n)
        self.value: Tensor
        if isinstance(value, Tensor):
            self.value = value
        else:
            self.value = ops.asarray(value)

    @property
    def shape(self) -> tuple[int, int]:
        """Lengths of the axes: (n, n)."""
        return (self.n, self.n)

    dtype = property(attrgetter("value.dtype"), doc="Type of the elements, that of the value.")

    def to_dense(self) -> Tensor:
        """Return the matrix as a plain tensor."""
        # Chosen rather than multiplied, so that neither inf nor nan spreads over the zeros.
        zero = ops.zeros((), dtype=self.dtype)
        dense: Tensor = ops.where(ops.eye(self.n, dtype=np.bool_), self.value, zero)
        return dense

    def map_elements(self, function: Callable[[Any], Any]) -> ScalarTensor:
        """Return the matrix with a function applied to the value."""
        return ScalarTensor(self.n, function(self.value))

    def zip_elements(self, other: ScalarTensor, function: Callable[[Any, Any], Any]) -> ScalarTensor:
        """Return a function of two values."""
        return ScalarTensor(self.n, function(self.value, other.value))

    def restricted(self, x: Tensor) -> DiagonalTensor:
        """Return the diagonal of a tensor."""
        return DiagonalTensor(linalg.diagonal(x))

    def added_to(self, x: Tensor) -> Any:
        """Return a tensor with the value added on its diagonal."""
        index = ops.arange(self.n, device=x.device)
        return ops.index_put(x, (..., index, index), self.value, accumulate=True)

    def elements_at(self, rows: Tensor, columns: Tensor) -> Any:
        """Return the elements at indices: the value where they are equal, else zero."""
        return ops.where(rows == columns, full_tensor((), self.value), ops.zeros((), dtype=self.dtype))

    def times(self, columns: Tensor) -> Any:
        """Return the product with a tensor."""
        return self.value * columns

    def times_from_left(self, rows: Tensor) -> Any:
        """Return the product of a tensor with the matrix."""
        return self.times(rows)

    def times_vector(self, x: Tensor) -> Any:
        """Return the product with a vector."""
        return self.value * x

    vector_times = times_vector

    def solve_columns(self, columns: Tensor) -> Any:
        """Return the solution of a system, which must have one."""
        _require_nonzero("solve", self)
        return columns / self.value

    def solve_vector(self, x: Tensor) -> Any:
        """Return the solution of a system with one right-hand side."""
        return self.solve_columns(x)

    def times_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return the product with a vector."""
        value = array_of(self.value)
        if value is None or x.shape != (self.n,) or value.dtype != x.dtype:
            return None
        product: np.ndarray = value * x
        return product

    array_times = times_array

    def solve_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return the solution of a system with one right-hand side."""
        value = array_of(self.value)
        if value is None or x.shape != (self.n,) or value.dtype != x.dtype:
            return None
        if x.dtype.kind not in "fc" or not value:
            return None
        quotient: np.ndarray = x / value
        return quotient

    def principal(self, start: int, stop: int) -> ScalarTensor:
        """Return the matrix of some of the rows and columns."""
        return ScalarTensor(stop - start, self.value)

    @summarised
    def __repr__(self) -> str:
        return f"ScalarTensor(n={self.n}, value={_show_value(self.value)})"


def _show_value(value: Any) -> str:
    plain = type(value) is Tensor and value.ndim == 0 and not value.requires_grad
    if plain:
        return format_number(value.item())
    return repr(value)


implement_pairs(ScalarTensor)


@tensor_protocol.converts()
def diagonal_of_scalar(x: ScalarTensor) -> DiagonalTensor:
    return DiagonalTensor(full_tensor((x.n,), x.value))


# Comparison: where the zeros off the diagonal give False the result is a ScalarTensor of booleans, where they give
# True it has structure only if the diagonal gives True as well.


@implements_each((ops.less_equal, ops.greater_equal, ops.equal), ScalarTensor, ScalarTensor)
def compare_scalar_tensors(function: Any, x1: ScalarTensor, x2: ScalarTensor, /) -> Any:
    if not same_size(function.__name__, x1, x2) or not holds(function(x1.value, x2.value)):
        return decline("the result is True off the diagonal alone")
    return ops.broadcast_to(ops.ones((), dtype=np.bool_), x1.shape)


# Products.


@implements(ops.matmul)
def matmul_scalar_tensors(x1: ScalarTensor, x2: ScalarTensor, /) -> ScalarTensor:
    check_product(x1.shape, x2.shape)
    return ScalarTensor(x1.n, x1.value * x2.value)


# Reductions and structure.


@implements(ops.sum)
def sum_scalar_tensor(x: ScalarTensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor | ScalarTensor:
    line = ops.sum(full_tensor((), x.value))
    if x.n:
        total = x.n * line
    else:
        total = ops.zeros_like(line)
    return _reduce("sum", x, axis, keepdims, total=total, line=line, element=line)


@implements(ops.mean)
def mean_scalar_tensor(x: ScalarTensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor | ScalarTensor:
    if x.n:
        line = x.value / x.n
    else:
        line = x.value / 1 * float("nan")
    return _reduce("mean", x, axis, keepdims, total=line, line=line, element=x.value / 1)


def _reduce(
    name: str, x: ScalarTensor, axis: Any, keepdims: bool, total: Any, line: Any, element: Any
) -> Tensor | ScalarTensor:
    """Return a reduction that gives `total` over everything, `line` along a line, and `element` along no axis."""
    axes = axes_of(name, x, axis)
    if not axes:
        return ScalarTensor(x.n, element)
    if keepdims:
        shape = tuple(1 if i in axes else x.n for i in (0, 1))
    else:
        shape = tuple(x.n for i in (0, 1) if i not in axes)
    if len(axes) == 2:
        return full_tensor(shape, total)
    return full_tensor(shape, line)


@implements(ops.matrix_transpose)
def matrix_transpose_scalar_tensor(x: ScalarTensor, /) -> ScalarTensor:
    return x


# Linear algebra.


def _require_nonzero(name: str, x: ScalarTensor) -> None:
    if x.n and not is_nonzero(x.value):
        raise np.linalg.LinAlgError(f"{name}: singular matrix: ScalarTensor({x.n}, 0)")


@implements(linalg.inv)
def inv_scalar_tensor(x: ScalarTensor, /) -> ScalarTensor:
    _require_nonzero("inv", x)
    return ScalarTensor(x.n, 1 / x.value)


@implements(linalg.matrix_power)
def matrix_power_of_nothing(x: StructuredTensor, n: int, /) -> Any:
    if n != 0 or x.ndim > 2 or x.shape[0] != x.shape[1]:
        return decline("powers but that of a single matrix to 0 are products")
    return ScalarTensor(x.shape[0], ops.ones((), dtype=x.dtype))


@implements(linalg.det)
def det_scalar_tensor(x: ScalarTensor, /) -> Tensor:
    return floating(x.value) ** x.n


@implements(linalg.slogdet)
def slogdet_scalar_tensor(x: ScalarTensor, /) -> Any:
    value = floating(x.value)
    if not x.n:
        return linalg.SlogdetResult(ops.ones_like(value), ops.zeros_like(ops.abs(value)))
    of_one = slogdet_of_diagonal(value[None])
    if of_one is NotImplemented:
        return of_one
    return linalg.SlogdetResult(of_one.sign**x.n, x.n * of_one.logabsdet)


@implements(linalg.cholesky)
def cholesky_scalar_tensor(x: ScalarTensor, /, *, upper: bool = False) -> Any:
    if ops.isdtype(x.dtype, "complex floating"):
        return decline("of complex numbers the dense algorithm looks at the real part alone")
    if x.n == 0:
        return decline("a matrix without rows has a factor whatever its value")
    if not holds(ops.logical_not(x.value <= 0), traced=True):
        raise np.linalg.LinAlgError(
            f"cholesky: matrix is not positive definite: ScalarTensor({x.n}, {_show_value(x.value)})"
        )
    return ScalarTensor(x.n, ops.sqrt(floating(x.value)))

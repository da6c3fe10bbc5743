"""Elementwise functions of structured matrices, which keep the structure where they map zeros to zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import NoneType, NotImplementedType
from typing import Any

import numpy as np

from dispatchkit import autograd, linalg, ops, special
from dispatchkit.declare.wrapping import holds, wrap_array
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import ArrayMethods, Tensor
from dispatchkit.types.rules import (
    ZERO_PRESERVING,
    Number,
    all_finite,
    array_of,
    bind_rule,
    enter,
    implements,
    implements_each,
    is_nonzero_array,
    promote,
)
from dispatchkit.types.structured.kept import NOT_COPIED
from dispatchkit.types.structured.written_out import PAIRS, implement_pair_on_arrays

SINGULAR = "a singular matrix has derivatives that do not follow from the logarithm of its determinant"
NO_MATRIX = "the batch has no matrix, though parts without that batch may be singular"
ELEMENTS_AT_ONCE = 1 << 20  # of the products of elements that are held in memory


@tensor_protocol.array_type(fallback=fallback.convert | fallback.decompose | fallback.dense, fields=())
class StructuredTensor(ArrayMethods):
    """A matrix, or a batch of matrices, that stores fewer numbers than it has elements.

    Derive a structure from this class, and define `shape`, `dtype`, `to_dense` and those of the methods below that the
    structure can compute. The rules of all structures for products with tensors, systems of equations, slices, sums and
    scalings call these methods, with operands that are checked and of the right dtype.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> isinstance(dk.types.DiagonalTensor([1.0, 2.0]), dk.types.StructuredTensor)
    True
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Have a subclass that computes a product or a solution in its own way do so on arrays of NumPy, too."""
        super().__init_subclass__(**options)
        for on_arrays, on_tensors in ON_ARRAYS.items():
            if on_arrays not in vars(cls) and any(name in vars(cls) for name in on_tensors):
                setattr(cls, on_arrays, getattr(StructuredTensor, on_arrays))

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without what is kept of a computation."""
        return {name: value for name, value in vars(self).items() if name not in NOT_COPIED}

    def to_dense(self) -> Tensor:
        """Return the matrix as a plain tensor."""
        rows, columns = self.shape[-2:]
        dense: Tensor = self.elements_at(ops.arange(rows)[:, None], ops.arange(columns)[None, :])
        return dense

    def map_elements(self, function: Callable[[Any], Any]) -> Any:
        """Return the structure with a function that maps 0 to 0 applied to the elements.

        Parameters
        ----------
        function : takes a tensor of stored elements and returns one of the same shape
        """
        return decline(f"{type(self).__name__} holds no elements")

    def map_linear(self, function: Callable[[Any], Any]) -> Any:
        """Return the structure with a linear function, such as scaling, applied to the elements.

        Parameters
        ----------
        function : takes a tensor of stored elements and returns one of the same shape
        """
        return self.map_elements(function)

    def in_dtype(self, dtype: Any) -> Any:
        """Return the matrix with its elements in another dtype, to which they promote.

        Parameters
        ----------
        dtype : of the result
        """
        return self.map_linear(lambda elements: ops.astype(elements, dtype, copy=False))

    def zip_elements(self, other: Any, function: Callable[[Any, Any], Any]) -> Any:
        """Return a function of two, which maps zeros to 0, of the elements of two matrices of this class and size.

        Parameters
        ----------
        other : a matrix of this class and size
        function : takes the stored elements of both, tensors of one shape, and returns a tensor of that shape
        """
        return decline(f"{type(self).__name__} holds no elements")

    def fits(self, other: Any) -> bool:
        """Return whether another matrix of this class has the shape of this one, by the quickest way to find out.

        Parameters
        ----------
        other : a matrix of this class
        """
        return bool(self.shape == other.shape)

    def restricted(self, x: Tensor) -> Any:
        """Return the elements of a tensor of shape (..., M, N) in the places where this structure has its own.

        Parameters
        ----------
        x : a tensor of shape (..., M, N), as large as this matrix
        """
        return decline(f"{type(self).__name__} holds no elements")

    def added_to(self, x: Tensor) -> Any:
        """Return a tensor of shape (..., M, N) with the matrix added.

        Parameters
        ----------
        x : a tensor of shape (..., M, N), as large as this matrix; it is not changed
        """
        return decline(f"{type(self).__name__} cannot be added in place")

    def map_batch(self, function: Callable[[Any], Any]) -> Any:
        """Return the structure with a function of the axes of the batch applied, such as an index.

        Parameters
        ----------
        function : takes a tensor whose first axes are those of the batch, and acts on these alone
        """
        return decline(f"{type(self).__name__} cannot be indexed along its batch")

    def elements_at(self, rows: Tensor, columns: Tensor) -> Any:
        """Return the elements at indices, in range and of as many axes, which broadcast behind the batch.

        Parameters
        ----------
        rows, columns : tensors of integers from 0 on, which broadcast together
        """
        return decline(f"{type(self).__name__} computes no single elements")

    def line_at(self, index: int, axis: int) -> Any:
        """Return the row at an index, or the column where `axis` is -1, of shape (..., N).

        Parameters
        ----------
        index : from 0 on
        axis : that is indexed, -2 or -1
        """
        one, others = ops.asarray([index]), ops.arange(self.shape[-1 if axis == -2 else -2])
        if axis == -2:
            return self.elements_at(ops.broadcast_to(one, others.shape), others)
        return self.elements_at(others, ops.broadcast_to(one, others.shape))

    def times(self, columns: Tensor) -> Any:
        """Return the product with a tensor of shape (..., N, K).

        Parameters
        ----------
        columns : a tensor of shape (..., N, K), of the dtype of the result
        """
        return decline(f"{type(self).__name__} has no product with tensors")

    def times_from_left(self, rows: Tensor) -> Any:
        """Return the product of a tensor of shape (..., K, M) with the matrix.

        Parameters
        ----------
        rows : a tensor of shape (..., K, M), of the dtype of the result
        """
        return ops.matrix_transpose(ops.matmul(ops.matrix_transpose(self), ops.matrix_transpose(rows)))

    def times_vector(self, x: Tensor) -> Any:
        """Return the product with a tensor of shape (N,): by default that with a matrix of one column.

        Parameters
        ----------
        x : a tensor of shape (N,), of the dtype of the result
        """
        return without_axis(self.times(x[:, None]), -1)

    def vector_times(self, x: Tensor) -> Any:
        """Return the product of a tensor of shape (M,) with the matrix: by default that of a matrix of one row.

        Parameters
        ----------
        x : a tensor of shape (M,), of the dtype of the result
        """
        return without_axis(self.times_from_left(x[None, :]), -2)

    def solve_vector(self, x: Tensor) -> Any:
        """Return the solution of the system with a right-hand side of shape (N,): by default that of one column.

        Parameters
        ----------
        x : a tensor of shape (N,), of the dtype of the result
        """
        return without_axis(self.solve_columns(x[:, None]), -1)

    def solve_columns(self, columns: Tensor) -> Any:
        """Return the solution of the system with right-hand sides of shape (..., N, K).

        Parameters
        ----------
        columns : a tensor of shape (..., N, K), of the dtype of the result
        """
        return decline(f"{type(self).__name__} has no direct way to solve a system")

    # On arrays of NumPy, which nothing differentiates: of a few hundred elements the calls of operations on tensors
    # take longer than what they compute. Where a structure has no such way, or not for these, those on tensors answer.

    def times_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return the product with an array; None where the way on tensors is to be taken, which raises the errors.

        Parameters
        ----------
        x : an array of any shape and dtype, of which nothing is checked
        """
        return None

    def array_times(self, x: np.ndarray) -> np.ndarray | None:
        """Return the product of an array with the matrix; None where the way on tensors is to be taken.

        Parameters
        ----------
        x : an array of any shape and dtype, of which nothing is checked
        """
        return None

    def solve_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return the solution of the system with an array; None where the way on tensors is to be taken.

        Parameters
        ----------
        x : an array of any shape and dtype, of which nothing is checked
        """
        return None

    def places(self) -> Tensor | None:
        """Return where the matrix has elements of its own, booleans of its shape; None for everywhere."""
        stored: list[Tensor] = []

        def ones_like(elements: Tensor) -> Tensor:
            stored.append(elements)
            return ops.ones_like(elements)

        ones = self.map_elements(ones_like)
        if ones is NotImplemented:
            return None
        # Added rather than converted, which would count as making the matrix dense.
        here: Tensor = ops.not_equal(ones.added_to(ops.zeros(self.shape, dtype=ones.dtype).to(like=stored[0])), 0)
        return here

    def principal(self, start: int, stop: int) -> Any:
        """Return the square submatrix of the rows and columns `start` to `stop`.

        Parameters
        ----------
        start, stop : the first row and column, and the one after the last; both are in range
        """
        return decline(f"a slice of a {type(self).__name__} has no structure")


# The ways on arrays of NumPy, and those on tensors for which they stand.
ON_ARRAYS = {
    "times_array": ("times", "times_vector"),
    "array_times": ("times_from_left", "vector_times"),
    "solve_array": ("solve_columns", "solve_vector"),
}


def without_axis(result: Any, axis: int) -> Any:
    """Return a result without an axis of length 1; a decline as it is."""
    if result is NotImplemented:
        return result
    return ops.squeeze(result, axis=axis)


# Operands.


def require_finite(name: str, x: StructuredTensor, values: Tensor) -> None:
    """Check the numbers that a structure holds for a decomposition, as the dense algorithm checks the matrix.

    Raises
    ------
    numpy.linalg.LinAlgError : if there are inf or NaN among them
    """
    if 0 not in x.shape and not all_finite(values):
        raise np.linalg.LinAlgError(f"{name}: the {type(x).__name__} x must not contain infs or NaNs")


def product_of_elements(
    matrix: Tensor, places: Tensor | None, columns: Tensor, column_places: Tensor | None = None
) -> Tensor:
    """Return the product of matrices, in which elements that a structure does not have contribute nothing.

    It takes the time of a product of dense matrices, and more memory by a constant; it is for those with inf or nan, by
    which the zeros of a structure may not be multiplied.

    Parameters
    ----------
    matrix : tensor of shape (..., M, N)
    places : where it has elements; None for everywhere
    columns : tensor of shape (..., N, K)
    column_places : where `columns` has elements
    """
    if places is None and column_places is None:
        return ops.matmul(matrix, columns)
    rows, inner, count = *matrix.shape[-2:], columns.shape[-1]
    step = max(1, ELEMENTS_AT_ONCE // max(1, inner * count))
    parts = []
    for start in range(0, max(rows, 1), step):
        block = slice(start, start + step)
        left, right = matrix[..., block, :, None], columns[..., None, :, :]
        # Each factor is made zero where the other one has no element: the product then is no 0 * inf.
        masked = left
        if column_places is not None:
            masked = ops.where(column_places[..., None, :, :], left, 0)
        if places is not None:
            right = ops.where(places[..., block, :, None], right, 0)
        parts.append(ops.sum(masked * right, axis=-2))
    if len(parts) == 1:
        return parts[0]
    return ops.concat(parts, axis=-2)


def check_system(matrix: tuple[int, ...], right: tuple[int, ...]) -> None:
    """Check that a matrix is square and that a right-hand side, a vector or columns, has as many rows.

    Raises
    ------
    ValueError : if not
    """
    if matrix[-1] != matrix[-2]:
        raise ValueError(f"solve: the matrix must be square, found shape {matrix}")
    if len(right) == 1:
        rows = right[0]
    elif right:
        rows = right[-2]
    else:
        rows = None
    if rows != matrix[-1]:
        raise ValueError(f"solve: matrix of shape {matrix} and right-hand side of shape {right} do not fit")


def same_size(name: str, x1: StructuredTensor, x2: StructuredTensor) -> bool:
    """Return whether the matrices of two operands have one size; False where axes of length 1 broadcast.

    Raises
    ------
    ValueError : if the shapes do not broadcast
    """
    if x1.shape == x2.shape:
        return True
    for length, other in zip(reversed(x1.shape), reversed(x2.shape), strict=False):
        if length != other and 1 not in (length, other):
            types = f"{type(x1).__name__} and {type(x2).__name__}"
            if type(x1) is type(x2):
                types = f"{type(x1).__name__}s"
            raise ValueError(f"{name}: {types} of shapes {x1.shape} and {x2.shape} do not broadcast")
    return x1.shape[-2:] == x2.shape[-2:]


def with_dtype(x: Any, dtype: Any) -> Any:
    """Return a matrix or a tensor with its elements in a dtype, to which they promote: rules promote, then compute.

    Parameters
    ----------
    x : structured matrix or tensor
    dtype : of the result
    """
    if x.dtype == dtype:
        return x
    if isinstance(x, StructuredTensor):
        return x.in_dtype(dtype)
    return ops.astype(x, dtype)


def held_arrays(x: StructuredTensor) -> list[np.ndarray] | None:
    """Return the arrays of a matrix's fields, which nothing differentiates; None where a field is no such array.

    Parameters
    ----------
    x : structured matrix, whose fields may be matrices, too
    """
    arrays: list[np.ndarray] = []
    parts = [getattr(x, name) for name in tensor_protocol.types.fields_of(x)]
    while parts:
        part = parts.pop()
        array = array_of(part)
        if array is not None:
            arrays.append(array)
        elif isinstance(part, tuple):
            parts.extend(part)
        elif isinstance(part, StructuredTensor):
            parts.extend(getattr(part, name) for name in tensor_protocol.types.fields_of(part))
        elif isinstance(part, Number):
            arrays.append(np.asarray(part))
        elif not isinstance(part, (str, np.dtype, NoneType)):
            return None
    return arrays


def in_one_dtype(parts: Sequence[Any], *, multiplied: bool = False) -> tuple[Any, ...]:
    """Return the parts of a matrix, tensors or structured matrices, in the dtype to which all of them promote.

    Parameters
    ----------
    parts : what the matrix is made of
    multiplied : whether the elements are sums of products of the parts, which are int64 for smaller integers, as sums
        are in NumPy
    """
    dtype = np.result_type(*(part.dtype for part in parts))
    if multiplied and dtype.kind in "biu" and dtype != np.uint64:
        dtype = np.dtype(np.int64)
    plain = [part if part.dtype == dtype else with_dtype(part, dtype) for part in parts]
    return tuple(old if new is NotImplemented else new for old, new in zip(parts, plain, strict=True))


def full_tensor(shape: tuple[int, ...], value: Any) -> Tensor:
    """Return a tensor of a shape with one value, a number or a 0-D tensor, in every place."""
    element: Tensor
    if isinstance(value, Tensor):
        element = value
    else:
        element = tensor_protocol.types.wrap(value)
    return ops.broadcast_to(element, shape)


def floating(value: Any) -> Tensor:
    """Return a number or a tensor as a tensor of floating-point or complex numbers."""
    tensor: Tensor
    if isinstance(value, Tensor):
        tensor = value
    else:
        tensor = tensor_protocol.types.wrap(value)
    if tensor.dtype.kind in "fc":
        return tensor
    return ops.astype(tensor, np.float64)


def as_tensor(cls: str, name: str, value: Any, ndim: int) -> Tensor:
    """Return a field as a tensor.

    Raises
    ------
    ValueError : if it has less axes than one matrix needs
    """
    tensor: Tensor
    if isinstance(value, Tensor):
        tensor = value
    else:
        tensor = ops.asarray(value)
    if tensor.ndim < ndim:
        axes = "an axis"
        if ndim != 1:
            axes = f"{ndim} axes"
        raise ValueError(f"{cls}: {name} must have {axes} at least, found shape {tensor.shape}")
    return tensor


def wants_derivative(x: Tensor) -> bool:
    """Return whether derivatives by a tensor may be asked for."""
    return x.is_tracer or (x.requires_grad and autograd.is_grad_enabled())


def slogdet_of_diagonal(values: Tensor) -> Any:
    """Return what `slogdet` gives for matrices whose eigenvalues are given; a decline where some are singular."""
    values = floating(values)
    array = array_of(values)
    if array is not None and array.ndim == 1 and array.dtype.char in "fd":
        array = np.ascontiguousarray(array)  # a diagonal lies far apart in memory, and is read several times
    if array is not None and array.ndim == 1 and array.dtype.char in "fd" and is_nonzero_array(array):
        logarithm = np.log(np.abs(array)).sum()
        negative = np.count_nonzero(array < 0) % 2
        if np.isfinite(logarithm):
            parts = (np.array(1 - 2 * negative, array.dtype), np.asarray(logarithm))
            return linalg.SlogdetResult(*[wrap_array(Tensor, part) for part in parts])
    sizes = ops.abs(values)
    if holds(sizes != 0, traced=True):
        if holds(~ops.isinf(sizes), traced=True):
            signs = values / sizes
        else:
            signs = ops.sign(values)
        return linalg.SlogdetResult(ops.prod(signs, axis=-1), ops.sum(ops.log(sizes), axis=-1))
    if not holds(ops.any(sizes == 0, axis=-1)):
        return decline("some matrices of the batch are singular")
    if wants_derivative(values):
        return decline(SINGULAR)
    return linalg.SlogdetResult(ops.prod(values * 0, axis=-1), ops.sum(sizes * 0, axis=-1) - float("inf"))


def det_by_logarithm(slogdet: Callable[..., Any], x: StructuredTensor, /) -> Any:
    """Return the determinants of which a rule gives the logarithms; a decline where it declines."""
    result = slogdet(x)
    if result is NotImplemented:
        return result
    if wants_derivative(result.logabsdet) and not holds(~ops.isinf(result.logabsdet), traced=True):
        return decline(SINGULAR)
    return result.sign * ops.exp(result.logabsdet)


def subtract_structured(x1: Any, x2: Any, /) -> Any:
    """Return the difference of two operands as the sum of one and the negative of the other, in one dtype."""
    dtype = np.result_type(x1.dtype, x2.dtype)
    if dtype == np.bool_:
        return decline("booleans have no negative")
    x1, x2 = with_dtype(x1, dtype), with_dtype(x2, dtype)
    if x1 is NotImplemented or x2 is NotImplemented:
        return NotImplemented
    negative = -x2
    if isinstance(x2, StructuredTensor) and not isinstance(negative, StructuredTensor):
        return decline("its negative has no structure")
    if isinstance(x1, Tensor):
        return add_structured_to_tensor(x1, negative)
    if isinstance(x2, Tensor):
        return add_structured_to_tensor(negative, x1)
    return ops.add(x1, negative)


for _pair in ((StructuredTensor, StructuredTensor), (Tensor, StructuredTensor), (StructuredTensor, Tensor)):
    enter(ops.subtract, *_pair)(subtract_structured)


@implements_each((ops.negative, ops.positive), StructuredTensor)
def sign_structured(function: Any, x: StructuredTensor, /) -> Any:
    return x.map_linear(function)


@implements(ops.multiply, commutative=True)
def multiply_structured(x1: StructuredTensor, x2: Number | Tensor, /) -> Any:
    if not all_finite(x2):
        return decline("zeros do not stay zero")
    if getattr(x2, "ndim", 0):
        factor = _restrict(x1, x2)
        if factor is NotImplemented:
            return factor
        return x1 * factor
    matrix = with_dtype(x1, np.result_type(x1.dtype, getattr(x2, "dtype", x2)))
    if matrix is NotImplemented:
        return matrix
    return matrix.map_linear(lambda elements: elements * x2)


@implements(ops.divide)
def divide_structured(x1: StructuredTensor, x2: Number | Tensor, /) -> Any:
    length: Any = abs(x2)
    if not holds(length > 0, traced=True):
        return decline("zeros do not stay zero")
    if getattr(x2, "ndim", 0):
        divisor = _restrict(x1, x2)
        if divisor is NotImplemented:
            return divisor
        return (x1 * divisor.map_elements(ops.ones_like)).zip_elements(divisor, ops.divide)
    matrix = with_dtype(x1, (ops.zeros((), dtype=x1.dtype) / x2).dtype)
    if matrix is NotImplemented:
        return matrix
    return matrix.map_linear(lambda elements: elements / x2)


@implements(ops.divide)
def divide_by_structured(x1: Tensor, x2: StructuredTensor, /) -> NotImplementedType:
    return decline("zeros are divided by")  # typeshed has no type for it


def _restrict(x: StructuredTensor, other: Any) -> Any:
    """Return the elements of another operand in the places where a structure has its own."""
    shape = np.broadcast_shapes(x.shape, other.shape)
    if shape[-2:] != x.shape[-2:]:
        return decline(f"a tensor of shape {other.shape} broadcasts it")
    return x.restricted(ops.broadcast_to(other, (*other.shape[:-2], *shape[-2:])))


@implements(ops.add, commutative=True)
def add_structured_to_tensor(x1: Tensor, x2: StructuredTensor, /) -> Any:
    if x1.shape[-2:] != x2.shape[-2:]:
        return decline(f"a tensor of shape {x1.shape} broadcasts")
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    x1 = ops.broadcast_to(promote(x1, x2.dtype), (*batch, *x2.shape[-2:]))
    x2 = with_dtype(x2, x1.dtype)
    if x2 is NotImplemented:
        return x2
    return x2.added_to(x1)


ZERO_PRESERVING_PAIRS = (
    *(ops.add, ops.subtract, ops.multiply, ops.less, ops.greater, ops.not_equal),
    *(ops.logical_and, ops.logical_or, ops.logical_xor, ops.bitwise_and, ops.bitwise_or, ops.bitwise_xor),
)


@implements_each((*ZERO_PRESERVING, ops.cbrt, ops.relu, special.erf, ops.isnan, ops.isinf), StructuredTensor)
def map_structured(function: Any, x: StructuredTensor, /) -> Any:
    return x.map_elements(function)


@implements(ops.pow)
def pow_structured(x1: StructuredTensor, x2: Number, /) -> Any:
    if isinstance(x2, complex) or not x2 > 0:
        return decline("zeros do not stay zero")
    return x1.map_elements(lambda elements: elements**x2)


def implement_pairs(cls: type[StructuredTensor], field: str | None = None) -> None:
    """Register the elementwise functions of two matrices of a structure that defines `zip_elements`.

    Parameters
    ----------
    cls : the structure
    field : its field, if it has one alone, and this is a tensor
    """
    for function in ZERO_PRESERVING_PAIRS:
        if field is not None and function in PAIRS:
            implement_pair_on_arrays(function, cls, field, bind_rule(function, zip_pair))
        else:
            enter(function, cls, cls)(bind_rule(function, zip_pair))


def zip_pair(function: Any, x1: StructuredTensor, x2: StructuredTensor, /) -> Any:
    """Return an elementwise function of two matrices of one structure."""
    if not (x1.fits(x2) or same_size(function.__name__, x1, x2)):
        return decline("a matrix with an axis of length 1 broadcasts over all elements")
    return x1.zip_elements(x2, function)

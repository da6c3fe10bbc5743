"""`KroneckerTensor`: a Kronecker product of matrices, and its sum with a multiple of the identity."""

from __future__ import annotations

import cmath
import itertools
import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from dispatchkit import linalg, ops
from dispatchkit.declare.wrapping import holds, wrap_array
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.conversion import dense_form
from dispatchkit.tensor.printing import cut, summarised
from dispatchkit.types.rules import (
    ORDER_MATTERS,
    all_finite,
    array_of,
    axes_of,
    implements,
    implements_each,
    is_finite_array,
    plain_arrays,
)
from dispatchkit.types.structured.base import NO_MATRIX, StructuredTensor, in_one_dtype, product_of_elements
from dispatchkit.types.structured.permutation import in_order


@tensor_protocol.array_type(fields=("factors",))
class KroneckerTensor(StructuredTensor):
    """The Kronecker product of matrices: ``factors[0]`` with each element replaced by it times the product of the rest.

    Parameters
    ----------
    *factors : one or more matrices of shape (..., M_i, N_i): tensors, or structured matrices

    Raises
    ------
    ValueError : if there is no factor, or one has less than two axes

    Notes
    -----
    A product with a vector takes the products of the factors with the vector's elements as a grid, one axis after
    the other: O(n Σ m_i) for square factors of m_i rows and n = Π m_i, less where the factors are structured. Systems,
    inverses, determinants, decompositions, norms and traces are made from those of the factors. Singular vectors that
    belong to no singular value, or to one that is 0 because some factor is tall and another wide, have no gradient;
    without `full_matrices`, such a product of a tall and a wide factor becomes dense. Sources: C. F. Van
    Loan, The ubiquitous Kronecker product, J. Comput. Appl. Math. 123 (2000) 85-100; for the sum with s·I: A. G. Wilson
    et al., Fast kernel learning for multidimensional pattern extrapolation, NIPS 2014.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> a, b = dk.asarray([[2.0, 1.0], [1.0, 2.0]]), dk.asarray([[1.0, 0.0], [0.0, 3.0]])
    >>> k = dk.types.KroneckerTensor(a, b)
    >>> k @ dk.ones(4), dk.linalg.trace(k)
    (tensor([3., 9., 3., 9.]), tensor(16.))
    >>> dk.linalg.solve(k + dk.types.ScalarTensor(4, 1.0), dk.ones(4))
    tensor([0.2500, 0.1000, 0.2500, 0.1000])
    """

    def __init__(self, *factors: Any) -> None:
        taken = tensor_protocol.types.participates
        self.factors: tuple[Any, ...] = tuple(f if taken(type(f)) else ops.asarray(f) for f in factors)
        if not factors or any(len(f.shape) < 2 for f in self.factors):
            raise ValueError(
                f"KroneckerTensor: each of one or more factors must have shape (..., M, N), found "
                f"{[f.shape for f in self.factors]}"
            )
        self.factors = in_one_dtype(self.factors, multiplied=True)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes: (..., Π M_i, Π N_i)."""
        batch = np.broadcast_shapes(*(f.shape[:-2] for f in self.factors))
        rows = math.prod(f.shape[-2] for f in self.factors)
        columns = math.prod(f.shape[-1] for f in self.factors)
        return (*batch, rows, columns)

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return np.result_type(*(f.dtype for f in self.factors))

    def to_dense(self) -> Tensor:
        """Return the matrix as a plain tensor."""
        dense: Tensor = reduce(_kron, map(dense_form, self.factors))
        places = None
        if not all_finite(dense):
            places = self.places()
        if places is None:
            return dense
        return ops.where(places, dense, 0)

    def places(self) -> Tensor | None:
        """Return where the matrix has elements of its own, booleans of its shape; None for everywhere."""
        of_factors = [f.places() if isinstance(f, StructuredTensor) else None for f in self.factors]
        like = next((places for places in of_factors if places is not None), None)
        if like is None:
            return None
        everywhere = (ops.ones(f.shape[-2:], dtype=np.bool_).to(like=like) for f in self.factors)
        return reduce(_kron, (full if p is None else p for full, p in zip(everywhere, of_factors, strict=True)))

    def map_linear(self, function: Callable[[Any], Any]) -> KroneckerTensor:
        """Return the structure with a linear function, such as scaling, applied to the elements."""
        return KroneckerTensor(function(self.factors[0]), *self.factors[1:])

    def elements_at(self, rows: Tensor, columns: Tensor) -> Any:
        """Return the elements at indices, in range and of as many axes, which broadcast behind the batch."""
        elements: Any = 1
        indices = []
        for f in reversed(self.factors):
            indices.append((..., rows % f.shape[-2], columns % f.shape[-1]))
            elements = plain(f)[indices[-1]] * elements
            rows, columns = rows // f.shape[-2], columns // f.shape[-1]
        if all_finite(elements):
            return elements
        for f, index in zip(reversed(self.factors), indices, strict=True):
            places = None
            if isinstance(f, StructuredTensor):
                places = f.places()
            if places is not None:
                elements = ops.where(places[index], elements, 0)
        return elements

    def times(self, columns: Tensor) -> Any:
        """Return the product with a tensor of shape (..., N, K)."""
        if not is_finite(self, columns):
            return product_of_elements(self.to_dense(), self.places(), columns)
        return _one_by_one(self.factors, columns, ops.matmul)

    def solve_columns(self, columns: Tensor) -> Any:
        """Return the solution of the system with right-hand sides of shape (..., N, K)."""
        if not _square(self):
            return decline("some factor is not square")
        if not is_finite(self, columns):
            return decline(ORDER_MATTERS)
        return _one_by_one(self.factors, columns, linalg.solve)

    def times_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return the product with a vector."""
        factors = self._arrays()
        if factors is None or not _of_grid(factors, x, -1):
            return None
        return _on_grid(factors, x)

    def array_times(self, x: np.ndarray) -> np.ndarray | None:
        """Return the product of a vector with the matrix."""
        factors = self._arrays()
        if factors is None or not _of_grid(factors, x, -2):
            return None
        return _on_grid([factor.T for factor in factors], x)

    def solve_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return the solution for a vector, by the systems of the factors."""
        factors = self._arrays()
        if factors is None or not _of_grid(factors, x, -1) or any(f.shape[0] != f.shape[1] for f in factors):
            return None
        if x.dtype.char not in "fdFD" or not all(map(is_finite_array, (x, *factors))):
            return None
        try:
            for factor in factors:
                rows = x.reshape(factor.shape[0], -1)
                x = np.linalg.solve(factor, rows).T
        except np.linalg.LinAlgError:
            return None
        return x.reshape(-1)

    def _arrays(self) -> list[np.ndarray] | None:
        """Return the factors as arrays that nothing differentiates; None where some are none, or have batches."""
        arrays = plain_arrays(*self.factors)
        if arrays is None:
            return None
        for array in arrays:  # of two a generator takes as long as their product
            if array.ndim != 2:
                return None
        return arrays

    @summarised
    def __repr__(self) -> str:
        return f"KroneckerTensor({cut(self.factors)})"


def _of_grid(factors: list[np.ndarray], x: np.ndarray, axis: int) -> bool:
    """Return whether a vector has a grid of elements, with the lengths of an axis of the factors, and their dtype."""
    count = 1
    for factor in factors:
        count *= factor.shape[axis]
    return x.ndim == 1 and x.size == count > 0 and x.dtype == factors[0].dtype and x.dtype.kind in "fc"


def _on_grid(factors: list[np.ndarray], x: np.ndarray) -> np.ndarray | None:
    """Return a vector, as a grid, with each axis multiplied by a factor; None where the result is not finite.

    Zeros of a structure are not multiplied by inf or nan, and whether there are any the finite result shows.
    """
    left = 1
    for factor in factors:
        rows, length = factor.shape
        right = x.size // (left * length)
        if right == 1:
            x = x.reshape(left, length) @ factor.T
        elif left == 1:
            x = factor @ x.reshape(length, right)
        else:
            x = factor @ x.reshape(left, length, right)
        left *= rows
    if is_finite_array(x):
        return x.reshape(-1)
    return None


def _kron(x1: Tensor, x2: Tensor) -> Any:
    """Return the Kronecker product of the last two axes."""
    product = x1[..., :, None, :, None] * x2[..., None, :, None, :]
    rows, columns = x1.shape[-2] * x2.shape[-2], x1.shape[-1] * x2.shape[-1]
    return ops.reshape(product, (*product.shape[:-4], rows, columns))


def plain(factor: Any) -> Any:
    """Return a factor as a tensor: its elements are few compared with those of the product."""
    if not isinstance(factor, StructuredTensor):
        dense: Tensor = dense_form(factor)
        return dense
    rows, columns = factor.shape[-2:]
    places = [ops.arange(length, device=factor.device) for length in (rows, columns)]
    elements = factor.elements_at(places[0][:, None], places[1])
    if elements is NotImplemented:
        elements = ops.matmul(factor, ops.eye(columns, dtype=factor.dtype, device=factor.device))
    return elements


def _one_by_one(factors: tuple[Any, ...], columns: Tensor, function: Callable[[Any, Tensor], Tensor]) -> Tensor:
    """Return columns with ``function(factor, ·)`` applied along each axis of the grid that their elements make."""
    rows = math.prod(f.shape[-2] for f in factors)
    count = columns.shape[-1]
    if not rows or not columns.size:
        batch = np.broadcast_shapes(columns.shape[:-2], *(f.shape[:-2] for f in factors))
        return ops.zeros((*batch, rows, count), dtype=columns.dtype)
    x = columns
    # The axis of the factor goes in front, and out of the way to the end: after all of them those of K come first.
    for f in factors:
        x = ops.reshape(x, (*x.shape[:-2], f.shape[-1], x.shape[-1] * x.shape[-2] // f.shape[-1]))
        x = ops.matrix_transpose(function(f, x))
    return ops.matrix_transpose(ops.reshape(x, (*x.shape[:-2], count, rows)))


def products_of(parts: list[Tensor]) -> Tensor:
    """Return the products of elements of vectors, one from each, in the order of the Kronecker product."""
    return reduce(_kron, (part[..., None] for part in parts))[..., 0]


def is_finite(x: KroneckerTensor, *others: Any) -> bool:
    """Return whether all elements of the factors, and of other tensors, are finite."""
    return all_finite(*_tensors((x, others)))


def _tensors(value: Any) -> list[Tensor]:
    """Return the tensors that arrays, structures and tuples of them hold: less than the elements of a structure."""
    if isinstance(value, Tensor):
        return [value]
    if hasattr(value, "elements"):  # of triangles and bands, whose fields hold numbers that are not read, too
        return [value.elements]
    if isinstance(value, StructuredTensor):
        value = tuple(getattr(value, name) for name in tensor_protocol.types.fields_of(value))
    if isinstance(value, tuple):
        return [tensor for part in value for tensor in _tensors(part)]
    return []


def _square(x: KroneckerTensor) -> bool:
    return all(f.shape[-1] == f.shape[-2] for f in x.factors)


def _alike(x1: KroneckerTensor, x2: KroneckerTensor, inner: bool = False) -> bool:
    """Return whether the factors of two products pair up: of the same sizes, or of fitting inner ones."""
    if len(x1.factors) != len(x2.factors):
        return False
    pairs = zip(x1.factors, x2.factors, strict=True)
    return all(a.shape[-1] == b.shape[-2] if inner else a.shape[-2:] == b.shape[-2:] for a, b in pairs)


@implements_each((ops.abs, ops.conj, ops.matrix_transpose), KroneckerTensor)
def each_factor(function: Callable[..., Any], *products: KroneckerTensor) -> KroneckerTensor:
    """Return the product of what a function gives for each factor."""
    factors = zip(*[x.factors for x in products], strict=True)
    return KroneckerTensor(*itertools.starmap(function, factors))


# Arithmetic.


@implements(ops.add)
def add_kroneckers(x1: KroneckerTensor, x2: KroneckerTensor, /) -> Any:
    if not _alike(x1, x2) or not is_finite(x1) or not is_finite(x2):
        return decline("the factors have other sizes, or inf or nan")
    # Equal factors that are two objects may have two gradients.
    differ = [i for i, (a, b) in enumerate(zip(x1.factors, x2.factors, strict=True)) if a is not b]
    if len(differ) > 1:
        return decline("more than one factor differs")
    at = 0
    if differ:
        at = differ[0]
    return KroneckerTensor(*x1.factors[:at], x1.factors[at] + x2.factors[at], *x1.factors[at + 1 :])


@implements(ops.multiply)
def multiply_kroneckers(x1: KroneckerTensor, x2: KroneckerTensor, /) -> Any:
    if not _alike(x1, x2) or not is_finite(x1) or not is_finite(x2):
        return decline("the factors have other sizes, or inf or nan")
    return each_factor(ops.multiply, x1, x2)


@implements(ops.matmul)
def matmul_kroneckers(x1: KroneckerTensor, x2: KroneckerTensor, /) -> Any:
    if not _alike(x1, x2, inner=True) or not is_finite(x1) or not is_finite(x2):
        return decline("the factors do not fit one by one, or have inf or nan")
    return each_factor(ops.matmul, x1, x2)


@implements_each((ops.sum, ops.mean), KroneckerTensor)
def reduce_kronecker(function: Any, x: KroneckerTensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    axes = tuple(axes_of(function.__name__, x, axis))
    if any(len(f.shape) > 2 for f in x.factors) or not is_finite(x):
        return decline("sums of a batch, or with inf or nan")
    result = reduce(_kron, (plain(function(f, axis=axes, keepdims=True)) for f in x.factors))
    if keepdims:
        return result
    return ops.squeeze(result, axis=axes)


# Linear algebra.


@implements(linalg.diagonal)
def diagonal_kronecker(x: KroneckerTensor, /, *, offset: int = 0) -> Any:
    if offset or not _square(x) or not is_finite(x):
        return decline("only the main diagonal is that of the factors")
    return products_of([linalg.diagonal(f) for f in x.factors])


def _floats_of(factor: Any) -> np.ndarray | None:
    """Return the array of a factor that is a square matrix of floating-point numbers; None for any other."""
    array = array_of(factor)
    if array is None or array.ndim != 2 or array.dtype.kind not in "fc":
        return None
    rows, columns = array.shape
    if rows != columns:
        return None
    return array


def _product_of_traces(factors: Sequence[Any]) -> Any:
    """Return the product of the traces of plain factors as a number; None where one is none, or it is not finite."""
    product: Any = 1
    for factor in factors:
        array = _floats_of(factor)
        if array is None:
            return None
        product = array.trace() * product
    if not cmath.isfinite(product):
        return None
    return product


@implements(linalg.trace)
def trace_kronecker(x: KroneckerTensor, /, *, offset: int = 0, dtype: Any = None) -> Any:
    if not offset and dtype is None:
        product = _product_of_traces(x.factors)
        if product is not None:
            return wrap_array(Tensor, np.asarray(product))
    if offset or dtype is not None or not _square(x):
        return decline("only the main diagonal is that of the factors")
    trace = math.prod(linalg.trace(f) for f in x.factors)
    if all_finite(trace):
        return trace
    return decline(ORDER_MATTERS)


@implements(linalg.inv)
def inv_kronecker(x: KroneckerTensor, /) -> Any:
    if 0 in x.shape:
        return decline(NO_MATRIX)
    if _square(x) and is_finite(x):
        return each_factor(linalg.inv, x)
    return decline("some factor is not square or finite")


@implements(linalg.slogdet)
def slogdet_kronecker(x: KroneckerTensor, /) -> Any:
    arrays = [array for array in map(_floats_of, x.factors) if array is not None and array.dtype.char in "fd"]
    if len(arrays) == len(x.factors) and all(array.size and is_finite_array(array) for array in arrays):
        return _slogdet_of_arrays(arrays)
    if not _square(x) or not is_finite(x) or not x.shape[-1]:
        return decline("some factor is not square or finite")
    results = [linalg.slogdet(f) for f in x.factors]
    powers = [x.shape[-1] // f.shape[-1] for f in x.factors]
    sign = math.prod(f.sign**power for f, power in zip(results, powers, strict=True))
    return linalg.SlogdetResult(sign, sum(f.logabsdet * power for f, power in zip(results, powers, strict=True)))


def _slogdet_of_arrays(factors: list[np.ndarray]) -> Any:
    """Return what `slogdet` gives for square factors of real numbers."""
    rows = math.prod([len(factor) for factor in factors])
    sign, logarithm = 1.0, 0.0
    for factor in factors:
        sign_of_factor, logarithm_of_factor = map(float, np.linalg.slogdet(factor))
        power = rows // len(factor)
        sign *= sign_of_factor**power
        logarithm += logarithm_of_factor * power
    dtype = factors[0].dtype
    return linalg.SlogdetResult(*[wrap_array(Tensor, np.array(part, dtype)) for part in (sign, logarithm)])


@implements(linalg.det)
def det_kronecker(x: KroneckerTensor, /) -> Any:
    if not _square(x) or not is_finite(x) or not x.shape[-1]:
        return decline("some factor is not square or finite")
    return math.prod(linalg.det(f) ** (x.shape[-1] // f.shape[-1]) for f in x.factors)


@implements(linalg.cholesky)
def cholesky_kronecker(x: KroneckerTensor, /, *, upper: bool = False) -> Any:
    if 0 in x.shape[:-2]:
        return decline(NO_MATRIX)
    if not is_finite(x) or not x.shape[-1] or ops.isdtype(x.dtype, "complex floating") or not is_hermitian(x):
        return decline("some factor is not symmetric, real and finite")
    # The product of two negative definite factors is positive definite.
    signs = [ops.sign(linalg.diagonal(f)[..., 0]) for f in x.factors]
    first, *rest = (f * s if f.ndim == 2 else f * s[..., None, None] for f, s in zip(x.factors, signs, strict=True))
    overall = math.prod(signs)
    if first.ndim == 2 and overall.ndim == 0:
        first = first * overall
    else:
        first = first * overall[..., None, None]
    return KroneckerTensor(*(linalg.cholesky(f, upper=upper) for f in (first, *rest)))


def is_hermitian(x: KroneckerTensor) -> bool:
    """Return whether every factor equals its conjugate transpose."""
    parts = []
    if _square(x):
        parts = [plain(f) for f in x.factors]
    return bool(parts) and all(holds(ops.conj(ops.matrix_transpose(f)) == f, traced=True) for f in parts)


@implements(linalg.eigvalsh)
def eigvalsh_kronecker(x: KroneckerTensor, /) -> Any:
    if not is_hermitian(x) or not is_finite(x):
        return decline("some factor is not Hermitian and finite")
    return ops.sort(products_of([linalg.eigvalsh(plain(f)) for f in x.factors]), axis=-1)


@implements(linalg.eigh)
def eigh_kronecker(x: KroneckerTensor, /) -> Any:
    if not is_hermitian(x) or not is_finite(x) or not x.shape[-1]:
        return decline("some factor is not Hermitian and finite")
    values, vectors = zip(*(linalg.eigh(plain(f)) for f in x.factors), strict=True)
    ordered, moved = in_order(products_of(list(values)), x.dtype)
    return linalg.EighResult(ordered, KroneckerTensor(*vectors) @ moved)


@implements(linalg.svd)
def svd_kronecker(x: KroneckerTensor, /, *, full_matrices: bool = True) -> Any:
    if full_matrices:
        has_products = _square(x)
    else:
        has_products = _one_sided(x)
    if not has_products or not is_finite(x) or 0 in x.shape[-2:]:
        return decline("some factor is not finite, or some singular vectors are no products of those of the factors")
    left, values, right = zip(*(linalg.svd(plain(f), full_matrices=False) for f in x.factors), strict=True)
    ordered, moved = in_order(products_of(list(values)), x.dtype, descending=True)
    return linalg.SVDResult(KroneckerTensor(*left) @ moved, ordered, moved.mT @ KroneckerTensor(*right))


@implements(linalg.svdvals)
def svdvals_kronecker(x: KroneckerTensor, /) -> Any:
    if not is_finite(x):
        return decline("some factor is not finite")
    products = products_of([linalg.svdvals(plain(f)) for f in x.factors])
    # Where some factor is tall and another wide, further ones are 0.
    ends = *((0, 0) for _ in products.shape[:-1]), (0, min(x.shape[-2:]) - products.shape[-1])
    return ops.pad(ops.sort(products, axis=-1, descending=True), ends)


def _one_sided(x: KroneckerTensor) -> bool:
    """Return whether no factor is tall, or none is wide."""
    return len({f.shape[-2] > f.shape[-1] for f in x.factors if f.shape[-2] != f.shape[-1]}) < 2


@implements(linalg.matrix_norm)
def matrix_norm_kronecker(x: KroneckerTensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    if not is_finite(x) or (ord == -2 and not _one_sided(x)):
        return decline(
            "some factor is not finite, or the least singular value is not a product of those of the factors"
        )
    return math.prod(linalg.matrix_norm(f, keepdims=keepdims, ord=ord) for f in x.factors)

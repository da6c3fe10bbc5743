"""`SumTensor`, `ProductTensor`, `InverseTensor`: what `+`, `@` and `inv` give where no nearer structure holds."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dispatchkit import linalg, ops
from dispatchkit.declare.wrapping import holds
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.printing import cut, summarised
from dispatchkit.types.rules import all_finite, check_product, implements
from dispatchkit.types.structured.base import (
    NO_MATRIX,
    StructuredTensor,
    floating,
    in_one_dtype,
    product_of_elements,
    same_size,
    with_dtype,
)
from dispatchkit.types.structured.diagonal import ScalarTensor

WRAPPING = "sums and products of integers may wrap around"


@tensor_protocol.array_type(fields=("terms",))
class SumTensor(StructuredTensor):
    """The sum of structured matrices of one size, each kept as it is.

    Parameters
    ----------
    *terms : structured matrices whose shapes broadcast, but not in the last two axes

    Raises
    ------
    ValueError : if there is no term, or the matrices are not of one size

    Notes
    -----
    A product with a tensor is the sum of those with the terms. A term that is added joins one of its structure, so
    that a sum is as long as it has structures. What needs the sum as a whole, such as `solve`, has no rule. Source:
    the lazy sums of linear_operator and CoLA.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> d, p = dk.types.DiagonalTensor([1.0, 2.0]), dk.types.PermutationTensor([1, 0])
    >>> d + p + d
    SumTensor(DiagonalTensor([2., 4.]), PermutationTensor([1, 0]))
    """

    def __init__(self, *terms: StructuredTensor) -> None:
        if not terms or any(not same_size("SumTensor", terms[0], term) for term in terms[1:]):
            raise ValueError(f"SumTensor: the matrices must be of one size, found {[term.shape for term in terms]}")
        self.terms = in_one_dtype(terms)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes: those to which the terms broadcast."""
        return np.broadcast_shapes(*(term.shape for term in self.terms))

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return np.result_type(*(term.dtype for term in self.terms))

    def to_dense(self) -> Tensor:
        """Return the matrix as a plain tensor."""
        dense: Tensor = sum((term.to_dense() for term in self.terms[1:]), self.terms[0].to_dense())
        return dense

    def map_linear(self, function: Callable[[Any], Any]) -> Any:
        """Return the sum with a linear function applied to each term."""
        total = _sum_of([term.map_linear(function) for term in self.terms])
        if len(self.terms) > 1 and _widens(self, self.terms, total):
            return decline(WRAPPING)
        return total

    def in_dtype(self, dtype: Any) -> Any:
        """Return the sum of the terms in another dtype; integers, whose sums may wrap around, stay."""
        if len(self.terms) > 1 and self.dtype.kind in "biu":
            return decline(WRAPPING)
        return _sum_of([with_dtype(term, dtype) for term in self.terms])

    def map_batch(self, function: Callable[[Any], Any]) -> Any:
        """Return the sum with a function of the axes of the batch applied to each term."""
        if any(term.shape != self.shape for term in self.terms):
            return decline("a term broadcasts along the batch")
        return _sum_of([term.map_batch(function) for term in self.terms])

    def added_to(self, x: Tensor) -> Any:
        """Return a tensor with each term added."""
        for term in self.terms:
            x = x + term
        return x

    def elements_at(self, rows: Tensor, columns: Tensor) -> Any:
        """Return the sums of the terms' elements."""
        return _total([term.elements_at(rows, columns) for term in self.terms])

    def places(self) -> Tensor | None:
        """Return where some term has elements."""
        return _joined_places([term.places() for term in self.terms], ops.logical_or)

    def times(self, columns: Tensor) -> Any:
        """Return the sum of the products with the terms."""
        total = _total([ops.matmul(term, columns) for term in self.terms])
        if _exact(total, columns):
            return total
        return product_of_elements(self.to_dense(), self.places(), columns)

    def times_from_left(self, rows: Tensor) -> Any:
        """Return the sum of the products with the terms."""
        total = _total([ops.matmul(rows, term) for term in self.terms])
        if _exact(total, rows):
            return total
        return super().times_from_left(rows)

    def principal(self, start: int, stop: int) -> Any:
        """Return the sum of the terms' submatrices."""
        return _sum_of([term.principal(start, stop) for term in self.terms])

    @summarised
    def __repr__(self) -> str:
        return f"SumTensor({cut(self.terms)})"


def _sum_of(terms: Sequence[Any]) -> Any:
    """Return the sum of terms, a tensor where one of them is; a decline where one is a decline."""
    if len(terms) > 1 and all(isinstance(term, StructuredTensor) for term in terms):
        return SumTensor(*terms)
    return _total(terms)


def _widens(x: StructuredTensor, parts: Sequence[Any], result: Any) -> bool:
    """Return whether integers, whose sums and products may wrap around, meet another dtype.

    Parameters
    ----------
    x, parts : the matrix, and what it is made of: integers that stayed where the others have another dtype
    result : of a linear function of it
    """
    wider = x.dtype.kind in "biu" and result is not NotImplemented and result.dtype != x.dtype
    return wider or any(part.dtype != x.dtype for part in parts)


def _total(values: Sequence[Any]) -> Any:
    if any(value is NotImplemented for value in values):
        return NotImplemented
    return functools.reduce(ops.add, values)


def _joined_places(places: Sequence[Tensor | None], join: Callable[[Any, Any], Any]) -> Tensor | None:
    parts = [part for part in places if part is not None]
    if len(parts) == len(places):
        return functools.reduce(join, parts)
    return None


def _met(left: Tensor, right: Tensor) -> Any:
    """Return where a product has elements, from where the factors have them."""
    return ops.astype(left, np.float64) @ ops.astype(right, np.float64) > 0


def _exact(total: Any, x: Tensor) -> bool:
    """Return whether a sum of products with an array is that of the elements: of terms, infinities may cancel."""
    return total is NotImplemented or holds(~ops.isinf(x), traced=True) or holds(~ops.isnan(total), traced=True)


@tensor_protocol.converts(cost=100)
def sum_of_one(x: StructuredTensor) -> SumTensor:
    return SumTensor(x)


@implements(ops.add)
def add_sums(x1: SumTensor, x2: SumTensor, /) -> Any:
    if not same_size("add", x1.terms[0], x2.terms[0]):
        return decline("a matrix with an axis of length 1 broadcasts over all elements")
    dtype = np.result_type(x1.dtype, x2.dtype)
    x1, x2 = with_dtype(x1, dtype), with_dtype(x2, dtype)
    if x1 is NotImplemented or x2 is NotImplemented:
        return NotImplemented
    terms, others = _terms(x1), _terms(x2)
    if len(terms) == len(others) == 1:
        return SumTensor(*terms, *others)
    for term in others:
        for i, other in enumerate(terms):
            joined = other + term
            if not isinstance(joined, SumTensor):
                terms[i] = joined
                break
        else:
            terms.append(term)
    return _sum_of(terms)


def _terms(x: Any) -> list[Any]:
    if isinstance(x, SumTensor):
        return list(x.terms)
    return [x]


@implements(ops.matrix_transpose)
def matrix_transpose_sum(x: SumTensor, /) -> Any:
    return _sum_of([ops.matrix_transpose(term) for term in x.terms])


@tensor_protocol.array_type(fields=("factors",))
class ProductTensor(StructuredTensor):
    """The product of structured matrices, each kept as it is.

    Parameters
    ----------
    *factors : structured matrices, each of as many columns as the next one has rows

    Raises
    ------
    ValueError : if there is no factor, or they cannot be multiplied

    Notes
    -----
    A product with a tensor goes from factor to factor, from the side of the tensor, and so does a system if the
    factors are square. Neighbours whose product has a structure are joined: ``P @ D @ P.mT`` is diagonal for a
    permutation and a diagonal matrix. Source: the lazy products of linear_operator and CoLA.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> d, p = dk.types.DiagonalTensor([1.0, 2.0, 4.0]), dk.types.PermutationTensor([2, 0, 1])
    >>> p @ d
    ProductTensor(DiagonalTensor([4., 1., 2.]), PermutationTensor([2, 0, 1]))
    >>> p @ d @ p.mT, dk.linalg.det(p @ d)
    (DiagonalTensor([4., 1., 2.]), tensor(8.))
    """

    def __init__(self, *factors: StructuredTensor) -> None:
        if not factors:
            raise ValueError("ProductTensor: there must be a factor")
        for left, right in itertools.pairwise(factors):
            check_product(left.shape, right.shape)
        self.factors = in_one_dtype(factors)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        batch = np.broadcast_shapes(*(factor.shape[:-2] for factor in self.factors))
        return (*batch, self.factors[0].shape[-2], self.factors[-1].shape[-1])

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return np.result_type(*(factor.dtype for factor in self.factors))

    def to_dense(self) -> Tensor:
        """Return the matrix as a plain tensor."""
        last = self.factors[-1]
        dense: Tensor = last.to_dense()
        for i, factor in reversed([*enumerate(self.factors[:-1])]):
            product = ops.matmul(factor, dense)
            if not all_finite(product):
                rest = ProductTensor(*self.factors[i + 1 :])
                product = product_of_elements(factor.to_dense(), factor.places(), dense, rest.places())
            dense = product
        return dense

    def places(self) -> Tensor | None:
        """Return where some product of elements of the factors is."""
        return _joined_places([factor.places() for factor in self.factors], _met)

    def map_linear(self, function: Callable[[Any], Any]) -> Any:
        """Return the product with a linear function applied to the first factor."""
        first = self.factors[0].map_linear(function)
        if first is NotImplemented:
            return first
        if _widens(self, self.factors, first):
            return decline(WRAPPING)
        if first.dtype.kind in "biu":  # products of integers may wrap around
            return ProductTensor(*_factors(first), *self.factors[1:])
        return _product_of(_join(_factors(first), self.factors[1:]))

    def in_dtype(self, dtype: Any) -> Any:
        """Return the product with factors of another dtype; integers, whose products may wrap around, stay."""
        if self.dtype.kind in "biu":
            return decline(WRAPPING)
        factors = [with_dtype(factor, dtype) for factor in self.factors]
        if any(factor is NotImplemented for factor in factors):
            return NotImplemented
        return ProductTensor(*factors)

    def map_batch(self, function: Callable[[Any], Any]) -> Any:
        """Return the product with a function of the axes of the batch applied to each factor."""
        if any(factor.shape[:-2] != self.shape[:-2] for factor in self.factors):
            return decline("a factor broadcasts along the batch")
        factors = [factor.map_batch(function) for factor in self.factors]
        if any(factor is NotImplemented for factor in factors):
            return NotImplemented
        return ProductTensor(*factors)

    def times(self, columns: Tensor) -> Any:
        """Return the product with a tensor, from the last factor to the first."""
        for factor in reversed(self.factors):
            columns = ops.matmul(factor, columns)
        return columns

    def times_from_left(self, rows: Tensor) -> Any:
        """Return the product of a tensor with the matrix, from the first factor to the last."""
        for factor in self.factors:
            rows = ops.matmul(rows, factor)
        return rows

    def solve_columns(self, columns: Tensor) -> Any:
        """Return the solution, one factor after the other."""
        if reason := _against_factors(self):
            return decline(reason)
        for factor in self.factors:
            columns = linalg.solve(factor, columns)
        return columns

    @summarised
    def __repr__(self) -> str:
        return f"ProductTensor({cut(self.factors)})"


def _factors(x: Any) -> tuple[Any, ...]:
    if isinstance(x, ProductTensor):
        return x.factors
    return (x,)


def _product_of(factors: Sequence[Any]) -> Any:
    if len(factors) > 1 and all(isinstance(factor, StructuredTensor) for factor in factors):
        return ProductTensor(*factors)
    return functools.reduce(ops.matmul, factors)


def _against_factors(x: ProductTensor) -> str:
    """Return why an inverse or a determinant does not follow from those of the factors, "" where it does."""
    if any(factor.shape[-1] != factor.shape[-2] for factor in x.factors):
        return "a factor is not square"
    if x.dtype.kind in "biu":
        return WRAPPING
    return ""


def _join(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the factors of a product of two, in which neighbours are multiplied as far as that has a structure."""
    if not left or not right:
        return (*left, *right)
    middle = _factors(left[-1] @ right[0])
    if len(middle) == 2 and middle[0] is left[-1] and middle[1] is right[0]:
        return (*left, *right)
    return _join(_join(left[:-1], middle), right[1:])


@tensor_protocol.converts(cost=100)
def product_of_one(x: StructuredTensor) -> ProductTensor:
    return ProductTensor(x)


@implements(ops.matmul)
def matmul_products(x1: ProductTensor, x2: ProductTensor, /) -> Any:
    check_product(x1.shape, x2.shape)
    dtype = np.result_type(x1.dtype, x2.dtype)
    if dtype.kind in "biu":
        return decline(WRAPPING)
    x1, x2 = with_dtype(x1, dtype), with_dtype(x2, dtype)
    if x1 is NotImplemented or x2 is NotImplemented:
        return NotImplemented
    if len(x1.factors) == len(x2.factors) == 1:
        return ProductTensor(*x1.factors, *x2.factors)
    return _product_of(_join(x1.factors, x2.factors))


@implements(ops.matrix_transpose)
def matrix_transpose_product(x: ProductTensor, /) -> Any:
    return _product_of([ops.matrix_transpose(factor) for factor in reversed(x.factors)])


@implements(linalg.inv)
def inv_product(x: ProductTensor, /) -> Any:
    if 0 in x.shape[:-2]:
        return decline(NO_MATRIX)
    if reason := _against_factors(x):
        return decline(reason)
    return _product_of([linalg.inv(factor) for factor in reversed(x.factors)])


@implements(linalg.det)
def det_product(x: ProductTensor, /) -> Any:
    if reason := _against_factors(x):
        return decline(reason)
    return math.prod((linalg.det(factor) for factor in x.factors[1:]), start=linalg.det(x.factors[0]))


@implements(linalg.slogdet)
def slogdet_product(x: ProductTensor, /) -> Any:
    if reason := _against_factors(x):
        return decline(reason)
    signs, logarithms = zip(*(linalg.slogdet(factor) for factor in x.factors), strict=True)
    return linalg.SlogdetResult(math.prod(signs[1:], start=signs[0]), sum(logarithms[1:], logarithms[0]))


@tensor_protocol.array_type(fields=("matrix",))
class InverseTensor(StructuredTensor):
    """The inverse of a structured matrix, kept as that matrix: a product with it solves a system.

    Parameters
    ----------
    matrix : structured matrix with square matrices; whether one is singular shows when a system is solved

    Raises
    ------
    ValueError : if the matrix is not square

    Examples
    --------
    >>> import dispatchkit as dk
    >>> p = dk.types.PermutationTensor([1, 2, 0])
    >>> inverse = dk.types.InverseTensor(p)
    >>> inverse @ dk.asarray([5.0, 6.0, 7.0]), dk.linalg.inv(inverse)
    (tensor([7., 5., 6.]), PermutationTensor([1, 2, 0]))
    """

    def __init__(self, matrix: StructuredTensor) -> None:
        if matrix.shape[-1] != matrix.shape[-2]:
            raise ValueError(f"inv: the matrix must be square, found shape {matrix.shape}")
        self.matrix = matrix

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.matrix.shape

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return floating(ops.zeros((), dtype=self.matrix.dtype)).dtype

    def to_dense(self) -> Tensor:
        """Return the matrix as a plain tensor."""
        dense: Tensor = linalg.solve(self.matrix, ops.eye(self.shape[-1], dtype=self.dtype))
        return dense

    def map_linear(self, function: Callable[[Any], Any]) -> Any:
        """Return the product with a multiple of the identity."""
        multiple = function(ops.ones((), dtype=self.dtype))
        return ScalarTensor(self.shape[-1], multiple) @ self

    def in_dtype(self, dtype: Any) -> Any:
        """Return the inverse of the matrix in another dtype."""
        matrix = with_dtype(self.matrix, dtype)
        if matrix is NotImplemented:
            return matrix
        return InverseTensor(matrix)

    def times(self, columns: Tensor) -> Any:
        """Return the solution of a system."""
        return linalg.solve(self.matrix, columns)

    def solve_columns(self, columns: Tensor) -> Any:
        """Return the product with the matrix."""
        return ops.matmul(self.matrix, columns)

    @summarised
    def __repr__(self) -> str:
        return f"InverseTensor({self.matrix!r})"


def implement_lazy_inverse(cls: type[StructuredTensor]) -> None:
    """Register `inv` of a structure whose inverse has none, but whose systems can be solved."""
    implements(linalg.inv, cls)(InverseTensor)


@implements(ops.astype)
def astype_inverse(x: InverseTensor, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    if np.dtype(dtype) != np.float16:
        return decline("the matrix is cast")
    return ops.astype(x.to_dense(), dtype, copy=copy, device=device)  # no system is solved in half precision


@implements(linalg.inv)
def inv_inverse(x: InverseTensor, /) -> Any:
    return with_dtype(x.matrix, x.dtype)


@implements(linalg.det)
def det_inverse(x: InverseTensor, /) -> Any:
    return 1 / linalg.det(x.matrix)


@implements(linalg.slogdet)
def slogdet_inverse(x: InverseTensor, /) -> Any:
    sign, logarithm = linalg.slogdet(x.matrix)
    return linalg.SlogdetResult(ops.conj(sign), -logarithm)


@implements(ops.matrix_transpose)
def matrix_transpose_inverse(x: InverseTensor, /) -> Any:
    return InverseTensor(ops.matrix_transpose(x.matrix))

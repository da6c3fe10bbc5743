"""Forty more types with one fault each, which differ from those of `planted`."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

import dispatchkit as dk
from tests.testing.faults.correct import Diag

# Each type with the checks any of which may name its fault.
FURTHER: dict[type, tuple[str, ...]] = {}


def fault(*checks: str) -> Any:
    def enter(cls: type) -> type:
        FURTHER[cls] = checks
        return cls

    return enter


@fault("value", "keywords")
class TraceOffset(Diag):
    """trace ignores its offset."""


@dk.implements(dk.linalg.trace)
def trace_without_offset(x: TraceOffset, /, *, offset: int = 0) -> Any:
    return dk.sum(x.d)


@fault("shape", "keywords", "raises")
class DiagonalOffset(Diag):
    """diagonal of a negative offset is as long as the matrix."""


@dk.implements(dk.linalg.diagonal)
def diagonal_negative(x: DiagonalOffset, /, *, offset: int = 0) -> Any:
    return dk.clone(x.d) if offset == 0 else dk.zeros(x.n - max(offset, 0), dtype=x.dtype)


@fault("value", "shape", "keywords")
class TupleOfAxes(Diag):
    """sum over the axes (0, 1) is that over axis 0."""


@dk.implements(dk.sum)
def sum_first_axis(x: TupleOfAxes, /, *, axis: Any = None) -> Any:
    if axis is None:
        return dk.sum(x.d)
    axis = axis[0] if isinstance(axis, tuple) and axis else axis
    return dk.clone(x.d) if isinstance(axis, int) and x.dtype.kind == "f" else dk.decline("no axis")


@fault("value")
class MaxWithoutZeros(Diag):
    """max forgets the zeros."""


@dk.implements(dk.max)
def max_diagonal(x: MaxWithoutZeros, /) -> Any:
    return dk.max(x.d)


@fault("value")
class ProdOfDiagonal(Diag):
    """prod is that of the diagonal."""


@dk.implements(dk.prod)
def prod_diagonal(x: ProdOfDiagonal, /) -> Any:
    return dk.prod(x.d)


@fault("value")
class AllOfDiagonal(Diag):
    """all asks the diagonal alone."""


@dk.implements(dk.all)
def all_diagonal(x: AllOfDiagonal, /) -> Any:
    return dk.all(x.d)


@fault("value")
class QuotientOfDiagonals(Diag):
    """The quotient of two has zeros where it should have nan."""


@dk.implements(dk.divide)
def divide_diags(x1: QuotientOfDiagonals, x2: QuotientOfDiagonals, /) -> Any:
    return x1.like(x1.d / x2.d) if x1.n == x2.n else dk.decline("the sizes differ")


@fault("companions")
class DividedByZero(Diag):
    """Divided by zero the zeros stay zeros."""


@dk.implements(dk.divide)
def divide_by_number(x1: DividedByZero, x2: int | float, /) -> Any:
    if np.isnan(x2):
        return dk.decline("nan everywhere")
    return x1.like(x1.d / x2)


@fault("companions")
class PowerZero(Diag):
    """To the power of 0 the zeros stay zeros."""


@dk.implements(dk.pow)
def pow_number(x1: PowerZero, x2: int | float, /) -> Any:
    return x1.like(x1.d**x2) if x2 >= 0 and np.isfinite(x2) else dk.decline("zeros to negative powers")


@fault("companions")
class DropsBatch(Diag):
    """Times a batch of matrices it takes the first."""


@dk.implements(dk.multiply)
def multiply_batch(x1: DropsBatch, x2: dk.Tensor, /) -> Any:
    if x2.ndim != 3 or x2.shape[-2:] != x1.shape or not dk.holds(dk.isfinite(x2)):
        return dk.decline("batches alone")
    return x1.to_dense() * x2[0]


@fault("companions")
class DropsImaginary(Diag):
    """Times a complex number it takes the real part."""


@dk.implements(dk.multiply)
def multiply_complex(x1: DropsImaginary, x2: complex, /) -> Any:
    return x1.like(x1.d * x2.real) if np.isfinite(x2) else dk.decline("nan")


@fault("companions", "value")
class AddsToDiagonal(Diag):
    """A number is added to the diagonal alone."""


@dk.implements(dk.add)
def add_number(x1: AddsToDiagonal, x2: int | float, /) -> Any:
    return x1.like(x1.d + x2)


@fault("companions")
class BroadcastsDiagonals(Diag):
    """The difference of matrices of sizes 1 and n broadcasts their diagonals."""


@dk.implements(dk.subtract)
def subtract_broadcasting(x1: BroadcastsDiagonals, x2: BroadcastsDiagonals, /) -> Any:
    return x1.like(x1.d - x2.d) if 1 in (x1.n, x2.n) or x1.n == x2.n else dk.decline("the sizes differ")


@fault("companions")
class BatchFromRight(Diag):
    """matmul with a batch scales the columns."""


@dk.implements(dk.matmul)
def matmul_batch(x1: BatchFromRight, x2: dk.Tensor, /) -> Any:
    if x2.ndim != 3 or x2.shape[-2:] != x1.shape:
        return dk.decline("batches alone")
    return x1.d * x2


@fault("refusals")
class TakesAnySize(Diag):
    """matmul takes matrices that do not fit, where one of the sizes is 1."""


@dk.implements(dk.matmul)
def matmul_any_size(x1: TakesAnySize, x2: TakesAnySize, /) -> Any:
    return x1.like(x1.d * x2.d) if 1 in (x1.n, x2.n) or x1.n == x2.n else dk.decline("the sizes differ")


@fault("refusals")
class TakesAnyAxis(Diag):
    """sum takes any axis, modulo 2."""


@dk.implements(dk.sum)
def sum_any_axis(x: TakesAnyAxis, /, *, axis: Any = None) -> Any:
    if axis is None or isinstance(axis, tuple):
        return dk.decline("an axis alone")
    return dk.sum(x.d[None], axis=0)


@fault("refusals")
class TakesAnyIndex(Diag):
    """Single elements are looked up modulo the size."""


@dk.implements(dk.getitem)
def getitem_modulo(x: TakesAnyIndex, key: Any, /) -> Any:
    if not (isinstance(key, tuple) and len(key) == 2 and all(type(i) is int for i in key)) or not x.n:
        return dk.decline("single elements alone")
    i, j = (one % x.n for one in key)
    return x.d[i] if i == j else x.d[0] * 0


@fault("container")
class PlainTuple(Diag):
    """slogdet gives a plain tuple."""


@dk.implements(dk.linalg.slogdet)
def slogdet_tuple(x: PlainTuple, /) -> Any:
    if x.dtype.kind != "f" or not dk.holds(x.d != 0):
        return dk.decline("real, regular matrices alone")
    return dk.prod(dk.sign(x.d)), dk.sum(dk.log(dk.abs(x.d)))


@fault("container")
class ListOfRows(Diag):
    """unstack gives a list."""


@dk.implements(dk.unstack)
def unstack_list(x: ListOfRows, /) -> Any:
    return list(dk.unstack(x.to_dense()))


@fault("gradient")
class DetachedClone(Diag):
    """clone leaves the graph."""


@dk.implements(dk.clone)
def clone_detached(x: DetachedClone, /) -> Any:
    return x.like(dk.clone(x.d.detach()))


@fault("assignment")
class AssignsNowhere(Diag):
    """x[key] = value is done on a dense copy."""

    def __setitem__(self, key: Any, value: Any) -> None:
        self.to_dense()[key] = value


@fault("attributes")
class WrongNdim(Diag):
    """ndim is that of the diagonal."""

    @property
    def ndim(self) -> int:
        return 1


@fault("attributes")
class ShapeIsList(Diag):
    """shape is a list."""

    @property
    def shape(self) -> Any:
        return [self.n, self.n]


@fault("copy")
class CopiesAbsolute(Diag):
    """copy.copy gives an instance of the absolute values."""

    def __copy__(self) -> Any:
        return self.like(dk.abs(self.d))


@fault("companions")
class ReadsMemory(Diag):
    """matmul reads the memory of the other matrix in the order it lies there."""


@dk.implements(dk.matmul)
def matmul_memory(x1: ReadsMemory, x2: dk.Tensor, /) -> Any:
    if type(x2) is not dk.Tensor or type(x2.array) is not np.ndarray or x2.shape != x1.shape or x2.requires_grad:
        return dk.decline("plain matrices alone")
    return x1.d[:, None] * dk.asarray(x2.array.ravel(order="K").reshape(x2.shape))


@fault("dtype")
class SumOfSmall(Diag):
    """sum of 32-bit integers stays 32-bit, that of single precision becomes double."""


@dk.implements(dk.sum)
def sum_double(x: SumOfSmall, /) -> Any:
    return dk.sum(x.d, dtype=dk.float64) if x.dtype.kind == "f" else dk.decline("real numbers alone")


@fault("companions", "dtype")
class StrongNumbers(Diag):
    """Times a number everything becomes double precision."""


@dk.implements(dk.multiply)
def multiply_strong(x1: StrongNumbers, x2: float, /) -> Any:
    if not np.isfinite(x2) or x1.dtype.kind != "f":
        return dk.decline("finite numbers alone")
    return x1.like(x1.d * dk.asarray(float(x2)))


@fault("vmap")
class AsksValues(Diag):
    """square branches on values."""


@dk.implements(dk.square)
def square_branching(x: AsksValues, /) -> Any:
    if dk.all(x.d > 100):
        return x.like(dk.square(x.d) + 0)
    return x.like(dk.square(x.d))


class WrongForward(dk.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(d: Any) -> Any:
        return dk.tanh(d)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return g * dk.conj(1 - y * y)

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return 2 * t


@fault("forward")
class WrongTangent(Diag):
    """The tangent of tanh is wrong."""


@dk.implements(dk.tanh)
def tanh_wrong_tangent(x: WrongTangent, /) -> Any:
    return x.like(WrongForward.apply(x.d))


@fault("repr")
class NoStr(Diag):
    """str gives no text."""

    def __str__(self) -> Any:
        return self.d


@fault("asyncio", "repeat", "threads")
class LatestResult(Diag):
    """Results read their diagonal from a place that they share."""

    latest: ClassVar[Any] = None
    lazy = False

    def to_dense(self) -> dk.Tensor:
        return Diag(self.latest).to_dense() if self.lazy else super().to_dense()


@dk.implements(dk.abs)
def abs_latest(x: LatestResult, /) -> Any:
    LatestResult.latest = dk.abs(x.d)
    made = x.like(LatestResult.latest)
    made.lazy = True
    return made


@fault("inplace")
class WrongInPlace(Diag):
    """-= adds."""

    def __isub__(self, other: Any) -> Any:  # type: ignore[misc]
        return dk.add(self, other)


@fault("raises", "companions")
class NoNumPyScalars(Diag):
    """Times a NumPy scalar it raises."""


@dk.implements(dk.multiply)
def multiply_python(x1: NoNumPyScalars, x2: float, /) -> Any:
    if isinstance(x2, np.generic):
        raise TypeError("a number, please")
    return dk.decline("the general rule")


@fault("reflected")
class WrongReflected(Diag):
    """number - x is x - number."""

    def __rsub__(self, other: Any) -> Any:
        return dk.subtract(self, other)


@fault("methods")
class WrongMethod(Diag):
    """The method sum gives the trace of the absolute values."""

    def sum(self, *args: Any, **kwargs: Any) -> Any:
        return dk.sum(dk.abs(self.d))


@fault("attributes")
class WrongItem(Diag):
    """float() of a 1x1 matrix drops the sign."""

    def __float__(self) -> float:
        return abs(float(self.d[0]))


@fault("mutation", "companions")
class ChangesOther(Diag):
    """add writes its result into the other operand, a tensor."""


@dk.implements(dk.add)
def add_into(x1: ChangesOther, x2: dk.Tensor, /) -> Any:
    plain = type(x2) is dk.Tensor and type(x2.array) is np.ndarray and not x2.requires_grad
    if not plain or x2.shape != x1.shape or x2.dtype != x1.dtype or x1.d.requires_grad or x1.n < 2:
        return dk.decline("plain matrices alone")
    found = x1.to_dense() + x2
    x2.array[...] = np.asarray(found.array)
    return found


@fault("value", "keywords")
class IgnoresCorrection(Diag):
    """var takes correction and ignores it."""


@dk.implements(dk.var)
def var_population(x: IgnoresCorrection, /, *, correction: float = 0.0) -> Any:
    return dk.var(x.to_dense())


@fault("value")
class IgnoresNaN(Diag):
    """abs of nan is 0."""


@dk.implements(dk.abs)
def abs_without_nan(x: IgnoresNaN, /) -> Any:
    return x.like(dk.where(dk.isnan(x.d), dk.zeros_like(dk.abs(x.d)), dk.abs(x.d)))


@fault("alias")
class AstypeShares(Diag):
    """astype to its own dtype gives the instance itself, though a copy is asked for."""


@dk.implements(dk.astype)
def astype_shares(x: AstypeShares, dtype: Any, /, *, copy: bool = True) -> Any:
    return x if dtype == x.dtype else x.like(dk.astype(x.d, dtype))

"""Forty types with one fault each, all variations of `Diag`: those that an earlier review planted."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np

import dispatchkit as dk
from dispatchkit.errors import ReplacementWarning
from tests.testing.faults.correct import Diag

# Each type with the checks any of which may name its fault.
PLANTED: dict[type, tuple[str, ...]] = {}


def fault(*checks: str) -> Any:
    def enter(cls: type) -> type:
        PLANTED[cls] = checks
        return cls

    return enter


@fault("gradient")
class NumPyInside(Diag):
    """sqrt computes with NumPy, so no gradient flows."""


@dk.implements(dk.sqrt)
def sqrt_numpy(x: NumPyInside, /) -> Any:
    return x.like(np.sqrt(x.d.detach().numpy()))


class TwiceBackward(dk.autograd.Function):
    @staticmethod
    def forward(ctx: Any, d: Any) -> Any:
        ctx.save_for_backward(d)
        return dk.sin(d)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (d,) = ctx.saved_tensors
        return 2 * g * dk.conj(dk.cos(d))


@fault("gradient")
class WrongBackward(Diag):
    """sin is a Function whose backward is twice what it should be."""


@dk.implements(dk.sin)
def sin_wrong_backward(x: WrongBackward, /) -> Any:
    return x.like(TwiceBackward.apply(x.d))


@fault("gradient")
class FloatInside(Diag):
    """trace takes the sum out of the graph with float()."""


@dk.implements(dk.linalg.trace)
def trace_float(x: FloatInside, /, *, offset: int = 0) -> Any:
    return dk.asarray(float(dk.sum(x.d)), dtype=x.dtype) if offset == 0 and x.dtype.kind == "f" else dk.decline("zeros")


@fault("mutation")
class WritesArray(Diag):
    """negative writes into the memory of its argument."""


@dk.implements(dk.negative)
def negative_writes(x: WritesArray, /) -> Any:
    found = x.like(-x.d)
    if x.n and type(x.d) is dk.Tensor:
        x.d.array[...] = np.asarray(x.d.array) + 1
    return found


@fault("mutation")
class AddsInPlace(Diag):
    """add uses += on the field of its left argument."""


@dk.implements(dk.add)
def add_in_place(x1: AddsInPlace, x2: AddsInPlace, /) -> Any:
    if x1.n != x2.n or x1.dtype != x2.dtype:
        return dk.decline("the sizes differ")
    x1.d = x1.d + x2.d
    return x1.like(x1.d)


@fault("keywords", "shape")
class NoKeepdims(Diag):
    """sum takes keepdims and ignores it."""


@dk.implements(dk.sum)
def sum_without_keepdims(x: NoKeepdims, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return dk.sum(x.d) if axis is None else dk.decline("along an axis")


@fault("keywords", "shape", "value")
class NegativeAxis(Diag):
    """sum along axis -1 gives the sum of everything."""


@dk.implements(dk.sum)
def sum_negative_axis(x: NegativeAxis, /, *, axis: Any = None) -> Any:
    return dk.sum(x.d) if axis in (None, -1) else dk.decline("along an axis")


@fault("keywords", "dtype")
class NoDtype(Diag):
    """sum takes dtype and ignores it."""


@dk.implements(dk.sum)
def sum_without_dtype(x: NoDtype, /, *, axis: Any = None, dtype: Any = None) -> Any:
    return dk.sum(x.d) if axis is None else dk.decline("along an axis")


@fault("companions")
class WrongRsub(Diag):
    """subtract from a tensor subtracts the other way round."""


@dk.implements(dk.subtract)
def subtract_from_tensor(x1: dk.Tensor, x2: WrongRsub, /) -> Any:
    return dk.subtract(x2.to_dense(), x1)


@fault("companions")
class WrongLeft(Diag):
    """matmul of a tensor from the left scales rows in the place of columns."""


@dk.implements(dk.matmul)
def matmul_left_wrong(x1: dk.Tensor, x2: WrongLeft, /) -> Any:
    if x1.ndim != 2 or x1.shape != x2.shape:
        return dk.decline("no matrix of the size")
    return x2.d[:, None] * x1


@fault("value")
class Replaced(Diag):
    """A later rule replaced the right one for square."""


def _register_twice() -> list[Any]:
    def square_right(x: Any, /) -> Any:
        return x.like(dk.square(x.d))

    def square_wrong(x: Any, /) -> Any:
        return x.like(2 * x.d)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReplacementWarning)
        return [dk.implements(dk.square, Replaced)(rule) for rule in (square_right, square_wrong)]


_kept = _register_twice()


@fault("repeat", "gradient", "value")
class StaleCache(Diag):
    """abs keeps its results by shape."""

    cache: ClassVar[dict[Any, Any]] = {}


@dk.implements(dk.abs)
def abs_cached(x: StaleCache, /) -> Any:
    key = (x.shape, str(x.dtype))
    if key not in x.cache:
        x.cache[key] = dk.abs(x.d)
    return x.like(x.cache[key])


@fault("repr")
class NoRepr(Diag):
    """repr raises."""

    def __repr__(self) -> str:
        return f"NoRepr({self.dd})"  # type: ignore[attr-defined]


@fault("deepcopy")
class SharedCopy(Diag):
    """copy.deepcopy shares the memory."""

    def __deepcopy__(self, memo: Any) -> Any:
        return self.like(self.d)


@fault("operators")
class BoolEquality(Diag):
    """== gives one bool."""

    def __eq__(self, other: object) -> Any:
        return isinstance(other, Diag) and self.n == other.n

    __hash__ = object.__hash__


@fault("repeat", "asyncio")
class Noise(Diag):
    """tanh adds what a counter says."""

    count: ClassVar[int] = 0


@dk.implements(dk.tanh)
def tanh_noise(x: Noise, /) -> Any:
    Noise.count += 1
    return x.like(dk.tanh(x.d) * (1 + 1e-10 * Noise.count))


class GivesNumPy(dk.autograd.Function):
    @staticmethod
    def forward(ctx: Any, d: Any) -> Any:
        return np.tanh(d.numpy())

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


@fault("raises", "gradient", "value")
class FunctionGivesNumPy(Diag):
    """tanh is a Function that gives a NumPy array."""


@dk.implements(dk.tanh)
def tanh_numpy(x: FunctionGivesNumPy, /) -> Any:
    return x.like(GivesNumPy.apply(x.d))


@fault("foreign", "raises", "companions")
class TakesObjects(Diag):
    """A rule for add takes any object as the other operand."""


@dk.implements(dk.add)
def add_object(x1: TakesObjects, x2: object, /) -> Any:
    if isinstance(x2, (dk.Tensor, int, float, complex, np.generic)):
        return dk.decline("dense")
    if x1.n != x2.n:  # type: ignore[attr-defined]
        return dk.decline("the sizes differ")
    return x1.like(x1.d + x2.d)  # type: ignore[attr-defined]


@dk.array_type(fallback=dk.fallback.dense, fields=("d",))
class Coarse:
    """What `Lossy` is converted to: it has two digits."""

    def __init__(self, d: Any) -> None:
        self.d = d

    def to_dense(self) -> Any:
        return Diag(self.d).to_dense()


@dk.implements(dk.cos)
def cos_coarse(x: Coarse, /) -> Any:
    return dk.cos(x.to_dense())


@fault("value")
@dk.array_type(fallback=dk.fallback.convert | dk.fallback.dense)
class Lossy(Diag):
    """It is converted to a coarser type, which is not declared as lossy."""


@dk.converts()
def to_coarse(x: Lossy, /) -> Coarse:
    return Coarse(dk.round(x.d * 4) / 4)


@fault("dtype")
class LosesDtype(Diag):
    """sin gives double precision always."""


@dk.implements(dk.sin)
def sin_double(x: LosesDtype, /) -> Any:
    return x.like(dk.astype(dk.sin(x.d), dk.float64)) if x.dtype.kind == "f" else dk.decline("not of real numbers")


@fault("value", "shape", "raises")
class WrongForOne(Diag):
    """det of a 1x1 matrix is 1."""


@dk.implements(dk.linalg.det)
def det_one(x: WrongForOne, /) -> Any:
    return dk.prod(x.d) if x.n != 1 and x.dtype.kind == "f" else dk.decline("") if x.dtype.kind != "f" else x.d[0] ** 0


@fault("value")
class WrongConj(Diag):
    """conj gives its argument."""


@dk.implements(dk.conj)
def conj_wrong(x: WrongConj, /) -> Any:
    return x.like(+x.d)


@fault("pickle", "copy")
class RoundedPickle(Diag):
    """Pickling rounds."""

    def __reduce__(self) -> Any:
        return (type(self), (np.round(self.d.detach().numpy(), 1),))


@fault("threads")
class Scratch(Diag):
    """square goes by way of a buffer of the class."""

    scratch: ClassVar[Any] = None


@dk.implements(dk.square)
def square_scratch(x: Scratch, /) -> Any:
    Scratch.scratch = dk.square(x.d)
    return x.like(Scratch.scratch)


@fault("attributes")
class LyingDtype(Diag):
    """dtype says float64 always."""

    @property
    def dtype(self) -> Any:
        return dk.float64


@fault("raises")
class RaisesForEmpty(Diag):
    """sum of an empty matrix raises."""


@dk.implements(dk.sum)
def sum_from_first(x: RaisesForEmpty, /) -> Any:
    if x.dtype.kind != "f":
        return dk.decline("real numbers alone")
    total = x.d[0]
    for i in range(1, x.n):
        total = total + x.d[i]
    return total


class WrongSecond(dk.autograd.Function):
    @staticmethod
    def forward(ctx: Any, d: Any) -> Any:
        ctx.save_for_backward(d)
        return dk.sin(d)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (d,) = ctx.saved_tensors
        return g * dk.conj(dk.cos(d.detach()))


@fault("second")
class WrongSecondDerivative(Diag):
    """The derivative of sin is right, the second one is lost."""


@dk.implements(dk.sin)
def sin_wrong_second(x: WrongSecondDerivative, /) -> Any:
    return x.like(WrongSecond.apply(x.d))


@fault("dense")
class EndlessDense(Diag):
    """to_dense() calls an operation of the instance whose fallback is to_dense()."""

    def to_dense(self) -> dk.Tensor:
        made: dk.Tensor = dk.cos(self)
        return made


@fault("companions")
class TimesInfinity(Diag):
    """Times inf or nan the zeros stay zeros."""


@dk.implements(dk.multiply)
def multiply_by_any_number(x1: TimesInfinity, x2: int | float | complex | dk.Tensor, /) -> Any:
    return x1.like(x1.d * x2) if getattr(x2, "shape", ()) == () else dk.decline("numbers alone")


@fault("companions")
class ColumnAsRow(Diag):
    """Times a column it takes it for a row, of which only the diagonal's part counts."""


@dk.implements(dk.multiply)
def multiply_column(x1: ColumnAsRow, x2: dk.Tensor, /) -> Any:
    if x2.shape != (x1.n, 1) or not dk.holds(dk.isfinite(x2)):
        return dk.decline("columns alone")
    return (x1.d * x2).reshape((x1.n, x1.n)) if x1.n != 1 else dk.decline("")


@fault("value", "raises", "shape")
class NegativeIndex(Diag):
    """Single elements are looked up without regard to negative indices."""


@dk.implements(dk.getitem)
def getitem_positive(x: NegativeIndex, key: Any, /) -> Any:
    if not (isinstance(key, tuple) and len(key) == 2 and all(type(i) is int and -x.n <= i < x.n for i in key)):
        return dk.decline("single elements alone")
    return x.d[key[0]] if key[0] == key[1] else x.d[0] * 0


@fault("alias")
class SharedClone(Diag):
    """clone shares the memory."""


@dk.implements(dk.clone)
def clone_shares(x: SharedClone, /) -> Any:
    return x.like(x.d)


@fault("alias")
class HandsOutCache(Diag):
    """to_dense() keeps its result and hands it out again."""

    cache: Any = None

    def to_dense(self) -> dk.Tensor:
        if self.d.requires_grad or type(self.d) is not dk.Tensor or type(self.d.array) is not np.ndarray:
            return super().to_dense()
        if self.cache is None:
            self.cache = super().to_dense()
        made: dk.Tensor = self.cache
        return made


@fault("closed")
class Plain(Diag):
    """The sum of two is a plain tensor."""


@dk.implements(dk.add)
def add_plain(x1: Plain, x2: Plain, /) -> Any:
    return x1.to_dense() + x2.to_dense()


@fault("attributes")
class WrongSize(Diag):
    """size counts the diagonal."""

    @property
    def size(self) -> int:
        return self.d.size


@fault("repeat", "value")
class MemoById(Diag):
    """square keeps its results by id."""

    memo: ClassVar[dict[Any, Any]] = {}


@dk.implements(dk.square)
def square_memo(x: MemoById, /) -> Any:
    if type(x.d) is not dk.Tensor or x.d.requires_grad:
        return x.like(dk.square(x.d))
    key = (id(x), x.n, str(x.dtype))
    if key not in x.memo:
        x.memo[key] = dk.square(x.d)
    return x.like(x.memo[key])


@fault("attributes")
class Unhashable(Diag):
    """hash raises."""

    def __hash__(self) -> int:
        return hash(self.d.tolist())


@fault("attributes")
class WrongLength(Diag):
    """len counts the elements."""

    def __len__(self) -> int:
        return self.n * self.n


@fault("attributes")
class WrongIteration(Diag):
    """Iteration gives the diagonal."""

    def __iter__(self) -> Any:
        return iter(list(self.d))


@fault("attributes")
class WrongArray(Diag):
    """np.asarray gives the diagonal."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.d.detach().numpy(), dtype=dtype)

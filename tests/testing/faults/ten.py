"""Ten correct types of many sorts, each written as the pages say, with samples of each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import dispatchkit as dk


@dk.array_type(fallback=dk.fallback.dense)
class Constant(dk.ArrayMethods):
    """An array whose elements are all alike."""

    def __init__(self, value: Any, shape: tuple[int, ...]) -> None:
        self.value = dk.asarray(value)
        self.shape = tuple(shape)

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    def to_dense(self) -> Any:
        return dk.broadcast_to(self.value, self.shape) + dk.zeros(self.shape, dtype=self.dtype)


@dk.implements(dk.kinds.arithmetic)
def constant_arithmetic(op: Any, *args: Constant) -> Any:
    shape = np.broadcast_shapes(*(x.shape for x in args))
    return Constant(op(*(x.value for x in args)), shape)


@dk.implements(dk.sum)
def constant_sum(x: Constant, /) -> Any:
    if not dk.isdtype(x.dtype, "real floating"):
        return dk.decline("integers are summed in another dtype")
    if math.prod(x.shape) > 2:
        return dk.decline("rounded otherwise")
    return x.value * math.prod(x.shape) if math.prod(x.shape) else dk.zeros((), dtype=x.dtype)


@dk.implements(dk.max)
def constant_max(x: Constant, /) -> Any:
    return dk.clone(x.value) if math.prod(x.shape) else dk.decline("no elements")


@dk.array_type(fallback=dk.fallback.dense, fields=("d",))
class ExchangeDiagonal(dk.ArrayMethods):
    """A square matrix that is zero but for its antidiagonal."""

    def __init__(self, d: Any) -> None:
        self.d = dk.asarray(d)

    @property
    def shape(self) -> Any:
        return self.d.shape[0], self.d.shape[0]

    @property
    def dtype(self) -> Any:
        return self.d.dtype

    def to_dense(self) -> Any:
        n = self.d.shape[0]
        mask = dk.flip(dk.eye(n, dtype=dk.bool), axis=1)
        return dk.where(mask, self.d[:, None], dk.zeros((), dtype=self.dtype))


@dk.implements(dk.add)
def exchange_add(x1: ExchangeDiagonal, x2: ExchangeDiagonal, /) -> Any:
    return ExchangeDiagonal(x1.d + x2.d) if x1.shape == x2.shape else dk.decline("the sizes differ")


@dk.implements(dk.matrix_transpose)
def exchange_transpose(x: ExchangeDiagonal, /) -> Any:
    return ExchangeDiagonal(dk.flip(x.d, axis=0))


@dk.implements(dk.negative)
def exchange_negative(x: ExchangeDiagonal, /) -> Any:
    return ExchangeDiagonal(dk.negative(x.d)) if not dk.isdtype(x.dtype, "real floating") else dk.decline("-0")


@dk.implements(dk.matmul)
def exchange_vector(x1: ExchangeDiagonal, x2: dk.Tensor, /) -> Any:
    if x2.ndim != 1 or x2.shape[0] != x1.d.shape[0]:
        return dk.decline("no vector of as many elements")
    if not dk.holds(dk.all(dk.isfinite(x2))) or not dk.holds(dk.all(dk.isfinite(x1.d))):
        return dk.decline("zeros times what is not finite")
    return x1.d * dk.flip(x2, axis=0)


@dk.array_type(fallback=dk.fallback.dense)
class OneHot(dk.ArrayMethods):
    """Rows of zeros with a single one each, held as the place of the one."""

    def __init__(self, places: Any, width: int) -> None:
        self.places = dk.asarray(places, dtype=dk.int64)
        self.width = width

    @property
    def shape(self) -> Any:
        return self.places.shape[0], self.width

    @property
    def dtype(self) -> Any:
        return dk.float64

    def to_dense(self) -> Any:
        return dk.astype(self.places[:, None] == dk.arange(self.width), dk.float64)


@dk.implements(dk.argmax)
def one_hot_argmax(x: OneHot, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    if axis not in (1, -1) or keepdims:
        return dk.decline("only within rows")
    return dk.clone(x.places)


@dk.implements(dk.matmul)
def one_hot_matmul(x1: OneHot, x2: dk.Tensor, /) -> Any:
    if x2.ndim != 2 or x2.shape[0] != x1.width or x2.dtype != dk.float64:
        return dk.decline("no matrix of as many rows")
    if not dk.holds(dk.all(dk.isfinite(x2))):
        return dk.decline("zeros times what is not finite")
    return dk.take(x2, x1.places, axis=0)


@dk.implements(dk.sum)
def one_hot_sum(x: OneHot, /, *, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    if axis not in (1, -1) or keepdims or dtype is not None:
        return dk.decline("only within rows")
    return dk.ones(x.shape[0], dtype=dk.float64)


@dk.array_type(fallback=dk.fallback.dense)
class FixedPoint(dk.ArrayMethods):
    """Numbers of 8 binary digits behind the point, held as integers."""

    def __init__(self, raw: Any) -> None:
        self.raw = dk.asarray(raw, dtype=dk.int64)

    @property
    def shape(self) -> Any:
        return self.raw.shape

    @property
    def dtype(self) -> Any:
        return dk.float64

    def to_dense(self) -> Any:
        return dk.astype(self.raw, dk.float64) / 256


@dk.implements(dk.add)
def fixed_add(x1: FixedPoint, x2: FixedPoint, /) -> Any:
    return FixedPoint(x1.raw + x2.raw)


@dk.implements(dk.subtract)
def fixed_subtract(x1: FixedPoint, x2: FixedPoint, /) -> Any:
    return FixedPoint(x1.raw - x2.raw)


@dk.implements(dk.abs)
def fixed_abs(x: FixedPoint, /) -> Any:
    return FixedPoint(dk.abs(x.raw))


@dk.implements(dk.less)
def fixed_less(x1: FixedPoint, x2: FixedPoint, /) -> Any:
    return x1.raw < x2.raw


@dk.implements(dk.reshape)
def fixed_reshape(x: FixedPoint, /, shape: Any, *, copy: Any = None) -> Any:
    return FixedPoint(dk.reshape(x.raw, shape, copy=True))


@dk.array_type(fallback=dk.fallback.rewrap)
class Tagged(dk.ArrayMethods):
    """A tensor with a word that says where it comes from."""

    def __init__(self, data: Any, source: str = "") -> None:
        self.data = dk.asarray(data)
        self.source = source

    def to_dense(self) -> Any:
        return self.data


@dk.array_type(fallback=dk.fallback.dense, fields=("lower",))
class PackedSymmetric(dk.ArrayMethods):
    """A symmetric matrix, held as its lower triangle row by row."""

    def __init__(self, lower: Any) -> None:
        self.lower = dk.asarray(lower)

    @property
    def n(self) -> Any:
        return (math.isqrt(8 * self.lower.shape[0] + 1) - 1) // 2

    @property
    def shape(self) -> Any:
        return self.n, self.n

    @property
    def dtype(self) -> Any:
        return self.lower.dtype

    def to_dense(self) -> Any:
        i, j = np.indices((self.n, self.n))
        high, low = np.maximum(i, j), np.minimum(i, j)
        return self.lower[dk.asarray(high * (high + 1) // 2 + low)]


@dk.implements(dk.kinds.arithmetic)
def packed_arithmetic(op: Any, *args: PackedSymmetric) -> Any:
    if len({x.n for x in args}) > 1:
        return dk.decline("the sizes differ")
    return PackedSymmetric(op(*(x.lower for x in args)))


@dk.implements(dk.matrix_transpose)
def packed_transpose(x: PackedSymmetric, /) -> Any:
    return PackedSymmetric(dk.clone(x.lower))


@dk.implements(dk.linalg.trace)
def packed_trace(x: PackedSymmetric, /, *, offset: int = 0, dtype: Any = None) -> Any:
    if offset:
        return dk.decline("another diagonal")
    return dk.sum(x.lower[dk.asarray([i * (i + 3) // 2 for i in range(x.n)], dtype=dk.int64)], dtype=dtype)


@dk.array_type(fallback=dk.fallback.dense)
class Reversed(dk.ArrayMethods):
    """A vector that is read from its end."""

    def __init__(self, base: Any) -> None:
        self.base = dk.asarray(base)

    @property
    def shape(self) -> Any:
        return self.base.shape

    @property
    def dtype(self) -> Any:
        return self.base.dtype

    def to_dense(self) -> Any:
        return dk.flip(self.base, axis=0)


@dk.implements(dk.kinds.arithmetic)
def reversed_arithmetic(op: Any, *args: Reversed) -> Any:
    if len({x.shape for x in args}) > 1:
        return dk.decline("the sizes differ")
    return Reversed(op(*(x.base for x in args)))


@dk.implements(dk.max)
def reversed_max(x: Reversed, /) -> Any:
    return dk.max(x.base)


@dk.implements(dk.cumulative_sum)
def reversed_cumulative(x: Reversed, /) -> Any:
    return dk.cumulative_sum(dk.flip(x.base, axis=0)) if x.base.ndim == 1 else dk.decline("a vector")


@dk.array_type(fallback=dk.fallback.dense, tests=dk.TypeTests(relation=1e-6))
class Polar(dk.ArrayMethods):
    """Complex numbers as radius and angle."""

    def __init__(self, radius: Any, angle: Any) -> None:
        self.radius, self.angle = dk.asarray(radius, dtype=dk.float64), dk.asarray(angle, dtype=dk.float64)

    @property
    def shape(self) -> Any:
        return self.radius.shape

    @property
    def dtype(self) -> Any:
        return dk.complex128

    def to_dense(self) -> Any:
        return self.radius * dk.exp(1j * self.angle)


def finite(*tensors: Any) -> bool:
    return all(dk.holds(dk.all(dk.isfinite(x))) for x in tensors)


@dk.implements(dk.multiply)
def polar_multiply(x1: Polar, x2: Polar, /) -> Any:
    if x1.shape != x2.shape or not finite(x1.radius, x2.radius, x1.angle, x2.angle):
        return dk.decline("shapes or numbers")
    return Polar(x1.radius * x2.radius, x1.angle + x2.angle)


@dk.implements(dk.abs)
def polar_abs(x: Polar, /) -> Any:
    return dk.abs(x.radius) if finite(x.radius, x.angle) else dk.decline("not finite")


@dk.implements(dk.conj)
def polar_conj(x: Polar, /) -> Any:
    return Polar(dk.clone(x.radius), -x.angle) if finite(x.radius, x.angle) else dk.decline("not finite")


@dk.array_type(fallback=dk.fallback.dense)
class Blocks(dk.ArrayMethods):
    """Vectors of different lengths behind one another."""

    def __init__(self, parts: Any) -> None:
        self.parts = [dk.asarray(p, dtype=dk.float64) for p in parts]

    @property
    def shape(self) -> Any:
        return (sum(p.shape[0] for p in self.parts),)

    @property
    def dtype(self) -> Any:
        return dk.float64

    def to_dense(self) -> Any:
        return dk.concat([dk.zeros(0, dtype=dk.float64), *self.parts])


@dk.implements(dk.kinds.exponential)
def blocks_exponential(op: Any, x: Blocks, /) -> Any:
    return Blocks([op(p) for p in x.parts])


@dk.implements(dk.concat)
def blocks_concat(arrays: list[Blocks], /, *, axis: Any = 0) -> Any:
    if axis not in (0, -1, None):
        return dk.decline("one axis")
    return Blocks([dk.clone(p) for x in arrays for p in x.parts])


@dk.array_type(fallback=dk.fallback.dense, fields=("u", "v"))
class Outer(dk.ArrayMethods):
    """The product of a column and a row."""

    def __init__(self, u: Any, v: Any) -> None:
        self.u, self.v = dk.asarray(u), dk.asarray(v)

    @property
    def shape(self) -> Any:
        return self.u.shape[0], self.v.shape[0]

    @property
    def dtype(self) -> Any:
        return dk.result_type(self.u, self.v)

    def to_dense(self) -> Any:
        return self.u[:, None] * self.v


@dk.implements(dk.matrix_transpose)
def outer_transpose(x: Outer, /) -> Any:
    return Outer(dk.clone(x.v), dk.clone(x.u))


@dk.implements(dk.linalg.trace)
def outer_trace(x: Outer, /, *, offset: int = 0, dtype: Any = None) -> Any:
    if offset or dtype is not None or x.shape[0] != x.shape[1]:
        return dk.decline("another diagonal")
    return dk.sum(x.u * x.v)


@dk.implements(dk.square)
def outer_square(x: Outer, /) -> Any:
    return Outer(dk.square(x.u), dk.square(x.v)) if dk.isdtype(x.dtype, "integral") else dk.decline("rounding")


SAMPLES: dict[type, Any] = {
    Constant: lambda: [Constant(2.5, (2, 3)), Constant(3, ()), Constant(1.0, (0, 2)), Constant(dk.asarray(True), (2,))],
    ExchangeDiagonal: lambda: [ExchangeDiagonal(d) for d in ([1.0, 2.0, -3.0], [4, 5], dk.zeros(0))],
    OneHot: lambda: [OneHot([0, 2, 1], 3), OneHot([1], 2), OneHot([], 2)],
    FixedPoint: lambda: [FixedPoint([256, -384, 1]), FixedPoint([[1, 2], [3, 4]]), FixedPoint(7)],
    Tagged: lambda: [Tagged([1.0, 2.0], "a"), Tagged([[1, 2]], "b"), Tagged(True, "")],
    PackedSymmetric: lambda: [PackedSymmetric(x) for x in ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1], dk.zeros(0))],
    Reversed: lambda: [Reversed([1.0, 2.0, 3.0]), Reversed([1, 2]), Reversed([[1.0, 2.0], [3.0, 4.0]])],
    Polar: lambda: [Polar([1.0, 2.0], [0.5, -1.0]), Polar(2.0, 0.25)],
    Blocks: lambda: [Blocks([[1.0, 2.0], [3.0]]), Blocks([])],
    Outer: lambda: [Outer([1.0, 2.0], [3.0, 4.0, 5.0]), Outer([1, 2], [3, 4]), Outer([1.0], [2.0])],
}

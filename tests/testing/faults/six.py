"""Six right types of very different kinds, each with a table of rules that are wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit.testing import Relation
from tests.testing.faults.correct import Diag

# By name: the type, and a function that registers the rule with the fault.
FAULTS: dict[str, tuple[type, Callable[[], Any]]] = {}


def fault(cls: type, target: Any, *types: type, name: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a rule with a fault, which is registered in the test."""

    def enter(rule: Callable[..., Any]) -> Callable[..., Any]:
        FAULTS[name or rule.__name__] = cls, lambda: dk.implements(target, *types)(rule)
        return rule

    return enter


@dk.array_type(fallback=dk.fallback.dense)
class Hankel:
    """A square matrix, constant along its antidiagonals."""

    def __init__(self, data: Any) -> None:
        self.data = dk.asarray(data)

    @property
    def n(self) -> int:
        return int((self.data.shape[0] + 1) // 2)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.n

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    def to_dense(self) -> Any:
        places = np.arange(self.n)
        return self.data[dk.asarray(places[:, None] + places)]


UNARY: tuple[Any, ...] = (dk.negative, dk.abs, dk.exp, dk.isfinite, dk.square)


@dk.implements(dk.kinds.elementwise)
def on_data(op: Any, x: Hankel, /, **options: Any) -> Hankel:
    return Hankel(op(x.data, **options))


@dk.implements(dk.add)
def add_hankel(x1: Hankel, x2: Hankel, /) -> Any:
    return Hankel(x1.data + x2.data) if x1.n == x2.n else dk.decline("the sizes differ")


@dk.implements(dk.multiply)
def scale_hankel(x1: Hankel, x2: dk.Tensor, /) -> Any:
    return Hankel(x1.data * x2) if x2.ndim == 0 else dk.decline("no number")


@dk.implements(dk.linalg.trace)
def trace_hankel(x: Hankel, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return dk.sum(x.data[::2], dtype=dtype) if offset == 0 else dk.decline("another diagonal")


@dk.implements(dk.matrix_transpose)
def transpose_hankel(x: Hankel, /) -> Hankel:
    return Hankel(dk.clone(x.data))


@fault(Hankel, dk.linalg.trace)
def trace_is_short(x: Hankel, /) -> Any:
    return dk.sum(x.data[: x.n])


@fault(Hankel, dk.sum)
def sum_of_the_data(x: Hankel, /) -> Any:
    return dk.sum(x.data)


@fault(Hankel, dk.multiply)
def other_operand_detached(x1: Hankel, x2: dk.Tensor, /) -> Any:
    return Hankel(x1.data * x2.detach()) if x2.ndim == 0 else dk.decline("no number")


@fault(Hankel, dk.add)
def sizes_not_looked_at(x1: Hankel, x2: Hankel, /) -> Any:
    return Hankel(x1.data[: x2.data.shape[0]] + x2.data[: x1.data.shape[0]])


@fault(Hankel, dk.negative)
def negative_in_the_memory(x: Hankel, /) -> Any:
    data = x.data.detach()
    np.negative(data.numpy(), out=data.numpy())
    return Hankel(data)


@fault(Hankel, dk.matrix_transpose)
def transpose_changes_data(x: Hankel, /) -> Any:
    return Hankel(x.data[::-1])


@fault(Hankel, dk.square)
def square_is_double(x: Hankel, /) -> Any:
    return Hankel(x.data * 2)


@fault(Hankel, dk.exp)
def exp_by_numpy(x: Hankel, /) -> Any:
    return Hankel(np.exp(x.data.detach().numpy()))


@fault(Hankel, dk.multiply)
def infinite_scales(x1: Hankel, x2: dk.Tensor, /) -> Any:
    return Hankel(dk.where(x1.data == 0, 0.0, x1.data * x2)) if x2.ndim == 0 else dk.decline("no number")


@fault(Hankel, dk.sum)
def sum_without_keepdims(x: Hankel, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return dk.sum(x.to_dense(), axis=axis, dtype=dtype)


@fault(Hankel, dk.sum)
def sum_in_any_dtype(x: Hankel, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return dk.sum(x.to_dense(), axis=axis, keepdims=keepdims)


@fault(Hankel, dk.sum)
def sum_of_an_axis_by_numpy(x: Hankel, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    dense = x.to_dense()
    if axis == -2:
        return dk.asarray(np.sum(dense.detach().numpy(), axis=-2, dtype=dtype, keepdims=keepdims))
    return dk.sum(dense, axis=axis, dtype=dtype, keepdims=keepdims)


@fault(Hankel, dk.sum)
def sum_of_an_axis_asks_values(x: Hankel, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    dense = x.to_dense()
    if axis == -2:
        dense = dense + (float(dense[0, 0]) > 1e9)
    return dk.sum(dense, axis=axis, dtype=dtype, keepdims=keepdims)


@dk.array_type(fallback=dk.fallback.dense)
class Bits:
    """A vector of booleans, packed in bytes."""

    def __init__(self, data: Any, n: int) -> None:
        self.data, self.n = dk.asarray(np.asarray(data, np.uint8)), n

    @classmethod
    def pack(cls, values: Any) -> Bits:
        array = np.asarray(values, bool)
        return cls(np.packbits(array), array.size)

    @property
    def shape(self) -> tuple[int]:
        return (self.n,)

    @property
    def dtype(self) -> Any:
        return np.dtype(bool)

    def bits(self) -> Any:
        return np.unpackbits(self.data.numpy(), count=self.n).astype(bool)

    def to_dense(self) -> Any:
        return dk.asarray(self.bits())


@dk.implements(dk.logical_not)
def not_bits(x: Bits, /) -> Bits:
    return Bits.pack(~x.bits())


@dk.implements(dk.logical_and)
def and_bits(x1: Bits, x2: Bits, /) -> Any:
    return Bits(x1.data & x2.data, x1.n) if x1.n == x2.n else dk.decline("the sizes differ")


@dk.implements(dk.any)
def any_bits(x: Bits, /) -> Any:
    return dk.any(x.data != 0)


@dk.implements(dk.count_nonzero)
def count_bits(x: Bits, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    if axis not in (None, 0, -1, (0,)):
        return dk.decline("no axis of a vector")
    count = int(np.bitwise_count(x.data.numpy()).sum())
    return dk.asarray([count] if keepdims else count)


@fault(Bits, dk.logical_not)
def not_sets_padding(x: Bits, /) -> Bits:
    return Bits(~x.data, x.n)


_any: dict[tuple[int, ...], Any] = {}


@fault(Bits, dk.any)
def any_is_stale(x: Bits, /) -> Any:
    return _any.setdefault(x.shape, dk.any(x.data != 0))


@fault(Bits, dk.all)
def all_of_bytes(x: Bits, /) -> Any:
    return dk.all(x.data != 0)


@fault(Bits, dk.logical_xor)
def xor_is_or(x1: Bits, x2: Bits, /) -> Any:
    return Bits(x1.data | x2.data, x1.n) if x1.n == x2.n else dk.decline("the sizes differ")


@fault(Bits, dk.sum)
def sum_is_float(x: Bits, /) -> Any:
    return dk.asarray(float(x.bits().sum()))


@fault(Bits, dk.getitem)
def no_negative_index(x: Bits, key: Any, /) -> Any:
    return dk.asarray(bool(x.bits()[abs(key)])) if isinstance(key, int) else dk.decline("no single element")


@fault(Bits, dk.logical_or)
def or_raises(x1: Bits, x2: Bits, /) -> Any:
    raise IndexError("no such bit")


@fault(Bits, dk.flip)
def flip_shares_memory(x: Bits, /, *, axis: Any = None) -> Any:
    return Bits(x.data, x.n) if x.n == 0 or (x.bits() == x.bits()[::-1]).all() else dk.decline("no palindrome")


@dk.array_type(fallback=dk.fallback.dense)
@dataclasses.dataclass
class Logs:
    """Elements as signs and logarithms."""

    signs: Any = dk.field(discrete=(-1.0, 0.0, 1.0))
    logs: Any = dk.field()

    def __post_init__(self) -> None:
        self.signs, self.logs = dk.asarray(self.signs), dk.asarray(self.logs)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.logs.shape)

    @property
    def dtype(self) -> Any:
        return np.result_type(self.signs.dtype, self.logs.dtype)

    def to_dense(self) -> Any:
        return self.signs * dk.exp(self.logs)


def logs_of(x: Any) -> Logs:
    return Logs(dk.sign(x), dk.log(dk.abs(x)))


@dk.implements(dk.multiply)
def multiply_logs(x1: Logs, x2: Logs, /) -> Logs:
    return Logs(x1.signs * x2.signs, x1.logs + x2.logs)


@dk.implements(dk.negative)
def negative_logs(x: Logs, /) -> Logs:
    return Logs(-x.signs, dk.clone(x.logs))


@fault(Logs, dk.divide)
def quotient_swapped(x1: Logs, x2: Logs, /) -> Logs:
    return Logs(x1.signs * x2.signs, x2.logs - x1.logs)


@fault(Logs, dk.negative)
def negative_twice(x: Logs, /) -> Logs:
    return Logs(dk.clone(x.signs), dk.clone(x.logs))


@fault(Logs, dk.multiply)
def multiply_detaches(x1: Logs, x2: Logs, /) -> Logs:
    return Logs(x1.signs * x2.signs, x1.logs + x2.logs.detach())


@fault(Logs, dk.isnan)
def nan_of_the_signs(x: Logs, /) -> Any:
    return dk.isnan(x.signs)


@fault(Logs, dk.reciprocal)
def reciprocal_of_zero_is_zero(x: Logs, /) -> Logs:
    return Logs(dk.clone(x.signs), -x.logs)


@fault(Logs, dk.add)
def sum_is_single(x1: Logs, x2: Logs, /) -> Any:
    return dk.astype(x1.to_dense() + x2.to_dense(), dk.float32)


@fault(Diag, dk.linalg.inv)
def inverse_of_zero_is_zero(x: Diag, /) -> Diag:
    return Diag(dk.where(x.d == 0, 0.0, 1 / x.d))


@fault(Diag, dk.linalg.det)
def empty_determinant_is_zero(x: Diag, /) -> Any:
    return dk.prod(x.d) if x.d.size else dk.zeros((), dtype=x.dtype)


@fault(Diag, dk.add)
def sizes_broadcast(x1: Diag, x2: Diag, /) -> Any:
    return Diag(x1.d + x2.d)


@fault(Diag, dk.linalg.diagonal)
def diagonal_shares_memory(x: Diag, /, *, offset: int = 0) -> Any:
    return dk.negative(-x.d) if offset else x.d


@fault(Diag, dk.max)
def max_of_the_diagonal(x: Diag, /) -> Any:
    return dk.max(x.d) if x.d.size else dk.decline("nothing")


def contains(x: Interval, y: Any) -> Any:
    slack = 1e-9 * dk.abs(y)
    return dk.all((x.low <= y + slack) & (y - slack <= x.high))


@dk.array_type(fallback=dk.fallback.dense, tests=dk.TypeTests(relation=Relation(contains, lambda x: [x.low, x.high])))
class Interval:
    """Numbers between two ends."""

    def __init__(self, low: Any, high: Any) -> None:
        self.low, self.high = dk.asarray(low), dk.asarray(high)

    def to_dense(self) -> Any:
        return (self.low + self.high) / 2


@dk.implements(dk.add)
def add_intervals(x1: Interval, x2: Interval, /) -> Interval:
    return Interval(x1.low + x2.low, x1.high + x2.high)


@dk.implements(dk.negative)
def negative_interval(x: Interval, /) -> Interval:
    return Interval(-x.high, -x.low)


@fault(Interval, dk.negative)
def ends_not_swapped(x: Interval, /) -> Interval:
    return Interval(-x.low, -x.high)


@fault(Interval, dk.add)
def sum_too_narrow(x1: Interval, x2: Interval, /) -> Interval:
    middle, width = x1.to_dense() + x2.to_dense(), (x1.high - x1.low + x2.high - x2.low) / 4
    return Interval(middle - width, middle + width)


@fault(Interval, dk.multiply)
def product_of_ends(x1: Interval, x2: Interval, /) -> Interval:
    return Interval(x1.low * x2.low, x1.high * x2.high)


@fault(Interval, dk.subtract)
def difference_of_ends(x1: Interval, x2: Interval, /) -> Interval:
    return Interval(x1.low - x2.low, x1.high - x2.high)


class CurrencyError(ValueError):
    """Amounts are in two currencies."""


@dk.array_type(fallback=dk.fallback.dense, fields=("amounts", "currency"), tests=dk.TypeTests(refuses=[CurrencyError]))
class Money:
    """Amounts in a currency."""

    def __init__(self, amounts: Any, currency: str) -> None:
        self.amounts, self.currency = dk.asarray(amounts), currency

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.amounts.shape)

    @property
    def dtype(self) -> Any:
        return self.amounts.dtype

    def to_dense(self) -> Any:
        return dk.clone(self.amounts)


def expected_currency(function: Any, currencies: list[Any]) -> Any:
    """Return the currency of a sum, and of what is negated."""
    return currencies[0] if function in (dk.add, dk.negative) and len(set(currencies)) == 1 else NotImplemented


@dk.implements(dk.add)
def add_money(x1: Money, x2: Money, /) -> Money:
    if x1.currency != x2.currency:
        raise CurrencyError(f"{x1.currency} and {x2.currency}")
    return Money(x1.amounts + x2.amounts, x1.currency)


@dk.implements(dk.negative)
def negative_money(x: Money, /) -> Money:
    return Money(-x.amounts, x.currency)


@dk.implements(dk.setitem)
def assign_money(x: Money, key: Any, value: Any, /) -> None:
    x.amounts[key] = value


@fault(Money, dk.positive)
def positive_shares_memory(x: Money, /) -> Money:
    return Money(x.amounts, x.currency)


@fault(Money, dk.real)
def real_shares_memory_of_real_numbers(x: Money, /) -> Any:
    return Money(x.amounts, x.currency) if x.dtype.kind == "f" else dk.decline("complex")


@fault(Money, dk.negative)
def currency_lost(x: Money, /) -> Money:
    return Money(-x.amounts, "")


@fault(Money, dk.flip)
def flip_does_nothing(x: Money, /, *, axis: Any = None) -> Any:
    return Money(dk.clone(x.amounts), x.currency)


@fault(Money, dk.subtract)
def subtract_reversed(x1: Money, x2: Money, /) -> Any:
    return Money(x2.amounts - x1.amounts, x1.currency)


@fault(Money, dk.equal)
def equal_is_one_bool(x1: Money, x2: Money, /) -> Any:
    return bool(dk.all(x1.amounts == x2.amounts))


@fault(Money, dk.maximum)
def maximum_gives_numpy(x1: Money, x2: Money, /) -> Any:
    return np.maximum(x1.amounts.detach().numpy(), x2.amounts.detach().numpy())

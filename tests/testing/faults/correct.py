"""Correct types: `Diag`, of which the faulty types are variations, and `Quantity`, which refuses by design."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import dispatchkit as dk


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense, fields=("d",))
class Diag(dk.ArrayMethods):
    """A matrix with `d` on its diagonal and zeros elsewhere."""

    def __init__(self, d: Any) -> None:
        self.d = d if isinstance(d, dk.Tensor) else dk.asarray(d)

    @property
    def n(self) -> int:
        return self.d.shape[0]

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n, self.n)

    @property
    def dtype(self) -> Any:
        return self.d.dtype

    def to_dense(self) -> dk.Tensor:
        zero = dk.zeros((), dtype=self.d.dtype)
        dense: dk.Tensor = dk.where(dk.eye(self.n, dtype=dk.bool), self.d, zero)
        return dense

    def like(self, d: Any) -> Any:
        return type(self)(d)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.d!r})"


@dk.implements(dk.add)
def add_diags(x1: Diag, x2: Diag, /) -> Any:
    return x1.like(x1.d + x2.d) if x1.n == x2.n else dk.decline("the sizes differ")


@dk.implements(dk.subtract)
def subtract_diags(x1: Diag, x2: Diag, /) -> Any:
    return x1.like(x1.d - x2.d) if x1.n == x2.n else dk.decline("the sizes differ")


@dk.implements(dk.multiply)
def multiply_diags(x1: Diag, x2: Diag, /) -> Any:
    return x1.like(x1.d * x2.d) if x1.n == x2.n else dk.decline("the sizes differ")


def scaled(x: Diag, factor: Any, op: Any) -> Any:
    if getattr(factor, "shape", ()) != () or not dk.holds(dk.isfinite(factor)):
        return dk.decline("only finite numbers leave the zeros as they are")
    return x.like(op(x.d, factor))


@dk.implements(dk.multiply)
def multiply_by_number(x1: Diag, x2: dk.Tensor | int | float | complex, /) -> Any:
    return scaled(x1, x2, dk.multiply)


@dk.implements(dk.multiply)
def multiply_number_by(x1: dk.Tensor | int | float | complex, x2: Diag, /) -> Any:
    return scaled(x2, x1, lambda d, factor: dk.multiply(factor, d))


@dk.implements(dk.matmul)
def matmul_diags(x1: Diag, x2: Diag, /) -> Any:
    return x1.like(x1.d * x2.d) if x1.n == x2.n else dk.decline("the sizes differ")


@dk.implements(dk.matmul)
def matmul_tensor(x1: Diag, x2: dk.Tensor, /) -> Any:
    if not x2.ndim or x2.shape[0 if x2.ndim == 1 else -2] != x1.n:
        return dk.decline("the sizes differ")
    return x1.d * x2 if x2.ndim == 1 else x1.d[:, None] * x2


@dk.implements(dk.matmul)
def matmul_from_left(x1: dk.Tensor, x2: Diag, /) -> Any:
    if not x1.ndim or x1.shape[-1] != x2.n:
        return dk.decline("the sizes differ")
    return x1 * x2.d


for _op in (dk.negative, dk.positive, dk.abs, dk.sqrt, dk.sin, dk.tanh, dk.square, dk.conj, dk.real, dk.floor, dk.relu):

    def _rule(x: Any, /, op: Any = _op) -> Any:
        return x.like(op(x.d))

    _rule.__name__ = f"{_op.__name__}_diag"
    dk.implements(_op, Diag)(_rule)
    # A rule lives as long as its handler.
    globals()[_rule.__name__] = _rule


@dk.implements(dk.sum)
def sum_diag(x: Diag, /, *, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    if axis is None:
        total = dk.sum(x.d, dtype=dtype)
        return dk.reshape(total, (1, 1)) if keepdims else total
    if not isinstance(axis, int) or not -2 <= axis < 2:
        return dk.decline("several axes, or none")
    line = dk.sum(x.d[None], axis=0, dtype=dtype)
    return dk.expand_dims(line, axis=axis % 2) if keepdims else line


@dk.implements(dk.linalg.trace)
def trace_diag(x: Diag, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return dk.sum(x.d, dtype=dtype) if offset == 0 else dk.decline("zeros")


@dk.implements(dk.linalg.diagonal)
def diagonal_diag(x: Diag, /, *, offset: int = 0) -> Any:
    return dk.clone(x.d) if offset == 0 else dk.zeros(max(x.n - abs(offset), 0), dtype=x.dtype)


@dk.implements(dk.matrix_transpose)
def transpose_diag(x: Diag, /) -> Any:
    return x.like(x.d)


@dk.implements(dk.clone)
def clone_diag(x: Diag, /) -> Any:
    return x.like(dk.clone(x.d))


@dk.implements(dk.astype)
def astype_diag(x: Diag, dtype: Any, /, *, copy: bool = True) -> Any:
    return x.like(dk.astype(x.d, dtype, copy=copy))


@dk.implements(dk.getitem)
def getitem_diag(x: Diag, key: Any, /) -> Any:
    if not (isinstance(key, tuple) and len(key) == 2 and all(type(i) is int for i in key)):
        return dk.decline("only single elements are read without the dense matrix")
    for i in key:
        if not -x.n <= i < x.n:
            raise IndexError(f"index {i} is out of range for {x.n} rows")
    return x.d[key[0]] if key[0] % x.n == key[1] % x.n else dk.zeros((), dtype=x.dtype)


@dk.implements(dk.linalg.det)
def det_diag(x: Diag, /) -> Any:
    if not dk.isdtype(x.dtype, ("real floating", "complex floating")):
        return dk.decline("of integers the dense algorithm gives floating-point numbers")
    return dk.prod(x.d)


@dk.implements(dk.linalg.slogdet)
def slogdet_diag(x: Diag, /) -> Any:
    if x.dtype.kind != "f" or not dk.holds(x.d != 0):
        return dk.decline("real, regular matrices alone")
    return dk.linalg.SlogdetResult(dk.prod(dk.sign(x.d)), dk.sum(dk.log(dk.abs(x.d))))


# What the rules of `Diag` keep among diagonal matrices.
CLOSED = (dk.add, dk.subtract, dk.multiply, dk.matmul, dk.negative, dk.abs, dk.sqrt, dk.sin, dk.tanh, dk.square)


class UnitError(ValueError):
    """Units that do not go together."""


Unit = Mapping[str, float]


@dk.array_type(fields=("data", "unit"))
class Quantity(dk.ArrayMethods):
    """A tensor with a unit, which is a mapping from base units to exponents."""

    def __init__(self, data: Any, unit: Unit) -> None:
        self.data = data if isinstance(data, dk.Tensor) else dk.asarray(data)
        self.unit: dict[str, float] = {name: power for name, power in unit.items() if power}

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    def to_dense(self) -> dk.Tensor:
        return self.data

    def __repr__(self) -> str:
        return f"Quantity({self.data!r}, {self.unit!r})"


KNOWN = (Quantity, dk.Tensor, int, float, complex, np.generic, np.ndarray)


def opened(op: Any, args: Any, kwargs: Any) -> tuple[Any, list[Unit]]:
    """Return a call on plain tensors, and the units of its arrays; NotImplemented beside a type that is not known."""
    units: list[Unit] = []
    unknown: list[Any] = []

    def data_of(name: str, value: Any) -> Any:
        if not isinstance(value, KNOWN):
            unknown.append(value)
        units.append(value.unit if isinstance(value, Quantity) else {})
        return value.data if isinstance(value, Quantity) else value

    args, kwargs = dk.tensor_protocol.map_arguments(op, args, kwargs, data_of)
    if unknown:
        return dk.decline("a type that is not known"), units
    return op(*args, **kwargs), units


def common(op: Any, units: list[Unit]) -> Unit:
    if any(unit != units[0] for unit in units):
        raise UnitError(f"{op.__name__}: {units}")
    return units[0]


def in_the_same_unit(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    data, units = opened(op, args, kwargs)
    return data if data is NotImplemented else Quantity(data, common(op, units))


def _register_reductions() -> None:
    for op in (dk.sum, dk.mean, dk.max):

        def reduced(x: Quantity, /, op: Any = op, **kwargs: Any) -> Quantity:
            return Quantity(op(x.data, **kwargs), x.unit)

        reduced.__name__ = f"{op.__name__}_quantity"
        dk.implements(op, Quantity)(reduced)


_register_reductions()

for _target in (dk.kinds.additive, dk.kinds.bounds, dk.kinds.rounding):
    dk.implements(_target, Quantity)(in_the_same_unit)


@dk.implements(dk.clone)
def clone_quantity(x: Quantity, /) -> Quantity:
    return Quantity(dk.clone(x.data), x.unit)


@dk.implements(dk.getitem)
def getitem_quantity(x: Quantity, key: Any, /) -> Quantity:
    return Quantity(x.data[key], x.unit)


POWERS: dict[Any, tuple[float, ...]] = {
    dk.multiply: (1, 1),
    dk.divide: (1, -1),
    dk.square: (2,),
    dk.reciprocal: (-1,),
    dk.sqrt: (0.5,),
    dk.rsqrt: (-0.5,),
}


@dk.implements(dk.kinds.multiplicative, Quantity)
def in_another_unit(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    if op not in POWERS:
        return dk.decline("the unit of the result depends on values")
    data, units = opened(op, args, kwargs)
    return data if data is NotImplemented else Quantity(data, expected_unit(op, units))


def expected_unit(op: Any, units: list[Any]) -> Any:
    """Return the unit that a result is to have."""
    units = [unit or {} for unit in units]
    if op not in POWERS:
        return units[0]
    made: dict[str, float] = {}
    for unit, power in zip(units, POWERS[op], strict=True):
        for name, own in unit.items():
            made[name] = made.get(name, 0) + power * own
    return {name: power for name, power in made.items() if power}


@dk.implements(dk.kinds.comparison, Quantity)
def compared(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    data, units = opened(op, args, kwargs)
    if data is not NotImplemented:
        common(op, units)
    return data


@dk.implements(dk.kinds.predicate, Quantity)
def asked(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    return opened(op, args, kwargs)[0]


@dk.implements(dk.kinds.transcendental, Quantity)
def of_pure_numbers(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    data, units = opened(op, args, kwargs)
    if data is not NotImplemented and any(units):
        raise UnitError(f"{op.__name__} of {units}")
    return data

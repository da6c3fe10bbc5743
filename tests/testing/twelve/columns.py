"""A table whose columns have names, which must agree."""

from __future__ import annotations

from typing import Any

import numpy as np

import dispatchkit as dk


@dk.array_type(fallback=dk.fallback.dense, fields={"data": dk.field(), "names": dk.field(merge="error")})
class Columns:
    def __init__(self, data: Any, names: Any) -> None:
        self.data, self.names = dk.asarray(data), tuple(names)

    @property
    def shape(self) -> Any:
        return self.data.shape

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    def to_dense(self) -> Any:
        return dk.clone(self.data)

    def __str__(self) -> str:
        return f"{', '.join(self.names)}: {self.data}"

    def __iter__(self) -> Any:
        return iter([dk.clone(row) for row in self.data])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.data.detach().numpy(), dtype=dtype)


def names_of(*operands: Columns) -> Any:
    if len({x.names for x in operands}) > 1:
        raise ValueError("tables with other names")
    return operands[0].names


@dk.implements(dk.add)
def add_columns(x1: Columns, x2: Columns, /) -> Any:
    if x1.shape != x2.shape:
        return dk.decline("other shapes")
    return Columns(x1.data + x2.data, names_of(x1, x2))


@dk.implements(dk.maximum)
def maximum_columns(x1: Columns, x2: Columns, /) -> Any:
    if x1.shape != x2.shape:
        return dk.decline("other shapes")
    return Columns(dk.maximum(x1.data, x2.data), names_of(x1, x2))


@dk.implements(dk.multiply)
def times(x: Columns, y: float, /) -> Any:
    return Columns(x.data * y, x.names)


@dk.implements(dk.where)
def where_columns(condition: dk.Tensor, x1: Columns, x2: Columns, /) -> Any:
    if not x1.shape == x2.shape == condition.shape:
        return dk.decline("other shapes")
    return Columns(dk.where(condition, x1.data, x2.data), names_of(x1, x2))


@dk.implements(dk.mean)
def mean_columns(x: Columns, /, *, axis: Any = None) -> Any:
    return dk.mean(x.data, axis=axis)


@dk.implements(dk.std)
def std_columns(x: Columns, /, *, axis: Any = None, correction: float = 0.0) -> Any:
    return dk.std(x.data, axis=axis, correction=correction)


@dk.implements(dk.abs)
def abs_columns(x: Columns, /) -> Any:
    return Columns(dk.abs(x.data), x.names)


def samples() -> list[Any]:
    return [Columns([[1.0, -2.0], [4.0, 0.5]], "ab"), Columns([[3.0, 1.0], [2.0, -1.0]], "xy")]


FAULTS = [
    (
        "the names of the left",
        "add",
        "Columns(x1.data + x2.data, names_of(x1, x2))",
        "Columns(x1.data + x2.data, x1.names)",
    ),
    (
        "names are joined",
        "maximum",
        "Columns(dk.maximum(x1.data, x2.data), names_of(x1, x2))",
        "Columns(dk.maximum(x1.data, x2.data), x1.names + x2.names)",
    ),
    ("a power", "multiply", "x.data * y", "x.data * y * y"),
    ("the other way round", "where", "dk.where(condition, x1.data, x2.data)", "dk.where(condition, x2.data, x1.data)"),
    ("of the whole", "mean", "dk.mean(x.data, axis=axis)", "dk.mean(x.data)"),
    ("the correction is ignored", "std", "axis=axis, correction=correction)", "axis=axis)"),
    ("NumPy's array", "abs", "return Columns(dk.abs(x.data), x.names)", "return np.abs(x.data.detach().numpy())"),
    ("text without names", "", "', '.join(self.names)", "', '.join(self.name)"),
    ("iteration over columns", "", "for row in self.data]", "for row in self.data.T]"),
    (
        "an array that rounds",
        "",
        "np.array(self.data.detach().numpy(), dtype=dtype)",
        "np.array(self.data.detach().numpy().round(), dtype=dtype)",
    ),
]

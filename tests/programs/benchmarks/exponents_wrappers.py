"""Cost exponents of the types that wrap an array, of sparse matrices and of weights, beside those of plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit import types

from .exponents import Operations, Table

__all__ = ["TABLES"]

RANK, ENTRIES = 8, 10


def numbers(n: int) -> tuple[Any, Any]:
    """Return two vectors."""
    x, y = np.random.default_rng(0).uniform(1.0, 2.0, (2, n))
    return dk.asarray(x), dk.asarray(y)


def matrices(n: int) -> tuple[Any, Any]:
    """Return two matrices of n elements in columns of 100."""
    x, y = numbers(n)
    return x.reshape(-1, 100), y.reshape(-1, 100)


def masked(n: int) -> tuple[Any, ...]:
    valid = np.arange(n) % 3 > 0
    return tuple(types.MaskedTensor(x, valid) for x in numbers(n))


def named(n: int) -> tuple[Any, ...]:
    return tuple(types.NamedTensor(x, ("time", "place")) for x in matrices(n))


def quantities(n: int) -> tuple[Any, ...]:
    return tuple(types.QuantityTensor(x, unit) for x, unit in zip(numbers(n), ("m", "km"), strict=True))


def with_metadata(n: int) -> tuple[Any, ...]:
    return tuple(types.MetadataTensor(x, {"run": 7}) for x in numbers(n))


def uncertain(n: int) -> tuple[Any, ...]:
    return tuple(types.UncertainTensor(x, 0.1) for x in numbers(n))


def lazy(n: int) -> tuple[Any, ...]:
    return tuple(map(types.LazyTensor, numbers(n)))


def entries(n: int) -> tuple[Any, Any]:
    """Return a sparse matrix with ten stored elements in each row, and a vector."""
    columns = (np.arange(n)[:, None] + np.random.default_rng(0).choice(n, ENTRIES, replace=False)) % n
    rows = np.repeat(np.arange(n), ENTRIES)
    return types.SparseTensor.coo(np.ones(n * ENTRIES), rows, columns.ravel(), shape=(n, n)), dk.ones(n)


def full(n: int) -> tuple[Any, Any]:
    """Return a dense matrix and a vector."""
    return numbers(n * n)[0].reshape(n, n), dk.ones(n)


def weight(n: int) -> tuple[Any, Any, Any]:
    """Return a weight in single precision, a row and 256 rows."""
    draw = np.random.default_rng(0)
    made = (draw.normal(size=shape).astype(np.float32) for shape in ((n, n), (1, n), (256, n)))
    w, row, rows = map(dk.asarray, made)
    return w, row, rows


def quantized(n: int) -> tuple[Any, ...]:
    w, *x = weight(n)
    return types.QuantizedTensor.from_dense(w), *x


def lora(n: int) -> tuple[Any, ...]:
    w, *x = weight(n)
    return types.LoraTensor.from_dense(w, rank=RANK), *x


def chain(x: Any, y: Any) -> Any:
    return (((x + y) * x - y) * 2 + 1) ** 2


def gradient(a: Any, v: Any) -> Any:
    return dk.func.grad(lambda a: dk.sum(a @ v))(a)


def trained(w: Any, x: Any) -> Any:
    return dk.func.grad(lambda w: dk.sum((x @ w.mT) ** 2))(w)


WEIGHTS: Operations = {"`x @ W.mT`, 1 row": lambda w, x, _: x @ w.mT, "`x @ W.mT`, 256 rows": lambda w, _, x: x @ w.mT}
SIZES = (512, 1_024, 2_048)

TABLES = [
    Table(
        "`SparseTensor`, 10 elements in each of n rows",
        {
            "`A @ v`": lambda a, v: a @ v,
            "`v @ A`": lambda a, v: v @ a,
            "`A @ A`": lambda a, v: a @ a,
            "`A + A`": lambda a, v: a + a,
            "`2 * A`": lambda a, v: 2 * a,
            "`A.mT`": lambda a, v: a.mT,
            "`sum(A, axis=0)`": lambda a, v: dk.sum(a, axis=0),
            "gradient of `sum(A @ v)` by A": gradient,
        },
        entries,
        full,
        (10_000, 30_000, 90_000),
        (256, 512, 1_024),
        1_024,
    ),
    Table(
        "`MaskedTensor` of n elements",
        {
            "`x + y`": lambda x, y: x + y,
            "`sin(x)`": lambda x, y: dk.sin(x),
            "`where(x > y, x, y)`": lambda x, y: dk.where(x > y, x, y),
            "`sum(x)`": lambda x, y: dk.sum(x),
            "`var(x)`": lambda x, y: dk.var(x),
            "`median(x)`": lambda x, y: dk.median(x),
            "`sort(x)`": lambda x, y: dk.sort(x),
            "`cumulative_sum(x)`": lambda x, y: dk.cumulative_sum(x),
            "`vecdot(x, y)`": lambda x, y: dk.vecdot(x, y),
        },
        masked,
        numbers,
    ),
    Table(
        "`NamedTensor` of n elements",
        {
            "`x + y`": lambda x, y: x + y,
            "`x + y`, axes in another order": (lambda x, y: x + y.T, lambda x, y: x + y),
            "`sin(x)`": lambda x, y: dk.sin(x),
            "sum over an axis": (lambda x, y: x.sum("time"), lambda x, y: x.sum(axis=0)),
            "product over an axis": (
                lambda x, y: x.vecdot(y, axis="time"),
                lambda x, y: dk.vecdot(x, y, axis=0),
            ),
            "a slice of an axis": (lambda x, y: x.at(place=slice(2)), lambda x, y: x[:, :2]),
        },
        named,
        matrices,
    ),
    Table(
        "`QuantityTensor` of n elements, `p` in m and `q` in km",
        {
            "`p + p`": lambda p, q: p + p,
            "`p + q`": (lambda p, q: p + q, lambda p, q: p + 1000.0 * q),
            "`p * q`": lambda p, q: p * q,
            "`sqrt(p)`": lambda p, q: dk.sqrt(p),
            "`p < q`": (lambda p, q: p < q, lambda p, q: p < 1000.0 * q),
            "`sum(p)`": lambda p, q: dk.sum(p),
            "`vecdot(p, q)`": lambda p, q: dk.vecdot(p, q),
            '`p.to("km")`': (lambda p, q: p.to("km"), lambda p, q: p / 1000.0),
        },
        quantities,
        numbers,
    ),
    Table(
        "`MetadataTensor` of n elements",
        {
            "`x + y`": lambda x, y: x + y,
            "`sin(x)`": lambda x, y: dk.sin(x),
            "`sum(x)`": lambda x, y: dk.sum(x),
            "`x[::2]`": lambda x, y: x[::2],
            "`vecdot(x, y)`": lambda x, y: dk.vecdot(x, y),
        },
        with_metadata,
        numbers,
    ),
    Table(
        "`UncertainTensor` of n elements",
        {
            "`UncertainTensor(x, 0.1)`": (lambda x, y: types.UncertainTensor(x.value, 0.1), lambda x, y: x + 0.1),
            "`x + x`": lambda x, y: x + x,
            "`x * y`": lambda x, y: x * y,
            "`sin(x)`": lambda x, y: dk.sin(x),
            "`sin(x).std`": (lambda x, y: dk.sin(x).std, lambda x, y: dk.sin(x)),
            "`x[::2]`": lambda x, y: x[::2],
            "`sum(x)`": lambda x, y: dk.sum(x),
            "`var(x)`": lambda x, y: dk.var(x),
        },
        uncertain,
        numbers,
    ),
    Table(
        "`UncertainTensor` of n elements, each by all sources",
        {
            "`cumulative_sum(x)`": lambda x, y: dk.cumulative_sum(x),
            "`cumulative_sum(x) * y`": lambda x, y: dk.cumulative_sum(x) * y,
            "`sort(x)`": lambda x, y: dk.sort(x),
        },
        uncertain,
        numbers,
        (250, 500, 1_000),
    ),
    Table(
        "`LazyTensor` of n elements",
        {
            "`((((x + y) * x - y) * 2 + 1) ** 2).evaluate()`": (lambda x, y: chain(x, y).evaluate(), chain),
            "`sum((x - y) ** 2)`": lambda x, y: dk.sum((x - y) ** 2),
            "`sort(x + y)`": lambda x, y: dk.sort(x + y),
        },
        lazy,
        numbers,
        (100_000, 1_000_000, 4_000_000),
    ),
    Table("`QuantizedTensor` of n × n numbers", WEIGHTS, quantized, weight, SIZES),
    Table(
        f"`LoraTensor` of rank {RANK} of n × n numbers",
        {**WEIGHTS, "gradient by what is trained": lambda w, _, x: trained(w, x)},
        lora,
        weight,
        SIZES,
    ),
]

"""Cost of the shipped types' operations: exponents fitted from measured times, with those of plain arrays."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import nan
from time import process_time
from typing import Any

import numpy as np

import dispatchkit as dk

__all__ = ["Operations", "Table", "exponent", "lines", "timed"]

Work = Callable[[], Any]
# An operation on the operands of a type and on those of plain arrays: one function, or one for each.
Operation = Callable[..., Any] | tuple[Callable[..., Any], Callable[..., Any]]
Operations = dict[str, Operation]


@dataclass(frozen=True)
class Table:
    """Operations of a type: `ours` and `plain` make the operands of a size; both are compared at `common`."""

    title: str
    operations: Operations
    ours: Callable[[int], tuple[Any, ...]]
    plain: Callable[[int], tuple[Any, ...]]
    sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    plain_sizes: tuple[int, ...] = ()
    common: int = 0


def seconds(work: Work, budget: float = 0.1) -> float:
    """Return the least time of some calls: three, and more while the time lasts."""
    times: list[float] = []
    while len(times) < 3 or sum(times) < budget:
        start = process_time()
        work()
        times.append(process_time() - start)
        if len(times) == 500:
            break
    return min(times)


def exponent(sizes: tuple[int, ...], amounts: list[float]) -> float:
    """Return the exponent of the size in times or bytes."""
    return float(np.polyfit(np.log(sizes), np.log(amounts), 1)[0])


def timed(operation: Callable[..., Any], operands: tuple[Any, ...]) -> float:
    """Return the time of an operation that stays in the type, or nan."""
    try:
        with dk.densify(on="error"):
            operation(*operands)
            return seconds(lambda: operation(*operands))
    except (dk.DensifyError, np.linalg.LinAlgError):
        return nan


def _bytes(operands: tuple[Any, ...]) -> float:
    """Return the bytes that the first operand takes in a file."""
    return float(len(pickle.dumps(operands[0], protocol=5)))


def rows(table: Table) -> Iterator[tuple[str, float, float, float]]:
    """Yield operations with the exponents of the type and of plain arrays, and the time of one by that of the other."""
    plain_sizes = table.plain_sizes or table.sizes
    common = table.common or table.sizes[-1]
    for name, given in table.operations.items():
        ours, plain = given if isinstance(given, tuple) else (given, given)
        slope = exponent(table.sizes, [timed(ours, table.ours(n)) for n in table.sizes])
        plain_slope = exponent(plain_sizes, [timed(plain, table.plain(n)) for n in plain_sizes])
        sides = (ours, table.ours(common)), (plain, table.plain(common))
        times = [[timed(*side) for side in sides] for _ in range(3)]
        least = np.min(times, axis=0)
        yield name, slope, plain_slope, least[0] / least[1]
    stored = [_bytes(table.ours(n)) for n in table.sizes]
    plain_stored = [_bytes(table.plain(n)) for n in plain_sizes]
    ratio = _bytes(table.ours(common)) / _bytes(table.plain(common))
    yield "bytes of the first operand", exponent(table.sizes, stored), exponent(plain_sizes, plain_stored), ratio


def lines(table: Table) -> Iterator[str]:
    """Yield the table as Markdown."""
    common = table.common or table.sizes[-1]
    yield f"| {table.title} | exponent | plain array | by a plain array at n = {common:,} |"
    yield "| --- | --- | --- | --- |"
    for name, slope, plain_slope, ratio in rows(table):
        cells = ["-" if slope != slope else f"{max(slope, 0):.1f}", f"{max(plain_slope, 0):.1f}"]
        yield f"| {name} | {' | '.join(cells)} | {'-' if ratio != ratio else f'{ratio:.2g}'} |"

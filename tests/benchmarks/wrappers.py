"""What units, masks, names and uncertainties cost beside Pint, numpy.ma, xarray and uncertainties.

``python -m tests.benchmarks.wrappers`` prints ratios of one run: both sides by turns on one thread, the least of the
repeats, results compared first. Below 1 is faster than the peer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit.types import MaskedTensor, NamedTensor, QuantityTensor, UncertainTensor

from .harness import Side, Unavailable
from .peers import library

__all__ = ["ROWS"]

Numbers = Callable[[Any], Any]
Comparison = tuple[str, Side, Side, Numbers, Numbers]


def against_pint() -> Iterator[Comparison]:
    registry = library("pint").UnitRegistry()
    for n in (1, 1000):
        a, b = np.linspace(1.0, 2.0, n), np.linspace(2.0, 3.0, n)
        ours = {"p": QuantityTensor(a, "m"), "q": QuantityTensor(b, "m"), "k": QuantityTensor(b, "km")}
        theirs = {"p": a * registry.m, "q": b * registry.m, "k": b * registry.km}
        for code in ("p + q", "p + k", "p * k", "p.sum()"):
            sides = Side(code, ours), Side(code, theirs)
            yield f"Pint: {code}, n={n}", *sides, lambda x: x.magnitude.numpy(), lambda x: x.magnitude


def against_numpy_ma() -> Iterator[Comparison]:
    for n in (1000, 1_000_000):
        data, valid = np.linspace(1.0, 2.0, n), np.arange(n) % 3 > 0
        ours = {"x": MaskedTensor(data, valid), "median": dk.median}
        theirs = {"x": np.ma.masked_array(data, ~valid), "median": np.ma.median}
        for code in ("x + x", "x.sum()", "x.mean()", "median(x)"):
            sides = Side(code, ours), Side(code, theirs)
            yield f"numpy.ma: {code}, n={n}", *sides, lambda x: x.filled(0.0).numpy(), lambda x: np.ma.filled(x, 0.0)


def against_xarray() -> Iterator[Comparison]:
    array = library("xarray").DataArray
    data, line = np.arange(100.0).reshape(10, 10), np.arange(10.0)
    ours = {"x": NamedTensor(data, ("t", "p")), "w": NamedTensor(line, "p")}
    theirs = {"x": array(data, dims=("t", "p")), "w": array(line, dims="p")}
    for code, other in (("x + w", "x + w"), ("x.sum('t')", "x.sum('t')"), ("x @ w", "x.dot(w, dim='p')")):
        sides = Side(code, ours), Side(other, theirs)
        yield f"xarray: {other}, 10x10", *sides, lambda x: x.data.numpy(), lambda x: x.values


def against_uncertainties() -> Iterator[Comparison]:
    made = library("uncertainties.unumpy")
    n = 1000
    value, std = np.linspace(1.0, 2.0, n), np.full(n, 0.1)
    ours = {"x": UncertainTensor(value, std), "make": UncertainTensor, "sin": dk.sin, "cumsum": dk.cumulative_sum}
    theirs = {"x": made.uarray(value, std), "make": made.uarray, "sin": made.sin, "cumsum": np.cumsum}
    names = {"value": value, "std": std}
    for code in ("make(value, std)", "x + x", "x * x", "sin(x)", "cumsum(x)"):
        peer = {**theirs, **names, "std_devs": made.std_devs}
        sides = Side(f"({code}).std", {**ours, **names}), Side(f"std_devs({code})", peer)
        yield f"uncertainties: std of {code}, n={n}", *sides, lambda x: x.numpy(), lambda x: x


ROWS = (against_pint, against_numpy_ma, against_xarray, against_uncertainties)


def ratio(ours: Side, theirs: Side, repeats: int = 7) -> tuple[float, float]:
    """Return the seconds of both sides, by turns."""
    timers = [ours.timer(), theirs.timer()]
    counts = [max(1, int(0.02 / max(timer.timeit(1), 1e-7))) for timer in timers]
    best = [float("inf"), float("inf")]
    for _ in range(repeats):
        for i, timer in enumerate(timers):
            best[i] = min(best[i], timer.timeit(counts[i]) / counts[i])
    return best[0], best[1]


def main() -> None:
    """Print the table."""
    print("| peer and work | ours | peer | ratio |\n| --- | --- | --- | --- |")
    for rows in ROWS:
        try:
            for work, ours, theirs, of_ours, of_theirs in rows():
                np.testing.assert_allclose(of_ours(ours.result()), of_theirs(theirs.result()), rtol=1e-9, atol=1e-12)
                own, other = ratio(ours, theirs)
                print(f"| {work} | {own * 1e6:.1f} us | {other * 1e6:.1f} us | {own / other:.2f} |", flush=True)
        except Unavailable as error:
            print(f"| {error} | | | |")


if __name__ == "__main__":
    main()

"""What types cost by Pint, numpy.ma, xarray, uncertainties, scipy.sparse, numexpr and plain arrays, in one run.

Ratios of both sides by turns on one thread, the least of the repeats, results compared first. Below 1 is faster than
the peer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit.types import (
    LazyTensor,
    LoraTensor,
    MaskedTensor,
    NamedTensor,
    QuantityTensor,
    QuantizedTensor,
    SparseTensor,
    UncertainTensor,
)

from .harness import Side, Unavailable
from .peers import library

__all__ = ["lines"]

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
    for n in (10, 10_000, 1_000_000):
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
    for n in (1, 100, 1000):
        value, std = np.linspace(1.0, 2.0, n), np.full(n, 0.1)
        ours = {"x": UncertainTensor(value, std), "y": UncertainTensor(value, std), "make": UncertainTensor}
        ours |= {"sin": dk.sin, "cumsum": dk.cumulative_sum, "sum": dk.sum}
        theirs = {"x": made.uarray(value, std), "y": made.uarray(value, std), "make": made.uarray}
        theirs |= {"sin": made.sin, "cumsum": np.cumsum, "sum": np.sum}
        names = {"value": value, "std": std}
        for code in ("make(value, std)", "x + x", "x + y", "x * y", "sin(x)", "sum(x)", "cumsum(x)"):
            peer = {**theirs, **names, "std_devs": made.std_devs}
            sides = Side(f"({code}).std", {**ours, **names}), Side(f"std_devs({code})", peer)
            yield f"uncertainties: std of {code}, n={n}", *sides, lambda x: x.numpy(), lambda x: x
        ours["add"] = theirs["add"] = sum  # of Python, which adds one number after the other
        ours["numbers"] = [UncertainTensor(number, 0.1) for number in value.tolist()]
        theirs["numbers"] = [library("uncertainties").ufloat(number, 0.1) for number in value.tolist()]
        sides = Side("add(numbers).std", ours), Side("add(numbers).std_dev", theirs)
        yield f"uncertainties: std of sum of a list, n={n}", *sides, float, float


def against_scipy_sparse() -> Iterator[Comparison]:
    sparse = library("scipy.sparse")
    rng = np.random.default_rng(0)
    for n in (100, 3_000, 100_000):
        matrix = sparse.random_array((n, n), density=min(10 / n, 0.1), format="csr", rng=rng)
        vector = rng.normal(size=n)
        ours = {"a": SparseTensor.from_scipy(matrix), "x": dk.asarray(vector), "matrix": matrix}
        theirs = {"a": matrix, "x": vector, "matrix": matrix}
        for code in ("a @ x", "a.T @ x", "a @ a", "a + a", "a + a.T", "a * a", "a * 2.0", "a.sum()", "a.sum(axis=0)"):
            yield f"scipy.sparse: {code}, n={n}", Side(code, ours), Side(code, theirs), sparse_sum, sparse_sum
        sides = Side("make(matrix)", {**ours, "make": SparseTensor.from_scipy}), Side("matrix.tocoo().tocsr()", theirs)
        yield f"scipy.sparse: from_scipy, n={n}", *sides, sparse_sum, sparse_sum


def sparse_sum(x: Any) -> Any:
    """Return the sums of the columns, or a number."""
    return np.asarray(x.sum(axis=0)) if x.ndim == 2 else np.asarray(x)


CHAIN = "(((a+b)*a-b)*2+1)**2"


def by_hand(a: Any, b: Any) -> Any:
    """Return the chain by NumPy's functions on blocks that fit into the cache."""
    result, buffer = np.empty(a.shape), np.empty(32_768)
    for start in range(0, a.size, buffer.size):
        x, y, whole = (array[start : start + buffer.size] for array in (a, b, result))
        block = buffer[: x.size]
        np.add(x, y, out=block)
        np.multiply(block, x, out=block)
        np.subtract(block, y, out=block)
        np.multiply(block, 2, out=block)
        np.add(block, 1, out=block)
        np.square(block, out=whole)
    return result


def against_numexpr() -> Iterator[Comparison]:
    a, b = np.random.default_rng(0).normal(size=(2, 10**7))
    memory, other = np.empty_like(a), np.empty_like(a)
    plain = {"a": a, "b": b, "sum": np.sum, "hand": by_hand}
    ours = {"a": LazyTensor(a), "b": LazyTensor(b), "memory": memory}
    rows = [
        ("NumPy", CHAIN, CHAIN, f"({CHAIN}).evaluate()"),
        ("NumPy on blocks by hand", CHAIN, "hand(a, b)", f"({CHAIN}).evaluate()"),
        ("NumPy", f"{CHAIN}, ours with out=", CHAIN, f"({CHAIN}).evaluate(out=memory)"),
        ("NumPy", "sum((a-b)**2)", "sum((a-b)**2)", "((a-b)**2).sum().evaluate()"),
    ]
    for peer, work, theirs, code in rows:
        yield f"{peer}: {work}, n=1e7", Side(code, ours), Side(theirs, plain), np.asarray, np.asarray
    numexpr = library("numexpr")
    numexpr.set_num_threads(1)
    for n in (1_000, 100_000):
        names = {"a": a[:n], "b": b[:n]}
        lazy = {name: LazyTensor(array) for name, array in names.items()}
        for code in (CHAIN, "a/(1+b*b)"):
            sides = (
                Side(f"({code}).evaluate()", lazy),
                Side(f"f({code!r}, names)", {"f": numexpr.evaluate, "names": names}),
            )
            yield f"numexpr: {code}, n={n}", *sides, np.asarray, np.asarray
    plain = {"evaluate": numexpr.evaluate, "names": {"a": a, "b": b}, "memory": other}
    for work, options in ((CHAIN, ""), (f"{CHAIN}, out=", ", out=memory"), ("sum((a-b)**2)", "")):
        formula = work.removesuffix(", out=")
        code = f"({formula}).evaluate({options.removeprefix(', ')})" if "sum" not in work else rows[-1][-1]
        sides = Side(code, ours), Side(f"evaluate({formula!r}, names{options})", plain)
        yield f"numexpr: {work}, n=1e7", *sides, np.asarray, np.asarray


def against_plain_weights() -> Iterator[Comparison]:
    rng = np.random.default_rng(0)
    dense = dk.asarray(rng.normal(size=(1024, 1024)).astype(np.float32))
    lora = LoraTensor.from_dense(dense, rank=8)
    for name, weight in (("int8", QuantizedTensor.from_dense(dense)), ("LoRA of rank 8", lora)):
        for rows in (1, 256):
            x = dk.asarray(rng.normal(size=(rows, 1024)).astype(np.float32))
            same = {"x": x, "w": weight.to_dense()}
            sides = Side("x @ w.mT", {"x": x, "w": weight}), Side("x @ w.mT", same)
            yield f"plain array: x @ w.mT, {name}, {rows} rows", *sides, np.asarray, np.asarray


ROWS = (
    *(against_pint, against_numpy_ma, against_xarray, against_uncertainties),
    *(against_scipy_sparse, against_numexpr, against_plain_weights),
)


def ratio(ours: Side, theirs: Side, repeats: int = 15, seconds: float = 0.02) -> tuple[float, float]:
    """Return the seconds of both sides, by turns of about some seconds each; fewer of what takes much longer."""
    timers = [ours.timer(), theirs.timer()]
    counts = [max(1, int(seconds / max(timer.timeit(1), 1e-7))) for timer in timers]
    best = [float("inf"), float("inf")]
    calls = sum(count * timer.timeit(1) for count, timer in zip(counts, timers, strict=True))
    for _ in range(max(3, min(repeats, int(repeats * seconds * 4 / calls)))):
        for i, timer in enumerate(timers):
            best[i] = min(best[i], timer.timeit(counts[i]) / counts[i])
    return best[0], best[1]


def lines() -> Iterator[str]:
    """Yield the table as Markdown."""
    yield "| other library | work | dispatchkit | other | ratio |\n| --- | --- | --- | --- | --- |"
    for rows in ROWS:
        try:
            for work, ours, theirs, of_ours, of_theirs in rows():
                found, wanted = of_ours(ours.result()), of_theirs(theirs.result())
                single = np.asarray(wanted).dtype == np.float32
                np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-3 if single else 1e-12)
                own, other = ratio(ours, theirs)
                peer, _, code = work.partition(": ")
                yield f"| {peer} | `{code}` | {own * 1e6:,.1f} µs | {other * 1e6:,.1f} µs | {own / other:.2f} |"
        except Unavailable as error:
            yield f"| {error} | | | | |"

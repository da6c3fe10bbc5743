"""What indexing and changes of shape cost by unyt, astropy, Pint, numpy.ma, xarray, uncertainties and subclasses.

Ratios of both sides by turns on one thread, the least of the repeats. Below 1 is faster than the peer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit import accelerator
from dispatchkit.types import MaskedTensor, NamedTensor, QuantityTensor, UncertainTensor

from .harness import Effort, Side, Unavailable, measure
from .peers import library

__all__ = ["lines"]

EFFORT = Effort(repeats=15, seconds=2e-3)
SIZE = 100
VECTOR = ("x[3]", "x[::2]", "x[1:-1]", "x[keys]", "x[chosen]", "list(x)", "x.reshape((10, 10))")
MATRIX = ("x[1, 2]", "x[1]", "x[:, 1]", "x[2:5, ::2]", "x.T")
ASSIGNED = ("x[3] = v", "x[::2] = v")
ASSIGNED_PLAIN = ("x[keys] = v", "x[chosen] = v")
WRITES = (*ASSIGNED, *ASSIGNED_PLAIN)
NAMES = {"keys": np.array([4, 2, 7]), "chosen": np.arange(SIZE) % 3 == 0}

Case = tuple[str, str, Side, Side]


def pairs(peer: str, make: Callable[[Any], Any], other: Callable[[Any], Any], left_out: tuple[str, ...] = ()) -> Any:
    """Yield the rows of a type and of its peer, which are made of the same numbers."""
    data = np.linspace(1.0, 2.0, SIZE)
    for codes, numbers in ((VECTOR, data), (MATRIX, data.reshape(10, 10))):
        ours, theirs = {"x": make(numbers), **NAMES}, {"x": other(numbers), **NAMES}
        for code in codes:
            if code not in left_out:
                yield peer, code, Side(code, ours), Side(code, theirs)
    ours, theirs = ({"x": of(data.copy()), "v": of(np.array(3.0)), **NAMES} for of in (make, other))
    for code in WRITES:
        if code not in left_out:
            yield peer, code, Side(code, ours), Side(code, theirs)


def against_unyt() -> Iterator[Case]:
    unyt = library("unyt")
    yield from pairs("unyt", lambda x: QuantityTensor(x, "m"), lambda x: unyt.unyt_array(x, "m"))


def against_astropy() -> Iterator[Case]:
    units = library("astropy.units")
    yield from pairs("astropy", lambda x: QuantityTensor(x, "m"), lambda x: x * units.m)


def against_pint() -> Iterator[Case]:
    registry = library("pint").UnitRegistry()
    yield from pairs("Pint", lambda x: QuantityTensor(x, "m"), lambda x: x * registry.m)


def against_numpy_ma() -> Iterator[Case]:
    def valid(x: Any) -> Any:
        return np.arange(x.size).reshape(x.shape) % 3 > 0 if x.ndim else np.array(True)

    yield from pairs(
        "numpy.ma", lambda x: MaskedTensor(x.copy(), valid(x)), lambda x: np.ma.masked_array(x.copy(), ~valid(x))
    )


def against_xarray() -> Iterator[Case]:
    array = library("xarray").DataArray

    def names(x: Any) -> tuple[str, ...]:
        return ("t", "p")[: x.ndim]

    left_out = ("x.reshape((10, 10))", "x[chosen]", "x[chosen] = v")
    yield from pairs("xarray", lambda x: NamedTensor(x, names(x)), lambda x: array(x, dims=names(x)), left_out)


def against_uncertainties() -> Iterator[Case]:
    made = library("uncertainties.unumpy")

    def other(x: Any) -> Any:
        return made.uarray(x, np.full_like(x, 0.1)) if x.ndim else library("uncertainties").ufloat(float(x), 0.1)

    yield from pairs("uncertainties", lambda x: UncertainTensor(x, np.full_like(x, 0.1)), other, WRITES)


def against_subclass() -> Iterator[Case]:
    class Ours(dk.Tensor):
        pass

    class Theirs(np.ndarray):
        pass

    yield from pairs("ndarray subclass", Ours, lambda x: x.view(Theirs))


def against_torch_subclass() -> Iterator[Case]:
    torch = library("torch")

    class Ours(dk.Tensor):
        pass

    class Theirs(torch.Tensor):  # type: ignore[misc, name-defined]  # any
        pass

    yield from pairs("torch.Tensor subclass", Ours, lambda x: torch.tensor(x).as_subclass(Theirs), ("list(x)",))


def against_ndarray() -> Iterator[Case]:
    yield from pairs("NumPy", dk.asarray, np.asarray)


PEERS = (
    *(against_unyt, against_astropy, against_pint, against_numpy_ma, against_xarray),
    *(against_uncertainties, against_subclass, against_torch_subclass, against_ndarray),
)


def lines() -> Iterator[str]:
    """Yield the ratios as a table in Markdown, a column for each peer, and their geometric means."""
    found: dict[str, dict[str, float]] = {}
    missing = []
    for rows in PEERS:
        try:
            for peer, work, ours, theirs in rows():
                own, other = measure(ours, theirs, EFFORT)
                found.setdefault(peer, {})[work] = own / other
        except Unavailable as error:
            missing.append(str(error))
    yield f"The accelerator is {accelerator.state}."
    yield f"\n| | {' | '.join(found)} |\n| {'--- | ' * (len(found) + 1)}".rstrip()
    for work in (*VECTOR, *MATRIX, *WRITES):
        yield f"| `{work}` | {' | '.join(_shown(ratios.get(work)) for ratios in found.values())} |"
    yield f"| geometric mean | {' | '.join(_shown(_mean(ratios.values())) for ratios in found.values())} |"
    yield from missing


def _mean(ratios: Collection[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def _shown(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    return f"{ratio:.2g}" if ratio < 100 else f"{ratio:.0f}"

"""Shorter ways for NumPy arrays: declared by `def_numpy`, and the same results as the body's."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import dispatchkit as dk
from dispatchkit.errors import RegistrationError
from dispatchkit.graph.numpy_namespace import numpy_namespace
from dispatchkit.ops.declared import DeclaredOperation
from dispatchkit.ops.mistakes import MISTAKES
from dispatchkit.ops.samples import Sample, draw, sample
from dispatchkit.protocol.kinds import kinds
from tests.declared import OPERATIONS, flat
from tests.values.inputs import DTYPES, LAYOUTS, drawn
from tests.values.test_values import FURTHER, REDUCED

# Calls that are compared here alone: of some, NumPy's functions give something else than the body.
SPREAD = [sample(draw(2, 3), correction=7), sample(draw(2, 3), correction=-1), sample(draw(2, 3), axis=0, dtype="f4")]
APART = {
    "nanvar": SPREAD,
    "nanstd": SPREAD,
    "nanmean": [sample(draw(2, 3), dtype="f4"), sample(draw(2, 3), dtype=int)],
    "pad": [
        *(sample(draw(3, 2), {0: (4, 7), -1: (1, 0)}, mode) for mode in ("edge", "reflect", "symmetric", "wrap")),
        *(sample(draw(1, 0), ((2, 1), (0, end)), mode) for mode in ("edge", "reflect", "wrap") for end in (0, 1)),
        *(sample(draw(2), 1, constant_values=value) for value in (1.5, np.nan, 2**70, 1j, True, np.int8(3), "a")),
        *(sample(draw(2), width) for width in (True, 1.0, -1, (1, 2, 3), "a", np.int8(2), np.asarray([1, 2]))),
        sample(draw(2, 2), 1, "no such mode"),
        sample(draw(0), 2, constant_values=((1.0, 2.0),)),
    ],
    "linspace": [
        *(sample(0.0, stop, 5) for stop in (1.0, -3.3, 0.0, np.inf, 5e-324, 1e308)),
        *(sample(-1e308, 1e308, num, endpoint=endpoint) for num in (0, 1, 2, 7) for endpoint in (True, False)),
        sample(1.0, 2.0, 3, dtype="f4"),
        sample(1.0, 2.0, 3, device="cpu"),
    ],
    "unique_values": [sample(draw(40, 40)), sample(draw(40, 40, low=-1000, high=1e6))],
    "floor_divide": [
        sample(draw(70, 70), draw(70, 70)),
        sample(draw(2, 3), np.inf),
        sample(-np.inf, draw(3)),
        sample(draw(2, 3), 2.0),
    ],
}


def shorter_ways() -> Iterator[Any]:
    for name, entry in OPERATIONS.items():
        if not isinstance(entry.on_numpy, partial):
            further = [*FURTHER.get(entry.name, ()), *APART.get(entry.name, ())]
            further += REDUCED if entry.kind is kinds.reduction else ()
            for index, call in enumerate([*entry.samples, *further]):
                yield pytest.param(entry, call, id=f"{name.removeprefix('dispatchkit.')}-{index}")


@dataclass(frozen=True)
class Outcome:
    """What a call gave: arrays or the type of an error, the memory of its arguments they share, and warnings."""

    results: Any
    shared: list[bool]
    warned: set[str]


def arrays_of(args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    return [x for x in [*flat(args), *kwargs.values()] if isinstance(x, np.ndarray)]


def outcome(compute: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Outcome:
    given = arrays_of(args, kwargs)
    before = [x.tobytes() for x in given]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            results: Any = [np.asarray(r) for r in flat(compute(*args, **kwargs))]
        except (*MISTAKES, ZeroDivisionError, AttributeError) as error:
            results = type(error)
    assert [x.tobytes() for x in given] == before, "an argument was changed"
    shared = [] if isinstance(results, type) else [any(np.may_share_memory(r, x) for x in given) for r in results]
    # What was computed when a value overflowed is another matter than that one did.
    return Outcome(results, shared, {str(one.message).partition(" encountered")[0] for one in caught})


def same(entry: DeclaredOperation, args: list[Any], kwargs: dict[str, Any], said: str) -> None:
    """Assert that the shorter way gives what the body gives, and warns of nothing that the body is silent of."""
    found = outcome(entry.on_numpy, args, kwargs)
    wanted = outcome(partial(entry.body_of_namespace, numpy_namespace), args, kwargs)
    if wanted.results is AttributeError:
        return  # a number, of which the body asks what arrays have
    assert found.warned <= wanted.warned, said
    if isinstance(wanted.results, type) or isinstance(found.results, type):
        assert found.results == wanted.results, said
        return
    assert [r.dtype for r in found.results] == [r.dtype for r in wanted.results], said
    assert not any(one and not other for one, other in zip(found.shared, wanted.shared, strict=True)), said
    if entry.name == "empty":
        assert [r.shape for r in found.results] == [r.shape for r in wanted.results], said
        return
    single = any(x.dtype.char in "fF" for x in [*wanted.results, *arrays_of(args, kwargs)])
    for one, other in zip(found.results, wanted.results, strict=True):
        close = 1e-4 if single else 1e-10
        npt.assert_allclose(one, other, rtol=close, atol=close, equal_nan=True, strict=True, err_msg=said)


@pytest.mark.parametrize(("entry", "call"), list(shorter_ways()))
def test_a_shorter_way_gives_what_the_body_gives(entry: DeclaredOperation, call: Sample) -> None:
    for dtype in DTYPES:
        for layout in LAYOUTS:
            for edges in (False, True):
                said = f"{entry.name} of {dtype}, {layout}, {'with' if edges else 'without'} infinities and NaN"
                same(entry, *drawn(call, dtype, layout, edges), said)


INF, NAN = np.inf, np.nan
# What stands at every other place, or at all of them: the short cuts ask for NaN and infinities.
AWKWARD = [(NAN,), (INF,), (-INF,), (INF, -INF), (NAN, INF), (0.0, INF), (NAN, INF, -INF), (0.0,), (-0.0, NAN), (1e38,)]


@pytest.mark.parametrize(("entry", "call"), list(shorter_ways()))
def test_a_shorter_way_gives_what_the_body_gives_of_awkward_numbers(entry: DeclaredOperation, call: Sample) -> None:
    for dtype in map(np.dtype, ("float32", "float64", "complex128")):
        for numbers in AWKWARD:
            for step in (1, 2):
                args, kwargs = drawn(call, dtype, "contiguous", edges=False)
                for x in arrays_of(args, kwargs):
                    if x.dtype == dtype and x.size:
                        x.flat[::step] = np.resize(numbers, x.size)[::step]
                same(entry, args, kwargs, f"{entry.name} of {dtype}, {numbers} at every place of {step}")


@pytest.mark.parametrize(("entry", "call"), list(shorter_ways()))
def test_a_shorter_way_takes_the_numbers_that_the_body_takes(entry: DeclaredOperation, call: Sample) -> None:
    args, kwargs = drawn(call, np.dtype("float64"), "contiguous", edges=False)
    for place, x in enumerate(args):
        if isinstance(x, np.ndarray):
            for number in (2, 0.5, True, np.float32(0.5), np.int64(1), np.asarray(1.5)):
                given = [*args[:place], number, *args[place + 1 :]]
                same(entry, given, kwargs, f"{entry.name} of {type(number).__name__} as argument {place}")


def test_a_declared_way_computes_plain_tensors_alone() -> None:
    ways = []

    @dk.operation
    def halved(xp: Any, x: dk.Tensor, /, *, times: int = 1) -> Any:
        ways.append("body")
        return x / 2**times

    @halved.def_numpy
    def halved_numpy(x: Any, /, *, times: int = 1) -> Any:
        ways.append("NumPy")
        return x / 2**times

    ways.clear()
    assert halved(dk.ones(2), times=2).tolist() == [0.25, 0.25]
    assert ways == ["NumPy"]
    x = dk.tensor([1.0], requires_grad=True)
    halved(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.5]
    assert ways == ["NumPy", "body"]


def test_a_way_declared_after_a_call_counts_from_the_next() -> None:
    @dk.operation(kind=dk.kinds.elementwise)
    def marked(xp: Any, x: Any, /) -> Any:
        return x + 1

    assert marked(dk.zeros(1)).tolist() == [1.0]
    marked.def_numpy(lambda x, /: x + 2)
    assert marked(dk.zeros(1)).tolist() == [2.0]


def test_a_result_of_a_users_way_shares_no_memory_unseen() -> None:
    @dk.operation(kind=dk.kinds.elementwise)
    def same(xp: Any, x: Any, /) -> Any:
        return x + 0

    same.def_partial(lambda xp, y, x: 1)
    same.def_numpy(lambda x, /: x)
    x = dk.zeros(2)
    y = same(x)
    y += 1
    assert x.tolist() == [0.0, 0.0]


def test_a_way_takes_the_parameters_of_the_operation() -> None:
    @dk.operation
    def shifted(xp: Any, x: dk.Tensor, /, *, by: float = 1.0) -> Any:
        return x + by

    def without_default(x: Any, /, *, by: float) -> Any:
        return x + by

    with pytest.raises(RegistrationError) as info:
        shifted.def_numpy(without_default)
    assert str(info.value) == (
        "without_default cannot compute tests.shifted on NumPy arrays: write def without_default(x, /, *, by=1.0)"
    )
    assert shifted(dk.zeros(1)).tolist() == [1.0]

"""`vmap` of every operation against a loop: the calls follow from the declarations."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Sample
from dispatchkit.errors import LoopWarning, TransformError
from dispatchkit.func import vmap
from dispatchkit.protocol.kinds import kinds
from tests.declared import by_operation
from tests.func.support import agree, flat, one_by_one

BATCH = 3
OPERATIONS = {
    name.removeprefix("dispatchkit."): entry
    for name, entry in dk.tensor_protocol.operations.items()
    if isinstance(entry, DeclaredOperation) and name.startswith("dispatchkit.")
}
UNKNOWN_SHAPE = {"argwhere", "bincount", "nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"}
# Why no call of an operation is compared with a loop here; whoever adds one states samples or a reason.
UNTESTED = {
    "setitem": "gives nothing; test_vmap_indexing compares what it assigns",
    "empty_like": "gives memory as it was found",
} | dict.fromkeys(UNKNOWN_SHAPE, "refused, see below")
# What is called for one element after the other.
LOOPS = {
    "repeat": "an array of counts that differs gives results of other lengths, unless the sums agree",
}


@dataclass(frozen=True)
class Problem:
    """An operation as a function of its arrays, and the arrays of a batch of calls, the batch in front."""

    func: Callable[..., Any]
    stacked: list[dk.Tensor]

    def inputs(self, chosen: tuple[bool, ...]) -> list[dk.Tensor]:
        return [x if one else x[0] for x, one in zip(self.stacked, chosen, strict=True)]


def problem(entry: DeclaredOperation, sample: Sample, size: int = BATCH) -> Problem:
    """Draw the arrays of a call once for each element of a batch."""
    calls = [sample.make(np.random.default_rng(100 + index)) for index in range(size)]
    drawn = [
        [v for _, v in entry.parameters.values(args, kwargs) if isinstance(v, np.ndarray)] for args, kwargs in calls
    ]
    args, kwargs = calls[0]

    def func(*arrays: Any) -> Any:
        given = iter(arrays)
        own, keywords = dk.tensor_protocol.map_arguments(
            entry.function, args, kwargs, lambda name, value: next(given) if isinstance(value, np.ndarray) else value
        )
        return entry.function(*own, **keywords)

    return Problem(func, [dk.tensor(np.stack(column)) for column in zip(*drawn, strict=True)])


CALLS = [
    pytest.param(entry, sample, id=f"{name}-{index}")
    for name, entry in OPERATIONS.items()
    if entry.kind is not kinds.random and name not in UNTESTED
    for index, sample in enumerate(entry.samples)
    if sample.arrays(entry.parameters)
]


def subsets(count: int) -> list[tuple[bool, ...]]:
    """Return which arrays are batched: every choice of up to three, else all of them and the first alone."""
    if count > 3:
        return [(True,) * count, (True,) + (False,) * (count - 1)]
    return [chosen for chosen in itertools.product((True, False), repeat=count) if any(chosen)]


@by_operation(("entry", "sample"), CALLS)
def test_vmap_is_a_loop(entry: DeclaredOperation, sample: Sample) -> None:
    made = problem(entry, sample)
    for chosen in subsets(len(made.stacked)):
        inputs = made.inputs(chosen)
        dims = [0 if one else None for one in chosen]
        expected = one_by_one(made.func, dims, *inputs)
        with warnings.catch_warnings():
            if entry.name in LOOPS:
                warnings.simplefilter("ignore", LoopWarning)
            agree(vmap(made.func, in_dims=tuple(dims))(*inputs), expected)


@by_operation(("entry", "sample"), CALLS)
def test_vmap_along_other_axes(entry: DeclaredOperation, sample: Sample) -> None:
    if entry.name in LOOPS:
        pytest.skip("a loop as any other")
    made = problem(entry, sample)
    dims = tuple(-1 if index % 2 == 0 else min(1, x.ndim - 1) for index, x in enumerate(made.stacked))
    inputs = [dk.moveaxis(x, 0, dim) for x, dim in zip(made.stacked, dims, strict=True)]
    expected = one_by_one(made.func, dims, *inputs)
    found = vmap(made.func, in_dims=dims, out_dims=-1)(*inputs)
    agree(found, [np.moveaxis(y, 0, -1) for y in expected])


@by_operation(("entry", "sample"), CALLS)
def test_vmap_of_vmap(entry: DeclaredOperation, sample: Sample) -> None:
    """The outer batch holds the first array, the inner one the others: each operation meets two levels."""
    if entry.name in LOOPS:
        pytest.skip("a loop as any other")
    made = problem(entry, sample)
    first, *others = made.stacked
    outer, inner = (0, *(None for _ in others)), (None, *(0 for _ in others))
    if not others:
        twice = [dk.stack([first, first])]
        agree(vmap(vmap(made.func))(*twice), [np.stack([y, y]) for y in one_by_one(made.func, [0], first)])
        return

    def row(*arrays: Any) -> Any:
        return tuple(map(dk.asarray, one_by_one(made.func, inner, *arrays)))

    nested = vmap(vmap(made.func, in_dims=inner), in_dims=outer)
    agree(nested(*made.stacked), one_by_one(row, outer, *made.stacked))


@by_operation(("entry", "sample"), CALLS)
@pytest.mark.parametrize("size", [0, 1])
def test_vmap_of_a_small_batch(entry: DeclaredOperation, sample: Sample, size: int) -> None:
    if entry.name in LOOPS:
        pytest.skip("a loop as any other")
    if entry.name == "arange" and size == 0:
        pytest.skip("no element says how many values there are")
    made = problem(entry, sample)
    expected = flat(vmap(made.func)(*made.stacked))
    agree(vmap(made.func)(*[x[:size] for x in made.stacked]), [y[:size] for y in expected])


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_compared_with_a_loop(name: str) -> None:
    entry = OPERATIONS[name]
    if entry.kind is kinds.random or entry.parameters.nullary or name in UNTESTED:
        return
    assert any(sample.arrays(entry.parameters) for sample in entry.samples), (
        f"{name} states no samples with arrays, so vmap of it is not tested; state some, or say in UNTESTED why not"
    )


def test_the_table_of_reasons_is_up_to_date() -> None:
    assert set(UNTESTED) <= set(OPERATIONS)
    assert set(LOOPS) <= set(OPERATIONS)


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name not in UNTESTED])
def test_only_what_is_named_loops(name: str) -> None:
    entry = OPERATIONS[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for sample in entry.samples if entry.kind is not kinds.random else ():
            if sample.arrays(entry.parameters):
                made = problem(entry, sample)
                vmap(made.func)(*made.stacked)
    assert any(issubclass(one.category, LoopWarning) for one in caught) == (name in LOOPS)


@pytest.mark.parametrize("name", sorted(UNKNOWN_SHAPE))
def test_shapes_that_depend_on_values_are_refused(name: str) -> None:
    with pytest.raises(TransformError, match=rf"the shape of what dispatchkit.{name} gives depends on the values"):
        vmap(OPERATIONS[name].function)(dk.ones((2, 3)))


@pytest.mark.parametrize("like", ["empty_like", "zeros_like", "ones_like"])
def test_arrays_like_others_have_their_shape(like: str) -> None:
    found = vmap(OPERATIONS[like].function)(dk.ones((2, 3), dtype=dk.float32))
    assert (found.shape, found.dtype) == ((2, 3), dk.float32)


def test_t_of_more_than_two_axes_says_what_the_function_sees() -> None:
    with pytest.raises(ValueError, match=r"^t: x has the shape \(3, 4, 5\); "):
        dk.func.vmap(dk.t)(dk.ones((2, 3, 4, 5)))

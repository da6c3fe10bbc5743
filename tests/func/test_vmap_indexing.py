"""Indexing under `vmap`: any index that a function may write, with arrays that differ within the batch or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.errors import TransformError
from dispatchkit.func import grad, jvp, vmap
from tests.func.support import agree, one_by_one, product

BATCH = 3


@dataclass(frozen=True)
class Own:
    """Stands in an index for an array that differs within the batch: one of those given."""

    place: int


@dataclass(frozen=True)
class Problem:
    """An index for arrays of a shape, and the arrays that differ within the batch, the batch in front."""

    shape: tuple[int, ...]
    key: Any
    own: tuple[Any, ...]

    def filled(self, own: tuple[Any, ...]) -> Any:
        """Return the index with arrays in the place of those that differ."""
        if not isinstance(self.key, tuple):
            return own[self.key.place] if isinstance(self.key, Own) else self.key
        return tuple(own[part.place] if isinstance(part, Own) else part for part in self.key)

    def arrays(self) -> list[dk.Tensor]:
        return [dk.tensor(array) for array in self.own]


SLICES = [slice(None), slice(1, None), slice(None, None, 2), slice(None, None, -1)]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw indices of every kind of part, which NumPy accepts for each element of the batch."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=4)))
    selected = draw(st.sampled_from([(), (2,), (2,), (1,), (2, 1)]))
    parts: list[Any] = []
    own: list[Any] = []
    kinds = ["int", "slice", "None", "same", "own", "own", "own number", "list", "mask", "flag", "number"]

    def part(kind: str, length: int) -> Any:
        if kind == "int":
            return int(rng.integers(-length, length))
        if kind == "slice":
            return SLICES[int(rng.integers(len(SLICES)))]
        if kind == "same":
            return dk.tensor(rng.integers(-length, length, size=selected))
        if kind == "list":
            return rng.integers(-length, length, size=selected[-1:] or (1,)).tolist()
        if kind == "number":
            return np.int64(rng.integers(-length, length))
        if kind == "mask":
            return dk.tensor(rng.permutation(np.arange(length) < (selected[-1:] or (1,))[0]))
        own.append(rng.integers(-length, length, size=(BATCH, *(selected if kind == "own" else ()))))
        return Own(len(own) - 1)

    axis = 0
    while axis < len(shape) and draw(st.booleans() | st.just(True)):
        kind = draw(st.sampled_from(kinds))
        if kind in ("None", "flag"):
            parts.append(None if kind == "None" else True)
            if len(parts) > 5:
                break
        else:
            parts.append(part(kind, shape[axis]))
            axis += 1
    if draw(st.booleans()):
        behind = draw(st.lists(st.sampled_from(["int", "slice", "same", "own"]), max_size=len(shape) - axis))
        parts.append(Ellipsis)
        parts += [part(kind, shape[len(shape) - len(behind) + i]) for i, kind in enumerate(behind)]
    key = parts[0] if len(parts) == 1 and draw(st.booleans()) else tuple(parts)
    problem = Problem(shape, key, tuple(own))
    assume(accepted(problem))
    return problem


def accepted(problem: Problem) -> bool:
    """Return whether NumPy takes the index: arrays selected together must broadcast."""
    try:
        key = problem.filled(tuple(array[0] for array in problem.own))
        raw = tuple(map(as_raw, key)) if isinstance(key, tuple) else as_raw(key)
        np.zeros(problem.shape)[raw]
    except IndexError:
        return False
    return True


def as_raw(part: Any) -> Any:
    return part.numpy() if isinstance(part, dk.Tensor) else part


def values(problem: Problem, seed: int, *, batched: bool, cut: int) -> dk.Tensor:
    """Return a value for what the index selects, from its last axes, one of them perhaps of length one."""
    rng = np.random.default_rng(seed)
    key = problem.filled(tuple(dk.tensor(array[0]) for array in problem.own))
    shape = tuple(dk.zeros(problem.shape)[key].shape)[cut:]
    shape = tuple(1 if rng.random() < 0.2 else n for n in shape)
    return dk.tensor(rng.normal(size=(BATCH, *shape) if batched else shape))


def subject(problem: Problem, seed: int, *, batched: bool) -> dk.Tensor:
    shape = (BATCH, *problem.shape) if batched else problem.shape
    return dk.tensor(np.random.default_rng(seed).normal(size=shape))


def dims_of(*batched: bool, own: int) -> tuple[int | None, ...]:
    return (*(0 if one else None for one in batched), *(0,) * own)


PARTED = Problem((3, 2, 3), (Own(0), slice(None), [0, 1]), (np.asarray([[0, 2], [1, 1], [2, -1]]),))
BEHIND = Problem((2, 3), (slice(None), Own(0)), (np.asarray([[0, 2], [1, 1], [2, -1]]),))
EMPTY_ELLIPSIS = Problem((3, 3), (Own(0), Ellipsis, [0, 1]), (np.asarray([[0, 2], [1, 1], [2, -1]]),))
FLAG = Problem((2, 3), (True, Own(0), [0]), (np.asarray([0, 1, -1]),))
SHARED = Problem((3, 2, 3), ([2, 0], slice(None, None, -1), [0, 1]), ())


@settings(max_examples=100)
@given(problems(), st.integers(0, 9), st.booleans())
@example(PARTED, 0, True)
@example(PARTED, 0, False)
@example(BEHIND, 0, True)
@example(EMPTY_ELLIPSIS, 0, True)
@example(EMPTY_ELLIPSIS, 0, False)
@example(FLAG, 0, True)
@example(SHARED, 0, True)
def test_getitem_is_that_of_a_loop(problem: Problem, seed: int, batched: bool) -> None:
    batched = batched or not problem.own
    x, own = subject(problem, seed, batched=batched), problem.arrays()
    dims = dims_of(batched, own=len(own))

    def select(x: Any, *own: Any) -> Any:
        return x[problem.filled(own)]

    agree(vmap(select, in_dims=dims)(x, *own), one_by_one(select, dims, x, *own))


@settings(max_examples=60)
@given(problems(), st.integers(0, 9), st.booleans(), st.booleans(), st.integers(0, 4), st.booleans())
@example(PARTED, 0, True, True, 0, True)
@example(PARTED, 0, False, True, 1, False)
@example(BEHIND, 0, True, True, 0, False)
@example(SHARED, 0, True, True, 0, True)
@example(SHARED, 0, True, True, 3, False)
def test_index_put_is_that_of_a_loop(
    problem: Problem, seed: int, batched: bool, own_value: bool, cut: int, accumulate: bool
) -> None:
    batched = batched or not (problem.own or own_value)
    x, own = subject(problem, seed, batched=batched), problem.arrays()
    value = values(problem, seed, batched=own_value, cut=cut)
    dims = dims_of(batched, own_value, own=len(own))

    def put(x: Any, value: Any, *own: Any) -> Any:
        return dk.index_put(x, problem.filled(own), value, accumulate=accumulate)

    agree(vmap(put, in_dims=dims)(x, value, *own), one_by_one(put, dims, x, value, *own))


@settings(max_examples=60)
@given(problems(), st.integers(0, 9), st.booleans(), st.integers(0, 4))
@example(PARTED, 0, True, 0)
@example(BEHIND, 0, True, 1)
@example(SHARED, 0, True, 0)
def test_assignment_is_that_of_a_loop(problem: Problem, seed: int, own_value: bool, cut: int) -> None:
    x, own = subject(problem, seed, batched=True), problem.arrays()
    value = values(problem, seed, batched=own_value, cut=cut)
    dims = dims_of(True, own_value, own=len(own))

    def assign(x: Any, value: Any, *own: Any) -> Any:
        y = x.clone()
        y[problem.filled(own)] = value
        return y

    agree(vmap(assign, in_dims=dims)(x, value, *own), one_by_one(assign, dims, x, value, *own))


@settings(max_examples=30)
@given(problems(), st.integers(0, 9), st.booleans())
@example(PARTED, 0, False)
@example(BEHIND, 0, True)
def test_gradients_and_tangents_of_getitem_are_those_of_a_loop(problem: Problem, seed: int, batched: bool) -> None:
    batched = batched or not problem.own
    x, own = subject(problem, seed, batched=batched), problem.arrays()
    dims = dims_of(batched, own=len(own))

    def gradient(x: Any, *own: Any) -> Any:
        return grad(lambda x: (x[problem.filled(own)] ** 3).sum())(x)

    def tangent(x: Any, *own: Any) -> Any:
        return jvp(lambda x: x[problem.filled(own)] ** 2, (x,), (dk.cos(x),))

    agree(vmap(gradient, in_dims=dims)(x, *own), one_by_one(gradient, dims, x, *own))
    agree(vmap(tangent, in_dims=dims)(x, *own), one_by_one(tangent, dims, x, *own))


@settings(max_examples=30)
@given(problems(), st.integers(0, 9), st.integers(0, 2), st.booleans())
def test_tangents_and_gradients_of_index_put_are_transposes(
    problem: Problem, seed: int, cut: int, accumulate: bool
) -> None:
    x, own = subject(problem, seed, batched=True), problem.arrays()
    value = values(problem, seed, batched=True, cut=cut)
    rng = np.random.default_rng(seed)
    t, tv, ct = (dk.tensor(rng.normal(size=a.shape)) for a in (x, value, x))

    def put(x: Any, value: Any) -> Any:
        dims = dims_of(True, True, own=len(own))
        return vmap(
            lambda x, value, *own: dk.index_put(x, problem.filled(own), value, accumulate=accumulate), in_dims=dims
        )(x, value, *own)

    _, pushed = jvp(put, (x, value), (t, tv))
    _, pull = dk.func.vjp(put, x, value)
    np.testing.assert_allclose(product([pushed], [ct]), product([t, tv], pull(ct)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [0, 1])
def test_small_batches(size: int) -> None:
    x, own = dk.ones((size, 4)), dk.zeros((size, 2), dtype=dk.int64)
    assert vmap(lambda x, i: x[i])(x, own).shape == (size, 2)
    assert vmap(lambda x, i: dk.index_put(x, i, x[i] * 2))(x, own).shape == (size, 4)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0)])
def test_take(axis: int | None, dims: tuple[int | None, ...]) -> None:
    rng = np.random.default_rng(0)
    x = dk.tensor(rng.normal(size=(3, 2, 2) if dims[0] == 0 else (2, 2)))
    indices = dk.tensor(rng.integers(0, 2, size=(3, 4) if dims[1] == 0 else (4,)))

    def take(x: Any, indices: Any) -> Any:
        return dk.take(x, indices, axis=axis)

    agree(vmap(take, in_dims=dims)(x, indices), one_by_one(take, dims, x, indices))


def test_a_mask_that_differs_is_refused() -> None:
    x = dk.tensor([[1.0, -1.0], [2.0, 3.0]])
    with pytest.raises(TransformError, match=r"mask that differs within the batch .* use where\(mask, x1, x2\)"):
        vmap(lambda x: x[x > 0])(x)
    with pytest.raises(TransformError, match="mask that differs"):
        vmap(lambda x: dk.index_put(x, x > 0, 0.0))(x)


def test_assigning_what_differs_into_what_does_not_is_refused() -> None:
    target = dk.zeros(2)

    def write(x: Any) -> Any:
        target[0] = x
        return target

    with pytest.raises(TransformError, match=r"cannot be assigned into a tensor that is the same for all.*index_put"):
        vmap(write)(dk.ones(3))
    np.testing.assert_array_equal(target.numpy(), [0.0, 0.0])


def test_too_many_indices_name_the_axes_that_the_function_sees() -> None:
    with pytest.raises(IndexError, match="getitem: too many indices: 2 for an array of 1 axes"):
        vmap(lambda x: x[0, 0])(dk.ones((2, 3)))


def test_a_value_of_too_many_axes_is_refused() -> None:
    with pytest.raises(ValueError, match=r"index_put: a value of shape \(2, 2\) does not broadcast .* have 1 axes"):
        vmap(lambda x, v: dk.index_put(x, slice(0, 2), v))(dk.ones((3, 2)), dk.ones((3, 2, 2)))


def test_leading_axes_of_length_one_of_a_value_are_left_out_as_by_numpy() -> None:
    found = vmap(lambda x, v: dk.index_put(x, slice(0, 2), v))(dk.ones((3, 2)), dk.zeros((3, 1, 2)))
    np.testing.assert_array_equal(found.numpy(), np.zeros((3, 2)))

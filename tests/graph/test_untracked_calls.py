"""Calls that are computed at once: on plain tensors outside the graph, and on nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.declare.operation import DeclaredOperation


class Asked(dk.TensorFunctionMode):
    """Notes what it is asked, and passes on."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        self.names.append(func.__name__)
        return NotImplemented


CALLS: list[tuple[str, Callable[[Any], Any]]] = [
    ("concat", lambda x: dk.concat([x, x], axis=0)),
    ("stack", lambda x: dk.stack((x, x), axis=1)),
    ("take", lambda x: dk.take(x, dk.asarray([2, 0]), axis=0)),
    ("where", lambda x: dk.where(x > 0, x, 0.0)),
    ("vecdot", lambda x: dk.vecdot(x, x, axis=-1)),
    ("clip", lambda x: dk.clip(x, min=0.5, max=1.0)),
    ("einsum", lambda x: dk.einsum("i,j->ij", x, x)),
    ("average", lambda x: dk.average(x, weights=x + 3.0)),
    ("diff", lambda x: dk.diff(x, prepend=x[:1])),
    ("squeeze", lambda x: dk.squeeze(dk.reshape(x, (1, 3)), axis=0)),
    ("full", lambda x: dk.full((2,), x[0])),
]


@pytest.mark.parametrize(("name", "call"), CALLS, ids=[name for name, _ in CALLS])
def test_a_tensor_of_the_graph_anywhere_is_followed(name: str, call: Callable[[Any], Any]) -> None:
    plain = call(dk.asarray([0.25, 0.75, 1.5]))
    x = dk.asarray([0.25, 0.75, 1.5], requires_grad=True)
    tracked = call(x)
    assert tracked.tolist() == plain.tolist()
    assert not plain.requires_grad
    assert tracked.requires_grad
    with dk.no_grad():
        assert not call(x).requires_grad


@pytest.mark.parametrize(("name", "call"), CALLS, ids=[name for name, _ in CALLS])
def test_modes_see_it(name: str, call: Callable[[Any], Any]) -> None:
    x = dk.asarray([0.25, 0.75, 1.5])
    with Asked() as mode:
        call(x)
    assert mode.names[-1] == name


@pytest.mark.parametrize(("name", "call"), CALLS, ids=[name for name, _ in CALLS])
def test_a_subclass_keeps_its_type(name: str, call: Callable[[Any], Any]) -> None:
    class Kept(dk.Tensor):
        pass

    assert type(call(Kept(np.asarray([0.25, 0.75, 1.5])))) is Kept


def test_one_of_the_graph_among_many() -> None:
    x = dk.asarray([1.0, 2.0], requires_grad=True)
    y = dk.concat([dk.zeros(2), x, dk.zeros(1)])
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 1.0]


def test_gradients_reach_tensors_given_by_keyword() -> None:
    weights = dk.asarray([1.0, 3.0], requires_grad=True)
    dk.average(dk.asarray([0.0, 4.0]), weights=weights).backward()
    assert weights.grad is not None
    assert weights.grad.tolist() == [-0.75, 0.25]


def test_what_is_made_may_be_a_leaf() -> None:
    for made in (dk.zeros((2,), requires_grad=True), dk.full((2,), 1.0, requires_grad=True)):
        assert made.requires_grad
        assert made.is_leaf
    assert not dk.ones((2,), requires_grad=False).requires_grad


def test_shared_memory_is_known() -> None:
    x = dk.asarray([0.0, 1.0, 2.0])
    for view in (dk.flip(x, axis=0), dk.reshape(x, (3, 1)), dk.moveaxis(dk.reshape(x, (3, 1)), 0, 1), dk.asarray(x)):
        assert view._memory is not None
        assert view._memory is x._memory
    assert dk.concat([x])._memory is None
    assert dk.take(x, dk.asarray([0]), axis=0)._memory is None


def test_numpy_arrays_and_ducks_go_by_the_table() -> None:
    @dk.array_type(fallback=dk.fallback.refuse)
    class Duck:
        shape = (2,)
        dtype = dk.float64

    @dk.implements(dk.concat)
    def concat(arrays: list[Duck | dk.Tensor], /, *, axis: int = 0) -> str:
        return f"ducks along {axis}"

    x = dk.asarray([1.0, 2.0])
    assert dk.concat([x, np.asarray([3.0])]).tolist() == [1.0, 2.0, 3.0]
    assert dk.concat([x, Duck()], axis=1) == "ducks along 1"
    assert dk.where(np.asarray([True, False]), x, np.asarray([5.0, 6.0])).tolist() == [1.0, 6.0]
    with pytest.raises(TypeError, match=r"no implementation found for 'dispatchkit\.take'"):
        dk.take(x, Duck())


def test_a_body_that_looks_at_its_arguments_is_run_each_time() -> None:
    @dk.operation
    def total(xp: Any, x: dk.Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        if isinstance(axis, list):
            axis = tuple(axis)
        return xp.mean(x, axis=axis, keepdims=keepdims)

    @dk.operation(kind=dk.kinds.elementwise)
    def rooted(xp: Any, x: Any, /) -> Any:
        return xp.sqrt(x) if x is not None else x

    assert total(dk.ones((2, 3)), axis=[0, 1]).item() == 1.0
    entry = dk.tensor_protocol.operation(rooted)
    assert isinstance(entry, DeclaredOperation)
    assert not entry.implementation.passthrough
    assert rooted(dk.asarray([4.0])).tolist() == [2.0]


def test_what_makes_a_number_or_several_arrays_goes_the_longer_way() -> None:
    @dk.operation
    def largest(xp: Any, *, bits: int) -> Any:
        return np.float64(2.0**bits)

    @dk.operation
    def corners(xp: Any, *, n: int) -> tuple[Any, Any]:
        return xp.zeros((n,)), xp.ones((n,))

    assert largest(bits=3).item() == 8.0
    low, high = corners(n=2)
    assert (low.tolist(), high.tolist()) == ([0.0, 0.0], [1.0, 1.0])


def test_numbers_alone_are_computed_too() -> None:
    assert dk.where(True, 1.0, 2.0).item() == 1.0
    assert dk.clip(3.0, 0, 1).item() == 1.0


def test_an_argument_given_on_as_one_of_several_results_is_known_to_share_memory() -> None:
    @dk.operation
    def itself_and_next(xp: Any, x: dk.Tensor, /) -> tuple[Any, Any]:
        return x, x + 1

    x = dk.zeros(2)
    same, following = itself_and_next(x)
    assert same._memory is x._memory is not None
    assert following._memory is None


def test_several_results_keep_the_form_that_the_body_gives_them() -> None:
    class Parts(list[Any]):
        pass

    @dk.operation
    def halves(xp: Any, x: dk.Tensor, /) -> list[Any]:
        return Parts([x[:1], x[1:]])

    assert type(halves(dk.zeros(2))) is Parts


def test_random_calls_at_once_draw_as_the_others_do() -> None:
    def drawn(**options: Any) -> list[Any]:
        generator = dk.random.Generator(3)
        return [
            dk.random.uniform(-1.0, 3.0, shape=(2, 2), generator=generator, **options).tolist(),
            dk.random.normal(1.0, 2.0, shape=2, generator=generator, **options).tolist(),
        ]

    assert drawn() == drawn(requires_grad=True)
    assert dk.random.permutation(5, generator=dk.random.Generator(3)).dtype == dk.int64
    with pytest.raises(dk.RandomnessError, match=r"vmap: dispatchkit\.random\.uniform draws random numbers"):
        dk.func.vmap(lambda x: x + dk.random.uniform())(dk.zeros(2))

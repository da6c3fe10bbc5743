"""What the graph holds on to, how deep it may be, and whose memory gradients are."""

from __future__ import annotations

import functools
import gc
import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.autograd import grad
from dispatchkit.graph import sweep
from tests.graph.test_leaves import leaf


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


PROGRAMS: dict[str, Callable[[dk.Tensor], Any]] = {
    "arithmetic": lambda x: (x * x + 2 / x).sum(),
    "kept outputs": lambda x: dk.exp(dk.tanh(x)).sum(),
    "views": lambda x: x[1:].reshape(1, 1).T.sum(),
    "joining": lambda x: dk.concat([x, x]).sum(),
    "several outputs": lambda x: sum(part.sum() for part in dk.unstack(x)),
    "in place": lambda x: (x * 1).add_(1).mul_(x).sum(),
    "assignment": lambda x: assigned(x).sum(),
}


def assigned(x: dk.Tensor) -> dk.Tensor:
    y: dk.Tensor = dk.zeros(3)
    y[1:] = x
    return y


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("swept", [True, False])
def test_a_graph_is_freed_with_its_output(name: str, swept: bool) -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    loss = PROGRAMS[name](y)
    middle, node = weakref.ref(y), weakref.ref(loss.grad_fn)
    if swept:
        loss.backward()
    del y, loss
    assert middle() is None
    assert node() is None


@pytest.mark.usefixtures("no_collector")
def test_values_are_freed_by_the_backward_pass() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    loss = (y * y).sum()
    held = weakref.ref(y)
    del y
    assert held() is not None
    loss.backward()
    assert held() is None


@pytest.mark.usefixtures("no_collector")
def test_a_value_that_no_rule_reads_is_not_kept() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    held = weakref.ref(y)
    z = y + 1
    del y
    assert held() is None
    assert z.requires_grad


@pytest.mark.usefixtures("no_collector")
def test_a_leaf_is_freed_with_its_hooks() -> None:
    x = leaf(1.0)
    x.register_hook(lambda g: g * 2)
    x.register_post_accumulate_grad_hook(lambda p: None)
    x.sum().backward()
    held = weakref.ref(x)
    del x
    assert held() is None


@pytest.mark.usefixtures("no_collector")
def test_second_derivatives_are_freed() -> None:
    x = leaf(2.0)
    (g,) = grad((x**3).sum(), x, create_graph=True)
    node = weakref.ref(g.grad_fn)
    del g
    assert node() is None


def test_views_that_are_gone_leave_nothing_behind() -> None:
    x = dk.ones((3, 3))
    for _ in range(1000):
        x[0]
    memory: Any = x._memory
    assert memory is None or len(memory.views) < 100


def test_a_chain_of_a_hundred_thousand_operations() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1e-5
    y.backward()
    assert x.grad is not None
    assert x.grad.item() == 1.0


def test_a_long_chain_with_create_graph() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(5_000):
        y = y * 1.0
    (g,) = grad(y, x, create_graph=True)
    assert g.item() == 1.0


def test_a_long_chain_can_be_thrown_away_unswept() -> None:
    y = leaf(1.0)
    for _ in range(100_000):
        y = dk.exp(y * 0.0)
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


SHARING: dict[str, Callable[[dk.Tensor, dk.Tensor], dk.Tensor]] = {
    "add": lambda a, b: (a + b).sum(),
    "vector add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "concat": lambda a, b: dk.concat([a, b]).sum(),
    "stack": lambda a, b: dk.stack([a, b]).sum(),
    "reshape": lambda a, b: a.reshape((2, 1)).sum() + b.sum(),
    "same": lambda a, b: a + b + a,
    "where": lambda a, b: dk.where(dk.tensor([True, False]), a, b),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", SHARING)
def test_gradients_of_two_leaves_never_share_memory(name: str, create_graph: bool) -> None:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = SHARING[name](a, b)
    y.backward(dk.ones(y.shape), create_graph=create_graph)
    assert a.grad is not None
    assert b.grad is not None
    assert a.grad is not b.grad
    assert not np.may_share_memory(a.grad.array, b.grad.array)
    assert a.grad.array.flags.writeable
    assert b.grad.array.flags.writeable


def test_a_gradient_shares_no_memory_with_the_cotangent_it_came_from() -> None:
    x = leaf(1.0, 2.0)
    cotangent = np.ones(2)
    x.backward(cotangent)
    (x * 1).backward(dk.asarray(cotangent))
    assert x.grad is not None
    x.grad.zero_()
    assert cotangent.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("factor", ["w", "x"])
def test_changing_a_gradient_changes_no_other_tensor(factor: str) -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x * (w if factor == "w" else x)).sum().backward()
    assert x.grad is not None
    before = [x.tolist(), w.tolist()]
    x.grad += 100
    assert [x.tolist(), w.tolist()] == before


def test_a_gradient_kept_from_an_earlier_pass_is_not_changed_by_a_later_sum_of_others() -> None:
    x = leaf(1.0)
    y = x * 1
    y.retain_grad()
    (y * 2).sum().backward(retain_graph=True)
    kept = y.grad
    (y * 3).sum().backward()
    assert kept is not None
    assert kept.item() == 2.0


def test_the_gradients_that_grad_returns_share_no_memory() -> None:
    leaves = [leaf(1.0, 2.0) for _ in range(3)]
    found = grad((leaves[0] + leaves[1] + leaves[2]).sum(), leaves)
    for one, other in itertools.combinations(found, 2):
        assert not np.may_share_memory(one.array, other.array)


FAN_IN: dict[str, Callable[[list[dk.Tensor]], dk.Tensor]] = {
    "squares": lambda leaves: dk.concat([x * x for x in leaves]),
    "a sum": lambda leaves: functools.reduce(dk.add, leaves),
    "views": lambda leaves: dk.stack([x.reshape((2, 1)) for x in leaves]),
    "parts": lambda leaves: dk.concat(
        [x * part for x, part in zip(leaves, dk.unstack(dk.ones((200, 2))), strict=True)]
    ),
    "parts of a leaf": lambda leaves: dk.concat(
        [x * part for x, part in zip(leaves, dk.unstack(dk.ones((200, 2), requires_grad=True)), strict=True)]
    ),
}


@pytest.mark.parametrize("name", FAN_IN)
def test_the_memory_of_each_gradient_is_looked_at_a_few_times_however_many_branches_end(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[Any] = []
    of_memory = sweep._memory_key

    def counted(array: Any) -> int:
        looked_at.append(array)
        return of_memory(array)

    monkeypatch.setattr(sweep, "_memory_key", counted)
    branches = [leaf(1.0, float(i)) for i in range(200)]
    FAN_IN[name](branches).sum().backward()
    assert len(looked_at) <= 10 * len(branches)
    gradients = [x.grad.array for x in branches if x.grad is not None]
    assert len(gradients) == len(branches)
    assert not any(np.may_share_memory(one, other) for one, other in itertools.pairwise(gradients))

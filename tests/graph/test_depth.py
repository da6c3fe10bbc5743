"""Deep graphs: what they cost, how they are swept and thrown away, and what is let go on the way."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.autograd import detect_anomaly, grad
from dispatchkit.autograd.graph import saved_tensors_hooks
from tests.graph.test_leaves import leaf

DEEP = 100_000


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


STEPS: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda y: y + 1e-9,
    "argument kept": dk.sin,
    "output kept": dk.tanh,
    "two arguments": lambda y: y * y,
    "parameters": lambda y: y.reshape(1),
    "sequence": lambda y: dk.concat([y]),
    "several outputs": lambda y: dk.unstack(dk.stack([y]))[0],
}


def chain(step: Callable[[Any], Any], length: int) -> tuple[Any, Any]:
    x = leaf(0.5)
    y: Any = x
    for _ in range(length):
        y = step(y)
    return x, y


@pytest.mark.parametrize("name", ["elementwise", "argument kept", "output kept", "two arguments", "parameters"])
def test_a_node_costs_less_than_a_kilobyte(name: str) -> None:
    length = DEEP if name == "elementwise" else DEEP // 10
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        _, y = chain(STEPS[name], length)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert y.requires_grad
    # Node, tensor and array of eight bytes together.
    assert (after - before) / length < 1000


# Python lets the destruction of containers nest up to a depth of its own, from 3.13 on a greater one: a chain of plain
# objects needs as much there.
SMALL = (1024 if sys.version_info >= (3, 13) else 256) * 1024


def in_a_small_stack(work: Callable[[], None]) -> None:
    """Run in a thread whose stack has room for a few hundred C frames, or a few thousand."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  # raised again below
            failed.append(error)

    before = threading.stack_size(SMALL)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    if failed:
        raise failed[0]


@pytest.mark.parametrize("name", STEPS)
def test_deep_graphs_are_thrown_away_without_recursion(name: str) -> None:
    _, y = chain(STEPS[name], DEEP // 10)
    node = weakref.ref(y.grad_fn)

    def drop() -> None:
        nonlocal y
        y = None

    in_a_small_stack(drop)
    assert node() is None


CONTEXTS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "as it is": nullcontext,
    "hooks": lambda: saved_tensors_hooks(lambda x: x, lambda x: x),
    "anomaly": detect_anomaly,
}


@pytest.mark.parametrize("context", CONTEXTS)
def test_deep_graphs_of_watched_nodes(context: str) -> None:
    with CONTEXTS[context]():
        _, y = chain(dk.sin, DEEP // 20)
        x, z = chain(dk.sin, DEEP // 20)
        node = weakref.ref(y.grad_fn)

        def drop() -> None:
            nonlocal y
            y = None

        in_a_small_stack(drop)
        in_a_small_stack(z.backward)
    assert node() is None
    assert x.grad is not None


def test_deep_graphs_are_swept_without_recursion() -> None:
    x, y = chain(dk.sin, DEEP)
    in_a_small_stack(y.backward)
    expected, value = 1.0, 0.5
    for _ in range(DEEP):
        expected *= np.cos(value)
        value = np.sin(value)
    np.testing.assert_allclose(x.grad.numpy(), [expected])


def test_a_deep_graph_swept_for_some_inputs_alone() -> None:
    x, y = chain(STEPS["elementwise"], DEEP // 2)
    middle = y
    for _ in range(DEEP // 2):
        y = y + 1e-9
    in_a_small_stack(lambda: y.backward(inputs=[middle]))
    assert (middle.grad.item(), x.grad) == (1.0, None)


def test_a_deep_second_derivative() -> None:
    x, y = chain(lambda y: y * 1.0, DEEP // 50)

    def work() -> None:
        (g,) = grad(y * y, x, create_graph=True)
        g.backward()

    in_a_small_stack(work)
    np.testing.assert_allclose(x.grad.numpy(), [2.0])


def test_values_are_let_go_while_the_sweep_goes() -> None:
    alive: list[int] = []
    held: list[weakref.ref[Any]] = []
    x = leaf(*np.linspace(0.1, 1.0, 8))
    y = x
    for _ in range(10):
        y = y * 1
        y.register_hook(lambda g: alive.append(sum(ref() is not None for ref in held)))
        y = dk.sin(y)
        held.append(weakref.ref(y))
    y.sum().backward()
    # The last is held by its name; every step of the sweep lets one of the others go.
    assert alive == sorted(alive, reverse=True)
    assert alive[-1] <= 1


def test_the_sweep_needs_no_more_memory_than_the_forward() -> None:
    x = dk.ones(100_000, requires_grad=True)
    tracemalloc.start()
    try:
        y: Any = x
        for _ in range(30):
            y = dk.sin(y)
        _, forward = tracemalloc.get_traced_memory()
        total = y.sum()
        del y
        total.backward()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Beside what is saved there are the gradient, the partial derivative and their product, at most.
    assert peak < forward + 4 * x.nbytes


def test_threads_sweep_graphs_of_their_own() -> None:
    def work(seed: int) -> list[Any]:
        rng = np.random.default_rng(seed)
        x = dk.asarray(rng.standard_normal(20), requires_grad=True)
        w = dk.asarray(rng.standard_normal((20, 20)), requires_grad=True)
        y = x
        for _ in range(20):
            y = dk.tanh(w @ y) + x
        (g,) = grad((y * y).sum(), x, create_graph=True)
        (g * g).sum().backward()
        assert x.grad is not None
        assert w.grad is not None
        return [x.grad.numpy(), w.grad.numpy()]

    expected = [work(seed) for seed in range(12)]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(work, [*range(12)] * 3))
    for one, other in zip(found, expected * 3, strict=True):
        for mine, theirs in zip(one, other, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-10)


def test_threads_sweep_graphs_with_common_ground() -> None:
    x = leaf(*np.linspace(0.1, 1.0, 20))
    shared = dk.exp(dk.sin(x))
    losses = [(shared * k).sum() for k in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda loss: grad(loss, x, retain_graph=True)[0].numpy(), losses))
    for k, g in enumerate(found):
        np.testing.assert_allclose(g, k * np.exp(np.sin(x.detach().numpy())) * np.cos(x.detach().numpy()))


def test_threads_accumulate_in_the_same_leaf() -> None:
    w = leaf(*[1.0] * 10)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: [(w * 2.0).sum().backward() for _ in range(300)], range(8)))  # type: ignore[func-returns-value]
    finally:
        sys.setswitchinterval(interval)
    assert w.grad is not None
    np.testing.assert_array_equal(w.grad.numpy(), 2.0 * 300 * 8)


def test_the_graph_can_be_walked() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    first, second = dk.unstack(dk.stack([dk.exp(x) * w, w]))
    y = first + second
    seen: list[tuple[str, int]] = []
    waiting: list[Any] = [(y.grad_fn, 0)]
    while waiting:
        vertex, index = waiting.pop()
        seen.append((vertex.name, index))
        waiting += [entry for entry in reversed(vertex.next_functions) if entry[0] is not None]
    one_way = [
        ("StackBackward", 0),
        ("MultiplyBackward", 0),
        ("ExpBackward", 0),
        ("AccumulateGrad", 0),
        ("AccumulateGrad", 0),
        ("AccumulateGrad", 0),
    ]
    assert seen == [("AddBackward", 0), ("UnstackBackward", 0), *one_way, ("UnstackBackward", 1), *one_way]


def test_constants_are_none_in_the_walk() -> None:
    x = leaf(1.0)
    y: Any = (x * 2).grad_fn
    assert y.next_functions == ((x._node, 0), (None, 0))


def test_hooks_may_be_registered_while_the_sweep_goes() -> None:
    x = leaf(1.0)
    seen: list[str] = []
    early = x * 2
    late = early * 3

    def on_late(g: dk.Tensor) -> None:
        seen.append("late")
        late.register_hook(lambda g: seen.append("too late"))
        early.register_hook(lambda g: seen.append("early"))
        early.retain_grad()
        x.register_hook(lambda g: g * 10)

    late.register_hook(on_late)
    late.backward()
    assert seen == ["late", "early"]
    assert early.grad is not None
    assert early.grad.item() == 3.0
    assert x.grad is not None
    assert x.grad.item() == 60.0


def test_a_hook_may_remove_itself() -> None:
    x = leaf(1.0)
    seen: list[float] = []

    def once(g: dk.Tensor) -> None:
        seen.append(g.item())
        handle.remove()

    handle = x.register_hook(once)
    (x * 2).backward()
    (x * 3).backward()
    assert seen == [2.0]


def test_a_backward_pass_inside_a_hook() -> None:
    x, z = leaf(1.0), leaf(5.0)
    y = x * 2

    def hook(g: dk.Tensor) -> None:
        with dk.enable_grad():
            (z * g).backward()

    y.register_hook(hook)
    y.backward()
    assert x.grad is not None
    assert z.grad is not None
    assert (x.grad.item(), z.grad.item()) == (2.0, 1.0)

"""Whether operations record: contexts, decorators, threads and tasks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

import dispatchkit as dk
from tests.graph.test_leaves import leaf


def recorded() -> bool:
    return bool((leaf(1.0) * 2).requires_grad)


def test_operations_record_at_first() -> None:
    assert dk.is_grad_enabled()
    assert recorded()


def test_no_grad_records_nothing() -> None:
    with dk.no_grad():
        assert not dk.is_grad_enabled()
        assert not recorded()
    assert recorded()


def test_enable_grad_records_inside_no_grad() -> None:
    with dk.no_grad():
        with dk.enable_grad():
            assert recorded()
        assert not recorded()


@pytest.mark.parametrize("context", [dk.no_grad, lambda: dk.set_grad_enabled(False)], ids=["no_grad", "set"])
def test_an_exception_restores_recording(context: Callable[[], AbstractContextManager[None]]) -> None:
    with pytest.raises(LookupError), context():
        raise LookupError
    assert dk.is_grad_enabled()


def test_set_grad_enabled_acts_at_once() -> None:
    dk.set_grad_enabled(False)
    try:
        assert not recorded()
    finally:
        dk.set_grad_enabled(True)
    assert recorded()


@pytest.mark.parametrize("mode", [True, False])
def test_set_grad_enabled_in_a_with_block(mode: bool) -> None:
    with dk.set_grad_enabled(mode):
        assert recorded() is mode
    assert recorded()


def test_no_grad_as_a_decorator() -> None:
    without = dk.no_grad()(recorded)
    assert not without()
    assert recorded()
    assert without.__name__ == "recorded"


def test_enable_grad_as_a_decorator() -> None:
    with dk.no_grad():
        assert dk.enable_grad()(recorded)()
        assert not recorded()


def test_set_grad_enabled_as_a_decorator_acts_inside_the_function_alone() -> None:
    try:
        without = dk.set_grad_enabled(False)(recorded)
        assert dk.is_grad_enabled()
        assert not without()
        assert dk.is_grad_enabled()
    finally:
        dk.set_grad_enabled(True)


def test_a_decorated_function_may_call_itself() -> None:
    @dk.no_grad()
    def descend(depth: int) -> bool:
        return recorded() if depth == 0 else descend(depth - 1) or dk.is_grad_enabled()

    assert not descend(3)
    assert dk.is_grad_enabled()


def test_one_context_can_be_entered_again() -> None:
    context = dk.no_grad()
    for _ in range(2):
        with context, context:
            assert not dk.is_grad_enabled()
        assert dk.is_grad_enabled()


def test_another_thread_records_while_this_one_does_not() -> None:
    seen: list[bool] = []
    with dk.no_grad():
        thread = threading.Thread(target=lambda: seen.append(recorded()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_a_thread_that_does_not_record_leaves_this_one_alone() -> None:
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with dk.no_grad():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(10)
    assert recorded()
    leave.set()
    thread.join()


def test_tasks_do_not_see_each_others_setting() -> None:
    async def without(entered: asyncio.Event, leave: asyncio.Event) -> bool:
        with dk.no_grad():
            entered.set()
            await leave.wait()
            return recorded()

    async def both() -> tuple[bool, bool]:
        entered, leave = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(without(entered, leave))
        await entered.wait()
        here = recorded()
        leave.set()
        return here, await task

    assert asyncio.run(both()) == (True, False)


def test_a_graph_can_be_swept_while_recording_is_off() -> None:
    x = leaf(3.0)
    y = x * x
    with dk.no_grad():
        y.backward()
    assert x.grad is not None
    assert x.grad.item() == 6.0

"""Threads and asyncio tasks do not see each other's modes."""

import asyncio
import contextvars
import threading
from typing import Any

import pytest

from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.instance import FunctionMode
from dispatchkit.protocol.observers import live
from tests.protocol.support import Answer, unary
from tests.waiting import PATIENCE


class Saying(FunctionMode):
    def __new__(cls, protocol: DispatchProtocol, text: str) -> Any:
        return super().__new__(type(cls.__name__, (cls,), {"protocol": protocol}))

    def __init__(self, protocol: DispatchProtocol, text: str) -> None:
        self.text = text

    def __lib_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.text


PLAIN = ("body", 1, 2.0)


@pytest.fixture
def scale(protocol: DispatchProtocol) -> Answer:
    return unary(protocol)


def test_a_thread_starts_without_modes(protocol: DispatchProtocol, scale: Answer) -> None:
    found: list[Any] = []
    with Saying(protocol, "mine"):
        thread = threading.Thread(target=lambda: found.append(scale(1)))
        thread.start()
        thread.join()
        assert scale(1) == "mine"
    assert found == [PLAIN]


def test_two_threads_have_their_own_modes(protocol: DispatchProtocol, scale: Answer) -> None:
    both_inside = threading.Barrier(2, timeout=PATIENCE)
    found: dict[str, Any] = {}

    def run(text: str) -> None:
        with Saying(protocol, text):
            both_inside.wait()
            found[text] = scale(1)
            both_inside.wait()
        found[text, "after"] = scale(1)  # type: ignore[index]

    threads = [threading.Thread(target=run, args=(text,)) for text in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"one": "one", "two": "two", ("one", "after"): PLAIN, ("two", "after"): PLAIN}


def test_a_thread_may_be_given_the_modes(protocol: DispatchProtocol, scale: Answer) -> None:
    with Saying(protocol, "mine"):
        context = contextvars.copy_context()
    assert context.run(scale, 1) == "mine"
    assert scale(1) == PLAIN


def test_tasks_have_their_own_modes(protocol: DispatchProtocol, scale: Answer) -> None:
    async def run(text: str, mine: asyncio.Event, other: asyncio.Event) -> tuple[Any, Any]:
        with Saying(protocol, text):
            mine.set()
            await other.wait()
            inside = scale(1)
            await asyncio.sleep(0)
        return inside, scale(1)

    async def both() -> tuple[tuple[Any, Any], ...]:
        one, two = asyncio.Event(), asyncio.Event()
        return tuple(await asyncio.gather(run("one", one, two), run("two", two, one)))

    assert asyncio.run(both()) == (("one", PLAIN), ("two", PLAIN))


def test_a_task_takes_over_the_modes_around_its_start(protocol: DispatchProtocol, scale: Answer) -> None:
    async def call() -> Any:
        await asyncio.sleep(0)
        return scale(1)

    async def main() -> tuple[Any, Any]:
        with Saying(protocol, "around"):
            task = asyncio.create_task(call())
        return await task, scale(1)

    assert asyncio.run(main()) == ("around", PLAIN)


def test_a_cancelled_task_leaves_no_mode_behind(protocol: DispatchProtocol, scale: Answer) -> None:
    before = len(live)

    async def forever() -> None:
        with Saying(protocol, "forever"):
            await asyncio.Event().wait()

    async def main() -> Any:
        task = asyncio.create_task(forever())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return scale(1)

    assert asyncio.run(main()) == PLAIN
    assert len(live) == before

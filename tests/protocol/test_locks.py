"""A lock is let go after an interrupt, whenever that comes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.accelerator import core
from dispatchkit.locks import SectionLock
from tests.programs.faults.state import LOCKS, held_locks


class Stop(BaseException):
    pass


def interrupted_once_taken(lock: Any, function: Callable[[], object]) -> bool:
    """Call a function, with an interrupt as soon as it takes a lock; return whether it took it."""
    times: list[str] = []

    def profile(frame: Any, event: str, arg: Any) -> None:
        if event == "c_return" and getattr(arg, "__self__", None) is lock and arg.__name__ in ("acquire", "__enter__"):
            sys.setprofile(None)
            times.append(arg.__name__)
            raise Stop

    sys.setprofile(profile)
    try:
        function()
    except Stop:
        pass
    finally:
        sys.setprofile(None)
    return bool(times)


def is_free(lock: SectionLock) -> bool:
    """Return whether another thread can take a lock."""
    taken: list[bool] = []

    def look() -> None:
        taken.append(lock._lock.acquire(blocking=False))
        if taken[0]:
            lock._lock.release()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return taken[0]


def new_type() -> type:
    @dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
    class Scaled:
        def to_dense(self) -> Any:
            return dk.ones(2)

    return Scaled


def densified() -> None:
    with dk.densify(on="allow"):
        dk.sin(new_type()())


def accumulated() -> None:
    w = dk.ones(2, requires_grad=True)
    (w * 2).sum().backward()


TAKING: dict[str, Callable[[], object]] = {
    "accumulating": accumulated,
    "chains": densified,
    "journal": new_type,
    "ledger": densified,
    "records": new_type,
}


@pytest.mark.parametrize("name", LOCKS)
def test_an_interrupt_as_soon_as_a_lock_is_taken_leaves_it_free(name: str) -> None:
    taken = interrupted_once_taken(LOCKS[name], TAKING[name])
    # The compiled core has no place for an interrupt there.
    assert taken or (core is not None and name == "accumulating")
    assert held_locks() == []
    TAKING[name]()


def test_an_interrupt_as_soon_as_a_record_is_read_leaves_it_readable() -> None:
    x = dk.ones(2)
    with dk.record_calls() as record:
        dk.sin(x)
    assert interrupted_once_taken(record._reading._lock, lambda: record.calls)
    assert is_free(record._reading)
    assert [call.name for call in record.calls] == ["sin"]


def test_sections_run_one_at_a_time_and_may_run_others_inside() -> None:
    lock, counts = SectionLock(), [0]

    def count() -> int:
        before = counts[0]
        counts[0] = before + lock.run(lambda: 1)
        return counts[0]

    threads = [threading.Thread(target=lambda: [lock.run(count) for _ in range(500)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [2000]
    assert lock.run(count) == 2001


def test_an_error_of_a_section_comes_through_and_the_outer_section_goes_on() -> None:
    lock = SectionLock()

    def inner() -> None:
        raise KeyError("inner")

    def outer() -> bool:
        with pytest.raises(KeyError, match="inner"):
            lock.run(inner)
        return is_free(lock)

    assert not lock.run(outer)
    assert is_free(lock)


def test_an_interrupt_while_a_section_waits_leaves_the_lock_with_the_thread_that_has_it() -> None:
    lock, go_on = SectionLock(), threading.Event()
    inside = threading.Event()

    def stay() -> bool:
        inside.set()
        return go_on.wait(60)

    thread = threading.Thread(target=lock.run, args=(stay,))
    thread.start()
    try:
        assert inside.wait(60)
        # What `acquire` raises where a signal comes while it waits.
        waiting, lock._lock = lock._lock, Refusing(lock._lock)  # type: ignore[assignment]
        with pytest.raises(Stop):
            lock.run(lambda: None)
        lock._lock = waiting
        assert not is_free(lock)
    finally:
        go_on.set()
        thread.join()
    assert is_free(lock)


class Refusing:
    def __init__(self, lock: Any) -> None:
        self.release = lock.release

    def acquire(self) -> None:
        raise Stop


def test_a_decision_whose_keeping_is_interrupted_is_forgotten_by_the_next_registration() -> None:
    journal = dk.tensor_protocol.journal

    class Memory(dict[str, str]):
        def __setitem__(self, key: str, value: str) -> None:
            super().__setitem__(key, value)
            raise Stop

    class Cache:
        def __init__(self) -> None:
            self.memory = Memory()

        def clear(self) -> None:
            self.memory.clear()

    cache = Cache()
    with pytest.raises(Stop):
        journal.keep(cache, journal.generation, cache.memory, ("key",), "decision")
    journal.invalidate()
    assert cache.memory == {}

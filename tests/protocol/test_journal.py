"""The journal of registrations: decisions made before one are not kept, and a block of them is undone."""

from typing import Any

from dispatchkit.protocol.journal import Journal


class Cache:
    def __init__(self) -> None:
        self.memory: dict[Any, Any] = {}

    def clear(self) -> None:
        self.memory.clear()


def test_a_decision_is_kept_until_the_next_registration() -> None:
    journal, cache = Journal(), Cache()
    journal.keep(cache, journal.generation, cache.memory, (int, str), "decided")
    assert cache.memory == {int: {str: "decided"}}
    journal.make(lambda: lambda: None)
    assert cache.memory == {}


def test_a_decision_that_a_registration_overtook_is_not_kept() -> None:
    journal, cache = Journal(), Cache()
    begun = journal.generation
    journal.invalidate()
    journal.keep(cache, begun, cache.memory, (int, str), "out of date")
    assert cache.memory == {}


def test_a_block_is_undone_in_reverse_order_and_what_was_before_stays() -> None:
    journal, cache = Journal(), Cache()
    undone: list[str] = []
    journal.make(lambda: lambda: undone.append("before"))
    with journal.local_registrations():
        journal.make(lambda: lambda: undone.append("first"))
        with journal.local_registrations():
            journal.make(lambda: lambda: undone.append("inner"))
        journal.make(lambda: lambda: undone.append("last"))
        journal.keep(cache, journal.generation, cache.memory, (int,), "local")
    assert undone == ["inner", "last", "first"]
    assert cache.memory == {}


def test_a_library_that_loads_in_a_block_declares_for_good() -> None:
    journal = Journal()
    undone: list[str] = []
    journal.loaders.append(lambda: journal.on_undo(lambda: undone.append("loaded")))
    with journal.local_registrations():
        pass
    assert undone == []


def test_a_block_in_which_nothing_is_registered_forgets_no_decision() -> None:
    journal, cache = Journal(), Cache()
    journal.keep(cache, journal.generation, cache.memory, (int,), "decided")
    with journal.local_registrations():
        pass
    assert cache.memory == {int: "decided"}

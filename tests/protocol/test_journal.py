"""The journal of registrations: decisions made before one are not kept, and a block of them is undone."""

from typing import Any

from dispatchkit.protocol.journal import Journal, Meeting


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
    journal.loaders[lambda: journal.on_undo(lambda: undone.append("loaded"))] = None
    with journal.local_registrations():
        pass
    assert undone == []


def test_what_loads_once_may_bring_more_to_load() -> None:
    journal = Journal()
    loaded: list[str] = []

    def load_parts() -> None:
        loaded.append("parts")

    def load_whole() -> None:
        loaded.append("whole")
        journal.loaders[load_parts] = None

    journal.loaders[load_whole] = None
    journal.load_all()
    journal.load_all()
    assert loaded == ["whole", "parts"]


def test_a_block_in_which_nothing_is_registered_forgets_no_decision() -> None:
    journal, cache = Journal(), Cache()
    journal.keep(cache, journal.generation, cache.memory, (int,), "decided")
    with journal.local_registrations():
        pass
    assert cache.memory == {int: "decided"}


class Base: ...


class Derived(Base): ...


class Other: ...


def kept_with(*path: Any) -> tuple[Journal, Cache, Cache]:
    """Return a journal with a decision under a path, of the second of two caches of which both hold one."""
    journal, first, second = Journal(), Cache(), Cache()
    journal.keep(first, journal.generation, first.memory, (int,), "decided")
    journal.keep(second, journal.generation, second.memory, path, "decided")
    return journal, first, second


def test_a_registration_for_types_that_no_call_has_met_leaves_all_decisions() -> None:
    journal, first, second = kept_with(Derived, str)
    before = journal.generation
    journal.make(lambda: lambda: None, meeting=Meeting([Other]))
    assert first.memory
    assert second.memory
    assert journal.generation > before  # a decision that is being made may be about these types


def test_a_registration_for_a_superclass_of_what_calls_have_met_empties_the_tables() -> None:
    for path in ((Derived,), (str, (int, Derived))):
        journal, first, second = kept_with(*path)
        journal.make(lambda: lambda: None, meeting=Meeting([Base]))
        assert not first.memory
        assert not second.memory
        # No decision is left that it could meet.
        journal.keep(first, journal.generation, first.memory, (str,), "decided")
        journal.make(lambda: lambda: None, meeting=Meeting([Base]))
        assert first.memory


def test_a_registration_for_one_operation_empties_its_tables_alone() -> None:
    journal, first, second = kept_with(Derived)
    journal.make(lambda: lambda: None, meeting=Meeting([Base], cache=second))
    assert first.memory
    assert not second.memory


def test_other_types_of_a_rule_count_where_a_call_left_something_out() -> None:
    meeting = Meeting([Other], where_left_out=[Base])
    for path, left in (((Derived, str), True), ((Derived, type(None)), False), ((Derived, ()), False)):
        journal, _, second = kept_with(*path)
        journal.make(lambda: lambda: None, meeting=meeting)
        assert bool(second.memory) is left


def test_leaving_a_block_forgets_what_was_decided_in_it() -> None:
    journal, first, second = kept_with(Derived)
    with journal.local_registrations():
        journal.make(lambda: lambda: None, meeting=Meeting([Other]))
        assert first.memory
        journal.keep(second, journal.generation, second.memory, (Other,), "local")
    assert not first.memory
    assert not second.memory

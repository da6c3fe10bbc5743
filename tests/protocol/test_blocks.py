"""What `with` blocks set: left in any order, in generators, threads and tasks, and after an interrupt at any line."""

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.autograd.saved_values import _refusal
from dispatchkit.protocol.modes import current
from tests.programs.faults.injection import Injection
from tests.programs.faults.scenarios import CONTEXTS, MODES, SETTINGS, Context, Passing
from tests.programs.faults.state import context_state as state
from tests.programs.faults.state import modes_of

# Dropped where an error keeps them from being entered.
pytestmark = pytest.mark.filterwarnings("ignore:densify has no effect:RuntimeWarning")
each_context = pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS)


def alone(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test in a context of its own, where nothing is set."""

    @functools.wraps(test)
    def run(**kwargs: Any) -> None:
        contextvars.Context().run(test, **kwargs)

    return run


def suspended(context: Context) -> Generator[None, None, None]:
    with context():
        yield


def leave(generator: Generator[None, None, None]) -> str:
    """End a generator, and return the error that a mode raises."""
    try:
        next(generator, None)
    except dk.ModeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
@each_context
@alone
def test_generators_that_are_left_in_any_order_leave_nothing_on(context: Context, order: tuple[int, int, int]) -> None:
    before = state()
    for outer in CONTEXTS.values():
        if {context, outer} == {SETTINGS["saved_tensors_hooks"], SETTINGS["disable_saved_tensors_hooks"]}:
            continue  # they refuse each other
        generators = [suspended(make) for make in (outer, context, context)]
        on = [before]
        for generator in generators:
            next(generator)
            on.append(state())
        leave(generators[order[0]])
        assert (state() == on[2]) is (order[0] == 2)
        leave(generators[order[1]])
        assert (state() == on[1]) is (order[2] == 0)
        leave(generators[order[2]])
        assert state() == before


@pytest.mark.parametrize("context", MODES.values(), ids=MODES)
@alone
def test_a_mode_that_is_left_out_of_order_says_so_and_is_off(context: Context) -> None:
    first, second = suspended(context), suspended(Passing)
    next(first), next(second)
    name = type(context()).__name__
    assert leave(first) == f"{name} was left out of order: Passing is innermost; leave modes innermost first"
    assert [type(one) for one in modes_of(current())] == [Passing]
    assert leave(second) == ""
    assert current() is None


@alone
def test_a_mode_that_is_left_out_of_order_by_an_error_says_so_in_a_note() -> None:
    first, second = suspended(Passing), suspended(Passing)
    next(first), next(second)
    with pytest.raises(KeyError) as caught:
        first.throw(KeyError("mine"))
    text = "Passing was left out of order: Passing is innermost; leave modes innermost first"
    assert caught.value.__notes__ == [text]
    with pytest.raises(dk.ModeError, match="Passing was left out of order: no mode is active here"):
        Passing().__exit__(None, None, None) if leave(second) == "" else None
    assert current() is None


@pytest.mark.parametrize("modes", [(False, False), (False, True), (True, False)])
@alone
def test_the_grad_mode_of_a_block_ends_with_it_in_any_order(modes: tuple[bool, bool]) -> None:
    first, second = (suspended(dk.enable_grad if mode else dk.no_grad) for mode in modes)
    next(first), next(second)
    assert dk.is_grad_enabled() is modes[1]
    leave(first)
    assert dk.is_grad_enabled() is modes[1]
    leave(second)
    assert dk.is_grad_enabled() is True


def test_rules_of_local_registrations_that_are_left_out_of_order_are_undone_with_the_last() -> None:
    class Held:
        pass

    def register(text: str) -> Generator[None, None, None]:
        with dk.local_registrations():
            dk.implements(dk.sin, Held)(lambda x, /: text)
            yield

    first, second = register("first"), register("second")
    next(first), next(second)
    leave(first)
    assert dk.sin(Held()) == "second"
    leave(second)
    with pytest.raises(dk.ForeignArgumentError):
        dk.sin(Held())


@each_context
@alone
def test_threads_and_tasks_do_not_see_what_others_set(context: Context) -> None:
    before, found = state(), []

    async def set_it(inside: asyncio.Event, looked: asyncio.Event) -> None:
        with context():
            inside.set()
            await looked.wait()

    async def look(inside: asyncio.Event, looked: asyncio.Event) -> None:
        await inside.wait()
        found.append(state())
        looked.set()

    async def both() -> None:
        events = asyncio.Event(), asyncio.Event()
        await asyncio.gather(set_it(*events), look(*events))

    asyncio.run(both())
    with context():
        thread = threading.Thread(target=lambda: found.append(state()))
        thread.start()
        thread.join()
    assert found == [before, before]


@each_context
@alone
def test_reset_modes_puts_everything_back_and_names_it(context: Context) -> None:
    before = state()
    block = context()
    block.__enter__()
    assert state() != before
    assert len(dk.reset_modes()) == 1
    assert dk.reset_modes() == []
    assert state() == before
    if context in SETTINGS.values():
        block.__exit__(None, None, None)  # what is off already is left alone
    assert state() == before


@alone
def test_reset_modes_says_what_was_on() -> None:
    contexts = [make() for name, make in CONTEXTS.items() if name != "disable_saved_tensors_hooks"]
    for context in contexts:
        context.__enter__()
    _refusal.enter(None, "none here")
    assert dk.reset_modes() == [
        *("densify", "generator", "grad mode", "library of new arrays", "local registrations", "modes", "observers"),
        *("saved tensors hooks", "separate ledger"),
    ]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RecursionError])
@each_context
@alone
def test_an_error_while_a_block_is_entered_leaves_everything_as_it_was(
    context: Context, error: type[BaseException]
) -> None:
    before, block = state(), context()
    counting = Injection()
    counting.run(block.__enter__)
    block.__exit__(None, None, None)
    for at in range(1, counting.lines + 1):
        block = context()
        made = state()  # with what `set_grad_enabled` sets when it is made
        assert type(Injection(error(), at).run(block.__enter__)) is error
        assert state() == made, at
        del block
        dk.reset_modes()
        assert state() == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@each_context
@alone
def test_after_an_error_while_a_block_is_left_it_can_be_left_or_reset(
    context: Context, error: type[BaseException]
) -> None:
    before, block = state(), context()
    block.__enter__()
    counting = Injection()
    counting.run(lambda: block.__exit__(None, None, None))
    for at in range(1, counting.lines + 1):
        block = context()
        block.__enter__()
        on = state()
        raised = Injection(error(), at).run(lambda: block.__exit__(None, None, None))  # noqa: B023  # called at once
        assert type(raised) is error
        assert state() in (before, on), "it is on or off, and nothing between"
        dk.reset_modes()
        assert state() == before

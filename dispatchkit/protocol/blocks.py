"""States of a context that `with` blocks change, and what puts all of them back.

A block that is left takes back its own change alone: those of generators may be left in any order. A state and the
blocks that made it are one value of a context variable, so no interrupt leaves one without the other. Blocks keep
nothing themselves, and may be entered again, in several threads too.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from contextvars import ContextVar
from types import coroutine
from typing import Any, Generic, TypeAlias, TypeVar, cast
from weakref import WeakSet

F = TypeVar("F", bound=Callable[..., Any])
S = TypeVar("S")
T = TypeVar("T")

# The blocks that changed a state, outermost first, each with what it sets; None in place of a block outside of all.
Entered: TypeAlias = "tuple[tuple[object, Any], ...]"
_variables: list[tuple[ContextVar[Any], Any]] = []
_states: WeakSet[ContextState[Any]] = WeakSet()


def state_variable(name: str, default: T) -> ContextVar[T]:
    """Return a context variable that `reset_states` puts back to its default."""
    variable = ContextVar(name, default=default)
    _variables.append((variable, default))
    return variable


def reset_states() -> list[str]:
    """Put the states of this context back to their defaults, and return the names of those that were not."""
    names = {state.name for state in list(_states) if state.reset()}
    for variable, default in _variables:
        if variable.get() is not default:
            variable.set(default)
            names.add(variable.name)
    return sorted(names)


class ContextState(Generic[S]):
    """A state of the context, made of what the blocks set that were entered and not left.

    Parameters
    ----------
    name : what it is, for `reset_states`
    default : the state outside of all blocks
    build : makes a state, which keeps what it is made of as `entered`
    on_reset : is called with what was entered before the state is put back
    """

    def __init__(
        self,
        name: str,
        default: S,
        build: Callable[[Entered], S],
        on_reset: Callable[[Entered], None] | None = None,
    ) -> None:
        self.name, self._default, self._build, self._on_reset = name, default, build, on_reset
        self._variable = ContextVar(name, default=default)
        self.get = self._variable.get
        self.set = self._variable.set
        _states.add(self)

    def entered_blocks(self) -> Entered:
        """Return the blocks that are entered and what they set."""
        return getattr(self.get(), "entered", ())

    def change(self, entered: Entered) -> None:
        """Set which blocks are entered; after an error it is as it was."""
        before = self.get()
        try:
            self.set(self._build(entered) if entered else self._default)
        except BaseException:
            self.set(before)
            raise

    def enter(self, block: object, value: Any) -> None:
        """Note that a block is entered, and what it sets; after an error it is as it was."""
        before = self.get()
        try:
            self.set(self._build((*getattr(before, "entered", ()), (block, value))))
        except BaseException:
            self.set(before)
            raise

    def leave(self, block: object) -> None:
        """Take back what a block set, whatever was entered since; nothing where it was not entered here."""
        entered: Entered = getattr(self.get(), "entered", ())
        if len(entered) == 1 and entered[0][0] is block:
            self.set(self._default)
            return
        for place in reversed(range(len(entered))):
            if entered[place][0] is block:
                self.set(self._build(rest) if (rest := entered[:place] + entered[place + 1 :]) else self._default)
                return

    def assign(self, value: Any) -> None:
        """Replace what the innermost block set that sets something of this class; outside of any, set it for good."""
        entered = self.entered_blocks()
        for place in reversed(range(len(entered))):
            block, other = entered[place]
            if type(other) is type(value):
                self.change((*entered[:place], (block, value), *entered[place + 1 :]))
                return
        self.change(((None, value), *entered))

    def reset(self) -> bool:
        """Put the state back to its default; return whether it was another."""
        if self.get() is self._default:
            return False
        if self._on_reset is not None:
            self._on_reset(self.entered_blocks())
        self.set(self._default)
        return True


class Innermost(Generic[T]):
    """A state in which what the innermost block sets counts."""

    __slots__ = ("entered", "value")

    def __init__(self, value: T, entered: Entered = ()) -> None:
        self.value: T
        if entered:
            self.value = entered[-1][1]
        else:
            self.value = value
        self.entered = entered


def innermost_state(
    name: str, default: T, on_reset: Callable[[Entered], None] | None = None
) -> ContextState[Innermost[T]]:
    """Return a state whose `value` is what the innermost block sets; parameters as of `ContextState`."""
    return ContextState(name, Innermost(default), lambda entered: Innermost(default, entered), on_reset)


class Block:
    """Sets something inside a `with` block, or inside a decorated function.

    It holds in a generator, an asynchronous one or a coroutine while that runs, and not while it is suspended.

    Parameters
    ----------
    state : what it changes
    value : what it sets
    name : of the function that made it, for messages
    """

    def __init__(self, state: ContextState[Any], value: Any, name: str = "") -> None:
        self._state, self._value, self.name = state, value, name or type(self).__name__

    def __enter__(self) -> None:
        self._state.enter(self, self._value)

    def __exit__(self, *exception: object) -> None:
        self._state.leave(self)

    def __call__(self, func: F) -> F:
        """Decorate a function: the setting holds while it runs.

        Raises
        ------
        TypeError : for a class, or what cannot be called
        """
        return cast("F", _decorate(self, func))


class Setting(Block):
    """A block that sets something as soon as it is made, for good unless it is entered or decorates a function."""

    def __init__(self, state: ContextState[Any], value: Any) -> None:
        super().__init__(state, value)
        self._before = state.entered_blocks()
        state.assign(value)
        self._after: Any = state.get()

    def _outer(self) -> Entered:
        """Return what was entered before it was made, if nothing has changed since; it does so once."""
        is_set, self._after = self._after is self._state.get(), self
        if is_set:
            return self._before
        return self._state.entered_blocks()

    def __enter__(self) -> None:
        self._state.change((*self._outer(), (self, self._value)))

    def __call__(self, func: F) -> F:
        """Decorate a function: the setting holds while it runs, and no longer outside.

        Raises
        ------
        TypeError : for a class, or what cannot be called
        """
        self._state.change(self._outer())
        return super().__call__(func)


def _decorate(block: Block, func: Any) -> Any:
    """Return a function of the same kind, in which a block is entered whenever it runs."""
    if isinstance(func, type) or not callable(func):
        if isinstance(func, type):
            what = f"the class {func.__name__}"
        else:
            what = f"a value of type {type(func).__name__}"
        raise TypeError(f"{block.name}: cannot decorate {what}; decorate functions, or methods one by one")

    async def asynchronous(*args: Any, **kwargs: Any) -> Any:
        return await _awaited(block, func(*args, **kwargs))

    def generator(*args: Any, **kwargs: Any) -> Any:
        return (yield from _run_steps(block, func(*args, **kwargs)))

    def plain(*args: Any, **kwargs: Any) -> Any:
        with block:
            return func(*args, **kwargs)

    if inspect.isasyncgenfunction(func):
        return functools.wraps(func)(_asynchronous_generator(block, func))
    if inspect.iscoroutinefunction(func):
        return functools.wraps(func)(asynchronous)
    return functools.wraps(func)(generator if inspect.isgeneratorfunction(func) else plain)


def _asynchronous_generator(block: Block, func: Callable[..., Any]) -> Callable[..., Any]:
    async def asynchronous_generator(*args: Any, **kwargs: Any) -> Any:
        steps = func(*args, **kwargs)
        step = steps.__anext__()
        while True:
            try:
                result = await _awaited(block, step)
            except StopAsyncIteration:
                return
            try:
                sent = yield result
            except GeneratorExit:
                await _awaited(block, steps.aclose())
                raise
            except BaseException as error:  # noqa: BLE001  # the generator decides what it means
                step = steps.athrow(error)
            else:
                step = steps.asend(sent)

    return asynchronous_generator


def _run_steps(block: Block, steps: Any) -> Generator[Any, Any, Any]:
    """Run a generator, or an awaitable with its methods, with a block entered in each step."""
    sent = error = None
    while True:
        try:
            with block:
                if error is None:
                    result = steps.send(sent)
                else:
                    result = steps.throw(error)
        except StopIteration as end:
            return end.value
        finally:
            sent = error = None  # an error that a frame of its traceback refers to would be freed late
        try:
            sent = yield result
        except GeneratorExit:
            with block:
                steps.close()
            raise
        except BaseException as thrown:  # noqa: BLE001  # the generator decides what it means
            error = thrown


_awaited: Callable[[Block, Any], Any] = coroutine(_run_steps)

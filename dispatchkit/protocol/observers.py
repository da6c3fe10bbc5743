"""Observers: they see every call and every backward pass of a context, and change neither.

The observers are kept in a context variable, so threads and tasks have their own. The time of a call excludes what
observers do with it. `live` refers to each entry of a stack of modes and each tuple of observers in the
process: while it is empty, a call need not read the context variables. The interpreter itself takes out those that are
freed, so that it never lacks one that is in use, whatever error comes when.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter_ns
from types import MappingProxyType
from typing import Any, TypeVar
from weakref import ref

from dispatchkit.protocol.blocks import Block, ContextState, Entered
from dispatchkit.protocol.overridable import Overridable

ObserverT = TypeVar("ObserverT", bound="Observer")
T = TypeVar("T")


class _Live(set[ref[Any]]):
    """A set that functions pickled by value find by its name."""

    def __reduce__(self) -> str:
        return "live"


live = _Live()
NO_KEYWORDS: Mapping[str, Any] = MappingProxyType({})


def note_live(entry: object) -> None:
    """Have calls read the context variables as long as an entry lives."""
    live.add(ref(entry, live.discard))


class CallEvent:
    """A call that observers see, or a step of a backward pass.

    Attributes
    ----------
    operation : None for a step of a backward pass
    args, kwargs : of the call; nothing once the observers know of its end, so that no argument is kept alive
    node : name of the node of a backward pass, such as ``AddBackward``
    outer : the call of the same thread that it is part of
    waits : whether the function is still to be called for it
    asked : the step of a chain, or the mode, that was asked last; None if only the first of the chain was
    reason : why it made a dense copy; "" where it made none
    entered, started, ended : nanoseconds on the clock of `time.perf_counter_ns`: before observers know of it, before it
        is made, and after; `ended` is 0 while it is under way
    inside : nanoseconds that inner calls took, including what observers did
    dense, dense_inside : bytes that became dense, in the call itself and in inner calls
    began, came : what records keep of its arguments and of its end, each noted once; None before
    """

    __slots__ = (
        *("args", "asked", "began", "came", "dense", "dense_inside", "ended", "entered", "inside", "kwargs", "node"),
        *("operation", "outer", "reason", "started", "waits"),
    )

    def __init__(
        self,
        operation: Overridable | None,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] = NO_KEYWORDS,
        node: str = "",
    ) -> None:
        self.operation = operation
        self.args = args
        self.kwargs = kwargs
        self.node = node
        self.waits = operation is not None
        self.outer: CallEvent | None = None
        self.asked: Any = None
        self.began: Any = None
        self.came: Any = None
        self.reason = ""
        self.entered = self.started = self.ended = self.inside = self.dense = self.dense_inside = 0

    @property
    def name(self) -> str:
        """Qualified name of the operation; name of the node."""
        if self.operation is None:
            return self.node
        return self.operation.qualified_name


class Observer:
    """Base of observers; its methods do nothing by default. Calls made in them are not observed.

    Attributes
    ----------
    is_silent : whether `on_start` and `on_end` make no calls of operations but while `here.call` is `UNSEEN`
    is_on : whether it sees anything; one that does not may still replace others
    replaces : whether others of its class that entered before see nothing
    """

    is_silent = False
    is_on = True
    replaces = True

    def on_start(self, call: CallEvent) -> None:
        """Do something before a call is made."""

    def on_end(self, call: CallEvent, result: Any, error: BaseException | None) -> None:
        """Do something after a call, which gave a result or raised an error."""

    def on_result(self, operation: Overridable, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
        """Do something after a call that succeeded, once `on_end` of all observers has returned."""

    def on_backward(self, vertices: Iterable[Any]) -> None:
        """Do something before a backward pass visits these vertices."""


class _Watch:
    """The observers of a context, the last to enter last."""

    __slots__ = ("__weakref__", "entered", "observers", "silent")

    def __init__(self, entered: Entered) -> None:
        self.entered = entered
        observers: list[Observer] = []
        for _, new in entered:
            observers = [observer for observer in observers if not new.replaces or type(observer) is not type(new)]
            if new.is_on:
                observers += [new]
        self.observers = tuple(observers)
        # Observers of results go the general way.
        self.silent = all(each.is_silent and type(each).on_result is Observer.on_result for each in observers)
        note_live(self)


def _watch(entered: Entered) -> _Watch | None:
    """Return the observers of a context; None where all that is left is some that were switched off for good."""
    if any(block is not None or new.is_on for block, new in entered):
        return _Watch(entered)
    return None


watch_state: ContextState[_Watch | None] = ContextState("observers", None, _watch)
is_observed = watch_state.get


class _Here(threading.local):
    """The observed call that a thread is making. A call ends before its thread turns to another context."""

    call: CallEvent | None = None


here = _Here()
# What stands for the calls that properties make while a record reads them: nobody sees those.
UNSEEN = CallEvent(None)


def observers() -> tuple[Observer, ...]:
    """Return the observers of this context, the last to enter last."""
    watch = watch_state.get()
    if watch is None:
        return ()
    return watch.observers


def observing(observer: Observer, name: str = "") -> Block:
    """Return a block in which calls are observed; it replaces observers of the same class."""
    return Block(watch_state, observer, name)


def run_unobserved(function: Callable[..., T], *args: Any) -> T:
    """Call a function; the calls that it makes are not observed."""
    watch = watch_state.get()
    try:
        watch_state.set(None)
        return function(*args)
    finally:
        watch_state.set(watch)


def active_observer(cls: type[ObserverT]) -> ObserverT | None:
    """Return this context's observer of a class, None if it has none."""
    if live:
        return next((observer for observer in observers() if isinstance(observer, cls)), None)
    return None


def observe(
    call: CallEvent, make: Callable[..., T], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] = NO_KEYWORDS
) -> T:
    """Make a call, and notify the observers of this context."""
    call.entered = perf_counter_ns()
    call.outer = outer = here.call
    watch = watch_state.get()
    # Those that are silent have nothing to be kept from, so they are notified without a further call.
    silent = None
    if watch is not None and watch.silent:
        silent = watch.observers
    if silent is None:
        _notify(lambda observer: observer.on_start(call), observers())
    else:
        for observer in silent:
            observer.on_start(call)
    result = failure = None
    try:
        here.call = call
        call.started = perf_counter_ns()
        result = make(*args, **kwargs)
        return result
    except BaseException as error:
        failure = error
        raise
    finally:
        here.call = outer
        call.ended = perf_counter_ns()
        try:
            if silent is None:
                _notify_of_end(call, result, failure)
            else:
                for observer in silent:
                    observer.on_end(call, result, failure)
        finally:
            call.args, call.kwargs = (), NO_KEYWORDS
            if outer is not None:
                outer.inside += perf_counter_ns() - call.entered
                outer.dense_inside += call.dense + call.dense_inside
            failure = None  # an error that a frame of its traceback refers to would be freed late


def _notify_of_end(call: CallEvent, result: Any, error: BaseException | None) -> None:
    """Notify the observers of this context of the end of a call, the innermost first."""
    operation, innermost_first = call.operation, observers()[::-1]
    _notify(lambda observer: observer.on_end(call, result, error), innermost_first)
    if operation is not None and error is None:
        _notify(lambda observer: observer.on_result(operation, call.args, call.kwargs, result), innermost_first)


def _notify(notify: Callable[[Observer], None], observers: Sequence[Observer]) -> None:
    """Notify observers; the calls that they make meanwhile are not observed."""

    def notify_all() -> None:
        for observer in observers:
            notify(observer)

    run_unobserved(notify_all)


def notify_backward(vertices: Iterable[Any]) -> None:
    """Notify the observers of this context of a backward pass."""
    _notify(lambda observer: observer.on_backward(vertices), observers())


def note_asked(operation: object, who: object) -> None:
    """Record which step or mode is asked to answer a call, unless it is the first step of its chain."""
    call = here.call
    if call is not None and call.operation is operation and watch_state.get() is not None:
        call.asked = who


def note_dense(nbytes: int, reason: str) -> None:
    """Record that the current call made a dense copy, and why."""
    call = here.call
    if call is not None and call is not UNSEEN and watch_state.get() is not None:
        call.dense += nbytes
        call.reason = reason

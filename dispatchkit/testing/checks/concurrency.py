"""The checks that computations on instances do not disturb each other: in asyncio tasks, and in threads."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import Any

from dispatchkit.protocol.instance import TensorFunctionMode
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.testing.calls import TypeCall
from dispatchkit.testing.checks.forms import repeatable
from dispatchkit.testing.comparing.differences import error_text
from dispatchkit.testing.examination import fails
from dispatchkit.testing.findings import Failure, Reading, Subject, alike, readings
from dispatchkit.testing.lines import Place, own_places, place_of

PATIENCE = 0.25  # seconds that a thread waits for its turn while the other is held up by a lock


class _Names(TensorFunctionMode):
    """Notes the names of the functions called inside."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def __tensor_function__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        self.found.append(func.__name__)
        return NotImplemented


def in_tasks(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Two asyncio tasks that take turns compute what one would, and do not see each other's modes."""
    calls = _two_calls(subject, operation)
    if not calls:
        return
    alone = [_by_turns([_task(subject, call)])[0] for call in calls]
    results = _by_turns([_task(subject, call) for call in calls])
    for call, outcome, (expected, names) in zip(calls, results, alone, strict=True):
        if not isinstance(outcome, BaseException) and outcome[1] != names:
            yield call.failure("asyncio", f"a mode that saw {outcome[1]}", f"{names}")
        else:
            result = outcome
            if not isinstance(outcome, BaseException):
                result = outcome[0]
            yield _failure("asyncio", subject, call, result, expected)


async def _task(subject: Subject, call: TypeCall) -> tuple[list[Reading], list[str]]:
    """Make a call as a coroutine that lets others run before, inside and after it."""
    args, kwargs = call.make()
    await asyncio.sleep(0)
    with _Names() as names:
        await asyncio.sleep(0)
        result = call.run(args, kwargs)
        await asyncio.sleep(0)
    return readings(subject, result), names.found


def _by_turns(coroutines: list[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Run coroutines by turns, each in its own context, as an event loop does; return results and exceptions.

    There is no event loop, so that it works where one is running already, as in a notebook.
    """
    results: list[Any] = [None] * len(coroutines)
    waiting = {place: (coroutine, copy_context()) for place, coroutine in enumerate(coroutines)}
    while waiting:
        for place, (coroutine, context) in list(waiting.items()):
            try:
                context.run(coroutine.send, None)
            except StopIteration as end:
                results[place] = end.value
                del waiting[place]
            except Exception as error:  # noqa: BLE001  # handed on as the result
                results[place] = error
                del waiting[place]
    return results


def in_threads(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Two threads that take turns after every line of the type's handlers compute what one would."""
    calls = []
    if not fails(subject, operation, in_tasks):
        calls = _two_calls(subject, operation)
    if not calls:
        return
    expected = [_call(subject, call) for call in calls]
    results = _Turns(own_places(subject.cls, [operation])).run([partial(_call, subject, call) for call in calls])
    for call, result, right in zip(calls, results, expected, strict=True):
        yield _failure("threads", subject, call, result, right)


def _call(subject: Subject, call: TypeCall) -> list[Reading]:
    return readings(subject, call.result())


def _two_calls(subject: Subject, operation: Overridable) -> list[TypeCall]:
    """Return two calls that run side by side; none of an operation that is in order nowhere, or random."""
    calls = repeatable(subject, operation, subject.depth)
    if not calls:
        return []
    # One is made with other elements, as two with equal ones cannot disturb each other; unless they are refused.
    other = replace(calls[-1], turn=1)
    try:
        _call(subject, other)
    except Exception:  # noqa: BLE001  # of whatever kind, both would have to give it
        other = calls[-1]
    return [calls[0], other]


def _failure(check: str, subject: Subject, call: TypeCall, found: Any, expected: list[Reading]) -> Failure | None:
    if isinstance(found, BaseException):
        return call.failure(check, error_text(found), "what one gives alone")
    difference = alike(found, expected)
    if difference is None:
        return None
    return call.failure(check, *difference)


class _Turns:
    """Runs two functions in threads that hand over to each other after every line of some code.

    What goes wrong when threads meet is then found each time, and not once in a thousand runs.

    Parameters
    ----------
    places : where the code is whose lines count
    """

    def __init__(self, places: set[Place]) -> None:
        self.places = places
        self.condition = threading.Condition()
        self.turn = 0
        self.finished = [False, False]

    def run(self, functions: list[Callable[[], Any]]) -> list[Any]:
        """Return the results, an exception in the place of that of a function that raised it."""
        results: list[Any] = [None, None]
        contexts = [copy_context(), copy_context()]
        start = threading.Barrier(2)

        def work(me: int) -> None:
            start.wait()
            sys.settrace(self._tracer(me))
            try:
                results[me] = contexts[me].run(functions[me])
            except Exception as error:  # noqa: BLE001  # handed on as the result
                results[me] = error
            finally:
                sys.settrace(None)
                with self.condition:
                    self.finished[me] = True
                    self.condition.notify_all()

        threads = [threading.Thread(target=work, args=(me,)) for me in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    def _tracer(self, me: int) -> Callable[[FrameType, str, Any], Any]:
        def on_line(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "line":
                self._hand_over(me)
            return on_line

        def on_call(frame: FrameType, event: str, arg: Any) -> Any:
            if place_of(frame) in self.places:
                return on_line
            return None

        return on_call

    def _hand_over(self, me: int) -> None:
        with self.condition:
            self.turn = 1 - me
            self.condition.notify_all()
            self.condition.wait_for(lambda: self.turn == me or self.finished[1 - me], timeout=PATIENCE)

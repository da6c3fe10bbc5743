"""`record_calls`: a record of every call made inside a `with` block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import perf_counter_ns
from types import TracebackType
from typing import Any, Literal

from dispatchkit.errors import ModeError
from dispatchkit.graph.node import Node, NodeWrapper, is_wrapped_by
from dispatchkit.graph.storage import Vertex
from dispatchkit.locks import SectionLock
from dispatchkit.protocol.observers import CallEvent, Observer, active_observer, observe, observers, watch_state
from dispatchkit.report.covering.advice import Advice
from dispatchkit.report.operations import Named
from dispatchkit.report.record.call import TracedCall, began_of, came_of, trace_call
from dispatchkit.report.record.chrome import chrome_trace
from dispatchkit.report.record.flow import Flow
from dispatchkit.report.record.replay import RecordedProgram, recorded_advice
from dispatchkit.report.record.summary import (
    Order,
    Summary,
    calls_html,
    causes_of,
    headline,
    summarise,
    tree_of,
)

MAX_CALLS = 100_000


class Trace(Observer):
    """What `record_calls` recorded.

    Attributes
    ----------
    max_calls : how many are kept, the first ones
    dropped : how many were not
    duration : nanoseconds from the first call of `__enter__` to the last `__exit__`, or to now
    """

    is_silent = True
    replaces = False

    def __init__(self, max_calls: int = MAX_CALLS) -> None:
        if max_calls < 1:
            raise ValueError(f"record_calls: max_calls must be at least 1, found {max_calls}")
        self.max_calls = max_calls
        self._kept: list[CallEvent] = []
        # What has been read: the calls, the place of each, and the places of those that were under way.
        self._made: list[TracedCall] = []
        self._index: dict[CallEvent, int] = {}
        self._under_way: list[int] = []
        self._reading = SectionLock()
        self._flow = Flow()
        self.dropped = 0
        self._origin = self._left = 0
        self._blocks = 0

    def __enter__(self) -> Trace:
        if self in observers():
            raise ModeError("record_calls: this record is kept here already; make another one with dk.record_calls()")
        self._origin = self._origin or perf_counter_ns()
        self._blocks += 1
        try:
            watch_state.enter(self, self)
            return self
        except BaseException:  # an interrupt, after which the block is not entered
            watch_state.leave(self)
            self._blocks -= 1
            raise

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            watch_state.leave(self)
        finally:
            self._blocks -= 1
            self._left = perf_counter_ns()

    @property
    def duration(self) -> int:
        """Nanoseconds from entering the block to leaving it, or to now."""
        if self._blocks:
            end = perf_counter_ns()
        else:
            end = self._left
        return end - self._origin

    @property
    def calls(self) -> list[TracedCall]:
        """A `TracedCall` for each call, in the order they began; those that calls make inside of them follow it."""

        def read() -> list[TracedCall]:
            kept = self._kept[: self.max_calls]
            under_way, self._under_way = self._under_way, []
            for index in [*under_way, *range(len(self._made), len(kept))]:
                self._made[index : index + 1] = [self._trace_call(index, kept[index])]
            return self._made[:]

        return self._reading.run(read)

    def _trace_call(self, index: int, call: CallEvent) -> TracedCall:
        """Return what is shown of a call; again at the next reading, if it is under way."""
        self._index[call] = index
        if call.came is None:
            self._under_way.append(index)
        outer = call.outer
        while outer is not None and outer not in self._index:
            outer = outer.outer
        parent = None
        if outer is not None:
            parent = self._index[outer]
        depth = 0
        if parent is not None:
            depth = self._made[parent].depth + 1
        return trace_call(call, parent, depth, self._origin)

    def on_start(self, call: CallEvent) -> None:
        """Note a call."""
        if not self._blocks:
            return  # in a thread or task that was started inside of the block, and outlives it
        if len(self._kept) >= self.max_calls:
            self.dropped += 1
            return
        if call.began is None:  # else another record has noted it
            call.began = began_of(call)
        self._kept.append(call)

    def on_end(self, call: CallEvent, result: Any, error: BaseException | None) -> None:
        """Note the end of a call."""
        if call.began is None:
            return
        if call.came is None:
            call.came = came_of(call, result, error)
        if call.operation is not None and error is None:
            self._flow.note(call, call.operation, result, structured=call.began[0] is not None)

    def on_backward(self, vertices: Iterable[Vertex]) -> None:
        """Have the nodes of a backward pass tell when their rules run."""
        for vertex in vertices:
            if isinstance(vertex, Node) and not is_wrapped_by(_ObservedOperation, vertex):
                vertex.operation = _ObservedOperation(vertex.operation)

    def summary(self, by: Literal["function", "line"] = "function", sort: Order = "self") -> Summary:
        """Return a table of the calls, by function or by the line of the program that led to them.

        Parameters
        ----------
        by : ``"function"`` or ``"line"``
        sort : the column that decides the order: ``"self"``, ``"total"``, ``"calls"``, ``"bytes"`` or ``"name"``

        Raises
        ------
        ValueError : for another `by` or `sort`
        """
        return summarise(self.calls, by, sort, self.dropped)

    def advice(self, n: int = 5, *, cls: type | None = None, impossible: Named = (), with_kinds: bool = True) -> Advice:
        """Return the rules that would have spared the most calls of the program from becoming dense.

        Parameters
        ----------
        n : how many rules at most
        cls : the type that they are for; by default the one whose calls became dense most often
        impossible : functions and kinds that cannot keep its structure, besides those that it declares:
            ``dk.TypeTests(impossible=[dk.reshape])``
        with_kinds : whether one rule for all operations of a kind may be suggested

        Returns
        -------
        suggestions, the best first, each with the calls, bytes and time that became dense for want of it, what becomes
        dense in their place, the lines that called, and the rule to be filled in; prints as a list

        Notes
        -----
        The numbers come from a trial: the rule is taken to stand and to give what its annotation says, and all recorded
        calls are predicted once more, with what results then keep of their structure. Calls that a program would make
        only then are not in a record.
        """
        calls = self.calls
        program = RecordedProgram(calls, self._kept[: len(calls)], self._flow)
        return recorded_advice(program, n, cls=cls, impossible=impossible, with_kinds=with_kinds)

    def to_chrome(self, path: str | Path | None = None) -> str:
        """Return the calls in the Trace Event Format, which Perfetto and ``chrome://tracing`` open.

        Parameters
        ----------
        path : of a file to write it to, too

        Returns
        -------
        a JSON object with a complete event (``"ph": "X"``) for each call, times in microseconds
        """
        text = chrome_trace(self.calls, self.dropped)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def _repr_html_(self) -> str:
        calls = self.calls
        causes = causes_of(calls)
        return calls_html(headline(calls, causes), causes, calls, self.dropped)

    def __str__(self) -> str:
        return tree_of(self.calls, self.dropped)

    def __repr__(self) -> str:
        more = ""
        if self.dropped:
            more = f", {self.dropped} more not kept"
        return f"<Trace: {len(self._kept[: self.max_calls])} calls{more}>"


class _ObservedOperation(NodeWrapper):
    """The operation of a node whose rules records see."""

    __slots__ = ()

    def _pull(self, pull: Callable[[Any, Any], Sequence[Any]], node: Any, g: Any) -> Sequence[Any]:
        if active_observer(Trace) is None:
            return pull(node, g)
        return observe(CallEvent(None, node=self.node_name), pull, (node, g))


def record_calls(*, max_calls: int = MAX_CALLS) -> Trace:
    """Record every call made inside a `with` block: ``with dk.record_calls() as t:``.

    Parameters
    ----------
    max_calls : how many calls are kept; later ones are only counted

    Returns
    -------
    Trace
        A context manager that has ``calls``, ``summary()`` and ``to_chrome()``.

    Raises
    ------
    ValueError : if `max_calls` is below 1
    ModeError : if the record has been entered already

    Notes
    -----
    A record sees the calls of the thread or asyncio task that entered it, and of tasks started inside the block with a
    copy of its context (asyncio tasks, ``asyncio.to_thread``), until the block ends. It keeps no argument alive.
    Without a record, a call does no extra work.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> with dk.record_calls() as t:
    ...     y = dk.exp(dk.ones(3)).sum()
    >>> [(call.name, call.types, call.how) for call in t.calls]
    [('ones', (), 'plain'), ('exp', ('Tensor',), 'plain'), ('sum', ('Tensor',), 'plain')]
    """
    return Trace(max_calls)

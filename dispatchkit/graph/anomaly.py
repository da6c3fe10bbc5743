"""Nodes that know where they were recorded, and backward passes that check what the rules give."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from types import CodeType
from typing import TYPE_CHECKING, Any

from dispatchkit.backends.arrays import is_inexact, namespace_of
from dispatchkit.errors import AnomalyError
from dispatchkit.graph.node import Differentiable, Node
from dispatchkit.graph.node_wrapper import NodeWrapper, is_wrapped_by, recorded
from dispatchkit.graph.storage import Storage, Vertex
from dispatchkit.protocol.blocks import state_variable
from dispatchkit.protocol.frames import stack
from dispatchkit.protocol.observers import Observer, active_observer

if TYPE_CHECKING:
    from dispatchkit.protocol.overridable import Overridable

__all__ = ["Anomaly"]


class Anomaly(Observer):
    """Records on each node the lines of the call that made it.

    Parameters
    ----------
    check_nan : whether gradients that are no numbers count as failures
    is_on : whether it is to record anything
    """

    def __init__(self, check_nan: bool, *, is_on: bool = True) -> None:
        self.check_nan = check_nan
        self.is_on = bool(is_on)

    def on_result(self, operation: Overridable, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
        """Record the calling lines on the nodes of a call."""
        place = None
        for node in recorded(operation, args, kwargs, result):
            if not is_wrapped_by(Traced, node):
                place = place or Place(stack(), _running.get())
                node.operation = Traced(node.operation, place)

    def on_backward(self, vertices: Iterable[Vertex]) -> None:
        """Check what the nodes of a backward pass give, including those recorded outside of `detect_anomaly`."""
        for vertex in vertices:
            if isinstance(vertex, Node) and not is_wrapped_by(Traced, vertex):
                vertex.operation = Traced(vertex.operation, None)


class Place:
    """Where a node was recorded.

    Attributes
    ----------
    lines : code and line of each frame, the outermost first
    cause : the node whose backward pass it was recorded by, None in a forward pass
    """

    __slots__ = ("cause", "lines")

    def __init__(self, lines: list[tuple[CodeType, int]], cause: Traced | None) -> None:
        self.lines = lines
        self.cause = cause

    def text(self) -> str:
        """Return the lines as in a traceback."""
        frames = [traceback.FrameSummary(code.co_filename, line, code.co_name) for code, line in self.lines]
        return "".join(traceback.format_list(frames)).rstrip()


class Traced(NodeWrapper):
    """The operation of a node that remembers where it was recorded.

    Parameters
    ----------
    inner : the operation
    place : None where that is not known
    """

    __slots__ = ("place",)

    def __init__(self, inner: Differentiable, place: Place | None) -> None:
        super().__init__(inner)
        self.place = place

    def pull_raw(self, node: Any, g: Any) -> Sequence[Any]:
        """Return the raw cotangents of a node's inputs, checked where this context asks for it."""
        anomaly = active_observer(Anomaly)
        return self.inner.pull_raw(node, g) if anomaly is None else self._checked(anomaly, self.inner.pull_raw, node, g)

    def pull_live(self, node: Any, g: Any) -> Sequence[Any]:
        """Return the cotangents of a node's inputs as tensors, checked where this context asks for it."""
        anomaly = active_observer(Anomaly)
        if anomaly is None:
            return self.inner.pull_live(node, g)
        outer = _running.get()
        try:
            _running.set(self)
            return self._checked(anomaly, self.inner.pull_live, node, g)
        finally:
            _running.set(outer)

    def _checked(self, anomaly: Anomaly, pull: Callable[[Any, Any], Sequence[Any]], node: Any, g: Any) -> Sequence[Any]:
        try:
            found = pull(node, g)
        except AnomalyError:
            raise
        except Exception as error:
            what = f"Function '{self.node_name}' raised {type(error).__name__}: {error}"
            raise AnomalyError(what, *self.history()) from error
        if anomaly.check_nan:
            for index, one in enumerate(found):
                if one is not None and _has_nan(one):
                    what = f"Function '{self.node_name}' returned nan values in its {index}th output."
                    raise AnomalyError(what, *self.history())
        return found

    def history(self) -> tuple[str, list[tuple[str, str]]]:
        """Return the lines that recorded the node, and name and lines of each node whose backward led there."""
        causes: list[tuple[str, str]] = []
        place = self.place
        while place is not None and (cause := place.cause) is not None:
            place = cause.place
            causes.append((cause.node_name, "" if place is None else place.text()))
        return "" if self.place is None else self.place.text(), causes


# The node whose backward pass is being recorded.
_running: ContextVar[Traced | None] = state_variable("node of a backward pass", None)


def _has_nan(value: Any) -> bool:
    if isinstance(value, Storage):
        return any(map(_has_nan, value.parts())) if value.is_tracer else _has_nan(value.array)  # type: ignore[attr-defined]
    if not is_inexact(value.dtype):
        return False
    xp = namespace_of(value)
    return bool(xp.any(xp.isnan(value)))

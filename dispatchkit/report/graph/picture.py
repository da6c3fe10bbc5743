"""What a drawing of a graph shows: a box for each operation, leaf and output, an arrow for each value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dispatchkit.backends.arrays import dtype_name
from dispatchkit.declare.derivative import Derivative
from dispatchkit.graph.node import CallNode, Node, Output
from dispatchkit.graph.node_wrapper import NodeWrapper
from dispatchkit.graph.storage import Storage, Vertex, vertex_of
from dispatchkit.graph.sweep import reachable

__all__ = ["Arrow", "Box", "Picture", "Sort", "picture_of"]

Sort = Literal["operation", "leaf", "constant", "output", "more"]


@dataclass(frozen=True)
class Box:
    """A box of a drawing.

    Attributes
    ----------
    sort : what it stands for; ``"more"`` for what is not drawn
    title : name of the operation or tensor
    lines : shape, dtype and a name, where there are any
    """

    sort: Sort
    title: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Arrow:
    """A value that goes from one box to another.

    Attributes
    ----------
    source, target : numbers of the boxes
    label : which of several outputs it is, and how often it is used there
    """

    source: int
    target: int
    label: str = ""


@dataclass(frozen=True)
class Picture:
    """Boxes and arrows, and a note on what is left out."""

    boxes: Sequence[Box]
    arrows: Sequence[Arrow]
    note: str = ""


def picture_of(roots: Sequence[tuple[str, Storage]], names: Mapping[Vertex, str], limit: int) -> Picture:
    """Return what a drawing of tensors shows.

    Parameters
    ----------
    roots : the tensors with their names
    names : of vertices
    limit : number of operations and leaves that are shown, those nearest to the roots
    """
    starts = dict.fromkeys(_main(vertex_of(tensor)) for _, tensor in roots if tensor._node is not None)
    shown = _nearest(starts, max(limit, len(starts)))
    numbers = {vertex: number for number, vertex in enumerate(shown)}
    boxes = [_box(vertex, names) for vertex in shown]
    arrows: list[Arrow] = []
    for vertex in shown:
        edges = Counter((_main(edge), _label(edge)) for edge in vertex.edges if edge is not None)
        for (main, label), count in edges.items():
            if main in numbers:
                times = f"{label} ×{count}".strip() if count > 1 else label
                arrows.append(Arrow(numbers[main], numbers[vertex], times))
        if any(main not in numbers for main, _ in edges):
            arrows.append(Arrow(len(boxes), numbers[vertex]))
            boxes.append(Box("more", "…"))
    for name, tensor in roots:
        end = vertex_of(tensor)
        if end is None:
            boxes.append(Box("constant", "tensor", (_described(tensor.array),)))
        source = len(boxes) - 1 if end is None else numbers[_main(end)]
        arrows.append(Arrow(source, len(boxes), "" if end is None else _label(end)))
        boxes.append(Box("output", name))
    total = sum(type(vertex) is not Output for vertex in reachable(starts))
    note = f"{len(shown)} of {total} operations and leaves are shown" if total > len(shown) else ""
    return Picture(boxes, arrows, note)


def _nearest(starts: Iterable[Vertex], limit: int) -> list[Vertex]:
    """Return the vertices that are fewest steps away."""
    found = dict.fromkeys(starts)
    front = list(found)
    while front and len(found) < limit:
        following = dict.fromkeys(_main(edge) for vertex in front for edge in vertex.edges if edge is not None)
        front = [vertex for vertex in following if vertex not in found][: limit - len(found)]
        found.update(dict.fromkeys(front))
    return list(found)


def _main(vertex: Vertex | None) -> Any:
    return vertex.main if isinstance(vertex, Output) else vertex


def _label(vertex: Vertex) -> str:
    return f"[{vertex.index}]" if isinstance(vertex, Output) else ""


def _described(value: Any) -> str:
    return f"{tuple(value.shape)} {dtype_name(value.dtype)}"


def _box(vertex: Vertex, names: Mapping[Vertex, str]) -> Box:
    name = names.get(vertex, "")
    if not isinstance(vertex, Node):
        return Box("leaf", name or "leaf", (_described(vertex),))
    several = vertex.outputs if isinstance(vertex, CallNode) else None
    what = _described(vertex) if several is None else f"{len(several)} outputs"
    return Box("operation", _title(vertex), (what, name) if name else (what,))


def _title(node: Node) -> str:
    """Return the name of an operation as it is called."""
    operation: Any = node.operation
    while isinstance(operation, NodeWrapper):
        operation = operation.inner
    if not isinstance(operation, Derivative):
        return node.name.removesuffix("Backward")
    package, _, path = operation.qualified_name.partition(".")
    return path if package == "dispatchkit" else operation.name

"""`draw`: a picture of the graph behind a tensor, as SVG and as DOT."""

from __future__ import annotations

import html
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dispatchkit.backends.arrays import dtype_name
from dispatchkit.declare.derivative import Derivative
from dispatchkit.graph.node import CallNode, Node, NodeWrapper, Output
from dispatchkit.graph.storage import Storage, Vertex, vertex_of
from dispatchkit.graph.sweep import reachable
from dispatchkit.report.documents import save_as
from dispatchkit.report.graph.layout import Place, arrange
from dispatchkit.resources import read_text

Sort = Literal["operation", "leaf", "constant", "output", "more"]

DOT_STYLES = {
    "operation": "style=rounded",
    "leaf": 'style="rounded,filled"',
    "constant": 'style="rounded,dashed"',
    "output": "shape=plaintext",
    "more": "shape=plaintext",
}


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
        uses: defaultdict[Any, Counter[str]] = defaultdict(Counter)
        for edge in vertex.edges:
            if edge is not None:
                uses[_main(edge)][_label(edge)] += 1
        for main, labels in uses.items():
            if main in numbers:
                texts = (f"{label} ×{count}".strip() if count > 1 else label for label, count in labels.items())
                arrows.append(Arrow(numbers[main], numbers[vertex], ", ".join(texts)))
        if not uses.keys() <= numbers.keys():
            arrows.append(Arrow(len(boxes), numbers[vertex]))
            boxes.append(Box("more", "…"))
    for name, tensor in roots:
        end = vertex_of(tensor)
        if end is None:
            source, label = len(boxes), ""
            boxes.append(Box("constant", "tensor", (_layout_text(tensor.array),)))
        else:
            source, label = numbers[_main(end)], _label(end)
        arrows.append(Arrow(source, len(boxes), label))
        boxes.append(Box("output", name))
    total = sum(type(vertex) is not Output for vertex in reachable(starts))
    note = ""
    if total > len(shown):
        note = f"{len(shown)} of {total} operations and leaves are shown"
    return Picture(boxes, arrows, note)


def _nearest(starts: Iterable[Vertex], limit: int) -> list[Vertex]:
    """Return the vertices that are fewest steps away."""
    nearest = dict.fromkeys(starts)
    front = list(nearest)
    while front and len(nearest) < limit:
        following = dict.fromkeys(_main(edge) for vertex in front for edge in vertex.edges if edge is not None)
        front = [vertex for vertex in following if vertex not in nearest][: limit - len(nearest)]
        nearest.update(dict.fromkeys(front))
    return list(nearest)


def _main(vertex: Vertex | None) -> Any:
    if isinstance(vertex, Output):
        return vertex.main
    return vertex


def _label(vertex: Vertex) -> str:
    if isinstance(vertex, Output):
        return f"[{vertex.index}]"
    return ""


def _layout_text(value: Any) -> str:
    return f"{tuple(value.shape)} {dtype_name(value.dtype)}"


def _box(vertex: Vertex, names: Mapping[Vertex, str]) -> Box:
    name = names.get(vertex, "")
    if not isinstance(vertex, Node):
        return Box("leaf", name or "leaf", (_layout_text(vertex),))
    several = None
    if isinstance(vertex, CallNode):
        several = vertex.outputs
    if several is None:
        what = _layout_text(vertex)
    else:
        what = f"{len(several)} outputs"
    return Box("operation", _title(vertex), (what, name) if name else (what,))


def _title(node: Node) -> str:
    """Return the name of an operation as it is called."""
    operation: Any = node.operation
    while isinstance(operation, NodeWrapper):
        operation = operation.inner
    if not isinstance(operation, Derivative):
        return node.name.removesuffix("Backward")
    package, _, path = operation.qualified_name.partition(".")
    if package == "dispatchkit":
        return path
    return operation.name


def draw(
    tensors: Any, *, params: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None, max_nodes: int = 100
) -> Drawing:
    r"""Draw the graph behind tensors: operations, shapes and leaves.

    Parameters
    ----------
    tensors : a tensor, a sequence of them, or a dict of them by name
    params : names of tensors in the graph, leaves above all: a dict, or pairs like those of ``named_parameters()``
    max_nodes : how many operations and leaves are drawn at most, those nearest to `tensors`

    Returns
    -------
    Drawing
        A notebook shows it; ``save`` writes it to a file; ``svg`` and ``dot`` are its texts.

    Raises
    ------
    TypeError : for what is no tensor
    ValueError : if there is nothing to draw, or `max_nodes` is below 1

    Notes
    -----
    The arrows are the edges that gradients flow back along, drawn in the direction of the forward pass. Arguments that
    need no gradient are not part of the graph. No program or library is needed but Python.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> w = dk.ones((3, 2), requires_grad=True)
    >>> loss = dk.sum(dk.tanh(dk.ones((4, 3)) @ w))
    >>> print(dk.draw({"loss": loss}, params={"w": w}))
    digraph {
      node [shape=box, fontname=monospace]
      0 [label="sum\n() float64", style=rounded]
      1 [label="tanh\n(4, 2) float64", style=rounded]
      2 [label="matmul\n(4, 2) float64", style=rounded]
      3 [label="w\n(3, 2) float64", style="rounded,filled"]
      4 [label="loss", shape=plaintext]
      1 -> 0
      2 -> 1
      3 -> 2
      0 -> 4
    }
    """
    if max_nodes < 1:
        raise ValueError(f"draw: max_nodes must be at least 1, found {max_nodes}")
    roots = _roots(tensors)
    if not roots:
        raise ValueError("draw: there is no tensor to draw")
    names: dict[Vertex, str] = {}
    for name, tensor in dict(params or ()).items():
        if not isinstance(tensor, Storage):
            raise TypeError(f"draw: params[{name!r}] is a {type(tensor).__name__}, not a tensor")
        vertex = vertex_of(tensor)
        if vertex is not None:
            names[getattr(vertex, "main", vertex)] = str(name)
    return Drawing(picture_of(roots, names, max_nodes))


def _roots(tensors: Any) -> list[tuple[str, Storage]]:
    """Return the tensors to draw with their names."""
    if isinstance(tensors, Mapping):
        roots = [(str(name), tensor) for name, tensor in tensors.items()]
    elif isinstance(tensors, (list, tuple)):
        several = len(tensors) > 1
        roots = [(f"output {index}" if several else "output", tensor) for index, tensor in enumerate(tensors)]
    else:
        roots = [("output", tensors)]
    for name, tensor in roots:
        if not isinstance(tensor, Storage) or tensor.is_tracer:
            what = name
            if isinstance(tensors, Mapping):
                what = f"tensors[{name!r}]"
            raise TypeError(f"draw: {what} is a {type(tensor).__name__}, not a tensor of a graph")
    return roots


class Drawing:
    """A graph drawn: text in two languages, shown by notebooks.

    Attributes
    ----------
    picture : the boxes and arrows
    """

    def __init__(self, picture: Picture) -> None:
        self.picture = picture

    @property
    def svg(self) -> str:
        """The drawing as SVG."""
        return _svg_of(self.picture)

    @property
    def dot(self) -> str:
        """The graph in the language of Graphviz."""
        lines = ["digraph {", "  node [shape=box, fontname=monospace]"]
        for number, box in enumerate(self.picture.boxes):
            label = r"\n".join(_escape(text) for text in (box.title, *box.lines))
            lines.append(f'  {number} [label="{label}", {DOT_STYLES[box.sort]}]')
        for arrow in self.picture.arrows:
            label = ""
            if arrow.label:
                label = f' [label="{_escape(arrow.label)}"]'
            lines.append(f"  {arrow.source} -> {arrow.target}{label}")
        if self.picture.note:
            lines.append(f'  label="{_escape(self.picture.note)}"')
        return "\n".join([*lines, "}"])

    def save(self, path: str | Path) -> None:
        """Write the drawing to a file: SVG to ``.svg``, DOT to ``.dot`` and ``.gv``.

        Raises
        ------
        ValueError : for another suffix
        """
        save_as("draw", path, {".svg": lambda: self.svg, ".dot": lambda: self.dot, ".gv": lambda: self.dot})

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return self.dot

    def __repr__(self) -> str:
        counts = Counter(box.sort for box in self.picture.boxes)
        return f"<Drawing: {counts['operation']} operations, {counts['leaf']} leaves>"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', r"\"").replace("\n", " ")


# Width of a character of a monospaced font in units of its size, with some room.
ASPECT = 0.61
TITLE, LINE = 13, 11
MARGIN = 20.0


def _svg_of(picture: Picture) -> str:
    """Return a picture as SVG, the whole document."""
    sizes = [_size(box) for box in picture.boxes]
    layout = arrange(sizes, [(arrow.source, arrow.target) for arrow in picture.arrows])
    note = html.escape(picture.note)
    width = max(layout.width, ASPECT * LINE * len(note)) + 2 * MARGIN
    below = 0
    if note:
        below = LINE + 12
    height = layout.height + 2 * MARGIN + below
    outputs = [box.title for box in picture.boxes if box.sort == "output"]
    parts = [
        f'<g transform="translate({(width - layout.width) / 2:z.1f} {MARGIN:z.1f})">',
        *map(_svg_arrow, picture.arrows, layout.routes),
        *map(_svg_box, picture.boxes, sizes, layout.centres),
        "</g>",
    ]
    if note:
        parts.append(f'<text x="{width / 2:z.1f}" y="{height - MARGIN + 4:z.1f}">{note}</text>')
    title = f"graph of {', '.join(outputs)}"
    size = f'width="{width:.0f}" height="{height:.0f}"'
    view = f'viewBox="0 0 {width:.0f} {height:.0f}"'
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="dk-graph" {size} {view} role="img">',
        f"<title>{html.escape(title)}</title>",
        f"<style>\n{read_text('dispatchkit.report', 'drawing.css')}</style>",
        f'<rect class="paper" {size} rx="8"/>',
    ]
    return "\n".join([*head, *parts, "</svg>"])


def _svg_box(box: Box, size: Place, centre: Place) -> str:
    (width, height), (x, y) = size, centre
    radius = height / 2
    if box.sort in ("operation", "constant"):
        radius = 7
    top = y - height / 2
    if box.lines:
        baseline = top + 20
    else:
        baseline = y + TITLE * 0.35
    texts = [f'<text class="title" x="{x:z.1f}" y="{baseline:z.1f}">{html.escape(box.title)}</text>']
    for line in box.lines:
        baseline += LINE + 5
        texts.append(f'<text x="{x:z.1f}" y="{baseline:z.1f}">{html.escape(line)}</text>')
    return (
        f'<g class="{box.sort}"><rect x="{x - width / 2:z.1f}" y="{top:z.1f}" width="{width:z.1f}" '
        f'height="{height:z.1f}" rx="{radius:z.1f}"/>{"".join(texts)}</g>'
    )


def _svg_arrow(arrow: Arrow, route: Sequence[Place]) -> str:
    """Return an arrow: straight within layers, bent between them, with its label at the first bend."""
    path = f"M{route[0][0]:z.1f} {route[0][1]:z.1f}"
    for (ax, ay), (bx, by) in zip(route[1:-1:2], route[2::2], strict=True):
        middle = (ay + by) / 2
        path += f"L{ax:z.1f} {ay:z.1f}C{ax:z.1f} {middle:z.1f} {bx:z.1f} {middle:z.1f} {bx:z.1f} {by:z.1f}"
    tip_x, tip_y = route[-1]
    (ax, ay), (bx, by) = route[1:3]
    head = f"M{tip_x:z.1f} {tip_y:z.1f}l-4 -8l4 1.5l4 -1.5z"
    text = f'<path class="arrow" d="{path}L{tip_x:z.1f} {tip_y - 6:z.1f}"/><path class="head" d="{head}"/>'
    if arrow.label:
        place = f'x="{(ax + bx) / 2 + 5:z.1f}" y="{(ay + by) / 2 + 4:z.1f}"'
        text += f'<text class="label" {place}>{html.escape(arrow.label)}</text>'
    return text


def _size(box: Box) -> tuple[float, float]:
    """Return width and height of a box that its text fits into."""
    characters = max([TITLE * len(box.title), *(LINE * len(line) for line in box.lines)]) * ASPECT
    pill = box.sort in ("leaf", "output")
    margin = 24
    if pill:
        margin = 34
    width = max(characters + margin, 44.0)
    return width, 30.0 + (LINE + 5) * len(box.lines)

"""How a change in place moves the graph's vertices where several tensors share memory.

All of a family look at one piece of memory, so the layouts of two arrays say which of their elements are the same. A
change through one of the tensors becomes a change of the root, the tensor that all others are views of: it is what it
was before, overlaid with the changed elements. The views are behind from then on, and each is taken anew from the root
when it is used, so a change costs the same however many views there are. Where the root is gone, the others are
overlaid with the changed elements at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn
from weakref import ref

import numpy as np

from dispatchkit.backends.arrays import namespace_of
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.errors import AutogradError
from dispatchkit.graph.memory_layout import Layout, shared_elements
from dispatchkit.graph.node import Node
from dispatchkit.graph.storage import Memory, Storage, Vertex, vertex_of

__all__ = ["after_change"]

Change = tuple[Storage, Vertex | None]
VIEW_OF_LEAF = (
    "{name}: the tensor shares memory with a leaf tensor that requires grad, one being a view of the other, and cannot "
    "be changed in place while a graph is recorded; change it inside no_grad(), or work on a copy"
)
APART = (
    "{name}: the tensor shares memory with other living tensors, and which elements they have in common is not "
    "known; change a copy (x = x.clone()), or use the result of the operation instead of changing in place"
)


class Overlay:
    """The operation of a tensor some of whose elements are now those of another one, its source.

    A node of it has the edges of the tensor before and of the source, and saves the layouts of both.
    """

    node_name = "OverlayBackward"
    keeps_output = False
    trusted = True

    def pull_raw(self, node: Any, g: Any) -> tuple[Any, Any]:
        """Return the raw cotangents of the tensor before and of the source."""
        return _cotangents(namespace_of(g), node, g)

    def pull_live(self, node: Any, g: Any) -> tuple[Any, Any]:
        """Return them as tensors."""
        return _cotangents(tensor_namespace, node, g)


OVERLAY = Overlay()


def _cotangents(xp: Any, node: Node, g: Any) -> tuple[Any, Any]:
    before, source = node.edges
    assert node.saved is not None
    mine, theirs = node.saved
    if mine is theirs:
        return None, g
    here, there = shared_elements(mine, theirs)
    flat = xp.reshape(g, (-1,))
    g_before = g_source = None
    if before is not None:
        g_before = xp.reshape(xp.index_put(flat, here, 0.0), g.shape)
    if source is not None:
        nothing = xp.zeros((theirs.size,), dtype=g.dtype)
        g_source = xp.reshape(xp.index_put(nothing, there, flat[here], accumulate=True), theirs.shape)
    return g_before, g_source


class Behind(Vertex):
    """Stands for a view that was changed since it was last used: it is taken anew when it is used again.

    Parameters
    ----------
    layout : of the view; None for one that has the root's array
    """

    __slots__ = ("layout",)
    behind = True
    name = OVERLAY.node_name

    def __init__(self, layout: Layout | None) -> None:
        self.layout = layout
        self.extras = None

    @property
    def edges(self) -> NoReturn:  # type: ignore[override]  # nothing may hang on it
        """Nothing: the graph never leads here."""
        raise AssertionError("a view that is behind became part of the graph; `vertex_of` takes it anew")

    def current(self, tensor: Storage) -> Vertex:
        """Take the view anew from its root, as the last change left that."""
        memory = tensor._memory
        assert memory is not None
        source: _Source = memory.source
        saved = (None, None) if self.layout is None else (self.layout, source.layout)
        node = _overlaid(tensor, None, source.vertex, saved)
        if self.extras is not None:
            self.extras.give_gradient(node)
        if memory.behind.pop(id(tensor), None) is not None:
            memory.views.append(ref(tensor))
        tensor._node = node
        return node


def after_change(name: str, x: Storage, changed: Vertex | None) -> Iterable[Change]:
    """Return the vertices of all tensors that see a change in place; nothing is changed until they are iterated over.

    Parameters
    ----------
    name : of the operation, for the messages
    x : the tensor that is changed
    changed : vertex of its new value

    Raises
    ------
    AutogradError : for a view of a leaf that requires a gradient, or its base, and where arrays share memory in a way
        that their layouts do not show
    """
    memory = x._memory
    if memory is None:
        return [(x, changed)]
    family = memory.up_to_date()
    if changed is None and not memory.behind and all(one._node is None for one in family):
        return [(x, changed)]
    if any(one._node is not None and one._node.is_leaf for one in family if one is not x):
        raise AutogradError(VIEW_OF_LEAF.format(name=name))
    if 0 in x.array.shape:
        # There is nothing to overlay; a gradient of no elements flows all the same.
        empty = [one for one in family if one is not x and 0 in one.array.shape]
        nodes = [
            None if changed is None else _overlaid(one, None, changed, (Layout(one.array), Layout(x.array)))
            for one in empty
        ]
        return [(x, changed), *zip(empty, nodes, strict=True)]
    root = memory.root
    if root is None:
        return _without_root(name, x, changed, memory)
    whole = changed if root is x else _Source(name, x, changed).over(root)
    source = _Source(name, root, whole)
    views = [one for one in family if one is not root and 0 not in one.array.shape]
    behind = [Behind(source.layout_of(one)) for one in views]
    if whole is None:
        return [(one, None) for one in (x, *memory.relatives(x))]
    return _noted(memory, source, [(root, whole), *zip(views, behind, strict=True)])


def _noted(memory: Memory, source: _Source, changes: list[Change]) -> Iterator[Change]:
    """Note what the views are recomputed from, then yield the changes."""
    memory.source = source
    yield from changes


def _without_root(name: str, x: Storage, changed: Vertex | None, memory: Memory) -> list[Change]:
    """Return the vertices of all tensors that see a change where the root of the views is gone."""
    relatives = memory.relatives(x)
    for one in relatives:
        vertex_of(one)
    source = _Source(name, x, changed)
    others = [(view, source.over(view)) for view in relatives]
    if all(vertex is view._node for view, vertex in others):
        return [(x, changed), *others]
    # The others hang on the changed value as the tensor itself does: none of them is made of another.
    return [(x, source.over(x)), *others]


class _Source:
    """What overlays the tensors that it shares memory with, or is what views are taken from.

    Parameters
    ----------
    name : of the operation, for the message
    tensor : whose elements they get
    vertex : its vertex once it is changed
    """

    def __init__(self, name: str, tensor: Storage, vertex: Vertex | None) -> None:
        self.name = name
        self.array = tensor.array
        self.vertex = vertex
        self.layout = _layout_of(tensor) if type(tensor.array) is np.ndarray else None
        if self.layout is not None and not self.layout.decodable:
            self.layout = None

    def over(self, other: Storage) -> Vertex | None:
        """Return the vertex of a tensor overlaid with this one."""
        before = other._node
        saved: Any = (None, None)
        if other.array is self.array:
            before = None
        elif (known := _known_layouts(before, other.array)) is not None and known[1] is self.layout:
            # Elements that the same source does not overlay have no gradient where there was none before it.
            before, saved = None if before is None or before.edges[0] is None else before, known
        else:
            mine, theirs = saved = self._comparable(other)
            if mine.apart_from(theirs):
                return before
            if theirs.covers(mine):
                before = None
            elif not (mine.decodable and mine.covers(theirs)) and not shared_elements(mine, theirs)[0].size:
                return before
        return None if before is None and self.vertex is None else _overlaid(other, before, self.vertex, saved)

    def layout_of(self, view: Storage) -> Layout | None:
        """Return the layout of a tensor all of whose elements are this one's; None if it has the very array."""
        if view.array is self.array:
            return None
        mine, theirs = self._comparable(view)
        if not theirs.covers(mine):
            raise AutogradError(APART.format(name=self.name))
        return mine

    def _comparable(self, view: Storage) -> tuple[Layout, Layout]:
        """Return the layouts of another tensor and of this one."""
        if type(view.array) is np.ndarray and view.array.dtype == self.array.dtype and self.layout is not None:
            return _layout_of(view), self.layout
        raise AutogradError(APART.format(name=self.name))


def _overlaid(tensor: Storage, before: Vertex | None, source: Vertex | None, saved: Any) -> Node:
    """Return the node of a tensor overlaid with a source."""
    node = Node()
    node.operation = OVERLAY
    node.edges = (before, source)
    node.saved = saved
    node.extras = None
    node.shape = tensor.array.shape
    node.dtype = tensor.array.dtype
    return node


def _layout_of(tensor: Storage) -> Layout:
    """Return the layout of a tensor's array."""
    known = _known_layouts(tensor._node, tensor.array)
    return Layout(tensor.array) if known is None else known[0]


def _known_layouts(vertex: Vertex | None, array: Any) -> tuple[Layout, Layout] | None:
    """Return the layouts of an array and of what it was overlaid with, if the vertex is that of an overlay."""
    if type(vertex) is Node and vertex.operation is OVERLAY and vertex.saved is not None:
        mine, theirs = vertex.saved
        if mine is not None and mine.array() is array:
            return mine, theirs
    return None

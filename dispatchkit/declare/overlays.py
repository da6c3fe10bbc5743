"""Views after a change in place: each has the changed elements, and gradients flow to where these came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn
from weakref import ref

import numpy as np

from dispatchkit.backends.arrays import are_parts, namespace_of, of_parts
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.errors import AutogradError
from dispatchkit.graph.node import Node, make_node
from dispatchkit.graph.storage import Memory, Storage, Strides, Vertex, shared_elements, vertex_of

Change = tuple[Storage, Vertex | None]
VIEW_OF_LEAF = (
    "{name}: the tensor shares memory with a leaf tensor that requires grad, one being a view of the other, and cannot "
    "be changed in place while a graph is recorded; change it inside no_grad(), or work on a copy"
)
SHARED_MEMORY = (
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
    flat = _elements(xp, g, mine)
    g_before = g_source = None
    if before is not None:
        g_before = _of_elements(xp, xp.index_put(flat, here, 0.0), mine)
    if source is not None:
        nothing = xp.zeros((theirs.size,), dtype=flat.dtype)
        g_source = _of_elements(xp, xp.index_put(nothing, there, flat[here], accumulate=True), theirs)
    return g_before, g_source


def _elements(xp: Any, g: Any, layout: Strides) -> Any:
    """Return the cotangents of the elements that a layout counts, in one axis."""
    if layout.in_parts:
        g = xp.stack([xp.real(g), xp.imag(g)], axis=-1)
    return xp.reshape(g, (-1,))


def _of_elements(xp: Any, elements: Any, layout: Strides) -> Any:
    """Return the cotangent of an array by those of its elements."""
    g = xp.reshape(elements, layout.shape)
    if layout.in_parts:
        return of_parts(g[..., 0], g[..., 1])
    return g


class Behind(Vertex):
    """Stands for a view that was changed since it was last used: it is taken anew when it is used again.

    Parameters
    ----------
    layout : of the view; None for one that has the root's array
    """

    __slots__ = ("layout",)
    behind = True
    name = OVERLAY.node_name

    def __init__(self, layout: Strides | None) -> None:
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
        saved = (None, None) if self.layout is None else (self.layout, source.beside(self.layout))
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
    if changed is None and not memory.behind and all(tensor._node is None for tensor in family):
        return [(x, changed)]
    if any(tensor._node is not None and tensor._node.is_leaf for tensor in family if tensor is not x):
        raise AutogradError(VIEW_OF_LEAF.format(name=name))
    if 0 in x.array.shape:
        # There is nothing to overlay; a gradient of no elements flows all the same.
        empty = [tensor for tensor in family if tensor is not x and 0 in tensor.array.shape]
        if changed is None:
            return [(x, None), *((tensor, None) for tensor in empty)]
        whole = _Source(name, x, changed)
        nodes = [_overlaid(tensor, None, changed, whole.comparable(tensor)) for tensor in empty]
        return [(x, changed), *zip(empty, nodes, strict=True)]
    root = memory.root
    if root is None:
        return _without_root(name, x, changed, memory)
    of_root = changed
    if root is not x:
        of_root = _Source(name, x, changed).over(root)
    source = _Source(name, root, of_root)
    views = [tensor for tensor in family if tensor is not root and 0 not in tensor.array.shape]
    behind = [Behind(source.layout_of(tensor)) for tensor in views]
    if of_root is None:
        return [(tensor, None) for tensor in (x, *memory.relatives(x))]
    changes = [(root, of_root), *zip(views, behind, strict=True)]

    def with_source() -> Iterator[Change]:
        memory.source = source  # what the views are recomputed from
        yield from changes

    return with_source()


def _without_root(name: str, x: Storage, changed: Vertex | None, memory: Memory) -> list[Change]:
    """Return the vertices of all tensors that see a change where the root of the views is gone."""
    relatives = memory.relatives(x)
    for tensor in relatives:
        vertex_of(tensor)
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
        self.parts: Strides | None = None

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
            mine, theirs = saved = self.comparable(other)
            if mine.apart_from(theirs):
                return before
            if theirs.covers(mine):
                before = None
            elif not (mine.decodable and mine.covers(theirs)) and not shared_elements(mine, theirs)[0].size:
                return before
        if before is None and self.vertex is None:
            return None
        return _overlaid(other, before, self.vertex, saved)

    def layout_of(self, view: Storage) -> Strides | None:
        """Return the layout of a tensor all of whose elements are this one's; None if it has the very array."""
        if view.array is self.array:
            return None
        mine, theirs = self.comparable(view)
        if not theirs.covers(mine):
            raise AutogradError(SHARED_MEMORY.format(name=self.name))
        return mine

    def comparable(self, view: Storage) -> tuple[Strides, Strides]:
        """Return the layouts of another tensor and of this one, in parts where only one has complex numbers."""
        if type(view.array) is np.ndarray and self.layout is not None:
            mine, theirs = view.array.dtype, self.array.dtype
            if mine == theirs:
                return _layout_of(view), self.layout
            if are_parts(mine, theirs):
                layout = _layout_of(view, in_parts=mine.kind == "c")
                return layout, self.beside(layout)
        raise AutogradError(SHARED_MEMORY.format(name=self.name))

    def beside(self, layout: Strides) -> Strides:
        """Return the layout of the source that counts elements as another one does."""
        assert self.layout is not None
        if layout.itemsize == self.layout.itemsize:
            return self.layout
        if self.parts is None:
            self.parts = Strides(self.array, in_parts=True)
        return self.parts


def _overlaid(tensor: Storage, before: Vertex | None, source: Vertex | None, saved: Any) -> Node:
    """Return the node of a tensor overlaid with a source."""
    return make_node(Node, OVERLAY, (before, source), saved, tensor.array.shape, tensor.array.dtype)


def _layout_of(tensor: Storage, *, in_parts: bool = False) -> Strides:
    """Return the layout of a tensor's array, or of the parts of its complex numbers."""
    known = _known_layouts(tensor._node, tensor.array)
    if known is None or known[0].in_parts is not in_parts:
        return Strides(tensor.array, in_parts=in_parts)
    return known[0]


def _known_layouts(vertex: Vertex | None, array: Any) -> tuple[Strides, Strides] | None:
    """Return the layouts of an array and of what it was overlaid with, if the vertex is that of an overlay."""
    if type(vertex) is Node and vertex.operation is OVERLAY and vertex.saved is not None:
        mine, theirs = vertex.saved
        if mine is not None and mine.array() is array:
            return mine, theirs
    return None

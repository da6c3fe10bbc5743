"""The backward sweep: cotangents flow from the outputs to the leaves, each vertex after all that depend on it.

Without `create_graph` the sweep works on raw arrays; with it, on tensors, so that what it computes is differentiable
again. Nothing is recursive, so depth is bounded by memory alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dispatchkit.errors import AutogradError
from dispatchkit.graph.arrays import namespace_of, project
from dispatchkit.graph.node import CallNode, Leaf, Node, Output
from dispatchkit.graph.storage import Storage, Vertex

__all__ = ["FREED", "sweep"]

FREED = (
    "the graph of {name} was freed by an earlier backward pass; pass retain_graph=True there to go through it "
    "again"
)


def sweep(
    roots: Sequence[tuple[Vertex, Any]],
    wrap: Any,
    *,
    inputs: Sequence[Vertex] | None = None,
    retain_graph: bool = False,
    create_graph: bool = False,
    accumulate: bool = True,
) -> dict[Vertex, Any]:
    """Let cotangents flow from the roots to the leaves.

    Parameters
    ----------
    roots : vertices with their cotangents, raw arrays or (`create_graph`) tensors
    wrap : makes a tensor of a raw gradient
    inputs : the vertices whose gradients are wanted; all leaves by default
    retain_graph : keep what a further pass needs
    create_graph : compute with tensors, so that the gradients are differentiable
    accumulate : add to the gradients of leaves; otherwise only what `inputs` names is returned

    Returns
    -------
    the gradient at each of `inputs` that was reached

    Raises
    ------
    AutogradError : if a part of the graph was freed before
    InplaceError : if a value that a rule reads was changed in place
    """
    wanted = None if inputs is None else set(inputs)
    pending = _count_edges([vertex for vertex, _ in roots])
    needed = None if wanted is None else _on_a_path(pending, wanted)
    grads: dict[Vertex, Any] = {}
    found: dict[Vertex, Any] = {}
    ready: list[Vertex] = []
    for vertex, g in roots:
        _deposit(grads, vertex, g, create_graph)
        if pending[vertex] == 0 and vertex not in ready:
            ready.append(vertex)
    while ready:
        vertex = ready.pop()
        g = grads.pop(vertex, None)
        if g is not None and vertex.extras is not None:
            g = _arrived(vertex, g, wrap, create_graph)
        if wanted is not None and vertex in wanted and g is not None:
            found[vertex] = g
        if type(vertex) is Leaf:
            if g is not None and accumulate and (wanted is None or vertex in wanted):
                _accumulate(vertex, g, wrap, create_graph)
            continue
        edges, incoming = _flow(vertex, g, needed, retain_graph, create_graph)
        for index, edge in enumerate(edges):
            if edge is None:
                continue
            if incoming is not None and incoming[index] is not None:
                _deposit(grads, edge, incoming[index], create_graph)
            pending[edge] -= 1
            if pending[edge] == 0:
                ready.append(edge)
    return found


def _count_edges(roots: Iterable[Vertex]) -> dict[Vertex, int]:
    """Return every vertex that can be reached, with the number of edges that lead to it."""
    pending: dict[Vertex, int] = dict.fromkeys(roots, 0)
    stack = list(pending)
    while stack:
        for edge in _edges(stack.pop()):
            if edge is not None:
                if edge in pending:
                    pending[edge] += 1
                else:
                    pending[edge] = 1
                    stack.append(edge)
    return pending


def _edges(vertex: Vertex) -> tuple[Vertex | None, ...]:
    if isinstance(vertex, Node):
        return vertex.edges
    return (vertex.main,) if isinstance(vertex, Output) else ()


def _on_a_path(pending: dict[Vertex, int], wanted: set[Vertex]) -> set[Vertex]:
    """Return the vertices from which one of the wanted can be reached."""
    parents: dict[Vertex, list[Vertex]] = {}
    for vertex in pending:
        for edge in _edges(vertex):
            if edge is not None:
                parents.setdefault(edge, []).append(vertex)
    needed: set[Vertex] = set()
    stack = [vertex for vertex in wanted if vertex in pending]
    while stack:
        vertex = stack.pop()
        if vertex not in needed:
            needed.add(vertex)
            stack += parents.get(vertex, ())
    return needed


def _flow(
    vertex: Vertex, g: Any, needed: set[Vertex] | None, retain_graph: bool, create_graph: bool
) -> tuple[tuple[Vertex | None, ...], Sequence[Any] | None]:
    """Return the edges of a vertex with the cotangents that go along them."""
    if type(vertex) is Output:
        return (vertex.main,), None if g is None else [(vertex.index, g)]
    assert isinstance(vertex, Node)
    edges = vertex.edges
    if g is None or (needed is not None and not any(edge in needed for edge in edges)):
        return edges, None
    if vertex.saved is None:
        raise AutogradError(FREED.format(name=vertex.name))
    vertex.check_versions()
    incoming = vertex.operation.pull(vertex, g, create_graph)
    if not retain_graph:
        vertex.free()
    return edges, incoming


def _deposit(grads: dict[Vertex, Any], vertex: Vertex, g: Any, create_graph: bool) -> None:
    """Add a cotangent to what has arrived at a vertex."""
    if type(g) is tuple:
        _deposit_output(grads, vertex, g)
        return
    if g.shape != vertex.shape or g.dtype != vertex.dtype:
        g = project(namespace_of(g), g, vertex.shape, vertex.dtype)
    before = grads.get(vertex)
    grads[vertex] = g if before is None else before + g


def _deposit_output(grads: dict[Vertex, Any], main: Vertex, arrival: tuple[int, Any]) -> None:
    """Put the cotangent of one output in its place among those of its operation."""
    assert isinstance(main, CallNode)
    assert main.outputs is not None
    index, g = arrival
    grads.setdefault(main, [None] * len(main.outputs))[index] = g


def _arrived(vertex: Vertex, g: Any, wrap: Any, create_graph: bool) -> Any:
    """Run the hooks of a vertex on its gradient, and retain it where asked to."""
    extras = vertex.extras
    assert extras is not None
    if extras.hooks:
        for hook in list(extras.hooks.values()):
            replaced = hook(g if create_graph else wrap(g))
            if replaced is not None:
                g = replaced if create_graph else replaced.array
    if extras.retains:
        extras.grad = g if create_graph else wrap(g)
    return g


def _accumulate(leaf: Leaf, g: Any, wrap: Any, create_graph: bool) -> None:
    """Add a gradient to what its leaf has, without copying an array that nobody else holds."""
    extras = leaf.extras
    assert extras is not None
    before = extras.grad
    if create_graph:
        extras.grad = g if before is None else before + g
    elif before is None:
        owned = isinstance(g, np.ndarray) and g.base is None and sys.getrefcount(g) <= 4
        extras.grad = wrap(g if owned else namespace_of(g).asarray(g, copy=True))
    elif isinstance(before, Storage) and before._node is None:
        extras.grad = wrap(before.array + g)
    else:
        extras.grad = before + wrap(g)
    for hook in list(extras.after.values()):
        hook(leaf)

"""The backward sweep: cotangents flow from the outputs to the leaves, each vertex after all that depend on it.

Without `create_graph` the sweep works on raw arrays; with it, on tensors, so that what it computes is differentiable
again. Nothing is recursive, so depth is bounded by memory alone.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dispatchkit.errors import AutogradError
from dispatchkit.graph.arrays import namespace_of, project, same_dtype
from dispatchkit.graph.node import CallNode, Output
from dispatchkit.graph.storage import Storage, Vertex
from dispatchkit.protocol.observers import live, tell_of_sweep

__all__ = ["FREED", "OWN_REFERENCES", "memory_is_own", "reachable", "sweep"]

# References to a gradient that nobody outside the sweep holds: the sweep's and the accumulating function's names for
# it, what iterates over the cotangents, and the argument of the count itself.
OWN_REFERENCES = 4

# Reentrant: adding gradients of array types calls handlers, which may go backwards themselves.
accumulating = threading.RLock()
FREED = "the graph of {name} was freed by an earlier backward pass; pass retain_graph=True there to go through it again"


def sweep(  # noqa: C901  # the loop is written out: each call in it would cost a tenth of a pass
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
    pending = reachable([vertex for vertex, _ in roots])
    if live:
        tell_of_sweep(pending)
    needed = None if wanted is None else _on_a_path(pending, wanted)
    grads: dict[Vertex, Any] = {}
    found: dict[Vertex, Any] = {}
    for vertex, g in roots:
        _deposit(grads, vertex, g)
    ready = [vertex for vertex in grads if pending[vertex] == 0]
    while ready:
        vertex = ready.pop()
        g = grads.pop(vertex, None)
        if g is not None:
            extras = vertex.extras
            if extras is not None and (extras.hooks or extras.retains):
                g = _arrived(vertex, g, wrap, create_graph)
            if wanted is not None and vertex in wanted:
                found[vertex] = g
        if vertex.is_leaf:
            if g is not None and accumulate and (wanted is None or vertex in wanted):
                _accumulate(vertex, g, wrap, create_graph)
            continue
        edges = vertex.edges
        if g is None or (needed is not None and needed.isdisjoint(edges)):
            incoming: Sequence[Any] = (None,) * len(edges)
        elif type(vertex) is Output:
            incoming = ((vertex.index, g),)
        else:
            if vertex.saved is None:  # type: ignore[attr-defined]  # leaves and outputs were dealt with
                raise AutogradError(FREED.format(name=vertex.name))
            operation = vertex.operation  # type: ignore[attr-defined]
            incoming = operation.pull_live(vertex, g) if create_graph else operation.pull_raw(vertex, g)
            if not retain_graph:
                vertex.saved = vertex.output = None  # type: ignore[attr-defined]
        for edge, g in zip(edges, incoming):  # noqa: B905  # one each, and this is the hot loop
            if edge is None:
                continue
            if g is not None:
                if type(g) is tuple or g.shape != edge.shape or g.dtype is not edge.dtype or edge in grads:
                    _deposit(grads, edge, g)
                else:
                    grads[edge] = g
            count = pending[edge] - 1
            pending[edge] = count
            if count == 0:
                ready.append(edge)
    return found


def reachable(roots: Iterable[Vertex]) -> dict[Vertex, int]:
    """Return every vertex that can be reached, with the number of edges that lead to it."""
    pending: dict[Vertex, int] = dict.fromkeys(roots, 0)
    stack = list(pending)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None:
                if edge in pending:
                    pending[edge] += 1
                else:
                    pending[edge] = 1
                    stack.append(edge)
    return pending


def _on_a_path(pending: dict[Vertex, int], wanted: set[Vertex]) -> set[Vertex]:
    """Return the vertices from which one of the wanted can be reached."""
    parents: dict[Vertex, list[Vertex]] = {}
    for vertex in pending:
        for edge in vertex.edges:
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


def _deposit(grads: dict[Vertex, Any], vertex: Vertex, g: Any) -> None:
    """Add a cotangent to what has arrived at a vertex; that of one of several outputs goes to its place."""
    if type(g) is tuple:
        assert isinstance(vertex, CallNode)
        assert vertex.outputs is not None
        index, g = g
        arrived = grads.setdefault(vertex, [None] * len(vertex.outputs))
        arrived[index] = g if arrived[index] is None else arrived[index] + g
        return
    if g.shape != vertex.shape or (g.dtype is not vertex.dtype and not same_dtype(g.dtype, vertex.dtype)):
        g = project(namespace_of(g), g, vertex.shape, vertex.dtype)
    before = grads.get(vertex)
    grads[vertex] = g if before is None else before + g


def memory_is_own(g: np.ndarray[Any, Any]) -> bool:
    """Return whether nothing but `g` looks at its memory, all of which it needs."""
    base = g.base
    if base is None:
        return True
    whole = type(base) is np.ndarray and base.base is None and base.size == g.size and g.flags.c_contiguous
    # The references are that of `g`, the name here, and the argument of the count.
    return whole and sys.getrefcount(base) <= 3


def _arrived(vertex: Vertex, g: Any, wrap: Any, create_graph: bool) -> Any:
    """Run the hooks of a vertex on its gradient, and retain it where asked to."""
    extras = vertex.extras
    assert extras is not None
    if extras.hooks:
        for hook in list(extras.hooks.values()):
            replaced = hook(g if create_graph else wrap(g))
            if replaced is not None:
                _check_replacement(vertex, replaced)
                g = replaced if create_graph else replaced.array
    if extras.retains:
        extras.grad = g if create_graph else wrap(g)
    return g


def _check_replacement(vertex: Vertex, replaced: Any) -> None:
    """Raise if what a hook returned cannot take the place of a gradient."""
    if not isinstance(replaced, Storage):
        raise TypeError(f"register_hook: the hook returned a {type(replaced).__name__}, not a tensor or None")
    if tuple(replaced.array.shape) != vertex.shape:
        raise ValueError(
            f"register_hook: the hook returned a gradient of shape {tuple(replaced.array.shape)} in place of one of "
            f"shape {vertex.shape}"
        )


def _accumulate(leaf: Vertex, g: Any, wrap: Any, create_graph: bool) -> None:
    """Add a gradient to what its leaf has, without copying an array that nobody else holds."""
    extras = leaf.extras
    assert extras is not None
    with accumulating:  # threads may go backwards through graphs of the same leaves
        before = extras.grad
        if create_graph:
            extras.grad = g.clone() if before is None else before + g
        elif before is None:
            own = isinstance(g, np.ndarray) and sys.getrefcount(g) <= OWN_REFERENCES and memory_is_own(g)
            extras.grad = wrap(g if own else namespace_of(g).asarray(g, copy=True))
        elif isinstance(before, Storage) and before._node is None:
            extras.grad = wrap(before.array + g)
        else:
            extras.grad = before + wrap(g)
    if extras.after:
        for hook in list(extras.after.values()):
            hook(leaf)

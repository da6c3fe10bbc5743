"""The backward sweep: cotangents flow from the outputs to the leaves, each vertex after all that depend on it.

Without `create_graph` the sweep works on raw arrays; with it, on tensors, so that what it computes is differentiable
again. Nothing is recursive, so depth is bounded by memory alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

import numpy as np

from dispatchkit.accelerator import core
from dispatchkit.backends.arrays import is_fixed, namespace_of, project, raw_array, same_dtype
from dispatchkit.errors import AutogradError
from dispatchkit.graph.node import FREED, CallNode, Hooked, Output, answer_of_hook, is_wrapped_by
from dispatchkit.graph.recording import is_grad_enabled, no_grad
from dispatchkit.graph.storage import Storage, Vertex, VertexExtras, memory_of
from dispatchkit.protocol.blocks import state_variable
from dispatchkit.protocol.observers import live, notify_backward

ndarray = np.ndarray


class PendingMemory:
    """The memory of the gradients that go further in a sweep.

    Each is looked at once, when somebody first asks after it has come, so that asking at every leaf costs no more than
    the sweep. Those of several outputs are left out: their memory counts as held by somebody outside.
    """

    __slots__ = ("gradients", "seen", "users")

    def __init__(self, gradients: dict[Vertex, Any]) -> None:
        self.gradients = gradients
        self.seen: set[Vertex] = set()
        self.users: dict[int, list[Vertex]] = {}

    def uses(self, key: int) -> bool:
        """Return whether one of the gradients uses the memory that a key stands for."""
        if not self.gradients:  # as after the last step of a pass
            return False
        self._look()
        users = self.users.get(key, [])
        while users:
            # It has gone further by now, or is a sum, which is in memory of its own.
            gradient = self.gradients.get(users[-1])
            if gradient is not None and type(gradient) is not list and _memory_key(gradient) == key:
                return True
            users.pop()
        return False

    def _look(self) -> None:
        """Look at the gradients that have come since the last time, which stand last."""
        gradients, come = self.gradients, []
        # `reversed` would go through the places of all that were taken from the end; `popitem` gives them up.
        while gradients:
            vertex, gradient = gradients.popitem()
            come.append((vertex, gradient))
            if vertex in self.seen:
                break
        for vertex, gradient in reversed(come):
            gradients[vertex] = gradient
            if vertex not in self.seen:
                self.seen.add(vertex)
                if type(gradient) is not list:
                    self.users.setdefault(_memory_key(gradient), []).append(vertex)


# What `own_memory` is given by a sweep, but for the gradient.
Ownership = tuple[PendingMemory, list[Any], set[int]]


def own_memory(g: Any, pending: PendingMemory, outside: list[Any], known: set[int]) -> Any:
    """Return a raw gradient to give away: itself if its memory is the sweep's own, else a copy.

    Parameters
    ----------
    g : the gradient, which goes no further in the sweep
    pending : the memory of those that do
    outside : gradients that somebody outside may hold; moved from here to `known`
    known : ids of the arrays whose memory somebody outside may hold. The id of an array that is gone may come back;
        then a copy too many is made.
    """
    let_go(outside, known)
    if type(g) is ndarray:
        owner = g
        if g.base is not None:
            owner = _owner(g)
        key, whole = id(owner), owner is g or _is_whole(g, owner)
    elif is_fixed(g):
        return g
    elif hasattr(g, "untyped_storage"):
        memory = g.untyped_storage()
        key, whole = memory._cdata, g.is_contiguous() and memory.nbytes() == g.numel() * g.element_size()
    else:
        return copy_gradient(g)
    free = whole and key not in known and not pending.uses(key)
    if free:
        return g
    return copy_gradient(g)


def let_go(outside: list[Any], known: set[int]) -> None:
    """Hold gradients no longer that somebody outside may hold, but the ids of those that own their memory."""
    while outside:
        gradient = outside.pop()
        if type(gradient) is ndarray and gradient.base is None:
            known.add(id(gradient))  # as `_memory_key` says
        elif type(gradient) is list:
            outside += gradient
        else:
            known.add(_memory_key(gradient))


def separate(found: dict[Vertex, Any], outside: Sequence[Any]) -> None:
    """Clone the gradients, which are tensors, that share memory with another one or with a tensor outside."""
    taken = {key for tensor in outside for key in _keys(tensor)}
    for vertex, g in found.items():
        if not g.is_tracer:
            read_only = isinstance(g.array, ndarray) and not g.array.flags.writeable
            if read_only or not taken.isdisjoint(_keys(g)):
                found[vertex] = g.clone()
        taken.update(_keys(g))


def copy_gradient(g: Any) -> Any:
    """Return a copy of a raw gradient."""
    if type(g) is ndarray:
        return g.copy("K")
    return namespace_of(g).asarray(g, copy=True)


def _owner(g: Any) -> Any:
    """Return the array that owns the memory of an array."""
    if type(g) is ndarray and g.base is None:
        return g
    while isinstance(base := getattr(g, "base", None), ndarray):
        g = base
    return g


def _is_whole(g: np.ndarray[Any, Any], owner: Any) -> bool:
    """Return whether an array is all of its owner, perhaps in another shape, contiguous and writeable."""
    whole = type(owner) is ndarray and owner.base is None and owner.nbytes == g.nbytes
    return whole and g.flags.forc and g.flags.writeable


def _memory_key(array: Any) -> int:
    """Return what tells the memory of an array from that of others, while it lives."""
    if type(array) is ndarray:
        if array.base is None:
            return id(array)
    elif hasattr(array, "untyped_storage"):
        key: int = array.untyped_storage()._cdata
        return key
    return id(_owner(array))


def _keys(tensor: Storage) -> set[int]:
    """Return keys that two tensors share if they are the same or use the same memory."""
    if tensor._memory is None:
        return {id(tensor)}
    return {id(tensor), id(tensor._memory.version)}


# Reentrant: adding gradients of array types calls handlers, which may go backwards themselves.
accumulating = threading.RLock()


# The passes that run in this context, the innermost last: for each the functions to call at its end.
_running: ContextVar[tuple[list[Callable[[], object]], ...]] = state_variable("backward passes", ())
# Gives what stands for each of them.
running_passes = _running.get


def call_at_the_end(callback: Callable[[], object]) -> None:
    """Have a function called at the end of the pass that runs now, the inner one where passes are in one another.

    Raises
    ------
    AutogradError : if no pass runs
    """
    passes = _running.get()
    if not passes:
        raise AutogradError("Final callbacks can only be installed during backward pass.")
    passes[-1].append(callback)


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
    the gradient at each of `inputs` that was reached, in memory of its own, unless they are accumulated

    Raises
    ------
    AutogradError : if a part of the graph was freed before
    InplaceError : if a value that a rule reads was changed in place
    """
    callbacks: list[Callable[[], object]] = []  # `list[...]()` would make a class each time
    outer = _running.get()
    try:
        _running.set((*outer, callbacks))
        gradients = _flow(roots, wrap, inputs, retain_graph, create_graph, accumulate)
        for callback in callbacks:  # which may add others
            callback()
    finally:
        _running.set(outer)
    return gradients


def _flow(  # noqa: C901, PLR0915  # the loop is written out: each call in it would cost a tenth of a pass
    roots: Sequence[tuple[Vertex, Any]],
    wrap: Any,
    inputs: Sequence[Vertex] | None,
    retain_graph: bool,
    create_graph: bool,
    accumulate: bool,
) -> dict[Vertex, Any]:
    """Let cotangents flow from the roots to the leaves, as `sweep` says."""
    wanted = None if inputs is None else set(inputs)
    outside: list[Any] = []
    ready: list[Vertex] = []
    pending, needed, grads, kept = _start(roots, wanted, accumulate, outside, ready)
    gradients: dict[Vertex, Any] = {}
    ownership: Ownership = PendingMemory(grads), outside, set()
    sums: set[Vertex] = set()
    advance = None if core is None or create_graph or wanted is not None else core.advance
    while ready and not (advance is not None and advance(ready, grads, pending, sums, retain_graph)):
        vertex = ready.pop()
        g = grads.pop(vertex, None)
        if g is not None:
            extras = vertex.extras
            if extras is not None and (extras.hooks or extras.retains) and (needed is None or vertex in needed):
                g = _run_hooks(vertex, g, wrap, create_graph, outside, pending if needed is None else needed)
        if vertex.is_leaf:
            if g is not None and (wanted is None or vertex in wanted):
                _deliver(vertex, g, wrap, create_graph, ownership, None if accumulate else gradients)
            continue
        if wanted is not None and not accumulate and g is not None and vertex in wanted:
            gradients[vertex] = g if create_graph else copy_gradient(g)
        edges = vertex.edges
        if g is None or (needed is not None and needed.isdisjoint(edges) and not _ends_hooked(vertex, kept)):
            incoming: Sequence[Any] = (None,) * len(edges)
        elif type(vertex) is Output:
            incoming = _to_node(vertex, g, ownership[2])
        else:
            if vertex.saved is None:  # type: ignore[attr-defined]  # leaves and outputs were dealt with
                raise AutogradError(FREED.format(name=vertex.name))
            operation = vertex.operation  # type: ignore[attr-defined]
            if create_graph:
                incoming = operation.pull_live(vertex, g)
            else:
                incoming = operation.pull_raw(vertex, g)
                if not operation.trusted:
                    let_go([g, *incoming], ownership[2])
            if not (retain_graph or getattr(operation, "repeats", False)):
                vertex.saved = vertex.output = None  # type: ignore[attr-defined]
        for edge, g in zip(edges, incoming):  # noqa: B905  # one each, and this is the hot loop
            if edge is None:
                continue
            if g is not None:
                if type(g) is tuple or g.shape != edge.shape or g.dtype is not edge.dtype or edge in grads:
                    _deposit(grads, edge, g, sums)
                else:
                    grads[edge] = g
            pending[edge] = count = pending[edge] - 1
            if count == 0:
                ready.append(edge)
    if create_graph and gradients:
        separate(gradients, outside)
    return gradients


def _ends_hooked(vertex: Vertex, kept: set[Vertex] | None) -> bool:
    """Return whether a vertex that a pass ends at goes backwards for its hooks, as where its gradient is kept."""
    main: Any = getattr(vertex, "main", vertex)
    return kept is not None and vertex in kept and is_wrapped_by(Hooked, main)


def _start(
    roots: Sequence[tuple[Vertex, Any]],
    wanted: set[Vertex] | None,
    accumulate: bool,
    outside: list[Any],
    ready: list[Vertex],
) -> tuple[dict[Vertex, int], set[Vertex] | None, dict[Vertex, Any], set[Vertex] | None]:
    """Return the number of edges to each vertex, the vertices on a path to a wanted one, and the first cotangents.

    Last come the vertices at which gradients are kept, None for all leaves or where none is.

    Parameters
    ----------
    roots, wanted, accumulate : of the pass
    outside, ready : filled with the cotangents of the roots, and with those roots that nothing leads to
    """
    pending = reachable(dict(roots))
    if live:
        notify_backward(pending)
    grads: dict[Vertex, Any] = {}
    for vertex, g in roots:
        outside.append(g)
        if pending[vertex] == 0 and vertex not in grads:
            ready.append(vertex)
        if vertex in grads or g.shape != vertex.shape or g.dtype is not vertex.dtype:
            _deposit(grads, vertex, g, set())
        else:
            grads[vertex] = g
    if wanted is None:
        return pending, None, grads, None
    return pending, _on_a_path(pending, wanted), grads, wanted if accumulate else None


def reachable(roots: Iterable[Vertex]) -> dict[Vertex, int]:
    """Return every vertex that can be reached, with the number of edges that lead to it."""
    pending: dict[Vertex, int] = dict.fromkeys(roots, 0)
    if core is None:
        stack = list(pending)
    else:
        stack = core.reach(pending)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None:
                if edge in pending:
                    pending[edge] += 1
                else:
                    pending[edge] = 1
                    stack.append(edge)
    return pending


# The vertices of the arguments of functions under way, with the names of what differentiates by them.
differentiated: ContextVar[Mapping[Vertex, str]] = ContextVar(
    "dispatchkit.differentiated", default=MappingProxyType({})
)


def follower_of(vertex: Vertex | None) -> str:
    """Return the name of a transformation that differentiates what a vertex stands for, "" if there is none."""
    arguments = differentiated.get()
    if vertex is None or not arguments or not is_grad_enabled():
        return ""
    return next((arguments[reached] for reached in reachable([vertex]) if reached in arguments), "")


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


def _deposit(grads: dict[Vertex, Any], vertex: Vertex, g: Any, sums: set[Vertex]) -> None:
    """Add a cotangent to what has arrived at a vertex; that of one of several outputs goes to its place.

    Parameters
    ----------
    grads : what has arrived, by the vertex
    vertex, g : the cotangent, and where it belongs
    sums : vertices at which a sum is that was made here, so that more can be added in its memory
    """
    if type(g) is tuple:
        assert isinstance(vertex, CallNode)
        assert vertex.outputs is not None
        index, g = g
        arrived = grads.setdefault(vertex, [None] * len(vertex.outputs))
        if arrived[index] is None:
            arrived[index] = g
        else:
            arrived[index] = arrived[index] + g
        return
    if g.shape != vertex.shape or (g.dtype is not vertex.dtype and not same_dtype(g.dtype, vertex.dtype)):
        g = project(namespace_of(g), g, vertex.shape, vertex.dtype)
    before = grads.get(vertex)
    if before is None:
        grads[vertex] = g
    elif vertex in sums and type(before) is ndarray and type(g) is ndarray and before.dtype == g.dtype:
        before += g
    else:
        grads[vertex] = before + g
        sums.add(vertex)


def _to_node(output: Output, g: Any, known: set[int]) -> tuple[tuple[int, Any]]:
    """Return the gradient of one of several outputs as its node takes it; its memory is one that others may hold."""
    if not isinstance(g, Storage):
        known.add(_memory_key(g))
    return ((output.index, g),)


# The vertices whose hooks the pass runs that calls a hook.
hooked_in_pass: ContextVar[Collection[Vertex]] = ContextVar("dispatchkit.hooked_in_pass", default=())


def _run_hooks(
    vertex: Vertex, g: Any, wrap: Any, create_graph: bool, outside: list[Any], hooked: Collection[Vertex]
) -> Any:
    """Run the hooks of a vertex on its gradient, and retain it where asked to."""
    extras = vertex.extras
    assert extras is not None
    if extras.hooks:
        before = hooked_in_pass.set(hooked)
        try:
            with _hook_mode(create_graph):
                g = _hooked(vertex, g, wrap, create_graph, outside)
        finally:
            hooked_in_pass.reset(before)
    if extras.retains:
        # As in PyTorch, a retained gradient is not changed by further passes but replaced.
        if extras.grad is None:
            if create_graph:
                extras.grad = g.clone()
            else:
                extras.grad = wrap(copy_gradient(g))
        else:
            _add_anew(extras, g, wrap, create_graph)
    return g


def _hooked(vertex: Vertex, g: Any, wrap: Any, create_graph: bool, outside: list[Any]) -> Any:
    """Return a gradient as the hooks of its vertex leave it.

    Hooks are given one object until one replaces it: what a hook notes on it, the next one reads.
    """
    assert vertex.extras is not None
    plain = typed = None
    for hook in list(vertex.extras.hooks.values()):
        outside.append(g)
        if plain is None and create_graph:
            plain = g
        elif plain is None:
            plain = wrap(raw_array(g))
        in_class = getattr(hook, "in_class", None)
        handed = plain
        if in_class is not None:
            handed = typed = in_class(plain if typed is None else typed)
        replaced = hook(handed)
        if replaced is None:
            continue
        _check_replacement(vertex, replaced)
        g = replaced
        if not create_graph:
            g = replaced.array
        plain = typed = None
        if in_class is not None:
            typed = replaced
        outside.append(g)
    return g


def _hook_mode(create_graph: bool) -> Any:
    """Return the context that hooks run in: it records only where the pass itself is recorded."""
    if create_graph:
        return nullcontext()
    return no_grad()


def _check_replacement(vertex: Vertex, replaced: Any) -> None:
    """Raise if what a hook returned cannot take the place of a gradient."""
    if not isinstance(replaced, Storage):
        raise TypeError(f"register_hook: the hook returned a {type(replaced).__name__}, not a tensor or None")
    if tuple(replaced.array.shape) != vertex.shape:
        raise ValueError(
            f"register_hook: the hook returned a gradient of shape {tuple(replaced.array.shape)} in place of one of "
            f"shape {vertex.shape}"
        )


def _deliver(
    leaf: Vertex, g: Any, wrap: Any, create_graph: bool, ownership: Ownership, found: dict[Vertex, Any] | None
) -> None:
    """Put the gradient of a leaf among those found, or add it to the one that the leaf has.

    It is added in place, unless the sum is part of a graph or cannot be written there.
    """
    if found is not None:
        if create_graph:
            found[leaf] = g
        else:
            found[leaf] = own_memory(g, *ownership)
        return
    extras = leaf.extras
    assert extras is not None
    if extras.around is not None:
        g = _before_accumulating(leaf, g, wrap, create_graph, ownership[1])
    try:
        accumulating.acquire()  # threads may go backwards through graphs of the same leaves
        before = extras.grad
        if before is None:
            if create_graph:
                extras.grad = g.clone()
            else:
                g = own_memory(g, *ownership)
                extras.grad = wrap(g)
        elif create_graph or not _add_in_place(before, g):
            _add_anew(extras, g, wrap, create_graph)
    finally:
        # What `SectionLock` does, without its calls; an interrupt may have come before the lock was taken.
        try:
            accumulating.release()
        except RuntimeError:
            pass
    if extras.after:
        with _hook_mode(create_graph):
            for hook in list(extras.after.values()):
                hook(leaf)
    if extras.around is not None:
        with _hook_mode(create_graph):
            for observe in list(extras.around.after.values()):
                observe((), (g if create_graph else wrap(raw_array(g)),))


def _before_accumulating(leaf: Vertex, g: Any, wrap: Any, create_graph: bool, outside: list[Any]) -> Any:
    """Return the gradient of a leaf as the hooks of its vertex leave it, which may keep it."""
    assert leaf.extras is not None
    assert leaf.extras.around is not None
    outside.append(g)
    values = (g if create_graph else wrap(raw_array(g)),)
    with _hook_mode(create_graph):
        for hook in list(leaf.extras.around.before.values()):
            values = answer_of_hook(leaf.name, hook(values), values, [(leaf.shape, leaf.dtype)])
    if values[0] is None:
        raise TypeError(f"{leaf.name}: expected a hook to return a tuple of one tensor, or None; found None in it")
    g = values[0] if create_graph else values[0].array
    outside.append(g)
    return g


def _add_anew(extras: VertexExtras, g: Any, wrap: Any, create_graph: bool) -> None:
    """Replace the gradient that a vertex has by the sum with another."""
    before = extras.grad
    raw = not (create_graph or before.is_tracer)
    if raw:
        extras.grad = wrap(raw_array(before.array + g))
    else:
        extras.grad = before + (g if create_graph else wrap(g))


def _add_in_place(before: Storage, g: Any) -> bool:
    """Add a raw gradient to one that a leaf has; return whether that could be done in its memory."""
    if before.is_tracer:
        return False
    array = before.array
    if type(array) is np.ndarray:
        read_only = not array.flags.writeable
    else:
        read_only = is_fixed(array)
    if read_only or array.shape != g.shape or array.dtype != g.dtype:
        return False
    memory_of(before).version.count_change()  # first: a graph must not miss a change
    array += g
    return True

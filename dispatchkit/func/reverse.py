"""Reverse mode as a function of functions: record a function on leaves of its own, and pull cotangents back.

The graph is the one that `backward` goes through. Inside `vmap` or `jvp` it is the graph of the tensors inside the
tracers: a batch has one gradient for each of its elements, and a dual tensor's gradient is dual, its tangent being the
derivative of the gradient in the direction followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dispatchkit.autograd.through import filled, pull_through
from dispatchkit.declare.inplace import changes_noted, move_vertices
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.variables import variables_in
from dispatchkit.func.containers import (
    arrays_of,
    as_array,
    fit,
    map_container,
    result_and_aux,
    with_floats,
    with_gradient_fields,
    with_variables,
    zip_containers,
)
from dispatchkit.graph.node import Leaf
from dispatchkit.graph.recording import enable_grad, grad_block, is_grad_enabled
from dispatchkit.graph.storage import Storage, Vertex, memory_of, vertex_of
from dispatchkit.graph.sweep import differentiated, reachable
from dispatchkit.tensor.tensor import twin
from dispatchkit.transforms import Tracer
from dispatchkit.transforms.batched import batched_everywhere


class Entry(Leaf):
    """The leaf of an argument of a recorded function; `closed` once the function has returned."""

    __slots__ = ("closed",)

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        super().__init__(shape, dtype)
        self.closed = False


class Recording:
    """A function called on leaves of its own, whose graph waits for cotangents.

    Parameters
    ----------
    name : of the transformation, for messages
    func : the function
    primals : its arguments, containers of arrays; floating arrays are differentiated
    has_aux : whether it gives a pair, the second part of which is passed on
    follower : the transformation for which a number of what depends on the arguments would lose a derivative: `name`,
        unless another is given; "" for none

    Attributes
    ----------
    output : container that the function gave
    aux : the second part of the pair, None without `has_aux`
    """

    def __init__(
        self,
        name: str,
        func: Callable[..., Any],
        primals: tuple[Any, ...],
        *,
        has_aux: bool = False,
        follower: str | None = None,
    ) -> None:
        self.name = name
        if follower is None:
            self._follower = name
        else:
            self._follower = follower
        outer = is_grad_enabled()
        self._primals = with_variables(lambda x: _as_leaf(batched_everywhere(as_array(x))), with_floats(primals))
        # The function may change its arguments in place; the gradients are those of what they were.
        self._inputs = [_as_given(x) for x in variables_in(self._primals)]
        with changes_noted() as changed:
            try:
                self._record(func, has_aux, outer, changed)
            finally:
                self._close()
                # As no argument can be reached any more, a tensor from elsewhere is to have the value alone.
                move_vertices([(x, None) for x in _left_behind(changed)])

    def _record(self, func: Callable[..., Any], has_aux: bool, outer: bool, changed: Mapping[int, Any]) -> None:
        followed = (vertex for x in self._inputs for vertex in _vertices(x)) if self._follower else ()
        token = differentiated.set({**dict.fromkeys(followed, self._follower), **differentiated.get()})
        try:
            with enable_grad():
                output = func(*self._primals)
        finally:
            differentiated.reset(token)
        self._result, aux = result_and_aux(self.name, output, has_aux)
        self._outputs = list(arrays_of(self._result))
        if changed:
            # They may be among the tensors that are taken out of the graph.
            self._outputs = [_as_given(y) if isinstance(y, Storage) else y for y in self._outputs]
        self._close()
        # What else requires gradients outside may want to differentiate the result again, or what is pulled back.
        self._alive = _reaches_outside(self._outputs)
        if outer and self._alive:
            self.output = self._result
        else:
            self.output = map_container(_detach, self._result)
        self.aux: Any
        if outer and _reaches_outside(arrays_of(aux)):
            self.aux = aux
        else:
            self.aux = map_container(_detach, aux)

    def _close(self) -> None:
        """Note that the function has returned."""
        for x in self._inputs:
            for vertex in _vertices(x):
                if isinstance(vertex, Entry):
                    vertex.closed = True

    def pull(self, cotangents: Any, *, retain: bool) -> tuple[Any, ...]:
        """Return the gradients of the arguments, containers like them.

        Parameters
        ----------
        cotangents : of the output, a container like it
        retain : whether cotangents will be pulled again

        Raises
        ------
        ValueError : if cotangents do not fit the output
        """
        return with_gradient_fields(self.gradients(cotangents, retain=retain), self._result)  # type: ignore[no-any-return]  # a tuple, as it was

    def gradients(self, cotangents: Any, *, retain: bool) -> tuple[Any, ...]:
        """Return containers like the arguments with the numbers of their gradients, and all other fields as they are.

        Parameters
        ----------
        cotangents, retain : as of `pull`
        """
        cts: list[Any] = []
        zip_containers(
            lambda y, ct: cts.append(fit(self.name, "output", "cotangent", y, ct)),
            self._result,
            cotangents,
            f"{self.name}: cotangents",
        )
        records = bool(is_grad_enabled() and (self._alive or any(ct.requires_grad for ct in cts)))
        with grad_block(records):
            # What the rules record leads through the graph they pull through, and what else is differentiated may.
            keeps = retain or records or self._alive
            gradients = iter(pull_through(self.name, self._outputs, cts, self._inputs, keeps))
            return with_variables(lambda x: filled(next(gradients), x), self._primals)  # type: ignore[no-any-return]  # a tuple, as it was


def _as_leaf(x: Any) -> Any:
    """Return a tensor as a new leaf; one that has a graph already gets a new vertex in it."""
    if isinstance(x, Tracer):
        return x.map_values(_as_leaf)
    if x._node is None:
        x = x.detach()
        x._node = Entry(tuple(x.array.shape), x.array.dtype)
        return x
    with enable_grad():
        return tensor_namespace.positive(x)


def _as_given(x: Any) -> Any:
    """Return another tensor with the same vertex, which stays whatever happens to the first."""
    if isinstance(x, Tracer):
        return x.map_values(_as_given)
    return twin(x, vertex_of(x))


def _left_behind(changed: Mapping[int, Callable[[], Any]]) -> list[Any]:
    """Return the living tensors that changes in place put into a graph whose leaves are all closed."""
    tensors = [tensor for member in changed.values() if (tensor := member()) is not None]
    family = {
        id(relative): relative for tensor in tensors for relative in (tensor, *memory_of(tensor).relatives(tensor))
    }
    tensors = [relative for relative in family.values() if vertex_of(relative) is not None]
    if not _reaches_outside(tensors):
        return tensors
    return [relative for relative in tensors if not _reaches_outside([relative])]


def _reaches_outside(arrays: Iterable[Any]) -> bool:
    """Return whether a graph leads to other leaves than those of functions that have returned."""
    roots = [vertex for y in arrays for vertex in _vertices(y)]
    return any(v.is_leaf and not (type(v) is Entry and v.closed) for v in reachable(roots))


def _detach(y: Any) -> Any:
    """Return an output outside the graph of the recording."""
    if isinstance(y, Tracer):
        return y.map_values(_detach)
    if hasattr(y, "detach"):
        return y.detach()
    return y


def _vertices(x: Any) -> Iterator[Vertex]:
    """Yield the vertices of the tensors inside an array."""
    if isinstance(x, Tracer):
        for part in x.parts():
            yield from _vertices(part)
    elif isinstance(x, Storage) and (vertex := vertex_of(x)) is not None:
        yield vertex

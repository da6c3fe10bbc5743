"""What `forward` of a `Function` computes on the way and keeps: no gradient flows through it.

It is neither an input nor an output. A second derivative that ought to flow there would be too small, and nothing would
say so. Which tensors these are is known from the calls that `forward` makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dispatchkit.autograd.function_context import FunctionCtx, may_hold_tensors, tensors_in
from dispatchkit.graph.storage import Storage
from dispatchkit.marks import override
from dispatchkit.protocol.observers import CallEvent, Observer
from dispatchkit.tensor.tensor import twin


class Dependents(Observer):
    """Notes which tensors the calls of `forward` compute from its inputs.

    Parameters
    ----------
    inputs : the tensors among the inputs
    """

    is_silent = True
    replaces = False

    def __init__(self, inputs: Sequence[Storage]) -> None:
        self._inputs = {id(tensor) for tensor in inputs}
        # Held, so that none of their numbers is given to another tensor meanwhile.
        self._computed: dict[int, Storage] = {}
        # First arguments of calls with such tensors, and how often they were changed by then: `y *= x` is a call of
        # `multiply`, after which its result is written into `y`.
        self._first: dict[int, tuple[Storage, int]] = {}

    def __contains__(self, tensor: Storage) -> bool:
        if id(tensor) in self._computed:
            return True
        _, changes = self._first.get(id(tensor), (tensor, _changes(tensor)))
        return _changes(tensor) > changes

    @override
    def on_end(self, call: CallEvent, result: Any, error: BaseException | None) -> None:
        arguments = list(_tensors((call.args, dict(call.kwargs))))
        if not any(id(tensor) in self._inputs or tensor in self for tensor in arguments):
            return
        first = arguments[0]
        results = list(_tensors(result))
        if call.operation is not None and call.operation.changes:
            results.append(first)
        elif first not in self:
            self._first[id(first)] = first, _changes(first)
        self._computed |= {id(tensor): tensor for tensor in results if id(tensor) not in self._inputs}


def _changes(tensor: Storage) -> int:
    """Return how often a tensor was changed in place."""
    if tensor._memory is None:
        return 0
    return tensor._memory.count


def _tensors(value: Any) -> Iterator[Storage]:
    """Yield the tensors in a value, in lists, tuples, dictionaries and array types, too."""
    if isinstance(value, (list, tuple)):
        for member in value:
            yield from _tensors(member)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
    elif may_hold_tensors(value):
        yield from tensors_in(value)


def kept_besides(ctx: FunctionCtx, inputs: Sequence[Storage], result: Any) -> list[tuple[int | str, Storage]]:
    """Return what a context keeps besides inputs and outputs, by its place among what is saved or its attribute."""
    known = set(map(id, inputs))
    if isinstance(result, Storage):
        known.add(id(result))
    else:
        known.update(map(id, _tensors(result)))
    kept: list[tuple[int | str, Storage]] = []
    place = 0
    for value in ctx.to_save:
        for tensor in (value,) if isinstance(value, Storage) else tensors_in(value):
            if id(tensor) not in known:
                kept.append((place, tensor))
            place += 1
    for name, value in vars(ctx).items():
        if isinstance(value, Storage) and id(value) not in known:
            kept.append((name, value))
    return kept


@contextmanager
def refused(ctx: FunctionCtx, refusal: Callable[[Storage], Any]) -> Iterator[None]:
    """Have `backward` read tensors on the way with a vertex that refuses to be differentiated.

    Parameters
    ----------
    ctx : the context that it reads
    refusal : returns the vertex for a tensor
    """
    attributes = {name: vars(ctx)[name] for name in ctx._intermediates if isinstance(name, str)}
    try:
        ctx._refusal = refusal
        for name, tensor in attributes.items():
            setattr(ctx, name, twin(tensor, refusal(tensor)))
        yield
    finally:
        ctx._refusal = None
        for name, tensor in attributes.items():
            setattr(ctx, name, tensor)

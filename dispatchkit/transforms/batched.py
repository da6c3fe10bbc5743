"""`Batched`: many arrays of one shape computed as one, which is how `vmap` works."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple, Self

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.random_state import drawer
from dispatchkit.errors import LoopWarning, RandomnessError, TransformError
from dispatchkit.protocol.blocks import state_variable
from dispatchkit.protocol.frames import caller_frame, warn_at
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.gradients import like_tensor
from dispatchkit.transforms.batching import BY_KIND, BY_NAME, Batch, along_axes
from dispatchkit.transforms.tracer import Tracer
from dispatchkit.tree import with_members


class ActiveBatch(NamedTuple):
    """A batch whose function under `vmap` is running."""

    level: int
    size: int
    randomness: str


# Outermost first.
active: ContextVar[tuple[ActiveBatch, ...]] = state_variable("batches", ())


class Batched(Tracer):
    """A tensor of a function under `vmap`: the function sees one axis fewer than `value` has.

    Parameters
    ----------
    value : array of shape (B, ...), the batch first
    level : of the transformation
    """

    __slots__ = ()
    transformation = "vmap"

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes, without that of the batch."""
        return tuple(self.value.shape[1:])

    def rebuilt(self, value: Any) -> Self:
        """Return another batch of this level."""
        return type(self)(value, self.level)

    def take_in(self, x: Any) -> Any:
        """Return a new tensor as a batch of this level, with memory of its own for each element."""
        batch = _batched_at(like_tensor(self.value, x), self.level, self.value.shape[0])
        batch = tensor_namespace.clone(batch)
        if batch.level == self.level:
            return self.rebuilt(batch.value)
        return batch

    def detach(self) -> Self:
        """Return the batch outside the graph."""
        return self.rebuilt(self.value.detach())

    def item(self) -> Any:
        """Raise: there is one number for each element of the batch.

        Raises
        ------
        TransformError : always
        """
        raise TransformError(
            "vmap: a batch has no single value, so item(), bool(), int() and float() cannot follow it; "
            "branch with where(condition, x1, x2), and index with take or take_along_axis"
        )

    def tolist(self) -> Any:
        """Raise, as `item` does."""
        return self.item()

    def answer(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute a call for the whole batch at once; what is made in its likeness is a batch, to be assigned to."""
        result = self._compute(operation, args, kwargs)
        if operation.kind not in (kinds.creation, kinds.random) or not isinstance(result, Tensor):
            return result
        if in_batch(result, self.level):
            return result
        return self.take_in(result)

    def _compute(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call, which need not be a batch."""
        ask = None
        if operation.kind is kinds.random:
            ask = drawer.get()
        if ask is not None:
            return ask(operation, operation.function, args, kwargs)
        batch = Batch(self.level, self.value.shape[0], Batched, operation)
        rule = BY_NAME.get(operation.qualified_name)
        if rule is None and isinstance(operation, DeclaredOperation):
            by_kind = None
            if not operation.composite:
                by_kind = BY_KIND.get(operation.kind.family)
            rule = along_axes
            if operation.axes is None:
                rule = by_kind
        if rule is not None:
            result = rule(batch, *args, **kwargs)
            if result is not NotImplemented:
                return batch.wrap(result)
        body = operation.decomposition()
        if body is not None:
            try:
                return body(*args, **kwargs)
            except RandomnessError:
                raise
            except TransformError:
                pass
        return one_by_one(batch, args, kwargs)


def one_by_one(batch: Batch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute a call for each element of a batch, and stack the results."""
    operation = batch.operation
    warn_at(
        caller_frame(),
        f"vmap: {operation.qualified_name} has no rule for batches and no body that a batch can go through, so it is "
        f"called {batch.size} times",
        LoopWarning,
    )
    return batch.wrap(stack(of_elements(operation, operation.function, args, kwargs, batch.level, batch.size)))


def of_elements(
    operation: Overridable,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    level: int,
    size: int,
) -> list[Any]:
    """Return what a function gives of the arguments of an operation, for each element of a batch."""
    results = []
    for index in range(size):
        values, keywords = operation.parameters.replace(args, kwargs, lambda _, x: in_element(x, level, index))  # noqa: B023  # called at once
        results.append(function(*values, **keywords))
    return results


def stack(results: list[Any]) -> Any:
    """Return several results of one form as one, each array stacked."""
    first = results[0]
    if isinstance(first, (tuple, list)):
        return with_members(first, [stack(list(parts)) for parts in zip(*results, strict=True)])
    return tensor_namespace.stack(results)


def in_front(x: Any, level: int, size: int) -> Any:
    """Return an array with the batch of a level as its first axis; one outside the batch is stretched.

    Tracers of a higher level stay tracers.
    """
    if not in_batch(x, level):
        return tensor_namespace.broadcast_to(x, (size, *x.shape))
    if x.level == level:
        return x.value
    if isinstance(x, Batched):
        # Inside, the batch of the higher level comes first.
        return x.rebuilt(tensor_namespace.moveaxis(in_front(x.value, level, size), 0, 1))
    return x.map_values(lambda part: in_front(part, level, size))


def in_batch(x: Any, level: int) -> bool:
    """Return whether an array differs within the batch of a level."""
    return isinstance(x, Tracer) and (x.level == level or any(in_batch(part, level) for part in x.parts()))


def in_element(x: Any, level: int, index: int) -> Any:
    """Return the part of an array that belongs to one element of the batch of a level."""
    if isinstance(x, Tracer):
        if x.level == level:
            return x.value[index]
        return x.map_values(lambda one: in_element(one, level, index))
    return x


def batched_everywhere(x: Any) -> Any:
    """Return an array as a batch of every level that is active, so that each element has a derivative of its own."""
    for batch in active.get():
        x = _batched_at(x, batch.level, batch.size)
    return x


def randomness_at(level: int) -> str:
    """Return what random functions do inside the batch of a level."""
    return next((batch.randomness for batch in active.get() if batch.level == level), "error")


def _batched_at(x: Any, level: int, size: int) -> Any:
    if isinstance(x, Tracer):
        if x.level > level:
            return x.map_values(lambda one: _batched_at(one, level, size))
        if x.level == level:
            return x
    return Batched(tensor_namespace.broadcast_to(x, (size, *x.shape)), level)

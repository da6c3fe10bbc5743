"""Dry runs: which operations the body of another calls, found by running it on arrays that take notes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.ops.declared import DeclaredOperation
from dispatchkit.ops.samples import Sample
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.overridable import Overridable, of
from dispatchkit.tensor import Tensor

__all__ = ["inner_operations"]


@tensor_protocol.array_type(fields=("array", "notes"))
class _Noting:
    """An array that notes the operations it meets, and hands its notes on to the results."""

    def __init__(self, array: Tensor, notes: dict[Overridable, None]) -> None:
        self.array = array
        self.notes = notes

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    def __bool__(self) -> bool:
        return bool(self.array)

    def __int__(self) -> int:
        return int(self.array)

    def __float__(self) -> float:
        return float(self.array)

    def __index__(self) -> int:
        return self.array.__index__()


@tensor_protocol.implements(kinds.all, _Noting)
def note(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Note an operation, and compute it on the arrays inside."""
    notes: dict[Overridable, None] = {}

    def opened(name: str, value: Any) -> Any:
        nonlocal notes
        if isinstance(value, _Noting):
            notes = value.notes
            return value.array
        return value

    args, kwargs = tensor_protocol.map_arguments(op, args, kwargs, opened)
    operation = of(op)
    assert operation is not None
    notes[operation] = None
    return tensor_protocol.map_arrays(op(*args, **kwargs), lambda array: _Noting(array, notes))


def inner_operations(operation: DeclaredOperation) -> list[Overridable]:
    """Return the operations that a body calls on its arguments, by running it on the declared samples.

    The operation itself is among them where the body comes back to it.
    """
    notes: dict[Overridable, None] = {}
    for sample in operation.samples:
        _run(operation, sample, notes)
    return list(notes)


def _run(operation: DeclaredOperation, sample: Sample, notes: dict[Overridable, None]) -> None:
    def noting(name: str, value: Any) -> Any:
        return _Noting(Tensor(value), notes) if isinstance(value, np.ndarray) else value

    args, kwargs = sample.make(np.random.default_rng(0))
    args, kwargs = operation.parameters.replace(args, kwargs, noting)
    try:
        operation.decomposed(*args, **kwargs)
    except Exception:  # noqa: BLE001, S110  # what was noted before a body that needs real tensors gave up still counts
        pass

"""Dry runs: which operations the body of another calls, found by running it on arrays that take notes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Sample
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.overridable import Overridable, of
from dispatchkit.protocol.parameters import Key
from dispatchkit.tensor import Tensor

__all__ = ["inner_calls"]

Notes: TypeAlias = dict[tuple[Overridable, Key], None]


@tensor_protocol.array_type(fields=("array", "notes"))
class _Noting:
    """An array that notes the calls it meets, and hands its notes on to the results."""

    def __init__(self, array: Tensor, notes: Notes) -> None:
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
    """Note a call, and compute it on the arrays inside."""
    notes: Notes = {}
    operation = of(op)
    assert operation is not None
    key = operation.parameters.key(args, kwargs)

    def opened(name: str, value: Any) -> Any:
        nonlocal notes
        if isinstance(value, _Noting):
            notes = value.notes
            return value.array
        return value

    args, kwargs = tensor_protocol.map_arguments(op, args, kwargs, opened)
    notes[operation, key] = None
    return tensor_protocol.types.map_arrays(op(*args, **kwargs), lambda array: _Noting(array, notes))


def inner_calls(operation: DeclaredOperation, cls: type) -> list[tuple[Overridable, Key]]:
    """Return the calls that a body makes on its arguments, by running it on the declared samples.

    Parameters
    ----------
    operation : whose body is run
    cls : the type that stands in the keys for the arguments

    Returns
    -------
    operations with the types of their arguments; the operation itself is among them where the body comes back to it
    """
    notes: Notes = {}
    for sample in operation.samples:
        _run(operation, sample, notes)
    return [(inner, _with(cls, key)) for inner, key in notes]


def _with(cls: type, key: Key) -> Key:
    return tuple(
        _with(cls, entry) if isinstance(entry, tuple) else (cls if entry is _Noting else entry) for entry in key
    )


def _run(operation: DeclaredOperation, sample: Sample, notes: Notes) -> None:
    def noting(name: str, value: Any) -> Any:
        return _Noting(Tensor(value), notes) if isinstance(value, np.ndarray) else value

    args, kwargs = sample.make(np.random.default_rng(0))
    args, kwargs = operation.parameters.replace(args, kwargs, noting)
    try:
        operation.decomposed(*args, **kwargs)
    except Exception:  # noqa: BLE001, S110  # what was noted before a body that needs real tensors gave up still counts
        pass

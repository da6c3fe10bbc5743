"""What the tests of pickled declarations import in a worker process."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import dispatchkit as dk
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.instance import tensor_protocol

units = DispatchProtocol("__workers_units__")


@units.overridable
def doubled(x: Any) -> Any:
    """Return twice the argument."""
    return x * 2


@dk.operation(kind=dk.kinds.elementwise)
def held(xp: Any, x: Any, /) -> Any:
    """Return the argument: an operation that a module holds."""
    return xp.asarray(x, copy=True)


@dk.array_type(fallback=dk.fallback.rewrap)
class Held:
    """A type that a module holds."""

    def __init__(self, values: Any) -> None:
        self.values = values


def run(payload: bytes) -> Any:
    """Call a pickled function with its arguments, and return its pickled result; warnings are errors."""
    import cloudpickle

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function, args = pickle.loads(payload)
        return cloudpickle.dumps(function(*args))


def rules_of(cls: type) -> int:
    """Return how many rules this process knows of a class."""
    return sum(cls in rule.types for rule in tensor_protocol.handlers.of_operations())


def named(*names: str) -> int:
    """Return how many operations of these names this process lists."""
    return sum(operation.name in names for operation in tensor_protocol.operations.values())

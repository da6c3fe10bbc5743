"""What the tests of pickles by value import in a worker process."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import dispatchkit as dk
from dispatchkit.protocol.engine import DispatchProtocol

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

    def doubled(self) -> Any:
        """Return twice the array."""
        return Held(self.values * 2)


@dk.implements(held)
def held_of_held(x: Held, /) -> Held:
    """Return the array."""
    return x


def run(payload: bytes) -> Any:
    """Call a pickled function with its arguments, and return its pickled result; warnings are errors."""
    import cloudpickle  # type: ignore[import-untyped]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function, args = pickle.loads(payload)
        return cloudpickle.dumps(function(*args))

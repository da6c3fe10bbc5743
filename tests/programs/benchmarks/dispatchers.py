"""Calls that a registered rule answers, against plum's functions and quax's wrapped ones.

The rules hand an argument back, so that what is timed is the way to them.
"""

from __future__ import annotations

from typing import Any

import dispatchkit as dk

from .harness import Row, Side, Stand
from .overrides import our_names
from .peers import library

__all__ = ["ROWS"]


@dk.array_type()
class Subject(Stand):
    """A type with a rule for a function of the user's own."""


def own_function() -> tuple[Side, Side]:
    """Return a call of a function that both libraries dispatch, with a rule for one type."""

    @dk.overridable(arrays=("x",))
    def area(x: Any) -> Any:
        return None

    @dk.implements(area)
    def area_of_subject(x: Subject) -> Any:
        return x

    plum = library("plum", "plum-dispatch")
    dispatch = plum.Dispatcher()

    def plum_area(x: Any) -> Any:
        return x

    plum_area.__annotations__ = {"x": Subject}
    ours, theirs = ({"area": function, "d": Subject()} for function in (area, dispatch(plum_area)))
    return Side("area(d)", ours), Side("area(d)", theirs)


def wrapped_add() -> tuple[Side, Side]:
    """Return a sum of two values of a type, outside of any `jit`."""
    quax = library("quax")
    jax = library("jax")

    class QuaxD(quax.ArrayValue, Stand):  # type: ignore[misc, name-defined]
        def aval(self) -> Any:
            return jax.core.ShapedArray((), jax.numpy.float32)

        def materialise(self) -> Any:
            raise NotImplementedError

    def add(x: Any, y: Any) -> Any:
        return x

    add.__annotations__ = {"x": QuaxD, "y": QuaxD}
    quax.register(jax.lax.add_p)(add)
    return Side("add(d, d)", our_names("add")), Side("add(d, d)", {"add": quax.quaxify(jax.numpy.add), "d": QuaxD()})


ROWS = [
    Row("peers", "a function of one's own", "plum", 1.0, own_function),
    Row("peers", "add(D, D)", "quax, outside of `jax.jit`", 1.0, wrapped_add),
]

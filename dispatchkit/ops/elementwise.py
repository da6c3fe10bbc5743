"""Element-wise functions."""
from __future__ import annotations

from dispatchkit.ops.declare import elementwise
from dispatchkit.ops.typing import Array, Namespace

@elementwise(operator="__add__")
def add(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Add."""
    return xp.add(x1, x2)

@add.def_partial("x1")
def add_partial_x1(xp, y, x1, x2):
    return 1
@add.def_partial("x2")
def add_partial_x2(xp, y, x1, x2):
    return 1

@elementwise(operator="__mul__")
def multiply(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Add."""
    return xp.multiply(x1, x2)

@multiply.def_partial("x1")
def multiply_partial_x1(xp, y, x1, x2):
    return x2
@multiply.def_partial("x2")
def multiply_partial_x2(xp, y, x1, x2):
    return x1

@elementwise
def exp(xp: Namespace, x: Array, /) -> Array:
    """Exp."""
    return xp.exp(x)
@exp.def_partial
def exp_partial(xp, y, x):
    return y

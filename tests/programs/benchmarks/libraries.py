"""Small calls on tensors that hold the arrays of another library, against that library's own calls, uncompiled.

They are measured last: once a program holds such arrays, calls on NumPy's look at which library computes them, too.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import dispatchkit as dk

from .harness import Row, Side, Unavailable, pytorch
from .peers import jax

__all__ = ["ROWS"]

ARRAYS = {
    "x": np.array([1.0, 2.0, 3.0, 4.0]),
    "y": np.array([2.0, 1.0, 4.0, 3.0]),
    "c": np.array([True, False, True, False]),
    "m": np.array([[1.0, 2.0], [3.0, 4.0]]),
}
# What dispatchkit and JAX call it, with what PyTorch calls it where that differs.
CALLS = {
    "add(x, y)": "",
    "multiply(x, y)": "",
    "exp(x)": "",
    "sum(x)": "",
    "mean(m, axis=0)": "mean(m, dim=0)",
    "max(x)": "",
    "reshape(x, (2, 2))": "",
    "permute_dims(m, (1, 0))": "permute(m, (1, 0))",
    "x[1]": "",
    "x[1:3]": "",
    "matmul(m, m)": "",
    "concat([x, y])": "",
    "where(c, x, y)": "",
}


def sides(name: str, call: str) -> tuple[Side, Side]:
    """Return a call on tensors that hold a library's arrays, and the same call of the library."""
    if name == "PyTorch":
        library = pytorch()
        arrays: dict[str, Any] = {key: library.asarray(array) for key, array in ARRAYS.items()}
    else:
        library = jax().numpy
        arrays = {key: library.asarray(array) for key, array in ARRAYS.items()}
    code = (CALLS[call] if name == "PyTorch" else "") or call
    try:
        tensors = {key: dk.asarray(array) for key, array in arrays.items()}
    except ImportError as error:
        raise Unavailable(str(error)) from None
    return Side(call, {**tensors, **_functions(dk, call)}), Side(code, {**arrays, **_functions(library, code)})


def _functions(library: Any, code: str) -> dict[str, Any]:
    name, call, _ = code.partition("(")
    return {name: getattr(library, name)} if call else {}


ROWS = [
    Row("libraries", call, name, hold, partial(sides, name, call))
    for name, hold in (("PyTorch", 4.0), ("JAX", 2.0))
    for call in CALLS
]

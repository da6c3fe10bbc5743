"""Changing parameters in place by a formula, on raw arrays unless a mode or a type observes the operations.

A formula is ``formula(xp, p, g, *buffers, **options)``: it changes the parameter and its buffers by in-place
operators where it can, leaves the gradient alone, and returns parameter and buffers, be they changed or new.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import namespace_of
from dispatchkit.backends.traced import is_traced
from dispatchkit.declare.inplace import touch, write_back
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.graph.recording import no_grad
from dispatchkit.protocol.modes import current, live
from dispatchkit.tensor import Tensor

__all__ = ["directed", "factor", "number", "problem_of", "update"]

# Elements of an array that are changed at a time: the temporaries of a formula stay in the processor's cache.
BLOCK = 131072
Formula = Callable[..., tuple[Any, ...]]
_answers_by_rules = Tensor.__tensor_function__.__func__  # type: ignore[attr-defined]  # of a classmethod


def problem_of(p: Tensor, state: Mapping[str, Any], buffers: Sequence[str]) -> str:
    """Return why a parameter cannot be changed, nothing where it can."""
    array = p.array
    if type(array) is np.ndarray and not array.flags.writeable:
        return "has read-only memory; optimise a copy"
    for name in ("grad", *buffers):
        part = p.grad if name == "grad" else state.get(name)
        if part is not None and part.array.shape != array.shape:
            return f"has shape {tuple(array.shape)}, its {name} {tuple(part.array.shape)}"
    return ""


def update(formula: Formula, p: Tensor, buffers: Sequence[Tensor], options: dict[str, Any]) -> None:
    """Change a parameter and its buffers by a formula, and count the changes.

    Parameters
    ----------
    formula : as the module says
    p : has a gradient
    buffers : of the shape of `p`
    options : of the formula
    """
    g: Any = p.grad
    if _is_seen(type(p)) or _is_seen(type(g)) or (live and current() is not None):
        with no_grad():
            results = formula(tensor_namespace, p, g, *buffers, **options)
            for tensor, result in zip((p, *buffers), results, strict=True):
                if result is not tensor:
                    write_back(formula.__name__, tensor, result)
        return
    array, g = p.array, g.array
    if g.dtype != array.dtype:
        g = namespace_of(g).astype(g, array.dtype)
    if type(array) is np.ndarray:
        _change(formula, array, g, [buffer.array for buffer in buffers], options)
    else:
        p.array, *arrays = formula(namespace_of(array), array, g, *(buffer.array for buffer in buffers), **options)
        for buffer, result in zip(buffers, arrays, strict=True):
            buffer.array = result
    touch(p)
    for buffer in buffers:
        touch(buffer)


def number(value: Any) -> Any:
    """Return an option or a counter as a Python number; while a step is traced, as a raw array."""
    array = getattr(value, "array", value)
    return array if is_traced(array) else float(array)


def factor(xp: Any, value: Any, p: Any) -> Any:
    """Return a number made of options, where it is an array of the dtype of what it is to multiply."""
    return value if isinstance(value, float) else xp.astype(value, p.dtype)


def directed(p: Any, g: Any, weight_decay: float, maximize: bool) -> Any:
    """Return a gradient in the direction of descent, with the decay of weights in it."""
    if maximize:
        g = -g
    return g + weight_decay * p if weight_decay else g


def _is_seen(cls: type) -> bool:
    """Return whether a class of tensors defines a protocol method, which then sees the operations."""
    if cls is Tensor:
        return False
    return getattr(cls.__tensor_function__, "__func__", None) is not _answers_by_rules  # type: ignore[attr-defined]


def _change(formula: Formula, p: Any, g: Any, buffers: list[Any], options: dict[str, Any]) -> None:
    """Have a formula change NumPy arrays, large ones block by block along the first axis."""
    if p.size <= BLOCK or p.ndim == 0:
        _change_block(formula, p, g, buffers, options)
        return
    rows = max(1, BLOCK * len(p) // p.size)
    for start in range(0, len(p), rows):
        block = slice(start, start + rows)
        _change_block(formula, p[block], g[block], [buffer[block] for buffer in buffers], options)


def _change_block(formula: Formula, p: Any, g: Any, buffers: list[Any], options: dict[str, Any]) -> None:
    for array, result in zip((p, *buffers), formula(np, p, g, *buffers, **options), strict=True):
        if result is not array:
            array[...] = result

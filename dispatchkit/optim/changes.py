"""How formulas of optimisers are applied to arrays: block by block, or to all parameters of a group at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from dispatchkit.declare.inplace import write_back
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.graph.recording import enable_grad
from dispatchkit.tensor import Tensor

# Elements of an array that are changed at a time: the temporaries of a formula stay in the processor's cache.
BLOCK = 131072
Formula = Callable[..., tuple[Any, ...]]
# Those of a group, with tensors among them as numbers, and what else a formula reads.
Options = SimpleNamespace


class Together(NamedTuple):
    """What changes all parameters of a group at once, over the arrays of one library.

    Attributes
    ----------
    place_of : takes the arrays of a parameter, its gradient and its buffers; gives what all that are changed at once
        have in common, None for those that cannot be
    change : takes options and a list of such arrays, and changes all but the gradients
    """

    place_of: Callable[[Sequence[Any]], Any]
    change: Callable[[Options, Sequence[Sequence[Any]]], None]


def arrays_of(p: Tensor, buffers: Sequence[Tensor]) -> list[Any]:
    """Return the arrays of a parameter, of its gradient and its buffers."""
    g: Any = p.grad
    return [p.array, g.array, *[x.array for x in buffers]]


def change_arrays(formula: Formula, options: Options, *arrays: Any) -> None:
    """Have a formula change NumPy arrays, large ones block by block along the first axis."""
    for p, g, *buffers in _blocks(arrays):
        for array, result in zip((p, *buffers), formula(np, options, p, g, *buffers), strict=True):
            if result is not array:
                array[...] = result


def _blocks(arrays: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield arrays of one length, large ones block by block along the first axis."""
    first = arrays[0]
    if first.size <= BLOCK or not first.ndim:
        yield arrays
        return
    rows = max(1, BLOCK * len(first) // first.size)
    for start in range(0, len(first), rows):
        yield [x[start : start + rows] for x in arrays]


def update_in_graph(formula: Formula, options: Options, p: Tensor, buffers: Sequence[Tensor]) -> None:
    """Change a parameter and its buffers by a formula, so that gradients flow through the change."""
    with enable_grad():
        tensors = (p, *buffers)
        copies = [tensor.clone() for tensor in tensors]  # which no later step changes
        results = formula(tensor_namespace, options, copies[0], p.grad, *copies[1:])
        for tensor, result in zip(tensors, results, strict=True):
            write_back(formula.__name__, tensor, result)

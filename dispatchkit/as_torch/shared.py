"""What functions of PyTorch that are no operation have in common."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from dispatchkit.as_torch.table import Function
from dispatchkit.declare.namespace import tensor_namespace as xp


def times(x: Any, alpha: Any) -> Any:
    """Return an array times a factor, itself where that is 1, which may be of another dtype."""
    if alpha == 1:
        return x
    return x * alpha


def index_along(x: Any, dim: int, index: Any) -> tuple[Any, ...]:
    """Return the index that takes elements of an array along one axis, and all along the others."""
    return (*(slice(None),) * (dim % x.ndim), index)


def several(tensors: Any) -> Any:
    """Return tensors, which may be given as one sequence."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        return tensors[0]
    return tensors


def with_info(A: Any, *results: Any) -> tuple[Any, ...]:
    """Return what decompositions of matrices gave, and what LAPACK says of each that was possible: 0."""
    return *results, xp.zeros(A.shape[:-2], dtype=xp.int32)


def running(combine: Function, x: Any, dim: int) -> Any:
    """Return what a function of two arrays makes of all elements up to each along an axis, in log(n) steps."""
    shift, x = 1, xp.moveaxis(x, dim, -1)
    while shift < x.shape[-1]:
        x = xp.concat([x[..., :shift], combine(x[..., :-shift], x[..., shift:])], axis=-1)
        shift *= 2
    return xp.moveaxis(x, -1, dim)


def written_functions(members: dict[str, Any]) -> dict[str, Function]:
    """Return the functions that a module has written, by their paths in PyTorch."""
    return {
        name.replace("linalg_", "linalg.").replace("nn_functional_", "nn.functional."): value
        for name, value in members.items()
        if isinstance(value, FunctionType) and value.__module__ == members["__name__"] and not name.startswith("_")
    }

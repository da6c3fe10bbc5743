"""What the tests of transformations compare with: a loop, differences, and the inner product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import dispatchkit as dk


def flat(result: Any) -> list[Any]:
    """Return the arrays of a result, whatever holds them."""
    if isinstance(result, dict):
        result = list(result.values())
    return [r for one in result for r in flat(one)] if isinstance(result, (tuple, list)) else [result]


def numbers(x: Any) -> Any:
    """Return the elements of a tensor as a NumPy array."""
    return x.detach().numpy() if isinstance(x, dk.Tensor) else np.asarray(x)


def agree(actual: Any, expected: Any, *, rtol: float = 1e-9, atol: float = 1e-9) -> None:
    """Compare two results array by array: number, shape, dtype, elements."""
    one, other = flat(actual), flat(expected)
    assert len(one) == len(other)
    for a, b in zip(map(numbers, one), map(numbers, other), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, strict=True)


def one_by_one(func: Callable[..., Any], in_dims: Sequence[int | None], *args: Any) -> list[Any]:
    """Return what a function gives for each element of a batch, its arrays stacked in front, by a loop."""
    size = next(x.shape[dim] for x, dim in zip(args, in_dims, strict=True) if dim is not None)
    each = []
    for index in range(size):
        own = [
            x if dim is None else x[(*(slice(None),) * (dim % x.ndim), index)]
            for x, dim in zip(args, in_dims, strict=True)
        ]
        each.append(flat(func(*own)))
    return [np.stack([numbers(y) for y in column]) for column in zip(*each, strict=True)]


def differences(func: Callable[..., Any], x: Any, step: float = 1e-6) -> Any:
    """Return the Jacobian of a function of one array by central differences, shape ``(*output, *input)``."""
    x = np.asarray(x, dtype=float)
    columns = []
    for index in np.ndindex(x.shape):
        ahead, behind = x.copy(), x.copy()
        ahead[index] += step
        behind[index] -= step
        columns.append((numbers(func(dk.tensor(ahead))) - numbers(func(dk.tensor(behind)))) / (2 * step))
    return np.stack(columns, axis=-1).reshape(*columns[0].shape, *x.shape)


def product(left: Sequence[Any], right: Sequence[Any]) -> float:
    """Return the real inner product of two lists of arrays."""
    pairs = zip(map(numbers, left), map(numbers, right), strict=True)
    return float(sum(np.real(np.sum(np.conj(a) * b)) for a, b in pairs))

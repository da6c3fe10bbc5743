"""Axes of functions of several arrays under `vmap`, and functions that looked at a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch
from dispatchkit.func import vmap
from tests.func.support import agree, one_by_one

AXES = (0, 1, 2, -1, -2, -3)
OF_TWO: dict[str, Callable[..., Any]] = {
    "vecdot": dk.linalg.vecdot,
    "cross": dk.linalg.cross,
    "np.cross": lambda x1, x2, axis: np.cross(x1, x2, axis=axis),
    "average": lambda x1, x2, axis: dk.average(x1, weights=dk.abs(x2) + 1.0, axis=axis),
    "np.trapezoid": lambda x1, x2, axis: np.trapezoid(x1, x2, axis=axis),
    "concat": lambda x1, x2, axis: dk.concat([x1, x2], axis=axis),
    "stack": lambda x1, x2, axis: dk.stack([x1, x2], axis=axis),
    "np.append": lambda x1, x2, axis: np.append(x1, x2, axis=axis),
    "np.diff": lambda x1, x2, axis: np.diff(x1, append=x2, axis=axis),
}


@pytest.mark.parametrize("func", OF_TWO.values(), ids=OF_TWO)
@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0)], ids=str)
def test_axes_of_two_arrays_are_counted_without_the_batch(func: Callable[..., Any], dims: tuple[Any, ...]) -> None:
    rng = np.random.default_rng(5)
    inputs = [dk.asarray(rng.normal(size=(3, 3, 3) if dim is None else (2, 3, 3, 3))) for dim in dims]
    for axis in AXES:

        def along(x1: Any, x2: Any, axis: int = axis) -> Any:
            return func(x1, x2, axis=axis)

        agree(vmap(along, in_dims=dims)(*inputs), one_by_one(along, dims, *inputs)[0])


@pytest.mark.parametrize("func", [dk.linalg.vecdot, dk.linalg.cross])
def test_a_positive_axis_is_that_of_each_argument(func: Any) -> None:
    x1, x2 = dk.asarray(np.arange(54.0).reshape(2, 3, 3, 3)), dk.asarray(np.arange(9.0).reshape(3, 3) % 4)
    for axis in (0, 1, -1, -2):

        def along(x: Any, axis: int = axis) -> Any:
            return func(x, x2, axis=axis)

        agree(vmap(along)(x1), one_by_one(along, (0,), x1)[0])
    with pytest.raises(ValueError, match=f"{func.__name__}: axis must be from -2 to 1, found 2"):
        vmap(lambda x: func(x, x2, axis=2))(x1)


POLYNOMIALS = [name for name in dir(torch.special) if "polynomial" in name]


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_a_batch_of_polynomials_is_that_of_a_loop(name: str) -> None:
    x, degree = torch.tensor([[0.1, -0.5, 2.0], [1.5, 0.0, -1.0]]), torch.tensor([0, 3, 5])
    polynomial = getattr(torch.special, name)
    for n in (4, degree):
        rows = torch.func.vmap(polynomial, in_dims=(0, None))(x, n)
        agree(rows, np.stack([polynomial(row, n).numpy() for row in x]))


def test_the_degree_of_a_polynomial_may_differ_within_a_batch() -> None:
    degrees = torch.func.vmap(lambda n: torch.special.legendre_polynomial_p(0.5, n))(torch.tensor([0, 3, 5]))
    agree(degrees, np.asarray([1.0, -0.4375, 0.08984375]))  # P0, P3 and P5 at 1/2


def test_values_are_scattered_by_a_mask_for_each_element_of_a_batch() -> None:
    def scattered(row: Any, values: Any) -> Any:
        return torch.masked_scatter(row, row > 0, values)

    x = torch.tensor([[0.1, -0.5, 2.0], [1.5, 0.0, -1.0]])
    values = torch.tensor([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]])
    agree(torch.func.vmap(scattered)(x, values), np.asarray([[10.0, -0.5, 20.0], [40.0, 0.0, -1.0]]))
    gradients = torch.func.vmap(torch.func.grad(lambda v, row: scattered(row, v).sum()))(values, x)
    agree(gradients, np.asarray([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))
    with pytest.raises(ValueError, match="masked_scatter: mask is true more often than source has elements: 2"):
        torch.masked_scatter(x, x > 0, values[0, :2])

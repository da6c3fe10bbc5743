"""Transformations of functions of array types: the numbers are those of plain arrays, whatever is around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.func import grad, hessian, jacfwd, jacrev, jvp, linearize
from dispatchkit.types import LazyTensor, MaskedTensor, MetadataTensor, NamedTensor, QuantityTensor, UncertainTensor

X = np.asarray([[1.0, 2.0], [4.0, 3.0]])
TYPES: dict[str, Callable[[Any], Any]] = {
    "masked": lambda x: MaskedTensor(x, True),
    "uncertain": lambda x: UncertainTensor(x, 0.1),
    "quantity": lambda x: QuantityTensor(x, "m"),
    "named": lambda x: NamedTensor(x, ("a", "b")),
    "metadata": lambda x: MetadataTensor(x, {"run": 1}),
    "lazy": LazyTensor,
    "all": lambda x: NamedTensor(QuantityTensor(MaskedTensor(UncertainTensor(x, 0.1)), "m"), ("a", "b")),
}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "squares": lambda x: dk.sum(x * x),
    "cubes": lambda x: dk.sum(x**3),
    "branches": lambda x: dk.sum(dk.where(x > x.mean(), x * x, x * x * x / x.mean())),
    "order": lambda x: dk.sum(dk.sort(x, axis=-1)[:, 0] ** 3),
    "elements": lambda x: x[0, 0] * x[1, 1] * x[0, 1],
    "norm": lambda x: dk.linalg.vector_norm(x),
    "deviation": lambda x: dk.std(x),
    "median": lambda x: dk.median(x),
    "kink": lambda x: dk.sum(dk.relu(x - x.mean()) * x),
    "difference": lambda x: dk.nn.functional.mse_loss(x, x * 2),
    "products": lambda x: dk.prod(x),
    "steps": lambda x: dk.sum(dk.cumulative_sum(dk.concat([x, 2 * x], axis=0), axis=0) ** 2),
}
TRANSFORMATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda f, x: grad(f)(x),
    "jacrev": lambda f, x: jacrev(f)(x),
    "jacfwd": lambda f, x: jacfwd(f)(x),
    "hessian": lambda f, x: hessian(f)(x),
    "jvp": lambda f, x: jvp(f, (x,), (x,))[1],
    "product with the hessian": lambda f, x: jvp(grad(f), (x,), (x,))[1],
    "linearize": lambda f, x: linearize(f, x)[1](x),
}


def numbers(x: Any) -> Any:
    """Return the numbers inside of wrappers."""
    while not isinstance(x, dk.Tensor):
        x = x.data
    return np.asarray(x)


@pytest.mark.parametrize("make", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("transform", TRANSFORMATIONS.values(), ids=TRANSFORMATIONS)
def test_a_transformation_of_a_type_gives_the_numbers_of_plain_arrays(transform: Any, make: Any) -> None:
    for name, function in FUNCTIONS.items():
        found, expected = transform(function, make(X)), transform(function, dk.asarray(X))
        np.testing.assert_allclose(numbers(found), expected, rtol=1e-9, atol=1e-12, err_msg=name)


def test_a_hessian_through_a_condition_has_the_mask_of_the_array() -> None:
    x = MaskedTensor(X, [[True, True], [True, False]])
    found: Any = hessian(FUNCTIONS["branches"])(x)
    there = x.valid.numpy()
    np.testing.assert_array_equal(found.valid.numpy(), there[:, :, None, None] & there)

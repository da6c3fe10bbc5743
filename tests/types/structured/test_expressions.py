"""Expressions of several structures give what the dense matrices give: values, shapes, dtypes and gradients."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit import types

N = 4
DEPTH = 6
LEAVES: list[Callable[[Any], Any]] = [
    lambda v: types.ScalarTensor(N, v[0] + 2),
    lambda v: types.DiagonalTensor(v + 2),
    lambda v: types.BandedTensor(dk.stack([v, v + 3, -v]), lower=1, upper=1),
    lambda v: types.TriangularTensor(v[:, None] * v + dk.eye(N)),
    lambda v: types.TriangularTensor(v[:, None] - v + dk.eye(N), upper=True),
    lambda v: types.PermutationTensor([2, 0, 3, 1]),
    lambda v: types.BlockDiagonalTensor([v[:2, None] * v[:2] + dk.eye(2), v[2:, None] - v[:2] + dk.eye(2)]),
    lambda v: types.LowRankTensor(v[:, None], v[None, :] + 1),
    lambda v: types.KroneckerTensor(v[:2, None] + v[2:], v[:2, None] - v[2:]),
    lambda v: types.ToeplitzTensor(v, v + v[0] * 0),
    lambda v: types.CirculantTensor(v),
]
UNARY: list[Callable[[Any], Any]] = [operator.neg, lambda x: x.mT, lambda x: x * 0.5, lambda x: x / 2]
BINARY: list[Callable[[Any, Any], Any]] = [operator.add, operator.sub, operator.matmul]
leaves = st.integers(0, len(LEAVES) - 1)
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(st.tuples(st.sampled_from(UNARY), inner), st.tuples(st.sampled_from(BINARY), inner, inner)),
    max_leaves=DEPTH,
)


def evaluated(expression: Any, v: Any, structured: bool) -> Any:
    """Return the value of an expression, of structured matrices or of dense ones."""
    if isinstance(expression, int):
        leaf = LEAVES[expression](v)
        return leaf if structured else leaf.to_dense()
    function, *parts = expression
    return function(*(evaluated(part, v, structured) for part in parts))


VALUES = np.array([0.5, -0.25, 0.75, 0.3])


def close(found: Any, expected: Any) -> None:
    scale = max(float(dk.max(abs(expected))), 1.0)
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-9 * scale)


@settings(max_examples=60)
@given(expressions)
def test_expressions_have_the_values_of_dense_ones(expression: Any) -> None:
    v = dk.asarray(VALUES)
    with dk.densify(on="error"):
        found = evaluated(expression, v, structured=True)
        product = found @ v
    expected = evaluated(expression, v, structured=False)
    assert isinstance(found, types.StructuredTensor)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    close(found.to_dense(), expected)
    close(product, expected @ v)


@settings(max_examples=25)
@given(expressions)
def test_expressions_have_the_gradients_of_dense_ones(expression: Any) -> None:
    def loss(v: Any, structured: bool) -> Any:
        return dk.sum(evaluated(expression, v, structured) @ (v + 1))

    v = dk.asarray(VALUES)
    found, expected = (dk.func.grad(lambda x, s=s: loss(x, s))(v) for s in (True, False))
    close(found, expected)
    tangent = dk.ones(N)
    found, expected = (dk.func.jvp(lambda x, s=s: loss(x, s), (v,), (tangent,))[1] for s in (True, False))
    close(found, expected)


def test_sums_of_one_structure_have_it() -> None:
    v = dk.asarray(VALUES)
    for make in LEAVES:
        x = make(v)
        if not isinstance(x, types.PermutationTensor):
            assert type(x + x) is type(x)
            assert type(x - x - x) is type(x)

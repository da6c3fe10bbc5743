"""Expressions of all levels around dense and structured matrices give what an independent model of each level gives."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit import types
from dispatchkit.types.levels import Wrapper

# Masks and standard deviations are dense, and so is what they are around.
pytestmark = pytest.mark.filterwarnings("ignore::dispatchkit.DensifyWarning")

N = 3
DEPTH = 6  # the most matrices in an expression
VALUES = np.array([0.5, -0.25, 0.75])
MASK = np.array([[True, False, True], [True, True, True], [False, True, True]])
ZEROS = np.zeros((DEPTH, N, N))
STD = np.array([[0.1, 0.2, 0.3], [0.2, 0.1, 0.4], [0.3, 0.5, 0.1]])
METRES = {"m": 1.0, "km": 1000.0}
LEVELS = {
    "metadata": types.MetadataTensor,
    "names": types.NamedTensor,
    "unit": types.QuantityTensor,
    "mask": types.MaskedTensor,
    "uncertainty": types.UncertainTensor,
}
BASES: dict[str, Callable[[Any], Any]] = {
    "dense": lambda v: v[:, None] * v + 2,
    "Diagonal": lambda v: types.DiagonalTensor(v + 2),
    "Scalar": lambda v: types.ScalarTensor(N, v[0] + 2),
    "Banded": lambda v: types.BandedTensor(dk.stack([v, v + 3, -v]), lower=1, upper=1),
    "Triangular": lambda v: types.TriangularTensor(v[:, None] - v + dk.eye(N)),
    "LowRank": lambda v: types.LowRankTensor(v[:, None], v[None, :] + 1),
    "Toeplitz": lambda v: types.ToeplitzTensor(v, v + v[0] * 0),
    "Circulant": lambda v: types.CirculantTensor(v),
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "negative": operator.neg,
    "half": lambda x: x * 0.5,
    "third": lambda x: x / 3,
    "transpose": lambda x: x.mT,
    "square": lambda x: x * x,
    "absolute": abs,
    "sine": dk.sin,
    "running": lambda x: dk.cumulative_sum(x, axis=0),
    "reversed": lambda x: dk.flip(x, axis=1),
    "centred": lambda x: x - dk.mean(x, axis=1, keepdims=True),
    "upper": dk.triu,
    "sorted": lambda x: dk.sort(x, axis=1),
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "@": operator.matmul,
    "larger": dk.maximum,
}


@dataclass(frozen=True)
class Leaf:
    """A matrix, and in which order what is put around it."""

    base: str
    around: tuple[str, ...]
    unit: str
    dtype: str


leaf_strategy = st.builds(
    Leaf,
    st.sampled_from(sorted(BASES)),
    st.permutations(sorted(LEVELS)).flatmap(lambda order: st.integers(0, N).map(lambda n: tuple(order[:n]))),
    st.sampled_from(sorted(METRES)),
    st.sampled_from(["float64", "float64", "float32"]),
)
expressions = st.recursive(
    leaf_strategy,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(sorted(UNARY)), inner), st.tuples(st.sampled_from(sorted(BINARY)), inner, inner)
    ),
    max_leaves=DEPTH,
)


# The model: what each level means, on dense arrays, each written down anew.


@dataclass(frozen=True)
class Model:
    """Numbers in powers of the metre, which are valid, their names and metadata, and which levels there are."""

    value: Any
    valid: Any
    power: int
    names: tuple[str, ...] | None
    metadata: dict[str, int] | None
    levels: frozenset[str]

    def where_valid(self) -> Any:
        if "mask" not in self.levels:
            return self.value
        return dk.where(self.valid, self.value, dk.zeros((), dtype=self.value.dtype))

    def transposed(self) -> Model:
        names = None if self.names is None else self.names[::-1]
        return replace(self, value=self.value.mT, valid=self.valid.mT, names=names)


class Sources:
    """How many standard deviations the elements of each leaf are away from its matrix."""

    def __init__(self, away: Any = ZEROS) -> None:
        self.away, self.used = away, 0

    def drawn(self) -> Any:
        self.used += 1
        return self.away[self.used - 1]


def modelled_leaf(leaf: Leaf, v: Any, sources: Sources, number: int, dense: bool) -> Model:
    value = BASES[leaf.base](dk.astype(v, leaf.dtype))
    value = value.to_dense() if dense and not isinstance(value, dk.Tensor) else value
    drawn = sources.drawn()
    if "uncertainty" in leaf.around:
        value = value + dk.astype(dk.asarray(STD) * drawn, leaf.dtype)
    unit = "unit" in leaf.around
    return Model(
        value * METRES[leaf.unit] if unit else value,
        dk.asarray(MASK if "mask" in leaf.around else np.ones((N, N), dtype=bool)),
        int(unit),
        ("row", "column") if "names" in leaf.around else None,
        {"run": number, f"leaf{number}": number} if "metadata" in leaf.around else None,
        frozenset(leaf.around),
    )


def modelled_unary(name: str, x: Model) -> Model:
    if name == "transpose":
        return x.transposed()
    if name == "running":
        return replace(x, value=dk.cumulative_sum(x.where_valid(), axis=0))
    if name == "reversed":
        return replace(x, value=dk.flip(x.value, axis=1), valid=dk.flip(x.valid, axis=1))
    if name == "centred":
        count = dk.astype(dk.sum(x.valid, axis=1, keepdims=True), x.value.dtype)
        return replace(x, value=x.value - dk.sum(x.where_valid(), axis=1, keepdims=True) / count)
    if name == "upper":
        return replace(x, value=dk.triu(x.value), valid=~dk.triu(~x.valid))
    if name == "sorted":
        last = dk.where(x.valid, x.value, dk.asarray(1e30, dtype=x.value.dtype)) if "mask" in x.levels else x.value
        return replace(x, value=dk.sort(last, axis=1), valid=dk.sort(x.valid, axis=1, descending=True))
    return replace(x, value=UNARY[name](x.value), power=2 * x.power if name == "square" else x.power)


def modelled_binary(name: str, x1: Model, x2: Model) -> Model:
    metadata = None if x1.metadata is None and x2.metadata is None else {**(x2.metadata or {}), **(x1.metadata or {})}
    names = x1.names or x2.names
    if name != "@" and x1.names and x2.names and x1.names != x2.names:
        names = ("column", "row")
        x1, x2 = (x if x.names == names else x.transposed() for x in (x1, x2))
    if name == "@":
        value = x1.where_valid() @ x2.where_valid()
        valid = (dk.astype(x1.valid, "float64") @ dk.astype(x2.valid, "float64")) > 0.5
    else:
        value, valid = BINARY[name](x1.value, x2.value), x1.valid & x2.valid
    power = x1.power + x2.power if name in ("*", "@") else x1.power
    return Model(value, valid, power, names, metadata, x1.levels | x2.levels)


Order = Callable[[tuple[str, ...]], tuple[str, ...]]

# Both at once: what an operation refuses, as metres and a number in one sum, is made a product.


def chosen(name: str, models: list[Model]) -> str:
    """Return the operation that is done: one that the levels of the operands allow."""
    if name == "@" and any(x.names for x in models):
        return "*"
    if name in ("+", "-", "larger") and models[0].power != models[1].power:
        return "*"
    if name == "sine" and models[0].power:
        return "negative"
    return name


def modelled(expression: Any, v: Any, sources: Sources, dense: bool = True) -> Model:
    """Return the model of an expression, on dense matrices or on the structures that it has."""
    return evaluated(expression, v, None, sources, dense)[1]


def evaluated(
    expression: Any, v: Any, order: Order | None, sources: Sources | None = None, dense: bool = True
) -> tuple[Any, Model]:
    """Return the value of an expression, None without an order of wrapping, and its model."""
    sources = Sources() if sources is None else sources

    def one(expression: Any) -> tuple[Any, Model]:
        if isinstance(expression, Leaf):
            model = modelled_leaf(expression, v, sources, sources.used + 1, dense)
            return (order and wrapped(expression, v, order(expression.around), sources.used)), model
        name, *parts = expression
        values, models = zip(*map(one, parts), strict=True)
        name = chosen(name, list(models))
        function = (UNARY if len(parts) == 1 else BINARY)[name]
        model = modelled_unary(name, *models) if len(parts) == 1 else modelled_binary(name, *models)
        return (order and function(*values)), model

    return one(expression)


def wrapped(leaf: Leaf, v: Any, order: tuple[str, ...], number: int) -> Any:
    x = BASES[leaf.base](dk.astype(v, leaf.dtype))
    for name in order:
        if name == "metadata":
            x = types.MetadataTensor(x, {"run": number, f"leaf{number}": number})
        elif name == "names":
            x = types.NamedTensor(x, ("row", "column"))
        elif name == "unit":
            x = types.QuantityTensor(x, leaf.unit)
        elif name == "mask":
            x = types.MaskedTensor(x, MASK)
        else:
            x = types.UncertainTensor(x, STD)
    return x


def layers(x: Any) -> list[type]:
    return [type(x), *layers(x.data)] if isinstance(x, Wrapper) else []


def opened(x: Any, power: int) -> Any:
    """Return the numbers inside in powers of the metre, zero where they are missing, as a plain tensor."""
    valid = None
    while isinstance(x, Wrapper):
        if isinstance(x, types.QuantityTensor):
            x = x.to(types.Unit("m") ** power)
        valid = x.valid if isinstance(x, types.MaskedTensor) else valid
        x = x.data
    x = x if isinstance(x, dk.Tensor) else x.to_dense()
    return x if valid is None else dk.where(valid, x, dk.zeros((), dtype=x.dtype))


def close(found: Any, expected: Any, expression: Any) -> None:
    expected = expected.detach().numpy()
    rtol = 1e-4 if "float32" in repr(expression) else 1e-9
    scale = max(float(np.max(np.abs(expected))), 1e-3)
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=rtol, atol=rtol * scale)


def innermost(x: Any) -> Any:
    return innermost(x.data) if isinstance(x, Wrapper) else x


@settings(max_examples=50)
@given(expressions)
def test_expressions_of_all_levels_have_the_values_of_the_model(expression: Any) -> None:
    v = dk.asarray(VALUES)
    found, model = evaluated(expression, v, tuple)
    assert layers(found) == [cls for name, cls in LEVELS.items() if name in model.levels]
    assert (found.shape, found.dtype) == (model.value.shape, model.value.dtype)
    close(opened(found, model.power), model.where_valid(), expression)
    x = found
    while isinstance(x, Wrapper):
        if isinstance(x, types.MetadataTensor):
            assert x.metadata == model.metadata
        if isinstance(x, types.NamedTensor):
            assert x.names == model.names
        if isinstance(x, types.QuantityTensor):
            assert x.unit.dimension == (types.Unit("m") ** model.power).dimension
        if isinstance(x, types.MaskedTensor):
            np.testing.assert_array_equal(x.valid.numpy(), model.valid.numpy())
        x = x.data


@settings(max_examples=25)
@given(expressions)
def test_a_result_has_the_structure_that_it_has_without_levels(expression: Any) -> None:
    v = dk.asarray(VALUES)
    found, dense = evaluated(expression, v, tuple)
    if not {"mask", "uncertainty"} & dense.levels:
        bare = modelled(expression, v, Sources(), dense=False)
        assert type(innermost(found)) is type(bare.value)


@settings(max_examples=25)
@given(expressions, st.permutations(sorted(LEVELS)))
def test_the_order_of_wrapping_changes_nothing(expression: Any, order: list[str]) -> None:
    v = dk.asarray(VALUES)
    one, model = evaluated(expression, v, tuple)
    other, _ = evaluated(expression, v, lambda around: tuple(sorted(around, key=order.index)))
    assert layers(one) == layers(other)
    np.testing.assert_allclose(opened(one, model.power).numpy(), opened(other, model.power).numpy(), rtol=1e-12)


@settings(max_examples=25)
@given(expressions)
def test_gradients_are_those_of_the_model(expression: Any) -> None:
    v = dk.asarray(VALUES)
    expected = modelled(expression, v, Sources()).where_valid()
    scale = max(float(dk.max(abs(expected))), 1.0)

    def loss(v: Any) -> Any:
        found, model = evaluated(expression, v, tuple)
        return dk.sum(dk.sin(opened(found, model.power) / scale))

    def model_loss(v: Any) -> Any:
        return dk.sum(dk.sin(modelled(expression, v, Sources()).where_valid() / scale))

    close(dk.func.grad(loss)(v), dk.func.grad(model_loss)(v), expression)


@settings(max_examples=25)
@given(expressions)
def test_standard_deviations_are_those_of_the_model(expression: Any) -> None:
    v = dk.asarray(VALUES)
    found, model = evaluated(expression, v, tuple)
    if "uncertainty" not in model.levels:
        return
    scale, valid = 1.0, np.array(True)
    while not isinstance(found, types.UncertainTensor):
        if isinstance(found, types.QuantityTensor):
            scale = types.QuantityTensor(1.0, found.unit).to(types.Unit("m") ** model.power).magnitude.item()
        if isinstance(found, types.MaskedTensor):
            valid = found.valid
        found = found.data
    slopes = dk.func.jacfwd(lambda z: modelled(expression, v, Sources(z)).where_valid())(dk.asarray(ZEROS))
    std = dk.sqrt(dk.sum(slopes**2, axis=(2, 3, 4)))
    close(dk.where(valid, found.std * scale, 0.0), std, expression)

"""What follows from each declaration: a value test, a gradient test, a docstring, a place in the public names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.graph.numpy_namespace import numpy_namespace
from dispatchkit.ops.declared import DeclaredOperation
from dispatchkit.ops.samples import Sample
from dispatchkit.protocol.kinds import kinds

OPERATIONS = {
    name: entry
    for name, entry in dk.tensor_protocol.operations.items()
    if isinstance(entry, DeclaredOperation) and name.startswith("dispatchkit.")
}
CALLS = [
    pytest.param(entry, sample, id=f"{name.removeprefix('dispatchkit.')}-{index}")
    for name, entry in OPERATIONS.items()
    for index, sample in enumerate(entry.samples)
]
RANDOM = kinds.random


def reference(entry: DeclaredOperation) -> Callable[..., Any] | None:
    """Return NumPy's function of the same name, None where NumPy has none with the standard's meaning."""
    place: Any = np
    for part in entry.qualified_name.removeprefix("dispatchkit.").split("."):
        place = getattr(place, part, None)
    return REFERENCES.get(entry.name, place if callable(place) else None)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def permuted(x: Any, dim0: int | None = None, dim1: int | None = None) -> Any:
    return np.swapaxes(x, dim0 or 0, dim1 or 1)


def put(x: Any, key: Any, value: Any, accumulate: bool = False) -> Any:
    out = x.copy()
    if accumulate:
        np.add.at(out, key, value)
    else:
        out[key] = value
    return out


REFERENCES: dict[str, Callable[..., Any]] = {
    "getitem": lambda x, key: x[key],
    "index_put": put,
    "sigmoid": sigmoid,
    "relu": lambda x: np.maximum(x, 0),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "logsumexp": lambda x, axis=None, keepdims=False: np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims)),
    "mm": np.matmul,
    "mv": np.matmul,
    "bmm": np.matmul,
    "flatten": lambda x, start_dim=0, end_dim=-1: x.reshape(
        *x.shape[:start_dim], -1, *x.shape[len(x.shape) + end_dim + 1 if end_dim < 0 else end_dim + 1 :]
    ),
    "view": np.reshape,
    "unsqueeze": np.expand_dims,
    "t": np.transpose,
    "expand": lambda x, shape: np.broadcast_to(
        x, tuple(x.shape[i - len(shape)] if n == -1 else n for i, n in enumerate(shape))
    ),
    "tensor": np.array,
    "norm": np.linalg.norm,
    "sort": lambda x, axis=-1, descending=False, stable=True: (
        -np.sort(-x, axis=axis) if descending else np.sort(x, axis=axis)
    ),
    "argsort": lambda x, axis=-1, descending=False, stable=True: np.argsort(
        -x if descending else x, axis=axis, kind="stable"
    ),
    "unique_values": np.unique,
}


def flat(result: Any) -> list[Any]:
    """Return the arrays of a result."""
    return [r for one in result for r in flat(one)] if isinstance(result, (tuple, list)) else [result]


def called(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function of NumPy's with the standard's arguments."""
    kwargs = {k: v for k, v in kwargs.items() if k != "device"}
    return function(*args, **kwargs)


@pytest.mark.parametrize(("entry", "sample"), CALLS)
def test_values_are_those_of_numpy(entry: DeclaredOperation, sample: Sample) -> None:
    expected = reference(entry)
    if expected is None or entry.kind is RANDOM or entry.name in NOT_NUMPY:
        pytest.skip("NumPy has no function of this meaning")
    args, kwargs = sample.make(np.random.default_rng(1))
    want = flat(called(expected, args, kwargs))
    got = flat(entry.function(*args, **kwargs))
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        assert isinstance(one, dk.Tensor)
        assert one.shape == np.shape(other)
        np.testing.assert_allclose(one.detach().numpy(), other, rtol=1e-10, atol=1e-12)


# Same name, other signature or meaning; their chapters' own tests compare them.
NOT_NUMPY = {"empty", "empty_like", "transpose", "repeat"}


def differentiable_calls() -> list[Any]:
    return [
        case
        for case in CALLS
        if all(one.differentiable for one in case.values) and case.values[0].kind is not RANDOM  # type: ignore[union-attr]
    ]


def leaves(entry: DeclaredOperation, sample: Sample) -> tuple[Callable[..., Any], list[dk.Tensor]]:
    """Return the operation as a function of its floating arguments, and those arguments as leaves."""
    args, kwargs = sample.make(np.random.default_rng(2))
    found: list[dk.Tensor] = []

    def leaf(name: str, value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            found.append(dk.tensor(value, requires_grad=True))
            return found[-1]
        return value

    args, kwargs = dk.tensor_protocol.map_arguments(entry.function, args, kwargs, leaf)

    def function(*values: dk.Tensor) -> Any:
        given = iter(values)
        own, keywords = dk.tensor_protocol.map_arguments(
            entry.function, args, kwargs, lambda name, value: next(given) if isinstance(value, dk.Tensor) else value
        )
        result = flat(entry.function(*own, **keywords))
        return tuple(r for r in result if r.dtype.kind in "fc")

    return function, found


@pytest.mark.parametrize(("entry", "sample"), differentiable_calls())
def test_gradients_agree_with_differences(entry: DeclaredOperation, sample: Sample) -> None:
    function, inputs = leaves(entry, sample)
    if not inputs:
        pytest.skip("no floating argument")
    outputs = function(*inputs)
    if not any(y.requires_grad for y in outputs):
        pytest.fail(f"{entry.qualified_name} is declared differentiable, and no gradient flows")
    assert dk.autograd.gradcheck(function, inputs)


@pytest.mark.parametrize(("entry", "sample"), differentiable_calls())
def test_second_derivatives_agree_with_differences(entry: DeclaredOperation, sample: Sample) -> None:
    function, inputs = leaves(entry, sample)
    if not inputs or sum(x.size for x in inputs) > 24:
        pytest.skip("no floating argument, or too many to differentiate twice")
    assert dk.autograd.gradgradcheck(function, inputs, atol=1e-4)


def tangent_calls() -> list[Any]:
    """Return the calls of operations with a rule for tangents, once for each argument that has one."""
    return [
        pytest.param(entry, sample, argument, id=f"{case.id}-{argument}")
        for case in differentiable_calls()
        for entry, sample in [case.values]
        for argument in entry.derivatives.jvps
    ]


@pytest.mark.parametrize(("entry", "sample", "argument"), tangent_calls())
def test_tangents_agree_with_differences(entry: DeclaredOperation, sample: Sample, argument: str) -> None:
    args, kwargs = sample.make(np.random.default_rng(3))
    parameter = next(p for p in entry.parameters.arrays if p.name == argument)
    x = parameter.find(args, kwargs)
    if not isinstance(x, np.ndarray) or x.dtype.kind != "f":
        pytest.skip("the argument is left out, or no array of floating-point numbers")
    t = np.random.default_rng(4).uniform(-1, 1, size=x.shape)

    def at(step: float) -> Any:
        moved, named = dk.tensor_protocol.map_arguments(
            entry.function, args, kwargs, lambda name, value: x + step * t if name == argument else value
        )
        return flat(entry.body_of_namespace(numpy_namespace, *moved, **named))

    y = entry.body_of_namespace(numpy_namespace, *args, **kwargs)
    tangents = flat(entry.derivatives.jvps[argument](numpy_namespace, t, y, *args, **kwargs))
    for tangent, ahead, behind in zip(tangents, at(1e-6), at(-1e-6), strict=True):
        np.testing.assert_allclose(tangent, (ahead - behind) / 2e-6, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_differentiable_operation_states_a_call_to_test(name: str) -> None:
    entry = OPERATIONS[name]
    if entry.differentiable and not entry.parameters.nullary:
        assert entry.samples, f"{name} states no samples, so its derivative is not tested"


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_documented(name: str) -> None:
    text = inspect.getdoc(OPERATIONS[name].function)
    assert text is not None
    assert "Examples" in text
    assert ">>> " in text


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_has_its_signature_and_name(name: str) -> None:
    entry = OPERATIONS[name]
    assert inspect.signature(entry.function) == entry.parameters.signature
    assert entry.function.__name__ == entry.name
    place: Any = dk
    for part in name.split(".")[1:]:
        place = getattr(place, part)
    assert place is entry.function


def test_public_names_exist() -> None:
    names = vars(dk)["__all__"]
    for name in names:
        assert hasattr(dk, name), name
    assert len(set(names)) == len(names)

"""Gradients and tangents of every operation that takes complex numbers, against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Sample
from tests.declared import by_operation, differentiable_calls, flat, leaves


def complex_arguments(
    entry: DeclaredOperation, sample: Sample, which: Callable[[int], bool]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a stated call with imaginary parts in those arrays that `which` picks by number."""
    rng = np.random.default_rng(5)
    args, kwargs = sample.make(rng)
    count = 0

    def change(name: str, value: Any) -> Any:
        nonlocal count
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            return value
        count += 1
        return np.asarray(value + 0.3j * rng.uniform(-1, 1, size=value.shape)) if which(count) else value

    return dk.tensor_protocol.map_arguments(entry.function, args, kwargs, change)


PICKED: dict[str, Callable[[int], bool]] = {
    "all": lambda number: True,
    "first": lambda number: number == 1,
    "second": lambda number: number == 2,
}


def complex_calls() -> list[Any]:
    """Return each differentiable call, once with every array complex and, where there are several, with one."""
    found = []
    for case in differentiable_calls():
        entry, sample = case.values
        several = len(entry.parameters.values(sample.args, sample.kwargs)) > 1
        for which in PICKED if several else ["all"]:
            args, kwargs = complex_arguments(entry, sample, PICKED[which])
            if any(np.iscomplexobj(x) for _, x in entry.parameters.values(args, kwargs)):
                found.append(pytest.param(entry, args, kwargs, id=f"{case.id}-{which}", marks=case.marks))
    return found


@by_operation(("entry", "args", "kwargs"), complex_calls())
def test_gradients_agree_with_differences(
    entry: DeclaredOperation, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    function, inputs = leaves(entry, args, kwargs)
    if entry.facts.real:
        with pytest.raises(TypeError, match=rf"(?s){entry.name}: .*complex128"):
            function(*inputs)
        return
    try:
        outputs = function(*inputs)
    except (TypeError, np.exceptions.ComplexWarning):
        # What is real cannot take in complex values, and weights are real; NumPy drops imaginary parts with a warning.
        assert entry.name in ("index_put", "astype", "full_like", "cov", "scatter_add", "masked_fill")
        return
    if not any(y.requires_grad for y in outputs):
        assert entry.name == "full_like"  # whose elements do not depend on the array
        return
    # In one direction of everything, an error in one of many elements is small: the bounds are, too.
    assert dk.autograd.gradcheck(function, inputs, fast_mode=True, rtol=1e-5, atol=1e-7)
    if sum(x.size for x in inputs) <= 6 and entry.kind is not dk.kinds.linalg:
        assert dk.autograd.gradgradcheck(function, inputs, fast_mode=True, rtol=1e-5, atol=1e-6)


def tangent_calls() -> list[Any]:
    return [
        pytest.param(entry, sample, argument, id=f"{case.id}-{argument}", marks=case.marks)
        for case in differentiable_calls()
        for entry, sample in [case.values]
        for argument in entry.derivative.rules.jvps
        if not entry.facts.real
    ]


@by_operation(("entry", "sample", "argument"), tangent_calls())
def test_tangents_agree_with_differences(entry: DeclaredOperation, sample: Sample, argument: str) -> None:
    args, kwargs = complex_arguments(entry, sample, PICKED["all"])
    parameter = next(p for p in entry.parameters.arrays if p.name == argument)
    x = parameter.find(args, kwargs)
    if not np.iscomplexobj(x):
        pytest.skip("the argument is left out, or no array of complex numbers")
    t = np.random.default_rng(4).uniform(-1, 1, size=(2, *x.shape)) * np.array([1, 1j]).reshape(2, *[1] * x.ndim)
    t = t.sum(axis=0)

    def at(step: float) -> Any:
        moved, named = dk.tensor_protocol.map_arguments(
            entry.function, args, kwargs, lambda name, value: x + step * t if name == argument else value
        )
        return flat(entry.implementation.body(numpy_namespace, *moved, **named))

    y = entry.implementation.body(numpy_namespace, *args, **kwargs)
    tangents = flat(entry.derivative.rules.jvps[argument].forward(numpy_namespace, t, y, *args, **kwargs))
    for tangent, ahead, behind in zip(tangents, at(1e-6), at(-1e-6), strict=True):
        np.testing.assert_allclose(np.broadcast_to(tangent, ahead.shape), (ahead - behind) / 2e-6, rtol=1e-4, atol=1e-5)

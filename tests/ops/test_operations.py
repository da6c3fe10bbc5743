"""What follows from each declaration: a gradient test, a docstring, a place in the public names."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.rules import Rule
from dispatchkit.declare.samples import Sample
from tests.declared import CALLS, OPERATIONS, by_operation, differentiable_calls, flat, leaves
from tests.turns import some_of


@by_operation(("entry", "sample"), CALLS)
def test_memory_that_a_result_shares_is_known(entry: DeclaredOperation, sample: Sample) -> None:
    args, kwargs = sample.make(np.random.default_rng(1))
    args, kwargs = entry.parameters.replace(args, kwargs, lambda name, value: as_tensor(value))
    tensors = [value for _, value in entry.parameters.values(args, kwargs) if isinstance(value, dk.Tensor)]
    results = [y for y in flat(entry.function(*args, **kwargs)) if isinstance(y, dk.Tensor)]
    for x, y in itertools.product(tensors, results):
        if x is not y and np.may_share_memory(x.array, y.array):
            assert x._memory is not None
            assert y._memory is not None
            assert x._memory.version is y._memory.version


@pytest.mark.parametrize("tracked", [True, False])
@by_operation(("entry", "sample"), CALLS)
def test_a_result_is_none_of_the_arguments(entry: DeclaredOperation, sample: Sample, tracked: bool) -> None:
    def as_argument(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        return dk.tensor(value, requires_grad=tracked and value.dtype.kind in "fc")

    args, kwargs = sample.make(np.random.default_rng(1))
    args, kwargs = entry.parameters.replace(args, kwargs, lambda name, value: as_argument(value))
    tensors = [value for _, value in entry.parameters.values(args, kwargs) if isinstance(value, dk.Tensor)]
    if tracked and not any(x.requires_grad for x in tensors):
        return
    results = [y for y in flat(entry.function(*args, **kwargs)) if isinstance(y, dk.Tensor)]
    given_back = {id(x) for x in tensors} & {id(y) for y in results}
    assert not given_back or entry.name == "asarray"  # documented: a tensor that is as asked is given back


HANDING_ON: dict[str, Callable[[Any], Any]] = {
    "einsum": lambda x: dk.einsum("ij->ij", x),
    "einsum of an ellipsis": lambda x: dk.einsum("...->...", x),
    "diff": lambda x: dk.diff(x, n=0),
    "reshape": lambda x: dk.reshape(x, x.shape),
    "permute_dims": lambda x: dk.permute_dims(x, (0, 1)),
    "broadcast_to": lambda x: dk.broadcast_to(x, x.shape),
    "astype": lambda x: dk.astype(x, dk.float64, copy=False),
}


@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize("name", HANDING_ON)
def test_an_operation_that_changes_nothing_gives_a_view(name: str, tracked: bool) -> None:
    x = dk.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=tracked)
    y = HANDING_ON[name](x)
    assert y is not x
    assert np.shares_memory(y.array, x.array)
    assert y.is_leaf is not tracked
    if tracked:
        (y * 3).sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def as_tensor(value: Any) -> Any:
    return dk.asarray(value) if isinstance(value, np.ndarray) else value


@by_operation(("entry", "sample"), differentiable_calls())
def test_gradients_agree_with_differences(entry: DeclaredOperation, sample: Sample) -> None:
    function, inputs = leaves(entry, *sample.make(np.random.default_rng(2)))
    if not inputs:
        pytest.skip("no floating argument")
    outputs = function(*inputs)
    if not any(y.requires_grad for y in outputs):
        if entry.name == "full_like":
            pytest.skip("the elements do not depend on the array")
        pytest.fail(f"{entry.qualified_name} is declared differentiable, and no gradient flows")
    assert dk.autograd.gradcheck(function, inputs)


def every_other_call() -> list[Any]:
    """Return every other call of each operation, the first among them; all calls in a long run."""
    calls: dict[str, list[Any]] = {}
    for case in differentiable_calls():
        calls.setdefault(case.values[0].qualified_name, []).append(case)
    return [case for of_one in calls.values() for case in some_of(of_one, 2)]


@by_operation(("entry", "sample"), every_other_call())
def test_second_derivatives_agree_with_differences(entry: DeclaredOperation, sample: Sample) -> None:
    function, inputs = leaves(entry, *sample.make(np.random.default_rng(2)))
    if not inputs or sum(x.size for x in inputs) > 24:
        pytest.skip("no floating argument, or too many to differentiate twice")
    # In one direction of everything, an error in one of many elements is small: the bounds are, too.
    assert dk.autograd.gradgradcheck(function, inputs, fast_mode=True, rtol=1e-5, atol=1e-6)


def tangent_calls() -> list[Any]:
    """Return the calls of operations with a rule for tangents, once for each argument that has one."""
    return [
        pytest.param(entry, sample, argument, id=f"{case.id}-{argument}", marks=case.marks)
        for case in differentiable_calls()
        for entry, sample in [case.values]
        for argument in entry.derivative.rules.jvps
    ]


@by_operation(("entry", "sample", "argument"), tangent_calls())
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
        return flat(entry.implementation.body(numpy_namespace, *moved, **named))

    y = entry.implementation.body(numpy_namespace, *args, **kwargs)
    tangents = flat(entry.derivative.rules.jvps[argument].forward(numpy_namespace, t, y, *args, **kwargs))
    for tangent, ahead, behind in zip(tangents, at(1e-6), at(-1e-6), strict=True):
        np.testing.assert_allclose(np.broadcast_to(tangent, ahead.shape), (ahead - behind) / 2e-6, rtol=1e-4, atol=1e-5)


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


@pytest.mark.parametrize("name", OPERATIONS)
def test_rules_name_what_they_may(name: str) -> None:
    """Those of the library are read when they are used; here they are read as those of users are at once."""
    rules = OPERATIONS[name].derivative.rules
    for rule in (*rules.partials.values(), *rules.transposes.values(), *rules.vjps.values(), *rules.jvps.values()):
        if isinstance(rule, Rule):
            rule.check()

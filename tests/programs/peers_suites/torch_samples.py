"""PyTorch's samples of its operators, each called in PyTorch's spelling of dispatchkit and in PyTorch.

Values, dtypes and, where PyTorch has them, first derivatives are compared; of what is drawn or not filled, shapes and
dtypes are. Of vectors that are determined up to a factor, PyTorch's samples say what is compared.
"""

from __future__ import annotations

import itertools
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import set_rng_seed

import dispatchkit as dk
import dispatchkit.as_torch as spelled

SAMPLES = 8  # of an operator
SPELLED: Any = spelled
NO_SAMPLES_HERE = ("sparse.", "jiterator", "to_sparse")  # layouts, and functions for GPUs
# Samples of a public function that bear the name of what it calls.
PUBLIC = {"_segment_reduce": "segment_reduce"}
UP_TO_FACTORS = ("linalg.eig", "linalg.eigh", "linalg.svd", "svd")


def cases() -> Iterator[Any]:
    """Yield each operator of floating-point numbers with each of its samples."""
    warnings.simplefilter("ignore")
    for op in op_db:
        if torch.float64 not in op.dtypes or op.name.startswith(NO_SAMPLES_HERE):
            continue
        set_rng_seed(0)
        name = ".".join(filter(None, (op.name, op.variant_test_name)))
        # `op.sample_inputs` is these, after a slow look at who calls.
        samples = itertools.islice(op.sample_inputs_func(op, "cpu", torch.float64, op.supports_autograd), SAMPLES)
        for number, sample in enumerate(list(samples)):
            yield pytest.param(op, sample, id=f"{name}-{number}")


def spelled_as(value: Any) -> Any:
    """Return an argument here for one in PyTorch."""
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided:
            raise TypeError(f"the sample has a tensor of layout {value.layout}")
        tensor = SPELLED.from_numpy(value.detach().numpy().copy())
        return tensor.requires_grad_() if value.requires_grad else tensor
    if isinstance(value, torch.dtype):
        return getattr(SPELLED, str(value).removeprefix("torch."))
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, (torch.device, torch.memory_format, torch.layout)):
        return str(value) if isinstance(value, torch.device) else getattr(SPELLED, str(value).removeprefix("torch."))
    if isinstance(value, dict):
        return {name: spelled_as(member) for name, member in value.items()}
    if isinstance(value, torch.nn.PairwiseDistance):
        return SPELLED.nn.PairwiseDistance(value.norm, value.eps, value.keepdim)
    return type(value)(map(spelled_as, value)) if type(value) in (list, tuple) else value


def calling(function: Any, module: Any) -> Any:
    """Return a function of PyTorch's samples that calls another module for PyTorch, and sets no seed."""
    if not isinstance(function, types.FunctionType) or not function.__module__.startswith("torch.testing."):
        return function
    names = {"torch": module, "wrapper_set_seed": lambda op, *args, **kwargs: op(*args, **kwargs)}
    kind = types.FunctionType(
        function.__code__, {**function.__globals__, **names}, None, function.__defaults__, function.__closure__
    )
    kind.__kwdefaults__ = function.__kwdefaults__
    return kind


def function_of(op: Any) -> Any:
    """Return the function or method of an operator in PyTorch's spelling."""
    function = calling(op.op, SPELLED)
    if function is not op.op:
        return function
    if isinstance(op.op, types.MethodDescriptorType):
        return getattr(SPELLED.Tensor, op.name)
    place: Any = SPELLED
    name = PUBLIC.get(op.name, op.name)
    for part in name.split("."):
        if not hasattr(place, part):
            return getattr(SPELLED.Tensor, op.name) if "." not in op.name else getattr(place, part)
        place = getattr(place, part)
    return place


def leaves(value: Any) -> list[Any]:
    """Return the parts of a result or of arguments, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for member in value for leaf in leaves(member)]
    return [value]


def tracked(value: Any) -> Any:
    """Return arguments anew, whose tensors require gradients where those of the sample do."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, dict):
        return {name: tracked(member) for name, member in value.items()}
    return type(value)(map(tracked, value)) if type(value) in (list, tuple) else value


def as_torch_tensor(value: Any) -> Any:
    """Return a result here as PyTorch's."""
    return torch.from_numpy(np.array(value.detach().numpy())) if isinstance(value, dk.Tensor) else value


def gradients(result: Any, inputs: Any) -> list[Any]:
    """Return the gradients of what is a sum of all elements of a result, each by another factor."""
    total: Any = 0
    for y in leaves(result):
        if getattr(y, "requires_grad", False):
            part = (y * y.conj()).real if "complex" in str(y.dtype) else y
            total = total + (part * (0.5 + 0.25 * part.detach())).sum()
    if hasattr(total, "backward"):
        total.backward()
    return [x.grad for x in leaves(inputs) if getattr(x, "requires_grad", False)]


def assert_same(ours: Any, theirs: Any, *, values: bool) -> None:
    ours, theirs = [as_torch_tensor(leaf) for leaf in leaves(ours)], leaves(theirs)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        if not isinstance(other, torch.Tensor):
            assert one == other or values is False
            continue
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        if values:
            torch.testing.assert_close(one, other.detach(), rtol=1e-5, atol=1e-7, equal_nan=True)


@pytest.mark.parametrize(("op", "sample"), list(cases()))
def test_sample(op: Any, sample: Any) -> None:
    arguments = tracked((sample.input, sample.args, sample.kwargs))
    ours: Any = spelled_as(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        state = torch.get_rng_state()
        want = calling(op.op, torch)(arguments[0], *arguments[1], **arguments[2])
        drawn = not torch.equal(state, torch.get_rng_state())
        got = function_of(op)(ours[0], *ours[1], **ours[2])
    values = not drawn and "empty" not in op.name
    compared = [calling(sample.output_process_fn_grad, module) for module in (SPELLED, torch)]
    if op.name in UP_TO_FACTORS:
        got, want = compared[0](got), compared[1](want)
        compared = [lambda result: result] * 2
    assert_same(got, want, values=values)
    if not op.supports_autograd or not values:
        return
    sides = gradients(compared[0](got), ours), gradients(compared[1](want), arguments)
    for one, other in zip(*sides, strict=True):
        if other is not None:
            one = torch.zeros_like(other) if one is None else as_torch_tensor(one)
            nearly = 1e-6
            if other.dtype == torch.float32:  # of parts that cancel, as of weights of `cov` of two numbers
                nearly = 1e-5
            torch.testing.assert_close(one, other, rtol=1e-4, atol=nearly, equal_nan=True)

"""`like=`: functions that make arrays from nothing make those of the library, and on the device, of another array."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import array_api_strict
import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.protocol.instance import tensor_protocol
from tests.waiting import PATIENCE

MAKE: dict[str, Callable[..., Any]] = {
    "zeros": lambda **k: dk.zeros(3, **k),
    "ones": lambda **k: dk.ones((2, 1), **k),
    "empty": lambda **k: dk.empty((), **k),
    "full": lambda **k: dk.full(2, 7.5, **k),
    "full of an array": lambda **k: dk.full(2, dk.asarray(7.5), **k),
    "arange": lambda **k: dk.arange(3, **k),
    "linspace": lambda **k: dk.linspace(0.0, 1.0, 3, **k),
    "eye": lambda **k: dk.eye(2, **k),
    "asarray of a list": lambda **k: dk.asarray([1.0, 2.0], **k),
    "asarray of an array": lambda **k: dk.asarray(np.ones(2), **k),
    "asarray of a tensor": lambda **k: dk.asarray(dk.ones(2), **k),
    "tensor": lambda **k: dk.tensor([1.0, 2.0], **k),
    "rand": lambda **k: dk.rand(2, **k),
}


def likes(array: Any) -> list[Any]:
    """Return what has an array of a library: itself, a tensor, types with fields."""
    tensor = dk.Tensor(array)
    return [array, tensor, dk.types.DiagonalTensor(tensor), dk.types.MetadataTensor(tensor, metadata={"a": 1})]


@pytest.mark.parametrize("name", MAKE)
def test_what_is_made_is_of_the_library_of_another_array(name: str) -> None:
    expected = MAKE[name]()
    for like in likes(array_api_strict.ones(2)):
        made = MAKE[name](like=like)
        assert type(made) is dk.Tensor
        assert type(made.array) is type(array_api_strict.ones(2))
        assert (made.shape, made.dtype) == (expected.shape, expected.dtype)
        if name not in ("empty", "rand"):
            np.testing.assert_array_equal(np.asarray(made), np.asarray(expected))
    with dk.arrays_of("array_api_strict"):
        assert type(MAKE[name](like=np.ones(1)).array) in (np.ndarray, np.float64)


def test_what_is_made_is_on_the_device_of_another_array() -> None:
    device = array_api_strict.Device("device1")
    like = array_api_strict.ones(2, device=device)
    assert dk.zeros(3, like=like).array.device == device
    assert dk.asarray([1.0], like=dk.Tensor(like)).array.device == device
    assert (dk.ones(2, like=like) + dk.Tensor(like)).array.device == device


def test_leaves_and_dtypes_are_asked_for_as_ever() -> None:
    like = array_api_strict.ones(2)
    made = dk.ones(2, like=like, dtype=dk.float32, requires_grad=True)
    (made * dk.Tensor(array_api_strict.asarray([2.0, 3.0], dtype=array_api_strict.float32))).sum().backward()
    assert made.grad is not None
    assert (made.dtype, made.grad.tolist()) == (np.float32, [2.0, 3.0])
    assert dk.zeros(2, like=None).tolist() == [0.0, 0.0]


def test_a_mode_sees_what_an_array_is_to_be_like_and_transformations_pass_it_on() -> None:
    like = dk.Tensor(array_api_strict.asarray([1.0, 2.0]))
    seen = []

    class Seen(dk.TensorFunctionMode):
        def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            seen.append((func.__name__, args, list(kwargs)))
            return func(*args, **kwargs)

    with Seen():
        made = dk.ones(2, like=like)
    assert seen == [("ones", (2,), ["like"])]
    assert type(made.array) is type(like.array)
    assert dk.func.vmap(lambda x: x + dk.ones(2, like=x))(like).tolist() == [[2.0, 2.0], [3.0, 3.0]]
    assert dk.func.grad(lambda x: dk.sum(x * dk.arange(2.0, like=x)))(like).tolist() == [0.0, 1.0]


def test_what_holds_no_array_raises() -> None:
    for like in ([1.0], "torch", 3, object()):
        with pytest.raises(TypeError, match=r"^dispatchkit\.zeros: like=.* holds no array; give a tensor, an"):
            dk.zeros(3, like=like)
    leaf = dk.ones(2, requires_grad=True)
    with pytest.raises(dk.AutogradError, match=r"a gradient does not flow from array_api_strict to numpy"):
        dk.asarray(leaf, like=array_api_strict.ones(2))


def test_every_function_that_makes_arrays_on_a_device_takes_it_but_those_of_the_form_of_an_array() -> None:
    making = (dk.kinds.creation, dk.kinds.random)
    for operation in tensor_protocol.operations.values():
        names = list(operation.parameters.signature.parameters)
        if operation.kind in making and "device" in names:
            assert ("like" in names) is (names[0] != "x"), operation
    assert list(inspect.signature(dk.eye).parameters)[-2:] == ["like", "requires_grad"]


TORCH, JAX = "tensor([2.], dtype=torch.float64) tensor([0., 0.], dtype=torch.float64)", "[2.] [0. 0.]"
DEVICES = [("torch.device('cpu')", TORCH), ("jax.devices()[0]", JAX), ("jax.numpy.ones(1).sharding", JAX)]


@pytest.mark.parametrize(("device", "expected"), DEVICES)
def test_a_device_says_whose_arrays_are_made_before_any_was_seen(device: str, expected: str) -> None:
    library = device.partition(".")[0]
    pytest.importorskip(library)
    text = f"""
import {library}, dispatchkit as dk
device = {device}
print(dk.asarray([2.0], device=device).array, dk.zeros(2, device=device).array)
"""
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert found.stdout.strip() == expected, found.stderr[-500:]

"""`torch.dtype`: PyTorch's attributes, and NumPy's dtype wherever one is asked for."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch

torch: Any = dispatchkit.as_torch

# Whether numbers are floating-point, complex and signed, and the bytes of one, as PyTorch says them.
OF_NAMES = {
    "bool": (False, False, False, 1),
    "uint8": (False, False, False, 1),
    "int8": (False, False, True, 1),
    "int16": (False, False, True, 2),
    "int64": (False, False, True, 8),
    "uint32": (False, False, False, 4),
    "float16": (True, False, True, 2),
    "bfloat16": (True, False, True, 2),
    "float32": (True, False, True, 4),
    "float64": (True, False, True, 8),
    "complex64": (False, True, True, 8),
    "complex128": (False, True, True, 16),
}
NAMES = [name for name in OF_NAMES if name != "bfloat16"]


@pytest.mark.parametrize("name", OF_NAMES)
def test_dtypes_have_pytorchs_attributes(name: str) -> None:
    dtype = getattr(torch, name)
    assert (dtype.is_floating_point, dtype.is_complex, dtype.is_signed, dtype.itemsize) == OF_NAMES[name]
    assert repr(dtype) == str(dtype) == f"torch.{name}"
    assert isinstance(dtype, torch.dtype)


@pytest.mark.parametrize("name", NAMES)
def test_a_dtype_is_numpys_in_what_is_computed_with_it(name: str) -> None:
    dtype, plain = getattr(torch, name), np.dtype(name)
    assert dtype == plain
    assert plain == dtype
    assert dtype == name
    assert (dtype != plain) is False
    assert hash(dtype) == hash(plain)
    assert {plain: 1}[dtype] == {dtype: 1}[plain] == 1
    assert isinstance(dtype, np.dtype)
    assert (dtype.kind, dtype.char, dtype.str, dtype.type) == (plain.kind, plain.char, plain.str, plain.type)
    assert np.dtype(dtype) is plain
    assert np.zeros(2, dtype).astype(dtype).dtype == np.zeros(2).astype(dtype).dtype == plain
    assert np.result_type(dtype, np.float64) == np.result_type(plain, np.float64)
    assert np.issubdtype(dtype, np.inexact) == np.issubdtype(plain, np.inexact)
    assert dk.zeros(2, dtype=dtype).dtype == plain
    assert dk.isdtype(dtype, "real floating") == (plain.kind == "f")


def test_tensors_and_functions_give_pytorchs_dtypes() -> None:
    x = torch.ones(2, dtype=torch.float32, requires_grad=True)
    assert x.dtype is torch.float32
    assert torch.nn.Linear(1, 1).weight.dtype is torch.get_default_dtype() is torch.float64
    assert torch.promote_types(torch.int32, torch.float32) is torch.result_type(x, 1) is torch.float32
    assert torch.get_autocast_dtype("cpu") is torch.float64
    assert [seen_in(torch.func.grad), seen_in(torch.func.vmap)] == [torch.float64] * 2
    assert x.to(torch.tensor(1).dtype).dtype is torch.int64


def seen_in(transformation: Any) -> Any:
    """Return the dtype that a function reads of its argument inside a transformation."""
    seen: list[Any] = []

    def function(x: Any) -> Any:
        seen.append(x.dtype)
        return x.sum()

    transformation(function)(torch.ones(2))
    return seen[0]


def test_parts_of_complex_numbers_and_complex_numbers_of_parts() -> None:
    assert torch.complex64.to_real() is torch.float32
    assert torch.complex128.to_real() is torch.float64
    assert torch.int8.to_real() is torch.int8
    assert torch.float32.to_complex() is torch.complex64.to_complex() is torch.complex64
    assert torch.float64.to_complex() is torch.complex128
    with pytest.raises(RuntimeError, match=r"there are no complex numbers of torch\.int64: use float32 or float64"):
        torch.int64.to_complex()
    with pytest.raises(RuntimeError, match=r"there are no complex numbers of torch\.float16"):
        torch.float16.to_complex()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.bfloat16], ids=str)
def test_copies_and_pickles_are_the_same_dtype(dtype: Any) -> None:
    assert copy.copy(dtype) is copy.deepcopy(dtype) is pickle.loads(pickle.dumps(dtype)) is dtype


def test_what_is_no_dtype_equals_none() -> None:
    assert torch.float64 != None  # noqa: E711  # what programs write
    assert torch.float32 != "no dtype"
    assert torch.bfloat16 not in (torch.float32, np.dtype("float32"), None)
    assert isinstance(np.dtype("float32"), torch.dtype)
    assert not isinstance("float32", torch.dtype)
    assert not isinstance(torch.bfloat16, np.dtype)
    assert not isinstance(torch.float32, type(torch.bfloat16))


def test_a_dtype_is_made_of_another_or_of_a_name() -> None:
    assert torch.dtype("float32") is torch.dtype(np.float32) is torch.dtype(torch.float32) is torch.float32
    with pytest.raises(TypeError, match="'no dtype' is neither a dtype nor an array"):
        torch.dtype("no dtype")


def test_numpy_makes_no_arrays_of_a_dtype_that_it_has_not() -> None:
    with pytest.raises(AttributeError, match=r"torch\.bfloat16 has no attribute 'dtype': NumPy has no such dtype"):
        torch.bfloat16.dtype  # noqa: B018  # the attribute that NumPy asks for
    # Where JAX was imported, NumPy knows a dtype of that name.
    text = r"torch\.bfloat16 is neither a dtype nor an array|dtype must be of numbers or booleans, found bfloat16"
    with pytest.raises(TypeError, match=text):
        torch.ones(2).to(torch.bfloat16)

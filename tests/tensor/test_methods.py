"""Attributes, and methods in PyTorch's positional forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

A = np.arange(6.0).reshape(2, 3)
X: Any = dk.asarray(A)

CALLS: dict[str, tuple[Any, Any]] = {
    "sum(0)": (X.sum(0), A.sum(0)),
    "sum(0, True)": (lambda: X.sum(0, True), A.sum(0, keepdims=True)),
    "sum((0, 1))": (X.sum((0, 1)), A.sum()),
    "sum(-1, keepdims=True)": (X.sum(-1, keepdims=True), A.sum(-1, keepdims=True)),
    "prod(1, True)": (lambda: X.prod(1, True), A.prod(1, keepdims=True)),
    "mean(1)": (X.mean(1), A.mean(1)),
    "mean(1, True)": (X.mean(1, True), A.mean(1, keepdims=True)),
    "max(0)": (X.max(0), A.max(0)),
    "max()": (X.max(), A.max()),
    "argmax(1)": (X.argmax(1), A.argmax(1)),
    "std()": (X.std(), A.std()),
    "var(0)": (X.var(0), A.var(0)),
    "view(3, 2)": (X.view(3, 2), A.reshape(3, 2)),
    "view((3, 2))": (X.view((3, 2)), A.reshape(3, 2)),
    "view(-1)": (X.view(-1), A.ravel()),
    "reshape(3, -1)": (X.reshape(3, -1), A.reshape(3, 2)),
    "reshape([6])": (X.reshape([6]), A.ravel()),
    "squeeze()": (X.reshape(1, 6, 1).squeeze(), A.ravel()),
    "squeeze(0)": (X.reshape(1, 6, 1).squeeze(0), A.reshape(6, 1)),
    "unsqueeze(1)": (X.unsqueeze(1), A[:, None]),
    "permute(1, 0)": (X.permute(1, 0), A.T),
    "transpose(0, 1)": (X.transpose(0, 1), A.T),
    "t()": (X.t(), A.T),
    "T": (X.T, A.T),
    "mT": (X.mT, A.T),
    "expand(2, 2, 3)": (X.expand(2, 2, 3), np.broadcast_to(A, (2, 2, 3))),
    "expand(2, -1, 3)": (X.expand(2, -1, 3), np.broadcast_to(A, (2, 2, 3))),
    "expand_as": (X.expand_as(dk.ones((2, 2, 3))), np.broadcast_to(A, (2, 2, 3))),
    "reshape_as": (X.reshape_as(dk.ones(6)), A.ravel()),
    "flatten()": (X.flatten(), A.ravel()),
    "clip(1, 2)": (X.clip(1, 2), A.clip(1, 2)),
    "clamp(1)": (X.clamp(1), A.clip(1)),
    "clamp(max=2)": (X.clamp(max=2), A.clip(max=2)),
    "mm": (X.mm(X.T), A @ A.T),
    "mv": (X.mv(dk.ones(3)), A.sum(1)),
    "matmul": (X.matmul(X.T), A @ A.T),
    "dot": (X[0].dot(X[1]), A[0] @ A[1]),
    "add": (X.add(1), A + 1),
    "sub": (X.sub(1), A - 1),
    "mul": (X.mul(2), A * 2),
    "div": (X.div(2), A / 2),
    "pow": (X.pow(2), A**2),
    "neg": (X.neg(), -A),
    "eq": (X.eq(1), A == 1),
    "norm": (X.norm(), np.linalg.norm(A)),
    "trace": (X.trace(), np.trace(A)),
    "flip(0)": (X.flip(0), A[::-1]),
    "roll(1)": (X.roll(1), np.roll(A, 1)),
    "all(0)": (X.all(0), A.all(0)),
    "any()": (X.any(), A.any()),
    "tril()": (X.tril(), np.tril(A)),
    "clone()": (X.clone(), A),
}


@pytest.mark.parametrize("call", CALLS)
def test_positional_forms(call: str) -> None:
    result, expected = CALLS[call]
    result = result() if callable(result) else result
    assert type(result) is dk.Tensor
    assert result.shape == np.shape(expected)
    np.testing.assert_allclose(result.numpy(), expected)


def test_random_functions_take_lengths_and_requires_grad() -> None:
    x = dk.randn(20, 20, requires_grad=True)
    assert x.shape == (20, 20)
    assert x.requires_grad
    assert dk.rand(2, 3).shape == dk.rand((2, 3)).shape == (2, 3)


def test_methods_do_not_take_what_their_operation_does_not() -> None:
    with pytest.raises(TypeError, match="alpha"):
        X.add(1, alpha=2)
    with pytest.raises(TypeError, match="dim"):
        X.sum(dim=0)
    with pytest.raises(TypeError, match=r"3 were given|too many"):
        X.argmax(0, True, 1)


def test_an_unknown_attribute_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = X.nothing


def test_attributes() -> None:
    assert X.shape == (2, 3)
    assert type(X.shape) is tuple
    assert (X.ndim, X.dim()) == (2, 2)
    assert X.size == X.numel() == 6
    assert X.dtype == np.dtype("float64")
    assert X.device == "cpu"
    assert (X.itemsize, X.nbytes, len(X)) == (8, 48, 2)
    assert X.is_floating_point()
    assert not X.is_complex()
    assert X.is_contiguous()
    assert not X.T.is_contiguous()


@pytest.mark.parametrize("name", ["shape", "dtype", "ndim", "size", "array"])
def test_attributes_cannot_be_called_by_mistake_as_operations(name: str) -> None:
    assert not dk.overrides.is_tensor_method_or_property(getattr(dk.Tensor, name))


CONVERSIONS = {
    "double": "float64",
    "float": "float32",
    "long": "int64",
    "int": "int32",
    "bool": "bool",
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions_by_name(name: str) -> None:
    converted = getattr(X, name)()
    assert converted.dtype == np.dtype(CONVERSIONS[name])
    np.testing.assert_array_equal(converted.numpy(), A.astype(CONVERSIONS[name]))


def test_to_takes_a_dtype_a_device_or_a_tensor() -> None:
    assert X.to(dk.float32).dtype == X.to("float32").dtype == X.to(dtype=np.float32).dtype == dk.float32
    assert X.to(dk.ones(1, dtype=dk.int32)).dtype == X.type_as(dk.ones(1, dtype=dk.int32)).dtype == dk.int32
    assert X.to("cpu").dtype == X.cpu().dtype == dk.float64
    assert X.to("cpu", dk.float32).dtype == dk.float32


def test_to_the_same_is_no_copy_unless_asked() -> None:
    assert np.shares_memory(X.to(dk.float64).array, X.array)
    assert not np.shares_memory(X.to(dk.float64, copy=True).array, X.array)


def test_a_device_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match=r"'cuda'"):
        X.to("cuda")


def test_conversions_let_gradients_through() -> None:
    x = dk.tensor([1.0, 2.0], dtype=dk.float32, requires_grad=True)
    (x.double() * 3).sum().backward()
    assert x.grad is not None
    assert x.grad.dtype == dk.float32
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 3.0]
    assert not x.long().requires_grad


def test_new_tensor_has_the_dtype() -> None:
    assert dk.ones(1, dtype=dk.float32).new_tensor([1, 2]).dtype == dk.float32


def test_maximum_returns_values_alone() -> None:
    assert type(X.max(axis=0)) is dk.Tensor


def test_the_array_namespace_is_the_package() -> None:
    assert X.__array_namespace__() is dk
    assert X.__array_namespace__(api_version="2024.12") is dk
    with pytest.raises(ValueError, match=r"version '1999\.01' is not known"):
        X.__array_namespace__(api_version="1999.01")


def test_dlpack() -> None:
    assert np.from_dlpack(X).tolist() == A.tolist()
    with pytest.raises(dk.AutogradError, match=r"cannot be exported; use x\.detach"):
        np.from_dlpack(dk.ones(1, requires_grad=True))


@pytest.mark.parametrize(
    "view",
    [lambda x: x.transpose(1, 2), lambda x: x[:, ::2], lambda x: x[0, 0, ::2], lambda x: x.mT[::-1], lambda x: x],
)
def test_contiguous_gives_elements_one_after_the_other_with_a_gradient(view: Any) -> None:
    x = dk.tensor(np.arange(24.0).reshape(2, 3, 4), requires_grad=True)
    seen = view(x)
    result = seen.contiguous()
    assert result.is_contiguous()
    assert (result is seen) is seen.is_contiguous()
    assert result.tolist() == seen.tolist()
    (result.view(-1) * 2).sum().backward()
    assert x.grad is not None
    assert x.grad.sum().item() == 2 * seen.size


def test_numpys_delete_takes_indices_and_masks_that_are_tensors() -> None:
    x = dk.asarray([1.0, 2.0, 3.0])
    for places in (dk.asarray([1]), dk.asarray(1), dk.asarray([False, True, False]), slice(1, 2), [1], 1):
        assert np.delete(x, places).tolist() == [1.0, 3.0]

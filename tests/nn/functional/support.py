"""What the tests of functionals share: drawn arrays, gradients, and the comparison with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

__all__ = ["agree_with_torch", "drawn", "gradients", "torch_functional"]


def drawn(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng((seed, *shape)).standard_normal(shape)


def torch_functional() -> Any:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    return torch.nn.functional


def gradients(function: Callable[..., Any], arrays: Sequence[Any], *, live: bool = False) -> tuple[Any, list[Any]]:
    """Return the value of a function, and the gradients of its product with numbers that differ."""
    leaves = [dk.tensor(a, requires_grad=True) for a in arrays]
    y = function(*leaves)
    g = dk.tensor(drawn(*y.shape, seed=9))
    found = dk.autograd.grad(y, leaves, g, create_graph=live)
    return y.detach().numpy(), [one.detach().numpy() for one in found]


def agree_with_torch(ours: Callable[..., Any], theirs: Callable[..., Any], *arrays: Any) -> None:
    """Compare value and gradients; the gradients also as they are computed to be differentiated again."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
    z = theirs(*leaves)
    expected = torch.autograd.grad(z, leaves, torch.tensor(drawn(*z.shape, seed=9)))
    for live in (False, True):
        y, found = gradients(ours, arrays, live=live)
        np.testing.assert_allclose(y, z.detach().numpy(), rtol=1e-10, atol=1e-12)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other.numpy(), rtol=1e-9, atol=1e-11)

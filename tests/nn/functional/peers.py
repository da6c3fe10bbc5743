"""Functionals beside PyTorch's: the same arrays to both, values and gradients compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import dispatchkit as dk

__all__ = ["agree_with_torch", "as_torch"]


def as_torch(torch: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords as PyTorch spells them, arrays as its tensors."""
    spelt = {"dim" if name == "axis" else name: value for name, value in kwargs.items()}
    return {name: torch.tensor(v) if isinstance(v, np.ndarray) else v for name, v in spelt.items()}


def agree_with_torch(
    torch: Any,
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    arrays: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    gradients: Sequence[int] = (0,),
    rtol: float = 1e-10,
    atol: float = 1e-12,
) -> None:
    """Compare the results of a call, and the gradients of some of its arrays.

    Parameters
    ----------
    torch : the library
    ours, theirs : the two functions
    arrays : arguments by position, None where one is left out
    kwargs : further arguments; arrays among them need no gradient
    gradients : numbers of the arrays whose gradients are compared
    rtol, atol : of the comparison
    """
    mine: list[Any] = [x if x is None else dk.tensor(x, requires_grad=i in gradients) for i, x in enumerate(arrays)]
    his: list[Any] = [x if x is None else torch.tensor(x, requires_grad=i in gradients) for i, x in enumerate(arrays)]
    y = ours(*mine, **{name: dk.tensor(v) if isinstance(v, np.ndarray) else v for name, v in kwargs.items()})
    wanted = theirs(*his, **as_torch(torch, kwargs))
    compare = f"{ours.__name__} {kwargs}"
    assert y.dtype.name == str(wanted.dtype).removeprefix("torch."), compare
    assert y.shape == tuple(wanted.shape), compare
    np.testing.assert_allclose(y.detach().numpy(), wanted.detach().numpy(), rtol=rtol, atol=atol, err_msg=compare)
    g = np.random.default_rng(3).uniform(0.5, 1.5, size=y.shape).astype(y.dtype)
    y.backward(dk.tensor(g))
    wanted.backward(torch.tensor(g))
    for i in gradients:
        assert mine[i].grad is not None
        assert mine[i].grad.dtype == mine[i].dtype
        np.testing.assert_allclose(mine[i].grad.numpy(), his[i].grad.numpy(), rtol=rtol, atol=atol, err_msg=compare)

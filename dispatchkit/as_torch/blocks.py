"""Blocks and calls in which less is kept: `torch.inference_mode`, `torch.utils.checkpoint`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchkit import autograd, func

Call = Callable[..., Any]


# What PyTorch's `checkpoint` takes for itself, and changes nothing here.
CHOICES = ("use_reentrant", "preserve_rng_state", "determinism_check", "debug", "context_fn", "early_stop")


def checkpoint(function: Call, *args: Any, **kwargs: Any) -> Any:
    """Call a function, and compute what its backward pass needs anew rather than keeping it."""
    given = {name: value for name, value in kwargs.items() if name not in CHOICES}
    return func.checkpoint(function)(*args, **given)


def inference_mode(mode: Any = True) -> Any:
    """Return a context, or a decorator, in which nothing is recorded."""
    if callable(mode):
        return autograd.no_grad(mode)
    return autograd.set_grad_enabled(not mode and autograd.is_grad_enabled())

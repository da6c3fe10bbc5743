"""Modes of PyTorch's autograd: `inference_mode`, and whether backward passes may use several threads."""

from __future__ import annotations

from typing import Any

from dispatchkit.graph.recording import grad_mode
from dispatchkit.protocol.blocks import Block, ContextState, Innermost, Setting, innermost_state

__all__ = [
    "inference_mode",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "set_multithreading_enabled",
]

_multithreading: ContextState[Innermost[bool]] = innermost_state("multithreading of backward passes", True)


class inference_mode(Block):  # noqa: N801  # PyTorch's name
    """Record no graph inside a `with` block, or inside a decorated function.

    Parameters
    ----------
    mode : whether it does that; with False a graph is recorded inside, whatever is around it. Or a function to decorate

    Notes
    -----
    Tensors that are made inside are as all others: PyTorch refuses to have them saved for a backward pass or changed
    in place outside.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.inference_mode():
    ...     torch.is_inference_mode_enabled(), (x * 2).requires_grad
    (True, False)
    >>> torch.inference_mode(torch.exp)(x).requires_grad
    False
    """

    def __new__(cls, mode: Any = True) -> Any:
        """Return the block, or the decorated function."""
        if callable(mode):
            return cls()(mode)
        return super().__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        super().__init__(grad_mode, not mode, "inference_mode")


def is_inference_mode_enabled() -> bool:
    """Return whether the innermost `inference_mode` that is entered records no graph.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> with torch.inference_mode(), torch.inference_mode(False):
    ...     torch.is_inference_mode_enabled()
    False
    """
    modes = [records for block, records in grad_mode.entered_blocks() if isinstance(block, inference_mode)]
    return bool(modes and not modes[-1])


class set_multithreading_enabled(Setting):  # noqa: N801  # PyTorch's name
    """Say whether backward passes may use several threads; `with` and a decorated function take it back on leaving.

    Parameters
    ----------
    mode : whether they may, which `is_multithreading_enabled` returns; each pass uses the thread that calls it

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> with torch.autograd.set_multithreading_enabled(False):
    ...     torch.autograd.is_multithreading_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(_multithreading, bool(mode))


def is_multithreading_enabled() -> bool:
    """Return what `set_multithreading_enabled` said last, True at first.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.autograd.is_multithreading_enabled()
    True
    """
    return _multithreading.get().value

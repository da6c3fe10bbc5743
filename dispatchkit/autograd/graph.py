"""What can be done to the graph as it is recorded: hooks for the tensors that nodes save."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchkit.autograd.saving import Packing
from dispatchkit.errors import AutogradError
from dispatchkit.graph.node import Node
from dispatchkit.protocol.blocks import Block, ContextState, Innermost, innermost_state
from dispatchkit.protocol.observers import active_observer, watch_state
from dispatchkit.tensor import Tensor

__all__ = ["Node", "disable_saved_tensors_hooks", "saved_tensors_hooks"]

_refusal: ContextState[Innermost[str | None]] = innermost_state("saved tensors hooks", None)


class saved_tensors_hooks(Block):  # noqa: N801  # PyTorch's name
    """Set how tensors saved for the backward pass are kept, inside a `with` block.

    Parameters
    ----------
    pack_hook : called with each value as it is saved; what it returns is kept instead
    unpack_hook : called with that when the backward pass needs the value; returns it, of the same shape and dtype

    Raises
    ------
    AutogradError : on entering inside `disable_saved_tensors_hooks`; from the forward, if `pack_hook` changes its
        argument in place; from the backward, if `unpack_hook` gives another shape or dtype
    TypeError : from the backward, if `unpack_hook` gives no tensor

    Notes
    -----
    Values are the arguments and results that derivative rules read, arrays of indices included; one that two nodes
    save is packed for each. Hooks compute outside the graph, and what they compute is not packed itself. Of nested
    blocks the innermost counts. Values that are not kept cannot be watched for changes in place. Source: PyTorch,
    `torch.autograd.graph.saved_tensors_hooks`.

    Examples
    --------
    Keep values in single precision:

    >>> import dispatchkit as dk
    >>> def pack(x):
    ...     return x.dtype, x.astype(dk.float32) if x.is_floating_point() else x
    >>> def unpack(kept):
    ...     dtype, x = kept
    ...     return x.astype(dtype)
    >>> x = dk.tensor([1.0, 1 / 3], requires_grad=True)
    >>> with dk.autograd.graph.saved_tensors_hooks(pack, unpack):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2.0000, 0.6667])
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        super().__init__(watch_state, Packing(pack_hook, unpack_hook))

    def __enter__(self) -> None:
        refusal = _refusal.get().value
        if refusal is not None:
            raise AutogradError(refusal)
        super().__enter__()


class disable_saved_tensors_hooks(Block):  # noqa: N801  # PyTorch's name
    """Have `saved_tensors_hooks` raise inside a `with` block.

    Parameters
    ----------
    error_message : of the error

    Raises
    ------
    AutogradError : with that message, also on entering where hooks are in use

    Examples
    --------
    >>> import dispatchkit as dk
    >>> with dk.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
    ...     with dk.autograd.graph.saved_tensors_hooks(dk.clone, dk.clone):
    ...         pass
    Traceback (most recent call last):
        ...
    dispatchkit.errors.AutogradError: no hooks here
    """

    def __init__(self, error_message: str) -> None:
        super().__init__(_refusal, error_message)

    def __enter__(self) -> None:
        if active_observer(Packing) is not None:
            raise AutogradError(self._value)
        super().__enter__()

"""Tensors of PyTorch as tensors of dispatchkit and back, in the same memory and in both graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from dispatchkit.backends.arrays import raw_array
from dispatchkit.declare.wrapping import wrapped
from dispatchkit.errors import RegistrationError
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage
from dispatchkit.interop.dense import dense_tensor
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.tensor import twin
from dispatchkit.tree import with_attributes, with_members
from dispatchkit.wording import class_name

__all__ = ["from_torch", "mapped", "opened", "raw_torch", "to_torch"]

Change = Callable[[Any], Any]


def from_torch(t: torch.Tensor) -> Tensor:
    """Return a tensor that holds a tensor of PyTorch: the same memory, and the same place in PyTorch's graph.

    Where `t` requires a gradient, PyTorch records what is computed, and dispatchkit does not: `to_torch` of the result
    is differentiated by PyTorch, any number of times. `as_torch_function` uses dispatchkit's own derivatives instead.

    Parameters
    ----------
    t : tensor of PyTorch

    Raises
    ------
    TypeError : for anything else

    Examples
    --------
    >>> import torch
    >>> from dispatchkit.interop.torch import from_torch, to_torch
    >>> t = torch.ones(2, requires_grad=True)
    >>> to_torch((from_torch(t) * 3).sum())
    tensor(6., grad_fn=<SumBackward0>)
    """
    if not isinstance(t, torch.Tensor):
        raise TypeError(f"from_torch takes a torch.Tensor, found {class_name(type(t))}")
    found: Tensor = wrapped(Tensor, raw_array(t))
    return found


def to_torch(x: Any) -> torch.Tensor:
    """Return a tensor, or the dense form of an array type, as a tensor of PyTorch in the same memory.

    Where `x` is part of dispatchkit's graph, the result requires a gradient, and PyTorch's backward pass goes on in
    dispatchkit's, up to the ``.grad`` of its leaves.

    Parameters
    ----------
    x : tensor, array type, or what `dispatchkit.asarray` takes

    Raises
    ------
    DensifyError : where the budget of `densify` forbids the dense form

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.interop.torch import to_torch
    >>> w = dk.tensor([1.0, 2.0], requires_grad=True)
    >>> to_torch(w * w).sum().backward()
    >>> w.grad
    tensor([2., 4.])
    """
    if isinstance(x, torch.Tensor):
        return x
    tensor = dense_tensor("to_torch", x)
    array = raw_torch(tensor)
    if tensor._node is None or not is_grad_enabled():
        return array
    found: torch.Tensor = _IntoDispatchkit.apply(tensor, array, torch.empty(0, requires_grad=True))
    return found


def raw_torch(tensor: Tensor) -> torch.Tensor:
    """Return the array of a tensor as PyTorch's, sharing memory where it is NumPy's or another library's."""
    array: Any = tensor.array
    if isinstance(array, torch.Tensor):
        return array
    if isinstance(array, np.ndarray):
        # PyTorch cannot say that memory is read-only, and has no negative strides.
        fits = array.flags.writeable and all(stride >= 0 for stride in array.strides)
        return torch.from_numpy(array if fits else array.copy())
    found: torch.Tensor = torch.from_dlpack(array)
    return found


def like(tensor: Tensor, t: torch.Tensor) -> Any:
    """Return a tensor of PyTorch as an array of the library that another tensor's is of."""
    return t.detach().numpy() if isinstance(tensor.array, np.ndarray) else t


class _IntoDispatchkit(torch.autograd.Function):  # type: ignore[misc]  # `Any` where PyTorch is not installed
    """Hands the gradient of a tensor that dispatchkit computed on to dispatchkit's backward pass."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, array: torch.Tensor, anchor: torch.Tensor) -> torch.Tensor:
        ctx.tensor = tensor
        # A new tensor in the same memory: PyTorch takes what is given back as it came for no result.
        return array.view_as(array)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> tuple[None, torch.Tensor, None]:
        cotangent = wrapped(Tensor, raw_array(like(ctx.tensor, g)))
        # PyTorch does not say whether its graph is used again.
        ctx.tensor.backward(cotangent, retain_graph=True)
        return None, g, None


def mapped(change: Change, value: Any, *also: type) -> Any:
    """Return containers with `change` made to each tensor of either library, each array type and what is of `also`."""
    if isinstance(value, (torch.Tensor, *also)) or tensor_protocol.types.participates(type(value)):
        return change(value)
    if isinstance(value, (list, tuple)):
        return with_members(value, [mapped(change, member, *also) for member in value])
    if isinstance(value, Mapping):
        return {key: mapped(change, member, *also) for key, member in value.items()}
    return value


def opened(value: Any) -> Any:
    """Return a tensor or array type whose arrays are PyTorch's, sharing memory; PyTorch records what follows."""
    if isinstance(value, torch.Tensor):
        return from_torch(value)
    if isinstance(value, Tensor):
        if isinstance(value.array, torch.Tensor) and value._node is None:
            return value
        made = twin(value)
        made.array = raw_array(to_torch(value))
        return made
    if isinstance(value, Storage):
        return value
    made = value
    try:
        names = tensor_protocol.types.fields_of(value)
    except RegistrationError:
        return value
    for name in names:
        held = getattr(value, name)
        new = mapped(opened, held)
        if isinstance(held, np.ndarray):
            new = torch.from_numpy(held)
        if new is not held:
            made = with_attributes(made, [(name, new)])
    return made

"""Array types as weights of PyTorch's modules: their fields are parameters, which optimisers train and files keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from dispatchkit.backends.arrays import is_inexact
from dispatchkit.interop.torch.tensors import from_torch, mapped, raw_torch
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.tree import with_attributes

__all__ = ["FieldParameters", "set_weight"]


class FieldParameters(torch.nn.Module):  # type: ignore[misc]  # `Any` where PyTorch is not installed
    """A module that holds the fields of an array type as parameters, and stands for the array in PyTorch's functions.

    Floating-point tensors in the fields become parameters of the names of the fields; those in fields declared with
    ``field(grad=False)``, and integers, become buffers. Everything else stays as it is. `state_dict`, `to`,
    optimisers, `copy.deepcopy` and `torch.save` find them as in any module. Calling the module gives the array.

    Parameters
    ----------
    value : instance of a declared array type; tensors share memory with the parameters where PyTorch can

    Raises
    ------
    TypeError : for what is no instance of a declared array type with a tensor in its fields

    Examples
    --------
    >>> import torch
    >>> import dispatchkit as dk
    >>> from dispatchkit.interop.torch import FieldParameters
    >>> weight = FieldParameters(dk.types.ScalarTensor(3, dk.asarray(2.0)))
    >>> torch.nn.functional.linear(torch.ones(3, dtype=torch.float64), weight)
    tensor([2., 2., 2.], dtype=torch.float64, grad_fn=<...>)
    >>> [name for name, _ in weight.named_parameters()]
    ['value']
    """

    def __init__(self, value: Any) -> None:
        super().__init__()
        types = tensor_protocol.types
        declared = types.participates(type(value)) and not isinstance(value, Tensor)
        fields = types.fields_of(value) if declared else ()
        held = {name: one for name in fields if isinstance(one := getattr(value, name), Tensor)}
        if not held:
            raise TypeError(
                f"FieldParameters takes an instance of a declared array type with tensors in its fields, found "
                f"{type(value).__name__}"
            )
        constants = types.constants_of(type(value))
        template = value
        for name, one in held.items():
            t = raw_torch(one.detach())
            if is_inexact(one.dtype) and name not in constants:
                self.register_parameter(name, torch.nn.Parameter(t))
            else:
                self.register_buffer(name, t)
            template = with_attributes(template, [(name, None)])
        self._fields, self._template = tuple(held), template

    def forward(self) -> Any:
        """Return the array, whose tensors are the parameters."""
        made = self._template
        for name in self._fields:
            made = with_attributes(made, [(name, from_torch(getattr(self, name)))])
        return made

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("_"):
                raise
        return getattr(self(), name)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Call a function of PyTorch on the array in place of the module."""
        args, kwargs = mapped(_array_of, (args, dict(kwargs or {})), cls)
        return func(*args, **kwargs)


def _array_of(value: Any) -> Any:
    return value() if isinstance(value, FieldParameters) else value


def set_weight(module: torch.nn.Module, name: str, value: Any) -> FieldParameters:
    """Put an array type in the place of a parameter of a module, such as the weight of `torch.nn.Linear`.

    Parameters
    ----------
    module, name : the module, and its parameter
    value : instance of a declared array type, of the shape of the parameter

    Returns
    -------
    `FieldParameters`, which now stands under the name

    Raises
    ------
    AttributeError : if the module has no parameter of that name
    ValueError : if the shapes differ
    TypeError : if the value is of no declared array type, or has no tensor in its fields

    Examples
    --------
    >>> import torch
    >>> import dispatchkit as dk
    >>> from dispatchkit.interop.torch import set_weight
    >>> layer = torch.nn.Linear(3, 3, dtype=torch.float64)
    >>> weight = set_weight(layer, "weight", dk.types.ScalarTensor(3, dk.asarray(2.0)))
    >>> sorted(layer.state_dict())
    ['bias', 'weight.value']
    """
    old = module._parameters.get(name)
    if old is None:
        raise AttributeError(f"set_weight: {type(module).__name__} has no parameter {name!r}")
    made = FieldParameters(value)
    if tuple(value.shape) != tuple(old.shape):
        raise ValueError(
            f"set_weight: {name!r} has shape {tuple(old.shape)}, the {type(value).__name__} {tuple(value.shape)}"
        )
    delattr(module, name)
    module.add_module(name, made)
    return made

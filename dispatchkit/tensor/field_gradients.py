"""Gradients of array types: those of the tensors in their fields, gathered in an instance of the same type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.variables import is_floating, variables_in, variables_of
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tree import map_leaves
from dispatchkit.wording import class_name

__all__: list[str] = []


class ByFields:
    """An attribute that is computed from the fields; a type that has a field or attribute of its name keeps that."""

    def __init__(self, name: str, get: Callable[[Any], Any], change: Callable[[Any, Any], Any]) -> None:
        self.name, self.get, self.change = name, get, change
        self.__doc__ = get.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        own = getattr(instance, "__dict__", {})
        return own[self.name] if self.name in own else self.get(instance)

    def __set__(self, instance: Any, value: Any) -> None:
        if self.name in tensor_protocol.types.field_names(type(instance)):
            instance.__dict__[self.name] = value
        else:
            self.change(instance, value)


def _tensors(name: str, x: Any) -> list[Any]:
    """Return the floating-point tensors in the fields of an instance.

    Raises
    ------
    TypeError : if there are none
    """
    found = [leaf for leaf in variables_in(x) if isinstance(leaf, Storage)]
    if not found:
        fields = ", ".join(tensor_protocol.types.fields_of(x)) or "none"
        raise TypeError(
            f"{name}: {class_name(type(x))} holds no tensors of floating-point numbers in its fields ({fields}); "
            f"nn.Parameter makes some of arrays and numbers"
        )
    return found


def gradient(self: Any) -> Any:
    """Return the gradient that backward passes have accumulated, an array of the same type; None before the first.

    Its fields are the gradients of the fields, zeros where none came; fields that are not differentiated are as here.
    """
    if all(getattr(leaf, "grad", None) is None for leaf in variables_in(self)):
        return None

    def part(leaf: Any) -> Any:
        if not is_floating(leaf):
            return leaf
        found = getattr(leaf, "grad", None)
        return tensor_namespace.zeros_like(tensor_namespace.asarray(leaf).detach()) if found is None else found

    return map_leaves(variables_of, part, self)


def set_gradient(self: Any, value: Any) -> None:
    """Give the tensors in the fields the gradients that the fields of an array of the type are, or None."""
    if value is None:
        for leaf in variables_in(self):
            if isinstance(leaf, Storage):
                leaf.grad = None  # type: ignore[attr-defined]  # of tensors
        return
    if type(value) is not type(self):
        raise TypeError(f"grad: expected a {class_name(type(self))} or None, found {class_name(type(value))}")
    for leaf, part in zip(_tensors("grad", self), _tensors("grad", value), strict=True):
        leaf.grad = part


def requires_gradient(self: Any) -> bool:
    """Return whether gradients flow to one of the tensors in the fields."""
    return any(getattr(leaf, "requires_grad", False) for leaf in variables_in(self))


def set_requires_gradient(self: Any, requires_grad: bool = True) -> Any:
    """Say whether gradients are to be collected in the tensors in the fields that are differentiated.

    Parameters
    ----------
    requires_grad : whether they are

    Returns
    -------
    Any
        The instance itself.

    Raises
    ------
    AutogradError : if one is no leaf
    TypeError : if there are none
    """
    for leaf in _tensors("requires_grad_", self):
        leaf.requires_grad_(requires_grad)
    return self


tensor_protocol.surface.add_attribute("grad", ByFields("grad", gradient, set_gradient))
tensor_protocol.surface.add_attribute(
    "requires_grad", ByFields("requires_grad", requires_gradient, set_requires_gradient)
)
tensor_protocol.surface.add_attribute("requires_grad_", set_requires_gradient)

"""In-place operators and methods of tensors, made from the operations they are named after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dispatchkit.declare.inplace import apply_in_place, make_inplace
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.members import REFLECTED

__all__ = ["with_inplace"]

T = TypeVar("T", bound=type)


def with_inplace(cls: T) -> T:
    """Give a class the in-place form of every elementwise method and operator it has, and the fillers."""
    for member in list(tensor_protocol.surface):
        operation = member.operation
        if not isinstance(operation, DeclaredOperation):
            continue
        if member.name in REFLECTED:
            name = f"__i{member.name[2:]}"
            setattr(cls, name, make_inplace(operation, cls, as_operator=True))
        elif operation.kind.family is kinds.elementwise and not member.name.startswith("__"):
            method = (
                make_inplace(operation, cls, as_operator=False)
                if operation.parameters.binary
                else _inplace_method(operation)
            )
            method.__name__ = method.__qualname__ = f"{member.name}_"
            setattr(cls, f"{member.name}_", method)
    for filler in (zero_, fill_, copy_, uniform_, normal_):
        setattr(cls, filler.__name__, filler)
    return cls


def _inplace_method(operation: DeclaredOperation) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return apply_in_place(operation, self, args, kwargs)

    method.__doc__ = f"{operation.name}, written back into the tensor."
    return method


def zero_(self: Any) -> Any:
    """Set every element to zero."""
    return fill_(self, 0)


def fill_(self: Any, value: Any) -> Any:
    """Set every element to a value."""
    self[...] = value
    return self


def copy_(self: Any, source: Any) -> Any:
    """Set the elements to those of another array, which broadcasts to this shape."""
    self[...] = source
    return self


def uniform_(self: Any, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Any:
    """Set the elements to random numbers, uniform between two bounds."""
    self[...] = tensor_namespace.random.uniform(low, high, shape=self.shape, device=self.device, generator=generator)
    return self


def normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
    """Set the elements to random numbers of a normal distribution."""
    self[...] = tensor_namespace.random.normal(mean, std, shape=self.shape, device=self.device, generator=generator)
    return self

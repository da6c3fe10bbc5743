"""In-place operators and methods of tensors, made from the operations they are named after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dispatchkit.declare.docs import join_sections
from dispatchkit.declare.inplace import apply_in_place, make_inplace
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.members import REFLECTED, method_docstring, method_signature

__all__ = ["with_inplace"]

T = TypeVar("T", bound=type)
# Of the docstrings of operators and methods; their summary and parameters are made of the operation.
SECTIONS = {
    "Returns": "Tensor\n    The tensor itself.",
    "Raises": (
        "AutogradError\n    For a leaf that requires a gradient, while a graph is recorded.\n"
        "TypeError\n    If the dtype cannot hold the result.\n"
        "ValueError\n    If the result has another shape, or the tensor's memory is read-only."
    ),
}


def with_inplace(cls: T) -> T:
    """Give a class the in-place form of every elementwise method and operator it has, and the fillers."""
    for member in list(tensor_protocol.surface):
        operation = member.operation
        if not isinstance(operation, DeclaredOperation):
            continue
        if member.name in REFLECTED:
            method = make_inplace(operation, cls, as_operator=True)
            method.__doc__ = _docstring(operation)
            setattr(cls, f"__i{member.name[2:]}", method)
        elif operation.kind.family is kinds.elementwise and not member.name.startswith("__"):
            method = (
                make_inplace(operation, cls, as_operator=False)
                if operation.parameters.binary
                else _inplace_method(operation)
            )
            method.__name__ = method.__qualname__ = f"{member.name}_"
            method.__doc__ = _docstring(operation)
            setattr(cls, f"{member.name}_", method)
    for filler in (zero_, fill_, copy_, uniform_, normal_):
        setattr(cls, filler.__name__, filler)
    return cls


def _inplace_method(operation: DeclaredOperation) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return apply_in_place(operation, self, args, kwargs)

    method.__signature__ = method_signature(operation)  # type: ignore[attr-defined]
    return method


def _docstring(operation: DeclaredOperation) -> str:
    parameters = f"other : Array or number\n    The second operand of `{operation.name}`."
    if not operation.parameters.binary:
        text = method_docstring(operation.function) or ""
        parameters = text.partition("\n\nParameters\n----------\n")[2].partition("\n\n")[0]
    summary = f"Write the result of `{operation.name}` into the tensor."
    return join_sections(summary, {"Parameters": parameters} | SECTIONS)


def zero_(self: Any) -> Any:
    """Set every element to zero.

    Returns
    -------
    Tensor
        The tensor itself.
    """
    return fill_(self, 0)


def fill_(self: Any, value: Any) -> Any:
    """Set every element to a value.

    Parameters
    ----------
    value : a number, which the dtype can hold

    Returns
    -------
    Tensor
        The tensor itself.
    """
    self[...] = value
    return self


def copy_(self: Any, source: Any) -> Any:
    """Set the elements to those of another array, which broadcasts to this shape.

    Parameters
    ----------
    source : an array whose numbers the dtype can hold

    Returns
    -------
    Tensor
        The tensor itself.
    """
    self[...] = source
    return self


def uniform_(self: Any, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Any:
    """Set the elements to random numbers, uniform between two bounds.

    Parameters
    ----------
    low, high : the bounds; `low` can be drawn, `high` cannot
    generator : to draw from, the default one if None

    Returns
    -------
    Tensor
        The tensor itself.
    """
    self[...] = tensor_namespace.random.uniform(low, high, shape=self.shape, device=self.device, generator=generator)
    return self


def normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
    """Set the elements to random numbers of a normal distribution.

    Parameters
    ----------
    mean, std : mean and standard deviation of the distribution
    generator : to draw from, the default one if None

    Returns
    -------
    Tensor
        The tensor itself.
    """
    self[...] = tensor_namespace.random.normal(mean, std, shape=self.shape, device=self.device, generator=generator)
    return self

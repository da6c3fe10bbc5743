"""Lengths of axes as PyTorch has them, `torch.Size`."""

from __future__ import annotations

import math
from typing import Any

from dispatchkit.marks import override


class Shape(tuple[int, ...]):
    """Lengths of axes: a tuple that knows how many elements an array of them has.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.Size([2, 3]).numel(), torch.ones(4, 2, 3).shape[1:].numel()
    (6, 6)
    """

    __slots__ = ()

    def numel(self) -> int:
        """Return the number of elements."""
        return math.prod(self)

    @override
    def __getitem__(self, key: Any) -> Any:
        """Return a length, or lengths."""
        value = tuple.__getitem__(self, key)
        if isinstance(key, slice):
            return Shape(value)
        return value

    @override
    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    @override
    def __add__(self, other: Any) -> Any:
        """Return the lengths with others behind them."""
        return Shape(tuple.__add__(self, tuple(other)))

    @override
    def __reduce__(self) -> Any:
        return tuple, (tuple(self),)


def lengths_in(data: tuple[Any, ...]) -> tuple[int, ...] | None:
    """Return the lengths of axes that a class of tensors is called with, None where it is called with elements.

    Parameters
    ----------
    data : the arguments: lengths one by one, or the `torch.Size` of a tensor; none are those of an empty tensor

    Raises
    ------
    TypeError : for one number that is no length
    """
    if len(data) == 1 and isinstance(data[0], (bool, float, complex)):
        raise TypeError(f"new(): data must be a sequence (got {type(data[0]).__name__})")
    if len(data) == 1 and isinstance(data[0], Shape):
        return tuple(data[0])
    if all(isinstance(length, int) for length in data):
        return data or (0,)
    return None


def along_axis(name: str, values: tuple[int, ...], dim: int | None) -> Any:
    """Return what a method says of one axis, or of all of them.

    Parameters
    ----------
    name : of the method
    values : of the axes, in order
    dim : the axis; None for all of them

    Raises
    ------
    TypeError : for an axis that is a boolean
    """
    if dim is None:
        return values
    if isinstance(dim, bool):
        raise TypeError(f"{name}(): argument 'dim' must be int, not bool")
    return values[dim]


class Size(int):
    """The number of elements, as the array API has it, which PyTorch's spelling calls for the lengths of the axes."""

    __module__ = "dispatchkit.as_torch"
    shape: tuple[int, ...]

    def __call__(self, dim: int | None = None) -> Any:
        return along_axis("size", self.shape, dim)

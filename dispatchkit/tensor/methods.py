"""The surface of array types: operators, methods and properties, each a view of an operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dispatchkit import linalg, ops, random
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor.conversion import length, numpy_array

T = TypeVar("T", bound=type)

# What has methods is declared before the surface is taken.
CHAPTERS = (ops, linalg, random)


def with_surface(cls: T) -> T:
    """Give a class every operator, method and property, now and when further operations are declared."""
    tensor_protocol.surface.install(cls)
    return cls


tensor_protocol.surface.add_attribute("__array__", numpy_array)
tensor_protocol.surface.add_attribute("__len__", length)


__all__ = ["ArrayMethods", "TensorMethods"]

if TYPE_CHECKING:
    # Written from the table, since type checkers do not see what a class gets while the program runs.
    from dispatchkit.tensor.surface import ArrayMethods, TensorMethods
else:

    @with_surface
    class ArrayMethods:
        """Mixin with every operator, method and property that calls an operation.

        `array_type` adds the same members to the classes that it decorates. Derive from the mixin to let editors and
        type checkers see them.

        Examples
        --------
        >>> import dispatchkit as dk
        >>> @dk.array_type(fallback=dk.fallback.dense)
        ... class Diagonal(dk.ArrayMethods):
        ...     def __init__(self, d):
        ...         self.d = dk.asarray(d)
        ...
        ...     def to_dense(self):
        ...         return dk.diag(self.d)
        >>> with dk.densify(on="allow"):
        ...     Diagonal([1.0, 2.0]).sum()
        tensor(3.)
        """

        __slots__ = ()
        __hash__ = object.__hash__

    TensorMethods = ArrayMethods

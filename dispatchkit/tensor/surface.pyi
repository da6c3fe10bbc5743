"""The operators, methods and properties of arrays, for type checkers and editors.

Written by ``python -m tests.typing.surface_stub`` from the table of the surface; do not edit.
"""

import numpy as np
from collections.abc import Sequence
from dispatchkit.declare.typing import DType, Index, Shape
from dispatchkit.ops.linalg.decompositions import EigResult, EighResult, QRResult
from dispatchkit.ops.linalg.linalg import SlogdetResult
from dispatchkit.ops.linalg.norms import MatrixOrder, SVDResult
from dispatchkit.ops.searching.searching import TopKResult
from dispatchkit.ops.shared import Axis
from dispatchkit.ops.statistics.quantiles import QuantileMethod
from dispatchkit.tensor.tensor import Tensor
from typing import Any, Generic, Literal, Self, TypeAlias, overload
from typing_extensions import TypeVar

__all__ = ["ArrayMethods", "TensorMethods"]

# What an operation gives: a Tensor on tensors; on other array types their handlers decide.
R = TypeVar("R", default=Any)
# What goes with a tensor and gives one.
Operand: TypeAlias = Tensor | complex | np.ndarray[Any, Any] | np.generic

class ArrayMethods(Generic[R]):
    """Mixin with every operator, method and property that calls an operation."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def __array_namespace__(self, *, api_version: str | None = None) -> Any: ...
    def __arrow_array__(self, type: Any = None) -> Any: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...
    def __bool__(self) -> bool: ...
    def __complex__(self) -> complex: ...
    def __float__(self) -> float: ...
    def __index__(self) -> int: ...
    def __int__(self) -> int: ...
    def __iter__(self) -> Any: ...
    def __len__(self) -> int: ...
    def __divmod__(self, other: Any) -> tuple[R, R]: ...
    def __rdivmod__(self, other: Any) -> tuple[R, R]: ...
    def __round__(self, ndigits: int | None = None) -> R: ...
    def __trunc__(self) -> int: ...
    @property
    def grad(self) -> Any: ...
    @grad.setter
    def grad(self, value: Any) -> None: ...
    @property
    def requires_grad(self) -> bool: ...
    @requires_grad.setter
    def requires_grad(self, value: bool) -> None: ...
    def requires_grad_(self, requires_grad: bool = True) -> Self: ...
    def detach(self) -> Any: ...
    def item(self) -> Any: ...
    def to(self, *args: Any, **kwargs: Any) -> Any: ...
    def matvec(self, x: Any) -> Any: ...
    def rmatvec(self, x: Any) -> Any: ...
    def __hash__(self) -> int: ...
    def astype(self, dtype: DType, /, copy: bool = True, device: Any = None) -> R:
        """Convert an array to a dtype.

        >>> import dispatchkit as dk
        >>> dk.astype(dk.tensor([1.7, -1.7]), dk.int64)
        tensor([ 1, -1])
        """
    def clone(self, /) -> R:
        """Copy an array; gradients flow through.

        >>> import dispatchkit as dk
        >>> dk.clone(dk.ones(2))
        tensor([1., 1.])
        """
    def copy(self, /) -> R:
        """Copy an array; gradients flow through.

        >>> import dispatchkit as dk
        >>> dk.clone(dk.ones(2))
        tensor([1., 1.])
        """
    @overload
    def __add__(self, other: Operand, /) -> R: ...
    @overload
    def __add__(self, other: object, /) -> Any: ...
    @overload
    def __radd__(self, other: Operand, /) -> R: ...
    @overload
    def __radd__(self, other: object, /) -> Any: ...
    @overload
    def add(self, other: Operand, /) -> R:
        """Add two arrays: ``x1 + x2``.

        >>> import dispatchkit as dk
        >>> dk.add(dk.asarray([1.0, 2.0]), dk.asarray([3.0, 4.0]))
        tensor([4., 6.])
        """
    @overload
    def add(self, other: object, /) -> Any: ...
    @overload
    def __sub__(self, other: Operand, /) -> R: ...
    @overload
    def __sub__(self, other: object, /) -> Any: ...
    @overload
    def __rsub__(self, other: Operand, /) -> R: ...
    @overload
    def __rsub__(self, other: object, /) -> Any: ...
    @overload
    def subtract(self, other: Operand, /) -> R:
        """Subtract one array from another: ``x1 - x2``.

        >>> import dispatchkit as dk
        >>> dk.subtract(dk.asarray([1.0, 2.0]), dk.asarray([3.0, 1.0]))
        tensor([-2.,  1.])
        """
    @overload
    def subtract(self, other: object, /) -> Any: ...
    @overload
    def __mul__(self, other: Operand, /) -> R: ...
    @overload
    def __mul__(self, other: object, /) -> Any: ...
    @overload
    def __rmul__(self, other: Operand, /) -> R: ...
    @overload
    def __rmul__(self, other: object, /) -> Any: ...
    @overload
    def multiply(self, other: Operand, /) -> R:
        """Multiply two arrays element by element: ``x1 * x2``.

        >>> import dispatchkit as dk
        >>> dk.multiply(dk.asarray([1.0, 2.0]), 3)
        tensor([3., 6.])
        """
    @overload
    def multiply(self, other: object, /) -> Any: ...
    @overload
    def __truediv__(self, other: Operand, /) -> R: ...
    @overload
    def __truediv__(self, other: object, /) -> Any: ...
    @overload
    def __rtruediv__(self, other: Operand, /) -> R: ...
    @overload
    def __rtruediv__(self, other: object, /) -> Any: ...
    @overload
    def divide(self, other: Operand, /) -> R:
        """Divide one array by another: ``x1 / x2``.

        >>> import dispatchkit as dk
        >>> dk.divide(dk.asarray([2, 4]), 2)
        tensor([1., 2.])
        """
    @overload
    def divide(self, other: object, /) -> Any: ...
    @overload
    def __floordiv__(self, other: Operand, /) -> R: ...
    @overload
    def __floordiv__(self, other: object, /) -> Any: ...
    @overload
    def __rfloordiv__(self, other: Operand, /) -> R: ...
    @overload
    def __rfloordiv__(self, other: object, /) -> Any: ...
    @overload
    def floor_divide(self, other: Operand, /) -> R:
        """Divide and round down: ``x1 // x2``.

        >>> import dispatchkit as dk
        >>> dk.floor_divide(dk.asarray([7, -7]), 2)
        tensor([ 3, -4])
        """
    @overload
    def floor_divide(self, other: object, /) -> Any: ...
    @overload
    def __mod__(self, other: Operand, /) -> R: ...
    @overload
    def __mod__(self, other: object, /) -> Any: ...
    @overload
    def __rmod__(self, other: Operand, /) -> R: ...
    @overload
    def __rmod__(self, other: object, /) -> Any: ...
    @overload
    def remainder(self, other: Operand, /) -> R:
        """Return what division leaves, with the sign of the divisor: ``x1 % x2``.

        >>> import dispatchkit as dk
        >>> dk.remainder(dk.asarray([7, -7]), 4)
        tensor([3, 1])
        """
    @overload
    def remainder(self, other: object, /) -> Any: ...
    def __neg__(self, /) -> R: ...
    def negative(self, /) -> R:
        """Change the sign of each element: ``-x``.

        >>> import dispatchkit as dk
        >>> dk.negative(dk.asarray([1.0, -2.0]))
        tensor([-1.,  2.])
        """
    def __pos__(self, /) -> R: ...
    def positive(self, /) -> R:
        """Return a copy of each element: ``+x``.

        >>> import dispatchkit as dk
        >>> dk.positive(dk.asarray([1.0, -2.0]))
        tensor([ 1., -2.])
        """
    @overload
    def sub(self, other: Operand, /) -> R:
        """Subtract one array from another: ``x1 - x2``.

        >>> import dispatchkit as dk
        >>> dk.subtract(dk.asarray([1.0, 2.0]), dk.asarray([3.0, 1.0]))
        tensor([-2.,  1.])
        """
    @overload
    def sub(self, other: object, /) -> Any: ...
    @overload
    def mul(self, other: Operand, /) -> R:
        """Multiply two arrays element by element: ``x1 * x2``.

        >>> import dispatchkit as dk
        >>> dk.multiply(dk.asarray([1.0, 2.0]), 3)
        tensor([3., 6.])
        """
    @overload
    def mul(self, other: object, /) -> Any: ...
    @overload
    def div(self, other: Operand, /) -> R:
        """Divide one array by another: ``x1 / x2``.

        >>> import dispatchkit as dk
        >>> dk.divide(dk.asarray([2, 4]), 2)
        tensor([1., 2.])
        """
    @overload
    def div(self, other: object, /) -> Any: ...
    @overload
    def true_divide(self, other: Operand, /) -> R:
        """Divide one array by another: ``x1 / x2``.

        >>> import dispatchkit as dk
        >>> dk.divide(dk.asarray([2, 4]), 2)
        tensor([1., 2.])
        """
    @overload
    def true_divide(self, other: object, /) -> Any: ...
    @overload
    def mod(self, other: Operand, /) -> R:
        """Return what division leaves, with the sign of the divisor: ``x1 % x2``.

        >>> import dispatchkit as dk
        >>> dk.remainder(dk.asarray([7, -7]), 4)
        tensor([3, 1])
        """
    @overload
    def mod(self, other: object, /) -> Any: ...
    def neg(self, /) -> R:
        """Change the sign of each element: ``-x``.

        >>> import dispatchkit as dk
        >>> dk.negative(dk.asarray([1.0, -2.0]))
        tensor([-1.,  2.])
        """
    def __abs__(self, /) -> R: ...
    def abs(self, /) -> R:
        """Return the magnitude of each element.

        >>> import dispatchkit as dk
        >>> dk.abs(dk.asarray([-1.0, 2.0]))
        tensor([1., 2.])
        """
    def sign(self, /) -> R:
        """Return -1, 0 or 1 for each real element, ``x / abs(x)`` or 0 for each complex one.

        >>> import dispatchkit as dk
        >>> dk.sign(dk.asarray([-3.0, 0.0, 2.0]))
        tensor([-1.,  0.,  1.])
        """
    def signbit(self, /) -> R:
        """Return whether the sign bit of each element is set: below zero, for ``-0.0``, and for some NaNs.

        >>> import dispatchkit as dk
        >>> dk.signbit(dk.asarray([-1.0, -0.0, 0.0]))
        tensor([ True,  True, False])
        """
    @overload
    def copysign(self, other: Operand, /) -> R:
        """Give the elements of one array the signs of those of another.

        >>> import dispatchkit as dk
        >>> dk.copysign(dk.asarray([1.0, -2.0]), -1.0)
        tensor([-1., -2.])
        """
    @overload
    def copysign(self, other: object, /) -> Any: ...
    @overload
    def nextafter(self, other: Operand, /) -> R:
        """Return the next floating-point number on the way from each element to another.

        >>> import dispatchkit as dk
        >>> dk.nextafter(dk.asarray([1.0]), 2.0) - 1.0 < 1e-15
        tensor([ True])
        """
    @overload
    def nextafter(self, other: object, /) -> Any: ...
    def floor(self, /) -> R:
        """Round each element down.

        >>> import dispatchkit as dk
        >>> dk.floor(dk.asarray([-1.5, 1.5]))
        tensor([-2.,  1.])
        """
    def ceil(self, /) -> R:
        """Round each element up.

        >>> import dispatchkit as dk
        >>> dk.ceil(dk.asarray([-1.5, 1.5]))
        tensor([-1.,  2.])
        """
    def trunc(self, /) -> R:
        """Round each element towards zero.

        >>> import dispatchkit as dk
        >>> dk.trunc(dk.asarray([-1.5, 1.5]))
        tensor([-1.,  1.])
        """
    def round(self, /) -> R:
        """Round each element to the nearest integer, halves to the even one.

        >>> import dispatchkit as dk
        >>> dk.round(dk.asarray([0.5, 1.5, 2.3]))
        tensor([0., 2., 2.])
        """
    def absolute(self, /) -> R:
        """Return the magnitude of each element.

        >>> import dispatchkit as dk
        >>> dk.abs(dk.asarray([-1.0, 2.0]))
        tensor([1., 2.])
        """
    def sgn(self, /) -> R:
        """Return -1, 0 or 1 for each real element, ``x / abs(x)`` or 0 for each complex one.

        >>> import dispatchkit as dk
        >>> dk.sign(dk.asarray([-3.0, 0.0, 2.0]))
        tensor([-1.,  0.,  1.])
        """
    def __eq__(self, other: object, /) -> R: ...  # type: ignore[override]
    @overload
    def equal(self, other: Operand, /) -> R:
        """Return whether each two elements are equal: ``x1 == x2``.

        >>> import dispatchkit as dk
        >>> dk.equal(dk.asarray([1, 2, 3]), 2)
        tensor([False,  True, False])
        """
    @overload
    def equal(self, other: object, /) -> Any: ...
    def __ne__(self, other: object, /) -> R: ...  # type: ignore[override]
    @overload
    def not_equal(self, other: Operand, /) -> R:
        """Return whether each two elements differ: ``x1 != x2``.

        >>> import dispatchkit as dk
        >>> dk.not_equal(dk.asarray([1, 2, 3]), 2)
        tensor([ True, False,  True])
        """
    @overload
    def not_equal(self, other: object, /) -> Any: ...
    @overload
    def __lt__(self, other: Operand, /) -> R: ...
    @overload
    def __lt__(self, other: object, /) -> Any: ...
    @overload
    def less(self, other: Operand, /) -> R:
        """Return whether each element is below another: ``x1 < x2``.

        >>> import dispatchkit as dk
        >>> dk.less(dk.asarray([1, 2, 3]), 2)
        tensor([ True, False, False])
        """
    @overload
    def less(self, other: object, /) -> Any: ...
    @overload
    def __le__(self, other: Operand, /) -> R: ...
    @overload
    def __le__(self, other: object, /) -> Any: ...
    @overload
    def less_equal(self, other: Operand, /) -> R:
        """Return whether each element is at most another: ``x1 <= x2``.

        >>> import dispatchkit as dk
        >>> dk.less_equal(dk.asarray([1, 2, 3]), 2)
        tensor([ True,  True, False])
        """
    @overload
    def less_equal(self, other: object, /) -> Any: ...
    @overload
    def __gt__(self, other: Operand, /) -> R: ...
    @overload
    def __gt__(self, other: object, /) -> Any: ...
    @overload
    def greater(self, other: Operand, /) -> R:
        """Return whether each element is above another: ``x1 > x2``.

        >>> import dispatchkit as dk
        >>> dk.greater(dk.asarray([1, 2, 3]), 2)
        tensor([False, False,  True])
        """
    @overload
    def greater(self, other: object, /) -> Any: ...
    @overload
    def __ge__(self, other: Operand, /) -> R: ...
    @overload
    def __ge__(self, other: object, /) -> Any: ...
    @overload
    def greater_equal(self, other: Operand, /) -> R:
        """Return whether each element is at least another: ``x1 >= x2``.

        >>> import dispatchkit as dk
        >>> dk.greater_equal(dk.asarray([1, 2, 3]), 2)
        tensor([False,  True,  True])
        """
    @overload
    def greater_equal(self, other: object, /) -> Any: ...
    @overload
    def logical_and(self, other: Operand, /) -> R:
        """Return whether both elements are true.

        >>> import dispatchkit as dk
        >>> dk.logical_and(dk.asarray([True, True, False]), dk.asarray([True, False, False]))
        tensor([ True, False, False])
        """
    @overload
    def logical_and(self, other: object, /) -> Any: ...
    @overload
    def logical_or(self, other: Operand, /) -> R:
        """Return whether at least one of two elements is true.

        >>> import dispatchkit as dk
        >>> dk.logical_or(dk.asarray([True, True, False]), dk.asarray([True, False, False]))
        tensor([ True,  True, False])
        """
    @overload
    def logical_or(self, other: object, /) -> Any: ...
    @overload
    def logical_xor(self, other: Operand, /) -> R:
        """Return whether exactly one of two elements is true.

        >>> import dispatchkit as dk
        >>> dk.logical_xor(dk.asarray([True, True, False]), dk.asarray([True, False, False]))
        tensor([False,  True, False])
        """
    @overload
    def logical_xor(self, other: object, /) -> Any: ...
    def logical_not(self, /) -> R:
        """Return whether each element is false.

        >>> import dispatchkit as dk
        >>> dk.logical_not(dk.asarray([True, False]))
        tensor([False,  True])
        """
    def isfinite(self, /) -> R:
        """Return whether each element is neither infinite nor NaN.

        >>> import dispatchkit as dk
        >>> dk.isfinite(dk.asarray([1.0, dk.inf, dk.nan]))
        tensor([ True, False, False])
        """
    def isinf(self, /) -> R:
        """Return whether each element is infinite.

        >>> import dispatchkit as dk
        >>> dk.isinf(dk.asarray([1.0, dk.inf, dk.nan]))
        tensor([False,  True, False])
        """
    def isnan(self, /) -> R:
        """Return whether each element is NaN, not a number.

        >>> import dispatchkit as dk
        >>> dk.isnan(dk.asarray([1.0, dk.inf, dk.nan]))
        tensor([False, False,  True])
        """
    @overload
    def eq(self, other: Operand, /) -> R:
        """Return whether each two elements are equal: ``x1 == x2``.

        >>> import dispatchkit as dk
        >>> dk.equal(dk.asarray([1, 2, 3]), 2)
        tensor([False,  True, False])
        """
    @overload
    def eq(self, other: object, /) -> Any: ...
    @overload
    def ne(self, other: Operand, /) -> R:
        """Return whether each two elements differ: ``x1 != x2``.

        >>> import dispatchkit as dk
        >>> dk.not_equal(dk.asarray([1, 2, 3]), 2)
        tensor([ True, False,  True])
        """
    @overload
    def ne(self, other: object, /) -> Any: ...
    @overload
    def lt(self, other: Operand, /) -> R:
        """Return whether each element is below another: ``x1 < x2``.

        >>> import dispatchkit as dk
        >>> dk.less(dk.asarray([1, 2, 3]), 2)
        tensor([ True, False, False])
        """
    @overload
    def lt(self, other: object, /) -> Any: ...
    @overload
    def le(self, other: Operand, /) -> R:
        """Return whether each element is at most another: ``x1 <= x2``.

        >>> import dispatchkit as dk
        >>> dk.less_equal(dk.asarray([1, 2, 3]), 2)
        tensor([ True,  True, False])
        """
    @overload
    def le(self, other: object, /) -> Any: ...
    @overload
    def gt(self, other: Operand, /) -> R:
        """Return whether each element is above another: ``x1 > x2``.

        >>> import dispatchkit as dk
        >>> dk.greater(dk.asarray([1, 2, 3]), 2)
        tensor([False, False,  True])
        """
    @overload
    def gt(self, other: object, /) -> Any: ...
    @overload
    def ge(self, other: Operand, /) -> R:
        """Return whether each element is at least another: ``x1 >= x2``.

        >>> import dispatchkit as dk
        >>> dk.greater_equal(dk.asarray([1, 2, 3]), 2)
        tensor([False,  True,  True])
        """
    @overload
    def ge(self, other: object, /) -> Any: ...
    @overload
    def __and__(self, other: Operand, /) -> R: ...
    @overload
    def __and__(self, other: object, /) -> Any: ...
    @overload
    def __rand__(self, other: Operand, /) -> R: ...
    @overload
    def __rand__(self, other: object, /) -> Any: ...
    @overload
    def bitwise_and(self, other: Operand, /) -> R:
        """Keep the bits that are set in both elements: ``x1 & x2``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_and(dk.asarray([4, 5, 6]), 5)
        tensor([4, 5, 4])
        """
    @overload
    def bitwise_and(self, other: object, /) -> Any: ...
    @overload
    def __or__(self, other: Operand, /) -> R: ...
    @overload
    def __or__(self, other: object, /) -> Any: ...
    @overload
    def __ror__(self, other: Operand, /) -> R: ...
    @overload
    def __ror__(self, other: object, /) -> Any: ...
    @overload
    def bitwise_or(self, other: Operand, /) -> R:
        """Set the bits that are set in one of two elements: ``x1 | x2``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_or(dk.asarray([4, 5, 6]), 5)
        tensor([5, 5, 7])
        """
    @overload
    def bitwise_or(self, other: object, /) -> Any: ...
    @overload
    def __xor__(self, other: Operand, /) -> R: ...
    @overload
    def __xor__(self, other: object, /) -> Any: ...
    @overload
    def __rxor__(self, other: Operand, /) -> R: ...
    @overload
    def __rxor__(self, other: object, /) -> Any: ...
    @overload
    def bitwise_xor(self, other: Operand, /) -> R:
        """Set the bits that differ between two elements: ``x1 ^ x2``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_xor(dk.asarray([4, 5, 6]), 5)
        tensor([1, 0, 3])
        """
    @overload
    def bitwise_xor(self, other: object, /) -> Any: ...
    def __invert__(self, /) -> R: ...
    def bitwise_invert(self, /) -> R:
        """Invert each bit: ``~x``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_invert(dk.asarray([0, 1, 2]))
        tensor([-1, -2, -3])
        """
    @overload
    def __lshift__(self, other: Operand, /) -> R: ...
    @overload
    def __lshift__(self, other: object, /) -> Any: ...
    @overload
    def __rlshift__(self, other: Operand, /) -> R: ...
    @overload
    def __rlshift__(self, other: object, /) -> Any: ...
    @overload
    def bitwise_left_shift(self, other: Operand, /) -> R:
        """Shift the bits of each element to the left, filling with zeros: ``x1 << x2``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_left_shift(dk.asarray([4, 5, 6]), 1)
        tensor([ 8, 10, 12])
        """
    @overload
    def bitwise_left_shift(self, other: object, /) -> Any: ...
    @overload
    def __rshift__(self, other: Operand, /) -> R: ...
    @overload
    def __rshift__(self, other: object, /) -> Any: ...
    @overload
    def __rrshift__(self, other: Operand, /) -> R: ...
    @overload
    def __rrshift__(self, other: object, /) -> Any: ...
    @overload
    def bitwise_right_shift(self, other: Operand, /) -> R:
        """Shift the bits of each element to the right, filling with the sign: ``x1 >> x2``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_right_shift(dk.asarray([4, 5, 6]), 1)
        tensor([2, 2, 3])
        """
    @overload
    def bitwise_right_shift(self, other: object, /) -> Any: ...
    def bitwise_not(self, /) -> R:
        """Invert each bit: ``~x``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_invert(dk.asarray([0, 1, 2]))
        tensor([-1, -2, -3])
        """
    @overload
    def maximum(self, other: Operand, /) -> R:
        """Return the larger of each two elements, NaN where one of them is.

        >>> import dispatchkit as dk
        >>> dk.maximum(dk.asarray([1.0, 3.0]), dk.asarray([2.0, 2.0]))
        tensor([2., 3.])
        """
    @overload
    def maximum(self, other: object, /) -> Any: ...
    @overload
    def minimum(self, other: Operand, /) -> R:
        """Return the smaller of each two elements, NaN where one of them is.

        >>> import dispatchkit as dk
        >>> dk.minimum(dk.asarray([1.0, 3.0]), dk.asarray([2.0, 2.0]))
        tensor([1., 2.])
        """
    @overload
    def minimum(self, other: object, /) -> Any: ...
    def relu(self, /) -> R:
        """Replace negative elements by zero.

        >>> import dispatchkit as dk
        >>> dk.relu(dk.asarray([-1.0, 2.0]))
        tensor([0., 2.])
        """
    def clip(self, /, min: Any = None, max: Any = None) -> R:
        """Bring each element into the range from `min` to `max`.

        >>> import dispatchkit as dk
        >>> dk.clip(dk.asarray([-1.0, 1.0, 3.0]), 0, 2)
        tensor([0., 1., 2.])
        """
    def clamp(self, /, min: Any = None, max: Any = None) -> R:
        """Bring each element into the range from `min` to `max`.

        >>> import dispatchkit as dk
        >>> dk.clip(dk.asarray([-1.0, 1.0, 3.0]), 0, 2)
        tensor([0., 1., 2.])
        """
    def exp(self, /) -> R:
        """Raise e to the power of each element.

        >>> import dispatchkit as dk
        >>> dk.exp(dk.asarray([0.0, 1.0]))
        tensor([1.0000, 2.7183])
        """
    def expm1(self, /) -> R:
        """Raise e to the power of each element and subtract one, accurately near 0.

        >>> import dispatchkit as dk
        >>> dk.expm1(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 1.7183])
        """
    def log(self, /) -> R:
        """Return the natural logarithm of each element.

        >>> import dispatchkit as dk
        >>> dk.log(dk.asarray([1.0, 2.0]))
        tensor([0.0000, 0.6931])
        """
    def log1p(self, /) -> R:
        """Return the natural logarithm of one plus each element, accurately near 0.

        >>> import dispatchkit as dk
        >>> dk.log1p(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.6931])
        """
    def log2(self, /) -> R:
        """Return the logarithm to the base 2 of each element.

        >>> import dispatchkit as dk
        >>> dk.log2(dk.asarray([1.0, 8.0]))
        tensor([0., 3.])
        """
    def log10(self, /) -> R:
        """Return the logarithm to the base 10 of each element.

        >>> import dispatchkit as dk
        >>> dk.log10(dk.asarray([1.0, 100.0]))
        tensor([0., 2.])
        """
    @overload
    def logaddexp(self, other: Operand, /) -> R:
        """Add numbers that are given by their logarithms: ``log(exp(x1) + exp(x2))`` without overflow.

        >>> import dispatchkit as dk
        >>> dk.logaddexp(dk.asarray([1000.0]), 1000.0)
        tensor([1000.6931])
        """
    @overload
    def logaddexp(self, other: object, /) -> Any: ...
    def sigmoid(self, /) -> R:
        """Return the logistic function of each element: ``1 / (1 + exp(-x))``, for real numbers without overflow.

        >>> import dispatchkit as dk
        >>> dk.sigmoid(dk.asarray([0.0, 2.0]))
        tensor([0.5000, 0.8808])
        """
    @property
    def real(self) -> R:
        """Return the real part of each element.

        >>> import dispatchkit as dk
        >>> dk.real(dk.asarray([1 + 2j]))
        tensor([1.])
        """
    @property
    def imag(self) -> R:
        """Return the imaginary part of each element.

        >>> import dispatchkit as dk
        >>> dk.imag(dk.asarray([1 + 2j]))
        tensor([2.])
        """
    def conj(self, /) -> R:
        """Return the complex conjugate of each element.

        >>> import dispatchkit as dk
        >>> dk.conj(dk.asarray([1 + 2j]))
        tensor([1.-2.j], dtype=complex128)
        """
    def conjugate(self, /) -> R:
        """Return the complex conjugate of each element.

        >>> import dispatchkit as dk
        >>> dk.conj(dk.asarray([1 + 2j]))
        tensor([1.-2.j], dtype=complex128)
        """
    @overload
    def __pow__(self, other: Operand, /) -> R: ...
    @overload
    def __pow__(self, other: object, /) -> Any: ...
    @overload
    def __rpow__(self, other: Operand, /) -> R: ...
    @overload
    def __rpow__(self, other: object, /) -> Any: ...
    @overload
    def pow(self, other: Operand, /) -> R:
        """Raise to a power: ``x1 ** x2``.

        >>> import dispatchkit as dk
        >>> dk.pow(dk.asarray([1.0, 2.0, 3.0]), 2)
        tensor([1., 4., 9.])
        """
    @overload
    def pow(self, other: object, /) -> Any: ...
    def square(self, /) -> R:
        """Multiply each element by itself.

        >>> import dispatchkit as dk
        >>> dk.square(dk.asarray([1.0, -2.0]))
        tensor([1., 4.])
        """
    def reciprocal(self, /) -> R:
        """Return one divided by each element.

        >>> import dispatchkit as dk
        >>> dk.reciprocal(dk.asarray([0.5, -1.0]))
        tensor([ 2., -1.])
        """
    def sqrt(self, /) -> R:
        """Return the square root of each element.

        >>> import dispatchkit as dk
        >>> dk.sqrt(dk.asarray([1.0, 4.0]))
        tensor([1., 2.])
        """
    def cbrt(self, /) -> R:
        """Return the cube root of each element.

        >>> import dispatchkit as dk
        >>> dk.cbrt(dk.asarray([2.0, -3.0]))
        tensor([ 1.2599, -1.4422])
        """
    def rsqrt(self, /) -> R:
        """Return one divided by the square root of each element.

        >>> import dispatchkit as dk
        >>> dk.rsqrt(dk.asarray([0.25, 1.0]))
        tensor([2., 1.])
        """
    @overload
    def hypot(self, other: Operand, /) -> R:
        """Return the length of the hypotenuse over two legs: ``sqrt(x1**2 + x2**2)`` without overflow.

        >>> import dispatchkit as dk
        >>> dk.hypot(dk.asarray([3.0, 5.0]), dk.asarray([4.0, 12.0]))
        tensor([ 5., 13.])
        """
    @overload
    def hypot(self, other: object, /) -> Any: ...
    @overload
    def power(self, other: Operand, /) -> R:
        """Raise to a power: ``x1 ** x2``.

        >>> import dispatchkit as dk
        >>> dk.pow(dk.asarray([1.0, 2.0, 3.0]), 2)
        tensor([1., 4., 9.])
        """
    @overload
    def power(self, other: object, /) -> Any: ...
    def sin(self, /) -> R:
        """Return the sine of each element.

        >>> import dispatchkit as dk
        >>> dk.sin(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.8415])
        """
    def cos(self, /) -> R:
        """Return the cosine of each element.

        >>> import dispatchkit as dk
        >>> dk.cos(dk.asarray([0.0, 1.0]))
        tensor([1.0000, 0.5403])
        """
    def tan(self, /) -> R:
        """Return the tangent of each element.

        >>> import dispatchkit as dk
        >>> dk.tan(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 1.5574])
        """
    def asin(self, /) -> R:
        """Return the inverse sine of each element.

        >>> import dispatchkit as dk
        >>> dk.asin(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 1.5708])
        """
    def acos(self, /) -> R:
        """Return the inverse cosine of each element.

        >>> import dispatchkit as dk
        >>> dk.acos(dk.asarray([0.0, 1.0]))
        tensor([1.5708, 0.0000])
        """
    def atan(self, /) -> R:
        """Return the inverse tangent of each element.

        >>> import dispatchkit as dk
        >>> dk.atan(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.7854])
        """
    @overload
    def atan2(self, other: Operand, /) -> R:
        """Return the angle between the positive first axis and the point ``(x2, x1)``.

        >>> import dispatchkit as dk
        >>> dk.atan2(dk.asarray([1.0, -1.0]), dk.asarray([1.0, 0.0]))
        tensor([ 0.7854, -1.5708])
        """
    @overload
    def atan2(self, other: object, /) -> Any: ...
    def arcsin(self, /) -> R:
        """Return the inverse sine of each element.

        >>> import dispatchkit as dk
        >>> dk.asin(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 1.5708])
        """
    def arccos(self, /) -> R:
        """Return the inverse cosine of each element.

        >>> import dispatchkit as dk
        >>> dk.acos(dk.asarray([0.0, 1.0]))
        tensor([1.5708, 0.0000])
        """
    def arctan(self, /) -> R:
        """Return the inverse tangent of each element.

        >>> import dispatchkit as dk
        >>> dk.atan(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.7854])
        """
    @overload
    def arctan2(self, other: Operand, /) -> R:
        """Return the angle between the positive first axis and the point ``(x2, x1)``.

        >>> import dispatchkit as dk
        >>> dk.atan2(dk.asarray([1.0, -1.0]), dk.asarray([1.0, 0.0]))
        tensor([ 0.7854, -1.5708])
        """
    @overload
    def arctan2(self, other: object, /) -> Any: ...
    def sinh(self, /) -> R:
        """Return the hyperbolic sine of each element.

        >>> import dispatchkit as dk
        >>> dk.sinh(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 1.1752])
        """
    def cosh(self, /) -> R:
        """Return the hyperbolic cosine of each element.

        >>> import dispatchkit as dk
        >>> dk.cosh(dk.asarray([0.0, 1.0]))
        tensor([1.0000, 1.5431])
        """
    def tanh(self, /) -> R:
        """Return the hyperbolic tangent of each element.

        >>> import dispatchkit as dk
        >>> dk.tanh(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.7616])
        """
    def asinh(self, /) -> R:
        """Return the inverse hyperbolic sine of each element.

        >>> import dispatchkit as dk
        >>> dk.asinh(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.8814])
        """
    def acosh(self, /) -> R:
        """Return the inverse hyperbolic cosine of each element.

        >>> import dispatchkit as dk
        >>> dk.acosh(dk.asarray([1.0, 3.0]))
        tensor([0.0000, 1.7627])
        """
    def atanh(self, /) -> R:
        """Return the inverse hyperbolic tangent of each element.

        >>> import dispatchkit as dk
        >>> dk.atanh(dk.asarray([0.0, 0.5]))
        tensor([0.0000, 0.5493])
        """
    def arcsinh(self, /) -> R:
        """Return the inverse hyperbolic sine of each element.

        >>> import dispatchkit as dk
        >>> dk.asinh(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.8814])
        """
    def arccosh(self, /) -> R:
        """Return the inverse hyperbolic cosine of each element.

        >>> import dispatchkit as dk
        >>> dk.acosh(dk.asarray([1.0, 3.0]))
        tensor([0.0000, 1.7627])
        """
    def arctanh(self, /) -> R:
        """Return the inverse hyperbolic tangent of each element.

        >>> import dispatchkit as dk
        >>> dk.atanh(dk.asarray([0.0, 0.5]))
        tensor([0.0000, 0.5493])
        """
    def __getitem__(self, key: Index, /) -> R: ...
    def __setitem__(self, key: Index, value: Any, /) -> None: ...
    def take(self, indices: Any, /, axis: int | None = None) -> R:
        """Take elements along an axis by their indices.

        >>> import dispatchkit as dk
        >>> dk.take(dk.asarray([1.0, 2.0, 3.0]), dk.asarray([2, 0]))
        tensor([3., 1.])
        """
    def gather(self, /, axis: int, indices: Any) -> R:
        """Take elements along an axis, at each place of an array of indices.

        >>> import dispatchkit as dk
        >>> dk.gather(dk.asarray([[1.0, 2.0], [3.0, 4.0]]), 1, dk.asarray([[1], [0]]))
        tensor([[2.],
                [3.]])
        """
    def scatter_add(self, /, axis: int, indices: Any, src: Any) -> R:
        """Add elements to those of an array that indices along an axis name.

        >>> import dispatchkit as dk
        >>> dk.scatter_add(dk.zeros(3), 0, dk.asarray([0, 2, 2]), dk.asarray([1.0, 2.0, 3.0]))
        tensor([1., 0., 5.])
        """
    def masked_fill(self, /, mask: Any, value: Any | float) -> R:
        """Replace the elements of an array at which a mask is true by a number.

        >>> import dispatchkit as dk
        >>> dk.masked_fill(dk.asarray([1.0, 2.0]), dk.asarray([True, False]), -dk.inf)
        tensor([-inf,   2.])
        """
    def diag(self, /, offset: int = 0) -> R:
        """Make a matrix of its diagonal, or take the diagonal of a matrix.

        >>> import dispatchkit as dk
        >>> dk.diag(dk.tensor([1.0, 2.0]))
        tensor([[1., 0.],
                [0., 2.]])
        >>> dk.diag(dk.tensor([[1.0, 2.0], [3.0, 4.0]]), offset=1)
        tensor([2.])
        """
    def tril(self, /, k: int = 0) -> R:
        """Keep the lower triangle: the elements above a diagonal become 0.

        >>> import dispatchkit as dk
        >>> dk.tril(dk.asarray([[1, 2], [3, 4]]))
        tensor([[1, 0],
                [3, 4]])
        """
    def triu(self, /, k: int = 0) -> R:
        """Keep the upper triangle: the elements below a diagonal become 0.

        >>> import dispatchkit as dk
        >>> dk.triu(dk.asarray([[1, 2], [3, 4]]))
        tensor([[1, 2],
                [0, 4]])
        """
    def trace(self, /, offset: int = 0, dtype: DType = None) -> R:
        """Sum of the diagonal elements of matrices.

        >>> import dispatchkit as dk
        >>> dk.trace(dk.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor(5.)
        """
    def diagonal(self, /, offset: int = 0) -> R:
        """Diagonal elements of matrices.

        >>> import dispatchkit as dk
        >>> dk.diagonal(dk.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([1., 4.])
        """
    def cross(self, x2: Any, /, axis: int = -1) -> R:
        """Cross product of vectors of three elements.

        >>> import dispatchkit as dk
        >>> dk.linalg.cross(dk.tensor([1.0, 0.0, 0.0]), dk.tensor([0.0, 1.0, 0.0]))
        tensor([0., 0., 1.])
        """
    @overload
    def outer(self, other: Operand, /) -> R:
        """Multiply every element of one vector with every element of another.

        >>> import dispatchkit as dk
        >>> dk.outer(dk.tensor([1.0, 2.0]), dk.tensor([1.0, 0.0, -1.0]))
        tensor([[ 1.,  0., -1.],
                [ 2.,  0., -2.]])
        """
    @overload
    def outer(self, other: object, /) -> Any: ...
    def norm(self, /, ord: MatrixOrder | None = None, axis: Axis = None, keepdims: bool = False) -> R:
        """Norm of a vector, of matrices, or of all elements, by the axes that are given.

        >>> import dispatchkit as dk
        >>> x = dk.tensor([[3.0, 4.0], [6.0, 8.0]])
        >>> dk.norm(x, axis=1), dk.norm(x, ord=1)
        (tensor([ 5., 10.]), tensor(12.))
        """
    def svd(self, /, full_matrices: bool = True) -> SVDResult:
        """Singular value decomposition ``U @ diag(S) @ Vh``.

        >>> import dispatchkit as dk
        >>> dk.linalg.svd(dk.tensor([[3.0, 0.0], [0.0, -4.0]])).S
        tensor([4., 3.])
        """
    def pinverse(self, /, rtol: float | Any | None = None) -> R:
        """Moore-Penrose inverse of matrices.

        >>> import dispatchkit as dk
        >>> dk.linalg.pinv(dk.tensor([[2.0], [0.0]]))
        tensor([[0.5000, 0.0000]])
        """
    @overload
    def __matmul__(self, other: Operand, /) -> R: ...
    @overload
    def __matmul__(self, other: object, /) -> Any: ...
    @overload
    def __rmatmul__(self, other: Operand, /) -> R: ...
    @overload
    def __rmatmul__(self, other: object, /) -> Any: ...
    @overload
    def matmul(self, other: Operand, /) -> R:
        """Matrix product.

        >>> import dispatchkit as dk
        >>> dk.matmul(dk.tensor([[1.0, 2.0], [3.0, 4.0]]), dk.tensor([1.0, 1.0]))
        tensor([3., 7.])
        """
    @overload
    def matmul(self, other: object, /) -> Any: ...
    def vecdot(self, x2: Any, /, axis: int = -1) -> R:
        """Sum the products of the elements of vectors, the first conjugated.

        >>> import dispatchkit as dk
        >>> dk.vecdot(dk.tensor([[1.0, 2.0], [3.0, 4.0]]), dk.tensor([1.0, -1.0]))
        tensor([-1., -1.])
        """
    @overload
    def mm(self, other: Operand, /) -> R:
        """Multiply two matrices, and nothing but matrices.

        >>> import dispatchkit as dk
        >>> dk.mm(dk.tensor([[1.0, 2.0]]), dk.tensor([[3.0], [4.0]]))
        tensor([[11.]])
        """
    @overload
    def mm(self, other: object, /) -> Any: ...
    @overload
    def mv(self, other: Operand, /) -> R:
        """Multiply a matrix with a vector.

        >>> import dispatchkit as dk
        >>> dk.mv(dk.tensor([[1.0, 2.0], [3.0, 4.0]]), dk.tensor([1.0, 1.0]))
        tensor([3., 7.])
        """
    @overload
    def mv(self, other: object, /) -> Any: ...
    @overload
    def bmm(self, other: Operand, /) -> R:
        """Multiply two batches of matrices, pair by pair.

        >>> import dispatchkit as dk
        >>> dk.bmm(dk.ones((2, 1, 3)), dk.ones((2, 3, 1))).shape
        (2, 1, 1)
        """
    @overload
    def bmm(self, other: object, /) -> Any: ...
    @overload
    def dot(self, other: Operand, /) -> R:
        """Sum the products of the elements of two vectors, without conjugation.

        >>> import dispatchkit as dk
        >>> dk.dot(dk.tensor([1.0, 2.0]), dk.tensor([3.0, 4.0]))
        tensor(11.)
        """
    @overload
    def dot(self, other: object, /) -> Any: ...
    @overload
    def permute_dims(self, /, axes: Sequence[int]) -> R:
        """Put the axes in another order.

        >>> import dispatchkit as dk
        >>> dk.permute_dims(dk.zeros((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
        """
    @overload
    def permute_dims(self, /, *axes: int) -> R: ...
    @overload
    def permute(self, /, axes: Sequence[int]) -> R:
        """Put the axes in another order.

        >>> import dispatchkit as dk
        >>> dk.permute_dims(dk.zeros((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
        """
    @overload
    def permute(self, /, *axes: int) -> R: ...
    @property
    def mT(self) -> R:
        """Swap the last two axes.

        >>> import dispatchkit as dk
        >>> dk.zeros((4, 2, 3)).mT.shape
        (4, 3, 2)
        """
    def t(self, /) -> R:
        """Transpose a matrix; what has fewer than two axes stays as it is.

        >>> import dispatchkit as dk
        >>> dk.zeros((2, 3)).T.shape
        (3, 2)
        """
    @property
    def T(self) -> R:
        """Transpose a matrix; what has fewer than two axes stays as it is.

        >>> import dispatchkit as dk
        >>> dk.zeros((2, 3)).T.shape
        (3, 2)
        """
    def transpose(self, /, axes: int | Sequence[int] | None = None, *more: int) -> R:
        """Reverse the axes, put them in another order, or swap two.

        >>> import dispatchkit as dk
        >>> x = dk.zeros((2, 3, 4))
        >>> dk.transpose(x).shape, dk.transpose(x, (1, 0, 2)).shape, dk.transpose(x, 0, 2).shape
        ((4, 3, 2), (3, 2, 4), (4, 3, 2))
        """
    def swapaxes(self, axis1: int, axis2: int, /) -> R:
        """Swap two axes.

        >>> import dispatchkit as dk
        >>> dk.swapaxes(dk.zeros((2, 3, 4)), 0, 2).shape
        (4, 3, 2)
        """
    def moveaxis(self, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> R:
        """Move axes to other places; the others keep their order.

        >>> import dispatchkit as dk
        >>> dk.moveaxis(dk.zeros((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
        """
    @overload
    def flip(self, /, axis: Axis = None) -> R:
        """Reverse the order of the elements.

        >>> import dispatchkit as dk
        >>> dk.flip(dk.asarray([1, 2, 3]))
        tensor([3, 2, 1])
        """
    @overload
    def flip(self, /, *axis: int) -> R: ...
    def roll(self, /, shift: int | tuple[int, ...], axis: Axis = None) -> R:
        """Shift the elements; those that leave at the end come in at the beginning.

        >>> import dispatchkit as dk
        >>> dk.roll(dk.asarray([1, 2, 3]), 1)
        tensor([3, 1, 2])
        """
    def movedim(self, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> R:
        """Move axes to other places; the others keep their order.

        >>> import dispatchkit as dk
        >>> dk.moveaxis(dk.zeros((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
        """
    def swapdims(self, axis1: int, axis2: int, /) -> R:
        """Swap two axes.

        >>> import dispatchkit as dk
        >>> dk.swapaxes(dk.zeros((2, 3, 4)), 0, 2).shape
        (4, 3, 2)
        """
    @overload
    def reshape(self, /, shape: Shape, copy: bool | None = None) -> R:
        """Arrange the elements in another shape.

        >>> import dispatchkit as dk
        >>> dk.reshape(dk.asarray([1, 2, 3, 4]), (2, 2))
        tensor([[1, 2],
                [3, 4]])
        """
    @overload
    def reshape(self, /, *shape: int, copy: bool | None = None) -> R: ...
    @overload
    def view(self, /, shape: Shape) -> R:
        """Look at the elements in another shape, without a copy.

        >>> import dispatchkit as dk
        >>> dk.zeros((2, 3)).view(-1, 2).shape
        (3, 2)
        """
    @overload
    def view(self, /, *shape: int) -> R: ...
    def flatten(self, /, start_dim: int = 0, end_dim: int = -1) -> R:
        """Make one axis of several neighbouring ones, or of all.

        >>> import dispatchkit as dk
        >>> dk.flatten(dk.zeros((2, 3, 4)), 1).shape
        (2, 12)
        """
    def ravel(self, /) -> R:
        """Make one axis of all.

        >>> import dispatchkit as dk
        >>> dk.ravel(dk.asarray([[1, 2], [3, 4]]))
        tensor([1, 2, 3, 4])
        """
    def squeeze(self, /, axis: Axis = None) -> R:
        """Drop axes of length 1.

        >>> import dispatchkit as dk
        >>> dk.squeeze(dk.zeros((1, 3, 1)), axis=0).shape
        (3, 1)
        """
    def expand_dims(self, /, axis: int | tuple[int, ...]) -> R:
        """Insert axes of length 1.

        >>> import dispatchkit as dk
        >>> dk.expand_dims(dk.zeros((2, 3)), axis=1).shape
        (2, 1, 3)
        """
    def unsqueeze(self, /, dim: int) -> R:
        """Insert one axis of length 1.

        >>> import dispatchkit as dk
        >>> dk.unsqueeze(dk.zeros((2, 3)), -1).shape
        (2, 3, 1)
        """
    def broadcast_to(self, /, shape: Shape) -> R:
        """Repeat an array along axes of length 1, and along new leading ones, without a copy.

        >>> import dispatchkit as dk
        >>> dk.broadcast_to(dk.asarray([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
        """
    @overload
    def expand(self, /, shape: Sequence[int]) -> R:
        """Repeat an array along axes of length 1, and along new leading ones, without a copy.

        >>> import dispatchkit as dk
        >>> dk.expand(dk.zeros((3, 1)), (-1, 4)).shape
        (3, 4)
        """
    @overload
    def expand(self, /, *shape: int) -> R: ...
    def chunk(self, chunks: int, /, axis: int = 0) -> tuple[R, ...]:
        """Take an array apart along an axis, into so many parts or less.

        >>> import dispatchkit as dk
        >>> dk.chunk(dk.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
        """
    @overload
    def kron(self, other: Operand, /) -> R:
        """Kronecker product: a block of the second array for each element of the first.

        >>> import dispatchkit as dk
        >>> dk.kron(dk.asarray([1, 10]), dk.asarray([1, 2, 3]))
        tensor([ 1,  2,  3, 10, 20, 30])
        """
    @overload
    def kron(self, other: object, /) -> Any: ...
    def argwhere(self, /) -> R:
        """Find the indices of the elements other than 0, in one array.

        >>> import dispatchkit as dk
        >>> dk.argwhere(dk.asarray([[0.0, 3.0], [4.0, 0.0]]))
        tensor([[0, 1],
                [1, 0]])
        """
    def var(self, /, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> R:
        """Compute the variance of the elements.

        >>> import dispatchkit as dk
        >>> dk.var(dk.asarray([1.0, 3.0]))
        tensor(1.)
        """
    def std(self, /, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> R:
        """Compute the standard deviation of the elements.

        >>> import dispatchkit as dk
        >>> dk.std(dk.asarray([1.0, 3.0]), correction=1)
        tensor(1.4142)
        """
    def logsumexp(self, /, axis: Axis = None, keepdims: bool = False) -> R:
        """Compute the logarithm of the sum of exponentials, without overflow.

        >>> import dispatchkit as dk
        >>> dk.logsumexp(dk.asarray([1000.0, 1000.0]))
        tensor(1000.6931)
        """
    def cov(self, /, rowvar: bool = True, correction: float = 1, fweights: Any | None = None, aweights: Any | None = None) -> R:
        """Estimate the covariance matrix of variables.

        >>> import dispatchkit as dk
        >>> dk.cov(dk.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
        """
    def corrcoef(self, /, rowvar: bool = True) -> R:
        """Compute the correlation coefficients of variables.

        >>> import dispatchkit as dk
        >>> dk.corrcoef(dk.asarray([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
        """
    def nansum(self, /, axis: Axis = None, dtype: DType = None, keepdims: bool = False) -> R:
        """Sum the elements that are not NaN.

        >>> import dispatchkit as dk
        >>> dk.nansum(dk.asarray([1.0, dk.nan, 3.0]))
        tensor(4.)
        """
    def nanmean(self, /, axis: Axis = None, dtype: DType = None, keepdims: bool = False) -> R:
        """Average the elements that are not NaN.

        >>> import dispatchkit as dk
        >>> dk.nanmean(dk.asarray([[1.0, dk.nan], [3.0, 5.0]]), axis=1)
        tensor([1., 4.])
        """
    def sum(self, /, axis: Axis = None, keepdims: bool = False, dtype: DType = None) -> R:
        """Sum the elements.

        >>> import dispatchkit as dk
        >>> dk.sum(dk.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
        tensor([4., 6.])
        """
    def mean(self, /, axis: Axis = None, keepdims: bool = False) -> R:
        """Average the elements.

        >>> import dispatchkit as dk
        >>> dk.mean(dk.asarray([[1.0, 3.0], [3.0, 5.0]]), axis=1)
        tensor([2., 4.])
        """
    def prod(self, /, axis: Axis = None, keepdims: bool = False, dtype: DType = None) -> R:
        """Multiply the elements.

        >>> import dispatchkit as dk
        >>> dk.prod(dk.asarray([2.0, 3.0, 4.0]))
        tensor(24.)
        """
    def max(self, /, axis: Axis = None, keepdims: bool = False) -> R:
        """Find the largest of the elements.

        >>> import dispatchkit as dk
        >>> dk.max(dk.asarray([[1.0, 5.0], [3.0, 4.0]]), axis=0)
        tensor([3., 5.])
        """
    def min(self, /, axis: Axis = None, keepdims: bool = False) -> R:
        """Find the smallest of the elements.

        >>> import dispatchkit as dk
        >>> dk.min(dk.asarray([[1.0, 5.0], [3.0, 4.0]]), axis=0)
        tensor([1., 4.])
        """
    def all(self, /, axis: Axis = None, keepdims: bool = False) -> R:
        """Tell whether all elements are true, that is, other than 0.

        >>> import dispatchkit as dk
        >>> dk.all(dk.asarray([[True, False], [True, True]]), axis=1)
        tensor([False,  True])
        """
    def any(self, /, axis: Axis = None, keepdims: bool = False) -> R:
        """Tell whether any element is true, that is, other than 0.

        >>> import dispatchkit as dk
        >>> dk.any(dk.asarray([[True, False], [False, False]]), axis=1)
        tensor([ True, False])
        """
    def count_nonzero(self, /, axis: Axis = None, keepdims: bool = False) -> R:
        """Count the elements other than 0.

        >>> import dispatchkit as dk
        >>> dk.count_nonzero(dk.asarray([[1, 0], [2, 3]]), axis=0)
        tensor([2, 1])
        """
    def amax(self, /, axis: Axis = None, keepdims: bool = False) -> R:
        """Find the largest of the elements.

        >>> import dispatchkit as dk
        >>> dk.max(dk.asarray([[1.0, 5.0], [3.0, 4.0]]), axis=0)
        tensor([3., 5.])
        """
    def amin(self, /, axis: Axis = None, keepdims: bool = False) -> R:
        """Find the smallest of the elements.

        >>> import dispatchkit as dk
        >>> dk.min(dk.asarray([[1.0, 5.0], [3.0, 4.0]]), axis=0)
        tensor([1., 4.])
        """
    def diff(self, /, n: int = 1, axis: int = -1, prepend: Any | None = None, append: Any | None = None) -> R:
        """Subtract from each element the one before it.

        >>> import dispatchkit as dk
        >>> dk.diff(dk.asarray([1.0, 4.0, 9.0, 16.0]))
        tensor([3., 5., 7.])
        """
    def cumprod(self, /, axis: int | None = None, dtype: DType = None, include_initial: bool = False) -> R:
        """Multiply the elements up to each one.

        >>> import dispatchkit as dk
        >>> dk.cumulative_prod(dk.asarray([1.0, 2.0, 3.0]))
        tensor([1., 2., 6.])
        """
    def cumsum(self, /, axis: int | None = None, dtype: DType = None, include_initial: bool = False) -> R:
        """Sum the elements up to each one.

        >>> import dispatchkit as dk
        >>> dk.cumulative_sum(dk.asarray([1.0, 2.0, 3.0]))
        tensor([1., 3., 6.])
        """
    def softmax(self, /, axis: Axis = -1) -> R:
        """Divide the exponential of each element by the sum of those along an axis, without overflow.

        >>> import dispatchkit as dk
        >>> dk.softmax(dk.asarray([0.0, 0.0, 1000.0, 1000.0]))
        tensor([0.0000, 0.0000, 0.5000, 0.5000])
        """
    def log_softmax(self, /, axis: Axis = -1) -> R:
        """Compute the logarithm of softmax, without overflow and for shares that round to 0.

        >>> import dispatchkit as dk
        >>> dk.log_softmax(dk.asarray([0.0, 1000.0]))
        tensor([-1000.,     0.])
        """
    def argmax(self, /, axis: int | None = None, keepdims: bool = False) -> R:
        """Find the index of the largest element.

        >>> import dispatchkit as dk
        >>> dk.argmax(dk.asarray([[1.0, 5.0], [7.0, 4.0]]), axis=1)
        tensor([1, 0])
        """
    def argmin(self, /, axis: int | None = None, keepdims: bool = False) -> R:
        """Find the index of the smallest element.

        >>> import dispatchkit as dk
        >>> dk.argmin(dk.asarray([[1.0, 5.0], [7.0, 4.0]]), axis=1)
        tensor([0, 1])
        """
    def nonzero(self, /) -> tuple[R, ...]:
        """Find the indices of the elements other than 0.

        >>> import dispatchkit as dk
        >>> dk.nonzero(dk.asarray([0.0, 3.0, 4.0]))
        (tensor([1, 2]),)
        """
    def searchsorted(self, x2: Any, /, side: Literal['left', 'right'] = 'left', sorter: Any | None = None) -> R:
        """Find where elements would be inserted to keep an array sorted.

        >>> import dispatchkit as dk
        >>> dk.searchsorted(dk.asarray([1.0, 2.0, 3.0]), dk.asarray([2.0, 9.0]))
        tensor([1, 3])
        """
    def argsort(self, /, axis: int = -1, descending: bool = False, stable: bool = True) -> R:
        """Find the indices that sort the elements along an axis.

        >>> import dispatchkit as dk
        >>> dk.argsort(dk.asarray([2.0, 3.0, 1.0]))
        tensor([2, 0, 1])
        """
    def topk(self, /, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> TopKResult:
        """Find the `k` largest elements along an axis.

        >>> import dispatchkit as dk
        >>> dk.topk(dk.asarray([2.0, 5.0, 3.0]), 2)
        TopKResult(values=tensor([5., 3.]), indices=tensor([1, 2]))
        """
    def bincount(self, /, weights: Any | None = None, minlength: int = 0) -> R:
        """Count how often each integer occurs.

        >>> import dispatchkit as dk
        >>> dk.bincount(dk.asarray([0, 2, 2]))
        tensor([1, 0, 2])
        """
    def quantile(self, q: Any | float, /, axis: Axis = None, method: QuantileMethod = 'linear', keepdims: bool = False) -> R:
        """Find the elements below which given shares of all lie.

        >>> import dispatchkit as dk
        >>> x = dk.asarray([4.0, 1.0, 3.0, 2.0])
        >>> dk.quantile(x, dk.asarray([0.0, 0.5, 0.75]))
        tensor([1.0000, 2.5000, 3.2500])
        >>> dk.quantile(x, 0.5, method="lower")
        tensor(2.)
        """
    def cholesky(self, /, upper: bool = False) -> R:
        """Triangular factor ``L`` of positive definite matrices ``L @ L^H``.

        >>> import dispatchkit as dk
        >>> dk.linalg.cholesky(dk.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
        """
    def qr(self, /, mode: Literal['reduced', 'complete'] = 'reduced') -> QRResult:
        """Compute the QR decomposition: factors with orthonormal columns, and upper triangles.

        >>> import dispatchkit as dk
        >>> Q, R = dk.linalg.qr(dk.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
        >>> Q.shape, R.shape
        ((3, 2), (2, 2))
        """
    def eigh(self, /) -> EighResult:
        """Compute the eigenvalues and eigenvectors of real symmetric or complex Hermitian matrices.

        >>> import dispatchkit as dk
        >>> dk.linalg.eigh(dk.tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
        tensor([1., 3.])
        """
    def eigvalsh(self, /) -> R:
        """Compute the eigenvalues of real symmetric or complex Hermitian matrices.

        >>> import dispatchkit as dk
        >>> dk.linalg.eigvalsh(dk.tensor([[2.0, 1.0], [1.0, 2.0]]))
        tensor([1., 3.])
        """
    def eig(self, /) -> EigResult:
        """Compute the eigenvalues and eigenvectors of square matrices.

        >>> import dispatchkit as dk
        >>> dk.linalg.eig(dk.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues
        tensor([0.+1.j, 0.-1.j], dtype=complex128)
        """
    def eigvals(self, /) -> R:
        """Compute the eigenvalues of square matrices.

        >>> import dispatchkit as dk
        >>> dk.linalg.eigvals(dk.tensor([[0.0, 1.0], [-1.0, 0.0]]))
        tensor([0.+1.j, 0.-1.j], dtype=complex128)
        """
    def inverse(self, /) -> R:
        """Inverse of square matrices.

        >>> import dispatchkit as dk
        >>> dk.linalg.inv(dk.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
        """
    def det(self, /) -> R:
        """Compute the determinant of square matrices.

        >>> import dispatchkit as dk
        >>> dk.linalg.det(dk.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor(-2.0000)
        """
    def slogdet(self, /) -> SlogdetResult:
        """Sign and logarithm of the absolute value of the determinant of square matrices.

        >>> import dispatchkit as dk
        >>> dk.linalg.slogdet(dk.tensor([[1.0, 2.0], [3.0, 4.0]])).sign
        tensor(-1.)
        """

class TensorMethods(ArrayMethods[Tensor]):
    """The methods that view operations, and the in-place ones, of tensors."""

    def __iadd__(self, other: Any, /) -> Self: ...  # type: ignore[misc, override]
    def __iand__(self, other: Any, /) -> Self: ...  # type: ignore[misc, override]
    def __ifloordiv__(self, other: Any, /) -> Self: ...  # type: ignore[misc, override]
    def __ilshift__(self, other: Any, /) -> Self: ...  # type: ignore[misc, override]
    def __imatmul__(self, other: Any, /) -> Self: ...  # type: ignore[misc, override]
    def __imod__(self, other: Any, /) -> Self: ...  # type: ignore[misc, override]
    def __imul__(self, other: Any, /) -> Self: ...  # type: ignore[misc, override]
    def __ior__(self, other: Any, /) -> Self: ...  # type: ignore[misc, override]
    def __ipow__(self, other: Any, /) -> Self: ...  # type: ignore[misc, override]
    def __irshift__(self, other: Any, /) -> Self: ...  # type: ignore[misc, override]
    def __isub__(self, other: Any, /) -> Self: ...  # type: ignore[misc, override]
    def __itruediv__(self, other: Any, /) -> Self: ...  # type: ignore[misc, override]
    def __ixor__(self, other: Any, /) -> Self: ...  # type: ignore[misc, override]
    def abs_(self, /) -> Self: ...
    def absolute_(self, /) -> Self: ...
    def acos_(self, /) -> Self: ...
    def acosh_(self, /) -> Self: ...
    def add_(self, other: Any, /) -> Self: ...
    def arccos_(self, /) -> Self: ...
    def arccosh_(self, /) -> Self: ...
    def arcsin_(self, /) -> Self: ...
    def arcsinh_(self, /) -> Self: ...
    def arctan2_(self, other: Any, /) -> Self: ...
    def arctan_(self, /) -> Self: ...
    def arctanh_(self, /) -> Self: ...
    def asin_(self, /) -> Self: ...
    def asinh_(self, /) -> Self: ...
    def atan2_(self, other: Any, /) -> Self: ...
    def atan_(self, /) -> Self: ...
    def atanh_(self, /) -> Self: ...
    def bitwise_and_(self, other: Any, /) -> Self: ...
    def bitwise_invert_(self, /) -> Self: ...
    def bitwise_left_shift_(self, other: Any, /) -> Self: ...
    def bitwise_not_(self, /) -> Self: ...
    def bitwise_or_(self, other: Any, /) -> Self: ...
    def bitwise_right_shift_(self, other: Any, /) -> Self: ...
    def bitwise_xor_(self, other: Any, /) -> Self: ...
    def cbrt_(self, /) -> Self: ...
    def ceil_(self, /) -> Self: ...
    def clamp_(self, /, min: Any = None, max: Any = None) -> Self: ...
    def clip_(self, /, min: Any = None, max: Any = None) -> Self: ...
    def conj_(self, /) -> Self: ...
    def conjugate_(self, /) -> Self: ...
    def copy_(self, source: Any) -> Self: ...
    def copysign_(self, other: Any, /) -> Self: ...
    def cos_(self, /) -> Self: ...
    def cosh_(self, /) -> Self: ...
    def div_(self, other: Any, /) -> Self: ...
    def divide_(self, other: Any, /) -> Self: ...
    def eq_(self, other: Any, /) -> Self: ...
    def equal_(self, other: Any, /) -> Self: ...
    def exp_(self, /) -> Self: ...
    def expm1_(self, /) -> Self: ...
    def fill_(self, value: Any) -> Self: ...
    def floor_(self, /) -> Self: ...
    def floor_divide_(self, other: Any, /) -> Self: ...
    def ge_(self, other: Any, /) -> Self: ...
    def greater_(self, other: Any, /) -> Self: ...
    def greater_equal_(self, other: Any, /) -> Self: ...
    def gt_(self, other: Any, /) -> Self: ...
    def hypot_(self, other: Any, /) -> Self: ...
    def imag_(self, /) -> Self: ...
    def isfinite_(self, /) -> Self: ...
    def isinf_(self, /) -> Self: ...
    def isnan_(self, /) -> Self: ...
    def le_(self, other: Any, /) -> Self: ...
    def less_(self, other: Any, /) -> Self: ...
    def less_equal_(self, other: Any, /) -> Self: ...
    def log10_(self, /) -> Self: ...
    def log1p_(self, /) -> Self: ...
    def log2_(self, /) -> Self: ...
    def log_(self, /) -> Self: ...
    def logaddexp_(self, other: Any, /) -> Self: ...
    def logical_and_(self, other: Any, /) -> Self: ...
    def logical_not_(self, /) -> Self: ...
    def logical_or_(self, other: Any, /) -> Self: ...
    def logical_xor_(self, other: Any, /) -> Self: ...
    def lt_(self, other: Any, /) -> Self: ...
    def maximum_(self, other: Any, /) -> Self: ...
    def minimum_(self, other: Any, /) -> Self: ...
    def mod_(self, other: Any, /) -> Self: ...
    def mul_(self, other: Any, /) -> Self: ...
    def multiply_(self, other: Any, /) -> Self: ...
    def ne_(self, other: Any, /) -> Self: ...
    def neg_(self, /) -> Self: ...
    def negative_(self, /) -> Self: ...
    def nextafter_(self, other: Any, /) -> Self: ...
    def normal_(self, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Self: ...
    def not_equal_(self, other: Any, /) -> Self: ...
    def positive_(self, /) -> Self: ...
    def pow_(self, other: Any, /) -> Self: ...
    def power_(self, other: Any, /) -> Self: ...
    def real_(self, /) -> Self: ...
    def reciprocal_(self, /) -> Self: ...
    def relu_(self, /) -> Self: ...
    def remainder_(self, other: Any, /) -> Self: ...
    def round_(self, /) -> Self: ...
    def rsqrt_(self, /) -> Self: ...
    def sgn_(self, /) -> Self: ...
    def sigmoid_(self, /) -> Self: ...
    def sign_(self, /) -> Self: ...
    def signbit_(self, /) -> Self: ...
    def sin_(self, /) -> Self: ...
    def sinh_(self, /) -> Self: ...
    def sqrt_(self, /) -> Self: ...
    def square_(self, /) -> Self: ...
    def sub_(self, other: Any, /) -> Self: ...
    def subtract_(self, other: Any, /) -> Self: ...
    def tan_(self, /) -> Self: ...
    def tanh_(self, /) -> Self: ...
    def true_divide_(self, other: Any, /) -> Self: ...
    def trunc_(self, /) -> Self: ...
    def uniform_(self, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Self: ...
    def zero_(self) -> Self: ...

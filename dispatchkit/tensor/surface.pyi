# mypy: disable-error-code="override, overload-overlap"
"""The operators, methods and properties of arrays, for type checkers and editors.

Written by ``nox -s generated`` from the table of the surface; do not edit.
"""

import numpy as np
from collections.abc import Sequence
from dispatchkit.declare.typing import ArrayOf, DType, Index, NoArray, Shape, Unfit
from dispatchkit.ops.linalg.decompositions import EigResult, EighResult, QRResult
from dispatchkit.ops.linalg.linalg import SlogdetResult
from dispatchkit.ops.linalg.norms import MatrixOrder, SVDResult
from dispatchkit.ops.searching.searching import TopKResult
from dispatchkit.ops.shared import Axis
from dispatchkit.ops.statistics.quantiles import QuantileMethod
from dispatchkit.tensor.tensor import Tensor
from typing import Any, Literal, Never, Protocol, Self, TypeAlias, TypeVar, overload
from typing_extensions import deprecated

__all__ = ["ArrayMethods", "ParameterMethods", "TensorMethods"]

R = TypeVar("R")
C_co = TypeVar("C_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)
# What goes with a tensor and gives one of its class.
Operand: TypeAlias = Tensor | complex | np.ndarray[Any, Any] | np.generic

class Derived(ArrayOf[R_co], Protocol[C_co, R_co]):
    """A tensor of the class `C_co` or a subclass, whose results are of the class `R_co`."""

    def __copy__(self) -> C_co: ...

class ArrayMethods:
    """Mixin with every operator, method and property that calls an operation."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def __array_namespace__(self, *, api_version: str | None = None) -> Any: ...
    def __arrow_array__(self, type: Any = None) -> Any: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...
    def __bool__(self) -> bool: ...
    def __contains__(self, value: Any, /) -> bool: ...
    def __complex__(self) -> complex: ...
    def __float__(self) -> float: ...
    def __index__(self) -> int: ...
    def __int__(self) -> int: ...
    def __iter__(self) -> Any: ...
    def __len__(self) -> int: ...
    def __divmod__(self, other: Any) -> tuple[Any, Any]: ...
    def __rdivmod__(self, other: Any) -> tuple[Any, Any]: ...
    def __round__(self, ndigits: int | None = None) -> Any: ...
    def __trunc__(self) -> int: ...
    def _repr_html_(self) -> str: ...
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
    def tolist(self) -> Any: ...
    def to(self, *args: Any, **kwargs: Any) -> Any: ...
    def matvec(self, x: Any) -> Any: ...
    def rmatvec(self, x: Any) -> Any: ...
    def __hash__(self) -> int: ...
    def astype(self, dtype: DType, /, copy: bool = True, device: Any = None) -> Any:
        """Convert an array to a dtype.

        >>> import dispatchkit as dk
        >>> dk.astype(dk.tensor([1.7, -1.7]), dk.int64)
        tensor([ 1, -1])
        """
    def clone(self, /) -> Any:
        """Copy an array; gradients flow through.

        >>> import dispatchkit as dk
        >>> dk.clone(dk.ones(2))
        tensor([1., 1.])
        """
    def copy(self, /) -> Any:
        """Copy an array; gradients flow through.

        >>> import dispatchkit as dk
        >>> dk.clone(dk.ones(2))
        tensor([1., 1.])
        """
    def __add__(self, other: object, /) -> Any: ...
    def __radd__(self, other: object, /) -> Any: ...
    def add(self, other: object, /) -> Any:
        """Add two arrays: ``x1 + x2``.

        >>> import dispatchkit as dk
        >>> dk.add(dk.asarray([1.0, 2.0]), dk.asarray([3.0, 4.0]))
        tensor([4., 6.])
        """
    def __sub__(self, other: object, /) -> Any: ...
    def __rsub__(self, other: object, /) -> Any: ...
    def subtract(self, other: object, /) -> Any:
        """Subtract one array from another: ``x1 - x2``.

        >>> import dispatchkit as dk
        >>> dk.subtract(dk.asarray([1.0, 2.0]), dk.asarray([3.0, 1.0]))
        tensor([-2.,  1.])
        """
    def __mul__(self, other: object, /) -> Any: ...
    def __rmul__(self, other: object, /) -> Any: ...
    def multiply(self, other: object, /) -> Any:
        """Multiply two arrays element by element: ``x1 * x2``.

        >>> import dispatchkit as dk
        >>> dk.multiply(dk.asarray([1.0, 2.0]), 3)
        tensor([3., 6.])
        """
    def __truediv__(self, other: object, /) -> Any: ...
    def __rtruediv__(self, other: object, /) -> Any: ...
    def divide(self, other: object, /) -> Any:
        """Divide one array by another: ``x1 / x2``.

        >>> import dispatchkit as dk
        >>> dk.divide(dk.asarray([2, 4]), 2)
        tensor([1., 2.])
        """
    def __floordiv__(self, other: object, /) -> Any: ...
    def __rfloordiv__(self, other: object, /) -> Any: ...
    def floor_divide(self, other: object, /) -> Any:
        """Divide and round down: ``x1 // x2``.

        >>> import dispatchkit as dk
        >>> dk.floor_divide(dk.asarray([7, -7]), 2)
        tensor([ 3, -4])
        """
    def __mod__(self, other: object, /) -> Any: ...
    def __rmod__(self, other: object, /) -> Any: ...
    def remainder(self, other: object, /) -> Any:
        """Return what division leaves, with the sign of the divisor: ``x1 % x2``.

        >>> import dispatchkit as dk
        >>> dk.remainder(dk.asarray([7, -7]), 4)
        tensor([3, 1])
        """
    def __neg__(self, /) -> Any: ...
    def negative(self, /) -> Any:
        """Change the sign of each element: ``-x``.

        >>> import dispatchkit as dk
        >>> dk.negative(dk.asarray([1.0, -2.0]))
        tensor([-1.,  2.])
        """
    def __pos__(self, /) -> Any: ...
    def positive(self, /) -> Any:
        """Return a copy of each element: ``+x``.

        >>> import dispatchkit as dk
        >>> dk.positive(dk.asarray([1.0, -2.0]))
        tensor([ 1., -2.])
        """
    def sub(self, other: object, /) -> Any:
        """Subtract one array from another: ``x1 - x2``.

        >>> import dispatchkit as dk
        >>> dk.subtract(dk.asarray([1.0, 2.0]), dk.asarray([3.0, 1.0]))
        tensor([-2.,  1.])
        """
    def mul(self, other: object, /) -> Any:
        """Multiply two arrays element by element: ``x1 * x2``.

        >>> import dispatchkit as dk
        >>> dk.multiply(dk.asarray([1.0, 2.0]), 3)
        tensor([3., 6.])
        """
    def div(self, other: object, /) -> Any:
        """Divide one array by another: ``x1 / x2``.

        >>> import dispatchkit as dk
        >>> dk.divide(dk.asarray([2, 4]), 2)
        tensor([1., 2.])
        """
    def true_divide(self, other: object, /) -> Any:
        """Divide one array by another: ``x1 / x2``.

        >>> import dispatchkit as dk
        >>> dk.divide(dk.asarray([2, 4]), 2)
        tensor([1., 2.])
        """
    def mod(self, other: object, /) -> Any:
        """Return what division leaves, with the sign of the divisor: ``x1 % x2``.

        >>> import dispatchkit as dk
        >>> dk.remainder(dk.asarray([7, -7]), 4)
        tensor([3, 1])
        """
    def neg(self, /) -> Any:
        """Change the sign of each element: ``-x``.

        >>> import dispatchkit as dk
        >>> dk.negative(dk.asarray([1.0, -2.0]))
        tensor([-1.,  2.])
        """
    def __abs__(self, /) -> Any: ...
    def abs(self, /) -> Any:
        """Return the magnitude of each element.

        >>> import dispatchkit as dk
        >>> dk.abs(dk.asarray([-1.0, 2.0]))
        tensor([1., 2.])
        """
    def sign(self, /) -> Any:
        """Return -1, 0 or 1 for each real element, ``x / abs(x)`` or 0 for each complex one.

        >>> import dispatchkit as dk
        >>> dk.sign(dk.asarray([-3.0, 0.0, 2.0]))
        tensor([-1.,  0.,  1.])
        """
    def signbit(self, /) -> Any:
        """Return whether the sign bit of each element is set: below zero, for ``-0.0``, and for some NaNs.

        >>> import dispatchkit as dk
        >>> dk.signbit(dk.asarray([-1.0, -0.0, 0.0]))
        tensor([ True,  True, False])
        """
    def copysign(self, other: object, /) -> Any:
        """Give the elements of one array the signs of those of another.

        >>> import dispatchkit as dk
        >>> dk.copysign(dk.asarray([1.0, -2.0]), -1.0)
        tensor([-1., -2.])
        """
    def nextafter(self, other: object, /) -> Any:
        """Return the next floating-point number on the way from each element to another.

        >>> import dispatchkit as dk
        >>> dk.nextafter(dk.asarray([1.0]), 2.0) - 1.0 < 1e-15
        tensor([ True])
        """
    def floor(self, /) -> Any:
        """Round each element down.

        >>> import dispatchkit as dk
        >>> dk.floor(dk.asarray([-1.5, 1.5]))
        tensor([-2.,  1.])
        """
    def ceil(self, /) -> Any:
        """Round each element up.

        >>> import dispatchkit as dk
        >>> dk.ceil(dk.asarray([-1.5, 1.5]))
        tensor([-1.,  2.])
        """
    def trunc(self, /) -> Any:
        """Round each element towards zero.

        >>> import dispatchkit as dk
        >>> dk.trunc(dk.asarray([-1.5, 1.5]))
        tensor([-1.,  1.])
        """
    def round(self, /) -> Any:
        """Round each element to the nearest integer, halves to the even one.

        >>> import dispatchkit as dk
        >>> dk.round(dk.asarray([0.5, 1.5, 2.3]))
        tensor([0., 2., 2.])
        """
    def absolute(self, /) -> Any:
        """Return the magnitude of each element.

        >>> import dispatchkit as dk
        >>> dk.abs(dk.asarray([-1.0, 2.0]))
        tensor([1., 2.])
        """
    def sgn(self, /) -> Any:
        """Return -1, 0 or 1 for each real element, ``x / abs(x)`` or 0 for each complex one.

        >>> import dispatchkit as dk
        >>> dk.sign(dk.asarray([-3.0, 0.0, 2.0]))
        tensor([-1.,  0.,  1.])
        """
    def __eq__(self, other: object, /) -> Any: ...
    def equal(self, other: object, /) -> Any:
        """Return whether each two elements are equal: ``x1 == x2``.

        >>> import dispatchkit as dk
        >>> dk.equal(dk.asarray([1, 2, 3]), 2)
        tensor([False,  True, False])
        """
    def __ne__(self, other: object, /) -> Any: ...
    def not_equal(self, other: object, /) -> Any:
        """Return whether each two elements differ: ``x1 != x2``.

        >>> import dispatchkit as dk
        >>> dk.not_equal(dk.asarray([1, 2, 3]), 2)
        tensor([ True, False,  True])
        """
    def __lt__(self, other: object, /) -> Any: ...
    def less(self, other: object, /) -> Any:
        """Return whether each element is below another: ``x1 < x2``.

        >>> import dispatchkit as dk
        >>> dk.less(dk.asarray([1, 2, 3]), 2)
        tensor([ True, False, False])
        """
    def __le__(self, other: object, /) -> Any: ...
    def less_equal(self, other: object, /) -> Any:
        """Return whether each element is at most another: ``x1 <= x2``.

        >>> import dispatchkit as dk
        >>> dk.less_equal(dk.asarray([1, 2, 3]), 2)
        tensor([ True,  True, False])
        """
    def __gt__(self, other: object, /) -> Any: ...
    def greater(self, other: object, /) -> Any:
        """Return whether each element is above another: ``x1 > x2``.

        >>> import dispatchkit as dk
        >>> dk.greater(dk.asarray([1, 2, 3]), 2)
        tensor([False, False,  True])
        """
    def __ge__(self, other: object, /) -> Any: ...
    def greater_equal(self, other: object, /) -> Any:
        """Return whether each element is at least another: ``x1 >= x2``.

        >>> import dispatchkit as dk
        >>> dk.greater_equal(dk.asarray([1, 2, 3]), 2)
        tensor([False,  True,  True])
        """
    def logical_and(self, other: object, /) -> Any:
        """Return whether both elements are true.

        >>> import dispatchkit as dk
        >>> dk.logical_and(dk.asarray([True, True, False]), dk.asarray([True, False, False]))
        tensor([ True, False, False])
        """
    def logical_or(self, other: object, /) -> Any:
        """Return whether at least one of two elements is true.

        >>> import dispatchkit as dk
        >>> dk.logical_or(dk.asarray([True, True, False]), dk.asarray([True, False, False]))
        tensor([ True,  True, False])
        """
    def logical_xor(self, other: object, /) -> Any:
        """Return whether exactly one of two elements is true.

        >>> import dispatchkit as dk
        >>> dk.logical_xor(dk.asarray([True, True, False]), dk.asarray([True, False, False]))
        tensor([False,  True, False])
        """
    def logical_not(self, /) -> Any:
        """Return whether each element is false.

        >>> import dispatchkit as dk
        >>> dk.logical_not(dk.asarray([True, False]))
        tensor([False,  True])
        """
    def isfinite(self, /) -> Any:
        """Return whether each element is neither infinite nor NaN.

        >>> import dispatchkit as dk
        >>> dk.isfinite(dk.asarray([1.0, dk.inf, dk.nan]))
        tensor([ True, False, False])
        """
    def isinf(self, /) -> Any:
        """Return whether each element is infinite.

        >>> import dispatchkit as dk
        >>> dk.isinf(dk.asarray([1.0, dk.inf, dk.nan]))
        tensor([False,  True, False])
        """
    def isnan(self, /) -> Any:
        """Return whether each element is NaN, not a number.

        >>> import dispatchkit as dk
        >>> dk.isnan(dk.asarray([1.0, dk.inf, dk.nan]))
        tensor([False, False,  True])
        """
    def eq(self, other: object, /) -> Any:
        """Return whether each two elements are equal: ``x1 == x2``.

        >>> import dispatchkit as dk
        >>> dk.equal(dk.asarray([1, 2, 3]), 2)
        tensor([False,  True, False])
        """
    def ne(self, other: object, /) -> Any:
        """Return whether each two elements differ: ``x1 != x2``.

        >>> import dispatchkit as dk
        >>> dk.not_equal(dk.asarray([1, 2, 3]), 2)
        tensor([ True, False,  True])
        """
    def lt(self, other: object, /) -> Any:
        """Return whether each element is below another: ``x1 < x2``.

        >>> import dispatchkit as dk
        >>> dk.less(dk.asarray([1, 2, 3]), 2)
        tensor([ True, False, False])
        """
    def le(self, other: object, /) -> Any:
        """Return whether each element is at most another: ``x1 <= x2``.

        >>> import dispatchkit as dk
        >>> dk.less_equal(dk.asarray([1, 2, 3]), 2)
        tensor([ True,  True, False])
        """
    def gt(self, other: object, /) -> Any:
        """Return whether each element is above another: ``x1 > x2``.

        >>> import dispatchkit as dk
        >>> dk.greater(dk.asarray([1, 2, 3]), 2)
        tensor([False, False,  True])
        """
    def ge(self, other: object, /) -> Any:
        """Return whether each element is at least another: ``x1 >= x2``.

        >>> import dispatchkit as dk
        >>> dk.greater_equal(dk.asarray([1, 2, 3]), 2)
        tensor([False,  True,  True])
        """
    def __and__(self, other: object, /) -> Any: ...
    def __rand__(self, other: object, /) -> Any: ...
    def bitwise_and(self, other: object, /) -> Any:
        """Keep the bits that are set in both elements: ``x1 & x2``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_and(dk.asarray([4, 5, 6]), 5)
        tensor([4, 5, 4])
        """
    def __or__(self, other: object, /) -> Any: ...
    def __ror__(self, other: object, /) -> Any: ...
    def bitwise_or(self, other: object, /) -> Any:
        """Set the bits that are set in one of two elements: ``x1 | x2``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_or(dk.asarray([4, 5, 6]), 5)
        tensor([5, 5, 7])
        """
    def __xor__(self, other: object, /) -> Any: ...
    def __rxor__(self, other: object, /) -> Any: ...
    def bitwise_xor(self, other: object, /) -> Any:
        """Set the bits that differ between two elements: ``x1 ^ x2``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_xor(dk.asarray([4, 5, 6]), 5)
        tensor([1, 0, 3])
        """
    def __invert__(self, /) -> Any: ...
    def bitwise_invert(self, /) -> Any:
        """Invert each bit: ``~x``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_invert(dk.asarray([0, 1, 2]))
        tensor([-1, -2, -3])
        """
    def __lshift__(self, other: object, /) -> Any: ...
    def __rlshift__(self, other: object, /) -> Any: ...
    def bitwise_left_shift(self, other: object, /) -> Any:
        """Shift the bits of each element to the left, filling with zeros: ``x1 << x2``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_left_shift(dk.asarray([4, 5, 6]), 1)
        tensor([ 8, 10, 12])
        """
    def __rshift__(self, other: object, /) -> Any: ...
    def __rrshift__(self, other: object, /) -> Any: ...
    def bitwise_right_shift(self, other: object, /) -> Any:
        """Shift the bits of each element to the right, filling with the sign: ``x1 >> x2``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_right_shift(dk.asarray([4, 5, 6]), 1)
        tensor([2, 2, 3])
        """
    def bitwise_not(self, /) -> Any:
        """Invert each bit: ``~x``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_invert(dk.asarray([0, 1, 2]))
        tensor([-1, -2, -3])
        """
    def maximum(self, other: object, /) -> Any:
        """Return the larger of each two elements, NaN where one of them is.

        >>> import dispatchkit as dk
        >>> dk.maximum(dk.asarray([1.0, 3.0]), dk.asarray([2.0, 2.0]))
        tensor([2., 3.])
        """
    def minimum(self, other: object, /) -> Any:
        """Return the smaller of each two elements, NaN where one of them is.

        >>> import dispatchkit as dk
        >>> dk.minimum(dk.asarray([1.0, 3.0]), dk.asarray([2.0, 2.0]))
        tensor([1., 2.])
        """
    def relu(self, /) -> Any:
        """Replace negative elements by zero.

        >>> import dispatchkit as dk
        >>> dk.relu(dk.asarray([-1.0, 2.0]))
        tensor([0., 2.])
        """
    def clip(self, /, min: Any = None, max: Any = None) -> Any:
        """Bring each element into the range from `min` to `max`.

        >>> import dispatchkit as dk
        >>> dk.clip(dk.asarray([-1.0, 1.0, 3.0]), 0, 2)
        tensor([0., 1., 2.])
        """
    def clamp(self, /, min: Any = None, max: Any = None) -> Any:
        """Bring each element into the range from `min` to `max`.

        >>> import dispatchkit as dk
        >>> dk.clip(dk.asarray([-1.0, 1.0, 3.0]), 0, 2)
        tensor([0., 1., 2.])
        """
    def exp(self, /) -> Any:
        """Raise e to the power of each element.

        >>> import dispatchkit as dk
        >>> dk.exp(dk.asarray([0.0, 1.0]))
        tensor([1.0000, 2.7183])
        """
    def expm1(self, /) -> Any:
        """Raise e to the power of each element and subtract one, accurately near 0.

        >>> import dispatchkit as dk
        >>> dk.expm1(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 1.7183])
        """
    def log(self, /) -> Any:
        """Return the natural logarithm of each element.

        >>> import dispatchkit as dk
        >>> dk.log(dk.asarray([1.0, 2.0]))
        tensor([0.0000, 0.6931])
        """
    def log1p(self, /) -> Any:
        """Return the natural logarithm of one plus each element, accurately near 0.

        >>> import dispatchkit as dk
        >>> dk.log1p(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.6931])
        """
    def log2(self, /) -> Any:
        """Return the logarithm to the base 2 of each element.

        >>> import dispatchkit as dk
        >>> dk.log2(dk.asarray([1.0, 8.0]))
        tensor([0., 3.])
        """
    def log10(self, /) -> Any:
        """Return the logarithm to the base 10 of each element.

        >>> import dispatchkit as dk
        >>> dk.log10(dk.asarray([1.0, 100.0]))
        tensor([0., 2.])
        """
    def logaddexp(self, other: object, /) -> Any:
        """Add numbers that are given by their logarithms: ``log(exp(x1) + exp(x2))`` without overflow.

        >>> import dispatchkit as dk
        >>> dk.logaddexp(dk.asarray([1000.0]), 1000.0)
        tensor([1000.6931])
        """
    def sigmoid(self, /) -> Any:
        """Return the logistic function of each element: ``1 / (1 + exp(-x))``, for real numbers without overflow.

        >>> import dispatchkit as dk
        >>> dk.sigmoid(dk.asarray([0.0, 2.0]))
        tensor([0.5000, 0.8808])
        """
    @property
    def real(self) -> Any:
        """Return the real part of each element.

        >>> import dispatchkit as dk
        >>> dk.real(dk.asarray([1 + 2j]))
        tensor([1.])
        """
    @property
    def imag(self) -> Any:
        """Return the imaginary part of each element.

        >>> import dispatchkit as dk
        >>> dk.imag(dk.asarray([1 + 2j]))
        tensor([2.])
        """
    def conj(self, /) -> Any:
        """Return the complex conjugate of each element.

        >>> import dispatchkit as dk
        >>> dk.conj(dk.asarray([1 + 2j]))
        tensor([1.-2.j])
        """
    def conjugate(self, /) -> Any:
        """Return the complex conjugate of each element.

        >>> import dispatchkit as dk
        >>> dk.conj(dk.asarray([1 + 2j]))
        tensor([1.-2.j])
        """
    def __pow__(self, other: object, /) -> Any: ...
    def __rpow__(self, other: object, /) -> Any: ...
    def pow(self, other: object, /) -> Any:
        """Raise to a power: ``x1 ** x2``.

        >>> import dispatchkit as dk
        >>> dk.pow(dk.asarray([1.0, 2.0, 3.0]), 2)
        tensor([1., 4., 9.])
        """
    def square(self, /) -> Any:
        """Multiply each element by itself.

        >>> import dispatchkit as dk
        >>> dk.square(dk.asarray([1.0, -2.0]))
        tensor([1., 4.])
        """
    def reciprocal(self, /) -> Any:
        """Return one divided by each element.

        >>> import dispatchkit as dk
        >>> dk.reciprocal(dk.asarray([0.5, -1.0]))
        tensor([ 2., -1.])
        """
    def sqrt(self, /) -> Any:
        """Return the square root of each element.

        >>> import dispatchkit as dk
        >>> dk.sqrt(dk.asarray([1.0, 4.0]))
        tensor([1., 2.])
        """
    def cbrt(self, /) -> Any:
        """Return the cube root of each element.

        >>> import dispatchkit as dk
        >>> dk.cbrt(dk.asarray([2.0, -3.0]))
        tensor([ 1.2599, -1.4422])
        >>> dk.cbrt(dk.asarray(1000.0))
        tensor(10.)
        """
    def rsqrt(self, /) -> Any:
        """Return one divided by the square root of each element.

        >>> import dispatchkit as dk
        >>> dk.rsqrt(dk.asarray([0.25, 1.0]))
        tensor([2., 1.])
        """
    def hypot(self, other: object, /) -> Any:
        """Return the length of the hypotenuse over two legs: ``sqrt(x1**2 + x2**2)`` without overflow.

        >>> import dispatchkit as dk
        >>> dk.hypot(dk.asarray([3.0, 5.0]), dk.asarray([4.0, 12.0]))
        tensor([ 5., 13.])
        """
    def power(self, other: object, /) -> Any:
        """Raise to a power: ``x1 ** x2``.

        >>> import dispatchkit as dk
        >>> dk.pow(dk.asarray([1.0, 2.0, 3.0]), 2)
        tensor([1., 4., 9.])
        """
    def sin(self, /) -> Any:
        """Return the sine of each element.

        >>> import dispatchkit as dk
        >>> dk.sin(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.8415])
        """
    def cos(self, /) -> Any:
        """Return the cosine of each element.

        >>> import dispatchkit as dk
        >>> dk.cos(dk.asarray([0.0, 1.0]))
        tensor([1.0000, 0.5403])
        """
    def tan(self, /) -> Any:
        """Return the tangent of each element.

        >>> import dispatchkit as dk
        >>> dk.tan(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 1.5574])
        """
    def asin(self, /) -> Any:
        """Return the inverse sine of each element.

        >>> import dispatchkit as dk
        >>> dk.asin(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 1.5708])
        """
    def acos(self, /) -> Any:
        """Return the inverse cosine of each element.

        >>> import dispatchkit as dk
        >>> dk.acos(dk.asarray([0.0, 1.0]))
        tensor([1.5708, 0.0000])
        """
    def atan(self, /) -> Any:
        """Return the inverse tangent of each element.

        >>> import dispatchkit as dk
        >>> dk.atan(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.7854])
        """
    def atan2(self, other: object, /) -> Any:
        """Return the angle between the positive first axis and the point ``(x2, x1)``.

        >>> import dispatchkit as dk
        >>> dk.atan2(dk.asarray([1.0, -1.0]), dk.asarray([1.0, 0.0]))
        tensor([ 0.7854, -1.5708])
        """
    def arcsin(self, /) -> Any:
        """Return the inverse sine of each element.

        >>> import dispatchkit as dk
        >>> dk.asin(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 1.5708])
        """
    def arccos(self, /) -> Any:
        """Return the inverse cosine of each element.

        >>> import dispatchkit as dk
        >>> dk.acos(dk.asarray([0.0, 1.0]))
        tensor([1.5708, 0.0000])
        """
    def arctan(self, /) -> Any:
        """Return the inverse tangent of each element.

        >>> import dispatchkit as dk
        >>> dk.atan(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.7854])
        """
    def arctan2(self, other: object, /) -> Any:
        """Return the angle between the positive first axis and the point ``(x2, x1)``.

        >>> import dispatchkit as dk
        >>> dk.atan2(dk.asarray([1.0, -1.0]), dk.asarray([1.0, 0.0]))
        tensor([ 0.7854, -1.5708])
        """
    def sinh(self, /) -> Any:
        """Return the hyperbolic sine of each element.

        >>> import dispatchkit as dk
        >>> dk.sinh(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 1.1752])
        """
    def cosh(self, /) -> Any:
        """Return the hyperbolic cosine of each element.

        >>> import dispatchkit as dk
        >>> dk.cosh(dk.asarray([0.0, 1.0]))
        tensor([1.0000, 1.5431])
        """
    def tanh(self, /) -> Any:
        """Return the hyperbolic tangent of each element.

        >>> import dispatchkit as dk
        >>> dk.tanh(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.7616])
        """
    def asinh(self, /) -> Any:
        """Return the inverse hyperbolic sine of each element.

        >>> import dispatchkit as dk
        >>> dk.asinh(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.8814])
        """
    def acosh(self, /) -> Any:
        """Return the inverse hyperbolic cosine of each element.

        >>> import dispatchkit as dk
        >>> dk.acosh(dk.asarray([1.0, 3.0]))
        tensor([0.0000, 1.7627])
        """
    def atanh(self, /) -> Any:
        """Return the inverse hyperbolic tangent of each element.

        >>> import dispatchkit as dk
        >>> dk.atanh(dk.asarray([0.0, 0.5]))
        tensor([0.0000, 0.5493])
        """
    def arcsinh(self, /) -> Any:
        """Return the inverse hyperbolic sine of each element.

        >>> import dispatchkit as dk
        >>> dk.asinh(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.8814])
        """
    def arccosh(self, /) -> Any:
        """Return the inverse hyperbolic cosine of each element.

        >>> import dispatchkit as dk
        >>> dk.acosh(dk.asarray([1.0, 3.0]))
        tensor([0.0000, 1.7627])
        """
    def arctanh(self, /) -> Any:
        """Return the inverse hyperbolic tangent of each element.

        >>> import dispatchkit as dk
        >>> dk.atanh(dk.asarray([0.0, 0.5]))
        tensor([0.0000, 0.5493])
        """
    def deg2rad(self, /) -> Any:
        """Convert angles from degrees to radians.

        >>> import dispatchkit as dk
        >>> dk.deg2rad(dk.asarray([180.0, 90.0]))
        tensor([3.1416, 1.5708])
        >>> dk.deg2rad(dk.types.QuantityTensor(180.0, "deg"))
        QuantityTensor(3.1416, 'rad')
        """
    def rad2deg(self, /) -> Any:
        """Convert angles from radians to degrees.

        >>> import dispatchkit as dk
        >>> dk.rad2deg(dk.asarray([1.0, 2.0]))
        tensor([ 57.2958, 114.5916])
        >>> dk.rad2deg(dk.types.QuantityTensor(0.5, "turn"))
        QuantityTensor(180., 'deg')
        """
    def __getitem__(self, key: Index, /) -> Any: ...
    def __setitem__(self, key: Index, value: Any, /) -> None: ...
    def take(self, indices: Any, /, axis: int | None = None) -> Any:
        """Take elements along an axis by their indices.

        >>> import dispatchkit as dk
        >>> dk.take(dk.asarray([1.0, 2.0, 3.0]), dk.asarray([2, 0]))
        tensor([3., 1.])
        """
    def gather(self, /, axis: int, indices: Any) -> Any:
        """Take elements along an axis, at each place of an array of indices.

        >>> import dispatchkit as dk
        >>> dk.gather(dk.asarray([[1.0, 2.0], [3.0, 4.0]]), 1, dk.asarray([[1], [0]]))
        tensor([[2.],
                [3.]])
        """
    def scatter_add(self, /, axis: int, indices: Any, src: Any) -> Any:
        """Add elements to those of an array that indices along an axis name.

        >>> import dispatchkit as dk
        >>> dk.scatter_add(dk.zeros(3), 0, dk.asarray([0, 2, 2]), dk.asarray([1.0, 2.0, 3.0]))
        tensor([1., 0., 5.])
        """
    def masked_fill(self, /, mask: Any, value: Any | float) -> Any:
        """Replace the elements of an array at which a mask is true by a number.

        >>> import dispatchkit as dk
        >>> dk.masked_fill(dk.asarray([1.0, 2.0]), dk.asarray([True, False]), -dk.inf)
        tensor([-inf,   2.])
        """
    def diag(self, /, offset: int = 0) -> Any:
        """Make a matrix of its diagonal, or take the diagonal of a matrix.

        >>> import dispatchkit as dk
        >>> dk.diag(dk.tensor([1.0, 2.0]))
        tensor([[1., 0.],
                [0., 2.]])
        >>> dk.diag(dk.tensor([[1.0, 2.0], [3.0, 4.0]]), offset=1)
        tensor([2.])
        """
    def tril(self, /, k: int = 0) -> Any:
        """Keep the lower triangle: the elements above a diagonal become 0.

        >>> import dispatchkit as dk
        >>> dk.tril(dk.asarray([[1, 2], [3, 4]]))
        tensor([[1, 0],
                [3, 4]])
        """
    def triu(self, /, k: int = 0) -> Any:
        """Keep the upper triangle: the elements below a diagonal become 0.

        >>> import dispatchkit as dk
        >>> dk.triu(dk.asarray([[1, 2], [3, 4]]))
        tensor([[1, 2],
                [0, 4]])
        """
    def trace(self, /, offset: int = 0, dtype: DType = None) -> Any:
        """Sum of the diagonal elements of matrices.

        >>> import dispatchkit as dk
        >>> dk.trace(dk.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor(5.)
        """
    def diagonal(self, /, offset: int = 0) -> Any:
        """Diagonal elements of matrices.

        >>> import dispatchkit as dk
        >>> dk.diagonal(dk.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([1., 4.])
        """
    def cross(self, x2: Any, /, axis: int = -1) -> Any:
        """Cross product of vectors of three elements.

        >>> import dispatchkit as dk
        >>> dk.linalg.cross(dk.tensor([1.0, 0.0, 0.0]), dk.tensor([0.0, 1.0, 0.0]))
        tensor([0., 0., 1.])
        """
    def outer(self, other: object, /) -> Any:
        """Multiply every element of one vector with every element of another.

        >>> import dispatchkit as dk
        >>> dk.outer(dk.tensor([1.0, 2.0]), dk.tensor([1.0, 0.0, -1.0]))
        tensor([[ 1.,  0., -1.],
                [ 2.,  0., -2.]])
        """
    def norm(self, /, ord: MatrixOrder | None = None, axis: Axis = None, keepdims: bool = False) -> Any:
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
    def pinverse(self, /, rtol: float | Any | None = None) -> Any:
        """Moore-Penrose inverse of matrices.

        >>> import dispatchkit as dk
        >>> dk.linalg.pinv(dk.tensor([[2.0], [0.0]]))
        tensor([[0.5000, 0.0000]])
        """
    def __matmul__(self, other: object, /) -> Any: ...
    def __rmatmul__(self, other: object, /) -> Any: ...
    def matmul(self, other: object, /) -> Any:
        """Matrix product.

        >>> import dispatchkit as dk
        >>> dk.matmul(dk.tensor([[1.0, 2.0], [3.0, 4.0]]), dk.tensor([1.0, 1.0]))
        tensor([3., 7.])
        """
    def vecdot(self, x2: Any, /, axis: int = -1) -> Any:
        """Sum the products of the elements of vectors, the first conjugated.

        >>> import dispatchkit as dk
        >>> dk.vecdot(dk.tensor([[1.0, 2.0], [3.0, 4.0]]), dk.tensor([1.0, -1.0]))
        tensor([-1., -1.])
        """
    def mm(self, other: object, /) -> Any:
        """Multiply two matrices, and nothing but matrices.

        >>> import dispatchkit as dk
        >>> dk.mm(dk.tensor([[1.0, 2.0]]), dk.tensor([[3.0], [4.0]]))
        tensor([[11.]])
        """
    def mv(self, other: object, /) -> Any:
        """Multiply a matrix with a vector.

        >>> import dispatchkit as dk
        >>> dk.mv(dk.tensor([[1.0, 2.0], [3.0, 4.0]]), dk.tensor([1.0, 1.0]))
        tensor([3., 7.])
        """
    def bmm(self, other: object, /) -> Any:
        """Multiply two batches of matrices, pair by pair.

        >>> import dispatchkit as dk
        >>> dk.bmm(dk.ones((2, 1, 3)), dk.ones((2, 3, 1))).shape
        (2, 1, 1)
        """
    def dot(self, other: object, /) -> Any:
        """Sum the products of the elements of two vectors, without conjugation.

        >>> import dispatchkit as dk
        >>> dk.dot(dk.tensor([1.0, 2.0]), dk.tensor([3.0, 4.0]))
        tensor(11.)
        """
    @overload
    def permute_dims(self, /, axes: Sequence[int]) -> Any:
        """Put the axes in another order.

        >>> import dispatchkit as dk
        >>> dk.permute_dims(dk.zeros((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
        """
    @overload
    def permute_dims(self, /, *axes: int) -> Any: ...
    @overload
    def permute(self, /, axes: Sequence[int]) -> Any:
        """Put the axes in another order.

        >>> import dispatchkit as dk
        >>> dk.permute_dims(dk.zeros((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
        """
    @overload
    def permute(self, /, *axes: int) -> Any: ...
    @property
    def mT(self) -> Any:
        """Swap the last two axes.

        >>> import dispatchkit as dk
        >>> dk.zeros((4, 2, 3)).mT.shape
        (4, 3, 2)
        """
    def t(self, /) -> Any:
        """Transpose a matrix; what has fewer than two axes stays as it is.

        >>> import dispatchkit as dk
        >>> dk.zeros((2, 3)).T.shape
        (3, 2)
        """
    @property
    def T(self) -> Any:
        """Transpose a matrix; what has fewer than two axes stays as it is.

        >>> import dispatchkit as dk
        >>> dk.zeros((2, 3)).T.shape
        (3, 2)
        """
    def transpose(self, /, axes: int | Sequence[int] | None = None, *more: int) -> Any:
        """Reverse the axes, put them in another order, or swap two.

        >>> import dispatchkit as dk
        >>> x = dk.zeros((2, 3, 4))
        >>> dk.transpose(x).shape, dk.transpose(x, (1, 0, 2)).shape, dk.transpose(x, 0, 2).shape
        ((4, 3, 2), (3, 2, 4), (4, 3, 2))
        """
    def swapaxes(self, axis1: int, axis2: int, /) -> Any:
        """Swap two axes.

        >>> import dispatchkit as dk
        >>> dk.swapaxes(dk.zeros((2, 3, 4)), 0, 2).shape
        (4, 3, 2)
        """
    def moveaxis(self, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Any:
        """Move axes to other places; the others keep their order.

        >>> import dispatchkit as dk
        >>> dk.moveaxis(dk.zeros((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
        """
    @overload
    def flip(self, /, axis: Axis = None) -> Any:
        """Reverse the order of the elements.

        >>> import dispatchkit as dk
        >>> dk.flip(dk.asarray([1, 2, 3]))
        tensor([3, 2, 1])
        """
    @overload
    def flip(self, /, *axis: int) -> Any: ...
    def roll(self, /, shift: int | tuple[int, ...], axis: Axis = None) -> Any:
        """Shift the elements; those that leave at the end come in at the beginning.

        >>> import dispatchkit as dk
        >>> dk.roll(dk.asarray([1, 2, 3]), 1)
        tensor([3, 1, 2])
        """
    def movedim(self, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Any:
        """Move axes to other places; the others keep their order.

        >>> import dispatchkit as dk
        >>> dk.moveaxis(dk.zeros((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
        """
    def swapdims(self, axis1: int, axis2: int, /) -> Any:
        """Swap two axes.

        >>> import dispatchkit as dk
        >>> dk.swapaxes(dk.zeros((2, 3, 4)), 0, 2).shape
        (4, 3, 2)
        """
    @overload
    def reshape(self, /, shape: Shape, copy: bool | None = None) -> Any:
        """Arrange the elements in another shape.

        >>> import dispatchkit as dk
        >>> dk.reshape(dk.asarray([1, 2, 3, 4]), (2, 2))
        tensor([[1, 2],
                [3, 4]])
        """
    @overload
    def reshape(self, /, *shape: int, copy: bool | None = None) -> Any: ...
    @overload
    def view(self, /, shape: Shape | DType) -> Any:
        """Look at the elements in another shape, or the memory in another dtype, without a copy.

        >>> import dispatchkit as dk
        >>> dk.zeros((2, 3)).view(-1, 2).shape
        (3, 2)
        >>> dk.asarray([1 + 2j, 3 - 1j]).view(dk.float64)
        tensor([ 1.,  2.,  3., -1.])
        """
    @overload
    def view(self, /, *shape: int) -> Any: ...
    def flatten(self, /, start_dim: int = 0, end_dim: int = -1) -> Any:
        """Make one axis of several neighbouring ones, or of all.

        >>> import dispatchkit as dk
        >>> dk.flatten(dk.zeros((2, 3, 4)), 1).shape
        (2, 12)
        """
    def ravel(self, /) -> Any:
        """Make one axis of all.

        >>> import dispatchkit as dk
        >>> dk.ravel(dk.asarray([[1, 2], [3, 4]]))
        tensor([1, 2, 3, 4])
        """
    def squeeze(self, /, axis: Axis = None) -> Any:
        """Drop axes of length 1.

        >>> import dispatchkit as dk
        >>> dk.squeeze(dk.zeros((1, 3, 1)), axis=0).shape
        (3, 1)
        """
    def expand_dims(self, /, axis: int | tuple[int, ...]) -> Any:
        """Insert axes of length 1.

        >>> import dispatchkit as dk
        >>> dk.expand_dims(dk.zeros((2, 3)), axis=1).shape
        (2, 1, 3)
        """
    def unsqueeze(self, /, dim: int) -> Any:
        """Insert one axis of length 1.

        >>> import dispatchkit as dk
        >>> dk.unsqueeze(dk.zeros((2, 3)), -1).shape
        (2, 3, 1)
        """
    def broadcast_to(self, /, shape: Shape) -> Any:
        """Repeat an array along axes of length 1, and along new leading ones, without a copy.

        >>> import dispatchkit as dk
        >>> dk.broadcast_to(dk.asarray([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
        """
    @overload
    def expand(self, /, shape: Sequence[int]) -> Any:
        """Repeat an array along axes of length 1, and along new leading ones, without a copy.

        >>> import dispatchkit as dk
        >>> dk.expand(dk.zeros((3, 1)), (-1, 4)).shape
        (3, 4)
        """
    @overload
    def expand(self, /, *shape: int) -> Any: ...
    def chunk(self, chunks: int, /, axis: int = 0) -> tuple[Any, ...]:
        """Take an array apart along an axis, into so many parts or less.

        >>> import dispatchkit as dk
        >>> dk.chunk(dk.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
        """
    def kron(self, other: object, /) -> Any:
        """Kronecker product: a block of the second array for each element of the first.

        >>> import dispatchkit as dk
        >>> dk.kron(dk.asarray([1, 10]), dk.asarray([1, 2, 3]))
        tensor([ 1,  2,  3, 10, 20, 30])
        """
    def argwhere(self, /) -> Any:
        """Find the indices of the elements other than 0, in one array.

        >>> import dispatchkit as dk
        >>> dk.argwhere(dk.asarray([[0.0, 3.0], [4.0, 0.0]]))
        tensor([[0, 1],
                [1, 0]])
        """
    def nansum(self, /, axis: Axis = None, dtype: DType = None, keepdims: bool = False) -> Any:
        """Sum the elements that are not NaN.

        >>> import dispatchkit as dk
        >>> dk.nansum(dk.asarray([1.0, dk.nan, 3.0]))
        tensor(4.)
        """
    def nanmean(self, /, axis: Axis = None, dtype: DType = None, keepdims: bool = False) -> Any:
        """Average the elements that are not NaN.

        >>> import dispatchkit as dk
        >>> dk.nanmean(dk.asarray([[1.0, dk.nan], [3.0, 5.0]]), axis=1)
        tensor([1., 4.])
        """
    def sum(self, /, axis: Axis = None, keepdims: bool = False, dtype: DType = None) -> Any:
        """Sum the elements.

        >>> import dispatchkit as dk
        >>> dk.sum(dk.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
        tensor([4., 6.])
        """
    def mean(self, /, axis: Axis = None, keepdims: bool = False) -> Any:
        """Average the elements.

        >>> import dispatchkit as dk
        >>> dk.mean(dk.asarray([[1.0, 3.0], [3.0, 5.0]]), axis=1)
        tensor([2., 4.])
        """
    def prod(self, /, axis: Axis = None, keepdims: bool = False, dtype: DType = None) -> Any:
        """Multiply the elements.

        >>> import dispatchkit as dk
        >>> dk.prod(dk.asarray([2.0, 3.0, 4.0]))
        tensor(24.)
        """
    def max(self, /, axis: Axis = None, keepdims: bool = False) -> Any:
        """Find the largest of the elements.

        >>> import dispatchkit as dk
        >>> dk.max(dk.asarray([[1.0, 5.0], [3.0, 4.0]]), axis=0)
        tensor([3., 5.])
        """
    def min(self, /, axis: Axis = None, keepdims: bool = False) -> Any:
        """Find the smallest of the elements.

        >>> import dispatchkit as dk
        >>> dk.min(dk.asarray([[1.0, 5.0], [3.0, 4.0]]), axis=0)
        tensor([1., 4.])
        """
    def all(self, /, axis: Axis = None, keepdims: bool = False) -> Any:
        """Tell whether all elements are true, that is, other than 0.

        >>> import dispatchkit as dk
        >>> dk.all(dk.asarray([[True, False], [True, True]]), axis=1)
        tensor([False,  True])
        """
    def any(self, /, axis: Axis = None, keepdims: bool = False) -> Any:
        """Tell whether any element is true, that is, other than 0.

        >>> import dispatchkit as dk
        >>> dk.any(dk.asarray([[True, False], [False, False]]), axis=1)
        tensor([ True, False])
        """
    def count_nonzero(self, /, axis: Axis = None, keepdims: bool = False) -> Any:
        """Count the elements other than 0.

        >>> import dispatchkit as dk
        >>> dk.count_nonzero(dk.asarray([[1, 0], [2, 3]]), axis=0)
        tensor([2, 1])
        """
    def amax(self, /, axis: Axis = None, keepdims: bool = False) -> Any:
        """Find the largest of the elements.

        >>> import dispatchkit as dk
        >>> dk.max(dk.asarray([[1.0, 5.0], [3.0, 4.0]]), axis=0)
        tensor([3., 5.])
        """
    def amin(self, /, axis: Axis = None, keepdims: bool = False) -> Any:
        """Find the smallest of the elements.

        >>> import dispatchkit as dk
        >>> dk.min(dk.asarray([[1.0, 5.0], [3.0, 4.0]]), axis=0)
        tensor([1., 4.])
        """
    def diff(self, /, n: int = 1, axis: int = -1, prepend: Any | None = None, append: Any | None = None) -> Any:
        """Subtract from each element the one before it.

        >>> import dispatchkit as dk
        >>> dk.diff(dk.asarray([1.0, 4.0, 9.0, 16.0]))
        tensor([3., 5., 7.])
        """
    def cumprod(self, /, axis: int | None = None, dtype: DType = None, include_initial: bool = False) -> Any:
        """Multiply the elements up to each one.

        >>> import dispatchkit as dk
        >>> dk.cumulative_prod(dk.asarray([1.0, 2.0, 3.0]))
        tensor([1., 2., 6.])
        """
    def cumsum(self, /, axis: int | None = None, dtype: DType = None, include_initial: bool = False) -> Any:
        """Sum the elements up to each one.

        >>> import dispatchkit as dk
        >>> dk.cumulative_sum(dk.asarray([1.0, 2.0, 3.0]))
        tensor([1., 3., 6.])
        """
    def softmax(self, /, axis: Axis = -1) -> Any:
        """Divide the exponential of each element by the sum of those along an axis, without overflow.

        >>> import dispatchkit as dk
        >>> dk.softmax(dk.asarray([0.0, 0.0, 1000.0, 1000.0]))
        tensor([0.0000, 0.0000, 0.5000, 0.5000])
        """
    def log_softmax(self, /, axis: Axis = -1) -> Any:
        """Compute the logarithm of softmax, without overflow and for shares that round to 0.

        >>> import dispatchkit as dk
        >>> dk.log_softmax(dk.asarray([0.0, 1000.0]))
        tensor([-1000.,     0.])
        """
    def argmax(self, /, axis: int | None = None, keepdims: bool = False) -> Any:
        """Find the index of the largest element.

        >>> import dispatchkit as dk
        >>> dk.argmax(dk.asarray([[1.0, 5.0], [7.0, 4.0]]), axis=1)
        tensor([1, 0])
        """
    def argmin(self, /, axis: int | None = None, keepdims: bool = False) -> Any:
        """Find the index of the smallest element.

        >>> import dispatchkit as dk
        >>> dk.argmin(dk.asarray([[1.0, 5.0], [7.0, 4.0]]), axis=1)
        tensor([0, 1])
        """
    def nonzero(self, /) -> tuple[Any, ...]:
        """Find the indices of the elements other than 0.

        >>> import dispatchkit as dk
        >>> dk.nonzero(dk.asarray([0.0, 3.0, 4.0]))
        (tensor([1, 2]),)
        """
    def searchsorted(self, x2: Any, /, side: Literal['left', 'right'] = 'left', sorter: Any | None = None) -> Any:
        """Find where elements would be inserted to keep an array sorted.

        >>> import dispatchkit as dk
        >>> dk.searchsorted(dk.asarray([1.0, 2.0, 3.0]), dk.asarray([2.0, 9.0]))
        tensor([1, 3])
        """
    def argsort(self, /, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
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
    def bincount(self, /, weights: Any | None = None, minlength: int = 0) -> Any:
        """Count how often each integer occurs.

        >>> import dispatchkit as dk
        >>> dk.bincount(dk.asarray([0, 2, 2]))
        tensor([1, 0, 2])
        """
    def var(self, /, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Any:
        """Compute the variance of the elements.

        >>> import dispatchkit as dk
        >>> dk.var(dk.asarray([1.0, 3.0]))
        tensor(1.)
        """
    def std(self, /, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Any:
        """Compute the standard deviation of the elements.

        >>> import dispatchkit as dk
        >>> dk.std(dk.asarray([1.0, 3.0]), correction=1)
        tensor(1.4142)
        """
    def logsumexp(self, /, axis: Axis = None, keepdims: bool = False) -> Any:
        """Compute the logarithm of the sum of exponentials, without overflow.

        >>> import dispatchkit as dk
        >>> dk.logsumexp(dk.asarray([1000.0, 1000.0]))
        tensor(1000.6931)
        """
    def cov(self, /, rowvar: bool = True, correction: float = 1, fweights: Any | None = None, aweights: Any | None = None) -> Any:
        """Estimate the covariance matrix of variables.

        >>> import dispatchkit as dk
        >>> dk.cov(dk.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
        """
    def corrcoef(self, /, rowvar: bool = True) -> Any:
        """Compute the correlation coefficients of variables.

        >>> import dispatchkit as dk
        >>> dk.corrcoef(dk.asarray([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
        """
    def quantile(self, q: Any | float, /, axis: Axis = None, method: QuantileMethod = 'linear', keepdims: bool = False) -> Any:
        """Find the elements below which given shares of all lie.

        >>> import dispatchkit as dk
        >>> x = dk.asarray([4.0, 1.0, 3.0, 2.0])
        >>> dk.quantile(x, dk.asarray([0.0, 0.5, 0.75]))
        tensor([1.0000, 2.5000, 3.2500])
        >>> dk.quantile(x, 0.5, method="lower")
        tensor(2.)
        """
    def cholesky(self, /, upper: bool = False) -> Any:
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
    def eigvalsh(self, /) -> Any:
        """Compute the eigenvalues of real symmetric or complex Hermitian matrices.

        >>> import dispatchkit as dk
        >>> dk.linalg.eigvalsh(dk.tensor([[2.0, 1.0], [1.0, 2.0]]))
        tensor([1., 3.])
        """
    def eig(self, /) -> EigResult:
        """Compute the eigenvalues and eigenvectors of square matrices.

        >>> import dispatchkit as dk
        >>> dk.linalg.eig(dk.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues
        tensor([0.+1.j, 0.-1.j])
        """
    def eigvals(self, /) -> Any:
        """Compute the eigenvalues of square matrices.

        >>> import dispatchkit as dk
        >>> dk.linalg.eigvals(dk.tensor([[0.0, 1.0], [-1.0, 0.0]]))
        tensor([0.+1.j, 0.-1.j])
        """
    def inverse(self, /) -> Any:
        """Inverse of square matrices.

        >>> import dispatchkit as dk
        >>> dk.linalg.inv(dk.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
        """
    def det(self, /) -> Any:
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

class TensorMethods(ArrayMethods):
    """The methods that view operations, and the in-place ones, of tensors: results keep the class."""

    @property
    def _result(self) -> Self: ...
    # For `Other`, which tensors are none of.
    def __sizeof__(self, none_of_others: Never) -> int: ...
    def __divmod__(self, other: Any) -> tuple[Self, Self]: ...
    def __rdivmod__(self, other: Any) -> tuple[Self, Self]: ...
    def __round__(self, ndigits: int | None = None) -> Self: ...
    def astype(self, dtype: DType, /, copy: bool = True, device: Any = None) -> Self:
        """Convert an array to a dtype.

        >>> import dispatchkit as dk
        >>> dk.astype(dk.tensor([1.7, -1.7]), dk.int64)
        tensor([ 1, -1])
        """
    def clone(self, /) -> Self:
        """Copy an array; gradients flow through.

        >>> import dispatchkit as dk
        >>> dk.clone(dk.ones(2))
        tensor([1., 1.])
        """
    def copy(self, /) -> Self:
        """Copy an array; gradients flow through.

        >>> import dispatchkit as dk
        >>> dk.clone(dk.ones(2))
        tensor([1., 1.])
        """
    @overload
    def __add__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __add__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __add__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __add__(self, other: object, /) -> Any: ...
    @overload
    def __radd__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __radd__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __radd__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __radd__(self, other: object, /) -> Any: ...
    @overload
    def add(self, other: Operand, /) -> Self:
        """Add two arrays: ``x1 + x2``.

        >>> import dispatchkit as dk
        >>> dk.add(dk.asarray([1.0, 2.0]), dk.asarray([3.0, 4.0]))
        tensor([4., 6.])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def add(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def add(self, other: object, /) -> Any: ...
    @overload
    def __sub__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __sub__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __sub__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __sub__(self, other: object, /) -> Any: ...
    @overload
    def __rsub__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __rsub__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rsub__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rsub__(self, other: object, /) -> Any: ...
    @overload
    def subtract(self, other: Operand, /) -> Self:
        """Subtract one array from another: ``x1 - x2``.

        >>> import dispatchkit as dk
        >>> dk.subtract(dk.asarray([1.0, 2.0]), dk.asarray([3.0, 1.0]))
        tensor([-2.,  1.])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def subtract(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def subtract(self, other: object, /) -> Any: ...
    @overload
    def __mul__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __mul__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __mul__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __mul__(self, other: object, /) -> Any: ...
    @overload
    def __rmul__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __rmul__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rmul__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rmul__(self, other: object, /) -> Any: ...
    @overload
    def multiply(self, other: Operand, /) -> Self:
        """Multiply two arrays element by element: ``x1 * x2``.

        >>> import dispatchkit as dk
        >>> dk.multiply(dk.asarray([1.0, 2.0]), 3)
        tensor([3., 6.])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def multiply(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def multiply(self, other: object, /) -> Any: ...
    @overload
    def __truediv__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __truediv__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __truediv__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __truediv__(self, other: object, /) -> Any: ...
    @overload
    def __rtruediv__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __rtruediv__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rtruediv__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rtruediv__(self, other: object, /) -> Any: ...
    @overload
    def divide(self, other: Operand, /) -> Self:
        """Divide one array by another: ``x1 / x2``.

        >>> import dispatchkit as dk
        >>> dk.divide(dk.asarray([2, 4]), 2)
        tensor([1., 2.])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def divide(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def divide(self, other: object, /) -> Any: ...
    @overload
    def __floordiv__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __floordiv__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __floordiv__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __floordiv__(self, other: object, /) -> Any: ...
    @overload
    def __rfloordiv__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __rfloordiv__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rfloordiv__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rfloordiv__(self, other: object, /) -> Any: ...
    @overload
    def floor_divide(self, other: Operand, /) -> Self:
        """Divide and round down: ``x1 // x2``.

        >>> import dispatchkit as dk
        >>> dk.floor_divide(dk.asarray([7, -7]), 2)
        tensor([ 3, -4])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def floor_divide(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def floor_divide(self, other: object, /) -> Any: ...
    @overload
    def __mod__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __mod__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __mod__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __mod__(self, other: object, /) -> Any: ...
    @overload
    def __rmod__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __rmod__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rmod__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rmod__(self, other: object, /) -> Any: ...
    @overload
    def remainder(self, other: Operand, /) -> Self:
        """Return what division leaves, with the sign of the divisor: ``x1 % x2``.

        >>> import dispatchkit as dk
        >>> dk.remainder(dk.asarray([7, -7]), 4)
        tensor([3, 1])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def remainder(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def remainder(self, other: object, /) -> Any: ...
    def __neg__(self, /) -> Self: ...
    def negative(self, /) -> Self:
        """Change the sign of each element: ``-x``.

        >>> import dispatchkit as dk
        >>> dk.negative(dk.asarray([1.0, -2.0]))
        tensor([-1.,  2.])
        """
    def __pos__(self, /) -> Self: ...
    def positive(self, /) -> Self:
        """Return a copy of each element: ``+x``.

        >>> import dispatchkit as dk
        >>> dk.positive(dk.asarray([1.0, -2.0]))
        tensor([ 1., -2.])
        """
    @overload
    def sub(self, other: Operand, /) -> Self:
        """Subtract one array from another: ``x1 - x2``.

        >>> import dispatchkit as dk
        >>> dk.subtract(dk.asarray([1.0, 2.0]), dk.asarray([3.0, 1.0]))
        tensor([-2.,  1.])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def sub(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def sub(self, other: object, /) -> Any: ...
    @overload
    def mul(self, other: Operand, /) -> Self:
        """Multiply two arrays element by element: ``x1 * x2``.

        >>> import dispatchkit as dk
        >>> dk.multiply(dk.asarray([1.0, 2.0]), 3)
        tensor([3., 6.])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def mul(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def mul(self, other: object, /) -> Any: ...
    @overload
    def div(self, other: Operand, /) -> Self:
        """Divide one array by another: ``x1 / x2``.

        >>> import dispatchkit as dk
        >>> dk.divide(dk.asarray([2, 4]), 2)
        tensor([1., 2.])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def div(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def div(self, other: object, /) -> Any: ...
    @overload
    def true_divide(self, other: Operand, /) -> Self:
        """Divide one array by another: ``x1 / x2``.

        >>> import dispatchkit as dk
        >>> dk.divide(dk.asarray([2, 4]), 2)
        tensor([1., 2.])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def true_divide(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def true_divide(self, other: object, /) -> Any: ...
    @overload
    def mod(self, other: Operand, /) -> Self:
        """Return what division leaves, with the sign of the divisor: ``x1 % x2``.

        >>> import dispatchkit as dk
        >>> dk.remainder(dk.asarray([7, -7]), 4)
        tensor([3, 1])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def mod(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def mod(self, other: object, /) -> Any: ...
    def neg(self, /) -> Self:
        """Change the sign of each element: ``-x``.

        >>> import dispatchkit as dk
        >>> dk.negative(dk.asarray([1.0, -2.0]))
        tensor([-1.,  2.])
        """
    def __abs__(self, /) -> Self: ...
    def abs(self, /) -> Self:
        """Return the magnitude of each element.

        >>> import dispatchkit as dk
        >>> dk.abs(dk.asarray([-1.0, 2.0]))
        tensor([1., 2.])
        """
    def sign(self, /) -> Self:
        """Return -1, 0 or 1 for each real element, ``x / abs(x)`` or 0 for each complex one.

        >>> import dispatchkit as dk
        >>> dk.sign(dk.asarray([-3.0, 0.0, 2.0]))
        tensor([-1.,  0.,  1.])
        """
    def signbit(self, /) -> Self:
        """Return whether the sign bit of each element is set: below zero, for ``-0.0``, and for some NaNs.

        >>> import dispatchkit as dk
        >>> dk.signbit(dk.asarray([-1.0, -0.0, 0.0]))
        tensor([ True,  True, False])
        """
    @overload
    def copysign(self, other: Operand, /) -> Self:
        """Give the elements of one array the signs of those of another.

        >>> import dispatchkit as dk
        >>> dk.copysign(dk.asarray([1.0, -2.0]), -1.0)
        tensor([-1., -2.])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def copysign(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def copysign(self, other: object, /) -> Any: ...
    @overload
    def nextafter(self, other: Operand, /) -> Self:
        """Return the next floating-point number on the way from each element to another.

        >>> import dispatchkit as dk
        >>> dk.nextafter(dk.asarray([1.0]), 2.0) - 1.0 < 1e-15
        tensor([ True])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def nextafter(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def nextafter(self, other: object, /) -> Any: ...
    def floor(self, /) -> Self:
        """Round each element down.

        >>> import dispatchkit as dk
        >>> dk.floor(dk.asarray([-1.5, 1.5]))
        tensor([-2.,  1.])
        """
    def ceil(self, /) -> Self:
        """Round each element up.

        >>> import dispatchkit as dk
        >>> dk.ceil(dk.asarray([-1.5, 1.5]))
        tensor([-1.,  2.])
        """
    def trunc(self, /) -> Self:
        """Round each element towards zero.

        >>> import dispatchkit as dk
        >>> dk.trunc(dk.asarray([-1.5, 1.5]))
        tensor([-1.,  1.])
        """
    def round(self, /) -> Self:
        """Round each element to the nearest integer, halves to the even one.

        >>> import dispatchkit as dk
        >>> dk.round(dk.asarray([0.5, 1.5, 2.3]))
        tensor([0., 2., 2.])
        """
    def absolute(self, /) -> Self:
        """Return the magnitude of each element.

        >>> import dispatchkit as dk
        >>> dk.abs(dk.asarray([-1.0, 2.0]))
        tensor([1., 2.])
        """
    def sgn(self, /) -> Self:
        """Return -1, 0 or 1 for each real element, ``x / abs(x)`` or 0 for each complex one.

        >>> import dispatchkit as dk
        >>> dk.sign(dk.asarray([-3.0, 0.0, 2.0]))
        tensor([-1.,  0.,  1.])
        """
    def __eq__(self, other: object, /) -> Self: ...
    @overload
    def equal(self, other: Operand, /) -> Self:
        """Return whether each two elements are equal: ``x1 == x2``.

        >>> import dispatchkit as dk
        >>> dk.equal(dk.asarray([1, 2, 3]), 2)
        tensor([False,  True, False])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def equal(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def equal(self, other: object, /) -> Any: ...
    def __ne__(self, other: object, /) -> Self: ...
    @overload
    def not_equal(self, other: Operand, /) -> Self:
        """Return whether each two elements differ: ``x1 != x2``.

        >>> import dispatchkit as dk
        >>> dk.not_equal(dk.asarray([1, 2, 3]), 2)
        tensor([ True, False,  True])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def not_equal(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def not_equal(self, other: object, /) -> Any: ...
    @overload
    def __lt__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __lt__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __lt__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __lt__(self, other: object, /) -> Any: ...
    @overload
    def less(self, other: Operand, /) -> Self:
        """Return whether each element is below another: ``x1 < x2``.

        >>> import dispatchkit as dk
        >>> dk.less(dk.asarray([1, 2, 3]), 2)
        tensor([ True, False, False])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def less(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def less(self, other: object, /) -> Any: ...
    @overload
    def __le__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __le__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __le__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __le__(self, other: object, /) -> Any: ...
    @overload
    def less_equal(self, other: Operand, /) -> Self:
        """Return whether each element is at most another: ``x1 <= x2``.

        >>> import dispatchkit as dk
        >>> dk.less_equal(dk.asarray([1, 2, 3]), 2)
        tensor([ True,  True, False])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def less_equal(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def less_equal(self, other: object, /) -> Any: ...
    @overload
    def __gt__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __gt__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __gt__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __gt__(self, other: object, /) -> Any: ...
    @overload
    def greater(self, other: Operand, /) -> Self:
        """Return whether each element is above another: ``x1 > x2``.

        >>> import dispatchkit as dk
        >>> dk.greater(dk.asarray([1, 2, 3]), 2)
        tensor([False, False,  True])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def greater(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def greater(self, other: object, /) -> Any: ...
    @overload
    def __ge__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __ge__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __ge__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __ge__(self, other: object, /) -> Any: ...
    @overload
    def greater_equal(self, other: Operand, /) -> Self:
        """Return whether each element is at least another: ``x1 >= x2``.

        >>> import dispatchkit as dk
        >>> dk.greater_equal(dk.asarray([1, 2, 3]), 2)
        tensor([False,  True,  True])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def greater_equal(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def greater_equal(self, other: object, /) -> Any: ...
    @overload
    def logical_and(self, other: Operand, /) -> Self:
        """Return whether both elements are true.

        >>> import dispatchkit as dk
        >>> dk.logical_and(dk.asarray([True, True, False]), dk.asarray([True, False, False]))
        tensor([ True, False, False])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def logical_and(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def logical_and(self, other: object, /) -> Any: ...
    @overload
    def logical_or(self, other: Operand, /) -> Self:
        """Return whether at least one of two elements is true.

        >>> import dispatchkit as dk
        >>> dk.logical_or(dk.asarray([True, True, False]), dk.asarray([True, False, False]))
        tensor([ True,  True, False])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def logical_or(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def logical_or(self, other: object, /) -> Any: ...
    @overload
    def logical_xor(self, other: Operand, /) -> Self:
        """Return whether exactly one of two elements is true.

        >>> import dispatchkit as dk
        >>> dk.logical_xor(dk.asarray([True, True, False]), dk.asarray([True, False, False]))
        tensor([False,  True, False])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def logical_xor(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def logical_xor(self, other: object, /) -> Any: ...
    def logical_not(self, /) -> Self:
        """Return whether each element is false.

        >>> import dispatchkit as dk
        >>> dk.logical_not(dk.asarray([True, False]))
        tensor([False,  True])
        """
    def isfinite(self, /) -> Self:
        """Return whether each element is neither infinite nor NaN.

        >>> import dispatchkit as dk
        >>> dk.isfinite(dk.asarray([1.0, dk.inf, dk.nan]))
        tensor([ True, False, False])
        """
    def isinf(self, /) -> Self:
        """Return whether each element is infinite.

        >>> import dispatchkit as dk
        >>> dk.isinf(dk.asarray([1.0, dk.inf, dk.nan]))
        tensor([False,  True, False])
        """
    def isnan(self, /) -> Self:
        """Return whether each element is NaN, not a number.

        >>> import dispatchkit as dk
        >>> dk.isnan(dk.asarray([1.0, dk.inf, dk.nan]))
        tensor([False, False,  True])
        """
    @overload
    def eq(self, other: Operand, /) -> Self:
        """Return whether each two elements are equal: ``x1 == x2``.

        >>> import dispatchkit as dk
        >>> dk.equal(dk.asarray([1, 2, 3]), 2)
        tensor([False,  True, False])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def eq(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def eq(self, other: object, /) -> Any: ...
    @overload
    def ne(self, other: Operand, /) -> Self:
        """Return whether each two elements differ: ``x1 != x2``.

        >>> import dispatchkit as dk
        >>> dk.not_equal(dk.asarray([1, 2, 3]), 2)
        tensor([ True, False,  True])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def ne(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def ne(self, other: object, /) -> Any: ...
    @overload
    def lt(self, other: Operand, /) -> Self:
        """Return whether each element is below another: ``x1 < x2``.

        >>> import dispatchkit as dk
        >>> dk.less(dk.asarray([1, 2, 3]), 2)
        tensor([ True, False, False])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def lt(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def lt(self, other: object, /) -> Any: ...
    @overload
    def le(self, other: Operand, /) -> Self:
        """Return whether each element is at most another: ``x1 <= x2``.

        >>> import dispatchkit as dk
        >>> dk.less_equal(dk.asarray([1, 2, 3]), 2)
        tensor([ True,  True, False])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def le(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def le(self, other: object, /) -> Any: ...
    @overload
    def gt(self, other: Operand, /) -> Self:
        """Return whether each element is above another: ``x1 > x2``.

        >>> import dispatchkit as dk
        >>> dk.greater(dk.asarray([1, 2, 3]), 2)
        tensor([False, False,  True])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def gt(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def gt(self, other: object, /) -> Any: ...
    @overload
    def ge(self, other: Operand, /) -> Self:
        """Return whether each element is at least another: ``x1 >= x2``.

        >>> import dispatchkit as dk
        >>> dk.greater_equal(dk.asarray([1, 2, 3]), 2)
        tensor([False,  True,  True])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def ge(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def ge(self, other: object, /) -> Any: ...
    @overload
    def __and__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __and__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __and__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __and__(self, other: object, /) -> Any: ...
    @overload
    def __rand__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __rand__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rand__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rand__(self, other: object, /) -> Any: ...
    @overload
    def bitwise_and(self, other: Operand, /) -> Self:
        """Keep the bits that are set in both elements: ``x1 & x2``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_and(dk.asarray([4, 5, 6]), 5)
        tensor([4, 5, 4])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def bitwise_and(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def bitwise_and(self, other: object, /) -> Any: ...
    @overload
    def __or__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __or__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __or__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __or__(self, other: object, /) -> Any: ...
    @overload
    def __ror__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __ror__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __ror__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __ror__(self, other: object, /) -> Any: ...
    @overload
    def bitwise_or(self, other: Operand, /) -> Self:
        """Set the bits that are set in one of two elements: ``x1 | x2``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_or(dk.asarray([4, 5, 6]), 5)
        tensor([5, 5, 7])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def bitwise_or(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def bitwise_or(self, other: object, /) -> Any: ...
    @overload
    def __xor__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __xor__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __xor__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __xor__(self, other: object, /) -> Any: ...
    @overload
    def __rxor__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __rxor__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rxor__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rxor__(self, other: object, /) -> Any: ...
    @overload
    def bitwise_xor(self, other: Operand, /) -> Self:
        """Set the bits that differ between two elements: ``x1 ^ x2``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_xor(dk.asarray([4, 5, 6]), 5)
        tensor([1, 0, 3])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def bitwise_xor(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def bitwise_xor(self, other: object, /) -> Any: ...
    def __invert__(self, /) -> Self: ...
    def bitwise_invert(self, /) -> Self:
        """Invert each bit: ``~x``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_invert(dk.asarray([0, 1, 2]))
        tensor([-1, -2, -3])
        """
    @overload
    def __lshift__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __lshift__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __lshift__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __lshift__(self, other: object, /) -> Any: ...
    @overload
    def __rlshift__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __rlshift__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rlshift__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rlshift__(self, other: object, /) -> Any: ...
    @overload
    def bitwise_left_shift(self, other: Operand, /) -> Self:
        """Shift the bits of each element to the left, filling with zeros: ``x1 << x2``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_left_shift(dk.asarray([4, 5, 6]), 1)
        tensor([ 8, 10, 12])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def bitwise_left_shift(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def bitwise_left_shift(self, other: object, /) -> Any: ...
    @overload
    def __rshift__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __rshift__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rshift__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rshift__(self, other: object, /) -> Any: ...
    @overload
    def __rrshift__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __rrshift__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rrshift__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rrshift__(self, other: object, /) -> Any: ...
    @overload
    def bitwise_right_shift(self, other: Operand, /) -> Self:
        """Shift the bits of each element to the right, filling with the sign: ``x1 >> x2``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_right_shift(dk.asarray([4, 5, 6]), 1)
        tensor([2, 2, 3])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def bitwise_right_shift(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def bitwise_right_shift(self, other: object, /) -> Any: ...
    def bitwise_not(self, /) -> Self:
        """Invert each bit: ``~x``.

        >>> import dispatchkit as dk
        >>> dk.bitwise_invert(dk.asarray([0, 1, 2]))
        tensor([-1, -2, -3])
        """
    @overload
    def maximum(self, other: Operand, /) -> Self:
        """Return the larger of each two elements, NaN where one of them is.

        >>> import dispatchkit as dk
        >>> dk.maximum(dk.asarray([1.0, 3.0]), dk.asarray([2.0, 2.0]))
        tensor([2., 3.])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def maximum(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def maximum(self, other: object, /) -> Any: ...
    @overload
    def minimum(self, other: Operand, /) -> Self:
        """Return the smaller of each two elements, NaN where one of them is.

        >>> import dispatchkit as dk
        >>> dk.minimum(dk.asarray([1.0, 3.0]), dk.asarray([2.0, 2.0]))
        tensor([1., 2.])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def minimum(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def minimum(self, other: object, /) -> Any: ...
    def relu(self, /) -> Self:
        """Replace negative elements by zero.

        >>> import dispatchkit as dk
        >>> dk.relu(dk.asarray([-1.0, 2.0]))
        tensor([0., 2.])
        """
    def clip(self, /, min: Any = None, max: Any = None) -> Self:
        """Bring each element into the range from `min` to `max`.

        >>> import dispatchkit as dk
        >>> dk.clip(dk.asarray([-1.0, 1.0, 3.0]), 0, 2)
        tensor([0., 1., 2.])
        """
    def clamp(self, /, min: Any = None, max: Any = None) -> Self:
        """Bring each element into the range from `min` to `max`.

        >>> import dispatchkit as dk
        >>> dk.clip(dk.asarray([-1.0, 1.0, 3.0]), 0, 2)
        tensor([0., 1., 2.])
        """
    def exp(self, /) -> Self:
        """Raise e to the power of each element.

        >>> import dispatchkit as dk
        >>> dk.exp(dk.asarray([0.0, 1.0]))
        tensor([1.0000, 2.7183])
        """
    def expm1(self, /) -> Self:
        """Raise e to the power of each element and subtract one, accurately near 0.

        >>> import dispatchkit as dk
        >>> dk.expm1(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 1.7183])
        """
    def log(self, /) -> Self:
        """Return the natural logarithm of each element.

        >>> import dispatchkit as dk
        >>> dk.log(dk.asarray([1.0, 2.0]))
        tensor([0.0000, 0.6931])
        """
    def log1p(self, /) -> Self:
        """Return the natural logarithm of one plus each element, accurately near 0.

        >>> import dispatchkit as dk
        >>> dk.log1p(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.6931])
        """
    def log2(self, /) -> Self:
        """Return the logarithm to the base 2 of each element.

        >>> import dispatchkit as dk
        >>> dk.log2(dk.asarray([1.0, 8.0]))
        tensor([0., 3.])
        """
    def log10(self, /) -> Self:
        """Return the logarithm to the base 10 of each element.

        >>> import dispatchkit as dk
        >>> dk.log10(dk.asarray([1.0, 100.0]))
        tensor([0., 2.])
        """
    @overload
    def logaddexp(self, other: Operand, /) -> Self:
        """Add numbers that are given by their logarithms: ``log(exp(x1) + exp(x2))`` without overflow.

        >>> import dispatchkit as dk
        >>> dk.logaddexp(dk.asarray([1000.0]), 1000.0)
        tensor([1000.6931])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def logaddexp(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def logaddexp(self, other: object, /) -> Any: ...
    def sigmoid(self, /) -> Self:
        """Return the logistic function of each element: ``1 / (1 + exp(-x))``, for real numbers without overflow.

        >>> import dispatchkit as dk
        >>> dk.sigmoid(dk.asarray([0.0, 2.0]))
        tensor([0.5000, 0.8808])
        """
    @property
    def real(self) -> Self:
        """Return the real part of each element.

        >>> import dispatchkit as dk
        >>> dk.real(dk.asarray([1 + 2j]))
        tensor([1.])
        """
    @property
    def imag(self) -> Self:
        """Return the imaginary part of each element.

        >>> import dispatchkit as dk
        >>> dk.imag(dk.asarray([1 + 2j]))
        tensor([2.])
        """
    def conj(self, /) -> Self:
        """Return the complex conjugate of each element.

        >>> import dispatchkit as dk
        >>> dk.conj(dk.asarray([1 + 2j]))
        tensor([1.-2.j])
        """
    def conjugate(self, /) -> Self:
        """Return the complex conjugate of each element.

        >>> import dispatchkit as dk
        >>> dk.conj(dk.asarray([1 + 2j]))
        tensor([1.-2.j])
        """
    @overload
    def __pow__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __pow__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __pow__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __pow__(self, other: object, /) -> Any: ...
    @overload
    def __rpow__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __rpow__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rpow__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rpow__(self, other: object, /) -> Any: ...
    @overload
    def pow(self, other: Operand, /) -> Self:
        """Raise to a power: ``x1 ** x2``.

        >>> import dispatchkit as dk
        >>> dk.pow(dk.asarray([1.0, 2.0, 3.0]), 2)
        tensor([1., 4., 9.])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def pow(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def pow(self, other: object, /) -> Any: ...
    def square(self, /) -> Self:
        """Multiply each element by itself.

        >>> import dispatchkit as dk
        >>> dk.square(dk.asarray([1.0, -2.0]))
        tensor([1., 4.])
        """
    def reciprocal(self, /) -> Self:
        """Return one divided by each element.

        >>> import dispatchkit as dk
        >>> dk.reciprocal(dk.asarray([0.5, -1.0]))
        tensor([ 2., -1.])
        """
    def sqrt(self, /) -> Self:
        """Return the square root of each element.

        >>> import dispatchkit as dk
        >>> dk.sqrt(dk.asarray([1.0, 4.0]))
        tensor([1., 2.])
        """
    def cbrt(self, /) -> Self:
        """Return the cube root of each element.

        >>> import dispatchkit as dk
        >>> dk.cbrt(dk.asarray([2.0, -3.0]))
        tensor([ 1.2599, -1.4422])
        >>> dk.cbrt(dk.asarray(1000.0))
        tensor(10.)
        """
    def rsqrt(self, /) -> Self:
        """Return one divided by the square root of each element.

        >>> import dispatchkit as dk
        >>> dk.rsqrt(dk.asarray([0.25, 1.0]))
        tensor([2., 1.])
        """
    @overload
    def hypot(self, other: Operand, /) -> Self:
        """Return the length of the hypotenuse over two legs: ``sqrt(x1**2 + x2**2)`` without overflow.

        >>> import dispatchkit as dk
        >>> dk.hypot(dk.asarray([3.0, 5.0]), dk.asarray([4.0, 12.0]))
        tensor([ 5., 13.])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def hypot(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def hypot(self, other: object, /) -> Any: ...
    @overload
    def power(self, other: Operand, /) -> Self:
        """Raise to a power: ``x1 ** x2``.

        >>> import dispatchkit as dk
        >>> dk.pow(dk.asarray([1.0, 2.0, 3.0]), 2)
        tensor([1., 4., 9.])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def power(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def power(self, other: object, /) -> Any: ...
    def sin(self, /) -> Self:
        """Return the sine of each element.

        >>> import dispatchkit as dk
        >>> dk.sin(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.8415])
        """
    def cos(self, /) -> Self:
        """Return the cosine of each element.

        >>> import dispatchkit as dk
        >>> dk.cos(dk.asarray([0.0, 1.0]))
        tensor([1.0000, 0.5403])
        """
    def tan(self, /) -> Self:
        """Return the tangent of each element.

        >>> import dispatchkit as dk
        >>> dk.tan(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 1.5574])
        """
    def asin(self, /) -> Self:
        """Return the inverse sine of each element.

        >>> import dispatchkit as dk
        >>> dk.asin(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 1.5708])
        """
    def acos(self, /) -> Self:
        """Return the inverse cosine of each element.

        >>> import dispatchkit as dk
        >>> dk.acos(dk.asarray([0.0, 1.0]))
        tensor([1.5708, 0.0000])
        """
    def atan(self, /) -> Self:
        """Return the inverse tangent of each element.

        >>> import dispatchkit as dk
        >>> dk.atan(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.7854])
        """
    @overload
    def atan2(self, other: Operand, /) -> Self:
        """Return the angle between the positive first axis and the point ``(x2, x1)``.

        >>> import dispatchkit as dk
        >>> dk.atan2(dk.asarray([1.0, -1.0]), dk.asarray([1.0, 0.0]))
        tensor([ 0.7854, -1.5708])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def atan2(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def atan2(self, other: object, /) -> Any: ...
    def arcsin(self, /) -> Self:
        """Return the inverse sine of each element.

        >>> import dispatchkit as dk
        >>> dk.asin(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 1.5708])
        """
    def arccos(self, /) -> Self:
        """Return the inverse cosine of each element.

        >>> import dispatchkit as dk
        >>> dk.acos(dk.asarray([0.0, 1.0]))
        tensor([1.5708, 0.0000])
        """
    def arctan(self, /) -> Self:
        """Return the inverse tangent of each element.

        >>> import dispatchkit as dk
        >>> dk.atan(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.7854])
        """
    @overload
    def arctan2(self, other: Operand, /) -> Self:
        """Return the angle between the positive first axis and the point ``(x2, x1)``.

        >>> import dispatchkit as dk
        >>> dk.atan2(dk.asarray([1.0, -1.0]), dk.asarray([1.0, 0.0]))
        tensor([ 0.7854, -1.5708])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def arctan2(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def arctan2(self, other: object, /) -> Any: ...
    def sinh(self, /) -> Self:
        """Return the hyperbolic sine of each element.

        >>> import dispatchkit as dk
        >>> dk.sinh(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 1.1752])
        """
    def cosh(self, /) -> Self:
        """Return the hyperbolic cosine of each element.

        >>> import dispatchkit as dk
        >>> dk.cosh(dk.asarray([0.0, 1.0]))
        tensor([1.0000, 1.5431])
        """
    def tanh(self, /) -> Self:
        """Return the hyperbolic tangent of each element.

        >>> import dispatchkit as dk
        >>> dk.tanh(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.7616])
        """
    def asinh(self, /) -> Self:
        """Return the inverse hyperbolic sine of each element.

        >>> import dispatchkit as dk
        >>> dk.asinh(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.8814])
        """
    def acosh(self, /) -> Self:
        """Return the inverse hyperbolic cosine of each element.

        >>> import dispatchkit as dk
        >>> dk.acosh(dk.asarray([1.0, 3.0]))
        tensor([0.0000, 1.7627])
        """
    def atanh(self, /) -> Self:
        """Return the inverse hyperbolic tangent of each element.

        >>> import dispatchkit as dk
        >>> dk.atanh(dk.asarray([0.0, 0.5]))
        tensor([0.0000, 0.5493])
        """
    def arcsinh(self, /) -> Self:
        """Return the inverse hyperbolic sine of each element.

        >>> import dispatchkit as dk
        >>> dk.asinh(dk.asarray([0.0, 1.0]))
        tensor([0.0000, 0.8814])
        """
    def arccosh(self, /) -> Self:
        """Return the inverse hyperbolic cosine of each element.

        >>> import dispatchkit as dk
        >>> dk.acosh(dk.asarray([1.0, 3.0]))
        tensor([0.0000, 1.7627])
        """
    def arctanh(self, /) -> Self:
        """Return the inverse hyperbolic tangent of each element.

        >>> import dispatchkit as dk
        >>> dk.atanh(dk.asarray([0.0, 0.5]))
        tensor([0.0000, 0.5493])
        """
    def deg2rad(self, /) -> Self:
        """Convert angles from degrees to radians.

        >>> import dispatchkit as dk
        >>> dk.deg2rad(dk.asarray([180.0, 90.0]))
        tensor([3.1416, 1.5708])
        >>> dk.deg2rad(dk.types.QuantityTensor(180.0, "deg"))
        QuantityTensor(3.1416, 'rad')
        """
    def rad2deg(self, /) -> Self:
        """Convert angles from radians to degrees.

        >>> import dispatchkit as dk
        >>> dk.rad2deg(dk.asarray([1.0, 2.0]))
        tensor([ 57.2958, 114.5916])
        >>> dk.rad2deg(dk.types.QuantityTensor(0.5, "turn"))
        QuantityTensor(180., 'deg')
        """
    def __getitem__(self, key: Index, /) -> Self: ...
    def __setitem__(self, key: Index, value: Any, /) -> None: ...
    def take(self, indices: Any, /, axis: int | None = None) -> Self:
        """Take elements along an axis by their indices.

        >>> import dispatchkit as dk
        >>> dk.take(dk.asarray([1.0, 2.0, 3.0]), dk.asarray([2, 0]))
        tensor([3., 1.])
        """
    def gather(self, /, axis: int, indices: Any) -> Self:
        """Take elements along an axis, at each place of an array of indices.

        >>> import dispatchkit as dk
        >>> dk.gather(dk.asarray([[1.0, 2.0], [3.0, 4.0]]), 1, dk.asarray([[1], [0]]))
        tensor([[2.],
                [3.]])
        """
    def scatter_add(self, /, axis: int, indices: Any, src: Any) -> Self:
        """Add elements to those of an array that indices along an axis name.

        >>> import dispatchkit as dk
        >>> dk.scatter_add(dk.zeros(3), 0, dk.asarray([0, 2, 2]), dk.asarray([1.0, 2.0, 3.0]))
        tensor([1., 0., 5.])
        """
    def masked_fill(self, /, mask: Any, value: Any | float) -> Self:
        """Replace the elements of an array at which a mask is true by a number.

        >>> import dispatchkit as dk
        >>> dk.masked_fill(dk.asarray([1.0, 2.0]), dk.asarray([True, False]), -dk.inf)
        tensor([-inf,   2.])
        """
    def diag(self, /, offset: int = 0) -> Self:
        """Make a matrix of its diagonal, or take the diagonal of a matrix.

        >>> import dispatchkit as dk
        >>> dk.diag(dk.tensor([1.0, 2.0]))
        tensor([[1., 0.],
                [0., 2.]])
        >>> dk.diag(dk.tensor([[1.0, 2.0], [3.0, 4.0]]), offset=1)
        tensor([2.])
        """
    def tril(self, /, k: int = 0) -> Self:
        """Keep the lower triangle: the elements above a diagonal become 0.

        >>> import dispatchkit as dk
        >>> dk.tril(dk.asarray([[1, 2], [3, 4]]))
        tensor([[1, 0],
                [3, 4]])
        """
    def triu(self, /, k: int = 0) -> Self:
        """Keep the upper triangle: the elements below a diagonal become 0.

        >>> import dispatchkit as dk
        >>> dk.triu(dk.asarray([[1, 2], [3, 4]]))
        tensor([[1, 2],
                [0, 4]])
        """
    def trace(self, /, offset: int = 0, dtype: DType = None) -> Self:
        """Sum of the diagonal elements of matrices.

        >>> import dispatchkit as dk
        >>> dk.trace(dk.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor(5.)
        """
    def diagonal(self, /, offset: int = 0) -> Self:
        """Diagonal elements of matrices.

        >>> import dispatchkit as dk
        >>> dk.diagonal(dk.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([1., 4.])
        """
    def cross(self, x2: Any, /, axis: int = -1) -> Self:
        """Cross product of vectors of three elements.

        >>> import dispatchkit as dk
        >>> dk.linalg.cross(dk.tensor([1.0, 0.0, 0.0]), dk.tensor([0.0, 1.0, 0.0]))
        tensor([0., 0., 1.])
        """
    @overload
    def outer(self, other: Operand, /) -> Self:
        """Multiply every element of one vector with every element of another.

        >>> import dispatchkit as dk
        >>> dk.outer(dk.tensor([1.0, 2.0]), dk.tensor([1.0, 0.0, -1.0]))
        tensor([[ 1.,  0., -1.],
                [ 2.,  0., -2.]])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def outer(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def outer(self, other: object, /) -> Any: ...
    def norm(self, /, ord: MatrixOrder | None = None, axis: Axis = None, keepdims: bool = False) -> Self:
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
    def pinverse(self, /, rtol: float | Any | None = None) -> Self:
        """Moore-Penrose inverse of matrices.

        >>> import dispatchkit as dk
        >>> dk.linalg.pinv(dk.tensor([[2.0], [0.0]]))
        tensor([[0.5000, 0.0000]])
        """
    @overload
    def __matmul__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __matmul__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __matmul__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __matmul__(self, other: object, /) -> Any: ...
    @overload
    def __rmatmul__(self, other: Derived[Self, R], /) -> R: ...
    @overload
    def __rmatmul__(self, other: Operand, /) -> Self: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rmatmul__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rmatmul__(self, other: object, /) -> Any: ...
    @overload
    def matmul(self, other: Operand, /) -> Self:
        """Matrix product.

        >>> import dispatchkit as dk
        >>> dk.matmul(dk.tensor([[1.0, 2.0], [3.0, 4.0]]), dk.tensor([1.0, 1.0]))
        tensor([3., 7.])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def matmul(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def matmul(self, other: object, /) -> Any: ...
    def vecdot(self, x2: Any, /, axis: int = -1) -> Self:
        """Sum the products of the elements of vectors, the first conjugated.

        >>> import dispatchkit as dk
        >>> dk.vecdot(dk.tensor([[1.0, 2.0], [3.0, 4.0]]), dk.tensor([1.0, -1.0]))
        tensor([-1., -1.])
        """
    @overload
    def mm(self, other: Operand, /) -> Self:
        """Multiply two matrices, and nothing but matrices.

        >>> import dispatchkit as dk
        >>> dk.mm(dk.tensor([[1.0, 2.0]]), dk.tensor([[3.0], [4.0]]))
        tensor([[11.]])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def mm(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def mm(self, other: object, /) -> Any: ...
    @overload
    def mv(self, other: Operand, /) -> Self:
        """Multiply a matrix with a vector.

        >>> import dispatchkit as dk
        >>> dk.mv(dk.tensor([[1.0, 2.0], [3.0, 4.0]]), dk.tensor([1.0, 1.0]))
        tensor([3., 7.])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def mv(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def mv(self, other: object, /) -> Any: ...
    @overload
    def bmm(self, other: Operand, /) -> Self:
        """Multiply two batches of matrices, pair by pair.

        >>> import dispatchkit as dk
        >>> dk.bmm(dk.ones((2, 1, 3)), dk.ones((2, 3, 1))).shape
        (2, 1, 1)
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def bmm(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def bmm(self, other: object, /) -> Any: ...
    @overload
    def dot(self, other: Operand, /) -> Self:
        """Sum the products of the elements of two vectors, without conjugation.

        >>> import dispatchkit as dk
        >>> dk.dot(dk.tensor([1.0, 2.0]), dk.tensor([3.0, 4.0]))
        tensor(11.)
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def dot(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def dot(self, other: object, /) -> Any: ...
    @overload
    def permute_dims(self, /, axes: Sequence[int]) -> Self:
        """Put the axes in another order.

        >>> import dispatchkit as dk
        >>> dk.permute_dims(dk.zeros((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
        """
    @overload
    def permute_dims(self, /, *axes: int) -> Self: ...
    @overload
    def permute(self, /, axes: Sequence[int]) -> Self:
        """Put the axes in another order.

        >>> import dispatchkit as dk
        >>> dk.permute_dims(dk.zeros((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
        """
    @overload
    def permute(self, /, *axes: int) -> Self: ...
    @property
    def mT(self) -> Self:
        """Swap the last two axes.

        >>> import dispatchkit as dk
        >>> dk.zeros((4, 2, 3)).mT.shape
        (4, 3, 2)
        """
    def t(self, /) -> Self:
        """Transpose a matrix; what has fewer than two axes stays as it is.

        >>> import dispatchkit as dk
        >>> dk.zeros((2, 3)).T.shape
        (3, 2)
        """
    @property
    def T(self) -> Self:
        """Transpose a matrix; what has fewer than two axes stays as it is.

        >>> import dispatchkit as dk
        >>> dk.zeros((2, 3)).T.shape
        (3, 2)
        """
    def transpose(self, /, axes: int | Sequence[int] | None = None, *more: int) -> Self:
        """Reverse the axes, put them in another order, or swap two.

        >>> import dispatchkit as dk
        >>> x = dk.zeros((2, 3, 4))
        >>> dk.transpose(x).shape, dk.transpose(x, (1, 0, 2)).shape, dk.transpose(x, 0, 2).shape
        ((4, 3, 2), (3, 2, 4), (4, 3, 2))
        """
    def swapaxes(self, axis1: int, axis2: int, /) -> Self:
        """Swap two axes.

        >>> import dispatchkit as dk
        >>> dk.swapaxes(dk.zeros((2, 3, 4)), 0, 2).shape
        (4, 3, 2)
        """
    def moveaxis(self, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Self:
        """Move axes to other places; the others keep their order.

        >>> import dispatchkit as dk
        >>> dk.moveaxis(dk.zeros((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
        """
    @overload
    def flip(self, /, axis: Axis = None) -> Self:
        """Reverse the order of the elements.

        >>> import dispatchkit as dk
        >>> dk.flip(dk.asarray([1, 2, 3]))
        tensor([3, 2, 1])
        """
    @overload
    def flip(self, /, *axis: int) -> Self: ...
    def roll(self, /, shift: int | tuple[int, ...], axis: Axis = None) -> Self:
        """Shift the elements; those that leave at the end come in at the beginning.

        >>> import dispatchkit as dk
        >>> dk.roll(dk.asarray([1, 2, 3]), 1)
        tensor([3, 1, 2])
        """
    def movedim(self, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Self:
        """Move axes to other places; the others keep their order.

        >>> import dispatchkit as dk
        >>> dk.moveaxis(dk.zeros((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
        """
    def swapdims(self, axis1: int, axis2: int, /) -> Self:
        """Swap two axes.

        >>> import dispatchkit as dk
        >>> dk.swapaxes(dk.zeros((2, 3, 4)), 0, 2).shape
        (4, 3, 2)
        """
    @overload
    def reshape(self, /, shape: Shape, copy: bool | None = None) -> Self:
        """Arrange the elements in another shape.

        >>> import dispatchkit as dk
        >>> dk.reshape(dk.asarray([1, 2, 3, 4]), (2, 2))
        tensor([[1, 2],
                [3, 4]])
        """
    @overload
    def reshape(self, /, *shape: int, copy: bool | None = None) -> Self: ...
    @overload
    def view(self, /, shape: Shape | DType) -> Self:
        """Look at the elements in another shape, or the memory in another dtype, without a copy.

        >>> import dispatchkit as dk
        >>> dk.zeros((2, 3)).view(-1, 2).shape
        (3, 2)
        >>> dk.asarray([1 + 2j, 3 - 1j]).view(dk.float64)
        tensor([ 1.,  2.,  3., -1.])
        """
    @overload
    def view(self, /, *shape: int) -> Self: ...
    def flatten(self, /, start_dim: int = 0, end_dim: int = -1) -> Self:
        """Make one axis of several neighbouring ones, or of all.

        >>> import dispatchkit as dk
        >>> dk.flatten(dk.zeros((2, 3, 4)), 1).shape
        (2, 12)
        """
    def ravel(self, /) -> Self:
        """Make one axis of all.

        >>> import dispatchkit as dk
        >>> dk.ravel(dk.asarray([[1, 2], [3, 4]]))
        tensor([1, 2, 3, 4])
        """
    def squeeze(self, /, axis: Axis = None) -> Self:
        """Drop axes of length 1.

        >>> import dispatchkit as dk
        >>> dk.squeeze(dk.zeros((1, 3, 1)), axis=0).shape
        (3, 1)
        """
    def expand_dims(self, /, axis: int | tuple[int, ...]) -> Self:
        """Insert axes of length 1.

        >>> import dispatchkit as dk
        >>> dk.expand_dims(dk.zeros((2, 3)), axis=1).shape
        (2, 1, 3)
        """
    def unsqueeze(self, /, dim: int) -> Self:
        """Insert one axis of length 1.

        >>> import dispatchkit as dk
        >>> dk.unsqueeze(dk.zeros((2, 3)), -1).shape
        (2, 3, 1)
        """
    def broadcast_to(self, /, shape: Shape) -> Self:
        """Repeat an array along axes of length 1, and along new leading ones, without a copy.

        >>> import dispatchkit as dk
        >>> dk.broadcast_to(dk.asarray([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
        """
    @overload
    def expand(self, /, shape: Sequence[int]) -> Self:
        """Repeat an array along axes of length 1, and along new leading ones, without a copy.

        >>> import dispatchkit as dk
        >>> dk.expand(dk.zeros((3, 1)), (-1, 4)).shape
        (3, 4)
        """
    @overload
    def expand(self, /, *shape: int) -> Self: ...
    def chunk(self, chunks: int, /, axis: int = 0) -> tuple[Self, ...]:
        """Take an array apart along an axis, into so many parts or less.

        >>> import dispatchkit as dk
        >>> dk.chunk(dk.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
        """
    @overload
    def kron(self, other: Operand, /) -> Self:
        """Kronecker product: a block of the second array for each element of the first.

        >>> import dispatchkit as dk
        >>> dk.kron(dk.asarray([1, 10]), dk.asarray([1, 2, 3]))
        tensor([ 1,  2,  3, 10, 20, 30])
        """
    @overload
    @deprecated("text, None and classes are no arrays")
    def kron(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def kron(self, other: object, /) -> Any: ...
    def argwhere(self, /) -> Self:
        """Find the indices of the elements other than 0, in one array.

        >>> import dispatchkit as dk
        >>> dk.argwhere(dk.asarray([[0.0, 3.0], [4.0, 0.0]]))
        tensor([[0, 1],
                [1, 0]])
        """
    def nansum(self, /, axis: Axis = None, dtype: DType = None, keepdims: bool = False) -> Self:
        """Sum the elements that are not NaN.

        >>> import dispatchkit as dk
        >>> dk.nansum(dk.asarray([1.0, dk.nan, 3.0]))
        tensor(4.)
        """
    def nanmean(self, /, axis: Axis = None, dtype: DType = None, keepdims: bool = False) -> Self:
        """Average the elements that are not NaN.

        >>> import dispatchkit as dk
        >>> dk.nanmean(dk.asarray([[1.0, dk.nan], [3.0, 5.0]]), axis=1)
        tensor([1., 4.])
        """
    def sum(self, /, axis: Axis = None, keepdims: bool = False, dtype: DType = None) -> Self:
        """Sum the elements.

        >>> import dispatchkit as dk
        >>> dk.sum(dk.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
        tensor([4., 6.])
        """
    def mean(self, /, axis: Axis = None, keepdims: bool = False) -> Self:
        """Average the elements.

        >>> import dispatchkit as dk
        >>> dk.mean(dk.asarray([[1.0, 3.0], [3.0, 5.0]]), axis=1)
        tensor([2., 4.])
        """
    def prod(self, /, axis: Axis = None, keepdims: bool = False, dtype: DType = None) -> Self:
        """Multiply the elements.

        >>> import dispatchkit as dk
        >>> dk.prod(dk.asarray([2.0, 3.0, 4.0]))
        tensor(24.)
        """
    def max(self, /, axis: Axis = None, keepdims: bool = False) -> Self:
        """Find the largest of the elements.

        >>> import dispatchkit as dk
        >>> dk.max(dk.asarray([[1.0, 5.0], [3.0, 4.0]]), axis=0)
        tensor([3., 5.])
        """
    def min(self, /, axis: Axis = None, keepdims: bool = False) -> Self:
        """Find the smallest of the elements.

        >>> import dispatchkit as dk
        >>> dk.min(dk.asarray([[1.0, 5.0], [3.0, 4.0]]), axis=0)
        tensor([1., 4.])
        """
    def all(self, /, axis: Axis = None, keepdims: bool = False) -> Self:
        """Tell whether all elements are true, that is, other than 0.

        >>> import dispatchkit as dk
        >>> dk.all(dk.asarray([[True, False], [True, True]]), axis=1)
        tensor([False,  True])
        """
    def any(self, /, axis: Axis = None, keepdims: bool = False) -> Self:
        """Tell whether any element is true, that is, other than 0.

        >>> import dispatchkit as dk
        >>> dk.any(dk.asarray([[True, False], [False, False]]), axis=1)
        tensor([ True, False])
        """
    def count_nonzero(self, /, axis: Axis = None, keepdims: bool = False) -> Self:
        """Count the elements other than 0.

        >>> import dispatchkit as dk
        >>> dk.count_nonzero(dk.asarray([[1, 0], [2, 3]]), axis=0)
        tensor([2, 1])
        """
    def amax(self, /, axis: Axis = None, keepdims: bool = False) -> Self:
        """Find the largest of the elements.

        >>> import dispatchkit as dk
        >>> dk.max(dk.asarray([[1.0, 5.0], [3.0, 4.0]]), axis=0)
        tensor([3., 5.])
        """
    def amin(self, /, axis: Axis = None, keepdims: bool = False) -> Self:
        """Find the smallest of the elements.

        >>> import dispatchkit as dk
        >>> dk.min(dk.asarray([[1.0, 5.0], [3.0, 4.0]]), axis=0)
        tensor([1., 4.])
        """
    def diff(self, /, n: int = 1, axis: int = -1, prepend: Any | None = None, append: Any | None = None) -> Self:
        """Subtract from each element the one before it.

        >>> import dispatchkit as dk
        >>> dk.diff(dk.asarray([1.0, 4.0, 9.0, 16.0]))
        tensor([3., 5., 7.])
        """
    def cumprod(self, /, axis: int | None = None, dtype: DType = None, include_initial: bool = False) -> Self:
        """Multiply the elements up to each one.

        >>> import dispatchkit as dk
        >>> dk.cumulative_prod(dk.asarray([1.0, 2.0, 3.0]))
        tensor([1., 2., 6.])
        """
    def cumsum(self, /, axis: int | None = None, dtype: DType = None, include_initial: bool = False) -> Self:
        """Sum the elements up to each one.

        >>> import dispatchkit as dk
        >>> dk.cumulative_sum(dk.asarray([1.0, 2.0, 3.0]))
        tensor([1., 3., 6.])
        """
    def softmax(self, /, axis: Axis = -1) -> Self:
        """Divide the exponential of each element by the sum of those along an axis, without overflow.

        >>> import dispatchkit as dk
        >>> dk.softmax(dk.asarray([0.0, 0.0, 1000.0, 1000.0]))
        tensor([0.0000, 0.0000, 0.5000, 0.5000])
        """
    def log_softmax(self, /, axis: Axis = -1) -> Self:
        """Compute the logarithm of softmax, without overflow and for shares that round to 0.

        >>> import dispatchkit as dk
        >>> dk.log_softmax(dk.asarray([0.0, 1000.0]))
        tensor([-1000.,     0.])
        """
    def argmax(self, /, axis: int | None = None, keepdims: bool = False) -> Self:
        """Find the index of the largest element.

        >>> import dispatchkit as dk
        >>> dk.argmax(dk.asarray([[1.0, 5.0], [7.0, 4.0]]), axis=1)
        tensor([1, 0])
        """
    def argmin(self, /, axis: int | None = None, keepdims: bool = False) -> Self:
        """Find the index of the smallest element.

        >>> import dispatchkit as dk
        >>> dk.argmin(dk.asarray([[1.0, 5.0], [7.0, 4.0]]), axis=1)
        tensor([0, 1])
        """
    def nonzero(self, /) -> tuple[Self, ...]:
        """Find the indices of the elements other than 0.

        >>> import dispatchkit as dk
        >>> dk.nonzero(dk.asarray([0.0, 3.0, 4.0]))
        (tensor([1, 2]),)
        """
    def searchsorted(self, x2: Any, /, side: Literal['left', 'right'] = 'left', sorter: Any | None = None) -> Self:
        """Find where elements would be inserted to keep an array sorted.

        >>> import dispatchkit as dk
        >>> dk.searchsorted(dk.asarray([1.0, 2.0, 3.0]), dk.asarray([2.0, 9.0]))
        tensor([1, 3])
        """
    def argsort(self, /, axis: int = -1, descending: bool = False, stable: bool = True) -> Self:
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
    def bincount(self, /, weights: Any | None = None, minlength: int = 0) -> Self:
        """Count how often each integer occurs.

        >>> import dispatchkit as dk
        >>> dk.bincount(dk.asarray([0, 2, 2]))
        tensor([1, 0, 2])
        """
    def var(self, /, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Self:
        """Compute the variance of the elements.

        >>> import dispatchkit as dk
        >>> dk.var(dk.asarray([1.0, 3.0]))
        tensor(1.)
        """
    def std(self, /, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Self:
        """Compute the standard deviation of the elements.

        >>> import dispatchkit as dk
        >>> dk.std(dk.asarray([1.0, 3.0]), correction=1)
        tensor(1.4142)
        """
    def logsumexp(self, /, axis: Axis = None, keepdims: bool = False) -> Self:
        """Compute the logarithm of the sum of exponentials, without overflow.

        >>> import dispatchkit as dk
        >>> dk.logsumexp(dk.asarray([1000.0, 1000.0]))
        tensor(1000.6931)
        """
    def cov(self, /, rowvar: bool = True, correction: float = 1, fweights: Any | None = None, aweights: Any | None = None) -> Self:
        """Estimate the covariance matrix of variables.

        >>> import dispatchkit as dk
        >>> dk.cov(dk.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
        """
    def corrcoef(self, /, rowvar: bool = True) -> Self:
        """Compute the correlation coefficients of variables.

        >>> import dispatchkit as dk
        >>> dk.corrcoef(dk.asarray([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
        """
    def quantile(self, q: Any | float, /, axis: Axis = None, method: QuantileMethod = 'linear', keepdims: bool = False) -> Self:
        """Find the elements below which given shares of all lie.

        >>> import dispatchkit as dk
        >>> x = dk.asarray([4.0, 1.0, 3.0, 2.0])
        >>> dk.quantile(x, dk.asarray([0.0, 0.5, 0.75]))
        tensor([1.0000, 2.5000, 3.2500])
        >>> dk.quantile(x, 0.5, method="lower")
        tensor(2.)
        """
    def cholesky(self, /, upper: bool = False) -> Self:
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
    def eigvalsh(self, /) -> Self:
        """Compute the eigenvalues of real symmetric or complex Hermitian matrices.

        >>> import dispatchkit as dk
        >>> dk.linalg.eigvalsh(dk.tensor([[2.0, 1.0], [1.0, 2.0]]))
        tensor([1., 3.])
        """
    def eig(self, /) -> EigResult:
        """Compute the eigenvalues and eigenvectors of square matrices.

        >>> import dispatchkit as dk
        >>> dk.linalg.eig(dk.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues
        tensor([0.+1.j, 0.-1.j])
        """
    def eigvals(self, /) -> Self:
        """Compute the eigenvalues of square matrices.

        >>> import dispatchkit as dk
        >>> dk.linalg.eigvals(dk.tensor([[0.0, 1.0], [-1.0, 0.0]]))
        tensor([0.+1.j, 0.-1.j])
        """
    def inverse(self, /) -> Self:
        """Inverse of square matrices.

        >>> import dispatchkit as dk
        >>> dk.linalg.inv(dk.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
        """
    def det(self, /) -> Self:
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
    def __iadd__(self, other: Any, /) -> Self: ...  # type: ignore[misc]
    def __iand__(self, other: Any, /) -> Self: ...  # type: ignore[misc]
    def __ifloordiv__(self, other: Any, /) -> Self: ...  # type: ignore[misc]
    def __ilshift__(self, other: Any, /) -> Self: ...  # type: ignore[misc]
    def __imatmul__(self, other: Any, /) -> Self: ...  # type: ignore[misc]
    def __imod__(self, other: Any, /) -> Self: ...  # type: ignore[misc]
    def __imul__(self, other: Any, /) -> Self: ...  # type: ignore[misc]
    def __ior__(self, other: Any, /) -> Self: ...  # type: ignore[misc]
    def __ipow__(self, other: Any, /) -> Self: ...  # type: ignore[misc]
    def __irshift__(self, other: Any, /) -> Self: ...  # type: ignore[misc]
    def __isub__(self, other: Any, /) -> Self: ...  # type: ignore[misc]
    def __itruediv__(self, other: Any, /) -> Self: ...  # type: ignore[misc]
    def __ixor__(self, other: Any, /) -> Self: ...  # type: ignore[misc]
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
    def deg2rad_(self, /) -> Self: ...
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
    def rad2deg_(self, /) -> Self: ...
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

class ParameterMethods(TensorMethods):
    """The methods of parameters, whose results are plain tensors."""

    @property
    def _result(self) -> Tensor: ...
    def __divmod__(self, other: Any) -> tuple[Tensor, Tensor]: ...
    def __rdivmod__(self, other: Any) -> tuple[Tensor, Tensor]: ...
    def __round__(self, ndigits: int | None = None) -> Tensor: ...
    def astype(self, dtype: DType, /, copy: bool = True, device: Any = None) -> Tensor: ...
    def clone(self, /) -> Tensor: ...
    def copy(self, /) -> Tensor: ...
    @overload
    def __add__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __add__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __add__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __add__(self, other: object, /) -> Any: ...
    @overload
    def __radd__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __radd__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __radd__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __radd__(self, other: object, /) -> Any: ...
    @overload
    def add(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def add(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def add(self, other: object, /) -> Any: ...
    @overload
    def __sub__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __sub__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __sub__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __sub__(self, other: object, /) -> Any: ...
    @overload
    def __rsub__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __rsub__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rsub__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rsub__(self, other: object, /) -> Any: ...
    @overload
    def subtract(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def subtract(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def subtract(self, other: object, /) -> Any: ...
    @overload
    def __mul__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __mul__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __mul__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __mul__(self, other: object, /) -> Any: ...
    @overload
    def __rmul__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __rmul__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rmul__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rmul__(self, other: object, /) -> Any: ...
    @overload
    def multiply(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def multiply(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def multiply(self, other: object, /) -> Any: ...
    @overload
    def __truediv__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __truediv__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __truediv__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __truediv__(self, other: object, /) -> Any: ...
    @overload
    def __rtruediv__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __rtruediv__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rtruediv__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rtruediv__(self, other: object, /) -> Any: ...
    @overload
    def divide(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def divide(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def divide(self, other: object, /) -> Any: ...
    @overload
    def __floordiv__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __floordiv__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __floordiv__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __floordiv__(self, other: object, /) -> Any: ...
    @overload
    def __rfloordiv__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __rfloordiv__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rfloordiv__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rfloordiv__(self, other: object, /) -> Any: ...
    @overload
    def floor_divide(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def floor_divide(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def floor_divide(self, other: object, /) -> Any: ...
    @overload
    def __mod__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __mod__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __mod__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __mod__(self, other: object, /) -> Any: ...
    @overload
    def __rmod__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __rmod__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rmod__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rmod__(self, other: object, /) -> Any: ...
    @overload
    def remainder(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def remainder(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def remainder(self, other: object, /) -> Any: ...
    def __neg__(self, /) -> Tensor: ...
    def negative(self, /) -> Tensor: ...
    def __pos__(self, /) -> Tensor: ...
    def positive(self, /) -> Tensor: ...
    @overload
    def sub(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def sub(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def sub(self, other: object, /) -> Any: ...
    @overload
    def mul(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def mul(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def mul(self, other: object, /) -> Any: ...
    @overload
    def div(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def div(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def div(self, other: object, /) -> Any: ...
    @overload
    def true_divide(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def true_divide(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def true_divide(self, other: object, /) -> Any: ...
    @overload
    def mod(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def mod(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def mod(self, other: object, /) -> Any: ...
    def neg(self, /) -> Tensor: ...
    def __abs__(self, /) -> Tensor: ...
    def abs(self, /) -> Tensor: ...
    def sign(self, /) -> Tensor: ...
    def signbit(self, /) -> Tensor: ...
    @overload
    def copysign(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def copysign(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def copysign(self, other: object, /) -> Any: ...
    @overload
    def nextafter(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def nextafter(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def nextafter(self, other: object, /) -> Any: ...
    def floor(self, /) -> Tensor: ...
    def ceil(self, /) -> Tensor: ...
    def trunc(self, /) -> Tensor: ...
    def round(self, /) -> Tensor: ...
    def absolute(self, /) -> Tensor: ...
    def sgn(self, /) -> Tensor: ...
    def __eq__(self, other: object, /) -> Tensor: ...
    @overload
    def equal(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def equal(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def equal(self, other: object, /) -> Any: ...
    def __ne__(self, other: object, /) -> Tensor: ...
    @overload
    def not_equal(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def not_equal(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def not_equal(self, other: object, /) -> Any: ...
    @overload
    def __lt__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __lt__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __lt__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __lt__(self, other: object, /) -> Any: ...
    @overload
    def less(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def less(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def less(self, other: object, /) -> Any: ...
    @overload
    def __le__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __le__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __le__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __le__(self, other: object, /) -> Any: ...
    @overload
    def less_equal(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def less_equal(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def less_equal(self, other: object, /) -> Any: ...
    @overload
    def __gt__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __gt__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __gt__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __gt__(self, other: object, /) -> Any: ...
    @overload
    def greater(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def greater(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def greater(self, other: object, /) -> Any: ...
    @overload
    def __ge__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __ge__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __ge__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __ge__(self, other: object, /) -> Any: ...
    @overload
    def greater_equal(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def greater_equal(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def greater_equal(self, other: object, /) -> Any: ...
    @overload
    def logical_and(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def logical_and(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def logical_and(self, other: object, /) -> Any: ...
    @overload
    def logical_or(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def logical_or(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def logical_or(self, other: object, /) -> Any: ...
    @overload
    def logical_xor(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def logical_xor(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def logical_xor(self, other: object, /) -> Any: ...
    def logical_not(self, /) -> Tensor: ...
    def isfinite(self, /) -> Tensor: ...
    def isinf(self, /) -> Tensor: ...
    def isnan(self, /) -> Tensor: ...
    @overload
    def eq(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def eq(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def eq(self, other: object, /) -> Any: ...
    @overload
    def ne(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def ne(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def ne(self, other: object, /) -> Any: ...
    @overload
    def lt(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def lt(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def lt(self, other: object, /) -> Any: ...
    @overload
    def le(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def le(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def le(self, other: object, /) -> Any: ...
    @overload
    def gt(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def gt(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def gt(self, other: object, /) -> Any: ...
    @overload
    def ge(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def ge(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def ge(self, other: object, /) -> Any: ...
    @overload
    def __and__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __and__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __and__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __and__(self, other: object, /) -> Any: ...
    @overload
    def __rand__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __rand__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rand__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rand__(self, other: object, /) -> Any: ...
    @overload
    def bitwise_and(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def bitwise_and(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def bitwise_and(self, other: object, /) -> Any: ...
    @overload
    def __or__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __or__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __or__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __or__(self, other: object, /) -> Any: ...
    @overload
    def __ror__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __ror__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __ror__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __ror__(self, other: object, /) -> Any: ...
    @overload
    def bitwise_or(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def bitwise_or(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def bitwise_or(self, other: object, /) -> Any: ...
    @overload
    def __xor__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __xor__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __xor__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __xor__(self, other: object, /) -> Any: ...
    @overload
    def __rxor__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __rxor__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rxor__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rxor__(self, other: object, /) -> Any: ...
    @overload
    def bitwise_xor(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def bitwise_xor(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def bitwise_xor(self, other: object, /) -> Any: ...
    def __invert__(self, /) -> Tensor: ...
    def bitwise_invert(self, /) -> Tensor: ...
    @overload
    def __lshift__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __lshift__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __lshift__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __lshift__(self, other: object, /) -> Any: ...
    @overload
    def __rlshift__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __rlshift__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rlshift__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rlshift__(self, other: object, /) -> Any: ...
    @overload
    def bitwise_left_shift(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def bitwise_left_shift(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def bitwise_left_shift(self, other: object, /) -> Any: ...
    @overload
    def __rshift__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __rshift__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rshift__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rshift__(self, other: object, /) -> Any: ...
    @overload
    def __rrshift__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __rrshift__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rrshift__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rrshift__(self, other: object, /) -> Any: ...
    @overload
    def bitwise_right_shift(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def bitwise_right_shift(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def bitwise_right_shift(self, other: object, /) -> Any: ...
    def bitwise_not(self, /) -> Tensor: ...
    @overload
    def maximum(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def maximum(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def maximum(self, other: object, /) -> Any: ...
    @overload
    def minimum(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def minimum(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def minimum(self, other: object, /) -> Any: ...
    def relu(self, /) -> Tensor: ...
    def clip(self, /, min: Any = None, max: Any = None) -> Tensor: ...
    def clamp(self, /, min: Any = None, max: Any = None) -> Tensor: ...
    def exp(self, /) -> Tensor: ...
    def expm1(self, /) -> Tensor: ...
    def log(self, /) -> Tensor: ...
    def log1p(self, /) -> Tensor: ...
    def log2(self, /) -> Tensor: ...
    def log10(self, /) -> Tensor: ...
    @overload
    def logaddexp(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def logaddexp(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def logaddexp(self, other: object, /) -> Any: ...
    def sigmoid(self, /) -> Tensor: ...
    @property
    def real(self) -> Tensor: ...
    @property
    def imag(self) -> Tensor: ...
    def conj(self, /) -> Tensor: ...
    def conjugate(self, /) -> Tensor: ...
    @overload
    def __pow__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __pow__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __pow__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __pow__(self, other: object, /) -> Any: ...
    @overload
    def __rpow__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __rpow__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rpow__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rpow__(self, other: object, /) -> Any: ...
    @overload
    def pow(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def pow(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def pow(self, other: object, /) -> Any: ...
    def square(self, /) -> Tensor: ...
    def reciprocal(self, /) -> Tensor: ...
    def sqrt(self, /) -> Tensor: ...
    def cbrt(self, /) -> Tensor: ...
    def rsqrt(self, /) -> Tensor: ...
    @overload
    def hypot(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def hypot(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def hypot(self, other: object, /) -> Any: ...
    @overload
    def power(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def power(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def power(self, other: object, /) -> Any: ...
    def sin(self, /) -> Tensor: ...
    def cos(self, /) -> Tensor: ...
    def tan(self, /) -> Tensor: ...
    def asin(self, /) -> Tensor: ...
    def acos(self, /) -> Tensor: ...
    def atan(self, /) -> Tensor: ...
    @overload
    def atan2(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def atan2(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def atan2(self, other: object, /) -> Any: ...
    def arcsin(self, /) -> Tensor: ...
    def arccos(self, /) -> Tensor: ...
    def arctan(self, /) -> Tensor: ...
    @overload
    def arctan2(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def arctan2(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def arctan2(self, other: object, /) -> Any: ...
    def sinh(self, /) -> Tensor: ...
    def cosh(self, /) -> Tensor: ...
    def tanh(self, /) -> Tensor: ...
    def asinh(self, /) -> Tensor: ...
    def acosh(self, /) -> Tensor: ...
    def atanh(self, /) -> Tensor: ...
    def arcsinh(self, /) -> Tensor: ...
    def arccosh(self, /) -> Tensor: ...
    def arctanh(self, /) -> Tensor: ...
    def deg2rad(self, /) -> Tensor: ...
    def rad2deg(self, /) -> Tensor: ...
    def __getitem__(self, key: Index, /) -> Tensor: ...
    def __setitem__(self, key: Index, value: Any, /) -> None: ...
    def take(self, indices: Any, /, axis: int | None = None) -> Tensor: ...
    def gather(self, /, axis: int, indices: Any) -> Tensor: ...
    def scatter_add(self, /, axis: int, indices: Any, src: Any) -> Tensor: ...
    def masked_fill(self, /, mask: Any, value: Any | float) -> Tensor: ...
    def diag(self, /, offset: int = 0) -> Tensor: ...
    def tril(self, /, k: int = 0) -> Tensor: ...
    def triu(self, /, k: int = 0) -> Tensor: ...
    def trace(self, /, offset: int = 0, dtype: DType = None) -> Tensor: ...
    def diagonal(self, /, offset: int = 0) -> Tensor: ...
    def cross(self, x2: Any, /, axis: int = -1) -> Tensor: ...
    @overload
    def outer(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def outer(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def outer(self, other: object, /) -> Any: ...
    def norm(self, /, ord: MatrixOrder | None = None, axis: Axis = None, keepdims: bool = False) -> Tensor: ...
    def svd(self, /, full_matrices: bool = True) -> SVDResult: ...
    def pinverse(self, /, rtol: float | Any | None = None) -> Tensor: ...
    @overload
    def __matmul__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __matmul__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __matmul__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __matmul__(self, other: object, /) -> Any: ...
    @overload
    def __rmatmul__(self, other: Derived[Tensor, R], /) -> R: ...
    @overload
    def __rmatmul__(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __rmatmul__(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def __rmatmul__(self, other: object, /) -> Any: ...
    @overload
    def matmul(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def matmul(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def matmul(self, other: object, /) -> Any: ...
    def vecdot(self, x2: Any, /, axis: int = -1) -> Tensor: ...
    @overload
    def mm(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def mm(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def mm(self, other: object, /) -> Any: ...
    @overload
    def mv(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def mv(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def mv(self, other: object, /) -> Any: ...
    @overload
    def bmm(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def bmm(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def bmm(self, other: object, /) -> Any: ...
    @overload
    def dot(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def dot(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def dot(self, other: object, /) -> Any: ...
    @overload
    def permute_dims(self, /, axes: Sequence[int]) -> Tensor: ...
    @overload
    def permute_dims(self, /, *axes: int) -> Tensor: ...
    @overload
    def permute(self, /, axes: Sequence[int]) -> Tensor: ...
    @overload
    def permute(self, /, *axes: int) -> Tensor: ...
    @property
    def mT(self) -> Tensor: ...
    def t(self, /) -> Tensor: ...
    @property
    def T(self) -> Tensor: ...
    def transpose(self, /, axes: int | Sequence[int] | None = None, *more: int) -> Tensor: ...
    def swapaxes(self, axis1: int, axis2: int, /) -> Tensor: ...
    def moveaxis(self, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Tensor: ...
    @overload
    def flip(self, /, axis: Axis = None) -> Tensor: ...
    @overload
    def flip(self, /, *axis: int) -> Tensor: ...
    def roll(self, /, shift: int | tuple[int, ...], axis: Axis = None) -> Tensor: ...
    def movedim(self, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Tensor: ...
    def swapdims(self, axis1: int, axis2: int, /) -> Tensor: ...
    @overload
    def reshape(self, /, shape: Shape, copy: bool | None = None) -> Tensor: ...
    @overload
    def reshape(self, /, *shape: int, copy: bool | None = None) -> Tensor: ...
    @overload
    def view(self, /, shape: Shape | DType) -> Tensor: ...
    @overload
    def view(self, /, *shape: int) -> Tensor: ...
    def flatten(self, /, start_dim: int = 0, end_dim: int = -1) -> Tensor: ...
    def ravel(self, /) -> Tensor: ...
    def squeeze(self, /, axis: Axis = None) -> Tensor: ...
    def expand_dims(self, /, axis: int | tuple[int, ...]) -> Tensor: ...
    def unsqueeze(self, /, dim: int) -> Tensor: ...
    def broadcast_to(self, /, shape: Shape) -> Tensor: ...
    @overload
    def expand(self, /, shape: Sequence[int]) -> Tensor: ...
    @overload
    def expand(self, /, *shape: int) -> Tensor: ...
    def chunk(self, chunks: int, /, axis: int = 0) -> tuple[Tensor, ...]: ...
    @overload
    def kron(self, other: Operand, /) -> Tensor: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def kron(self, other: Unfit | None, /) -> NoArray: ...
    @overload
    def kron(self, other: object, /) -> Any: ...
    def argwhere(self, /) -> Tensor: ...
    def nansum(self, /, axis: Axis = None, dtype: DType = None, keepdims: bool = False) -> Tensor: ...
    def nanmean(self, /, axis: Axis = None, dtype: DType = None, keepdims: bool = False) -> Tensor: ...
    def sum(self, /, axis: Axis = None, keepdims: bool = False, dtype: DType = None) -> Tensor: ...
    def mean(self, /, axis: Axis = None, keepdims: bool = False) -> Tensor: ...
    def prod(self, /, axis: Axis = None, keepdims: bool = False, dtype: DType = None) -> Tensor: ...
    def max(self, /, axis: Axis = None, keepdims: bool = False) -> Tensor: ...
    def min(self, /, axis: Axis = None, keepdims: bool = False) -> Tensor: ...
    def all(self, /, axis: Axis = None, keepdims: bool = False) -> Tensor: ...
    def any(self, /, axis: Axis = None, keepdims: bool = False) -> Tensor: ...
    def count_nonzero(self, /, axis: Axis = None, keepdims: bool = False) -> Tensor: ...
    def amax(self, /, axis: Axis = None, keepdims: bool = False) -> Tensor: ...
    def amin(self, /, axis: Axis = None, keepdims: bool = False) -> Tensor: ...
    def diff(self, /, n: int = 1, axis: int = -1, prepend: Any | None = None, append: Any | None = None) -> Tensor: ...
    def cumprod(self, /, axis: int | None = None, dtype: DType = None, include_initial: bool = False) -> Tensor: ...
    def cumsum(self, /, axis: int | None = None, dtype: DType = None, include_initial: bool = False) -> Tensor: ...
    def softmax(self, /, axis: Axis = -1) -> Tensor: ...
    def log_softmax(self, /, axis: Axis = -1) -> Tensor: ...
    def argmax(self, /, axis: int | None = None, keepdims: bool = False) -> Tensor: ...
    def argmin(self, /, axis: int | None = None, keepdims: bool = False) -> Tensor: ...
    def nonzero(self, /) -> tuple[Tensor, ...]: ...
    def searchsorted(self, x2: Any, /, side: Literal['left', 'right'] = 'left', sorter: Any | None = None) -> Tensor: ...
    def argsort(self, /, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor: ...
    def topk(self, /, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> TopKResult: ...
    def bincount(self, /, weights: Any | None = None, minlength: int = 0) -> Tensor: ...
    def var(self, /, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor: ...
    def std(self, /, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor: ...
    def logsumexp(self, /, axis: Axis = None, keepdims: bool = False) -> Tensor: ...
    def cov(self, /, rowvar: bool = True, correction: float = 1, fweights: Any | None = None, aweights: Any | None = None) -> Tensor: ...
    def corrcoef(self, /, rowvar: bool = True) -> Tensor: ...
    def quantile(self, q: Any | float, /, axis: Axis = None, method: QuantileMethod = 'linear', keepdims: bool = False) -> Tensor: ...
    def cholesky(self, /, upper: bool = False) -> Tensor: ...
    def qr(self, /, mode: Literal['reduced', 'complete'] = 'reduced') -> QRResult: ...
    def eigh(self, /) -> EighResult: ...
    def eigvalsh(self, /) -> Tensor: ...
    def eig(self, /) -> EigResult: ...
    def eigvals(self, /) -> Tensor: ...
    def inverse(self, /) -> Tensor: ...
    def det(self, /) -> Tensor: ...
    def slogdet(self, /) -> SlogdetResult: ...

"""`ScalarTensor`: a number on the diagonal of a square matrix."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from dispatchkit import linalg, ops
from dispatchkit.declare.wrapping import holds
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import ArrayMethods, Tensor

__all__ = ["ScalarTensor"]

implements = tensor_protocol.implements
Number = int | float | complex


@tensor_protocol.array_type(fallback=fallback.decompose | fallback.dense, fields=("value", "n"))
class ScalarTensor(ArrayMethods):
    """The n×n matrix with `value` on its diagonal and zeros elsewhere.

    Parameters
    ----------
    n : number of rows and of columns
    value : number or 0-D tensor, which may require a gradient

    Raises
    ------
    ValueError : if `n` is negative
    TypeError : if `n` is no integer, or `value` neither a number nor 0-D

    Notes
    -----
    Arithmetic with its like and with numbers, products with matrices and vectors, sums and means, inverse, solving,
    determinant, Cholesky factor and eigenvalues take O(1) or O(n) beside what their result holds. What has no rule
    is computed by decomposition, else on the dense matrix, with a warning. Source: the scaled identity of PyTorch's
    note "Extending PyTorch".

    Examples
    --------
    >>> import dispatchkit as dk
    >>> s = dk.types.ScalarTensor(3, 2.0)
    >>> s + s, s @ s, dk.mean(s)
    (ScalarTensor(n=3, value=4.0), ScalarTensor(n=3, value=4.0), tensor(0.6667))
    >>> dk.linalg.solve(s, dk.ones(3))
    tensor([0.5000, 0.5000, 0.5000])
    """

    def __init__(self, n: int, value: Any) -> None:
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
            raise TypeError(f"ScalarTensor: n must be an integer, not {type(n).__name__}")
        if n < 0:
            raise ValueError(f"ScalarTensor: n is {n}; it cannot be negative")
        scalar = isinstance(value, (int, float, complex, np.generic))
        if not scalar and not (isinstance(value, (Tensor, np.ndarray)) and value.ndim == 0):
            raise TypeError(f"ScalarTensor: value must be a number or a 0-D tensor, not {value!r}")
        self.n = int(n)
        # Sums of Python's True are ints, those of boolean matrices are boolean.
        self.value: Any = np.bool_(value) if isinstance(value, bool) else value

    @property
    def shape(self) -> tuple[int, int]:
        """Lengths of the axes: (n, n)."""
        return (self.n, self.n)

    @property
    def dtype(self) -> Any:
        """Type of the elements, that of the value."""
        return self.value.dtype if hasattr(self.value, "dtype") else np.result_type(type(self.value))

    def to_dense(self) -> Tensor:
        """Return the matrix as a plain tensor."""
        # Chosen rather than multiplied, so that neither inf nor nan spreads over the zeros.
        zero = ops.zeros((), dtype=self.dtype)
        dense: Tensor = ops.where(ops.eye(self.n, dtype=np.bool_), ops.asarray(self.value, dtype=self.dtype), zero)
        return dense

    def __repr__(self) -> str:
        return f"ScalarTensor(n={self.n}, value={_shown(self.value)})"


def _shown(value: Any) -> str:
    plain = type(value) is Tensor and value.ndim == 0 and not value.requires_grad
    return repr(value.item()) if plain else repr(value)


def _same_size(name: str, x1: ScalarTensor, x2: ScalarTensor) -> bool:
    """Return whether two matrices have one size; False where one is 1×1 and broadcasts.

    Raises
    ------
    ValueError : if the shapes do not broadcast
    """
    if x1.n == x2.n:
        return True
    if 1 in (x1.n, x2.n):
        return False
    raise ValueError(f"{name}: ScalarTensors of shapes {x1.shape} and {x2.shape} do not broadcast")


# Arithmetic.


@implements(ops.add)
def add_scalar_tensors(x1: ScalarTensor, x2: ScalarTensor, /) -> Any:
    if not _same_size("add", x1, x2):
        return decline("a 1×1 matrix broadcasts over all elements")
    return ScalarTensor(x1.n, x1.value + x2.value)


@implements(ops.subtract)
def subtract_scalar_tensors(x1: ScalarTensor, x2: ScalarTensor, /) -> Any:
    if not _same_size("subtract", x1, x2):
        return decline("a 1×1 matrix broadcasts over all elements")
    return ScalarTensor(x1.n, x1.value - x2.value)


@implements(ops.add)
def add_scalar_tensor_to_tensor(x1: ScalarTensor, x2: Tensor, /) -> Any:
    return _on_diagonal(x2, x1, x1.value)


@implements(ops.add)
def add_tensor_and_scalar_tensor(x1: Tensor, x2: ScalarTensor, /) -> Any:
    return _on_diagonal(x1, x2, x2.value)


@implements(ops.subtract)
def subtract_scalar_tensor_from_tensor(x1: Tensor, x2: ScalarTensor, /) -> Any:
    return _on_diagonal(x1, x2, -x2.value)


@implements(ops.subtract)
def subtract_tensor_from_scalar_tensor(x1: ScalarTensor, x2: Tensor, /) -> Any:
    return _on_diagonal(ops.zeros((), dtype=x1.dtype, device=x2.device) - x2, x1, x1.value)


def _on_diagonal(x: Tensor, matrix: ScalarTensor, value: Any) -> Any:
    """Return a tensor with a number added on the diagonal of its last two axes."""
    if x.shape[-2:] != matrix.shape:
        return decline(f"a tensor of shape {x.shape} broadcasts")
    if np.result_type(x.dtype, matrix.dtype) != x.dtype:
        x = ops.astype(x, np.result_type(x.dtype, matrix.dtype))
    index = ops.arange(matrix.n, device=x.device)
    return ops.index_put(x, (..., index, index), value, accumulate=True)


@implements(ops.multiply)
def multiply_scalar_tensors(x1: ScalarTensor, x2: ScalarTensor, /) -> Any:
    if not _same_size("multiply", x1, x2):
        return decline("a 1×1 matrix broadcasts over all elements")
    return ScalarTensor(x1.n, x1.value * x2.value)


@implements(ops.multiply)
def scale_scalar_tensor(x1: ScalarTensor, x2: Number | Tensor, /) -> Any:
    if getattr(x2, "ndim", 0):
        return decline("the product with an array is no multiple of the identity")
    if not (holds(ops.isfinite(x2), traced=True) if isinstance(x2, Tensor) else cmath.isfinite(x2)):
        return decline("the zeros off the diagonal do not stay zero")
    return ScalarTensor(x1.n, _typed_value(x1, x2) * x2)


@implements(ops.multiply)
def scale_by_scalar_tensor(x1: Number | Tensor, x2: ScalarTensor, /) -> Any:
    return scale_scalar_tensor(x2, x1)


@implements(ops.divide)
def divide_scalar_tensor(x1: ScalarTensor, x2: Number | Tensor, /) -> Any:
    length: Any = abs(x2)
    if getattr(x2, "ndim", 0) or not holds(length > 0, traced=True):
        return decline("the zeros off the diagonal do not stay zero")
    return ScalarTensor(x1.n, _typed_value(x1, x2) / x2)


@implements(ops.pow)
def pow_scalar_tensor(x1: ScalarTensor, x2: Number, /) -> Any:
    if isinstance(x2, complex) or not x2 > 0:
        return decline("the zeros off the diagonal do not stay zero")
    return ScalarTensor(x1.n, _typed_value(x1, x2) ** x2)


def _register_zero_preserving() -> None:
    """Register the elementwise functions that map 0 to 0: they act on the value alone."""
    for function in (
        *(ops.negative, ops.positive, ops.abs, ops.sign, ops.square),
        *(ops.floor, ops.ceil, ops.trunc, ops.round),
        *(ops.sqrt, ops.expm1, ops.log1p, ops.sin, ops.tan, ops.asin),
        *(ops.atan, ops.sinh, ops.tanh, ops.asinh, ops.atanh),
        *(ops.conj, ops.real, ops.imag),
    ):

        def on_value(x: ScalarTensor, /, function: Any = function) -> ScalarTensor:
            return ScalarTensor(x.n, function(x.value))

        on_value.__name__ = on_value.__qualname__ = f"{function.__name__}_scalar_tensor"
        implements(function, ScalarTensor)(on_value)


_register_zero_preserving()

# Comparison: where the zeros off the diagonal give False the result is a ScalarTensor of booleans, where they give
# True it has structure only if the diagonal gives True as well.


def _register_comparisons() -> None:
    for function in (ops.less, ops.greater, ops.not_equal):

        def strict(x1: ScalarTensor, x2: ScalarTensor, /, function: Any = function) -> Any:
            if not _same_size(function.__name__, x1, x2):
                return decline("a 1×1 matrix broadcasts over all elements")
            return ScalarTensor(x1.n, function(x1.value, x2.value))

        strict.__name__ = strict.__qualname__ = f"{function.__name__}_scalar_tensors"
        implements(function, ScalarTensor, ScalarTensor)(strict)
    for function in (ops.less_equal, ops.greater_equal, ops.equal):

        def weak(x1: ScalarTensor, x2: ScalarTensor, /, function: Any = function) -> Any:
            if not _same_size(function.__name__, x1, x2) or not holds(function(x1.value, x2.value)):
                return decline("the result is True off the diagonal alone")
            return ops.broadcast_to(ops.ones((), dtype=np.bool_), x1.shape)

        weak.__name__ = weak.__qualname__ = f"{function.__name__}_scalar_tensors"
        implements(function, ScalarTensor, ScalarTensor)(weak)


_register_comparisons()

# Products.


@implements(ops.matmul)
def matmul_scalar_tensors(x1: ScalarTensor, x2: ScalarTensor, /) -> ScalarTensor:
    _check_inner(x1.shape, x2.shape)
    return ScalarTensor(x1.n, x1.value * x2.value)


@implements(ops.matmul)
def matmul_scalar_tensor_tensor(x1: ScalarTensor, x2: Tensor, /) -> Any:
    _check_inner(x1.shape, x2.shape)
    return x1.value * _promoted(x2, x1)


@implements(ops.matmul)
def matmul_tensor_scalar_tensor(x1: Tensor, x2: ScalarTensor, /) -> Any:
    _check_inner(x1.shape, x2.shape)
    return _promoted(x1, x2) * x2.value


def _promoted(x: Tensor, matrix: ScalarTensor) -> Tensor:
    """Return a tensor of the dtype that it has with the matrix, which Python's numbers would leave to it alone."""
    wanted = x.dtype if isinstance(matrix.value, Tensor) else np.result_type(x.dtype, matrix.dtype)
    return x if x.dtype == wanted else ops.astype(x, wanted)


def _typed_value(x: ScalarTensor, other: Any) -> Any:
    """Return the value for an operation with a number that has a dtype, which a Python number would give way to."""
    return x.dtype.type(x.value) if hasattr(other, "dtype") and not hasattr(x.value, "dtype") else x.value


def _check_inner(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    inner = right[0] if len(right) == 1 else right[-2] if right else None
    if not left or inner != left[-1]:
        raise ValueError(f"matmul: arrays of shapes {left} and {right} cannot be multiplied")


# Reductions and structure.


@implements(ops.sum)
def sum_scalar_tensor(x: ScalarTensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor | ScalarTensor:
    line = ops.sum(_filled((), x.value))
    return _reduced("sum", x, axis, keepdims, total=x.n * line, line=line, element=line)


@implements(ops.mean)
def mean_scalar_tensor(x: ScalarTensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor | ScalarTensor:
    line = x.value / x.n if x.n else float("nan")
    return _reduced("mean", x, axis, keepdims, total=line, line=line, element=x.value / 1)


def _reduced(
    name: str, x: ScalarTensor, axis: Any, keepdims: bool, total: Any, line: Any, element: Any
) -> Tensor | ScalarTensor:
    """Return a reduction that gives `total` over everything, `line` along a line, and `element` along no axis."""
    axes = {0, 1} if axis is None else {_axis(name, a) for a in (axis if isinstance(axis, tuple) else (axis,))}
    if not axes:
        return ScalarTensor(x.n, element)
    shape = tuple(1 if i in axes else x.n for i in (0, 1)) if keepdims else tuple(x.n for i in (0, 1) if i not in axes)
    return _filled(shape, total if len(axes) == 2 else line)


def _filled(shape: tuple[int, ...], value: Any) -> Tensor:
    return ops.broadcast_to(tensor_protocol.types.wrap(value) if not isinstance(value, Tensor) else value, shape)


def _axis(name: str, axis: int) -> int:
    if not -2 <= axis < 2:
        raise IndexError(f"{name}: axis {axis} is out of range for a ScalarTensor, which has 2 axes")
    return axis % 2


@implements(linalg.trace)
def trace_scalar_tensor(x: ScalarTensor, /, *, offset: int = 0) -> Tensor:
    return _filled((), x.value * (x.n if offset == 0 else 0))


@implements(linalg.diagonal)
def diagonal_scalar_tensor(x: ScalarTensor, /, *, offset: int = 0) -> Tensor:
    return _filled((max(x.n - abs(offset), 0),), x.value if offset == 0 else x.value * 0)


@implements(ops.matrix_transpose)
def matrix_transpose_scalar_tensor(x: ScalarTensor, /) -> ScalarTensor:
    return x


@implements(ops.permute_dims)
def permute_dims_scalar_tensor(x: ScalarTensor, /, axes: tuple[int, ...]) -> ScalarTensor:
    if sorted(_axis("permute_dims", a) for a in axes) != [0, 1]:
        raise ValueError(f"permute_dims: axes {tuple(axes)} are no permutation of (0, 1)")
    return x


@implements(ops.getitem)
def getitem_scalar_tensor(x: ScalarTensor, key: Any, /) -> Any:
    if not (isinstance(key, tuple) and len(key) == 2 and all(isinstance(i, int) for i in key)):
        return decline("only single elements are read without the dense matrix")
    for i in key:
        if not -x.n <= i < x.n:
            raise IndexError(f"getitem: index {i} is out of range for an axis of length {x.n}")
    return _filled((), x.value if key[0] % x.n == key[1] % x.n else x.value * 0)


# Linear algebra.


def _floating(value: Any) -> Tensor:
    """Return a value as a 0-D tensor of floating-point numbers."""
    tensor = _filled((), value)
    return tensor if tensor.dtype.kind in "fc" else ops.astype(tensor, np.float64)


def _require_regular(name: str, x: ScalarTensor) -> None:
    if x.n and not holds(x.value != 0, traced=True):
        raise np.linalg.LinAlgError(f"{name}: singular matrix: ScalarTensor({x.n}, 0)")


@implements(linalg.inv)
def inv_scalar_tensor(x: ScalarTensor, /) -> ScalarTensor:
    _require_regular("inv", x)
    return ScalarTensor(x.n, 1 / x.value)


@implements(linalg.solve)
def solve_scalar_tensor(x1: ScalarTensor, x2: Tensor, /) -> Any:
    _require_regular("solve", x1)
    rows = x2.shape[0] if x2.ndim == 1 else x2.shape[-2] if x2.ndim else None
    if rows != x1.n:
        raise ValueError(f"solve: matrix of shape {x1.shape} and right-hand side of shape {x2.shape} do not fit")
    return _promoted(x2, x1) / x1.value


@implements(linalg.solve)
def solve_scalar_tensors(x1: ScalarTensor, x2: ScalarTensor, /) -> ScalarTensor:
    _require_regular("solve", x1)
    if x1.n != x2.n:
        raise ValueError(f"solve: matrix of shape {x1.shape} and right-hand side of shape {x2.shape} do not fit")
    return ScalarTensor(x1.n, x2.value / x1.value)


@implements(linalg.det)
def det_scalar_tensor(x: ScalarTensor, /) -> Tensor:
    return _floating(x.value) ** x.n


@implements(linalg.slogdet)
def slogdet_scalar_tensor(x: ScalarTensor, /) -> Any:
    value = _floating(x.value)
    magnitude = ops.abs(value)
    if x.n and holds(magnitude == 0):
        return linalg.SlogdetResult(value * 0, magnitude - float("inf"))
    if x.n and not holds(magnitude != 0, traced=True):
        return decline("some matrices of the batch are singular")
    return linalg.SlogdetResult((value / magnitude) ** x.n, x.n * ops.log(magnitude))


@implements(linalg.cholesky)
def cholesky_scalar_tensor(x: ScalarTensor, /, *, upper: bool = False) -> Any:
    if ops.isdtype(x.dtype, "complex floating"):
        return decline("of complex numbers the dense algorithm looks at the real part alone")
    if x.n == 0:
        return decline("a matrix without rows has a factor whatever its value")
    if not holds(x.value > 0, traced=True):
        raise np.linalg.LinAlgError(
            f"cholesky: matrix is not positive definite: ScalarTensor({x.n}, {_shown(x.value)})"
        )
    return ScalarTensor(x.n, ops.sqrt(x.value) if isinstance(x.value, Tensor) else math.sqrt(x.value))


@implements(linalg.eigvalsh)
def eigvalsh_scalar_tensor(x: ScalarTensor, /) -> Tensor:
    return _filled((x.n,), ops.real(_floating(x.value)))

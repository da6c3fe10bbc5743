"""What functions of PyTorch that are no operation have in common."""

from __future__ import annotations

import inspect
import math
from collections.abc import Container, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from dispatchkit.as_torch.table import Function, is_array
from dispatchkit.backends import arrays
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.backends.numpy_numbers import ZERO
from dispatchkit.backends.numpy_sums import DOUBLE, HALF, SINGLE
from dispatchkit.declare.decorators import operation
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.source import with_parameters
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.frames import caller_frame, warn_at
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds

LIMIT = 1e18  # numbers below are held by single precision and by 64-bit integers
LIMIT_OF_DOUBLE = 2**1023


def between(start: Any, end: Any, steps: int) -> Any:
    """Return numbers at equal distances, each counted from the nearer end."""
    places = np.arange(steps)
    step: Any = 0.0
    if steps > 1:
        step = (np.float64(end) - start) / (steps - 1)
    from_start = start + step * places
    if steps < 2:
        return from_start
    return np.where(places < steps // 2, from_start, end - step * (steps - 1 - places))


def times(x: Any, alpha: Any, beside: Any = None) -> Any:
    """Return an array times a factor, itself where that is 1, which may be of another dtype.

    Parameters
    ----------
    x : an array, or a number
    alpha : the factor
    beside : the other operand, in whose dtype a product of integers wraps around, where that is no array
    """
    if alpha == 1:
        return x
    if type(x) is int and type(alpha) is int and is_array(beside) and xp.isdtype(beside.dtype, "integral"):
        limits = np.iinfo(numpy_dtype(beside.dtype))
        return (x * alpha - limits.min) % 2**limits.bits + limits.min
    if is_array(x) and xp.isdtype(x.dtype, "bool") and isinstance(alpha, int):
        alpha = bool(alpha)  # as booleans are multiplied by
    if type(x) is bool and isinstance(alpha, int) and is_array(beside) and xp.isdtype(beside.dtype, "bool"):
        return x and bool(alpha)
    return x * alpha


def norm_of_vectors(x: Any, order: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return norms of vectors; of one element that is the absolute value, whose powers may be beyond the dtype.

    Parameters
    ----------
    x : an array
    order, axis, keepdims : as of `linalg.vector_norm`
    """
    axes = axis
    if not x.ndim:
        axis = axes = ()
    elif type(axis) is not int and (axis is None or np.size(axis) == 0):
        axes = tuple(range(x.ndim))
    elif isinstance(axis, int):
        axes = (axis,)
    if order not in (0, 1, 2, math.inf, -math.inf) and math.prod(x.shape[each] for each in axes) == 1:
        return xp.sum(xp.abs(x), axis=axes, keepdims=keepdims) if axes else xp.abs(x)
    return xp.linalg.vector_norm(x, ord=order, axis=axis, keepdims=keepdims)


def in_dtype_of(x: Any, value: Any) -> Any:
    """Return a value that is put into an array, in the array's dtype.

    Raises
    ------
    RuntimeError : for a value of a kind that the dtype cannot hold
    """
    dtype = numpy_dtype(x.dtype)
    if type(value) in (int, float) and dtype in (SINGLE, DOUBLE) and abs(value) < LIMIT:  # as most are
        return float(dtype.type(value))
    if is_array(value):
        if numpy_dtype(value.dtype).kind == "c" and dtype.kind != "c":
            if value.is_tracer or value.ndim or value.detach().array.imag:
                raise RuntimeError(f"value cannot be converted to type {dtype} without overflow")
            value = xp.real(value)
        return xp.astype(value, x.dtype)
    if not isinstance(value, (bool, int, float, complex, np.generic)):
        return value
    number: Any = np.asarray(value)
    if number.dtype.kind == "c" and dtype.kind != "c" and not number.imag:
        number = number.real
    fits = number.dtype.kind != "c" or dtype.kind in "bc"
    if fits and dtype.kind in "fc":
        parts = np.abs([number.real, number.imag])
        fits = not ((parts > np.finfo(dtype).max) & np.isfinite(parts)).any()
    if fits and dtype.kind in "iu":
        least = np.iinfo(dtype).min
        if dtype.kind == "u" and number.dtype.kind == "i":
            least = -np.iinfo(dtype).max  # counted from the end
        fits = bool(least <= number <= np.iinfo(dtype).max)
    if not fits:
        raise RuntimeError(f"value cannot be converted to type {dtype} without overflow")
    return number.astype(dtype).item()


def rounded_to_dtype_of(x: Any, value: Any) -> Any:
    """Return a number in the dtype of an array; beyond half precision it is infinite.

    Raises
    ------
    RuntimeError : for a number that another dtype cannot hold
    """
    if type(value) in (int, float) and x.dtype == HALF and abs(value) < LIMIT_OF_DOUBLE:
        with np.errstate(over="ignore"):
            return float(HALF.type(value))
    return in_dtype_of(x, value)


NUMBER_OF_HALF = HALF.num


def is_half(x: Any) -> bool:
    """Return whether an argument is an array of half precision."""
    if isinstance(x, Storage) and not x.is_tracer:
        x = x.array  # whose dtype is looked at in a tenth of the time
        if type(x) is np.ndarray:
            return bool(x.dtype.num == NUMBER_OF_HALF)
    return getattr(x, "dtype", None) == HALF


def in_single_precision(function: Function) -> Function:
    """Return a function that computes arrays of half precision, where the first one is, in single precision.

    The result is rounded once, as in PyTorch: numbers may be beyond half precision, and steps between may.
    """
    signature = inspect.signature(function)
    first = next(iter(signature.parameters))

    def call(*args: Any, **kwargs: Any) -> Any:
        if not is_half(args[0] if args else kwargs.get(first)):
            return function(*args, **kwargs)
        wide = {name: _widened(value) for name, value in kwargs.items()}
        with np.errstate(over="ignore"):
            return xp.astype(function(*map(_widened, args), **wide), HALF)

    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__name__, call.__qualname__, call.__module__ = function.__name__, function.__qualname__, function.__module__
    return call


def _widened(value: Any) -> Any:
    """Return an array of half precision in single precision, and anything else as it is."""
    if is_half(value):
        return xp.astype(value, SINGLE)
    return value


def number_for(x: Any, value: Any) -> Any:
    """Return a number that is put into an array, in the array's dtype, which has to hold it where it is a tensor, too.

    Raises
    ------
    RuntimeError : for one that the dtype cannot hold
    """
    if is_array(value) and not value.ndim and not value.is_tracer:
        in_dtype_of(x, value.item())
    return in_dtype_of(x, value)


def implicit_axis(name: str, ndim: int) -> int:
    """Return the axis that PyTorch chooses for a softmax that is given none, with its warning."""
    text = f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument."
    warn_at(caller_frame(), text, UserWarning)
    return int(ndim not in (0, 1, 3))


def word_for(function: str, parameter: str, number: int, words: Sequence[str], error: type[Exception]) -> str:
    """Return the word that a number stands for, as functions behind those of PyTorch's networks take them.

    Raises
    ------
    Exception : the error, for a number that stands for none
    """
    if not 0 <= number < len(words):
        meanings = ", ".join(f"{place} for {word!r}" for place, word in enumerate(words))
        raise error(f"{function}: {parameter} must be {meanings}, found {number}")
    return words[number]


def kept(x: Any, beta: Any) -> Any:
    """Return an array times a factor, of which 0 makes zeros whatever the elements are."""
    if type(beta) in (int, float, complex, bool) and beta == 0:
        return xp.zeros_like(x)
    return times(x, beta)


def index_along(x: Any, dim: int, index: Any) -> tuple[Any, ...]:
    """Return the index that takes elements of an array along one axis, and all along the others."""
    return (*(slice(None),) * (dim % x.ndim), index)


def several(tensors: Any) -> Any:
    """Return tensors, which may be given as one sequence."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        return tensors[0]
    return tensors


@operation(kind=kinds.elementwise, namespace="torch", decomposes=False)
def complex_of_parts(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Return complex numbers by their parts, which may be infinite, NaN or -0.0."""
    return arrays.of_parts(x1, x2)


@complex_of_parts.def_partial("x1")
def complex_partial_real(x1: Any, x2: Any) -> Any:
    return 1.0


@complex_of_parts.def_partial("x2")
def complex_partial_imag(x1: Any, x2: Any) -> Any:
    return 1j


# Layers whose argument is `x` in PyTorch, too.
OF_X = frozenset({"RMSNorm"})


@operation(kind=kinds.elementwise, namespace="torch", decomposes=False)
def gradient_alone(xp: Any, x: Any, /) -> Any:
    """Return zeros, also for infinities and NaN, whose derivative by the elements is 1."""
    return xp.zeros_like(x)


gradient_alone.def_partial(1.0)


@operation(kind=kinds.elementwise, namespace="torch", real=True)
def sign(xp: Any, x: Any, /) -> Any:
    """Return the signs of real numbers, 0 for NaN; their derivative reads nothing."""
    return _sign(xp, x)


def _sign(xp: Any, x: Any) -> Any:
    return xp.sign(xp.where(xp.isnan(x), 0.0, x))


@sign.def_kernel("numpy")
def sign_numpy(x: Any, /) -> Any:
    if type(x) is not np.ndarray or x.dtype not in (SINGLE, DOUBLE) or not x.ndim:
        return _sign(numpy_namespace, x)
    # NaN is neither. NumPy's loop branches at each element.
    zero = ZERO[x.dtype]
    y = np.greater(x, zero).view(np.int8)
    np.subtract(y, np.less(x, zero).view(np.int8), y)
    return y.astype(x.dtype)


sign.def_partial(0.0)


@operation(kind=kinds.elementwise, namespace="torch", decomposes=False)
def rounded_quotient(xp: Any, y: Any, x1: Any, x2: Any, /) -> Any:
    """Return a rounded quotient of two operands, by which the derivatives are 0, whatever the operands are."""
    return y


rounded_quotient.def_partial(1, 0, 0)


def copy_if_recorded(x: Any) -> Any:
    """Return a copy of a tensor that gradients flow to, which rules read in its place; anything else as it is.

    A program may then change the tensor in place, as it may where PyTorch saves what it has computed of it.
    """
    if isinstance(x, Storage) and x._node is not None and is_grad_enabled():
        return xp.positive(x)
    return x


def product_times(x1: Any, x2: Any, alpha: Any) -> Any:
    """Return a product of matrices times a factor; that of none of their elements is 0, whatever the factor."""
    if not x1.shape[-1]:
        return x1 @ x2
    return times(x1 @ x2, alpha)


def scaled_product(x1: Any, x2: Any, alpha: Any) -> Any:
    """Return a product of matrices times a factor, of which 0 makes zeros, as in BLAS, which then reads no elements."""
    if type(alpha) in (int, float, complex, bool) and alpha == 0:
        return gradient_alone(x1 @ x2) * alpha
    return product_times(x1, x2, alpha)


def forward_of(layer: Any) -> dict[str, Any]:
    """Return the `forward` of a layer of the library whose argument has PyTorch's name, as a member of a class."""
    function = layer.forward
    if layer.__name__ in OF_X:
        return {}
    if isinstance(function, FunctionType) and function.__code__.co_varnames[1:2] == ("x",):
        return {"forward": with_parameters(function, {"x": "input"})}
    return {}


def changeable(gradient: Any) -> Any:
    """Return a gradient that can be changed in place: that of a sum has one element in memory for all."""
    array = gradient.array
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        return xp.clone(gradient)
    return gradient


def element_strides(array: Any) -> tuple[int, ...]:
    """Return how far neighbours along each axis of a NumPy array are apart in memory, in elements.

    Where there are no elements, NumPy may say 0 of an axis: then it is as if each axis had one, as in PyTorch.
    """
    strides = tuple(step // array.itemsize for step in array.strides)
    if array.size:
        return strides
    lengths = [max(length, 1) for length in array.shape]
    return tuple(step or math.prod(lengths[axis + 1 :]) for axis, step in enumerate(strides))


def in_memory(x: Any) -> bool:
    """Return whether an argument is a tensor with NumPy's memory, and none inside of a transformation."""
    return isinstance(x, Storage) and not x.is_tracer and type(x.array) is np.ndarray


def lengths_of(x: Any) -> tuple[int, ...]:
    """Return the shape of a tensor, of one with an array as that has it."""
    if isinstance(x, Storage) and not x.is_tracer:
        return x.array.shape  # type: ignore[no-any-return]  # of any library
    return x.shape  # type: ignore[no-any-return]  # likewise


def of_one_shape(x1: Any, x2: Any) -> Any:
    """Return two tensors brought to one shape, as they are where they have it."""
    if lengths_of(x1) == lengths_of(x2):
        return x1, x2
    return xp.broadcast_arrays(x1, x2)


def plain_array(x: Any) -> Any:
    """Return NumPy's array of a tensor that no gradient flows to; None of any other."""
    if in_memory(x) and x._node is None:
        return x.array
    return None


# The classes of tensors and parameters of this spelling, which enter themselves.
SPELLED: set[type] = set()


def in_spelling_of(x: Any, array: Any) -> Any:
    """Return a tensor of an array of NumPy, in the class that results of functions of another tensor have."""
    if type(x) in SPELLED:
        return wrap_array(tensor_protocol.types.results_of(type(x)), array)
    return xp.asarray(array)


def of_parts(real: Any, imag: Any) -> Any:
    """Return complex numbers by their real and imaginary parts, tensors or the arrays that derivatives get."""
    if isinstance(real, (np.ndarray, np.generic)):
        return arrays.of_parts(real, imag)
    return complex_of_parts(real, imag)


def running(combine: Function, x: Any, dim: int) -> Any:
    """Return what a function of two arrays makes of all elements up to each along an axis, in log(n) steps."""
    shift, x = 1, xp.moveaxis(x, dim, -1)
    while shift < x.shape[-1]:
        x = xp.concat([x[..., :shift], combine(x[..., :-shift], x[..., shift:])], axis=-1)
        shift *= 2
    return xp.moveaxis(x, -1, dim)


def kind_of(x: Any) -> str:
    """Return the kind of elements of an argument, as NumPy abbreviates it."""
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return np.asarray(x).dtype.kind
    kind = getattr(dtype, "kind", None)
    if type(kind) is str:
        return kind
    return str(numpy_dtype(dtype).kind)


def in_floats(x: Any) -> Any:
    """Return integers and booleans as numbers of the default dtype."""
    if kind_of(x) in "fc":
        return x
    return xp.astype(x, xp.get_default_dtype())


def hermitian_of(name: str, A: Any) -> Any:
    """Return the Hermitian matrices whose lower triangles are those of matrices.

    Raises
    ------
    RuntimeError : for matrices that are not square
    """
    rows, columns = A.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices")
    below = xp.tril(A, k=-1)
    return below + xp.conj(xp.matrix_transpose(below)) + xp.real(A) * xp.eye(rows, dtype=A.dtype)


def in_shape(input: Any, shape: Any) -> Any:
    """Return elements in another shape, which need not be a view of them, or as those of another dtype."""
    if isinstance(shape, (tuple, list, int)):
        return xp.reshape(input, shape)
    return input.view(shape)


def lapack_size(x: Any) -> Any:
    """Return how large elements are as LAPACK compares them: of complex ones the parts are added."""
    if xp.isdtype(x.dtype, "complex floating"):
        return xp.abs(xp.real(x)) + xp.abs(xp.imag(x))
    return xp.abs(x)


def copying(function: Function) -> Function:
    """Return a function whose results have memory of their own."""
    signature = inspect.signature(function)

    def call(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        y = function(*given.args, **given.kwargs)
        if isinstance(y, tuple):
            return tuple(map(xp.clone, y))
        return xp.clone(y)

    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def written_functions(members: dict[str, Any]) -> dict[str, Function]:
    """Return the functions that a module has written, by their paths in PyTorch."""
    return {
        name.replace("linalg_", "linalg.").replace("nn_functional_", "nn.functional."): value
        for name, value in members.items()
        if isinstance(value, FunctionType) and value.__module__ == members["__name__"] and not name.startswith("_")
    }


def signature_of(keywords: Container[str], parameters: Mapping[str, Any]) -> inspect.Signature:
    """Return a signature of parameters.

    Parameters
    ----------
    keywords : those that are by name alone
    parameters : their defaults by name, `inspect.Parameter.empty` where there is none
    """
    place, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    shown = [
        inspect.Parameter(name, keyword if name in keywords else place, default=default)
        for name, default in parameters.items()
    ]
    return inspect.Signature(shown)

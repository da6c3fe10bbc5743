"""NumPy's functions in the form of the standard, without NumPy's Python layers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from dispatchkit.accelerator import computed_by, reduction_of
from dispatchkit.backends.numpy_choices import logaddexp, where
from dispatchkit.backends.numpy_sums import DOUBLE, HALF, SINGLE, sum_of_array, total
from dispatchkit.backends.numpy_sums import MANY as MANY_SUMMED
from dispatchkit.backends.numpy_sums import cumulative_sum as cumulative_sum_along

MANY_INDICES = 4096  # elements that NumPy adds at indices in the time that a matrix is made in
ADDED = frozenset("fdFD")  # characters of the dtypes that SciPy's sparse matrices multiply


def add_at(out: Any, key: Any, value: Any) -> None:
    """Add to elements of an array in place, to those that an index names twice both times, as `numpy.add.at`.

    Parameters
    ----------
    out : array of shape (n, ...)
    key : any index
    value : array that broadcasts to the shape of ``out[key]``

    Notes
    -----
    Rows that one array of integers names are added by a product with SciPy's sparse matrix of ones and zeros, in the
    same order, where SciPy is installed: a hundred times faster for rows of 256 elements.
    """
    index = key
    if type(key) is tuple and len(key) == (2 if key[-1] is Ellipsis else 1):
        index = key[0]
    if type(index) is np.ndarray and index.dtype.kind in "iu" and getattr(value, "size", 0) >= MANY_INDICES:
        rows = _non_negative(index.reshape(-1), out.shape[0])
        fits = value.shape == (*index.shape, *out.shape[1:]) and value.dtype is out.dtype and out.dtype.char in ADDED
        if fits and rows is not None and add_rows(out, rows, value):
            return
    np.add.at(out, key, value)


@computed_by("rows_added")
def rows_added(g: Any, places: Any, shape: tuple[int, ...]) -> Any:
    """Return an array of zeros to which another one is added at places along the first axis, as by `add_at`."""
    total = np.zeros(shape, g.dtype)
    add_at(total, places, g)
    return total


@computed_by("elements_added")
def elements_added(g: Any, places: Any, shape: tuple[int, ...], axis: int) -> Any:
    """Return zeros to which elements are added at places along an axis, each at its own place along the others."""
    total, key = np.zeros(shape, g.dtype), list(np.indices(places.shape, sparse=True))
    key[axis] = places
    np.add.at(total, tuple(key), g)
    return total


def add_rows(out: Any, rows: Any, value: Any) -> bool:
    """Add rows to those of numbers from 0 on; return whether SciPy is installed, else nothing is done."""
    matrix_of = _sparse()
    if matrix_of is not None:
        count = rows.size
        ones = np.ones(count, out.dtype)
        matrix = matrix_of((ones, rows, np.arange(count + 1)), shape=(out.shape[0], count))
        out += (matrix @ value.reshape(count, -1)).reshape(out.shape)
    return matrix_of is not None


def _non_negative(rows: Any, length: int) -> Any:
    """Return indices counted from the front, None if one is out of range."""
    least = rows.min()
    if rows.max() >= length or least < -length:
        return None
    if least >= 0:
        return rows
    return np.where(rows < 0, rows + length, rows)


@cache
def _sparse() -> Any:
    """Return SciPy's class of matrices stored by columns, None where SciPy is not installed."""
    try:
        from scipy.sparse import csc_matrix  # noqa: PLC0415  # optional dependency
    except ImportError:
        return None
    return csc_matrix


ARRAY = {np.ndarray}
# Elements from which on short rows are looked at otherwise, and how short they are.
MANY, SHORT = 1 << 12, (8, 1 << 10)
WHOLE, REVERSED = slice(None), slice(None, None, -1)
_prod: Callable[..., Any] = reduction_of(np.multiply)
_max: Callable[..., Any] = reduction_of(np.maximum)
_min: Callable[..., Any] = reduction_of(np.minimum)


def over_all(reduce: Callable[..., Any], otherwise: Callable[..., Any] | None = None) -> Callable[[Any], Any]:
    """Return a reduction over all axes that makes no scalar on the way to its 0-D array, where it can."""
    general = otherwise or reduce
    # Before NumPy 2.2 a reduction with `out` begins with the wrong element of an array that runs backwards.
    into_out = np.lib.NumpyVersion(np.__version__) >= "2.2.0"

    def whole(x: Any) -> Any:
        if x.dtype is DOUBLE and into_out and x.size < MANY_SUMMED:
            return reduce(x, None, None, np.empty(()))
        return np.asarray(general(x, axis=None))

    return whole


def _are_rows(x: Any, axis: Any) -> bool:
    """Return whether an axis is that of rows so short that NumPy finds a place in half the time of an extreme."""
    return (
        type(x) is np.ndarray
        and x.size >= MANY
        and type(axis) is int
        and x.ndim - 1 in (axis, axis + x.ndim)
        and SHORT[0] <= x.shape[-1] <= SHORT[1]
        and x.dtype.char in "fd"
        and x.flags.c_contiguous
    )


def _pick(x: Any, places: Any, keepdims: bool) -> Any:
    """Return the element of each row at a place."""
    index = places.reshape(-1)
    index += np.arange(0, x.size, x.shape[-1])
    return x.reshape(-1)[index].reshape(x.shape[:-1] + (1,) * keepdims)


def _reduction(reduce: Callable[..., Any], place: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return a reduction without the Python layers of NumPy's functions; of short rows by the place of the element."""

    def reduction(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        if place is not None and _are_rows(x, axis):
            return _pick(x, place(x, -1), keepdims)
        return reduce(x, axis, None, None, keepdims)

    return reduction


def _but_integers(rounded: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a rounding function that copies integers and booleans, which it would make floating-point."""
    return lambda x: x.copy() if x.dtype.kind in "biu" else rounded(x)


def writable_view(view: Any, x: Any) -> Any:
    """Return a view that NumPy makes read-only, to be written to if `x` can be and has no element in it twice."""
    if view.size <= x.size and x.flags.writeable:
        view.flags.writeable = True
    return view


def check_integers(parameter: str, value: Any, *, booleans: bool = False) -> None:
    """Raise for an argument that NumPy would take for integers, though it holds other numbers.

    Raises
    ------
    TypeError : naming the parameter, and what was found
    """
    if hasattr(value, "dtype"):
        kind = value.dtype.kind
    else:
        kind = np.asarray(value).dtype.kind
    if kind in "iu" or (booleans and kind == "b"):
        return
    if not isinstance(value, np.ndarray):
        found = repr(value)
    elif value.ndim == 0:
        found = str(value)
    else:
        found = f"an array of {value.dtype}"
    raise TypeError(f"{parameter} must be integers, found {found}")


def integers_of(parameter: str, value: Any) -> tuple[int, ...]:
    """Return the integers that an argument stands for: one, or several in a sequence or a vector.

    Raises
    ------
    TypeError : if there are others, naming the parameter
    """
    if hasattr(value, "ndim"):
        several = bool(value.ndim)
    else:
        several = isinstance(value, Sequence)
    try:
        if several:
            return tuple([operator.index(member) for member in value])
        return (operator.index(value),)
    except TypeError:
        raise TypeError(f"{parameter} must be an integer or several, found {value!r}") from None


class NumpyNamespace:
    """The array API namespace that bodies and rules receive for NumPy arrays."""

    __name__ = "numpy"
    device = "cpu"

    def __getattr__(self, name: str) -> Any:
        value = getattr(np, name)
        setattr(self, name, value)
        return value

    # Over all elements, when no parameter is given.
    whole = MappingProxyType(
        {
            "sum": over_all(sum_of_array, total),
            "prod": over_all(_prod),
            "max": over_all(_max),
            "min": over_all(_min),
        }
    )

    sum = staticmethod(total)

    max = staticmethod(_reduction(_max, np.ndarray.argmax))
    min = staticmethod(_reduction(_min, np.ndarray.argmin))
    all = staticmethod(_reduction(np.logical_and.reduce))
    any = staticmethod(_reduction(np.logical_or.reduce))

    @staticmethod
    def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        """Multiply without the Python layers of `numpy.prod`."""
        return _prod(x, axis, dtype, None, keepdims)

    @staticmethod
    def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        """Average without the Python layers of `numpy.mean`; half precision is summed in single."""
        if x.dtype.kind not in "fc" or x.size == 0:
            return np.mean(x, axis=axis, keepdims=keepdims)
        half = x.dtype is HALF
        y = total(x, axis=axis, dtype=SINGLE if half else None, keepdims=keepdims)
        y = y / y.dtype.type(x.size // y.size)
        if half:
            return y.astype(HALF)
        return y

    @staticmethod
    def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
        """Average squared distances from the mean, with the sums of `sum`, which are exact in long columns, too."""
        if x.dtype.kind not in "fc" or x.size == 0:
            return np.var(x, axis=axis, ddof=correction, keepdims=keepdims)
        wide = x
        if x.dtype is HALF:
            wide = x.astype(SINGLE)
        mean = total(wide, axis=axis, keepdims=True)
        count = x.size // mean.size
        d = np.asarray(wide - mean / mean.dtype.type(count))
        if d.dtype.kind == "c":
            squares = d.real**2 + d.imag**2
        else:
            squares = np.multiply(d, d, out=d)
        y = total(squares, axis=axis, keepdims=keepdims)
        y = np.divide(y, y.dtype.type(max(count - correction, 0)))
        if x.dtype is HALF:
            return y.astype(HALF)
        return y

    @staticmethod
    def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
        """Return the root of `var`, which half precision may not hold."""
        if x.dtype is HALF:
            return NumpyNamespace.std(x.astype(SINGLE), axis=axis, correction=correction, keepdims=keepdims).astype(
                HALF
            )
        return np.sqrt(NumpyNamespace.var(x, axis=axis, correction=correction, keepdims=keepdims))

    @staticmethod
    def round(x: Any, /) -> Any:
        """Round; integers are copied, which NumPy before 2.4 gives back as they are."""
        if isinstance(x, np.ndarray) and x.dtype.kind in "iu":
            return x.copy()
        return np.round(x)

    @staticmethod
    def floor_divide(x1: Any, x2: Any, /) -> Any:
        """Divide and round down; where one operand is infinite, ``floor(x1 / x2)`` as the standard asks."""
        infinite = np.isinf(x1) | np.isinf(x2)
        if not infinite.any():
            return np.floor_divide(x1, x2)
        with np.errstate(invalid="ignore"):
            y = np.floor_divide(x1, x2)
        return np.where(infinite, np.floor(np.divide(x1, x2, dtype=y.dtype)), y)

    logaddexp = staticmethod(logaddexp)
    where = staticmethod(where)

    @staticmethod
    def expm1(x: Any, /) -> Any:
        """Raise e to a power and subtract one; complex zeros and infinities go by ``exp(x) - 1``."""
        y = np.expm1(x)
        if y.dtype.kind == "c":
            return np.where(np.isfinite(x) & (x != 0), y, np.exp(x) - 1)
        return y

    @staticmethod
    def tanh(x: Any, /) -> Any:
        """Take the hyperbolic tangent; at a complex infinity the imaginary zero has the sign of the argument's."""
        y = np.tanh(x)
        if y.dtype.kind == "c":
            y, x = np.asarray(y), np.asarray(x)
            limits = np.isinf(x.real) & np.isfinite(x.imag)
            y.imag = np.where(limits, np.copysign(0.0, x.imag), y.imag)
        return y

    @staticmethod
    def sign(x: Any, /) -> Any:
        """Find signs; of a complex number with a NaN in either part it is NaN, as the standard asks."""
        y = np.sign(x)
        if y.dtype.kind == "c":
            return np.where(np.isnan(x), y.dtype.type(complex(np.nan, np.nan)), y)
        return y

    @staticmethod
    def real(x: Any, /) -> Any:
        """Copy the real part: results of element-wise operations have memory of their own."""
        return np.array(x.real)

    @staticmethod
    def imag(x: Any, /) -> Any:
        """Copy the imaginary part: results of element-wise operations have memory of their own."""
        return np.array(x.imag)

    @staticmethod
    def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
        """Give another shape without NumPy's dispatch layer; NumPy 2.0 has no `copy` here."""
        y = x.reshape(shape)
        if copy is None:
            return y
        # What had to be copied has the copy for its base.
        base = y.base
        shared = base is x or (base is not None and base is x.base) or np.may_share_memory(x, y)
        if not copy and not shared and x.size:
            raise ValueError("Unable to avoid creating a copy while reshaping.")
        if copy and shared:
            return y.copy()
        return y

    @staticmethod
    def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
        """Take elements along an axis, the last one by default; of a vector by an index."""
        arrays = type(x) is np.ndarray and type(indices) is np.ndarray
        if arrays and x.ndim == indices.ndim == 1 and axis in (0, -1) and indices.dtype.kind in "iu":
            return x[indices]
        if not hasattr(indices, "dtype"):
            indices = np.asarray(indices)
        last = arrays and type(axis) is int and x.ndim - 1 in (axis, axis + x.ndim)
        if last and indices.size and x.shape[:-1] == indices.shape[:-1] and indices.dtype.kind in "iu":
            rows, places = x.reshape(-1, x.shape[-1]), indices.reshape(-1, indices.shape[-1])
            return rows[np.arange(len(rows))[:, None], places].reshape(indices.shape)
        return np.take_along_axis(x, indices, axis)

    @staticmethod
    def nonzero(x: Any, /) -> Any:
        """Find what is not zero; NumPy 2.0 adds an axis to an array without any."""
        if not x.ndim:
            raise ValueError("Calling nonzero on 0d arrays is not allowed")
        return x.nonzero()

    if not np.issubdtype(np.floor(np.int64(1)).dtype, np.integer):  # NumPy 2.0
        floor = staticmethod(_but_integers(np.floor))
        ceil = staticmethod(_but_integers(np.ceil))
        trunc = staticmethod(_but_integers(np.trunc))

    @staticmethod
    def expand_dims(x: Any, /, axis: Any) -> Any:
        """Insert axes; a single one by the index of it."""
        if type(axis) is not int or not -1 <= axis <= x.ndim:
            return np.expand_dims(x, axis)
        return x[(..., None) if axis == -1 else (*(WHOLE,) * axis, None)]

    @staticmethod
    def squeeze(x: Any, /, axis: Any) -> Any:
        """Drop axes without NumPy's dispatch layer."""
        return x.squeeze(axis)

    @staticmethod
    def broadcast_to(x: Any, /, shape: Any) -> Any:
        """Broadcast; an array whose elements follow one another without NumPy's iterator.

        The result can be written to if no element of `x` stands in it more than once.
        """
        lengths = x.shape
        extra = -1
        if type(shape) is tuple:
            extra = len(shape) - len(lengths)
        if extra < 0 or (lengths and (min(shape) < 1 or not x.flags.c_contiguous)):
            return writable_view(np.broadcast_to(x, shape), x)
        strides = [0] * extra
        if lengths == shape[extra:]:
            strides += x.strides
        else:
            for n, wanted, stride in zip(lengths, shape[extra:], x.strides, strict=True):
                if n not in (wanted, 1):
                    return np.broadcast_to(x, shape)  # which raises
                strides.append(stride if n == wanted else 0)
        view = np.ndarray(shape, x.dtype, x, 0, strides)
        if view.size != x.size:
            view.flags.writeable = False
        return view

    @staticmethod
    def take(x: Any, indices: Any, /, *, axis: Any = None) -> Any:
        """Take elements; NumPy rounds numbers that are no integers, and takes booleans for 0 and 1."""
        check_integers("indices", indices)
        return np.asarray(x).take(indices, axis)

    @staticmethod
    def repeat(x: Any, repeats: Any, /, *, axis: Any = None) -> Any:
        """Repeat elements; NumPy rounds numbers."""
        check_integers("repeats", repeats, booleans=True)
        return np.repeat(x, repeats, axis)

    @staticmethod
    def roll(x: Any, shift: Any, /, *, axis: Any = None) -> Any:
        """Shift elements; NumPy rounds numbers."""
        if type(shift) is int and type(axis) is int and type(x) is np.ndarray and -x.ndim <= axis < x.ndim:
            return _rolled(x, shift, axis % x.ndim)
        shifts = integers_of("shift", shift)
        if len(shifts) == 1:
            return np.roll(x, shifts[0], axis)
        return np.roll(x, shifts, axis)

    @staticmethod
    def tile(x: Any, repetitions: Any, /) -> Any:
        """Repeat as a whole; of a tensor of numbers of times NumPy would ask the library of tensors."""
        return np.tile(x, integers_of("repetitions", repetitions))

    @staticmethod
    def permute_dims(x: Any, /, axes: Any) -> Any:
        """Reorder axes without NumPy's dispatch layer."""
        return x.transpose(axes)

    @staticmethod
    def flip(x: Any, /, *, axis: Any = None) -> Any:
        """Reverse the order; along a single axis by the index of it."""
        if type(axis) is tuple and len(axis) == 1:
            axis = axis[0]
        if type(axis) is int and -x.ndim <= axis < x.ndim:
            return x[(*(WHOLE,) * (axis % x.ndim), REVERSED)]
        return np.flip(x, axis)

    @staticmethod
    def moveaxis(x: Any, source: Any, destination: Any, /) -> Any:
        """Move axes; a single one without NumPy's normal forms of several."""
        n = x.ndim
        integers = type(source) is int and type(destination) is int
        if integers and -n <= source < n and -n <= destination < n:
            order = list(range(n))
            order.insert(destination % n, order.pop(source))
            return x.transpose(order)
        return np.moveaxis(x, source, destination)

    @staticmethod
    def stack(arrays: Any, /, *, axis: int = 0) -> Any:
        """Join arrays along a new axis; a new first one as NumPy makes an array of a list."""
        if axis not in (0, -1) or {*map(type, arrays)} != ARRAY:
            return np.stack(arrays, axis)
        if axis:
            if len({x.shape for x in arrays}) != 1:
                return np.stack(arrays, axis)
            return np.concatenate([x[..., None] for x in arrays], -1)
        try:
            y = np.array(arrays)
        except ValueError:  # of several shapes
            return np.stack(arrays, axis)
        if y.shape == (len(arrays), *arrays[0].shape):
            return y
        return np.stack(arrays, axis)

    # NumPy 2.0 lacks the next three.

    @staticmethod
    def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
        """Convert by the array's own method."""
        if device not in (None, "cpu"):
            raise ValueError(f"device must be 'cpu' or None for arrays of NumPy, found {device!r}")
        return x.astype(dtype, copy=copy)

    @staticmethod
    def cumulative_sum(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        """Accumulate sums, from 0 on if asked to."""
        if type(x) is np.ndarray and type(axis) is int and dtype is None and not include_initial and x.ndim:
            return cumulative_sum_along(x, axis, False)  # by position
        return _accumulate_from(np.ndarray.cumsum, 0, x, axis, dtype, include_initial)

    @staticmethod
    def cumulative_prod(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        """Accumulate products, from 1 on if asked to."""
        return _accumulate_from(np.ndarray.cumprod, 1, x, axis, dtype, include_initial)

    @staticmethod
    def matrix_transpose(x: Any, /) -> Any:
        """Swap the last two axes without NumPy's dispatch layer."""
        return x.mT

    @staticmethod
    def tril(x: Any, /, *, k: int = 0) -> Any:
        """Take lower triangles of matrices; NumPy makes a matrix of a vector first."""
        if type(k) is int and type(x) is np.ndarray and x.ndim > 1 and x.shape[-2] * x.shape[-1] <= TRIANGLE:
            return np.where(_triangle(*x.shape[-2:], k), x, _zero_of(x.dtype))
        check_integers("k", k, booleans=True)
        return np.tril(_matrices(x), k)

    @staticmethod
    def triu(x: Any, /, *, k: int = 0) -> Any:
        """Take upper triangles of matrices; NumPy makes a matrix of a vector first."""
        if type(k) is int and type(x) is np.ndarray and x.ndim > 1 and x.shape[-2] * x.shape[-1] <= TRIANGLE:
            return np.where(_triangle(*x.shape[-2:], k - 1), _zero_of(x.dtype), x)
        check_integers("k", k, booleans=True)
        return np.triu(_matrices(x), k)

    @staticmethod
    def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        """Sort, also in descending order."""
        kind: Literal["stable"] | None = None
        if stable:
            kind = "stable"
        if type(x) is np.ndarray and type(axis) is int:
            y = x.copy("K")
            y.sort(axis, kind)
        else:
            y = np.sort(x, axis, kind)
        if descending:
            return NumpyNamespace.flip(y, axis=axis)
        return y

    @staticmethod
    def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        """Return sorting indices, also in descending order; equal elements keep their order."""
        if not x.ndim:  # NumPy would add an axis
            normalize_axis_index(axis, 0)
        if not descending:
            if stable:
                return x.argsort(axis, "stable")
            return x.argsort(axis)
        flipped = NumpyNamespace.flip(x, axis=axis).argsort(axis, "stable")
        return (x.shape[axis] - 1) - NumpyNamespace.flip(flipped, axis=axis)

    getitem = staticmethod(operator.getitem)
    setitem = staticmethod(operator.setitem)

    @staticmethod
    def index_put(x: Any, key: Any, value: Any, /, *, accumulate: bool = False) -> Any:
        """Return a copy of an array with other elements at `key`, or with `value` added there."""
        out = np.array(x)
        if not accumulate:
            out[key] = value
        elif selects_once(key):
            out[key] += value
        else:
            add_at(out, key, value)
        return out


TRIANGLE = 1 << 12  # elements of the matrices whose triangles are kept


@lru_cache(maxsize=64)
def _triangle(rows: int, columns: int, k: int) -> Any:
    """Return whether elements are in the lower triangle up to a diagonal; the array is not to be changed."""
    return np.tri(rows, columns, k, dtype=bool)


@cache
def _zero_of(dtype: Any) -> Any:
    """Return the number 0 of a dtype, which NumPy need not convert."""
    return np.zeros((), dtype)


def _rolled(x: Any, shift: int, axis: int) -> Any:
    """Return an array whose elements are shifted along an axis: its last part before its first one."""
    n = x.shape[axis]
    start = -shift % n if n else 0
    if not start:
        return x.copy()
    before = (WHOLE,) * axis
    return np.concatenate((x[(*before, slice(start, None))], x[(*before, slice(start))]), axis)


def _matrices(x: Any) -> Any:
    if x.ndim < 2:
        raise ValueError(f"x must be matrices, of shape (..., M, N), found shape {x.shape}")
    return x


def _accumulate_from(
    accumulate: Callable[..., Any], initial: int, x: Any, axis: Any, dtype: Any, include_initial: bool
) -> Any:
    """Return what a method of arrays accumulates, written behind the initial value where that is to be there."""
    x = np.asarray(x)
    if axis is None and x.ndim != 1:
        raise ValueError(f"axis must be given for an array of {x.ndim} axes")
    if not x.ndim:  # NumPy would add an axis
        normalize_axis_index(axis, 0)
    if not include_initial:
        return accumulate(x, axis, dtype)
    if dtype is None:
        if x.dtype.kind in "fc":
            dtype = x.dtype
        elif x.dtype.kind == "u":
            dtype = np.result_type(x, np.uintp)
        else:
            dtype = np.result_type(x, np.intp)
    if axis is None:
        axis = 0
    else:
        axis = normalize_axis_index(axis, x.ndim)
    before = (slice(None),) * axis
    y = np.empty((*x.shape[:axis], x.shape[axis] + 1, *x.shape[axis + 1 :]), dtype)
    y[(*before, 0)] = initial
    accumulate(x, axis, dtype, y[(*before, slice(1, None))])
    return y


ONCE = (int, slice, np.integer, type(None), type(...))


def selects_once(key: Any) -> bool:
    """Return whether an index selects no element twice: it holds no integer arrays."""
    parts = key
    if not isinstance(key, tuple):
        parts = (key,)
    return all(isinstance(part, ONCE) or (isinstance(part, np.ndarray) and part.dtype == bool) for part in parts)


numpy_namespace = NumpyNamespace()

"""`MaskedTensor`: an array of which some elements are missing, and its rules by what they do with the mask."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from types import NotImplementedType
from typing import Any

import numpy as np
from typing_extensions import deprecated

from dispatchkit import linalg, ops, special
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.ops.indexing.indexing import part_of, parts_by, rows_by
from dispatchkit.ops.manipulation.shapes import dtype_meant
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.overridable import of
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.numpy_histograms import elements_of
from dispatchkit.tensor.printing import Format, Places, Texts, Written, written
from dispatchkit.types.exchange.parts import Parts, with_level
from dispatchkit.types.exchange.quantities import OF_ASTROPY_MEANT, read_object
from dispatchkit.types.exchange.reading import as_array
from dispatchkit.types.exchange.tables import read_pandas, read_polars
from dispatchkit.types.levels import (
    MOVING,
    Wrapper,
    arguments,
    is_simple_key,
    level,
    list_parts,
    map_results,
    open_arguments,
)
from dispatchkit.types.missing import split_missing
from dispatchkit.types.plotting import Drawn, drawn
from dispatchkit.types.rules import array_of, axis_of, implements, implements_each, is_plain, takes_raw_index


@tensor_protocol.array_type(
    fallback=fallback.refuse,
    priority=level("mask"),
    fields=("data", "valid"),
    from_dense="from_dense",
    derivative="derivative",
)
class MaskedTensor(Wrapper):
    """An array of which some elements are missing.

    Parameters
    ----------
    data : array, or what `asarray` makes one of; what it holds in the places of missing elements has no influence. What
        is missing in a `MaskedTensor`, an array of `numpy.ma` or an array, series or table of pandas is missing here
    valid : booleans of a shape that broadcasts to that of `data`, True where there is an element; all by default

    Raises
    ------
    ValueError : if the shapes do not fit
    TypeError : if `valid` holds no booleans

    Notes
    -----
    An element of a result is missing where one of the elements that it is computed from is: sums of arrays, functions,
    comparisons. Reductions skip what is missing, and are missing where nothing is left; so do products of matrices,
    which are sums of products. `argmax` of nothing raises. `sort` puts what is missing last. What needs every element
    (`inv`, `svd`, `fft`) is refused; `filled` gives a plain array. Values never become missing by themselves:
    ``log(-1)`` is nan, and valid. Writing an element makes it valid; writing a missing one makes it missing.

    Functions see a number inside their domain in the place of a missing element, and gradients there are zero, so that
    no nan comes out of what is not there.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.types.MaskedTensor([1.0, -5.0, 4.0], [True, False, True])
    >>> x.sum(), dk.sqrt(x).filled(0.0)
    (MaskedTensor(5.), tensor([1., 0., 2.]))
    >>> dk.func.grad(lambda x: dk.sqrt(x).sum())(x).data
    tensor([0.5000, 0.0000, 0.2500])
    """

    valid: Any

    def __init__(self, data: Any, valid: Any = None) -> None:
        data, known = split_missing(data)
        data = as_array(data)
        if isinstance(data, MaskedTensor):
            data, known = data.data, data.valid
        if known is not None:
            if valid is None:
                valid = known
            else:
                valid = known & ops.asarray(valid)
        self.data = data
        if valid is None:
            valid = ops.ones_like(_numbers(self.data), dtype=ops.bool)
        else:
            valid = ops.asarray(valid)
        if valid.dtype != ops.bool:
            raise TypeError(
                f"MaskedTensor: valid must hold booleans, True where there is an element, not {valid.dtype}"
            )
        # Of its own, so that writing into one array changes no other's.
        same = tuple(valid.shape) == tuple(self.data.shape)
        if same:
            self.valid = valid
        else:
            self.valid = ops.clone(ops.broadcast_to(valid, self.data.shape))

    def filled(self, value: Any) -> Any:
        """Return the array with a value in the places of the missing elements.

        Parameters
        ----------
        value : a number, or an array that broadcasts to the shape; it takes the dtype of this array
        """
        return with_value(self, value)

    @classmethod
    def from_numpy_ma(cls, array: Any) -> Any:
        """Return a masked array of `numpy.ma`, whose memory is shared; its fill value is left out.

        Parameters
        ----------
        array : `numpy.ma.MaskedArray`

        Raises
        ------
        TypeError : for anything else

        Examples
        --------
        >>> import dispatchkit as dk, numpy as np
        >>> dk.types.MaskedTensor.from_numpy_ma(np.ma.array([1, 2], mask=[False, True]))
        MaskedTensor([1, --])
        """
        if not isinstance(array, np.ma.MaskedArray):
            raise TypeError(
                f"MaskedTensor.from_numpy_ma: array must be a numpy.ma.MaskedArray, not a {type(array).__name__}"
            )
        return with_level(cls, as_array(array))

    @classmethod
    def from_pandas(cls, data: Any) -> Any:
        """Return data of pandas, in which NaN is missing as it is in pandas; ``attrs["units"]`` makes a quantity of it.

        Labels and other attributes are left out; `MetadataTensor.from_pandas` keeps them, `NamedTensor.from_pandas`
        the names of index and columns.

        Parameters
        ----------
        data : a Series, DataFrame, Index or array of numbers, booleans, or numbers of the library uncertainties

        Raises
        ------
        TypeError : for anything else
        UnitError : if ``attrs["units"]`` is no unit
        """
        return with_level(cls, read_pandas(data, "MaskedTensor.from_pandas"))

    @classmethod
    def from_polars(cls, data: Any) -> Any:
        """Return data of polars, in which null is missing, and NaN is a number; names are left out.

        `MetadataTensor.from_polars` keeps the names.

        Parameters
        ----------
        data : a Series or DataFrame of numbers or booleans

        Raises
        ------
        TypeError : for anything else
        """
        return with_level(cls, read_polars(data, "MaskedTensor.from_polars"))

    @classmethod
    def from_astropy(cls, data: Any) -> Any:
        """Return a `Masked` array or quantity, a masked column, or `NDData` of astropy, all that it has with it.

        Parameters
        ----------
        data : of astropy

        Raises
        ------
        TypeError : for anything else
        """
        return with_level(cls, read_object("astropy", data, "MaskedTensor.from_astropy", OF_ASTROPY_MEANT))

    @deprecated("MaskedTensor.to_masked_array is deprecated, and goes with the next minor version; write to_numpy_ma")
    def to_masked_array(self) -> Any:
        """Return a masked array of `numpy.ma`: the old name of `to_numpy_ma`."""
        return self.to_numpy_ma()

    def to_dense(self) -> Any:
        """Raise: what is missing has no value.

        Raises
        ------
        ValueError : always
        """
        raise ValueError("a plain array of a MaskedTensor would hold values that are missing; write x.filled(value)")

    def without_nan(self) -> MaskedTensor:
        """Return the array with what is NaN missing, too."""
        return MaskedTensor(self.data, self.valid & ~ops.isnan(_numbers(self.data)))

    def item(self) -> Any:
        """Return the one element as a Python number.

        Raises
        ------
        ValueError : if it is missing, or there are several
        """
        if self.size == 1 and not self.valid.all():
            raise ValueError("item: the element is missing")
        return self.data.item()

    def __contains__(self, value: Any) -> bool:
        """Return whether an element that is there equals a value."""
        return bool(ops.any((self == value).filled(False)))

    def _around(self, data: Any) -> MaskedTensor:
        """Return an array around new elements, of which none is missing."""
        return MaskedTensor(data)

    @staticmethod
    def derivative(array: Any, output: MaskedTensor | None, argument: MaskedTensor | None) -> MaskedTensor:
        """Return derivatives, of which those of, and by, a missing element are missing.

        Parameters
        ----------
        array : the numbers
        output, argument : masked arrays, None for arrays of which no element is missing
        """
        valid: Any = True
        if output is not None:
            valid = ops.reshape(output.valid, (*output.shape, *(1,) * (len(array.shape) - len(output.shape))))
        if argument is not None:
            valid = argument.valid & valid
        return MaskedTensor(array, ops.broadcast_to(valid, tuple(array.shape)))

    def fitted(self, value: Any) -> Any:
        """Return an argument for a type inside; what is missing in it has no influence.

        Parameters
        ----------
        value : what a rule takes together with this array
        """
        if isinstance(value, MaskedTensor):
            return value.data
        return value

    def tolist(self) -> Any:
        """Return the elements in nested lists, with None in the places of missing ones."""
        if self.ndim:
            return [part.tolist() for part in self]
        if not self.valid.all():
            return None
        return self.data.tolist()

    def __elements__(self) -> tuple[Any, Any]:
        """Return what histograms count: the data, and which are there."""
        vector, _ = elements_of(self.data)
        return vector, ops.reshape(self.valid, (-1,))

    def _parts(self, inner: Parts) -> Parts:
        return inner.with_parts(valid=self.valid)

    def _drawn(self, inner: Drawn) -> Drawn:
        return inner.without(~drawn(self.valid).numbers)

    def _written(self, inner: Written) -> Written:
        texts_inside, known = inner.elements, written(self.valid).numbers
        if texts_inside is None or known is None:
            return inner.around(notes=(f"valid={self.valid!r}",), after=(f"valid={self.valid!r}",))

        def elements(places: Places, form: Format, kept: Texts) -> Texts:
            valid = known(places)
            texts = texts_inside(places, form, kept & valid)
            texts[kept & ~valid] = MISSING
            return texts

        return inner.around(elements=elements, aligned=False)


def _numbers(data: Any) -> Any:
    """Return the innermost array of wrappers."""
    if isinstance(data, Wrapper):
        return _numbers(data.data)
    return data


def wrap_masked(data: Any, valid: Any) -> MaskedTensor:
    """Return a masked array of parts that fit and that no other array has; the constructor is passed by."""
    array: MaskedTensor = object.__new__(MaskedTensor)
    array.data, array.valid = data, valid
    return array


def with_value(x: MaskedTensor, value: Any) -> Any:
    """Return the data with a value in the places of the missing elements."""
    data, valid = array_of(x.data), array_of(x.valid)
    if data is not None and valid is not None and data.dtype.kind == "f" and type(value) in (int, float):
        return wrap_array(Tensor, np.where(valid, data, data.dtype.type(value)))
    return ops.where(x.valid, x.data, ops.asarray(value, dtype=x.dtype, device=x.data.device))


NUMBERS = (int, float, complex)
# As `numpy.ma` and pandas' readers have it.
MISSING = "--"
# Inside the domain of every function and of its derivative, but for these.
SAFE: dict[Any, float] = {ops.acosh: 2.0, special.erfinv: 0.25}


def safe(op: Any, x: MaskedTensor) -> Any:
    """Return the data with a number inside the domain of a function in the places of the missing elements."""
    if x.dtype == ops.bool:
        return x.data
    return with_value(x, 1 if x.dtype.kind in "iu" else SAFE.get(op, 0.5))


def parts(x: Any) -> tuple[Any, Any]:
    """Return the data of an operand, and what is valid in it."""
    if isinstance(x, MaskedTensor):
        return x.data, x.valid
    return x, True


def validity_of(x: Any) -> Any:
    """Return what is valid in an operand, of its shape."""
    if isinstance(x, MaskedTensor):
        return x.valid
    return ops.ones(getattr(x, "shape", ()), dtype=ops.bool, device=getattr(x, "device", None))


def neutral(op: Any, x: MaskedTensor) -> Any:
    """Return what changes nothing where it stands in a reduction."""
    if op in (ops.max, ops.min, ops.argmax, ops.argmin):
        low = op in (ops.max, ops.argmax)
        if x.dtype.kind in "fc":
            return float("-inf" if low else "inf")
        info = None
        if x.dtype != ops.bool:
            info = ops.iinfo(x.dtype)
        if info is None:
            return not low
        if low:
            return info.min
        return info.max
    if op in (ops.prod, ops.all, ops.cumulative_prod):
        return 1
    return 0


@implements(kinds.creation, MaskedTensor)
@implements(kinds.elementwise, MaskedTensor)
def elementwise_masked(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    opened, options, arrays = open_arguments(op, args, kwargs, MaskedTensor, lambda x: x.data)
    result = None
    if not options and _has_ufunc(op):
        result = _of_whatever_is_there(op, opened)
    if result is None:
        opened, options, _ = open_arguments(op, args, kwargs, MaskedTensor, lambda x: safe(op, x))
        result = op(*opened, **options)
    return _results_with(result, _valid_in_all(arrays))


def _results_with(result: Any, valid: Any) -> Any:
    """Return the arrays of a result with what is valid in them, True or an array that broadcasts to their shapes."""
    if type(result) is Tensor is type(valid) and result.shape == valid.shape:
        return wrap_masked(result, valid)
    return map_results(result, lambda data: MaskedTensor(data, valid))


def _valid_in_all(arrays: Sequence[MaskedTensor]) -> Any:
    """Return where all arrays are valid, in memory of its own; True if there are none."""
    if not arrays:
        return True
    if len(arrays) == 1:
        return ops.clone(arrays[0].valid)
    return reduce(ops.logical_and, [x.valid for x in arrays])


def _has_ufunc(op: Any) -> bool:
    """Return whether a universal function of NumPy computes an operation, which takes whatever numbers there are."""
    return type(getattr(getattr(of(op), "implementation", None), "kernel", None)) is np.ufunc


def _of_whatever_is_there(op: Any, values: tuple[Any, ...]) -> Any:
    """Return the result of plain arrays and numbers as they are; None where one is no plain array, or has no result.

    What a missing element holds does no harm then: no gradient flows, and no function warns of it.
    """
    if not all(is_plain(value) or isinstance(value, NUMBERS) for value in values):
        return None
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            return op(*values)
    except (ArithmeticError, ValueError):  # perhaps of a missing element alone
        return None


@implements(kinds.conversion, MaskedTensor)
def convert_masked(op: Any, x: MaskedTensor, /, *args: Any, **kwargs: Any) -> Any:
    return MaskedTensor(op(x.data, *args, **kwargs), ops.clone(x.valid))


@implements(ops.where, MaskedTensor)
def where_masked(condition: Any, x1: Any, x2: Any, /) -> Any:
    chosen, known = parts(condition)
    data, valid = zip(*[parts(x) for x in (x1, x2)], strict=True)
    result = ops.where(chosen, *data)
    there = ops.where(chosen, *valid)
    if known is not True:
        there = there & known
    return map_results(result, lambda array: MaskedTensor(array, there))


@implements(ops.masked_fill, MaskedTensor)
def masked_fill_masked(x: Any, /, mask: Any, value: Any) -> Any:
    (data, there), (chosen, known), (new, given) = parts(x), parts(mask), parts(value)
    result = ops.masked_fill(data, chosen, new)
    return map_results(result, lambda array: MaskedTensor(array, ops.where(chosen, given, there) & known))


@implements(ops.convolve, MaskedTensor)
def convolve_masked(x1: Any, x2: Any, /, *, mode: Any = "full") -> Any:
    return multiply_masked(ops.convolve, x1, x2, mode=mode)


@implements(kinds.product, MaskedTensor)
def multiply_masked(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    if op is linalg.cross:
        return decline("each element of a cross product needs two others; write x.filled(value)")

    def validity(name: str, value: Any) -> Any:
        return ops.astype(validity_of(value), ops.float64)

    zeroed, options, _ = open_arguments(op, args, kwargs, MaskedTensor, lambda x: with_value(x, 0))
    pairs, more = tensor_protocol.map_arguments(op, args, kwargs, validity)
    result = op(*zeroed, **options)
    return map_results(result, lambda data: MaskedTensor(data, op(*pairs, **more) > 0.5))


@implements(linalg.vector_norm, MaskedTensor)
def vector_norm_masked(
    x: MaskedTensor,
    /,
    *,
    axis: Any = None,
    keepdims: bool = False,
    ord: float = 2,  # the operation's name
) -> Any:
    if ord >= 0:
        numbers = with_value(x, 0)
    else:
        numbers = ops.where(x.valid, x.data / 1, math.inf)
    result = linalg.vector_norm(numbers, axis=axis, keepdims=keepdims, ord=ord)
    return MaskedTensor(result, ops.any(x.valid, axis=axis, keepdims=keepdims))


@implements(kinds.all, MaskedTensor)
def refuse_masked(op: Any, /, *args: Any, **kwargs: Any) -> NotImplementedType:
    reason = "it needs every element, and some may be missing; write x.filled(value)"
    return decline(reason)  # typeshed has no type for it


# Structure: data and validity go the same way; the zeros that an operation adds are no missing elements.
ADDS_ZEROS = (ops.diag, ops.tril, ops.triu, ops.pad)
PLACES = ("key", "indices", "repeats")


@implements(kinds.manipulation, MaskedTensor)
@implements(kinds.indexing, MaskedTensor)
@implements(kinds.assignment, MaskedTensor)
def move_masked(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    if op in MOVING and type(args[0]) is MaskedTensor:
        x, *rest = args
        return x._replace(data=op(x.data, *rest, **kwargs), valid=op(x.valid, *rest, **kwargs))
    if any(isinstance(value, MaskedTensor) for name, value in arguments(op, args, kwargs) if name in PLACES):
        return decline("what is missing cannot be an index")
    if op is ops.setitem:
        return decline("what is missing cannot be written into a plain array")
    if op is ops.view and dtype_meant(kwargs.get("shape", args[-1])) is not None:
        return decline("what is missing are elements, and not bytes")
    adds = op in ADDS_ZEROS

    def validity(name: str, value: Any) -> Any:
        if name in PLACES or value is None:
            return value
        if adds:
            return ~validity_of(value)
        return validity_of(value)

    opened, options, _ = open_arguments(op, args, kwargs, MaskedTensor, lambda x: x.data)
    result = op(*opened, **options)
    if not all(tensor_protocol.types.participates(type(part)) for part in list_parts(result)):
        return result
    flags, more = tensor_protocol.map_arguments(op, args, kwargs, validity)
    more.pop("constant_values", None)
    valid = iter(list_parts(op(*flags, **more)))
    return map_results(result, lambda data: MaskedTensor(data, ~next(valid) if adds else next(valid)))


implements_each((linalg.diagonal,), MaskedTensor)(move_masked)


@implements_each((ops.concat, ops.stack), MaskedTensor)
def join_masked(op: Any, arrays: Any, /, **options: Any) -> Any:
    """Join the data of arrays, and what is valid in them."""
    result = op([parts(x)[0] for x in arrays], **options)
    return _results_with(result, op([validity_of(x) for x in arrays], **options))


def _selecting(key: Any) -> Any:
    """Return a key of which a condition that is missing selects no element."""
    if isinstance(key, tuple):
        return tuple(_selecting(part) for part in key)
    if isinstance(key, MaskedTensor) and key.dtype == bool:
        return key.filled(False)
    return key


def _has_missing(key: Any) -> bool:
    """Return whether a key holds numbers of places of which some may be missing."""
    if isinstance(key, tuple):
        return any(isinstance(part, MaskedTensor) for part in key)
    return isinstance(key, MaskedTensor)


@implements(ops.getitem, MaskedTensor)
@takes_raw_index
def getitem_masked(x: Any, key: Any, /) -> Any:
    if type(x) is MaskedTensor and is_simple_key(key):
        return wrap_masked(x.data[key], x.valid[key])
    key = _selecting(key)
    if not isinstance(x, MaskedTensor) and not _has_missing(key):
        return ops.getitem(x, key)
    return move_masked(ops.getitem, x, key)


@parts_by(MaskedTensor, getitem_masked)
def part_of_masked(x: MaskedTensor, key: Any, /) -> Any:
    part: MaskedTensor = object.__new__(MaskedTensor)
    part.data, part.valid = part_of(Tensor, x.data, key), part_of(Tensor, x.valid, key)
    return part


@rows_by(MaskedTensor, getitem_masked)
def rows_of_masked(x: MaskedTensor) -> Iterator[Any]:
    return map(wrap_masked, x.data, x.valid)


@implements(ops.setitem, MaskedTensor)
@takes_raw_index
def assign_masked(x: Any, key: Any, value: Any, /) -> Any:
    if not is_simple_key(key):
        key = _selecting(key)
        if _has_missing(key):
            return decline("what is missing cannot be an index")
    if not isinstance(x, MaskedTensor):
        if isinstance(value, MaskedTensor):
            return decline("what is missing cannot be written into a plain array")
        return ops.setitem(x, key, value)
    data, valid = parts(value)
    ops.setitem(x.data, key, data)
    ops.setitem(x.valid, key, valid)
    return None


@implements(ops.scatter_add, MaskedTensor)
def scatter_add_masked(x: Any, /, axis: int, indices: Any, src: Any) -> Any:
    if isinstance(indices, MaskedTensor):
        return decline("what is missing cannot be an index")
    return _add_into(lambda into, added: ops.scatter_add(into, axis, indices, added), x, src)


@implements(ops.index_put, MaskedTensor)
def index_put_masked(x: Any, key: Any, value: Any, /, *, accumulate: bool = False) -> Any:
    key = _selecting(key)
    if not accumulate or _has_missing(key):
        return move_masked(ops.index_put, x, key, value, accumulate=accumulate)
    return _add_into(lambda into, added: ops.index_put(into, key, added, accumulate=True), x, value)


def _add_into(add: Callable[[Any, Any], Any], x: Any, added: Any) -> Any:
    """Return sums of elements of one array with those of another, missing where one of them is."""
    data, there = parts(x)
    summand = added
    if isinstance(added, MaskedTensor):
        summand = with_value(added, 0)
    total = add(data, summand)
    if not tensor_protocol.types.participates(type(total)):
        return total
    lost = add(ops.zeros_like(validity_of(x), dtype=ops.int64), ops.astype(~validity_of(added), ops.int64))
    return MaskedTensor(total, (lost == 0) & there)


@implements(ops.argsort)
def argsort_masked(x: MaskedTensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    by_value = ops.argsort(safe(ops.argsort, x), axis=axis, descending=descending, stable=True)
    missing = ops.take_along_axis(~x.valid, by_value, axis=axis)
    return ops.take_along_axis(by_value, ops.argsort(missing, axis=axis, stable=True), axis=axis)


@implements(ops.sort)
def sort_masked(x: MaskedTensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return the elements in order, the missing ones last."""
    order = argsort_masked(x, axis=axis, descending=descending)
    return ops.take_along_axis(x, order, axis=axis)


@implements_each((ops.cumulative_sum, ops.cumulative_prod), MaskedTensor)
def accumulate_masked(
    op: Any, x: MaskedTensor, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    if include_initial:
        return decline("the initial element has no place in the mask")
    return MaskedTensor(op(with_value(x, neutral(op, x)), axis=axis, dtype=dtype), ops.clone(x.valid))


@implements(ops.diff, MaskedTensor)
def diff_masked(x: Any, /, n: int = 1, *, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    if n < 1:
        return x
    ends = [end for end in (prepend, append) if end is not None]
    if not all(isinstance(end, (int, float, complex)) or hasattr(end, "shape") for end in ends):
        return decline("what is put before and after it are arrays or numbers")
    if ends:
        x = ops.concat([part for part in (prepend, x, append) if part is not None], axis=axis)
    along = axis_of("diff", x, axis)
    length = x.shape[along]
    ahead, behind = (tuple([slice(None)] * along + [part]) for part in (slice(1, None), slice(0, max(length - 1, 0))))
    if x.dtype == ops.bool:
        step = ops.not_equal(x[ahead], x[behind])
    else:
        step = x[ahead] - x[behind]
    return diff_masked(step, n - 1, axis=axis)

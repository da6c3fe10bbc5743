"""`UncertainTensor`: numbers with standard deviations, whose correlations are kept."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from dispatchkit import fft, func, linalg, ops, random
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.ops.creation.dtypes import get_default_dtype
from dispatchkit.ops.indexing.indexing import parts_by, rows_by
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.conversion import dense_form
from dispatchkit.tensor.numpy_histograms import elements_of
from dispatchkit.tensor.printing import Format, Places, Texts, Written, written
from dispatchkit.types.exchange.parts import Parts, with_level
from dispatchkit.types.exchange.quantities import OF_ASTROPY_MEANT, read_object
from dispatchkit.types.exchange.reading import as_array
from dispatchkit.types.exchange.tables import read_pandas
from dispatchkit.types.levels import MOVING, Wrapper, arguments, is_simple_key, level, list_parts, open_arguments
from dispatchkit.types.plotting import Drawn, drawn
from dispatchkit.types.rules import array_of, implements_each, is_plain, takes_raw_index
from dispatchkit.types.uncertain_parts import choose_part, move_later, rows_of_parts
from dispatchkit.types.uncertain_sources import (
    DOUBLE,
    Sources,
    add_up,
    align_sources,
    are_own,
    as_plain,
    checked_std,
    factor_dtype,
    fresh_id,
    join_sources,
    merge_sources,
    move_by_slopes,
    move_parts,
    move_sources,
    push_factors,
    scale_factor,
    size_of_columns,
    slopes_of,
    sum_elements,
    texts_of,
)
from dispatchkit.types.uncertain_sums import Found, FoundNumbers, Sum, Waiting, sum_of_numbers
from dispatchkit.types.uncertainties_numbers import Expansion, expand, factor_of_covariance

# What moves elements and computes none.
MOVES = {
    *(ops.getitem, ops.reshape, ops.permute_dims, ops.matrix_transpose, ops.flip, ops.roll, ops.expand_dims),
    *(ops.squeeze, ops.broadcast_to, ops.moveaxis, ops.swapaxes, ops.repeat, ops.tile, ops.take, ops.take_along_axis),
    *(ops.concat, ops.stack, ops.clone, ops.ravel, ops.flatten, ops.t, ops.transpose, fft.fftshift, fft.ifftshift),
}
# What adds elements up, along no axis that is named.
ADDING = (ops.sum, ops.mean, ops.cumulative_sum)


@tensor_protocol.array_type(
    fallback=fallback.refuse,
    priority=level("uncertainty"),
    fields=("data", "factor", "sources"),
    from_dense="from_dense",
    derivative="derivative",
)
class UncertainTensor(Wrapper):
    """Numbers with standard deviations.

    Parameters
    ----------
    value : array of real numbers, or what `asarray` makes one of; a structured matrix becomes dense, since each of its
        elements is to vary alone. Numbers of the library uncertainties, and arrays and lists of them, have their
        standard deviations, and are correlated among each other as they are there
    std : standard deviations, of a shape that broadcasts to that of `value`, 0 by default; NaN is one that is not
        known. Each element is independent of all others

    Attributes
    ----------
    value, std : the numbers, and their standard deviations
    factor : derivatives of each element by its independent sources, each in units of its standard deviation. Shape
        ``(k, *shape)`` for k sources of an element
    sources : which sources these are

    Raises
    ------
    ValueError : if the shapes do not fit, or a standard deviation is negative
    TypeError : if `value` holds no real numbers, or has standard deviations and `std` is given, too

    Notes
    -----
    To first order: an operation with derivative D gives numbers with the factor D·F, and F·Fᵀ is their covariance. D is
    the library's own, so that every function that has a derivative is known, linear algebra and fits included. So
    ``x - x`` has the standard deviation 0, and copies and pickles stay correlated with what they are copies of. Where
    the first derivative vanishes, first order says 0, as of ``UncertainTensor(0.0, 0.1)**2``; `samples` shows what it
    leaves out.

    A new array has one source for each element. Elementwise functions, indexing and other moves of elements keep a few
    sources for each, and functions with one number as the result take one gradient: their memory and time grow as the
    number of elements. Everything else, such as products of matrices, sums along an axis and `cumulative_sum`, keeps
    the derivatives of every element by all sources: the number of sources times that of elements.

    Comparisons compare the values. Results may be complex, as of `fft.fft`: `std` then is the root of the variances of
    both parts together, as NumPy has it, and both are printed. Source: JCGM 100:2008, Guide to the expression of
    uncertainty in measurement, 5.2.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.types.UncertainTensor([1.0, 2.0], 0.1)
    >>> x * x
    UncertainTensor([1.00 ± 0.20, 4.00 ± 0.40])
    >>> x - x
    UncertainTensor([0 ± 0, 0 ± 0])
    >>> dk.sum(x).std
    tensor(0.1414)
    """

    # What both are found from when one is asked for, of arrays that do not have them yet.
    _waiting: Waiting

    def __init__(self, value: Any, std: Any = None) -> None:
        if isinstance(value, float) and isinstance(std, float) and std >= 0 and get_default_dtype() is DOUBLE:
            self.data = wrap_array(Tensor, np.array(value))
            self._waiting = Sum(((1.0, [fresh_id()], [float(std)]),))
            return
        expansion = expand(value)
        if expansion is not None:
            if std is not None:
                raise TypeError("UncertainTensor: the value has a standard deviation already")
            self._expand(expansion)
            return
        value = as_array(value)
        if isinstance(value, UncertainTensor):
            if std is not None:
                raise TypeError("UncertainTensor: the value has a standard deviation already")
            self.data, self.factor, self.sources = value.data, value.factor, value.sources
            return
        value = as_plain(value)
        if value.dtype.kind not in "fiu":
            raise TypeError(f"UncertainTensor: the value must hold real numbers, not {value.dtype}")
        if value.dtype.kind == "f":
            self.data = value
        else:
            self.data = ops.astype(value, ops.float64)
        if std is None:
            std = 0.0
        std = ops.asarray(std, dtype=factor_dtype(self.data.dtype))
        self.factor = ops.broadcast_to(checked_std(std), self.data.shape)[None]
        # At random, so that what processes make is independent.
        ids = secrets.randbits(62) + np.arange(self.data.size, dtype=np.int64)
        self.sources = Sources(ids.reshape(1, *self.data.shape))

    def _expand(self, expansion: Expansion) -> None:
        """Take numbers and the variables that they depend on; the same variables are the same sources."""
        self.data, self.factor = ops.asarray(expansion.value), ops.asarray(expansion.factor)
        if expansion.own:
            ids = np.arange(self.data.size, dtype=np.int64).reshape(1, *self.data.shape)
        else:
            ids = np.arange(len(expansion.factor), dtype=np.int64)
        self.sources = Sources(secrets.randbits(62) + ids)

    @classmethod
    def of_numbers(cls, numbers: Any) -> UncertainTensor:
        """Return numbers of the library uncertainties as they come out of other libraries, of which they may be in.

        Parameters
        ----------
        numbers : one number, or an array or nested lists of them
        """
        expansion = expand(numbers)
        assert expansion is not None
        array: UncertainTensor = object.__new__(cls)
        array._expand(expansion)
        return array

    @classmethod
    def from_covariance(cls, value: Any, covariance: Any) -> UncertainTensor:
        """Return numbers with a matrix of covariances, such as the parameters of a fit.

        Parameters
        ----------
        value : n real numbers, in any shape
        covariance : their covariances, of shape (n, n), elements in the order of the flattened numbers. It may be
            singular: where numbers are exact, or depend on one another

        Raises
        ------
        ValueError : if the covariances are of another shape, not finite, not symmetric, or those of no numbers:
            negative along some direction
        AutogradError : if the covariances require a gradient

        Notes
        -----
        The factor is that of the eigenvectors of the correlations. `dispatchkit.types.uncertain.covariance` gives the
        matrix back. Derivatives by covariances are not recorded: detach them first. Source: uncertainties,
        `correlated_values`.

        Examples
        --------
        >>> import dispatchkit as dk
        >>> x = dk.types.UncertainTensor.from_covariance([1.0, 2.0], [[0.04, -0.04], [-0.04, 0.04]])
        >>> x
        UncertainTensor([1.00 ± 0.20, 2.00 ± 0.20])
        >>> (3 * x[0]).std, bool(x.sum().std < 1e-15)
        (tensor(0.6000), True)
        """
        x = cls(value)
        factor = factor_of_covariance(dense_form(ops.asarray(covariance)).numpy(), x.data.size)
        factor = ops.asarray(factor.reshape(-1, *x.data.shape), dtype=factor_dtype(x.data.dtype), device=x.data.device)
        ids = secrets.randbits(62) + np.arange(len(factor), dtype=np.int64)
        return _wrap(x.data, factor, Sources(ids))

    data = FoundNumbers()
    factor = Found("factor")
    sources = Found("sources")

    def find_out(self) -> dict[str, Any]:
        """Return all attributes, factor and sources among them; another thread may find these meanwhile."""
        attributes = self.__dict__
        if (waiting := attributes.get("_waiting")) is not None:
            factor, sources = waiting.find(self.data.shape)
            attributes.setdefault("factor", factor)
            attributes.setdefault("sources", sources)
            attributes.pop("_waiting", None)
        return attributes

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.find_out())

    @property
    def value(self) -> Any:
        """The numbers, without their uncertainty."""
        return self.data

    @property
    def std(self) -> Any:
        """Standard deviations, of the shape of the value."""
        waiting = getattr(self, "_waiting", None)
        if type(waiting) is Sum:
            return waiting.std(self.data.shape)
        factor = array_of(self.factor)
        if factor is not None and factor.dtype is DOUBLE:
            return wrap_array(Tensor, size_of_columns(factor))
        if len(self.factor) == 1:
            return ops.abs(self.factor[0])
        if self.factor.dtype != np.float32:
            return linalg.vector_norm(self.factor, axis=0)
        # Squares of small numbers leave the range of single precision.
        wide = linalg.vector_norm(ops.astype(self.factor, np.float64), axis=0)
        return ops.astype(wide, np.float32)

    @classmethod
    def from_uncertainties(cls, numbers: Any) -> Any:
        """Return numbers of the library uncertainties, correlated among each other as they are there.

        Only numbers that are converted together stay correlated. Tags of variables are left out.

        Parameters
        ----------
        numbers : one number, or an array or nested lists of them; floats among them are exact

        Raises
        ------
        TypeError : for anything else

        Examples
        --------
        >>> import uncertainties  # doctest: +SKIP
        >>> a = uncertainties.ufloat(1.0, 0.5)  # doctest: +SKIP
        >>> dk.types.UncertainTensor.from_uncertainties([a, 2 * a])  # doctest: +SKIP
        UncertainTensor([1.00 ± 0.50, 2.0 ± 1.0])
        """
        if expand(numbers) is None:
            raise TypeError(
                f"UncertainTensor.from_uncertainties: numbers must be those of uncertainties, or an array or lists of "
                f"them, not a {type(numbers).__name__}"
            )
        return cls(numbers)

    @classmethod
    def from_astropy(cls, data: Any) -> Any:
        """Return `NDData` of astropy with its standard deviations, mask, unit and metadata; anything else is exact.

        Parameters
        ----------
        data : of astropy

        Raises
        ------
        TypeError : for anything else, and for an uncertainty that is no standard deviation or variance
        """
        return with_level(cls, read_object("astropy", data, "UncertainTensor.from_astropy", OF_ASTROPY_MEANT))

    @classmethod
    def from_pandas(cls, data: Any) -> Any:
        """Return data of pandas, such as a Series of numbers of the library uncertainties, with their correlations.

        What is missing, and the unit in ``attrs["units"]``, are kept; labels are left out, which
        `MetadataTensor.from_pandas` keeps. Numbers without a standard deviation are exact.

        Parameters
        ----------
        data : a Series, DataFrame, Index or array

        Raises
        ------
        TypeError : for anything else
        """
        return with_level(cls, read_pandas(data, "UncertainTensor.from_pandas"))

    def _parts(self, inner: Parts) -> Parts:
        return inner.with_parts(factor=self.factor, sources=self.sources)

    def fitted(self, value: Any) -> Any:
        """Return the numbers of an argument, which are those of the value.

        Parameters
        ----------
        value : what a rule takes together with this array
        """
        if isinstance(value, UncertainTensor):
            return value.data
        return value

    @staticmethod
    def derivative(array: Any, output: UncertainTensor | None, argument: UncertainTensor | None) -> Any:
        """Return the derivatives of the values, which are plain numbers: the sensitivities of error propagation.

        Parameters
        ----------
        array : the numbers
        output, argument : uncertain numbers, None for exact ones
        """
        return array

    def __elements__(self) -> tuple[Any, Any]:
        """Return what histograms count, each number with its sources."""
        return ops.reshape(self, (-1,)), elements_of(self.data)[1]

    def _around(self, data: Any) -> UncertainTensor:
        """Return an array around new numbers, which are exact."""
        return UncertainTensor(data)

    def to_dense(self) -> Any:
        """Raise: a plain array would lose the standard deviations.

        Raises
        ------
        ValueError : always
        """
        raise ValueError("a plain array of an UncertainTensor would lose the standard deviations; take .value")

    def item(self) -> Any:
        """Raise, as `to_dense` does."""
        self.to_dense()

    def _drawn(self, inner: Drawn) -> Drawn:
        return replace(inner, std=drawn(self.std).numbers)

    def _written(self, inner: Written) -> Written:
        numbers, factor = inner.numbers, written(self.factor).numbers
        if numbers is None or factor is None:
            return inner.around(notes=(f"std={self.std!r}",), after=(f"std={self.std!r}",))

        def elements(places: Places, form: Format, kept: Texts) -> Texts:
            values, slopes = numbers(places), factor((np.arange(len(self.factor)), *places))
            texts = np.full(values.shape, "", object)
            texts[kept] = texts_of(values.real[kept], slopes.real[:, kept], form)
            if values.dtype.kind == "c":
                imaginary = texts_of(values.imag[kept], slopes.imag[:, kept], form)
                texts[kept] = [f"({one})+({other})j" for one, other in zip(texts[kept], imaginary, strict=True)]
            return texts

        return inner.around(elements=elements, aligned=False, numbers=None)


def wrap_uncertain(value: Any, factor: Any, sources: Sources) -> UncertainTensor:
    """Return an array of parts that fit, of which none is structured; the constructor is passed by."""
    numbers: UncertainTensor = object.__new__(UncertainTensor)
    numbers.data, numbers.factor, numbers.sources = value, factor, sources
    return numbers


def wrap_waiting(value: Any, waiting: Waiting) -> UncertainTensor:
    """Return an array around plain numbers, whose factor and sources are found when they are asked for."""
    numbers: UncertainTensor = object.__new__(UncertainTensor)
    numbers.data, numbers._waiting = value, waiting
    return numbers


def _wrap(value: Any, factor: Any, sources: Sources) -> UncertainTensor:
    return wrap_uncertain(as_plain(value), as_plain(factor), sources)


def _part(x: UncertainTensor) -> tuple[Any, Any]:
    return x.sources.ids, x.factor


@tensor_protocol.implements(kinds.elementwise, UncertainTensor)
def propagate_elements(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Compute an elementwise function, and the factor of the result by the slopes that its rules say."""
    if not kwargs:
        quick = _by_slopes(op, args)
        if quick is not None:
            return quick
    return propagate(op, *args, **kwargs)


def _by_slopes(op: Any, args: tuple[Any, ...]) -> UncertainTensor | None:
    """Return the result of an elementwise function of plain arrays of one shape; None for the long way."""
    derivative = getattr(op.__overridable__, "derivative", None)
    if derivative is None:
        return None
    slopes = derivative.slopes
    values, raw, uncertain = [], [], []
    for place, arg in enumerate(args):
        cls, value = type(arg), arg
        if cls is UncertainTensor:
            if place >= len(slopes) or slopes[place] is None:
                return None
            uncertain.append((slopes[place], arg))
            value = arg.data
        elif cls is float or cls is int:
            values.append(arg)
            raw.append(arg)
            continue
        elif cls is not Tensor:
            return None
        array = array_of(value)
        if array is None or array.dtype.kind == "c":
            return None
        values.append(value)
        raw.append(array)
    result = op(*values)
    numbers: Any = array_of(result)
    if numbers.size == 1:
        total = sum_of_numbers(numbers, raw, uncertain)
        if total is not None:
            return wrap_waiting(result, total)
    moving = [(slope, x.sources, array_of(x.factor)) for slope, x in uncertain]
    moved = move_by_slopes(numbers, raw, moving)
    if moved is None:
        return None
    return wrap_uncertain(result, *moved)


@tensor_protocol.implements(kinds.all, UncertainTensor)
def propagate(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Compute on the values, and the factor of the result by the derivative of the operation."""
    kind = tensor_protocol.operation(op).kind
    if op is ops.setitem or kind is kinds.random or op.__name__ == "dropout":
        return decline("the derivative of what is written or random has no rule; write where(condition, x1, x2)")
    if op is ops.where and isinstance(args[0], UncertainTensor):
        args = (args[0].data, *args[1:])
    arrays = [value for _, value in arguments(op, args, kwargs) if isinstance(value, UncertainTensor)]
    if not arrays:
        return op(*args, **kwargs)
    values = tuple(array.data for array in arrays)

    def call(*values: Any) -> Any:
        rest = iter(values)
        inner, options, _ = open_arguments(op, args, kwargs, UncertainTensor, lambda _: next(rest))
        return op(*inner, **options)

    result = call(*values)
    if all(getattr(getattr(part, "dtype", None), "kind", "f") in "biu" for part in list_parts(result)):
        return result
    if any(not tensor_protocol.types.participates(type(part)) for part in list_parts(result)):
        return result
    # Of complex numbers a slope is none: what moves the real part and what moves the other are two derivatives.
    complex_numbers = any(value.dtype.kind == "c" for value in values)
    elementwise = (kinds.elementwise in kind.lineage() or op is ops.where) and not complex_numbers
    parts = [_part(array) for array in arrays]
    if all(are_own(*part) for part in parts) and (op in MOVES or not complex_numbers):
        kept = _few_sources(op, call, arrays, result, elementwise)
        if kept is not None:
            return _wrap(result, kept[1], Sources(kept[0]))
    ids, factors = join_sources(parts)
    sources = Sources(ids)
    if elementwise:
        slopes = slopes_of(call, values)
        scaled = [scale_factor(slope, factor, result.ndim) for slope, factor in zip(slopes, factors, strict=True)]
        return _wrap(result, reduce(ops.add, scaled), sources)

    # Of which a derivative has the dtype.
    wide = tuple(ops.astype(value, factor_dtype(value.dtype), copy=False) for value in values)

    def push(*tangents: Any) -> Any:
        return list_parts(func.jvp(call, wide, tangents)[1])

    rest = iter(push_factors(push, factors, result))
    return tensor_protocol.types.map_arrays(result, lambda value: _with_factor(value, next(rest), sources))


@implements_each(ADDING, UncertainTensor)
def add_uncertain(op: Any, x: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Add up all elements; of arrays of NumPy each source adds what it adds to the elements."""
    if args or kwargs or type(x) is not UncertainTensor:
        return propagate(op, x, *args, **kwargs)
    numbers, factor, ids = array_of(x.data), array_of(x.factor), x.sources.ids
    if numbers is None or factor is None or numbers.dtype.kind == "c" or ids.ndim != factor.ndim:
        return propagate(op, x, *args, **kwargs)
    ids, total = add_up(op, ids, x.factor)
    return wrap_uncertain(op(x.data), total, Sources(ids))


@tensor_protocol.implements(ops.getitem, UncertainTensor)
@takes_raw_index
def getitem_uncertain(x: Any, key: Any, /) -> Any:
    if type(x) is not UncertainTensor or not is_simple_key(key):
        return propagate(ops.getitem, x, key)
    return choose_part(x, key)


parts_by(UncertainTensor, getitem_uncertain)(choose_part)


@rows_by(UncertainTensor, getitem_uncertain)
def rows_of_uncertain(x: UncertainTensor) -> Iterator[Any]:
    return rows_of_parts(x)


@tensor_protocol.implements(ops.sort, UncertainTensor)
def sort_uncertain(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return the elements in the order of their values, each with the sources that it had."""
    if type(x) is not UncertainTensor or type(x.data) is not Tensor or not x.ndim:
        return propagate(ops.sort, x, axis=axis, descending=descending, stable=stable)
    order = ops.argsort(x.data, axis=axis, descending=descending, stable=stable)
    return ops.take_along_axis(x, order, axis=axis)


@implements_each(tuple(MOVING), UncertainTensor)
def move_uncertain(op: Any, x: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Move elements; the sources of each, and its derivatives by them, move with it."""
    if type(x) is UncertainTensor and not kwargs and (moved := move_later(op, x, args)) is not None:
        return moved
    if type(x) is not UncertainTensor or not len(x.factor):
        return propagate(op, x, *args, **kwargs)
    return _wrap(op(x.data, *args, **kwargs), *move_parts(op, x.factor, x.sources, args, kwargs))


def _few_sources(
    op: Any, call: Any, arrays: Sequence[UncertainTensor], result: Any, elementwise: bool
) -> tuple[Any, Any] | None:
    """Return ids and factor of a result whose elements have few sources, of arguments that do; None for others."""
    values = tuple(array.data for array in arrays)
    if op in MOVES:
        return move_sources(call, [_part(x) for x in arrays], result.shape)
    if elementwise:
        slopes = slopes_of(call, values)
        factors = [scale_factor(slope, x.factor, result.ndim) for slope, x in zip(slopes, arrays, strict=True)]
        ids = [align_sources(x.sources.ids, result.shape) for x in arrays]
        if all(map(is_plain, factors)):
            merged = merge_sources(list(zip(ids, [factor.array for factor in factors], strict=True)))
        else:
            merged = merge_sources(list(zip(ids, factors, strict=True)))
        if merged is None:
            return None
        return merged[0], ops.asarray(merged[1])
    if isinstance(result, (list, tuple)) or result.shape or result.dtype.kind == "c":
        return None
    gradients = func.vjp(call, *values)[1](ops.ones_like(result))
    factors = [scale_factor(slope, x.factor, slope.ndim) for slope, x in zip(gradients, arrays, strict=True)]
    return sum_elements([(x.sources.ids, factor) for x, factor in zip(arrays, factors, strict=True)])


def _with_factor(value: Any, factor: Any, sources: Sources) -> Any:
    if value.dtype.kind in "fc":
        return _wrap(value, factor, sources)
    return value


def covariance(x1: UncertainTensor, x2: UncertainTensor | None = None) -> Any:
    """Return the covariances of the elements of an array, or of those of two arrays.

    Parameters
    ----------
    x1, x2 : uncertain numbers, of n and m elements; `x1` again by default

    Returns
    -------
    Shape ``(n, m)``, elements in the order of the flattened arrays

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.types.uncertain import covariance
    >>> x = dk.types.UncertainTensor([1.0, 2.0], [0.1, 0.2])
    >>> covariance(x, x + x[0])
    tensor([[0.0200, 0.0100],
            [0.0000, 0.0400]])
    """
    if x2 is None:
        x2 = x1
    _, factors = join_sources([_part(x1), _part(x2)])
    left, right = (ops.reshape(factor, (factor.shape[0], -1)) for factor in factors)
    return ops.matmul(ops.matrix_transpose(left), ops.conj(right))


def samples(arrays: Sequence[UncertainTensor], n: int, *, generator: Any = None) -> list[Any]:
    """Draw the sources from normal distributions, and return what the arrays are there: a plain array for each.

    Parameters
    ----------
    arrays : uncertain numbers, which stay correlated
    n : number of draws
    generator : of random numbers

    Returns
    -------
    an array of shape ``(n, *shape)`` for each

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.types.uncertain import samples
    >>> x = dk.types.UncertainTensor(0.0, 0.1)
    >>> (drawn,) = samples([x], 10_000, generator=dk.Generator(0))
    >>> (x**2).std, round(float(dk.std(drawn**2)), 3)
    (tensor(0.), 0.014)
    """
    every = np.unique(np.concatenate([array.sources.ids.ravel() for array in arrays]))
    drawn = random.normal(shape=(n, len(every)), generator=generator)
    results = []
    for array in arrays:
        mine = ops.take(drawn, ops.asarray(np.searchsorted(every, array.sources.ids).ravel()), axis=1)
        if are_own(*_part(array)):
            moves = ops.sum(ops.reshape(mine, (n, *array.factor.shape)) * array.factor, axis=1)
        else:
            moves = ops.tensordot(mine, array.factor, axes=1)
        results.append(array.data + moves)
    return results

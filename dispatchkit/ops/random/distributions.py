"""Draws from distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.decorators import random
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, DType, Namespace, Shape
from dispatchkit.declare.wrapping import holds
from dispatchkit.ops.creation.creation import shape_of
from dispatchkit.ops.creation.dtypes import default_dtype_of
from dispatchkit.ops.random.generator import Generator, source_of
from dispatchkit.ops.shared import integer, normal_axis

__all__ = ["bernoulli", "multinomial", "normal", "permutation", "randint", "uniform"]

RANDOM = "dispatchkit.random"


def drawn(
    xp: Namespace,
    name: str,
    distribution: Callable[..., Any],
    shape: Shape,
    dtype: DType = None,
    device: Any = None,
    *,
    below_one: bool = False,
) -> Any:
    """Return an array of floating numbers from a distribution.

    Parameters
    ----------
    xp : namespace of the result
    name : of the operation, for messages
    distribution : a generator's method that takes `size` and `dtype`
    shape, dtype, device : of the result; the default floating dtype if None
    below_one : whether all are below 1, to which float16 would round the last

    Raises
    ------
    ValueError : if `dtype` is not float16, float32 or float64
    """
    if dtype is None:
        wanted = default_dtype_of("f")
    else:
        wanted = numpy_dtype(dtype)
    if wanted.char not in "efd":
        raise ValueError(f"{name}: dtype must be float16, float32 or float64, found {wanted}")
    size = shape_of(name, shape)
    if wanted.char == "e":
        numbers = np.asarray(distribution(size=size, dtype=np.float32))
        if below_one:
            numbers = np.floor(numbers * 2048) / 2048  # what float16 has between 0.5 and 1
        numbers = numbers.astype(wanted)
    else:
        numbers = distribution(size=size, dtype=wanted)
    return xp.asarray(numbers, device=device)


@random(namespace=RANDOM, samples=lambda: [sample(shape=(2, 3)), sample(-1.0, 1.0), sample(shape=2, dtype="float32")])
def uniform(
    xp: Namespace,
    low: float = 0.0,
    high: float = 1.0,
    *,
    shape: Shape = (),
    dtype: DType = None,
    device: Any = None,
    generator: Generator | None = None,
) -> Array:
    """Draw numbers that are equally likely everywhere between two bounds.

    Parameters
    ----------
    low, high : the bounds; `high` is not drawn
    shape : of the result
    dtype : of the result, float16, float32 or float64; the default one if None

    Raises
    ------
    ValueError : if `high` is below `low`, or `dtype` is another

    Examples
    --------
    >>> dk.random.uniform(-1.0, 1.0, shape=(2, 3)).shape
    (2, 3)
    """
    if high < low:
        raise ValueError(f"{uniform.__name__}: high is not below low, found low={low} and high={high}")
    numbers = drawn(xp, uniform.__name__, source_of(generator).random, shape, dtype, device, below_one=True)
    return numbers * float(high - low) + float(low)


@random(namespace=RANDOM, samples=lambda: [sample(shape=(2, 3)), sample(5.0, 0.5), sample(shape=2, dtype="float32")])
def normal(
    xp: Namespace,
    mean: float = 0.0,
    std: float = 1.0,
    *,
    shape: Shape = (),
    dtype: DType = None,
    device: Any = None,
    generator: Generator | None = None,
) -> Array:
    """Draw numbers from the normal distribution.

    Parameters
    ----------
    mean, std : of the distribution
    shape : of the result
    dtype : of the result, float16, float32 or float64; the default one if None

    Raises
    ------
    ValueError : if `std` is negative, or `dtype` is another

    Examples
    --------
    >>> dk.random.normal(5.0, 0.1, shape=(2, 3)).shape
    (2, 3)
    """
    if std < 0:
        raise ValueError(f"{normal.__name__}: std must not be negative, found {std}")
    numbers = drawn(xp, normal.__name__, source_of(generator).standard_normal, shape, dtype, device)
    return numbers * float(std) + float(mean)


@random(namespace=RANDOM, samples=lambda: [sample(0, 9, shape=(2, 3)), sample(-3, 3), sample(0, 2, dtype="int8")])
def randint(
    xp: Namespace,
    low: int,
    high: int,
    *,
    shape: Shape = (),
    dtype: DType = None,
    device: Any = None,
    generator: Generator | None = None,
) -> Array:
    """Draw integers that are equally likely.

    Parameters
    ----------
    low, high : bounds; `high` is not drawn
    shape : of the result
    dtype : of the result, int64 if None

    Raises
    ------
    ValueError : if there is no integer between the bounds, or `dtype` cannot hold them

    Examples
    --------
    >>> dk.random.randint(5, 6, shape=3)
    tensor([5, 5, 5])
    """
    return integers(xp, randint.__name__, low, high, shape, dtype, device, generator)


def integers(
    xp: Namespace,
    name: str,
    low: int,
    high: int,
    shape: Shape,
    dtype: DType,
    device: Any,
    generator: Generator | None,
) -> Any:
    """Return an array of integers from `low` on and below `high`, of int64 if `dtype` is None."""
    if high <= low:
        raise ValueError(f"{name}: high must be above low, found low={low} and high={high}")
    if dtype is None:
        wanted = np.dtype("int64")
    else:
        wanted = numpy_dtype(dtype)
    lengths = shape_of(name, shape)
    integral = wanted
    if wanted.kind in "fc":
        integral = np.dtype("int64")
    values = source_of(generator).integers(low, high, size=lengths, dtype=integral)
    return xp.asarray(values, dtype=wanted, device=device)


@random(namespace=RANDOM, samples=lambda: [sample(5), sample(draw(4)), sample(draw(3, 2), axis=1)])
def permutation(xp: Namespace, x: int | Array, /, *, axis: int = 0, generator: Generator | None = None) -> Array:
    """Shuffle an array along an axis, or the integers below a number.

    Parameters
    ----------
    x : array of shape (..., N, ...), whose elements along the axis change places together; or an int N
    axis : of length N

    Returns
    -------
    a copy in random order, or the integers below `x` in random order

    Raises
    ------
    ValueError : if `x` is 0-D

    Examples
    --------
    >>> dk.sort(dk.random.permutation(4))
    tensor([0, 1, 2, 3])
    """
    source = source_of(generator)
    if isinstance(x, int):
        return xp.asarray(source.permutation(x))
    if x.ndim == 0:
        raise ValueError(f"{permutation.__name__}: wants an array with axes, or an int; found shape ()")
    order = xp.asarray(source.permutation(x.shape[normal_axis(axis, x.ndim)]))
    return xp.take(x, order, axis=axis)


@random(
    namespace=RANDOM,
    samples=lambda: [
        sample(0.5, shape=(2, 3)),
        sample(draw(4, low=0.0, high=1.0)),
        sample(1.0, shape=2, dtype="int64"),
    ],
)
def bernoulli(
    xp: Namespace,
    p: float | Array = 0.5,
    *,
    shape: Shape | None = None,
    dtype: DType = None,
    device: Any = None,
    generator: Generator | None = None,
) -> Array:
    """Draw ones with a probability, else zeros.

    Parameters
    ----------
    p : probability of a one: a number, or an array of shape (...) that broadcasts to `shape`
    shape : of the result, that of `p` by default
    dtype : of the result; by default that of an array `p`, else the default floating one

    Raises
    ------
    ValueError : if a probability is not between 0 and 1

    Examples
    --------
    >>> dk.random.bernoulli(1.0, shape=3)
    tensor([1., 1., 1.])
    """
    shape_of_p = getattr(p, "shape", ())
    if shape is None:
        lengths = tuple(shape_of_p)
    else:
        lengths = shape_of(bernoulli.__name__, shape)
    if type(p) is float:
        inside = 0 <= p <= 1
    else:
        inside = holds((p >= 0) & (p <= 1), traced=True)
    if not inside:
        raise ValueError(f"{bernoulli.__name__}: a probability is between 0 and 1, found {p!r}")
    if device is None:
        device = getattr(p, "device", None)
    numbers = xp.asarray(source_of(generator).random(lengths), device=device)
    default = getattr(p, "dtype", default_dtype_of("f"))
    return xp.astype(numbers < p, dtype or default)


@random(
    namespace=RANDOM,
    samples=lambda: [
        sample(draw(4, low=0.1, high=1.0), 2),
        sample(draw(2, 3, low=0.1, high=1.0), 5, replacement=True),
        sample(np.asarray([0.0, 1.0]), 1),
    ],
)
def multinomial(
    xp: Namespace,
    probs: Array,
    /,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
) -> Array:
    """Draw numbers of categories by their probabilities.

    Parameters
    ----------
    probs : probability of each category, array of shape (..., K); only their ratios matter
    num_samples : how many to draw
    replacement : whether a category may be drawn again

    Returns
    -------
    array of int64 of shape (..., num_samples), from 0 on and below K, in the order in which they were drawn

    Raises
    ------
    ValueError : if a probability is negative, infinite or NaN, all are 0, or fewer categories than are to be drawn
        without replacement have a probability

    Notes
    -----
    Without replacement, each category waits for a time of the exponential distribution, at the rate of its
    probability, and those that come first are drawn; with replacement, uniform numbers are found among the cumulative
    sums. NumPy's function of this name counts how often each category was drawn. Source: PyTorch,
    `torch.multinomial`.

    Examples
    --------
    >>> dk.random.multinomial(dk.asarray([0.0, 1.0, 0.0]), 3, replacement=True)
    tensor([1, 1, 1])
    """
    shape = tuple(probs.shape)
    count = integer(multinomial, "num_samples", num_samples, least=1)
    if not shape:
        raise ValueError(f"{multinomial.__name__}: probs must have shape (..., K), found ()")
    draws = shape
    if replacement:
        draws = (*shape[:-1], count)
    numbers = xp.asarray(source_of(generator).random(draws))
    return categories(xp, probs, numbers, count, replacement)


def categories(xp: Namespace, probs: Any, numbers: Any, count: int, replacement: bool) -> Any:
    """Return the categories that numbers drawn from 0 to 1 choose.

    Parameters
    ----------
    xp : namespace of the arrays
    probs : of each category, array of shape (..., K)
    numbers : array of shape (..., count) with replacement, of the shape of `probs` without
    count : how many categories to choose
    replacement : whether one may be chosen again

    Raises
    ------
    ValueError : if the probabilities are none, or too few
    """
    probs = xp.astype(probs, xp.float64)
    if not holds((probs >= 0) & (probs < math.inf), traced=True):
        raise ValueError(f"{multinomial.__name__}: a probability is neither negative nor infinite nor NaN")
    least = count
    if replacement:
        least = 1
    if not holds(xp.count_nonzero(probs, axis=-1) >= least, traced=True):
        raise ValueError(f"{multinomial.__name__}: fewer than {least} categories have a probability other than 0")
    if not replacement:
        waits = xp.where(probs > 0, -xp.log1p(-numbers) / xp.where(probs > 0, probs, 1.0), math.inf)
        return xp.getitem(xp.argsort(waits, axis=-1), (..., slice(count)))
    sums = xp.cumulative_sum(probs, axis=-1)
    sums = sums / xp.getitem(sums, (..., slice(-1, None)))
    if sums.ndim == 1:
        return xp.searchsorted(sums, numbers, side="right")
    return xp.count_nonzero(xp.getitem(sums, (..., None, slice(None))) <= xp.getitem(numbers, (..., None)), axis=-1)

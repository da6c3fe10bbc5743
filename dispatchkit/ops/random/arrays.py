"""Random arrays by PyTorch's names: of a shape, of integers, or in the likeness of another."""

from __future__ import annotations

from typing import Any

from dispatchkit.backends.arrays import device_of
from dispatchkit.declare.decorators import random
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, DType, Namespace, Shape
from dispatchkit.ops.creation.creation import shape_of
from dispatchkit.ops.random.distributions import drawn, integers
from dispatchkit.ops.random.generator import Generator, source_of


def _spread(shape: tuple[Any, ...]) -> Shape:
    """Return the shape that was given spread out, or as one tuple."""
    if len(shape) == 1:
        return shape[0]
    return shape


@random(samples=lambda: [sample(2, 3), sample((2, 3)), sample(), sample(2, dtype="float32")])
def rand(
    xp: Namespace,
    *shape: Shape,
    generator: Generator | None = None,
    dtype: DType = None,
    device: Any = None,
) -> Array:
    """Draw numbers that are equally likely everywhere from 0 to 1.

    Parameters
    ----------
    *shape : of the result, ints or one tuple of them
    dtype : of the result, float16, float32 or float64; the default one if None

    Notes
    -----
    Source: PyTorch, `torch.rand`.

    Examples
    --------
    >>> dk.rand(2, 3).shape, dk.rand((2, 3)).shape
    ((2, 3), (2, 3))
    """
    return drawn(xp, rand.__name__, source_of(generator).random, _spread(shape), dtype, device, below_one=True)


@random(samples=lambda: [sample(2, 3), sample((2, 3)), sample(), sample(2, dtype="float32")])
def randn(
    xp: Namespace,
    *shape: Shape,
    generator: Generator | None = None,
    dtype: DType = None,
    device: Any = None,
) -> Array:
    """Draw numbers from the standard normal distribution.

    Parameters
    ----------
    *shape : of the result, ints or one tuple of them
    dtype : of the result, float16, float32 or float64; the default one if None

    Notes
    -----
    Source: PyTorch, `torch.randn`.

    Examples
    --------
    >>> dk.randn(20, 20, requires_grad=True).shape
    (20, 20)
    """
    return drawn(xp, randn.__name__, source_of(generator).standard_normal, _spread(shape), dtype, device)


@random(samples=lambda: [sample(3, 9, (2, 3)), sample(9, (4,)), sample(9, size=(4,)), sample(0, 2, 3, dtype="int32")])
def randint(
    xp: Namespace,
    low: int = 0,
    high: int | Shape | None = None,
    size: Shape | None = None,
    *,
    generator: Generator | None = None,
    dtype: DType = None,
    device: Any = None,
) -> Array:
    """Draw integers that are equally likely.

    Parameters
    ----------
    low : lower bound; may be left out, then the first argument is `high` and the second `size`
    high : upper bound, not drawn
    size : shape of the result
    dtype : of the result, int64 if None

    Raises
    ------
    TypeError : if the bounds or the size are left out
    ValueError : if there is no integer between the bounds

    Notes
    -----
    Source: PyTorch, `torch.randint`.

    Examples
    --------
    >>> dk.randint(5, 6, (3,)), dk.randint(1, (2, 2)).shape
    (tensor([5, 5, 5]), (2, 2))
    """
    first, last, shape = low, high, size
    if size is None:
        first, last, shape = 0, low, high
    elif high is None:
        first, last = 0, low
    if shape is None or not isinstance(last, int):
        raise TypeError(f"{randint.__name__}: wants (high, size) or (low, high, size)")
    return integers(xp, randint.__name__, first, last, shape, dtype, device, generator)


@random(samples=lambda: [sample(5), sample(0)])
def randperm(
    xp: Namespace,
    n: int,
    /,
    *,
    generator: Generator | None = None,
    dtype: DType = None,
    device: Any = None,
) -> Array:
    """Return the integers below a number in random order.

    Parameters
    ----------
    n : how many
    dtype : of the result, int64 if None

    Raises
    ------
    ValueError : if `n` is negative

    Notes
    -----
    Source: PyTorch, `torch.randperm`.

    Examples
    --------
    >>> dk.sort(dk.randperm(4))
    tensor([0, 1, 2, 3])
    """
    (count,) = shape_of(randperm.__name__, n)
    return xp.asarray(source_of(generator).permutation(count), dtype=dtype, device=device)


@random(samples=lambda: [sample(draw(2, 3)), sample(draw(), dtype="float32")])
def rand_like(
    xp: Namespace,
    x: Array,
    /,
    *,
    generator: Generator | None = None,
    dtype: DType = None,
    device: Any = None,
) -> Array:
    """Draw numbers that are equally likely everywhere from 0 to 1, in the shape of an array.

    Parameters
    ----------
    x : array of any shape
    dtype, device : of the result, those of `x` if None

    Notes
    -----
    Source: PyTorch, `torch.rand_like`.

    Examples
    --------
    >>> dk.rand_like(dk.zeros((2, 3))).shape
    (2, 3)
    """
    distribution = source_of(generator).random
    place = device or device_of(x)
    return drawn(xp, rand_like.__name__, distribution, x.shape, dtype or x.dtype, place, below_one=True)


@random(samples=lambda: [sample(draw(2, 3)), sample(draw(), dtype="float32")])
def randn_like(
    xp: Namespace,
    x: Array,
    /,
    *,
    generator: Generator | None = None,
    dtype: DType = None,
    device: Any = None,
) -> Array:
    """Draw numbers from the standard normal distribution, in the shape of an array.

    Parameters
    ----------
    x : array of any shape
    dtype, device : of the result, those of `x` if None

    Notes
    -----
    Source: PyTorch, `torch.randn_like`.

    Examples
    --------
    >>> dk.randn_like(dk.zeros((2, 3))).shape
    (2, 3)
    """
    distribution = source_of(generator).standard_normal
    return drawn(xp, randn_like.__name__, distribution, x.shape, dtype or x.dtype, device or device_of(x))

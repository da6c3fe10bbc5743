"""Frequencies of Fourier transforms, and the order they stand in."""

from __future__ import annotations

from typing import Any

from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.decorators import creation, manipulation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, DType, Namespace
from dispatchkit.ops.creation.dtypes import default_dtype_of
from dispatchkit.ops.fft.arguments import FFT
from dispatchkit.ops.shared.arguments import Named, integer
from dispatchkit.ops.shared.axes import Axis, normal_axes

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]

FREQUENCY_SAMPLES = [sample(5), sample(4, d=0.5), sample(1, dtype="float64")]
SHIFT_SAMPLES = [
    sample(draw(5)),
    sample(draw(3, 4)),
    sample(draw(3, 4), axes=0),
    sample(draw(3, 4, 5, content="integer"), axes=(0, -1)),
]


def _spacing(op: Named, n: int, d: float) -> tuple[int, float]:
    """Return the number of samples, and the inverse of the distance of the frequencies."""
    count = integer(op, "n", n, least=1)
    if d == 0:
        raise ValueError(f"{op.__name__}: d, the distance of the samples, must not be 0")
    return count, count * d


def _frequency_dtype(op: Named, dtype: DType) -> DType:
    if dtype is None:
        return default_dtype_of("f")
    if numpy_dtype(dtype).kind != "f":
        raise TypeError(f"{op.__name__}: dtype must be of real floating-point numbers, found {dtype}")
    return dtype


@creation(namespace=FFT, samples=FREQUENCY_SAMPLES)
def fftfreq(xp: Namespace, n: int, /, *, d: float = 1.0, dtype: DType = None, device: Any = None) -> Array:
    """Return the frequencies of `fft`, in its order: those from 0 on, then the negative ones.

    Parameters
    ----------
    n : number of samples
    d : distance of the samples, in the unit of which the frequencies are the inverse
    dtype : of the result, the default floating one if None

    Returns
    -------
    array of shape (n,)

    Raises
    ------
    TypeError : if `n` is no int, or `dtype` not of real floating-point numbers
    ValueError : if `n` is less than 1, or `d` is 0

    Notes
    -----
    ``[0, 1, ..., (n - 1) // 2, -(n // 2), ..., -1] / (d * n)``. Source: array API standard, `fft.fftfreq`.

    Examples
    --------
    >>> dk.fft.fftfreq(4, d=0.5)
    tensor([ 0.0000,  0.5000, -1.0000, -0.5000])
    """
    count, scale = _spacing(fftfreq, n, d)
    numbers = xp.arange(count, dtype=_frequency_dtype(fftfreq, dtype), device=device)
    return xp.where(2 * numbers < count, numbers, numbers - count) / scale


@creation(namespace=FFT, samples=FREQUENCY_SAMPLES)
def rfftfreq(xp: Namespace, n: int, /, *, d: float = 1.0, dtype: DType = None, device: Any = None) -> Array:
    """Return the frequencies of `rfft`: those from 0 on.

    Parameters
    ----------
    n : number of samples
    d : distance of the samples, in the unit of which the frequencies are the inverse
    dtype : of the result, the default floating one if None

    Returns
    -------
    array of shape (n // 2 + 1,)

    Raises
    ------
    TypeError : if `n` is no int, or `dtype` not of real floating-point numbers
    ValueError : if `n` is less than 1, or `d` is 0

    Notes
    -----
    ``[0, 1, ..., n // 2] / (d * n)``. Source: array API standard, `fft.rfftfreq`.

    Examples
    --------
    >>> dk.fft.rfftfreq(4, d=0.5)
    tensor([0.0000, 0.5000, 1.0000])
    """
    count, scale = _spacing(rfftfreq, n, d)
    return xp.arange(count // 2 + 1, dtype=_frequency_dtype(rfftfreq, dtype), device=device) / scale


def _rolled(xp: Namespace, x: Array, axes: Axis, forward: bool) -> Array:
    """Roll each axis by half of its length, rounded down forward and up backward."""
    places = normal_axes(axes, x.ndim)
    if not places:
        return xp.asarray(x, copy=True)
    shift = tuple([x.shape[place] // 2 if forward else -(x.shape[place] // 2) for place in places])
    return xp.roll(x, shift, axis=places)


@manipulation(namespace=FFT, samples=SHIFT_SAMPLES, axis="axes")
def fftshift(xp: Namespace, x: Array, /, *, axes: Axis = None) -> Array:
    """Bring the frequencies that `fft` gives into rising order: 0 to the middle.

    Parameters
    ----------
    axes : to shift, one or several; all by default

    Returns
    -------
    array of the shape and dtype of `x`

    Raises
    ------
    ValueError : if an axis is out of bounds or given twice

    Notes
    -----
    Linear: the cotangent is shifted back by `ifftshift`. Source: array API standard, `fft.fftshift`.

    Examples
    --------
    >>> dk.fft.fftshift(dk.asarray([0, 1, 2, -2, -1]))
    tensor([-2, -1,  0,  1,  2])
    """
    return _rolled(xp, x, axes, True)


@fftshift.def_transpose
def fftshift_transpose(xp, g, axes):
    return _rolled(xp, g, axes, False)


@manipulation(namespace=FFT, samples=SHIFT_SAMPLES, axis="axes")
def ifftshift(xp: Namespace, x: Array, /, *, axes: Axis = None) -> Array:
    """Undo `fftshift`, from which it differs where a length is odd.

    Parameters
    ----------
    axes : to shift, one or several; all by default

    Returns
    -------
    array of the shape and dtype of `x`

    Raises
    ------
    ValueError : if an axis is out of bounds or given twice

    Notes
    -----
    Linear: the cotangent is shifted back by `fftshift`. Source: array API standard, `fft.ifftshift`.

    Examples
    --------
    >>> dk.fft.ifftshift(dk.asarray([-2, -1, 0, 1, 2]))
    tensor([ 0,  1,  2, -2, -1])
    """
    return _rolled(xp, x, axes, False)


@ifftshift.def_transpose
def ifftshift_transpose(xp, g, axes):
    return _rolled(xp, g, axes, True)

"""Fourier transforms along several axes, and frequencies."""

from __future__ import annotations

from typing import Any

from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.decorators import creation, manipulation, operation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, DType, Namespace
from dispatchkit.ops.creation.dtypes import default_dtype_of
from dispatchkit.ops.fft.transforms import (
    FFT,
    OPPOSITE,
    Lengths,
    Norm,
    not_empty,
    paired_bins_times,
    resize,
    transformed_axes,
)
from dispatchkit.ops.shared import Axis, Named, as_complex, integer, normal_axes
from dispatchkit.protocol.kinds import kinds

__all__ = ["fftfreq", "fftn", "fftshift", "ifftn", "ifftshift", "irfftn", "rfftfreq", "rfftn"]

COMPLEX_SAMPLES = [
    sample(draw(2, 3, content="complex")),
    sample(draw(2, 3, content="complex"), axes=(0,), norm="ortho"),
    sample(draw(2, 3, content="complex"), s=(3, 2), axes=(-1, 0), norm="forward"),
    sample(draw(2, 2, 2, content="complex"), s=[1, -1], axes=[0, 1]),
    sample(draw(3)),
]
REAL_SAMPLES = [
    sample(draw(2, 3)),
    sample(draw(3, 4), axes=(0,), norm="ortho"),
    sample(draw(3, 4), axes=(1, 0)),
    sample(draw(2, 3), s=(2, 6), axes=(0, 1), norm="forward"),
    sample(draw(2, 2, 3), s=[-1, 2], axes=[0, 2]),
]
HALVED_SAMPLES = [
    sample(draw(2, 3, content="complex")),
    sample(draw(3, 2, content="complex"), axes=(0,), norm="ortho"),
    sample(draw(3, 2, content="complex"), axes=(1, 0)),
    sample(draw(2, 3, content="complex"), s=(2, 5), axes=(0, 1), norm="forward"),
    sample(draw(2, 2, 3, content="complex"), s=[-1, 2], axes=[0, 2]),
    sample(draw(2, 3)),
]


@operation(kind=kinds.fft, namespace=FFT, samples=COMPLEX_SAMPLES, decomposes=False, axis="axes")
def fftn(xp: Namespace, x: Array, /, *, s: Lengths = None, axes: Lengths = None, norm: Norm = "backward") -> Array:
    """Compute the discrete Fourier transform along several axes.

    Parameters
    ----------
    x : array of complex or real floating-point numbers, of shape (...)
    s : for each of the axes the number of elements to transform: the axis is cut, or filled up with zeros, to it; -1
        and None mean all that there are
    axes : to transform, all by default; needed with `s`
    norm : the factor: ``"backward"``, 1; ``"ortho"``, ``1 / sqrt(prod(s))``; ``"forward"``, ``1 / prod(s)``

    Returns
    -------
    complex array of the precision of `x`, of lengths `s` along the axes

    Raises
    ------
    TypeError : if `x` holds no floating-point numbers, or `s` no ints
    ValueError : if a length is less than 1 and not -1, `s` does not fit `axes`, there is no axis or one is out of
        bounds, given twice, or without elements where `s` says no
        length, or `norm` is unknown

    Notes
    -----
    `fft` along each axis. The cotangent is that of `ifftn` with the opposite factor.

    Examples
    --------
    >>> dk.fft.fftn(dk.asarray([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[10.+0.j, -2.+0.j],
            [-4.+0.j, 0.+0.j]])
    """
    lengths, places = transformed_axes(fftn, x, s, axes, norm)
    x = not_empty(xp, as_complex(xp, x), *places)
    return xp.fft.fftn(x, s=lengths, axes=places, norm=norm)


@fftn.def_transpose
def fftn_transpose(xp, g, x, axes, norm):
    return resize(xp, xp.fft.ifftn(g, axes=axes, norm=OPPOSITE[norm]), x.shape)


@operation(kind=kinds.fft, namespace=FFT, samples=COMPLEX_SAMPLES, decomposes=False, axis="axes")
def ifftn(xp: Namespace, x: Array, /, *, s: Lengths = None, axes: Lengths = None, norm: Norm = "backward") -> Array:
    """Compute the inverse discrete Fourier transform along several axes.

    Parameters
    ----------
    x, s, axes : as for `fftn`
    norm : the factor: ``"backward"``, ``1 / prod(s)``; ``"ortho"``, ``1 / sqrt(prod(s))``; ``"forward"``, 1

    Returns
    -------
    complex array of the precision of `x`, of lengths `s` along the axes

    Raises
    ------
    TypeError, ValueError : as for `fftn`

    Notes
    -----
    `ifft` along each axis. The cotangent is that of `fftn` with the opposite factor.

    Examples
    --------
    >>> dk.fft.ifftn(dk.asarray([[10.0, -2.0], [-4.0, 0.0]]))
    tensor([[1.+0.j, 2.+0.j],
            [3.+0.j, 4.+0.j]])
    """
    lengths, places = transformed_axes(ifftn, x, s, axes, norm)
    x = not_empty(xp, as_complex(xp, x), *places)
    return xp.fft.ifftn(x, s=lengths, axes=places, norm=norm)


@ifftn.def_transpose
def ifftn_transpose(xp, g, x, axes, norm):
    return resize(xp, xp.fft.fftn(g, axes=axes, norm=OPPOSITE[norm]), x.shape)


@operation(kind=kinds.fft, namespace=FFT, samples=REAL_SAMPLES, decomposes=False, real=True, axis="axes")
def rfftn(xp: Namespace, x: Array, /, *, s: Lengths = None, axes: Lengths = None, norm: Norm = "backward") -> Array:
    """Compute the discrete Fourier transform of real numbers along several axes, half of it along the last one.

    Parameters
    ----------
    x : array of real floating-point numbers, of shape (...)
    s, axes, norm : as for `fftn`

    Returns
    -------
    complex array of the precision of `x`, of lengths `s` along the axes, but ``s[-1] // 2 + 1`` along the last of them

    Raises
    ------
    TypeError : if `x` holds no real floating-point numbers, or `s` no ints
    ValueError : as for `fftn`

    Notes
    -----
    `rfft` along the last of the axes, then `fft` along the others. The cotangent is that of `irfftn` with the opposite
    factor, which counts the bins in between twice, of half of them.

    Examples
    --------
    >>> dk.fft.rfftn(dk.asarray([[1.0, 2.0, 0.0, 2.0], [3.0, 4.0, 0.0, 4.0]]))
    tensor([[16.+0.j, 4.+0.j, -8.+0.j],
            [-6.+0.j, -2.+0.j, 2.+0.j]])
    """
    lengths, places = transformed_axes(rfftn, x, s, axes, norm, real=True)
    return xp.fft.rfftn(not_empty(xp, x, *places), s=lengths, axes=places, norm=norm)


@rfftn.def_transpose
def rfftn_transpose(xp, g, x, s, axes, norm):
    lengths, places = transformed_axes(rfftn, x, s, axes, norm, real=True)
    halved = paired_bins_times(xp, 0.5, g, lengths[-1], places[-1])
    return resize(xp, xp.fft.irfftn(halved, s=lengths, axes=places, norm=OPPOSITE[norm]), x.shape)


@operation(kind=kinds.fft, namespace=FFT, samples=HALVED_SAMPLES, decomposes=False, axis="axes")
def irfftn(xp: Namespace, x: Array, /, *, s: Lengths = None, axes: Lengths = None, norm: Norm = "backward") -> Array:
    """Compute the inverse of `rfftn` along several axes: real numbers from half a spectrum.

    Parameters
    ----------
    x, axes : as for `fftn`
    s : lengths of the result along the axes, to which those of `x` are cut, or filled up with zeros, to
        ``s[-1] // 2 + 1`` along the last one; -1 and None mean those of `x`, and ``2 * (M - 1)`` for the last of M
        elements
    norm : as for `ifftn`

    Returns
    -------
    real array of the precision of `x`, of lengths `s` along the axes

    Raises
    ------
    TypeError : as for `fftn`
    ValueError : if a length is less than 1 and not -1, or not given where the last axis has one element; if `s` does
        not fit `axes`, there is no axis or one is out of bounds, given twice, or without elements where `s` says no
        length, or `norm` is unknown

    Notes
    -----
    `ifft` along all axes but the last, then `irfft` along that. The cotangent is that of `rfftn` with the opposite
    factor, the bins in between twice.

    Examples
    --------
    >>> dk.fft.irfftn(dk.asarray([[16.0, 4.0, -8.0], [-6.0, -2.0, 2.0]]))
    tensor([[1., 2., 0., 2.],
            [3., 4., 0., 4.]])
    """
    lengths, places = transformed_axes(irfftn, x, s, axes, norm, halved=True)
    x = not_empty(xp, as_complex(xp, x), *places)
    return xp.fft.irfftn(x, s=lengths, axes=places, norm=norm)


@irfftn.def_transpose
def irfftn_transpose(xp, g, x, axes, norm):
    half = xp.fft.rfftn(g, axes=axes, norm=OPPOSITE[norm])
    last = -1
    if axes is not None:
        last = axes[-1]
    return resize(xp, paired_bins_times(xp, 2, half, g.shape[last], last), x.shape)


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
    ``[0, 1, ..., (n - 1) // 2, -(n // 2), ..., -1] / (d * n)``.

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
    n, d, dtype : as for `fftfreq`

    Returns
    -------
    array of shape (n // 2 + 1,)

    Raises
    ------
    TypeError, ValueError : as for `fftfreq`

    Notes
    -----
    ``[0, 1, ..., n // 2] / (d * n)``.

    Examples
    --------
    >>> dk.fft.rfftfreq(4, d=0.5)
    tensor([0.0000, 0.5000, 1.0000])
    """
    count, scale = _spacing(rfftfreq, n, d)
    return xp.arange(count // 2 + 1, dtype=_frequency_dtype(rfftfreq, dtype), device=device) / scale


def _roll_by_half(xp: Namespace, x: Array, axes: Axis, forward: bool) -> Array:
    """Roll each axis by half of its length, rounded down forward and up backward."""
    places = normal_axes(axes, x.ndim)
    if not places:
        return xp.asarray(x, copy=True)
    shift = tuple([x.shape[place] // 2 if forward else -(x.shape[place] // 2) for place in places])
    return xp.roll(x, shift, axis=places)


@manipulation(method=False, namespace=FFT, samples=SHIFT_SAMPLES, axis="axes")
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
    Linear: the cotangent is shifted back by `ifftshift`.

    Examples
    --------
    >>> dk.fft.fftshift(dk.asarray([0, 1, 2, -2, -1]))
    tensor([-2, -1,  0,  1,  2])
    """
    return _roll_by_half(xp, x, axes, True)


@manipulation(method=False, namespace=FFT, samples=SHIFT_SAMPLES, axis="axes")
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
    Linear: the cotangent is shifted back by `fftshift`.

    Examples
    --------
    >>> dk.fft.ifftshift(dk.asarray([-2, -1, 0, 1, 2]))
    tensor([ 0,  1,  2, -2, -1])
    """
    return _roll_by_half(xp, x, axes, False)

"""Fourier transforms along several axes."""

from __future__ import annotations

from dispatchkit.declare.decorators import operation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.fft.arguments import (
    FFT,
    OPPOSITE,
    Lengths,
    Norm,
    paired_bins_times,
    resized,
    transformed_axes,
)
from dispatchkit.ops.shared.arrays import as_complex
from dispatchkit.protocol.kinds import kinds

__all__ = ["fftn", "ifftn", "irfftn", "rfftn"]

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
        bounds, given twice or without elements, or `norm` is unknown

    Notes
    -----
    `fft` along each axis. The cotangent is that of `ifftn` with the opposite factor. Source: array API standard,
    `fft.fftn`.

    Examples
    --------
    >>> dk.fft.fftn(dk.asarray([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[10.+0.j, -2.+0.j],
            [-4.+0.j, 0.+0.j]], dtype=complex128)
    """
    lengths, places = transformed_axes(fftn, x, s, axes, norm)
    return xp.fft.fftn(as_complex(xp, x), s=lengths, axes=places, norm=norm)


@fftn.def_transpose
def fftn_transpose(xp, g, x, axes, norm):
    return resized(xp, xp.fft.ifftn(g, axes=axes, norm=OPPOSITE[norm]), x.shape)


@operation(kind=kinds.fft, namespace=FFT, samples=COMPLEX_SAMPLES, decomposes=False, axis="axes")
def ifftn(xp: Namespace, x: Array, /, *, s: Lengths = None, axes: Lengths = None, norm: Norm = "backward") -> Array:
    """Compute the inverse discrete Fourier transform along several axes.

    Parameters
    ----------
    x : array of complex or real floating-point numbers, of shape (...)
    s : for each of the axes the number of elements to transform: the axis is cut, or filled up with zeros, to it; -1
        and None mean all that there are
    axes : to transform, all by default; needed with `s`
    norm : the factor: ``"backward"``, ``1 / prod(s)``; ``"ortho"``, ``1 / sqrt(prod(s))``; ``"forward"``, 1

    Returns
    -------
    complex array of the precision of `x`, of lengths `s` along the axes

    Raises
    ------
    TypeError : if `x` holds no floating-point numbers, or `s` no ints
    ValueError : if a length is less than 1 and not -1, `s` does not fit `axes`, there is no axis or one is out of
        bounds, given twice or without elements, or `norm` is unknown

    Notes
    -----
    `ifft` along each axis. The cotangent is that of `fftn` with the opposite factor. Source: array API standard,
    `fft.ifftn`.

    Examples
    --------
    >>> dk.fft.ifftn(dk.asarray([[10.0, -2.0], [-4.0, 0.0]]))
    tensor([[1.+0.j, 2.+0.j],
            [3.+0.j, 4.+0.j]], dtype=complex128)
    """
    lengths, places = transformed_axes(ifftn, x, s, axes, norm)
    return xp.fft.ifftn(as_complex(xp, x), s=lengths, axes=places, norm=norm)


@ifftn.def_transpose
def ifftn_transpose(xp, g, x, axes, norm):
    return resized(xp, xp.fft.fftn(g, axes=axes, norm=OPPOSITE[norm]), x.shape)


@operation(kind=kinds.fft, namespace=FFT, samples=REAL_SAMPLES, decomposes=False, real=True, axis="axes")
def rfftn(xp: Namespace, x: Array, /, *, s: Lengths = None, axes: Lengths = None, norm: Norm = "backward") -> Array:
    """Compute the discrete Fourier transform of real numbers along several axes, half of it along the last one.

    Parameters
    ----------
    x : array of real floating-point numbers, of shape (...)
    s : for each of the axes the number of elements to transform: the axis is cut, or filled up with zeros, to it; -1
        and None mean all that there are
    axes : to transform, all by default; needed with `s`
    norm : the factor: ``"backward"``, 1; ``"ortho"``, ``1 / sqrt(prod(s))``; ``"forward"``, ``1 / prod(s)``

    Returns
    -------
    complex array of the precision of `x`, of lengths `s` along the axes, but ``s[-1] // 2 + 1`` along the last of them

    Raises
    ------
    TypeError : if `x` holds no real floating-point numbers, or `s` no ints
    ValueError : if a length is less than 1 and not -1, `s` does not fit `axes`, there is no axis or one is out of
        bounds, given twice or without elements, or `norm` is unknown

    Notes
    -----
    `rfft` along the last of the axes, then `fft` along the others. The cotangent is that of `irfftn` with the opposite
    factor, which counts the bins in between twice, of half of them. Source: array API standard, `fft.rfftn`.

    Examples
    --------
    >>> dk.fft.rfftn(dk.asarray([[1.0, 2.0, 0.0, 2.0], [3.0, 4.0, 0.0, 4.0]]))
    tensor([[16.+0.j, 4.+0.j, -8.+0.j],
            [-6.+0.j, -2.+0.j, 2.+0.j]], dtype=complex128)
    """
    lengths, places = transformed_axes(rfftn, x, s, axes, norm, real=True)
    return xp.fft.rfftn(x, s=lengths, axes=places, norm=norm)


@rfftn.def_transpose
def rfftn_transpose(xp, g, x, s, axes, norm):
    lengths, places = transformed_axes(rfftn, x, s, axes, norm, real=True)
    halved = paired_bins_times(xp, 0.5, g, lengths[-1], places[-1])
    return resized(xp, xp.fft.irfftn(halved, s=lengths, axes=places, norm=OPPOSITE[norm]), x.shape)


@operation(kind=kinds.fft, namespace=FFT, samples=HALVED_SAMPLES, decomposes=False, axis="axes")
def irfftn(xp: Namespace, x: Array, /, *, s: Lengths = None, axes: Lengths = None, norm: Norm = "backward") -> Array:
    """Compute the inverse of `rfftn` along several axes: real numbers from half a spectrum.

    Parameters
    ----------
    x : array of complex or real floating-point numbers, of shape (...)
    s : lengths of the result along the axes, to which those of `x` are cut, or filled up with zeros, to
        ``s[-1] // 2 + 1`` along the last one; -1 and None mean those of `x`, and ``2 * (M - 1)`` for the last of M
        elements
    axes : to transform, all by default; needed with `s`
    norm : the factor: ``"backward"``, ``1 / prod(s)``; ``"ortho"``, ``1 / sqrt(prod(s))``; ``"forward"``, 1

    Returns
    -------
    real array of the precision of `x`, of lengths `s` along the axes

    Raises
    ------
    TypeError : if `x` holds no floating-point numbers, or `s` no ints
    ValueError : if a length is less than 1 and not -1, or not given where the last axis has one element; if `s` does
        not fit `axes`, there is no axis or one is out of bounds, given twice or without elements, or `norm` is unknown

    Notes
    -----
    `ifft` along all axes but the last, then `irfft` along that. The cotangent is that of `rfftn` with the opposite
    factor, the bins in between twice. Source: array API standard, `fft.irfftn`.

    Examples
    --------
    >>> dk.fft.irfftn(dk.asarray([[16.0, 4.0, -8.0], [-6.0, -2.0, 2.0]]))
    tensor([[1., 2., 0., 2.],
            [3., 4., 0., 4.]])
    """
    lengths, places = transformed_axes(irfftn, x, s, axes, norm, halved=True)
    return xp.fft.irfftn(as_complex(xp, x), s=lengths, axes=places, norm=norm)


@irfftn.def_transpose
def irfftn_transpose(xp, g, x, axes, norm):
    half = xp.fft.rfftn(g, axes=axes, norm=OPPOSITE[norm])
    last = -1 if axes is None else axes[-1]
    return resized(xp, paired_bins_times(xp, 2, half, g.shape[last], last), x.shape)

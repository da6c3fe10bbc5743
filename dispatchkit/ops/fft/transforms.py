"""Fourier transforms along one axis.

All are linear, and the transpose of each is its inverse under the opposite `norm`, cut or filled up to the length of
the argument. Where one side is half a spectrum, the transpose weights the bins that stand for two.
"""

from __future__ import annotations

from dispatchkit.declare.decorators import operation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.fft.arguments import (
    FFT,
    OPPOSITE,
    Norm,
    opposite,
    paired_bins_times,
    resized,
    transformed_axis,
)
from dispatchkit.ops.shared.arrays import as_complex
from dispatchkit.protocol.kinds import kinds

__all__ = ["fft", "hfft", "ifft", "ihfft", "irfft", "rfft"]

COMPLEX_SAMPLES = [
    sample(draw(5, content="complex")),
    sample(draw(2, 3, content="complex"), axis=0, norm="ortho"),
    sample(draw(3, content="complex"), n=5, norm="forward"),
    sample(draw(2, 4, content="complex"), n=3),
    sample(draw(3)),
]
REAL_SAMPLES = [
    sample(draw(5)),
    sample(draw(4)),
    sample(draw(3, 2), axis=0, norm="ortho"),
    sample(draw(3), n=6, norm="forward"),
    sample(draw(2, 4), n=3),
]
HALVED_SAMPLES = [
    sample(draw(4, content="complex")),
    sample(draw(3, content="complex"), n=5),
    sample(draw(3, 2, content="complex"), axis=0, norm="ortho"),
    sample(draw(2, content="complex"), n=6, norm="forward"),
    sample(draw(2, 4, content="complex"), n=3),
    sample(draw(3)),
]


@operation(kind=kinds.fft, namespace=FFT, samples=COMPLEX_SAMPLES, decomposes=False)
def fft(xp: Namespace, x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Compute the discrete Fourier transform along one axis.

    Parameters
    ----------
    x : array of complex or real floating-point numbers, of shape (..., M, ...)
    n : number of elements to transform: the axis is cut, or filled up with zeros, to it; M by default
    axis : to transform
    norm : the factor: ``"backward"``, 1; ``"ortho"``, ``1 / sqrt(n)``; ``"forward"``, ``1 / n``

    Returns
    -------
    complex array of the precision of `x`, of shape (..., n, ...)

    Raises
    ------
    TypeError : if `x` holds no floating-point numbers
    ValueError : if `n` is less than 1, `axis` is out of bounds or without elements, or `norm` is unknown

    Notes
    -----
    ``y[k] = sum(x[j] * exp(-2j * pi * j * k / n))``. The cotangent is that of `ifft` with the opposite factor.
    Source: array API standard, `fft.fft`.

    Examples
    --------
    >>> dk.fft.fft(dk.asarray([1.0, 2.0, 3.0, 2.0]))
    tensor([ 8.+0.j, -2.+0.j,  0.+0.j, -2.+0.j], dtype=complex128)
    """
    length = transformed_axis(fft, x, n, axis, norm)
    return xp.fft.fft(as_complex(xp, x), n=length, axis=axis, norm=norm)


@fft.def_transpose
def fft_transpose(xp, g, x, axis, norm):
    return resized(xp, xp.fft.ifft(g, axis=axis, norm=OPPOSITE[norm]), x.shape)


@operation(kind=kinds.fft, namespace=FFT, samples=COMPLEX_SAMPLES, decomposes=False)
def ifft(xp: Namespace, x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Compute the inverse discrete Fourier transform along one axis.

    Parameters
    ----------
    x : array of complex or real floating-point numbers, of shape (..., M, ...)
    n : number of elements to transform: the axis is cut, or filled up with zeros, to it; M by default
    axis : to transform
    norm : the factor: ``"backward"``, ``1 / n``; ``"ortho"``, ``1 / sqrt(n)``; ``"forward"``, 1

    Returns
    -------
    complex array of the precision of `x`, of shape (..., n, ...)

    Raises
    ------
    TypeError : if `x` holds no floating-point numbers
    ValueError : if `n` is less than 1, `axis` is out of bounds or without elements, or `norm` is unknown

    Notes
    -----
    ``y[j] = sum(x[k] * exp(2j * pi * j * k / n)) / n``. The cotangent is that of `fft` with the opposite factor.
    Source: array API standard, `fft.ifft`.

    Examples
    --------
    >>> dk.fft.ifft(dk.asarray([8.0, -2.0, 0.0, -2.0]))
    tensor([1.+0.j, 2.+0.j, 3.+0.j, 2.+0.j], dtype=complex128)
    """
    length = transformed_axis(ifft, x, n, axis, norm)
    return xp.fft.ifft(as_complex(xp, x), n=length, axis=axis, norm=norm)


@ifft.def_transpose
def ifft_transpose(xp, g, x, axis, norm):
    return resized(xp, xp.fft.fft(g, axis=axis, norm=OPPOSITE[norm]), x.shape)


@operation(kind=kinds.fft, namespace=FFT, samples=REAL_SAMPLES, decomposes=False, real=True)
def rfft(xp: Namespace, x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Compute the discrete Fourier transform of real numbers along one axis: the half with frequencies from 0 on.

    Parameters
    ----------
    x : array of real floating-point numbers, of shape (..., M, ...)
    n : number of elements to transform: the axis is cut, or filled up with zeros, to it; M by default
    axis : to transform
    norm : the factor: ``"backward"``, 1; ``"ortho"``, ``1 / sqrt(n)``; ``"forward"``, ``1 / n``

    Returns
    -------
    complex array of the precision of `x`, of shape (..., n // 2 + 1, ...)

    Raises
    ------
    TypeError : if `x` holds no real floating-point numbers
    ValueError : if `n` is less than 1, `axis` is out of bounds or without elements, or `norm` is unknown

    Notes
    -----
    The other half of the spectrum is the conjugate of this one. The cotangent is that of `irfft` with the opposite
    factor, which counts the bins in between twice, of half of them. Source: array API standard, `fft.rfft`.

    Examples
    --------
    >>> dk.fft.rfft(dk.asarray([1.0, 2.0, 3.0, 2.0]))
    tensor([ 8.+0.j, -2.+0.j,  0.+0.j], dtype=complex128)
    """
    length = transformed_axis(rfft, x, n, axis, norm, real=True)
    return xp.fft.rfft(x, n=length, axis=axis, norm=norm)


@rfft.def_transpose
def rfft_transpose(xp, g, x, n, axis, norm):
    length = x.shape[axis] if n is None else n
    halved = paired_bins_times(xp, 0.5, g, length, axis)
    return resized(xp, xp.fft.irfft(halved, n=length, axis=axis, norm=OPPOSITE[norm]), x.shape)


@operation(kind=kinds.fft, namespace=FFT, samples=HALVED_SAMPLES, decomposes=False)
def irfft(xp: Namespace, x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Compute the inverse of `rfft` along one axis: real numbers from half a spectrum.

    Parameters
    ----------
    x : array of complex or real floating-point numbers, of shape (..., M, ...)
    n : number of elements of the result, of which the axis is cut, or filled up with zeros, to ``n // 2 + 1``;
        ``2 * (M - 1)`` by default
    axis : to transform
    norm : the factor: ``"backward"``, ``1 / n``; ``"ortho"``, ``1 / sqrt(n)``; ``"forward"``, 1

    Returns
    -------
    real array of the precision of `x`, of shape (..., n, ...)

    Raises
    ------
    TypeError : if `x` holds no floating-point numbers
    ValueError : if `n` is less than 1, or not given where M is 1; if `axis` is out of bounds or without elements, or
        `norm` is unknown

    Notes
    -----
    The imaginary part of the first bin counts for nothing, nor does that of the last where `n` is even. The cotangent
    is that of `rfft` with the opposite factor, the bins in between twice. Source: array API standard, `fft.irfft`.

    Examples
    --------
    >>> dk.fft.irfft(dk.asarray([8.0, -2.0, 0.0]))
    tensor([1., 2., 3., 2.])
    """
    length = transformed_axis(irfft, x, n, axis, norm, halved=True)
    return xp.fft.irfft(as_complex(xp, x), n=length, axis=axis, norm=norm)


@irfft.def_transpose
def irfft_transpose(xp, g, x, axis, norm):
    half = xp.fft.rfft(g, axis=axis, norm=OPPOSITE[norm])
    return resized(xp, paired_bins_times(xp, 2, half, g.shape[axis], axis), x.shape)


@operation(kind=kinds.fft, namespace=FFT, samples=HALVED_SAMPLES)
def hfft(xp: Namespace, x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Compute the discrete Fourier transform of a signal with Hermitian symmetry, of which half is given.

    Parameters
    ----------
    x : array of complex or real floating-point numbers, of shape (..., M, ...)
    n : number of elements of the result, of which the axis is cut, or filled up with zeros, to ``n // 2 + 1``;
        ``2 * (M - 1)`` by default
    axis : to transform
    norm : the factor: ``"backward"``, 1; ``"ortho"``, ``1 / sqrt(n)``; ``"forward"``, ``1 / n``

    Returns
    -------
    real array of the precision of `x`, of shape (..., n, ...)

    Raises
    ------
    TypeError : if `x` holds no floating-point numbers
    ValueError : if `n` is less than 1, or not given where M is 1; if `axis` is out of bounds or without elements, or
        `norm` is unknown

    Notes
    -----
    `irfft` of the conjugate with the opposite factor. The cotangent is that of `ihfft` with the opposite factor, the
    elements in between twice. Source: array API standard, `fft.hfft`.

    Examples
    --------
    >>> dk.fft.hfft(dk.asarray([1.0, 2.0, 3.0]))
    tensor([ 8., -2.,  0., -2.])
    """
    length = transformed_axis(hfft, x, n, axis, norm, halved=True)
    return xp.fft.irfft(xp.conj(as_complex(xp, x)), n=length, axis=axis, norm=opposite(hfft, norm))


@hfft.def_transpose
def hfft_transpose(xp, g, x, axis, norm):
    half = xp.fft.ihfft(g, axis=axis, norm=OPPOSITE[norm])
    return resized(xp, paired_bins_times(xp, 2, half, g.shape[axis], axis), x.shape)


@operation(kind=kinds.fft, namespace=FFT, samples=REAL_SAMPLES, real=True)
def ihfft(xp: Namespace, x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Compute the inverse of `hfft` along one axis: half of a signal with Hermitian symmetry.

    Parameters
    ----------
    x : array of real floating-point numbers, of shape (..., M, ...)
    n : number of elements to transform: the axis is cut, or filled up with zeros, to it; M by default
    axis : to transform
    norm : the factor: ``"backward"``, ``1 / n``; ``"ortho"``, ``1 / sqrt(n)``; ``"forward"``, 1

    Returns
    -------
    complex array of the precision of `x`, of shape (..., n // 2 + 1, ...)

    Raises
    ------
    TypeError : if `x` holds no real floating-point numbers
    ValueError : if `n` is less than 1, `axis` is out of bounds or without elements, or `norm` is unknown

    Notes
    -----
    The conjugate of `rfft` with the opposite factor. The cotangent is that of `hfft` with the opposite factor, which
    counts the elements in between twice, of half of them. Source: array API standard, `fft.ihfft`.

    Examples
    --------
    >>> dk.fft.ihfft(dk.asarray([8.0, -2.0, 0.0, -2.0]))
    tensor([1.-0.j, 2.-0.j, 3.-0.j], dtype=complex128)
    """
    length = transformed_axis(ihfft, x, n, axis, norm, real=True)
    return xp.conj(xp.fft.rfft(x, n=length, axis=axis, norm=opposite(ihfft, norm)))


@ihfft.def_transpose
def ihfft_transpose(xp, g, x, n, axis, norm):
    length = x.shape[axis] if n is None else n
    halved = paired_bins_times(xp, 0.5, g, length, axis)
    return resized(xp, xp.fft.hfft(halved, n=length, axis=axis, norm=OPPOSITE[norm]), x.shape)

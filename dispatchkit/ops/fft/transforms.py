"""Fourier transforms along one axis, and the checks that all of them share."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from dispatchkit.backends.arrays import is_complex, is_inexact
from dispatchkit.declare.decorators import operation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.shared import Named, as_complex, integer, normal_axes, normal_axis, shape_of
from dispatchkit.protocol.kinds import kinds

__all__ = ["fft", "hfft", "ifft", "ihfft", "irfft", "rfft"]

FFT = "dispatchkit.fft"

Norm: TypeAlias = Literal["backward", "ortho", "forward"]
Lengths: TypeAlias = tuple[int, ...] | list[int] | None

# The factors of a transform and of its inverse change places in the transpose: conjugating turns the direction around
# and leaves the factor where it is.
OPPOSITE: dict[Norm, Norm] = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def opposite(op: Named, norm: Norm) -> Norm:
    """Return the mode that scales a transform as `norm` scales its inverse.

    Raises
    ------
    ValueError : if there is no such mode
    """
    if norm not in OPPOSITE:
        raise ValueError(f"{op.__name__}: norm must be 'backward', 'ortho' or 'forward', found {norm!r}")
    return OPPOSITE[norm]


def _sequence(op: Named, parameter: str, value: Any) -> tuple[int, ...]:
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"{op.__name__}: {parameter} must be a tuple or list of ints, found {value!r}")
    return tuple(integer(op, f"{parameter}[{i}]", member) for i, member in enumerate(value))


def _check_numbers(op: Named, x: Any, real: bool) -> None:
    if not is_inexact(x.dtype) or (real and is_complex(x.dtype)):
        wanted = "real or complex floating-point numbers"
        if real:
            wanted = "real floating-point numbers"
        raise TypeError(f"{op.__name__}: x must be an array of {wanted}, found {x.dtype}")


def _length(op: Named, x: Any, axis: int, given: int | None, parameter: str, halved: bool) -> int:
    """Return the length of the transform along an axis.

    Parameters
    ----------
    op, x : operation and its argument
    axis : as a non-negative number
    given : the length that was asked for, None for that of the axis
    parameter : that says it
    halved : whether the axis holds the first half, and one more, of what is transformed
    """
    size = x.shape[axis]
    if given is not None:
        return integer(op, parameter, given, least=1)
    if size == 0:
        raise ValueError(
            f"{op.__name__}: x must have elements along axis {axis}, or {parameter} be given, found shape "
            f"{tuple(x.shape)}"
        )
    if halved and size == 1:
        raise ValueError(
            f"{op.__name__}: {parameter} must be given where x has one element along axis {axis}, found shape "
            f"{tuple(x.shape)}"
        )
    if halved:
        return 2 * (size - 1)
    return size


def transformed_axis(
    op: Named, x: Any, n: int | None, axis: int, norm: Norm, *, real: bool = False, halved: bool = False
) -> int:
    """Check the arguments of a transform along one axis and return its length.

    Parameters
    ----------
    op : the operation
    x, n, axis, norm : its arguments
    real : whether `x` must be real
    halved : whether `x` holds the first half, and one more, of what is transformed

    Raises
    ------
    TypeError : if `x` holds other numbers than it must, or `n` or `axis` is no int
    ValueError : if `n` is less than 1, the axis out of bounds, or without elements where `n` is left out, or the mode
        unknown
    """
    place = normal_axis(integer(op, "axis", axis), len(shape_of(x)), op.__name__)
    _check_numbers(op, x, real)
    opposite(op, norm)
    return _length(op, x, place, n, "n", halved)


def transformed_axes(
    op: Named, x: Any, s: Lengths, axes: Lengths, norm: Norm, *, real: bool = False, halved: bool = False
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Check the arguments of a transform along several axes and return its lengths and its axes.

    Parameters
    ----------
    op : the operation
    x, s, axes, norm : its arguments
    real : whether `x` must be real
    halved : whether `x` holds the first half, and one more, of what is transformed along the last of the axes

    Raises
    ------
    TypeError : if `x` holds other numbers than it must, or `s` or `axes` is no sequence of ints
    ValueError : if `s` is given without as many axes or holds a length that is less than 1 and not -1, there is no
        axis, or one is out of bounds, given twice, or without elements where `s` says no length, or the mode is
        unknown
    """
    shape = shape_of(x)
    places = normal_axes(None if axes is None else _sequence(op, "axes", axes), len(shape), op.__name__)
    if not places:
        raise ValueError(f"{op.__name__}: there must be an axis to transform, found shape {shape} and axes={axes}")
    _check_numbers(op, x, real)
    opposite(op, norm)
    asked = _given_lengths(op, s, axes, len(places))
    lengths = [
        _length(op, x, place, None if n == -1 else n, f"s[{i}]", halved and i == len(places) - 1)
        for i, (n, place) in enumerate(zip(asked, places, strict=True))
    ]
    return tuple(lengths), places


def _given_lengths(op: Named, s: Lengths, axes: Lengths, count: int) -> tuple[int, ...]:
    """Return a length for each axis, -1 for what the axis has."""
    if s is None:
        return (-1,) * count
    lengths = _sequence(op, "s", s)
    if axes is None:
        raise ValueError(f"{op.__name__}: s says the lengths along axes, so axes must be given with it, found s={s!r}")
    if len(s) != count:
        raise ValueError(f"{op.__name__}: s and axes must be of the same length, found {s!r} and {axes!r}")
    return lengths


def resize(xp: Namespace, x: Any, shape: tuple[int, ...]) -> Any:
    """Return an array with each axis cut, or filled up with zeros, at its end: how transforms fit a length.

    The operation is its own transpose with the shapes exchanged.

    Parameters
    ----------
    xp : namespace that computes on `x`
    x : the array
    shape : of the result, of as many axes
    """
    kept = tuple(slice(0, min(have, want)) for have, want in zip(x.shape, shape, strict=True))
    if tuple(part.stop for part in kept) != tuple(x.shape):
        x = x[kept]
    for axis, (have, want) in enumerate(zip(x.shape, shape, strict=True)):
        if have < want:
            rest = (*x.shape[:axis], want - have, *x.shape[axis + 1 :])
            x = xp.concat([x, xp.zeros(rest, dtype=x.dtype)], axis=axis)
    return x


def not_empty(xp: Namespace, x: Any, *axes: int) -> Any:
    """Return an array with one zero along axes that have no elements: what fills up to any length are zeros."""
    if all(x.shape[axis] for axis in axes):
        return x
    shape = list(x.shape)
    for axis in axes:
        shape[axis] = shape[axis] or 1
    return xp.zeros(tuple(shape), dtype=x.dtype)


def paired_bins_times(xp: Namespace, factor: float, x: Any, n: int, axis: int) -> Any:
    """Return half a spectrum with a factor at each bin that stands for its conjugate at the negative frequency, too.

    These are all but the first, and the last where the number of samples is even.

    Parameters
    ----------
    xp : namespace that computes on `x`
    factor : 2 where the other half is made of this one, 0.5 where it was left out
    x : of length ``n // 2 + 1`` along the axis
    n : number of samples
    axis : of the frequencies
    """
    bins = xp.arange(n // 2 + 1)
    paired = xp.reshape((bins > 0) & (2 * bins < n), (-1, *(1,) * (x.ndim - 1 - axis % x.ndim)))
    return xp.where(paired, factor * x, x)


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
    ValueError : if `n` is less than 1, `axis` is out of bounds, or without elements where `n` is left out, or `norm` is
        unknown

    Notes
    -----
    ``y[k] = sum(x[j] * exp(-2j * pi * j * k / n))``. The cotangent is that of `ifft` with the opposite factor.

    Examples
    --------
    >>> dk.fft.fft(dk.asarray([1.0, 2.0, 3.0, 2.0]))
    tensor([ 8.+0.j, -2.+0.j,  0.+0.j, -2.+0.j])
    """
    length = transformed_axis(fft, x, n, axis, norm)
    x = not_empty(xp, as_complex(xp, x), axis)
    return xp.fft.fft(x, n=length, axis=axis, norm=norm)


@fft.def_transpose
def fft_transpose(xp, g, x, axis, norm):
    return resize(xp, xp.fft.ifft(g, axis=axis, norm=OPPOSITE[norm]), x.shape)


@operation(kind=kinds.fft, namespace=FFT, samples=COMPLEX_SAMPLES, decomposes=False)
def ifft(xp: Namespace, x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Compute the inverse discrete Fourier transform along one axis.

    Parameters
    ----------
    x, n, axis : as for `fft`
    norm : the factor: ``"backward"``, ``1 / n``; ``"ortho"``, ``1 / sqrt(n)``; ``"forward"``, 1

    Returns
    -------
    complex array of the precision of `x`, of shape (..., n, ...)

    Raises
    ------
    TypeError, ValueError : as for `fft`

    Notes
    -----
    ``y[j] = sum(x[k] * exp(2j * pi * j * k / n)) / n``. The cotangent is that of `fft` with the opposite factor.

    Examples
    --------
    >>> dk.fft.ifft(dk.asarray([8.0, -2.0, 0.0, -2.0]))
    tensor([1.+0.j, 2.+0.j, 3.+0.j, 2.+0.j])
    """
    length = transformed_axis(ifft, x, n, axis, norm)
    x = not_empty(xp, as_complex(xp, x), axis)
    return xp.fft.ifft(x, n=length, axis=axis, norm=norm)


@ifft.def_transpose
def ifft_transpose(xp, g, x, axis, norm):
    return resize(xp, xp.fft.fft(g, axis=axis, norm=OPPOSITE[norm]), x.shape)


@operation(kind=kinds.fft, namespace=FFT, samples=REAL_SAMPLES, decomposes=False, real=True)
def rfft(xp: Namespace, x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Compute the discrete Fourier transform of real numbers along one axis: the half with frequencies from 0 on.

    Parameters
    ----------
    x : array of real floating-point numbers, of shape (..., M, ...)
    n, axis, norm : as for `fft`

    Returns
    -------
    complex array of the precision of `x`, of shape (..., n // 2 + 1, ...)

    Raises
    ------
    TypeError : if `x` holds no real floating-point numbers
    ValueError : as for `fft`

    Notes
    -----
    The other half of the spectrum is the conjugate of this one. The cotangent is that of `irfft` with the opposite
    factor, which counts the bins in between twice, of half of them.

    Examples
    --------
    >>> dk.fft.rfft(dk.asarray([1.0, 2.0, 3.0, 2.0]))
    tensor([ 8.+0.j, -2.+0.j,  0.+0.j])
    """
    length = transformed_axis(rfft, x, n, axis, norm, real=True)
    return xp.fft.rfft(not_empty(xp, x, axis), n=length, axis=axis, norm=norm)


@rfft.def_transpose
def rfft_transpose(xp, g, x, n, axis, norm):
    length = n
    if n is None:
        length = x.shape[axis]
    halved = paired_bins_times(xp, 0.5, g, length, axis)
    return resize(xp, xp.fft.irfft(halved, n=length, axis=axis, norm=OPPOSITE[norm]), x.shape)


@operation(kind=kinds.fft, namespace=FFT, samples=HALVED_SAMPLES, decomposes=False)
def irfft(xp: Namespace, x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Compute the inverse of `rfft` along one axis: real numbers from half a spectrum.

    Parameters
    ----------
    x, axis : as for `fft`
    n : number of elements of the result, of which the axis is cut, or filled up with zeros, to ``n // 2 + 1``;
        ``2 * (M - 1)`` by default
    norm : as for `ifft`

    Returns
    -------
    real array of the precision of `x`, of shape (..., n, ...)

    Raises
    ------
    TypeError : as for `fft`
    ValueError : if `n` is less than 1, or not given where M is 1 or 0; if `axis` is out of bounds, or
        `norm` is unknown

    Notes
    -----
    The imaginary part of the first bin counts for nothing, nor does that of the last where `n` is even. The cotangent
    is that of `rfft` with the opposite factor, the bins in between twice.

    Examples
    --------
    >>> dk.fft.irfft(dk.asarray([8.0, -2.0, 0.0]))
    tensor([1., 2., 3., 2.])
    """
    length = transformed_axis(irfft, x, n, axis, norm, halved=True)
    x = not_empty(xp, as_complex(xp, x), axis)
    return xp.fft.irfft(x, n=length, axis=axis, norm=norm)


@irfft.def_transpose
def irfft_transpose(xp, g, x, axis, norm):
    half = xp.fft.rfft(g, axis=axis, norm=OPPOSITE[norm])
    return resize(xp, paired_bins_times(xp, 2, half, g.shape[axis], axis), x.shape)


@operation(kind=kinds.fft, namespace=FFT, samples=HALVED_SAMPLES)
def hfft(xp: Namespace, x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Compute the discrete Fourier transform of a signal with Hermitian symmetry, of which half is given.

    Parameters
    ----------
    x, axis, norm : as for `fft`
    n : as for `irfft`

    Returns
    -------
    real array of the precision of `x`, of shape (..., n, ...)

    Raises
    ------
    TypeError, ValueError : as for `irfft`

    Notes
    -----
    `irfft` of the conjugate with the opposite factor. The cotangent is that of `ihfft` with the opposite factor, the
    elements in between twice.

    Examples
    --------
    >>> dk.fft.hfft(dk.asarray([1.0, 2.0, 3.0]))
    tensor([ 8., -2.,  0., -2.])
    """
    length = transformed_axis(hfft, x, n, axis, norm, halved=True)
    x = not_empty(xp, as_complex(xp, x), axis)
    return xp.fft.irfft(xp.conj(x), n=length, axis=axis, norm=opposite(hfft, norm))


@operation(kind=kinds.fft, namespace=FFT, samples=REAL_SAMPLES, real=True)
def ihfft(xp: Namespace, x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Compute the inverse of `hfft` along one axis: half of a signal with Hermitian symmetry.

    Parameters
    ----------
    x : as for `rfft`
    n, axis : as for `fft`
    norm : as for `ifft`

    Returns
    -------
    complex array of the precision of `x`, of shape (..., n // 2 + 1, ...)

    Raises
    ------
    TypeError, ValueError : as for `rfft`

    Notes
    -----
    The conjugate of `rfft` with the opposite factor. The cotangent is that of `hfft` with the opposite factor, which
    counts the elements in between twice, of half of them.

    Examples
    --------
    >>> dk.fft.ihfft(dk.asarray([8.0, -2.0, 0.0, -2.0]))
    tensor([1.-0.j, 2.-0.j, 3.-0.j])
    """
    length = transformed_axis(ihfft, x, n, axis, norm, real=True)
    return xp.conj(xp.fft.rfft(not_empty(xp, x, axis), n=length, axis=axis, norm=opposite(ihfft, norm)))

"""`Upsample`: sequences, images and volumes of another size, with numbers between those that there are."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache, reduce
from typing import Any, Literal

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.marks import override
from dispatchkit.nn import functional
from dispatchkit.nn.functional.shared import expect
from dispatchkit.nn.module import DeclaredModule, declared
from dispatchkit.ops.shared import floating, integer
from dispatchkit.tensor import Tensor

# Of each mode the number of axes that it is for, any if None.
MODES = {"nearest": None, "nearest-exact": None, "area": None, "linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}


def interpolate(
    x: Any,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Any:
    """Return an array of another size, made of the nearest elements or of weighted means of neighbours.

    Parameters
    ----------
    x : array of shape (N, C, L), (N, C, H, W) or (N, C, D, H, W)
    size, scale_factor, mode, align_corners, recompute_scale_factor : as for `Upsample`

    Returns
    -------
    Array
        Array whose axes from the third on have other lengths.
    """
    op, shape = interpolate, tuple(x.shape)
    if mode not in MODES:
        raise ValueError(f"{op.__name__}: mode must be one of {', '.join(map(repr, MODES))}, found {mode!r}")
    axes = MODES[mode]
    wanted = "(N, C, ...) with 1 to 3 axes more"
    dimensions: tuple[int, ...] = (3, 4, 5)
    if axes is not None:
        wanted = f"(N, C, {', '.join('DHW'[-axes:])})"
        dimensions = (2 + axes,)
    expect(op, "x", shape, len(shape) in dimensions, f"{wanted} for mode={mode!r}")
    if align_corners is not None and axes is None:
        raise ValueError(f"{op.__name__}: align_corners is for modes of weighted means, found mode={mode!r}")
    lengths, steps = lengths_and_steps(shape[2:], size, scale_factor, recompute_scale_factor)
    if mode == "area":
        return getattr(functional, f"adaptive_avg_pool{len(lengths)}d")(x, tuple(lengths))
    if axes is not None:
        x = floating(xp, x)
    for axis, (length, step) in enumerate(zip(lengths, steps, strict=True), 2):
        if axes is None and isinstance(x, Tensor) and (times := _times(shape[axis], length, step, mode)):
            x = xp.repeat(x, times, axis=axis)  # whose derivative is a sum
        elif axes is None:
            x = xp.take(x, _beside(x, _nearest(shape[axis], length, step, mode)), axis=axis)
        else:
            x = _between(x, axis, _places(shape[axis], length, step, bool(align_corners)), cubic=mode == "bicubic")
    return x


def lengths_and_steps(before: tuple[int, ...], size: Any, factor: Any, recompute: Any) -> tuple[list[int], list[float]]:
    """Return the new lengths of axes, and how far apart their elements are, where those before are 1 apart."""
    if size is None and type(factor) in (int, float):
        return _lengths_times(before, factor, bool(recompute))
    return _lengths_and_steps(before, size, factor, recompute)


@lru_cache(maxsize=256)
def _lengths_times(before: tuple[int, ...], factor: float, recompute: bool) -> tuple[list[int], list[float]]:
    """Return the same for lengths times a number; the lists are not to be changed."""
    return _lengths_and_steps(before, None, factor, recompute)


def _lengths_and_steps(
    before: tuple[int, ...], size: Any, factor: Any, recompute: Any
) -> tuple[list[int], list[float]]:
    lengths = new_lengths(before, size, factor, least=1)
    if factor is None or recompute:
        return lengths, [n / m for n, m in zip(before, lengths, strict=True)]
    return lengths, [1 / f for f in _of_each(before, "scale_factor", factor)]


def new_lengths(before: tuple[int, ...], size: Any, factor: Any, *, least: int) -> list[int]:
    """Return the new lengths of axes, none of which is less than the least one."""
    if (size is None) == (factor is None):
        raise ValueError(f"{interpolate.__name__}: give one of size and scale_factor, found {size!r} and {factor!r}")
    if factor is None:
        return [integer(interpolate, "size", n, least=least) for n in _of_each(before, "size", size)]
    lengths = [math.floor(n * f) for n, f in zip(before, _of_each(before, "scale_factor", factor), strict=True)]
    if min(lengths) < least:
        raise ValueError(f"{interpolate.__name__}: scale_factor={factor!r} leaves nothing of the axes {before}")
    return lengths


def _of_each(before: tuple[int, ...], name: str, value: Any) -> list[Any]:
    """Return the number that an argument says for each axis."""
    if not isinstance(value, Sequence):
        return [value] * len(before)
    if len(value) != len(before):
        raise ValueError(f"{interpolate.__name__}: expected {len(before)} numbers for {name}, found {list(value)}")
    return list(value)


def _nearest(before: int, length: int, step: float, mode: str) -> Any:
    """Return the places of the nearest elements, in single precision as PyTorch finds them."""
    shift = 0.0
    if mode == "nearest-exact":
        shift = 0.5
    places = np.arange(length, dtype=np.float32) + np.float32(shift)
    return np.minimum(np.floor(places * np.float32(step)).astype(np.int64), before - 1)


@lru_cache(maxsize=256)
def _times(before: int, length: int, step: float, mode: str) -> int:
    """Return how many times each element stands one after another, 0 where they do not as many times each."""
    times, rest = divmod(length, before)
    if rest or not np.array_equal(_nearest(before, length, step, mode), np.repeat(np.arange(before), times)):
        return 0
    return times


def _places(before: int, length: int, step: float, align_corners: bool) -> Any:
    """Return where the elements of an axis stand among those before."""
    if align_corners:
        step = 0.0
        if length > 1:
            step = (before - 1) / (length - 1)
        return np.arange(length) * step
    return (np.arange(length) + 0.5) * step - 0.5


def _between(x: Any, axis: int, places: Any, *, cubic: bool) -> Any:
    """Return an array with weighted means of two neighbours along an axis, or of four."""
    if not cubic:
        places = np.maximum(places, 0.0)
    first, parts = np.floor(places).astype(np.int64), []
    if cubic:
        numbers = range(-1, 3)
    else:
        numbers = range(2)
    for number in numbers:
        apart = np.abs(places - first - number)
        inner, outer = (1.25 * apart - 2.25) * apart**2 + 1, ((3.75 - 0.75 * apart) * apart - 6) * apart + 3
        if cubic:
            weight = np.where(apart <= 1, inner, outer)
        else:
            weight = 1 - apart
        if not weight.any():
            continue  # infinite neighbours, too, have no part in any element
        neighbours = xp.take(x, _beside(x, np.clip(first + number, 0, x.shape[axis] - 1)), axis=axis)
        parts.append(neighbours * _beside(x, weight.reshape(-1, *(1,) * (len(x.shape) - 1 - axis)), x.dtype))
    return reduce(operator.add, parts)


def _beside(x: Any, values: Any, dtype: Any = None) -> Any:
    """Return a tensor of NumPy's numbers in the library and on the device of another."""
    return xp.asarray(values.tolist(), dtype=dtype, device=getattr(x, "device", None))


@declared(interpolate)
class Upsample(DeclaredModule):
    """A layer that makes sequences, images or volumes larger or smaller, with numbers between those that there are.

    Parameters
    ----------
    size : lengths of the axes from the third on, one number for all or one for each
    scale_factor : or how many times longer they become
    mode : ``"nearest"`` or ``"nearest-exact"`` for the nearest element; for weighted means of neighbours ``"linear"``,
        ``"bilinear"`` or ``"trilinear"``, by the number of axes; ``"bicubic"`` for those of four neighbours along each
        axis of images; ``"area"`` for means of what an element stands for, as in adaptive pooling
    align_corners : whether the first and last elements are those before, rather than the edges
    recompute_scale_factor : whether elements are apart as the lengths say, rather than as `scale_factor` does

    Raises
    ------
    ValueError : from `forward`, for another mode, if the axes are not those of the mode, or unless there is one of
        `size` and `scale_factor`

    Notes
    -----
    Composed of `take`, `add` and `multiply`, so that types which have rules for these are taken. Gradients are those of
    the values, where PyTorch's are others for some factors of ``"nearest"`` that are no whole numbers. Source: PyTorch,
    `torch.nn.Upsample`.

    Examples
    --------
    >>> dk.nn.Upsample(scale_factor=2)(dk.asarray([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    >>> dk.nn.Upsample(size=5, mode="linear", align_corners=True)(dk.asarray([[[1.0, 2.0]]]))
    tensor([[[1.0000, 1.2500, 1.5000, 1.7500, 2.0000]]])
    """

    size: int | Sequence[int] | None = None
    scale_factor: float | Sequence[float] | None = None
    mode: Literal["nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area"] = "nearest"
    align_corners: bool | None = None
    recompute_scale_factor: bool | None = None

    @override
    def extra_repr(self) -> str:
        """Return the size and the mode, as PyTorch shows them."""
        if self.scale_factor is None:
            size = f"size={self.size!r}"
        else:
            size = f"scale_factor={self.scale_factor!r}"
        return f"{size}, mode={self.mode!r}"

"""NumPy's shorter ways for Fourier transforms: its function at once; the body checks what is unusual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.declare.call_errors import MISTAKES
from dispatchkit.declare.decorators import body_on_numpy
from dispatchkit.ops.creation.dtypes import default_dtype_of
from dispatchkit.ops.fft.frequencies import fftfreq, rfftfreq
from dispatchkit.ops.fft.several_axes import fftn, ifftn, irfftn, rfftn
from dispatchkit.ops.fft.transforms import fft, hfft, ifft, ihfft, irfft, rfft

__all__: list[str] = []

REAL, INEXACT = "f", "fc"
NUMBERS, SEQUENCES, LENGTHS = (float, int), (tuple, list), (int, type(None))
# A scalar has none of an array's attributes.
REFUSED = (AttributeError, ZeroDivisionError, *MISTAKES)


def _declare(operation: Any, compute: Callable[..., Any], kinds: str) -> None:
    """Transform along one axis by a function of NumPy.

    Parameters
    ----------
    operation : to compute
    compute : takes `x`, `n`, `axis` and `norm` by position
    kinds : of the dtypes of `x` that it may have
    """
    body = body_on_numpy(operation)

    def way(x: Any, /, *, n: Any = None, axis: int = -1, norm: Any = "backward") -> Any:
        try:
            # What NumPy takes beyond the body: other dtypes, axes without elements where `n` is given, no mode.
            if x.dtype.kind in kinds and x.size and norm is not None:
                return compute(x, n, axis, norm)
        except REFUSED:
            pass
        return body(x, n=n, axis=axis, norm=norm)

    operation.def_numpy(way)


_declare(fft, np.fft.fft, INEXACT)
_declare(ifft, np.fft.ifft, INEXACT)
_declare(rfft, np.fft.rfft, REAL)
_declare(irfft, np.fft.irfft, INEXACT)
_declare(hfft, np.fft.hfft, INEXACT)
_declare(ihfft, np.fft.ihfft, REAL)


def _declare_several(
    operation: Any, last: Callable[..., Any], other: Callable[..., Any], kinds: str, *, last_first: bool = True
) -> None:
    """Transform along several axes, one after another, as NumPy's function does.

    Parameters
    ----------
    operation : to compute
    last : transforms along the last of the axes
    other : transforms along each other one
    kinds : of the dtypes of `x` that it may have
    last_first : whether the axes are transformed from the last to the first
    """
    body = body_on_numpy(operation)

    def way(x: Any, /, *, s: Any = None, axes: Any = None, norm: Any = "backward") -> Any:
        try:
            steps = _steps(x, s, axes) if x.dtype.kind in kinds and x.size and norm is not None else []
            if steps:
                y, end = x, steps.pop()
                if last_first:
                    y = last(y, *end, norm)
                    steps.reverse()
                for step in steps:
                    y = other(y, *step, norm)
                return y if last_first else last(y, *end, norm)
        except REFUSED:
            pass
        return body(x, s=s, axes=axes, norm=norm)

    operation.def_numpy(way)


def _steps(x: Any, s: Any, axes: Any) -> list[tuple[int | None, int]]:
    """Return the length, None for what there is, and the axis of each transform; none where something is unusual."""
    n = x.ndim
    if axes is None:
        return [(None, axis) for axis in range(n)] if s is None else []
    if type(axes) not in SEQUENCES or (s is not None and type(s) not in SEQUENCES):
        return []
    steps: dict[int, int | None] = {}
    for axis, length in zip(axes, (None,) * len(axes) if s is None else s, strict=True):
        if type(axis) is not int or not -n <= axis < n or type(length) not in LENGTHS:
            return []
        steps[axis % n] = None if length == -1 else length
    return [(length, axis) for axis, length in steps.items()] if len(steps) == len(axes) else []


_declare_several(fftn, np.fft.fft, np.fft.fft, INEXACT)
_declare_several(ifftn, np.fft.ifft, np.fft.ifft, INEXACT)
_declare_several(rfftn, np.fft.rfft, np.fft.fft, REAL)
_declare_several(irfftn, np.fft.irfft, np.fft.ifft, INEXACT, last_first=False)


def _declare_frequencies(operation: Any, *, negative: bool) -> None:
    """Make frequencies in one array; what is unusual is for the body.

    Parameters
    ----------
    operation : to compute
    negative : whether the second half of them is
    """
    body = body_on_numpy(operation)

    def way(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
        if type(n) is not int or n < 1 or type(d) not in NUMBERS or not d or dtype is not None or device is not None:
            return body(n, d=d, dtype=dtype, device=device)
        numbers = np.arange(n if negative else n // 2 + 1, dtype=default_dtype_of("f"))
        if negative:
            numbers[(n + 1) // 2 :] -= n
        numbers /= n * d
        return numbers

    operation.def_numpy(way)


_declare_frequencies(fftfreq, negative=True)
_declare_frequencies(rfftfreq, negative=False)

"""Fast paths of Fourier transforms for NumPy arrays; unusual arguments are left to the bodies, which check them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.declare.call_errors import BACKEND_ERRORS
from dispatchkit.declare.decorators import body_on_numpy
from dispatchkit.ops.creation.dtypes import default_dtype_of
from dispatchkit.ops.fft.frequencies import fftfreq
from dispatchkit.ops.fft.several_axes import fftn, ifftn, irfftn, rfftn

__all__: list[str] = []

REAL, INEXACT = "f", "fc"
NUMBERS, SEQUENCES, LENGTHS = (float, int), (tuple, list), (int, type(None))
# A scalar has none of an array's attributes.
REFUSED = (AttributeError, ZeroDivisionError, *BACKEND_ERRORS)


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

    def fast(x: Any, /, *, s: Any = None, axes: Any = None, norm: Any = "backward") -> Any:
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

    operation.def_numpy(fast)


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


_fftfreq_any = body_on_numpy(fftfreq)


@fftfreq.def_numpy
def fftfreq_numpy(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """Make the frequencies in one array."""
    if type(n) is not int or n < 1 or type(d) not in NUMBERS or not d or dtype is not None or device is not None:
        return _fftfreq_any(n, d=d, dtype=dtype, device=device)
    numbers = np.arange(n, dtype=default_dtype_of("f"))
    numbers[(n + 1) // 2 :] -= n
    numbers /= n * d
    return numbers

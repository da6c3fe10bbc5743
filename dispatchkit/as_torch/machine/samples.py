"""Tensors to test with, `torch.testing.make_tensor`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from dispatchkit.as_torch.machine.processes import assert_close
from dispatchkit.as_torch.spelling import FUNCTIONS
from dispatchkit.backends.arrays import numpy_dtype

__all__ = ["assert_allclose", "make_tensor"]


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = None,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """Return a tensor of random numbers, evenly spread from one bound to another.

    Parameters
    ----------
    *shape : lengths of the axes, or one list of them
    dtype : of the elements
    device : where they are
    low, high : bounds, the second of which is left out; -9 and 10 for integers, 0 and 2 for booleans, -9 and 9 for
        others by default. Bounds beyond what the dtype holds are brought back to that
    requires_grad : whether gradients are to be collected in it
    noncontiguous : whether its elements do not stand one after the other in memory
    exclude_zero : whether zeros are replaced, by 1 or the least positive number
    memory_format : which changes nothing here

    Raises
    ------
    ValueError : for bounds between which there is nothing, or that the dtype does not hold; for integers that are to
        require a gradient

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> x = torch.testing.make_tensor(2, 3, dtype=torch.float64, device="cpu", low=1.0, high=2.0)
    >>> x.shape, bool(((x >= 1) & (x < 2)).all())
    (torch.Size([2, 3]), True)
    """
    lengths = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    kind = numpy_dtype(dtype).kind
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got {noncontiguous=} and "
            f"{memory_format=}"
        )
    if requires_grad and kind in "biu":
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    noncontiguous = noncontiguous and math.prod(lengths) > 1
    drawn = (*lengths[:-1], 2 * lengths[-1]) if noncontiguous else lengths
    x = _draw(drawn, dtype, *_bounds(dtype, low, high)).to(device=device)
    if noncontiguous:
        x = x[..., 1::2]
    if exclude_zero:
        x[x == 0] = 1 if kind in "biu" else float(np.finfo(numpy_dtype(dtype)).tiny)
    return x.requires_grad_(requires_grad)


def _draw(shape: tuple[int, ...], dtype: Any, low: Any, high: Any) -> Any:
    """Return random numbers between bounds."""
    kind = numpy_dtype(dtype).kind
    if kind in "biu":
        return FUNCTIONS["randint"](math.ceil(low), math.ceil(high), shape).to(dtype)
    if kind == "c":
        parts = _draw((*shape, 2), FUNCTIONS["view_as_real"](FUNCTIONS["zeros"](1, dtype=dtype)).dtype, low, high)
        return FUNCTIONS["view_as_complex"](parts)
    # Half of the difference, which may be too large for the dtype.
    share = FUNCTIONS["rand"](shape, dtype=np.promote_types(numpy_dtype(dtype), np.float32))
    return ((low / 2 + share * (high / 2 - low / 2)) * 2).clamp(low, high).to(dtype)


def _bounds(dtype: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Return the bounds of numbers, brought back to those that a dtype holds.

    Raises
    ------
    ValueError : where there is nothing between them
    """
    of_numpy = numpy_dtype(dtype)
    if of_numpy.kind == "b":
        least, most, defaults = 0.0, 2.0, (0, 2)
    elif of_numpy.kind in "iu":
        limits = np.iinfo(of_numpy)
        least, most, defaults = int(limits.min), int(limits.max) + (of_numpy != np.int64), (-9, 10)
    else:
        least, most, defaults = float(np.finfo(of_numpy).min), float(np.finfo(of_numpy).max), (-9, 9)
    low, high = (default if bound is None else bound for bound, default in zip((low, high), defaults, strict=True))
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and of_numpy.kind in "fc":
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 "
            "and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= most:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
            f"[{least}, {most})"
        )
    return min(max(low, least), most), min(max(high, least), most)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Raise where two tensors are not close: see `torch.testing.assert_close`, whose older name this is.

    Parameters
    ----------
    actual, expected, rtol, atol, equal_nan, msg : of `assert_close`; dtypes may differ
    """
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. "
        "Please use `torch.testing.assert_close()` instead.",
        FutureWarning,
        stacklevel=2,
    )
    options: dict[str, Any] = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan, "check_dtype": False}
    assert_close(actual, expected, **options, check_device=True, msg=msg or None)

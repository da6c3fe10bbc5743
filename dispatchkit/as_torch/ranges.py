"""Numbers at equal distances, or whose logarithms are, as PyTorch computes them: `arange`, `linspace` and `logspace`.

Of integers PyTorch counts in integers: the ends are whole numbers, and each number is rounded towards 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dispatchkit.as_torch.shared import between, in_dtype_of, written_functions
from dispatchkit.as_torch.table import ALONE, TRANSLATIONS, is_array
from dispatchkit.backends.arrays import dtype_name, numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.protocol.frames import caller_frame, warn_at


def _number(value: Any) -> Any:
    """Return an array of one number as that number."""
    if is_array(value) and not getattr(value, "is_tracer", False):
        return value.item()
    return value


def _whole(value: Any, dtype: Any) -> int:
    """Return a number as one of integers: rounded towards 0; a whole one less than 0 is taken modulo their range."""
    return int(in_dtype_of(np.empty((), dtype), _number(value)))


def _is_integral(dtype: Any) -> bool:
    return dtype is not None and numpy_dtype(dtype).kind in "iu"


def _checked_steps(steps: Any) -> None:
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")


def _options(dtype: Any, device: Any, requires_grad: Any) -> dict[str, Any]:
    """Return what a call says of the tensor that it asks for; nothing where it says nothing."""
    options = {}
    if dtype is not None:
        options["dtype"] = dtype
    if device is not None:
        options["device"] = device
    if requires_grad:
        options["requires_grad"] = requires_grad
    return options


REAL = (int, float)
# In which PyTorch's processors hold a product that they add to: a number is rounded once.
WIDER = {np.float32: np.float64, np.float64: np.longdouble}


def _at_equal_distances(start: float, end: float, steps: int, number: Any) -> Any:
    """Return floating-point numbers, each counted from the nearer end with one rounding, as PyTorch does."""
    wide = WIDER[number]
    first, last = number(start), number(end)
    if steps < 2:
        return np.full(steps, first)
    nearer = steps // 2
    distances = np.arange(steps - nearer, dtype=wide)
    distances *= wide((last - first) / number(steps - 1))
    y = np.empty(steps, number)
    y[:nearer] = distances[:nearer] + wide(first)
    y[nearer:] = (wide(last) - distances)[::-1]
    return y


def linspace(start, end, steps, *, dtype=None, device=None, requires_grad=False):
    _checked_steps(steps)
    made = _options(dtype, device, requires_grad)
    if isinstance(start, REAL) and isinstance(end, REAL) and math.isfinite(start) and math.isfinite(end):
        number = numpy_dtype(dtype or xp.get_default_dtype()).type
        if number in WIDER:
            return xp.asarray(_at_equal_distances(start, end, steps, number), **made)
    if _is_integral(dtype):
        with np.errstate(invalid="ignore"):
            first = last = _whole(start, dtype)
            if steps > 1:
                last = _whole(end, dtype)
            numbers = np.trunc(between(first, last, steps)).astype(np.int64)
            return xp.asarray(numbers.astype(numpy_dtype(dtype)), **made)
    ends = [_number(value) for value in (start, end)]
    if all(isinstance(value, (int, float)) for value in ends) and not all(map(math.isfinite, ends)):
        with np.errstate(invalid="ignore"):
            return xp.asarray(between(ends[0], ends[1], steps), **(made | {"dtype": dtype or xp.get_default_dtype()}))
    if dtype is None:
        is_complex = any(isinstance(value, complex) for value in ends)
        made["dtype"] = np.result_type(np.dtype(xp.get_default_dtype()), np.complex64 if is_complex else np.float16)
    return xp.linspace(start, end, steps, **made)


def logspace(start, end, steps, base=10.0, *, dtype=None, device=None, requires_grad=False):
    _checked_steps(steps)
    kinds = {np.asarray(_number(value)).dtype.kind for value in (start, end)}
    if "c" in kinds and dtype is not None and numpy_dtype(dtype).kind != "c":
        raise RuntimeError(f"torch.logspace(): complex numbers can't be safely cast to passed dtype {dtype}")
    made = {"device": device, "requires_grad": requires_grad}
    if _is_integral(dtype):
        with np.errstate(all="ignore"):
            exponents = between(_whole(start, dtype), _whole(end, dtype), steps)
            if steps == 1:  # of whose number the dtype is looked at
                exponents = np.asarray([_number(start)])
                _whole(float(np.power(float(base), exponents)[0]), dtype)
            powers = np.power(float(base), exponents)
            numbers = np.where(np.isfinite(powers), powers, 0.0).astype(np.int64)
            return xp.asarray(numbers.astype(numpy_dtype(dtype)), dtype=dtype, **made)
    start, end = (x.detach() if is_array(x) else x for x in (start, end))
    wide = None
    if dtype is not None:  # in which exponents and powers are computed: a wide result needs its digits and its range
        wide = np.result_type(numpy_dtype(dtype), numpy_dtype(xp.get_default_dtype()))
    powers = xp.pow(base, linspace(start, end, steps, dtype=wide, device=device))
    y = xp.astype(powers, dtype or powers.dtype, copy=False)
    return y.requires_grad_(requires_grad)


def arange(start, end=None, step=1, *, dtype=None, device=None, requires_grad=False):
    if end is None:
        start, end = 0, start
    made = _options(dtype, device, requires_grad)
    if not made and type(start) is type(end) is type(step) is int and (end - start) * step > 0:
        return xp.arange(start, end, step)
    bounds = [_number(value) for value in (start, end, step)]
    for name, value in zip(("start", "end", "step"), bounds, strict=True):
        if not isinstance(value, (bool, int, float)):
            return xp.arange(start, end, step, **made)
        if name != "step" and not math.isfinite(value):
            raise RuntimeError(f"arange: unsupported range: {bounds[0]} -> {bounds[1]}")
    first, last, step = bounds
    if step == 0:
        raise RuntimeError("arange: step must be nonzero")
    if (last - first) * step < 0:
        raise RuntimeError(
            f"arange: upper bound and lower bound inconsistent with step sign, found {first}, {last} and {step}"
        )
    if dtype is not None and dtype_name(dtype) == "int64":
        first, last, step = map(int, bounds)
    if step == 0:
        raise ValueError(f"arange: step must be nonzero, found {bounds[2]}, which is 0 in int64")
    if not _is_integral(dtype):
        return xp.arange(first, last, step, **made)
    count = math.ceil((last - first) / step)
    numbers = int(first) + int(step) * np.arange(count)
    return xp.asarray(numbers.astype(numpy_dtype(dtype)), **made)


def range(start, end, step=1, *, dtype=None, device=None, requires_grad=False):
    text = (
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end)."
    )
    warn_at(caller_frame(), text, UserWarning)
    first, last, step = (_number(value) for value in (start, end, step))
    if step == 0:
        raise RuntimeError("range: step must be nonzero")
    if (last - first) * step < 0:
        raise RuntimeError(
            f"range: upper bound and lower bound inconsistent with step sign, found {first}, {last} and {step}"
        )
    numbers = first + step * np.arange(math.floor((last - first) / step) + 1)
    return xp.asarray(numbers, dtype=dtype or xp.get_default_dtype(), device=device, requires_grad=requires_grad)


TRANSLATIONS.update(written_functions(globals()))
ALONE.update({name: TRANSLATIONS.pop(name) for name in ("arange", "range")})

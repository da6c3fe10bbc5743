"""Dtypes, constants, and what can be asked of a dtype.

The dtypes are NumPy's own objects, so they hash, compare and print as people know them, whatever library the
array inside a tensor belongs to.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.decorators import conversion
from dispatchkit.declare.namespace import enter
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, DType, Namespace

int8, int16, int32, int64 = (np.dtype(name) for name in ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = (np.dtype(name) for name in ("uint8", "uint16", "uint32", "uint64"))
float16, float32, float64 = np.dtype("float16"), np.dtype("float32"), np.dtype("float64")
complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")
bool = np.dtype("bool")

# PyTorch's names.
short, int, long = int16, int32, int64
float, double = float32, float64
cfloat, cdouble = complex64, complex128

e: builtins.float = np.e
inf: builtins.float = np.inf
nan: builtins.float = np.nan
pi: builtins.float = np.pi
newaxis = None

_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}
_WEAK = {builtins.bool: "biufc", builtins.int: "iufc", builtins.float: "fc", builtins.complex: "c"}


class _Defaults:
    """The dtypes of what is made from nothing: one setting for all threads, as in PyTorch."""

    real: DType = float64


def get_default_dtype() -> DType:
    """Return the dtype of floating arrays that are made without one.

    Returns
    -------
    dtype
        By default float64; `set_default_dtype` chooses another.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.get_default_dtype()
    dtype('float64')
    """
    return _Defaults.real


def set_default_dtype(dtype: DType, /) -> None:
    """Choose the dtype of floating arrays that are made without one, in all threads.

    Complex arrays follow: complex64 goes with float32, complex128 with float64.

    Parameters
    ----------
    dtype : float32 or float64

    Raises
    ------
    ValueError : for any other dtype

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.set_default_dtype(dk.float32)
    >>> dk.ones(2).dtype
    dtype('float32')
    >>> dk.set_default_dtype(dk.float64)
    """
    chosen = np.dtype(dtype)
    if chosen not in (float32, float64):
        raise ValueError(f"set_default_dtype: the default is float32 or float64, found {chosen}")
    _Defaults.real = chosen


def default_dtype_of(kind: str) -> DType:
    """Return the dtype that a new array gets: kind ``"b"``, ``"i"``, ``"f"`` or ``"c"``."""
    if kind == "f":
        return _Defaults.real
    if kind == "c":
        if _Defaults.real == float32:
            return complex64
        return complex128
    if kind == "b":
        return bool
    return int64


def dtype_of_scalar(value: Any) -> DType:
    """Return the dtype that a Python scalar gives a new array; an array's own."""
    if type(value) is builtins.float:
        return _Defaults.real
    if hasattr(value, "dtype"):
        return value.dtype
    if isinstance(value, builtins.bool):
        return bool
    if isinstance(value, builtins.int):
        return int64
    if isinstance(value, builtins.complex):
        kind = "c"
    else:
        kind = "f"
    return default_dtype_of(kind)


@dataclass(frozen=True)
class FloatInfo:
    """Limits of a floating-point dtype, as Python numbers.

    Attributes
    ----------
    bits : it takes for a real number
    eps : distance from 1 to the next larger number
    max, min : largest and smallest number
    smallest_normal : smallest positive number of full precision
    dtype : the real dtype
    """

    bits: builtins.int
    eps: builtins.float
    max: builtins.float
    min: builtins.float
    smallest_normal: builtins.float
    dtype: DType


@dataclass(frozen=True)
class IntegerInfo:
    """Limits of an integer dtype, as Python numbers.

    Attributes
    ----------
    bits : it takes
    max, min : largest and smallest number
    dtype : the dtype
    """

    bits: builtins.int
    max: builtins.int
    min: builtins.int
    dtype: DType


def finfo(type: Any, /) -> FloatInfo:
    """Return the limits of a floating-point dtype.

    Parameters
    ----------
    type : real or complex floating dtype, or an array; a complex one gives the limits of its parts

    Returns
    -------
    FloatInfo
        Has ``bits``, ``eps``, ``max``, ``min``, ``smallest_normal`` and ``dtype``.

    Raises
    ------
    ValueError : for a dtype that is not floating

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.finfo(dk.float32).bits, dk.finfo(dk.ones(2)).eps
    (32, 2.220446049250313e-16)
    """
    dtype = numpy_dtype(type)
    if dtype.kind not in "fc":
        raise ValueError(f"finfo: wants a floating dtype, found {dtype}; see iinfo for integers")
    limits = np.finfo(dtype)
    return FloatInfo(
        bits=builtins.int(limits.bits),
        eps=builtins.float(limits.eps),
        max=builtins.float(limits.max),
        min=builtins.float(limits.min),
        smallest_normal=builtins.float(limits.smallest_normal),
        dtype=limits.dtype,
    )


def iinfo(type: Any, /) -> IntegerInfo:
    """Return the limits of an integer dtype.

    Parameters
    ----------
    type : integer dtype, or an array

    Returns
    -------
    IntegerInfo
        Has ``bits``, ``max``, ``min`` and ``dtype``.

    Raises
    ------
    ValueError : for a dtype that is not an integer one

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.iinfo(dk.int8).max
    127
    """
    dtype = numpy_dtype(type)
    if dtype.kind not in "iu":
        raise ValueError(f"iinfo: wants an integer dtype, found {dtype}; see finfo for floating ones")
    limits = np.iinfo(dtype)
    return IntegerInfo(limits.bits, builtins.int(limits.max), builtins.int(limits.min), dtype)


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> builtins.bool:
    """Return whether a dtype is of a kind.

    Parameters
    ----------
    dtype : to be asked about
    kind : a dtype; ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``, ``"real
        floating"``, ``"complex floating"`` or ``"numeric"``; or a tuple of these, any of which will do

    Returns
    -------
    bool
        True if the dtype is of the kind, or of one of the kinds.

    Raises
    ------
    ValueError : for a string that names no kind

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.isdtype(dk.int8, "integral"), dk.isdtype(dk.int8, (dk.int16, "real floating"))
    (True, False)
    """
    known = numpy_dtype(dtype)
    if type(kind) is str:
        return _is_of_kind(known, kind)
    kinds = kind
    if not isinstance(kind, tuple):
        kinds = (kind,)
    return any(_is_of_kind(known, wanted) if type(wanted) is str else known == numpy_dtype(wanted) for wanted in kinds)


@lru_cache(maxsize=512)
def _is_of_kind(dtype: np.dtype[Any], kind: str) -> builtins.bool:
    if kind not in _KINDS:
        raise ValueError(f"isdtype: {kind!r} names no kind of dtype; there are {', '.join(_KINDS)}")
    return builtins.bool(dtype.kind in _KINDS[kind])


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the dtype that arrays, dtypes and Python scalars have when combined.

    Promotion is NumPy's; Python scalars are weak, in whatever place they stand.

    Parameters
    ----------
    *arrays_and_dtypes : arrays, dtypes, scalars; at least one

    Returns
    -------
    dtype
        The dtype of a result of all of them.

    Raises
    ------
    ValueError : without arguments

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.result_type(dk.float32, 2.0), dk.result_type(dk.int8, dk.ones(3))
    (dtype('float32'), dtype('float64'))
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type: wants at least one array or dtype")
    return np.result_type(*(value if type(value) in _WEAK else numpy_dtype(value) for value in arrays_and_dtypes))


def can_cast(from_: Any, to: DType, /) -> builtins.bool:
    """Return whether a dtype can be cast to another without loss, by NumPy's rules.

    Parameters
    ----------
    from_ : dtype, array, or a Python scalar, which any dtype of at least its kind can take
    to : dtype

    Returns
    -------
    bool
        True if no value of the one dtype is lost in the other.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.can_cast(dk.float32, dk.float64), dk.can_cast(dk.ones(2), dk.float32)
    (True, False)
    """
    target = numpy_dtype(to)
    weak = _WEAK.get(type(from_))
    if weak is not None:
        return target.kind in weak
    return builtins.bool(np.can_cast(numpy_dtype(from_), target))


@conversion(
    passthrough=True,
    samples=lambda: [
        sample(draw(2, 3), float64),
        sample(draw(2, 3), complex128),
        sample(draw(), float64, copy=False),
        sample(draw(2, 3), float32, differentiable=False),
        sample(draw(3, content="integer"), float64, copy=True, differentiable=False),
    ],
)
def astype(xp: Namespace, x: Array, dtype: DType, /, *, copy: builtins.bool = True, device: Any = None) -> Array:
    """Convert an array to a dtype.

    Parameters
    ----------
    x : array of any shape
    copy : whether the result is a copy even where `x` has that dtype already
    device : of the result; that of `x` by default

    Returns
    -------
    array of the shape of `x`

    Notes
    -----
    The cotangent is cast back to the dtype of `x`, its real part taken where `x` is real; nothing flows
    through integers. Where the result is on another device the cotangent is brought back.

    Examples
    --------
    >>> dk.astype(dk.tensor([1.7, -1.7]), dk.int64)
    tensor([ 1, -1])
    """
    return xp.astype(x, dtype, copy=copy, device=device)


@astype.def_transpose
def astype_transpose(xp, g, x, device):
    if device is None or x.device is None:
        return g
    return xp.astype(g, g.dtype, copy=False, device=x.device)


NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)
for _name in (
    *NAMES,
    *("float16", "short", "int", "long", "float", "double", "cfloat", "cdouble"),
    *("e", "inf", "nan", "newaxis", "pi"),
    *("can_cast", "finfo", "iinfo", "isdtype", "result_type", "get_default_dtype", "set_default_dtype"),
):
    enter(_name, globals()[_name])

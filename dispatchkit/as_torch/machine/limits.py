"""What PyTorch says of its dtypes: the limits of their numbers, and the version that is followed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dispatchkit.as_torch.attributes.dtypes import AbsentDtype
from dispatchkit.backends.arrays import dtype_name, numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp

__all__ = ["VERSION", "FloatLimits", "IntegerLimits", "finfo", "iinfo"]

# Of PyTorch, whose names and signatures the tables of this package hold.
VERSION = "2.13.0"


class FloatLimits(NamedTuple):
    """Limits of a dtype of floating-point numbers, or of the parts of a complex one.

    Attributes
    ----------
    bits : of a number
    eps : the distance from 1 to the next number
    max, min : the largest and the least
    tiny, smallest_normal : the smallest one greater than 0 that has all its digits
    resolution : how far numbers of as many decimal digits are apart at 1
    dtype : its name
    """

    bits: int
    eps: float
    max: float
    min: float
    tiny: float
    smallest_normal: float
    resolution: float
    dtype: str


class IntegerLimits(NamedTuple):
    """Limits of a dtype of integers.

    Attributes
    ----------
    bits : of a number
    max, min : the largest and the least
    dtype : its name
    """

    bits: int
    max: int
    min: int
    dtype: str


def _of_absent(name: str, bits: int, eps: float, largest: float, least: float, resolution: float) -> FloatLimits:
    """Return the limits of a dtype that NumPy has not."""
    return FloatLimits(bits, eps, largest, -largest, least, least, resolution, name)


# Sources: bfloat16 has 8 bits for the exponent, as float32, and 7 for digits; Micikevicius et al., FP8 formats for deep
# learning, 2022, for the others. "fnuz" says that there are no infinities and no negative zero; "e8m0" has powers of 2.
LARGEST = (2 - 2.0**-7) * 2.0**127
OF_ABSENT = {
    "bfloat16": _of_absent("bfloat16", 16, 2.0**-7, LARGEST, 2.0**-126, 0.01),
    "float8_e4m3fn": _of_absent("float8_e4m3fn", 8, 0.125, 448.0, 2.0**-6, 1.0),
    "float8_e4m3fnuz": _of_absent("float8_e4m3fnuz", 8, 0.125, 240.0, 2.0**-7, 1.0),
    "float8_e5m2": _of_absent("float8_e5m2", 8, 0.25, 57344.0, 2.0**-14, 1.0),
    "float8_e5m2fnuz": _of_absent("float8_e5m2fnuz", 8, 0.125, 57344.0, 2.0**-15, 1.0),
    "float8_e8m0fnu": FloatLimits(8, 1.0, 2.0**127, 2.0**-127, 2.0**-127, 2.0**-127, 1.0, "float8_e8m0fnu"),
}


def finfo(type: Any = None) -> FloatLimits:
    """Return the limits of a dtype of floating-point or complex numbers.

    Parameters
    ----------
    type : a dtype, the default one if None

    Raises
    ------
    TypeError : for one of integers
    """
    if type is None:
        type = xp.get_default_dtype()
    if isinstance(type, AbsentDtype) and type.name in OF_ABSENT:
        return OF_ABSENT[type.name]
    dtype = numpy_dtype(type)
    if dtype.kind not in "fc":
        raise TypeError(f"torch.finfo() requires a floating point input type, found {dtype}: use torch.iinfo")
    found: Any = np.finfo(dtype)
    names = ("eps", "max", "min", "tiny", "smallest_normal", "resolution")
    numbers: Any = {name: float(getattr(found, name)) for name in names}
    return FloatLimits(bits=int(found.bits), dtype=dtype_name(found.dtype), **numbers)


def iinfo(type: Any) -> IntegerLimits:
    """Return the limits of a dtype of integers.

    Parameters
    ----------
    type : a dtype

    Raises
    ------
    TypeError : for one of other numbers
    """
    dtype = numpy_dtype(type)
    if dtype.kind not in "iu":
        raise TypeError(f"torch.iinfo() requires an integer input type, found {dtype}: use torch.finfo")
    found = np.iinfo(dtype)
    return IntegerLimits(int(found.bits), int(found.max), int(found.min), dtype_name(dtype))

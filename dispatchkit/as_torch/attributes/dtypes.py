"""Types of elements as PyTorch has them, `torch.dtype`: NumPy's, with PyTorch's names for what is asked of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.marks import override

__all__ = ["ABSENT", "AbsentDtype", "bfloat16", "dtype", "dtype_of_array", "plain_dtype", "spelled_dtype"]


class KindOfDtypes(type):
    """The class of `dtype`, whose instances NumPy's dtypes are, too."""

    @override
    def __instancecheck__(cls, instance: Any) -> bool:
        """Return whether a value is a dtype of this spelling or of NumPy."""
        return type.__instancecheck__(cls, instance) or (cls is dtype and isinstance(instance, np.dtype))


class dtype(metaclass=KindOfDtypes):  # noqa: N801  # PyTorch's name
    """The type of a tensor's elements: NumPy's dtype with PyTorch's attributes.

    It equals NumPy's and hashes as that, has all its attributes, and is taken wherever NumPy takes a dtype. There is
    one for each of NumPy's, so that ``x.dtype is torch.float32`` holds, too.

    Parameters
    ----------
    value : a dtype of any library, or the name of one

    Attributes
    ----------
    is_floating_point, is_complex : whether the elements are such numbers
    is_signed : whether they can be less than 0
    itemsize : bytes of one element
    dtype : NumPy's

    Raises
    ------
    TypeError : if NumPy has no such dtype

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> import numpy as np
    >>> torch.float32.is_floating_point, torch.complex64.to_real()
    (True, torch.float32)
    >>> torch.ones(2).dtype == np.float64
    True
    """

    __module__ = "dispatchkit.as_torch"
    __slots__ = ("dtype", "is_complex", "is_floating_point", "is_signed", "itemsize", "kind", "name")

    dtype: np.dtype[Any]
    is_complex: bool
    is_floating_point: bool
    is_signed: bool
    itemsize: int
    kind: str
    name: str

    def __new__(cls, value: Any) -> Any:
        return spelled_dtype(numpy_dtype(value))

    @property  # type: ignore[misc]  # nothing is assigned to it
    @override
    def __class__(self) -> Any:
        """The class of NumPy's dtype, whose instance this is said to be, as it is taken for one everywhere."""
        return type(self.dtype)

    def __getattr__(self, name: str) -> Any:
        if name == "dtype":  # of one that is being made
            raise AttributeError(name)
        return getattr(self.dtype, name)

    @override
    def __eq__(self, other: object) -> bool:
        # NumPy takes None for its default dtype.
        return self is other or (other is not None and bool(self.dtype == other))

    @override
    def __hash__(self) -> int:
        return hash(self.dtype)

    @override
    def __repr__(self) -> str:
        return f"torch.{self.name}"

    @override
    def __reduce__(self) -> Any:
        return dtype, (self.dtype,)

    def to_real(self) -> Any:
        """Return the dtype of the parts of complex numbers; any other as it is."""
        if self.is_complex:
            return spelled_dtype(self.dtype.type(0).real.dtype)
        return self

    def to_complex(self) -> Any:
        """Return the dtype of complex numbers whose parts have this one.

        Raises
        ------
        RuntimeError : for integers and booleans, and for float16, of which NumPy has no complex numbers
        """
        if self.kind not in "fc" or self.itemsize < 4:
            raise RuntimeError(f"there are no complex numbers of {self!r}: use float32 or float64")
        return spelled_dtype(np.result_type(self.dtype, np.complex64))


@cache
def spelled_dtype(plain: Any) -> Any:
    """Return a dtype in PyTorch's spelling; one of another library that NumPy has not as it is."""
    try:
        plain = numpy_dtype(plain)
    except TypeError:
        return plain
    found = object.__new__(dtype)
    found.dtype, found.kind, found.name, found.itemsize = plain, plain.kind, plain.name, plain.itemsize
    found.is_floating_point, found.is_complex = plain.kind == "f", plain.kind == "c"
    found.is_signed = plain.kind in "ifc"
    return found


def plain_dtype(value: Any) -> Any:
    """Return NumPy's dtype for one of this spelling, and anything else as it is."""
    if type(value) is dtype:
        return value.dtype
    return value


def dtype_of_array(x: Any) -> Any:
    """Type of the elements."""
    return spelled_dtype(x.array.dtype)


class AbsentDtype(dtype):
    """A dtype of PyTorch that NumPy has not: programs can name and compare it, and nothing can be made of it.

    Parameters
    ----------
    name : of the dtype
    itemsize : bytes of one element
    is_signed : whether they can be less than 0
    kind : ``"f"`` of floating-point numbers, ``"c"`` of complex ones, ``"q"`` of quantized integers

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.ones(2).dtype == torch.bfloat16
    False
    """

    __slots__ = ()

    def __new__(cls, name: str, itemsize: int = 1, is_signed: bool = True, kind: str = "f") -> Any:
        found = object.__new__(cls)
        found.name, found.kind, found.itemsize = name, "V", itemsize
        found.is_floating_point, found.is_complex, found.is_signed = kind == "f", kind == "c", is_signed
        return found

    @property  # type: ignore[misc]  # nothing is assigned to it
    @override
    def __class__(self) -> Any:
        return AbsentDtype

    @override
    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self!r} has no attribute {name!r}: NumPy has no such dtype")

    @override
    def __eq__(self, other: object) -> bool:
        return self is other

    @override
    def __hash__(self) -> int:
        return hash(self.name)

    @override
    def __reduce__(self) -> Any:
        return self.name


bfloat16 = AbsentDtype("bfloat16", 2)
SHORTER = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn_x2")
QUANTIZED = {"qint8": 1, "qint32": 4, "quint8": 1, "quint2x4": 1, "quint4x2": 1}
# By their names; programs list them beside others.
ABSENT: dict[str, Any] = {
    "bfloat16": bfloat16,
    **{name: AbsentDtype(name) for name in SHORTER},
    "float8_e8m0fnu": AbsentDtype("float8_e8m0fnu", is_signed=False),
    "complex32": AbsentDtype("complex32", 4, kind="c"),
    **{name: AbsentDtype(name, size, name[0:2] == "qi", "q") for name, size in QUANTIZED.items()},
}

"""What the namespace says of itself: the array API standard's inspection functions."""

from __future__ import annotations

from typing import Any

from dispatchkit.backends.arrays import device_of, namespace_of_device
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.namespace import enter
from dispatchkit.ops.creation import dtypes as known
from dispatchkit.ops.creation.dtypes import get_default_dtype, isdtype

CPU = "cpu"


class ArrayNamespaceInfo:
    """Capabilities, devices and dtypes of the namespace.

    Notes
    -----
    Source: array API standard, "Inspection".

    Examples
    --------
    >>> import dispatchkit as dk
    >>> info = dk.__array_namespace_info__()
    >>> info.devices(), info.default_dtypes()["integral"]
    (('cpu',), dtype('int64'))
    """

    def capabilities(self) -> dict[str, Any]:
        """Return what the library can do: index by booleans, and shapes that depend on data."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        """Return where arrays are made: ``"cpu"``, or inside `arrays_of` a device of its library."""
        xp = namespace_of_device(None)
        if xp is numpy_namespace:
            return CPU
        return device_of(xp.empty((0,)))

    def devices(self) -> tuple[Any, ...]:
        """Return where arrays can be: where they are made."""
        return (self.default_device(),)

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Return the dtypes of arrays for which none is given, by kind.

        Raises
        ------
        ValueError : for a device there is not
        """
        self._check_device(device)
        floating = get_default_dtype()
        complex_floating: Any = known.complex128
        if floating == known.float32:
            complex_floating = known.complex64
        return {
            "real floating": floating,
            "complex floating": complex_floating,
            "integral": known.int64,
            "indexing": known.int64,
        }

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, Any]:
        """Return the dtypes by name, those of a kind where one is given.

        Raises
        ------
        ValueError : for a device there is not, or a kind the standard does not know
        """
        self._check_device(device)
        dtypes = {name: getattr(known, name) for name in known.NAMES}
        if kind is None:
            return dtypes
        return {name: dtype for name, dtype in dtypes.items() if isdtype(dtype, kind)}

    def _check_device(self, device: Any) -> None:
        known_devices = (*self.devices(), CPU)
        if device is not None and device not in known_devices:
            there = " and ".join(map(repr, dict.fromkeys(known_devices)))
            raise ValueError(f"__array_namespace_info__: there is no device {device!r}; there is {there}")


def __array_namespace_info__() -> ArrayNamespaceInfo:  # noqa: N807  # the standard's name
    """Return what the namespace says of itself: `ArrayNamespaceInfo`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.__array_namespace_info__().default_device()
    'cpu'
    """
    return ArrayNamespaceInfo()


enter("__array_namespace_info__", __array_namespace_info__)

"""Array libraries by their names, arrays and devices, and arrays that go from one to another."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import (
    ArrayHolder,
    as_numpy,
    is_raw,
    making_with,
    namespace_of,
    namespace_of_device,
    raw_array,
    without_graph,
)
from dispatchkit.backends.foreign import UnsaidDevice
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.backends.tracing import is_traced
from dispatchkit.protocol.blocks import Block

# The module that makes arrays of a library.
MODULES = {
    "torch": "torch",
    "jax": "jax.numpy",
    "cupy": "cupy",
    "dask": "dask.array",
    "array_api_strict": "array_api_strict",
}


def namespace_named(library: Any, device: Any = None) -> Any:
    """Return the namespace that makes arrays of a library.

    Parameters
    ----------
    library : its name, or a tensor or array of it
    device : of the library; its default one if None

    Raises
    ------
    ValueError : for a name that is not known
    TypeError : for what is neither a name nor an array
    ImportError : if the library is not installed
    """
    if isinstance(library, ArrayHolder):
        return namespace_of(library._innermost().array)  # type: ignore[attr-defined]  # tensors have it
    if is_raw(library):
        return namespace_of(raw_array(library))
    if library == "numpy":
        return numpy_namespace
    if not isinstance(library, str):
        raise TypeError(f"arrays_of: expected the name of a library or an array, found a {type(library).__name__}")
    if library not in MODULES:
        known = ", ".join(map(repr, ("numpy", *MODULES)))
        raise ValueError(f"arrays_of: no library is called {library!r}; known are {known}")
    try:
        module = import_module(MODULES[library])
    except ImportError as error:
        raise ImportError(f"arrays_of: {library!r} needs {library}: pip install {library}") from error
    # Dask's arrays have none
    where = {}
    if device is not None and library != "dask":
        where = {"device": device}
    return namespace_of(raw_array(module.zeros((), **where)))


def arrays_of(library: Any, *, device: Any = None) -> Block:
    """Make creation functions use the arrays of a library inside a `with` block.

    Parameters
    ----------
    library : ``"numpy"``, ``"torch"``, ``"jax"``, ``"cupy"`` or ``"dask"``; or a tensor or array of the library
    device : a device of the library; its default one if None

    Returns
    -------
    context manager
        To use in a `with` statement.

    Raises
    ------
    ValueError : if the name is not known
    TypeError : if it is neither a name nor an array
    ImportError : if the library is not installed

    Examples
    --------
    >>> import dispatchkit as dk
    >>> with dk.arrays_of("numpy"):
    ...     x = dk.eye(2)
    >>> with dk.arrays_of(x):
    ...     dk.zeros(2)
    tensor([0., 0.])
    """
    return making_with(namespace_named(library, device))


def is_device(value: Any) -> bool:
    """Return whether a value is a device of a library, or a sharding, which says on which devices an array is."""
    torch_device = hasattr(value, "type") and hasattr(value, "index")
    return torch_device or hasattr(value, "device_kind") or hasattr(value, "device_set")


def namespace_for_device(device: Any, own: Any) -> Any:
    """Return the namespace of the library that a device belongs to; `own` for what does not say.

    Parameters
    ----------
    device : a device, or a name of one
    own : namespace of the array that is to be brought there
    """
    if isinstance(device, (str, UnsaidDevice)):
        return own
    if type(device).__module__.partition(".")[0] == "torch":
        return namespace_named("torch")
    return namespace_of_device(device)


def brought_to(xp: Any, array: Any) -> Any:
    """Return a raw array as one of another library, sharing memory where possible.

    Raises
    ------
    TypeError : where NumPy, by which the numbers pass, cannot read the array
    """
    if namespace_of(array) is xp:
        return array
    try:
        numbers = as_numpy("asarray", without_graph(array))
    except TypeError as error:
        if is_traced(array):
            text = f"NumPy cannot read an array of {namespace_of(array)!r}, which has no elements while it traces"
            raise TypeError(f"{text}; bring what is NumPy's to it first, with x.to(like=y)") from error
        raise TypeError(
            f"NumPy cannot read {array.dtype} of {namespace_of(array)!r}; convert it with its own library to a dtype "
            f"of NumPy's in main memory"
        ) from error
    if numbers.flags.writeable or xp is numpy_namespace:
        return raw_array(xp.asarray(numbers))
    return raw_array(xp.asarray(np.array(numbers)))

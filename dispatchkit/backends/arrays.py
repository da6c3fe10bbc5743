"""Cotangents brought to what they are of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from dispatchkit.backends.foreign import ForeignNamespace, UnsaidDevice
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.backends.tracing import is_traced
from dispatchkit.protocol.blocks import Block, ContextState, Innermost, innermost_state

foreign: list[type] = []
PACKAGE = __name__.partition(".")[0]
# Called with the name of a library when an array of it is first met.
arrivals: list[Callable[[str], object]] = []
# Whose kernels compute NumPy's arrays, the first that has one.
engines: list[str] = ["numpy"]
_fixed: dict[type, bool] = {}
_libraries: dict[type, Any] = {}
_adapters: dict[tuple[Any, Any], ForeignNamespace] = {}
# What `namespace_of` found: by type and device; and for arrays of JAX that are on no device for good, by type.
_placed: dict[type, dict[Any, ForeignNamespace]] = {}
_uncommitted: dict[type, ForeignNamespace] = {}
# Classes of PyTorch's, whose storage says what memory they show.
_stored: set[type] = set()
_making: ContextState[Innermost[Any]] = innermost_state("library of new arrays", numpy_namespace)
SCALARS = frozenset(np.dtype(code).type for code in np.typecodes["All"] if code not in "SUVMmaO") | {
    bool,
    int,
    float,
    complex,
}

# Types of arguments that hold no tensors.
DTYPES: frozenset[type] = frozenset({type(np.dtype(code)) for code in np.typecodes["All"]})
PLAIN: frozenset[type] = frozenset({int, float, complex, bool, str, type(None), type, *DTYPES})
# ... and axes or shapes, whose members are numbers; classes that hold something else for operations are put here.
UNTRACKED: set[type] = {*PLAIN, tuple, list}


def is_plain(value: Any) -> bool:
    """Return whether a value holds no array, as its type says: one of those, or a tuple of such values."""
    if type(value) is tuple:
        return PLAIN.issuperset(map(type, value)) or all(map(is_plain, value))
    return type(value) in PLAIN


class Spec:
    """Shape and dtype of an array whose values are not kept.

    Parameters
    ----------
    shape, dtype : of the array
    strides : of the array where it has some, so that a gradient can be given its layout
    device : of another library's array
    """

    __slots__ = ("device", "dtype", "shape", "strides")

    def __init__(
        self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None, device: Any = None
    ) -> None:
        self.shape, self.dtype, self.strides, self.device = shape, dtype, strides, device

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape))


class ArrayHolder:
    """The base of tensors, which hold an array and compute by their own namespace."""

    __slots__ = ()


def is_raw(value: Any) -> bool:
    """Return whether a value is an array that a tensor can hold: one with an array namespace."""
    return isinstance(value, np.ndarray) or hasattr(value, "__array_namespace__") or _needs_compat(value) is not None


def _needs_compat(value: Any) -> str | None:
    """Return the library of an array whose namespace array-api-compat has; None for anything else."""
    module = type(value).__module__
    if module.partition(".")[0] == "torch" and hasattr(value, "detach"):
        return "PyTorch"
    if module.startswith("dask.array") and hasattr(value, "compute"):
        return "Dask"
    return None


FOR_SPARSE = "give dispatchkit.types.SparseTensor.from_scipy(x), or x.toarray()"


def advice_for_subclass(cls: type) -> str:
    """Return what to give in the place of arrays of a subclass of NumPy's that mean more than their elements.

    SciPy's sparse arrays, of which NumPy would make one object, count as such. It is empty for subclasses that mean no
    more, such as `numpy.memmap`, and for all other classes.
    """
    if cls is np.ndarray:
        return ""
    if not issubclass(cls, np.ndarray):
        if cls.__module__.startswith("scipy.sparse"):
            return FOR_SPARSE
        return ""
    if hasattr(cls, "mask"):
        return "give x.filled(value), or x.data to leave the mask out; dispatchkit.types.MaskedTensor(x) keeps it"
    if hasattr(cls, "unit") or hasattr(cls, "units"):
        return "give x.value to leave the unit out"
    if issubclass(cls, np.matrix):
        return "give numpy.asarray(x)"
    return ""


def raw_array(value: Any) -> Any:
    """Return the array to hold for a result or an argument: an exact ndarray, or another library's array.

    Raises
    ------
    TypeError : if it is neither an array nor a scalar
    """
    cls = type(value)
    if cls in SCALARS:
        return np.asarray(value)
    if cls is np.ndarray:
        return value
    if cls in foreign:
        return value
    if isinstance(value, np.ndarray):
        return value.view(np.ndarray)
    if isinstance(value, (np.generic, int, float, complex)):
        return np.asarray(value)
    if not is_raw(value):
        raise TypeError(f"an operation gave a {cls.__name__}, not an array; annotate its body if it gives several")
    _library_of(value)  # raises for what no tensor can hold
    foreign.append(cls)
    return value


def is_fixed(array: Any) -> bool:
    """Return whether a raw array cannot be changed, as those of JAX and Dask, but only replaced by another."""
    cls = type(array)
    if cls is np.ndarray:
        return False
    try:
        return _fixed[cls]
    except KeyError:
        numpys = isinstance(array, (np.ndarray, np.generic))
        return _fixed.setdefault(cls, not numpys and not getattr(namespace_of(array), "mutable", True))


def is_lazy(value: Any) -> bool:
    """Return whether a raw array is lazy, such as a Dask array."""
    return hasattr(value, "__dask_graph__")


def is_complex(dtype: Any) -> bool:
    """Return whether a dtype, of any library, is of complex numbers."""
    kind = getattr(dtype, "kind", None)
    if kind is None:
        return "complex" in str(dtype)
    return bool(kind == "c")


def holds_complex(value: Any) -> bool:
    """Return whether an array or scalar is complex."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return isinstance(value, complex)
    return is_complex(dtype)


def is_inexact(dtype: Any) -> bool:
    """Return whether a dtype, of any library, is of real or complex floating-point numbers."""
    kind = getattr(dtype, "kind", None)
    if kind is not None:
        return kind in ("f", "c")
    return _is_named_inexact(dtype)


@cache
def _is_named_inexact(dtype: Any) -> bool:
    return any(name in str(dtype) for name in ("float", "complex"))


def numpy_dtype(value: Any) -> Any:
    """Return the NumPy dtype of a dtype or an array, another library's by its name.

    Raises
    ------
    TypeError : if NumPy has none
    """
    dtype = value
    if not isinstance(value, type):
        dtype = getattr(value, "dtype", value)
    if isinstance(dtype, np.dtype):
        return dtype
    for read in (np.dtype, _by_name):
        try:
            if dtype is not None:
                return read(dtype)
        except TypeError:
            pass
    raise TypeError(f"{value!r} is neither a dtype nor an array")


def _by_name(dtype: Any) -> Any:
    return np.dtype(dtype_name(dtype))


def are_parts(first: Any, second: Any) -> bool:
    """Return whether numbers of one of two dtypes of NumPy are pairs of numbers of the other."""
    real, whole = sorted((first, second), key=lambda dtype: dtype.itemsize)
    return bool(real.kind == "f" and whole.kind == "c" and whole.itemsize == 2 * real.itemsize)


def of_parts(real: Any, imag: Any) -> Any:
    """Return complex numbers by their parts; of arrays of NumPy these may be infinite, NaN or -0.0."""
    if not all(type(part) is np.ndarray or isinstance(part, np.generic) for part in (real, imag)):
        return real + 1j * imag
    y = np.empty(np.broadcast_shapes(real.shape, imag.shape), dtype=np.result_type(real, imag, np.complex64))
    y.real, y.imag = real, imag
    return y


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype of any library, such as ``"float64"``."""
    return str(dtype).rpartition(".")[2]


def same_dtype(first: Any, second: Any) -> bool:
    """Return whether two dtypes are equal, also where one is NumPy's and one another library's."""
    if isinstance(first, np.dtype) and isinstance(second, np.dtype):
        return first == second
    return first is second or dtype_name(first) == dtype_name(second)


def namespace_of(array: Any) -> Any:
    """Return the array API namespace that computes on a raw array.

    For an array of another library it is an adapter, one for each library and device.

    Raises
    ------
    ImportError : for PyTorch and Dask arrays where array-api-compat is not installed
    """
    cls = type(array)
    if cls is np.ndarray:
        return numpy_namespace
    placed = _placed.get(cls)
    if placed is not None and (known := placed.get(array.device)) is not None:
        return known
    uncommitted = _uncommitted.get(cls)
    if uncommitted is not None and not array.committed:
        return uncommitted
    if isinstance(array, (np.ndarray, np.generic, int, float, complex)):
        return numpy_namespace
    if isinstance(array, ArrayHolder):
        return array.__array_namespace__()  # type: ignore[attr-defined]  # tensors have it
    return _namespace_of_foreign(array)


def is_placed(cls: type) -> bool:
    """Return whether the class and the device of an array determine the namespace that computes on it."""
    return cls in _placed


def _namespace_of_foreign(array: Any) -> ForeignNamespace:
    """Return the adapter for an array of another library, and keep it where type and device determine it."""
    cls = type(array)
    library = _libraries.get(cls) or _library_of(array)
    device = getattr(array, "device", None)
    if hasattr(device, "device_set"):
        _check_sharding(device)
        device = None
    if device is None:
        return _adapter(library, None)
    if not hasattr(array, "committed"):
        return _placed.setdefault(cls, {}).setdefault(device, _adapter(library, device))
    if array.committed:
        return _adapter(library, device)
    return _uncommitted.setdefault(cls, _adapter(library, None))  # an array of JAX that goes where others are


def _library_of(array: Any) -> Any:
    """Return the library of the first array of a type."""
    namespace = getattr(array, "__array_namespace__", None)
    if namespace is not None:
        library = namespace()
        if getattr(library, "__name__", "") == PACKAGE:
            raise TypeError(
                f"{type(array).__name__} is an array type of {PACKAGE}, not an array that a tensor can hold"
            )
    elif (name := _needs_compat(array)) is not None:
        try:
            from array_api_compat import array_namespace  # noqa: PLC0415  # optional dependency
        except ImportError as error:
            raise ImportError(
                f'computing on {name} arrays needs array-api-compat: pip install "dispatchkit[compat]"'
            ) from error
        library = array_namespace(array)
    else:
        raise TypeError(f"{type(array).__name__} is no array: it has no __array_namespace__")
    return _libraries.setdefault(type(array), library)


def kernels_of(xp: Any) -> Sequence[str]:
    """Return the names by which kernels for the arrays of a namespace are declared, the first to be asked first."""
    if xp is numpy_namespace:
        return engines
    return (xp.__name__.partition(".")[0],)


def computes_alone(engine: str) -> bool:
    """Return whether no other engine is asked before one for NumPy's arrays."""
    return engines[0] == engine


def _adapter(library: Any, device: Any) -> ForeignNamespace:
    try:
        return _adapters[library, device]
    except KeyError:
        adapter = _adapters.setdefault((library, device), ForeignNamespace(library, device))
        for load in arrivals:
            load(kernels_of(adapter)[0])
        return adapter


def _check_sharding(sharding: Any) -> None:
    """Raise for an array over several devices whose mesh leaves no choice to the compiler.

    Raises
    ------
    TypeError : naming the cure
    """
    kinds = getattr(getattr(sharding, "mesh", None), "axis_types", ())
    if any(str(kind).endswith("Explicit") for kind in kinds):
        raise TypeError(
            "an array is sharded over a mesh with Explicit axes, on which JAX refuses products of two sharded arrays, "
            "as in a backward pass; make the mesh with axis_types=(jax.sharding.AxisType.Auto,) for each axis"
        )


def device_of(array: Any) -> Any:
    """Return where a raw array is; what names its library where that is no single device, or is not said."""
    device = getattr(array, "device", None)
    if device is None or hasattr(device, "device_set"):
        return UnsaidDevice(namespace_of(array))
    return device


def namespace_of_device(device: Any) -> Any:
    """Return the namespace that makes arrays on a device: that of the library which the device belongs to, if seen.

    Without a device, or with one that its type does not determine, it is the namespace new arrays are made with.
    """
    if isinstance(device, UnsaidDevice):
        return device.namespace
    if hasattr(device, "device_kind") or hasattr(device, "device_set"):
        return _adapter(import_module("jax.numpy"), None)
    if type(device).__module__ == "torch":
        return namespace_of(import_module("torch").empty((), device=device))
    if device is not None and not isinstance(device, str):
        for adapter in _adapters.values():
            if type(adapter.device) is type(device):
                return adapter
    return _making.get().value


def making_with(xp: Any) -> Block:
    """Return a block with a namespace that makes new arrays; in a body or a rule it is that of its arrays."""
    return Block(_making, xp, "arrays_of")


def may_share_memory(first: Any, second: Any) -> bool:
    """Return whether two raw arrays may share memory; where that is unknown, they may."""
    cls = type(first)
    if cls is type(second):
        if cls in _stored:
            # Most are asked about right after one was made of the other: to compare storages takes longer.
            return first._base is second or _same_storage(first, second)
        if cls is np.ndarray:
            return np.may_share_memory(first, second)
    if is_fixed(first) or is_fixed(second):
        return first is second
    if hasattr(first, "untyped_storage") and hasattr(second, "untyped_storage"):
        _stored.update((cls, type(second)))
        return _same_storage(first, second)
    try:
        seen: list[Any] = [x if isinstance(x, np.ndarray) else np.from_dlpack(x) for x in (first, second)]
        return np.may_share_memory(seen[0], seen[1])
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
        return namespace_of(first) is namespace_of(second)


def _same_storage(first: Any, second: Any) -> bool:
    """Return whether two tensors of PyTorch look at one storage; where one has none to show, they may."""
    try:
        return bool(first.untyped_storage()._cdata == second.untyped_storage()._cdata)
    except RuntimeError:
        return True


def in_own_graph(array: Any) -> bool:
    """Return whether a raw array is part of a graph that its own library records: PyTorch's."""
    return bool(getattr(array, "requires_grad", False))


def without_graph(array: Any) -> Any:
    """Return a raw array outside the graph that its own library records."""
    if type(array) is not np.ndarray and in_own_graph(array):
        return array.detach()
    return array


def as_numpy(name: str, array: Any) -> Any:
    """Return a raw array as NumPy's, sharing memory.

    Raises
    ------
    TypeError : naming the operation, where NumPy cannot read the array
    """
    try:
        numbers = np.asarray(array)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        if is_traced(array):
            error.add_note(f"{name}: dispatchkit.interop.jax.to_jax(x) gives the array inside")
            raise
        raise TypeError(unreadable(name, array)) from error
    if numbers.dtype.kind == "O":
        raise TypeError(unreadable(name, array))
    return numbers


def unreadable(name: str, array: Any) -> str:
    """Return the message for an array that NumPy cannot read."""
    if in_own_graph(array):
        return f"{name}: NumPy cannot read a tensor in PyTorch's graph; take it out of it first, with x.detach()"
    return f"{name}: NumPy cannot read an array of {namespace_of(array)!r}; move it to main memory with its own library"


def project(xp: Any, g: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Bring a cotangent to the shape and dtype of its primal.

    Axes that broadcasting stretched are summed; the gradient of something real is real.

    Parameters
    ----------
    xp : namespace that computes on `g`
    g : the cotangent
    shape, dtype : of the value whose gradient it is
    """
    if g.shape != shape:
        extra = g.ndim - len(shape)
        stretched = [i + extra for i, n in enumerate(shape) if n == 1 and g.shape[i + extra] != 1]
        axes = (*range(extra), *stretched)
        if axes:
            g = xp.sum(g, axis=axes)
        if g.shape != shape:
            g = xp.reshape(g, shape)
    if g.dtype is not dtype and not same_dtype(g.dtype, dtype):
        if xp.isdtype(g.dtype, "complex floating") and not xp.isdtype(dtype, "complex floating"):
            g = xp.real(g)
        if not same_dtype(g.dtype, dtype):
            g = xp.astype(g, dtype)
    return g

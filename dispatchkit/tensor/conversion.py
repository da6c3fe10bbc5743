"""Tensors as other things: NumPy arrays, Python numbers, lists, DLPack capsules, other dtypes."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import (
    as_numpy,
    device_of,
    is_lazy,
    making_with,
    namespace_of,
    numpy_dtype,
    without_graph,
)
from dispatchkit.backends.libraries import is_device, namespace_for_device, namespace_named
from dispatchkit.declare.call_errors import NUMBERS
from dispatchkit.declare.libraries import in_library
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.typing import Array as Tensor
from dispatchkit.errors import AutogradError, LostDerivativeError
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage, vertex_of
from dispatchkit.graph.sweep import differentiated, follower_of
from dispatchkit.ops.indexing.indexing import rows_of
from dispatchkit.protocol.densify import make_dense
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor.gradients import like_tensor

# The operations that take the inputs of NumPy's universal functions as they are, by the function and the inputs' types:
# what answers NumPy fills it, and it is looked up before that.
DIRECT_OPERATIONS: dict[Any, Callable[..., Any] | None] = {}


def dense_form(value: Any) -> Any:
    """Return the plain array that an array inside of another type stands for, by the method that its type declares.

    Raises
    ------
    TypeError : if the type has no dense form
    """
    cls = type(value)
    if isinstance(value, (Storage, np.ndarray)):
        return value
    to_dense = tensor_protocol.types.to_dense(cls)
    if to_dense is None:
        raise TypeError(f"{cls.__name__} has no dense form; define to_dense()")
    return to_dense(value)


def numpy_array(self: Any, dtype: Any = None, copy: bool | None = None) -> Any:
    """Return the dense form as a NumPy array; what NumPy calls as ``__array__``.

    NumPy makes an array of objects of whatever it cannot read, so a type without a dense form has this method, too. If
    objects are asked for, a wrapper gives its elements one by one, such as quantities.

    Raises
    ------
    TypeError : if the type has no dense form, or one that is no array of numbers
    ValueError : if `copy` is False
    DensifyError : where the budget of `densify` forbids it
    AutogradError : if a gradient flows to the dense form, where a graph is recorded
    """
    cls = type(self)
    if dtype is not None and np.dtype(dtype) == object and hasattr(cls, "__elements__"):
        return _objects_of(self)
    to_dense = tensor_protocol.types.to_dense(cls)
    if to_dense is None:
        raise TypeError(
            f"{cls.__name__} has no dense form that NumPy could read; define to_dense(), or __array__, or give NumPy "
            f"the array inside"
        )
    if copy is False:
        raise ValueError(f"a NumPy array of a {cls.__name__} is its dense form, a copy; leave copy=False out")
    array = np.asarray(make_dense("numpy.asarray", cls, to_dense, self, tensor_protocol.types.is_plain))
    if array.dtype.kind not in NUMBERS:
        raise TypeError(f"the dense form of {cls.__name__} is no array of numbers: to_dense() gave dtype {array.dtype}")
    return np.asarray(array, dtype=dtype, copy=copy)


def _objects_of(x: Any) -> Any:
    """Return the elements of a wrapper as an array of objects, which keep all that they have."""
    objects = np.empty(x.shape, dtype=object)
    for place in np.ndindex(*x.shape):
        objects[place] = x[place]
    return objects


def has_numpy_array(cls: type) -> bool:
    """Return whether NumPy can make an array of a type: by the dense form, or by a method that the type defines."""
    method = getattr(cls, "__array__", None)
    return method is not None and (method is not numpy_array or tensor_protocol.types.to_dense(cls) is not None)


def length(self: Any) -> int:
    """Return the length of the first axis; what an array type has as ``__len__``."""
    if not self.shape:
        raise TypeError(f"len() of a 0-D {type(self).__name__}")
    return int(self.shape[0])


CPU = 1  # DLPack's number of main memory
PYTHON: dict[str, Any] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def parse_to(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, Any, bool]:
    """Return dtype, device and whether to copy, of the arguments of `to`; None for what they leave out."""
    dtype, device, copy = kwargs.get("dtype"), kwargs.get("device"), kwargs.get("copy", False)
    for arg in args:
        if isinstance(arg, Storage):
            other: Any = arg
            dtype = other.dtype
        elif is_device(arg) or (isinstance(arg, str) and arg.partition(":")[0] in ("cpu", "cuda", "mps")):
            device = arg
        else:
            dtype = arg
    return dtype, device, copy


def number_for(called: str, x: Any) -> Any:
    """Return the one element of an array as a Python number; an error says which function asked for it."""
    try:
        return x.item()
    except LostDerivativeError as error:
        error.called = called
        raise


def _require_constant(called: str, x: Storage) -> None:
    """Check that no transformation differentiates a tensor; outside of them, its graph may be left."""
    if follower := follower_of(vertex_of(x)):
        raise LostDerivativeError(called, follower)


def _is_of_kind(x: Storage, kind: str) -> bool:
    array = x._innermost().array
    return bool(namespace_of(array).isdtype(array.dtype, kind))


class ConversionMethods(Storage):
    """How tensors become other things."""

    __slots__ = ()

    # Asked for by NumPy when it meets a tensor among its operands.
    __array_priority__ = 1000

    def numpy(self) -> Any:
        """Return the NumPy array that shares this tensor's memory.

        Raises
        ------
        AutogradError : for a tensor that requires a gradient, where a graph is recorded
        TypeError : if it holds another library's array that NumPy cannot read, such as one on a GPU
        """
        if self._node is not None and is_grad_enabled():
            raise AutogradError("numpy() on a tensor that requires grad would lose the graph; use x.detach().numpy()")
        return as_numpy("numpy()", self.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.numpy(), dtype=dtype, copy=copy)

    def item(self) -> Any:
        """Return the one element as a Python number.

        Raises
        ------
        ValueError : if there are several elements, or none
        LostDerivativeError : if a transformation differentiates it
        """
        if self._node is not None and differentiated.get():
            _require_constant("item", self)
        array = self.array
        if math.prod(array.shape) != 1:
            raise ValueError(f"item() needs a tensor of one element; this one has shape {tuple(array.shape)}")
        if isinstance(array, np.ndarray):
            return array.item()
        return PYTHON[numpy_dtype(array).kind](namespace_of(array).reshape(without_graph(array), ()))

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers.

        Raises
        ------
        LostDerivativeError : if a transformation differentiates it
        """
        if self._node is not None and differentiated.get():
            _require_constant("tolist", self)
        return as_numpy("tolist()", without_graph(self.array)).tolist()

    def __iter__(self: Any) -> Iterator[Tensor]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-D tensor")
        if self._node is not None and is_grad_enabled():
            # One node for all rows; those of single rows would each give a cotangent of the whole shape.
            return iter(tensor_namespace.unstack(self))
        return rows_of(self)

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        if self._node is not None:
            raise AutogradError("a tensor that requires grad cannot be exported; use x.detach()")
        options = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        return self.array.__dlpack__(**{k: v for k, v in options.items() if v is not None})

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __buffer__(self, flags: int, /) -> memoryview:
        """Give compiled extensions the memory, as they ask from Python 3.12 on."""
        return memoryview(self.numpy())

    def to(self: Any, *args: Any, **kwargs: Any) -> Tensor:
        """Return the tensor in another dtype, that of another tensor, or on a device.

        Parameters
        ----------
        *args, **kwargs : a dtype, a device, or a tensor whose dtype is meant; ``dtype=``, ``device=``, ``copy=``. With
            ``like=`` a tensor or array, the result is of its library, and on its device. A sharding of JAX is a device.

        Returns
        -------
        Tensor
            The tensor itself where nothing is to change and no copy is asked for.

        Raises
        ------
        ValueError : for a device this array library does not have
        AutogradError : for a tensor that requires a gradient, which flows to another library only where arrays of the
            two mix: between NumPy and JAX, and between NumPy and Dask
        """
        dtype, device, copy = parse_to(args, kwargs)
        like = kwargs.get("like")
        moved: Tensor
        if like is None:
            moved = self
        else:
            moved = in_library(self, namespace_named(like))
        if device is not None:
            moved = moved.to_device(device)
        before = numpy_dtype(moved.dtype)
        after = before if dtype is None else numpy_dtype(dtype)
        if copy or after != before:
            moved = tensor_namespace.astype(moved, after, copy=copy)
        return moved

    def to_device(self, device: Any, /, *, stream: Any = None) -> Tensor:
        """Return the tensor on a device; NumPy's arrays are on ``"cpu"``.

        Parameters
        ----------
        device : a device of the library of its array, or its name
        stream : a parameter of the array API standard, which is not used

        Raises
        ------
        ValueError : for a device that the library of its array does not have
        """
        moved: Any = in_library(self, namespace_for_device(device, namespace_of(self.array)))
        present = device_of(moved.array)
        try:
            if str(device) != str(present):
                moved = tensor_namespace.astype(moved, moved.array.dtype, copy=False, device=device)
        except (RuntimeError, TypeError, ValueError) as error:
            library = namespace_of(self.array).__name__
            raise ValueError(
                f"to_device: arrays of {library} cannot be brought to device {device!r}; this one is on {present!r}"
            ) from error
        result: Tensor = moved
        return result

    def type_as(self, other: Storage) -> Tensor:
        """Return the tensor in the dtype of another.

        Parameters
        ----------
        other : the tensor whose dtype and device the result has
        """
        return self.to(other)

    def double(self) -> Tensor:
        """Return the tensor in double precision."""
        return self.to(np.float64)

    def float(self) -> Tensor:
        """Return the tensor in single precision, as in PyTorch."""
        return self.to(np.float32)

    def long(self) -> Tensor:
        """Return the tensor as 64-bit integers."""
        return self.to(np.int64)

    def int(self) -> Tensor:
        """Return the tensor as 32-bit integers, as in PyTorch."""
        return self.to(np.int32)

    def bool(self) -> Tensor:
        """Return the tensor as booleans."""
        return self.to(np.bool_)

    def cpu(self: Any) -> Tensor:
        """Return the tensor in main memory."""
        result: Tensor
        if self.__dlpack_device__()[0] == CPU:
            result = self
        else:
            result = self.to_device("cpu")
        return result

    def new_tensor(self: Any, data: Any, *, requires_grad: Any = False) -> Tensor:
        """Return a tensor of other data in this one's dtype and class.

        Parameters
        ----------
        data : as for `dk.tensor`, which copies it
        requires_grad : whether the new tensor is a leaf that gradients are collected in
        """
        holder = self
        if self.is_tracer:
            holder = self._innermost()
        with making_with(namespace_of(holder.array)):
            x = tensor_namespace.tensor(data, dtype=self.dtype, requires_grad=requires_grad)
        result: Tensor = like_tensor(self, x)
        return result

    def is_floating_point(self) -> builtins.bool:
        """Return whether the elements are real floating-point numbers."""
        return _is_of_kind(self, "real floating")

    def is_complex(self) -> builtins.bool:
        """Return whether the elements are complex numbers."""
        return _is_of_kind(self, "complex floating")

    def contiguous(self: Any) -> Tensor:
        """Return the tensor with its elements one after the other in memory: itself, or a copy."""
        if self.is_contiguous():
            return self  # type: ignore[no-any-return]  # of this very class
        line = tensor_namespace.reshape(self, (-1,))  # in their order, as a copy unless steps in memory are equal
        if not line.is_contiguous():
            line = line.clone()
        copy: Tensor = tensor_namespace.reshape(line, self.shape)
        return copy

    def is_contiguous(self) -> builtins.bool:
        """Return whether the elements lie one after the other in memory."""
        return is_lazy(self.array) or bool(as_numpy("is_contiguous()", self.array).flags.c_contiguous)

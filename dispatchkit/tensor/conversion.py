"""Tensors as other things: NumPy arrays, Python numbers, lists, DLPack capsules, other dtypes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatchkit.errors import AutogradError
from dispatchkit.graph.arrays import namespace_of
from dispatchkit.graph.storage import Storage
from dispatchkit.ops.namespace import public_namespace, tensor_namespace

if TYPE_CHECKING:
    from typing import Self

__all__ = ["ConversionMethods"]


class ConversionMethods(Storage):
    """How tensors become other things."""

    __slots__ = ()

    # Asked for by NumPy when it meets a tensor among its operands.
    __array_priority__ = 1000

    def numpy(self) -> Any:
        """Return the NumPy array that shares this tensor's memory.

        Raises
        ------
        AutogradError : for a tensor that requires a gradient
        """
        if self._node is not None:
            raise AutogradError("numpy() on a tensor that requires grad would lose the graph; use x.detach().numpy()")
        return np.asarray(self.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.numpy(), dtype=dtype, copy=copy)

    def item(self) -> Any:
        """Return the one element as a Python number.

        Raises
        ------
        ValueError : if there are several elements, or none
        """
        if self.array.size != 1:
            raise ValueError(f"item() needs a tensor of one element; this one has shape {tuple(self.array.shape)}")
        return np.asarray(self.array).item()

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers."""
        return np.asarray(self.array).tolist()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __bool__(self) -> bool:
        if self.array.size != 1:
            raise ValueError(
                f"the truth value of a tensor of shape {tuple(self.array.shape)} is ambiguous; use any() or all()"
            )
        return bool(self.item())

    def __index__(self) -> int:
        if self.array.dtype.kind not in "iu":
            raise TypeError(f"only integer tensors of one element can be an index, not {self.array.dtype}")
        return int(self.item())

    def __len__(self) -> int:
        if self.array.ndim == 0:
            raise TypeError("len() of a 0-D tensor")
        return int(self.array.shape[0])

    def __iter__(self) -> Iterator[Any]:
        if self.array.ndim == 0:
            raise TypeError("iteration over a 0-D tensor")
        value: Any = self
        return (value[index] for index in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        if self._node is not None:
            raise AutogradError("a tensor that requires grad cannot be exported; use x.detach()")
        given = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        return self.array.__dlpack__(**{k: v for k, v in given.items() if v is not None})

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        known = (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
        if api_version not in known:
            raise ValueError(
                f"__array_namespace__: version {api_version!r} is not known; known: {', '.join(known[1:])}"
            )
        return public_namespace()

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Return the tensor in another dtype, that of another tensor, or on a device.

        Parameters
        ----------
        *args, **kwargs : a dtype, a device, or a tensor whose dtype is meant; ``dtype=``, ``device=``, ``copy=``

        Raises
        ------
        ValueError : for a device this array library does not have
        """
        dtype, device, copy = kwargs.get("dtype"), kwargs.get("device"), kwargs.get("copy", False)
        for arg in args:
            if isinstance(arg, Storage):
                dtype = arg.array.dtype
            elif isinstance(arg, str) and arg.partition(":")[0] in ("cpu", "cuda", "mps"):
                device = arg
            else:
                dtype = arg
        if device is not None:
            self.to_device(device)
        if dtype is None and not copy:
            return self
        return tensor_namespace.astype(self, np.dtype(dtype or self.array.dtype), copy=copy)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Self:
        """Return the tensor on a device; NumPy's arrays are on ``"cpu"``.

        Raises
        ------
        ValueError : for another device
        """
        if str(device) != str(getattr(self.array, "device", "cpu")):
            raise ValueError(f"to_device: arrays of {type(self.array).__name__} are not on device {device!r}")
        return self

    def type_as(self, other: Storage) -> Any:
        """Return the tensor in the dtype of another."""
        return self.to(other)

    def double(self) -> Any:
        """Return the tensor in double precision."""
        return self.to(np.float64)

    def float(self) -> Any:
        """Return the tensor in single precision, as in PyTorch."""
        return self.to(np.float32)

    def long(self) -> Any:
        """Return the tensor as 64-bit integers."""
        return self.to(np.int64)

    def int(self) -> Any:
        """Return the tensor as 32-bit integers, as in PyTorch."""
        return self.to(np.int32)

    def bool(self) -> Any:
        """Return the tensor as booleans."""
        return self.to(np.bool_)

    def cpu(self) -> Self:
        """Return the tensor in main memory."""
        return self.to_device("cpu")

    def new_tensor(self, data: Any, *, requires_grad: Any = False) -> Any:
        """Return a tensor of other data in this one's dtype."""
        return tensor_namespace.tensor(data, dtype=self.array.dtype, requires_grad=requires_grad)

    def is_floating_point(self) -> Any:
        """Return whether the elements are real floating-point numbers."""
        return namespace_of(self.array).isdtype(self.array.dtype, "real floating")

    def is_complex(self) -> Any:
        """Return whether the elements are complex numbers."""
        return namespace_of(self.array).isdtype(self.array.dtype, "complex floating")

    def contiguous(self) -> Any:
        """Return the tensor with its elements one after the other in memory: itself, or a copy."""
        return self if self.is_contiguous() else tensor_namespace.clone(self)

    def is_contiguous(self) -> Any:
        """Return whether the elements lie one after the other in memory."""
        return np.asarray(self.array).flags.c_contiguous

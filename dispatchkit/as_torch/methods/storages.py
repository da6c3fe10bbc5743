"""The memory that tensors are views of, `x.untyped_storage()`: by its address libraries see what shares memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.as_torch.attributes.devices import device
from dispatchkit.as_torch.attributes.dtypes import spelled_dtype
from dispatchkit.as_torch.strided import memory_of

__all__ = ["TypedStorage", "UntypedStorage", "storage", "untyped_storage"]


class UntypedStorage:
    """The memory of a tensor and its views, as bytes.

    Parameters
    ----------
    memory : the bytes

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> x = torch.zeros(2, 3)
    >>> x.untyped_storage().data_ptr() == x[1].untyped_storage().data_ptr()
    True
    >>> x[1].untyped_storage().nbytes() == x.numel() * x.element_size()
    True
    """

    def __init__(self, memory: np.ndarray[Any, Any]) -> None:
        self._memory = memory

    @property
    def device(self) -> Any:
        """Where the memory is."""
        return device("cpu")

    def data_ptr(self) -> int:
        """Return the address of the first byte; 0 where there is none."""
        if not self._memory.size:
            return 0
        return int(self._memory.ctypes.data)

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return int(self._memory.nbytes)

    def size(self) -> int:
        """Return the number of elements."""
        return int(self._memory.size)

    def element_size(self) -> int:
        """Return the number of bytes of an element."""
        return int(self._memory.itemsize)

    def tolist(self) -> list[Any]:
        """Return the elements as numbers."""
        numbers: list[Any] = self._memory.tolist()
        return numbers

    def __len__(self) -> int:
        return self.size()

    def __getitem__(self, place: Any) -> Any:
        """Return an element as a number, or some as a storage of the same memory."""
        if isinstance(place, slice):
            return type(self)(self._memory[place])
        return self._memory[place].item()

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()


class TypedStorage(UntypedStorage):
    """The memory of a tensor and its views, as elements of a dtype.

    Parameters
    ----------
    memory : the elements
    """

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return spelled_dtype(self._memory.dtype)

    def untyped(self) -> UntypedStorage:
        """Return the memory as bytes."""
        return UntypedStorage(self._memory.view(np.uint8))


def untyped_storage(self: Any) -> UntypedStorage:
    """Return the memory that the tensor is a view of."""
    return UntypedStorage(memory_of(self.detach().numpy())[0])


def storage(self: Any) -> TypedStorage:
    """Return the memory that the tensor is a view of, as elements of its dtype."""
    memory = memory_of(self.detach().numpy())[0]
    size = self.element_size()
    return TypedStorage(memory[: len(memory) // size * size].view(self.dtype))

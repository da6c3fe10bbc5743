"""The memory that tensors are views of, `x.untyped_storage()`: by its address libraries see what shares memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self

import numpy as np

from dispatchkit.as_torch.attributes.devices import device
from dispatchkit.as_torch.attributes.dtypes import spelled_dtype
from dispatchkit.as_torch.strided import memory_of
from dispatchkit.backends.arrays import numpy_dtype

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

    filename: str | None = None  # of the file that is the memory, where changes go to it

    def __init__(self, memory: np.ndarray[Any, Any]) -> None:
        self._memory = memory

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> Self:
        """Return a file as memory, of which only what is used is read.

        Parameters
        ----------
        filename : path of the file
        shared : whether changes go to the file, which is made, or made longer, where it has too few bytes
        nbytes : how many bytes there are, from the first on

        Raises
        ------
        RuntimeError : if the file is not there or too short, and not `shared`
        """
        path = Path(os.fspath(filename))
        if shared and not path.exists():
            path.touch()
        if not path.exists():
            raise RuntimeError(f"unable to open file <{path}> in read-only mode: No such file or directory (2)")
        size = path.stat().st_size
        if size < nbytes and not shared:
            raise RuntimeError(f"file <{path}> size <{size}> is smaller than the required mapping size <{nbytes}>")
        if size < nbytes:
            os.truncate(path, nbytes)
        memory: Any = np.empty(0, np.uint8)
        if nbytes:
            memory = np.memmap(path, np.uint8, "r+" if shared else "c", shape=(nbytes,))
        found = cls(np.asarray(memory))
        if shared:
            found.filename = str(path)
        return found

    def elements(self, dtype: Any) -> Any:
        """Return the memory as an array of a dtype, without bytes that are too few for an element.

        Parameters
        ----------
        dtype : NumPy's
        """
        whole, size = self._memory.view(np.uint8), np.dtype(dtype).itemsize
        return whole[: len(whole) // size * size].view(dtype)

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

    def __setitem__(self, place: Any, value: Any) -> None:
        self._memory[place] = value

    def fill_(self, value: Any) -> Self:
        """Set all elements to a number, and return the storage.

        Parameters
        ----------
        value : the number
        """
        self._memory[...] = value
        return self

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
    return TypedStorage(untyped_storage(self).elements(numpy_dtype(self.dtype)))

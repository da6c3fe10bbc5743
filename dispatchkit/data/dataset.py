"""Data sets: items by index, a stream of them, blocks that another engine holds, images."""

from __future__ import annotations

import itertools
import math
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.errors import DensifyError
from dispatchkit.ops.creation.dtypes import get_default_dtype
from dispatchkit.ops.random.distributions import permutation
from dispatchkit.ops.random.generator import Generator
from dispatchkit.protocol.densify import densify
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
    "to_tensor",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Base of data sets whose items have an index.

    A subclass defines ``__getitem__(index)``, and ``__len__`` for samplers and loaders. Where it defines
    ``__getitems__(indices)``, which gives a list of items, a loader calls that for each batch. Source: PyTorch,
    `torch.utils.data.Dataset`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> class Squares(dk.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...
    ...     def __getitem__(self, index):
    ...         return float(index**2)
    >>> list(dk.data.DataLoader(Squares(), batch_size=2))
    [tensor([0., 1.]), tensor([4., 9.])]
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__(index)")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Base of data sets that are a stream: a subclass defines ``__iter__``.

    A loader reads the stream in one worker, however many it has, so that each item comes once and in order.
    Source: PyTorch, `torch.utils.data.IterableDataset`, where each worker process reads a copy of the stream.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> class Countdown(dk.data.IterableDataset):
    ...     def __iter__(self):
    ...         yield from (3, 2, 1)
    >>> list(dk.data.DataLoader(Countdown(), batch_size=2))
    [tensor([3, 2]), tensor([1])]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__()")


class TensorDataset(Dataset[tuple[Any, ...]]):
    """The elements of tensors along their first axis, as tuples.

    Parameters
    ----------
    *tensors : of shape (N, ...), one length N for all; arrays become tensors that share their memory

    Raises
    ------
    ValueError : if there are none, or they differ in length
    TypeError : for an instance of a declared array type that would be made dense for every element

    Examples
    --------
    >>> import dispatchkit as dk
    >>> data = dk.data.TensorDataset(dk.eye(3), dk.arange(3))
    >>> len(data), data[2]
    (3, (tensor([0., 0., 1.]), tensor(2)))
    """

    def __init__(self, *tensors: Any) -> None:
        if not tensors:
            raise ValueError("TensorDataset needs a tensor")
        records = tensor_protocol.types
        self.tensors = tuple(x if records.participates(type(x)) else tensor_namespace.asarray(x) for x in tensors)
        for index, tensor in enumerate(self.tensors):
            if not tensor.shape or tensor.shape[0] != self.tensors[0].shape[0]:
                raise ValueError(
                    f"TensorDataset: Size mismatch between tensors: tensor {index} has shape {tuple(tensor.shape)}, "
                    f"tensor 0 {tuple(self.tensors[0].shape)}"
                )
            if not isinstance(tensor, Tensor) and len(self):
                self._check_elements(index, tensor)

    def _check_elements(self, number: int, tensor: Any) -> None:
        try:
            with densify(on="error"):
                tensor[0]
        except DensifyError as error:
            name = type(tensor).__name__
            raise TypeError(
                f"TensorDataset: tensor {number} is a {name}, which would be made dense for every element, since it "
                f"has no rule for getitem; give x.to_dense(), or write a Dataset"
            ) from error

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def rows(self, indices: Sequence[int]) -> list[Any]:
        """Return what `default_collate` makes of some items, by one index into each tensor.

        Parameters
        ----------
        indices : of the items
        """
        key = np.asarray(indices, dtype=np.intp)
        return [tensor[key] for tensor in self.tensors]

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])


def has_plain_rows(dataset: Any) -> bool:
    """Return whether the items of a data set are rows of tensors, which no subclass changes."""
    is_plain = isinstance(dataset, TensorDataset) and type(dataset).__getitem__ is TensorDataset.__getitem__
    return is_plain and not hasattr(dataset, "__getitems__") and all(type(x) is Tensor for x in dataset.tensors)


class Subset(Dataset[T_co]):
    """Some of the items of a data set.

    Parameters
    ----------
    dataset : to take them from
    indices : of the items, in the order they are to have

    Examples
    --------
    >>> import dispatchkit as dk
    >>> data = dk.data.Subset("abcd", [3, 0])
    >>> data[0], len(data)
    ('d', 2)
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> T_co:
        return self.dataset[self.indices[index]]  # type: ignore[no-any-return]  # as the other data set gives it

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset[Any]):
    """Data sets one after another.

    Parameters
    ----------
    datasets : with a length each

    Raises
    ------
    ValueError : if there are none
    TypeError : if one is a stream

    Examples
    --------
    >>> import dispatchkit as dk
    >>> data = dk.data.ConcatDataset(["ab", "cde"])
    >>> data[2], data[-1], len(data)
    ('c', 'e', 5)
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset: datasets should not be an empty iterable")
        for index, dataset in enumerate(self.datasets):
            if isinstance(dataset, IterableDataset):
                raise TypeError(
                    f"ConcatDataset does not support IterableDataset: data set {index} is {type(dataset).__name__}"
                )
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))

    def __getitem__(self, index: int) -> Any:
        position = index
        if index < 0:
            position = index + len(self)
        if not 0 <= position < len(self):
            raise IndexError(f"ConcatDataset: index {index} is out of range for {len(self)} items")
        number = bisect_right(self.cumulative_sizes, position)
        start = 0
        if number:
            start = self.cumulative_sizes[number - 1]
        return self.datasets[number][position - start]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


def random_split(dataset: Any, lengths: Sequence[float], generator: Generator | None = None) -> list[Subset[Any]]:
    """Split a data set at random into parts that have no item in common.

    Parameters
    ----------
    dataset : with a length
    lengths : of the parts, which add up to that of the data set; or fractions, which add up to 1. What rounding the
        fractions down leaves over goes to the parts in turn, one item each.
    generator : to draw from, the default one if None

    Returns
    -------
    list of Subset
        One for each length.

    Raises
    ------
    ValueError : if the lengths or fractions do not add up, or one is negative

    Examples
    --------
    >>> import dispatchkit as dk
    >>> train, test = dk.data.random_split(range(10), [0.8, 0.2], generator=dk.Generator(0))
    >>> len(train), len(test), sorted([*train, *test]) == list(range(10))
    (8, 2, True)
    """
    total = len(dataset)
    for index, length in enumerate(lengths):
        if length < 0:
            raise ValueError(
                f"random_split: a length or fraction must not be negative, found {length} at index {index}"
            )
    if math.isclose(sum(lengths), 1):
        sizes = _sizes(total, lengths)
    else:
        sizes = list(lengths)
    if sum(sizes) != total or any(size != int(size) for size in sizes):
        raise ValueError(
            f"Sum of input lengths does not equal the length of the input dataset! random_split: found {list(lengths)} "
            f"for {total} items of {type(dataset).__name__}"
        )
    for index, size in enumerate(sizes):
        if size == 0:
            warnings.warn(
                f"Length of split at index {index} is 0. This might result in an empty dataset.", stacklevel=2
            )
    order = permutation(total, generator=generator).tolist()
    ends = itertools.accumulate(map(int, sizes))
    return [Subset(dataset, order[end - int(size) : end]) for end, size in zip(ends, sizes, strict=True)]


def _sizes(total: int, fractions: Sequence[float]) -> list[float]:
    """Return the lengths that fractions of a whole stand for."""
    sizes: list[float] = [math.floor(total * fraction) for fraction in fractions]
    for index in range(total - int(sum(sizes))):
        sizes[index % len(sizes)] += 1
    return sizes


def to_tensor(image: Any, *, dtype: Any = None) -> Any:
    """Convert an 8-bit image to floating-point numbers from 0 to 1, channels first.

    Parameters
    ----------
    image : array or tensor of uint8, of shape (H, W, C) or (H, W), or an image of Pillow
    dtype : of the result, a floating one; the default dtype if None

    Returns
    -------
    Tensor
        Of shape (C, H, W), or (1, H, W) for an image without channels; 255 becomes 1.

    Raises
    ------
    TypeError : if the image is of another dtype than uint8
    ValueError : if it has neither two axes nor three

    Notes
    -----
    Source: torchvision, `torchvision.transforms.functional.to_tensor`, which also takes other dtypes, without scaling
    them. Pillow's images of other modes than 8-bit ones are converted by ``image.convert("RGB")`` or ``"L"`` before.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> import numpy as np
    >>> image = np.zeros((2, 3, 3), dtype=np.uint8)
    >>> image[0, 0] = 255, 51, 0
    >>> dk.data.to_tensor(image).shape, dk.data.to_tensor(image)[:, 0, 0]
    ((3, 2, 3), tensor([1.0000, 0.2000, 0.0000]))
    """
    array = np.asarray(image)
    if array.dtype != np.uint8:
        raise TypeError(f"to_tensor: an image is of uint8, from 0 to 255; found {array.dtype}")
    if array.ndim not in (2, 3):
        raise ValueError(f"to_tensor: an image has shape (H, W, C) or (H, W); found {array.shape}")
    if array.ndim == 2:
        channels = array[np.newaxis]
    else:
        channels = array.transpose(2, 0, 1)
    if dtype is None:
        dtype = get_default_dtype()
    wanted = np.dtype(dtype)
    if wanted.kind != "f":
        raise TypeError(f"to_tensor: dtype must be a floating one, found {wanted}")
    return tensor_namespace.asarray(np.divide(channels, wanted.type(255), dtype=wanted, order="C"))


class StackDataset(Dataset[Any]):
    """Data sets beside one another: an item has one of each.

    Parameters
    ----------
    *args : data sets of one length, whose items come as a tuple
    **kwargs : or by name, whose items come as a dictionary

    Raises
    ------
    ValueError : if there are none, or both kinds, or they differ in length

    Notes
    -----
    Source: PyTorch, `torch.utils.data.StackDataset`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.data.StackDataset("ab", [1, 2])[1], dk.data.StackDataset(letter="ab", number=[1, 2])[0]
    (('b', 2), {'letter': 'a', 'number': 1})
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError("StackDataset: give data sets either one after another or by name, and at least one")
        self.datasets: Any = args or kwargs
        self._length = len(self._all()[0])
        if any(len(dataset) != self._length for dataset in self._all()):
            lengths = ", ".join(str(len(dataset)) for dataset in self._all())
            raise ValueError(f"StackDataset: the data sets differ in length: {lengths}")

    def _all(self) -> list[Any]:
        if isinstance(self.datasets, dict):
            return list(self.datasets.values())
        return list(self.datasets)

    def __getitem__(self, index: Any) -> Any:
        items = [dataset[index] for dataset in self._all()]
        if isinstance(self.datasets, dict):
            return dict(zip(self.datasets, items, strict=True))
        return tuple(items)

    def __len__(self) -> int:
        return self._length


class ChainDataset(IterableDataset[Any]):
    """Streams one after another.

    Parameters
    ----------
    datasets : the streams

    Notes
    -----
    Source: PyTorch, `torch.utils.data.ChainDataset`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> class Letters(dk.data.IterableDataset):
    ...     def __iter__(self):
    ...         yield from "ab"
    >>> list(dk.data.ChainDataset([Letters(), Letters()]))
    ['a', 'b', 'a', 'b']
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise TypeError(f"ChainDataset: a {type(dataset).__name__} is no IterableDataset")
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self.datasets)

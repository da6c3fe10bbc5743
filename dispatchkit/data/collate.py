"""Making one batch of many items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.variables import is_array, items_of
from dispatchkit.func.containers import arrays_of, as_array, describe, map_container
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tree import rebuilt

UNFIT = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {found}{place}"


def default_collate(batch: Sequence[Any]) -> Any:
    """Put the items of a batch together, part by part.

    Parameters
    ----------
    batch : items of one structure

    Returns
    -------
    Any
        For tensors, arrays and NumPy scalars of one shape (...), a tensor of shape (N, ...). For Python numbers, a
        tensor of shape (N,). For strings and bytes, a list of them. For dictionaries, named tuples and lists, one of
        the same class that holds the batch of each part; for tuples a list. For declared array types what their rule
        for `stack` gives; without one, an instance whose fields are batches, if that has the shape of the batch; fields
        without floats and arrays are kept, and must be equal in all items.

    Raises
    ------
    TypeError : for anything else, if items are of different kinds, or if an instance of a declared array type whose
        fields are batches has another shape than (N, ...)
    ValueError : if there are no items, or shapes, keys or kept fields differ
    RuntimeError : if lists differ in length

    Notes
    -----
    A message names the place within the items. Source: PyTorch, `torch.utils.data.default_collate`; there Python
    floats become float64 rather than the default dtype, and keys that the first item does not have are left out.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.data.default_collate([(dk.ones(2), {"label": 1}), (dk.zeros(2), {"label": 2})])
    [tensor([[1., 1.],
            [0., 0.]]), {'label': tensor([1, 2])}]
    >>> dk.data.default_collate([dk.types.ScalarTensor(3, 1.0).to_dense(), dk.eye(3)]).shape
    (2, 3, 3)
    """
    if not len(batch):
        raise ValueError("default_collate: a batch needs an item")
    return _collate(list(batch), "")


def default_convert(item: Any) -> Any:
    """Return an item with its arrays as tensors that share their memory, in containers of any depth.

    Parameters
    ----------
    item : an array, a container of arrays, or any other value, which is given back

    Returns
    -------
    Any
        The item, of the same structure.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> import numpy as np
    >>> dk.data.default_convert({"x": np.ones(2), "name": "a"})
    {'x': tensor([1., 1.]), 'name': 'a'}
    """
    if isinstance(item, (str, bytes)):
        return item
    return map_container(_convert, item)


def _convert(array: Any) -> Any:
    if getattr(array.dtype, "kind", "f") in "USO":
        return array
    return as_array(array)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex)) and not is_array(value)


def _collate(items: list[Any], place: str) -> Any:
    first = items[0]
    if isinstance(first, (str, bytes)):
        return items
    if all(_is_number(item) for item in items):
        return tensor_namespace.tensor(items)
    if is_array(first) or _is_number(first):
        return _stack(items, place)
    if items_of(first) is None:
        raise TypeError(UNFIT.format(found=type(first), place=_at(place)))
    for index, item in enumerate(items):
        if type(item) is not type(first):
            raise TypeError(f"default_collate: item {index} is {describe(item)}, item 0 {describe(first)}{_at(place)}")
    if not isinstance(first, (list, tuple, Mapping)) and _has_rule_to_stack(type(first)):
        _check_shapes(items, place)
        return tensor_namespace.stack(items)
    return _container(items, place)


def _stack(items: list[Any], place: str) -> Any:
    for index, item in enumerate(items):
        if not (is_array(item) or _is_number(item)):
            raise TypeError(
                f"default_collate: item {index} is {describe(item)}, item 0 {describe(items[0])}{_at(place)}"
            )
        if getattr(getattr(item, "dtype", None), "kind", "f") in "USO":
            raise TypeError(UNFIT.format(found=item.dtype, place=_at(place)))
    first = items[0]
    if all(type(item) is np.ndarray and item.shape == first.shape and item.dtype == first.dtype for item in items):
        return as_array(np.stack(items))  # one tensor, where the others below are as many as items
    tensors = [as_array(item) for item in items]
    _check_shapes(tensors, place)
    return tensor_namespace.stack(tensors)


def _check_shapes(arrays: list[Any], place: str) -> None:
    """Raise if arrays differ in shape, naming the first that does."""
    first = tuple(arrays[0].shape)
    for index, array in enumerate(arrays):
        if tuple(array.shape) != first:
            raise ValueError(
                f"default_collate: stack expects each tensor to be equal size, but got {first} at entry 0 and "
                f"{tuple(array.shape)} at entry {index}{_at(place)}"
            )


def _container(items: list[Any], place: str) -> Any:
    """Return the batch of containers of one class."""
    first = items[0]
    columns = _columns(items, place)
    if isinstance(first, (list, tuple, Mapping)):
        result = [(key, _collate(column, f"{place}[{key!r}]")) for key, column in columns]
        if type(first) is tuple:
            return [part for _, part in result]
        return rebuilt(first, result)
    result = rebuilt(first, [(name, _field(column, f"{place}.{name}")) for name, column in columns])
    shape = _shape_of(first)
    if shape is not None and _shape_of(result) != (len(items), *shape):
        cls = type(first).__name__
        raise TypeError(
            f"default_collate: a {cls} of shape {shape} whose fields are batches is none of shape "
            f"{(len(items), *shape)}{_at(place)}; give a collate_fn, such as list for the items themselves, or have "
            f"the data set give x.to_dense()"
        )
    return result


def _has_rule_to_stack(cls: type) -> bool:
    """Return whether an array type says itself how instances are stacked, whatever their fields."""
    steps = tensor_protocol.chain(tensor_protocol.operation(tensor_namespace.stack), (cls,)).steps
    return bool(steps) and steps[0].rule is not None


def _shape_of(value: Any) -> tuple[int, ...] | None:
    """Return the shape that an instance of a declared type says it has, None if it says none."""
    try:
        return tuple(value.shape)
    except Exception:  # noqa: BLE001  # the type's own, which may not expect a field that is a batch
        return None


def _columns(items: list[Any], place: str) -> list[tuple[Any, list[Any]]]:
    """Return each key of containers with the parts under it."""
    first = items[0]
    if isinstance(first, (list, tuple)):
        for index, other in enumerate(items):
            if len(other) != len(first):
                raise RuntimeError(
                    f"each element in list of batch should be of equal size: item {index} has {len(other)} elements, "
                    f"item 0 has {len(first)}{_at(place)}"
                )
        return [(key, list(column)) for key, column in enumerate(zip(*items, strict=True))]
    parts = [dict(items_of(item) or ()) for item in items]
    for index, other in enumerate(parts):
        if other.keys() != parts[0].keys():
            raise ValueError(
                f"default_collate: item {index} has the keys {list(other)}, item 0 {list(parts[0])}{_at(place)}"
            )
    return [(key, list(map(itemgetter(key), parts))) for key in parts[0]]


def _field(values: list[Any], place: str) -> Any:
    """Return the batch of a field, or the field itself where it holds no numbers."""
    first = values[0]
    if isinstance(first, (float, complex)) or any(True for _ in arrays_of(first)):
        return _collate(values, place)
    for index, value in enumerate(values):
        if value is not first and value != first:
            raise ValueError(
                f"default_collate: item {index} has {value!r} where item 0 has {first!r}{_at(place)}; only arrays and "
                f"floats are stacked, write a collate_fn for others"
            )
    return first


def _at(place: str) -> str:
    if place:
        return f", at item{place}"
    return ""

"""Nested containers of arrays: what transformations take and give.

Lists, tuples, named tuples and dictionaries are looked into, and so are instances of declared array types, by their
fields; tensors and raw arrays are leaves, and everything else is passed on as it is. Python numbers are made leaves
where derivatives are concerned; what a container in a field of an array type holds stays, which is metadata. Floating
leaves are differentiated, but not those in a field declared with ``field(grad=False)``: `variables_of` decides.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import as_numpy, is_complex, is_inexact, namespace_of
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.instance import tensor_protocol

__all__ = [
    "Leaf",
    "arrays_of",
    "as_array",
    "as_array_like",
    "described",
    "fitted",
    "is_array",
    "is_floating",
    "mapped",
    "parts_of",
    "variables_in",
    "variables_of",
    "with_constants",
    "with_floats",
    "with_numbers",
    "with_parts",
    "with_variables",
    "zipped",
]

Leaf = Callable[[Any], Any]


def is_array(value: Any) -> bool:
    """Return whether a value is a tensor or a raw array."""
    return isinstance(value, (Storage, np.ndarray, np.generic)) or (
        hasattr(value, "__array_namespace__") and not tensor_protocol.types.participates(type(value))
    )


def as_array(value: Any) -> Any:
    """Return a leaf as a tensor, Python numbers too."""
    return value if isinstance(value, Storage) else tensor_namespace.asarray(value)


def as_array_like(value: Any, like: Any) -> Any:
    """Return an array of any library as a tensor of the library of another tensor, sharing memory where possible.

    Raises
    ------
    TypeError : where NumPy, by which the numbers pass, cannot read the array
    """
    array = value.array if isinstance(value, Storage) else value
    xp = namespace_of(like.array)
    if namespace_of(array) is xp:
        return as_array(value)
    # PyTorch hands NumPy no memory of what requires a gradient.
    array = array.detach() if hasattr(array, "detach") else array
    try:
        return as_array(xp.asarray(as_numpy("asarray", array)))
    except TypeError as error:
        raise TypeError(
            f"NumPy cannot read {array.dtype} of {namespace_of(array)!r}; convert it with its own library to a dtype "
            f"of NumPy's in main memory"
        ) from error


def is_floating(value: Any) -> bool:
    """Return whether a leaf holds real or complex floating-point numbers."""
    return is_array(value) and is_inexact(value.dtype)


def parts_of(value: Any) -> list[tuple[Any, Any]] | None:
    """Return the parts of a container with their keys; None for what is none."""
    if isinstance(value, (list, tuple)):
        return list(enumerate(value))
    if isinstance(value, Mapping):
        return list(value.items())
    if value is None or is_array(value) or not tensor_protocol.types.participates(type(value)):
        return None
    return [(name, getattr(value, name)) for name in tensor_protocol.types.fields_of(value)]


def _constants(value: Any) -> frozenset[str]:
    """Return the keys of the parts of a container that are not differentiated, whatever they hold."""
    if isinstance(value, (list, tuple, Mapping)):
        return frozenset()
    return tensor_protocol.types.constants_of(type(value))


def variables_of(value: Any) -> list[tuple[Any, Any]] | None:
    """Return the parts of a container that may be differentiated with their keys; None for what is none."""
    parts = parts_of(value)
    if not parts or not (constants := _constants(value)):
        return parts
    return [(key, part) for key, part in parts if key not in constants]


def with_parts(value: Any, parts: list[Any]) -> Any:
    """Return a container like another, with other parts."""
    if isinstance(value, (list, tuple)):
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, Mapping):
        # A copy keeps what belongs to a class of dictionaries, such as a default.
        changed = copy.copy(value) if isinstance(value, MutableMapping) else {}
        changed.update(zip(value, parts, strict=True))
        return changed
    made = copy.copy(value)
    for name, part in zip(tensor_protocol.types.fields_of(value), parts, strict=True):
        object.__setattr__(made, name, part)
    return made


def mapped(change: Leaf, value: Any) -> Any:
    """Return a container with `change` made to each array."""
    if is_array(value):
        return change(value)
    parts = parts_of(value)
    return value if parts is None else with_parts(value, [mapped(change, part) for _, part in parts])


def with_variables(change: Leaf, value: Any) -> Any:
    """Return a container with `change` made to each array that is differentiated."""
    if is_array(value):
        return change(value) if is_floating(value) else value
    parts = parts_of(value)
    if parts is None:
        return value
    constants = _constants(value)
    return with_parts(value, [part if key in constants else with_variables(change, part) for key, part in parts])


def with_constants(change: Leaf, value: Any) -> Any:
    """Return a container with `change` made to each array in a field that is not differentiated, itself if none."""
    parts = None if is_array(value) else parts_of(value)
    if parts is None:
        return value
    constants = _constants(value)
    made = [mapped(change, part) if key in constants else with_constants(change, part) for key, part in parts]
    same = all(new is part for new, (_, part) in zip(made, parts, strict=True))
    return value if same else with_parts(value, made)


def fitted(name: str, owner: str, kind: str, x: Any, given: Any) -> Any:
    """Return a tangent or cotangent of an array as a tensor of its dtype.

    Parameters
    ----------
    name, owner, kind : of the transformation, the array and what goes with it, for messages
    x, given : the array, and what goes with it

    Raises
    ------
    ValueError : if it is no array, of another shape, or complex where the array is real
    """
    if not is_array(given) and not isinstance(given, (int, float, complex)):
        raise ValueError(f"{name}: the {kind} of an {owner} must be an array, found a {type(given).__name__}")
    given = as_array(given)
    if tuple(given.shape) != tuple(x.shape):
        raise ValueError(f"{name}: an {owner} has shape {tuple(x.shape)}, its {kind} has shape {tuple(given.shape)}")
    if is_complex(given.dtype) and not is_complex(x.dtype):
        raise ValueError(f"{name}: an {owner} is real, {x.dtype}, its {kind} is complex, {given.dtype}")
    return given if given.dtype == x.dtype else tensor_namespace.astype(given, x.dtype)


def with_floats(value: Any) -> Any:
    """Return an argument whose arrays and floating-point numbers are all tensors."""
    return _with_tensors(value, (float, complex))


def with_numbers(value: Any) -> Any:
    """Return an output whose arrays and numbers are all tensors; integers in fields of array types stay."""
    return _with_tensors(value, (int, float, complex))


def _with_tensors(value: Any, numbers: tuple[type, ...]) -> Any:
    if isinstance(value, numbers) or is_array(value):
        return as_array(value)
    parts = parts_of(value)
    if parts is None:
        return value
    if isinstance(value, (list, tuple, Mapping)):
        return with_parts(value, [_with_tensors(part, numbers) for _, part in parts])
    constants = _constants(value)

    def stays(key: Any, part: Any) -> bool:
        return isinstance(part, (list, tuple, Mapping)) or (key in constants and isinstance(part, (float, complex)))

    return with_parts(value, [part if stays(key, part) else with_floats(part) for key, part in parts])


def arrays_of(value: Any) -> Iterator[Any]:
    """Yield the arrays of a container."""
    if is_array(value):
        yield value
    else:
        for _, part in parts_of(value) or ():
            yield from arrays_of(part)


def variables_in(value: Any) -> Iterator[Any]:
    """Yield the arrays of a container that are differentiated."""
    if is_array(value):
        if is_floating(value):
            yield value
    else:
        for _, part in variables_of(value) or ():
            yield from variables_in(part)


def zipped(
    change: Callable[[Any, Any], Any], value: Any, other: Any, what: str, path: str = "", *, variables: bool = False
) -> Any:
    """Return a container with ``change(array, part of the other at its place)`` in the place of each array.

    The other container may end sooner: what it has there then holds for all arrays below. With `variables`, arrays
    that are not differentiated stay.

    Raises
    ------
    ValueError : if the two do not fit, naming the place
    """
    if is_array(value):
        return change(value, other) if not variables or is_floating(value) else value
    parts = parts_of(value)
    if parts is None:
        return value
    constants = _constants(value) if variables else ()

    def changed(key: Any, part: Any, own: Any) -> Any:
        place = f"{path}[{key!r}]"
        return part if key in constants else zipped(change, part, own, what, place, variables=variables)

    if other is None or isinstance(other, int) or is_array(other):
        return with_parts(value, [changed(key, part, other) for key, part in parts])
    found = parts_of(other)
    if found is None or [key for key, _ in found] != [key for key, _ in parts]:
        if not any(True for _ in arrays_of(value)):
            return value
        raise ValueError(
            f"{what}: the container at {path or 'the top'} is {described(value)}, but what goes with it is "
            f"{described(other)}"
        )
    return with_parts(value, [changed(key, part, own) for (key, part), (_, own) in zip(parts, found, strict=True)])


def described(value: Any) -> str:
    """Return what a value is, for messages."""
    if is_array(value):
        return f"an array of shape {tuple(value.shape)} and dtype {value.dtype}"
    parts = parts_of(value)
    if parts is None:
        return f"a {type(value).__name__}"
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of length {len(parts)}"
    return f"a {type(value).__name__} with {', '.join(repr(key) for key, _ in parts) or 'nothing'}"

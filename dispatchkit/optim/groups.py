"""The arguments of optimisers: parameters in their various forms, options with a range, and saved state."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import is_complex, is_raw
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.variables import beside_fields, is_floating, variables_of
from dispatchkit.func.containers import as_array_like
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.tree import leaves_with_paths
from dispatchkit.wording import class_name


def is_structured(value: Any) -> bool:
    """Return whether a value is of a declared array type that is no tensor."""
    return not isinstance(value, Tensor) and tensor_protocol.types.participates(type(value))


def as_entries(params: Any, where: str) -> list[Any]:
    """Return what stands in a collection of parameters; a single parameter is a collection of one.

    Raises
    ------
    TypeError : for a set, whose order changes from run to run, and for what is no collection
    """
    if isinstance(params, Tensor) or is_structured(params):
        return [params]
    if isinstance(params, (set, frozenset)):
        raise TypeError(
            f"optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
            f"will change between runs. Please use a list instead. ({where})"
        )
    if not isinstance(params, Iterable):
        raise TypeError(f"params must be an iterable of tensors, but got {type(params).__name__} ({where})")
    return list(params)


def tensors_of(
    params: Any, where: str, *, whole: bool = False, leaves: bool = True
) -> tuple[list[Any], list[str] | None]:
    """Return the tensors of a group, and their names where they have some.

    Parameters
    ----------
    params : a tensor, an instance of a declared array type, or an iterable of those or of pairs of a name and one
        of those
    where : the group, for messages
    whole : whether instances of declared array types are returned themselves
    leaves : whether each must be a leaf, or keep its gradient

    Raises
    ------
    TypeError : if something is no tensor, or holds none
    ValueError : if some have names and others do not, one is no leaf, or one is there twice
    """
    tensors: list[Any] = []
    names: list[str] = []
    entries = as_entries(params, where)
    named = [isinstance(entry, tuple) for entry in entries]
    if any(named) and not all(named):
        raise ValueError(
            f"all optimizer params should be with/without names. Some param names are missing: parameter "
            f"{named.index(False)} ({where})"
        )
    for index, entry in enumerate(entries):
        if named[index]:
            name, value = entry
        else:
            name, value = f"parameter {index}", entry
        parts = list(_tensors_inside(name, value, where))
        for path, tensor in parts:
            if leaves and not (tensor.is_leaf or tensor.retains_grad):
                raise ValueError(f"can't optimize a non-leaf Tensor: {path} has {tensor.grad_fn} ({where})")
        if whole:
            parts = [(name, value)]
        for path, parameter in parts:
            if any(parameter is other for other in tensors):
                raise ValueError(f"some parameters appear more than once in a parameter group: {path} ({where})")
            tensors.append(parameter)
            names.append(path)
    if any(named):
        return tensors, names
    return tensors, None


def _tensors_inside(path: str, value: Any, where: str) -> Iterator[tuple[str, Tensor]]:
    """Yield a tensor, or the floating-point tensors in the fields of a declared array type, with their paths."""
    if isinstance(value, Tensor):
        yield path, value
        return
    parts = []
    if is_structured(value):
        inside = leaves_with_paths(variables_of, value, (path,))
        parts = [
            (".".join(map(str, keys)), part) for keys, part in inside if isinstance(part, Tensor) and is_floating(part)
        ]
    if not parts:
        reason = ""
        if is_structured(value):
            reason = f", which holds no floating-point tensor{beside_fields(value)}"
        raise TypeError(
            f"optimizer can only optimize Tensors, but one of the params is {class_name(type(value))}{reason}: {path} "
            f"({where})"
        )
    yield from parts


def number_of(value: Any, what: str, where: str) -> float:
    """Return an option as a Python number; a tensor or array of one element will do.

    Raises
    ------
    TypeError : if it is no real number
    """
    if isinstance(value, (Tensor, np.ndarray)) and value.size == 1:
        value = value.item()
    if not isinstance(value, numbers.Real):
        raise TypeError(f"Invalid {what}: {value!r} {where}; expected a number")
    return float(value)


def convert_state(
    p: Tensor, state: Mapping[str, Any], buffers: Iterable[str], where: str, counters: Iterable[str] = ()
) -> dict[str, Any]:
    """Return what was saved for a parameter, with tensors of its library in the place of arrays.

    Parameters
    ----------
    p : the parameter
    state : what was saved for it
    buffers : names of the arrays of the parameter's shape
    where : the parameter, for messages
    counters : names of the numbers that keep their dtype, in addition to that of the steps

    Raises
    ------
    TypeError : if `state` is no dictionary, an array cannot be read, a buffer is no array, or complex where the
        parameter is real
    ValueError : if a buffer has another shape than the parameter
    """
    if not isinstance(state, Mapping):
        raise TypeError(f"the state of {where} is a {type(state).__name__}, not a dictionary")
    counts = {"step", *counters}
    result = {key: _convert(p, value, f"{key!r} of {where}", key in counts) for key, value in state.items()}
    for name in buffers:
        part = result.get(name)
        if part is None:
            continue
        if not isinstance(part, Tensor):
            raise TypeError(f"{name!r} of {where} is a {type(part).__name__}, not a tensor or an array of numbers")
        if is_complex(part.dtype) and not is_complex(p.dtype):
            raise TypeError(f"{name!r} of {where} is complex, {part.dtype}, the parameter {p.dtype}")
        if part.shape != p.shape:
            raise ValueError(f"{name!r} of {where} has shape {part.shape}, the parameter {p.shape}")
    return result


def _convert(p: Tensor, value: Any, what: str, counts: bool) -> Any:
    """Return a saved value with tensors of the parameter's dtype, except for the number of steps."""
    if isinstance(value, Tensor) or is_raw(value):
        try:
            like = p
            if counts:
                like = tensor_namespace.zeros(())
            tensor: Tensor = as_array_like(value, like)
        except TypeError as error:
            raise TypeError(f"{what} cannot be read: {error}") from error
        real = tensor.is_floating_point() and p.is_floating_point()
        if counts or not real:
            return tensor
        return tensor_namespace.astype(tensor, p.dtype, copy=False)
    if counts and isinstance(value, numbers.Real):
        return tensor_namespace.tensor(float(value))
    if isinstance(value, dict):
        return {key: _convert(p, part, f"{key!r} in {what}", key == "step") for key, part in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_convert(p, part, what, False) for part in value)
    return value

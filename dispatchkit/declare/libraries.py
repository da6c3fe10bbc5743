"""Which array library computes a call, in programs that use several.

A program that holds NumPy's arrays alone never comes here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import (
    PLAIN,
    foreign,
    is_placed,
    is_raw,
    making_with,
    namespace_of,
    namespace_of_device,
)
from dispatchkit.backends.libraries import brought_to
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.errors import AutogradError, MixedArraysError, RegistrationError
from dispatchkit.graph.node import Node, make_node
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage, vertex_of
from dispatchkit.protocol.densify import surroundings
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form


def common_library(name: str, values: Iterable[Any]) -> Any:
    """Return the namespace that computes on all arrays among some values; None where there is no array.

    Parameters
    ----------
    name : of the operation, for the message
    values : tensors and raw arrays; anything else is passed over

    Raises
    ------
    MixedArraysError : if they belong to several libraries, or are on several devices
    """
    common: Any = None
    for value in values:
        array = value
        if issubclass(type(value), Storage):
            array = value._innermost().array
        if array is value and not isinstance(value, np.ndarray) and type(value) not in foreign:
            continue
        xp = namespace_of(array)
        if common is None:
            common = xp
        elif xp is not common:
            computing = _computing(common, xp)
            if computing is None:
                raise MixedArraysError(name, _describe(common), _describe(xp))
            common = computing
    return common


def same_library(first: Any, *others: Any) -> Any:
    """Return the namespace that computes on raw arrays of one library and device; None for NumPy's and for several."""
    if type(first) is np.ndarray:
        return None
    xp = namespace_of(first)
    cls: type | None = None
    device = getattr(first, "device", None)
    if is_placed(type(first)):
        cls = type(first)
    for other in others:
        alike = cls is type(other) and getattr(other, "device", None) == device
        if not alike and namespace_of(other) is not xp:
            return None
    return xp


def _computing(first: Any, second: Any) -> Any:
    """Return which of two namespaces computes on arrays of both, None where these do not mix.

    They mix where they are of one library, of which one does not say where its arrays are, and where one is NumPy's and
    the other library takes NumPy's arrays.
    """
    if getattr(first, "library", None) is getattr(second, "library", None):
        if second.device is None:
            return second
        if first.device is None:
            return first
        return None
    other = first
    if first is numpy_namespace:
        other = second
    if numpy_namespace in (first, second) and other.takes_numpy:
        return other
    return None


class Moving:
    """The operation of a tensor that was brought to another library; a node of it saves the namespace before."""

    node_name = "ToBackward"
    keeps_output = False
    trusted = True

    def pull_raw(self, node: Any, g: Any) -> tuple[Any]:
        """Return the raw cotangent in the library of the tensor before."""
        array = brought_to(node.saved[0], g)
        return (array.copy() if type(array) is np.ndarray else array,)  # what the other library lends is read-only

    def pull_live(self, node: Any, g: Any) -> tuple[Any]:
        """Return it as a tensor."""
        return (in_library(g, node.saved[0]),)


MOVING = Moving()


def in_library(x: Any, xp: Any) -> Any:
    """Return a tensor of the library of a namespace: itself, or another whose gradient comes back to its own library.

    Raises
    ------
    AutogradError : for a tensor that requires a gradient, where arrays of the two libraries do not mix
    """
    if x.is_tracer:
        return x.map_values(partial(in_library, xp=xp))
    before = namespace_of(x.array)
    if before is xp or (before.__name__ == xp.__name__ and xp.device is None):
        return x
    array, vertex = brought_to(xp, x.array), None
    if x._node is not None and is_grad_enabled():
        if _computing(before, xp) is None:
            text = f"to: a gradient does not flow from {xp.__name__} to {before.__name__}; give x.detach()"
            raise AutogradError(text)
        vertex = make_node(Node, MOVING, (vertex_of(x),), (before,), tuple(array.shape), array.dtype)
    return wrap_array(type(x), array, vertex)


def _describe(xp: Any) -> str:
    if xp.device is None:
        return xp.__name__
    return f"{xp.__name__} on {xp.device}"


def library_like(name: str, like: Any) -> tuple[Any, Any]:
    """Return the namespace that makes arrays like those in a value, and the first of them.

    Parameters
    ----------
    name : of the operation, for the message
    like : a tensor, an array, or an array type that holds some in its fields

    Raises
    ------
    TypeError : if it holds none
    """
    array = first_array(like)
    if array is None:
        raise TypeError(
            f"{name}: like={like!r} holds no array; give a tensor, an array of any library, or an array type with "
            f"arrays in its fields"
        )
    return namespace_of(array), array


def library_of_call(
    operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any], like: Any = None
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Return the namespace that computes a call, and the arguments as it takes them.

    NumPy's scalars are Python's, its indices the library's; what is to be like another array is in its library. Without
    any array the namespace is that which the device belongs to, or that of the body or rule the call is made in.

    Raises
    ------
    MixedArraysError : if the arrays belong to several libraries, or are on several devices
    TypeError : if `like` is given and holds no array
    """
    if like is not None:
        xp, array = library_like(operation.qualified_name, like)

        def bring(name: str, value: Any) -> Any:
            if isinstance(value, Storage):
                return value.to(like=array)  # type: ignore[attr-defined]  # of tensors
            if is_raw(value) and not isinstance(value, np.generic):
                return brought_to(xp, value)
            return as_python(value)

        return xp, *operation.parameters.replace(args, kwargs, bring)
    arguments = args
    if kwargs:
        arguments = (*args, *kwargs.values())
    arrays = [x._innermost().array for x in arguments if isinstance(x, Storage)]
    if arrays and all(_holds_no_array(x) for x in arguments if not isinstance(x, Storage)):
        xp = same_library(*arrays) or common_library(operation.qualified_name, arrays)
        if xp is numpy_namespace or not any(type(array) is np.ndarray for array in arrays):
            return xp, args, kwargs
    else:
        # NumPy's arrays are indices of the arrays of any library.
        values = operation.parameters.values(args, kwargs)
        others = [value for p, value in values if p.form is not Form.INDEX or type(value) is not np.ndarray]
        xp = common_library(operation.qualified_name, others)
    if xp is None:
        return namespace_of_device(kwargs.get("device")), args, kwargs
    if xp is not numpy_namespace:
        args, kwargs = operation.parameters.replace(args, kwargs, lambda name, value: _argument_of(xp, value))
    return xp, args, kwargs


def _holds_no_array(x: Any) -> bool:
    """Return whether an argument is a plain value, or a tuple of these, such as a shape."""
    return type(x) in PLAIN or (type(x) is tuple and PLAIN.issuperset(map(type, x)))


def _argument_of(xp: Any, value: Any) -> Any:
    """Return an argument as functions of a library take it."""
    if isinstance(value, Storage):
        if xp.takes_numpy:
            return in_library(value, xp)
        return value
    array = own_index(xp, as_python(value))
    # A body that calls operations takes tensors alone.
    if xp.takes_numpy and type(value) is np.ndarray:
        return wrap_array(tensor_namespace.Tensor, array)
    return array


def own_index(xp: Any, key: Any) -> Any:
    """Return an index with NumPy's arrays as those of the library of a namespace; anything else as it is."""
    if isinstance(key, tuple):
        return tuple(own_index(xp, part) for part in key)
    foreign_index = type(key) is np.ndarray and xp is not numpy_namespace
    # PyTorch refuses negative strides
    if foreign_index:
        return xp.asarray(np.ascontiguousarray(key))
    return key


def as_python(value: Any) -> Any:
    """Return a NumPy scalar as Python's, which every library takes; anything else as it is."""
    if isinstance(value, np.generic):
        return value.item()
    return value


@contextmanager
def making_for(operation: Overridable, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[None]:
    """Create new arrays in the library of a call's arrays while its body runs on tensors.

    Raises
    ------
    MixedArraysError : if the arrays belong to several libraries, or are on several devices
    """
    parameters = operation.parameters
    xp = common_library(operation.qualified_name, (value for _, value in parameters.values(args, kwargs)))
    with nullcontext() if xp is None else making_with(xp):
        yield


def making_like(value: Any) -> AbstractContextManager[None] | None:
    """Have arrays made from nothing be of the library of the first array in the fields of an array type.

    None where that changes nothing: without such an array, and where all arrays are NumPy's.
    """
    array = None
    if foreign:
        array = first_array(value)
    if array is None:
        return None
    return making_with(namespace_of(array))


def first_array(value: Any) -> Any:
    """Return the first raw array in a tensor, a container or the fields of an array type, None where there is none."""
    # By its type: what stands for an array in a prediction says that it is a tensor, and has no array.
    if issubclass(type(value), Storage):
        return value._innermost().array
    if isinstance(value, (list, tuple, dict)):
        members = value.values() if isinstance(value, dict) else value
        return next((array for array in map(first_array, members) if array is not None), None)
    if not tensor_protocol.types.participates(type(value)):
        if is_raw(value):
            return value
        return None
    try:
        names = tensor_protocol.types.field_names(type(value))
    except RegistrationError:
        return None
    # A property may compute what nobody has asked for; what it computes from is among the instance's attributes.
    stored = [name for name in names if not isinstance(getattr(type(value), name, None), property)]
    held = [getattr(value, name, None) for name in stored] or list(getattr(value, "__dict__", {}).values())
    return next((array for array in map(first_array, held) if array is not None), None)


surroundings.append(making_like)

"""Calls of NumPy's functions in the parameters of operations and compositions: the one place that translates them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form
from dispatchkit.tree import container_items, map_leaves

__all__ = ["Given", "call_composition", "call_operation", "compose", "given_arguments", "put", "to_arrays"]

# NumPy's names of parameters where the operations' are others.
KEYWORDS = {"a_max": "max", "a_min": "min", "ddof": "correction", "newshape": "shape"}
# Without an axis these take the elements in a row.
IN_A_ROW = frozenset({"argsort", "cumprod", "cumsum", "sort", "take"})
# What NumPy 2.0 does not tell of its functions that are written in C.
SIGNATURES: dict[str, Callable[..., Any]] = {
    "concatenate": lambda arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind": None,
    "where": lambda condition, x=None, y=None, /: None,
}

Given = dict[str, Any]


@functools.cache
def _signature(func: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(func)
    except (TypeError, ValueError):
        stated = SIGNATURES.get(getattr(func, "__name__", ""))
        return None if stated is None else inspect.signature(stated)


def given_arguments(
    func: Callable[..., Any], stated: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Given | None:
    """Return what a call gives by NumPy's names, without what has its default value; None for a wrong call.

    Parameters
    ----------
    func : NumPy's function
    stated : has the parameters, where NumPy does not tell those of `func`
    args, kwargs : of the call
    """
    signature = _signature(func) or _signature(stated)
    if signature is None:
        return None
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return None
    defaults = {name: p.default for name, p in signature.parameters.items()}
    return {
        name: value
        for name, value in given.items()
        if defaults[name] is inspect.Parameter.empty or not _is_default(value, defaults[name])
    }


def _is_default(value: Any, default: Any) -> bool:
    """Return whether an argument says nothing: it is the default, or equal to one that is a name or a flag."""
    return value is default or (isinstance(default, (str, bool)) and type(value) is type(default) and value == default)


def call_composition(composed: Callable[..., Any], given: Given) -> Any:
    """Return the result of a composition; `NotImplemented` where it does not take what is given."""
    signature = _signature(composed)
    if signature is None or not signature.parameters.keys() >= given.keys():
        return NotImplemented
    bound = inspect.BoundArguments(signature, given)
    return compose(composed, *bound.args, **bound.kwargs)


def compose(composed: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the result of a composition, whose plain 0, NaN and infinities fit every array."""
    token = tensor_protocol.composing.set(True)
    try:
        return composed(*args, **kwargs)
    finally:
        tensor_protocol.composing.reset(token)


def call_operation(func: Callable[..., Any], operation: Overridable, given: Given) -> Any:
    """Return the result of the operation of a NumPy function; `NotImplemented` where it does not take what is given."""
    signature = _signature(func)
    if signature is None:
        return NotImplemented
    parameters = operation.parameters.signature.parameters
    single = {p.name for p in operation.parameters.arrays if p.form is Form.ONE}
    positional = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_ONLY]
    axis = signature.parameters.get("axis")
    if func.__name__ in IN_A_ROW and axis is not None and given.get("axis", axis.default) is None:
        first = next(iter(given))
        given = given | {first: tensor_namespace.ravel(_array(given[first])), "axis": 0}
    elif func.__name__ in IN_A_ROW and "axis" not in given and axis is not None:
        given = given | {"axis": axis.default}
    own: list[Any] = []
    keywords: Given = {}
    for place, p in enumerate(signature.parameters.values()):
        if p.name not in given:
            continue
        value = given[p.name]
        if p.kind is p.VAR_POSITIONAL:
            own += value
        elif place < len(positional):
            own.append(_array(value) if positional[place] in single else value)
        else:
            keywords[KEYWORDS.get(p.name, p.name)] = value
    try:
        operation.parameters.signature.bind(*own, **keywords)
    except TypeError:
        return NotImplemented
    return operation.function(*own, **keywords)


def _array(value: Any) -> Any:
    """Return a list of numbers as an array, as NumPy's functions take it."""
    return tensor_namespace.asarray(value) if isinstance(value, (list, tuple)) else value


def put(out: Any, result: Any) -> Any:
    """Write a result where the caller wants it."""
    out[...] = result if tensor_protocol.types.participates(type(out)) else np.asarray(result)
    return out


def to_arrays(value: Any) -> Any:
    """Return arguments with NumPy arrays in the place of tensors and array types."""

    def to_array(leaf: Any) -> Any:
        return np.asarray(leaf) if tensor_protocol.types.participates(type(leaf)) else leaf

    return map_leaves(container_items, to_array, value)

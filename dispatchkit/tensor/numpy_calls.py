"""NumPy's functions called on tensors and array types: answered by the operation of the same meaning.

A function that is no operation here gets NumPy arrays of the tensors and gives NumPy arrays back, as it would without
the protocol; a type that cannot become one declines.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable, of
from dispatchkit.protocol.parameters import Form
from dispatchkit.tensor.dense_arrays import has_numpy_array

__all__ = ["array_function", "array_ufunc"]

# NumPy's names where the array API's, and so the operations', are others.
NAMES = {
    "absolute": "abs",
    "amax": "max",
    "amin": "min",
    "arctan2": "atan2",
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "around": "round",
    "bitwise_not": "bitwise_invert",
    "concatenate": "concat",
    "conjugate": "conj",
    "copy": "clone",
    "cumprod": "cumulative_prod",
    "cumsum": "cumulative_sum",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "psi": "digamma",
    "right_shift": "bitwise_right_shift",
    "true_divide": "divide",
}
KEYWORDS = {"a_max": "max", "a_min": "min", "ddof": "correction", "newshape": "shape"}
# Of the same name, but of another meaning than NumPy's.
OTHERS = frozenset({"diagonal", "dot", "empty", "empty_like", "trace"})
# Without an axis these take the elements in a row.
IN_A_ROW = frozenset({"argsort", "cumprod", "cumsum", "sort", "take"})
REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
ATTRIBUTES = frozenset({"ndim", "shape", "size"})


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Answer a universal function of NumPy or SciPy by the operation of the same name, or by itself on arrays."""
    name = ufunc.__name__
    given = {key: value for key, value in kwargs.items() if key != "out"}
    out = kwargs.get("out", (None,))[0]
    if method == "reduce" and name in REDUCTIONS and not given.keys() - {"axis", "keepdims", "dtype"}:
        given = {"axis": 0} | {key: value for key, value in given.items() if value is not None or key == "axis"}
        result = getattr(tensor_namespace, REDUCTIONS[name])(*inputs, **given)
    elif method == "__call__" and not given and (function := _operation_of_universal(name)) is not None:
        result = function(*inputs)
    else:
        several = kwargs.get("out", ())
        written = inputs[:1] if method == "at" else several  # in place, which tensors would not see
        known = all(_becomes_array(type(value)) for value in (*inputs, *several))
        if not known or any(tensor_protocol.types.participates(type(value)) for value in written):
            return NotImplemented
        return getattr(ufunc, method)(*_as_arrays(inputs), **_as_arrays(kwargs))
    return result if out is None else _put(out, result)


@functools.cache
def _operation_of_universal(name: str) -> Callable[..., Any] | None:
    """Return the operation that is the universal function of a name, None where there is none."""
    named = NAMES.get(name, name)
    for place in (tensor_namespace, getattr(tensor_namespace, "special", None)):
        function = getattr(place, named, None)
        if of(function) is not None:
            return function
    return None


def _becomes_array(cls: type) -> bool:
    """Return whether NumPy computes with a type without asking it, or makes an array of it."""
    if issubclass(cls, (np.ndarray, np.generic, int, float, complex)):
        return True
    return tensor_protocol.types.participates(cls) and has_numpy_array(cls)


def array_function(
    self: Any, func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Answer a NumPy function by the operation of the same meaning, or by NumPy on arrays."""
    records = tensor_protocol.types
    if not all(issubclass(cls, np.ndarray) or records.participates(cls) for cls in types):
        return NotImplemented
    if func.__name__ in ATTRIBUTES and len(args) == 1 and not kwargs and records.participates(type(args[0])):
        return getattr(args[0], func.__name__)
    operation = _operation(func)
    call = None if operation is None else _translated(func, operation, args, dict(kwargs))
    if operation is not None and call is not None:
        out, own, keywords = call
        result = operation.function(*own, **keywords)
        return result if out is None else _put(out, result)
    if not all(map(_becomes_array, types)):
        return NotImplemented
    return func(*_as_arrays(args), **_as_arrays(dict(kwargs)))


def _put(out: Any, result: Any) -> Any:
    """Write a result where the caller wants it."""
    out[...] = result if isinstance(out, Storage) else np.asarray(result)
    return out


@functools.cache
def _operation(func: Callable[..., Any]) -> Overridable | None:
    """Return the operation that a NumPy function is here, None where it is none."""
    module, name = getattr(func, "__module__", "") or "", getattr(func, "__name__", "")
    if name in OTHERS or module.partition(".")[0] != "numpy":
        return None
    place: Any = tensor_namespace
    for part in module.split(".")[1:]:
        place = getattr(place, part, None)
    return of(getattr(place, NAMES.get(name, name), None))


@functools.cache
def _signature(func: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(func)
    except (TypeError, ValueError):
        return None


def _translated(
    func: Callable[..., Any], operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """Return a call in the operation's own parameters, with what it is to be written into; None where there is none."""
    signature = _signature(func)
    if signature is None:
        return None
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return None
    parameters = operation.parameters.signature.parameters
    single = {p.name for p in operation.parameters.arrays if p.form is Form.ONE}
    positional = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_ONLY]
    out = given.pop("out", None)
    axis = signature.parameters.get("axis")
    if func.__name__ in IN_A_ROW and axis is not None and given.get("axis", axis.default) is None:
        given["axis"] = 0
        first = next(iter(given))
        given[first] = tensor_namespace.ravel(_array(given[first]))
    own: list[Any] = []
    keywords: dict[str, Any] = {}
    for place, p in enumerate(signature.parameters.values()):
        if p.name not in given:
            continue
        value = given[p.name]
        if p.kind is p.VAR_POSITIONAL:
            own += value
        elif place < len(positional):
            own.append(_array(value) if positional[place] in single else value)
        elif value is not p.default:
            keywords[KEYWORDS.get(p.name, p.name)] = value
    try:
        operation.parameters.signature.bind(*own, **keywords)
    except TypeError:
        return None
    return out, tuple(own), keywords


def _array(value: Any) -> Any:
    """Return a list of numbers as an array, as NumPy's functions take it."""
    return tensor_namespace.asarray(value) if isinstance(value, (list, tuple)) else value


def _as_arrays(value: Any) -> Any:
    """Return arguments with NumPy arrays in the place of tensors and array types."""
    if isinstance(value, (list, tuple)):
        members = [_as_arrays(member) for member in value]
        return type(value)(*members) if hasattr(value, "_fields") else type(value)(members)
    if isinstance(value, dict):
        return {key: _as_arrays(member) for key, member in value.items()}
    return np.asarray(value) if tensor_protocol.types.participates(type(value)) else value

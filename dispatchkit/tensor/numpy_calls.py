"""NumPy's functions called on tensors and array types: answered as the table says.

A function that NumPy computes itself gets NumPy arrays of the tensors and gives NumPy arrays back, as it would without
the protocol; a type that cannot become one is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor.dense_arrays import has_numpy_array
from dispatchkit.tensor.numpy_arguments import (
    as_array,
    call_composition,
    call_operation,
    compose,
    given_arguments,
    is_operand,
    operands,
    put,
    to_arrays,
)
from dispatchkit.tensor.numpy_table import WRITERS, Answer, answer_of, operation_of_universal, path_of
from dispatchkit.tensor.numpy_universal import universal

__all__ = ["array_function", "array_ufunc"]

REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
    "logaddexp": "logsumexp",
}
ACCUMULATIONS = {"add": "cumulative_sum", "multiply": "cumulative_prod"}
# What a reduction puts in the place of elements that `where` leaves out.
NEUTRAL = {"add": 0, "multiply": 1, "logical_and": True, "logical_or": False}
# Keywords of universal functions that say nothing, with these values.
DEFAULTS = {"where": True, "casting": "same_kind", "order": "K", "subok": True, "dtype": None}


def array_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer a universal function of NumPy or SciPy by the operation of the same name, or by itself on arrays."""
    outs = kwargs.pop("out", ())
    given = {key: value for key, value in kwargs.items() if key not in DEFAULTS or value is not DEFAULTS[key]}
    plain = all(map(is_operand, map(type, (*inputs, *outs))))
    if not plain and any(_answers_itself(type(value)) for value in (*inputs, *outs)):
        return NotImplemented
    answer = answer_of(ufunc)
    if answer is not None and answer.how == "declined":
        raise TypeError(f"numpy.{ufunc.__name__} takes no tensors and array types: {answer.text}")
    result = _computed(ufunc.__name__, method, inputs, dict(given), outs, plain=plain)
    if result is NotImplemented:
        return _on_arrays(ufunc, method, inputs, given, outs)
    if not outs:
        return result
    if not isinstance(result, tuple):
        return put(outs[0], result)
    return tuple(one if out is None else put(out, one) for out, one in zip(outs, result, strict=True))


def _answers_itself(cls: type) -> bool:
    """Return whether a type that does not take part answers universal functions itself."""
    return not is_operand(cls) and getattr(cls, "__array_ufunc__", None) is not None


def _on_arrays(ufunc: Any, method: str, inputs: tuple[Any, ...], given: Mapping[str, Any], outs: Any) -> Any:
    """Return what NumPy computes on arrays; `NotImplemented` where it would write into a tensor unseen."""
    written = inputs[:1] if method == "at" else outs
    known = all(_becomes_array(type(value)) for value in (*inputs, *outs))
    if any(tensor_protocol.types.participates(type(value)) for value in written):
        return NotImplemented
    if not known:
        _check_dense(ufunc.__name__, map(type, inputs))
        return NotImplemented
    arrays, keywords = to_arrays(ufunc.__name__, (inputs, dict(given)))
    return getattr(ufunc, method)(*arrays, **keywords, **({"out": outs} if outs else {}))


def _computed(
    name: str, method: str, inputs: tuple[Any, ...], given: dict[str, Any], outs: tuple[Any, ...], *, plain: bool
) -> Any:
    """Return the result of operations, which take `plain` inputs as they are; `NotImplemented` without an answer."""
    if method == "reduce":
        return compose(_reduced, name, inputs[0], {"axis": 0} | given)
    function = operation_of_universal(name)
    weak = function is not None
    if function is None and name in universal:
        function = partial(compose, universal[name])
    if function is None:
        return NotImplemented
    if not (plain and weak):
        inputs = operands(name, inputs, weak=weak)
    if method == "accumulate" and name in ACCUMULATIONS and given.keys() <= {"axis", "dtype"}:
        return getattr(tensor_namespace, ACCUMULATIONS[name])(*inputs, **{"axis": 0} | given)
    if method == "outer" and not given:
        first, second = map(as_array, inputs)
        return function(tensor_namespace.reshape(first, (*first.shape, *(1,) * second.ndim)), second)
    if method != "__call__" or given.keys() - {"dtype", "where"}:
        return NotImplemented
    if "dtype" in given:
        dtype = np.dtype(given["dtype"])
        if not all(np.can_cast(getattr(x, "dtype", dtype), dtype, "same_kind") for x in inputs):
            return NotImplemented
        inputs = tuple(as_array(x, dtype) for x in inputs)
    if "where" not in given:
        return function(*inputs)
    if len(outs) != 1 or outs[0] is None:
        return NotImplemented  # the elements that are left out have no value
    return tensor_namespace.where(as_array(given["where"]), function(*inputs), as_array(outs[0]))


def _reduced(name: str, x: Any, given: dict[str, Any]) -> Any:
    """Return a reduction by a universal function; `NotImplemented` where it is no operation."""
    where, initial = given.pop("where", None), given.pop("initial", None)
    neutral = NEUTRAL.get(name, initial)
    if name not in REDUCTIONS or given.keys() - {"axis", "keepdims", "dtype"}:
        return NotImplemented
    if ("dtype" in given and name not in ACCUMULATIONS) or (where is not None and neutral is None):
        return NotImplemented
    if where is not None and name.startswith("logical"):
        x = x != 0
    if where is not None:
        x = tensor_namespace.where(as_array(where), x, neutral)
    result = getattr(tensor_namespace, REDUCTIONS[name])(x, **given)
    if initial is None:
        return result
    combined: Any = operation_of_universal(name)
    return combined(result, initial)


def _becomes_array(cls: type) -> bool:
    """Return whether NumPy computes with a type without asking it, or makes an array of it."""
    if issubclass(cls, (np.ndarray, np.generic, int, float, complex, list, tuple)):
        return True
    return tensor_protocol.types.participates(cls) and has_numpy_array(cls)


def _check_dense(name: str | None, types: Iterable[type]) -> None:
    """Raise for a type that NumPy can make no array of."""
    for cls in types:
        if tensor_protocol.types.participates(cls) and not _becomes_array(cls):
            raise TypeError(
                f"no implementation found for 'numpy.{name}' on {cls.__name__}: NumPy computes it on arrays, and the "
                f"type has no dense form; define to_dense()"
            )


def array_function(
    func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Answer a NumPy function by the operation of the same meaning, by several, or by NumPy on arrays."""
    records = tensor_protocol.types
    if not all(issubclass(cls, np.ndarray) or records.participates(cls) for cls in types):
        return NotImplemented
    answer, path = answer_of(func), path_of(func)
    if answer is not None:
        if answer.how == "declined" and not (path in WRITERS and _writes_an_array(args, kwargs)):
            raise TypeError(f"numpy.{path} takes no tensors and array types: {answer.text}")
        if answer.how == "attribute" and len(args) == 1 and not kwargs and records.participates(type(args[0])):
            return getattr(args[0], answer.text)
        result = _answered(func, path or func.__name__, answer, args, kwargs)
        if result is not NotImplemented:
            return result
    _check_dense(path, types)
    arrays, keywords = to_arrays(path, (args, dict(kwargs)))
    return func(*arrays, **keywords)


def _writes_an_array(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Return whether the first argument, which a function changes, is an array of NumPy."""
    first = next(iter((*args, *kwargs.values())), None)
    return isinstance(first, np.ndarray)


def _answered(
    func: Callable[..., Any], path: str, answer: Answer, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Return the result of an operation or a composition; `NotImplemented` where it does not take what is given."""
    if answer.how not in ("operation", "composition"):
        return NotImplemented
    if answer.text == "asarray":
        return answer.composition(*args, **kwargs)  # type: ignore[misc]  # which makes a tensor of what NumPy gives
    given = given_arguments(func, answer.composition or func, args, kwargs)
    if given is None:
        return NotImplemented
    out = given.pop("out", None)
    result: Any = NotImplemented
    if answer.operation is not None:
        result = call_operation(func, answer.operation, path, given)
    if result is NotImplemented and answer.composition is not None:
        result = call_composition(answer.composition, path, given)
    return result if out is None or result is NotImplemented else put(out, result)

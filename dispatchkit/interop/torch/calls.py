"""What answers PyTorch's functions on tensors and array types: an operation, or PyTorch on the dense form."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch.overrides import resolve_name

from dispatchkit.as_torch.calling.arguments import ARGUMENTS_OF, arguments_by_parameter, parameters_of
from dispatchkit.as_torch.table import NAMES, OTHERS, TRANSLATIONS, NotTranslated
from dispatchkit.backends.arrays import dtype_name, making_with, namespace_of
from dispatchkit.declare.libraries import first_array
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.errors import TorchCallError
from dispatchkit.interop.torch.tensors import closed, mapped, opened, to_torch
from dispatchkit.nn import functional  # noqa: F401  # its operations are in the namespace once it is loaded
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.overridable import Overridable, of
from dispatchkit.protocol.surface import REFLECTED
from dispatchkit.tensor import Tensor


def reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(input: Any, other: Any) -> Any:
        return function(other, input)

    return call


# The methods that Python calls for operators, on PyTorch's tensor first; it has some as `add`, `sub`, `mul` and `div`.
for _member in tensor_protocol.surface:
    if _member.name in REFLECTED and _member.operation is not None:
        _function = _member.operation.function
        if _member.name not in ("__add__", "__sub__", "__mul__", "__truediv__"):
            TRANSLATIONS[_member.name] = _function
        if _member.name not in ("__add__", "__mul__"):
            TRANSLATIONS[REFLECTED[_member.name]] = reflected(_function)
TRANSLATIONS["__radd__"], TRANSLATIONS["__rdiv__"] = TRANSLATIONS["add"], TRANSLATIONS["__rtruediv__"]


@functools.cache
def path_of(func: Callable[..., Any]) -> str:
    """Return the name of a function inside `torch`, such as ``"linalg.solve"``; of a method that of its function."""
    path = (resolve_name(func) or "").removeprefix("torch.")
    if path.startswith("Tensor."):
        return path.removeprefix("Tensor.")
    path = path.removeprefix("functional.")
    # Some functions have several names in `torch`, of which `resolve_name` finds the first: `spmm` is `mm`.
    if "." in path:
        return path
    return getattr(func, "__name__", path)


@functools.cache
def method_name(func: Callable[..., Any]) -> str | None:
    """Return the name of a method of PyTorch's tensors, None for what is no method."""
    path = resolve_name(func) or ""
    if path.startswith("torch.Tensor."):
        return path.removeprefix("torch.Tensor.")
    return None


@functools.cache
def operation_of(path: str) -> Overridable | None:
    """Return the operation of the same meaning as a function of PyTorch, None where there is none."""
    if path in OTHERS or path in TRANSLATIONS:
        return None
    place: Any = tensor_namespace
    for part in NAMES.get(path, path).split("."):
        place = getattr(place, part, None)
    return of(place)


def is_array(value: Any) -> bool:
    """Return whether a value is a tensor of either library, or an array type."""
    return isinstance(value, torch.Tensor) or tensor_protocol.types.participates(type(value))


def fits(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Return whether a function of Python takes a call."""
    try:
        _signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


_signature = functools.cache(inspect.signature)


@functools.cache
def defaults_of(func: Callable[..., Any]) -> dict[str, Any]:
    """Return the defaults of a function of Python; those of others are not known."""
    try:
        return {p.name: p.default for p in inspect.signature(func).parameters.values()}
    except (TypeError, ValueError):
        return {}


Call = Callable[..., Any]
PLAIN = torch.Tensor.__torch_function__.__func__


def answer(func: Call, types: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer a function or method of PyTorch that was called with a tensor or array type.

    Returns
    -------
    plain results as PyTorch's tensors; array types and subclasses of `Tensor` around PyTorch's tensors. Another
    library's type with a ``__torch_function__`` of its own is asked in its turn

    Raises
    ------
    TorchCallError : where no operation has the meaning of the function, and a type has no dense fallback; for methods,
        in the place of any `TypeError`, which PyTorch would take for an answer
    """
    if torch.compiler.is_dynamo_compiling():
        return outside(func, types, args, kwargs)
    if not all(_known(cls) for cls in types):
        return NotImplemented
    method = method_name(func)
    try:
        return _answered(func, path_of(func), args, kwargs)
    except TypeError as error:
        # In operators PyTorch drops a TypeError: `t == d` would be False.
        if method is None:
            raise
        raise TorchCallError(f"torch.Tensor.{method}", _names(args, kwargs), str(error)) from error


# Operations run as they are between the graphs that `torch.compile` makes of the rest.
outside = torch.compiler.disable(answer)


def _known(cls: type) -> bool:
    """Return whether values of a type are given to operations: dispatchkit's, and PyTorch's own tensors."""
    method = getattr(cls, "__torch_function__", None)
    return tensor_protocol.types.participates(cls) or getattr(method, "__func__", None) is PLAIN


def _answered(func: Call, path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    inplace = path.endswith("_") and not path.endswith("__")
    if inplace:
        target, path = args[0], path[:-1]
    else:
        target = kwargs.pop("out", None)
    try:
        result = _by_operations(func, path, args, kwargs)
    except NotTranslated:
        if target is not None and not inplace:
            kwargs["out"] = target
        return _on_dense(func, args, kwargs)
    if target is None:
        return result
    if not isinstance(target, torch.Tensor):
        raise TypeError(f"the result cannot be written into a {type_name(type(target))}")
    return target.copy_(to_torch(result))


def _by_operations(func: Call, path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the answer of the operation of a name in `torch`.

    Raises
    ------
    NotTranslated : where there is none, or it has no such parameter
    """
    function = TRANSLATIONS.get(path)
    operation = None
    if function is None:
        operation = operation_of(path)
    if function is None and operation is None:
        raise NotTranslated
    operands, keywords = mapped(opened, (args, kwargs))
    if operation is not None:
        operands, keywords = _call_of(func, path, operation, operands, keywords)
        function = operation.function
    assert function is not None
    if operation is None and (kwargs.get("inplace") or not fits(function, operands, keywords)):
        raise NotTranslated
    first = first_array((operands, keywords))
    if first is None:
        library: Any = nullcontext()
    else:
        library = making_with(namespace_of(first))
    with library:
        result = mapped(closed, function(*operands, **keywords))
    kind = getattr(torch.return_types, path.replace(".", "_"), None)
    if kind is None or not isinstance(result, tuple):
        return result
    return kind(result)


def _call_of(
    func: Call, path: str, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return a call of a function of PyTorch in the parameters of an operation.

    Raises
    ------
    NotTranslated : if the operation has no such parameter
    """
    parameters = operation.parameters
    arrays_alone = (parameters.unary and len(args) == 1) or (parameters.binary and len(args) == 2)
    if arrays_alone and not kwargs:
        return args, kwargs
    if kwargs.get("inplace"):
        raise NotTranslated
    targets, signature, defaults = parameters_of(path, operation), parameters.signature, defaults_of(func)
    names = ARGUMENTS_OF.get(path) or list(targets)
    kwargs = {name: x for name, x in kwargs.items() if name in targets or not _is_default(x, defaults.get(name, False))}
    try:
        arguments = arguments_by_parameter(path, names, targets, args, kwargs)
        first = [p.name for p in signature.parameters.values() if p.kind is p.POSITIONAL_ONLY]
        positional = tuple(_convert_option(arguments.pop(name)) for name in first if name in arguments)
        keywords = {name: _convert_option(value) for name, value in arguments.items() if value is not None}
        signature.bind(*positional, **keywords)
    except TypeError:
        raise NotTranslated from None
    return positional, keywords


def _is_default(value: Any, default: Any) -> bool:
    comparable = isinstance(value, (bool, int, float, str)) and type(value) is type(default)
    return value is None or (comparable and value == default)


def _convert_option(value: Any) -> Any:
    """Return a dtype of PyTorch as NumPy's where it has it, a list of integers as a tuple."""
    if isinstance(value, torch.dtype):
        return getattr(np, dtype_name(value), value)
    if isinstance(value, list) and all(isinstance(item, int) for item in value):
        return tuple(value)
    return value


def _on_dense(func: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what PyTorch computes on the dense form of array types.

    Raises
    ------
    TorchCallError : if a type declares no dense fallback, or its dense copy would be changed and thrown away
    """
    owner = ""
    if method_name(func):
        owner = "Tensor."
    name = f"torch.{owner}{path_of(func)}"
    if kwargs.get("inplace") and is_array(args[0]):
        raise TorchCallError(name, _names(args, kwargs), "inplace=True would change a dense copy; leave it out")

    def dense(value: Any) -> Any:
        cls = type(value)
        if isinstance(value, torch.Tensor):
            return value
        if not isinstance(value, Tensor) and "dense" not in tensor_protocol.types.fallback(cls).names:
            reason = f"no operation has its meaning, and {type_name(cls)} does not declare fallback.dense"
            raise TorchCallError(name, _names(args, kwargs), reason)
        return to_torch(value)

    args, kwargs = mapped(dense, (args, kwargs))
    return func(*args, **kwargs)


def _names(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    names: list[str] = []

    def note(value: Any) -> Any:
        cls = type(value)
        if isinstance(value, torch.Tensor):
            name = "torch.Tensor"
        else:
            name = type_name(cls)
        names.append(name)
        return value

    mapped(note, (args, kwargs))
    return list(dict.fromkeys(names))

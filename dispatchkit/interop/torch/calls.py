"""What answers PyTorch's functions on tensors and array types: an operation, or PyTorch on the dense form."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.overrides import resolve_name

from dispatchkit.as_torch.table import KEYWORDS, NAMES, OTHERS, TRANSLATIONS, NotTranslated
from dispatchkit.backends.arrays import dtype_name, making_with, namespace_of
from dispatchkit.declare.libraries import first_array
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.errors import TorchCallError
from dispatchkit.interop.torch.tensors import closed, mapped, opened, to_torch
from dispatchkit.nn import functional  # noqa: F401  # its operations are in the namespace once it is loaded
from dispatchkit.protocol.callers import REFLECTED
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable, of
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
    return path if "." in path else getattr(func, "__name__", path)


@functools.cache
def method_name(func: Callable[..., Any]) -> str | None:
    """Return the name of a method of PyTorch's tensors, None for what is no method."""
    path = resolve_name(func) or ""
    return path.removeprefix("torch.Tensor.") if path.startswith("torch.Tensor.") else None


@functools.cache
def operation_of(path: str) -> Overridable | None:
    """Return the operation of the same meaning as a function of PyTorch, None where there is none."""
    if path in OTHERS or path in TRANSLATIONS:
        return None
    place: Any = tensor_namespace
    for part in NAMES.get(path, path).split("."):
        place = getattr(place, part, None)
    return of(place)


NO_DEFAULT = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function of PyTorch.

    Attributes
    ----------
    name : as PyTorch's Python functions take it
    kind : type in the schema, such as ``"Tensor"`` or ``"Optional[int]"``; ``"any"`` where it is not known
    default : `NO_DEFAULT` where there is none
    keyword : whether it goes by name alone
    """

    name: str
    kind: str
    default: Any
    keyword: bool


def bound(
    func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[str], dict[str, Any]] | None:
    """Return the names of a function's parameters in order, and the arguments of a call that are no defaults.

    Parameters
    ----------
    func, args, kwargs : the call

    Returns
    -------
    None where the call fits no signature that is known
    """
    for parameters in signatures(func):
        arguments = _bound(parameters, args, kwargs)
        if arguments is not None:
            return [p.name for p in parameters], arguments
    return None


def _bound(parameters: Sequence[Parameter], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
    by_place = [p for p in parameters if not p.keyword]
    if len(args) > len(by_place):
        return None
    arguments = dict(zip([p.name for p in by_place], args, strict=False))
    if not arguments.keys().isdisjoint(kwargs):
        return None
    arguments.update(kwargs)
    if not arguments.keys() <= {p.name for p in parameters}:
        return None
    for p in parameters:
        if p.name not in arguments:
            if p.default is NO_DEFAULT:
                return None
        elif not _fits(p.kind, arguments[p.name]):
            return None
    return {
        p.name: arguments[p.name]
        for p in parameters
        if p.name in arguments and not _is_default(arguments[p.name], p.default)
    }


def _is_default(value: Any, default: Any) -> bool:
    comparable = isinstance(value, (int, float, str)) and type(value) is type(default)
    return value is default or (comparable and value == default)


def _fits(kind: str, value: Any) -> bool:
    """Return whether a value is of a type of PyTorch's schemas."""
    if kind.startswith("Optional["):
        if value is None:
            return True
        kind = kind.removeprefix("Optional[").removesuffix("]")
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind == "Tensor":
        return is_array(value) or isinstance(value, (int, float, complex))
    if kind == "List[Tensor]":
        return isinstance(value, (list, tuple))
    if kind in ("int", "SymInt"):
        return whole
    if kind in ("List[int]", "List[SymInt]"):
        return whole or (isinstance(value, (list, tuple)) and all(isinstance(item, int) for item in value))
    if kind == "bool":
        return isinstance(value, bool)
    if kind in ("number", "Scalar", "float"):
        return isinstance(value, (int, float, complex))
    return value is not None if kind != "any" else True


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
def signatures(func: Callable[..., Any]) -> tuple[tuple[Parameter, ...], ...]:
    """Return the signatures of a function, one for each overload, without those that write into an argument."""
    try:
        signature = inspect.signature(func)
    except (TypeError, ValueError):
        schemas = torch._C._jit_get_schemas_for_operator(f"aten::{func.__name__}")
        return tuple(_of_schema(schema) for schema in schemas if _computes(schema))
    return (tuple(_of_python(signature)),)


def _computes(schema: Any) -> bool:
    """Return whether a schema is of tensors, and gives its result back."""
    kinds = [str(argument.type) for argument in schema.arguments]
    return any("Tensor" in kind for kind in kinds) and not any(argument.is_out for argument in schema.arguments)


def _of_schema(schema: Any) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(
            "input" if argument.name == "self" else argument.name,
            str(argument.type),
            argument.default_value if argument.has_default_value() else NO_DEFAULT,
            argument.kwarg_only,
        )
        for argument in schema.arguments
    )


def _of_python(signature: inspect.Signature) -> Iterator[Parameter]:
    for p in signature.parameters.values():
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            yield Parameter(p.name, "any", p.default, p.kind is p.KEYWORD_ONLY)


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
    target = args[0] if inplace else kwargs.pop("out", None)
    path = path[:-1] if inplace else path
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
    operation = None if function is not None else operation_of(path)
    if function is None and operation is None:
        raise NotTranslated
    own, keywords = mapped(opened, (args, kwargs))
    if operation is not None:
        own, keywords = _call_of(func, operation, own, keywords)
        function = operation.function
    assert function is not None
    if operation is None and not fits(function, own, keywords):
        raise NotTranslated
    first = first_array((own, keywords))
    with nullcontext() if first is None else making_with(namespace_of(first)):
        result = mapped(closed, function(*own, **keywords))
    kind = getattr(torch.return_types, path.replace(".", "_"), None)
    return result if kind is None or not isinstance(result, tuple) else kind(result)


def _call_of(
    func: Call, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return a call of a function of PyTorch in the parameters of an operation.

    Raises
    ------
    NotTranslated : if the operation has no such parameter
    """
    parameters = operation.parameters
    if not kwargs and len(args) == (2 if parameters.binary else 1 if parameters.unary else -1):
        return args, kwargs
    call = bound(func, args, kwargs)
    if call is None:
        raise NotTranslated
    order, arguments = call
    signature = parameters.signature.parameters
    by_place = [p for p in signature.values() if p.kind is p.POSITIONAL_ONLY]
    positional = []
    for name, _ in zip(order, by_place, strict=False):
        if name not in arguments:
            raise NotTranslated
        positional.append(_converted(arguments.pop(name)))
    keywords = {}
    for name, value in arguments.items():
        renamed = next((candidate for candidate in (name, *KEYWORDS.get(name, ())) if candidate in signature), None)
        if renamed is None:
            raise NotTranslated
        keywords[renamed] = _converted(value)
    try:
        parameters.signature.bind(*positional, **keywords)
    except TypeError:
        raise NotTranslated from None
    return tuple(positional), keywords


def _converted(value: Any) -> Any:
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
    name = f"torch.{'Tensor.' if method_name(func) else ''}{path_of(func)}"
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
    found: list[str] = []

    def note(value: Any) -> Any:
        cls = type(value)
        found.append("torch.Tensor" if isinstance(value, torch.Tensor) else type_name(cls))
        return value

    mapped(note, (args, kwargs))
    return list(dict.fromkeys(found))

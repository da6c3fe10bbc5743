"""What answers PyTorch's functions on tensors and array types: an operation, or PyTorch on the dense form."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch

from dispatchkit.backends.arrays import dtype_name, making_with, namespace_of
from dispatchkit.declare.libraries import first_array
from dispatchkit.errors import TorchCallError
from dispatchkit.interop.torch.functions import closed
from dispatchkit.interop.torch.names import KEYWORDS, method_name, operation_of, path_of
from dispatchkit.interop.torch.signatures import bound, fits, is_array
from dispatchkit.interop.torch.tensors import mapped, opened, to_torch
from dispatchkit.interop.torch.translations import TRANSLATIONS, NotTranslated
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.tensor import Tensor

__all__ = ["answer"]

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
    return tensor_protocol.types.participates(cls) or getattr(cls.__torch_function__, "__func__", None) is PLAIN


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
    translated = TRANSLATIONS.get(path)
    operation = None if translated is not None else operation_of(path)
    if translated is None and operation is None:
        raise NotTranslated
    own, keywords = mapped(opened, (args, kwargs))
    if operation is not None:
        own, keywords = _call_of(func, operation, own, keywords)
    elif not fits(translated, own, keywords):
        raise NotTranslated
    first = first_array((own, keywords))
    with nullcontext() if first is None else making_with(namespace_of(first)):
        function = translated if operation is None else operation.function
        assert function is not None
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
    found = bound(func, args, kwargs)
    if found is None:
        raise NotTranslated
    order, given = found
    signature = parameters.signature.parameters
    by_place = [p for p in signature.values() if p.kind is p.POSITIONAL_ONLY]
    own = []
    for name, _ in zip(order, by_place, strict=False):
        if name not in given:
            raise NotTranslated
        own.append(_converted(given.pop(name)))
    keywords = {}
    for name, value in given.items():
        renamed = next((one for one in (name, *KEYWORDS.get(name, ())) if one in signature), None)
        if renamed is None:
            raise NotTranslated
        keywords[renamed] = _converted(value)
    try:
        parameters.signature.bind(*own, **keywords)
    except TypeError:
        raise NotTranslated from None
    return tuple(own), keywords


def _converted(value: Any) -> Any:
    """Return a dtype of PyTorch as NumPy's where it has it, a list of integers as a tuple."""
    if isinstance(value, torch.dtype):
        return getattr(np, dtype_name(value), value)
    if isinstance(value, list) and all(isinstance(one, int) for one in value):
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

"""The signatures of PyTorch's functions: those of its operator schemas, and of its functions in Python."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from dispatchkit.protocol.instance import tensor_protocol

__all__ = ["bound", "fits", "is_array"]

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
        given = _bound(parameters, args, kwargs)
        if given is not None:
            return [p.name for p in parameters], given
    return None


def _bound(parameters: Sequence[Parameter], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
    by_place = [p for p in parameters if not p.keyword]
    if len(args) > len(by_place):
        return None
    given = dict(zip([p.name for p in by_place], args, strict=False))
    if not given.keys().isdisjoint(kwargs):
        return None
    given.update(kwargs)
    if not given.keys() <= {p.name for p in parameters}:
        return None
    for p in parameters:
        if p.name not in given:
            if p.default is NO_DEFAULT:
                return None
        elif not _fits(p.kind, given[p.name]):
            return None
    return {p.name: given[p.name] for p in parameters if p.name in given and not _is_default(given[p.name], p.default)}


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
        return whole or (isinstance(value, (list, tuple)) and all(isinstance(one, int) for one in value))
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
        found = inspect.signature(func)
    except (TypeError, ValueError):
        schemas = torch._C._jit_get_schemas_for_operator(f"aten::{func.__name__}")
        return tuple(_of_schema(schema) for schema in schemas if _computes(schema))
    return (tuple(_of_python(found)),)


def _computes(schema: Any) -> bool:
    """Return whether a schema is of tensors, and gives its result back."""
    kinds = [str(argument.type) for argument in schema.arguments]
    return any("Tensor" in kind for kind in kinds) and not any(one.is_out for one in schema.arguments)


def _of_schema(schema: Any) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(
            "input" if one.name == "self" else one.name,
            str(one.type),
            one.default_value if one.has_default_value() else NO_DEFAULT,
            one.kwarg_only,
        )
        for one in schema.arguments
    )


def _of_python(signature: inspect.Signature) -> Iterator[Parameter]:
    for p in signature.parameters.values():
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            yield Parameter(p.name, "any", p.default, p.kind is p.KEYWORD_ONLY)

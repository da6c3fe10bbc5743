"""Functions of PyTorch that mean something else than the operations of their names, in terms of operations.

Each has PyTorch's signature and gets tensors and array types of dispatchkit. What raises `NotTranslated` is computed
on the dense form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.callers import REFLECTED
from dispatchkit.protocol.instance import tensor_protocol

Function = Callable[..., Any]
TRANSLATIONS: dict[str, Function] = {}


class NotTranslated(Exception):  # noqa: N818  # no error: another way is taken
    """A call that is not put in terms of operations."""


def translation(*paths: str) -> Callable[[Function], Function]:
    """Enter a function under the names that PyTorch has for it."""

    def enter(function: Function) -> Function:
        TRANSLATIONS.update(dict.fromkeys(paths, function))
        return function

    return enter


def _scaled(x: Any, alpha: Any) -> Any:
    return x if alpha == 1 else x * alpha


@translation("add", "__radd__")
def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    return xp.add(input, _scaled(other, alpha))


@translation("sub", "subtract")
def subtract(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    return xp.subtract(input, _scaled(other, alpha))


@translation("rsub")
def reflected_subtract(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    return xp.subtract(other, _scaled(input, alpha))


@translation("div", "divide", "true_divide")
def divide(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    if rounding_mode is None:
        return xp.divide(input, other)
    if rounding_mode == "floor":
        return xp.floor_divide(input, other)
    return xp.trunc(xp.divide(input, other)) if rounding_mode == "trunc" else _refuse()


def _refuse() -> Any:
    raise NotTranslated


def _reflected(function: Function) -> Function:
    def reflected(input: Any, other: Any) -> Any:
        return function(other, input)

    return reflected


# The methods that Python calls for operators, on PyTorch's tensor first; it has some as `add`, `sub`, `mul` and `div`.
for _member in tensor_protocol.surface:
    if _member.name in REFLECTED and _member.operation is not None:
        _function = _member.operation.function
        if _member.name not in ("__add__", "__sub__", "__mul__", "__truediv__"):
            TRANSLATIONS[_member.name] = _function
        if _member.name not in ("__add__", "__mul__"):
            TRANSLATIONS[REFLECTED[_member.name]] = _reflected(_function)
TRANSLATIONS["__rdiv__"] = TRANSLATIONS["__rtruediv__"]


def _is_array(value: Any) -> bool:
    return isinstance(value, Storage) or tensor_protocol.types.participates(type(value))


def _extreme(name: str, of_two: str, where: str) -> Function:
    def extreme(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        other = dim if _is_array(dim) else other
        if other is not None:
            return getattr(xp, of_two)(input, other)
        if dim is None:
            return getattr(xp, name)(input)
        values = getattr(xp, name)(input, axis=dim, keepdims=keepdim)
        return values, getattr(xp, where)(input, axis=dim, keepdims=keepdim)

    return extreme


TRANSLATIONS["max"] = _extreme("max", "maximum", "argmax")
TRANSLATIONS["min"] = _extreme("min", "minimum", "argmin")


def _spread(name: str) -> Function:
    def spread(
        input: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is None:
            correction = 1 if unbiased else 0
        axis = None if dim is None or (isinstance(dim, Sequence) and not dim) else dim
        axis = tuple(axis) if isinstance(axis, list) else axis
        return getattr(xp, name)(input, axis=axis, correction=correction, keepdims=keepdim)

    return spread


TRANSLATIONS["std"], TRANSLATIONS["var"] = _spread("std"), _spread("var")


@translation("sort")
def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    order = {"axis": dim, "descending": descending}
    return xp.sort(input, **order), xp.argsort(input, **order)


@translation("transpose")
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    if {dim0 % input.ndim, dim1 % input.ndim} == {input.ndim - 2, input.ndim - 1}:
        return xp.matrix_transpose(input)
    return xp.swapaxes(input, dim0, dim1)


def _transform(name: str) -> Function:
    def transform(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
        axes = tuple(range(-len(s), 0)) if dim is None and s is not None else dim
        return getattr(xp.fft, name)(input, s=s, axes=axes, norm=norm or "backward")

    return transform


TRANSLATIONS.update({f"fft.{name}": _transform(name) for name in ("fftn", "ifftn", "rfftn", "irfftn")})


@translation("diagonal")
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    if (dim1 % input.ndim, dim2 % input.ndim) != (input.ndim - 2, input.ndim - 1):
        raise NotTranslated
    return xp.linalg.diagonal(input, offset=offset)


@translation("trace")
def trace(input: Any) -> Any:
    return xp.linalg.trace(input)


@translation("where")
def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    if input is None:
        raise NotTranslated
    return xp.where(condition, input, other)


@translation("masked_fill")
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    return xp.where(mask, value, input)


def _softmax(name: str) -> Function:
    def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
        if dim is None or dtype is not None:
            raise NotTranslated
        return getattr(xp, name)(input, axis=dim)

    return softmax


for _name in ("softmax", "log_softmax"):
    for _place in ("", "special.", "nn.functional."):
        TRANSLATIONS[f"{_place}{_name}"] = _softmax(_name)


@translation("addmm")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _scaled(input, beta) + _scaled(mat1 @ mat2, alpha)


@translation("index_select")
def index_select(input: Any, dim: int, index: Any) -> Any:
    return xp.take(input, index, axis=dim)


@translation("squeeze")
def squeeze(input: Any, dim: Any = None) -> Any:
    axes = range(input.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    return xp.squeeze(input, axis=tuple(axis for axis in axes if input.shape[axis] == 1))


@translation("norm")
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if dtype is not None or p == "nuc":
        raise NotTranslated
    return xp.linalg.vector_norm(input, ord=2 if p in ("fro", None) else p, axis=dim, keepdims=keepdim)


@translation("einsum")
def einsum(*args: Any) -> Any:
    if not isinstance(args[0], str):
        raise NotTranslated
    operands = args[1] if len(args) == 2 and isinstance(args[1], (list, tuple)) else args[1:]
    return xp.einsum(args[0], *operands)


@translation("numel")
def numel(input: Any) -> int:
    return int(input.size)


@translation("is_floating_point")
def is_floating_point(input: Any) -> bool:
    return bool(xp.isdtype(input.dtype, "real floating"))


@translation("is_complex")
def is_complex(input: Any) -> bool:
    return bool(xp.isdtype(input.dtype, "complex floating"))

"""Array types and modes: one for each way to answer a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import dispatchkit as dk
from tests.report.subjects import Sized

VALUES = np.array([[2.0, 0.5, 1.0], [0.5, 3.0, 1.0], [1.0, 1.0, 4.0]])


def opened(x: Any) -> Any:
    return getattr(x, "data", x)


# The types: one for each way to answer.


@dk.array_type(fallback=dk.fallback.refuse)
class Rules(Sized):
    """Has rules alone: for pairs, for one, with keywords that it does not take, and one that may decline."""


@dk.array_type(fallback=dk.fallback.decompose)
class Decomposes(Sized):
    """Runs bodies, and refuses where one needs what it has no rule for."""


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
class Diagonal:
    """A diagonal matrix."""

    def __init__(self, d: Any) -> None:
        self.d = dk.asarray(d)

    @property
    def shape(self) -> tuple[int, int]:
        return (self.d.shape[0], self.d.shape[0])

    @property
    def dtype(self) -> Any:
        return self.d.dtype

    def to_dense(self) -> Any:
        return dk.where(dk.eye(self.d.shape[0], dtype=dk.bool), self.d, dk.zeros((), dtype=self.dtype))


@dk.array_type(fallback=dk.fallback.dense)
class Dense(Sized):
    """Becomes dense."""


@dk.array_type(fallback=dk.fallback.rewrap, fields=("data",))
class Rewraps(Sized):
    """Computes on its field, which is a diagonal matrix."""


@dk.array_type(fallback=dk.fallback.convert | dk.fallback.dense)
class Converts(Sized):
    """Converts to `Rules`."""


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
class Kinds(Sized):
    """Has rules for two kinds."""


class Subclass(dk.Tensor):
    """Is computed as tensors are."""


class Own(Sized):
    """Answers what it takes by a method of its own, and never declines."""

    @classmethod
    def __tensor_function__(
        cls, func: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> dk.Tensor | tuple[dk.Tensor, ...]:
        args, kwargs = dk.tensor_protocol.map_arguments(func, args, kwargs, lambda name, value: opened(value))
        answer: dk.Tensor | tuple[dk.Tensor, ...] = func(*args, **kwargs)
        return answer


class Doubts(dk.TensorFunctionMode):
    """Answers calls on the last axis, and passes the others on."""

    def __tensor_function__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        return func(*args, **kwargs) if kwargs.get("axis") == -1 else NotImplemented


class Passes(dk.TensorFunctionMode):
    """Passes every call on."""


class Answers(dk.TensorFunctionMode):
    """Answers every call."""

    def __tensor_function__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> dk.Tensor | Diagonal | tuple[dk.Tensor, ...]:
        answer: dk.Tensor | Diagonal | tuple[dk.Tensor, ...] = func(*args, **kwargs)
        return answer


def register() -> None:
    """Register the rules of the types."""
    _register_wrapped(Rules, dk.add, dk.multiply, dk.negative, dk.concat, dk.where)
    _register_wrapped(Decomposes, dk.add, dk.subtract, dk.multiply, dk.divide, dk.sqrt, dk.reshape)
    _register_diagonal()

    @dk.implements(dk.sum)
    def sum_rules(x: Rules, /, *, axis: Any = None) -> Rules:
        return Rules(dk.sum(x.data, axis=axis))

    @dk.implements(dk.max)
    def max_rules(x: Rules, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        return dk.decline("only whole") if axis is not None else dk.max(x.data)

    @dk.implements(dk.sum)
    def sum_decomposes(x: Decomposes, /, *, axis: Any = None, keepdims: bool = False) -> dk.Tensor:
        found: dk.Tensor = dk.sum(x.data, axis=axis, keepdims=keepdims)
        return found

    @dk.implements(dk.exp)
    def exp_rewraps(x: Rewraps, /) -> Rewraps:
        return x

    @dk.converts()
    def to_rules(x: Converts) -> Rules:
        return Rules(x.data)

    @dk.implements(dk.kinds.elementwise, Kinds)
    def elementwise_kinds(op: Any, *args: Any) -> Kinds:
        return Kinds(op(*map(opened, args)))

    @dk.implements(dk.kinds.reduction)
    def reduction_kinds(op: Any, x: Kinds, /, **kwargs: Any) -> dk.Tensor:
        found: dk.Tensor = op(opened(x), **{name: opened(value) for name, value in kwargs.items()})
        return found


def _register_wrapped(cls: Any, *functions: Any) -> None:
    """Register rules that compute on what is inside of a type."""
    for function in functions:

        def rule(*args: Any, function: Any = function, **kwargs: Any) -> Any:
            held = [list(map(opened, arg)) if isinstance(arg, (list, tuple)) else opened(arg) for arg in args]
            return cls(function(*held, **kwargs))

        rule.__name__ = f"{function.__name__}_{cls.__name__.lower()}"
        rule.__annotations__["return"] = cls
        dk.implements(function, cls)(rule)


def _register_diagonal() -> None:
    @dk.implements(dk.matmul)
    def matmul_diagonals(x1: Diagonal, x2: Diagonal, /) -> Diagonal:
        return Diagonal(x1.d * x2.d)

    @dk.implements(dk.add)
    def add_diagonals(x1: Diagonal, x2: Diagonal, /) -> Diagonal:
        return Diagonal(x1.d + x2.d)

    @dk.implements(dk.multiply)
    def multiply_diagonals(x1: Diagonal, x2: Diagonal, /) -> Diagonal:
        return Diagonal(x1.d * x2.d)

    @dk.implements(dk.multiply)
    def scale_diagonal(x1: Diagonal, x2: dk.Tensor, /) -> Any:
        return dk.decline("no number") if x2.ndim else Diagonal(x1.d * x2)

    @dk.implements(dk.sum)
    def sum_diagonal(x: Diagonal, /, *, axis: Any = None) -> dk.Tensor:
        found: dk.Tensor = dk.sum(x.d) if axis is None else x.d
        return found

    for function in (dk.negative, dk.abs, dk.square, dk.sqrt, dk.sin, dk.tanh, dk.real):

        def on_diagonal(x: Diagonal, /, function: Any = function) -> Diagonal:
            return Diagonal(function(x.d))

        dk.implements(function)(on_diagonal)

    @dk.implements(dk.permute_dims)
    def permute_diagonal(x: Diagonal, /, axes: Any) -> Diagonal:
        return x

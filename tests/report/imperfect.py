"""An array type with one rule for each thing that measuring is to find, and what stands beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

import dispatchkit as dk
from tests.report.subjects import Sized


@dk.array_type(fallback=dk.fallback.refuse, fields=("data",))
class Imperfect(Sized):
    """Refuses what it has no rule for; each of its rules but the first has one fault."""


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense, fields=("data",))
class Falling(Sized):
    """Has one rule, and falls back on its body, else on the dense form."""


@dk.array_type(fallback=dk.fallback.rewrap, fields=("data",))
class Rewrapped(Sized):
    pass


@dk.array_type(fallback=dk.fallback.convert, fields=("data",))
class Converted(Sized):
    pass


@dk.array_type(fallback=dk.fallback.dense)
class Undense:
    """Has a shape and a dtype, but no dense form: what it had of one is taken away."""

    shape = (2, 2)
    dtype = dk.float64

    def to_dense(self) -> dk.Tensor:
        return dk.zeros(self.shape)


del Undense.to_dense


class Plain(dk.Tensor):
    """A subclass without rules."""


class Deciding(Sized):
    """Answers everything itself, on its data."""

    @classmethod
    def __tensor_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        args, kwargs = dk.tensor_protocol.map_arguments(func, args, kwargs, lambda name, value: opened(value))
        return dk.tensor_protocol.types.map_arrays(func(*args, **kwargs), Deciding)


def opened(value: Any) -> Any:
    return value.data if isinstance(value, Sized) else value


@dk.implements(dk.exp)
def exp_right(x: Imperfect, /) -> Imperfect:
    return Imperfect(dk.exp(x.data))


@dk.implements(dk.kinds.reduction)
def reduced(op: Any, x: Imperfect, /, **kwargs: Any) -> Any:
    return op(opened(x), **{name: opened(value) for name, value in kwargs.items()})


@dk.implements(dk.sin)
def sin_with_other_value(x: Imperfect, /) -> Imperfect:
    return Imperfect(dk.sin(x.data) + 1e-3)


@dk.implements(dk.cos)
def cos_with_other_dtype(x: Imperfect, /) -> Imperfect:
    return Imperfect(dk.astype(dk.cos(x.data), np.float32))


@dk.implements(dk.tan)
def tan_of_one_element(x: Imperfect, /) -> Imperfect:
    return Imperfect(dk.tan(x.data)[:1])


@dk.implements(dk.tanh)
def tanh_outside_the_graph(x: Imperfect, /) -> Imperfect:
    return Imperfect(dk.asarray(np.tanh(x.data.detach().numpy())))


@dk.implements(dk.square)
def square_with_half_the_gradient(x: Imperfect, /) -> Imperfect:
    return Imperfect(x.data * x.data.detach())


@dk.implements(dk.log)
def log_that_raises(x: Imperfect, /) -> Imperfect:
    raise ZeroDivisionError("no logarithm today")


@dk.implements(dk.sqrt)
def sqrt_that_loses_its_type(x: Imperfect, /) -> Imperfect:
    return dk.sqrt(x.data)  # type: ignore[no-any-return]  # the fault


@dk.implements(dk.abs)
def abs_that_gives_an_array_of_numpy(x: Imperfect, /) -> Any:
    return np.abs(x.data.detach().numpy())


@dk.implements(dk.negative)
def negative_that_changes_its_argument(x: Imperfect, /) -> Imperfect:
    x.data = -x.data
    return x


@dk.implements(dk.sum)
def sum_without_keywords(x: Imperfect, /) -> Any:
    return dk.sum(x.data)


@dk.implements(dk.linalg.eigh)
def eigh_with_other_signs(x: Imperfect, /) -> Any:
    values, vectors = dk.linalg.eigh(x.data)
    return type(dk.linalg.eigh(x.data))(values, -vectors)


@dk.implements(dk.linalg.slogdet)
def slogdet_of_one_result(x: Imperfect, /) -> Any:
    return dk.linalg.slogdet(x.data)[1]


@dk.implements(dk.add)
def add_to_tensors_alone(x1: Imperfect, x2: dk.Tensor, /) -> Imperfect:
    return Imperfect(x1.data + x2)


@dk.implements(dk.exp)
def exp_that_becomes_dense(x: Falling, /) -> Any:
    return dk.exp(dk.cosh(x) * 0 + x.data)


@dk.implements(dk.multiply)
def multiplied(x1: Falling, x2: Falling, /) -> Falling:
    return Falling(x1.data * x2.data)


@dk.implements(dk.divide)
def divided(x1: Any, x2: Falling, /) -> Falling:
    return Falling(x1 / x2.data)


@dk.converts()
def to_imperfect(x: Converted) -> Imperfect:
    return Imperfect(x.data)


def matrix() -> Any:
    """Return a positive definite matrix."""
    return dk.asarray([[2.0, 0.5], [0.5, 1.5]])


def samples() -> list[Any]:
    """Return samples of all types of this module but those that are not measured together."""
    return [cls(matrix()) for cls in (Imperfect, Falling, Rewrapped, Converted)]

"""Array types made for one bucket of the coverage each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dispatchkit as dk


class Sized:
    """Has a shape and a dtype and holds one tensor."""

    def __init__(self, data: Any) -> None:
        self.data = data

    @property
    def shape(self) -> Any:
        return self.data.shape

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    def to_dense(self) -> Any:
        return self.data


@dk.array_type(fallback=dk.fallback.refuse)
class Refuses(Sized):
    pass


@dk.array_type(fallback=dk.fallback.dense)
class Dense(Sized):
    pass


@dk.array_type(fallback=dk.fallback.rewrap, fields=("data",))
class Rewraps(Sized):
    pass


@dk.array_type(fallback=dk.fallback.decompose)
class Decomposes(Sized):
    pass


@dk.array_type(fallback=dk.fallback.convert)
class Converts(Sized):
    pass


@dk.array_type(fallback=dk.fallback.refuse)
class ByKind(Sized):
    pass


@dk.array_type(fallback=dk.fallback.refuse)
class Base(Sized):
    pass


class Derived(Base):
    pass


class Subclass(dk.Tensor):
    pass


class OwnMethod:
    @classmethod
    def __tensor_function__(
        cls, func: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        return func, types


class Bystander:
    """Takes no part."""


@dk.implements(dk.exp)
def exp_refuses(x: Refuses, /) -> Any:
    return Refuses(dk.exp(x.data))


@dk.implements(dk.add)
def add_refuses_and_tensor(x1: Refuses, x2: dk.Tensor, /) -> Any:
    return Refuses(x1.data + x2)


@dk.implements(dk.kinds.elementwise)
def any_elementwise(op: Any, x: ByKind, /) -> Any:
    return ByKind(op(x.data))


@dk.implements(dk.mean)
def mean_base(x: Base, /) -> Any:
    return dk.mean(x.data)


@dk.implements(dk.exp)
def exp_derived(x: Derived, /) -> Any:
    return Derived(dk.exp(x.data))


@dk.implements(dk.matmul)
def matmul_decomposes(x1: Decomposes, x2: Decomposes, /) -> Decomposes:
    return Decomposes(x1.data @ x2.data)


@dk.converts()
def to_derived(x: Converts) -> Derived:
    return Derived(x.data)

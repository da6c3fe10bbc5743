"""Right programs with array types. It is checked, not run: nothing in it is an error to a type checker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar, assert_type

import numpy as np

import dispatchkit as dk

A = TypeVar("A", bound=dk.ArrayLike)


@dk.array_type()
class Plain:
    def __init__(self, values: dk.Tensor) -> None:
        self.values = values


@dk.array_type(fallback=dk.fallback.dense)
@dataclass
class Data:
    values: dk.Tensor

    def to_dense(self) -> dk.Tensor:
        return self.values


@dk.array_type()
@dataclass(frozen=True)
class Frozen:
    values: dk.Tensor


@dk.array_type()
class Compared:
    def __eq__(self, other: object) -> bool:
        return self is other


@dk.array_type()
class ComparedByElements:
    def __eq__(self, other: object) -> dk.Tensor:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return dk.ones(2)


@dk.array_type()
class ComparedByElementsAndHashed:
    def __eq__(self, other: Any) -> Any:
        return dk.ones(2)

    def __hash__(self) -> int:
        return id(self)


@dk.array_type(fallback=dk.fallback.decompose)
@dataclass
class Derived(dk.ArrayMethods):
    values: dk.Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape


class Sub(dk.Tensor):
    def doubled(self) -> Self:
        return self * 2


class SubOfSub(Sub):
    pass


@dk.operation(kind=dk.kinds.creation)
def blank(xp: Any, shape: int, /, *, device: Any = None) -> dk.Tensor:
    return dk.zeros(shape)


@dk.operation(kind=dk.kinds.random)
def noise(xp: Any, shape: int, /) -> dk.Tensor:
    return dk.zeros(shape)


@dk.operation(kind=dk.kinds.elementwise)
def cube(xp: Any, x: dk.Tensor, /, *, scale: float = 1.0) -> dk.Tensor:
    return x * x * x * scale


@dk.operation
def halves(xp: Any, x: Any, /) -> Any:
    return x, x


@dk.implements(dk.add)
def add_data(x1: Data, x2: Data, /) -> Data:
    return Data(x1.values + x2.values)


@dk.implements(dk.mean)
def mean_data(x: Data, /) -> float:
    return float(x.values.mean())


@dk.implements(dk.kinds.elementwise)
def elementwise_plain(op: Any, x: Plain, /, *args: Any) -> Plain:
    return Plain(op(x.values, *args))


@dk.implements(dk.add, Frozen, Frozen)
def add_frozen(x1: Frozen, x2: Frozen, /) -> Frozen:
    return x1


@dk.overridable
def rescale(x: dk.ArrayLike, low: float = 0.0, high: float = 1.0) -> Any:
    smallest, largest = dk.min(x), dk.max(x)
    return low + (x - smallest) * ((high - low) / (largest - smallest))


@dk.overridable
def center(x: A) -> A:
    centred: A = x - dk.mean(x)
    return centred


def calls(t: dk.Tensor, p: Plain, d: Data, f: Frozen, c: Compared) -> None:
    for x in (p, d, f, c):
        assert_type(dk.exp(x), Any)
    assert_type(dk.exp(p), Any)
    assert_type(dk.exp(d), Any)
    assert_type(dk.exp(f), Any)
    assert_type(dk.exp(c), Any)
    assert_type(dk.sum(d), Any)
    assert_type(dk.sum(d, axis=0), Any)
    assert_type(dk.sum(p, axis=(0, 1), keepdims=True), Any)
    assert_type(dk.sum(d, axis="time"), Any)
    assert_type(dk.add(d, d), Any)
    assert_type(dk.add(d, t), Any)
    assert_type(dk.add(t, d), Any)
    assert_type(dk.add(1.0, d), Any)
    assert_type(dk.add(d, 1), Any)
    assert_type(dk.where(t > 0, d, t), Any)
    assert_type(dk.where(t > 0, t, d), Any)
    assert_type(dk.where(d, t, t), Any)
    assert_type(dk.clip(d, 0.0, 1.0), Any)
    assert_type(dk.matmul(t, f), Any)
    assert_type(dk.reshape(d, (2, 3)), Any)
    assert_type(dk.concat([d, d]), Any)
    assert_type(dk.concat([d, t], axis=1), Any)
    assert_type(dk.stack((p, p), axis=0), Any)
    assert_type(dk.linalg.solve(d, t), Any)
    assert_type(dk.linalg.qr(d), Any)
    assert_type(dk.einsum("ij,j->i", d, t), Any)
    assert_type(dk.einsum("ij->j", p), Any)
    assert_type(dk.meshgrid(d, t), Any)
    assert_type(dk.broadcast_arrays(t, d, p), Any)
    assert_type(dk.nn.functional.linear(t, d), Any)
    assert_type(dk.nn.functional.linear(d, t, t), Any)
    assert_type(dk.nn.functional.linear(t, t, d), Any)
    assert_type(dk.asarray(d), dk.Tensor)
    assert_type(dk.zeros_like(d), Any)


def subclasses(s: Sub, u: SubOfSub, t: dk.Tensor, p: dk.nn.Parameter, d: Data, n: np.ndarray[Any, Any]) -> None:
    assert_type(s + 1, Sub)
    assert_type(2.0 - s, Sub)
    assert_type(s + t, Sub)
    assert_type(t + s, Sub)
    assert_type(s @ p, Sub)
    assert_type(p * s, Sub)
    print(s + n)
    assert_type(s + u, SubOfSub)
    assert_type(u + s, SubOfSub)
    assert_type(s + d, Any)
    assert_type(-s, Sub)
    assert_type(s == 1, Sub)
    assert_type(s < t, Sub)
    assert_type(s[0], Sub)
    assert_type(s.T, Sub)
    assert_type(s.sum(axis=0).exp().reshape(3, 2), Sub)
    assert_type(s.nonzero(), tuple[Sub, ...])
    assert_type(divmod(s, 2), tuple[Sub, Sub])
    assert_type(s.doubled(), Sub)
    assert_type(dk.exp(s), Sub)
    assert_type(dk.add(s, 1), Sub)
    assert_type(dk.sum(s, axis=0), Sub)
    assert_type(dk.concat([s, s], axis=1), Sub)
    assert_type(dk.nn.functional.linear(s, t), Sub)
    assert_type(cube(s, scale=2.0), Sub)
    assert_type(dk.linalg.qr(t).R, dk.Tensor)
    assert_type(p + 1, dk.Tensor)
    assert_type(p * p, dk.Tensor)
    assert_type(p == 1, dk.Tensor)
    assert_type(p.T, dk.Tensor)
    assert_type(p.sum(axis=0), dk.Tensor)
    assert_type(dk.exp(p), dk.Tensor)
    assert_type(dk.add(p, 1), dk.Tensor)


def own_operations(t: dk.Tensor, d: Data) -> None:
    assert_type(blank(3, requires_grad=True), dk.Tensor)
    assert_type(blank(3, like=d), dk.Tensor)
    assert_type(noise(3, requires_grad=True), dk.Tensor)
    assert_type(cube(d), Any)
    first, second = halves(t)
    for f in [dk.exp, dk.sum]:
        print(f(t))
    for g in (dk.ones, dk.exp, dk.nn.functional.relu):
        print(g)


def no_arrays(t: dk.Tensor, d: Data, optional: dk.Tensor | None, words: list[str]) -> None:
    if optional is not None:
        assert_type(dk.exp(optional), dk.Tensor)
    assert_type(dk.einsum("ij->j", t), dk.Tensor)
    assert_type(dk.einsum("ij->j", d), Any)
    assert_type(dk.clip(t, None, 1.0), dk.Tensor)
    assert_type(dk.where(d, 1.0, 0.0), Any)
    assert_type(t == None, dk.Tensor)  # noqa: E711
    print({"a": t}, [*words, t], type(t) is dk.Tensor, f"{t:.3f}" + "a", "a" in words)


def optimizers(t: dk.Tensor, model: dk.nn.Module, rows: Iterable[dk.nn.Parameter]) -> None:
    dk.optim.SGD([t])
    dk.optim.SGD(model.parameters())
    dk.optim.Adam(rows)
    dk.optim.Adam([{"params": model.parameters(), "lr": 0.1}])


def compared(e: ComparedByElements, h: ComparedByElementsAndHashed, t: dk.Tensor) -> None:
    assert_type(dk.exp(e), Any)
    assert_type(dk.add(e, t), Any)
    assert_type(dk.add(t, e), Any)
    assert_type(dk.exp(h), Any)
    assert_type(dk.concat([h, h]), Any)


def derived(d: Derived, t: dk.Tensor) -> None:
    assert_type(d + 1, Any)
    assert_type(t * d, Any)
    assert_type(d.sum(axis=0), Any)
    assert_type(dk.sum(d, axis=0), Any)
    assert_type(d.shape, tuple[int, ...])
    assert_type(rescale(d), Any)
    assert_type(dk.nn.functional.relu(d), Any)


def numbers(t: dk.Tensor, n: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    print(dk.add(t, n))
    print(dk.multiply(n, t))
    print(dk.exp(n))
    print(dk.sum(n, axis=0))
    assert_type(dk.power(2, t), dk.Tensor)
    print(dk.where(t > 0, t, 0.0))
    print(dk.where(t > 0, 1.0, t))
    assert_type(dk.maximum(t, 0), dk.Tensor)
    print(t + n)
    print(t @ n)


def made(shape: tuple[int, int], t: dk.Tensor, d: Data, rows: Sequence[dk.Tensor]) -> None:
    assert_type(dk.ones(shape), dk.Tensor)
    assert_type(dk.ones([2, 3], dtype="float32"), dk.Tensor)
    assert_type(dk.zeros(3, requires_grad=True), dk.Tensor)
    assert_type(dk.full((2, 3), 1.0, dtype=dk.float64, requires_grad=True), dk.Tensor)
    assert_type(dk.tensor([1, 2], dtype=dk.float32, requires_grad=True), dk.Tensor)
    assert_type(dk.arange(0, 10, 2), dk.Tensor)
    assert_type(dk.eye(3, requires_grad=True), dk.Tensor)
    assert_type(dk.random.normal(shape=(2, 3), requires_grad=True), dk.Tensor)
    assert_type(dk.stack(rows), dk.Tensor)
    dk.ones(2, like=d)
    dk.zeros((2, 3), like=t)


def overridable(t: dk.Tensor, p: Plain, d: Data) -> None:
    assert_type(rescale(t), Any)
    assert_type(rescale(d, high=2.0), Any)
    assert_type(rescale(p), Any)
    assert_type(center(t), dk.Tensor)
    assert_type(center(d), Data)


def loss(x: dk.Tensor) -> dk.Tensor:
    return (x * x).sum()


def of_data(x: Data, scale: float) -> dk.Tensor:
    return dk.sum(x.values) * scale


def gradients(t: dk.Tensor, d: Data, s: Sub) -> None:
    assert_type(dk.func.grad(loss)(t), dk.Tensor)
    assert_type(dk.func.grad(of_data)(d, 2.0), Data)
    assert_type(dk.func.grad(lambda x: (x**3).sum())(t), dk.Tensor)
    value, gradient = dk.func.value_and_grad(of_data)(d, 2.0)
    assert_type(gradient, Data)
    dk.func.grad(of_data, argnums=(0, 1))(d, 2.0)
    dk.func.grad(loss, has_aux=True)(t)
    assert_type(dk.func.grad(loss)(s), Sub)
    assert_type(dk.func.grad(loss)(2.0), dk.Tensor)
    y = s + 1
    y = dk.exp(y)
    weight = dk.nn.Parameter(t)
    z = weight * 2
    z = z @ t


def reports(d: Data) -> None:
    print(dk.coverage(Data))
    print(dk.explain(dk.add, d, 1))
    dk.compile(loss)
    with dk.no_grad():
        dk.save({"d": d}, "file")

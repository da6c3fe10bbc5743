"""Wrong programs. They are checked, not run: mypy, without the plugin, and pyright find the lines marked as errors.

The mark says what is wrong. ``error to`` names the only checker that finds a line. ``unseen`` marks what neither finds:
an array type may be any class, so that a type checker takes text for one. What calls with text give has no attributes,
so that a line which does something with it is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dispatchkit as dk


@dk.array_type(fallback=dk.fallback.dense)
@dataclass
class P:
    values: dk.Tensor


class Sub(dk.Tensor):
    tag: str = ""


@dk.array_type()
class Q(dk.ArrayMethods):
    pass


@dk.implements  # unseen: takes the operation
def exp_p(x: P, /) -> P:
    return x


@dk.implements("exp")  # error: text is no operation
def log_p(x: P, /) -> P:
    return x


@dk.array_type(fallbck=dk.fallback.dense)  # error: misspelt keyword
class R:
    pass


@dk.array_type(fallback="dense")  # error: text is no fallback
class S:
    pass


@dk.converts(cots=2)  # error: misspelt keyword
def p_of(x: Q) -> P:
    return P(dk.ones(2))


def names(t: dk.Tensor) -> None:
    dk.meen(t)  # error: no such name
    dk.linalg.invert(t)  # error: no such name
    dk.nn.Liner(3, 4)  # error: no such name
    dk.types.QuantityTensr  # error: no such type
    dk.kinds.elementwize  # error: no such kind
    dk.fallback.densify  # error: no such fallback
    t.meen()  # error: no such method
    t.shapes  # error: no such attribute


def keywords(t: dk.Tensor, p: P, q: Q) -> None:
    dk.sum(t, axsi=0)  # error: misspelt keyword
    dk.sum(p, axsi=0)  # error: misspelt keyword
    q.sum(axsi=0)  # error: misspelt keyword
    dk.sum(t, requires_grad=True)  # error: makes no tensor
    dk.sum(t, like=t)  # error: makes no tensor
    dk.ones((2, 3), dtpye="float32")  # error: misspelt keyword
    dk.concat([t, t], axsi=0)  # error: misspelt keyword
    dk.concat([p, p], axsi=0)  # error: misspelt keyword
    dk.add(t, t, axis=0)  # error: no such keyword
    dk.matmul(p, t, transposed=True)  # error: no such keyword


def arguments(t: dk.Tensor, p: P) -> None:
    dk.exp()  # error: too few arguments
    dk.exp(t, t)  # error: too many arguments
    dk.add(t)  # error: too few arguments
    dk.add(p)  # error: too few arguments
    dk.linalg.solve(p)  # error: too few arguments
    dk.full((2, 3))  # error: too few arguments
    dk.nn.functional.relu(t, inplce=True)  # error: misspelt keyword
    dk.exp(p, p)  # error: too many arguments
    dk.ones(2, 3)  # error: the shape is a tuple
    dk.sum(t, axis="rows")  # error: an axis is a number
    dk.sum(t, t)  # error: the axis is a keyword
    t.reshape("2, 3")  # error: text is no shape
    dk.exp(P)  # error to pyright: a class is no array
    dk.exp(P).shape  # error: a class is no array
    dk.exp(None)  # error to mypy: None is no array
    dk.exp(None).shape  # error: None is no array
    dk.sum("abc")  # unseen: text is no array
    dk.sum("abc").shape  # error: text is no array
    dk.add("a", t)  # unseen: text is no array
    dk.add("a", t) + 1  # error: text is no array
    dk.add(t, "a") + 1  # error: text is no array
    t + "a"  # unseen: text is no array
    (t + "a").shape  # error: text is no array
    ("a" * t).shape  # error: text is no array
    t.add("a").shape  # error: text is no array
    total: dk.Tensor = t - "a"  # error: text is no array
    dk.exp(dk.sum("abc")).shape  # error: text is no array
    (dk.sum("abc") + total).shape  # error: text is no array
    dk.sum(object())  # unseen: any object may be an array
    P("a", 2)  # error: no field


@dk.operation(kind=dk.kinds.creation)
def blank(xp: Any, shape: int, /) -> dk.Tensor:
    return dk.zeros(shape)


@dk.operation(kind=dk.kinds.elementwise)
def cube(xp: Any, x: dk.Tensor, /) -> dk.Tensor:
    return x * x * x


def own_operations(t: dk.Tensor) -> None:
    blank()  # error: too few arguments
    blank(3, dvice=1)  # error: misspelt keyword
    cube(t, requires_grad=True)  # error: makes no tensor
    cube("abc").shape  # error: text is no array


def subclasses(s: Sub, t: dk.Tensor, p: dk.nn.Parameter) -> None:
    (s + 1).tags  # error: no such attribute
    (t + 1).tag  # error: tensors have none
    dk.exp(p).tag  # error: tensors have none
    kept: Sub = t + 1  # error: a tensor is not of the subclass
    print(kept)


def results(t: dk.Tensor) -> None:
    total: float = dk.sum(t)  # error: a tensor is no float
    for name in t.shape.names:  # error: a tuple has no names
        print(name)
    dk.optim.SGD(t)  # unseen: parameters are several
    dk.func.grad(3.0)  # error: a number is no function
    dk.nn.Linear(3)  # error: too few arguments
    dk.coverage(P, meausre=True)  # error: misspelt keyword
    dk.densify(on="alow")  # error: no such choice

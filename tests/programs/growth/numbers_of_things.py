"""Growth with numbers of things: types, rules, modes, branches, operands, wrappers around one another, fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit import types

from .clock import ALLOWED, exponent

__all__ = ["SERIES", "lines"]

Work = Callable[[], object]
MANY = (250, 1_000, 8_000)
FEW = (25, 100, 600)


class Passing(dk.TensorFunctionMode):
    def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*args, **kwargs)


def nodes_of_a_chain(n: int) -> Work:
    def work() -> None:
        y = x = dk.tensor([1.0, 2.0], requires_grad=True)
        for _ in range(n):
            y = y + 1.0
        dk.autograd.grad(y.sum(), x)

    return work


def branches_that_end_at_leaves(n: int) -> Work:
    leaves = [dk.tensor([1.0, 2.0], requires_grad=True) for _ in range(n)]
    return lambda: dk.autograd.grad(dk.concat([x * x for x in leaves]).sum(), leaves)


def operands_of_concat(n: int) -> Work:
    parts = [dk.ones(2)] * n
    return lambda: dk.concat(parts)


def operands_of_a_type(n: int) -> Work:
    parts = [types.QuantityTensor(np.ones(2), "m")] * n
    return lambda: dk.concat(parts)


def types_with_a_rule(n: int) -> Work:
    x = types.DiagonalTensor(np.ones(2))

    def work() -> None:
        with dk.local_registrations():
            for _ in range(n):
                cls = type("Other", (), {"shape": (), "dtype": np.dtype(float)})
                dk.register_type(cls)
                dk.implements(dk.add, cls)(lambda x1, x2: x1)
                x + x  # a known call after each registration

    return work


def known_calls_with_many_types(n: int) -> Work:
    x = types.DiagonalTensor(np.ones(2))

    def work() -> None:
        with dk.local_registrations():
            for _ in range(n):
                dk.register_type(type("Other", (), {"shape": (), "dtype": np.dtype(float)}))
            for _ in range(n):
                x + x  # whose time is measured

    return work


def modes_inside_each_other(n: int) -> Work:
    x = dk.ones(2)

    def work() -> None:
        with ExitStack() as stack:
            for _ in range(n):
                stack.enter_context(Passing())
            dk.exp(x)

    return work


def wrappers_around_each_other(n: int) -> Work:
    x: Any = dk.ones(2)
    for _ in range(n):
        x = Box(x)
    return lambda: dk.exp(x)


@dk.array_type(fallback=dk.fallback.rewrap)
class Box(dk.ArrayMethods):
    def __init__(self, data: object) -> None:
        self.data = data


def fields_of_a_type(n: int) -> Work:
    names = tuple(f"f{i}" for i in range(n))

    def start(self: object) -> None:
        vars(self).update({name: dk.ones(2) for name in names})

    written = type("Wide", (dk.ArrayMethods,), {"__init__": start, "shape": (2,), "dtype": np.dtype(float)})
    cls = dk.array_type(fields=names, fallback=dk.fallback.rewrap)(written)

    def loss(x: object) -> object:
        return dk.sum(sum(getattr(x, name) for name in names))

    return lambda: dk.func.grad(loss)(cls())


def blocks_on_a_diagonal(n: int) -> Work:
    x = types.BlockDiagonalTensor([np.eye(2)] * n)
    return lambda: x @ dk.ones(2 * n)


def eigenvalues_of_blocks(n: int) -> Work:
    x = types.BlockDiagonalTensor([np.eye(2)] * n)
    return lambda: dk.linalg.eigvalsh(x)


SERIES: dict[str, tuple[Callable[[int], Work], tuple[int, ...]]] = {
    "nodes of a chain, forward and backward": (nodes_of_a_chain, MANY),
    "branches that end at leaves, backward": (branches_that_end_at_leaves, MANY),
    "operands of `concat`": (operands_of_concat, MANY),
    "quantities in `concat`": (operands_of_a_type, MANY),
    "types with a rule, each registered before a call": (types_with_a_rule, FEW),
    "registered types, and as many calls": (known_calls_with_many_types, FEW),
    "modes inside each other, and a call": (modes_inside_each_other, (5, 15, 90)),
    "wrappers around each other": (wrappers_around_each_other, (5, 10, 20)),
    "fields of a type, differentiated": (fields_of_a_type, (10, 40, 160)),
    "blocks on a diagonal": (blocks_on_a_diagonal, MANY),
    "blocks on a diagonal, eigenvalues": (eigenvalues_of_blocks, MANY),
}


def lines(wanted: Callable[[str], bool]) -> Iterator[str]:
    """Yield a line for each number of things."""
    yield "| number of | exponent | theory | |"
    yield "| --- | --- | --- | --- |"
    for name, (make, sizes) in SERIES.items():
        if wanted(name):
            found = exponent(make, sizes)
            mark = "above" if found > 1 + ALLOWED else ""
            yield f"| {name} | {found:.2f} | 1 | {mark} |"

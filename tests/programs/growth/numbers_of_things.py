"""Growth with numbers of things: types, rules, modes, branches, operands, wrappers around one another, fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit import types

from .clock import ALLOWED, Allowance, exponent, slope

__all__ = ["SERIES", "lines"]

Work = Callable[[], object]
# As many as the time allows: the exponent is that between the largest number and a tenth of it.
MANY = (125, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000)
FEW = (10, 20, 40, 80, 160, 320, 640, 1_280)
LONGEST = 0.6  # seconds of a call


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


def uses_of_one_tensor(n: int) -> Work:
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    return lambda: dk.autograd.grad(dk.sum(sum((x * 2.0 for _ in range(n)), 0.0)), x)


def changes_of_views(n: int) -> Work:
    def work() -> None:
        y = dk.tensor([1.0, 2.0], requires_grad=True) * 1.0
        for _ in range(n):
            y[:1] += 1.0
        y.sum().backward()

    return work


def parameters_of_an_optimiser(n: int) -> Work:
    parameters = [dk.tensor([1.0, 2.0], requires_grad=True) for _ in range(n)]
    for parameter in parameters:
        parameter.grad = dk.ones(2)
    return dk.optim.Adam(parameters).step


def leaves_of_a_tree(n: int) -> Work:
    tree = {f"{i}": dk.ones(2) for i in range(n)}
    return lambda: dk.func.grad(lambda leaves: dk.sum(dk.concat(list(leaves.values()))))(tree)


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


def rules_of_a_type(n: int) -> Work:
    x = types.DiagonalTensor(np.ones(2))

    def same(x: Any) -> Any:
        return x

    def work() -> None:
        with dk.local_registrations():
            for _ in range(n):
                function: Any = dk.overridable(lambda x: None)
                dk.implements(function, types.DiagonalTensor)(same)
                function(x)

    return work


def conversions_of_types(n: int) -> Work:
    x = types.DiagonalTensor(np.ones(2))

    def work() -> None:
        with dk.local_registrations():
            for _ in range(n):
                cls: Any = type("Other", (), {"shape": (), "dtype": np.dtype(float)})
                dk.register_type(cls, fallback=dk.fallback.convert)

                def converted(_: Any) -> Any:
                    return x

                converted.__annotations__ = {"_": cls, "return": types.DiagonalTensor}
                dk.converts()(converted)
                dk.linalg.inv(cls())

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


def keys_of_metadata(n: int) -> Work:
    x = types.MetadataTensor(np.ones(2), {f"{i}": i for i in range(n)})
    return lambda: x + x


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


def objects_of_python(n: int) -> Work:
    """Return work on so many objects that needs no library: the caches that they outgrow are the same ones."""

    def work() -> None:
        held = [Plain(i) for i in range(n)]
        for each in held[:: -1 if n % 2 else 1]:
            each.value += len(held[each.value * 7 % n].arrays)

    return work


class Plain:
    def __init__(self, value: int) -> None:
        self.value, self.arrays = value, [np.ones(2)]


SERIES: dict[str, tuple[Callable[[int], Work], tuple[int, ...]]] = {
    "nodes of a chain, forward and backward": (nodes_of_a_chain, MANY),
    "branches that end at leaves, backward": (branches_that_end_at_leaves, MANY),
    "uses of one tensor, backward": (uses_of_one_tensor, MANY),
    "changes of a view in place, backward": (changes_of_views, FEW),
    "leaves of a dictionary, differentiated": (leaves_of_a_tree, MANY),
    "parameters of an optimiser": (parameters_of_an_optimiser, MANY),
    "operands of `concat`": (operands_of_concat, MANY),
    "quantities in `concat`": (operands_of_a_type, MANY),
    "types with a rule, each registered before a call": (types_with_a_rule, FEW),
    "functions with a rule of one type, each called": (rules_of_a_type, FEW),
    "types with a conversion, each called": (conversions_of_types, FEW),
    "registered types, and as many calls": (known_calls_with_many_types, FEW),
    "modes inside each other, and a call": (modes_inside_each_other, (5, 10, 20, 40, 80)),
    "wrappers around each other": (wrappers_around_each_other, (2, 5, 10, 20)),
    "fields of a type, differentiated": (fields_of_a_type, (10, 20, 40, 80, 160, 320)),
    "keys of metadata": (keys_of_metadata, MANY),
    "blocks on a diagonal": (blocks_on_a_diagonal, MANY),
    "blocks on a diagonal, eigenvalues": (eigenvalues_of_blocks, MANY),
}


def lines(wanted: Callable[[str], bool], seconds: float) -> Iterator[str]:
    """Yield a line for each number of things.

    Parameters
    ----------
    wanted : returns whether one is to be measured
    seconds : of the processor for all of them
    """
    plain: dict[tuple[int, int], float] = {}

    def expected(smaller: int, larger: int) -> float:
        if (smaller, larger) not in plain:
            plain[smaller, larger] = max(1.0, exponent(objects_of_python, (smaller, larger)))
        return plain[smaller, larger] + ALLOWED

    yield "| number of | from | to | exponent | theory | |"
    yield "| --- | --- | --- | --- | --- | --- |"
    chosen = {name: series for name, series in SERIES.items() if wanted(name)}
    allowance = Allowance(seconds, len(chosen))
    for name, (make, sizes) in chosen.items():
        with allowance.share() as share:
            found = slope(make, sizes, expected, min(LONGEST, share / 8), share)
        if found is None:
            continue
        mark = ""
        if found.exponent > expected(found.smaller, found.larger):
            mark = "above"
        numbers = f"{found.smaller:,} | {found.larger:,}"
        yield f"| {name} | {numbers} | {found.exponent:.2f} | 1 | {mark} |"
    yield ""
    yield f"Objects of Python: {expected(1_000, 16_000) - ALLOWED:.2f} from 1,000 of them to 16,000."

"""Every operation against NumPy's function of the same name: what a call costs beside the arithmetic, by size.

`real` and `imag` copy here, where NumPy gives views: results of elementwise operations have memory of their own. Taken
from the declarations: elementwise operations, reductions, sorting and the like of one or two arrays, with the
same NumPy arrays on both sides. Results are compared first, where both are finite.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit.graph.numpy_namespace import numpy_namespace
from dispatchkit.ops.declared import DeclaredOperation
from dispatchkit.ops.samples import Draw
from dispatchkit.protocol.kinds import kinds

from .harness import Effort, Side, measure

__all__ = ["TOPIC", "operation_lines"]

TOPIC = "operations"
SIZES = (4, 10_000, 10_000_000)
KINDS = (kinds.elementwise, kinds.reduction, kinds.sorting, kinds.searching, kinds.manipulation)
# The time of the largest calls is seconds, so few repeats do.
LARGE = Effort(repeats=3, seconds=0.0)
WORST = 10
# Shapes and keywords of the calls that the signature alone does not tell.
CALLS: dict[str, tuple[str, str]] = {
    "concat": ("f([x, x], axis=0)", "f([x, x], axis=0)"),
    "stack": ("f([x, x], axis=0)", "f([x, x], axis=0)"),
    "reshape": ("f(x, (2, -1))", "f(x, (2, -1))"),
    "permute_dims": ("f(m, (1, 0))", "f(m, (1, 0))"),
    "matrix_transpose": ("f(m)", "f(m)"),
    "expand_dims": ("f(x, axis=0)", "f(x, axis=0)"),
    "squeeze": ("f(m[None], axis=0)", "f(m[None], axis=0)"),
    "broadcast_to": ("f(x, (2, *x.shape))", "f(x, (2, *x.shape))"),
    "moveaxis": ("f(m, 0, 1)", "f(m, 0, 1)"),
    "flip": ("f(m, axis=0)", "f(m, axis=0)"),
    "roll": ("f(x, 1, axis=0)", "f(x, 1, axis=0)"),
    "repeat": ("f(x, 2)", "f(x, 2)"),
    "tile": ("f(x, (2,))", "f(x, (2,))"),
    "tril": ("f(m, k=1)", "f(m, k=1)"),
    "triu": ("f(m, k=1)", "f(m, k=1)"),
    "sort": ("f(m, axis=0)", "f(m, axis=0, stable=True)"),
    "argsort": ("f(m, axis=0)", "f(m, axis=0, stable=True)"),
    "clip": ("f(x, min=0.5, max=1.0)", "f(x, min=0.5, max=1.0)"),
    "where": ("f(x > 1.0, x, y)", "f(x > 1.0, x, y)"),
    "cumulative_sum": ("f(m, axis=0)", "f(m, axis=0)"),
    "take": ("f(x, i, axis=0)", "f(x, i, axis=0)"),
    "take_along_axis": ("f(x, i, axis=0)", "f(x, i, axis=0)"),
    "searchsorted": ("f(s, x, side='right')", "f(s, x, side='right')"),
    "astype": ("f(x, f32)", "f(x, f32)"),
    "zeros": ("f((n,), dtype=f32)", "f((n,), dtype=f32)"),
    "full": ("f((n,), 2.0)", "f((n,), 2.0)"),
    "arange": ("f(n)", "f(n)"),
    "linspace": ("f(0.0, 1.0, n)", "f(0.0, 1.0, n)"),
    "diff": ("f(x, axis=0)", "f(x, axis=0)"),
    "tensordot": ("f(x, y, axes=1)", "f(x, y, axes=1)"),
    "vecdot": ("f(m, m, axis=-1)", "f(m, m, axis=-1)"),
    "unstack": ("f(m, axis=0)", "f(m, axis=0)"),
}


def operations() -> Iterator[tuple[str, DeclaredOperation, Callable[..., Any], str, str]]:
    """Yield each operation with NumPy's function, and the call of either."""
    for name, entry in dk.tensor_protocol.operations.items():
        short = name.removeprefix("dispatchkit.")
        if not isinstance(entry, DeclaredOperation) or "." in short:
            continue
        theirs = getattr(np, short, None) if hasattr(np, short) else getattr(numpy_namespace, short, None)
        if theirs is None or not callable(theirs):
            continue
        if short in CALLS:
            yield short, entry, theirs, *CALLS[short]
        elif entry.kind in (kinds.elementwise, kinds.reduction, kinds.sorting) and entry.parameters.binary:
            yield short, entry, theirs, "f(x, y)", "f(x, y)"
        elif entry.kind is kinds.elementwise and entry.parameters.unary:
            yield short, entry, theirs, "f(x)", "f(x)"
        elif entry.kind in (kinds.reduction, kinds.sorting) and entry.parameters.leading:
            yield short, entry, theirs, "f(m, axis=0)", "f(m, axis=0)"


def arrays(entry: DeclaredOperation, size: int) -> dict[str, Any]:
    """Return the arrays of a call: numbers of the operation's domain."""
    draw = next((arg for sample in entry.samples for arg in sample.args if isinstance(arg, Draw)), Draw(()))
    content = draw.content if draw.content in ("integer", "boolean") else "real"
    rng = np.random.default_rng(0)
    x, y = (Draw((size,), draw.low, draw.high, content).make(rng) for _ in range(2))
    rows = 2 if size < 100 else 100
    ordered = np.linspace(-2.0, 2.0, 100)
    return {"x": x, "y": y, "m": x.reshape(rows, -1), "i": np.arange(size)[::-1].copy(), "s": ordered}


def sides(entry: DeclaredOperation, theirs: Any, ours: str, code: str, size: int) -> tuple[Side, Side]:
    given = arrays(entry, size)
    fixed = {"n": size, "f32": np.dtype("float32")}
    mine = {name: dk.asarray(array) for name, array in given.items()}
    return Side(ours, {**mine, **fixed, "f": entry.function}), Side(code, {**given, **fixed, "f": theirs})


def operation_lines(effort: Effort) -> Iterator[str]:
    """Give for each size the overhead of all operations, and the worst ten."""
    calls = list(operations())
    for size in SIZES:
        began = time.perf_counter()
        found: list[tuple[float, float, float, str, str]] = []
        for name, entry, theirs, ours, code in calls:
            mine, reference = sides(entry, theirs, ours, code, size)
            one, other = measure(mine, reference, LARGE if size > 1_000_000 else effort)
            found.append((one / other, one, other, name, ours))
        ratios = np.array([row[0] for row in found])
        extra = np.array([row[1] - row[2] for row in found])
        seconds = time.perf_counter() - began
        yield (
            f"{len(found)} operations on {size:,} elements: ratio to NumPy median {np.median(ratios):.2f}, "
            f"{np.mean(ratios <= 1.05):.0%} of them at most 1.05; {np.mean(extra <= 1e-6):.0%} at most 1 µs over NumPy "
            f"(measured in {seconds:.0f} s)"
        )
        for ratio, one, other, name, ours in sorted(found, reverse=True)[:WORST]:
            times = f"{one * 1e6:12.2f} µs {other * 1e6:12.2f} µs"
            yield f"  {name + ': ' + ours:45s} {times}  {ratio:6.2f}  {(one - other) * 1e6:+.2f} µs"

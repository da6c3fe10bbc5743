"""Derivatives of random programs: by the fields of the instances, through the types and through dense forms."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import dispatchkit as dk

from .plain import IncomparableError, plain, with_other_garbage
from .running import (
    GARBLED,
    MAY_REFUSE,
    NAMES,
    OTHERWISE,
    Difference,
    Report,
    axis_names,
    fit,
    is_beginning,
    is_missing,
    names_of,
    numbers,
    outcome,
)
from .steps import SMOOTH, filled
from .values import KINDS, Values

__all__ = ["ORDERS", "fuzz_derivatives", "unlike"]

CLOSE = 1e-6
# What has derivatives without digits where a matrix is nearly singular.
SINGULAR = tuple(f"dk.linalg.{name}" for name in ("det", "slogdet", "inv", "solve", "matrix_power", "cholesky"))
LARGEST_CONDITION = 1e4
ROOTS = ("dk.linalg.vector_norm", "dk.linalg.matrix_norm")
NEARLY_ZERO = 1e-6
ORDERS = (
    *("value", "grad", "jvp", "second", "vmap"),
    *("jvp of jvp", "jvp of grad", "grad of jvp", "vmap of second", "checkpoint", "backward"),
)

DRAWN = 5  # of them, for each program


class Loss:
    """A program as a function of the numbers that its instances are made of.

    Parameters
    ----------
    steps : of the program; the last result, weighted, is summed
    made_dense : what is made of the instances before the steps
    """

    def __init__(self, steps: list[str], made_dense: Callable[[Any], Any]) -> None:
        self.codes = [
            (step.partition(" = ")[0], compile(step.partition(" = ")[2], "<step>", "eval"), is_beginning(step))
            for step in steps
        ]
        self.made_dense = made_dense

    def __call__(self, *leaves: Any) -> Any:
        names = {**NAMES, **{f"p{i}": leaf for i, leaf in enumerate(leaves)}}
        value: Any = None
        for name, code, beginning in self.codes:
            value = eval(code, names)  # noqa: S307  # a step of a program of this package
            names[name] = self.made_dense(value) if beginning else value
        result = plain(value)
        return (result * dk.asarray(np.cos(np.arange(result.size)).reshape(result.shape))).sum()


def derivatives(loss: Callable[..., Any], leaves: list[Any], order: str) -> list[Any]:
    """Return derivatives of a program as NumPy arrays.

    Parameters
    ----------
    loss : the program
    leaves : what it is differentiated by
    order : one of `ORDERS`
    """
    argnums = tuple(range(len(leaves)))
    directions = tuple(dk.asarray(np.sin(1 + np.arange(leaf.size)).reshape(leaf.shape)) for leaf in leaves)

    def gradients(*at: Any) -> Any:
        return dk.func.grad(loss, argnums=argnums)(*at)

    def slope(*at: Any) -> Any:
        return sum((g * d).sum() for g, d in zip(gradients(*at), directions, strict=True))

    def tangent(*at: Any) -> Any:
        return dk.func.jvp(loss, at, directions)[1]

    def second(*at: Any) -> Any:
        return dk.func.grad(slope, argnums=argnums)(*at)

    def batched(function: Callable[..., Any]) -> Any:
        return dk.func.vmap(function)(*(dk.stack([leaf, leaf * 1.01]) for leaf in leaves))

    def backward() -> list[Any]:
        """Go backwards twice: by the leaves, then by them through the gradients, which add up."""
        at = [leaf.clone().requires_grad_() for leaf in leaves]
        if (value := dk.func.checkpoint(loss)(*at)).requires_grad:
            value.backward(create_graph=True)
        slope = sum((leaf.grad * d).sum() for leaf, d in zip(at, directions, strict=True) if leaf.grad is not None)
        if isinstance(slope, dk.Tensor) and slope.requires_grad:
            slope.backward()
        return [dk.zeros_like(leaf) if leaf.grad is None else leaf.grad for leaf in at]

    makers: dict[str, Callable[[], Any]] = {
        "value": lambda: [loss(*leaves)],
        "grad": lambda: gradients(*leaves),
        "jvp": lambda: dk.func.jvp(loss, tuple(leaves), directions),
        "second": lambda: second(*leaves),
        "vmap": lambda: batched(gradients),
        "jvp of jvp": lambda: dk.func.jvp(tangent, tuple(leaves), directions),
        "jvp of grad": lambda: dk.func.jvp(gradients, tuple(leaves), directions)[1],
        "grad of jvp": lambda: dk.func.grad(tangent, argnums=argnums)(*leaves),
        "vmap of second": lambda: batched(second),
        "checkpoint": lambda: dk.func.grad(dk.func.checkpoint(slope), argnums=argnums)(*leaves),
        "backward": backward,
    }
    return [numbers(part) for part in makers[order]()]


def condition(x: Any) -> float:
    """Return the largest condition number of matrices."""
    matrices = numbers(x)
    if matrices.ndim >= 2 and matrices.shape[-2] > matrices.shape[-1]:
        return np.inf
    return float(np.linalg.cond(matrices).max()) if matrices.ndim >= 2 and matrices.size else 1.0


def as_it_is(value: Any) -> Any:
    return value


def unlike(kind: str, steps: list[str], leaves: list[Any], order: str) -> str | None:
    """Return in what derivatives differ, None where they do not, or where the dense form has none."""
    try:
        return compared(kind, steps, leaves, order)
    except IncomparableError:
        return None


def compared(kind: str, steps: list[str], leaves: list[Any], order: str) -> str | None:
    """Return in what derivatives differ, None where they do not.

    Raises
    ------
    IncomparableError : where the dense form has none, or the type may refuse
    """
    try:
        made_dense = with_other_garbage if kind in GARBLED else plain
        wanted = derivatives(Loss(steps, made_dense), leaves, order)
    except Exception as error:  # a program that dense forms refuse tells nothing of the types
        raise IncomparableError(order) from error
    if not all(np.isfinite(x).all() and np.abs(x).max(initial=0) < 1e5 for x in wanted):
        raise IncomparableError(order)
    try:
        found = derivatives(Loss(steps, as_it_is), leaves, order)
    except IncomparableError:
        raise
    except Exception as error:
        if kind in MAY_REFUSE:
            raise IncomparableError(order) from error
        return f"{order}: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
    for i, (a, b) in enumerate(zip(found, wanted, strict=True)):
        scale = 1 + np.abs(b).max(initial=0)
        if a.shape != b.shape or not np.abs(a - b).max(initial=0) <= CLOSE * scale:
            return f"{order}: by p{i} {a.tolist()}, dense {b.tolist()}"
    return None


def beginning(kind: str, rng: random.Random) -> tuple[list[str], list[str]]:
    """Return steps that make instances and tensors, and the leaves that they are made of."""
    n, batch = rng.choice((0, 1, 2, 2, 2, 3, 3, 3, 4)), rng.choice(((), (), (), (), (2,), (2,), (1,), (0,), (2, 1)))
    values = Values(rng, n, batch, finite=True, smooth=True)
    steps = [
        f"v{i} = {getattr(values, rng.choice(KINDS[kind]) if i == 0 or rng.random() < 0.7 else 'tensor')()}"
        for i in range(rng.choice((1, 1, 2)))
    ]
    return steps, values.leaves


class Writer:
    """Writes steps that have derivatives, on values that it keeps of the instances and of their dense forms.

    Parameters
    ----------
    kind : of the instances
    steps : that make them
    leaves : what they are made of
    """

    def __init__(self, kind: str, steps: list[str], leaves: list[Any]) -> None:
        self.kind, self.steps = kind, steps
        self.typed: dict[str, Any] = {}
        self.dense: dict[str, Any] = {}
        names = {**NAMES, **{f"p{i}": leaf for i, leaf in enumerate(leaves)}}
        for step in steps:
            name, _, text = step.partition(" = ")
            self.typed[name] = eval(text, names)  # noqa: S307  # a step of a program of this package
            self.dense[name] = plain(self.typed[name])

    def write(self, name: str, rng: random.Random) -> None:
        """Add a step that gives a value a name, if what is drawn can be one."""
        x, y = rng.choice(list(self.dense)), rng.choice(list(self.dense))
        form = rng.choice([form for form in SMOOTH if not any(part in form for part in OTHERWISE.get(self.kind, ()))])
        text = form.format(x=x, y=y, **filled(rng, form, tuple(self.dense[x].shape)))
        if form.startswith(SINGULAR) and condition(self.dense[x]) > LARGEST_CONDITION:
            return
        if len({axis_names(self.typed[name]) for name in names_of(f"_ = {text}")}) > 1:
            return  # axes that are aligned by their names
        code = compile(text, "<step>", "eval")
        value, result = outcome(code, {**NAMES, **self.dense}), outcome(code, {**NAMES, **self.typed})
        root = isinstance(value, dk.Tensor) and (form.partition("(")[0] in ROOTS or ".std(" in form)
        if root and np.abs(numbers(value)).min(initial=1) < NEARLY_ZERO:
            return  # the derivative of a root near 0 is that of rounding errors
        if self.kind in MAY_REFUSE and isinstance(result, Exception):
            return
        if self.kind not in GARBLED and is_missing(result):
            return  # what has no value is missing, such as the maximum of nothing
        if isinstance(value, dk.Tensor) and fit(value) and value.size and np.abs(numbers(value)).max() < 1e4:
            self.dense[name], self.typed[name] = value, result
            self.steps.append(f"{name} = {text}")


def run_program(seed: int, kind: str, report: Report, length: int) -> None:
    rng = random.Random(seed)  # noqa: S311  # no secret
    steps, texts = beginning(kind, rng)
    leaves = [dk.asarray(eval(text, dict(NAMES))) for text in texts]  # noqa: S307
    try:
        writer = Writer(kind, steps, leaves)
    except (TypeError, ValueError):
        report.unmade += 1
        return
    for i in range(len(steps), len(steps) + rng.randint(1, length)):
        writer.write(f"v{i}", rng)
    count = report.steps
    for order in rng.sample(ORDERS, DRAWN) if leaves else ():
        try:
            text = compared(kind, steps, leaves, order)
        except IncomparableError:
            continue
        report.steps += 1
        if text is not None:
            small = shrunk(kind, steps, leaves, order)
            made = [f"p{i} = dk.asarray({text})" for i, text in enumerate(texts)]
            report.differences.append(Difference(seed, [*made, *small], unlike(kind, small, leaves, order) or text))
            break
    report.programs += report.steps > count


def shrunk(kind: str, steps: list[str], leaves: list[Any], order: str) -> list[str]:
    """Return the steps of a program whose derivatives differ without those that they differ without."""
    for j in reversed(range(len(steps) - 1)):
        fewer = steps[:j] + steps[j + 1 :]
        text = unlike(kind, fewer, leaves, order)
        if text is not None and "NameError" not in text:
            steps = fewer
    return steps


def fuzz_derivatives(kind: str, programs: int, seed: int, *, length: int = 4, report: Report | None = None) -> Report:
    """Compare derivatives of random programs; parameters as of `running.fuzz`."""
    report = Report() if report is None else report
    with warnings.catch_warnings(), np.errstate(all="ignore"), dk.densify(on="allow"):
        warnings.simplefilter("ignore")
        for one in range(seed, seed + programs):
            run_program(one, kind, report, length)
    return report

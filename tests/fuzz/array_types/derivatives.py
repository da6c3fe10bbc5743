"""Derivatives of random programs: by the fields of the instances, through the types and through dense forms."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import dispatchkit as dk

from .plain import plain
from .running import MAY_REFUSE, NAMES, OTHERWISE, Difference, Report, fit, is_beginning, numbers, outcome
from .steps import SMOOTH, filled
from .values import KINDS, Values

__all__ = ["ORDERS", "fuzz_derivatives", "unlike"]

CLOSE = 1e-6
# What has derivatives without digits where a matrix is nearly singular.
SINGULAR = tuple(f"dk.linalg.{name}" for name in ("det", "slogdet", "inv", "solve", "matrix_power", "cholesky"))
LARGEST_CONDITION = 1e4
ORDERS = ("value", "grad", "jvp", "second", "vmap")


class Loss:
    """A program as a function of the numbers that its instances are made of.

    Parameters
    ----------
    steps : of the program; the last result, weighted, is summed
    dense : whether the instances are made dense before the steps
    """

    def __init__(self, steps: list[str], *, dense: bool) -> None:
        self.codes = [
            (step.partition(" = ")[0], compile(step.partition(" = ")[2], "<step>", "eval"), is_beginning(step))
            for step in steps
        ]
        self.dense = dense

    def __call__(self, *leaves: Any) -> Any:
        names = {**NAMES, **{f"p{i}": leaf for i, leaf in enumerate(leaves)}}
        value: Any = None
        for name, code, beginning in self.codes:
            value = eval(code, names)  # noqa: S307  # a step of a program of this package
            names[name] = plain(value) if beginning and self.dense else value
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
    if order == "value":
        return [numbers(loss(*leaves))]
    argnums = tuple(range(len(leaves)))
    directions = tuple(dk.asarray(np.sin(1 + np.arange(leaf.size)).reshape(leaf.shape)) for leaf in leaves)
    if order == "grad":
        return [numbers(g) for g in dk.func.grad(loss, argnums=argnums)(*leaves)]
    if order == "jvp":
        return [numbers(part) for part in dk.func.jvp(loss, tuple(leaves), directions)]
    if order == "vmap":
        batched = [dk.stack([leaf, leaf * 1.01]) for leaf in leaves]
        return [numbers(g) for g in dk.func.vmap(dk.func.grad(loss, argnums=argnums))(*batched)]

    def slope(*at: Any) -> Any:
        gradients = dk.func.grad(loss, argnums=argnums)(*at)
        return sum((g * d).sum() for g, d in zip(gradients, directions, strict=True))

    return [numbers(g) for g in dk.func.grad(slope, argnums=argnums)(*leaves)]


def condition(x: Any) -> float:
    """Return the largest condition number of matrices."""
    matrices = numbers(x)
    return float(np.linalg.cond(matrices).max()) if matrices.ndim >= 2 and matrices.size else 1.0


def unlike(kind: str, steps: list[str], leaves: list[Any], order: str) -> str | None:
    """Return in what derivatives differ, None where they do not, or where the dense form has none."""
    try:
        wanted = derivatives(Loss(steps, dense=True), leaves, order)
    except Exception:  # noqa: BLE001  # a program that dense forms refuse tells nothing of the types
        return None
    if not all(np.isfinite(x).all() and np.abs(x).max(initial=0) < 1e5 for x in wanted):
        return None
    try:
        found = derivatives(Loss(steps, dense=False), leaves, order)
    except Exception as error:  # noqa: BLE001  # any error is a difference, but where a type may refuse
        return None if kind in MAY_REFUSE else f"{order}: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
    for i, (a, b) in enumerate(zip(found, wanted, strict=True)):
        scale = 1 + np.abs(b).max(initial=0)
        if a.shape != b.shape or not np.abs(a - b).max(initial=0) <= CLOSE * scale:
            return f"{order}: by p{i} {a.tolist()}, dense {b.tolist()}"
    return None


def run_program(seed: int, kind: str, report: Report, length: int) -> None:
    rng = random.Random(seed)  # noqa: S311  # no secret
    values = Values(rng, rng.choice((1, 2, 2, 3, 3, 4)), rng.choice(((), (), (), (2,))), finite=True, smooth=True)
    count = rng.choice((1, 1, 2))
    steps = [
        f"v{i} = {getattr(values, rng.choice(KINDS[kind]) if i == 0 or rng.random() < 0.7 else 'tensor')()}"
        for i in range(count)
    ]
    leaves = [dk.asarray(eval(text, dict(NAMES))) for text in values.leaves]  # noqa: S307
    names = {**NAMES, **{f"p{i}": leaf for i, leaf in enumerate(leaves)}}
    dense: dict[str, Any] = {}
    for step in steps:
        name, _, text = step.partition(" = ")
        try:
            dense[name] = plain(eval(text, names))  # noqa: S307
        except (TypeError, ValueError):
            report.unmade += 1
            return
    for i in range(count, count + rng.randint(1, length)):
        x, y = rng.choice(list(dense)), rng.choice(list(dense))
        form = rng.choice([form for form in SMOOTH if not any(part in form for part in OTHERWISE.get(kind, ()))])
        text = form.format(x=x, y=y, **filled(rng, form, tuple(dense[x].shape)))
        if form.startswith(SINGULAR) and condition(dense[x]) > LARGEST_CONDITION:
            continue
        value = outcome(compile(text, "<step>", "eval"), {**NAMES, **dense})
        if isinstance(value, dk.Tensor) and fit(value) and value.size and np.abs(numbers(value)).max() < 1e4:
            dense[f"v{i}"] = value
            steps.append(f"v{i} = {text}")
    if not leaves:
        return
    report.programs += 1
    for order in ORDERS:
        report.steps += 1
        text_of_difference = unlike(kind, steps, leaves, order)
        if text_of_difference is None:
            continue
        small = list(steps)
        for j in reversed(range(len(steps) - 1)):
            fewer = small[:j] + small[j + 1 :]
            if unlike(kind, fewer, leaves, order) is not None and "NameError" not in str(
                unlike(kind, fewer, leaves, order)
            ):
                small = fewer
        beginning = [f"p{i} = dk.asarray({text})" for i, text in enumerate(values.leaves)]
        report.differences.append(
            Difference(seed, [*beginning, *small], unlike(kind, small, leaves, order) or text_of_difference)
        )
        return


def fuzz_derivatives(kind: str, programs: int, seed: int, *, length: int = 4) -> Report:
    """Compare derivatives of random programs; parameters as of `running.fuzz`."""
    report = Report()
    with warnings.catch_warnings(), np.errstate(all="ignore"), dk.densify(on="allow"):
        warnings.simplefilter("ignore")
        for one in range(seed, seed + programs):
            run_program(one, kind, report, length)
    return report

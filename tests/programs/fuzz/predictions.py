"""Make random calls of every operation, many of them mistaken, and compare each with what is predicted of it.

``python -m tests.programs.fuzz.predictions --calls 20000 --seed 1`` prints what differs; the exit status is 1 where
something does.
"""

from __future__ import annotations

import argparse
import inspect
import random
import sys
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form
from dispatchkit.protocol.prediction import predict
from dispatchkit.protocol.prediction.tree import first_line
from dispatchkit.testing.calls import measuring
from dispatchkit.testing.instances import anew
from tests.report import promised
from tests.report.agreement import compared, shipped
from tests.report.answering import (
    VALUES,
    Converts,
    Decomposes,
    Dense,
    Diagonal,
    Kinds,
    Rewraps,
    Rules,
    Subclass,
    register,
)
from tests.report.shipped import samples

NUMBERS = (2.0, 0, 3, -1, True, 1j, 0.5)
ODD: tuple[Any, ...] = (
    None,
    [1.0, 2.0],
    "sum",
    (0, 1),
    [0],
    object,
    ...,
    slice(None),
    np.float32(2.0),
    {},
    float("nan"),
)
NAMES = ("axis", "keepdims", "dtype", "correction", "out", "no_such_keyword", "axes", "dim", "shape", "where")


@dataclass
class Walk:
    """What came of the calls.

    Attributes
    ----------
    calls, depending, raising : how many were made, depend on values, and raised as was predicted for certain
    different : texts of those that differ, by operation
    """

    calls: int = 0
    depending: int = 0
    raising: int = 0
    different: Counter[str] = field(default_factory=Counter)


class Calls:
    """Draws calls.

    Parameters
    ----------
    seed : of the draws
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311  # of tests
        self.operations = [operation for operation in shipped() if operation.parameters.arrays]
        matrix = dk.asarray(VALUES)
        holding = (Rules, Decomposes, Dense, Converts, Kinds)
        self.instances: list[Any] = [
            *(cls(matrix) for cls in holding),
            Subclass(VALUES),
            Rewraps(Diagonal([1.0, 2.0, 4.0])),
        ]
        self.instances += [Diagonal([1.0, 2.0, 4.0]), promised.ring(), promised.coded(), promised.packed()]
        self.instances += samples()
        self.plain = [matrix, dk.asarray([1.0, 2.0, 3.0]), dk.asarray(2), dk.asarray([0, 2]), matrix.array, dk.ones(())]

    def array(self) -> Any:
        """Return what may stand in the place of an array."""
        share = self.random.random()
        if share < 0.62:
            return anew(self.random.choice(self.instances))  # since calls may change it
        if share < 0.8:
            return anew(self.random.choice(self.plain))
        if share < 0.93:
            return self.random.choice(NUMBERS)
        return self.random.choice(ODD)

    def value(self) -> Any:
        """Return what may be any other argument."""
        share = self.random.random()
        if share < 0.55:
            return self.random.choice((0, 1, -1, 2, None, True, False, (0, 1), (3,), "float32", dk.float64))
        if share < 0.8:
            return self.array()
        return self.random.choice(ODD)

    def arguments(self, operation: Overridable) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return arguments of a call, which the operation may not take."""
        forms = {p.name: p.form for p in operation.parameters.arrays}
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for p in operation.parameters.signature.parameters.values():
            if p.default is not p.empty and self.random.random() < 0.6:
                continue
            if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and p.name not in forms:
                continue
            value = self.argument(forms.get(p.name))
            if p.name == "generator":
                value = None
            if p.kind is p.VAR_POSITIONAL:
                args += value
            elif (
                p.kind is p.KEYWORD_ONLY or kwargs or (p.kind is p.POSITIONAL_OR_KEYWORD and self.random.random() < 0.3)
            ):
                kwargs[p.name] = value
            else:
                args.append(value)
        if self.random.random() < 0.06:
            kwargs[self.random.choice(NAMES)] = self.value()
        if self.random.random() < 0.03:
            args += [self.array()] * self.random.randint(1, 3)
        if args and self.random.random() < 0.02:
            args.pop()
        return tuple(args), kwargs

    def by_name(self, p: inspect.Parameter) -> bool:
        """Return whether an argument that may be passed either way is passed by name."""
        return p.kind is p.POSITIONAL_OR_KEYWORD and self.random.random() < 0.3

    def argument(self, form: Form | None) -> Any:
        """Return an argument for a parameter of a form, None for one that takes no array."""
        if form is None:
            return self.value()
        if form in (Form.SEQUENCE, Form.STAR):
            return [self.array() for _ in range(self.random.randint(0, 3))]
        if form is Form.INDEX:
            return self.random.choice((0, slice(1), ..., (0, 1), None, dk.asarray([0, 1]), self.array()))
        return self.array()


def difference(operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any], walk: Walk) -> str:
    """Make a call, and return how it differs from what was predicted of it; "" where it does not."""
    predicted = predict(operation, args, kwargs)
    raised = ""
    with dk.record_calls() as recorded:
        try:
            operation.function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  # which is compared
            raised = first_line(error)
    walk.calls += 1
    if predicted.depends_on_values:
        walk.depending += 1
        return ""
    walk.raising += bool(predicted.error)
    if recorded.calls:
        return compared(predicted, recorded.calls[0])
    if predicted.error == raised:
        return ""
    return f"{operation.qualified_name}: predicted {predicted.error or predicted.outcome.name}, raised {raised}"


def walked(count: int, seed: int) -> Walk:
    """Make some calls, the same for a seed, and compare them."""
    walk, calls = Walk(), Calls(seed)
    for _ in range(count):
        operation = calls.random.choice(calls.operations)
        args, kwargs = calls.arguments(operation)
        found = difference(operation, args, kwargs, walk)
        if found:
            walk.different[f"{found}\n    {args!r}, {kwargs!r}"[:700]] += 1
    return walk


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.programs.fuzz.predictions", description=__doc__)
    parser.add_argument("--calls", type=int, default=20_000, help="how many to make")
    parser.add_argument("--seed", type=int, default=0, help="of the draws")
    given = parser.parse_args()
    with dk.local_registrations(), measuring(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        register()
        promised.register()
        walk = walked(given.calls, given.seed)
    for text, count in walk.different.most_common():
        sys.stdout.write(f"{count} x {text}" + "\n")
    definite = walk.calls - walk.depending
    sys.stdout.write(f"{walk.calls} calls, {walk.depending} depend on values, {definite} definite predictions" + "\n")
    sys.stdout.write(f"{walk.raising} of these that the call raises; {walk.different.total()} differ" + "\n")
    return bool(walk.different)


if __name__ == "__main__":
    sys.exit(main())

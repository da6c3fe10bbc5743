"""Runs programs in dispatchkit and PyTorch, compares what they leave, and shrinks those that differ."""

from __future__ import annotations

import random
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from dispatchkit.errors import AutogradError, DispatchError

from .steps import Writer

__all__ = ["Difference", "Report", "difference", "fuzz", "pasteable", "shrunk"]

# What the library says no with; anything else is a fault.
REFUSALS = (AutogradError, DispatchError, ValueError, TypeError, IndexError)
LARGEST = 1e3  # numbers beyond lose the digits that are compared
TARGET = re.compile(r"(?:with lib\.no_grad\(\): )?(v\d+)")
CLOSE, CLOSE_IN_SINGLE = 1e-9, 1e-3  # in parts of the largest number


@dataclass
class Difference:
    """A program that the libraries do not agree on.

    Attributes
    ----------
    seed : of the program
    steps : of it, shrunk
    text : what differs
    """

    seed: int
    steps: list[str]
    text: str


@dataclass
class Report:
    """What came of many programs.

    Attributes
    ----------
    programs, steps : how many were run
    abandoned : programs that did not run again as before, after a step that was undone
    refused : how often one library alone refused a step, by its name and what it said
    views : how many gradients that a view retained differ where its memory was changed in place. PyTorch makes such a
        view a new node, also where the change is not recorded, and retains less; no gradient may be missing
    differences : the programs that differ
    """

    programs: int = 0
    steps: int = 0
    abandoned: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    views: int = 0
    differences: list[Difference] = field(default_factory=list)


@lru_cache(maxsize=4096)
def compiled(step: str) -> CodeType:
    return compile(step, "<step>", "exec")


class StepError(Exception):
    """The libraries differ in how they answer a step."""


class NotRepeatedError(Exception):
    """A program does not run a second time as it did."""


class Pair:
    """A program as it stands in both libraries.

    Parameters
    ----------
    ours, theirs : the libraries, PyTorch the second
    steps : to begin with
    """

    def __init__(self, ours: Any, theirs: Any, steps: Sequence[str] = ()) -> None:
        self.ours: dict[str, Any] = {"lib": ours}
        self.theirs: dict[str, Any] = {"lib": theirs}
        # The gradient of what a rule reads: whether that is a result or computed anew is the library's to choose.
        self.twice = False
        self.views = 0
        # What PyTorch refuses can depend on what was asked of a view before, so a program may not run again as it did.
        self.repeated = [self.do(step) for step in steps].count(None) == len(steps)

    def do(self, step: str) -> str | None:
        """Make a step; return who refused it and why, None where both made it.

        Raises
        ------
        StepError : if our library fails otherwise than by refusing
        """
        code = compiled(step)
        self.twice = self.twice or "create_graph" in step
        errors: list[Exception | None] = []
        for names in (self.theirs, self.ours):
            try:
                exec(code, names)  # noqa: S102  # a step of a program of this package
                errors.append(None)
            except Exception as error:  # noqa: BLE001  # which errors are right is decided below
                errors.append(error)
        theirs, ours = errors
        if ours is not None and not isinstance(ours, (*REFUSALS, NameError)):
            raise StepError(f"{step}: {type(ours).__name__}: {ours}") from ours
        if ours is not None and theirs is not None:
            return "both"
        if ours is not None:
            return f"dispatchkit: {kind_of(ours)}"
        return None if theirs is None else f"PyTorch: {kind_of(theirs)}"

    def too_large(self, step: str) -> bool:
        """Return whether the tensor that a step made or changed holds numbers that cannot be compared."""
        target = TARGET.match(step)
        value = None if target is None else self.theirs.get(target[1])
        return value is not None and value.numel() > 0 and not value.detach().abs().max().item() < LARGEST

    def difference(self) -> str | None:
        """Return in what the tensors of both differ, None where they do not."""
        tensors = {name: value for name, value in self.theirs.items() if name[0] == "v"}
        close = CLOSE_IN_SINGLE if any(value.dtype.itemsize < 8 for value in tensors.values()) else CLOSE
        for name, theirs in tensors.items():
            ours = self.ours[name]
            found = unlike(name, ours, theirs, close)
            if found is None and (theirs.is_leaf or (theirs.retains_grad and not self.twice)):
                found = unlike(f"{name}.grad", ours.grad, theirs.grad, close)
                changed = not theirs.is_leaf and theirs._is_view() and theirs._version > 0
                if found is not None and changed and ours.grad is not None:
                    self.views += 1
                    found = None
            if found is None and theirs.requires_grad and theirs.numel() and not ours.requires_grad:
                found = f"{name}.requires_grad: False, PyTorch True"
            if found is not None:
                return found
        return None


def unlike(name: str, ours: Any, theirs: Any, close: float) -> str | None:
    """Return in what two tensors differ, or gradients."""
    if ours is None or theirs is None:
        # A derivative that is 0 everywhere may be a constant of PyTorch's, from which no gradient flows.
        nothing = ours is theirs or (theirs is None and not np.any(ours.detach().numpy()))
        nothing = nothing or (ours is None and theirs.numel() == 0)
        return None if nothing else f"{name}: {ours}, PyTorch {theirs}"
    a, b = ours.detach().numpy(), theirs.detach().numpy(force=True)
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{name}: {a.dtype} of shape {a.shape}, PyTorch {b.dtype} of shape {b.shape}"
    if np.array_equal(a, b, equal_nan=True):
        return None
    scale = np.abs(b, where=np.isfinite(b), out=np.zeros_like(b)).max()
    if np.allclose(a, b, rtol=0, atol=close * (1 + scale), equal_nan=True):
        return None
    return f"{name}: {a.tolist()}, PyTorch {b.tolist()}"


def kind_of(error: Exception) -> str:
    """Return what an error says in general: without names, numbers and what comes after the first clause."""
    text = str(error).strip().partition("\n")[0].partition(";")[0]
    text = re.sub(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", "N", re.sub(r"\bv\d+\b", "v", text))
    text = re.sub(r"\((N,? ?)*\)|\[(N,? ?)*\]", "(...)", text)
    return f"{type(error).__name__}: {text[:90]}"


def difference(steps: Sequence[str], ours: Any, theirs: Any) -> str | None:
    """Run a program; return in what the libraries differ, None where they agree or a step is refused."""
    pair = Pair(ours, theirs)
    try:
        for step in steps:
            if pair.do(step) is not None:
                return None
        return pair.difference()
    except StepError as fault:
        return str(fault)


def shrunk(steps: Sequence[str], ours: Any, theirs: Any) -> list[str]:
    """Return the steps of a program that differs without those that it differs without."""
    steps = list(steps)
    before = len(steps) + 1
    while len(steps) < before:
        before = len(steps)
        for i in reversed(range(len(steps))):
            fewer = steps[:i] + steps[i + 1 :]
            if difference(fewer, ours, theirs) is not None:
                steps = fewer
    return steps


def run_program(seed: int, ours: Any, theirs: Any, report: Report, length: int) -> None:
    """Write a program while it runs; note refusals, and what differs at its end."""
    rng = random.Random(seed)  # noqa: S311  # no secret
    pair = Pair(ours, theirs)
    writer = Writer(rng, pair.theirs)
    steps: list[str] = []

    def go(step: str) -> None:
        nonlocal pair
        steps.append(step)
        refused = pair.do(step)
        if refused not in (None, "both"):
            report.refused[str(refused)] += 1
        if refused is not None or pair.too_large(step):
            # What the step has done before one of them refused it is undone.
            steps.pop()
            pair = Pair(ours, theirs, steps)
            writer.names = pair.theirs
            if not pair.repeated:
                raise NotRepeatedError

    try:
        for i in range(rng.randint(4, length)):
            go(writer.leaf() if i < 2 else writer.step())
        for step in writer.closing():
            go(step)
        found = pair.difference()
        report.views += pair.views
    except StepError as fault:
        found = str(fault)
    except NotRepeatedError:
        report.abandoned += 1
        return
    report.programs += 1
    report.steps += len(steps)
    if found is not None:
        steps = shrunk(steps, ours, theirs)
        report.differences.append(Difference(seed, steps, difference(steps, ours, theirs) or found))


def fuzz(programs: int, seed: int, ours: Any, theirs: Any, *, length: int = 25) -> Report:
    """Run random programs.

    Parameters
    ----------
    programs : how many
    seed : of the first; that of the next is one more, so that a single program can be run again
    ours, theirs : dispatchkit and PyTorch
    length : largest number of steps of a program
    """
    report = Report()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in range(seed, seed + programs):
            run_program(one, ours, theirs, report, length)
    return report


def pasteable(found: Difference) -> str:
    """Return a program that differs as text to paste into a file."""
    steps = "\n".join(found.steps)
    return f"# seed {found.seed}: {found.text}\nimport dispatchkit as lib  # or: import torch as lib\n{steps}\n"

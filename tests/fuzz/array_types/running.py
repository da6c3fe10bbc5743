"""Runs the programs, compares each step with the same step on dense forms, and shrinks the programs that differ.

A step is compared on the dense forms of the arguments that it had, so that rounding errors do not add up from step to
step, and a difference names the call that has it.
"""

from __future__ import annotations

import random
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

import dispatchkit as dk
from dispatchkit import types

from .plain import IncomparableError, pattern, plain, with_other_garbage
from .steps import FORMS, MATRIX, filled
from .values import KINDS, Values

__all__ = ["Difference", "Report", "fuzz", "pasteable", "run", "shrunk"]

NAMES = {"dk": dk, "np": np, **{name: getattr(types, name) for name in types.__all__}}
REFUSALS = (TypeError, ValueError, IndexError, ArithmeticError, LinAlgError)
LARGEST = 1e8
SINGULAR = 1e8  # a tolerance that leaves no digits
DIGITS = {2: 2e-2, 4: 2e-4, 8: 1e-8, 16: 1e-8}
SINGLE = {"c": 8}  # itemsize of a complex dtype of single precision
MATRIX_FORMS = tuple(form.partition("(")[0] for form in MATRIX)


@dataclass
class Difference:
    """A program whose last step gives something else than on dense forms.

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
    programs, steps : how many were run, and compared
    unmade : programs whose instances cannot be made
    refused : how often a type refused what dense forms take, where it may, by the form of the call
    dtypes : how often the dtypes alone differ, by what differs
    differences : the programs that differ
    """

    programs: int = 0
    steps: int = 0
    unmade: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    dtypes: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)


def names_of(step: str) -> list[str]:
    """Return the variables that a step reads."""
    read = compile(step.partition(" = ")[2], "<step>", "eval").co_names
    return sorted({name for name in read if name[0] == "v" and name[1:].isdigit()})


class Program:
    """A program and the values that its steps gave.

    Parameters
    ----------
    kind : of the instances that it begins with
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.names: dict[str, Any] = dict(NAMES)
        self.dense: dict[str, Any] = dict(NAMES)

    def begin(self, step: str) -> None:
        """Make an instance or a tensor; its dense form is what the steps are compared with.

        Parameters
        ----------
        step : one line, ``v0 = ...``
        """
        name = step.partition(" = ")[0]
        exec(step, self.names)  # noqa: S102  # a step of a program of this package
        value = self.names[name]
        self.dense[name] = with_other_garbage(value) if self.kind == "masks" else plain(value)

    def go(self, step: str) -> str | None:
        """Make a step and compare it; return in what it differs, None where it does not.

        Parameters
        ----------
        step : one line, ``v2 = ...``
        """
        name, _, text = step.partition(" = ")
        code = compile(text, "<step>", "eval")
        typed, dense = outcome(code, self.names), outcome(code, self.dense)
        if isinstance(typed, Exception) or isinstance(dense, Exception):
            singular = isinstance(typed, LinAlgError) or isinstance(dense, LinAlgError)
            return None if singular and self.tolerance(step) > SINGULAR else self.refusal(typed, dense)
        try:
            found = plain(typed)
        except IncomparableError:
            return None
        except Exception as error:  # noqa: BLE001  # any error is a difference
            return f"to_dense: {type(error).__name__}: {error}"
        if self.kind == "whole masks" and not (not hasattr(typed, "valid") or bool(typed.valid.all())):
            return None  # what has no value is missing, such as the maximum of nothing
        reference, dense = dense, plain(dense)
        text_of_difference = unlike(found, dense, self.tolerance(step))
        if text_of_difference is not None and not text_of_difference.startswith("dtype"):
            others = [plain(other) for other in self.by_structure(step)]
            if any(unlike_either(found, dense, other, self.tolerance(step)) is None for other in others):
                text_of_difference = None
        if name != "_" and fit(found) and text_of_difference is None:
            self.names[name] = typed
            self.dense[name] = reference if self.kind == "masks" else dense if self.kind == "units" else found
        return text_of_difference

    def refusal(self, typed: Any, dense: Any) -> str | None:
        """Return in what two answers differ of which one at least is an error."""
        if isinstance(typed, Exception) and isinstance(dense, Exception):
            known = isinstance(typed, (*REFUSALS, RuntimeError)) and not isinstance(typed, RecursionError)
            return None if known else f"{type(typed).__name__}: {typed}, dense {type(dense).__name__}"
        if isinstance(typed, Exception):
            return f"{type(typed).__name__}: {str(typed).partition(chr(10))[0]}; dense gives a result"
        return f"a result; dense gives {type(dense).__name__}: {str(dense).partition(chr(10))[0]}"

    def tolerance(self, step: str) -> float:
        """Return how much results may differ by, in parts of their largest, where matrices are badly conditioned."""
        if not any(form in step for form in MATRIX_FORMS):
            return 1.0
        if self.kind == "masks":
            return SINGULAR
        largest = 1.0
        for name in names_of(step):
            matrix = numbers(self.dense[name])
            if matrix.ndim >= 2 and matrix.size and np.isfinite(matrix).all():
                values = np.linalg.svd(matrix.astype(complex), compute_uv=False)
                smallest = values[..., -1].min() if values.size else 1.0
                largest = max(largest, values.max(initial=1.0) / smallest if smallest > 0 else np.inf)
        return largest**2

    def by_structure(self, step: str) -> list[Any]:
        """Return what a product is where the zeros of the structures contribute nothing."""
        text = re.sub(r"dk.einsum\('...ij,...jk->...ik', (\w+), (\w+)\)", r"\1 @ \2", step.partition(" = ")[2])
        used = names_of(step)
        if not (("@" in text or "*" in text or "/" in text) and used):
            return []
        if all(np.isfinite(numbers(self.dense[name])).all() for name in used):
            return []
        names = {name: Annihilating(self.dense[name], pattern(self.names[name])) for name in used}
        result = outcome(compile(text, "<step>", "eval"), {**NAMES, **names})
        return [] if isinstance(result, Exception) or not isinstance(result, Annihilating) else [result.values]


class Annihilating:
    """An array whose structural zeros contribute nothing, whatever they meet."""

    def __init__(self, values: Any, there: Any) -> None:
        self.values, self.there = numbers(values), there

    def __matmul__(self, other: Annihilating) -> Annihilating:
        left, right = self.values, other.values
        there, others = self.there, other.there
        vectors = left.ndim == 1, right.ndim == 1
        left, there = (left[None, :], there[None, :]) if vectors[0] else (left, there)
        right, others = (right[:, None], others[:, None]) if vectors[1] else (right, others)
        both = there[..., :, :, None] & others[..., None, :, :]
        with np.errstate(all="ignore"):
            terms = left[..., :, :, None] * right[..., None, :, :]
        result, found = np.where(both, terms, 0).sum(axis=-2), both.any(axis=-2)
        for axis, vector in ((-2, vectors[0]), (-1, vectors[1])):
            if vector:
                result, found = np.squeeze(result, axis=axis), np.squeeze(found, axis=axis)
        return Annihilating(result, found)

    def __mul__(self, other: Any) -> Annihilating:
        values = other.values if isinstance(other, Annihilating) else other
        with np.errstate(all="ignore"):
            product = self.values * values
        there = self.there & (other.there if isinstance(other, Annihilating) else True)
        there = np.broadcast_to(there, product.shape)
        return Annihilating(np.where(there, product, 0), there)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Annihilating:
        values = other.values if isinstance(other, Annihilating) else other
        with np.errstate(all="ignore"):
            quotient = self.values / values
        there = np.broadcast_to(self.there, quotient.shape)
        return Annihilating(np.where(there, quotient, 0), there)

    @property
    def mT(self) -> Annihilating:
        return Annihilating(np.swapaxes(self.values, -1, -2), np.swapaxes(self.there, -1, -2))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape)


def outcome(code: Any, names: dict[str, Any]) -> Any:
    """Return what an expression gives, or the error that it raises."""
    try:
        return eval(code, dict(names))  # noqa: S307  # a step of a program of this package
    except NameError:  # of a program that is being shrunk
        raise
    except Exception as error:  # noqa: BLE001  # what is right is decided by the caller
        return error


def numbers(value: Any) -> Any:
    """Return a plain value as a NumPy array."""
    return np.asarray(value.detach().numpy() if isinstance(value, dk.Tensor) else value)


def fit(value: Any) -> bool:
    """Return whether a result is an array of a size and of numbers that further steps can take."""
    if not isinstance(value, dk.Tensor) or value.ndim > 4 or value.size > 500:
        return False
    array = numbers(value)
    finite = array[np.isfinite(array)] if array.dtype.kind in "fc" else array
    return not finite.size or bool(np.abs(finite.astype(complex)).max() < LARGEST)


def unlike(found: Any, wanted: Any, tolerance: float) -> str | None:
    """Return in what a result differs from the one on dense forms, both plain; None where it does not."""
    a, b = numbers(found), numbers(wanted)
    if a.shape != b.shape:
        return f"shape {a.shape}, dense {b.shape}"
    text = unequal(a, b, tolerance)
    if text is not None:
        return text
    return None if a.dtype == b.dtype else f"dtype {a.dtype}, dense {b.dtype}"


def unlike_either(found: Any, wanted: Any, other: Any, tolerance: float) -> str | None:
    """Return in what a result differs from two, of which each element may equal one."""
    a, b, c = numbers(found), numbers(wanted), numbers(other)
    if not a.shape == b.shape == c.shape:
        return f"shape {a.shape}, dense {b.shape}"
    # Where the dense form has no number, or the structure's zeros decide, the other result is the one to equal.
    return unequal(a, np.where(np.isfinite(b) & np.isfinite(c), b, c), tolerance) and unequal(
        a, np.where(np.isnan(b) & ~np.isnan(a), c, b), tolerance
    )


def unequal(a: Any, b: Any, tolerance: float) -> str | None:
    if a.dtype.kind in "biu" and b.dtype.kind in "biu":
        return None if np.array_equal(a, b) else f"{a.tolist()}, dense {b.tolist()}"
    if not tolerance < SINGULAR:
        return None  # nearly singular: neither result has digits
    if np.array_equal(a, b, equal_nan=True):
        return None
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) and tolerance == 1.0:
        return f"{a.tolist()}, dense {b.tolist()}"
    sizes = [x.itemsize // (2 if x.kind == "c" else 1) for x in (a.dtype, b.dtype) if x.kind in "fc"]
    close = DIGITS[min(sizes)] * tolerance
    with np.errstate(all="ignore"):
        both = finite & np.isfinite(b)
        scale = np.abs(b[both]).max(initial=0) + 1
        same = np.abs(a[both] - b[both]).max(initial=0) <= close * scale
        there = np.array_equal(a[~both], b[~both], equal_nan=True) or same_infinities(a[~both], b[~both])
    return None if same and (there or tolerance > 1) else f"{a.tolist()}, dense {b.tolist()}"


def same_infinities(a: Any, b: Any) -> bool:
    """Return whether complex numbers are infinite, or NaN, in the same places: libraries differ in the parts."""
    return a.dtype.kind == "c" and bool((np.isfinite(a) == np.isfinite(b)).all())


MAY_REFUSE = {"units", "masks", "whole masks", "named", "uncertain"}  # whose dense form means less, or nothing
# Where a type means something else than its dense form: axes by their names, numbers whose unit decides.
OTHERWISE = {
    "named": (
        "@",
        "tensordot",
        "vecdot",
        "outer",
        "kron",
        "einsum",
        "meshgrid",
        "linalg",
        ".T",
        "{indices}]",
        "{mask}]",
    ),
    "uncertain": ("std(",),  # a property there
    "units": (
        "floor",
        "round",
        "trunc",
        "ones_like",
        "astype",
        "clip",
        "{number}",
        "dtype",
        "linalg",
        "sign(",
        "nonzero",
    ),
}


def run(kind: str, steps: Sequence[str]) -> str | None:
    """Run a program; return in what its last step differs, None where it does not."""
    program = Program(kind)
    text = None
    for step in steps:
        if text is not None:
            return None
        try:
            if is_beginning(step):
                program.begin(step)
            else:
                text = program.go(step)
        except Exception:  # noqa: BLE001  # a shorter program that does not run is not the one that is looked for
            return None
    return text


def is_beginning(step: str) -> bool:
    return not names_of(step)


def shrunk(kind: str, steps: Sequence[str]) -> list[str]:
    """Return the steps of a program that differs without those that it differs without."""
    steps, before = list(steps), len(steps) + 1
    while len(steps) < before:
        before = len(steps)
        for i in reversed(range(len(steps) - 1)):
            fewer = steps[:i] + steps[i + 1 :]
            if run(kind, fewer) is not None:
                steps = fewer
    return steps


def excused(kind: str, step: str, text: str) -> bool:
    """Return whether a type may refuse a call that dense forms take."""
    return kind in MAY_REFUSE and ("dense gives a result" in text or text.startswith("a result; dense"))


def run_program(seed: int, kind: str, report: Report, length: int) -> None:
    """Write a program while it runs; note the first step that differs."""
    rng = random.Random(seed)  # noqa: S311  # no secret
    finite = rng.random() < 0.85
    n = rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 6))
    batch = rng.choice(((), (), (), (), (2,), (2,), (1,), (0,), (2, 1)))
    values = Values(rng, n, batch, finite=finite, smooth=False)
    program, steps = Program(kind), []
    for i in range(rng.choice((2, 2, 3))):
        make = rng.choice(KINDS[kind]) if i == 0 or rng.random() < 0.6 else "tensor"
        step = f"v{i} = {getattr(values, make)()}"
        try:
            program.begin(step)
        except (TypeError, ValueError):  # such as a sum of matrices whose batches do not fit
            report.unmade += 1
            return
        steps.append(step)
    report.programs += 1
    for i in range(3, 3 + rng.randint(2, length)):
        names = [name for name in program.names if name[0] == "v" and name[1:].isdigit()]
        x, y = rng.choice(names), rng.choice(names)
        shape = tuple(program.dense[x].shape)
        forms = rng.choices([forms for forms, _ in FORMS], [weight for _, weight in FORMS])[0]
        form = rng.choice(forms)
        if (forms is MATRIX and not finite) or any(part in form for part in OTHERWISE.get(kind, ())):
            continue
        step = f"v{i} = {form.format(x=x, y=y, **filled(rng, form, shape))}"
        report.steps += 1
        if kind == "named" and len({getattr(program.names[name], "names", None) for name in names_of(step)}) > 1:
            continue  # axes that are aligned by their names
        half = any(program.dense[name].dtype == np.float16 for name in names_of(step))
        if half and any(name in form for name in MATRIX_FORMS):
            continue  # LAPACK has no half precision: dense forms refuse it, and structures that need no LAPACK answer
        text = program.go(step)
        if text is None:
            if f"v{i}" in program.names:
                steps.append(step)
        elif excused(kind, step, text):
            report.refused[f"{form}: {text.partition(':')[0]}"] += 1
        elif text.startswith("dtype"):
            report.dtypes[f"{form}: {text}: {' '.join(type(program.names[v]).__name__ for v in names_of(step))}"] += 1
        else:
            small = shrunk(kind, [*steps, step])
            report.differences.append(Difference(seed, small, run(kind, small) or text))
            return


def fuzz(kind: str, programs: int, seed: int, *, length: int = 8) -> Report:
    """Run random programs.

    Parameters
    ----------
    kind : of the instances, a name of `KINDS`
    programs : how many
    seed : of the first; that of the next is one more, so that a single program can be run again
    length : largest number of steps of a program
    """
    report = Report()
    with warnings.catch_warnings(), np.errstate(all="ignore"), dk.densify(on="allow"):
        warnings.simplefilter("ignore")
        for one in range(seed, seed + programs):
            run_program(one, kind, report, length)
    return report


def pasteable(found: Difference) -> str:
    """Return a program that differs as text to paste into a file."""
    steps = "\n".join(found.steps)
    imports = "import numpy as np\nimport dispatchkit as dk\nfrom dispatchkit.types import *"
    return f"# seed {found.seed}: {found.text}\n{imports}\n{steps}\n"

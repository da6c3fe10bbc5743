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

from .plain import IncomparableError, copied, pattern, pickled, plain, saved, with_other_garbage
from .steps import FORMS, MATRIX, filled
from .values import KINDS, Values

__all__ = ["Difference", "Report", "fuzz", "pasteable", "run", "shrunk"]

NAMES = {
    "dk": dk,
    "np": np,
    **{function.__name__: function for function in (copied, pickled, plain, saved)},
    **{name: getattr(types, name) for name in types.__all__},
}
REFUSALS = (TypeError, ValueError, IndexError, ArithmeticError, LinAlgError)
LARGEST = 1e8
SINGULAR = 1e8  # a tolerance that leaves no digits
DIGITS = {2: 2e-2, 4: 2e-4, 8: 1e-8, 16: 1e-8}
# What loses digits where a matrix is badly conditioned, and follows the algorithm of the structure for inf and NaN.
CONDITIONED = tuple(
    f"dk.linalg.{name}("
    for name in ("det", "slogdet", "inv", "solve", "matrix_power", "cholesky", "pinv", "qr", "matrix_rank")
)
CUT = ("dk.atan(", "dk.sqrt(", "dk.log(", "dk.cbrt(", "**")
PRODUCTS = ("@", "einsum", "tensordot", "vecdot", "matrix_power")
LAPACK = tuple(form.partition("(")[0] for form in MATRIX)
GARBLED = ("masks", "nested masks")  # whose results are compared with those of other numbers where some are missing


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


@dataclass
class Accuracy:
    """How much a result may differ by from that of another algorithm.

    Attributes
    ----------
    tolerance : multiplies it, where matrices are badly conditioned
    least : bytes of the least precise numbers that it is computed from
    size : of the terms of the sums that it is, whose rounding errors it has where they cancel
    """

    tolerance: float = 1.0
    least: int = 8
    size: float = 0.0


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
        self.dense[name] = with_other_garbage(value) if self.kind in GARBLED else plain(value)

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
            return None if self.is_singular(step, typed, dense) else self.refusal(typed, dense)
        try:
            found = plain(typed)
        except IncomparableError:
            return None
        except Exception as error:  # noqa: BLE001  # any error is a difference, but of a singular matrix kept lazily
            text = f"to_dense: {type(error).__name__}: {error}"
            return None if self.is_singular(step, error, dense) else text
        if self.kind not in GARBLED and is_missing(typed):
            return None  # what has no value is missing, such as the maximum of nothing
        try:
            reference, dense = dense, plain(dense)
        except IncomparableError:
            return None
        accuracy = Accuracy(self.tolerance(step), self.least_precise(step), self.size(step))
        text_of_difference = unlike(found, dense, accuracy)
        loose = self.multiplies_in_order(step, typed, found) or any(
            is_half_nan(plain(self.dense[v])) for v in names_of(step)
        )
        if text_of_difference is not None and loose:
            text_of_difference = unlike_where_finite(found, dense)
        if text_of_difference is not None and not text_of_difference.startswith("dtype"):
            others = [plain(other) for other in self.by_structure(step)]
            if any(unlike_either(found, dense, other, accuracy) is None for other in others):
                text_of_difference = None
        if text_of_difference is not None and self.is_on_a_cut(step):
            text_of_difference = None
        if name != "_" and fit(found) and text_of_difference is None:
            self.names[name] = typed
            self.dense[name] = reference if self.kind in GARBLED else found
        return text_of_difference

    def is_singular(self, step: str, *answers: Any) -> bool:
        """Return whether an answer to a step is the error of a matrix that is nearly singular, or not finite."""
        loose = self.multiplies_in_order(step) or self.tolerance(step) >= SINGULAR
        return loose and any(isinstance(answer, LinAlgError) for answer in answers)

    def is_on_a_cut(self, step: str) -> bool:
        """Return whether a step asks for a complex function on its branch cut, where the sign of a zero decides."""
        values = [numbers(plain(self.dense[name])) for name in names_of(step)]
        complex_values = [x for x in values if x.dtype.kind == "c"]
        return any(part in step for part in CUT) and any(((x.real == 0) | (x.imag == 0)).any() for x in complex_values)

    def multiplies_in_order(self, step: str, *results: Any) -> bool:
        """Return whether a step multiplies by one factor after the other where there are inf or NaN, or in a batch."""
        values = [*results, *(self.names[name] for name in names_of(step))]
        return ("dk.func." in step or any(map(is_lazy, values))) and not all(map(is_finite, values))

    def refusal(self, typed: Any, dense: Any) -> str | None:
        """Return in what two answers differ of which one at least is an error."""
        if isinstance(typed, Exception) and isinstance(dense, Exception):
            known = isinstance(typed, (*REFUSALS, RuntimeError)) and not isinstance(typed, RecursionError)
            return None if known else f"{type(typed).__name__}: {typed}, dense {type(dense).__name__}"
        if isinstance(typed, Exception) and not isinstance(typed, (*REFUSALS, RuntimeError)):
            return f"crash: {type(typed).__name__}: {typed}"
        if isinstance(typed, Exception):
            return f"{type(typed).__name__}: {str(typed).partition(chr(10))[0]}; dense gives a result"
        return f"a result; dense gives {type(dense).__name__}: {str(dense).partition(chr(10))[0]}"

    def tolerance(self, step: str) -> float:
        """Return how much results may differ by, in parts of their largest, where matrices are badly conditioned."""
        inverse = any(is_lazy(self.names[name], types.InverseTensor) for name in names_of(step))
        if not any(form in step for form in CONDITIONED) and not inverse:
            return 1.0
        if self.kind in GARBLED:
            return SINGULAR
        if "matrix_power" in step and not step.endswith("-1)") and not inverse:
            return 1.0
        largest = 1.0
        for name in names_of(step):
            matrix = numbers(plain(self.dense[name]))
            if not np.isfinite(matrix).all():
                return SINGULAR  # systems, inverses and factors follow the algorithm of the structure
            if matrix.ndim < 2 or not matrix.size:
                continue
            values = np.linalg.svd(matrix.astype(complex), compute_uv=False)
            smallest = values[..., -1].min() if values.size else 1.0
            largest = max(largest, values.max(initial=1.0) / smallest if smallest > 0 else np.inf)
        return largest**2

    def size(self, step: str) -> float:
        """Return the size of the terms of sums of products, where these cancel."""
        if not any(form in step for form in PRODUCTS):
            return 0.0
        sizes = [
            np.abs(x[np.isfinite(x)]).max(initial=1)
            for x in (numbers(plain(self.dense[name])) for name in names_of(step))
        ]
        return float(np.prod(sizes)) if len(sizes) > 1 else float(sizes[0]) ** (3 if "power" in step else 2)

    def least_precise(self, step: str) -> int:
        """Return the bytes of the least precise numbers that a step reads, which a structure may have computed."""
        return min((least_precise(self.names[name]) for name in names_of(step)), default=8)

    def by_structure(self, step: str) -> list[Any]:
        """Return what a product is where the zeros of the structures contribute nothing."""
        text = re.sub(r"dk.einsum\('...ij,...jk->...ik', (\w+), (\w+)\)", r"\1 @ \2", step.partition(" = ")[2])
        power = re.fullmatch(r"dk.linalg.matrix_power\((\w+), ([23])\)", text)
        texts = [text]
        if power:
            x = power[1]
            texts = [f"{x} @ {x}"] if power[2] == "2" else [f"({x} @ {x}) @ {x}", f"{x} @ ({x} @ {x})"]
        used = names_of(step)
        if not (("@" in texts[0] or "*" in text or "/" in text) and used):
            return []
        if all(np.isfinite(numbers(plain(self.dense[name]))).all() for name in used):
            return []
        names = {name: Annihilating(plain(self.dense[name]), pattern(self.names[name])) for name in used}
        results = [outcome(compile(text, "<step>", "eval"), {**NAMES, **names}) for text in texts]
        return [result.values for result in results if isinstance(result, Annihilating)]


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


def is_lazy(value: Any, *lazy: type) -> bool:
    """Return whether a value keeps factors or inverses apart, which it multiplies by one after the other."""
    if isinstance(value, lazy or (types.ProductTensor, types.InverseTensor)):
        return True
    if isinstance(value, (list, tuple)):
        return any(is_lazy(part, *lazy) for part in value)
    if not isinstance(value, (types.StructuredTensor, *WRAPPERS)):
        return False
    return any(is_lazy(field, *lazy) for field in vars(value).values())


def is_half_nan(value: Any) -> bool:
    """Return whether complex numbers are infinite or finite in one part and NaN in the other, and so either or both."""
    x = numbers(value)
    return x.dtype.kind == "c" and bool((np.isnan(x.real) != np.isnan(x.imag)).any())


def is_finite(field: Any) -> bool:
    """Return whether all numbers in a value, or in a field of one, are finite."""
    if isinstance(field, (list, tuple)):
        return all(map(is_finite, field))
    if isinstance(field, (types.StructuredTensor, *WRAPPERS)):
        return all(map(is_finite, vars(field).values()))
    return not isinstance(field, dk.Tensor) or bool(np.isfinite(numbers(field)).all())


def unlike_where_finite(found: Any, wanted: Any) -> str | None:
    """Return in what results differ of which nothing is promised where one is infinite or NaN."""
    a, b = numbers(found), numbers(wanted)
    if a.shape != b.shape:
        return f"shape {a.shape}, dense {b.shape}"
    return unlike(found, np.where(np.isfinite(a) & np.isfinite(b), b, a), Accuracy())


def axis_names(value: Any) -> Any:
    """Return the names of the axes of an array in any wrapper, None where they have none."""
    if isinstance(value, types.NamedTensor):
        return value.names
    return axis_names(value.data) if isinstance(value, WRAPPERS) else None


def is_missing(value: Any) -> bool:
    """Return whether elements are missing, of an array with a mask in any wrapper."""
    if isinstance(value, types.MaskedTensor):
        return not bool(value.valid.all())
    return isinstance(value, WRAPPERS) and is_missing(value.data)


def precision(dtype: Any) -> int:
    """Return the bytes of a floating-point number of a dtype, of double precision for integers."""
    return dtype.itemsize // (2 if dtype.kind == "c" else 1) if dtype.kind in "fc" else 8


def least_precise(value: Any) -> int:
    """Return the bytes of the least precise floating-point numbers in a value and in what it is made of."""
    if isinstance(value, dk.Tensor):
        return precision(value.dtype)
    if isinstance(value, (list, tuple)):
        return min(map(least_precise, value), default=8)
    return min(map(least_precise, vars(value).values()), default=8) if isinstance(value, dk.ArrayMethods) else 8


def unlike(found: Any, wanted: Any, accuracy: Accuracy) -> str | None:
    """Return in what a result differs from the one on dense forms, both plain; None where it does not.

    Parameters
    ----------
    found, wanted : the results
    accuracy : how much they may differ by
    """
    a, b = numbers(found), numbers(wanted)
    if a.shape != b.shape:
        return f"shape {a.shape}, dense {b.shape}"
    text = unequal(a, b, accuracy)
    if text is not None:
        return text
    # Byte orders are not part of what is promised: LAPACK and products take that of the machine, and copies keep it.
    same = a.dtype.newbyteorder("=") == b.dtype.newbyteorder("=")
    return None if same else f"dtype {a.dtype}, dense {b.dtype}"


def unlike_either(found: Any, wanted: Any, other: Any, accuracy: Accuracy) -> str | None:
    """Return in what a result differs from two, of which each element may equal one."""
    a, b, c = numbers(found), numbers(wanted), numbers(other)
    if not a.shape == b.shape == c.shape:
        return f"shape {a.shape}, dense {b.shape}"
    # Where the dense form has no number, or the structure's zeros decide, the other result is the one to equal.
    return unequal(a, np.where(np.isfinite(b) & np.isfinite(c), b, c), accuracy) and unequal(
        a, np.where(np.isnan(b) & ~np.isnan(a), c, b), accuracy
    )


def unequal(a: Any, b: Any, accuracy: Accuracy) -> str | None:
    if a.dtype.kind in "biu" and b.dtype.kind in "biu":
        return None if np.array_equal(a, b) else f"{a.tolist()}, dense {b.tolist()}"
    if not accuracy.tolerance < SINGULAR:
        return None  # nearly singular: neither result has digits
    if np.array_equal(a, b, equal_nan=True):
        return None
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)):
        return f"{a.tolist()}, dense {b.tolist()}"
    close = DIGITS[min(accuracy.least, precision(a.dtype), precision(b.dtype))] * accuracy.tolerance
    with np.errstate(all="ignore"):
        scale = np.abs(b[finite]).max(initial=accuracy.size) + 1
        same = np.abs(a[finite] - b[finite]).max(initial=0) <= close * scale
        there = np.array_equal(a[~finite], b[~finite], equal_nan=True) or a.dtype.kind == b.dtype.kind == "c"
    return None if same and there else f"{a.tolist()}, dense {b.tolist()}"


WRAPPERS = (types.MetadataTensor, types.NamedTensor, types.QuantityTensor, types.UncertainTensor)
# Whose dense form means less, or nothing.
MAY_REFUSE = {*KINDS} - {"structured", "together", "sparse", "quantized", "lazy", "metadata"}
# Where a type means something else than its dense form: axes by their names, numbers whose unit decides.
BY_NAMES = (
    "@",
    "matmul",
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
)
BY_UNITS = ("floor", "//", "%", "round", "trunc", "ones_like", "astype", "clip", "dtype", "matrix_rank")
SUM_INSIDE = "plain((s * t).sum("  # a sum of nothing, which is missing in a mask, where nobody sees it
OTHERWISE = {
    "named": BY_NAMES,
    "uncertain": ("std(",),  # a property there
    "units": BY_UNITS,
    "whole masks": (SUM_INSIDE,),
    "nested": (*BY_UNITS, "std(", SUM_INSIDE),
    "nested masks": (),
    "nested names": (*BY_NAMES, *BY_UNITS, SUM_INSIDE),
    "mixed": (*BY_NAMES, *BY_UNITS, "std(", SUM_INSIDE),
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
        if any(part in form for part in OTHERWISE.get(kind, ())):
            continue
        step = f"v{i} = {form.format(x=x, y=y, **filled(rng, form, shape))}"
        if len({axis_names(program.names[name]) for name in names_of(step)}) > 1:
            continue  # axes that are aligned by their names
        report.steps += 1
        text = program.go(step)
        half = any(precision(program.dense[name].dtype) == 2 for name in names_of(step))
        if half and text is not None and text.startswith("a result; dense") and any(name in form for name in LAPACK):
            continue  # LAPACK has no half precision: dense forms refuse it, and structures that need no LAPACK answer
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


def fuzz(kind: str, programs: int, seed: int, *, length: int = 8, report: Report | None = None) -> Report:
    """Run random programs.

    Parameters
    ----------
    kind : of the instances, a name of `KINDS`
    programs : how many
    seed : of the first; that of the next is one more, so that a single program can be run again
    length : largest number of steps of a program
    report : what the results are added to; a new one by default
    """
    report = Report() if report is None else report
    with warnings.catch_warnings(), np.errstate(all="ignore"), dk.densify(on="allow"):
        warnings.simplefilter("ignore")
        for one in range(seed, seed + programs):
            run_program(one, kind, report, length)
    return report


def pasteable(found: Difference) -> str:
    """Return a program that differs as text to paste into a file."""
    steps = "\n".join(found.steps)
    imports = "import numpy as np\nimport dispatchkit as dk\nfrom dispatchkit.types import *"
    if helpers := sorted({name for name in ("copied", "pickled", "plain", "saved") if f"{name}(" in steps}):
        imports += f"\nfrom tests.programs.fuzz.array_types.plain import {', '.join(helpers)}"
    return f"# seed {found.seed}: {found.text}\n{imports}\n{steps}\n"

"""Growth with the size: all operations of instances of all shipped types that have an answer for them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from time import process_time
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit import catalogue, types  # noqa: F401  # every operation grows
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import CreationKind

from .clock import ALLOWED, NO_LIMIT, Allowance, Slope, exponent, slope

__all__ = ["SUBJECTS", "Study", "Subject", "lines"]

WIDE = (300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
SHORT = WIDE[:-2]
LONGEST = 0.1  # seconds of a call, with which the sizes of an operation end
SHARES = 4  # of its part of the time, which a call may take of what others do not need
# What a call may raise that has no answer here: it is left out.
NO_ANSWER = (TypeError, ValueError, IndexError, RuntimeError, ArithmeticError, np.linalg.LinAlgError, dk.DensifyError)
RANK, ENTRIES, BLOCK = 8, 10, 20


@dataclass(frozen=True)
class Subject:
    """A type: how an instance of a size is made, and by what exponent its work grows in theory.

    Attributes
    ----------
    make : returns an instance of size n
    sizes : in order
    theory : the exponent of most operations
    others : the exponents of single operations, by their names
    numbers : how many numbers there are for each of n, which decides whether they fit into the caches
    scattered : whether operations read memory out of order
    transformed : whether operations are Fourier transforms, beside those with such names
    """

    make: Callable[[int], object]
    sizes: tuple[int, ...] = WIDE
    theory: float = 1.0
    others: dict[str, float] = field(default_factory=dict)
    numbers: int = 1
    scattered: bool = False
    transformed: bool = False


def numbers(n: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(1.0, 2.0, n)


def bands(n: int) -> object:
    held = np.ones((5, n))
    held[2] = 10.0
    return types.BandedTensor(held, lower=2, upper=2)


def sparse(n: int) -> object:
    columns = (np.arange(n)[:, None] + np.random.default_rng(0).choice(n, ENTRIES, replace=False)) % n
    rows = np.repeat(np.arange(n), ENTRIES)
    return types.SparseTensor.coo(np.ones(n * ENTRIES), rows, columns.ravel(), shape=(n, n))


def low_rank(n: int) -> object:
    held = numbers(n * RANK)
    return types.LowRankTensor(held.reshape(n, RANK), held.reshape(RANK, n))


def blocks(n: int) -> object:
    count = n // BLOCK
    held = numbers(n * BLOCK).reshape(count, BLOCK, BLOCK) + BLOCK * 2 * np.eye(BLOCK)
    return types.BlockDiagonalTensor(list(held))


def kronecker(n: int) -> object:
    side = math.isqrt(n)
    held = numbers(side * side).reshape(side, side) + 2 * side * np.eye(side)
    return types.KroneckerTensor(held, held)


def triangle(n: int) -> object:
    side = math.isqrt(n)
    return types.TriangularTensor(numbers(side * side).reshape(side, side) + side * np.eye(side))


# Results of n² elements, of vectors.
FILLED = dict.fromkeys(("outer", "kron", "diag", "diagflat", "vander"), 2.0)
# n log n, which has this exponent from 30,000 to 300,000.
SORTED = dict.fromkeys(("sort", "argsort", "unique_all", "unique_values", "unique_inverse", "unique_counts"), 1.09)
# What decompositions take that fill the matrix, or whose results are dense.
SQUARES = dict.fromkeys(("eigh", "eigvalsh", "svd", "svdvals", "qr", "pinv", "outer", "matrix_norm"), 2.0)
# A number is drawn for each element, so that a seed gives what it gives for the dense matrix.
DRAWN = {"dropout": 2.0}
LEVINSON = {"slogdet": 2.0, "det": 2.0, "solve(x, v)": 2.0}
# A matrix of n numbers has sqrt(n) rows: products of two take n**1.5.
OF_SQUARE = dict.fromkeys(
    (
        *("matmul", "mm", "solve", "inv", "matrix_power", "eigh", "eigvalsh", "svd", "svdvals", "matrix_norm"),
        *("cholesky", "qr"),
    ),
    1.5,
)
OF_GRID = OF_SQUARE | dict.fromkeys(("x @ v", "v @ x", "solve(x, v)", "det", "slogdet"), 1.5)
# Whose results depend on all elements, each by all sources.
BY_ALL_SOURCES = dict.fromkeys(
    (
        *(
            "fft",
            "ifft",
            "fftn",
            "ifftn",
            "rfft",
            "rfftn",
            "irfft",
            "irfftn",
            "hfft",
            "ihfft",
            "softmax",
            "log_softmax",
        ),
        *("cumulative_sum", "cumulative_prod", "logcumsumexp", "cummax", "cummin", "diff", "trapezoid", "glu"),
        *("unique_values", "unique_all", "unique_inverse", "unique_counts"),
    ),
    2.0,
)
# Fourier transforms of length 2(n - 1), whose largest prime factor differs from size to size.
LEFT_OUT = {"irfft", "irfftn", "hfft"}

SUBJECTS: dict[str, Subject] = {
    "MaskedTensor": Subject(lambda n: types.MaskedTensor(numbers(n), np.arange(n) % 3 > 0)),
    "NamedTensor": Subject(lambda n: types.NamedTensor(numbers(n), ("time",))),
    "QuantityTensor": Subject(lambda n: types.QuantityTensor(numbers(n), "m")),
    "MetadataTensor": Subject(lambda n: types.MetadataTensor(numbers(n), {"run": 7})),
    "UncertainTensor": Subject(lambda n: types.UncertainTensor(numbers(n), 0.1), SHORT, others=BY_ALL_SOURCES),
    "LazyTensor": Subject(lambda n: types.LazyTensor(dk.asarray(numbers(n)))),
    "ScalarTensor": Subject(lambda n: types.ScalarTensor(n, 2.0)),
    "DiagonalTensor": Subject(lambda n: types.DiagonalTensor(numbers(n))),
    "PermutationTensor": Subject(
        lambda n: types.PermutationTensor(np.random.default_rng(0).permutation(n)), scattered=True
    ),
    "BandedTensor": Subject(bands, others=SQUARES, numbers=5),
    "CirculantTensor": Subject(lambda n: types.CirculantTensor(0.5 ** np.minimum(np.arange(n), 60)), transformed=True),
    "ToeplitzTensor": Subject(
        lambda n: types.ToeplitzTensor(0.5 ** np.minimum(np.arange(n), 60)), others=LEVINSON, transformed=True
    ),
    "BlockDiagonalTensor": Subject(blocks, SHORT, numbers=BLOCK),
    "LowRankTensor": Subject(low_rank, numbers=2 * RANK),
    "KroneckerTensor": Subject(kronecker, others=OF_GRID),
    "TriangularTensor": Subject(triangle, others=OF_SQUARE),
    "SparseTensor": Subject(sparse, SHORT, numbers=ENTRIES, scattered=True),
}


@dataclass(frozen=True)
class Measured:
    """The exponent of a call, beside that of theory, and how far plain arrays are beyond theirs."""

    call: str
    slope: Slope
    theory: float
    beyond: float

    @property
    def excess(self) -> float:
        return self.slope.exponent - self.theory - self.beyond


def calls(x: Any) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Yield the calls of an instance that are tried, with their names."""
    for operation in list(tensor_protocol.operations.values()):
        parameters, function = operation.parameters, operation.function
        if not operation.namespace.startswith("dispatchkit") or isinstance(operation.kind, CreationKind):
            continue
        name = operation.name
        if parameters.least == 1 and parameters.leading:
            yield name, function
        elif parameters.binary:
            yield name, partial(_of_itself, function)
    yield "repr", repr
    yield "x[3]", lambda x: x[3]
    yield "x[2:-2]", lambda x: x[2:-2]
    if len(getattr(x, "shape", ())) == 2:
        yield "x[:, 3]", lambda x: x[:, 3]
        yield "x @ v", lambda x: x @ dk.ones(x.shape[-1])
        yield "v @ x", lambda x: dk.ones(x.shape[-2]) @ x
        yield "solve(x, v)", lambda x: dk.linalg.solve(x, dk.ones(x.shape[-1]))
        yield "trace", dk.linalg.trace


def _of_itself(function: Callable[[Any, Any], Any], x: Any) -> Any:
    return function(x, x)


def answered(call: Callable[[Any], Any], x: Any) -> bool:
    """Return whether an instance, small here, answers a call without becoming dense."""
    try:
        with dk.densify(on="error"), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(x)
    except NO_ANSWER:
        return False
    return True


class Study:
    """The calls of a type: what is found of them, and why some have no figure.

    Parameters
    ----------
    subject : the type

    Attributes
    ----------
    calls : those that an instance answers
    found : what is found of calls, by their names
    left : why others have no figure, by their names; those for which the time was over may be measured later
    """

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        small = subject.make(subject.sizes[0])
        self.calls = {name: call for name, call in calls(small) if answered(call, small)}
        self.found: dict[str, Measured] = {}
        self.left = {name: TRANSFORM_OF_ANY_LENGTH for name in self.calls if name in LEFT_OUT}

    @property
    def waiting(self) -> list[str]:
        """The calls that are to be measured yet."""
        return [name for name in self.calls if name not in self.found and self.left.get(name, TIME) == TIME]

    def measure(self, seconds: float = NO_LIMIT) -> None:
        """Measure the calls that wait for it.

        Parameters
        ----------
        seconds : of the processor for all of them: the slower the calls are, the earlier their sizes end
        """
        end = process_time() + seconds
        made = cache(self.subject.make)
        waiting = self.waiting
        for place, name in enumerate(waiting):
            most = SHARES * max(end - process_time(), 0.0) / (len(waiting) - place)
            found = _measured_call(self.subject, made, name, self.calls[name], most)
            if isinstance(found, Measured) and found.excess > ALLOWED:
                # Other programs take their part of the caches: once more, beside plain arrays as they are now.
                of_memory.cache_clear()
                of_transform.cache_clear()
                again = _measured_call(self.subject, made, name, self.calls[name], most)
                if isinstance(again, Measured) and again.excess < found.excess:
                    found = again
            if isinstance(found, Measured):
                self.found[name] = found
                self.left.pop(name, None)
            else:
                self.left[name] = found


# Why a call has no figure.
TIME = "the time was over"
SLOW = f"two sizes take longer than {LONGEST:g} seconds"
LARGE = "larger ones take more memory than there is"
OTHERWISE = "larger ones are answered in another way"
TRANSFORM_OF_ANY_LENGTH = "the lengths that are transformed have other factors from size to size"


def _measured_call(
    subject: Subject, made: Callable[[int], Any], name: str, call: Callable[[Any], Any], most: float
) -> Measured | str:
    """Return what is found of one call within some seconds, or why nothing is."""
    theory = (SORTED | FILLED | subject.others).get(name, subject.theory)
    filled = theory == 2.0 and name in FILLED | BY_ALL_SOURCES
    if name in DRAWN and math.prod(made(subject.sizes[0]).shape) > subject.numbers * subject.sizes[0]:
        theory = DRAWN[name]
    transformed = subject.transformed or "fft" in name
    beyond_of = partial(_beyond, subject, filled=filled, transformed=transformed)

    def work(n: int) -> Callable[[], object]:
        return partial(call, made(n))

    def expected(smaller: int, larger: int) -> float:
        return theory + float(beyond_of(smaller, larger)) + ALLOWED

    longest = min(LONGEST, most / 10)
    try:
        # What is answered at one size may become dense at another, which would be another operation.
        with dk.densify(on="error"), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = slope(work, subject.sizes, expected, longest, most)
    except MemoryError:
        return LARGE
    except NO_ANSWER:
        return OTHERWISE
    if found is not None:
        return Measured(name, found, theory, beyond_of(found.smaller, found.larger))
    if longest < LONGEST:
        return TIME
    return SLOW


def _beyond(subject: Subject, smaller: int, larger: int, *, filled: bool, transformed: bool) -> float:
    """Return by how much the exponent of plain arrays of as many numbers as a type holds is above theory.

    Parameters
    ----------
    subject : the type
    smaller, larger : its sizes
    filled : whether it is about results of n² numbers
    transformed : whether it is about Fourier transforms
    """
    if filled:
        return 2 * of_memory(smaller**2, larger**2) - 2
    found = of_memory(smaller * subject.numbers, larger * subject.numbers, subject.scattered)
    if transformed:
        found = max(found, *(of_transform(smaller, larger, back) for back in (False, True)))
    return found - 1


PLAIN = (lambda x: x + x, lambda x: x * dk.ones(x.size), lambda x: dk.real(x) + 1.0, lambda x: x > 1.5)


@cache
def of_memory(smaller: int, larger: int, scattered: bool = False) -> float:
    """Return the largest exponent of sums and products of plain arrays: what outgrows the caches takes longer.

    Parameters
    ----------
    smaller, larger : numbers of elements
    scattered : whether to look at elements in random order, too
    """
    found = []
    if scattered:
        found.append(exponent(_in_random_order, (smaller, larger)))
    for function in PLAIN:

        def work(n: int, function: Callable[[Any], Any] = function) -> Callable[[], object]:
            x = dk.asarray(numbers(n))
            return lambda: function(x)

        found.append(exponent(work, (smaller, larger)))
    return max(1.0, *found)


@cache
def of_transform(smaller: int, larger: int, back: bool) -> float:
    """Return the exponent of NumPy's own Fourier transforms, which take n log n and read memory in leaps.

    Parameters
    ----------
    smaller, larger : numbers of elements
    back : whether to transform back
    """

    def work(n: int) -> Callable[[], object]:
        x = numbers(n)
        if back:
            return partial(np.fft.ifft, x + 0j)
        return partial(np.fft.fft, x)

    return exponent(work, (smaller, larger))


def _in_random_order(n: int) -> Callable[[], object]:
    x, order = dk.asarray(numbers(n)), dk.asarray(np.random.default_rng(0).permutation(n))
    return lambda: dk.take(x, order)


def lines(wanted: Callable[[str], bool], seconds: float) -> Iterator[str]:
    """Yield a line for each type, with the calls that are above theory.

    Parameters
    ----------
    wanted : returns whether a type is to be measured
    seconds : of the processor for all of them
    """
    yield "| type | calls | largest n | median exponent | most above theory | of | above theory by more than 0.15 |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    chosen = {name: subject for name, subject in SUBJECTS.items() if wanted(name)}
    allowance = Allowance(seconds, len(chosen))
    studies: dict[str, Study] = {}
    for name, subject in chosen.items():
        with allowance.share() as share:
            studies[name] = Study(subject)
            studies[name].measure(share)
        if not studies[name].waiting:
            yield _line(name, studies[name])
    # What others left over of the time is for those that took more than their part of it.
    unfinished = {name: study for name, study in studies.items() if study.waiting}
    allowance = Allowance(allowance.seconds, len(unfinished))
    for name, study in unfinished.items():
        with allowance.share() as share:
            study.measure(share)
        yield _line(name, study)
    yield ""
    yield from _without_figure(studies)
    yield ""
    yield f"Plain arrays: {of_memory(100_000, 1_000_000):.2f} from 100,000 elements to 1,000,000."


def _line(name: str, study: Study) -> str:
    rows = sorted(study.found.values(), key=lambda row: row.excess)
    counts = f"{len(rows)} of {len(study.calls)}"
    if not rows:
        return f"| `{name}` | {counts} | - | - | - | - | - |"
    above = [f"`{row.call}` {row.slope.exponent:.2f} ({row.theory:g})" for row in rows if row.excess > ALLOWED]
    middle, last = sorted(row.slope.exponent for row in rows)[len(rows) // 2], rows[-1]
    largest = max(row.slope.larger for row in rows)
    cells = [f"`{name}`", counts, f"{largest:,}", f"{middle:.2f}", f"{last.slope.exponent:.2f}"]
    return f"| {' | '.join([*cells, f'`{last.call}`', ', '.join(above) or 'none'])} |"


def _without_figure(studies: dict[str, Study]) -> Iterator[str]:
    """Yield a line for each reason why calls have no figure, with the calls of each type."""
    for reason in (TIME, SLOW, LARGE, OTHERWISE, TRANSFORM_OF_ANY_LENGTH):
        parts = []
        for name, study in studies.items():
            names = [f"`{call}`" for call, why in study.left.items() if why == reason]
            if names:
                parts.append(f"`{name}`: {', '.join(names)}")
        if parts:
            yield f"- No figure, since {reason}: {'; '.join(parts)}."

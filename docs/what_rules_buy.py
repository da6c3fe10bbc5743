"""What rules buy: one model run with no rule for its matrix, with one, and with three.

Run it with ``python docs/what_rules_buy.py``; README.md shows the picture, docs/_static/rules.svg. The model is the
logarithm of a normal density whose covariance is a diagonal matrix: two functions of linear algebra and a sum with the
noise, written for any matrix.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import dispatchkit as dk

sys.path.insert(0, str(Path(__file__).with_name("_ext")))
from figures import EDGE, FILL, bar, label, svg  # type: ignore[import-not-found]  # its folder is no package

SIZE, STEPS = 1000, 5
REPEATS = 3  # of which the fastest counts


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
class Diagonal(dk.ArrayMethods):
    """A diagonal matrix, of which no function knows anything but how it becomes dense."""

    def __init__(self, d: Any) -> None:
        self.d = dk.asarray(d)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return (self.d.size, self.d.size)

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return self.d.dtype

    def to_dense(self) -> dk.Tensor:
        """Return the matrix as a plain tensor."""
        matrix: dk.Tensor = dk.diag(self.d)
        return matrix


def solve_diagonal(a: Diagonal, b: dk.Tensor, /) -> Any:
    """Return the solution of a system: a division for each unknown."""
    return b / a.d


def slogdet_diagonal(a: Diagonal, /) -> Any:
    """Return sign and logarithm of the determinant: the product of the diagonal."""
    return dk.linalg.SlogdetResult(dk.prod(dk.sign(a.d)), dk.sum(dk.log(dk.abs(a.d))))


def add_diagonals(x1: Diagonal, x2: Diagonal, /) -> Diagonal:
    """Return a sum, which is diagonal again."""
    return Diagonal(x1.d + x2.d)


RULES: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (dk.add, add_diagonals),
    (dk.linalg.solve, solve_diagonal),
    (dk.linalg.slogdet, slogdet_diagonal),
]


def log_density(x: dk.Tensor, covariance: Any, noise: Any) -> Any:
    """Return the logarithm of a normal density; nothing in it knows of diagonal matrices."""
    total = covariance + noise
    squares = dk.sum(x * dk.linalg.solve(total, x))
    return -0.5 * (squares + dk.linalg.slogdet(total).logabsdet + x.size * math.log(2 * math.pi))


class Outcome(NamedTuple):
    """What some steps of training took.

    Attributes
    ----------
    rules : how many there were
    dense : how many dense copies were made
    nbytes : of these copies
    seconds : of the processor
    density : at the end
    """

    rules: int
    dense: int
    nbytes: int
    seconds: float
    density: float


def outcome(rules: int, size: int = SIZE, steps: int = STEPS) -> Outcome:
    """Return what some steps of gradient ascent take with the first of the rules."""
    x, noise = dk.linspace(-2.0, 2.0, size), Diagonal(dk.full((size,), 0.1))
    dk.clear_densify_ledger()
    with dk.local_registrations(), dk.densify(on="allow"):
        for function, rule in RULES[:rules]:
            dk.implements(function)(rule)
        covariance = Diagonal(dk.ones(size))
        start = process_time()
        for _ in range(steps):
            slope = dk.func.grad(lambda c: log_density(x, c, noise))(covariance)
            covariance = Diagonal(covariance.d + 0.01 * slope.d)
        density = log_density(x, covariance, noise).item()
        seconds = process_time() - start
    copies = dk.densify_ledger()
    return Outcome(rules, sum(copy.count for copy in copies), sum(copy.nbytes for copy in copies), seconds, density)


NAMES = ["no rule", "add", "add, solve", "add, solve, slogdet"]
DENSE, DENSE_EDGE = "#fbd960", "#d4a72c"  # as the bars of coverage have it
LEFT, LINE, LONGEST = 170, 38, 170


def picture(outcomes: list[Outcome]) -> str:
    """Return bars of the dense copies and of the time, for each number of rules."""
    first = outcomes[0]
    time_at = LEFT + LONGEST + 170
    parts = [label(LEFT, 16, "dense copies"), label(time_at, 16, "time (no rule: 1)")]
    for row, (name, taken) in enumerate(zip(NAMES, outcomes, strict=True)):
        y = 26 + LINE * row
        bytes_width = LONGEST * taken.nbytes / first.nbytes
        time_width = LONGEST * taken.seconds / first.seconds
        parts += [
            label(LEFT - 8, y + 17, name, "end"),
            bar(LEFT, y, bytes_width, DENSE, DENSE_EDGE),
            label(LEFT + bytes_width + 6, y + 17, f"{taken.dense}: {taken.nbytes / 1e6:.0f} MB"),
            bar(time_at, y, time_width, FILL, EDGE),
            label(time_at + time_width + 6, y + 17, f"{taken.seconds / first.seconds:.3f}"),
        ]
    title = f"a normal density of {SIZE} dimensions in {STEPS} steps of training, by the rules of its diagonal matrix"
    drawn: str = svg(26 + LINE * len(outcomes), parts, title)
    return drawn


def main() -> None:
    """Train with no rule, with one, two and three, print what each took, and draw it."""
    runs = [[outcome(rules) for rules in range(len(RULES) + 1)] for _ in range(REPEATS)]
    outcomes = [min(of_rules, key=lambda found: found.seconds) for of_rules in zip(*runs, strict=True)]
    for name, found in zip(NAMES, outcomes, strict=True):
        ratio = found.seconds / outcomes[0].seconds
        print(f"{name:<20} {found.dense:3} dense copies, {found.nbytes / 1e6:4.0f} MB, {ratio:.3f} of the time")
    Path(__file__).with_name("_static").joinpath("rules.svg").write_text(picture(outcomes), encoding="utf-8")


if __name__ == "__main__":
    main()

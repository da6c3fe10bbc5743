"""The parts of a check of derivatives: forward mode and backward passes against differences, and against each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dispatchkit.autograd.jacobians import (
    Directions,
    Every,
    Matrices,
    One,
    Point,
    by_backward,
    by_batched_backward,
    by_differences,
    by_forward,
    gradients,
)
from dispatchkit.errors import GradcheckError
from dispatchkit.progress import Progress

__all__ = ["Check", "Options", "name_of", "random_like"]

FORWARD = "Jacobian computed with forward mode mismatch for output {o} with respect to input {i},"
BACKWARD = "Jacobian mismatch for output {o} with respect to input {i},"
BATCHED = "Jacobian computed with batches (vmap) in {mode} mode mismatch for output {o} with respect to input {i},"
REENTRANT = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
    "values, although analytical gradient matches numerical gradient. The tolerance for nondeterminism was {bound}."
)
UNDEFINED = (
    "Expected backward function to handle undefined output grads, but without one for output {o} that of input {i} is "
    "not the one for zeros"
)
ZERO = (
    "Expected all input grads to be undefined or zero when all output grads are undefined or zero, but that of input "
    "{i} is not"
)


@dataclass(frozen=True)
class Options:
    """What is checked, and how closely; see `gradcheck`."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    fast_mode: bool
    check_undefined_grad: bool
    check_grad_dtypes: bool
    check_batched_grad: bool
    check_batched_forward_grad: bool
    check_forward_ad: bool
    check_backward_ad: bool

    def __post_init__(self) -> None:
        if not (self.check_forward_ad or self.check_backward_ad):
            raise ValueError("gradcheck: nothing to check; one of check_forward_ad, check_backward_ad must be True")
        if self.check_batched_grad and not self.check_backward_ad:
            raise ValueError("gradcheck: check_batched_grad needs check_backward_ad")
        if self.check_batched_forward_grad and not self.check_forward_ad:
            raise ValueError("gradcheck: check_batched_forward_grad needs check_forward_ad")


class Check:
    """A check of the derivatives of a function at a point; each method is a part of it.

    Parameters
    ----------
    name : shown with the progress
    point : the function and where
    options : what is checked
    """

    def __init__(self, name: str, point: Point, options: Options) -> None:
        self.name = name
        self.point = point
        self.options = options
        rng = np.random.default_rng(0)
        self.inputs: dict[int, Directions] = {i: self._directions(x, rng) for i, x in point.leaves.items()}
        self.outputs: dict[int, Directions] = {o: self._directions(y, rng) for o, y in point.outputs.items()}

    def _directions(self, tensor: Any, rng: np.random.Generator) -> Directions:
        return One(tensor, rng) if self.options.fast_mode else Every(tensor)

    def run(self) -> None:
        """Run every part that the options ask for.

        Raises
        ------
        GradcheckError : from the first that fails
        """
        options, point = self.options, self.point
        with Progress(self.name, self._count()) as progress:
            numerical = by_differences(point, self.inputs, self.outputs, options.eps, progress.advance)
            if options.check_forward_ad:
                self.forward(numerical, progress)
            if options.check_backward_ad:
                self.backward(numerical, progress)
            if options.check_undefined_grad and options.check_backward_ad:
                self.undefined()

    def _count(self) -> int:
        """Return how many steps the whole check takes."""
        options = self.options
        rows, columns = (sum(one.count for one in group.values()) for group in (self.inputs, self.outputs))
        count = rows + rows * options.check_forward_ad + 2 * columns * options.check_backward_ad
        count += len(self.outputs) * options.check_batched_grad
        return count + len(self.inputs) * options.check_batched_forward_grad

    def forward(self, numerical: Matrices, progress: Progress) -> None:
        """Compare forward mode."""
        found = by_forward(self.point, self.inputs, self.outputs, progress.advance)
        self.compare(FORWARD, numerical, found, by_forward)
        if self.options.check_batched_forward_grad:
            batched = by_forward(self.point, self.inputs, self.outputs, progress.advance, batched=True)
            self.compare(BATCHED.replace("{mode}", "forward"), found, batched, None)

    def backward(self, numerical: Matrices, progress: Progress) -> None:
        """Compare backward passes with the differences and with each other."""
        options, point = self.options, self.point
        found = by_backward(point, self.inputs, self.outputs, progress.advance)
        self.compare(BACKWARD, numerical, found, by_backward)
        again = by_backward(point, self.inputs, self.outputs, progress.advance)
        for (o, i), matrix in found.items():
            apart = np.abs(matrix - again[o, i]).max(initial=0.0)
            if not apart <= options.nondet_tol:
                raise GradcheckError(
                    REENTRANT.format(bound=options.nondet_tol),
                    notes=[f"output {o}, input {i}: values differ by up to {apart:.6g}", *self._subject()],
                )
        if options.check_batched_grad:
            batched = by_batched_backward(point, self.inputs, self.outputs, progress.advance)
            self.compare(BATCHED.replace("{mode}", "reverse"), found, batched, None)
        if options.check_grad_dtypes:
            self.dtypes()

    def compare(
        self, headline: str, expected: Matrices, found: Matrices, slowly: Callable[..., Matrices] | None
    ) -> None:
        """Raise if two matrices differ; in fast mode, `slowly` computes the whole matrix for the message."""
        for (o, i), matrix in expected.items():
            atol = self._atol(o, i)
            if not np.allclose(found[o, i], matrix, rtol=self.options.rtol, atol=atol):
                notes: list[str] = []
                numerical, analytical = matrix, found[o, i]
                if self.options.fast_mode and slowly is not None:
                    notes.append(f"found in fast mode, in one direction: {_one(numerical)} and {_one(analytical)}")
                    numerical, analytical = self._whole(o, i, slowly)
                if not self.options.fast_mode or slowly is not None:
                    notes.append(self._worst(o, i, numerical, analytical))
                text = headline.format(o=o, i=i)
                raise GradcheckError(text, str(numerical), str(analytical), [*notes, *self._subject()])

    def _atol(self, o: int, i: int) -> float:
        """Return the absolute bound for a pair: that of each element, added up in fast mode."""
        seen, along = self.outputs[o], self.inputs[i]
        if isinstance(seen, One) and isinstance(along, One):
            return self.options.atol * max(1.0, seen.spread * along.spread)
        return self.options.atol

    def _whole(self, o: int, i: int, slowly: Callable[..., Matrices]) -> tuple[Any, Any]:
        inputs: dict[int, Directions] = {i: Every(self.point.leaves[i])}
        outputs: dict[int, Directions] = {o: Every(self.point.outputs[o])}
        numerical = by_differences(self.point, inputs, outputs, self.options.eps, _nothing)
        return numerical[o, i], slowly(self.point, inputs, outputs, _nothing)[o, i]

    def _worst(self, o: int, i: int, numerical: Any, analytical: Any) -> str:
        """Describe the entry that is farthest out of bounds."""
        apart = np.abs(analytical - numerical)
        excess = apart - self.options.rtol * np.abs(numerical)
        row, column = np.unravel_index(np.argmax(np.where(np.isnan(excess), np.inf, excess)), excess.shape)
        source = Every(self.point.leaves[i]).named(int(row))
        target = Every(self.point.outputs[o]).named(int(column))
        n, a, d = numerical[row, column], analytical[row, column], apart[row, column]
        return (
            f"worst entry: [{row}, {column}], output {o}{target} with respect to input {i}{source}: numerical {n:.6g}, "
            f"analytical {a:.6g}, difference {d:.6g}"
        )

    def _subject(self) -> list[str]:
        return [f"checked: {name_of(self.point.func)}"]

    def dtypes(self) -> None:
        """Raise if a gradient has not the dtype of its input."""
        for o, y in self.point.outputs.items():
            for i, g in gradients(self.point, {o: np.ones(y.shape, y.dtype)}).items():
                if g.dtype != self.point.leaves[i].dtype:
                    raise GradcheckError(
                        f"the gradient of output {o} with respect to input {i} is {g.dtype}, the input "
                        f"{self.point.leaves[i].dtype}",
                        notes=self._subject(),
                    )

    def undefined(self) -> None:
        """Raise if an output without a gradient does not count as one whose gradient is zero."""
        outputs = {o: y for o, y in self.point.outputs.items() if y.requires_grad}
        rng = np.random.default_rng(1)
        zeros = {o: np.zeros(y.shape, y.dtype) for o, y in outputs.items()}
        for i, g in gradients(self.point, zeros).items():
            if np.any(g):
                raise GradcheckError(ZERO.format(i=i), notes=[f"found: {g}", *self._subject()])
        if len(outputs) < 2:
            return
        cotangents = {o: random_like(rng, y) for o, y in outputs.items()}
        for o in outputs:
            expected = gradients(self.point, {**cotangents, o: zeros[o]})
            found = gradients(self.point, {k: v for k, v in cotangents.items() if k != o})
            for i, g in found.items():
                if not np.allclose(g, expected[i], rtol=1e-8, atol=1e-12):
                    raise GradcheckError(
                        UNDEFINED.format(o=o, i=i),
                        notes=[f"with zeros: {expected[i]}", f"found: {g}", *self._subject()],
                    )


def _one(matrix: Any) -> str:
    return f"{float(matrix[0, 0]):.6g}"


def _nothing() -> None:
    """Do not count a step."""


def random_like(rng: np.random.Generator, x: Any) -> Any:
    """Return random numbers of the shape and dtype of a tensor, as a NumPy array."""
    values = rng.uniform(-1, 1, size=x.shape)
    if x.dtype.kind == "c":
        values = values + 1j * rng.uniform(-1, 1, size=x.shape)
    return np.asarray(values, dtype=x.dtype)


def name_of(func: Callable[..., Any]) -> str:
    """Return the name of a function, for messages."""
    return str(getattr(func, "__qualname__", None) or type(func).__qualname__).replace("<locals>.", "")

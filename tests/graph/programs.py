"""Random programs of views and changes in place, which run on dispatchkit's tensors, PyTorch's and NumPy's arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import dispatchkit as dk

__all__ = ["OURS", "START", "Library", "Run", "Step", "derivative", "programs"]

START = np.array([[0.3, -0.7, 1.1], [0.9, 0.2, -0.4]])
Step = tuple[str, int, int]


@dataclass(frozen=True)
class Library:
    """What a program needs beside the methods that all libraries have.

    Attributes
    ----------
    asarray : makes an array of a NumPy array
    parts : splits an array into views along its first axis
    no_grad, detach : switch recording off, and leave the graph
    """

    asarray: Callable[[Any], Any]
    parts: Callable[[Any], Sequence[Any]]
    no_grad: Callable[[], AbstractContextManager[Any]]
    detach: Callable[[Any], Any]


def complex_array(a: Any) -> Any:
    return a if a.dtype.kind in "bi" else a.astype(complex)


OURS = Library(dk.asarray, dk.unstack, dk.no_grad, dk.Tensor.detach)
NUMPY = Library(complex_array, tuple, nullcontext, np.asarray)


@dataclass
class Run:
    """A running program.

    Attributes
    ----------
    library : that computes
    x : the leaf, read but never changed
    arrays : changed by the steps; they grow and shrink in number
    total : weighted sum of what was read
    """

    library: Library
    x: Any
    arrays: list[Any] = field(default_factory=list)
    total: Any = 0.0

    def run(self, steps: Sequence[Step]) -> Any:
        """Return the loss, which reads all arrays at the end."""
        self.arrays = [self.x * 1.0, self.library.asarray(np.ones((2, 3)))]
        for name, i, j in steps:
            a, b = self.arrays[i % len(self.arrays)], self.arrays[j % len(self.arrays)]
            if name in VIEWS:
                self.arrays += [] if (made := VIEWS[name](self, a)) is None else [made]
            else:
                STEPS[name](self, a, b)
        for a in self.arrays:
            self.read(a)
        return self.total

    def read(self, a: Any) -> None:
        weights = np.cos(1.0 + np.arange(np.prod(tuple(a.shape), dtype=int))).reshape(tuple(a.shape))
        self.total = self.total + (a * self.library.asarray(weights)).sum()

    def forget(self, a: Any) -> None:
        if len(self.arrays) > 1:
            self.arrays = [other for other in self.arrays if other is not a]

    def assign(self, a: Any, key: Any, value: Any) -> None:
        if a.ndim:
            a[self.library.asarray(key) if isinstance(key, np.ndarray) else key] = value

    def change_unrecorded(self, a: Any) -> None:
        with self.library.no_grad():
            a += 0.5

    def view_unrecorded(self, a: Any) -> Any:
        with self.library.no_grad():
            return a[...]


VIEWS: dict[str, Callable[[Run, Any], Any]] = {
    "first": lambda run, a: a[0, ...] if a.ndim else None,
    "later": lambda run, a: a[..., 1:] if a.ndim and a.shape[-1] > 1 else None,
    "every second": lambda run, a: a[::2] if a.ndim else None,
    "new axis": lambda run, a: a[None, ...] if a.ndim < 3 else None,
    "transposed": lambda run, a: a.T if a.ndim == 2 else None,
    "flattened": lambda run, a: a.reshape((-1,)),
    "whole": lambda run, a: a[...],
    "part": lambda run, a: run.library.parts(a)[0] if a.ndim > 1 else None,
    "copy": lambda run, a: a * 1.0,
    "detached": lambda run, a: run.library.detach(a),
    "unrecorded view": lambda run, a: run.view_unrecorded(a),
}
STEPS: dict[str, Callable[[Run, Any, Any], Any]] = {
    "forget": lambda run, a, b: run.forget(a),
    "read": lambda run, a, b: run.read(a),
    "scale": lambda run, a, b: a.__imul__(-1.5),
    "add a number": lambda run, a, b: a.__iadd__(0.5),
    "add the leaf": lambda run, a, b: a.__iadd__(run.x.sum()),
    "multiply with the leaf": lambda run, a, b: a.__imul__(run.x.sum()),
    "subtract another": lambda run, a, b: a.__isub__(b.sum()),
    "multiply with another": lambda run, a, b: a.__imul__(b.sum() * 0.3),
    "multiply by elements": lambda run, a, b: a.__imul__(b) if tuple(a.shape) == tuple(b.shape) else None,
    "square": lambda run, a, b: a.__ipow__(2),
    "assign an element": lambda run, a, b: run.assign(a, (0,) * a.ndim, b.sum()),
    "assign a row": lambda run, a, b: run.assign(a, 0, run.x.sum()),
    "assign by a mask": lambda run, a, b: run.assign(a, np.arange(len(a) if a.ndim else 0) % 2 == 1, b.sum()),
    "assign by integers": lambda run, a, b: run.assign(a, np.array([-1]), b.sum()),
    "fill": lambda run, a, b: a.__setitem__(..., 0.0),
    "unrecorded change": lambda run, a, b: run.change_unrecorded(a),
}
# What leaves the graph on purpose has no counterpart in a derivative of the values.
LEAVING = ("detached", "unrecorded change", "unrecorded view")


def programs(*, leaving: bool) -> st.SearchStrategy[list[Step]]:
    """Return a strategy for programs, with or without steps that leave the graph."""
    names = [name for name in (*VIEWS, *STEPS) if leaving or name not in LEAVING]
    return st.lists(st.tuples(st.sampled_from(names), st.integers(0, 4), st.integers(0, 4)), max_size=10)


def derivative(steps: Sequence[Step]) -> tuple[float, Any]:
    """Return value and gradient of a program that does not leave the graph, exactly: by complex steps in NumPy."""
    value, gradient = 0.0, np.zeros(START.shape)
    for index in np.ndindex(START.shape):
        x = START.astype(complex)
        x[index] += 1e-200j
        loss = Run(NUMPY, x).run(steps)
        value, gradient[index] = loss.real, loss.imag / 1e-200
    return value, gradient

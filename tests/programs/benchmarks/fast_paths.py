"""The fast paths for NumPy arrays against the bodies that they stand for: what each gains, on few and on many elements.

Few are the first sample of an operation's declaration. Many are the same call grown to vectors of 100,000 elements,
matrices of 300 rows and 300 columns, or stacks of as many elements.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit import catalogue  # noqa: F401  # every operation is timed
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Draw, Sample, draw, sample

from .harness import Effort, Side, measure

__all__ = ["TOPIC", "fast_path_lines", "many"]

TOPIC = "fast paths"
# The length of an axis, by how many axes the array with most of them has.
LENGTHS = (1, 100_000, 300, 45)
VECTOR, SHAPE = LENGTHS[1], (300, 300)
# Steps, sequences, and the length of a state.
STEPS, SEQUENCES, STATE = 35, 20, 64
LABELS = draw(VECTOR, low=0, high=1000, content="integer")
CLASSES = draw(SHAPE[0], low=0, high=SHAPE[1], content="integer")
IMAGES, SOLIDS = draw(2, 5, 96, 96), draw(1, 3, 32, 32, 32)
# Calls whose sizes are no axes of arrays, or are bound to each other.
LARGE = {
    **dict.fromkeys(("zeros", "ones", "empty"), sample(SHAPE)),
    "full": sample(SHAPE, 2.5),
    **dict.fromkeys(("arange", "fft.fftfreq", "fft.rfftfreq"), sample(VECTOR)),
    "linspace": sample(0.0, 1.0, VECTOR),
    "eye": sample(SHAPE[0]),
    **dict.fromkeys(("random.uniform", "random.normal"), sample(shape=SHAPE)),
    **dict.fromkeys(("unique_all", "unique_counts", "unique_inverse", "unique_values"), sample(LABELS)),
    "isin": sample(LABELS, draw(100, low=0, high=1000, content="integer")),
    "convolve": sample(draw(VECTOR), draw(100)),
    "interp": sample(draw(VECTOR), np.linspace(-1.0, 2.0, 100), draw(100)),
    "pad": sample(draw(*SHAPE), 2),
    "linalg.cross": sample(draw(VECTOR // 3, 3), draw(VECTOR // 3, 3)),
    **{
        f"nn.functional.{name}": sample(
            draw(STEPS, SEQUENCES, gates * STATE), draw(gates * STATE, STATE), *[draw(SEQUENCES, STATE)] * states
        )
        for name, gates, states in (("lstm", 4, 2), ("gru", 3, 1))
    },
    "linalg.outer": sample(draw(SHAPE[0]), draw(SHAPE[1])),
    **dict.fromkeys(("nn.functional.cross_entropy", "nn.functional.nll_loss"), sample(draw(*SHAPE), CLASSES)),
    **dict.fromkeys(("nn.functional.layer_norm", "nn.functional.rms_norm"), sample(draw(*SHAPE), SHAPE[1])),
    "nn.functional.group_norm": sample(draw(20, 20, 225), 4),
    **dict.fromkeys(("nn.functional.max_pool2d", "nn.functional.adaptive_avg_pool2d"), sample(IMAGES, 2)),
    **dict.fromkeys(("nn.functional.max_pool3d", "nn.functional.adaptive_avg_pool3d"), sample(SOLIDS, 2)),
}


def grown(call: Sample) -> Sample:
    """Return a call with longer axes; those of one element stay."""
    length = LENGTHS[max(len(arg.shape) for arg in call.args if isinstance(arg, Draw))]

    def longer(arg: Any) -> Any:
        return replace(arg, shape=tuple(length if n > 1 else n for n in arg.shape))

    return replace(call, args=tuple(longer(arg) if isinstance(arg, Draw) else arg for arg in call.args))


def many(name: str, entry: DeclaredOperation) -> Sample:
    """Return the call of an operation on many elements."""
    return LARGE.get(name) or grown(entry.samples[0])


def gain(entry: DeclaredOperation, call: Sample, effort: Effort) -> tuple[float, float]:
    """Return the seconds that the fast path takes, and those of the body."""
    args, kwargs = call.make(np.random.default_rng(0))
    names = {f"a{i}": arg for i, arg in enumerate(args)}
    code = f"f({', '.join([*names, *(f'{name}={name}' for name in kwargs)])})"
    body = partial(entry.source, numpy_namespace)
    fast, slow = (Side(code, {"f": f, **names, **kwargs}) for f in (entry.implementation.on_numpy, body))
    return measure(fast, slow, effort)


def fast_path_lines(effort: Effort) -> Iterator[str]:
    """Give a line for each fast path: seconds of path and body and their ratio, on few elements and on many."""
    yield f"{'operation':24} {'few':>12} {'body':>12} {'gain':>6}   {'many':>12} {'body':>12} {'gain':>6}"
    for full_name, entry in dk.tensor_protocol.operations.items():
        if isinstance(entry, DeclaredOperation) and "numpy" in entry.implementation.kernels:
            name = full_name.removeprefix("dispatchkit.")
            figures = [f"{name:24}"]
            for call in (entry.samples[0], many(name, entry)):
                fast, slow = gain(entry, call, effort)
                figures.append(f"{fast * 1e6:9.2f} µs {slow * 1e6:9.2f} µs {slow / fast:6.2f}")
            yield "  ".join(figures)

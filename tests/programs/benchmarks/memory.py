"""What differentiation keeps: a deep chain against the same by hand in NumPy, and what single operations allocate."""

import gc
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dispatchkit as dk

from .harness import Unavailable

__all__ = ["TOPIC", "memory_lines"]

TOPIC = "memory"
SIZE, DEPTH = 100_000, 100


def chain_of_tensors() -> Any:
    """Compute a chain and its gradient."""
    x = dk.tensor(np.linspace(0.0, 1.0, SIZE), requires_grad=True)
    y = x
    for _ in range(DEPTH):
        y = dk.sin(y)
    y.sum().backward()
    assert x.grad is not None
    return x.grad.numpy()


def chain_by_hand() -> Any:
    """Compute the same with NumPy, keeping each argument of the sine and letting go of it once it is used."""
    kept = []
    y = np.linspace(0.0, 1.0, SIZE)
    for _ in range(DEPTH):
        kept.append(y)
        y = np.sin(y)
    g = np.ones(SIZE)
    while kept:
        g = g * np.cos(kept.pop())
    return g


def peak(work: Callable[[], Any]) -> int:
    """Return the most bytes that a piece of work held at once."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def resident(name: str) -> int:
    """Return how much a fresh process's memory grew for a piece of work, in bytes."""
    code = (
        f"from pathlib import Path; from tests.programs.benchmarks import memory as m; "
        f"peak = lambda: int(Path('/proc/self/status').read_text().partition('VmHWM:')[2].split()[0]); "
        f"before = peak(); m.{name}(); print(peak() - before)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(found.stdout) * 1024


def allocated(work: Callable[[], Any]) -> int:
    """Return the bytes of the largest block that a call allocated beyond small objects."""
    work()
    return peak(work)


def memory_lines() -> Iterator[str]:
    """Give the peaks of the chain, and what views, slices and their gradients allocate."""
    np.testing.assert_allclose(chain_of_tensors(), chain_by_hand())
    ours, theirs = peak(chain_of_tensors), peak(chain_by_hand)
    yield f"chain of {DEPTH} sines on {SIZE:,} elements: peak {ours / 1e6:.1f} MB, by hand {theirs / 1e6:.1f} MB"
    if not Path("/proc/self/status").exists():
        raise Unavailable("the peak of a process is read from /proc, which is not here")
    ours, theirs = resident("chain_of_tensors"), resident("chain_by_hand")
    yield f"  the same, growth of the process: {ours / 1e6:.1f} MB, by hand {theirs / 1e6:.1f} MB"
    x = dk.asarray(np.ones((1000, 1000)))
    raw = x.numpy()
    for label, mine, other in (
        ("x[10:500]", lambda: x[10:500], lambda: raw[10:500]),
        ("x.T", lambda: x.T, lambda: raw.T),
        ("sum(x, axis=0)", lambda: dk.sum(x, axis=0), lambda: np.sum(raw, axis=0)),
        ("mean(x)", lambda: dk.mean(x), lambda: np.mean(raw)),
        ("var(x)", lambda: dk.var(x), lambda: np.var(raw)),
        (
            "broadcast_to(x[0], x.shape)",
            lambda: dk.broadcast_to(x[0], x.shape),
            lambda: np.broadcast_to(raw[0], raw.shape),
        ),
    ):
        yield f"{label:30s} allocates {allocated(mine):>10,} bytes, NumPy {allocated(other):>10,}"
    leaf = dk.tensor(np.ones((1000, 1000)), requires_grad=True)
    row = dk.tensor(np.ones(1000), requires_grad=True)
    for label, output, inputs in (
        ("backward of x[10:500]", leaf[10:500], leaf),
        ("backward of a broadcast row", dk.broadcast_to(row, (1000, 1000)), row),
    ):
        g = dk.ones(output.shape)
        used = allocated(partial(dk.autograd.grad, output, inputs, g, retain_graph=True))
        yield f"{label:30s} allocates {used:>10,} bytes for a gradient of {inputs.nbytes:,}"

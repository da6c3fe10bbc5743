"""More data than the workers of a cluster have memory for, by the words of docs/scaling.md; one of them is killed."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

dask: Any = pytest.importorskip("dask")
da: Any = pytest.importorskip("dask.array")
distributed: Any = pytest.importorskip("distributed")

LIMIT = 512 * 2**20  # bytes of each of the two workers, half of which their modules take
ROWS, COLUMNS, BLOCK = 5_600_000, 24, 50_000
STEPS = 3

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # what Dask warns of is Dask's
    pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of POSIX"),
]


def logistic_data() -> tuple[Any, Any]:
    """Return features and labels as Dask arrays, whose blocks are made where they are computed."""
    truth = np.linspace(-0.5, 0.5, COLUMNS)
    x = da.random.default_rng(0).standard_normal(size=(ROWS, COLUMNS), chunks=(BLOCK, COLUMNS))
    noise = da.random.default_rng(1).logistic(size=ROWS, chunks=BLOCK)
    return x, (x @ truth > noise).astype("float64")


def test_a_logistic_regression_survives_a_killed_worker_and_agrees_with_the_one_in_memory() -> None:
    @dk.operation
    def losses(xp: Any, margins: Any, labels: Any, /) -> Any:
        """Return the negative log-likelihood of labels 0 and 1."""
        return xp.sum(xp.logaddexp(xp.zeros_like(margins), margins) - labels * margins)

    @losses.def_partial("margins")
    def losses_margins(xp: Any, margins: Any, labels: Any) -> Any:
        return xp.reciprocal(1 + xp.exp(-margins)) - labels

    def sums(x: Any, y: Any, w: Any) -> Any:
        """Return gradient and Hessian of the loss over a block."""
        x, y = dk.asarray(x), dk.asarray(y)
        p = dk.sigmoid(x @ w)
        return dk.func.grad(lambda w: losses(x @ w, y))(w).numpy(), ((x.T * (p * (1 - p))) @ x).numpy()

    def peak_memory() -> int:
        """Return the bytes that this process had at most; Linux counts in `ru_maxrss` what started it, too."""
        import resource

        status = Path("/proc/self/status")
        if status.exists():
            return 1024 * next(int(line.split()[1]) for line in status.read_text().splitlines() if "VmHWM" in line)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

    x, y = logistic_data()
    assert x.nbytes + y.nbytes > 2 * LIMIT
    options = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": LIMIT, "dashboard_address": None}
    blocks = list(zip(x.to_delayed().ravel(), y.to_delayed().ravel(), strict=True))
    found = np.zeros(COLUMNS)
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        first = set(client.run(os.getpid).values())
        for step in range(STEPS):
            tasks = [dask.delayed(sums)(*part, dk.asarray(found)) for part in blocks]
            futures = client.compute(tasks, retries=3)
            if step == 1:
                next(iter(distributed.as_completed(futures)))
                os.kill(min(first), signal.SIGKILL)
            pieces = client.gather(futures)
            found -= np.linalg.solve(sum(h for _, h in pieces), sum(g for g, _ in pieces))
            futures.clear()
        client.wait_for_workers(2)
        last = set(client.run(os.getpid).values())
        peaks = client.run(peak_memory).values()
    assert min(first) not in last
    assert max(first) in last
    assert max(peaks) < LIMIT

    held = [(x.blocks[i].compute(), y.blocks[i].compute()) for i in range(x.numblocks[0])]
    features, labels = np.concatenate([a for a, _ in held]), np.concatenate([b for _, b in held])
    del held
    expected = np.zeros(COLUMNS)
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-features @ expected))
        hessian = np.einsum("ni,n,nj->ij", features, p * (1 - p), features, optimize=True)
        expected -= np.linalg.solve(hessian, features.T @ (p - labels))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found, np.linspace(-0.5, 0.5, COLUMNS), atol=0.02)

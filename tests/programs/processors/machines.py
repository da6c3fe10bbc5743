"""The ways that a machine can compute in, each found out by a process that computes in it."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["KERNELS", "Setting", "Skipped", "busy", "probe", "settings"]

# Kernels of OpenBLAS, the oldest first, by what `platform.machine` says in lower case. It takes another one for a name
# that it was built without, so that a setting is named by what was taken.
_X86 = ("Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids")
_ARM = ("ARMV8", "CORTEXA57", "NEOVERSEN1", "NEOVERSEV1", "NEOVERSEN2")
KERNELS: Mapping[str, tuple[str, ...]] = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}
BUSY = 5  # processes beside the tests

# Goes through the kernels of products and factorizations in each dtype, and prints what they belong to. A kernel that
# takes instructions that the processor lacks ends it by a signal, or computes nothing right.
PROBE = """
import numpy as np
import scipy.linalg
import threadpoolctl
for dtype in ("float32", "float64", "complex64", "complex128"):
    a = (np.arange(1600).reshape(40, 40) % 7 + 40 * np.eye(40)).astype(dtype)
    for x in (np.linalg.inv(a), scipy.linalg.inv(a)):
        assert np.allclose(a @ x, np.eye(40), atol=1e-3)
        assert np.allclose(a @ x[0], np.dot(x[0], a.T), atol=1e-3)
    np.linalg.svd(a), scipy.linalg.schur(a)
found = {(info["internal_api"], info.get("architecture", "")) for info in threadpoolctl.threadpool_info()}
print("blas", " and ".join(sorted({name for api, name in found if api == "openblas"})) or "no OpenBLAS")
print("simd", *np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))
"""


@dataclass(frozen=True)
class Setting:
    """A way to compute in.

    Attributes
    ----------
    name : says what is taken
    environment : variables that have it taken
    beside : how many processes are busy meanwhile
    """

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    beside: int = 0


@dataclass(frozen=True)
class Skipped:
    """A way to compute in that is left out, and why."""

    name: str
    reason: str


def probe(environment: Mapping[str, str]) -> tuple[str, list[str]] | str:
    """Return what a process with further variables computes by: OpenBLAS kernels, SIMD features; or why it cannot."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode < 0:
        return f"this processor cannot run it (signal {-done.returncode})"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return f"it does not work here: {last}"
    blas, simd = (line.split(maxsplit=1)[1:] for line in done.stdout.splitlines()[-2:])
    return "".join(blas), " ".join(simd).split()


def settings() -> Iterator[Setting | Skipped]:
    """Yield the ways to compute in, and those that are left out: kernels, then SIMD features, then busy processors."""
    plain = probe({})
    assert not isinstance(plain, str), f"NumPy and SciPy do not compute here: {plain}"
    seen: dict[str, str] = {}
    for name in KERNELS.get(platform.machine().lower(), ()):
        environment = {"OPENBLAS_CORETYPE": name}
        answer = probe(environment)
        if isinstance(answer, str):
            yield Skipped(f"kernel {name}", answer)
        elif answer[0] in seen:
            yield Skipped(f"kernel {name}", f"OpenBLAS takes {answer[0]} for it, as for {seen[answer[0]]}")
        else:
            seen[answer[0]] = name
            # One thread in one run, and two in the next, by turns; and another order of sets in each.
            threads = str(1 + len(seen) % 2)
            more = {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads, "PYTHONHASHSEED": str(len(seen))}
            yield Setting(f"kernel {name}, which is {answer[0]}, threads: {threads}", {**environment, **more})
    if plain[1]:
        yield _without(plain[1])
    else:
        yield Skipped("NumPy without SIMD features", "it uses none here beyond those that it cannot do without")
    yield Setting(f"beside {BUSY} busy processes", beside=BUSY)


def _without(features: list[str]) -> Setting | Skipped:
    """Return the setting that leaves away what NumPy uses of a processor beyond what it was built for."""
    environment = {"NPY_DISABLE_CPU_FEATURES": " ".join(features)}
    name = f"NumPy without {' '.join(features)}"
    answer = probe(environment)
    if isinstance(answer, str):
        return Skipped(name, answer)
    if answer[1]:
        return Skipped(name, f"NumPy goes on to use {' '.join(answer[1])}")
    return Setting(name, environment)


@contextmanager
def busy(count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Have processes compute as fast as they can for as long as the block lasts."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            process = subprocess.Popen([sys.executable, "-c", "while True: sum(range(10000))"])
            processes.append(process)
        yield processes
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()

"""With the compiled core and without it, beside other libraries: ``python -m tests.programs.benchmarks.cores``.

Processes with the accelerator and with ``DISPATCHKIT_PURE=1`` run by turns; in each, every row is timed by turns with
its reference, and the least of all counts. A path to a record, as docs/measured.json, is given the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dispatchkit as dk
from dispatchkit import accelerator

from . import dispatchers, mlp, overrides, peers, tensors
from .harness import Effort, Row, Side, Unavailable, measure, names_of, same_results, versions

EFFORT = Effort(repeats=20, seconds=1e-3)
TURNS = 6
PEERS = {"JAX": "jax", "autograd": "autograd", "MyGrad": "mygrad", "plum": "plum-dispatch", "quax": "quax"}


def beside_jax(operations: list[str], code: str) -> tuple[Side, Side]:
    """Return the same call on small arrays of dispatchkit and of JAX."""
    xp = peers.jax().numpy
    ours, theirs = ({"a": make(tensors.A), "b": make(tensors.B)} for make in (dk.tensor, xp.asarray))
    return (
        Side(code, {**ours, **names_of(dk, *operations)}),
        Side(f"({code}).block_until_ready()", {**theirs, **names_of(xp, *operations)}),
    )


def jax_row(work: str, operations: list[str], code: str) -> Row:
    return Row("plain", work, "JAX", 1.0, partial(beside_jax, operations, code))


def rows_of(rows: Sequence[Row], *works: str, reference: str = "") -> list[Row]:
    """Return rows by their work, of those beside a library."""
    return [row for row in rows if row.work in works and row.reference.startswith(reference)]


CALLS = ("add(a, b)", "a + b", "a * 2.0", "-a", "exp(a)", "sum(a)")
GRAPHS = ("a + b, recorded", "add(a, b), recorded", peers.CHAIN, "(a*a).sum().backward()", "Function and backward")
ROWS = [
    *rows_of(tensors.ROWS, *CALLS, reference="NumPy"),
    *rows_of(tensors.ROWS, *CALLS, *GRAPHS, reference="PyTorch"),
    *rows_of(mlp.ROWS, "MLP step 32×64×32×10"),
    *(jax_row(code, [], code) for code in ("a + b", "a * 2.0")),
    jax_row("exp(a)", ["exp"], "exp(a)"),
    *rows_of(peers.ROWS, peers.CHAIN),
    *rows_of(overrides.ROWS, "add(D, D)", "exp(D)"),
    *dispatchers.ROWS,
]


def times(rows: Sequence[Row]) -> Iterator[tuple[float, float] | None]:
    """Yield the seconds of both sides of each row, None where its reference is not installed."""
    for row in rows:
        try:
            ours, reference = row.build()
        except Unavailable:
            yield None
            continue
        same_results(ours, reference)
        yield measure(ours, reference, EFFORT)


def timed_apart(only: str, *, pure: bool) -> dict[str, Any]:
    """Return what `times` gives in a process of its own, and the state of its accelerator."""
    environment = {**os.environ, accelerator.PURE: "1" if pure else ""}
    command = [sys.executable, "-m", __spec__.name, "--only", only, "--times"]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def compared(only: str, turns: int) -> dict[str, Any]:
    """Return the ratios of all rows that have a reference here, with the date and the versions."""
    rows = wanted(only)
    runs: dict[bool, list[Any]] = {True: [], False: []}
    for _ in range(turns):
        for pure, of_core in runs.items():
            found = timed_apart(only, pure=pure)
            if (found["accelerator"] == dk.__version__) is pure:
                raise SystemExit(f"cores: expected the accelerator to be used or not, found {found['accelerator']}")
            of_core.append(found["times"])
    entries = []
    for i, row in enumerate(rows):
        if runs[True][0][i] is None:
            continue
        pure, compiled = (min(times[i][0] for times in runs[key]) for key in (True, False))
        reference = min(times[i][1] for key in runs for times in runs[key])
        ratios = {"pure": pure / reference, "compiled": compiled / reference}
        entry = {"topic": "cores", "work": row.work, "reference": row.reference}
        entries.append(entry | {name: float(f"{ratio:.3g}") for name, ratio in ratios.items()})
    others = ", ".join(f"{name} {version(package)}" for name, package in PEERS.items())
    note = (
        f"{versions().partition(', accelerator')[0]}, {others}; one thread each; {turns} processes of either by turns"
    )
    return {"date": datetime.now(UTC).date().isoformat(), "versions": note, "rows": entries}


def wanted(only: str) -> list[Row]:
    """Return the rows that a text is part of."""
    return [row for row in ROWS if only in f"{row.work} / {row.reference}"]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.programs.benchmarks.cores", description=__doc__)
    parser.add_argument("path", type=Path, nargs="?", help="the record to write the ratios into; they are printed, too")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows that TEXT is part of")
    parser.add_argument("--turns", type=int, default=TURNS, help="processes of each core")
    parser.add_argument("--times", action="store_true", help="print the seconds of this process alone, as JSON")
    options = parser.parse_args(arguments)
    if options.times:
        json.dump({"accelerator": accelerator.state, "times": list(times(wanted(options.only)))}, sys.stdout)
        return
    record = compared(options.only, options.turns)
    for row in record["rows"]:
        print(f"{row['work']:32} {row['reference']:34} {row['pure']:8.3g} {row['compiled']:8.3g}")
    if options.path is not None:
        whole = json.loads(options.path.read_text(encoding="utf-8"))
        options.path.write_text(json.dumps(whole | {"cores": record}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

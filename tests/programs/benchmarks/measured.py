"""Measure what the pictures of docs/performance.md show.

``python -m tests.programs.benchmarks.measured docs/measured.json`` writes the record.

``--peers`` measures what docs/explanation/how-it-compares.md says of plum and quax instead, and leaves the rest.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dispatchkit as dk

from . import dispatchers, mlp, overrides
from .harness import Effort, Row, Side, measure, same_results, versions
from .structured import MATRICES

COMMAND = "python -m tests.programs.benchmarks.measured docs/measured.json"
EFFORT = Effort(repeats=60, seconds=2e-3)
SIZES = (125, 250, 500, 1000, 2000)
STRUCTURES = ("Diagonal", "Banded, 5 diagonals")
PEERS = {"plum": "plum-dispatch", "quax": "quax", "JAX": "jax"}
WORK = {"A @ v": "a @ v", "solve(A, v)": "solve(a, v)"}


def ratio(ours: Side, reference: Side) -> float:
    """Return the time of one side by that of the other, to three digits, once their results agree."""
    same_results(ours, reference)
    mine, theirs = measure(ours, reference, EFFORT)
    return float(f"{mine / theirs:.3g}")


def measured(row: Row) -> dict[str, Any]:
    return {"topic": row.topic, "work": row.work, "reference": row.reference, "ratio": ratio(*row.build())}


def curve(structure: str, work: str) -> dict[str, Any]:
    """Return the time with a structured matrix by that with the same matrix as a tensor, for each size."""
    ratios = []
    for n in SIZES:
        matrix = MATRICES[structure][0](n)
        names = {"v": dk.ones(n), "solve": dk.linalg.solve}
        ours, dense = (Side(WORK[work], {"a": a, **names}) for a in (matrix, matrix.to_dense()))
        ratios.append(ratio(ours, dense))
    return {"matrix": structure, "work": work, "ratios": ratios}


def record_of(rows: Sequence[Row], others: Sequence[str] = ()) -> dict[str, Any]:
    """Return the ratios of rows, with the date and the versions."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "versions": f"{', '.join((*others, versions()))}; minimum of {EFFORT.repeats} interleaved repeats",
        "rows": [measured(row) for row in rows],
    }


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.programs.benchmarks.measured", description=__doc__)
    parser.add_argument("path", type=Path, help="the file to write")
    parser.add_argument("--peers", action="store_true", help="measure the rows against plum and quax alone")
    options = parser.parse_args(arguments)
    path = options.path
    record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if options.peers:
        record["peers"] = record_of(dispatchers.ROWS, [f"{name} {version(package)}" for name, package in PEERS.items()])
    else:
        record |= {"command": COMMAND, **record_of([*overrides.ROWS, *mlp.ROWS]), "sizes": SIZES}
        record["curves"] = [curve(structure, work) for work in WORK for structure in STRUCTURES]
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

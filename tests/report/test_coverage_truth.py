"""What `coverage` says is what happens when the functions are called."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Sample
from dispatchkit.types import ScalarTensor
from tests.report.reports import coverage_of
from tests.report.subjects import ByKind, Decomposes, Dense, Refuses, Rewraps, Sized

OPERATIONS = {
    name: entry
    for name, entry in dk.tensor_protocol.operations.items()
    if isinstance(entry, DeclaredOperation)
    and name.startswith("dispatchkit.")
    and (find_spec("scipy") is not None or not name.startswith("dispatchkit.special."))
}


def answered(cls: type[Sized], entry: DeclaredOperation, sample: Sample) -> bool | None:
    """Return whether a call with all arrays of a type is answered; None where it has no array."""
    found = 0

    def dressed(name: str, value: Any) -> Any:
        nonlocal found
        if isinstance(value, np.ndarray):
            found += 1
            return cls(dk.tensor(value))
        return value

    args, kwargs = sample.make(np.random.default_rng(0))
    args, kwargs = dk.tensor_protocol.map_arguments(entry.function, args, kwargs, dressed)
    if not found:
        return None
    try:
        with dk.densify(on="allow"):
            entry.function(*args, **kwargs)
    except dk.NoImplementationError:
        return False
    return True


@pytest.mark.parametrize("cls", [Refuses, Dense, Rewraps, Decomposes, ByKind], ids=lambda cls: cls.__name__)
def test_calls_end_as_the_buckets_say(cls: type[Sized]) -> None:
    report = coverage_of(cls)
    wrong = []
    for name, entry in OPERATIONS.items():
        row = report[name]
        outcomes = {answered(cls, entry, sample) for sample in entry.samples} - {None}
        if row.note or not outcomes:
            continue  # counted by a call among plain tensors, or never called
        refused = "refused" in row.outcomes
        if (False in outcomes and not refused) or (True not in outcomes and row.bucket != "refused"):
            wrong.append((name, row.bucket, outcomes))
    assert wrong == []


@pytest.mark.parametrize("name", ["reciprocal", "rsqrt", "t", "unique_values", "zeros_like", "cos"])
def test_what_is_said_to_be_decomposed_does_not_become_dense(name: str) -> None:
    bucket = coverage_of(ScalarTensor)[f"dispatchkit.{name}"].bucket
    if bucket == "depends on values":
        return  # nothing is said
    became_dense = False
    try:
        with dk.densify(on="error"):
            getattr(dk, name)(ScalarTensor(3, 2.0))
    except dk.DensifyError:
        became_dense = True
    assert (bucket == "dense") is became_dense


@pytest.mark.parametrize("name", ["unstack", "var", "std"])
def test_that_a_rule_may_decline_by_value_is_noted(name: str) -> None:
    row = coverage_of(ScalarTensor)[f"dispatchkit.{name}"]
    assert row.bucket == "depends on values"
    assert re.search(r"(subtract|getitem)\w*\(.*\) at .*\.py:\d+ may decline$", row.note)

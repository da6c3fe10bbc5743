"""Eighty types with one fault each are all caught by one generous strategy; fourteen correct types give no alarm.

A quick run plants one fault for each set of checks that name it, and checks the correct types that do not ship on a
third of the functions each. `DISPATCHKIT_ALL_OPERATIONS=1` runs every type through all checks on all functions of the
library. Otherwise these are the functions that it has rules for, and the checks up to the last that can tell of its
fault.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.nn import functional  # noqa: F401  # its functions are of the library, too
from dispatchkit.testing import CHECKS, ConformanceError, Failure, check_type, shapes, tensors
from dispatchkit.testing.instances import drawn
from dispatchkit.types import MetadataTensor, ScalarTensor
from tests.declared import LIBRARY
from tests.testing.faults.correct import CLOSED, Diag, Quantity, UnitError, expected_unit
from tests.testing.faults.further import FURTHER
from tests.testing.faults.planted import PLANTED
from tests.testing.faults.ten import SAMPLES
from tests.turns import LONG, some_of

FAULTY = {**PLANTED, **FURTHER}
# In a quick run the first of those that the same checks name.
SOME = list(FAULTY) if LONG else list({checks: cls for cls, checks in reversed(FAULTY.items())}.values())
PAGE = Path(__file__).parents[2] / "docs" / "testing-types.md"
EVERYTHING = bool(os.environ.get("DISPATCHKIT_ALL_OPERATIONS"))
# Of the types that hold tensors of any shape: with EVERYTHING all of up to two axes, otherwise one of each sort.
SHAPES = shapes(max_dims=2, max_side=3) if EVERYTHING else st.sampled_from([(), (3,), (2, 3), (0, 2), (2, 1)])
DTYPES = st.sampled_from(["float64", "float32", "int64", "complex128"])
VECTORS = tensors(shape=st.tuples(st.integers(0, 3)), dtype=DTYPES)
# Of the types whose fault is in no rule.
BASIC: list[Any] = [dk.add, dk.subtract, dk.sum, dk.equal]
# The functions that the correct types are checked with: their own, and some of every kind.
USUAL: list[Any] = [
    *(dk.add, dk.subtract, dk.multiply, dk.divide, dk.pow, dk.abs, dk.sqrt, dk.sin, dk.exp, dk.equal, dk.less),
    *(dk.isnan, dk.floor, dk.maximum, dk.where, dk.sum, dk.mean, dk.max, dk.var, dk.all, dk.matmul, dk.linalg.solve),
    *(dk.linalg.trace, dk.linalg.diagonal, dk.linalg.slogdet, dk.linalg.cholesky, dk.getitem, dk.clone, dk.astype),
    *(dk.concat, dk.reshape, dk.matrix_transpose, dk.unstack, dk.argmax, dk.sort, dk.tril),
]


@cache
def kept_vectors() -> list[Any]:
    """Return the vectors of no to three elements, in four dtypes, that `check_type` would keep of all that are drawn.

    They are drawn once, rather than for each of a hundred types.
    """
    return drawn(VECTORS, lambda value: value)


def diagonals(cls: type) -> Any:
    """Return the one strategy for all types: matrices of no to three rows, in four dtypes."""
    if cls.__name__ == "MemoById":
        return st.builds(cls, VECTORS)  # of the many that are let go, Python gives the memory out again
    return st.deferred(lambda: st.builds(cls, st.sampled_from(kept_vectors()).map(dk.clone)))


def own_operations(cls: type) -> list[Any]:
    """Return the functions that a type has rules for; Lossy has one by conversion."""
    rules = [rule for rule in dk.tensor_protocol.handlers.of_operations() if cls in rule.types]
    found = [rule.target.function for rule in rules if hasattr(rule.target, "function")]
    return list(dict.fromkeys(found)) or (BASIC if cls.__name__ != "Lossy" else [dk.cos])


def failures(cls: type) -> tuple[Failure, ...]:
    operations = LIBRARY if EVERYTHING else own_operations(cls)
    with pytest.raises(ConformanceError) as caught:
        check_type(cls, diagonals(cls), operations=operations, tests=dk.TypeTests(closed=CLOSED), checks=checks_of(cls))
    return caught.value.conformance.failures


def checks_of(cls: type) -> list[str]:
    """Return all checks up to the last that may name the fault of a type.

    Of what fails by one handler the first check tells, so that what the later ones find changes nothing.
    """
    names = list(CHECKS)
    return names if EVERYTHING else names[: max(map(names.index, FAULTY[cls])) + 1]


def test_there_are_forty_faults_and_forty_more() -> None:
    assert (len(PLANTED), len(FURTHER), len({cls.__name__ for cls in FAULTY})) == (40, 40, 80)


@pytest.mark.parametrize("cls", SOME, ids=lambda cls: cls.__name__)
def test_a_planted_fault_is_caught_by_a_check_that_names_it_and_its_program_runs(cls: type) -> None:
    found = failures(cls)
    named = [failure for failure in found if failure.check in FAULTY[cls]]
    assert named, [str(failure) for failure in found]
    failure = named[0]
    assert cls.__name__ in failure.program
    with dk.densify(on="allow"), np.errstate(all="ignore"):
        shows_the_fault(failure)


def fails_again(failure: Failure) -> bool:
    """Run the program of a failure, and return whether it fails the check again."""
    try:
        exec(failure.program, {})  # noqa: S102  # that it runs is what is tested
    except ConformanceError:
        return True
    return False


def shows_the_fault(failure: Failure) -> None:
    """Run the program of a failure: it fails the check again, or gives the two results that differ."""
    names: dict[str, Any] = {}
    if failure.check == "programs" or "Noise" in failure.call:
        return  # one prints both results, what the other adds depends on all calls before
    if "check_type(" in failure.program:
        # What keeps results by id is wrong only where Python gives the memory of an instance out again. It does so for
        # one of the many that were drawn; whether it does so for the one of the program depends on all that ran before.
        assert fails_again(failure) or "MemoById" in failure.call
        return
    refused = {"raises": failure.found, "refusals": failure.expected}.get(failure.check, "")
    try:
        exec(failure.program, names)  # noqa: S102
    except Exception as error:  # noqa: BLE001  # the one that the failure tells of
        assert (refused or failure.found).startswith(type(error).__name__)  # noqa: PT017
    else:
        assert not refused
        differs = repr(names["found"]) != repr(names["expected"])
        assert differs or failure.check == "closed"


CORRECT: dict[str, tuple[type, Any, dict[str, Any]]] = {
    "Diag": (Diag, diagonals(Diag), {"tests": dk.TypeTests(closed=CLOSED)}),
    "ScalarTensor": (ScalarTensor, st.builds(ScalarTensor, st.integers(0, 3), tensors(shape=(), dtype=DTYPES)), {}),
    "Quantity": (
        Quantity,
        st.builds(Quantity, tensors(shape=SHAPES), st.sampled_from([{"m": 1}, {"s": 1}, {}])),
        {"tests": dk.TypeTests(refuses=(UnitError,)), "metadata": {"unit": expected_unit}},
    ),
    "MetadataTensor": (
        MetadataTensor,
        st.builds(lambda x: MetadataTensor(x, {"unit": "m"}, merge="error"), tensors(shape=SHAPES)),
        {"metadata": ("metadata", "merge")},
    ),
    **{cls.__name__: (cls, samples, {}) for cls, samples in SAMPLES.items()},
}


# The others ship, and have suites of their own in test_shipped_types.py.
HERE = [name for name in CORRECT if LONG or name not in ("ScalarTensor", "MetadataTensor")]


@pytest.mark.parametrize("name", HERE)
def test_a_correct_type_gives_no_alarm(name: str) -> None:
    cls, strategy, options = CORRECT[name]
    operations = LIBRARY if EVERYTHING else some_of(USUAL, 3, HERE.index(name))
    checked = check_type(cls, strategy, operations=operations, depth=1, **options)
    assert checked.failures == ()


def table() -> str:
    """Return the table of the documentation: each fault, and the checks of which one names it."""
    rows = ["| type | fault | caught by |", "| --- | --- | --- |"]
    for cls, checks in FAULTY.items():
        rows.append(f"| `{cls.__name__}` | {cls.__doc__} | {' or '.join(f'`{check}`' for check in checks)} |")
    return "\n".join(rows)


def test_the_page_has_the_table_of_faults() -> None:
    assert table() in PAGE.read_text(encoding="utf-8"), f"put this into {PAGE.name}:\n{table()}"

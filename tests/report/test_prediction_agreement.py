"""What is predicted of a call is what a record of the call shows, over the sample calls of every operation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dispatchkit as dk
from tests.report.agreement import agreement, calls, cases, declared, page, shipped
from tests.report.answering import Dense, register
from tests.turns import LONG, some_of

CASES = cases()
# Each type is tried with one of so many parts of the operations, another one than the type before it, in a quick run.
PARTS = 3
# The largest share of calls, in per cent, of which the prediction may say that they depend on values.
# ScalarTensor has 28 over all operations, and 24 to 31 over one part of them.
DEPENDING = {"ScalarTensor": 28 if LONG else 31, "mode that may decline": 100}


@pytest.fixture(autouse=True)
def rules() -> Iterator[None]:
    with dk.local_registrations():
        register()
        yield


@pytest.mark.parametrize("place", range(len(CASES)), ids=lambda place: CASES[place].name)
def test_predictions_agree_with_records(place: int) -> None:
    case = CASES[place]
    found = agreement(case, some_of(shipped(), PARTS, place))
    assert found.wrong == []
    assert found.calls.total() > (2000 if LONG else 500)
    assert 100 * found.depend.total() <= DEPENDING.get(case.name, 5) * found.calls.total()


def test_every_operation_with_arrays_is_tried() -> None:
    tried = {call.operation for call in calls()}
    left_out = [
        name
        for name, operation in dk.tensor_protocol.operations.items()
        if operation.parameters.arrays
        and getattr(operation, "samples", ())
        and name.startswith("dispatchkit.")
        and operation not in tried
        and not any(declared(operation, Dense))
    ]
    assert left_out == []


def test_the_page_shows_a_row_for_each_type_and_for_what_depends_on_values_most() -> None:
    case = next(case for case in CASES if case.name == "Dense")
    operations = [dk.tensor_protocol.operations[f"dispatchkit.{name}"] for name in ("astype", "add", "exp")]
    text = page([agreement(case, operations)])
    assert "| Dense | " in text
    assert "| `astype` | 14 | 11 (79 %) |" in text

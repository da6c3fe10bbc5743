"""120 faults in twelve small types are found, each an edit of one rule or method; the right types give no alarm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dispatchkit.testing import CHECKS
from tests.testing.planting import NAMES, Fault, check, faults, module_of, operation_of, own_operations, planted
from tests.turns import some_of

PAGE = Path(__file__).parents[2] / "docs" / "testing-types.md"
# The checks of single calls; the others are made where these find nothing.
SINGLE = [name for name in CHECKS if name not in ("programs", "threads", "asyncio", "second", "forward", "vmap")]


def test_there_are_a_hundred_and_twenty_faults_of_ten_in_each_type() -> None:
    listed = faults()
    assert len({fault.name for fault in listed}) == 120
    assert [sum(fault.module == name for fault in listed) for name in NAMES] == [10] * 12


@pytest.mark.parametrize("name", NAMES)
def test_a_right_type_gives_no_alarm(name: str) -> None:
    module: Any = module_of(name)
    cls = type(module.samples()[0])
    assert check(module, operations=own_operations(cls), skip=(), checks=SINGLE).failures == ()


@pytest.mark.parametrize("fault", some_of(faults(), 4), ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault: Fault) -> None:
    with planted(fault) as module:
        chosen = [operation for operation in [operation_of(fault)] if operation is not None]
        found = check(module, operations=chosen, skip=(), checks=SINGLE)
        if not found.failures:
            cls = type(module.samples()[0])
            found = check(module, operations=own_operations(cls), checks=None)
        assert found.failures


def test_the_page_has_a_line_for_each_fault() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"| {fault.module} | `{fault.operation or 'type'}` | {fault.about} |" in page for fault in faults())

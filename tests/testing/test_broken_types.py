"""Each fault is found by the check that names it, and by no other."""

from __future__ import annotations

from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.testing import CHECKS, ConformanceError, check_type
from tests.testing.broken import FAULTS, Box
from tests.testing.faults.further import FURTHER
from tests.testing.faults.planted import PLANTED
from tests.turns import LONG

# What the broken types get wrong, and some that they get right.
OPERATIONS = (dk.exp, dk.sum, dk.var, dk.add, dk.subtract, dk.multiply, dk.negative, dk.equal, dk.concat)


def found(cls: Any) -> ConformanceError:
    with pytest.raises(ConformanceError) as caught:
        check_type(
            cls,
            lambda: [cls([1.0, 2.0])],
            from_dense=cls,
            metadata=("tag",),
            skip=() if LONG or FAULTS[cls] == "programs" else ("programs",),  # which may find any fault, too
            operations=OPERATIONS,
            depth=1,
        )
    return caught.value


def test_the_type_that_the_broken_ones_derive_from_is_in_order() -> None:
    checked = check_type(Box, lambda: [Box([1.0, 2.0])], from_dense=Box, metadata=("tag",), operations=OPERATIONS)
    assert checked.failures == ()
    assert [name for name in CHECKS if not checked.tried[name]] == []
    assert checked.unentered == ()


@pytest.mark.parametrize("cls", FAULTS, ids=lambda cls: cls.__name__)
def test_a_fault_is_found_by_the_check_that_names_it_alone(cls: type) -> None:
    checks = {failure.check for failure in found(cls).conformance.failures}
    assert FAULTS[cls] in checks
    assert checks <= {FAULTS[cls], "programs"}


def test_every_check_finds_a_fault() -> None:
    named = {check for checks in (*PLANTED.values(), *FURTHER.values()) for check in checks}
    assert {*FAULTS.values(), *named} == set(CHECKS)

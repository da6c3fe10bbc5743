"""Reports on types as they are declared, each made once for all tests of a process that read it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.report import Coverage, CoverageSet


def list_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have reports be about one function, where a test reads one row of them."""
    listed = dk.tensor_protocol.operations
    monkeypatch.setattr(listed, "_listed", {name: listed[name]})


def coverage_of(cls: type) -> Coverage:
    """Return the predicted coverage of a type that no test registers anything for.

    A test that makes functions overridable, or leaves some out, sees a report of those there are.
    """
    return _coverage(cls, frozenset(dk.tensor_protocol.operations))


@cache
def _coverage(cls: type, functions: frozenset[str]) -> Coverage:
    return dk.coverage(cls)


def coverage_of_all(*types: type) -> CoverageSet:
    """Return the predicted coverage of several types, as `coverage` gives it for a list."""
    return CoverageSet(tuple(map(coverage_of, types)))


def known_coverage(types: type | Sequence[type], *, protocol: Any) -> Coverage | CoverageSet:
    """Stand for `coverage` in tests of the command, which call it with the same types again and again."""
    assert protocol is dk.tensor_protocol
    if isinstance(types, type):
        return coverage_of(types)
    return coverage_of_all(*types)

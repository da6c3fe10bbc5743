"""Measuring the shipped types shows no fault, and no shipped type is left out."""

from __future__ import annotations

from typing import Any

import pytest

import dispatchkit as dk
from tests.report.shipped import measure, measured_types, samples
from tests.turns import some_of

FAULTS = ("refused", "plain result", "raises", "wrong type", "wrong dtype", "wrong gradient", "wrong value")
# What refuses calls by design, such as a dense form; their own tests hold them to the conformance suite.
REFUSING = {dk.types.MaskedTensor, dk.types.NamedTensor, dk.types.QuantityTensor, dk.types.UncertainTensor}
TYPES = measured_types()
# Each type is measured with one of so many parts of the functions, another one than the type before it; all parts
# together by `nox -s long`, and where `nox -s docs` compares the page. The conformance suite of each type calls all.
PARTS = 3


@pytest.mark.parametrize("place", range(len(TYPES)), ids=lambda place: TYPES[place].__name__)
def test_measuring_a_shipped_type_shows_no_fault(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("scipy", reason="the special functions cannot be called without SciPy")
    listed = dk.tensor_protocol.operations
    # Not what other tests have made overridable.
    names = [name for name, one in listed.items() if one.namespace.partition(".")[0] == "dispatchkit"]
    part = {name: listed[name] for name in some_of(names, PARTS, place)}
    monkeypatch.setattr(listed, "_listed", part)
    report = measure(TYPES[place])
    assert len(report.rows) == len(part) > 90
    assert report.outcomes["native"] + report.outcomes["by kind"] + report.outcomes["dense"] > 0
    assert not [fault for fault in FAULTS if report.totals[fault]]


def test_every_shipped_type_is_measured() -> None:
    named: set[Any] = {getattr(dk.types, name) for name in dk.types.__all__} - {dk.types.StructuredTensor}
    shipped = {cls for cls in named if dk.tensor_protocol.types.participates(cls)}
    assert {type(one) for one in samples()} == shipped - REFUSING

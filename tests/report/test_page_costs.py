"""Pages show what costs first, what to write next, and the source of rules; an audit's matrix shows the rules."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.report import MeasuredRow
from dispatchkit.resources import read_text
from tests.report.promised import Packed, packed

USED = ("sum", "exp", "multiply", "concat", "matmul")


@pytest.fixture(autouse=True)
def rules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    operations = tensor_protocol.operations
    monkeypatch.setattr(operations, "_listed", {f"dispatchkit.{one}": operations[f"dispatchkit.{one}"] for one in USED})
    with dk.local_registrations():

        @dk.implements(dk.sum)
        def total(x: Packed, /, *, axis: Any = None) -> Any:
            if axis is None:
                return dk.sum(x.values)
            raise AssertionError

        @dk.implements(dk.exp)
        def raised(x: Packed, /) -> Packed:
            if x.shape == ():
                return x
            return Packed(dk.exp(x.values))

        yield


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def names(page: str) -> list[str]:
    return re.findall(r'<th scope="row" class="name">(\w+)', page)


def test_what_became_dense_comes_first_by_its_measured_bytes() -> None:
    report = dk.coverage(Packed, samples=[packed()])
    page = report.to_html()
    assert "became dense, what costs most first (measured in the sample calls)" in page
    measured = [row for row in report.rows if isinstance(row, MeasuredRow) and row.densified]
    costly = sorted(measured, key=lambda row: -row.densified)
    assert len(costly) > 1
    assert names(page)[: len(costly)] == [row.function for row in costly]
    calls = costly[0].outcomes["dense"]
    assert re.search(rf'class="cost">[^<]*B, {calls} calls dense<', page)


def test_without_samples_calls_are_counted_and_said_to_be_estimated() -> None:
    page = dk.coverage(Packed).to_html()
    assert "what costs most first (estimated from the sample calls, of which none was made)" in page
    assert re.search(r'class="cost">\d+ calls? dense<', page)
    assert "What to write next for Packed" in page
    assert "@dk.implements(dk." in page


@pytest.mark.skipif(sys.gettrace() is not None, reason="another tool traces lines")
def test_lines_of_rules_that_no_sample_call_came_to_are_marked() -> None:
    data = data_of(dk.coverage(Packed, samples=[packed()]).to_html())
    (cell,) = [cell for cell in data["cells"] if cell["title"] == "dispatchkit.exp of Packed"]
    (place,) = cell["rules"]
    lines = {text.strip(): (state, words) for _, text, state, words in data["sources"][place]}
    assert lines["def raised(x: Packed, /) -> Packed:"] == ("", "")
    assert lines["if x.shape == ():"] == ("partly", "in the sample calls it is never true")
    assert lines["return Packed(dk.exp(x.values))"] == ("run", "")
    assert lines["return x"] == ("missed", "no sample call came to this line")
    numbers = [number for number, *_ in data["sources"][place]]
    assert numbers[0] == int(place.rpartition(":")[2])


def test_without_samples_no_line_is_said_to_be_missed() -> None:
    data = data_of(dk.coverage(Packed).to_html())
    assert {state for source in data["sources"].values() for _, _, state, _ in source} == {""}


def test_the_matrix_of_an_audit_shows_rules_beside_what_most_calls_come_to() -> None:
    dk.implements(dk.multiply, Packed, Packed)(lambda x1, x2, /: x1)
    page = dk.audit([Packed, dk.Tensor]).to_html()
    (first,) = re.findall(r'<tr><th scope="row">Packed</th>(.*?)</tr>', page)
    assert re.search(r'<span title="rule"><i class="o b-rule">N</i>1</span> .*<span title="dense">', first)
    assert "<details open><summary>asymmetry" in page or "findings: none" in page


def test_no_heading_stands_on_end_on_a_narrow_screen() -> None:
    narrow = read_text("dispatchkit.report", "page.css").partition("@media (max-width: 40rem)")[2]
    assert "writing-mode: vertical" not in narrow
    assert "rotate" not in narrow


def test_an_explanation_shows_the_line_of_each_rule() -> None:
    page = dk.explain(dk.exp, packed()).to_html()
    assert '<code class="source">def raised(x: Packed, /) -&gt; Packed:</code>' in page

"""The picture of an audit in a notebook: a cell for each pair, in the colour of how most of its calls end."""

from __future__ import annotations

from pathlib import Path

import pytest

import dispatchkit as dk
from dispatchkit.report import Audit
from dispatchkit.report.auditing.pairs import SHARES
from dispatchkit.report.documents import COLOURS, css_class
from tests.report.audited import REWRAP, handler, make
from tests.report.test_page import parsed


def report_of(*names: str) -> Audit:
    """Return an audit of types with rules here and there."""
    types = [make(name, fallback=REWRAP if place % 2 else None) for place, name in enumerate(names)]
    dk.implements(dk.add, types[0], types[-1])(handler())
    return dk.audit([*types, dk.Tensor])


def test_there_is_a_cell_for_each_pair_with_the_colours_of_how_its_calls_end() -> None:
    report = report_of("Alpha", "Beta", "Gamma")
    text = report._repr_html_()
    table = text[text.index('<table class="shares">') : text.index("</table>")]
    colours = [attributes["class"] for tag, attributes in parsed(f"{table}</table>") if tag == "i"]
    shares = [share for pair in report.pairs for share in SHARES if pair.shares.get(share)]
    assert colours == [f"o {css_class(share)}" for share in shares]
    assert table.count('<div class="bar"') == len(report.pairs) == 16


def test_every_share_that_is_drawn_has_a_colour_for_light_and_dark() -> None:
    assert set(SHARES) <= set(COLOURS)
    report = report_of("Alpha")
    text = report._repr_html_()
    for share in {pair.share for pair in report.pairs}:
        name, colours = css_class(share), COLOURS[share]
        assert text.count(f".{name} {{ --c: {colours.fill};") == 1
        assert text.count(f".{name} {{ --c: {colours.dark_fill};") == 1
    assert "prefers-color-scheme: dark" in text


def test_signs_are_escaped_and_the_findings_are_there() -> None:
    text = report_of("A<&")._repr_html_()
    assert "A&lt;&amp;" in text
    assert not any(tag == "a<&" for tag, _ in parsed(text))
    assert "findings: none" in text


def test_a_file_keeps_the_page(tmp_path: Path) -> None:
    report = report_of("Alpha")
    report.save(tmp_path / "audit.html")
    assert (tmp_path / "audit.html").read_text(encoding="utf-8") == report.to_html()
    with pytest.raises(ValueError, match=r"audit: cannot save as 'audit\.png'; use a name that ends in \.html$"):
        report.save(tmp_path / "audit.png")

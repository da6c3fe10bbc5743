"""The picture of an audit: a cell for each pair with a strip for each way to answer, whose texts fit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import dispatchkit as dk
from dispatchkit.report import Audit
from dispatchkit.report.audit.pairs import SHARES
from dispatchkit.report.documents import COLOURS, css_class
from tests.report.audited import REWRAP, handler, make

SVG = "{http://www.w3.org/2000/svg}"


def report_of(*names: str) -> Audit:
    """Return an audit of types with rules here and there."""
    types = [make(name, fallback=REWRAP if place % 2 else None) for place, name in enumerate(names)]
    dk.implements(dk.add, types[0], types[-1])(handler())
    return dk.audit([*types, dk.Tensor])


def parsed(report: Audit) -> Any:
    return ET.fromstring(report.to_svg())  # noqa: S314  # our own text


def groups(root: Any, css: str) -> list[Any]:
    return [element for element in root.iter(f"{SVG}g") if element.get("class") == css]


def test_there_is_a_cell_for_each_pair_with_the_winner_and_a_strip_for_each_share() -> None:
    report = report_of("Alpha", "Beta", "Gamma")
    cells = groups(parsed(report), "cell")
    assert len(cells) == len(report.pairs) == 16
    for cell, pair in zip(cells, report.pairs, strict=True):
        strips = [path.get("class") for path in cell.iter(f"{SVG}path")]
        assert strips == [css_class(share) for share in pair.shares]
        winner, count = next(iter(pair.winners.items()), ("nobody", len(pair.rows)))
        texts = [text.text for text in cell.iter(f"{SVG}text")]
        assert texts[:2] == [winner, f"{count} of {len(pair.rows)}"]
        title = cell.find(f"{SVG}title").text
        assert title.startswith(f"({pair.left}, {pair.right}): ")
        assert all(f"{count} {share}" in title for share, count in pair.shares.items())


def test_the_legend_has_what_is_drawn_and_no_more() -> None:
    report = report_of("Alpha", "Beta")
    root = parsed(report)
    used = {share for pair in report.pairs for share in pair.shares}
    entries = [entry.find(f"{SVG}text[last()]").text for entry in groups(root, "entry")]
    assert {text.partition(":")[0] for text in entries if ":" in text} == used
    assert "the order of the two decides who answers" in entries


def test_pairs_whose_order_decides_are_marked() -> None:
    report = report_of("Alpha", "Beta")
    cells = groups(parsed(report), "cell")
    marked = [
        (pair.left, pair.right)
        for cell, pair in zip(cells, report.pairs, strict=True)
        if any(text.get("class") == "mark" for text in cell.iter(f"{SVG}text"))
    ]
    assert marked == [("Alpha", "Beta"), ("Beta", "Alpha")]


def test_every_share_that_is_drawn_has_a_colour_for_light_and_dark() -> None:
    assert set(SHARES) <= set(COLOURS)
    report = report_of("Alpha")
    text = report.to_svg()
    for share in {share for pair in report.pairs for share in pair.shares}:
        name, colours = css_class(share), COLOURS[share]
        assert text.count(f".{name} {{ --c: {colours.fill};") == 1
        assert text.count(f".{name} {{ --c: {colours.dark_fill};") == 1
    assert "prefers-color-scheme: dark" in text


def test_twelve_types_fit() -> None:
    report = report_of(*(f"QuiteLongTypeName{place}" for place in range(11)))
    root = parsed(report)
    width, height = float(root.get("width")), float(root.get("height"))
    assert width < 2200
    assert len(groups(root, "cell")) == 144
    for rect in root.iter(f"{SVG}rect"):
        assert float(rect.get("x", 0)) + float(rect.get("width")) <= width
        assert float(rect.get("y", 0)) + float(rect.get("height")) <= height


def test_strips_fill_their_cell() -> None:
    report = report_of("Alpha", "Beta")
    for cell in groups(parsed(report), "cell"):
        frame = cell.find(f"{SVG}rect")
        ends = [float(re.match(r"M([\d.]+)", path.get("d"))[1]) for path in cell.iter(f"{SVG}path")]  # type: ignore[index]  # there is one
        assert ends == sorted(ends)
        assert all(float(frame.get("x")) <= end <= float(frame.get("x")) + float(frame.get("width")) for end in ends)


def test_long_names_are_cut_and_signs_escaped() -> None:
    report = report_of("A<&" + "x" * 60)
    texts = [text.text for text in parsed(report).iter(f"{SVG}text")]
    assert any(text.startswith("A<&x") and text.endswith("…") for text in texts)


def test_a_notebook_shows_it_and_a_file_keeps_it(tmp_path: Path) -> None:
    report = report_of("Alpha")
    assert report._repr_svg_() == report.to_svg()
    report.save(tmp_path / "audit.svg")
    assert (tmp_path / "audit.svg").read_text(encoding="utf-8") == report.to_svg()
    with pytest.raises(
        ValueError, match=r"audit: cannot save as 'audit\.png'; use a name that ends in \.svg or \.html"
    ):
        report.save(tmp_path / "audit.png")


def test_the_picture_of_the_documentation_is_what_its_code_draws() -> None:
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "auditing-types.md").read_text(encoding="utf-8")
    code = re.search(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert code is not None
    names: dict[str, Any] = {"__name__": "auditing"}
    exec(compile(code[1], "auditing-types.md", "exec"), names)  # noqa: S102  # the page's own code
    assert "](audit.svg)" in page
    assert names["report"].to_svg() == (docs / "audit.svg").read_text(encoding="utf-8")

"""The HTML page: complete, escaped, alone, and alive in a browser."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from dispatchkit.protocol.outcome import REFUSED
from dispatchkit.report import Coverage, CoverageSet, MeasuredCoverage, MeasuredRow, Row
from dispatchkit.report.auditing.pairs import SHARES
from dispatchkit.report.covering import columns
from dispatchkit.report.covering.page import page
from dispatchkit.report.documents import COLOURS
from dispatchkit.report.outcomes import HUES, OUTCOMES, SHOWN, SPARE
from tests.report.reports import coverage_of, coverage_of_all
from tests.report.subjects import Dense, Refuses
from tests.waiting import PATIENCE

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
EVIL = "</script><img src=x onerror=alert(1)>&\"'"
VOID = {"meta", "input", "img", "br"}


class Elements(HTMLParser):
    """Collects elements, and checks that they are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(text: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Elements()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser.found


def rows_with(*buckets: str) -> tuple[MeasuredRow, ...]:
    """Return a row for each bucket, named after it."""
    return tuple(
        MeasuredRow(bucket.replace(" ", "_"), "dispatchkit", "elementwise" if i % 2 else "reduction", bucket, calls=1)
        for i, bucket in enumerate(buckets)
    )


def test_there_is_a_cell_for_each_type_and_function() -> None:
    reports = coverage_of_all(Dense, Refuses)
    found = parsed(reports.to_html())
    cells = [attributes for tag, attributes in found if tag == "button" and "data-cell" in attributes]
    assert len(cells) == sum(len(report.rows) for report in reports)
    names = [attributes["data-name"] for tag, attributes in found if tag == "tr" and "data-name" in attributes]
    assert sorted(names) == sorted(row.qualified_name.lower() for row in reports[0].rows)  # type: ignore[type-var]


def test_it_needs_nothing_else() -> None:
    text = coverage_of(Dense).to_html()
    assert not any({"src", "href"} & set(attributes) for _, attributes in parsed(text))
    assert not re.search(r"https?:|@import|url\(", text)
    assert "{{" not in text


def test_texts_are_escaped() -> None:
    row = MeasuredRow(EVIL, EVIL, EVIL, "raises", EVIL, EVIL, 1, {"raises": 1}, problem=EVIL)
    text = page([MeasuredCoverage(EVIL, (row,), (EVIL,))])
    found = parsed(text)
    assert not any(tag == "img" for tag, _ in found)
    assert [tag for tag, _ in found].count("script") == 2
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    assert ["problem", EVIL] in json.loads(data[1])["cells"][0]["lines"]


def test_a_function_that_one_type_lacks_has_an_empty_cell() -> None:
    first = Coverage("A", (Row("exp", "dispatchkit", "elementwise", "dense"),))
    second = Coverage("B", (Row("log", "dispatchkit", "elementwise", "dense"),))
    assert CoverageSet((first, second)).to_html().count("<td></td>") == 2


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(scheme: str) -> None:
    blocks = re.findall(r":root \{(.*?)\n *\}", page([Coverage("A", ())]), re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#\w{6})", blocks[scheme == "dark"]))
    for one in OUTCOMES:
        fill = one.colours.dark_fill if scheme == "dark" else one.colours.fill
        assert fill == "transparent" or contrast(colours["text"], fill) >= 4.5, (scheme, one.outcome.meaning)
    pairs = [("text", "page"), ("text", "card"), ("soft", "page"), ("soft", "card")]
    for text, ground in pairs:
        assert contrast(colours[text], colours[ground]) >= 4.5, (scheme, text, ground)


PROBE = """
<script>
const out = {}, visible = () => [...document.querySelectorAll("tr[data-name]")].filter(r => !r.hidden).length;
const sent = key => new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true});
const press = key => document.activeElement.dispatchEvent(sent(key));
const type = text => { search.value = text; search.dispatchEvent(new Event("input")); };
out.all = visible();
type("WRONG val"); out.found = visible(); out.count = count.textContent; type("");
kind.value = "reduction"; kind.dispatchEvent(new Event("change")); out.kind = visible();
kind.value = ""; kind.dispatchEvent(new Event("change"));
const chip = [...document.querySelectorAll(".chip")].find(c => c.dataset.bucket === "native");
chip.click(); out.off = visible(); out.pressed = chip.getAttribute("aria-pressed"); chip.click();
out.stops = document.querySelectorAll('.cell[tabindex="0"]').length;
const cells = [...document.querySelectorAll(".cell")];
cells[0].focus(); press("ArrowRight"); out.right = cells.indexOf(document.activeElement);
press("ArrowDown"); out.down = cells.indexOf(document.activeElement);
press("End"); out.end = cells.indexOf(document.activeElement); press("Home");
out.home = cells.indexOf(document.activeElement);
out.focused = document.querySelectorAll('.cell[tabindex="0"]').length;
document.activeElement.click(); out.open = dialog.open; out.details = dialog.innerText;
dialog.close(); out.back = cells.indexOf(document.activeElement);
document.body.dispatchEvent(sent("/"));
out.slash = document.activeElement.id;
out.overflow = document.documentElement.scrollWidth > innerWidth;
out.small = [...document.querySelectorAll("button, input, select")].filter(e => e.getClientRects().length)
  .filter(e => e.getBoundingClientRect().height < 24).length;
document.title = JSON.stringify(out);
</script>
"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium")
def test_it_lives_in_a_browser(tmp_path: Path) -> None:
    buckets = ["native", "dense", "refused", "raises", "wrong value", "wrong gradient", "no array argument"]
    reports = [MeasuredCoverage(name, rows_with(*buckets), (name,)) for name in ("First", "Second")]
    path = tmp_path / "page.html"
    path.write_text(page(reports).replace("</body>", PROBE + "</body>"), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command = [str(BROWSER), *options, "--window-size=500,900", "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, check=True, encoding="utf-8", timeout=PATIENCE)
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert title is not None
    found: dict[str, Any] = json.loads(title[1])
    assert found.pop("details").startswith("dispatchkit.native of Second")
    assert found == {
        "all": 7,
        "found": 1,
        "count": "1 of 7 functions",
        "kind": 4,
        "off": 6,
        "pressed": "false",
        "stops": 1,
        "right": 1,
        "down": 3,
        "end": 13,
        "home": 1,
        "focused": 1,
        "open": True,
        "back": 1,
        "slash": "search",
        "overflow": False,
        "small": 0,
    }


LAYOUT = """
<script>
const box = css => document.querySelector(css).getBoundingClientRect();
document.title = JSON.stringify({
  first: box(".scroll").top < box(".types").top, width: Math.round(box("table").width),
  across: document.querySelector(".scroll").scrollWidth <= box(".scroll").width,
  whole: [...document.querySelectorAll(".card b")].every(b => b.getClientRects().length === 1),
  letters: getComputedStyle(document.querySelector(".cell b")).display !== "none",
});
</script>
"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium")
@pytest.mark.parametrize(("count", "width"), [(1, 1280), (8, 1920), (30, 1280), (30, 1920)])
def test_of_many_types_the_heat_map_comes_first_and_is_as_wide_as_the_window(
    count: int, width: int, tmp_path: Path
) -> None:
    rows = (*rows_with("implemented", *["dense"] * 40), Row("open", "dispatchkit", "elementwise", "by kind", calls=9))
    reports = [Coverage(f"Type{place:02}OfMany", rows) for place in range(count)]
    path = tmp_path / "page.html"
    path.write_text(page(reports).replace("</body>", LAYOUT + "</body>"), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command = [str(BROWSER), *options, f"--window-size={width},900", "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, check=True, encoding="utf-8", timeout=PATIENCE)
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert title is not None
    found: dict[str, Any] = json.loads(title[1])
    assert found.pop("width") > (width - 100 if count > 1 else 1000)
    assert found == {"first": count > 1, "across": True, "whole": True, "letters": count == 30}


def lab(colour: str) -> list[float]:
    """Return lightness and the two opponent axes of CIELAB, in which equal distances look alike."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    x, y = 0.4339 * r + 0.3762 * g + 0.1899 * b, 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = 0.0178 * r + 0.1095 * g + 0.8727 * b
    fx, fy, fz = (value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in (x, y, z))
    return [116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colours_of_buckets_can_be_told_apart(scheme: str) -> None:
    kept = [one for one in OUTCOMES if one.bucket and one.counted]
    fills = {one.bucket: one.colours.dark_fill if scheme == "dark" else one.colours.fill for one in kept}
    free = [name for name in SPARE if HUES[name] not in {one.colours for one in kept}]
    fills |= {name: HUES[name].dark_fill if scheme == "dark" else HUES[name].fill for name in free}
    ours = {one.bucket: "a fault" if one.outcome.fault else one.bucket for one in kept}
    ours |= {name: name for name in free}
    near = [
        (first, second)
        for first, second in combinations(fills, 2)
        if ours[first] != ours[second] and math.dist(lab(fills[first]), lab(fills[second])) < 13
    ]
    assert near == []


def test_what_is_refused_and_what_raises_have_one_colour_each_in_all_reports() -> None:
    refused, raised = SHOWN[REFUSED], COLOURS["raises"]
    assert COLOURS[refused.how] is COLOURS[refused.share] is COLOURS[refused.bucket] is refused.colours
    assert COLOURS["ambiguous"] is COLOURS["wrong value"] is raised is not refused.colours
    assert "raises" not in SHARES
    assert list(dict.fromkeys(SHARES))[-1] == refused.share == "refused"


def test_a_column_that_is_added_stands_in_every_form_of_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def longest(row: Row) -> str:
        return f"{len(row.function)} letters"

    added = columns.Column("function", "letters of it", longest, longest)
    monkeypatch.setattr(columns, "COLUMNS", (*columns.COLUMNS, added))
    report = Coverage("A", rows_with("implemented"))
    words = f"{len(report.rows[0].function)} letters"
    assert words in str(report)
    assert words in report.to_markdown()
    assert words in page([report])
    assert "letters of it" in page([report])

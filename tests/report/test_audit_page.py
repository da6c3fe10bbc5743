"""The page of an audit: cells that open to their calls, groups of types that are alike, filters; small, and alone."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.report.audit.page import alike
from tests.report.audited import REWRAP, handler, make
from tests.report.test_page import BROWSER, parsed


def many(count: int) -> list[Any]:
    """Return types of three sorts, the first with a rule."""
    sorts = (dk.fallback.decompose | dk.fallback.dense, REWRAP, dk.fallback.dense)
    types = [make(f"T{place}", fallback=sorts[place % 3]) for place in range(count)]
    dk.implements(dk.add, types[0], types[0])(handler())
    return types


def data_of(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_the_page_holds_every_call_of_every_pair() -> None:
    report = dk.audit([*many(4), dk.Tensor])
    data = data_of(report.to_html())
    assert data["types"] == list(report.types)
    for pair, packed in zip(report.pairs, data["pairs"], strict=True):
        answers = [number for number, count in zip(packed[::2], packed[1::2], strict=True) for _ in range(count)]
        shown = [data["answers"][number] for number in answers]
        assert [(data["shares"][share], winner, text) for share, winner, text in shown] == [
            (row.share, row.winner, row.answer) for row in pair.rows
        ]


def test_types_that_are_answered_alike_are_one_group() -> None:
    report = dk.audit(many(7))
    groups = [{report.types[place] for place in group} for group in alike(report.types, report.pairs)]
    assert sorted(map(sorted, groups)) == [["T0"], ["T1", "T4"], ["T2", "T5"], ["T3", "T6"]]


def test_it_needs_nothing_else_and_escapes_texts() -> None:
    evil = make("<img src=x>", fallback=dk.fallback.dense)
    text = dk.audit([evil, *many(2)]).to_html()
    found = parsed(text)
    assert not any(tag == "img" for tag, _ in found)
    assert not any({"src", "href"} & set(attributes) for _, attributes in found)
    assert not re.search(r"https?:|@import|url\(", text)
    assert "{{" not in text


def test_a_page_of_many_types_is_small() -> None:
    assert len(dk.audit(many(12)).to_html()) < 500_000


PROBE = """
<script>
const out = {}, cells = () => [...document.querySelectorAll(".pair")];
out.grouped = cells().length;
out.label = cells()[0].querySelector("b").textContent;
byId("group").click(); out.all = cells().length;
byId("types").value = "T1 T2"; byId("types").dispatchEvent(new Event("input")); out.filtered = cells().length;
byId("types").value = ""; byId("types").dispatchEvent(new Event("input"));
byId("search").value = "add"; byId("search").dispatchEvent(new Event("input"));
out.strips = cells()[0].querySelectorAll("span").length; out.count = byId("count").textContent;
document.querySelector('[data-pair="0"]').click(); out.open = dialog.open;
out.title = byId("details-title").textContent;
out.calls = byId("calls").textContent; dialog.close();
byId("search").value = ""; byId("search").dispatchEvent(new Event("input"));
chips.forEach(chip => chip.click()); out.off = cells().filter(c => c.classList.contains("off")).length;
cells()[0].focus();
cells()[0].dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowDown", bubbles: true, cancelable: true}));
out.down = cells().indexOf(document.activeElement);
out.overflow = document.documentElement.scrollWidth > innerWidth;
document.title = JSON.stringify(out);
</script>
"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium")
def test_it_lives_in_a_browser(tmp_path: Path) -> None:
    path = tmp_path / "audit.html"
    path.write_text(dk.audit(many(7)).to_html().replace("</body>", PROBE + "</body>"), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command = [str(BROWSER), *options, "--window-size=500,900", "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, check=True, encoding="utf-8", timeout=100)
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert title is not None
    found: dict[str, Any] = json.loads(title[1])
    assert "rule 1 calls won by T0: handler(T0, T0) at " in found.pop("calls")
    assert found == {
        "grouped": 16,
        "label": "2w",
        "all": 49,
        "filtered": 4,
        "strips": 1,
        "count": "7 rows for 7 of 7 types, add alone",
        "open": True,
        "title": "(T0, T0)",
        "off": 49,
        "down": 7,
        "overflow": False,
    }

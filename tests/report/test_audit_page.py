"""The page of an audit: pairs that open to their calls, those that are answered alike together; small, and alone."""

from __future__ import annotations

import html
import re
from typing import Any

import dispatchkit as dk
from tests.declared import LIBRARY
from tests.report.audited import REWRAP, handler, make
from tests.report.test_page import parsed

# Some functions of every sort, and the one that has a rule.
FEW: list[Any] = [*LIBRARY[::6], dk.add]


def many(count: int) -> list[Any]:
    """Return types of three sorts, the first with a rule."""
    sorts = (dk.fallback.decompose | dk.fallback.dense, REWRAP, dk.fallback.dense)
    types = [make(f"T{place}", fallback=sorts[place % 3]) for place in range(count)]
    dk.implements(dk.add, types[0], types[0])(handler())
    return types


def opened(text: str) -> list[tuple[str, list[list[str]]]]:
    """Return what opens to the calls of pairs: the pairs, and the cells of each line."""
    found = re.findall(r"<details><summary>calls of (.*?)</summary><table>.*?<tbody>(.*?)</tbody>", text)
    cells = [
        [re.findall(r"<td[^>]*>(.*?)</td>", line) for line in re.findall(r"<tr>(.*?)</tr>", body)] for _, body in found
    ]
    return list(zip((pairs for pairs, _ in found), cells, strict=True))


def test_the_page_holds_every_call_of_every_pair() -> None:
    report = dk.audit([*many(4), dk.Tensor])
    shown = opened(report.to_html())
    assert sum(f"({pair.left}, {pair.right})" in pairs for pairs, _ in shown for pair in report.pairs) == 25
    for pair in report.pairs:
        ((_, lines),) = [entry for entry in shown if f"({pair.left}, {pair.right})" in entry[0]]
        for row in pair.rows:
            seats = {pair.right: "the second"} | {pair.left: "the first"}
            line = [row.share, seats.get(row.winner, row.winner), html.escape(row.answer)]
            (functions,) = [cells[3] for cells in lines if cells[:3] == line]
            assert row.operation.removeprefix("dispatchkit.") in functions.split(", ")


def test_pairs_that_are_answered_alike_open_together_so_that_the_page_of_many_types_is_small() -> None:
    report = dk.audit(many(12), operations=FEW)
    page = report.to_html()
    assert len(page) < 125_000
    pairs = [pairs for pairs, _ in opened(page)]
    assert "(T0, T0)" in pairs
    assert "(T0, T1), (T0, T4), (T0, T7), (T0, T10)" in pairs
    assert len(pairs) < len(report.pairs)


def test_it_needs_nothing_else_and_escapes_texts() -> None:
    evil = make("<img src=x>", fallback=dk.fallback.dense)
    text = dk.audit([evil, *many(2)]).to_html()
    found = parsed(text)
    assert not any(tag == "img" for tag, _ in found)
    assert not any({"src", "href"} & set(attributes) for _, attributes in found)
    assert not re.search(r"https?:|@import|url\(", text)
    assert "{{" not in text

"""The first example of the page on types uses what its list of ideas names, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2].joinpath("docs", "defining-types.md").read_text(encoding="utf-8")
LIST = PAGE.partition("## Twelve ideas\n")[2].partition("\n## ")[0]
EXAMPLE = PAGE.partition("## A good type\n")[2].partition("\nWithout `fallback=` a type")[0]
IDEAS = [row.split("`")[1] for row in LIST.splitlines() if row.startswith("| ") and "`" in row]
# What makes and adds plain arrays, which the reader of this page knows.
ARRAYS = {"asarray", "diag", "ones", "Tensor", "sum", "add", "multiply"}


def code_of(text: str) -> str:
    return "\n".join(re.findall(r"^```(?:python|pycon)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


def test_there_are_twelve_ideas_at_most() -> None:
    assert 10 <= len(IDEAS) <= 12


def test_the_first_example_uses_each_idea() -> None:
    code = code_of(EXAMPLE)
    for idea in IDEAS:
        for word in re.findall(r"dk\.\w[\w.]*|commutative=True|fallback=|to_dense|\.d = |shape =|: float", idea):
            assert word in code, idea


def test_the_first_example_uses_nothing_that_is_not_on_the_list() -> None:
    used = set(re.findall(r"\bdk\.(\w+)", code_of(EXAMPLE)))
    named = set(re.findall(r"\bdk\.(\w+)", " ".join(IDEAS)))
    assert used - ARRAYS <= named
    assert set(re.findall(r"\bdk\.fallback\.(\w+)", code_of(EXAMPLE))) == {"dense"}


def test_the_page_does_not_begin_with_what_few_types_need() -> None:
    words = PAGE.lower()
    assert not [word for word in ("redispatch", "dk.converts", "fallback.convert", "levels") if word in words]

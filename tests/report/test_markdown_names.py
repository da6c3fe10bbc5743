"""Names of any sort stand in Markdown as they are, and begin nothing there."""

from __future__ import annotations

import re
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.report.documents import markdown_code, markdown_text

NAME = '<script>a|b`c"d&lt;e\nf'


@pytest.mark.parametrize("report", [dk.coverage, dk.audit])
def test_a_hostile_name_begins_no_element_row_or_line(report: Any) -> None:
    with dk.local_registrations():
        hostile: Any = type(NAME, (), {"to_dense": lambda self: dk.ones(2)})
        dk.array_type(fallback=dk.fallback.dense)(hostile)
        lines = report(hostile).to_markdown().splitlines()
    assert sum("script" in line for line in lines) > 0
    for line in lines:
        bare = re.sub(r"``.*?``|\\.", "", line)
        assert "<script" not in bare
        assert "&lt;" not in bare
        assert not line.startswith("f")
    tables = [line for line in lines if line.startswith("|")]
    columns = {len(re.sub(r"\\\|", "", line).split("|")) for line in tables if "script" in line}
    assert len(columns) <= 2


def test_text_and_code_in_markdown() -> None:
    assert markdown_text("a <b> & &lt; `c`\nd") == "a \\<b> & \\&lt; \\`c\\` d"
    assert markdown_code("a\nb") == "`a b`"

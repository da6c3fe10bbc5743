"""The list of differences from PyTorch that are meant: an entry covers what it says, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.programs.fuzz.as_torch.calls import Array, Call
from tests.programs.fuzz.as_torch.listed import Entry, read


@dataclass(frozen=True)
class Found:
    """A difference, as `comparing` finds it."""

    call: Call
    sort: str
    text: str


def refusal(text: str, *shape: int) -> Any:
    """Return the refusal of a call of an array of a shape."""
    return Found(Call("matmul", "function", (Array(np.zeros(shape)),)), "refused here", text)


@pytest.mark.parametrize(("shape", "covered"), [((0, 3), True), ((2, 3), False)])
def test_an_entry_about_nothing_covers_arrays_without_elements(shape: tuple[int, ...], covered: bool) -> None:
    entry = Entry(("refused here",), ("*",), "why", texts=("*not implemented for *",), empty=True)
    assert entry.covers(refusal("\"matmul\" not implemented for 'Bool'", *shape)) is covered


def test_entries_say_why_and_about_what() -> None:
    for entry in read():
        assert entry.reason.strip(), entry
        assert entry.paths, entry
        if entry.paths == ("*",):
            assert entry.texts != ("*",), entry

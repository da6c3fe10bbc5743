"""Arguments and results that are changed in place before gradients are taken, beside PyTorch."""

from __future__ import annotations

import pytest

from dispatchkit.as_torch.spelling import FUNCTIONS
from tests.programs.fuzz.as_torch.listed import entry_for

PARTS = 8  # of the functions, that no test takes long
CALLS = 2  # of each function


@pytest.mark.parametrize("part", range(PARTS))
def test_a_change_gives_the_gradient_of_pytorch_or_the_right_one_or_is_refused(part: int) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("expecttest")
    from tests.programs.fuzz.as_torch.changes import differing_changes

    found = [each for each in differing_changes([*FUNCTIONS][part::PARTS], CALLS) if entry_for(each) is None]
    assert not found

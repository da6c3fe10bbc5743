"""One vocabulary for how calls are answered: what a fallback strategy says of itself is all that reports know of it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import dispatchkit as dk
from dispatchkit.protocol.fallbacks import STRATEGIES, FallbackStrategy
from dispatchkit.report.auditing.pairs import SHARES
from dispatchkit.report.covering.rows import BUCKETS, MEASURED
from dispatchkit.report.documents import COLOURS
from dispatchkit.report.outcomes import OUTCOMES, SHOWN
from dispatchkit.report.record.call import HOWS

# Those of all types; a type may have one of its own, as sparse matrices in PyTorch's spelling do.
ANSWERING = [
    cls
    for cls in FallbackStrategy.__subclasses__()
    if cls.name != "refuse" and cls.__module__.startswith("dispatchkit.protocol.")
]


def test_no_two_outcomes_share_a_letter_or_a_name_in_records() -> None:
    letters = [one.letter for one in OUTCOMES if one.letter != " "]
    assert len(set(letters)) == len(letters)
    hows = [one.how for one in OUTCOMES if one.how]
    assert len(set(hows)) == len(hows)


PROGRAM = """
from dispatchkit.protocol.fallbacks import FallbackStrategy
from dispatchkit.protocol.outcome import Outcome

class Zeros(FallbackStrategy):
    name = "zeros"
    outcome = Outcome("zeros", "by zeros of its shape")

from dispatchkit.report.auditing.pairs import SHARES
from dispatchkit.report.covering.rows import BUCKETS, rank
from dispatchkit.report.outcomes import OUTCOMES, SHOWN
from dispatchkit.report.record.call import HOWS

print(BUCKETS["zeros"], SHARES["zeros"], HOWS["zeros"], sep=", ")
letters = [one.letter for one in OUTCOMES]
print(rank("dense") < rank("zeros") < rank("refused"), letters.count(SHOWN[Zeros.outcome].letter))
fills = [one.colours for one in OUTCOMES if one.bucket and one.counted]
print(fills.count(SHOWN[Zeros.outcome].colours))
"""


def test_reports_show_a_further_strategy_by_its_name_with_a_letter_and_a_colour_of_its_own() -> None:
    told = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    means, letter, colour = told.splitlines()
    assert means == "by zeros of its shape, by zeros of its shape, by zeros of its shape"
    assert (letter, colour) == ("True 1", "1")


@pytest.mark.parametrize("cls", ANSWERING, ids=lambda cls: cls.name)
def test_reports_know_each_strategy_by_what_it_says_of_itself(cls: type[FallbackStrategy]) -> None:
    outcome, shown = cls.outcome, SHOWN[cls.outcome]
    assert BUCKETS[shown.bucket] == MEASURED[shown.bucket] == outcome.meaning
    assert SHARES[shown.share] == HOWS[shown.how] == outcome.meaning
    assert shown.how == outcome.name == cls.name
    assert COLOURS[shown.share] is COLOURS[shown.how] is COLOURS[shown.bucket] is shown.colours
    assert repr(getattr(dk.fallback, cls.name)) == f"fallback.{cls.name}"


def test_no_other_module_lists_the_strategies() -> None:
    root = Path(dk.__file__).parent
    listing = re.compile("|".join(f'"{name}"' for name in STRATEGIES))
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if path.parent.name != "fallbacks" and len(set(listing.findall(path.read_text(encoding="utf-8")))) > 1
    }
    # Reports colour those that they know.
    assert found == {"report/outcomes.py"}

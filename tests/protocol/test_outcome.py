"""One vocabulary for how calls are answered: what a fallback strategy says of itself is all that reports know of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.protocol.fallbacks import STRATEGIES, FallbackStrategy
from dispatchkit.protocol.outcome import OUTCOMES, PALE, Outcome
from dispatchkit.report.audit.pairs import SHARES
from dispatchkit.report.coverage.rows import BUCKETS, MEASURED
from dispatchkit.report.documents import COLOURS
from dispatchkit.report.record.call import HOWS

ANSWERING = [cls for cls in FallbackStrategy.__subclasses__() if cls.name != "refuse"]


def test_outcomes_stand_in_order_and_no_two_share_a_name() -> None:
    assert [one.order for one in OUTCOMES] == sorted({one.order for one in OUTCOMES})
    hows = [one.how for one in OUTCOMES if one.how]
    assert len(set(hows)) == len(hows)


@pytest.mark.parametrize(
    ("taken", "message"), [({"order": 100}, "order 100"), ({"order": 99, "letter": "d"}, "letter 'd'")]
)
def test_an_order_or_a_letter_that_is_taken_is_refused_and_nothing_is_added(taken: Any, message: str) -> None:
    before = list(OUTCOMES)
    with pytest.raises(ValueError, match=f"{message} belongs to the outcome 'by becoming dense': choose another one"):
        Outcome(meaning="another", colours=PALE, **taken)
    assert before == OUTCOMES


@pytest.mark.parametrize("cls", ANSWERING, ids=lambda cls: cls.name)
def test_reports_know_each_strategy_by_what_it_says_of_itself(cls: type[FallbackStrategy]) -> None:
    outcome = cls.outcome
    assert BUCKETS[outcome.bucket] == MEASURED[outcome.bucket] == outcome.meaning
    assert SHARES[outcome.share] == HOWS[outcome.how] == outcome.meaning
    assert COLOURS[outcome.share] is COLOURS[outcome.how] is COLOURS[outcome.bucket] is outcome.colours
    assert repr(getattr(dk.fallback, cls.name)) == f"fallback.{cls.name}"


def test_no_other_module_lists_the_strategies() -> None:
    root = Path(dk.__file__).parent
    listing = re.compile("|".join(f'"{name}"' for name in STRATEGIES))
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if path.parent.name != "fallbacks" and len(set(listing.findall(path.read_text(encoding="utf-8")))) > 1
    }
    assert not found

"""What a quick run leaves to `nox -s long`: of cases that cost much each, and look at the same code, all but some.

The choice is the same in every run, so that a failure seen by CI is seen on a laptop.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

__all__ = ["LONG", "some_of"]

Case = TypeVar("Case")

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"


def some_of(cases: Iterable[Case], parts: int, place: int = 0) -> list[Case]:
    """Return one of so many equal parts of the cases, counted from `place` around; all of them in a long run."""
    listed = list(cases)
    return listed if LONG else listed[place % parts :: parts]

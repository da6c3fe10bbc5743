"""Whether calls of compiled code let go what they take."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from typing import Any

TIMES = 200


def are_let_go(call: Callable[[], Any], watched: Sequence[Any]) -> bool:
    """Return whether a call keeps no further reference to some objects, however often it is made.

    What is kept once, as by a cache, does not count.
    """
    call()
    gc.collect()
    before = [sys.getrefcount(each) for each in watched]
    for _ in range(TIMES):
        call()
    gc.collect()
    after = [sys.getrefcount(each) for each in watched]
    return all(later - earlier < TIMES // 2 for earlier, later in zip(before, after, strict=True))

"""The rows of an explanation, one for each that is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dispatchkit.protocol.outcome import PLAIN
from dispatchkit.protocol.prediction import Prediction


@dataclass(frozen=True, slots=True)
class Line:
    """One row of an explanation.

    Attributes
    ----------
    who : name of the type or mode that is asked
    what : the answer it has, or why it has none
    verdict : ``"answers"``, ``"answers unless it declines"``, ``"declines: ..."``, ``"depends on values: ..."``,
        ``"decides at run time"``, ``"if declined"``, ``"passed over: ..."``, ``"raises"``, ``""``; of a call that was
        made ``"answered"``, ``"declined"``, ``"raised ..."``
    inner : predictions of the calls that the answer makes, as far as they were followed
    """

    who: str
    what: str
    verdict: str
    inner: tuple[Prediction, ...] = ()

    def calls(self) -> Iterator[tuple[int, str]]:
        """Yield depth and text of the calls that the answer makes; those on plain arrays alone are left out."""
        yield from _inner_lines(self.inner, 1)


def _inner_lines(calls: tuple[Prediction, ...], depth: int) -> Iterator[tuple[int, str]]:
    for call in calls:
        if call.outcome is PLAIN:
            continue
        by = "nobody answers"
        if call.by is not None:
            by = f"{call.by.who}: {call.by.what}"
        yield depth, f"{call.call}: {by}"
        for asked in call.asked:
            if asked is call.by or call.by is None:
                yield from _inner_lines(asked.inner, depth + 1)

"""Run many calls of a pair, and count what came of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from .comparing import SORTS, Case, Verdict, compare, draw_case
from .listed import Difference, read
from .pair import Pair

__all__ = ["Found", "Report", "run"]


@dataclass(frozen=True)
class Found:
    """A call and in what its two sides differ."""

    case: Case
    verdict: Verdict


@dataclass
class Report:
    """What came of the calls of a pair.

    Attributes
    ----------
    pair : which
    counts : of calls by what came of them; of differences by sort, listed ones too
    listed : differences that the list names, by its entries, in their order
    unlisted : the others
    lines : of calls that both sides answered alike, by the line that they were drawn from
    """

    pair: Pair
    counts: Counter[str] = field(default_factory=Counter)
    listed: dict[Difference, list[Found]] = field(default_factory=dict)
    unlisted: list[Found] = field(default_factory=list)
    lines: Counter[str] = field(default_factory=Counter)

    def summary(self) -> str:
        """Return the counts in a line."""
        total = sum(self.counts.values())
        parts = [f"{total} calls", f"{self.counts['agree']} agree", f"{self.counts['refused by both']} refused by both"]
        parts += [f"{self.counts[sort]} {sort}" for sort in SORTS if self.counts[sort]]
        return f"{self.pair.name}: {', '.join(parts)}; {len(self.unlisted)} not listed"


def run(pair: Pair, seeds: Iterable[int]) -> Report:
    """Run a call for each seed, and return what came of them."""
    lines = tuple(pair.lines())
    report = Report(pair, listed={difference: [] for difference in read(pair.name)})
    for seed in seeds:
        case = draw_case(pair, lines, seed)
        if case is not None:
            _enter(report, case, compare(pair, case))
    return report


def _enter(report: Report, case: Case, verdict: Verdict) -> None:
    report.counts[verdict.sort] += 1
    if verdict.sort == "agree":
        report.lines[case.template] += 1
    if verdict.sort not in SORTS:
        return
    for difference, found in report.listed.items():
        if difference.covers(report.pair, case, verdict):
            found.append(Found(case, verdict))
            return
    report.unlisted.append(Found(case, verdict))

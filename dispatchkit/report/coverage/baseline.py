"""A report beside an earlier one: what got worse, and what is new."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dispatchkit.report.coverage.rows import rank, short_name

if TYPE_CHECKING:
    from dispatchkit.report.coverage.coverage import Coverage

__all__ = ["Comparison", "compare", "read_baseline"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed of one type since a baseline.

    Attributes
    ----------
    type : its name
    worse : functions with their buckets then and now
    new : functions that the baseline does not have, with their buckets
    gone : functions that are no longer there
    """

    type: str
    worse: tuple[tuple[str, str, str], ...]
    new: tuple[tuple[str, str], ...]
    gone: tuple[str, ...]

    def lines(self, baseline: str) -> list[str]:
        """Return what changed, for people to read."""
        found = []
        if self.worse:
            found.append(f"coverage: {_functions(self.worse)} of {self.type} got worse than in {baseline}:")
            found += [f"  {name}: {before} -> {after}" for name, before, after in self.worse]
        if self.new:
            found.append(f"coverage: {_functions(self.new)} new for {self.type} since {baseline}:")
            found += [f"  {name}: {bucket}" for name, bucket in self.new]
        if self.gone:
            found.append(f"coverage: {_functions(self.gone)} of {baseline} no longer there: {', '.join(self.gone)}")
        return found


def _functions(names: Sequence[Any]) -> str:
    return f"{len(names)} function{'' if len(names) == 1 else 's'}"


def read_baseline(text: str) -> dict[str, dict[str, Any]]:
    """Return the reports of a JSON text by type: of one report, or of several.

    Raises
    ------
    ValueError : if it is no JSON, or holds no report
    """
    data = json.loads(text)
    reports = data.get("types", [data]) if isinstance(data, dict) else None
    if not isinstance(reports, list) or not all(isinstance(one, dict) and "functions" in one for one in reports):
        raise ValueError("the baseline holds no coverage report; make one with --json FILE")
    return {one["type"]: one for one in reports}


def compare(reports: Iterable[Coverage], baseline: dict[str, dict[str, Any]]) -> list[Comparison]:
    """Return what changed since a baseline, for each type that it has.

    Raises
    ------
    ValueError : if one was measured and the other was not
    """
    found = []
    for report in reports:
        earlier = baseline.get(report.type)
        if earlier is None:
            continue
        was, is_now = "samples" in earlier, "samples" in report.data()
        if was is not is_now:
            words = {True: "was measured", False: "was not measured"}
            raise ValueError(
                f"the baseline of {report.type} {words[was]}, the report {words[is_now]}: they cannot be compared; "
                f"{'give --samples' if was else 'leave --samples out, or make the baseline with it'}"
            )
        before = {f"{row['namespace']}.{row['function']}": row["bucket"] for row in earlier["functions"]}
        now = {row.qualified_name: row for row in report.rows}
        worse = [
            (short_name(row), before[name], row.bucket)
            for name, row in now.items()
            if name in before and rank(row.bucket) > rank(before[name])
        ]
        new = [(short_name(row), row.bucket) for name, row in now.items() if name not in before]
        gone = [name.partition(".")[2] for name in before if name not in now]
        found.append(Comparison(report.type, tuple(worse), tuple(new), tuple(gone)))
    return found

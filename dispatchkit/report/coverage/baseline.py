"""A report compared with an earlier one: what got worse, and what is new."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dispatchkit.report.coverage.rows import Report, rank

__all__ = ["Comparison", "compare", "read_baseline"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed of one type since a baseline.

    Attributes
    ----------
    type : its name
    worse : functions, each with what got worse: its bucket, its calls, the types of its results, keywords of its rules
    new : functions that the baseline does not have, with their buckets
    gone : functions that are no longer there
    """

    type: str
    worse: tuple[tuple[str, str], ...]
    new: tuple[tuple[str, str], ...]
    gone: tuple[str, ...]

    def lines(self, baseline: str) -> list[str]:
        """Return what changed, for people to read."""
        found = []
        if self.worse:
            count = len({name for name, _ in self.worse})
            found.append(f"coverage: {_functions(count)} of {self.type} got worse than in {baseline}:")
            found += [f"  {name}: {what}" for name, what in self.worse]
        if self.new:
            found.append(f"coverage: {_functions(len(self.new))} new for {self.type} since {baseline}:")
            found += [f"  {name}: {bucket}" for name, bucket in self.new]
        if self.gone:
            listed = ", ".join(self.gone)
            found.append(f"coverage: {_functions(len(self.gone))} of {baseline} no longer there: {listed}")
        return found


def _functions(count: int) -> str:
    return f"{count} function{'' if count == 1 else 's'}"


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


def compare(reports: Iterable[Report], baseline: Mapping[str, dict[str, Any]]) -> list[Comparison]:
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
        data = report.data()
        was, is_now = "samples" in earlier, "samples" in data
        if was is not is_now:
            words = {True: "was measured", False: "was not measured"}
            raise ValueError(
                f"the baseline of {report.type} {words[was]}, the report {words[is_now]}: they cannot be compared; "
                f"{'give --samples' if was else 'leave --samples out, or make the baseline with it'}"
            )
        before, now = ({_name(row): row for row in one["functions"]} for one in (earlier, data))
        worse = [
            (name, text) for name in now if name in before for text in _worse(before[name], now[name], report.type)
        ]
        new = [(name, now[name]["bucket"]) for name in now if name not in before]
        gone = [name for name in before if name not in now]
        found.append(Comparison(report.type, tuple(worse), tuple(new), tuple(gone)))
    return found


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['namespace']}.{row['function']}".partition(".")[2]


def _worse(before: Mapping[str, Any], now: Mapping[str, Any], cls: str) -> Iterator[str]:
    """Yield what got worse of a function: by its bucket, else by single calls, by results and by rules."""
    if rank(now["bucket"]) > rank(before["bucket"]):
        yield f"{before['bucket']} -> {now['bucket']}"
    elif _sinks(before.get("outcomes", {}), now.get("outcomes", {})):
        yield f"{_counts(before['outcomes'])} -> {_counts(now['outcomes'])}"
    results = before.get("results", {}), now.get("results", {})
    kept = [sum(count for name, count in one.items() if cls in name) for one in results]
    if all(results) and kept[1] * sum(results[0].values()) < kept[0] * sum(results[1].values()):
        yield f"results {_counts(results[0])} -> {_counts(results[1])}"
    rules: Sequence[Any] = now.get("rules", ())
    for old in before.get("rules", ()):
        for rule in rules:
            if rule["types"] != old["types"]:
                continue
            lost = [name for name in old["keywords"] if name not in rule["keywords"]]
            if lost:
                yield f"the rule for ({rule['types']}) at {rule['location']} no longer takes {', '.join(lost)}"
            if old["result"] != rule["result"] and cls in old["result"] and cls not in rule["result"]:
                yield f"the rule for ({rule['types']}) at {rule['location']} no longer promises {cls}"


def _sinks(before: Mapping[str, int], now: Mapping[str, int]) -> bool:
    """Return whether a smaller share of the calls ends as well as some bucket, or better."""
    wholes = sum(before.values()), sum(now.values())
    if not all(wholes):
        return False
    shares = [
        [sum(n for bucket, n in one.items() if rank(bucket) <= place) for one in (before, now)]
        for place in map(rank, {*before, *now})
    ]
    return any(then * wholes[1] > today * wholes[0] for then, today in shares)


def _counts(outcomes: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in outcomes.items())

"""The buckets of a coverage report, and its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from dispatchkit.report.documents import Reported
from dispatchkit.report.outcomes import OUTCOMES, UNDECIDED

_NAMED = [one for one in OUTCOMES if one.bucket]
# From the most to the least of what a type can have; the printed tables keep the order.
BUCKETS = {one.bucket: one.outcome.meaning for one in _NAMED if one.before_calls}
# What executing the calls shows, likewise from the best to the worst.
MEASURED = {one.buckets[1]: one.seen or one.outcome.meaning for one in _NAMED if one.after_calls}
# The way a call is answered or fails that stands behind each bucket of either.
OUTCOME_OF = {bucket: one for one in _NAMED for bucket in one.buckets}
STRUCTURED = tuple(bucket for bucket, one in OUTCOME_OF.items() if one.outcome.structured)
FAULTS = tuple(bucket for bucket, one in OUTCOME_OF.items() if one.outcome.fault)
# Functions of which a type cannot be expected, or could not be seen, to answer a call.
UNCOUNTED = tuple(bucket for bucket, one in OUTCOME_OF.items() if not one.counted)


@dataclass(frozen=True, slots=True)
class RuleEntry:
    """A rule that a type has for a function.

    Attributes
    ----------
    types : that it answers for
    location : file and line of the handler
    keywords : the optional arguments of the operation that it takes
    result : what its annotation promises, "" where it has none
    entered : number of the sample calls that come to it
    """

    types: str
    location: str
    keywords: tuple[str, ...] = ()
    result: str = ""
    entered: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One overridable function.

    Attributes
    ----------
    function : its name
    namespace : it stands in
    kind : its family
    bucket : one of `BUCKETS`: how its plainest calls end
    location : file and line of the handler, "" where there is none
    note : what else is to be said
    calls : number of its sample calls
    outcomes : number of calls that end in each bucket, the best first
    rules : all that the type has for it, those for pairs and for its kind, too
    certain : number of calls that keep the structure whether or not a rule that may decline does
    """

    function: str
    namespace: str
    kind: str
    bucket: str
    location: str = ""
    note: str = ""
    calls: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)
    rules: tuple[RuleEntry, ...] = ()
    certain: int = 0

    @property
    def qualified_name(self) -> str:
        """The function with its namespace."""
        return f"{self.namespace}.{self.function}"

    @property
    def short_name(self) -> str:
        """The function without the library's own name."""
        return self.qualified_name.partition(".")[2]


@dataclass(frozen=True, slots=True)
class MeasuredRow(Row):
    """One overridable function whose calls were made.

    Attributes
    ----------
    bucket : one of `MEASURED`
    results : number of calls by the type of their result
    takes_keywords : whether the type's rules take every argument of the operation; None where it has no rule
    densified : bytes of all dense copies that the calls made
    problem : the first call that went wrong or was refused, and why
    """

    results: Mapping[str, int] = field(default_factory=dict)
    takes_keywords: bool | None = None
    densified: int = 0
    problem: str = ""


def rank(bucket: str) -> int:
    """Return the place of a bucket between the best and the worst.

    >>> rank("native") == rank("implemented") < rank("dense") < rank("wrong value")
    True
    """
    return OUTCOMES.index(OUTCOME_OF[bucket])


def typical(calls: Iterable[tuple[Hashable, bool, str]]) -> str:
    """Return the bucket of a function: the worst fault of its calls, else how the plainest of them end.

    These are the calls without optional arguments where there are such, form by form: alone, with a tensor, with a
    number. Each form counts by most of its calls, by the worse of as many, and the best of the forms is the function's.

    Parameters
    ----------
    calls : of each its form, whether it has no optional arguments, and its bucket

    >>> typical([("alone", True, "native"), ("alone", False, "dense"), ("alone", False, "dense")])
    'native'
    >>> typical([("alone", True, "native"), ("alone", True, "dense"), ("with a number", True, "refused")])
    'dense'
    >>> typical([("alone", True, "native"), ("alone", False, "wrong value")])
    'wrong value'
    """
    listed = list(calls)
    faults = [bucket for _, _, bucket in listed if bucket in FAULTS]
    if faults:
        return max(faults, key=rank)
    forms: dict[Hashable, list[str]] = {}
    for form, _, bucket in [call for call in listed if call[1]] or listed:
        forms.setdefault(form, []).append(bucket)
    return min(map(_most_frequent, forms.values()), key=rank)


def _most_frequent(buckets: list[str]) -> str:
    """Return the bucket of most of some calls, of as many the worse."""
    counts = Counter(buckets)
    return max(counts, key=lambda bucket: (counts[bucket], rank(bucket)))


def counted_outcomes(rows: Iterable[Row]) -> Counter[str]:
    """Return how many calls of some functions end in each bucket; a row without calls counts as one."""
    counts: Counter[str] = Counter()
    for row in rows:
        if row.bucket not in UNCOUNTED:
            counts.update(row.outcomes or {row.bucket: 1})
    return counts


def share(rows: Iterable[Row], buckets: Sequence[str]) -> float:
    """Return per cent of the calls of some functions that end in some buckets."""
    counted = counted_outcomes(rows)
    whole = sum(counted.values())
    if whole:
        return 100 * sum(counted[bucket] for bucket in buckets) / whole
    return 100.0


def structured_range(rows: Sequence[Row]) -> tuple[float, float]:
    """Return per cent of the calls that are certain to keep the structure, and of those that do if no rule declines."""
    whole = counted_outcomes(rows).total()
    certain = 100.0
    if whole:
        certain = 100 * sum(row.certain for row in rows) / whole
    return certain, share(rows, (*STRUCTURED, UNDECIDED.name))


@dataclass(frozen=True, repr=False)
class Report(Reported):
    """What a type covers, in numbers.

    Attributes
    ----------
    type : name of the type
    rows : one for each overridable function
    """

    buckets: ClassVar[dict[str, str]] = BUCKETS

    type: str
    rows: tuple[Row, ...]

    @property
    def totals(self) -> dict[str, int]:
        """Number of functions in each bucket; together they are all functions."""
        counted = Counter(row.bucket for row in self.rows)
        return {bucket: counted.get(bucket, 0) for bucket in self.buckets}

    @property
    def outcomes(self) -> dict[str, int]:
        """Number of sample calls that end in each bucket."""
        counted = counted_outcomes(self.rows)
        return {bucket: counted[bucket] for bucket in self.buckets}

    @property
    def structured_percent(self) -> float:
        """Per cent of the sample calls that keep the structure: answered without conversion or becoming dense."""
        return share(self.rows, STRUCTURED)

    @property
    def gated_percent(self) -> float:
        """The share `structured_percent` as it is printed, written, and compared with a bound: with two decimals."""
        return round(self.structured_percent, 2)

    @property
    def structured_range(self) -> tuple[float, float]:
        """Per cent of the sample calls that are certain to keep the structure, and of those that may; after calls one.

        A rule may decline if its registration or return annotation allows it. Those that may keep the structure are
        those of `structured_percent` and those that depend on values.
        """
        return structured_range(self.rows)

    @property
    def percent(self) -> float:
        """Per cent of the sample calls that are answered, in whatever way; faulty answers do not count."""
        return share(self.rows, [bucket for bucket in self.buckets if OUTCOME_OF[bucket].answered])

    def sources(self) -> dict[str, Any]:
        """Return the source of the rules by their locations; none for a report that does not hold the type."""
        return {}

    def advice_text(self) -> str:
        """Return the rules to write next, as text; "" for a report that does not hold the type."""
        return ""

    def data(self) -> dict[str, Any]:
        """Return what `to_json` writes."""
        return {
            "type": self.type,
            "percent": round(self.percent, 2),
            "structured_percent": self.gated_percent,
            "structured_range": [round(bound, 2) for bound in self.structured_range],
            "totals": self.totals,
            "outcomes": self.outcomes,
            "functions": [asdict(row) for row in self.rows],
        }


def counts_text(counts: Mapping[str, int]) -> str:
    """Return in words how often there is each of some names."""
    return ", ".join(f"{count} {name}" for name, count in counts.items())

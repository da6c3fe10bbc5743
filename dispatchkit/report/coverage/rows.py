"""The buckets of a coverage report, and its rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from dispatchkit.protocol.outcome import OUTCOMES

__all__ = [
    "BUCKETS",
    "FAULTS",
    "MEASURED",
    "OUTCOME_OF",
    "STRUCTURED",
    "UNCOUNTED",
    "MeasuredRow",
    "Row",
    "rank",
    "short_name",
]

_NAMED = [one for one in OUTCOMES if one.bucket]
# From the most to the least of what a type can have; the printed tables keep the order.
BUCKETS = {one.bucket: one.meaning for one in _NAMED if one.before_calls}
# What executing the calls shows, likewise from the best to the worst.
MEASURED = {one.buckets[1]: one.seen or one.meaning for one in _NAMED}
# The way a call is answered or fails that stands behind each bucket of either.
OUTCOME_OF = {bucket: one for one in _NAMED for bucket in one.buckets}
STRUCTURED = tuple(bucket for bucket, one in OUTCOME_OF.items() if one.structured)
FAULTS = tuple(bucket for bucket, one in OUTCOME_OF.items() if one.fault)
# Functions of which a type cannot be expected, or could not be seen, to answer a call.
UNCOUNTED = tuple(bucket for bucket, one in OUTCOME_OF.items() if not one.counted)


@dataclass(frozen=True, slots=True)
class Row:
    """One overridable function.

    Attributes
    ----------
    function : its name
    namespace : it stands in
    kind : its family
    bucket : one of `BUCKETS`
    location : file and line of the handler, "" where there is none
    note : what else is to be said
    """

    function: str
    namespace: str
    kind: str
    bucket: str
    location: str = ""
    note: str = ""

    @property
    def qualified_name(self) -> str:
        """The function with its namespace."""
        return f"{self.namespace}.{self.function}"


@dataclass(frozen=True, slots=True)
class MeasuredRow(Row):
    """One overridable function whose calls were made.

    Attributes
    ----------
    bucket : one of `MEASURED`
    calls : how many calls were made
    outcomes : number of calls that ended in each bucket
    takes_keywords : whether the type's rules take every argument of the operation; None where it has no rule
    time_ratio : seconds of the deciding call by those of the same call on plain tensors; None where neither was timed
    densified : bytes of all dense copies that the calls made
    problem : the first call that went wrong or was refused, and why
    """

    calls: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    takes_keywords: bool | None = None
    time_ratio: float | None = None
    densified: int = 0
    problem: str = ""


def rank(bucket: str) -> int:
    """Return the place of a bucket between the best and the worst.

    >>> rank("native") == rank("implemented") < rank("dense") < rank("wrong value")
    True
    """
    return OUTCOME_OF[bucket].order


def short_name(row: Row) -> str:
    """Return the name of a function without the library's own."""
    inner = row.namespace.partition(".")[2]
    return f"{inner}.{row.function}" if inner else row.function

"""The buckets of a coverage report, and its rows."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["BUCKETS", "FAULTS", "MEASURED", "STRUCTURED", "UNCOUNTED", "MeasuredRow", "Row", "rank", "short_name"]

# From the most to the least of what a type can have; the printed tables keep the order.
BUCKETS = {
    "implemented": "by a rule of its own",
    "own method": "its __tensor_function__ decides at run time",
    "inherited": "by a rule of a superclass, or as plain tensors are computed",
    "by kind": "by a rule for the operation's kind",
    "decomposed": "by running the operation's body on it",
    "rewrapped": "on its first field, rebuilt with the others",
    "converted": "by a declared conversion",
    "dense": "by becoming dense",
    "refused": "not at all: a call raises",
    "no array argument": "types cannot answer it, modes can",
}
# What executing the calls shows, likewise from the best to the worst.
MEASURED = {
    "native": "by a rule of its own",
    "own method": "its __tensor_function__ answered",
    "inherited": "by a rule of a superclass, or as plain tensors are computed",
    "by kind": "by a rule for the operation's kind",
    "decomposed": "by running the operation's body on it",
    "rewrapped": "on its first field, rebuilt with the others",
    "converted": "by a declared conversion",
    "dense": "by becoming dense",
    "never reached": "no call could be made that plain tensors of the samples' shapes take",
    "refused": "not at all: nobody answered",
    "raises": "an exception where plain tensors give a result",
    "wrong type": "a result that is not what the rule or the operation promises",
    "wrong gradient": "derivatives other than those of the dense computation",
    "wrong value": "a result other than that of the dense computation",
    "no array argument": "types cannot answer it, modes can",
}
STRUCTURED = ("implemented", "native", "own method", "inherited", "by kind", "decomposed", "rewrapped")
FAULTS = ("raises", "wrong type", "wrong gradient", "wrong value")
# Functions of which a type cannot be expected, or could not be seen, to answer a call.
UNCOUNTED = ("no array argument", "never reached")
_RANKS = {"implemented": 0, **{bucket: place for place, bucket in enumerate(MEASURED)}}


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
    """Return the place of a bucket between the best, 0, and the worst.

    >>> rank("native") == rank("implemented") < rank("dense") < rank("wrong value")
    True
    """
    return _RANKS[bucket]


def short_name(row: Row) -> str:
    """Return the name of a function without the library's own."""
    inner = row.namespace.partition(".")[2]
    return f"{inner}.{row.function}" if inner else row.function

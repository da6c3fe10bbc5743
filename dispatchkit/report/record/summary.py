"""The calls of a trace as a table, by function or by line of the program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from dispatchkit.report.record.call import TracedCall
from dispatchkit.report.table import Table, format_time, short_location
from dispatchkit.wording import format_bytes

__all__ = ["Order", "Summary", "SummaryRow", "summarised"]

Order: TypeAlias = Literal["self", "total", "calls", "bytes", "name"]
# How many combinations of types a table names.
NAMED = 3


@dataclass(slots=True)
class SummaryRow:
    """The calls of one function, or those that one line led to.

    Attributes
    ----------
    name : of the function, or the line
    calls : number of them
    total : nanoseconds of all of it; what a call spends in further calls of the same row counts once
    self_time : nanoseconds without the calls inside
    share : of the self time of all calls, in per cent
    densified : bytes that became dense in the calls themselves
    errors : number of calls that raised
    types : number of calls by the types of their arrays; by function where the row is a line
    hows : number of calls by how, and by whom, they were answered
    """

    name: str
    calls: int = 0
    total: int = 0
    self_time: int = 0
    share: float = 0.0
    densified: int = 0
    errors: int = 0
    types: Counter[str] = field(default_factory=Counter)
    hows: Counter[str] = field(default_factory=Counter)


_KEYS: dict[Order, Callable[[SummaryRow], Any]] = {
    "self": lambda row: (-row.self_time, row.name),
    "total": lambda row: (-row.total, row.name),
    "calls": lambda row: (-row.calls, row.name),
    "bytes": lambda row: (-row.densified, -row.self_time, row.name),
    "name": lambda row: row.name,
}


def summarised(calls: Sequence[TracedCall], by: Literal["function", "line"], sort: Order, dropped: int) -> Summary:
    """Return the table of some calls.

    Raises
    ------
    ValueError : for another `by` or `sort`
    """
    if by not in ("function", "line"):
        raise ValueError(f"summary: by must be 'function' or 'line', not {by!r}")
    name = _function if by == "function" else _line
    rows: dict[str, SummaryRow] = {}
    for call in calls:
        own = name(call)
        row = rows.setdefault(own, SummaryRow(own))
        row.calls += 1
        row.self_time += call.self_time
        row.densified += call.self_densified
        row.errors += bool(call.error)
        row.types[f"({', '.join(call.types)})" if by == "function" else call.name] += 1
        row.hows[f"{call.how}: {call.who}" if call.who else call.how or "under way"] += 1
        if all(name(around) != own for around in _around(calls, call)):
            row.total += call.duration
    everything = sum(row.self_time for row in rows.values())
    for row in rows.values():
        row.share = 100 * row.self_time / everything if everything else 0.0
    return Summary(list(rows.values()), by, dropped).sorted(sort)


def _function(call: TracedCall) -> str:
    return call.name


def _line(call: TracedCall) -> str:
    return short_location(call.place)


def _around(calls: Sequence[TracedCall], call: TracedCall) -> Iterator[TracedCall]:
    while call.parent is not None:
        call = calls[call.parent]
        yield call


@dataclass(frozen=True)
class Summary:
    """A table of calls; prints as text, and a notebook shows it.

    Attributes
    ----------
    rows : one `SummaryRow` for each function or line
    by : ``"function"`` or ``"line"``
    dropped : number of calls that the trace did not keep
    """

    rows: Sequence[SummaryRow]
    by: Literal["function", "line"] = "function"
    dropped: int = 0

    def sorted(self, by: Order) -> Summary:
        """Return the table in another order.

        Parameters
        ----------
        by : ``"self"``, ``"total"``, ``"calls"`` or ``"bytes"``, the largest first, or ``"name"``

        Raises
        ------
        ValueError : for another `by`
        """
        if by not in _KEYS:
            raise ValueError(f"summary: sort must be one of {', '.join(map(repr, _KEYS))}, not {by!r}")
        return Summary(sorted(self.rows, key=_KEYS[by]), self.by, self.dropped)

    @property
    def heads(self) -> tuple[str, ...]:
        """The names of the columns."""
        of = "types" if self.by == "function" else "functions"
        return self.by, "calls", "total", "self", "share", "densified", of, "answered"

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (
                row.name,
                str(row.calls),
                format_time(row.total),
                format_time(row.self_time),
                f"{row.share:.0f} %",
                format_bytes(row.densified) if row.densified else "",
                _counted(row.types),
                _counted(row.hows) + (f", {row.errors} raised" if row.errors else ""),
            )
            for row in self.rows
        ]

    def _notes(self) -> list[str]:
        count = sum(row.calls for row in self.rows)
        took = format_time(sum(row.self_time for row in self.rows))
        dense = sum(row.densified for row in self.rows)
        said = f"{count} call{'' if count == 1 else 's'}, {took}"
        said += f", {format_bytes(dense)} densified" if dense else ""
        return [said, *([f"{self.dropped} later calls were not kept"] if self.dropped else [])]

    def _table(self) -> Table:
        return Table(self.heads, self._cells(), right=range(1, 6), indent=0)

    def __str__(self) -> str:
        return "\n".join([*self._table().lines(), *self._notes()])

    __repr__ = __str__

    def to_markdown(self) -> str:
        """Return the table in Markdown."""
        return "\n".join([*self._table().markdown(), "", *self._notes()]) + "\n"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


def _counted(counts: Counter[str]) -> str:
    """Return the commonest of some texts, with how often each was met where there are several."""
    common = counts.most_common(NAMED)
    if len(common) == 1 and len(counts) == 1:
        return common[0][0]
    rest = len(counts) - len(common)
    return ", ".join(f"{text} ×{count}" for text, count in common) + (f", {rest} more" if rest else "")

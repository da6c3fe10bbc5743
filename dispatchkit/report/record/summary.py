"""The calls of a trace as a table, as a tree, and as advice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from textwrap import indent
from typing import Any, Literal, TypeAlias

from dispatchkit.protocol.explain.page import source_line
from dispatchkit.protocol.fallbacks.strategies import Dense
from dispatchkit.protocol.stubs import stub_for
from dispatchkit.report.covering.advice import lacking_keywords
from dispatchkit.report.documents import (
    Document,
    Reported,
    Table,
    css_class,
    format_time,
    short_location,
    style,
)
from dispatchkit.report.record.call import TracedCall
from dispatchkit.resources import read_text
from dispatchkit.wording import format_bytes, plural

# More rows than anybody reads.
MOST = 200
DECLINED_AT = re.compile(r" at (\S+:\d+) declined")
NEEDS = re.compile(r"it needs (\S+), which nobody answers")


@dataclass(slots=True)
class Cause:
    """Why calls became dense.

    Attributes
    ----------
    code : ``"no rule"``, ``"declined"``, ``"body"`` (a decomposition that needs what nobody answers) or ``"inside"`` (a
        function that made it dense itself)
    function : that was called
    type : of the arrays that became dense
    reason : in words
    fix : what would keep the structure
    stub : the rule that the fix asks for, to be filled in; "" where there is one already
    count, nbytes : how often, and how large the dense copies were
    lines : lines of the program that led to it, with how often each did
    """

    code: str
    function: str
    type: str
    reason: str
    fix: str
    stub: str = ""
    count: int = 0
    nbytes: int = 0
    lines: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        fix = self.fix
        if self.stub:
            fix += f":\n{indent(self.stub, '    ')}"
        return f"{self._head()}\n  fix: {fix}\n  line: {self._places()}"

    def html(self) -> str:
        """Return it as a piece of HTML, the rule to write as code."""
        fix = escape(self.fix)
        if self.stub:
            fix += f":<pre>{escape(self.stub)}</pre>"
        else:
            fix += "\n"
        return f"{escape(self._head())}\nfix: {fix}line: {escape(self._places())}"

    def _head(self) -> str:
        times = ""
        if self.count != 1:
            times = f" ×{self.count}"
        return (
            f"[{self.code}] {self.function} made {self.type} dense{times}, {format_bytes(self.nbytes)}: {self.reason}"
        )

    def _places(self) -> str:
        counted = []
        for place, count in self.lines.most_common():
            times = ""
            if count != 1:
                times = f" ×{count}"
            counted.append(f"{place}{times}")
        return ", ".join(counted)


def causes_of(calls: Sequence[TracedCall]) -> list[Cause]:
    """Return why calls became dense, the largest first; calls with the same function, type and reason are one."""
    causes: dict[tuple[str, str, str], Cause] = {}
    for call in calls:
        if not call.self_densified:
            continue
        who = call.who or ", ".join(call.types)
        cause = causes.get((call.name, who, call.reason))
        if cause is None:
            code, fix = _code_and_fix(call)
            cause = Cause(code, call.name, who, call.reason, fix)
            if code == "no rule" and call.asking is not None:
                cause.stub = stub_for(*call.asking)
            causes[call.name, who, call.reason] = cause
        cause.count += 1
        cause.nbytes += call.self_densified
        cause.lines[short_location(call.place)] += 1
    return sorted(causes.values(), key=lambda cause: -cause.nbytes)


def _code_and_fix(call: TracedCall) -> tuple[str, str]:
    """Return the code of the cause of a dense copy, and what would keep the structure."""
    needed = NEEDS.search(call.reason)
    if call.reason.startswith("inside "):
        return "inside", f"have it compute without the dense form: {call.reason.rpartition(' at ')[2]}"
    if needed is not None:
        inner = needed[1].removeprefix("dispatchkit.")
        between = ""
        if inner != call.name:
            between = f"{inner}, which its body calls, or for "
        return "body", f"write a rule for {between}{call.name}"
    if " declined" in call.reason:
        return (
            "declined",
            f"have the rule take {lacking_keywords(call.reason) or 'the call'}{_rule_that_declined(call)}",
        )
    return "no rule", "write a rule"


def _rule_that_declined(call: TracedCall) -> str:
    """Return the line by which the rule that declined is defined, after a colon; "" where it is not known."""
    place = DECLINED_AT.search(call.reason)
    if place is None:
        return ""
    line = source_line(place[1])
    if not line:
        return ""
    return f": {line}"


def tree_of(calls: Sequence[TracedCall], dropped: int = 0) -> str:
    """Return the calls as lines, those made inside of another below it and further to the right."""
    rows = [
        (f"{'  ' * call.depth}{call.name}({', '.join(call.types)})", ", ".join(_parts(call)), call)
        for call in calls[:MOST]
    ]
    width = min(max((len(head) for head, _, _ in rows), default=0), 60)
    lines = [f"{head:<{width}}  {said}  # {short_location(call.place)}" for head, said, call in rows]
    left_out = len(calls) - len(rows)
    if left_out:
        lines.append(f"... {left_out:,} more calls; recorded.calls has them all")
    if dropped:
        lines.append(f"{dropped:,} later calls were not kept")
    if lines:
        return "\n".join(lines)
    return "no calls"


def _parts(call: TracedCall) -> Iterator[str]:
    """Yield in words how a call was answered, what became dense, and what it raised."""
    how, what = call.how or "under way", call.what
    if how == "plain":
        what = ""
    if what.startswith(how):
        yield what
    elif what:
        yield f"{how}: {what}"
    else:
        yield how
    if call.self_densified:
        reason = ""
        if call.reason:
            reason = f" ({call.reason})"
        yield f"{format_bytes(call.self_densified)} became dense" + reason
    if call.error:
        yield f"raised {call.error}"


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


NAMES: dict[str, Callable[[TracedCall], str]] = {
    "function": lambda call: call.name,
    "line": lambda call: short_location(call.place),
}
_KEYS: dict[Order, Callable[[SummaryRow], Any]] = {
    "self": lambda row: (-row.self_time, row.name),
    "total": lambda row: (-row.total, row.name),
    "calls": lambda row: (-row.calls, row.name),
    "bytes": lambda row: (-row.densified, -row.self_time, row.name),
    "name": lambda row: row.name,
}


def summarise(calls: Sequence[TracedCall], by: Literal["function", "line"], sort: Order, dropped: int) -> Summary:
    """Return the table of some calls.

    Raises
    ------
    ValueError : for another `by` or `sort`
    """
    if by not in NAMES:
        raise ValueError(f"summary: by must be 'function' or 'line', not {by!r}")
    name = NAMES[by]
    rows: dict[str, SummaryRow] = {}
    for call in calls:
        row_name = name(call)
        row = rows.setdefault(row_name, SummaryRow(row_name))
        row.calls += 1
        row.self_time += call.self_time
        row.densified += call.self_densified
        row.errors += bool(call.error)
        if by == "function":
            kind = f"({', '.join(call.types)})"
        else:
            kind = call.name
        row.types[kind] += 1
        if call.who:
            how = f"{call.how}: {call.who}"
        else:
            how = call.how or "under way"
        row.hows[how] += 1
        if all(name(around) != row_name for around in _outer_calls(calls, call)):
            row.total += call.duration
    everything = sum(row.self_time for row in rows.values())
    for row in rows.values():
        if everything:
            row.share = 100 * row.self_time / everything
        else:
            row.share = 0.0
    return Summary(list(rows.values()), by, dropped).sorted(sort)


def _outer_calls(calls: Sequence[TracedCall], call: TracedCall) -> Iterator[TracedCall]:
    while call.parent is not None:
        call = calls[call.parent]
        yield call


@dataclass(frozen=True, repr=False)
class Summary(Reported):
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

    def _table(self) -> Table:
        of = "functions"
        if self.by == "function":
            of = "types"
        heads = (self.by, "calls", "total", "self", "share", "densified", of, "answered")
        cells = [
            (
                row.name,
                str(row.calls),
                format_time(row.total),
                format_time(row.self_time),
                f"{row.share:.0f} %",
                format_bytes(row.densified) if row.densified else "",
                _commonest(row.types),
                _commonest(row.hows) + (f", {row.errors} raised" if row.errors else ""),
            )
            for row in self.rows
        ]
        return Table(heads, cells, right=range(1, 6), indent=0)

    def document(self) -> Document:
        """Return the table, and what its numbers add up to."""
        count = sum(row.calls for row in self.rows)
        took = format_time(sum(row.self_time for row in self.rows))
        dense = sum(row.densified for row in self.rows)
        said = f"{count} {plural('call', count)}, {took}"
        if dense:
            said += f", {format_bytes(dense)} densified"
        if self.dropped:
            said += f"\n{self.dropped} later calls were not kept"
        return Document([self._table(), said])


def _commonest(counts: Counter[str]) -> str:
    """Return the commonest of some texts, with how often each was met where there are several."""
    common = counts.most_common(NAMED)
    if len(common) == 1 and len(counts) == 1:
        return common[0][0]
    rest = len(counts) - len(common)
    others = ""
    if rest:
        others = f", {rest} more"
    return ", ".join(f"{text} ×{count}" for text, count in common) + others


def headline(calls: Sequence[TracedCall], causes: Sequence[Cause]) -> str:
    """Return how many calls there are, how many became dense, and for how many reasons."""
    densified, nbytes = sum(cause.count for cause in causes), sum(cause.nbytes for cause in causes)
    dense = "none became dense"
    if densified:
        dense = f"{densified:,} became dense ({format_bytes(nbytes)})"
    reasons = ""
    if causes:
        reasons = f", for {len(causes)} {plural('reason', len(causes))}"
    return f"{len(calls):,} {plural('call', len(calls))}, {dense}{reasons}"


def calls_html(head: str, causes: Sequence[Cause], calls: Sequence[TracedCall], dropped: int) -> str:
    """Return calls as a piece of HTML with a style of its own: why they became dense, then all, which open on request.

    Parameters
    ----------
    head : what stands above
    causes : why calls became dense
    calls, dropped : the calls, and how many later ones were not kept
    """
    css = css_class(Dense.outcome.name)
    items = "".join(f'<li class="{css}">{cause.html()}</li>' for cause in causes)
    parts = {
        "by function": summarise(calls, "function", "self", dropped)._table().html(),
        "all calls": f"<pre>{escape(tree_of(calls, dropped))}</pre>",
    }
    folded = "".join(f"<details><summary>{name}</summary>{part}</details>" for name, part in parts.items())
    rules = style(".dk-function", read_text("dispatchkit.report", "calls.css"), [Dense.outcome.name])
    return (
        f'<div class="dk-function"><style>{rules}</style><header>{escape(head)}</header><ol>{items}</ol>{folded}</div>'
    )

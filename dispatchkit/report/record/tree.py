"""Recorded calls as a tree, and why some of them became dense: equal causes together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dispatchkit.report.record.call import TracedCall
from dispatchkit.report.table import short_location
from dispatchkit.wording import format_bytes

__all__ = ["Cause", "causes_of", "tree_of"]

# More rows than anybody reads.
MOST = 200
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
    count, nbytes : how often, and how large the dense copies were
    lines : lines of the program that led to it, with how often each did
    """

    code: str
    function: str
    type: str
    reason: str
    fix: str
    count: int = 0
    nbytes: int = 0
    lines: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        times = "" if self.count == 1 else f" ×{self.count}"
        lines = ", ".join(f"{place}{'' if count == 1 else f' ×{count}'}" for place, count in self.lines.most_common())
        return (
            f"[{self.code}] {self.function} made {self.type} dense{times}, {format_bytes(self.nbytes)}: {self.reason}\n"
            f"  fix: {self.fix}\n  line: {lines}"
        )


def causes_of(calls: Sequence[TracedCall]) -> list[Cause]:
    """Return why calls became dense, the largest first; calls with the same function, type and reason are one."""
    found: dict[tuple[str, str, str], Cause] = {}
    for call in calls:
        if not call.self_densified:
            continue
        code, fix = _judged(call)
        who = call.who or ", ".join(call.types)
        cause = found.setdefault((call.name, who, call.reason), Cause(code, call.name, who, call.reason, fix))
        cause.count += 1
        cause.nbytes += call.self_densified
        cause.lines[short_location(call.place)] += 1
    return sorted(found.values(), key=lambda cause: -cause.nbytes)


def _judged(call: TracedCall) -> tuple[str, str]:
    """Return the code of the cause of a dense copy, and what would keep the structure."""
    needed = NEEDS.search(call.reason)
    if call.reason.startswith("inside "):
        return "inside", f"have it compute without the dense form: {call.reason.rpartition(' at ')[2]}"
    if needed is not None:
        inner = needed[1].removeprefix("dispatchkit.")
        between = "" if inner == call.name else f"{inner}, which its body calls, or for "
        return "body", f"write a rule for {between}{call.name}"
    if " declined" in call.reason:
        return "declined", "have the rule take the call"
    return "no rule", f"write a rule: @dk.implements(dk.{call.name})"


def tree_of(calls: Sequence[TracedCall], dropped: int = 0) -> str:
    """Return the calls as lines, those made inside of another below it and further to the right."""
    rows = [(f"{'  ' * call.depth}{call.name}({', '.join(call.types)})", _said(call), call) for call in calls[:MOST]]
    width = min(max((len(head) for head, _, _ in rows), default=0), 60)
    lines = [f"{head:<{width}}  {said}  # {short_location(call.place)}" for head, said, call in rows]
    left_out = len(calls) - len(rows)
    if left_out:
        lines.append(f"... {left_out:,} more calls; recorded.calls has them all")
    if dropped:
        lines.append(f"{dropped:,} later calls were not kept")
    return "\n".join(lines) if lines else "no calls"


def _said(call: TracedCall) -> str:
    """Return in words how a call was answered, what became dense, and what it raised."""
    return ", ".join(_parts(call))


def _parts(call: TracedCall) -> Iterator[str]:
    how, what = call.how or "under way", "" if call.how == "plain" else call.what
    yield what if what.startswith(how) else f"{how}: {what}" if what else how
    if call.self_densified:
        yield f"{format_bytes(call.self_densified)} became dense" + (f" ({call.reason})" if call.reason else "")
    if call.error:
        yield f"raised {call.error}"

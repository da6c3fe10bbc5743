"""An audit as one HTML page: pairs that open to the calls behind them, groups of types that are alike, filters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from dispatchkit.report.audit.pairs import SHARES, Pair
from dispatchkit.report.audit.tables import Audited, finding_lines, short_operation
from dispatchkit.report.page import filled_page
from dispatchkit.report.palette import css_class

__all__ = ["alike", "audit_page"]


def audit_page(audit: Audited) -> str:
    """Return the page of an audit; what comes from names or messages is escaped."""
    count = len(audit.types)
    answers: dict[tuple[str, str, str], int] = {}
    pairs = [
        [answers.setdefault((row.share, row.winner, row.answer), len(answers)) for row in pair.rows]
        for pair in audit.pairs
    ]
    first = audit.pairs[0]
    used = [share for share in SHARES if any(share in pair.shares for pair in audit.pairs)]
    operations = [short_operation(row.operation) for row in first.rows]
    data = {
        "types": list(audit.types),
        # Two parameters of one operation may both take the two arrays, so a call says more than its operation.
        "calls": [row.call.replace(first.left, "…") for row in first.rows],
        "operations": operations,
        "shares": used,
        "classes": [css_class(share) for share in used],
        "answers": [[used.index(share), winner, answer] for share, winner, answer in answers],
        "pairs": [_packed(numbers) for numbers in pairs],
        "groups": alike(audit.types, audit.pairs),
    }
    title = f"Audit of {', '.join(audit.types) if count < 7 else f'{count} types'}"
    findings = "".join(
        f'<li data-kind="{finding.kind}"><b>{finding.kind}</b> {"<br>".join(map(escape, finding_lines(finding)))}</li>'
        for finding in audit.findings
    )
    chips = "".join(
        f'<li><button class="chip" type="button" aria-pressed="true" data-share="{place}" '
        f'title="{escape(SHARES[share])}">'
        f'<i class="{css_class(share)}" aria-hidden="true"></i>{share}</button></li>'
        for place, share in enumerate(used)
    )
    parts = {
        "title": escape(title),
        "chips": chips,
        "operations": "".join(f"<option>{escape(name)}</option>" for name in dict.fromkeys(operations)),
        "findings": findings or "<li>Nothing was found.</li>",
        "totals": ", ".join(f"{n} {kind}" for kind, n in audit.totals.items() if n) or "none",
    }
    return filled_page("dispatchkit.report.audit", parts, data, used)


def _packed(numbers: Sequence[int]) -> list[int]:
    """Return numbers as pairs of a number and how often it follows itself."""
    found: list[int] = []
    for number in numbers:
        if found and found[-2] == number:
            found[-1] += 1
        else:
            found += [number, 1]
    return found


def alike(types: Sequence[str], pairs: Sequence[Pair]) -> list[list[int]]:
    """Return the places of types in groups: those of one group share their calls out in the same ways.

    Two types are alike if they are alone, and as first and as second argument are with as many other types, answered
    in the same way. Groups that are answered by the same ways most stand together.
    """
    count = len(types)
    shares = [tuple(pair.shares.items()) for pair in pairs]
    groups: dict[object, list[int]] = {}
    for place in range(count):
        row = Counter(shares[place * count + other] for other in range(count) if other != place)
        column = Counter(shares[other * count + place] for other in range(count) if other != place)
        key = (shares[place * count + place], frozenset(row.items()), frozenset(column.items()))
        groups.setdefault(key, []).append(place)
    return sorted(groups.values(), key=lambda group: [-n for _, n in sorted(shares[group[0] * count + group[0]])])

"""What a type covers: every overridable function in exactly one bucket, from the registry and dry runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from dispatchkit.ops.declared import DeclaredOperation
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form, Key, flatten
from dispatchkit.protocol.ranking import Source, Step
from dispatchkit.protocol.resolution import Chain
from dispatchkit.protocol.rules import type_name
from dispatchkit.report.tracing import inner_calls

__all__ = ["BUCKETS", "Coverage", "Row", "coverage"]

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
STRUCTURED = ("implemented", "own method", "inherited", "by kind", "decomposed", "rewrapped")
BY_SOURCE = {
    Source.METHOD: "own method",
    Source.KIND: "by kind",
    Source.DEFAULT: "inherited",
    Source.DECOMPOSE: "decomposed",
    Source.REWRAP: "rewrapped",
    Source.CONVERT: "converted",
    Source.DENSE: "dense",
}


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


@dataclass(frozen=True)
class Coverage:
    """What a type covers; prints as a table.

    Attributes
    ----------
    type : name of the type
    rows : one for each overridable function
    """

    type: str
    rows: tuple[Row, ...]

    @property
    def totals(self) -> dict[str, int]:
        """Number of functions in each bucket; together they are all functions."""
        counted = Counter(row.bucket for row in self.rows)
        return {bucket: counted.get(bucket, 0) for bucket in BUCKETS}

    @property
    def percent(self) -> float:
        """Per cent of the functions with array arguments that answer at all, in whatever way."""
        return self._share([bucket for bucket in BUCKETS if bucket not in ("refused", "no array argument")])

    @property
    def structured_percent(self) -> float:
        """Per cent of the functions with array arguments that answer without conversion and without becoming dense."""
        return self._share(STRUCTURED)

    def _share(self, buckets: Iterable[str]) -> float:
        totals = self.totals
        reachable = len(self.rows) - totals["no array argument"]
        return 100 * sum(totals[bucket] for bucket in buckets) / reachable if reachable else 100.0

    def __getitem__(self, name: str) -> Row:
        """Return the row of a function by its name, qualified or not.

        Raises
        ------
        KeyError : if there is none
        """
        for row in self.rows:
            if name in (row.function, _short(row), f"{row.namespace}.{row.function}"):
                return row
        raise KeyError(f"no overridable function is called {name!r}")

    def __str__(self) -> str:
        shares = f"{self.percent:.0f} % of the functions answer, {self.structured_percent:.0f} % keep the structure"
        return "\n".join(
            [
                f"coverage of {self.type}: {shares}",
                "",
                *self._totals_table(),
                "",
                *self._groups_table(),
                "",
                *self._rows_table(),
            ]
        )

    __repr__ = __str__

    def _totals_table(self) -> Iterator[str]:
        for bucket, count in self.totals.items():
            if count:
                yield f"  {bucket:<18}{count:>5}{100 * count / len(self.rows):>6.0f} %   {BUCKETS[bucket]}"
        yield f"  {'all functions':<18}{len(self.rows):>5}"

    def _groups_table(self) -> Iterator[str]:
        """Yield per cent answered by namespace and kind."""
        for title, field in (("namespace", "namespace"), ("kind", "kind")):
            yield f"  by {title:<25}{'answer':>8}{'structured':>12}{'functions':>11}"
            for name in dict.fromkeys(getattr(row, field) for row in self.rows):
                part = Coverage(self.type, tuple(row for row in self.rows if getattr(row, field) == name))
                yield f"    {name:<26}{part.percent:>6.0f} %{part.structured_percent:>10.0f} %{len(part.rows):>11}"

    def _rows_table(self) -> Iterator[str]:
        for bucket in BUCKETS:
            rows = [row for row in self.rows if row.bucket == bucket]
            if not rows or bucket == "no array argument":
                continue
            yield f"  {bucket}:"
            if bucket in ("implemented", "by kind", "own method"):
                for row in rows:
                    yield f"    {_short(row):<26}{row.location}{'  ' + row.note if row.note else ''}".rstrip()
            else:
                yield from _wrapped([_short(row) for row in rows])

    def to_json(self) -> str:
        """Return the coverage as JSON text.

        Returns
        -------
        an object with ``type`` (name), ``percent`` and ``structured_percent`` (numbers), ``totals`` (an object:
        bucket to number of functions, which add up to the number of functions) and ``functions`` (a list of objects
        with ``function``, ``namespace``, ``kind``, ``bucket``, ``location`` and ``note``)
        """
        return json.dumps(
            {
                "type": self.type,
                "percent": round(self.percent, 2),
                "structured_percent": round(self.structured_percent, 2),
                "totals": self.totals,
                "functions": [asdict(row) for row in self.rows],
            },
            indent=2,
        )

    def to_markdown(self) -> str:
        """Return the coverage as Markdown: a table of totals and one of functions."""
        lines = [
            f"# Coverage of `{self.type}`",
            "",
            f"{self.percent:.0f} % of the functions answer, {self.structured_percent:.0f} % keep the structure.",
            "",
            "| bucket | functions | per cent | what it means |",
            "| --- | ---: | ---: | --- |",
        ]
        for bucket, count in self.totals.items():
            lines.append(f"| {bucket} | {count} | {100 * count / len(self.rows):.0f} | {BUCKETS[bucket]} |")
        lines += [f"| all functions | {len(self.rows)} | 100 | |", ""]
        lines += ["| function | kind | bucket | handler |", "| --- | --- | --- | --- |"]
        for row in self.rows:
            lines.append(f"| `{row.namespace}.{row.function}` | {row.kind} | {row.bucket} | {row.location} |")
        return "\n".join(lines) + "\n"


def coverage(cls: type, *, protocol: DispatchProtocol = tensor_protocol) -> Coverage:
    """Tell for every overridable function how a type answers it.

    Parameters
    ----------
    cls : a type that takes part in the protocol
    protocol : whose functions are asked for

    Returns
    -------
    a report that prints as a table, with ``.to_json()`` and ``.to_markdown()``

    Raises
    ------
    TypeError : if the type takes no part

    Notes
    -----
    No rule of the type is called. A function of several arrays counts by its best call: on the type alone, or with
    plain tensors or numbers in other positions, which is noted. A decomposition counts if every call that the body
    makes, run on a sample, keeps the structure; a rule that declines by the values it gets can undo that.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> report = dk.coverage(dk.types.ScalarTensor)
    >>> report["add"].bucket, report["cos"].bucket
    ('implemented', 'dense')
    >>> sum(report.totals.values()) == len(report.rows)
    True
    """
    found: Any = cls
    if not isinstance(found, type) or not protocol.records.participates(cls):
        raise TypeError(
            f"coverage: {getattr(cls, '__qualname__', cls)!r} takes no part in {protocol.method}; decorate it with "
            f"array_type, or define {protocol.method}"
        )
    survey = _Survey(protocol, cls)
    rows = [survey.row(operation) for operation in protocol.operations.values()]
    return Coverage(type_name(cls), tuple(rows))


class _Survey:
    """Sorts the operations of a protocol for one type."""

    def __init__(self, protocol: DispatchProtocol, cls: type) -> None:
        self.protocol = protocol
        self.cls = cls
        self.rank = {bucket: place for place, bucket in enumerate(BUCKETS)}
        self.calls: dict[tuple[Overridable, Key], tuple[str, Step | None, str]] = {}

    def row(self, operation: Overridable) -> Row:
        bucket, step, note = self.sort(operation)
        location = step.rule.location if step is not None and step.rule is not None else ""
        return Row(operation.name, operation.namespace, operation.kind.name, bucket, location, note)

    def sort(self, operation: Overridable) -> tuple[str, Step | None, str]:
        """Return bucket, deciding step and note of an operation."""
        found = [self._sort_key(operation, key) for key in self._keys(operation)]
        return min(found, key=lambda one: self.rank[one[0]], default=("no array argument", None, ""))

    def _keys(self, operation: Overridable) -> list[Key]:
        """Return the types of the calls to try: the type alone, then among plain tensors and numbers."""
        arrays = [p for p in operation.parameters.arrays if p.form is not Form.INDEX]
        if not arrays:
            return []
        base = self.protocol.base
        alone = self._key(operation, {p.name for p in arrays}, self.cls)
        if len(arrays) == 1 or base is None:
            return [alone]
        return [alone, *(self._key(operation, {p.name}, other) for other in (base, float, int) for p in arrays)]

    def _key(self, operation: Overridable, own: set[str], other: type) -> Key:
        entries: list[Any] = []
        for p in operation.parameters.arrays:
            cls = self.cls if p.name in own else other
            if p.form is Form.INDEX:
                entries.append((int,))
            else:
                entries.append((cls,) if p.form in (Form.SEQUENCE, Form.STAR) else cls)
        return tuple(entries)

    def _sort_key(self, operation: Overridable, key: Key) -> tuple[str, Step | None, str]:
        """Return bucket, deciding step and note of calls with arguments of these types."""
        known = self.calls.get((operation, key))
        if known is None:
            self.calls[operation, key] = ("refused", None, "")  # a body that comes back to itself is no help
            known = self.calls[operation, key] = self._decide(operation, key)
        return known

    def _decide(self, operation: Overridable, key: Key) -> tuple[str, Step | None, str]:
        chain = self.protocol.chain(operation, key)
        others = [type_name(cls) for cls in flatten(key) if cls not in (self.cls, int, type(None))]
        notes = [f"with {', '.join(others)}"] if others else []
        for step in chain.steps:
            if step.source in (Source.AMBIGUOUS, Source.FOREIGN):
                return "refused", None, step.text
            if step.rule is not None and step.rule.refusal(_shortest_call(operation), {}):
                continue
            if step.rule is not None and not step.rule.takes_everything(operation.parameters):
                notes.append("not with every argument")
            bucket = BY_SOURCE.get(step.source)
            if step.source is Source.RULE:
                bucket = "implemented" if step.rule is not None and self.cls in step.rule.types else "inherited"
            if step.source is Source.DECOMPOSE:
                if not self._decomposes(operation):
                    continue
                notes.append("unless a rule on the way declines")
            assert bucket is not None
            return bucket, step, ", ".join(notes)
        return "refused", None, _reason(chain)

    def _decomposes(self, operation: Overridable) -> bool:
        """Return whether every call that an operation's body makes keeps the structure."""
        if not isinstance(operation, DeclaredOperation):
            return True
        calls = inner_calls(operation, self.cls)
        if any(inner is operation for inner, _ in calls):
            return False
        return all(self._sort_key(inner, key)[0] in STRUCTURED for inner, key in calls)


def _shortest_call(operation: Overridable) -> list[None]:
    """Return as many arguments as a call must have by position."""
    parameters = operation.parameters.signature.parameters.values()
    return [None for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _reason(chain: Chain) -> str:
    return "; ".join(text for _, text in chain.passed)


def _short(row: Row) -> str:
    inner = row.namespace.partition(".")[2]
    return f"{inner}.{row.function}" if inner else row.function


def _wrapped(names: Iterable[str], width: int = 88) -> Iterator[str]:
    line = "   "
    for name in names:
        if len(line) + len(name) + 1 > width:
            yield line
            line = "   "
        line += f" {name}"
    yield line

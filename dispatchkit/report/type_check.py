"""`check`: whether array types keep the laws of arrays, what they cover, and how they meet others, in one report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dispatchkit.protocol.engine import misfit_in
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.types.type_tests import TypeTests
from dispatchkit.report.auditing.audit import audit
from dispatchkit.report.auditing.findings import Finding
from dispatchkit.report.auditing.page import Audit, finding_lines
from dispatchkit.report.covering.coverage import CoverageSet, coverage
from dispatchkit.report.covering.rows import FAULTS, MeasuredRow
from dispatchkit.report.documents import Document, Part, Reported, Table, Title, numbered_table
from dispatchkit.testing.conformance import check_type
from dispatchkit.testing.findings import Conformance, ConformanceError
from dispatchkit.testing.instances import Samples, is_strategy
from dispatchkit.wording import plural

# Findings of an audit that are always faults.
ALWAYS = ("ambiguity", "unreachable", "cycle")


@dataclass(frozen=True, repr=False)
class TypeCheck(Reported):
    """What `check` found of array types; prints as a summary, and is true where there is no fault.

    Attributes
    ----------
    types : names of the types
    laws : by type what `dk.testing.check_type` found; without samples nothing
    coverage : what `dk.coverage` found
    audit : what `dk.audit` found, with plain tensors among the types
    """

    types: tuple[str, ...]
    laws: Mapping[str, Conformance] = field(default_factory=dict)
    coverage: CoverageSet = field(default_factory=lambda: CoverageSet(()))
    audit: Audit = field(default_factory=lambda: audit([]))

    @property
    def failures(self) -> list[str]:
        """The texts of all faults: laws that do not hold, and findings of an audit that are faults in any case."""
        texts = [str(failure) for conformance in self.laws.values() for failure in conformance.failures]
        for report in self.coverage:
            rows = [row for row in report.rows if isinstance(row, MeasuredRow) and row.bucket in FAULTS]
            if report.type not in self.laws or not self.laws[report.type].failures:
                texts += [f"{row.short_name} of {report.type}: {row.problem}" for row in rows]
        return texts + ["\n".join(finding_lines(finding)) for finding in self.audit.findings if finding.kind in ALWAYS]

    @property
    def passed(self) -> bool:
        """Whether there is no fault."""
        return not self.failures

    def __bool__(self) -> bool:
        return self.passed

    def document(self) -> Document:
        """Return it for text, Markdown and notebooks."""
        faults = self.failures
        counted = f"{len(faults)} {plural('fault', len(faults))}" if faults else "no fault found"
        parts: list[Part] = [Title("check of", 1, self.types, counted)]
        noticed = [finding for finding in self.audit.findings if finding.kind not in ALWAYS]
        rows = [("laws", *row) for row in self._rows_of_laws()]
        rows += [("coverage", report.type, _headline(report)) for report in self.coverage]
        rows.append(("audit", "", _counts_of(self.audit.findings)))
        parts.append(Table(("part", "of", "found"), rows, code=(1,)))
        if faults:
            parts += [Title(f"faults ({len(faults)})"), numbered_table(faults)]
        if noticed:
            texts = ["\n".join(finding_lines(finding)) for finding in noticed]
            parts += [Title(f"to know ({len(noticed)})"), numbered_table(texts)]
        return Document(parts)

    def _rows_of_laws(self) -> Iterator[tuple[str, str]]:
        """Yield for each type how many calls agree with plain tensors."""
        if not self.laws:
            yield "", "not tried: give instances as samples=[...]"
        for name, conformance in self.laws.items():
            tried, count = sum(conformance.tried.values()), len(conformance.failures)
            yield name, f"{count} {plural('failure', count)} in {tried} calls of {len(conformance.checks)} checks"


def _headline(report: Any) -> str:
    """Return what a report of coverage says first."""
    note: str = report.document().parts[0].note
    return note


def _counts_of(findings: Sequence[Finding]) -> str:
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.kind] = counts.get(finding.kind, 0) + 1
    return ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "nothing found"


def check(*types: type, samples: Samples = (), tests: TypeTests | None = None, **options: Any) -> TypeCheck:
    """Check array types: their laws, what they cover, and how they meet each other and plain tensors.

    Parameters
    ----------
    *types : the types
    samples : instances of them, or a function that makes these anew; for one type also a strategy of Hypothesis.
        Without samples no call is made
    tests : as of `dk.testing.check_type`
    **options : further ones of `dk.testing.check_type`, such as ``skip=["pickle"]``, ``operations=`` and ``progress=``

    Returns
    -------
    TypeCheck
        Prints as a summary; true where there is no fault, so that ``assert dk.check(T, samples=...)`` is a test. Its
        ``laws``, ``coverage`` and ``audit`` are the whole reports.

    Raises
    ------
    TypeError : if something is no array type
    ValueError : if there is no type, or one without a sample among those of the others

    Examples
    --------
    >>> import dispatchkit as dk
    >>> found = dk.check(dk.types.ScalarTensor)
    >>> found.passed, found.coverage["ScalarTensor"]["add"].bucket, found.audit.totals["ambiguity"]
    (True, 'implemented', 0)
    """
    if not types:
        raise ValueError("check: there is no type to check; write dk.check(T, samples=[...])")
    for cls in types:
        if not isinstance(cls, type) or not tensor_protocol.types.participates(cls):  # type: ignore[redundant-expr]
            raise misfit_in("check", cls, tensor_protocol)
    laws = {}
    for cls, its_samples in _samples_by_type(types, samples).items():
        try:
            laws[type_name(cls)] = check_type(cls, its_samples, tests=tests, **options)
        except ConformanceError as error:
            laws[type_name(cls)] = error.conformance
    progress = options.get("progress")
    covered = coverage(list(types), tests=tests, progress=progress)
    base: Any = tensor_protocol.types.base
    return TypeCheck(tuple(map(type_name, types)), laws, covered, audit([*types, base], progress=progress))


def _samples_by_type(types: Sequence[type], samples: Samples) -> dict[type, Samples]:
    """Return the samples of each type; none where there are none at all.

    Raises
    ------
    ValueError : if a type has none of those that are given
    """
    if len(types) == 1 and (callable(samples) or is_strategy(samples) or len(samples)):
        return {types[0]: samples}
    listed = list(samples() if callable(samples) else samples)
    if not listed:
        return {}
    by_type: dict[type, Samples] = {}
    for cls in types:
        by_type[cls] = [sample for sample in listed if type(sample) is cls]
    lacking = [type_name(cls) for cls, its_samples in by_type.items() if not its_samples]
    if lacking:
        raise ValueError(f"check: there is no sample of {', '.join(lacking)}; give one, or leave the type out")
    return by_type

"""What a type covers, who answers where types meet, what was called, what a graph looks like, and how that reads."""

from __future__ import annotations

from dispatchkit.report.audit import Audit, audit
from dispatchkit.report.audit_findings import Finding
from dispatchkit.report.coverage import Coverage, CoverageSet, MeasuredCoverage, coverage
from dispatchkit.report.drawing import Drawing, draw
from dispatchkit.report.pairs import Pair, PairRow
from dispatchkit.report.rows import MeasuredRow, Row
from dispatchkit.report.timeline import Timeline
from dispatchkit.report.trace import Trace, trace
from dispatchkit.report.trace_summary import Summary, SummaryRow
from dispatchkit.report.traced_call import TracedCall

__all__ = [
    "Audit",
    "Coverage",
    "CoverageSet",
    "Drawing",
    "Finding",
    "MeasuredCoverage",
    "MeasuredRow",
    "Pair",
    "PairRow",
    "Row",
    "Summary",
    "SummaryRow",
    "Timeline",
    "Trace",
    "TracedCall",
    "audit",
    "coverage",
    "draw",
    "trace",
]

"""What a type covers, who answers where types meet, what was called, what a graph looks like, and how that reads."""

from __future__ import annotations

from dispatchkit import catalogue  # noqa: F401  # reports list every operation
from dispatchkit.declare.namespace import make_home
from dispatchkit.report.audit.audit import audit
from dispatchkit.report.audit.findings import Finding
from dispatchkit.report.audit.page import Audit
from dispatchkit.report.audit.pairs import Pair, PairRow
from dispatchkit.report.coverage.advice import Advice, Suggestion
from dispatchkit.report.coverage.coverage import Coverage, CoverageSet, MeasuredCoverage, coverage
from dispatchkit.report.coverage.rows import MeasuredRow, Row, RuleEntry
from dispatchkit.report.graph.drawing import Drawing, draw
from dispatchkit.report.record.call import TracedCall
from dispatchkit.report.record.record import Trace, record_calls
from dispatchkit.report.record.summary import Cause, Summary, SummaryRow
from dispatchkit.report.record.timeline import Timeline
from dispatchkit.report.registered import (
    FunctionExplanation,
    RegisteredRule,
    RuleList,
    WhichAnswer,
    explain,
    rules,
    which,
)

__all__ = [
    "Advice",
    "Audit",
    "Cause",
    "Coverage",
    "CoverageSet",
    "Drawing",
    "Finding",
    "FunctionExplanation",
    "MeasuredCoverage",
    "MeasuredRow",
    "Pair",
    "PairRow",
    "RegisteredRule",
    "Row",
    "RuleEntry",
    "RuleList",
    "Suggestion",
    "Summary",
    "SummaryRow",
    "Timeline",
    "Trace",
    "TracedCall",
    "WhichAnswer",
    "audit",
    "coverage",
    "draw",
    "explain",
    "record_calls",
    "rules",
    "which",
]

make_home(__name__)

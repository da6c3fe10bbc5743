"""What a type covers, what a graph looks like, what was called, and how that reads."""

from __future__ import annotations

from dispatchkit.report.coverage import Coverage, CoverageSet, MeasuredCoverage, coverage
from dispatchkit.report.drawing import Drawing, draw
from dispatchkit.report.rows import MeasuredRow, Row
from dispatchkit.report.timeline import Timeline
from dispatchkit.report.trace import Trace, trace
from dispatchkit.report.trace_summary import Summary, SummaryRow
from dispatchkit.report.traced_call import TracedCall

__all__ = [
    "Coverage",
    "CoverageSet",
    "Drawing",
    "MeasuredCoverage",
    "MeasuredRow",
    "Row",
    "Summary",
    "SummaryRow",
    "Timeline",
    "Trace",
    "TracedCall",
    "coverage",
    "draw",
    "trace",
]

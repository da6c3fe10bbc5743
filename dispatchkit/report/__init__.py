"""What a type covers, what a graph looks like, and how that reads."""

from __future__ import annotations

from dispatchkit.report.coverage import Coverage, CoverageSet, MeasuredCoverage, coverage
from dispatchkit.report.drawing import Drawing, draw
from dispatchkit.report.rows import MeasuredRow, Row

__all__ = ["Coverage", "CoverageSet", "Drawing", "MeasuredCoverage", "MeasuredRow", "Row", "coverage", "draw"]

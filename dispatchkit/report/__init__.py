"""What a type covers, and how that reads."""

from __future__ import annotations

from dispatchkit.report.coverage import Coverage, Row, coverage

__all__ = ["Coverage", "Row", "coverage"]

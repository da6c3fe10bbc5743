"""What a type covers, who answers where types meet, what was called, what a graph looks like, and how that reads."""

from typing import TYPE_CHECKING

from dispatchkit.declare.namespace import make_home, names_loaded_later, starred_names

if TYPE_CHECKING:
    from dispatchkit.report.auditing.audit import audit as audit
    from dispatchkit.report.auditing.findings import Finding as Finding
    from dispatchkit.report.auditing.page import Audit as Audit
    from dispatchkit.report.auditing.pairs import Pair as Pair
    from dispatchkit.report.auditing.pairs import PairRow as PairRow
    from dispatchkit.report.auditing.which import WhichAnswer as WhichAnswer
    from dispatchkit.report.auditing.which import which as which
    from dispatchkit.report.config import show_config as show_config
    from dispatchkit.report.covering.advice import Advice as Advice
    from dispatchkit.report.covering.advice import Suggestion as Suggestion
    from dispatchkit.report.covering.coverage import Coverage as Coverage
    from dispatchkit.report.covering.coverage import CoverageSet as CoverageSet
    from dispatchkit.report.covering.coverage import MeasuredCoverage as MeasuredCoverage
    from dispatchkit.report.covering.coverage import coverage as coverage
    from dispatchkit.report.covering.rows import MeasuredRow as MeasuredRow
    from dispatchkit.report.covering.rows import Row as Row
    from dispatchkit.report.covering.rows import RuleEntry as RuleEntry
    from dispatchkit.report.graph.drawing import Drawing as Drawing
    from dispatchkit.report.graph.drawing import draw as draw
    from dispatchkit.report.record.call import TracedCall as TracedCall
    from dispatchkit.report.record.explained import FunctionExplanation as FunctionExplanation
    from dispatchkit.report.record.record import Trace as Trace
    from dispatchkit.report.record.record import record_calls as record_calls
    from dispatchkit.report.record.summary import Cause as Cause
    from dispatchkit.report.record.summary import Summary as Summary
    from dispatchkit.report.record.summary import SummaryRow as SummaryRow
    from dispatchkit.report.registered import explain as explain
    from dispatchkit.report.registered import rules as rules
    from dispatchkit.report.type_check import TypeCheck as TypeCheck
    from dispatchkit.report.type_check import check as check
else:
    # What many programs do not use loads when it is first asked for.
    _LATER = {
        "audit": "auditing.audit",
        "Finding": "auditing.findings",
        "Audit": "auditing.page",
        **dict.fromkeys(("Pair", "PairRow"), "auditing.pairs"),
        **dict.fromkeys(("WhichAnswer", "which"), "auditing.which"),
        "show_config": "config",
        **dict.fromkeys(("Advice", "Suggestion"), "covering.advice"),
        **dict.fromkeys(("Coverage", "CoverageSet", "MeasuredCoverage", "coverage"), "covering.coverage"),
        **dict.fromkeys(("MeasuredRow", "Row", "RuleEntry"), "covering.rows"),
        **dict.fromkeys(("Drawing", "draw"), "graph.drawing"),
        "TracedCall": "record.call",
        "FunctionExplanation": "record.explained",
        **dict.fromkeys(("Trace", "record_calls"), "record.record"),
        **dict.fromkeys(("Cause", "Summary", "SummaryRow"), "record.summary"),
        **dict.fromkeys(("explain", "rules"), "registered"),
        **dict.fromkeys(("TypeCheck", "check"), "type_check"),
    }

    # Not spelled `__all__ =`: type checkers then follow the imports, and a name stands in one place.
    vars()["__all__"] = sorted({*starred_names(__name__), *_LATER})
    __getattr__ = names_loaded_later(__name__, _LATER)

make_home(__name__)

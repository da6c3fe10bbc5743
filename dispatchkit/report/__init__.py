"""What a type covers, who answers where types meet, what was called, what a graph looks like, and how that reads."""

from dispatchkit import catalogue  # noqa: F401  # reports list every operation
from dispatchkit.declare.namespace import make_home, starred_names
from dispatchkit.report.audit.audit import audit as audit
from dispatchkit.report.audit.findings import Finding as Finding
from dispatchkit.report.audit.page import Audit as Audit
from dispatchkit.report.audit.pairs import Pair as Pair
from dispatchkit.report.audit.pairs import PairRow as PairRow
from dispatchkit.report.config import show_config as show_config
from dispatchkit.report.coverage.advice import Advice as Advice
from dispatchkit.report.coverage.advice import Suggestion as Suggestion
from dispatchkit.report.coverage.coverage import Coverage as Coverage
from dispatchkit.report.coverage.coverage import CoverageSet as CoverageSet
from dispatchkit.report.coverage.coverage import MeasuredCoverage as MeasuredCoverage
from dispatchkit.report.coverage.coverage import coverage as coverage
from dispatchkit.report.coverage.rows import MeasuredRow as MeasuredRow
from dispatchkit.report.coverage.rows import Row as Row
from dispatchkit.report.coverage.rows import RuleEntry as RuleEntry
from dispatchkit.report.graph.drawing import Drawing as Drawing
from dispatchkit.report.graph.drawing import draw as draw
from dispatchkit.report.record.call import TracedCall as TracedCall
from dispatchkit.report.record.record import Trace as Trace
from dispatchkit.report.record.record import record_calls as record_calls
from dispatchkit.report.record.summary import Cause as Cause
from dispatchkit.report.record.summary import Summary as Summary
from dispatchkit.report.record.summary import SummaryRow as SummaryRow
from dispatchkit.report.registered import FunctionExplanation as FunctionExplanation
from dispatchkit.report.registered import WhichAnswer as WhichAnswer
from dispatchkit.report.registered import explain as explain
from dispatchkit.report.registered import rules as rules
from dispatchkit.report.registered import which as which
from dispatchkit.report.type_check import TypeCheck as TypeCheck
from dispatchkit.report.type_check import check as check

# Not spelled `__all__ =`: type checkers then follow the imports, and a name stands in one place.
vars()["__all__"] = starred_names(__name__)

make_home(__name__)

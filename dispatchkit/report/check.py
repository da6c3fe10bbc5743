"""Everything that can be wrong with the array types and rules of a package, in one list."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from types import ModuleType
from typing import Any
from xml.etree import ElementTree as ET

from dispatchkit.errors import FieldWarning, ReplacementWarning, SignatureWarning
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.frames import place_of
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import Kind
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.prediction.tree import first_line, promise_of
from dispatchkit.protocol.rules import Rule
from dispatchkit.protocol.surface import REFLECTED
from dispatchkit.protocol.types.declaration import Conversion
from dispatchkit.report.audit.audit import audit
from dispatchkit.report.audit.findings import Finding
from dispatchkit.report.audit.page import finding_lines
from dispatchkit.report.coverage.coverage import Coverage, compare, coverage
from dispatchkit.report.coverage.rows import FAULTS, MeasuredRow
from dispatchkit.report.documents import (
    Document,
    Part,
    Reported,
    Table,
    Title,
    filled_page,
    numbered_table,
    short_location,
)
from dispatchkit.report.operations import import_named
from dispatchkit.testing.samples import TypeSample


@dataclass(frozen=True)
class Package:
    """A package that has been imported.

    Attributes
    ----------
    name : of the package or module
    types : the array types that it defines
    rules : the rules that it registers
    noticed : by the checks of `CHECKS`, what importing it found
    """

    name: str
    types: tuple[type, ...]
    rules: tuple[Rule, ...]
    noticed: Mapping[str, Sequence[str]]

    def owns(self, module: str) -> bool:
        """Return whether a module belongs to the package."""
        return module == self.name or module.startswith(f"{self.name}.")


def load_package(name: str, protocol: DispatchProtocol) -> Package:
    """Import a package with all its modules, and return what it holds.

    Raises
    ------
    ModuleNotFoundError : if there is no such package; other errors of its modules are among what is noticed
    """
    noticed: dict[str, dict[str, None]] = {check: {} for check in ("import", *NOTICED.values())}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for category in NOTICED:
            warnings.simplefilter("always", category)
        modules = list(_modules_of(name, noticed["import"]))
    for warning in (warning for warning in caught if warning.category in NOTICED):
        place = short_location(f"{warning.filename}:{warning.lineno}")
        text = str(warning.message)
        if " at " not in text:
            text = f"{text} at {place}"
        noticed[NOTICED[warning.category]][text] = None
    bare = Package(name, (), (), {})
    classes = dict.fromkeys(value for module in modules for value in vars(module).values() if isinstance(value, type))
    types = [cls for cls in classes if bare.owns(cls.__module__) and protocol.types.participates(cls)]
    rules = [rule for rule in protocol.rules() if bare.owns(getattr(rule.handler, "__module__", ""))]
    return Package(name, tuple(types), tuple(rules), {check: tuple(texts) for check, texts in noticed.items()})


def _modules_of(name: str, failures: dict[str, None]) -> Iterator[ModuleType]:
    """Yield a package and all its modules but those that are programs; note those that cannot be imported."""

    def load(module: str) -> Iterator[ModuleType]:
        try:
            yield import_named(module)
        except (Exception, SystemExit) as error:  # a module may raise anything, which is what is found
            if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
                raise
            failures[f"{module}: {first_line(error)}{place_of(error)}"] = None

    for package in load(name):
        yield package
        for module in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}.", lambda module: None):
            if module.name.rpartition(".")[2] != "__main__":
                yield from load(module.name)


# What is looked for, in the order of the reports.
CHECKS = {
    "import": "a module that cannot be imported, so that what it registers is not checked",
    "ambiguity": "two rules fit a call equally well: it raises",
    "unreachable": "a rule that no call can reach",
    "cycle": "an order of types that contradicts itself",
    "replaced": "a rule that a later one for the same types replaced",
    "signature": "a rule whose signature changes what a call means",
    "hidden": "a field that hides a method or attribute of arrays",
    "piracy": "a rule for an operation and types none of which the package owns",
    "never entered": "a rule that no sample call comes to",
    "declines": "a rule that declines whatever it is called with",
    "conversion": "a conversion that no call takes",
    "missing": "two types each have a rule, and nobody answers them together",
    "partner": "a rule for one order of two arguments that has none for the other",
    "fault": "a sample call that ends otherwise than with the dense form",
    "baseline": "what got worse since the baseline",
}
CHECKED = ("ambiguity", "unreachable", "missing", "asymmetry")  # findings of an audit
# Warnings at import.
NOTICED: dict[type[Warning], str] = {
    ReplacementWarning: "replaced",
    SignatureWarning: "signature",
    FieldWarning: "hidden",
}
COMMUTATIVE = ("__radd__", "__rmul__", "__rand__", "__ror__", "__rxor__")


@dataclass(frozen=True, repr=False)
class PackageCheck(Reported):
    """What was found in a package; prints as a list.

    Attributes
    ----------
    package : its name
    types, rules : how many it has
    findings : by the checks of `CHECKS`, each a text; those without any passed
    """

    package: str
    types: int
    rules: int
    findings: Mapping[str, Sequence[str]]

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not any(self.findings.values())

    def document(self) -> Document:
        """Return it for text, Markdown and pages."""
        counts = ", ".join(f"{len(texts)} {name}" for name, texts in self.findings.items() if texts)
        note = f"{self.types} array types and {self.rules} rules: {counts or 'nothing found'}"
        parts: list[Part] = [Title("check of", 1, [self.package], note)]
        rows = [(name, str(len(texts) or ""), CHECKS[name]) for name, texts in self.findings.items()]
        parts.append(Table(("check", "found", "what it means"), rows, right=(1,), code=()))
        for name, texts in self.findings.items():
            if texts:
                parts += [Title(f"{name} ({len(texts)})"), numbered_table(texts)]
        return Document(parts)

    def to_html(self) -> str:
        """Return a page that needs nothing else: how much each check found, and all of it."""
        parts = {"title": f"Check of {escape(self.package)}", "document": self.document().html(unfolded=True)}
        return filled_page("dispatchkit.report", parts, None, ())

    def to_junit(self) -> str:
        """Return it in JUnit's format: a test for each check, which fails with all that it found."""
        failed = sum(bool(texts) for texts in self.findings.values())
        suite = ET.Element("testsuite", name=self.package, tests=str(len(self.findings)), failures=str(failed))
        for name, texts in self.findings.items():
            case = ET.SubElement(suite, "testcase", classname=self.package, name=name)
            if texts:
                ET.SubElement(case, "failure", message=f"{len(texts)}: {CHECKS[name]}").text = "\n".join(texts)
        return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def check_package(
    package: Package,
    *,
    samples: Iterable[Any] = (),
    baseline: Mapping[str, dict[str, Any]] | None = None,
    ignored: Iterable[str] = (),
    protocol: DispatchProtocol = tensor_protocol,
) -> tuple[PackageCheck, list[Coverage]]:
    """Return what is wrong with a package, and the coverage of its types.

    Parameters
    ----------
    package : as `load_package` gives it
    samples : instances of its types; calls are made with them where there are some
    baseline : reports by type, as `read_baseline` gives them
    ignored : checks that are left out
    protocol : whose types and rules they are
    """
    instances = list(samples)
    reports = coverage_reports(package, instances, protocol)
    problems: dict[str, list[str]] = {name: [] for name in CHECKS if name not in ignored}

    def add(name: str, texts: Iterable[str]) -> None:
        if name in problems:
            problems[name] += texts

    for finding in _audit_findings(package, protocol):
        kind = finding.kind
        if finding.kind == "asymmetry":
            kind = "partner"
        add(kind, ["\n".join(finding_lines(finding))])
    for name, texts in package.noticed.items():
        add(name, texts)
    add("piracy", _piracies(package, protocol))
    add("never entered", _never_entered(package, reports, {type(sample) for sample in instances}))
    declining = filter(_always_declines, package.rules)
    add("declines", (f"{rule}: annotate it with -> NotImplementedType if that is meant" for rule in declining))
    add("conversion", _unused_conversions(package, protocol))
    for report in reports:
        faulty = (row for row in report.rows if isinstance(row, MeasuredRow) and row.bucket in FAULTS)
        add("fault", (f"{row.short_name} of {report.type}: {row.problem}" for row in faulty))
    for change in compare(reports, baseline or {}):
        add("baseline", (f"{name} of {change.type}: {what}" for name, what in change.worse))
    return PackageCheck(package.name, len(package.types), len(package.rules), problems), reports


def coverage_reports(package: Package, samples: Sequence[Any], protocol: DispatchProtocol) -> list[Coverage]:
    """Return the coverage of the types of a package: measured for those with samples, if there are any."""
    if not samples:
        return [coverage(cls, protocol=protocol) for cls in package.types]
    typed = [(sample, TypeSample(protocol, sample).cls) for sample in samples]
    with_samples = {cls for _, cls in typed}
    sampled = [cls for cls in package.types if cls in with_samples]
    its_samples = [sample for sample, cls in typed if cls in sampled]
    others = [sample for sample, cls in typed if cls not in sampled]
    measured: Iterable[Coverage] = ()
    if sampled:
        measured = coverage(sampled, samples=its_samples, companions=others, protocol=protocol)
    return [*measured, *(coverage(cls, protocol=protocol) for cls in package.types if cls not in sampled)]


def _audit_findings(package: Package, protocol: DispatchProtocol) -> Iterator[Finding]:
    """Yield the findings of an audit that are about rules of the package."""
    if not package.types:
        return
    base = []
    if protocol.types.base is not None:
        base = [protocol.types.base]
    its_locations = {rule.location for rule in package.rules}
    operators = {member.name: member.operation for member in protocol.surface if member.name in REFLECTED.values()}
    types = [*package.types, *base]
    whole = [finding for finding in audit(types, protocol=protocol).findings if finding.kind != "asymmetry"]
    partners: list[Finding] = []
    # Of numbers alone it is not known whether the other order can keep the structure: 1 / x, 2 ** x.
    for listed, names in ((types, operators), ([*package.types, float, int], COMMUTATIVE)):
        functions = [entry.function for name, entry in operators.items() if entry is not None and name in names]
        if functions:
            partners += audit(listed, operations=functions, protocol=protocol).of_kind("asymmetry")
    for finding in (*whole, *partners):
        if finding.kind == "cycle" or (finding.kind in CHECKED and not its_locations.isdisjoint(finding.locations)):
            yield finding


def _always_declines(rule: Rule) -> bool:
    """Return whether a rule returns nothing but that it declines, and does not declare it."""
    if promise_of(rule.handler).never_answers:
        return False
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(rule.handler))))
    except (OSError, TypeError, SyntaxError):  # without a source, or a part of a line
        return False
    returns = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    names = [value.func if isinstance(value, ast.Call) else value for value in returns]
    called = {getattr(name, "attr", getattr(name, "id", "")) for name in names}
    return bool(called) and called <= {"decline", "NotImplemented"}


def _unused_conversions(package: Package, protocol: DispatchProtocol) -> Iterator[str]:
    types, rules = protocol.types, protocol.rules()
    taken: set[Conversion] = set()
    for cls in package.types:
        if fallback.convert in types.fallback(cls):
            for _, target, path in protocol.conversions.reachable(cls):
                answers = target is types.base or types.takes_default(target) or types.own_method(target) is not None
                if answers or any(rule.serves(types.counts_as(target)) for rule in rules):
                    taken.update(path)
    for cls in package.types:
        for edge in protocol.conversions.of(cls):
            if edge.source is cls and edge not in taken:
                if fallback.convert in types.fallback(cls):
                    cure = f"nothing that {type_name(cls)} becomes by it has a rule"
                else:
                    cure = f"the fallback of {type_name(cls)} lacks dk.fallback.convert"
                yield f"{edge.function.__name__}({type_name(edge.source)}) -> {type_name(edge.target)}: {cure}"


def _piracies(package: Package, protocol: DispatchProtocol) -> Iterator[str]:
    for rule in package.rules:
        target = rule.target
        # A kind stands for operations of the library.
        place = "dispatchkit"
        if not isinstance(target, Kind):
            place = target.qualified_name.rpartition(".")[0]
        types = protocol.types.named_own(rule.types)
        if not package.owns(place) and not any(package.owns(cls.__module__) for cls in types):
            owners = ", ".join(dict.fromkeys(f"{type_name(cls)} of {cls.__module__}" for cls in types))
            what = target
            if not isinstance(target, Kind):
                what = target.qualified_name
            yield f"{rule} is for {what} and {owners}"


def _never_entered(package: Package, reports: Sequence[Coverage], sampled: set[type]) -> Iterator[str]:
    entered: dict[str, int] = {}
    for report in reports:
        for row in report.rows:
            for entry in row.rules:
                entered[entry.location] = entered.get(entry.location, 0) + entry.entered
    for rule in {rule.location: rule for rule in package.rules}.values():
        named = [cls for cls in rule.types if cls in package.types]
        # Without samples no call has two types of the package in it.
        if sampled:
            tried = set(named) <= sampled
        else:
            tried = len(set(named)) == 1
        if tried and entered.get(rule.location) == 0:
            if isinstance(rule.target, Kind):
                what = rule.target
            else:
                what = rule.target.qualified_name
            yield f"{rule}: no sample call of {what} comes to it"

"""Everything that can be wrong with the array types and rules of a package, in one list."""

from __future__ import annotations

import pkgutil
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any
from xml.etree import ElementTree as ET

from dispatchkit.errors import ReplacementWarning
from dispatchkit.protocol.callers import REFLECTED
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.handlers import Rule, type_name
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import Kind
from dispatchkit.report.audit.audit import audit
from dispatchkit.report.audit.findings import Finding
from dispatchkit.report.audit.page import finding_lines
from dispatchkit.report.coverage.coverage import Coverage, compare, coverage
from dispatchkit.report.coverage.rows import FAULTS, MeasuredRow
from dispatchkit.report.documents import Document, Part, Reported, Table, Title, numbered_table
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
    replaced : what was said of rules that replaced those of another module
    """

    name: str
    types: tuple[type, ...]
    rules: tuple[Rule, ...]
    replaced: tuple[str, ...]

    def owns(self, module: str) -> bool:
        """Return whether a module belongs to the package."""
        return module == self.name or module.startswith(f"{self.name}.")


def load_package(name: str, protocol: DispatchProtocol) -> Package:
    """Import a package with all its modules, and return what it holds.

    Raises
    ------
    ImportError : if it, or a module of it, cannot be imported
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ReplacementWarning)
        modules = list(_modules_of(name))
    bare = Package(name, (), (), ())
    types: dict[type, None] = {}
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, type) and bare.owns(value.__module__) and protocol.types.participates(value):
                types[value] = None
    rules = [rule for rule in protocol.rules() if bare.owns(getattr(rule.handler, "__module__", ""))]
    replaced = dict.fromkeys(str(warning.message) for warning in caught if warning.category is ReplacementWarning)
    return Package(name, tuple(types), tuple(rules), tuple(replaced))


def _modules_of(name: str) -> Iterator[object]:
    """Yield a package and all its modules but those that are programs."""
    package = import_named(name)
    yield package
    for module in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}."):
        if module.name.rpartition(".")[2] != "__main__":
            yield import_named(module.name)


# What is looked for, in the order of the reports.
CHECKS = {
    "ambiguity": "two rules fit a call equally well: it raises",
    "unreachable": "a rule that no call can reach",
    "cycle": "an order of types that contradicts itself where it decides who answers",
    "replaced": "a rule that one of another module replaced: the order of imports decides",
    "piracy": "a rule for an operation and types none of which the package owns",
    "never entered": "a rule that no sample call comes to",
    "missing": "two types each have a rule, and nobody answers them together",
    "partner": "a rule for one order of two arguments that has none for the other",
    "fault": "a sample call that ends otherwise than with the dense form",
    "baseline": "what got worse since the baseline",
}
CHECKED = ("ambiguity", "unreachable", "missing", "asymmetry")  # findings of an audit


@dataclass(frozen=True, repr=False)
class Check(Reported):
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
            parts += [Title(name), numbered_table(texts)] if texts else []
        return Document(parts)

    def _repr_html_(self) -> str:
        return self.document().html()

    def to_html(self) -> str:
        """Return a page that needs nothing else."""
        title = f"<title>Check of {escape(self.package)}</title>"
        head = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{title}'
        scale = '<meta name="viewport" content="width=device-width, initial-scale=1">'
        return f'{head}{scale}</head><body style="margin:0">{self.document().html()}</body></html>\n'

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
) -> tuple[Check, list[Coverage]]:
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
        add("partner" if finding.kind == "asymmetry" else finding.kind, ["\n".join(finding_lines(finding))])
    add("replaced", package.replaced)
    add("piracy", _piracies(package, protocol))
    add("never entered", _never_entered(package, reports, {type(sample) for sample in instances}))
    for report in reports:
        faulty = (row for row in report.rows if isinstance(row, MeasuredRow) and row.bucket in FAULTS)
        add("fault", (f"{row.short_name} of {report.type}: {row.problem}" for row in faulty))
    for change in compare(reports, baseline or {}):
        add("baseline", (f"{name} of {change.type}: {what}" for name, what in change.worse))
    return Check(package.name, len(package.types), len(package.rules), problems), reports


def coverage_reports(package: Package, samples: Sequence[Any], protocol: DispatchProtocol) -> list[Coverage]:
    """Return the coverage of the types of a package: measured for those with samples, if there are any."""
    if not samples:
        return [coverage(cls, protocol=protocol) for cls in package.types]
    typed = [(sample, TypeSample(protocol, sample).cls) for sample in samples]
    sampled = [cls for cls in package.types if any(cls is of for _, of in typed)]
    its_samples = [sample for sample, cls in typed if cls in sampled]
    others = [sample for sample, cls in typed if cls not in sampled]
    measured = (
        coverage(sampled, samples=its_samples, companions=others, protocol=protocol, progress=True) if sampled else ()
    )
    return [*measured, *(coverage(cls, protocol=protocol) for cls in package.types if cls not in sampled)]


def _audit_findings(package: Package, protocol: DispatchProtocol) -> Iterator[Finding]:
    """Yield the findings of an audit that are about rules of the package."""
    if not package.types:
        return
    base = [] if protocol.types.base is None else [protocol.types.base]
    its_locations = {rule.location for rule in package.rules}
    operators = [member.operation for member in protocol.surface if member.name in REFLECTED.values()]
    types = [*package.types, *base]
    whole = [finding for finding in audit(types, protocol=protocol).findings if finding.kind != "asymmetry"]
    partners = audit(
        types, operations=[operation.function for operation in operators if operation is not None], protocol=protocol
    )
    for finding in (*whole, *(finding for finding in partners.findings if finding.kind == "asymmetry")):
        if finding.kind == "cycle" or (finding.kind in CHECKED and not its_locations.isdisjoint(finding.locations)):
            yield finding


def _piracies(package: Package, protocol: DispatchProtocol) -> Iterator[str]:
    for rule in package.rules:
        target = rule.target
        # A kind stands for operations of the library.
        place = "dispatchkit" if isinstance(target, Kind) else target.qualified_name.rpartition(".")[0]
        types = protocol.types.named_own(rule.types)
        if not package.owns(place) and not any(package.owns(cls.__module__) for cls in types):
            owners = ", ".join(dict.fromkeys(f"{type_name(cls)} of {cls.__module__}" for cls in types))
            what = target if isinstance(target, Kind) else target.qualified_name
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
        tried = set(named) <= sampled if sampled else len(set(named)) == 1
        if tried and entered.get(rule.location) == 0:
            what = rule.target if isinstance(rule.target, Kind) else rule.target.qualified_name
            yield f"{rule}: no sample call of {what} comes to it"

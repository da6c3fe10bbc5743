"""Everything that can be wrong with the array types and rules of a package, in one list."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from types import ModuleType
from typing import Any

from dispatchkit.errors import FieldWarning, ReplacementWarning, SignatureWarning
from dispatchkit.protocol.engine import DispatchProtocol, made_protocols, protocols_of
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.frames import place_of
from dispatchkit.protocol.kinds import Kind
from dispatchkit.protocol.naming import location_of, type_name
from dispatchkit.protocol.prediction.tree import first_line, promise_of
from dispatchkit.protocol.rules import Rule
from dispatchkit.protocol.surface import REFLECTED
from dispatchkit.protocol.types.declaration import Conversion
from dispatchkit.report.auditing.audit import audit
from dispatchkit.report.auditing.findings import Finding
from dispatchkit.report.auditing.page import finding_lines
from dispatchkit.report.builds import junit, sarif, workflow_commands
from dispatchkit.report.covering.coverage import Coverage, compare, coverage
from dispatchkit.report.covering.rows import FAULTS, MeasuredRow
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
from dispatchkit.signatures import module_of
from dispatchkit.testing.samples import TypeSample
from dispatchkit.wording import plural


@dataclass(frozen=True)
class PackageFinding:
    """Something that is wrong with a package.

    Attributes
    ----------
    check : one of `CHECKS`
    text : what is found, and what would mend it
    location : file and line that it is about, "" where none is known
    """

    check: str
    text: str
    location: str = ""


@dataclass(frozen=True)
class PackagePart:
    """What a package has of one protocol.

    Attributes
    ----------
    protocol : of the types and rules
    types : the array types that it defines
    rules : the rules that it registers
    """

    protocol: DispatchProtocol
    types: tuple[type, ...]
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Package:
    """A package that has been imported.

    Attributes
    ----------
    name : of the package or module
    file : its own, "" where it has none
    parts : one for each protocol of which it has types or rules
    noticed : what importing it found
    """

    name: str
    file: str
    parts: tuple[PackagePart, ...] = ()
    noticed: tuple[PackageFinding, ...] = ()

    def owns(self, module: str) -> bool:
        """Return whether a module belongs to the package."""
        return module == self.name or module.startswith(f"{self.name}.")


def load_package(name: str, *protocols: DispatchProtocol) -> Package:
    """Import a package with all its modules, and return what it holds.

    Parameters
    ----------
    name : of the package or module
    *protocols : whose types and rules it may hold; by default all of which it holds some

    Raises
    ------
    ModuleNotFoundError : if there is no such package; other errors of its modules are among what is noticed
    ValueError : if it has no array type and no rule, so that there is nothing to check
    """
    noticed: list[PackageFinding] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for category in NOTICED:
            warnings.simplefilter("always", category)
        modules = list(_modules_of(name, noticed))
    for warning in (warning for warning in caught if warning.category in NOTICED):
        location = f"{warning.filename}:{warning.lineno}"
        text = str(warning.message)
        if " at " not in text:
            text = f"{text} at {short_location(location)}"
        noticed.append(PackageFinding(NOTICED[warning.category], text, location))
    file = ""
    if modules:
        file = getattr(modules[0], "__file__", None) or ""
    bare = Package(name, file)
    classes = dict.fromkeys(value for module in modules for value in vars(module).values() if isinstance(value, type))
    own = [cls for cls in classes if bare.owns(cls.__module__)]
    by_type = {cls: protocols or protocols_of(cls) for cls in own}
    parts = []
    for protocol in protocols or made_protocols():
        its_types = [cls for cls in own if protocol in by_type[cls]]
        parts.append(_part_of(bare, protocol, its_types))
    found = tuple(part for part in parts if part.types or part.rules)
    if not found and not noticed:
        methods = ""
        if protocols:
            methods = f" of {', '.join(protocol.method for protocol in protocols)}"
        raise ValueError(
            f"{name} has no array type and no rule{methods}, so there is nothing to check; name a package that has "
            f"some, or their protocol as --protocol package.module:name"
        )
    return Package(name, file, found, tuple(dict.fromkeys(noticed)))


def _part_of(package: Package, protocol: DispatchProtocol, classes: Iterable[type]) -> PackagePart:
    types = tuple(cls for cls in classes if protocol.types.participates(cls))
    return PackagePart(protocol, types, tuple(r for r in protocol.rules() if package.owns(module_of(r.handler))))


def _modules_of(name: str, noticed: list[PackageFinding]) -> Iterator[ModuleType]:
    """Yield a package and all its modules but those that are programs; note those that cannot be imported."""

    def load(module: str) -> Iterator[ModuleType]:
        try:
            yield import_named(module)
        except (Exception, SystemExit) as error:  # a module may raise anything, which is what is found
            if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
                raise
            location = place_of(error).removeprefix(" at ")
            if isinstance(error, SyntaxError) and error.filename:
                location = f"{error.filename}:{error.lineno or 1}"
            noticed.append(PackageFinding("import", f"{module}: {first_line(error)}{place_of(error)}", location))

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


@dataclass(frozen=True, repr=False)
class PackageCheck(Reported):
    """What was found in a package; prints as a list.

    Attributes
    ----------
    package : its name
    types, rules : how many it has
    checks : of `CHECKS`, which were made
    found : what these found, in the order of the checks
    """

    package: str
    types: int
    rules: int
    checks: tuple[str, ...]
    found: tuple[PackageFinding, ...]

    @property
    def findings(self) -> dict[str, list[str]]:
        """The texts of what each of the checks found; those without any passed."""
        texts: dict[str, list[str]] = {check: [] for check in self.checks}
        for each in self.found:
            texts[each.check].append(each.text)
        return texts

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.found

    @property
    def headline(self) -> str:
        """How much was looked at, and how much each check found, in a line."""
        counts = ", ".join(f"{len(texts)} {name}" for name, texts in self.findings.items() if texts)
        types = f"{self.types} array {plural('type', self.types)}"
        return f"{types} and {self.rules} {plural('rule', self.rules)}: {counts or 'nothing found'}"

    def document(self) -> Document:
        """Return it for text, Markdown and pages."""
        parts: list[Part] = [Title("check of", 1, [self.package], self.headline)]
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
        return junit(self.package, self.findings, CHECKS)

    def to_sarif(self) -> str:
        """Return it in SARIF's format 2.1.0: a result for each finding, at its file and line."""
        return sarif([(each.check, each.text, each.location) for each in self.found], CHECKS)

    def to_github(self) -> str:
        """Return it as commands of GitHub's workflows, which show each finding at its file and line; and how many."""
        found = [(f"dispatchkit: {each.check}", each.text, each.location) for each in self.found]
        return workflow_commands(found) + f"check of {self.package}: {self.headline}\n"


def check_package(
    package: Package,
    *,
    samples: Iterable[Any] = (),
    baseline: Mapping[str, dict[str, Any]] | None = None,
    ignored: Iterable[str] = (),
) -> tuple[PackageCheck, list[Coverage]]:
    """Return what is wrong with a package, and the coverage of its types.

    Parameters
    ----------
    package : as `load_package` gives it
    samples : instances of its types; calls are made with them where there are some
    baseline : reports by type, as `read_baseline` gives them
    ignored : checks that are left out
    """
    instances = list(samples)
    checks = tuple(name for name in CHECKS if name not in ignored)
    found = list(package.noticed)
    reports: list[Coverage] = []
    for part in package.parts:
        its_samples = instances
        if part.protocol.types.base is None:
            its_samples = []  # without plain arrays there is nothing to compare calls with
        its_reports = coverage_reports(part, its_samples)
        reports += its_reports
        found += _findings_of(package, part, its_reports, {type(sample) for sample in its_samples})
    types_by_name = {type_name(cls): cls for part in package.parts for cls in part.types}
    for change in compare(reports, baseline or {}):
        location = _location_of_type(types_by_name.get(change.type))
        for name, what in change.worse:
            found.append(PackageFinding("baseline", f"{name} of {change.type}: {what}", location))
    placed = [replace(each, location=each.location or f"{package.file}:1") for each in found if each.check in checks]
    placed.sort(key=lambda each: checks.index(each.check))
    types = sum(len(part.types) for part in package.parts)
    rules = sum(len(part.rules) for part in package.parts)
    return PackageCheck(package.name, types, rules, checks, tuple(placed)), reports


def _findings_of(
    package: Package, part: PackagePart, reports: Sequence[Coverage], sampled: set[type]
) -> Iterator[PackageFinding]:
    """Yield what is found of the types and rules of one protocol."""
    its_locations = {rule.location for rule in part.rules}
    for finding in _audit_findings(part):
        kind = finding.kind
        lines = finding_lines(finding)
        if finding.kind == "asymmetry":
            kind = "partner"
            commutes = [part.protocol.operations[name].commutative for name in finding.operations]
            if commutes and all(commutes):
                lines = [*lines, "one rule serves both orders if it is registered with commutative=True"]
        location = next((place for place in finding.locations if place in its_locations), "")
        yield PackageFinding(kind, "\n".join(lines), location)
    yield from _piracies(package, part)
    yield from _never_entered(part, reports, sampled)
    for rule in filter(_always_declines, part.rules):
        text = f"{rule}: annotate it with -> NotImplementedType if that is meant"
        yield PackageFinding("declines", text, rule.location)
    yield from _unused_conversions(part)
    places = {type_name(cls): _location_of_type(cls) for cls in part.types}
    for report in reports:
        for row in report.rows:
            if isinstance(row, MeasuredRow) and row.bucket in FAULTS:
                text = f"{row.short_name} of {report.type}: {row.problem}"
                yield PackageFinding("fault", text, row.location or places.get(report.type, ""))


def _location_of_type(cls: type | None) -> str:
    """Return file and line of a class, "" where it has no source."""
    if cls is None:
        return ""
    try:
        return f"{inspect.getsourcefile(cls)}:{inspect.getsourcelines(cls)[1]}"
    except (OSError, TypeError):
        return ""


def coverage_reports(part: PackagePart, samples: Sequence[Any]) -> list[Coverage]:
    """Return the coverage of types of a package: measured for those with samples, if there are any."""
    protocol = part.protocol
    if not samples:
        return [coverage(cls, protocol=protocol) for cls in part.types]
    typed = [(sample, TypeSample(protocol, sample).cls) for sample in samples]
    with_samples = {cls for _, cls in typed}
    sampled = [cls for cls in part.types if cls in with_samples]
    its_samples = [sample for sample, cls in typed if cls in sampled]
    others = [sample for sample, cls in typed if cls not in sampled]
    measured: Iterable[Coverage] = ()
    if sampled:
        measured = coverage(sampled, samples=its_samples, companions=others, protocol=protocol)
    return [*measured, *(coverage(cls, protocol=protocol) for cls in part.types if cls not in sampled)]


def _audit_findings(part: PackagePart) -> Iterator[Finding]:
    """Yield the findings of an audit that are about rules of the part."""
    protocol = part.protocol
    if not part.types:
        return
    base = []
    if protocol.types.base is not None:
        base = [protocol.types.base]
    its_locations = {rule.location for rule in part.rules}
    members = [member.operation for member in protocol.surface if member.name in REFLECTED.values()]
    operators = [entry for entry in members if entry is not None]
    types = [*part.types, *base]
    whole = [finding for finding in audit(types, protocol=protocol).findings if finding.kind != "asymmetry"]
    partners: list[Finding] = []
    # Of numbers alone it is not known whether the other order can keep the structure: 1 / x, 2 ** x.
    commutative = [entry for entry in operators if entry.commutative]
    for listed, asked in ((types, operators), ([*part.types, float, int], commutative)):
        functions = [entry.function for entry in asked]
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


def _unused_conversions(part: PackagePart) -> Iterator[PackageFinding]:
    protocol = part.protocol
    types, rules = protocol.types, protocol.rules()
    taken: set[Conversion] = set()
    for cls in part.types:
        if fallback.convert in types.fallback(cls):
            for _, target, path in protocol.conversions.reachable(cls):
                answers = target is types.base or types.takes_default(target) or types.own_method(target) is not None
                if answers or any(rule.serves(types.counts_as(target)) for rule in rules):
                    taken.update(path)
    for cls in part.types:
        for edge in protocol.conversions.of(cls):
            if edge.source is cls and edge not in taken:
                if fallback.convert in types.fallback(cls):
                    cure = f"nothing that {type_name(cls)} becomes by it has a rule"
                else:
                    cure = f"the fallback of {type_name(cls)} lacks dk.fallback.convert"
                text = f"{edge.function.__name__}({type_name(edge.source)}) -> {type_name(edge.target)}: {cure}"
                yield PackageFinding("conversion", text, location_of(edge.function))


def _piracies(package: Package, part: PackagePart) -> Iterator[PackageFinding]:
    for rule in part.rules:
        target = rule.target
        # A kind stands for operations of the library.
        place = "dispatchkit"
        if not isinstance(target, Kind):
            place = target.qualified_name.rpartition(".")[0]
        types = part.protocol.types.named_own(rule.types)
        if not package.owns(place) and not any(package.owns(cls.__module__) for cls in types):
            owners = ", ".join(dict.fromkeys(f"{type_name(cls)} of {cls.__module__}" for cls in types))
            what = target
            if not isinstance(target, Kind):
                what = target.qualified_name
            yield PackageFinding("piracy", f"{rule} is for {what} and {owners}", rule.location)


def _never_entered(part: PackagePart, reports: Sequence[Coverage], sampled: set[type]) -> Iterator[PackageFinding]:
    entered: dict[str, int] = {}
    for report in reports:
        for row in report.rows:
            for entry in row.rules:
                entered[entry.location] = entered.get(entry.location, 0) + entry.entered
    for rule in {rule.location: rule for rule in part.rules}.values():
        named = [cls for cls in rule.types if cls in part.types]
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
            yield PackageFinding("never entered", f"{rule}: no sample call of {what} comes to it", rule.location)

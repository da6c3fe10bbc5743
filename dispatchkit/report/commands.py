"""What the command line runs: a table of commands with their options, and how their words name types."""

from __future__ import annotations

import argparse
import json
import runpy
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

from dispatchkit.progress import set_progress
from dispatchkit.protocol.engine import DispatchProtocol, protocols_of
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.naming import type_name
from dispatchkit.report.auditing.audit import audit
from dispatchkit.report.auditing.findings import KINDS
from dispatchkit.report.covering.coverage import Coverage, compare, coverage, read_baseline
from dispatchkit.report.documents import Reported
from dispatchkit.report.operations import import_named
from dispatchkit.report.package_check import CHECKS, check_package, load_package
from dispatchkit.report.type_check import check
from dispatchkit.testing.samples import TypeSample
from dispatchkit.wording import nearest

ERRORS = (ImportError, AttributeError, TypeError, ValueError, KeyError, OSError)


@dataclass(frozen=True)
class Command:
    """A word after ``python -m dispatchkit``.

    Attributes
    ----------
    name, help : the word, and what it does
    example : a command line, for the help
    options : by their names what argparse is given of them
    work : does it, writes files, prints, and returns the exit status; what it raises of `ERRORS` is printed as a line
    """

    name: str
    help: str
    example: str
    work: Callable[[argparse.Namespace], int]
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def run(self, options: argparse.Namespace) -> int:
        """Run it; return the exit status, 2 where it cannot be done."""
        try:
            with set_progress(getattr(options, "progress", None)):
                status = self.work(options)
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except ERRORS as error:
            if isinstance(error, KeyError):
                text = str(error.args[0])
            else:
                text = str(error)
            if not text.startswith(f"{self.name}:"):
                text = f"{self.name}: {text}"
            print_error(text)
            return 2
        return status


def print_error(line: str) -> None:
    """Print a line on standard error."""
    sys.stderr.write(line + "\n")


def print_report(report: Reported, form: str) -> None:
    """Print a report as text that fits the terminal, or in another of its forms."""
    if form == "text":
        text = report.document().text(get_terminal_size().columns)
    else:
        text = getattr(report, f"to_{form}")()
    sys.stdout.write(text.rstrip("\n") + "\n")


def check_folders(*paths: str | None) -> None:
    """Raise where a file is to be written into a folder that is not there; before any work is done for it.

    Raises
    ------
    FileNotFoundError : naming the folder
    """
    for path in filter(None, paths):
        folder = Path(path).parent
        if not folder.is_dir():
            raise FileNotFoundError(f"cannot write {path}: there is no folder {folder}")


def write_files(*texts: tuple[str | None, Callable[[], str]]) -> None:
    """Write texts to the files that are asked for."""
    for path, make in texts:
        if path:
            Path(path).write_text(make(), encoding="utf-8")


def names_among(known: Collection[str], what: str, least: int = 0) -> Callable[[str], tuple[str, ...]]:
    """Return what reads names from a word, between commas."""

    def names_in(text: str) -> tuple[str, ...]:
        names = tuple(filter(None, (part.strip() for part in text.split(","))))
        unknown = [name for name in names if name not in known]
        if unknown or len(names) < least:
            wrong = ", ".join(unknown) or repr(text)
            raise argparse.ArgumentTypeError(f"{wrong} is no {what}; {what}s are {', '.join(known)}")
        return names

    return names_in


def load(path: str, what: str = "object") -> Any:
    """Return what stands at ``package.module:name``; modules are also looked for in the current directory.

    Parameters
    ----------
    path : as above
    what : the kind of thing it is to be, for the message

    Raises
    ------
    ValueError : if the path names a module alone
    ImportError, AttributeError : if there is nothing
    """
    module_name, _, name = path.partition(":")
    if not name:
        raise ValueError(f"{path!r} names no {what}; write it as package.module:{what.capitalize()}")
    target: object = import_named(module_name)
    for part in name.split("."):
        try:
            target = getattr(target, part)
        except AttributeError as error:
            close = nearest(part, dir(target))
            if close:
                text = f"{error}; did you mean {close[0]}?"
            else:
                text = str(error)
            raise AttributeError(text) from None
    return target


def load_type(path: str) -> type:
    """Return the type at ``package.module:Type``.

    Raises
    ------
    TypeError : if something else stands there
    """
    target = load(path, "type")
    if not isinstance(target, type):
        raise TypeError(f"{path!r} is no type but {target!r}")
    return target


def load_protocol(path: str) -> DispatchProtocol:
    """Return the protocol at ``package.module:name``.

    Raises
    ------
    TypeError : if something else stands there
    """
    target = load(path, "protocol")
    if not isinstance(target, DispatchProtocol):
        raise TypeError(f"{path!r} is no DispatchProtocol but {target!r}")
    return target


def protocol_for(path: str | None, types: Sequence[type]) -> DispatchProtocol:
    """Return the protocol that is named, else the one in which all types take part.

    Raises
    ------
    TypeError : if there are several such, and dispatchkit's own is none of them
    """
    if path is not None:
        return load_protocol(path)
    common = [protocol for protocol in protocols_of(types[0]) if all(map(protocol.types.participates, types))]
    if tensor_protocol in common or not common:
        return tensor_protocol
    if len(common) > 1:
        listed, names = " and ".join(each.method for each in common), ", ".join(map(type_name, types))
        raise TypeError(f"{names} take part in {listed}; name one as --protocol package.module:name")
    return common[0]


def samples_from(path: str | None) -> list[Any]:
    """Return the samples that the function at ``package.module:function`` gives; none where there is no path."""
    if path is None:
        return []
    return list(load(path, "function")())


def baseline_from(path: str | None, option: str) -> dict[str, dict[str, Any]]:
    """Return the reports of a file by type; none where there is no path.

    Raises
    ------
    FileNotFoundError : if there is no such file
    ValueError : if it holds no report
    """
    if path is None:
        return {}
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no baseline {path}; make it with the same command and {option} {path}")
    try:
        return read_baseline(Path(path).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"the baseline {path} is no JSON: {error}") from None


def _run_audit(options: argparse.Namespace) -> int:
    check_folders(options.html, options.json)
    types = [load_type(path) for path in options.types]
    protocol = protocol_for(options.protocol, types)
    base = []
    if protocol.types.base is not None:
        base = [protocol.types.base]
    names = None
    if options.operations is not None:
        names = [part.strip() for part in options.operations.split(",")]
    report = audit([*types, *base], operations=names, protocol=protocol)
    write_files((options.html, report.to_html), (options.json, lambda: report.to_json() + "\n"))
    print_report(report, options.format)
    failed = {kind: count for kind, count in report.totals.items() if count and kind in options.fail_on}
    if failed:
        print_error(f"audit: found {', '.join(f'{count} {kind}' for kind, count in failed.items())}")
    return int(bool(failed))


def _run_check(options: argparse.Namespace) -> int:
    check_folders(options.record, options.junit, options.sarif, options.html)
    if ":" in options.package:
        return _run_check_of_types(options)
    baseline = baseline_from(options.baseline, "--record")
    protocols = [load_protocol(options.protocol)] if options.protocol else []
    package = load_package(options.package, *protocols)
    samples = samples_from(options.samples)
    report, reports = check_package(package, samples=samples, baseline=baseline, ignored=options.ignore)
    write_files(
        (options.record, lambda: json.dumps({"types": [entry.data() for entry in reports]}, indent=1) + "\n"),
        (options.junit, report.to_junit),
        (options.sarif, report.to_sarif),
        (options.html, report.to_html),
    )
    print_report(report, options.format)
    return int(not report.passed)


def _run_check_of_types(options: argparse.Namespace) -> int:
    """Check the types at ``package.module:Type``, with commas between several.

    Raises
    ------
    ValueError : for options that are about a whole package
    """
    whole = ("record", "junit", "sarif", "html", "baseline", "ignore", "protocol")
    wrong = [name for name in whole if getattr(options, name)]
    if wrong or options.format not in ("text", "markdown"):
        named = ", ".join(f"--{name}" for name in wrong) or f"--format {options.format}"
        raise ValueError(f"{named} is for a check of a whole package, not for {options.package}")
    types = [load_type(path) for path in options.package.split(",")]
    report = check(*types, samples=samples_from(options.samples))
    print_report(report, options.format)
    return int(not report.passed)


def _run_coverage(options: argparse.Namespace) -> int:
    check_folders(options.html, options.json, options.markdown)
    baseline = baseline_from(options.baseline, "--json")
    types = [load_type(path) for path in options.types]
    protocol = protocol_for(options.protocol, types)
    samples: dict[str, Any] = {}
    if options.samples is not None:
        samples = {"samples": [], "companions": []}
        for sample in samples_from(options.samples):
            is_own = TypeSample(protocol, sample).cls in types
            option = "companions"
            if is_own:
                option = "samples"
            samples[option].append(sample)
    chosen: Any = types
    if len(types) == 1:
        chosen = types[0]
    report = coverage(chosen, protocol=protocol, **samples)
    if isinstance(report, Coverage):
        reports = [report]
    else:
        reports = list(report)
    changes = compare(reports, baseline)
    write_files((options.html, report.to_html), (options.json, report.to_json), (options.markdown, report.to_markdown))
    if options.markdown == "":
        form = "markdown"
    else:
        form = options.format
    print_report(report, form)
    failed = any(change.worse for change in changes)
    for line in (line for change in changes for line in change.lines(options.baseline)):
        print_error(line)
    for type_report in reports:
        if options.fail_under is not None and type_report.gated_percent < options.fail_under:
            name = ""
            if len(reports) != 1:
                name = f"{type_report.type}: "
            kept = f"{type_report.gated_percent:g} % of the calls keep the structure"
            print_error(f"coverage: {name}{kept}, which is under {options.fail_under:g} %")
            failed = True
    return int(failed)


def _run_tour(options: argparse.Namespace) -> int:
    runpy.run_module("dispatchkit.tour", run_name="__main__")
    return 0


def _file(text: str, **more: Any) -> dict[str, Any]:
    return {"metavar": "FILE", "help": text, **more}


def _format(*forms: str) -> dict[str, Any]:
    return {"choices": ("text", *forms), "default": "text", "help": "what is printed"}


PROGRESS = {
    "action": argparse.BooleanOptionalAction,
    "help": "show how far it is, or do not; by default on a terminal, after two seconds",
}


def _protocol() -> dict[str, Any]:
    text = "the protocol, where it is not dispatchkit's own and the types do not say which"
    return {"metavar": "package.module:name", "help": text}


def _samples(text: str) -> dict[str, Any]:
    return {"metavar": "package.module:function", "help": f"a function without arguments that returns {text}"}


COMMANDS = (
    Command(
        "tour",
        "a custom type in a ridge regression on real data, start to finish",
        "dispatchkit tour",
        _run_tour,
    ),
    Command(
        "coverage",
        "what types cover",
        "dispatchkit coverage dispatchkit.types:ScalarTensor --html out.html",
        _run_coverage,
        {
            "types": {"nargs": "+", "metavar": "package.module:Type", "help": "the types"},
            "--samples": _samples(
                "instances of the types: every function is then called with them, and with instances of further types "
                "among its other arrays"
            ),
            "--protocol": _protocol(),
            "--format": _format("markdown", "json"),
            "--html": _file("write a page with a heat map of types by functions"),
            "--json": _file("write the report as JSON, also for --baseline"),
            "--markdown": _file("write the report as Markdown; without FILE print it", nargs="?", const=""),
            "--fail-under": {
                "type": float,
                "metavar": "PERCENT",
                "help": "exit with 1 if the first number of the headline is smaller",
            },
            "--baseline": _file(
                "exit with 1 if calls, results or keywords got worse than in this file, made with --json"
            ),
            "--progress": PROGRESS,
        },
    ),
    Command(
        "audit",
        "who answers each pair of types, and mistakes in their rules",
        "dispatchkit audit dispatchkit.types:ScalarTensor dispatchkit.types:MetadataTensor --fail-on ambiguity",
        _run_audit,
        {
            "types": {"nargs": "+", "metavar": "package.module:Type", "help": "the types; plain Tensor is one anyway"},
            "--protocol": _protocol(),
            "--operations": {"metavar": "NAME,...", "help": "the operations that are called; all by default"},
            "--format": _format("json", "markdown"),
            "--html": _file("write a page on which the pairs open to their calls"),
            "--json": _file("write the audit as JSON"),
            "--fail-on": {
                "metavar": "KIND,...",
                "type": names_among(KINDS, "kind", least=1),
                "default": (),
                "help": f"exit with 1 if there are findings of these kinds: {', '.join(KINDS)}",
            },
            "--progress": PROGRESS,
        },
    ),
    Command(
        "check",
        "mistakes in the types and rules of a package",
        "dispatchkit check my_package --samples my_package.testing:samples --junit check.xml",
        _run_check,
        {
            "package": {
                "help": "a package or module, all of whose modules are imported; or types as package.module:Type, with "
                "commas between several: their laws, coverage and audit"
            },
            "--samples": _samples("instances of its types: calls are then made and compared"),
            "--protocol": {
                "metavar": "package.module:name",
                "help": "the protocol whose types and rules are checked; by default all of which the package has some",
            },
            "--ignore": {
                "metavar": "CHECK,...",
                "type": names_among(CHECKS, "check"),
                "default": (),
                "help": f"of {', '.join(CHECKS)}",
            },
            "--baseline": _file("also find what got worse than in this file"),
            "--record": _file("write the coverage of its types, for --baseline"),
            "--format": _format("markdown", "junit", "sarif", "github"),
            "--junit": _file("write the findings in JUnit's format"),
            "--sarif": _file("write the findings in SARIF's format, each with file and line"),
            "--html": _file("write the findings as a page"),
            "--progress": PROGRESS,
        },
    ),
)

"""What the command line runs, and how it finds what its words name."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.report.audit.audit import Audit, audit
from dispatchkit.report.audit.findings import KINDS
from dispatchkit.report.check import CHECKS, check_package, load_package
from dispatchkit.report.coverage.coverage import Coverage, CoverageSet, compare, coverage, read_baseline
from dispatchkit.report.coverage.measure import TypeSample
from dispatchkit.report.documents import show
from dispatchkit.report.operations import import_named


@dataclass(frozen=True)
class Command:
    """A word after ``python -m dispatchkit``.

    Attributes
    ----------
    name, help : the word, and what it does
    configure : adds its options to a parser
    run : does it, and returns the exit status
    example : a command line, for the help
    """

    name: str
    help: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    example: str = ""


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
    found: object = import_named(module_name)
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            close = get_close_matches(part, dir(found), n=1)
            raise AttributeError(f"{error}; did you mean {close[0]}?" if close else str(error)) from None
    return found


def load_type(path: str) -> type:
    """Return the type at ``package.module:Type``.

    Raises
    ------
    TypeError : if something else stands there
    """
    found = load(path, "type")
    if not isinstance(found, type):
        raise TypeError(f"{path!r} is no type but {found!r}")
    return found


def _configure_audit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("types", nargs="+", metavar="package.module:Type", help="the types; plain Tensor is one anyway")
    parser.add_argument("--operations", metavar="NAME,...", help="the operations that are called; all by default")
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text", help="what is printed")
    parser.add_argument("--svg", metavar="FILE", help="write the picture of the pairs")
    parser.add_argument("--html", metavar="FILE", help="write a page on which the pairs open to their calls")
    parser.add_argument("--json", metavar="FILE", help="write the audit as JSON")
    parser.add_argument(
        "--fail-on",
        metavar="KIND,...",
        type=_kinds,
        default=(),
        help=f"exit with 1 if there are findings of these kinds: {', '.join(KINDS)}",
    )


def _kinds(text: str) -> tuple[str, ...]:
    kinds = tuple(filter(None, (part.strip() for part in text.split(","))))
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown) or text!r} is no kind; kinds are {', '.join(KINDS)}")
    return kinds


def _run_audit(options: argparse.Namespace) -> int:
    try:
        types = [load_type(path) for path in options.types]
        base = [] if tensor_protocol.types.base is None else [tensor_protocol.types.base]
        names = None if options.operations is None else [part.strip() for part in options.operations.split(",")]
        report = audit([*types, *base], operations=names)
        for path in filter(None, (options.svg, options.html)):
            report.save(path)
        if options.json:
            Path(options.json).write_text(report.to_json() + "\n", encoding="utf-8")
    except (ImportError, AttributeError, TypeError, ValueError, KeyError, OSError) as error:
        text = str(error.args[0]) if isinstance(error, KeyError) else str(error)
        sys.stderr.write(f"{text}\n" if text.startswith("audit:") else f"audit: {text}\n")
        return 2
    sys.stdout.write(_text(report, options.format).rstrip("\n") + "\n")
    sys.stdout.flush()
    failed = {kind: count for kind, count in report.totals.items() if count and kind in options.fail_on}
    if failed:
        counts = ", ".join(f"{count} {kind}" for kind, count in failed.items())
        sys.stderr.write(f"audit: found {counts}\n")
    return int(bool(failed))


def _text(report: Audit, form: str) -> str:
    if form == "json":
        return report.to_json()
    return report.to_markdown() if form == "markdown" else str(report)


AUDIT = Command(
    "audit",
    "who answers each pair of types, and mistakes in their rules",
    _configure_audit,
    _run_audit,
    "dispatchkit audit dispatchkit.types:ScalarTensor dispatchkit.types:MetadataTensor --fail-on ambiguity",
)


def _configure_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("package", help="a package or module; all its modules are imported")
    parser.add_argument(
        "--samples",
        metavar="package.module:function",
        help="a function without arguments that returns instances of its types: calls are then made and compared",
    )
    parser.add_argument("--ignore", metavar="CHECK,...", type=_checks, default=(), help=f"of {', '.join(CHECKS)}")
    parser.add_argument("--baseline", metavar="FILE", help="also find what got worse than in this file")
    parser.add_argument("--record", metavar="FILE", help="write the coverage of its types, for --baseline")
    parser.add_argument("--format", choices=("text", "markdown", "junit"), default="text", help="what is printed")
    parser.add_argument("--junit", metavar="FILE", help="write the findings in JUnit's format")
    parser.add_argument("--html", metavar="FILE", help="write the findings as a page")


def _checks(text: str) -> tuple[str, ...]:
    names = tuple(filter(None, (part.strip() for part in text.split(","))))
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)} is no check; checks are {', '.join(CHECKS)}")
    return names


def _run_check(options: argparse.Namespace) -> int:
    try:
        package = load_package(options.package, tensor_protocol)
        samples = [] if options.samples is None else list(load(options.samples, "function")())
        path = options.baseline
        baseline = None if path is None else read_baseline(Path(path).read_text(encoding="utf-8"))
        report, reports = check_package(package, samples=samples, baseline=baseline, ignored=options.ignore)
        if options.record:
            text = json.dumps({"types": [one.data() for one in reports]}, indent=1)
            Path(options.record).write_text(text + "\n", encoding="utf-8")
        for file, make in ((options.junit, report.to_junit), (options.html, report.to_html)):
            if file:
                Path(file).write_text(make(), encoding="utf-8")
    except (ImportError, AttributeError, TypeError, ValueError, KeyError, OSError) as error:
        sys.stderr.write(f"check: {error}\n")
        return 2
    if options.format == "text":
        show(report)
    else:
        sys.stdout.write(report.to_junit() if options.format == "junit" else report.document().markdown())
    sys.stdout.flush()
    return int(not report.passed)


CHECK = Command(
    "check",
    "mistakes in the types and rules of a package",
    _configure_check,
    _run_check,
    "dispatchkit check my_package --samples my_package.testing:samples --junit check.xml",
)


def _configure_coverage(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("types", nargs="+", metavar="package.module:Type", help="the types")
    parser.add_argument(
        "--samples",
        metavar="package.module:function",
        help="a function without arguments that returns instances of the types: every function is then called with "
        "them, and with instances of further types among its other arrays",
    )
    parser.add_argument("--format", choices=("text", "markdown", "json"), default="text", help="what is printed")
    parser.add_argument("--html", metavar="FILE", help="write a page with a heat map of types by functions")
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON, also for --baseline")
    parser.add_argument(
        "--markdown", metavar="FILE", nargs="?", const="", help="write the report as Markdown; without FILE print it"
    )
    parser.add_argument(
        "--fail-under",
        type=float,
        metavar="PERCENT",
        help="exit with 1 if fewer per cent of the calls keep the structure",
    )
    parser.add_argument(
        "--baseline",
        metavar="FILE",
        help="exit with 1 if calls, results or keywords got worse than in this file, made with --json",
    )


def _run_coverage(options: argparse.Namespace) -> int:
    try:
        report = _report(options)
        # Read before anything is written, which may be the same file.
        baseline = None
        if options.baseline is not None:
            baseline = read_baseline(Path(options.baseline).read_text(encoding="utf-8"))
        reports = [report] if isinstance(report, Coverage) else list(report)
        changes = [] if baseline is None else compare(reports, baseline)
        _write(options, report)
    except (ImportError, AttributeError, TypeError, ValueError, OSError) as error:
        print_error(str(error) if str(error).startswith("coverage:") else f"coverage: {error}")
        return 2
    _print(options, report)
    failed = any(change.worse for change in changes)
    for change in changes:
        for line in change.lines(options.baseline):
            print_error(line)
    for one in reports:
        if options.fail_under is not None and one.structured_percent < options.fail_under:
            name = "" if len(reports) == 1 else f"{one.type}: "
            kept = f"{one.structured_percent:.1f} % of the calls keep the structure"
            print_error(f"coverage: {name}{kept}, which is under {options.fail_under:g} %")
            failed = True
    return int(failed)


def _report(options: argparse.Namespace) -> Coverage | CoverageSet:
    types = [load_type(path) for path in options.types]
    samples: dict[str, Any] = {}
    if options.samples is not None:
        given = list(load(options.samples, "function")())
        own = [TypeSample(tensor_protocol, one).cls in types for one in given]
        samples["samples"] = [one for one, is_own in zip(given, own, strict=True) if is_own]
        samples["companions"] = [one for one, is_own in zip(given, own, strict=True) if not is_own]
    return coverage(types, **samples, progress=True) if len(types) > 1 else coverage(types[0], **samples, progress=True)


def _write(options: argparse.Namespace, report: Coverage | CoverageSet) -> None:
    """Write the files that are asked for."""
    for path, make in (
        (options.html, report.to_html),
        (options.json, report.to_json),
        (options.markdown, report.to_markdown),
    ):
        if path:
            Path(path).write_text(make(), encoding="utf-8")


def _print(options: argparse.Namespace, report: Coverage | CoverageSet) -> None:
    if options.format == "markdown" or options.markdown == "":
        sys.stdout.write(report.to_markdown() + "\n")
    elif options.format == "json":
        sys.stdout.write(report.to_json() + "\n")
    else:
        show(report)
    sys.stdout.flush()


def print_error(line: str) -> None:
    """Print a line on standard error."""
    sys.stderr.write(line + "\n")


COVERAGE = Command(
    "coverage",
    "what types cover",
    _configure_coverage,
    _run_coverage,
    "dispatchkit coverage dispatchkit.types:ScalarTensor --html out.html",
)

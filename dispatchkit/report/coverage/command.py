"""``python -m dispatchkit coverage``: report, files, and an exit status for continuous integration."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.report.commands import Command, load, load_type
from dispatchkit.report.coverage.baseline import compare, read_baseline
from dispatchkit.report.coverage.coverage import Coverage, CoverageSet, coverage
from dispatchkit.report.coverage.samples import TypeSample
from dispatchkit.report.table import show

__all__ = ["COVERAGE"]


def _configure(parser: argparse.ArgumentParser) -> None:
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


def _run(options: argparse.Namespace) -> int:
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
    _configure,
    _run,
    "dispatchkit coverage dispatchkit.types:ScalarTensor --html out.html",
)

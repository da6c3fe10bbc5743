"""``python -m dispatchkit check``: everything that can be wrong with a package, with one exit status."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.report.check.check import CHECKS, check_package
from dispatchkit.report.check.package import load_package
from dispatchkit.report.commands import Command, load
from dispatchkit.report.coverage.baseline import read_baseline
from dispatchkit.report.table import show

__all__ = ["CHECK"]


def _configure(parser: argparse.ArgumentParser) -> None:
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


def _run(options: argparse.Namespace) -> int:
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
    _configure,
    _run,
    "dispatchkit check my_package --samples my_package.testing:samples --junit check.xml",
)

"""`python -m dispatchkit audit`: an audit on the terminal and in files, and findings that fail a build."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.report.audit.audit import Audit, audit
from dispatchkit.report.audit.findings import KINDS
from dispatchkit.report.commands import Command, load_type

__all__ = ["AUDIT"]


def _configure(parser: argparse.ArgumentParser) -> None:
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


def _run(options: argparse.Namespace) -> int:
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
    _configure,
    _run,
    "dispatchkit audit dispatchkit.types:ScalarTensor dispatchkit.types:MetadataTensor --fail-on ambiguity",
)

"""The command line: ``python -m dispatchkit tour`` and ``python -m dispatchkit coverage package.module:Type``."""

from __future__ import annotations

import argparse
import importlib
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.report import coverage


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status.

    Parameters
    ----------
    argv : words of the command, those of the process by default
    """
    options = _parser().parse_args(argv)
    try:
        if options.command == "coverage":
            return _coverage(options)
        runpy.run_module("dispatchkit.tour", run_name="__main__")
        sys.stdout.flush()
    except BrokenPipeError:
        # Who reads the output has seen enough; what is still buffered must not be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dispatchkit", description="Array types of your own.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("tour", help="a custom type in a ridge regression on real data, start to finish")
    cover = commands.add_parser("coverage", help="what a type covers")
    cover.add_argument("type", help="the type, as package.module:Type")
    cover.add_argument("--format", choices=("text", "markdown", "json"), default="text")
    cover.add_argument(
        "--fail-under",
        type=float,
        metavar="PERCENT",
        help="exit with 1 if fewer per cent of the functions answer",
    )
    return parser


def _coverage(options: argparse.Namespace) -> int:
    try:
        cls = _load(options.type)
        report = coverage(cls)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        print(str(error) if str(error).startswith("coverage:") else f"coverage: {error}", file=sys.stderr)
        return 2
    if options.format == "text":
        print(report)
    else:
        print(report.to_markdown() if options.format == "markdown" else report.to_json())
    sys.stdout.flush()
    if options.fail_under is not None and report.percent < options.fail_under:
        print(f"coverage: {report.percent:.1f} % is under {options.fail_under:g} %", file=sys.stderr)
        return 1
    return 0


def _load(path: str) -> type:
    """Return the type at ``package.module:Type``."""
    module_name, _, name = path.partition(":")
    if not name:
        raise ValueError(f"{path!r} names no type; write it as package.module:Type")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    found: object = importlib.import_module(module_name)
    for part in name.split("."):
        found = getattr(found, part)
    if not isinstance(found, type):
        raise TypeError(f"{path!r} is no type but {found!r}")
    return found


if __name__ == "__main__":
    assert tensor_protocol.base is not None
    sys.exit(main())

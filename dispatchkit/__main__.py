"""The command line: ``python -m dispatchkit`` followed by ``tour``, ``coverage``, ``audit`` or ``drift``."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Sequence

from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.report import drift
from dispatchkit.report.audit.command import AUDIT
from dispatchkit.report.commands import Command
from dispatchkit.report.coverage.command import COVERAGE


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status.

    Parameters
    ----------
    argv : words of the command, those of the process by default
    """
    parser = argparse.ArgumentParser(prog="python -m dispatchkit", description="Array types of your own.")
    words = parser.add_subparsers(dest="command", required=True)
    for command in COMMANDS:
        part = words.add_parser(command.name, help=command.help)
        command.configure(part)
        part.set_defaults(run=command.run)
    options = parser.parse_args(argv)
    try:
        return int(options.run(options))
    except BrokenPipeError:
        # Who reads the output has seen enough; what is still buffered must not be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _tour(options: argparse.Namespace) -> int:
    runpy.run_module("dispatchkit.tour", run_name="__main__")
    sys.stdout.flush()
    return 0


def _no_options(parser: argparse.ArgumentParser) -> None:
    """Add nothing."""


COMMANDS = (
    Command("tour", "a custom type in a ridge regression on real data, start to finish", _no_options, _tour),
    COVERAGE,
    AUDIT,
    Command("drift", "handlers written against a signature that has changed", drift.add_arguments, drift.main),
)

if __name__ == "__main__":
    assert tensor_protocol.base is not None
    sys.exit(main())

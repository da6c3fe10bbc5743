"""The command line: ``dispatchkit``, or ``python -m dispatchkit``, and one of its commands."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Sequence
from difflib import get_close_matches

import dispatchkit as dk
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.report import drift
from dispatchkit.report.commands import AUDIT, CHECK, COVERAGE, Command


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status.

    Parameters
    ----------
    argv : words of the command, those of the process by default
    """
    parser = argparse.ArgumentParser(
        prog="dispatchkit",
        description="Show what array types cover, find mistakes in their rules, and run the tour of the library.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="examples:\n" + "\n".join(f"  {command.example}" for command in COMMANDS if command.example),
    )
    parser.add_argument("--version", action="version", version=f"dispatchkit {dk.__version__}")
    words = parser.add_subparsers(dest="command", metavar="command")
    for command in COMMANDS:
        example = f"example: {command.example}" if command.example else None
        part = words.add_parser(command.name, help=command.help, description=f"Show {command.help}.", epilog=example)
        command.configure(part)
        part.set_defaults(run=command.run)
    given = list(sys.argv[1:] if argv is None else argv)
    if not given:
        parser.print_help()
        return 0
    names = [command.name for command in COMMANDS]
    if not given[0].startswith("-") and given[0] not in names:
        close = get_close_matches(given[0], names, n=1)
        hint = f"did you mean {close[0]}?" if close else f"the commands are {', '.join(names)}"
        parser.error(f"there is no command {given[0]!r}; {hint}")
    options = parser.parse_args(given)
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
    Command(
        "tour",
        "a custom type in a ridge regression on real data, start to finish",
        _no_options,
        _tour,
        "dispatchkit tour",
    ),
    COVERAGE,
    AUDIT,
    CHECK,
    Command(
        "drift",
        "handlers written against a signature that has changed",
        drift.add_arguments,
        drift.main,
        "dispatchkit drift my_package --baseline drift.json",
    ),
)

if __name__ == "__main__":
    assert tensor_protocol.types.base is not None
    sys.exit(main())

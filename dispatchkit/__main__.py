"""The command line: ``dispatchkit``, or ``python -m dispatchkit``, and one of its commands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import dispatchkit as dk
from dispatchkit.accelerator import state
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.report.commands import COMMANDS
from dispatchkit.wording import nearest


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
        epilog="examples:\n" + "\n".join(f"  {command.example}" for command in COMMANDS),
    )
    parser.add_argument("--version", action="version", version=f"dispatchkit {dk.__version__}\naccelerator: {state}")
    words = parser.add_subparsers(dest="command", metavar="command")
    for command in COMMANDS:
        example = f"example: {command.example}"
        part = words.add_parser(command.name, help=command.help, description=f"Show {command.help}.", epilog=example)
        for name, settings in command.options.items():
            part.add_argument(name, **settings)
        part.set_defaults(run=command.run)
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments:
        parser.print_help()
        return 0
    names = [command.name for command in COMMANDS]
    if not arguments[0].startswith("-") and arguments[0] not in names:
        close = nearest(arguments[0], names)
        if close:
            hint = f"did you mean {close[0]}?"
        else:
            hint = f"the commands are {', '.join(names)}"
        parser.error(f"there is no command {arguments[0]!r}; {hint}")
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except BrokenPipeError:
        # Who reads the output has seen enough; what is still buffered must not be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    assert tensor_protocol.types.base is not None
    sys.exit(main())

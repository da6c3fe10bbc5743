"""Run the numerical tests by each way that this machine can compute in; the exit status is 1 where any fails."""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree as ET

from .machines import Setting, Skipped, busy, settings

TESTS = Path(__file__).parents[2]
# Those whose outcome no number decides; all others are run.
NOT_NUMERICAL = frozenset(
    {
        *("bad_input", "conformance", "data", "faults", "mypy_plugin", "peers_suites", "processors", "programs"),
        *("protocol", "saving", "site", "typing"),
    }
)


def numerical() -> list[str]:
    """Return the folders and files of the numerical tests, and the package, for the examples in its docstrings."""
    folders = [path.parent for path in TESTS.glob("*/__init__.py") if path.parent.name not in NOT_NUMERICAL]
    places = [*sorted(folders), *sorted(TESTS.glob("test_*.py"))]
    return ["dispatchkit", *(place.relative_to(TESTS.parent).as_posix() for place in places)]


def run(setting: Setting, arguments: Sequence[str]) -> tuple[bool, str]:
    """Run the tests by one setting.

    Parameters
    ----------
    setting : to compute by
    arguments : for pytest

    Returns
    -------
    whether they passed, and how many of them
    """
    started = time.monotonic()
    with TemporaryDirectory() as folder, busy(setting.beside):
        report = Path(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", f"--junit-xml={report}", "-o", "junit_family=xunit1", *arguments]
        done = subprocess.run(command, env={**os.environ, **setting.environment}, cwd=TESTS.parent, check=False)
        counts = counted(report) if report.exists() else "no tests were run"
    return done.returncode == 0, f"{counts}, {time.monotonic() - started:.0f} s"


def counted(report: Path) -> str:
    """Return how many tests a report says passed, failed and were skipped."""
    suites = ET.parse(report).getroot().iter("testsuite")  # noqa: S314  # which pytest has written just now
    total = failed = skipped = 0
    for suite in suites:
        total += int(suite.get("tests", 0))
        failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped += int(suite.get("skipped", 0))
    return f"{total - failed - skipped} passed, {failed} failed, {skipped} skipped"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests by each setting, and print how they did."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.programs.processors", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--list", action="store_true", help="say what the machine can compute by, and run nothing")
    parser.add_argument("--only", default="", help="the settings alone whose names hold this")
    given, for_pytest = parser.parse_known_args(arguments)
    named = [argument for argument in for_pytest if Path(argument.partition("::")[0]).exists()]
    lines, passed = [], True
    for setting in settings():
        if isinstance(setting, Skipped):
            lines.append(f"{setting.name}: left out, {setting.reason}")
            print(lines[-1], flush=True)
        elif given.only in setting.name:
            print(setting.name, *(f"{name}={value!r}" for name, value in setting.environment.items()), flush=True)
            if not given.list:
                ok, counts = run(setting, [*for_pytest, *([] if named else numerical())])
                passed = passed and ok
                lines.append(f"{setting.name}: {counts}")
    if not given.list:
        print("", *lines, sep="\n")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())

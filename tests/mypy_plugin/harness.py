"""Runs cases in the form of mypy's own tests: code whose comments say what mypy reports.

A case begins with ``[case name]``; ``# E: text`` and ``# N: text`` after a line are the errors and notes expected
there. ``[file name.py]`` begins a further module of the same case. The parser, and what compares, are mypy's.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import mypy.api
from mypy.test.data import expand_errors, parse_test_data

__all__ = ["LINE", "ROOT", "Case", "Workplace", "read_cases", "revealed", "said_of"]

ROOT = Path(__file__).parent.parent.parent
HERE = Path(__file__).parent
CONFIG = """\
[mypy]
strict = true
plugins = dispatchkit.mypy_plugin
mypy_path = {root}
show_traceback = true
allow_untyped_defs = true
allow_incomplete_defs = true
allow_untyped_decorators = true
disable_error_code = no-untyped-call
"""
LINE = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+): (?P<severity>error|note): (?P<text>.*)$")


@dataclass
class Case:
    """One case.

    Attributes
    ----------
    name : also that of its module
    files : source by file name, its own first
    expected : what mypy reports, as `expand_errors` gives it
    """

    name: str
    files: dict[str, list[str]] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The code of the case's own module."""
        return "\n".join(self.files[f"{self.name}.py"])

    @property
    def expected(self) -> list[str]:
        """What mypy is to report, by line."""
        lines: list[str] = []
        for file, source in self.files.items():
            expand_errors(source, lines, file)
        return lines


def read_cases(name: str) -> list[Case]:
    """Return the cases of a data file."""
    cases: list[Case] = []
    for item in parse_test_data((HERE / name).read_text(encoding="utf-8"), name)[1:]:
        if item.id == "case":
            cases.append(Case(item.arg or ""))
        file = f"{item.arg}.py" if item.id == "case" else item.arg or ""
        cases[-1].files[file] = item.data
    return cases


def said_of(case: Case, output: Iterable[str]) -> list[str]:
    """Return the lines of mypy's output that are about a case."""
    return [line for line in output if line.partition(":")[0] in case.files]


class Workplace:
    """A directory in which mypy runs with the plugin, and keeps its cache from run to run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "mypy.ini"
        self.config.write_text(CONFIG.format(root=ROOT), encoding="utf-8")

    def write(self, files: dict[str, list[str]] | dict[str, str]) -> None:
        """Write modules."""
        for name, source in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = source if isinstance(source, str) else "\n".join(source)
            path.write_text(text + "\n", encoding="utf-8")

    def run(self, *files: str) -> list[str]:
        """Run mypy on modules and return what it reports, without columns and error codes' names."""
        arguments = ["--config-file", str(self.config), "--cache-dir", str(self.path / "cache")]
        arguments += ["--no-error-summary", "--hide-error-codes", "--no-color-output", "--python-executable"]
        out, err, _ = mypy.api.run([*arguments, sys.executable, *(str(self.path / file) for file in files)])
        assert not err, err
        return [self._line(line) for line in out.splitlines()]

    def _line(self, line: str) -> str:
        return line.removeprefix(f"{self.path}/")


def revealed(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield line and type of each `reveal_type` in mypy's output."""
    for line in lines:
        found = LINE.match(line)
        if found is not None and found["text"].startswith("Revealed type is "):
            yield int(found["line"]), found["text"].removeprefix("Revealed type is ").strip('"')

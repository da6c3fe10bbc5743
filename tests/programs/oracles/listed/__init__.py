"""The differences that are meant, each with its reason."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tests.programs.oracles.comparing import Case, Verdict
from tests.programs.oracles.conditions import CONDITIONS
from tests.programs.oracles.pair import Pair

__all__ = ["Difference", "read"]

ALL = ("*",)


@dataclass(frozen=True)
class Difference:
    """An entry of a list.

    Attributes
    ----------
    sort : in what calls differ
    reason : why, as a reader of the documentation sees it
    calls : patterns of the lines that they are drawn from
    texts : patterns of what is said of the difference
    dtypes : of which one operand has to be; any where it is empty
    when : what has to be true of the difference, by its name in `CONDITIONS`; nothing where it is empty
    """

    sort: tuple[str, ...]
    reason: str
    calls: tuple[str, ...] = ALL
    texts: tuple[str, ...] = ALL
    dtypes: tuple[str, ...] = ()
    when: str = ""

    def covers(self, pair: Pair, case: Case, verdict: Verdict) -> bool:
        """Return whether the entry is about a difference."""
        if verdict.sort not in self.sort:
            return False
        if not any(fnmatchcase(case.template, _literal(pattern)) for pattern in self.calls):
            return False
        if not any(fnmatchcase(verdict.text, _literal(pattern)) for pattern in self.texts):
            return False
        present = {operand.data.dtype.name for operand in case.operands.values()}
        if self.dtypes and present.isdisjoint(self.dtypes):
            return False
        return not self.when or CONDITIONS[self.when](pair, case, verdict)


def _literal(pattern: str) -> str:
    """Return a pattern in which brackets stand for themselves: lines are full of them."""
    return pattern.replace("[", "[[]")


def read(name: str) -> list[Difference]:
    """Return the list of a pair, which is empty where there is no file."""
    path = Path(__file__).parent / f"{name}.toml"
    if not path.exists():
        return []
    return [_entry(**entry) for entry in tomllib.loads(path.read_text())["difference"]]


def _entry(*, sort: list[str], reason: str, when: str = "", **patterns: Sequence[str]) -> Difference:
    return Difference(tuple(sort), reason, when=when, **{name: tuple(pattern) for name, pattern in patterns.items()})

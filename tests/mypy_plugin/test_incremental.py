"""The plugin with mypy's cache: what changed is seen, what did not change is remembered."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mypy.test.data")

from tests.mypy_plugin.harness import Workplace, revealed

TYPES = """\
import dispatchkit as dk

@dk.array_type(fallback=dk.fallback.dense)
class Line:
    def to_dense(self) -> dk.Tensor:
        return dk.ones(2)
{more}
"""
OPERATIONS = """\
import dispatchkit as dk

@dk.operation
def length(xp: object, x: dk.Tensor, /, *, scale: float = 1.0) -> dk.Tensor:
    raise NotImplementedError

@dk.overridable
def width(x: object, unit: str = "m") -> str:
    return unit
"""
RULES = """\
import dispatchkit as dk
from shapes.operations import length, width
from shapes.types import Line

@dk.implements(length)
def length_of_line(x: Line, /, *, {keyword}: float = 1.0) -> int:
    raise NotImplementedError

@dk.implements(width, Line)
def width_of_line(x: Line) -> str:
    raise NotImplementedError

length(Line(), scael=1.0)
reveal_type(Line() + 1)
reveal_type(Line().mean)
"""
FILES = ("shapes/__init__.py", "shapes/types.py", "shapes/operations.py", "shapes/rules.py")


def project(keyword: str = "scale", more: str = "") -> dict[str, str]:
    return {
        "shapes/__init__.py": "",
        "shapes/types.py": TYPES.format(more=more),
        "shapes/operations.py": OPERATIONS,
        "shapes/rules.py": RULES.format(keyword=keyword),
    }


# One test: every step starts from the cache that the ones before it left.
def test_changes_are_seen_through_the_cache(tmp_path: Path) -> None:
    workplace = Workplace(tmp_path)
    workplace.write(project())
    cold = workplace.run(*FILES)
    assert next(typ for _, typ in revealed(cold)) == "Any"
    assert [line.partition(": ")[2] for line in cold if "error" in line] == [
        'error: Unexpected keyword argument "scael" for "length"; did you mean "scale"?'
    ]

    assert workplace.run(*FILES) == cold, "nothing changed"

    workplace.write(project(keyword="scales"))
    changed = workplace.run(*FILES)
    assert [line for line in changed if line not in cold] == [
        "shapes/rules.py:6: error: length_of_line for shapes.length: 'scales' is never passed; did you mean 'scale'?"
    ], "types and operations come from the cache"

    workplace.write(project(more="    def mean(self) -> float:\n        return 1.0\n"))
    method = workplace.run(*FILES)
    assert [typ for _, typ in revealed(method)] == ["Any", "def () -> float"], "a type has a method of its own"

"""The plugin with mypy's cache: what changed is seen, what did not change is remembered."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mypy.test.data")

from tests.mypy_plugin.harness import Workplace, revealed

TYPES = """\
import dispatchkit as dk

@dk.array_type({options})
class Line:
    def to_dense(self) -> dk.Tensor:
        return dk.ones(2)

    def doubled(self) -> {doubled}:
        return self + self
"""
RULES = """\
import dispatchkit as dk
from shapes.types import Line

@dk.implements(dk.add)
def add_lines(x1: Line, x2: Line, /) -> {result}:
    raise NotImplementedError

@dk.operation
def length(xp: object, x: dk.Tensor, /, *, scale: float = 1.0) -> dk.Tensor:
    raise NotImplementedError

@dk.implements(length)
def length_of_line(x: Line, /, *, scale: float = 1.0) -> {result}:
    raise NotImplementedError

@dk.overridable
def width(x: object) -> str:
    return ""

@dk.implements(width)
def width_of_line(x: Line) -> {result}:
    raise NotImplementedError
"""
# It imports the types, and with their package what the package imports: the rules.
USE = """\
from shapes.types import Line
import dispatchkit as dk

line = Line()
reveal_type(line + line)
reveal_type(line.add(line))
reveal_type(dk.exp(line))
"""
USE_RULES = """\
from shapes.rules import length, width
from shapes.types import Line

reveal_type(length(Line()))
reveal_type(width(Line()))
length(Line(), scael=1.0)
"""


def project(result: str = "int", options: str = "fallback=dk.fallback.dense") -> dict[str, str]:
    return {
        "shapes/__init__.py": "from shapes.rules import add_lines as add_lines\n",
        "shapes/types.py": TYPES.format(options=options, doubled=result),
        "shapes/rules.py": RULES.format(result=result),
        "use.py": USE,
        "use_rules.py": USE_RULES,
    }


FILES = ("shapes/__init__.py", "shapes/types.py", "shapes/rules.py", "use.py", "use_rules.py")


def reported(output: list[str], file: str) -> list[str]:
    return [line for line in output if line.startswith(f"{file}:")]


def types_in(output: list[str], file: str) -> list[str]:
    return [typ for _, typ in revealed(reported(output, file))]


# One test: every step starts from the cache that the ones before it left.
def test_changes_are_seen_through_the_cache(tmp_path: Path) -> None:
    workplace = Workplace(tmp_path)
    workplace.write(project())
    cold = workplace.run(*FILES)
    assert types_in(cold, "use.py") == ["int", "int", "Any"]
    assert types_in(cold, "use_rules.py") == ["int", "int"]
    assert 'Unexpected keyword argument "scael" for "length"' in reported(cold, "use_rules.py")[-1]
    assert not reported(cold, "shapes/types.py"), "a type's own methods see the rules that its package imports"

    assert workplace.run(*FILES) == cold, "nothing changed"

    workplace.write({"use.py": USE + "reveal_type(line)\n", "use_rules.py": USE_RULES + "reveal_type(width('x'))\n"})
    again = workplace.run(*FILES)
    assert types_in(again, "use.py") == ["int", "int", "Any", "shapes.types.Line"], "the rules come from the cache"
    assert types_in(again, "use_rules.py") == ["int", "int", "str"]

    workplace.write(project("float"))
    changed = workplace.run(*FILES)
    assert types_in(changed, "use.py") == ["float", "float", "Any"], "a handler returns something else"
    assert types_in(changed, "use_rules.py") == ["float", "float"]

    workplace.write({"shapes/rules.py": RULES.format(result="float") + EXP})
    more = workplace.run(*FILES)
    assert types_in(more, "use.py") == ["float", "float", "bool"], "a handler is added"

    workplace.write({"shapes/rules.py": RULES.format(result="float")})
    workplace.write({"shapes/types.py": TYPES.format(options="", doubled="float")})
    refusing = workplace.run(*FILES)
    assert types_in(refusing, "use.py") == ["float", "float", "Any"], "the handler is gone"

    workplace.write({"shapes/__init__.py": ""})
    apart = workplace.run(*FILES)
    assert types_in(apart, "use.py") == ["Any", "Any", "Any"], "nobody imports the rules any more"
    assert types_in(apart, "use_rules.py") == ["float", "float"]


EXP = """
@dk.implements(dk.exp)
def exp_line(x: Line, /) -> bool:
    raise NotImplementedError
"""

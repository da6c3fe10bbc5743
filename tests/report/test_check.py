"""`python -m dispatchkit check`: every planted fault of a package is found, and a sound package passes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import dispatchkit as dk
from dispatchkit.__main__ import main
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.report.package_check import CHECKS, check_package, load_package
from tests.turns import LONG

TYPES = """
import dispatchkit as dk

@dk.array_type(fallback=dk.fallback.{fallback}, fields=("values",))
class Left:
    def __init__(self, values):
        self.values = dk.asarray(values)

    @property
    def shape(self):
        return self.values.shape

    @property
    def dtype(self):
        return self.values.dtype

    def to_dense(self):
        return self.values

@dk.array_type(fallback=dk.fallback.{fallback}, fields=("values",))
class Right(Left):
    pass

@dk.array_type(fallback=dk.fallback.{fallback}, fields=("values",))
class Other:
    __init__ = Left.__init__
    shape = Left.shape
    dtype = Left.dtype
    to_dense = Left.to_dense

def samples():
    return [Left([1.0, 2.0]), Right([3.0, 4.0]), Other([5.0, 6.0])]
"""

SOUND = """
import dispatchkit as dk
from {name}.types import Left

@dk.implements(dk.negative)
def negative(x: Left, /) -> Left:
    return type(x)(-x.values)

@dk.implements(dk.sum)
def total(x: Left, /, *, axis=None):
    return dk.sum(x.values, axis=axis)
"""

FAULTY = """
import dispatchkit as dk
from dispatchkit.types import MetadataTensor, ScalarTensor
from {name}.types import Left, Other, Right

@dk.implements(dk.matmul)
def left_first(x1: Left, x2: Right, /): return x1.values @ x2.values          # ambiguous for (Right, Right)

@dk.implements(dk.matmul)
def left_last(x1: Right, x2: Left, /): return x1.values @ x2.values

@dk.implements(dk.negative)
def negative_first(x: Left, /): return x                                       # replaced by another module

@dk.implements(dk.log)
def pirate(x: ScalarTensor, /): return dk.decline("not ours")                  # piracy

@dk.implements(dk.multiply)
def times_tensor(x1: Other, x2: dk.Tensor, /): return Other(x1.values * x2)    # no rule for (Tensor, Other)

@dk.implements(dk.maximum)
def larger(x1: Left, x2: Left, /): return Left(dk.maximum(x1.values, x2.values))

@dk.implements(dk.maximum)
def larger_other(x1: Other, x2: Other, /): return Other(dk.maximum(x1.values, x2.values))

@dk.implements(dk.getitem, Left)
def item(x, key: tuple[int, int, int, int], /):
    return x.values[key]

@dk.implements(dk.kinds.fft, Left, Left)
def never(op, x1, x2, /): return x1

@dk.implements(dk.tanh)
def wrong(x: Other, /) -> Other: return Other(dk.tanh(x.values) + 1)
"""

QUIET = """
from types import NotImplementedType
import dispatchkit as dk
from {name}.types import Left, Other, Right

@dk.implements(dk.multiply)
def scaled(x1: Other, x2: float, /): return Other(x1.values * x2)              # no rule for 2.0 * x

@dk.implements(dk.tanh)
def first(x: Left, /): return x

@dk.implements(dk.tanh)
def second(x: Left, /): return Left(dk.tanh(x.values))                         # replaces the first

@dk.implements(dk.sum)
def total(x: Other, /, *, axis=None, keepdims=True): return dk.sum(x.values, axis=axis, keepdims=keepdims)

@dk.implements(dk.log)
def logarithm(x: Other, /): return dk.decline("not written yet")

@dk.implements(dk.negative)
def opposite(x: Other, /):
    if x.values is None:
        return NotImplemented
    return Other(-x.values)

@dk.implements(dk.log)
def never(x: Right, /) -> NotImplementedType: return dk.decline("it has no logarithm")

@dk.converts()
def to_other(x: Left) -> Other: return Other(x.values)
"""

FAILING = """
import dispatchkit as dk
from {name}.types import Right

@dk.implements(dk.negative)
def negative(x: Right, /): return Right(-x.values)

@dk.implements(dk.tanh)
def tangent(x: Right, /, *, wrong): return x
"""

REPLACING = """
import dispatchkit as dk
from {name}.types import Left

@dk.implements(dk.negative)
def negative_second(x: Left, /): return type(x)(-x.values)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Write packages, each under a name of its own, and forget what importing them leaves behind."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    names: list[str] = []

    def made(fallback: str = "refuse", **modules: str) -> str:
        name = f"checked_{tmp_path.name}_{len(names)}".replace("-", "_").lower()
        names.append(name)
        folder = tmp_path / name
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        (folder / "__main__.py").write_text("raise SystemExit('not to be run')")
        (folder / "types.py").write_text(TYPES.format(fallback=fallback))
        for module, text in modules.items():
            (folder / f"{module}.py").write_text(text.format(name=name))
        return name

    operations = tensor_protocol.operations
    used = ["negative", "sum", "matmul", "multiply", "maximum", "getitem", "tanh", "log", "fft.fft"]
    kept = {f"dispatchkit.{one}": operations[f"dispatchkit.{one}"] for one in used}
    monkeypatch.setattr(operations, "_listed", kept)  # so that checking is quick
    with dk.local_registrations():
        yield made
    for module in list(sys.modules):
        if any(module == name or module.startswith(f"{name}.") for name in names):
            del sys.modules[module]


def findings(name: str, **options: Any) -> dict[str, list[str]]:
    """Return the texts of each check that found something."""
    report, _ = check_package(load_package(name, tensor_protocol), **options)
    return {check: list(texts) for check, texts in report.findings.items() if texts}


def test_a_sound_package_passes(package: Any, capsys: pytest.CaptureFixture[str]) -> None:
    name = package(rules=SOUND)
    assert main(["check", name]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"check of {name}: 3 array types and 2 rules: nothing found\n")
    assert all(f"\n  {check} " in out for check in CHECKS)
    assert main(["check", name, "--samples", f"{name}.types:samples"]) == 0


def test_each_planted_fault_is_found(package: Any) -> None:
    name = package(a_rules=FAULTY, b_rules=REPLACING)
    found = findings(name)
    assert "ambiguous implementations of 'dispatchkit.matmul' for (Right, Right)" in found["ambiguity"][0]
    assert len(found["replaced"]) == 1
    assert "replaces negative_first(Left in any position)" in found["replaced"][0]
    assert "pirate(ScalarTensor in any position) at " in found["piracy"][0]
    assert found["piracy"][0].endswith(" is for dispatchkit.log and ScalarTensor of dispatchkit.types")
    assert any(text.startswith("(Other, Tensor) is answered by Other (a rule)") for text in found["partner"])
    assert any("nobody answers them together" in text and "maximum" in text for text in found["missing"])
    assert any(text.startswith("never(Left, Left) at ") for text in found["unreachable"])
    assert "fault" not in found


def test_what_is_silent_elsewhere_is_found(package: Any) -> None:
    found = findings(package(a_rules=QUIET))
    (partner,) = found["partner"]
    assert partner.startswith("(Other, float) is answered by Other (a rule); (float, Other) is answered by nobody")
    assert "\nin multiply with (Other, float), (float, Other)" in partner
    (replaced,) = found["replaced"]
    assert replaced.startswith("implements: second(Left in any position) at ")
    assert " replaces first(Left in any position) at " in replaced
    (signature,) = found["signature"]
    assert re.match(r"total for dispatchkit\.sum: .*keepdims.* at .*a_rules\.py:15$", signature)
    (declines,) = found["declines"]
    assert re.match(r"logarithm\(Other in any position\) at .*a_rules\.py:\d+: annotate it with -> NotImpl", declines)
    assert found["conversion"] == ["to_other(Left) -> Other: the fallback of Left lacks dk.fallback.convert"]


def test_a_conversion_that_a_fallback_takes_is_not_found(package: Any) -> None:
    assert "conversion" not in findings(package(fallback="convert", a_rules=QUIET))


def test_a_module_that_cannot_be_imported_is_a_finding_and_the_others_are_checked(
    package: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    name = package(a_broken="import dispatchkit as\n", b_failing=FAILING, c_lacking="import no_such_library\n", d=QUIET)
    assert main(["check", name]) == 1
    assert f"check of {name}: 3 array types and 7 rules: 3 import, " in capsys.readouterr().out
    syntax, rule, library = findings(name)["import"]
    assert re.match(rf"{name}\.a_broken: SyntaxError: .*a_broken\.py, line 1", syntax)
    assert re.match(rf"{name}\.b_failing: RegistrationError: tangent can never be called .*b_failing\.py:8$", rule)
    assert re.match(rf"{name}\.c_lacking: ModuleNotFoundError: .*'no_such_library' at .*c_lacking\.py:1$", library)


def test_samples_find_wrong_answers_and_rules_that_no_call_enters(package: Any) -> None:
    name = package(a_rules=FAULTY, b_rules=REPLACING)
    loaded = load_package(name, tensor_protocol)
    samples = sys.modules[f"{name}.types"].samples()
    found = {check: texts for check, texts in check_package(loaded, samples=samples)[0].findings.items() if texts}
    assert any(text.startswith("tanh of Other: tanh(Other[2]): ") for text in found["fault"])
    entered = " ".join(found.get("never entered", ()))
    assert "times_tensor" not in entered
    assert "never(Left, Left)" in entered


def test_what_got_worse_since_a_record_is_found(
    package: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = package(rules=SOUND)
    path = tmp_path / "check.json"
    assert main(["check", name, "--record", str(path)]) == 0
    assert main(["check", name, "--baseline", str(path)]) == 0
    cls = sys.modules[f"{name}.types"].Left
    with pytest.warns(dk.errors.ReplacementWarning):
        dk.implements(dk.sum, cls)(lambda x, /: x.values)
    capsys.readouterr()
    assert main(["check", name, "--baseline", str(path)]) == 1
    out = capsys.readouterr().out
    assert "sum of Left: 4 implemented, 1 refused -> 2 implemented, 3 refused" in out
    assert "no longer takes axis" in out


def test_checks_can_be_left_out(package: Any, capsys: pytest.CaptureFixture[str]) -> None:
    name = package(a_rules=FAULTY, b_rules=REPLACING)
    everything = ",".join(CHECKS)
    assert main(["check", name, "--ignore", everything]) == 0
    with pytest.raises(SystemExit):
        main(["check", name, "--ignore", "worse"])
    assert (
        "worse is no check; checks are import, ambiguity, unreachable, cycle, replaced, signature, hidden, piracy"
        in capsys.readouterr().err
    )


def test_the_findings_are_written_for_builds_and_browsers(
    package: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = package(a_rules=FAULTY, b_rules=REPLACING)
    junit, page = tmp_path / "check.xml", tmp_path / "check.html"
    assert main(["check", name, "--junit", str(junit), "--html", str(page), "--format", "markdown"]) == 1
    assert capsys.readouterr().out.startswith(f"# Check of `{name}`\n")
    suite = ET.fromstring(junit.read_text(encoding="utf-8"))  # noqa: S314  # our own text
    cases = {case.get("name"): case for case in suite}
    assert list(cases) == list(CHECKS)
    failed = [check for check, case in cases.items() if case.find("failure") is not None]
    assert suite.get("failures") == str(len(failed))
    assert {"ambiguity", "replaced", "piracy", "missing", "partner", "unreachable"} <= set(failed)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert f"<title>Check of {name}</title>" in text
    assert "http" not in text
    # Every check is named with its count, and what is found stands unfolded, in the reader's light or dark colours.
    counts = dict(re.findall(r'<tr><td>([a-z ]+)</td><td class="n">(\d*)</td>', text))
    assert list(counts) == list(CHECKS)
    assert {check for check, count in counts.items() if count} == set(failed)
    assert text.count("<details open>") == text.count("<details") == len(failed)
    assert "prefers-color-scheme: dark" in text
    assert main(["check", name, "--format", "junit", "--ignore", "replaced"]) == 1
    assert ET.fromstring(capsys.readouterr().out).get("name") == name  # noqa: S314


@pytest.mark.parametrize("words", [["no_such_package_at_all"], ["dispatchkit.types", "--samples", "nowhere:samples"]])
def test_what_cannot_be_checked_is_status_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *words]) == 2
    assert capsys.readouterr().err.startswith("check: No module named ")


def shipped_types() -> list[type]:
    named = [getattr(dk.types, name) for name in dk.types.__all__]
    return [cls for cls in named if tensor_protocol.types.participates(cls)]


def test_the_types_that_ship_do_not_contradict_each_other() -> None:
    report = dk.audit(shipped_types(), operations=[dk.add, dk.matmul, dk.clip])
    assert [one.text for one in report.findings if one.kind in ("ambiguity", "cycle", "unreachable")] == []


def test_the_rules_that_ship_answer_both_orders_of_arguments() -> None:
    report = dk.audit([*shipped_types(), dk.Tensor], operations=[dk.divide, dk.multiply, dk.subtract])
    found = [one.text for one in report.findings if one.kind == "asymmetry" and one.locations]
    # What is not stored is zero, and what a tensor is divided by it is nowhere zero.
    (quotients,) = found
    assert quotients.startswith("(SparseTensor, Tensor) is answered by SparseTensor (a rule)")


@pytest.mark.skipif(not LONG, reason="two minutes; `nox -s long` runs it")
def test_the_types_that_ship_pass() -> None:
    report, _ = check_package(load_package("dispatchkit.types", tensor_protocol))
    assert {check: texts for check, texts in report.findings.items() if texts} == {}


def test_a_rule_for_one_order_of_a_commutative_operation_is_told_the_keyword(package: Any) -> None:
    (partner,) = findings(package(a_rules=QUIET))["partner"]
    assert "commutative=True" in partner

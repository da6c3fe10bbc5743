"""The plugin on user code, good and bad: mypy's reports, and whether they are what happens when the code runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

pytest.importorskip("mypy.test.data")

from mypy.test.helpers import assert_string_arrays_equal

import dispatchkit as dk
from tests.mypy_plugin.harness import LINE, ROOT, Case, Workplace, read_cases, revealed, said_of
from tests.mypy_plugin.running import run

RESULTS, ERRORS, HANDLERS = map(read_cases, ("results.test", "errors.test", "handlers.test"))


# In the documentation: a module, which begins with its name, and what mypy says of one.
MODULE = re.compile(r"^```(?:python|py)\n(# (\w+\.py)\n.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^```text\n\$ mypy (\w+\.py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"  \[[a-z-]+\]$")


# One test of all cases, so that with several workers one of them runs mypy, once.
def test_mypy_reports_what_the_comments_say(tmp_path: Path, subtests: pytest.Subtests) -> None:
    cases = [*RESULTS, *ERRORS, *HANDLERS]
    workplace = Workplace(tmp_path)
    page = (ROOT / "docs" / "static-typing.md").read_text(encoding="utf-8")
    modules = {file: text for text, file in MODULE.findall(page)}
    for files in (modules, *(case.files for case in cases)):
        workplace.write(files)
    output = workplace.run(*modules, *(file for case in cases for file in case.files))
    assert len(output) > 90
    shown = dict(SHOWN.findall(page))
    assert shown.keys() == modules.keys()
    for file, text in shown.items():
        with subtests.test(file):
            told = [CODE.sub("", line) for line in text.splitlines()]
            assert_string_arrays_equal(told, [line for line in output if line.startswith(f"{file}:")], file)
    for case in cases:
        with subtests.test(case.name):
            assert_string_arrays_equal(case.expected, said_of(case, output), case.name)


def named(case: Case) -> ParameterSet:
    return pytest.param(case, id=case.name)


@pytest.mark.parametrize("case", [named(case) for case in RESULTS])
def test_results_are_those_of_the_run(case: Case) -> None:
    """The classes that mypy reveals are those that the values have, or their superclasses."""
    ran = run(case)
    assert not ran.raised
    told = dict(revealed(case.expected))
    compared = [line for line in told if line in ran.revealed and "Any" not in told[line]]
    for line in compared:
        value = ran.revealed[line]
        if told[line].startswith("def "):
            assert callable(value)
            continue
        outer = [part.partition("[")[0].rpartition(".")[2] for part in told[line].split(" | ")]
        assert {cls.__name__ for cls in type(value).__mro__} & set(outer), (
            f"{case.name}:{line}: {value!r} is not {told[line]}"
        )
    assert compared or case.name in NOT_CALLED


# Their functions show what mypy says of parameters, or all is decided at run time.
NOT_CALLED = (
    "registered_by_calls_and_for_foreign_classes",
    "decided_at_run_time",
    "which_parameters_of_an_operation_are_arrays",
)


def lines_with_errors(case: Case) -> Iterator[tuple[int, str]]:
    for said in case.expected:
        found = LINE.match(said)
        if found is not None and found["severity"] == "error" and found["file"] == f"{case.name}.py":
            yield int(found["line"]), found["text"]


@pytest.mark.parametrize("case", [named(case) for case in ERRORS])
def test_errors_are_those_of_the_run(case: Case) -> None:
    """The lines that mypy reports raise, and no others do."""
    ran = run(case)
    told = dict(lines_with_errors(case))
    assert set(ran.raised) == set(told)
    for line in told:
        error = ran.raised[line]
        assert isinstance(error, (TypeError, AttributeError, ValueError))


@pytest.mark.parametrize("case", [named(case) for case in HANDLERS])
def test_handlers_are_refused_in_the_same_words(case: Case) -> None:
    ran = run(case)
    ((_, told),) = lines_with_errors(case)
    (error,) = ran.raised.values()
    assert isinstance(error, (dk.RegistrationError, dk.SignatureWarning))
    assert str(error).replace(f"{case.name}.", "") == told.replace(f"{case.name}.", "")

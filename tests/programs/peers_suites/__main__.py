"""Run the tests of other libraries over dispatchkit, and tell apart the failures that are recorded from new ones.

`python -m tests.programs.peers_suites --at PATH --suite numpy`, and options of pytest. PATH is a folder with checkouts
of the libraries; a suite whose checkout is not there is passed over. A file of `expected/` says for each suite which
tests fail and why. The exit status is 1 where another test fails; a recorded one that passes is named.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[3]
EXPECTED = Path(__file__).parent / "expected"
PLUGIN, LIMITS = "tests.programs.peers_suites.over_{}", "tests.programs.peers_suites.limits"


@dataclass(frozen=True)
class Suite:
    """Where the tests of a library are, and what makes them run over dispatchkit.

    Attributes
    ----------
    name : of the suite and of its file of expected failures
    tests : files or folders, relative to `folder`
    folder : of the checkout in PATH; of an installed package where it begins with a colon
    needs : packages that have to be installed
    options : of pytest
    plugin : the plugin of pytest that makes it run over dispatchkit; none where it is written for dispatchkit
    """

    name: str
    tests: tuple[str, ...]
    folder: str
    needs: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    plugin: str = ""

    def place(self, at: Path) -> Path | None:
        """Return the folder that the tests are in, None where it is not there."""
        if self.folder.startswith(":"):
            spec = importlib.util.find_spec(self.folder[1:])
            return None if spec is None or spec.origin is None else Path(spec.origin).parent
        return at / self.folder if (at / self.folder).is_dir() else None


OF_LIB = (
    *(
        "arraypad",
        "arraysetops",
        "function_base",
        "histograms",
        "index_tricks",
        "nanfunctions",
        "packbits",
        "polynomial",
    ),
    *("polynomial", "shape_base", "stride_tricks", "twodim_base", "type_check", "ufunclike"),
)
OF_CORE = ("einsum", "function_base", "item_selection", "numeric", "shape_base")
NUMPY_TESTS = (
    *("linalg/tests", "fft/tests"),
    *(f"lib/tests/test_{name}.py" for name in OF_LIB),
    *(f"_core/tests/test_{name}.py" for name in OF_CORE),
)
# They join 2**31 arrays in one call, and compute with as many threads as there are.
NUMPY_OPTIONS = (
    *("--deselect", "_core/tests/test_shape_base.py::TestConcatenate::test_huge_list_error"),
    *("--deselect", "linalg/tests/test_regression.py::TestRegression::test_openblas_threading"),
)
SHAPES_OF_PYTORCH = tuple(f"test/test_{name}.py" for name in ("indexing", "shape_ops", "view_ops"))
TRANSFORMS_OF_PYTORCH = ("test/functorch/test_eager_transforms.py",)
HERE = ":tests.programs.peers_suites"  # which take from the library what it brings with it
OF_PYTORCH = ("torch", "expecttest")
SUITES = {
    suite.name: suite
    for suite in (
        Suite("numpy", NUMPY_TESTS, ":numpy", ("hypothesis",), NUMPY_OPTIONS, "numpy"),
        Suite("autograd", ("tests",), "autograd", ("scipy",), plugin="autograd"),
        Suite("pint", ("testsuite/test_numpy.py",), ":pint", plugin="pint"),
        Suite("torch_samples", ("torch_samples.py",), HERE, OF_PYTORCH),
        Suite("torch_autograd", ("test/test_autograd.py",), "pytorch", OF_PYTORCH, ("--noconftest",), "torch"),
        Suite("torch_shapes", SHAPES_OF_PYTORCH, "pytorch", OF_PYTORCH, ("--noconftest",), "torch"),
        Suite("torch_transforms", TRANSFORMS_OF_PYTORCH, "pytorch", OF_PYTORCH, ("--noconftest",), "torch"),
        Suite("structured_matrices", ("structured_matrices.py",), HERE, ("linear_operator",)),
    )
}


def results(suite: Suite, folder: Path, options: Sequence[str]) -> dict[str, str | None]:
    """Run a suite, and return the message of each test's failure, None for one that passes.

    Parameters
    ----------
    suite : the suite
    folder : its tests are relative to it
    options : of pytest
    """
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        # The tests are imported from where they are, and nothing is written there.
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        plugins = ["-p", LIMITS, "-p", "no:cacheprovider"]
        if suite.plugin:
            plugins += ["-p", PLUGIN.format(suite.plugin)]
        # Names of tests are relative to the folder; the configuration of the checkout is left out.
        fixed = (
            "-c",
            os.devnull,
            f"--rootdir={folder}",
            "-q",
            "--tb=no",
            "--no-summary",
            "--continue-on-collection-errors",
            f"--junitxml={report}",
        )
        command = [sys.executable, "-m", "pytest", *plugins, *fixed, *suite.options, *options]
        tests = [str(folder / test) for test in suite.tests]
        subprocess.run([*command, *tests], cwd=scratch, env=environment, check=False)
        if not report.exists():
            raise RuntimeError(f"{suite.name}: pytest wrote no report; its output above says why")
        cases = list(ET.parse(report).iter("testcase"))  # noqa: S314
    return {_name(case): _message(case) for case in cases if not _has(case, "skipped")}


def _has(case: ET.Element, *tags: str) -> bool:
    return any(part.tag in tags for part in case)


def _name(case: ET.Element) -> str:
    """Return the name of a test: its module and class, and what it is called there."""
    return f"{case.get('classname')}::{case.get('name')}"


def _message(case: ET.Element) -> str | None:
    failures = [part for part in case if part.tag in ("failure", "error")]
    return (failures[0].get("message") or failures[0].text or "") if failures else None


@dataclass(frozen=True)
class Group:
    """Tests that are expected to fail, and why: `kind` is "convention", "not planned" or "not yet"."""

    kind: str
    reason: str
    tests: tuple[str, ...]

    def __contains__(self, test: str) -> bool:
        """Return whether the group has a test; a `*` in the pattern of a name stands for anything."""
        return any(re.fullmatch(".*".join(map(re.escape, name.split("*"))), test) for name in self.tests)


def groups(suite: str) -> list[Group]:
    """Return the groups of tests of a suite that are expected to fail."""
    path = EXPECTED / f"{suite}.toml"
    listed = tomllib.loads(path.read_text())["group"] if path.exists() else []
    return [Group(group["kind"], group["reason"], tuple(group["tests"])) for group in listed]


def patterns(failing: Iterable[str], passing: Iterable[str]) -> Iterator[str]:
    """Yield the fewest names with `*` at their end that stand for tests that fail and for none that passes.

    Parameters
    ----------
    failing, passing : names of tests
    """
    passing, left = sorted(passing), sorted(failing)
    while left:
        cuts = [match.end() for match in re.finditer(r"\.|::|\[|-", left[0])]
        for cut in (*cuts, len(left[0])):
            start = left[0][:cut]
            covered = [test for test in left if test.startswith(start)]
            if len(covered) > 1 and not any(test.startswith(start) for test in passing):
                yield f"{start}*"
                break
        else:
            covered = [left[0]]
            yield left[0]
        left = [test for test in left if test not in covered]


def report(suite: str, outcome: Mapping[str, str | None]) -> bool:
    """Print what the tests of a suite give beside what is recorded, and return whether a new one fails."""
    expected = groups(suite)
    failing = {test: text for test, text in outcome.items() if text is not None}
    print(f"{suite}: {len(outcome) - len(failing)} of {len(outcome)} tests pass")
    for group in expected:
        print(f"  {sum(test in group for test in failing)} {group.kind}: {group.reason}")
    for test in outcome:
        if test not in failing and any(test in group for group in expected):
            print(f"passes now: {test}")
    new = {test: text for test, text in failing.items() if not any(test in group for group in expected)}
    for test, text in new.items():
        print(f"FAILED {test}\n  {text.splitlines()[0] if text else ''}")
    print(f"{suite}: {len(new)} fail that are not recorded")
    return bool(new)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suites that are there; return 1 where a test fails that is not recorded."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.programs.peers_suites", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--at", type=Path, required=True, help="folder with the checkouts")
    parser.add_argument("--suite", choices=sorted(SUITES), action="append", help="this one alone; may be repeated")
    parser.add_argument("--patterns", action="store_true", help="print new failures as lines for the record")
    chosen, options = parser.parse_known_args(arguments)
    failed = False
    for name in chosen.suite or SUITES:
        folder = SUITES[name].place(chosen.at.absolute())
        missing = [package for package in SUITES[name].needs if importlib.util.find_spec(package) is None]
        if folder is None or missing:
            print(f"{name}: passed over; there is no {missing or chosen.at / SUITES[name].folder}")
            continue
        outcome = results(SUITES[name], folder, options)
        failed |= report(name, outcome)
        if chosen.patterns:
            expected = groups(name)
            new = {t for t, text in outcome.items() if text is not None and not any(t in group for group in expected)}
            print(*(f'  "{name}",' for name in patterns(new, outcome.keys() - new)), sep="\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())

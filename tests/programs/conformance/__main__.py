"""Run the suite over tensors with the arrays of a library, and list the failures that the library itself does not have.

`python -m tests.programs.conformance SUITE --arrays torch`, and options of pytest; the exit status is 1 where
one is not expected. What fails over tensors alone is tried again over the library with many more examples: where
it then fails there by the same exception, the tensors have only drawn another example.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

# What the suite imports for the library itself.
LIBRARIES = {"torch": "array_api_compat.torch", "jax": "jax.numpy", "dask": "array_api_compat.dask.array"}
TENSORS = "exec('import dispatchkit as xp; block = xp.arrays_of(\"{}\"); block.__enter__()')"
EXPECTED = Path(__file__).parent / "expected.toml"
ROOT = Path(__file__).parents[3]
EXAMPLES = "--max-examples=10"
MANY = ("--max-examples=1000", "--times=200")


def results(suite: Path, module: str, options: Sequence[str], folder: str) -> dict[str, str | None]:
    """Run the suite, and return the message of each test's failure, None for one that does not fail.

    Parameters
    ----------
    suite : checkout of the suite
    module : what it tests
    options : of pytest; the tests are among them
    folder : for the report
    """
    report = Path(folder) / "report.xml"
    environment = {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": module,
        "ARRAY_API_TESTS_VERSION": "2025.12",
        "JAX_ENABLE_X64": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    fixed = ("-q", "--tb=no", "--no-summary", "--disable-deadline", "--derandomize", f"--junitxml={report}")
    plugin = ("-p", "tests.programs.conformance.limits", "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", *plugin, *fixed, *options]
    subprocess.run(command, cwd=suite, env=environment, check=False)
    return {_name(case): _message(case) for case in ET.parse(report).iter("testcase")}  # noqa: S314


def _name(case: ET.Element) -> str:
    """Return a test as pytest takes it."""
    module, *classes = case.get("classname", "").removeprefix("array_api_tests.").split(".")
    return "::".join([f"array_api_tests/{module}.py", *classes, case.get("name", "")])


def _exception(message: str | None) -> str:
    """Return which exception a message is of; pytest leaves out the name where an `assert` has no text."""
    return "AssertionError" if (message or "").startswith("assert ") else (message or "").partition(":")[0]


def _message(case: ET.Element) -> str | None:
    failures = [part for part in case if part.tag in ("failure", "error")]
    return failures[0].get("message", "") if failures else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what fails over the tensors alone; return 1 where that is not expected."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.programs.conformance", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("suite", type=Path, help="checkout of the suite")
    parser.add_argument("--arrays", choices=sorted(LIBRARIES), required=True, help="the library")
    chosen, options = parser.parse_known_args(arguments)
    library, options = chosen.arrays, [EXAMPLES, "array_api_tests", *options]
    with tempfile.TemporaryDirectory() as folder:
        theirs = results(chosen.suite, LIBRARIES[library], options, folder)
        ours = results(chosen.suite, TENSORS.format(library), options, folder)
        alone = {test: text for test, text in ours.items() if text is not None and theirs.get(test) is None}
        if alone:
            again = results(chosen.suite, LIBRARIES[library], [*MANY, *alone], folder)
            alone = {test: text for test, text in alone.items() if _exception(again.get(test)) != _exception(text)}
    expected = tomllib.loads(EXPECTED.read_text()).get(library, {})
    for who, found in ((library, theirs), (f"dispatchkit over {library}", ours)):
        print(f"{who}: {sum(text is not None for text in found.values())} of {len(found)} tests fail")
    for test, text in sorted(alone.items()):  # processes end in no order
        print(f"{'expected' if test in expected else 'FAILED'} {test}\n  {expected.get(test) or text.splitlines()[0]}")
    unexpected = alone.keys() - expected.keys()
    print(f"{len(alone)} fail over tensors alone, of which {len(unexpected)} are not expected")
    return bool(unexpected)


if __name__ == "__main__":
    sys.exit(main())

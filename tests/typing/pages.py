"""What type checkers without the plugin say of the code on the pages: ``python -m tests.typing.pages``.

The blocks of a page, and the modules of docs/template, are checked as a reader's editor does. `ACCEPTED` lists the
complaints that stand, each with its reason; the program fails on any other.
"""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.test_markdown import BLOCK, PAGES, ROOT

__all__ = ["ACCEPTED", "code_of", "main"]

CONFIG = """\
[mypy]
mypy_path = {root}
check_untyped_defs = true
allow_redefinition = true
ignore_missing_imports = true
# The library's own bodies are checked by another run. Here mypy reads the signatures alone.
[mypy-dispatchkit.*,tests.*]
ignore_errors = true
"""
# Classes of the pages that have their operators and methods from the decorator, which only the plugin shows.
PLAIN = (
    r"\"(ComplexPair|Diagonal|Identity|Image|LowRank|Measured|Quantity|Scaled|ScaledIdentity)\".*"
    r"\[(operator|attr-defined|index|reportOperatorIssue|reportAttributeAccessIssue|reportIndexIssue)\]"
)
# Complaints by a pattern of their first line, and why they stand.
ACCEPTED = {
    r"(_plum|_torch_function)\.py.*(no-redef|reportRedeclaration)": "rules of one name, or a function written anew",
    r"(_seeing|_structured_weight|_complex_pair|_gp_regression)\.py.*PossiblyUnbound": "a result of a loop that runs",
    r"(_defining_types|_advanced_types|_torch_function)\.py.*var-annotated": "a list or dictionary, filled further on",
    PLAIN: "array types without dk.ArrayMethods, whose operators and methods the plugin shows",
    r"_fallbacks\.py.*\"float\" has": "the same, on what their handlers give",
    r"_operations\.py.*\"doubled\"": "a method that the page declares for its own operation",
    r"_prices\.py.*\"names\"": "names of axes, which a type of the page has and a tensor has not",
    r"_networks\.py.*\"Parameter\" has": "fields of the array type that a parameter holds",
    r"(_small_print|_interoperability|_low_rank)\.py.*\"None\"": "a gradient, which is there after `backward`",
    r"_autograd\.py.*register_hook": "a `grad_fn`, which a recorded tensor has",
    r"_pendulum\.py.*UncertainTensor\" of": "a result that a program would narrow",
    r"(README|_numpy|_units)\.py.*(call-overload|CallIssue|ArgumentType)": "NumPy's functions, which know no types",
    r"(names|combining)\.py.*\"sum\" of|missing_prices\.py": "names of axes, where a tensor has numbers",
    r"_names\.py.*(\"unsqueeze\" of|CallIssue|ArgumentType)": "the name of a new axis, where a tensor has a number",
    r"_defining_types\.py.*(not indexable|IndexIssue)": "an index of an array type without dk.ArrayMethods",
    r"_masks\.py.*\"valid\"": "an array of the type of those that it is made of",
    r"(first_type|auditing_types)\.py.*list\[object\]": "a list of functions and kinds, to mypy one of objects",
    r"_seeing\.py.*(results|densified)": "columns that only measured coverage has",
    r"_modes\.py.*__tensor_function__": "an override written as a plain method, which the protocol allows",
    r"_units_program\.py.*\"magnitude\"": "a quantity, as the gradient by one is",
}


def code_of(page: Path) -> str:
    """Return the code of a page, on the lines that it has there; what is to raise an error is left out."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * (text.count("\n") + 1)
    for block in BLOCK.finditer(text):
        start = text.count("\n", 0, block.start(1))
        if ">>>" not in block[1]:
            lines[start : start + block[1].count("\n")] = block[1].splitlines()
            continue
        for example in doctest.DocTestParser().get_examples(block[1]):
            if example.exc_msg is None:
                place = start + example.lineno
                lines[place : place + example.source.count("\n")] = example.source.splitlines()
    return "\n".join(lines) + "\n"


def run_mypy(folder: Path) -> list[str]:
    """Return the complaints of mypy, each with its file, line and code."""
    (folder / "mypy.ini").write_text(CONFIG.format(root=ROOT), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--no-error-summary", *names_in(folder)]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return [line for line in (ran.stdout + ran.stderr).splitlines() if ": note: " not in line]


def run_pyright(folder: Path) -> list[str]:
    """Return the errors of basedpyright, in its standard mode that is pyright's."""
    settings = {"extraPaths": [str(ROOT)], "typeCheckingMode": "standard", "reportMissingImports": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [str(Path(sys.executable).with_name("basedpyright")), "--outputjson", "--pythonpath", sys.executable]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return [
        f"{Path(fault['file']).name}:{fault['range']['start']['line'] + 1}: "
        f"{fault['message'].partition(chr(10))[0]} [{fault['rule']}]"
        for fault in json.loads(ran.stdout)["generalDiagnostics"]
        if fault["severity"] == "error"
    ]


def names_in(folder: Path) -> list[str]:
    """Return the names of the modules in a folder."""
    return sorted(path.name for path in folder.glob("*.py"))


def main() -> int:
    """Check all pages, print the complaints that are not accepted, and return whether there are some."""
    failed = False
    needed: set[str | None] = set()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for page in PAGES:
            module = "page_" + re.sub(r"\W", "_", page.relative_to(ROOT).with_suffix("").as_posix())
            (folder / f"{module}.py").write_text(code_of(page), encoding="utf-8")
        for source in sorted((ROOT / "docs" / "template" / "src").rglob("*.py")):
            (folder / f"template_{source.stem}.py").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
        checkers = (run_mypy, run_pyright)
        with ThreadPoolExecutor() as both:
            complaints_of_each = list(both.map(lambda run: run(folder), checkers))
        for run, complaints in zip(checkers, complaints_of_each, strict=True):
            reasons = Counter(next((p for p in ACCEPTED if re.search(p, line)), None) for line in complaints)
            needed |= reasons.keys()
            rest = [line for line in complaints if not any(re.search(p, line) for p in ACCEPTED)]
            print(f"{run.__name__}: {len(rest)} of {len(complaints)} complaints are not accepted")
            for pattern, reason in ACCEPTED.items():
                print(f"  {reasons[pattern]:4} accepted: {reason}")
            print("\n".join(rest))
            failed |= bool(rest)
    stale = [pattern for pattern in ACCEPTED if pattern not in needed]
    print("\n".join(f"nothing needs {pattern} in ACCEPTED any more" for pattern in stale))
    return int(failed or bool(stale))


if __name__ == "__main__":
    sys.exit(main())

"""What `import dispatchkit` loads, and when the rest follows."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest


def run(program: str, *arguments: str) -> str:
    """Return what a program prints in an interpreter of its own."""
    done = subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


LATER = (
    *("autograd", "data", "fft", "func", "nn", "optim", "overrides", "report", "saving", "special", "testing", "types"),
)


def test_what_a_program_does_not_use_is_not_loaded() -> None:
    loaded = run("import sys, dispatchkit; print(*[m for m in sys.modules if m.startswith('dispatchkit.')])").split()
    assert not {f"dispatchkit.{name}" for name in LATER} & set(loaded)


@pytest.mark.parametrize("package", ["types", "report", "testing"])
def test_type_checkers_find_each_name_where_programs_do(package: str) -> None:
    module = import_module(f"dispatchkit.{package}")
    tree = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    home = f"{module.__name__}."
    named = {alias.name: (node.module or "").removeprefix(home) for node in imports for alias in node.names}
    assert named == vars(module)["_LATER"]


def test_an_explanation_loads_nothing_that_tests_types_or_counts_their_functions() -> None:
    program = """
import sys, numpy
old = {*sys.modules}
import dispatchkit as dk
print(dk.explain(dk.exp, dk.ones(2)).what, "|", dk.explain(lambda: dk.ones(2) + 1).densified)
print(*{*sys.modules} - old)
"""
    explained, loaded = run(program).splitlines()
    assert explained == "default of Tensor | 0"
    parts = ("testing.conformance", "report.covering.coverage", "report.auditing.audit", "nn")
    assert not {"importlib.resources", *(f"dispatchkit.{part}" for part in parts)} & set(loaded.split())


def test_the_explanation_of_an_operation_loads_nothing_that_records_or_counts_calls() -> None:
    program = """
import sys
import dispatchkit as dk
old = {*sys.modules}
dk.explain(dk.exp, dk.ones(2)), dk.rules(dk.exp)
print(*{*sys.modules} - old)
"""
    loaded = run(program).split()
    assert "dispatchkit.report.registered" in loaded
    parts = ("report.record.", "report.covering", "report.auditing", "testing", "autograd", "func", "progress")
    assert [name for name in loaded if name.startswith(tuple(f"dispatchkit.{part}" for part in parts))] == []


def test_what_compares_misspelled_words_loads_with_a_message() -> None:
    program = """
import sys, numpy
import dispatchkit as dk
print('difflib' in sys.modules)
try:
    dk.sum(dk.ones(2), axes=0)
except TypeError as error:
    print('axis' in str(error), 'difflib' in sys.modules)
"""
    assert run(program).split() == ["False", "True", "True"]


def test_what_loaded_with_another_name_is_shown_by_its_home() -> None:
    program = "import dispatchkit as dk; dk.record_calls; print('Trace' in vars(dk.report), dk.report.Trace.__module__)"
    assert run(program) == "True dispatchkit.report"


def test_what_explains_calls_loads_with_the_first_explanation() -> None:
    program = """
import sys, dispatchkit as dk
later = ("dispatchkit.protocol.explain", "dispatchkit.protocol.prediction")
before = [name for name in later if name in sys.modules]
dk.tensor_protocol.explain(dk.exp, dk.ones(2))
print(before, [name for name in later if name not in sys.modules])
"""
    assert run(program) == "[] []"


def test_the_standard_library_and_numpy_load_what_is_needed_alone() -> None:
    # `traceback`, which any program loads that fails, loads more from Python 3.15 on.
    program = "import sys, numpy, traceback; old = {*sys.modules}; import dispatchkit; print(*{*sys.modules} - old)"
    costly = {"importlib.resources", "numpy.random", "pathlib", "shutil", "tempfile", "urllib.parse"}
    assert not costly & set(run(program).split())


# Asks for one name after the other, each in a copy of the process that has loaded nothing else, where there are copies.
FIRST_ASKED = """
import os, sys, dispatchkit as dk
names = sys.argv[1:]
for name in names:
    copied = len(names) > 1
    if copied and os.fork():
        os.wait()
        continue
    getattr(dk, name)
    print(name, name in vars(dk), flush=True)
    os._exit(0)
"""


def test_each_part_loads_when_it_is_first_asked_for(subtests: pytest.Subtests) -> None:
    names = [*LATER, "audit", "coverage", "draw", "record_calls", "load", "save"]
    if hasattr(os, "fork"):
        printed = run(FIRST_ASKED, *names)
    else:
        printed = "\n".join(run(FIRST_ASKED, name) for name in names)
    for name in names:
        with subtests.test(name):
            assert f"{name} True" in printed.splitlines()


def test_kinds_have_operations_that_no_program_used_yet() -> None:
    program = "import dispatchkit as dk; print('gelu' in [f.__name__ for f in dk.kinds.activation])"
    assert run(program) == "True"


def test_a_printed_list_of_operations_has_those_that_no_program_used_yet() -> None:
    printed = run("import dispatchkit as dk; print(dk.tensor_protocol.operations)")
    assert "dispatchkit.fft.fft(" in printed
    assert "dispatchkit.nn.functional.linear(" in printed


def test_a_function_keeps_its_name_although_a_module_has_it_too() -> None:
    program = (
        "import dispatchkit as dk; print(dk.tensor([1.0]).shape); dk.autograd, dk.func; print(dk.tensor(2.0).ndim)"
    )
    assert run(program) == "(1,)\n0"


def test_another_name_is_an_attribute_error() -> None:
    program = "import dispatchkit as dk\ntry: dk.nosuch\nexcept AttributeError as error: print(error)"
    assert run(program) == "module 'dispatchkit' has no attribute 'nosuch'"


def test_what_loads_inside_local_registrations_is_not_undone() -> None:
    program = """
import dispatchkit as dk
with dk.local_registrations():
    from dispatchkit.types import ScalarTensor
    from dispatchkit.nn.functional import relu
s = ScalarTensor(2, 3.0)
with dk.densify(on="error"):
    print(type(s + s).__name__, relu(dk.asarray([-1.0])).tolist())
"""
    assert run(program) == "ScalarTensor [0.0]"


LISTS = {
    "report": "import dispatchkit as dk; names = [row.namespace + '.' + row.function for row in dk.coverage(T).rows]",
    "testing": """
from dispatchkit.testing import check_type  # which makes subjects
from dispatchkit.testing.findings import Subject
names = [operation.qualified_name for operation in Subject(T, [T()]).operations]
""",
    "overrides": """
from dispatchkit.overrides import get_overridable_functions as get
names = [str(module) for module in get()]
""",
}
PARTS = {"fft", "linalg", "random", "special", "nn.functional"}


@pytest.mark.parametrize("package", LISTS)
def test_all_operations_are_listed_whatever_was_loaded(package: str) -> None:
    declared = """
from dispatchkit import array_type, fallback
@array_type(fallback=fallback.dense)
class T:
    def to_dense(self): raise ValueError
"""
    listed = run(f"{declared}\n{LISTS[package]}\nprint(*names)")
    assert {part for part in PARTS if part not in listed} == set()


def test_a_part_of_the_namespace_that_loads_later_answers_functions_of_numpy_and_advice() -> None:
    program = """
import numpy as np, dispatchkit as dk
from dispatchkit.declare.namespace import tensor_namespace
try: dk.implements(np.fft.rfft2)
except TypeError as error: print(error)
try: dk.implements(np.fft.rfft)
except TypeError as error: print(error)
print(np.fft.fft(dk.ones(2)).shape, tensor_namespace.special.erf is dk.special.erf)
try: tensor_namespace.nosuch
except AttributeError as error: print(error)
"""
    assert run(program).splitlines() == [
        "implements: rfft2 is not overridable; make it so with overridable(rfft2)",
        "implements: numpy.rfft is not overridable; use dk.fft.rfft",
        "(2,) True",
        "<namespace dispatchkit> has no attribute 'nosuch'",
    ]

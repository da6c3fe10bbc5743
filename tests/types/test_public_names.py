"""The shipped types are written with public names, as a user's types are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import dispatchkit as dk

# What the types take besides: a dense form under the budget of `densify`, parts of statistics, the laws of fields as
# they are kept, the walk through containers, what arguments of functions mean, and how arrays are printed. They have no
# public names yet.
NOT_PUBLIC = {
    "wrap_array",  # which takes a third of the time of `Tensor(array)`, where that is most of a call
    "numpy_namespace",  # which computes slopes of single numbers, of which tensors would take most of the time
    "note_view",  # which notes that memory is shared where an array of NumPy was moved, rather than a tensor
    "rows_by",  # which takes half of the time of an index for each element
    *("part_of", "parts_by"),  # which take two thirds of the time of a rule that looks at the index in each call
    "RAW_INDEX",  # by which an index is no tensor first, which takes a third of the time of an index by an array
    "HELD",  # by which elements that are there are given without a look at who asks, which takes most of the time
    *("compiled_later", "fill_template"),  # by which a rule is one function, where calls are most of what it takes
    *("dense_form", "fit_weights", "scale_covariances", "between", "of", "elements_of"),
    *("FieldRule", "rule_of", "container_items", "leaves", "map_leaves", "holds_instances", "dtype_meant", "are_parts"),
    *("holds_text", "numbers_of_axes"),
    *(
        "Format",
        "Places",
        "Texts",
        "Written",
        "written",
        "cut",
        "format_number",
        "repr_of",
        "str_of",
        "summarised",
        "uncertain_text",
    ),
}
FILES = sorted(Path(import_module("dispatchkit.types").__file__ or "").parent.rglob("*.py"))


def imported(file: Path) -> Iterator[tuple[str, str]]:
    """Yield module and name of what a file imports from dispatchkit."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        module = getattr(node, "module", None) or ""
        # What the files of a package of types share is their own.
        own = module.startswith("dispatchkit.types.")
        if isinstance(node, ast.ImportFrom) and module.startswith("dispatchkit") and not own:
            yield from ((module, alias.name) for alias in node.names)


@pytest.mark.parametrize("file", [file for file in FILES if file.name != "__init__.py"], ids=lambda file: file.stem)
def test_a_shipped_type_imports_what_users_find_in_dispatchkit(file: Path) -> None:
    for module, name in imported(file):
        if name not in {"ops", *NOT_PUBLIC}:  # the functions, which `dispatchkit` shows as its own
            assert getattr(dk, name) is getattr(import_module(module), name), f"{module}.{name}"

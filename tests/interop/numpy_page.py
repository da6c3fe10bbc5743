"""Writes docs/numpy-functions.md from the table: ``python -m tests.interop.numpy_page``."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

# NumPy lists the functions of the modules that are imported.
import numpy.char
import numpy.fft
import numpy.lib.recfunctions
import numpy.polynomial
import numpy.strings  # noqa: F401
from numpy.testing.overrides import get_overridable_numpy_array_functions, get_overridable_numpy_ufuncs

from dispatchkit.tensor.numpy_table import answer_of, path_of

__all__ = ["FUNCTIONS", "PAGE", "UFUNCS", "make_page"]

FUNCTIONS = {path_of(function) or "": function for function in get_overridable_numpy_array_functions()}
UFUNCS = {function.__name__: function for function in get_overridable_numpy_ufuncs()}

PAGE = Path(__file__).parents[2] / "docs" / "numpy-functions.md"
HEAD = """\
# NumPy's functions

Written by `python -m tests.interop.numpy_page` from the table that decides their calls; a test compares them.

All functions of NumPy that can be overridden ({functions} functions and {ufuncs} universal functions of NumPy 2.4) on
tensors and array types:

- **An operation** of the same meaning answers, or **several operations** do: rules, gradients and fallbacks apply to
  each. A parameter that they do not have leads to arrays.
- **Arrays**: NumPy computes them on arrays: those of tensors, the dense form of types (warned of and counted).
  A tensor that requires a gradient raises there instead of losing it.
- **Declined**: a `TypeError` says why.

`dtype=`, `out=`, `where=`, `keepdims=`, `axis=None`, `initial=` mean what they mean in NumPy. `reduce`, `accumulate`
and `outer` of universal functions are operations where there are such.
"""
TITLES = {
    "operation": "An operation",
    "composition": "Several operations",
    "attribute": "An attribute",
    "array": "Arrays",
    "declined": "Declined",
}


def make_page() -> str:
    """Return the text of the page."""
    found: dict[str, dict[str, set[str]]] = {how: defaultdict(set) for how in TITLES}
    for name, function in (*FUNCTIONS.items(), *UFUNCS.items()):
        answer = answer_of(function)
        assert answer is not None
        found[answer.how][answer.text].add(name)
    lines = [HEAD.format(functions=len(FUNCTIONS), ufuncs=len(UFUNCS))]
    for how, title in TITLES.items():
        lines.append(f"## {title}\n")
        if how == "operation":
            renamed = {name: text.removeprefix("dispatchkit.") for text, names in found[how].items() for name in names}
            same = sorted(name for name, operation in renamed.items() if name == operation)
            others = sorted((name, operation) for name, operation in renamed.items() if name != operation)
            lines.append(_listed(same) + "\n")
            lines.append("Under another name: " + ", ".join(f"`{a}` (`{b}`)" for a, b in others) + ".\n")
        elif how in ("array", "declined"):
            lines += [f"- {reason}: {_listed(sorted(names))}" for reason, names in sorted(found[how].items())]
            lines.append("")
        else:
            lines.append(_listed(sorted({name for names in found[how].values() for name in names})) + "\n")
    return "\n".join(lines).rstrip() + "\n"


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) + "."


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf-8")

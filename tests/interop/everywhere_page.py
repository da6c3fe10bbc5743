"""Writes docs/one-type-everywhere.md: ``nox -s generated``; ``python -m`` with this module prints its tables.

SciPy reads when it is imported whether it is to ask array namespaces, so that the page is made by a program of its own.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np

import dispatchkit as dk
from dispatchkit.errors import AutogradError, DensifyWarning, DispatchError
from tests.interop.everywhere import makers
from tests.interop.everywhere_calls import CALLS, Call
from tests.interop.everywhere_torch_jax import rows

__all__ = ["make_files", "make_table", "outcome"]

PAGE = Path(__file__).parents[2] / "docs" / "one-type-everywhere.md"
START, END = "<!-- table: begin -->", "<!-- table: end -->"


def parts_of(result: Any) -> list[Any]:
    """Return the arrays of a result."""
    return [part for one in result for part in parts_of(one)] if isinstance(result, (list, tuple)) else [result]


def elements(result: Any) -> Any:
    """Return the elements of a result, whatever library it is of."""
    if type(result).__name__ == "Quantity" and hasattr(result, "value"):
        result = result.value
    with dk.densify(on="allow"):
        return np.asarray(result)


def outcome(call: Call, x: Any, dense: Any) -> str:
    """Return in a word what a call of an array gives, compared with the call of its elements."""
    failed: type[BaseException] | None = None
    want: Any = None
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            want = call(dense)
        except ImportError as error:
            return f"not installed: {error.name}"
        except Exception as error:  # noqa: BLE001  # whatever a library raises
            failed = type(error)
        seen.clear()
        try:
            got = call(x)
        except Exception as error:  # noqa: BLE001
            return "as of the array" if type(error) is failed else refusal(error)
        said = any(issubclass(one.category, DensifyWarning) for one in seen)
    pairs = list(zip(parts_of(got), parts_of(want), strict=False))
    for one, other in pairs:
        if other is not None and not np.allclose(elements(one), elements(other), atol=1e-4, rtol=1e-4, equal_nan=True):
            return f"**wrong value**: {one!r}"
    if any(type(part) is type(x) for part in parts_of(got)):
        return "keeps, dense inside" if said else "keeps"
    if said:
        return "dense"
    if any(isinstance(part, dk.Tensor) for part in parts_of(got)):
        return "tensor"
    return "array" if any(np.ndim(part) for part in parts_of(got) if part is not None) else "exact"


def refusal(error: BaseException) -> str:
    """Return what is said of an error: one of dispatchkit's that says what to do, or a bare one of somebody else."""
    if isinstance(error, (DispatchError, AutogradError)) or "define to_dense()" in str(error):
        return "refused"
    return f"**{type(error).__name__}**: {str(error).splitlines()[0] if str(error) else ''}"


def make_table() -> str:
    """Return the tables of all calls as Markdown."""
    lines = []
    for section, calls in CALLS.items():
        found = makers()
        lines += [f"## {section}\n", f"| call | {' | '.join(found)} |", f"| --- |{' --- |' * len(found)}"]
        for name, call in calls.items():
            cells = [outcome(call, *makers()[kind]) for kind in found]
            if not any(cell.startswith("not installed") for cell in cells):
                shown = name.replace("|", "\\|")
                lines.append(f"| `{shown}` | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join([*lines, *torch_and_jax()])


def torch_and_jax() -> list[str]:
    """Return the tables of PyTorch's and JAX's calls, made of the types in `structured.py`."""
    lines: list[str] = []
    titles = {"torch": "PyTorch", "jax": "JAX"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for library, text, cells in rows():
            if library in titles:
                lines += ["", f"## {titles.pop(library)}\n", f"| call | {' | '.join(cells)} |"]
                lines.append(f"| --- |{' --- |' * len(cells)}")
            lines.append(f"| `{text}` | {' | '.join(cells.values())} |")
    return [*lines[1:], ""]


def make_files() -> dict[str, str]:
    """Return the page by its path, with the tables as they are to be."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(START)
    return {"docs/one-type-everywhere.md": f"{before}{START}\n\n{make_table()}\n{END}{rest.split(END)[1]}"}


if __name__ == "__main__":
    sys.stdout.write(make_table())

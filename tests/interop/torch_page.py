"""Writes docs/pytorch-functions.md from the tables that decide the calls: ``nox -s generated``."""

from __future__ import annotations

from typing import Any

import torch

from dispatchkit.as_torch.table import TRANSLATIONS
from dispatchkit.interop.torch.calls import operation_of, path_of

__all__ = ["functions", "make_files"]

HEAD = """\
# PyTorch's functions

Written by `nox -s generated` from the tables that decide their calls; a test compares values with PyTorch's.

{answered} of the {all} functions of PyTorch {version} that can be overridden are operations on tensors and array types:
rules, gradients and fallbacks apply. Methods and operators of PyTorch's tensors are the functions of their names. All
others, and calls with a parameter that the operation does not have, PyTorch computes on the dense form
([With PyTorch](pytorch.md)).
"""


def functions() -> dict[str, Any]:
    """Return the functions of PyTorch that can be overridden, by path; methods are left out."""
    listed = torch.overrides.get_overridable_functions()
    found: dict[str, Any] = {}
    for function in [one for several in listed.values() for one in several]:
        name = torch.overrides.resolve_name(function)
        if name is not None and not name.startswith("torch.Tensor."):
            found[path_of(function)] = function
    return found


def make_files() -> dict[str, str]:
    """Return the page by its path."""
    return {"docs/pytorch-functions.md": make_page()}


def make_page() -> str:
    """Return the text of the page."""
    every = sorted(functions())
    same, renamed = [], []
    for path in every:
        operation = operation_of(path)
        if operation is not None:
            own = operation.qualified_name.removeprefix("dispatchkit.")
            same.append(path) if own == path else renamed.append((path, own))
    translated = [path for path in every if path in TRANSLATIONS]
    answered = len(same) + len(renamed) + len(translated)
    version = ".".join(torch.__version__.split(".")[:2])
    return "\n".join(
        [
            HEAD.format(answered=answered, all=len(every), version=version),
            "## Operations of the same name\n",
            _listed(same) + "\n",
            "## Operations under another name\n",
            ", ".join(f"`{path}` (`{own}`)" for path, own in renamed) + ".\n",
            "## Put in terms of operations\n",
            "These mean something else in PyTorch than the operation of their name, or have none: "
            + _listed(translated),
            "",
        ]
    )


def _listed(paths: list[str]) -> str:
    return ", ".join(f"`{path}`" for path in paths) + "."

"""Writes dispatchkit/as_torch/calling/names.csv, the names that PyTorch's modules and tensors have."""

from __future__ import annotations

import csv
import importlib
import io
import sys
from types import ModuleType
from typing import Any

import torch

from dispatchkit.as_torch import spelling

__all__ = ["make_files"]


def make_files() -> dict[str, str]:
    """Return the table by its path."""
    return {"dispatchkit/as_torch/calling/names.csv": make_table()}


def make_table() -> str:
    """Return the text of the table: the names of each module, and of tensors."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("place", "names"))
    homes = [name for name, module in sys.modules.items() if name.startswith(spelling.HOME) and is_entered(module)]
    for home in sorted(homes):
        place = home.removeprefix(spelling.HOME).lstrip(".")
        module = module_at(place)
        if module is not None:
            writer.writerow((place, " ".join(public_names(module))))
    writer.writerow(("Tensor", " ".join(public_names(torch.Tensor))))
    return out.getvalue()


def is_entered(module: Any) -> bool:
    """Return whether a module has PyTorch's names."""
    is_made = hasattr(module, "__all__") and getattr(module, "__file__", None) is None
    return is_made or module.__name__ == spelling.HOME


def module_at(place: str) -> Any:
    """Return the module of PyTorch; None if it has none of the name."""
    try:
        return importlib.import_module(f"torch.{place}".rstrip("."))
    except ImportError:
        found: Any = torch
        for name in place.split("."):
            found = getattr(found, name, None)
        return found


def public_names(place: Any) -> list[str]:
    """Return the names that do not begin with an underscore."""
    # Modules with settings stand in the place of others, `m`, and have the settings in their class.
    names = {*dir(place), *dir(getattr(place, "m", place))}
    if isinstance(place, ModuleType):
        names |= {*dir(type(place))}
    return sorted(name for name in names if not name.startswith("_"))

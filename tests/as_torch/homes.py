"""Writes entering/homes.csv of `as_torch`: the modules that PyTorch's packages are made of, and what each defines."""

from __future__ import annotations

import csv
import importlib
import io
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from dispatchkit.as_torch.entering.homes import PACKAGES, PRIVATE

__all__ = ["make_files"]


def make_files() -> dict[str, str]:
    """Return the table by its path."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("place", "names"))
    for place, module in modules():
        names = names_defined_by(module)
        if names:
            writer.writerow((place, " ".join(names)))
    return {"dispatchkit/as_torch/entering/homes.csv": out.getvalue()}


def modules() -> Iterator[tuple[str, ModuleType]]:
    """Yield the modules of the packages, and their paths inside PyTorch."""
    for package in PACKAGES:
        holder = importlib.import_module(f"torch.{package}")
        for info in sorted(pkgutil.iter_modules(holder.__path__), key=lambda info: info.name):
            if not info.name.startswith("_") and not info.ispkg:
                place = f"{package}.{info.name}"
                yield place, importlib.import_module(f"torch.{place}")


def names_defined_by(module: ModuleType) -> list[str]:
    """Return the names that a module defines for others, and those that programs import all the same."""
    own = {name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__}
    return sorted(name for name in own | (PRIVATE & vars(module).keys()) if name[0] != "_" or name in PRIVATE)

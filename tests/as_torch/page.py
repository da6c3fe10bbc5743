"""Writes docs/as-torch-names.md from what there is, and PyTorch's own names: ``nox -s generated``."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import torch

import dispatchkit.as_torch
from dispatchkit.as_torch import table

__all__ = ["make_files"]

HOME = "dispatchkit.as_torch"
HEAD = """\
# Names of `as_torch`

Written by `nox -s generated` from `dispatchkit.as_torch` and PyTorch {version}. A name that is missing raises an
`AttributeError` that says what to write, where there is something to write
([Moving a program over](guides/moving-a-program.md)).

| in | PyTorch's public names | of them here |
| --- | ---: | ---: |
{rows}
"""
PLACES = (
    *("", "Tensor", "nn", "nn.functional", "nn.init", "nn.utils", "optim", "optim.lr_scheduler", "utils.data"),
    *(
        "amp",
        "distributions",
        "nn.utils.rnn",
        "autograd",
        "func",
        "linalg",
        "fft",
        "masked",
        "signal.windows",
        "special",
    ),
)


def names_in(place: str) -> list[str]:
    """Return the public names of a module of PyTorch, or of its tensors, without modules."""
    holder: Any = torch
    for part in filter(None, place.split(".")):
        holder = getattr(holder, part)
    listed = dir(holder) if place == "Tensor" else getattr(holder, "__all__", None) or dir(holder)
    if place in ("nn", "nn.functional"):
        listed = dir(holder)
    return sorted(
        name for name in {*listed} if not name.startswith("_") and _counts(place, getattr(holder, name, None))
    )


def _counts(place: str, value: Any) -> bool:
    if isinstance(value, ModuleType) or value is None:
        return False
    home = getattr(value, "__module__", None) or "torch"
    return home.startswith("torch") or place == "Tensor"


def held(place: str, names: list[str]) -> list[str]:
    """Return those of the names that are here."""
    home: Any = dispatchkit.as_torch.Tensor if place == "Tensor" else sys.modules[f"{HOME}.{place}".rstrip(".")]
    return [name for name in names if hasattr(home, name)]


def make_files() -> dict[str, str]:
    """Return the page by its path."""
    return {"docs/as-torch-names.md": make_page()}


def make_page() -> str:
    """Return the text of the page."""
    rows, sections = [], []
    for place in PLACES:
        names = names_in(place)
        there = held(place, names)
        shown = f"torch.{place}".rstrip(".")
        rows.append(f"| `{shown}` | {len(names)} | {len(there)} |")
        missing = [_advised(place, name) for name in names if name not in there]
        sections += [f"## `{shown}`", "", _listed(there, "Here"), "", _listed(missing, "Missing"), ""]
    version = ".".join(torch.__version__.split(".")[:2])
    return "\n".join([HEAD.format(version=version, rows="\n".join(rows)), *sections])


def _advised(place: str, name: str) -> str:
    path = f"{place}.{name}".strip(".")
    advice = table.INSTEAD.get(path.removeprefix("Tensor."))
    return f"`{name}`" if advice is None else f"`{name}` (write `{advice}`)"


def _listed(names: list[str], word: str) -> str:
    return f"{word}: " + (", ".join(name if "`" in name else f"`{name}`" for name in names) or "none") + "."

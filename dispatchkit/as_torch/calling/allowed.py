"""The names that PyTorch's modules and tensors have: the spelling has no others.

`names.csv` holds them; `nox -s generated` writes it.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

__all__ = ["allowed_names"]


@cache
def _table() -> dict[str, frozenset[str]]:
    with files(__package__).joinpath("names.csv").open(encoding="utf-8") as lines:
        return {row["place"]: frozenset(row["names"].split()) for row in csv.DictReader(lines)}


def allowed_names(place: str) -> frozenset[str] | None:
    """Return the names that PyTorch has in a place; None for one that it has not.

    Parameters
    ----------
    place : a module by its path inside PyTorch, or "Tensor"
    """
    return _table().get(place)

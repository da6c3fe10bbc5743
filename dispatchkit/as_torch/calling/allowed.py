"""The names that PyTorch's modules and tensors have: the spelling has no others.

`names.csv` holds them; `nox -s generated` writes it.
"""

from __future__ import annotations

from functools import cache

from dispatchkit.resources import read_rows

__all__ = ["allowed_names"]


@cache
def _table() -> dict[str, frozenset[str]]:
    return {row["place"]: frozenset(row["names"].split()) for row in read_rows(__package__, "names.csv")}


def allowed_names(place: str) -> frozenset[str] | None:
    """Return the names that PyTorch has in a place; None for one that it has not.

    Parameters
    ----------
    place : a module by its path inside PyTorch, or "Tensor"
    """
    return _table().get(place)

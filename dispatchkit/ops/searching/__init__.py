"""Searching, sorting and sets."""

from dispatchkit.ops.searching import (
    numpy_paths,  # noqa: F401  # NumPy's fast paths, declared on import
    searching,
    sets,
)
from dispatchkit.ops.searching.searching import *  # noqa: F403
from dispatchkit.ops.searching.sets import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = [
    name
    for part in (
        searching,
        sets,
    )
    for name in vars(part)["__all__"]
]

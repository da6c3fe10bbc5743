"""Indexing, assignment and selection."""

from dispatchkit.ops.indexing import (
    indexing,
    selecting,
)
from dispatchkit.ops.indexing.indexing import *  # noqa: F403
from dispatchkit.ops.indexing.selecting import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = [
    name
    for part in (
        indexing,
        selecting,
    )
    for name in vars(part)["__all__"]
]

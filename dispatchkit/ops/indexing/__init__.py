"""Indexing, assignment and selection."""

from dispatchkit.declare.namespace import starred_names
from dispatchkit.ops.indexing.indexing import *  # noqa: F403
from dispatchkit.ops.indexing.selecting import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = starred_names(__name__)

"""Reductions to fewer elements, cumulative ones, softmax."""

from dispatchkit.declare.namespace import starred_names
from dispatchkit.ops.reductions.nan import *  # noqa: F403
from dispatchkit.ops.reductions.reductions import *  # noqa: F403
from dispatchkit.ops.reductions.softmaxes import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = starred_names(__name__)

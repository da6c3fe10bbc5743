"""Losses."""

from dispatchkit.declare.namespace import starred_names
from dispatchkit.nn.functional.losses.binary import *  # noqa: F403
from dispatchkit.nn.functional.losses.classes import *  # noqa: F403
from dispatchkit.nn.functional.losses.distances import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = starred_names(__name__)

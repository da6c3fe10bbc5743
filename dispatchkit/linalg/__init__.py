"""Linear algebra: the `linalg` extension of the array API standard."""

from dispatchkit.declare.namespace import make_home
from dispatchkit.ops import linalg as chapter
from dispatchkit.ops.linalg import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star import.
vars()["__all__"] = vars(chapter)["__all__"]

make_home(__name__)

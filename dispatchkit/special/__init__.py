"""Special functions, computed by SciPy for NumPy arrays: the extra ``dispatchkit[scipy]``."""

from dispatchkit.declare.namespace import make_home
from dispatchkit.ops import special as chapter
from dispatchkit.ops.special import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star import.
vars()["__all__"] = vars(chapter)["__all__"]

make_home(__name__)

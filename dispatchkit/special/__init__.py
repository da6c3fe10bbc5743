"""Special functions, computed by SciPy for NumPy arrays: the extra ``dispatchkit[scipy]``."""

from dispatchkit.ops import (
    special,
)
from dispatchkit.ops.special import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in its chapter alone.
vars()["__all__"] = [name for chapter in (special,) for name in chapter.__all__]

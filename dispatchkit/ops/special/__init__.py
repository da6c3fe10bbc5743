"""Special functions."""

from dispatchkit.ops.special import (
    special,
)
from dispatchkit.ops.special.special import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = [name for part in (special,) for name in vars(part)["__all__"]]

"""Interpolation, convolution, differences."""

from dispatchkit.ops.signal import (
    signal,
)
from dispatchkit.ops.signal.signal import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = [name for part in (signal,) for name in vars(part)["__all__"]]

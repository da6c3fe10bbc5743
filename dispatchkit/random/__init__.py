"""Random arrays from explicit generators, or from a default one that `manual_seed` sets."""

from dispatchkit.ops import (
    random,
)
from dispatchkit.ops.random import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in its chapter alone.
vars()["__all__"] = [name for chapter in (random,) for name in chapter.__all__]

"""Random numbers."""

from dispatchkit.ops.random import (
    distributions,
    generator,
    numpy_paths,  # noqa: F401  # NumPy's fast paths, declared on import
)
from dispatchkit.ops.random.distributions import *  # noqa: F403
from dispatchkit.ops.random.generator import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = [name for part in (distributions, generator) for name in vars(part)["__all__"]]

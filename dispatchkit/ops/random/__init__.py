"""Random numbers."""

from dispatchkit.ops.random import (
    generator,
    numpy_paths,  # noqa: F401  # NumPy's fast paths, declared on import
)
from dispatchkit.ops.random.generator import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = [name for part in (generator,) for name in vars(part)["__all__"]]

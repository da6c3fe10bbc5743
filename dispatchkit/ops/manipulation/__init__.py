"""Changes of shape and order, joining and splitting."""

from dispatchkit.ops.manipulation import (
    joining,
    numpy_paths,  # noqa: F401  # NumPy's fast paths, declared on import
    permuting,
    shapes,
    splitting,
)
from dispatchkit.ops.manipulation.joining import *  # noqa: F403
from dispatchkit.ops.manipulation.permuting import *  # noqa: F403
from dispatchkit.ops.manipulation.shapes import *  # noqa: F403
from dispatchkit.ops.manipulation.splitting import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = [
    name
    for part in (
        joining,
        permuting,
        shapes,
        splitting,
    )
    for name in vars(part)["__all__"]
]

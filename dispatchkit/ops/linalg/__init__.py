"""The `linalg` extension."""

from dispatchkit.declare.namespace import starred_names
from dispatchkit.ops.linalg.decompositions import *  # noqa: F403
from dispatchkit.ops.linalg.elements import *  # noqa: F403
from dispatchkit.ops.linalg.linalg import *  # noqa: F403
from dispatchkit.ops.linalg.norms import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = starred_names(__name__)

"""Changes of shape and order, joining and splitting."""

from dispatchkit.declare.namespace import starred_names
from dispatchkit.ops.manipulation.joining import *  # noqa: F403
from dispatchkit.ops.manipulation.permuting import *  # noqa: F403
from dispatchkit.ops.manipulation.shapes import *  # noqa: F403
from dispatchkit.ops.manipulation.splitting import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = starred_names(__name__)

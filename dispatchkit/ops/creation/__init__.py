"""Creation, conversion, dtypes."""

from dispatchkit.declare.namespace import starred_names
from dispatchkit.ops.creation import fields as fields  # loaded for its effect
from dispatchkit.ops.creation.conversion import *  # noqa: F403
from dispatchkit.ops.creation.creation import *  # noqa: F403
from dispatchkit.ops.creation.dtypes import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = starred_names(__name__)

"""Operations on each element."""

from dispatchkit.declare.namespace import starred_names
from dispatchkit.ops.elementwise.arithmetic import *  # noqa: F403
from dispatchkit.ops.elementwise.comparison import *  # noqa: F403
from dispatchkit.ops.elementwise.exponential import *  # noqa: F403
from dispatchkit.ops.elementwise.trigonometry import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = starred_names(__name__)

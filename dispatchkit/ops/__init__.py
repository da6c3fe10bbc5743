"""The catalogue of operations: a folder or file for each chapter, each operation with its derivative."""

from dispatchkit.declare.namespace import starred_names
from dispatchkit.ops.creation import *  # noqa: F403
from dispatchkit.ops.elementwise import *  # noqa: F403
from dispatchkit.ops.indexing import *  # noqa: F403
from dispatchkit.ops.info import *  # noqa: F403
from dispatchkit.ops.linalg.contraction import *  # noqa: F403
from dispatchkit.ops.linalg.products import *  # noqa: F403
from dispatchkit.ops.manipulation import *  # noqa: F403
from dispatchkit.ops.random.arrays import *  # noqa: F403
from dispatchkit.ops.reductions import *  # noqa: F403
from dispatchkit.ops.searching import *  # noqa: F403
from dispatchkit.ops.signal import *  # noqa: F403
from dispatchkit.ops.statistics import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = starred_names(__name__)

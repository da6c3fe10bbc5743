"""The catalogue of operations: a folder or file for each chapter, each operation with its derivative."""

from dispatchkit.declare.namespace import starred_names
from dispatchkit.ops.creation import fields as fields  # loaded for its effect
from dispatchkit.ops.creation.conversion import *  # noqa: F403
from dispatchkit.ops.creation.creation import *  # noqa: F403
from dispatchkit.ops.creation.dtypes import *  # noqa: F403
from dispatchkit.ops.elementwise.arithmetic import *  # noqa: F403
from dispatchkit.ops.elementwise.comparison import *  # noqa: F403
from dispatchkit.ops.elementwise.exponential import *  # noqa: F403
from dispatchkit.ops.elementwise.trigonometry import *  # noqa: F403
from dispatchkit.ops.indexing.indexing import *  # noqa: F403
from dispatchkit.ops.indexing.selecting import *  # noqa: F403
from dispatchkit.ops.info import *  # noqa: F403
from dispatchkit.ops.linalg.contraction import *  # noqa: F403
from dispatchkit.ops.linalg.products import *  # noqa: F403
from dispatchkit.ops.manipulation.joining import *  # noqa: F403
from dispatchkit.ops.manipulation.permuting import *  # noqa: F403
from dispatchkit.ops.manipulation.shapes import *  # noqa: F403
from dispatchkit.ops.manipulation.splitting import *  # noqa: F403
from dispatchkit.ops.random.arrays import *  # noqa: F403
from dispatchkit.ops.reductions.nan import *  # noqa: F403
from dispatchkit.ops.reductions.reductions import *  # noqa: F403
from dispatchkit.ops.reductions.softmaxes import *  # noqa: F403
from dispatchkit.ops.searching.searching import *  # noqa: F403
from dispatchkit.ops.searching.sets import *  # noqa: F403
from dispatchkit.ops.signal import *  # noqa: F403
from dispatchkit.ops.statistics.moments import *  # noqa: F403
from dispatchkit.ops.statistics.quantiles import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = starred_names(__name__)

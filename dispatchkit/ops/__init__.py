"""The catalogue of operations: a folder for each chapter, each operation with its derivative."""

from dispatchkit.ops import (
    creation,
    elementwise,
    indexing,
    info,
    manipulation,
    reductions,
    searching,
    signal,
    statistics,
)
from dispatchkit.ops.creation import *  # noqa: F403
from dispatchkit.ops.elementwise import *  # noqa: F403
from dispatchkit.ops.indexing import *  # noqa: F403
from dispatchkit.ops.info import *  # noqa: F403
from dispatchkit.ops.linalg import contraction, products
from dispatchkit.ops.linalg.contraction import *  # noqa: F403
from dispatchkit.ops.linalg.products import *  # noqa: F403
from dispatchkit.ops.manipulation import *  # noqa: F403
from dispatchkit.ops.random import arrays as random_arrays
from dispatchkit.ops.random.arrays import *  # noqa: F403
from dispatchkit.ops.reductions import *  # noqa: F403
from dispatchkit.ops.searching import *  # noqa: F403
from dispatchkit.ops.signal import *  # noqa: F403
from dispatchkit.ops.statistics import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = [
    name
    for part in (
        creation,
        elementwise,
        indexing,
        info,
        contraction,
        products,
        manipulation,
        random_arrays,
        reductions,
        searching,
        signal,
        statistics,
    )
    for name in vars(part)["__all__"]
]

"""What can be called: a file for each chapter of the array API standard, each operation with its derivative."""

from dispatchkit.ops import (
    conversion,
    creation,
    cumulative,
    dtypes,
    elementwise_arithmetic,
    elementwise_bits,
    elementwise_bounds,
    elementwise_functions,
    elementwise_hyperbolic,
    elementwise_logic,
    elementwise_powers,
    elementwise_rounding,
    elementwise_trigonometry,
    extras_einsum,
    extras_manipulation,
    extras_nan,
    extras_order,
    extras_signal,
    extras_softmax,
    extras_statistics,
    indexing,
    info,
    joining,
    linear_algebra,
    manipulation,
    numpy_creation,  # noqa: F401  # shorter ways, declared on import
    numpy_manipulation,  # noqa: F401
    numpy_nan,  # noqa: F401
    numpy_random,  # noqa: F401
    numpy_searching,  # noqa: F401
    numpy_statistics,  # noqa: F401
    permuting,
    random_arrays,
    reductions,
    searching,
    selecting,
    sets,
    statistics,
)
from dispatchkit.ops.conversion import *  # noqa: F403
from dispatchkit.ops.creation import *  # noqa: F403
from dispatchkit.ops.cumulative import *  # noqa: F403
from dispatchkit.ops.dtypes import *  # noqa: F403
from dispatchkit.ops.elementwise_arithmetic import *  # noqa: F403
from dispatchkit.ops.elementwise_bits import *  # noqa: F403
from dispatchkit.ops.elementwise_bounds import *  # noqa: F403
from dispatchkit.ops.elementwise_functions import *  # noqa: F403
from dispatchkit.ops.elementwise_hyperbolic import *  # noqa: F403
from dispatchkit.ops.elementwise_logic import *  # noqa: F403
from dispatchkit.ops.elementwise_powers import *  # noqa: F403
from dispatchkit.ops.elementwise_rounding import *  # noqa: F403
from dispatchkit.ops.elementwise_trigonometry import *  # noqa: F403
from dispatchkit.ops.extras_einsum import *  # noqa: F403
from dispatchkit.ops.extras_manipulation import *  # noqa: F403
from dispatchkit.ops.extras_nan import *  # noqa: F403
from dispatchkit.ops.extras_order import *  # noqa: F403
from dispatchkit.ops.extras_signal import *  # noqa: F403
from dispatchkit.ops.extras_softmax import *  # noqa: F403
from dispatchkit.ops.extras_statistics import *  # noqa: F403
from dispatchkit.ops.indexing import *  # noqa: F403
from dispatchkit.ops.info import *  # noqa: F403
from dispatchkit.ops.joining import *  # noqa: F403
from dispatchkit.ops.linear_algebra import *  # noqa: F403
from dispatchkit.ops.manipulation import *  # noqa: F403
from dispatchkit.ops.permuting import *  # noqa: F403
from dispatchkit.ops.random_arrays import *  # noqa: F403
from dispatchkit.ops.reductions import *  # noqa: F403
from dispatchkit.ops.searching import *  # noqa: F403
from dispatchkit.ops.selecting import *  # noqa: F403
from dispatchkit.ops.sets import *  # noqa: F403
from dispatchkit.ops.statistics import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in its chapter alone.
vars()["__all__"] = [
    name
    for chapter in (
        conversion,
        creation,
        cumulative,
        dtypes,
        elementwise_arithmetic,
        elementwise_bits,
        elementwise_bounds,
        elementwise_functions,
        elementwise_hyperbolic,
        elementwise_logic,
        elementwise_powers,
        elementwise_rounding,
        elementwise_trigonometry,
        extras_einsum,
        extras_manipulation,
        extras_nan,
        extras_order,
        extras_signal,
        extras_softmax,
        extras_statistics,
        indexing,
        info,
        joining,
        linear_algebra,
        manipulation,
        permuting,
        random_arrays,
        reductions,
        searching,
        selecting,
        sets,
        statistics,
    )
    for name in chapter.__all__
]

"""What can be called: a file for each chapter of the array API standard, each operation with its derivative."""

from dispatchkit.ops import (
    conversion as _conversion,
)
from dispatchkit.ops import (
    creation as _creation,
)
from dispatchkit.ops import (
    cumulative as _cumulative,
)
from dispatchkit.ops import (
    dtypes as _dtypes,
)
from dispatchkit.ops import (
    elementwise_arithmetic as _elementwise_arithmetic,
)
from dispatchkit.ops import (
    elementwise_bits as _elementwise_bits,
)
from dispatchkit.ops import (
    elementwise_bounds as _elementwise_bounds,
)
from dispatchkit.ops import (
    elementwise_functions as _elementwise_functions,
)
from dispatchkit.ops import (
    elementwise_hyperbolic as _elementwise_hyperbolic,
)
from dispatchkit.ops import (
    elementwise_logic as _elementwise_logic,
)
from dispatchkit.ops import (
    elementwise_powers as _elementwise_powers,
)
from dispatchkit.ops import (
    elementwise_rounding as _elementwise_rounding,
)
from dispatchkit.ops import (
    elementwise_trigonometry as _elementwise_trigonometry,
)
from dispatchkit.ops import (
    indexing as _indexing,
)
from dispatchkit.ops import (
    joining as _joining,
)
from dispatchkit.ops import (
    linear_algebra as _linear_algebra,
)
from dispatchkit.ops import (
    manipulation as _manipulation,
)
from dispatchkit.ops import (
    permuting as _permuting,
)
from dispatchkit.ops import (
    random_arrays as _random_arrays,
)
from dispatchkit.ops import (
    reductions as _reductions,
)
from dispatchkit.ops import (
    searching as _searching,
)
from dispatchkit.ops import (
    selecting as _selecting,
)
from dispatchkit.ops import (
    sets as _sets,
)
from dispatchkit.ops import (
    statistics as _statistics,
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
from dispatchkit.ops.indexing import *  # noqa: F403
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
        _conversion,
        _creation,
        _cumulative,
        _dtypes,
        _elementwise_arithmetic,
        _elementwise_bits,
        _elementwise_bounds,
        _elementwise_functions,
        _elementwise_hyperbolic,
        _elementwise_logic,
        _elementwise_powers,
        _elementwise_rounding,
        _elementwise_trigonometry,
        _indexing,
        _joining,
        _linear_algebra,
        _manipulation,
        _permuting,
        _random_arrays,
        _reductions,
        _searching,
        _selecting,
        _sets,
        _statistics,
    )
    for name in chapter.__all__
]

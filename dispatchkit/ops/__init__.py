"""What can be called: a file for each chapter of the array API standard, each operation with its derivative."""

from __future__ import annotations

from dispatchkit.ops.conversion import *  # noqa: F403
from dispatchkit.ops.conversion import __all__ as _conversion
from dispatchkit.ops.creation import *  # noqa: F403
from dispatchkit.ops.creation import __all__ as _creation
from dispatchkit.ops.cumulative import *  # noqa: F403
from dispatchkit.ops.cumulative import __all__ as _cumulative
from dispatchkit.ops.dtypes import *  # noqa: F403
from dispatchkit.ops.dtypes import __all__ as _dtypes
from dispatchkit.ops.elementwise_arithmetic import *  # noqa: F403
from dispatchkit.ops.elementwise_arithmetic import __all__ as _elementwise_arithmetic
from dispatchkit.ops.elementwise_bits import *  # noqa: F403
from dispatchkit.ops.elementwise_bits import __all__ as _elementwise_bits
from dispatchkit.ops.elementwise_bounds import *  # noqa: F403
from dispatchkit.ops.elementwise_bounds import __all__ as _elementwise_bounds
from dispatchkit.ops.elementwise_functions import *  # noqa: F403
from dispatchkit.ops.elementwise_functions import __all__ as _elementwise_functions
from dispatchkit.ops.elementwise_hyperbolic import *  # noqa: F403
from dispatchkit.ops.elementwise_hyperbolic import __all__ as _elementwise_hyperbolic
from dispatchkit.ops.elementwise_logic import *  # noqa: F403
from dispatchkit.ops.elementwise_logic import __all__ as _elementwise_logic
from dispatchkit.ops.elementwise_powers import *  # noqa: F403
from dispatchkit.ops.elementwise_powers import __all__ as _elementwise_powers
from dispatchkit.ops.elementwise_rounding import *  # noqa: F403
from dispatchkit.ops.elementwise_rounding import __all__ as _elementwise_rounding
from dispatchkit.ops.elementwise_trigonometry import *  # noqa: F403
from dispatchkit.ops.elementwise_trigonometry import __all__ as _elementwise_trigonometry
from dispatchkit.ops.indexing import *  # noqa: F403
from dispatchkit.ops.indexing import __all__ as _indexing
from dispatchkit.ops.joining import *  # noqa: F403
from dispatchkit.ops.joining import __all__ as _joining
from dispatchkit.ops.linear_algebra import *  # noqa: F403
from dispatchkit.ops.linear_algebra import __all__ as _linear_algebra
from dispatchkit.ops.manipulation import *  # noqa: F403
from dispatchkit.ops.manipulation import __all__ as _manipulation
from dispatchkit.ops.permuting import *  # noqa: F403
from dispatchkit.ops.permuting import __all__ as _permuting
from dispatchkit.ops.random_arrays import *  # noqa: F403
from dispatchkit.ops.random_arrays import __all__ as _random_arrays
from dispatchkit.ops.reductions import *  # noqa: F403
from dispatchkit.ops.reductions import __all__ as _reductions
from dispatchkit.ops.searching import *  # noqa: F403
from dispatchkit.ops.searching import __all__ as _searching
from dispatchkit.ops.selecting import *  # noqa: F403
from dispatchkit.ops.selecting import __all__ as _selecting
from dispatchkit.ops.sets import *  # noqa: F403
from dispatchkit.ops.sets import __all__ as _sets
from dispatchkit.ops.statistics import *  # noqa: F403
from dispatchkit.ops.statistics import __all__ as _statistics

__all__: list[str] = []
__all__ += _conversion
__all__ += _creation
__all__ += _cumulative
__all__ += _dtypes
__all__ += _elementwise_arithmetic
__all__ += _elementwise_bits
__all__ += _elementwise_bounds
__all__ += _elementwise_functions
__all__ += _elementwise_hyperbolic
__all__ += _elementwise_logic
__all__ += _elementwise_powers
__all__ += _elementwise_rounding
__all__ += _elementwise_trigonometry
__all__ += _indexing
__all__ += _joining
__all__ += _linear_algebra
__all__ += _manipulation
__all__ += _permuting
__all__ += _random_arrays
__all__ += _reductions
__all__ += _searching
__all__ += _selecting
__all__ += _sets
__all__ += _statistics

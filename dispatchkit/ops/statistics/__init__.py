"""Moments, averages, quantiles."""

from dispatchkit.ops.statistics import (
    averages,
    moments,
    numpy_paths,  # noqa: F401  # NumPy's fast paths, declared on import
    quantiles,
)
from dispatchkit.ops.statistics.averages import *  # noqa: F403
from dispatchkit.ops.statistics.moments import *  # noqa: F403
from dispatchkit.ops.statistics.quantiles import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = [
    name
    for part in (
        averages,
        moments,
        quantiles,
    )
    for name in vars(part)["__all__"]
]

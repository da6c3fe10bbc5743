"""Reductions to fewer elements, cumulative ones, softmax."""

from dispatchkit.ops.reductions import (
    cumulative,
    nan,
    numpy_paths,  # noqa: F401  # NumPy's fast paths, declared on import
    reductions,
    softmaxes,
)
from dispatchkit.ops.reductions.cumulative import *  # noqa: F403
from dispatchkit.ops.reductions.nan import *  # noqa: F403
from dispatchkit.ops.reductions.reductions import *  # noqa: F403
from dispatchkit.ops.reductions.softmaxes import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = [
    name
    for part in (
        cumulative,
        nan,
        reductions,
        softmaxes,
    )
    for name in vars(part)["__all__"]
]

"""Convolution and pooling."""

from dispatchkit.nn.functional.images import (
    convolution,
    pooling,
    transposed,
)
from dispatchkit.nn.functional.images.convolution import *  # noqa: F403
from dispatchkit.nn.functional.images.pooling import *  # noqa: F403
from dispatchkit.nn.functional.images.transposed import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = [
    name
    for part in (
        convolution,
        pooling,
        transposed,
    )
    for name in vars(part)["__all__"]
]

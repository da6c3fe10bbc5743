"""What layers compute, as functions: overridable operations with derivatives."""

from dispatchkit.nn.functional import (
    affine,
    attention,
    convolution,
    dropping,
    lookup,
    normalization,
    pooling,
)
from dispatchkit.nn.functional.affine import *  # noqa: F403
from dispatchkit.nn.functional.attention import *  # noqa: F403
from dispatchkit.nn.functional.convolution import *  # noqa: F403
from dispatchkit.nn.functional.dropping import *  # noqa: F403
from dispatchkit.nn.functional.lookup import *  # noqa: F403
from dispatchkit.nn.functional.normalization import *  # noqa: F403
from dispatchkit.nn.functional.pooling import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in its chapter alone.
vars()["__all__"] = [
    name
    for chapter in (
        affine,
        attention,
        convolution,
        dropping,
        lookup,
        normalization,
        pooling,
    )
    for name in chapter.__all__
]

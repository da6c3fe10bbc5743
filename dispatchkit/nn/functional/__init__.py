"""What layers compute, as functions: overridable operations with derivatives."""

from dispatchkit.nn.functional import (
    activations,
    activations_exponential,
    activations_linear,
    activations_smooth,
    affine,
    attention,
    convolution,
    dropping,
    lookup,
    losses,
    losses_binary,
    losses_classes,
    normalization,
    pooling,
)
from dispatchkit.nn.functional.activations import *  # noqa: F403
from dispatchkit.nn.functional.activations_exponential import *  # noqa: F403
from dispatchkit.nn.functional.activations_linear import *  # noqa: F403
from dispatchkit.nn.functional.activations_smooth import *  # noqa: F403
from dispatchkit.nn.functional.affine import *  # noqa: F403
from dispatchkit.nn.functional.attention import *  # noqa: F403
from dispatchkit.nn.functional.convolution import *  # noqa: F403
from dispatchkit.nn.functional.dropping import *  # noqa: F403
from dispatchkit.nn.functional.lookup import *  # noqa: F403
from dispatchkit.nn.functional.losses import *  # noqa: F403
from dispatchkit.nn.functional.losses_binary import *  # noqa: F403
from dispatchkit.nn.functional.losses_classes import *  # noqa: F403
from dispatchkit.nn.functional.normalization import *  # noqa: F403
from dispatchkit.nn.functional.pooling import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in its chapter alone.
vars()["__all__"] = [
    name
    for chapter in (
        activations,
        activations_exponential,
        activations_linear,
        activations_smooth,
        affine,
        attention,
        convolution,
        dropping,
        lookup,
        losses,
        losses_binary,
        losses_classes,
        normalization,
        pooling,
    )
    for name in chapter.__all__
]

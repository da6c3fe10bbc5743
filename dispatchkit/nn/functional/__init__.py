"""What layers compute, as functions: overridable operations with derivatives."""

from dispatchkit.declare.namespace import make_home
from dispatchkit.nn.functional import (
    activations,
    affine,
    attention,
    dropping,
    images,
    lookup,
    losses,
    normalization,
    unit_vectors,
)
from dispatchkit.nn.functional.activations import *  # noqa: F403
from dispatchkit.nn.functional.affine import *  # noqa: F403
from dispatchkit.nn.functional.attention import *  # noqa: F403
from dispatchkit.nn.functional.dropping import *  # noqa: F403
from dispatchkit.nn.functional.images import *  # noqa: F403
from dispatchkit.nn.functional.lookup import *  # noqa: F403
from dispatchkit.nn.functional.losses import *  # noqa: F403
from dispatchkit.nn.functional.normalization import *  # noqa: F403
from dispatchkit.nn.functional.unit_vectors import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = [
    name
    for part in (
        activations,
        affine,
        attention,
        dropping,
        images,
        lookup,
        losses,
        normalization,
        unit_vectors,
    )
    for name in vars(part)["__all__"]
]

make_home(__name__)

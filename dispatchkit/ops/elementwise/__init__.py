"""Operations on each element."""

from dispatchkit.ops.elementwise import (
    arithmetic,
    bitwise,
    bounds,
    exponential,
    hyperbolic,
    logic,
    powers,
    rounding,
    trigonometry,
)
from dispatchkit.ops.elementwise.arithmetic import *  # noqa: F403
from dispatchkit.ops.elementwise.bitwise import *  # noqa: F403
from dispatchkit.ops.elementwise.bounds import *  # noqa: F403
from dispatchkit.ops.elementwise.exponential import *  # noqa: F403
from dispatchkit.ops.elementwise.hyperbolic import *  # noqa: F403
from dispatchkit.ops.elementwise.logic import *  # noqa: F403
from dispatchkit.ops.elementwise.powers import *  # noqa: F403
from dispatchkit.ops.elementwise.rounding import *  # noqa: F403
from dispatchkit.ops.elementwise.trigonometry import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = [
    name
    for part in (
        arithmetic,
        bitwise,
        bounds,
        exponential,
        hyperbolic,
        logic,
        powers,
        rounding,
        trigonometry,
    )
    for name in vars(part)["__all__"]
]

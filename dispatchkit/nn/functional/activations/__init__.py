"""Activation functions."""

from dispatchkit.nn.functional.activations import (
    exponential,
    linear,
    shared,
    smooth,
)
from dispatchkit.nn.functional.activations.exponential import *  # noqa: F403
from dispatchkit.nn.functional.activations.linear import *  # noqa: F403
from dispatchkit.nn.functional.activations.shared import *  # noqa: F403
from dispatchkit.nn.functional.activations.smooth import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = [
    name
    for part in (
        exponential,
        linear,
        shared,
        smooth,
    )
    for name in vars(part)["__all__"]
]

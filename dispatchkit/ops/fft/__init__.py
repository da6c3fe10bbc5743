"""Fourier transforms."""

from dispatchkit.ops.fft import (
    frequencies,
    numpy_paths,  # noqa: F401  # NumPy's fast paths, declared on import
    several_axes,
    transforms,
)
from dispatchkit.ops.fft.frequencies import *  # noqa: F403
from dispatchkit.ops.fft.several_axes import *  # noqa: F403
from dispatchkit.ops.fft.transforms import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = [
    name
    for part in (
        frequencies,
        several_axes,
        transforms,
    )
    for name in vars(part)["__all__"]
]

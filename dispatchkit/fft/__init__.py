"""Fourier transforms: the `fft` extension of the array API standard."""

from dispatchkit.ops import (
    fft_frequencies,
    fft_several_axes,
    fft_transforms,
    numpy_fft,  # noqa: F401  # shorter ways, declared on import
)
from dispatchkit.ops.fft_frequencies import *  # noqa: F403
from dispatchkit.ops.fft_several_axes import *  # noqa: F403
from dispatchkit.ops.fft_transforms import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in its chapter alone.
vars()["__all__"] = [
    name
    for chapter in (
        fft_frequencies,
        fft_several_axes,
        fft_transforms,
    )
    for name in chapter.__all__
]

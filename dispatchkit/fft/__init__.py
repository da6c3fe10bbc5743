"""Fourier transforms: the `fft` extension of the array API standard."""

from dispatchkit.declare.namespace import make_home, starred_names
from dispatchkit.ops.fft.several_axes import *  # noqa: F403
from dispatchkit.ops.fft.transforms import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star import.
vars()["__all__"] = starred_names(__name__)

make_home(__name__)

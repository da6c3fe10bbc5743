"""Random arrays from explicit generators, or from a default one that `manual_seed` sets."""

from dispatchkit.declare.namespace import make_home
from dispatchkit.ops import random as chapter
from dispatchkit.ops.random import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star import.
vars()["__all__"] = vars(chapter)["__all__"]

make_home(__name__)

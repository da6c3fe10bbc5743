"""Random arrays from explicit generators, or from a default one that `manual_seed` sets."""

from dispatchkit.declare.namespace import make_home, starred_names
from dispatchkit.ops.random.distributions import *  # noqa: F403
from dispatchkit.ops.random.generator import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star import.
vars()["__all__"] = starred_names(__name__)

make_home(__name__)

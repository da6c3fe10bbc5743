"""Random arrays from explicit generators, or from a default one that `manual_seed` sets."""

from __future__ import annotations

from dispatchkit.ops.random import *  # noqa: F403
from dispatchkit.ops.random import __all__ as _random

__all__: list[str] = []
__all__ += _random

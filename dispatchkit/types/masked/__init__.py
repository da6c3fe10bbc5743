"""Arrays of which some elements are missing: the type, and its rules of reductions, losses, places and sets."""

from dispatchkit.types.masked import losses as losses  # which has rules alone
from dispatchkit.types.masked import reductions as reductions  # likewise
from dispatchkit.types.masked import sets as sets  # likewise
from dispatchkit.types.masked.array import MaskedTensor

__all__ = ["MaskedTensor"]

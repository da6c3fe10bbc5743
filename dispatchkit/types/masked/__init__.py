"""Arrays of which some elements are missing: the type with most of its rules, those of reductions, places and sets."""

from dispatchkit.types.masked import reductions as reductions  # which has rules alone
from dispatchkit.types.masked import sets as sets  # likewise
from dispatchkit.types.masked.array import MaskedTensor

__all__ = ["MaskedTensor"]

"""Arrays of which some elements are missing: the type with most of its rules, and those of places and sets."""

from dispatchkit.types.masked import sets as sets  # which has rules alone
from dispatchkit.types.masked.array import MaskedTensor

__all__ = ["MaskedTensor"]

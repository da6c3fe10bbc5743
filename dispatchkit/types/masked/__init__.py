"""Arrays of which some elements are missing: the type, and its rules by what they do with the mask."""

from dispatchkit.declare.namespace import make_home
from dispatchkit.types.masked import along as along
from dispatchkit.types.masked import averages as averages
from dispatchkit.types.masked import elements as elements
from dispatchkit.types.masked import moving as moving
from dispatchkit.types.masked import reductions as reductions
from dispatchkit.types.masked.masked import MaskedTensor

__all__ = ["MaskedTensor"]

make_home(__name__)

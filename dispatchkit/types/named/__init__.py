"""Arrays whose axes have names: the type, and rules for what keeps, moves, reads, joins, multiplies, compares them."""

from dispatchkit.types.named import alignment as alignment  # which have rules alone
from dispatchkit.types.named import axes as axes
from dispatchkit.types.named import functions as functions
from dispatchkit.types.named import indices as indices
from dispatchkit.types.named import products as products
from dispatchkit.types.named.array import NamedTensor

__all__ = ["NamedTensor"]

"""Sparse matrices: the type with its products, and the rules for elementwise functions, reductions and indices."""

from dispatchkit.types.sparse import elementwise as elementwise  # which have rules alone
from dispatchkit.types.sparse import indices as indices
from dispatchkit.types.sparse import reductions as reductions
from dispatchkit.types.sparse.matrix import SparseTensor

__all__ = ["SparseTensor"]

"""Sparse matrices: where the elements are, the type, and its rules."""

from dispatchkit.declare.namespace import make_home
from dispatchkit.types.sparse import rules as rules
from dispatchkit.types.sparse.matrix import SparsePattern, SparseTensor

__all__ = ["SparsePattern", "SparseTensor"]

make_home(__name__)

"""Diagonal matrices that are held as their diagonal."""

from diagonal_matrices.diagonal import Diagonal as Diagonal

__all__ = ["Diagonal"]

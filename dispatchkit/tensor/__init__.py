"""`Tensor`: an array, its place in the graph, and methods that are views of operations."""

from __future__ import annotations

from dispatchkit.tensor import field_gradients, python_protocols  # noqa: F401  # further members, entered on import
from dispatchkit.tensor.methods import ArrayMethods
from dispatchkit.tensor.printing import set_printoptions
from dispatchkit.tensor.tensor import Tensor

__all__ = ["ArrayMethods", "Tensor", "set_printoptions"]

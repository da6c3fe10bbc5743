"""`Tensor`: an array, its place in the graph, and methods that are views of operations."""

from dispatchkit.tensor.methods import ArrayMethods
from dispatchkit.tensor.python_protocols import set_printoptions
from dispatchkit.tensor.tensor import Tensor

__all__ = ["ArrayMethods", "Tensor", "set_printoptions"]

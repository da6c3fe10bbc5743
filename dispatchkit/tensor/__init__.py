"""`Tensor`: an array, its place in the graph, and methods that are views of operations."""

from dispatchkit.tensor import python_protocols as _python_protocols  # noqa: F401  # members of all array types
from dispatchkit.tensor.methods import ArrayMethods
from dispatchkit.tensor.printing import set_printoptions
from dispatchkit.tensor.tensor import Tensor

__all__ = ["ArrayMethods", "Tensor", "set_printoptions"]

"""Activations that also stand among the functions of arrays: the same objects under PyTorch's place for them."""

from __future__ import annotations

from dispatchkit.ops.elementwise_bounds import relu
from dispatchkit.ops.elementwise_functions import sigmoid
from dispatchkit.ops.elementwise_hyperbolic import tanh
from dispatchkit.ops.extras_softmax import log_softmax, softmax
from dispatchkit.ops.namespace import enter

__all__ = ["log_softmax", "relu", "sigmoid", "softmax", "tanh"]

for _function in (log_softmax, relu, sigmoid, softmax, tanh):
    enter(f"nn.functional.{_function.__name__}", _function)

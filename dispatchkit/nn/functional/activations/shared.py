"""Activations that also stand among the functions of arrays: the same objects under PyTorch's place for them."""

from __future__ import annotations

from dispatchkit.declare.namespace import enter
from dispatchkit.ops.elementwise.bounds import relu
from dispatchkit.ops.elementwise.exponential import sigmoid
from dispatchkit.ops.elementwise.hyperbolic import tanh
from dispatchkit.ops.reductions.softmaxes import log_softmax, softmax

__all__ = ["log_softmax", "relu", "sigmoid", "softmax", "tanh"]

for _function in (log_softmax, relu, sigmoid, softmax, tanh):
    enter(f"nn.functional.{_function.__name__}", _function)

"""Neural networks: modules that hold parameters, parameters that may hold array types, and layers."""

from dispatchkit.nn import functional, init, utils
from dispatchkit.nn.containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from dispatchkit.nn.convolution import Conv2d
from dispatchkit.nn.dropout import Dropout
from dispatchkit.nn.embedding import Embedding
from dispatchkit.nn.hooks import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from dispatchkit.nn.linear import Flatten, Identity, Linear
from dispatchkit.nn.module import Module
from dispatchkit.nn.normalization import BatchNorm1d, BatchNorm2d, GroupNorm, LayerNorm
from dispatchkit.nn.parameter import Parameter
from dispatchkit.nn.pooling import AdaptiveAvgPool2d, AvgPool2d, MaxPool2d

__all__ = [
    "AdaptiveAvgPool2d",
    "AvgPool2d",
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv2d",
    "Dropout",
    "Embedding",
    "Flatten",
    "GroupNorm",
    "Identity",
    "LayerNorm",
    "Linear",
    "MaxPool2d",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "Sequential",
    "functional",
    "init",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "utils",
]

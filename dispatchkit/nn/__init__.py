"""Neural networks: modules that hold parameters, parameters that may hold array types."""

from dispatchkit.nn import functional, init, utils
from dispatchkit.nn.containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from dispatchkit.nn.hooks import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from dispatchkit.nn.module import Module
from dispatchkit.nn.parameter import Parameter

__all__ = [
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

"""Neural networks: modules that hold parameters, parameters that may hold array types, and layers."""

from dispatchkit.declare.namespace import make_home
from dispatchkit.nn import functional, init, utils
from dispatchkit.nn.activations import Hardsigmoid, Hardswish, Hardtanh, LeakyReLU, PReLU, ReLU, ReLU6, Threshold
from dispatchkit.nn.activations_smooth import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Softsign,
    Tanh,
)
from dispatchkit.nn.attention import MultiheadAttention
from dispatchkit.nn.containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from dispatchkit.nn.convolution import Conv1d, Conv2d, ConvTranspose2d
from dispatchkit.nn.dropout import Dropout
from dispatchkit.nn.embedding import Embedding
from dispatchkit.nn.engine import get_engine, set_engine
from dispatchkit.nn.hooks import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from dispatchkit.nn.linear import Flatten, Identity, Linear
from dispatchkit.nn.losses import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
)
from dispatchkit.nn.module import Module
from dispatchkit.nn.normalization import BatchNorm1d, BatchNorm2d, GroupNorm, LayerNorm, RMSNorm
from dispatchkit.nn.parameter import Parameter
from dispatchkit.nn.pooling import AdaptiveAvgPool2d, AvgPool2d, MaxPool2d
from dispatchkit.nn.recurrent import GRU, LSTM

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "GRU",
    "LSTM",
    "SELU",
    "AdaptiveAvgPool2d",
    "AvgPool2d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv1d",
    "Conv2d",
    "ConvTranspose2d",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Flatten",
    "GroupNorm",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HuberLoss",
    "Identity",
    "KLDivLoss",
    "L1Loss",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MaxPool2d",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiheadAttention",
    "NLLLoss",
    "PReLU",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "RMSNorm",
    "ReLU",
    "ReLU6",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "Softmax",
    "Softplus",
    "Softsign",
    "Tanh",
    "Threshold",
    "functional",
    "get_engine",
    "init",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "set_engine",
    "utils",
]

make_home(__name__)

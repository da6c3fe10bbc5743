"""Neural networks: modules that hold parameters, parameters that may hold array types, and layers."""

from dispatchkit.declare.namespace import make_home, starred_names
from dispatchkit.nn import functional as functional
from dispatchkit.nn import init as init
from dispatchkit.nn import utils as utils
from dispatchkit.nn.activations import CELU as CELU
from dispatchkit.nn.activations import ELU as ELU
from dispatchkit.nn.activations import GELU as GELU
from dispatchkit.nn.activations import GLU as GLU
from dispatchkit.nn.activations import SELU as SELU
from dispatchkit.nn.activations import Hardsigmoid as Hardsigmoid
from dispatchkit.nn.activations import Hardswish as Hardswish
from dispatchkit.nn.activations import Hardtanh as Hardtanh
from dispatchkit.nn.activations import LeakyReLU as LeakyReLU
from dispatchkit.nn.activations import LogSigmoid as LogSigmoid
from dispatchkit.nn.activations import LogSoftmax as LogSoftmax
from dispatchkit.nn.activations import Mish as Mish
from dispatchkit.nn.activations import PReLU as PReLU
from dispatchkit.nn.activations import ReLU as ReLU
from dispatchkit.nn.activations import ReLU6 as ReLU6
from dispatchkit.nn.activations import Sigmoid as Sigmoid
from dispatchkit.nn.activations import SiLU as SiLU
from dispatchkit.nn.activations import Softmax as Softmax
from dispatchkit.nn.activations import Softplus as Softplus
from dispatchkit.nn.activations import Softsign as Softsign
from dispatchkit.nn.activations import Tanh as Tanh
from dispatchkit.nn.activations import Threshold as Threshold
from dispatchkit.nn.containers import ModuleDict as ModuleDict
from dispatchkit.nn.containers import ModuleList as ModuleList
from dispatchkit.nn.containers import ParameterDict as ParameterDict
from dispatchkit.nn.containers import ParameterList as ParameterList
from dispatchkit.nn.containers import Sequential as Sequential
from dispatchkit.nn.convolution import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from dispatchkit.nn.convolution import AvgPool2d as AvgPool2d
from dispatchkit.nn.convolution import Conv1d as Conv1d
from dispatchkit.nn.convolution import Conv2d as Conv2d
from dispatchkit.nn.convolution import ConvTranspose2d as ConvTranspose2d
from dispatchkit.nn.convolution import MaxPool2d as MaxPool2d
from dispatchkit.nn.engine import get_engine as get_engine
from dispatchkit.nn.engine import set_engine as set_engine
from dispatchkit.nn.hooks import register_module_forward_hook as register_module_forward_hook
from dispatchkit.nn.hooks import register_module_forward_pre_hook as register_module_forward_pre_hook
from dispatchkit.nn.hooks import register_module_full_backward_hook as register_module_full_backward_hook
from dispatchkit.nn.hooks import register_module_full_backward_pre_hook as register_module_full_backward_pre_hook
from dispatchkit.nn.linear import Dropout as Dropout
from dispatchkit.nn.linear import Embedding as Embedding
from dispatchkit.nn.linear import Flatten as Flatten
from dispatchkit.nn.linear import Identity as Identity
from dispatchkit.nn.linear import Linear as Linear
from dispatchkit.nn.losses import BCELoss as BCELoss
from dispatchkit.nn.losses import BCEWithLogitsLoss as BCEWithLogitsLoss
from dispatchkit.nn.losses import CrossEntropyLoss as CrossEntropyLoss
from dispatchkit.nn.losses import HuberLoss as HuberLoss
from dispatchkit.nn.losses import KLDivLoss as KLDivLoss
from dispatchkit.nn.losses import L1Loss as L1Loss
from dispatchkit.nn.losses import MSELoss as MSELoss
from dispatchkit.nn.losses import NLLLoss as NLLLoss
from dispatchkit.nn.losses import SmoothL1Loss as SmoothL1Loss
from dispatchkit.nn.module import Module as Module
from dispatchkit.nn.normalization import BatchNorm1d as BatchNorm1d
from dispatchkit.nn.normalization import BatchNorm2d as BatchNorm2d
from dispatchkit.nn.normalization import GroupNorm as GroupNorm
from dispatchkit.nn.normalization import LayerNorm as LayerNorm
from dispatchkit.nn.normalization import RMSNorm as RMSNorm
from dispatchkit.nn.parameter import Parameter as Parameter
from dispatchkit.nn.sequences import GRU as GRU
from dispatchkit.nn.sequences import LSTM as LSTM
from dispatchkit.nn.sequences import RNN as RNN
from dispatchkit.nn.sequences import GRUCell as GRUCell
from dispatchkit.nn.sequences import LSTMCell as LSTMCell
from dispatchkit.nn.sequences import MultiheadAttention as MultiheadAttention
from dispatchkit.nn.sequences import RNNCell as RNNCell

# Not spelled `__all__ =`: type checkers then follow the imports, and a name stands in one place.
vars()["__all__"] = ["functional", "init", "utils", *starred_names(__name__)]

make_home(__name__)

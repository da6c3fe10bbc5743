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
from dispatchkit.nn.attention import MultiheadAttention as MultiheadAttention
from dispatchkit.nn.containers import *  # noqa: F403
from dispatchkit.nn.convolution import Conv1d as Conv1d
from dispatchkit.nn.convolution import Conv2d as Conv2d
from dispatchkit.nn.convolution import Conv3d as Conv3d
from dispatchkit.nn.convolution import ConvTranspose1d as ConvTranspose1d
from dispatchkit.nn.convolution import ConvTranspose2d as ConvTranspose2d
from dispatchkit.nn.convolution import ConvTranspose3d as ConvTranspose3d
from dispatchkit.nn.convolution import PixelShuffle as PixelShuffle
from dispatchkit.nn.convolution import PixelUnshuffle as PixelUnshuffle
from dispatchkit.nn.engine import get_engine as get_engine
from dispatchkit.nn.engine import set_engine as set_engine
from dispatchkit.nn.hooks import register_module_forward_hook as register_module_forward_hook
from dispatchkit.nn.hooks import register_module_forward_pre_hook as register_module_forward_pre_hook
from dispatchkit.nn.hooks import register_module_full_backward_hook as register_module_full_backward_hook
from dispatchkit.nn.hooks import register_module_full_backward_pre_hook as register_module_full_backward_pre_hook
from dispatchkit.nn.linear import *  # noqa: F403
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
from dispatchkit.nn.normalization import BatchNorm3d as BatchNorm3d
from dispatchkit.nn.normalization import GroupNorm as GroupNorm
from dispatchkit.nn.normalization import InstanceNorm1d as InstanceNorm1d
from dispatchkit.nn.normalization import InstanceNorm2d as InstanceNorm2d
from dispatchkit.nn.normalization import InstanceNorm3d as InstanceNorm3d
from dispatchkit.nn.normalization import LayerNorm as LayerNorm
from dispatchkit.nn.normalization import RMSNorm as RMSNorm
from dispatchkit.nn.parameter import Parameter as Parameter
from dispatchkit.nn.pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from dispatchkit.nn.pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from dispatchkit.nn.pooling import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from dispatchkit.nn.pooling import AvgPool1d as AvgPool1d
from dispatchkit.nn.pooling import AvgPool2d as AvgPool2d
from dispatchkit.nn.pooling import AvgPool3d as AvgPool3d
from dispatchkit.nn.pooling import MaxPool1d as MaxPool1d
from dispatchkit.nn.pooling import MaxPool2d as MaxPool2d
from dispatchkit.nn.pooling import MaxPool3d as MaxPool3d
from dispatchkit.nn.resizing import Upsample as Upsample
from dispatchkit.nn.sequences import *  # noqa: F403
from dispatchkit.nn.transformer import Transformer as Transformer
from dispatchkit.nn.transformer import TransformerDecoder as TransformerDecoder
from dispatchkit.nn.transformer import TransformerDecoderLayer as TransformerDecoderLayer
from dispatchkit.nn.transformer import TransformerEncoder as TransformerEncoder
from dispatchkit.nn.transformer import TransformerEncoderLayer as TransformerEncoderLayer

# Not spelled `__all__ =`: type checkers then follow the imports, and a name stands in one place.
vars()["__all__"] = ["functional", "init", "utils", *starred_names(__name__)]

make_home(__name__)

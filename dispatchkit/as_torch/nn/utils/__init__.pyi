"""`torch.nn.utils` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.nn.utils import clip_grad as clip_grad
from dispatchkit.as_torch.nn.utils import convert_parameters as convert_parameters
from dispatchkit.as_torch.nn.utils import fusion as fusion
from dispatchkit.as_torch.nn.utils import init as init
from dispatchkit.as_torch.nn.utils import memory_format as memory_format
from dispatchkit.as_torch.nn.utils import parametrizations as parametrizations
from dispatchkit.as_torch.nn.utils import parametrize as parametrize
from dispatchkit.as_torch.nn.utils import prune as prune
from dispatchkit.as_torch.nn.utils import rnn as rnn
from dispatchkit.as_torch.nn.utils import stateless as stateless
from dispatchkit.nn.utils import parameters_to_vector as parameters_to_vector
from dispatchkit.nn.utils import vector_to_parameters as vector_to_parameters
from typing import Any

clip_grad_norm: Any

clip_grad_norm_: Any

clip_grad_value_: Any

clip_grads_with_norm_: Any

convert_conv2d_weight_memory_format: Any

convert_conv3d_weight_memory_format: Any

fuse_conv_bn_eval: Any

fuse_conv_bn_weights: Any

fuse_linear_bn_eval: Any

fuse_linear_bn_weights: Any

get_total_norm: Any

remove_spectral_norm: Any

remove_weight_norm: Any

skip_init: Any

spectral_norm: Any

weight_norm: Any

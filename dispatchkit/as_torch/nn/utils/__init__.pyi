"""`torch.nn.utils` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.nn.utils import rnn as rnn
from dispatchkit.nn.utils import clip_grad_norm_ as clip_grad_norm_
from dispatchkit.nn.utils import clip_grad_value_ as clip_grad_value_
from dispatchkit.nn.utils import functional_call as functional_call
from dispatchkit.nn.utils import get_ema_avg_fn as get_ema_avg_fn
from dispatchkit.nn.utils import get_ema_multi_avg_fn as get_ema_multi_avg_fn
from dispatchkit.nn.utils import get_swa_avg_fn as get_swa_avg_fn
from dispatchkit.nn.utils import get_swa_multi_avg_fn as get_swa_multi_avg_fn
from dispatchkit.nn.utils import parameters_to_vector as parameters_to_vector
from dispatchkit.nn.utils import update_bn as update_bn
from dispatchkit.nn.utils import vector_to_parameters as vector_to_parameters
from typing import Any

AveragedModel: Any

remove_spectral_norm: Any

remove_weight_norm: Any

spectral_norm: Any

weight_norm: Any

"""What works on the parameters of any module: averages, clipping gradients, one vector of all, a call with others."""

from dispatchkit.declare.namespace import make_home
from dispatchkit.nn.utils.averaging import AveragedModel, get_ema_multi_avg_fn
from dispatchkit.nn.utils.clipping import clip_grad_norm_, clip_grad_value_
from dispatchkit.nn.utils.functional_call import functional_call
from dispatchkit.nn.utils.vectors import parameters_to_vector, vector_to_parameters

__all__ = [
    "AveragedModel",
    "clip_grad_norm_",
    "clip_grad_value_",
    "functional_call",
    "get_ema_multi_avg_fn",
    "parameters_to_vector",
    "vector_to_parameters",
]

make_home(__name__)

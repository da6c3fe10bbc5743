"""Filling parameters with numbers to start from, in place.

Random numbers come from the default generator, which `dispatchkit.manual_seed` sets, or from the one that is given.
"""

from dispatchkit.declare.namespace import make_home
from dispatchkit.nn.init.plain import constant_, eye_, normal_, ones_, trunc_normal_, uniform_, zeros_
from dispatchkit.nn.init.scaled import (
    calculate_gain,
    kaiming_normal_,
    kaiming_uniform_,
    orthogonal_,
    xavier_normal_,
    xavier_uniform_,
)

__all__ = [
    "calculate_gain",
    "constant_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

make_home(__name__)

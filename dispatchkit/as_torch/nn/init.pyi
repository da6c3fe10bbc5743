"""`torch.nn.init` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.nn.init import calculate_gain as calculate_gain
from dispatchkit.nn.init import constant_ as constant
from dispatchkit.nn.init import constant_ as constant_
from dispatchkit.nn.init import dirac_ as dirac
from dispatchkit.nn.init import dirac_ as dirac_
from dispatchkit.nn.init import eye_ as eye
from dispatchkit.nn.init import eye_ as eye_
from dispatchkit.nn.init import kaiming_normal_ as kaiming_normal
from dispatchkit.nn.init import kaiming_normal_ as kaiming_normal_
from dispatchkit.nn.init import kaiming_uniform_ as kaiming_uniform
from dispatchkit.nn.init import kaiming_uniform_ as kaiming_uniform_
from dispatchkit.nn.init import normal_ as normal
from dispatchkit.nn.init import normal_ as normal_
from dispatchkit.nn.init import ones_ as ones_
from dispatchkit.nn.init import orthogonal_ as orthogonal
from dispatchkit.nn.init import orthogonal_ as orthogonal_
from dispatchkit.nn.init import sparse_ as sparse
from dispatchkit.nn.init import sparse_ as sparse_
from dispatchkit.nn.init import trunc_normal_ as trunc_normal_
from dispatchkit.nn.init import uniform_ as uniform
from dispatchkit.nn.init import uniform_ as uniform_
from dispatchkit.nn.init import xavier_normal_ as xavier_normal
from dispatchkit.nn.init import xavier_normal_ as xavier_normal_
from dispatchkit.nn.init import xavier_uniform_ as xavier_uniform
from dispatchkit.nn.init import xavier_uniform_ as xavier_uniform_
from dispatchkit.nn.init import zeros_ as zeros_
from typing import Any

_calculate_fan_in_and_fan_out: Any

_calculate_correct_fan: Any

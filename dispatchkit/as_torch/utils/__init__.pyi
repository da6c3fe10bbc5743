"""`torch.utils` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.utils import _foreach_utils as _foreach_utils
from dispatchkit.as_torch.utils import _pytree as _pytree
from dispatchkit.as_torch.utils import checkpoint as checkpoint
from dispatchkit.as_torch.utils import data as data
from dispatchkit.as_torch.utils import dlpack as dlpack
from dispatchkit.as_torch.utils import flop_counter as flop_counter
from dispatchkit.as_torch.utils import hooks as hooks
from dispatchkit.as_torch.utils import model_zoo as model_zoo

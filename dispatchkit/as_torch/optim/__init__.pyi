"""`torch.optim` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.optim import lr_scheduler as lr_scheduler
from dispatchkit.as_torch.optim import swa_utils as swa_utils
from dispatchkit.optim import ASGD as ASGD
from dispatchkit.optim import Adadelta as Adadelta
from dispatchkit.optim import Adagrad as Adagrad
from dispatchkit.optim import Adam as Adam
from dispatchkit.optim import AdamW as AdamW
from dispatchkit.optim import Adamax as Adamax
from dispatchkit.optim import LBFGS as LBFGS
from dispatchkit.optim import NAdam as NAdam
from dispatchkit.optim import Optimizer as Optimizer
from dispatchkit.optim import RAdam as RAdam
from dispatchkit.optim import RMSprop as RMSprop
from dispatchkit.optim import Rprop as Rprop
from dispatchkit.optim import SGD as SGD
from typing import Any

required: Any

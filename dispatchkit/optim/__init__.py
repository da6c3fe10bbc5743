"""Optimisers, and schedules for their learning rates."""

from dispatchkit.declare.namespace import make_home, starred_names
from dispatchkit.optim import lr_scheduler as lr_scheduler
from dispatchkit.optim import swa_utils as swa_utils
from dispatchkit.optim.adaptive import *  # noqa: F403
from dispatchkit.optim.descent import *  # noqa: F403
from dispatchkit.optim.lbfgs import LBFGS as LBFGS
from dispatchkit.optim.optimizer import Optimizer as Optimizer
from dispatchkit.optim.optimizer import required as required

# Not spelled `__all__ =`: type checkers then follow the imports, and a name stands in one place.
vars()["__all__"] = ["lr_scheduler", "swa_utils", *starred_names(__name__)]

make_home(__name__)

"""Optimisers, and schedules for their learning rates."""

from dispatchkit.declare.namespace import make_home, starred_names
from dispatchkit.optim import lr_scheduler as lr_scheduler
from dispatchkit.optim.adaptive import ASGD as ASGD
from dispatchkit.optim.adaptive import Adadelta as Adadelta
from dispatchkit.optim.adaptive import Adagrad as Adagrad
from dispatchkit.optim.adaptive import Adamax as Adamax
from dispatchkit.optim.adaptive import NAdam as NAdam
from dispatchkit.optim.adaptive import RAdam as RAdam
from dispatchkit.optim.adaptive import Rprop as Rprop
from dispatchkit.optim.descent import SGD as SGD
from dispatchkit.optim.descent import Adam as Adam
from dispatchkit.optim.descent import AdamW as AdamW
from dispatchkit.optim.descent import RMSprop as RMSprop
from dispatchkit.optim.lbfgs import LBFGS as LBFGS
from dispatchkit.optim.optimizer import Optimizer as Optimizer
from dispatchkit.optim.optimizer import required as required

# Not spelled `__all__ =`: type checkers then follow the imports, and a name stands in one place.
vars()["__all__"] = ["lr_scheduler", *starred_names(__name__)]

make_home(__name__)

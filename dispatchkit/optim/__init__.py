"""Optimisers, and schedules for their learning rates."""

from dispatchkit.declare.namespace import make_home
from dispatchkit.optim import lr_scheduler
from dispatchkit.optim.adaptive import ASGD, Adadelta, Adagrad, Adamax, NAdam, RAdam, Rprop
from dispatchkit.optim.descent import SGD, Adam, AdamW, RMSprop
from dispatchkit.optim.lbfgs import LBFGS
from dispatchkit.optim.optimizer import Optimizer, required

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
    "required",
]

make_home(__name__)

"""Schedules: what a learning rate is from epoch to epoch.

A schedule sets the ``"lr"`` of its optimiser's groups, at once for the first epoch and then with each `step`, which is
called after the optimiser's. Most go on from what the rates are, so that several compose; `LambdaLR` and those that
rise and fall do not. Source of names and values: PyTorch, `torch.optim.lr_scheduler`.
"""

from dispatchkit.declare.namespace import make_home, starred_names
from dispatchkit.optim.lr_scheduler.progress import ChainedScheduler as ChainedScheduler
from dispatchkit.optim.lr_scheduler.progress import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from dispatchkit.optim.lr_scheduler.progress import CyclicLR as CyclicLR
from dispatchkit.optim.lr_scheduler.progress import OneCycleLR as OneCycleLR
from dispatchkit.optim.lr_scheduler.progress import ReduceLROnPlateau as ReduceLROnPlateau
from dispatchkit.optim.lr_scheduler.progress import SequentialLR as SequentialLR
from dispatchkit.optim.lr_scheduler.schedules import ConstantLR as ConstantLR
from dispatchkit.optim.lr_scheduler.schedules import CosineAnnealingLR as CosineAnnealingLR
from dispatchkit.optim.lr_scheduler.schedules import ExponentialLR as ExponentialLR
from dispatchkit.optim.lr_scheduler.schedules import LambdaLR as LambdaLR
from dispatchkit.optim.lr_scheduler.schedules import LinearLR as LinearLR
from dispatchkit.optim.lr_scheduler.schedules import LRScheduler as LRScheduler
from dispatchkit.optim.lr_scheduler.schedules import MultiplicativeLR as MultiplicativeLR
from dispatchkit.optim.lr_scheduler.schedules import MultiStepLR as MultiStepLR
from dispatchkit.optim.lr_scheduler.schedules import PolynomialLR as PolynomialLR
from dispatchkit.optim.lr_scheduler.schedules import StepLR as StepLR

# Not spelled `__all__ =`: type checkers then follow the imports, and a name stands in one place.
vars()["__all__"] = starred_names(__name__)

make_home(__name__)

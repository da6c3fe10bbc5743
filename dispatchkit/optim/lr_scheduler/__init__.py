"""Schedules: what a learning rate is from epoch to epoch.

A schedule sets the ``"lr"`` of its optimiser's groups, at once for the first epoch and then with each `step`, which is
called after the optimiser's. All but `LambdaLR` go on from what the rates are, so that several compose. Source of
names and values: PyTorch, `torch.optim.lr_scheduler`.
"""

from dispatchkit.declare.namespace import make_home
from dispatchkit.optim.lr_scheduler.progress import OneCycleLR, ReduceLROnPlateau
from dispatchkit.optim.lr_scheduler.schedules import (
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiStepLR,
    SequentialLR,
    StepLR,
)

__all__ = [
    "CosineAnnealingLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "OneCycleLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

make_home(__name__)

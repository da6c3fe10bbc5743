"""`torch.optim.lr_scheduler` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.optim.lr_scheduler import ChainedScheduler as ChainedScheduler
from dispatchkit.optim.lr_scheduler import ConstantLR as ConstantLR
from dispatchkit.optim.lr_scheduler import CosineAnnealingLR as CosineAnnealingLR
from dispatchkit.optim.lr_scheduler import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from dispatchkit.optim.lr_scheduler import CyclicLR as CyclicLR
from dispatchkit.optim.lr_scheduler import ExponentialLR as ExponentialLR
from dispatchkit.optim.lr_scheduler import LRScheduler as LRScheduler
from dispatchkit.optim.lr_scheduler import LRScheduler as _LRScheduler
from dispatchkit.optim.lr_scheduler import LambdaLR as LambdaLR
from dispatchkit.optim.lr_scheduler import LinearLR as LinearLR
from dispatchkit.optim.lr_scheduler import MultiStepLR as MultiStepLR
from dispatchkit.optim.lr_scheduler import MultiplicativeLR as MultiplicativeLR
from dispatchkit.optim.lr_scheduler import OneCycleLR as OneCycleLR
from dispatchkit.optim.lr_scheduler import PolynomialLR as PolynomialLR
from dispatchkit.optim.lr_scheduler import ReduceLROnPlateau as ReduceLROnPlateau
from dispatchkit.optim.lr_scheduler import SequentialLR as SequentialLR
from dispatchkit.optim.lr_scheduler import StepLR as StepLR

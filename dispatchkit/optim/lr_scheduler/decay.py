"""Schedules that lower the rate: in steps, exponentially, along a cosine."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from dispatchkit.optim.lr_scheduler.base import LRScheduler
from dispatchkit.optim.optimizer import Optimizer

__all__ = ["CosineAnnealingLR", "ExponentialLR", "MultiStepLR", "StepLR"]


class StepLR(LRScheduler):
    """Multiply the rates by a factor every so many epochs.

    Parameters
    ----------
    optimizer : as for `LRScheduler`
    step_size : number of epochs from one change to the next
    gamma : the factor
    last_epoch : as for `LRScheduler`

    Raises
    ------
    ValueError : if `step_size` is below 1

    Examples
    --------
    >>> import dispatchkit as dk
    >>> optimizer = dk.optim.SGD([dk.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = dk.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        if step_size < 1:
            raise ValueError(f"StepLR: step_size must be 1 or more, found {step_size}")
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the rate of each group in the present epoch."""
        due = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return self._scaled(self.gamma) if due else self._current()


class MultiStepLR(LRScheduler):
    """Multiply the rates by a factor at certain epochs.

    Parameters
    ----------
    optimizer : as for `LRScheduler`
    milestones : numbers of those epochs; one that is there twice multiplies twice
    gamma : the factor
    last_epoch : as for `LRScheduler`

    Examples
    --------
    >>> import dispatchkit as dk
    >>> optimizer = dk.optim.SGD([dk.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = dk.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 0.5, 0.25, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the rate of each group in the present epoch."""
        times = self.milestones[self.last_epoch]
        return self._scaled(self.gamma**times) if times else self._current()


class ExponentialLR(LRScheduler):
    """Multiply the rates by a factor every epoch.

    Parameters
    ----------
    optimizer : as for `LRScheduler`
    gamma : the factor
    last_epoch : as for `LRScheduler`

    Examples
    --------
    >>> import dispatchkit as dk
    >>> optimizer = dk.optim.SGD([dk.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = dk.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the rate of each group in the present epoch."""
        return self._current() if self._is_initial else self._scaled(self.gamma)


class CosineAnnealingLR(LRScheduler):
    """Let the rates fall to a least one along half a cosine, without restarts.

    Parameters
    ----------
    optimizer : as for `LRScheduler`
    T_max : number of epochs until the least rate; after it the rates rise again
    eta_min : the least rate
    last_epoch : as for `LRScheduler`

    Raises
    ------
    ValueError : if `T_max` is below 1

    Notes
    -----
    In epoch t the rate is eta_min + (base − eta_min) (1 + cos(π t / T_max)) / 2, computed from the one before, so
    that other changes persist. Source: Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm
    restarts", 2017; PyTorch.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> optimizer = dk.optim.SGD([dk.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = dk.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 0.8536, 0.5, 0.1464, 0.0]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if T_max < 1:
            raise ValueError(f"CosineAnnealingLR: T_max must be 1 or more, found {T_max}")
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the rate of each group in the present epoch."""
        if self._is_initial:
            return self._current()
        least, epoch = self.eta_min, self.last_epoch
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the rate before was the least one: no ratio to it
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [lr + (base - least) * rise for lr, base in zip(self._current(), self.base_lrs, strict=True)]
        ratio = (1 + math.cos(math.pi * epoch / self.T_max)) / (1 + math.cos(math.pi * (epoch - 1) / self.T_max))
        return [least + (lr - least) * ratio for lr in self._current()]

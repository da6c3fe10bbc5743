"""A warm-up, and schedules one after another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from dispatchkit.optim.lr_scheduler.base import LRScheduler
from dispatchkit.optim.optimizer import Optimizer

__all__ = ["LinearLR", "SequentialLR"]


class LinearLR(LRScheduler):
    """Let the factor of the rates go from one number to another in equal steps: a warm-up.

    Parameters
    ----------
    optimizer : as for `LRScheduler`
    start_factor : of the first epoch
    end_factor : from epoch `total_iters` on
    total_iters : number of steps between them
    last_epoch : as for `LRScheduler`

    Raises
    ------
    ValueError : if `start_factor` is not in (0, 1], `end_factor` not in [0, 1], or `total_iters` below 1

    Examples
    --------
    >>> import dispatchkit as dk
    >>> optimizer = dk.optim.SGD([dk.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = dk.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.25, total_iters=3)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [0.25, 0.5, 0.75, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(
                f"Starting multiplicative factor expected to be greater than 0 and less or equal to 1, found "
                f"{start_factor}"
            )
        if not 0 <= end_factor <= 1:
            raise ValueError(f"Ending multiplicative factor expected to be between 0 and 1, found {end_factor}")
        if total_iters < 1:
            raise ValueError(f"LinearLR: total_iters must be 1 or more, found {total_iters}")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the rate of each group in the present epoch."""
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return self._scaled(1.0 + rise / before)


class SequentialLR(LRScheduler):
    """One schedule after another, such as a warm-up and then a decay.

    Parameters
    ----------
    optimizer : whose learning rates are set
    schedulers : of this optimiser; each begins from the rates that the groups started from
    milestones : numbers of the epochs in which the second, third, ... begins

    Raises
    ------
    ValueError : if a schedule is another optimiser's, or their number is not one more than that of `milestones`

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.optim.lr_scheduler import ExponentialLR, LinearLR, SequentialLR
    >>> optimizer = dk.optim.SGD([dk.ones(2, requires_grad=True)], lr=1.0)
    >>> parts = [LinearLR(optimizer, 0.5, total_iters=2), ExponentialLR(optimizer, 0.5)]
    >>> schedule = SequentialLR(optimizer, parts, milestones=[2])
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [0.5, 0.75, 1.0, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int]) -> None:
        for index, schedule in enumerate(schedulers):
            if schedule.optimizer is not optimizer:
                raise ValueError(
                    f"SequentialLR expects all schedulers to belong to the same optimizer, but "
                    f"{type(schedule).__name__} at index {index} has another one"
                )
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers = list(schedulers)
        self._milestones = list(milestones)
        super().__init__(optimizer)

    def _begin(self) -> None:
        self.last_epoch = 0
        self._schedulers[bisect_right(self._milestones, 0)]._restart()
        self._last_lr = self._current()

    def step(self) -> None:
        """Go on to the next epoch; call it after the optimiser's `step`."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        schedule = self._schedulers[index]
        if index and self._milestones[index - 1] == self.last_epoch:
            schedule._restart()
        else:
            schedule.step()
        self._last_lr = self._current()

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimiser, with the states of the schedules."""
        return {**super().state_dict(), "_schedulers": [schedule.state_dict() for schedule in self._schedulers]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a saved state; the optimiser's, which holds the rates, is loaded on its own.

        Parameters
        ----------
        state_dict : as `state_dict` of a schedule of this class gave it
        """
        for schedule, held in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            schedule.load_state_dict(held)
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_schedulers"})

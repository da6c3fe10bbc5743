"""Schedules made of others: one after another, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from dispatchkit.optim.lr_scheduler.progress import ReduceLROnPlateau
from dispatchkit.optim.lr_scheduler.schedules import LRScheduler
from dispatchkit.optim.optimizer import Optimizer


class Several(LRScheduler):
    """What schedules share that are made of others."""

    def _take(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler]) -> None:
        """Keep the schedules.

        Raises
        ------
        ValueError : if one is another optimiser's, or wants more in `step`
        """
        name = type(self).__name__
        for index, schedule in enumerate(schedulers):
            if schedule.optimizer is not optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but "
                    f"{type(schedule).__name__} at index {index} has another one"
                )
            if isinstance(schedule, ReduceLROnPlateau):
                raise ValueError(  # noqa: TRY004  # PyTorch's
                    f"{name}: ReduceLROnPlateau at index {index} takes a measure in each step; step it alone"
                )
        self._schedulers = list(schedulers)

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimiser, with the states of the schedules."""
        return {**super().state_dict(), "_schedulers": [schedule.state_dict() for schedule in self._schedulers]}

    @override
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        for schedule, held in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            schedule.load_state_dict(held)
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_schedulers"})


class SequentialLR(Several):
    """One schedule after another, such as a warm-up and then a decay.

    Parameters
    ----------
    optimizer : as for `LRScheduler`
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
        self._take(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._milestones = list(milestones)
        super().__init__(optimizer)

    def _begin(self) -> None:
        self.last_epoch = 0
        self._schedulers[bisect_right(self._milestones, 0)]._restart()
        self._last_lr = self._current()

    @override
    def step(self) -> None:
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        schedule = self._schedulers[index]
        if index and self._milestones[index - 1] == self.last_epoch:
            schedule._restart()
        else:
            schedule.step()
        self._last_lr = self._current()


class ChainedScheduler(Several):
    """Several schedules at once, each of which goes on from the rates that the one before leaves.

    Parameters
    ----------
    schedulers : of one optimiser, in the order of their steps
    optimizer : theirs; by default that of the first

    Raises
    ------
    ValueError : if there is none, or one is another optimiser's

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.optim.lr_scheduler import ChainedScheduler, ConstantLR, ExponentialLR
    >>> optimizer = dk.optim.SGD([dk.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = ChainedScheduler([ConstantLR(optimizer, 0.5, total_iters=2), ExponentialLR(optimizer, 0.5)])
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [0.5, 0.25, 0.25, 0.125]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if not schedulers:
            raise ValueError("ChainedScheduler: expected at least one scheduler, found none")
        self.optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        self._take(self.optimizer, schedulers)
        self.base_lrs, self.last_epoch = schedulers[0].base_lrs, schedulers[0].last_epoch
        self._last_lr = self._current()

    def _begin(self) -> None:
        self.last_epoch = 0
        for schedule in self._schedulers:
            schedule.last_epoch = -1
            schedule._begin()
        self._last_lr = self._current()

    @override
    def step(self) -> None:
        self.last_epoch += 1
        for schedule in self._schedulers:
            schedule.step()
        self._last_lr = self._current()

"""Averages of parameters over the steps of training, and the schedule that goes with them.

The names are those of PyTorch's module; the averages themselves are in `dispatchkit.nn.utils`, too.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from dispatchkit.declare.namespace import make_home
from dispatchkit.marks import override
from dispatchkit.nn.utils import (
    AveragedModel,
    get_ema_avg_fn,
    get_ema_multi_avg_fn,
    get_swa_avg_fn,
    get_swa_multi_avg_fn,
    update_bn,
)
from dispatchkit.optim.lr_scheduler.progress import of_each_group
from dispatchkit.optim.lr_scheduler.schedules import LRScheduler
from dispatchkit.optim.optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


class SWALR(LRScheduler):
    """Let the rates go to fixed ones within some epochs, for averages of parameters.

    Parameters
    ----------
    optimizer : as for `LRScheduler`
    swa_lr : the last rate, one number or a list of one for each group
    anneal_epochs : number of epochs until then
    anneal_strategy : along half a cosine, ``"cos"``, or a straight line, ``"linear"``
    last_epoch : as for `LRScheduler`

    Raises
    ------
    ValueError : for another strategy, a number of epochs below 0, or as many rates as there are no groups

    Notes
    -----
    Source: PyTorch, `torch.optim.swa_utils.SWALR`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> optimizer = dk.optim.SGD([dk.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = dk.optim.swa_utils.SWALR(optimizer, 0.2, anneal_epochs=2, anneal_strategy="linear")
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 0.6, 0.2, 0.2]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"SWALR: anneal_strategy must be 'cos' or 'linear', found {anneal_strategy!r}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:  # type: ignore[redundant-expr]  # of programs
            raise ValueError(f"SWALR: anneal_epochs must be an integer from 0 on, found {anneal_epochs}")
        groups = optimizer.param_groups
        for group, rate in zip(groups, of_each_group("SWALR", "swa_lr", swa_lr, groups), strict=True):
            group["swa_lr"] = rate
        self.anneal_epochs, self.anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """Return the share of the last rate after some steps, from 0 to 1."""
        reached = min(1.0, max(0.0, step / max(1, self.anneal_epochs)))
        if self.anneal_strategy == "linear":
            return reached
        return (1 - math.cos(math.pi * reached)) / 2

    @override
    def get_lr(self) -> list[Any]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            last = group["swa_lr"]
            # Where it would have begun, of what it is now: other schedules may have changed it before.
            first = last
            if before != 1:
                first = (group["lr"] - before * last) / (1 - before)
            rates.append(last * now + first * (1 - now))
        return rates


make_home(__name__, without=[name for name in __all__ if name != "SWALR"])

"""What all schedules share, and the one that is a function of the epoch."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dispatchkit.optim.optimizer import Optimizer

__all__ = ["LRScheduler", "LambdaLR"]

EARLY = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite order, or the first "
    "value of the learning rate schedule is skipped."
)


class LRScheduler:
    """Base of schedules; a subclass defines `get_lr`.

    Parameters
    ----------
    optimizer : whose learning rates are set
    last_epoch : number of the last epoch there was, -1 before the first; another one goes on with rates as they are

    Attributes
    ----------
    base_lrs : the rate that each group started from
    last_epoch : number of the present epoch, from 0 on

    Raises
    ------
    TypeError : if `optimizer` is none
    KeyError : if it is to go on and a group has no ``"initial_lr"``

    Examples
    --------
    >>> import dispatchkit as dk
    >>> class Halving(dk.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [base / 2**self.last_epoch for base in self.base_lrs]
    >>> optimizer = dk.optim.SGD([dk.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = Halving(optimizer)
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming "
                    f"{type(self).__name__} with last_epoch={last_epoch}: load the optimizer's state first"
                )
        self.optimizer = optimizer
        self.base_lrs: list[Any] = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._begin()

    def _begin(self) -> None:
        """Set the rates of the first epoch, or of the one to go on with."""
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def _restart(self) -> None:
        """Begin anew, from the rates that the groups started from."""
        for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
            group["lr"] = base
        self.last_epoch = -1
        self._begin()

    def get_lr(self) -> list[Any]:
        """Return the rate of each group in the present epoch; called by `step`, once it has counted."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    def get_last_lr(self) -> list[Any]:
        """Return the rate of each group as the schedule last set it."""
        return self._last_lr

    def step(self) -> None:
        """Go on to the next epoch; call it after the optimiser's `step`."""
        if self._step_count == 1 and not self.optimizer._stepped:
            warnings.warn(EARLY, UserWarning, stacklevel=2)
        self._step_count += 1
        self.last_epoch += 1
        for group, lr in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            group["lr"] = lr
        self._last_lr = self._current()

    def _current(self) -> list[Any]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def _scaled(self, factor: float) -> list[Any]:
        return [lr * factor for lr in self._current()]

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimiser."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a saved state; the optimiser's, which holds the rates, is loaded on its own.

        Parameters
        ----------
        state_dict : as `state_dict` of a schedule of this class gave it
        """
        self.__dict__.update(state_dict)


class LambdaLR(LRScheduler):
    """The rate that a group started from, times a function of the epoch.

    Parameters
    ----------
    optimizer : as for `LRScheduler`
    lr_lambda : gives the factor for the number of an epoch; or a list of one for each group
    last_epoch : as for `LRScheduler`

    Raises
    ------
    ValueError : if there are more or fewer functions than groups

    Examples
    --------
    >>> import dispatchkit as dk
    >>> optimizer = dk.optim.SGD([dk.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = dk.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: min(1.0, (epoch + 1) / 10))
    >>> schedule.get_last_lr()
    [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        groups = getattr(optimizer, "param_groups", [])
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, Sequence) else [lr_lambda] * len(groups)
        if len(self.lr_lambdas) != len(groups):
            raise ValueError(f"Expected {len(groups)} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the rate of each group in the present epoch."""
        return [base * factor(self.last_epoch) for factor, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimiser and the functions; of callable objects, their attributes."""
        held = [None if isinstance(f, types.FunctionType) else dict(f.__dict__) for f in self.lr_lambdas]
        return {**super().state_dict(), "lr_lambdas": held}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a saved state, with the functions that are here.

        Parameters
        ----------
        state_dict : as `state_dict` of a schedule of this class gave it
        """
        for factor, held in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if held is not None:
                factor.__dict__.update(held)
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "lr_lambdas"})

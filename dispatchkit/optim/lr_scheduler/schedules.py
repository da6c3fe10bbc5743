"""What all schedules share; schedules by a function of the epoch, that lower the rate, and warm-ups."""

from __future__ import annotations

import math
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dispatchkit.marks import override
from dispatchkit.optim.optimizer import Optimizer
from dispatchkit.tensor import Tensor

EARLY = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite order, or the first "
    "value of the learning rate schedule is skipped. See "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)
EPOCH_DEPRECATION_WARNING = "the epoch of a schedule's step is deprecated: call step() without it, once for each epoch"


def apart(value: Any) -> Any:
    """Return a copy of a rate that is a tensor, which may be changed in place, and a number as it is."""
    if isinstance(value, Tensor):
        return value.clone()
    return value


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
                group.setdefault("initial_lr", apart(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming "
                    f"{type(self).__name__} with last_epoch={last_epoch}: load the optimizer's state first"
                )
        self.optimizer = optimizer
        self.base_lrs: list[Any] = [apart(group["initial_lr"]) for group in optimizer.param_groups]
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
            group["lr"] = apart(base)
        self.last_epoch = -1
        self._begin()

    def get_lr(self) -> list[Any]:
        """Return the rate of each group in the present epoch; called by `step`, once it has counted."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    def get_last_lr(self) -> list[Any]:
        """Return the rate of each group as the schedule last set it."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch; call it after the optimiser's `step`.

        Parameters
        ----------
        epoch : number of the epoch to go to, deprecated. The rates are then those of the formula of the epoch, where
            the schedule has one, whatever they were before.
        """
        if self._step_count == 1 and not self.optimizer._stepped:
            warnings.warn(EARLY, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is None:
            self.last_epoch += 1
            rates = self.get_lr()
        else:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
            self.last_epoch = epoch
            rates = getattr(self, "_get_closed_form_lr", self.get_lr)()
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = lr
        self._last_lr = self._current()

    def _current(self) -> list[Any]:
        return [apart(group["lr"]) for group in self.optimizer.param_groups]

    def _scale(self, factor: float) -> list[Any]:
        return [lr * factor for lr in self._current()]

    def _from_the_start(self, factor: float) -> list[Any]:
        return [base * factor for base in self.base_lrs]

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
        if isinstance(lr_lambda, Sequence):
            self.lr_lambdas = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * len(groups)
        if len(self.lr_lambdas) != len(groups):
            raise ValueError(f"Expected {len(groups)} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    @override
    def get_lr(self) -> list[Any]:
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


class MultiplicativeLR(LambdaLR):
    """Multiply the rates by a function of the epoch, every epoch.

    Parameters
    ----------
    optimizer : as for `LRScheduler`
    lr_lambda : gives the factor for the number of an epoch, from 1 on; or a list of one for each group
    last_epoch : as for `LRScheduler`

    Raises
    ------
    ValueError : if there are more or fewer functions than groups

    Examples
    --------
    >>> import dispatchkit as dk
    >>> optimizer = dk.optim.SGD([dk.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = dk.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    @override
    def get_lr(self) -> list[Any]:
        if self._is_initial:
            return self._current()
        return [lr * factor(self.last_epoch) for factor, lr in zip(self.lr_lambdas, self._current(), strict=True)]


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
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    @override
    def get_lr(self) -> list[Any]:
        due = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        if due:
            return self._scale(self.gamma)
        return self._current()

    def _get_closed_form_lr(self) -> list[Any]:
        return self._from_the_start(self.gamma ** (self.last_epoch // self.step_size))


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
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    @override
    def get_lr(self) -> list[Any]:
        times = self.milestones[self.last_epoch]
        if times:
            return self._scale(self.gamma**times)
        return self._current()

    def _get_closed_form_lr(self) -> list[Any]:
        passed = sum(times for epoch, times in self.milestones.items() if epoch <= self.last_epoch)
        return self._from_the_start(self.gamma**passed)


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

    @override
    def get_lr(self) -> list[Any]:
        if self._is_initial:
            return self._current()
        return self._scale(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return self._from_the_start(self.gamma**self.last_epoch)


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
    restarts", 2017.

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
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    @override
    def get_lr(self) -> list[Any]:
        if self._is_initial:
            return self._current()
        least, epoch = self.eta_min, self.last_epoch
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the rate before was the least one: no ratio to it
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [lr + (base - least) * rise for lr, base in zip(self._current(), self.base_lrs, strict=True)]
        ratio = (1 + math.cos(math.pi * epoch / self.T_max)) / (1 + math.cos(math.pi * (epoch - 1) / self.T_max))
        return [least + (lr - least) * ratio for lr in self._current()]

    def _get_closed_form_lr(self) -> list[Any]:
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Let the rates fall to zero by a power of the share of epochs that are left.

    Parameters
    ----------
    optimizer : as for `LRScheduler`
    total_iters : number of epochs until zero
    power : of the share
    last_epoch : as for `LRScheduler`

    Raises
    ------
    ValueError : if `total_iters` is below 1

    Examples
    --------
    >>> import dispatchkit as dk
    >>> optimizer = dk.optim.SGD([dk.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = dk.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4, power=2.0)
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5625]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        if total_iters < 1:
            raise ValueError(f"PolynomialLR: total_iters must be 1 or more, found {total_iters}")
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    @override
    def get_lr(self) -> list[Any]:
        left = self.total_iters - self.last_epoch
        if self._is_initial or left < 0:
            return self._current()
        return self._scale((left / (left + 1)) ** self.power)

    def _get_closed_form_lr(self) -> list[Any]:
        left = self.total_iters - min(self.total_iters, self.last_epoch)
        return self._from_the_start((left / self.total_iters) ** self.power)


class ConstantLR(LRScheduler):
    """Multiply the rates by a factor until an epoch: a warm-up.

    Parameters
    ----------
    optimizer : as for `LRScheduler`
    factor : of the epochs before
    total_iters : number of the epoch
    last_epoch : as for `LRScheduler`

    Raises
    ------
    ValueError : if `factor` is not in (0, 1]

    Examples
    --------
    >>> import dispatchkit as dk
    >>> optimizer = dk.optim.SGD([dk.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = dk.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [0.5, 0.5, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 < factor <= 1:  # the rates come back by its inverse
            raise ValueError(f"ConstantLR: factor must be above 0 and at most 1, found {factor}")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    @override
    def get_lr(self) -> list[Any]:
        if self.last_epoch == 0:
            return self._scale(self.factor)
        if self.last_epoch == self.total_iters:
            return self._scale(1.0 / self.factor)
        return self._current()

    def _get_closed_form_lr(self) -> list[Any]:
        if self.last_epoch < self.total_iters:
            return self._from_the_start(self.factor)
        return self._from_the_start(1.0)


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
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    @override
    def get_lr(self) -> list[Any]:
        if self.last_epoch == 0:
            return self._scale(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return self._scale(1.0 + rise / before)

    def _get_closed_form_lr(self) -> list[Any]:
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        return self._from_the_start(self.start_factor + (self.end_factor - self.start_factor) * share)

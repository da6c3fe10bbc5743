"""Schedules that rise and fall, once or again and again, one by how the run goes, and those made of others."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from dispatchkit.marks import override
from dispatchkit.optim.lr_scheduler.schedules import EPOCH_DEPRECATION_WARNING, LRScheduler, apart
from dispatchkit.optim.optimizer import Optimizer


class CosineAnnealingWarmRestarts(LRScheduler):
    """Let the rates fall to a least one along half a cosine, again and again.

    Parameters
    ----------
    optimizer : as for `LRScheduler`
    T_0 : number of epochs until the first restart
    T_mult : how many times longer each time is than the one before
    eta_min : the least rate
    last_epoch : as for `LRScheduler`

    Attributes
    ----------
    T_cur, T_i : number of epochs since the last restart, and from it to the next

    Raises
    ------
    ValueError : if `T_0` or `T_mult` is below 1

    Notes
    -----
    Source: Loshchilov and Hutter, 2017.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> optimizer = dk.optim.SGD([dk.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = dk.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 0.5, 1.0, 0.5, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if min(T_0, T_mult) < 1:
            raise ValueError(f"CosineAnnealingWarmRestarts: T_0 and T_mult must be 1 or more, found {T_0} and {T_mult}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        self.T_cur: float
        super().__init__(optimizer, last_epoch)

    def _begin(self) -> None:
        self.T_i, self.T_cur = self.T_0, self.last_epoch
        super()._begin()

    @override
    def get_lr(self) -> list[Any]:
        factor = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * factor for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to one that is given; call it after the optimiser's `step`.

        Parameters
        ----------
        epoch : a number from 0 on, such as 2.5 in the middle of the third epoch
        """
        if epoch is None:
            self.T_cur += 1
        elif epoch < 0:
            raise ValueError(f"CosineAnnealingWarmRestarts: epoch must be 0 or more, found {epoch}")
        else:
            self.T_i, self.T_cur, self.last_epoch = self.T_0, epoch, math.floor(epoch) - 1
        while self.T_cur >= self.T_i:
            self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        super().step()


class WithMomentum(LRScheduler):
    """What schedules share that let the momentum fall while the rates rise.

    Attributes
    ----------
    levels, momentums : of each group, the rates, and the momentum, that it passes through, from the first on
    """

    levels: Sequence[Sequence[Any]]
    momentums: Sequence[Sequence[Any]]

    def _check_momentum(self, optimizer: Any, cycle_momentum: bool) -> None:
        """Raise if there is no optimiser, or no momentum of it to change."""
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if cycle_momentum and not {"momentum", "betas"} & optimizer.defaults.keys():
            raise ValueError(
                f"{type(self).__name__}: {type(optimizer).__name__} has neither momentum nor betas to change; give "
                f"cycle_momentum=False"
            )

    def _of_groups(self, optimizer: Optimizer, **values: Any) -> list[tuple[Any, ...]]:
        """Return for each group the values for it, of which each is one for all or a list of one for each."""
        name, groups = type(self).__name__, optimizer.param_groups
        return list(zip(*(of_each_group(name, key, x, groups) for key, x in values.items()), strict=True))

    @override
    def _begin(self) -> None:
        if self.last_epoch == -1:
            self.base_lrs = [levels[0] for levels in self.levels]
            for group, first in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
                group["initial_lr"], group["lr"] = apart(first), apart(first)
        super()._begin()

    @override
    def get_lr(self) -> list[Any]:
        return self._now(self.levels)

    def _now(self, levels: Sequence[Sequence[Any]]) -> list[Any]:
        """Return where the present step is between the levels of each group."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next batch; call it after the optimiser's `step`.

        Parameters
        ----------
        epoch : number of the batch to go to, deprecated
        """
        super().step(epoch)
        for group, momentum in zip(self.optimizer.param_groups, self._now(self.momentums), strict=False):
            if "betas" in self.optimizer.defaults:
                group["betas"] = (momentum, *group["betas"][1:])
            else:
                group["momentum"] = momentum


class CyclicLR(WithMomentum):
    """Let the rates rise and fall between two numbers, again and again.

    Call `step` after each batch.

    Parameters
    ----------
    optimizer : as for `LRScheduler`
    base_lr, max_lr : the least and the greatest rate, one number or a list of one for each group
    step_size_up, step_size_down : numbers of steps of a rise and of a fall; as many down as up by default
    mode : how high a cycle rises: ``"triangular"`` as all, ``"triangular2"`` half as high as the one before,
        ``"exp_range"`` by `gamma` to the power of the step
    gamma : of ``"exp_range"``
    scale_fn : in the place of `mode`, gives the factor of the height
    scale_mode : whether `scale_fn` takes the number of the ``"cycle"``, from 1 on, or of the step, ``"iterations"``
    cycle_momentum : whether the momentum falls while the rates rise; that of an optimiser with ``"betas"`` is the first
    base_momentum, max_momentum : where it falls to and where it begins, one number or a list of one for each group
    last_epoch : as for `LRScheduler`

    Raises
    ------
    ValueError : for another `mode`, or if the optimiser has no momentum to change

    Notes
    -----
    `scale_fn` is not part of the state. Source: Smith, 2017.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> optimizer = dk.optim.SGD([dk.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = dk.optim.lr_scheduler.CyclicLR(optimizer, 0.0, 1.0, step_size_up=2, mode="triangular2")
    >>> rates = []
    >>> for _ in range(7):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [0.0, 0.5, 1.0, 0.5, 0.0, 0.25, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[int], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if mode not in ("triangular", "triangular2", "exp_range"):
            raise ValueError(f"CyclicLR: mode must be 'triangular', 'triangular2' or 'exp_range', found {mode!r}")
        self._check_momentum(optimizer, cycle_momentum)
        self.step_size_up = step_size_up
        if step_size_down is None:
            self.step_size_down = step_size_up
        else:
            self.step_size_down = step_size_down
        if min(self.step_size_up, self.step_size_down) < 1:
            raise ValueError(
                f"CyclicLR: step_size_up and step_size_down must be 1 or more, found {self.step_size_up} and "
                f"{self.step_size_down}"
            )
        self.mode, self.gamma, self.scale_fn, self.scale_mode = mode, gamma, scale_fn, scale_mode
        self.levels = self._of_groups(optimizer, base_lr=base_lr, max_lr=max_lr)
        ends = self._of_groups(optimizer, max_momentum=max_momentum, base_momentum=base_momentum)
        if cycle_momentum:
            self.momentums = ends
        else:
            self.momentums = []
        super().__init__(optimizer, last_epoch)

    @override
    def _now(self, levels: Sequence[Sequence[Any]]) -> list[Any]:
        up, down, step = self.step_size_up, self.step_size_down, self.last_epoch
        cycle, place = divmod(step, up + down)
        if place <= up:
            height = place / up
        else:
            height = (up + down - place) / down
        if self.scale_fn is not None:
            if self.scale_mode == "cycle":
                height *= self.scale_fn(cycle + 1)
            else:
                height *= self.scale_fn(step)
        elif self.mode != "triangular":
            if self.mode == "triangular2":
                height *= 0.5**cycle
            else:
                height *= self.gamma**step
        return [first + (turn - first) * height for first, turn in levels]

    @override
    def state_dict(self) -> dict[str, Any]:
        return {name: value for name, value in super().state_dict().items() if name != "scale_fn"}


class OneCycleLR(WithMomentum):
    """Raise the rates to a maximum, then lower them far below where they began, and the momentum the other way round.

    Call `step` after each batch.

    Parameters
    ----------
    optimizer : as for `LRScheduler`
    max_lr : the maximum, one number or a list of one for each group
    total_steps : number of steps of the run; by default `epochs` times `steps_per_epoch`
    epochs, steps_per_epoch : needed where `total_steps` is not given
    pct_start : share of the steps that raise the rates
    anneal_strategy : ``"cos"`` or ``"linear"``
    cycle_momentum : whether the momentum falls while the rates rise; that of an optimiser with ``"betas"`` is the first
    base_momentum, max_momentum : where it falls to and where it begins, one number or a list of one for each group
    div_factor : the rates begin at the maximum over this
    final_div_factor : and end at where they began over this
    three_phase : whether the rates fall as they rose, and then to the end
    last_epoch : as for `LRScheduler`

    Raises
    ------
    ValueError : if the number of steps is not given or not positive, or another argument is not possible; from `step`,
        past the last step; if the optimiser has no momentum to change

    Notes
    -----
    Source: Smith and Topin, 2017.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> optimizer = dk.optim.SGD([dk.ones(2, requires_grad=True)], lr=1.0)
    >>> options = {"pct_start": 0.5, "anneal_strategy": "linear"}
    >>> schedule = dk.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=5, **options)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> [round(rate, 2) for rate in rates]
    [0.04, 0.68, 0.8, 0.4]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is None:
            steps = (epochs or 0) * (steps_per_epoch or 0)
        else:
            steps = total_steps
        if steps < 1:
            raise ValueError(f"OneCycleLR: give total_steps, or epochs and steps_per_epoch, from 1 on; found {steps}")
        if not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: pct_start must be from 0 to 1, found {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"OneCycleLR: anneal_strategy must be 'cos' or 'linear', found {anneal_strategy!r}")
        self._check_momentum(optimizer, cycle_momentum)
        self.total_steps, self.anneal_strategy = steps, anneal_strategy
        share = float(pct_start * steps)
        if three_phase:
            self.ends = [share - 1, 2 * share - 2, steps - 1]
        else:
            self.ends = [share - 1, steps - 1]
        tops = self._of_groups(optimizer, max_lr=max_lr)
        starts = [(top / div_factor, top) for (top,) in tops]
        self.levels = [(*start, *start[: int(three_phase)], start[0] / final_div_factor) for start in starts]
        ends = self._of_groups(optimizer, max_momentum=max_momentum, base_momentum=base_momentum)
        self.momentums = []
        if cycle_momentum:
            self.momentums = [(high, low, high, high) for high, low in ends]
        super().__init__(optimizer, last_epoch)

    @override
    def _now(self, levels: Sequence[Sequence[Any]]) -> list[Any]:
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"OneCycleLR: tried to step {step} times, the total number of steps is {self.total_steps}")
        phase = next((n for n, end in enumerate(self.ends) if step <= end), len(self.ends) - 1)
        start, end = 0.0, self.ends[phase]
        if phase:
            start = self.ends[phase - 1]
        share = 1.0
        if end > start:
            share = (step - start) / (end - start)
        return [self._between(each[phase], each[phase + 1], share) for each in levels]

    def _between(self, first: Any, last: Any, share: float) -> Any:
        if self.anneal_strategy == "linear":
            return (last - first) * share + first
        return last + (first - last) / 2.0 * (math.cos(math.pi * share) + 1)


def of_each_group(schedule: str, name: str, value: Any, groups: list[Any]) -> list[Any]:
    """Return the value for each group, of one number or a list."""
    if isinstance(value, (list, tuple)):
        values = list(value)
    else:
        values = [value] * len(groups)
    if len(values) != len(groups):
        raise ValueError(f"{schedule}: {name} must be one number or {len(groups)} of them, found {len(values)}")
    return [apart(each) for each in values]


class ReduceLROnPlateau(LRScheduler):
    """Multiply the rates by a factor when a measure has not improved for some epochs.

    Parameters
    ----------
    optimizer : as for `LRScheduler`
    mode : whether the measure improves downwards (``"min"``) or upwards (``"max"``)
    factor : below 1
    patience : number of epochs without improvement that are let pass
    threshold : what counts as an improvement
    threshold_mode : whether `threshold` is a share of the best value (``"rel"``) or a difference (``"abs"``)
    cooldown : number of epochs after a change in which none is counted
    min_lr : below which no rate goes, one number or a list of one for each group
    eps : a change that is smaller is left out

    Raises
    ------
    ValueError : for a factor from 1 on, another mode, or a list of another length
    RuntimeError : from `step`, if the optimiser has got groups since and `min_lr` is a list, `min_lrs`, without them

    Examples
    --------
    >>> import dispatchkit as dk
    >>> optimizer = dk.optim.SGD([dk.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = dk.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> for loss in (3.0, 2.0, 2.0, 2.0):
    ...     optimizer.step()
    ...     schedule.step(loss)
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau: factor must be below 1.0, found {factor}")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(
                f"ReduceLROnPlateau: mode must be 'min' or 'max' and threshold_mode 'rel' or 'abs', found {mode!r} and "
                f"{threshold_mode!r}"
            )
        self.min_lrs = of_each_group("ReduceLROnPlateau", "min_lr", min_lr, optimizer.param_groups)
        self.default_min_lr = None
        if not isinstance(min_lr, (list, tuple)):
            self.default_min_lr = min_lr
        self.optimizer = optimizer
        self.base_lrs = self._current()
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.factor, self.patience, self.cooldown, self.eps = factor, patience, cooldown, eps
        if mode == "min":
            self.best = math.inf
        else:
            self.best = -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0
        self._last_lr = self._current()

    def step(self, metrics: Any = None, epoch: int | None = None) -> None:  # type: ignore[override]  # as PyTorch
        """Go on to the next epoch.

        Parameters
        ----------
        metrics : the measure of this one, a number
        epoch : its number, deprecated
        """
        if metrics is None:
            raise TypeError("ReduceLROnPlateau: step(metrics) takes the measure of the epoch")
        measure = float(metrics)
        if epoch is None:
            self.last_epoch += 1
        else:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
            self.last_epoch = epoch
        if self._is_better(measure):
            self.best, self.num_bad_epochs = measure, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._current()

    def _reduce(self) -> None:
        """Multiply the rates of all groups, those included that were added since."""
        groups = self.optimizer.param_groups
        if self.default_min_lr is not None:
            self.min_lrs += [self.default_min_lr] * (len(groups) - len(self.min_lrs))
        if len(self.min_lrs) != len(groups):
            raise RuntimeError(
                f"The number of param groups in the optimizer, {len(groups)}, differs from that of min_lrs, "
                f"{len(self.min_lrs)}: append one to min_lrs when you add a group"
            )
        for group, least in zip(groups, self.min_lrs, strict=True):
            lr = max(float(group["lr"]) * self.factor, least)
            if float(group["lr"]) - lr > self.eps:
                group["lr"] = lr

    def _is_better(self, measure: float) -> bool:
        sign = -1.0
        if self.mode == "max":
            sign = 1.0
        scale = 1.0
        if self.threshold_mode == "rel":
            scale = abs(self.best)
        change = self.threshold * scale
        if not math.isfinite(self.best):
            change = 0.0
        return sign * measure > sign * self.best + change


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
    def step(self) -> None:  # type: ignore[override]  # of no epoch, as in PyTorch
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
        if optimizer is None:
            self.optimizer = schedulers[0].optimizer
        else:
            self.optimizer = optimizer
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
    def step(self) -> None:  # type: ignore[override]  # of no epoch, as in PyTorch
        self.last_epoch += 1
        for schedule in self._schedulers:
            schedule.step()
        self._last_lr = self._current()

"""Schedules: their errors, their state, and the order of calls. Their values are compared in the trajectories."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.optim.lr_scheduler import (
    ChainedScheduler,
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    CyclicLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
)


def sgd(lr: Any = 1.0) -> Any:
    return dk.optim.SGD([dk.ones(1, requires_grad=True)], lr=lr)


def lbfgs() -> Any:
    return dk.optim.LBFGS([dk.ones(1, requires_grad=True)])


def rates(schedule: Any, steps: int) -> list[float]:
    seen = schedule.get_last_lr()
    for _ in range(steps):
        schedule.optimizer.step()
        schedule.step()
        seen = seen + schedule.get_last_lr()
    return list(seen)


def test_closed_forms() -> None:
    epochs = range(12)
    cosine = [0.1 + 0.9 * (1 + math.cos(math.pi * t / 5)) / 2 for t in epochs]
    assert rates(CosineAnnealingLR(sgd(), 5, 0.1), 11) == pytest.approx(cosine)
    assert rates(StepLR(sgd(), 3, 0.5), 11) == pytest.approx([0.5 ** (t // 3) for t in epochs])
    assert rates(MultiStepLR(sgd(), (2, 5), 0.5), 11) == pytest.approx([0.5 ** ((t >= 2) + (t >= 5)) for t in epochs])
    assert rates(ExponentialLR(sgd(), 0.5), 11) == pytest.approx([0.5**t for t in epochs])
    linear = [0.25 + 0.75 * min(t, 4) / 4 for t in epochs]
    assert rates(LinearLR(sgd(), 0.25, total_iters=4), 11) == pytest.approx(linear)
    assert rates(LambdaLR(sgd(), lambda t: 1 / (1 + t)), 11) == pytest.approx([1 / (1 + t) for t in epochs])


def test_closed_forms_of_schedules_that_rise_and_fall_or_warm_up() -> None:
    epochs = range(30)
    restarts = [0.1 + 0.9 * (1 + math.cos(math.pi * (t % 7) / 7)) / 2 for t in epochs]
    assert rates(CosineAnnealingWarmRestarts(sgd(), 7, eta_min=0.1), 29) == pytest.approx(restarts)
    longer = [(t, 2) if t < 2 else (t - 2, 6) if t < 8 else (t - 8, 18) if t < 26 else (t - 26, 54) for t in epochs]
    expected = [(1 + math.cos(math.pi * t / length)) / 2 for t, length in longer]
    assert rates(CosineAnnealingWarmRestarts(sgd(), 2, 3), 29) == pytest.approx(expected)
    heights = [1 - abs(1 - t % 8 / 4) for t in epochs]
    cyclic = CyclicLR(sgd(), 0.5, 1.5, 4, mode="exp_range", gamma=0.9, cycle_momentum=False)
    assert rates(cyclic, 29) == pytest.approx([0.5 + h * 0.9**t for t, h in zip(epochs, heights, strict=True)])
    power = [max(0, 1 - t / 10) ** 1.5 for t in epochs]
    assert rates(PolynomialLR(sgd(), 10, 1.5), 29) == pytest.approx(power)
    assert rates(ConstantLR(sgd(), 0.25, 6), 29) == pytest.approx([0.25 if t < 6 else 1.0 for t in epochs])
    factorials = [1 / math.factorial(t + 1) for t in epochs]
    assert rates(MultiplicativeLR(sgd(), lambda t: 1 / (t + 1)), 29) == pytest.approx(factorials)
    optimizer = sgd()
    chained = ChainedScheduler([ConstantLR(optimizer, 0.5, 3), ExponentialLR(optimizer, 0.9)])
    assert rates(chained, 29) == pytest.approx([(0.5 if t < 3 else 1.0) * 0.9**t for t in epochs])


# With a formula of the epoch, and without.
GOES_TO_AN_EPOCH: list[Any] = [
    lambda optimizer: StepLR(optimizer, 3, 0.5),
    lambda optimizer: MultiStepLR(optimizer, [2, 5, 5], 0.5),
    lambda optimizer: ConstantLR(optimizer, 0.25, 4),
    lambda optimizer: LinearLR(optimizer, 0.25, 0.75, total_iters=4),
    lambda optimizer: ExponentialLR(optimizer, 0.5),
    lambda optimizer: PolynomialLR(optimizer, 5, 1.5),
    lambda optimizer: CosineAnnealingLR(optimizer, 5, 0.1),
    lambda optimizer: LambdaLR(optimizer, lambda t: 1 / (1 + t)),
    lambda optimizer: CyclicLR(optimizer, 0.5, 1.5, 4, cycle_momentum=False),
]


@pytest.mark.parametrize("make", GOES_TO_AN_EPOCH)
def test_a_step_to_an_epoch_sets_the_rates_of_that_epoch(make: Any) -> None:
    expected = rates(make(sgd()), 9)
    schedule = make(sgd())
    schedule.optimizer.step()
    for epoch in (7, 2, 2, 0, 9, 4):
        with pytest.warns(UserWarning, match=r"the epoch of a schedule's step is deprecated: call step\(\) without it"):
            schedule.step(epoch)
        assert schedule.last_epoch == epoch
        assert schedule.get_last_lr() == pytest.approx([expected[epoch]], abs=1e-12)


def test_a_plateau_takes_the_number_of_its_epoch() -> None:
    schedule = ReduceLROnPlateau(sgd())
    with pytest.warns(UserWarning, match="the epoch of a schedule's step is deprecated"):
        schedule.step(1.0, 7)
    assert schedule.last_epoch == 7


def test_a_rate_that_is_changed_in_place_leaves_the_schedule_alone() -> None:
    rate, last = dk.tensor(1.0), dk.tensor(0.5)
    optimizer = sgd(rate)
    schedule = dk.optim.swa_utils.SWALR(optimizer, last)
    seen = schedule.get_last_lr()
    rate.mul_(0.0)
    last.mul_(0.0)
    assert [float(value) for value in (*seen, *schedule.base_lrs)] == [1.0, 1.0]
    group = optimizer.param_groups[0]
    assert [float(group[name]) for name in ("initial_lr", "swa_lr")] == [1.0, 0.5]
    optimizer.step()
    schedule.step()
    schedule.get_last_lr()[0].mul_(0.0)
    assert float(group["lr"]) > 0


def test_groups_that_are_added_while_a_plateau_is_awaited() -> None:
    def reduced(**options: Any) -> Any:
        schedule = ReduceLROnPlateau(sgd(), factor=0.5, patience=0, **options)
        schedule.optimizer.add_param_group({"params": [dk.ones(2, requires_grad=True)], "lr": 0.25})
        schedule.step(1.0)
        return schedule

    schedule = reduced(min_lr=0.2)
    schedule.step(1.0)
    assert schedule.get_last_lr() == [0.5, 0.2]
    schedule = reduced(min_lr=[0.2])
    message = "The number of param groups in the optimizer, 2, differs from that of min_lrs, 1: append one to min_lrs"
    with pytest.raises(RuntimeError, match=message):
        schedule.step(1.0)
    schedule.min_lrs.append(0.1)
    schedule.step(1.0)
    assert schedule.get_last_lr() == [0.5, 0.125]


def test_a_cycle_turns_the_momentum() -> None:
    sgd = dk.optim.SGD([dk.ones(1, requires_grad=True)], momentum=0.5)
    adam = dk.optim.Adam([dk.ones(1, requires_grad=True)])
    seen = []
    for optimizer in (sgd, adam):
        schedule = CyclicLR(optimizer, 0.0, 1.0, 2, 1, base_momentum=0.7, max_momentum=0.9)
        for _ in range(4):
            group = optimizer.param_groups[0]
            seen.append(group["betas"][0] if optimizer is adam else group["momentum"])
            optimizer.step()
            schedule.step()
    assert seen == pytest.approx([0.9, 0.8, 0.7, 0.9] * 2)


def test_schedules_that_restart_as_parts_of_others() -> None:
    optimizer = sgd()
    chained = ChainedScheduler([ConstantLR(optimizer, 0.5, 2), ExponentialLR(optimizer, 0.5)])
    parts = [ExponentialLR(optimizer, 0.1), CosineAnnealingWarmRestarts(optimizer, 2), chained]
    schedule = SequentialLR(optimizer, parts, [1, 4])
    assert rates(schedule, 6) == pytest.approx([1.0, 1.0, 0.5, 1.0, 0.5, 0.25, 0.25])


def test_the_rate_may_be_a_tensor() -> None:
    schedule = ExponentialLR(sgd(dk.tensor(1.0)), 0.5)
    assert [float(rate) for rate in rates(schedule, 2)] == [1.0, 0.5, 0.25]


def test_a_schedule_before_the_first_step_of_its_optimiser() -> None:
    schedule = StepLR(sgd(), 3)
    with pytest.warns(UserWarning, match=r"`lr_scheduler.step\(\)` before `optimizer.step\(\)`") as warned:
        schedule.step()
    assert warned[0].filename == __file__


@pytest.mark.parametrize(
    "make",
    [
        lambda optimizer: StepLR(optimizer, 2, 0.5),
        lambda optimizer: MultiStepLR(optimizer, [1, 4], 0.5),
        lambda optimizer: CosineAnnealingLR(optimizer, 6),
        lambda optimizer: LambdaLR(optimizer, lambda t: 0.9**t),
        lambda optimizer: MultiplicativeLR(optimizer, lambda t: 0.9),
        lambda optimizer: CosineAnnealingWarmRestarts(optimizer, 3, 2),
        lambda optimizer: CyclicLR(optimizer, 0.1, 1.0, 3, scale_fn=lambda n: 1 / n, cycle_momentum=False),
        lambda optimizer: ChainedScheduler([ConstantLR(optimizer, 0.5, 6), PolynomialLR(optimizer, 20)]),
        lambda optimizer: SequentialLR(optimizer, [LinearLR(optimizer), ExponentialLR(optimizer, 0.9)], [3]),
    ],
)
def test_a_loaded_schedule_goes_on_like_the_saved_one(make: Any) -> None:
    optimizer, other = sgd(), sgd()
    schedule, loaded = make(optimizer), make(other)
    rates(schedule, 4)
    state = pickle.loads(pickle.dumps(schedule.state_dict()))
    kept = copy.deepcopy(state)
    loaded.load_state_dict(state)
    other.load_state_dict(optimizer.state_dict())
    assert state == kept
    assert rates(loaded, 5) == rates(schedule, 5)


def test_a_callable_object_is_saved_with_its_attributes() -> None:
    class Factor:
        def __init__(self, base: float) -> None:
            self.base = base

        def __call__(self, epoch: int) -> float:
            return self.base**epoch

    schedule, other = LambdaLR(sgd(), [Factor(0.5)]), LambdaLR(sgd(), [Factor(0.1)])
    state = schedule.state_dict()
    assert state["lr_lambdas"] == [{"base": 0.5}]
    other.load_state_dict(state)
    assert other.lr_lambdas[0](1) == 0.5


def test_a_schedule_in_a_schedule() -> None:
    optimizer = sgd()
    inner = SequentialLR(optimizer, [LinearLR(optimizer, 0.5, total_iters=1), ExponentialLR(optimizer, 0.5)], [1])
    outer = SequentialLR(optimizer, [StepLR(optimizer, 1, 0.1), inner], [2])
    assert rates(outer, 5) == pytest.approx([1.0, 0.1, 0.5, 1.0, 0.5, 0.25])


def test_what_is_refused() -> None:
    optimizer, other = sgd(), sgd()
    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda: StepLR(3, 2), TypeError, "int is not an Optimizer"),  # type: ignore[arg-type]
        (lambda: StepLR(optimizer, 0), ValueError, "StepLR: step_size must be 1 or more, found 0"),
        (lambda: CosineAnnealingLR(optimizer, 0), ValueError, "T_max must be 1 or more, found 0"),
        (lambda: LinearLR(optimizer, 0.0), ValueError, "greater than 0 and less or equal to 1, found 0.0"),
        (lambda: LinearLR(optimizer, end_factor=2.0), ValueError, "between 0 and 1, found 2.0"),
        (lambda: LinearLR(optimizer, total_iters=0), ValueError, "total_iters must be 1 or more, found 0"),
        (lambda: LambdaLR(optimizer, [abs, abs]), ValueError, "Expected 1 lr_lambdas, but got 2"),
        (lambda: PolynomialLR(optimizer, 0), ValueError, "PolynomialLR: total_iters must be 1 or more, found 0"),
        (lambda: ConstantLR(optimizer, 0.0), ValueError, "ConstantLR: factor must be above 0 and at most 1, found 0.0"),
        (
            lambda: CosineAnnealingWarmRestarts(optimizer, 1, 0),
            ValueError,
            "CosineAnnealingWarmRestarts: T_0 and T_mult must be 1 or more, found 1 and 0",
        ),
        (
            lambda: CosineAnnealingWarmRestarts(optimizer, 1).step(-1),
            ValueError,
            "CosineAnnealingWarmRestarts: epoch must be 0 or more, found -1",
        ),
        (
            lambda: CyclicLR(optimizer, 0.0, 1.0, mode="square"),  # type: ignore[arg-type]
            ValueError,
            "CyclicLR: mode must be 'triangular', 'triangular2' or 'exp_range', found 'square'",
        ),
        (lambda: CyclicLR(optimizer, 0.0, 1.0, 0), ValueError, "step_size_down must be 1 or more, found 0 and 0"),
        (
            lambda: CyclicLR(optimizer, [0.0] * 2, 1.0),
            ValueError,
            "CyclicLR: base_lr must be one number or 1 of them",
        ),
        (lambda: CyclicLR(lbfgs(), 0.0, 1.0), ValueError, "CyclicLR: LBFGS has neither momentum nor betas to change"),
        (lambda: ChainedScheduler([]), ValueError, "ChainedScheduler: expected at least one scheduler, found none"),
        (
            lambda: ChainedScheduler([StepLR(optimizer, 1), StepLR(other, 1)]),
            ValueError,
            "ChainedScheduler expects all schedulers to belong to the same optimizer, but StepLR at index 1",
        ),
        (
            lambda: ChainedScheduler([ReduceLROnPlateau(optimizer)]),
            ValueError,
            "ChainedScheduler: ReduceLROnPlateau at index 0 takes a measure in each step; step it alone",
        ),
        (lambda: SequentialLR(optimizer, [StepLR(other, 1)], []), ValueError, "StepLR at index 0 has another one"),
        (
            lambda: SequentialLR(optimizer, [StepLR(optimizer, 1)], [1]),
            ValueError,
            "schedulers 1 and the number of .* 1",
        ),
        (
            lambda: StepLR(sgd(), 1, last_epoch=3),
            KeyError,
            r"'initial_lr' is not specified in param_groups\[0\] when resuming StepLR with last_epoch=3",
        ),
        (lambda: LRScheduler(optimizer), NotImplementedError, r"LRScheduler does not define get_lr\(\)"),
    ]
    for make, error, message in wrong:
        with pytest.raises(error, match=message):
            make()

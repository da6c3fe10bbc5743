"""`RMSprop`, `OneCycleLR` and `ReduceLROnPlateau`: stated numbers, errors, and PyTorch's steps."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.optim.lr_scheduler import OneCycleLR, ReduceLROnPlateau

from .problems import Problem

RMSPROP: list[dict[str, Any]] = [
    {},
    {"alpha": 0.5, "eps": 1e-3},
    {"momentum": 0.9, "weight_decay": 0.1},
    {"centered": True},
    {"centered": True, "momentum": 0.5, "maximize": True},
]
CYCLES: list[dict[str, Any]] = [
    {"total_steps": 30},
    {"epochs": 5, "steps_per_epoch": 6, "anneal_strategy": "linear", "pct_start": 0.25},
    {"total_steps": 30, "three_phase": True, "div_factor": 10, "final_div_factor": 100},
]
PLATEAUS: list[dict[str, Any]] = [
    {"patience": 2},
    {"patience": 1, "factor": 0.5, "cooldown": 2, "min_lr": 0.2},
    {"mode": "max", "patience": 1, "threshold": 0.3, "threshold_mode": "abs"},
]
MEASURES = [3.0, 2.0, 2.5, 1.9, 1.95, 1.95, 1.95, 1.5, 1.6, 1.6, 1.6, 1.6, 1.6, 1.6, 1.6]


def sgd(library: Any = dk) -> Any:
    return library.optim.SGD([library.ones(1, requires_grad=True)], lr=1.0)


@pytest.mark.parametrize("options", RMSPROP, ids=str)
def test_rmsprop_takes_pytorchs_steps(options: dict[str, Any]) -> None:
    torch: Any = pytest.importorskip("torch")
    found = []
    for library in (dk, torch):
        problem = Problem(library)
        found.append(problem.run(library.optim.RMSprop(problem.parameters, lr=1e-3, **options)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_a_step_of_rmsprop_by_hand_and_its_state() -> None:
    x = dk.tensor([1.0, -2.0], requires_grad=True)
    optimizer = dk.optim.RMSprop([x], lr=0.1, alpha=0.75, momentum=0.5, centered=True)
    (x * x).sum().backward()
    optimizer.step()
    # g = (2, -4): square 0.25 g², mean 0.25 g, spread (0.25 - 0.0625) g².
    np.testing.assert_allclose(
        x.detach().numpy(), np.asarray([1, -2]) - 0.1 / np.sqrt(0.1875) * np.asarray([1, -1]), rtol=1e-7
    )
    state = optimizer.state[x]
    assert list(state) == ["square_avg", "momentum_buffer", "grad_avg"]
    assert state["square_avg"].tolist() == [1.0, 4.0]
    other = dk.optim.RMSprop([x], lr=0.1, alpha=0.75, momentum=0.5, centered=True)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert other.state[x]["grad_avg"].tolist() == [0.5, -1.0]
    with pytest.raises(ValueError, match="Invalid alpha value"):
        dk.optim.RMSprop([x], alpha=-1.0)


# By name: an optimiser's options, and which one the cycle changes.
WITH_MOMENTUM: dict[str, tuple[dict[str, Any], str]] = {
    "SGD": ({"momentum": 0.5}, "momentum"),
    "RMSprop": ({"momentum": 0.5}, "momentum"),
    "Adam": ({}, "betas"),
    "AdamW": ({"betas": (0.8, 0.99)}, "betas"),
}


def cycled(library: Any, name: str, steps: int = 30, **options: Any) -> list[Any]:
    """Return what a cycle sets in each step, of two groups."""
    given, changed = WITH_MOMENTUM[name]
    groups = [{"params": [library.ones(1, requires_grad=True)]} for _ in range(2)]
    optimizer = getattr(library.optim, name)(groups, lr=1.0, **given)
    schedule = library.optim.lr_scheduler.OneCycleLR(optimizer, [0.5, 2.0], **options)
    seen = []
    for step in range(steps):
        if step:
            optimizer.step()
            schedule.step()
        seen.append([(*np.atleast_1d(group[changed]), group["lr"]) for group in optimizer.param_groups])
    return seen


@pytest.mark.parametrize("name", WITH_MOMENTUM)
@pytest.mark.parametrize("further", [{}, {"cycle_momentum": False}, {"base_momentum": [0.7, 0.8], "max_momentum": 0.9}])
@pytest.mark.parametrize("options", CYCLES, ids=str)
def test_one_cycle_has_pytorchs_rates_and_momentum(options: Any, further: Any, name: str) -> None:
    torch: Any = pytest.importorskip("torch")
    found, expected = (cycled(library, name, **options, **further) for library in (dk, torch))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", WITH_MOMENTUM)
def test_one_cycle_lowers_the_momentum_while_it_raises_the_rates(name: str) -> None:
    found = cycled(dk, name, 5, total_steps=5, pct_start=0.6, anneal_strategy="linear", div_factor=10)
    momentum = [step[0][0] for step in found]
    np.testing.assert_allclose(momentum, [0.95, 0.9, 0.85, 0.9, 0.95])
    np.testing.assert_allclose([step[1][-1] for step in found][:3], [0.2, 1.1, 2.0])


@pytest.mark.parametrize("name", WITH_MOMENTUM)
def test_a_cycle_goes_on_from_a_saved_state(name: str) -> None:
    def start(**options: Any) -> Any:
        optimizer = getattr(dk.optim, name)([dk.ones(1, requires_grad=True)], lr=1.0, **WITH_MOMENTUM[name][0])
        return OneCycleLR(optimizer, 0.5, 10, **options)

    def go_on(schedule: Any, steps: int) -> list[Any]:
        seen = []
        for _ in range(steps):
            schedule.optimizer.step()
            schedule.step()
            seen.append({k: v for k, v in schedule.optimizer.param_groups[0].items() if k != "params"})
        return seen

    whole, first, second = start(three_phase=True), start(three_phase=True), start()
    expected = go_on(whole, 9)
    assert go_on(first, 4) == expected[:4]
    second.optimizer.load_state_dict(first.optimizer.state_dict())
    second.load_state_dict(first.state_dict())
    assert go_on(second, 5) == expected[4:]


@pytest.mark.parametrize("options", PLATEAUS, ids=str)
def test_plateaus_have_pytorchs_rates(options: dict[str, Any]) -> None:
    torch: Any = pytest.importorskip("torch")
    rates = []
    for library in (dk, torch):
        schedule = library.optim.lr_scheduler.ReduceLROnPlateau(sgd(library), **options)
        seen = []
        for measure in MEASURES:
            schedule.optimizer.step()
            schedule.step(measure)
            seen += schedule.get_last_lr()
        rates.append(seen)
    assert rates[0] == rates[1]


def test_rates_of_a_plateau_by_hand_and_from_a_saved_state() -> None:
    def run(schedule: ReduceLROnPlateau, measures: list[float]) -> list[float]:
        seen = []
        for measure in measures:
            schedule.step(dk.asarray(measure))
            seen += schedule.get_last_lr()
        return seen

    measures = [1.0, 1.0, 1.0, 0.5, 0.5, 0.5]
    assert run(ReduceLROnPlateau(sgd(), patience=1, factor=0.5), measures) == [1.0, 1.0, 0.5, 0.5, 0.5, 0.25]
    first, optimizer = ReduceLROnPlateau(sgd(), patience=1, factor=0.5), sgd()
    run(first, measures[:3])
    optimizer.load_state_dict(first.optimizer.state_dict())
    second = ReduceLROnPlateau(optimizer, patience=1, factor=0.5)
    second.load_state_dict(first.state_dict())
    assert run(second, measures[3:]) == [0.5, 0.5, 0.25]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: OneCycleLR(sgd(), 1.0), "OneCycleLR: give total_steps, or epochs and steps_per_epoch"),
        (lambda: OneCycleLR(sgd(), 1.0, 5, pct_start=2.0), "pct_start must be from 0 to 1, found 2.0"),
        (lambda: OneCycleLR(sgd(), [1.0, 2.0], 5), "OneCycleLR: max_lr must be one number or 1 of them, found 2"),
        (
            lambda: OneCycleLR(sgd(), 1.0, 5, base_momentum=[0.8, 0.8]),
            "base_momentum must be one number or 1 of them",
        ),
        (
            lambda: OneCycleLR(dk.optim.LBFGS([dk.ones(1, requires_grad=True)]), 1.0, 5),
            "OneCycleLR: LBFGS has neither momentum nor betas to change; give cycle_momentum=False",
        ),
        (lambda: OneCycleLR(sgd(), 1.0, 5, anneal_strategy="poly"), "must be 'cos' or 'linear', found 'poly'"),  # type: ignore[arg-type]
        (lambda: ReduceLROnPlateau(sgd(), factor=1.0), r"factor must be below 1\.0, found 1\.0"),
        (lambda: ReduceLROnPlateau(sgd(), mode="up"), "mode must be 'min' or 'max' and threshold_mode"),  # type: ignore[arg-type]
        (lambda: ReduceLROnPlateau(sgd(), min_lr=[0.1, 0.1]), "min_lr must be one number or 1 of them, found 2"),
    ],
)
def test_wrong_arguments_are_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_cycle_has_an_end() -> None:
    schedule = OneCycleLR(sgd(), 1.0, 2)
    schedule.optimizer.step()
    for _ in range(2):  # one more than there are rates, as a loop makes it after its last batch
        schedule.step()
    with pytest.raises(ValueError, match="OneCycleLR: tried to step 3 times, the total number of steps is 2"):
        schedule.step()

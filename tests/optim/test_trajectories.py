"""A hundred steps are PyTorch's hundred steps, for every option."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

from .problems import DECAY_OPTIONS, SGD_OPTIONS, Problem

torch: Any = pytest.importorskip("torch", reason="PyTorch gives the trajectories to compare with")

CASES = [
    *[("SGD", {"lr": 0.05, **options}) for options in SGD_OPTIONS],
    *[("Adam", {"lr": 0.02, **options}) for options in DECAY_OPTIONS],
    ("Adam", {"lr": 0.02, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    *[("AdamW", {"lr": 0.02, **options}) for options in DECAY_OPTIONS],
]


def same(one: list[Any], other: list[Any], tolerance: float = 1e-6) -> None:
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def both(name: str, options: dict[str, Any], dtype: str = "float64", **keywords: Any) -> tuple[list[Any], list[Any]]:
    found = []
    for library in (dk, torch):
        problem = Problem(library, dtype)
        optimizer = getattr(library.optim, name)(problem.parameters, **options)
        found.append(problem.run(optimizer, **keywords))
    return found[0], found[1]


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_options(name: str, options: dict[str, Any]) -> None:
    same(*both(name, options), tolerance=1e-9)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_closures(name: str) -> None:
    same(*both(name, {"lr": 0.02, "weight_decay": 0.1}, closure=True), tolerance=1e-9)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_single_precision(name: str) -> None:
    one, other = both(name, {"lr": 0.02}, dtype="float32")
    assert one[0].dtype == np.float32
    same(one, other, tolerance=1e-4)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_groups_with_options_of_their_own(name: str) -> None:
    found = []
    for library in (dk, torch):
        problem = Problem(library)
        w1, b1, w2, b2 = problem.parameters
        groups = [{"params": [w1, w2], "weight_decay": 0.1}, {"params": iter([b1]), "lr": 0.1}]
        optimizer = getattr(library.optim, name)(groups, lr=0.01)
        optimizer.add_param_group({"params": b2, "lr": 0.002})
        found.append(problem.run(optimizer))
    same(found[0], found[1], tolerance=1e-9)


@pytest.mark.parametrize(
    ("name", "options"),
    [("SGD", {"lr": 0.1, "momentum": 0.9}), ("Adam", {"lr": 0.1}), ("Adam", {"lr": 0.1, "amsgrad": True})],
    ids=str,
)
def test_complex_parameters(name: str, options: dict[str, Any]) -> None:
    start = np.array([1 + 2j, -0.5 + 0.25j, 3 - 1j])
    found = []
    for library in (dk, torch):
        z = library.tensor(start, requires_grad=True)
        scalar = library.tensor(start[0], requires_grad=True)
        optimizer = getattr(library.optim, name)([z, scalar], **options)
        seen = []
        for _ in range(100):
            optimizer.zero_grad()
            loss = (z * z.conj()).real.sum() + ((scalar - 1j) * (scalar - 1j).conj()).real
            loss.backward()
            optimizer.step()
            seen += [np.array(z.detach().numpy()), np.array(scalar.detach().numpy())]
        found.append(seen)
    same(found[0], found[1], tolerance=1e-9)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_the_saved_state_has_pytorchs_form(name: str) -> None:
    states = []
    for library in (dk, torch):
        problem = Problem(library)
        options = {"momentum": 0.9} if name == "SGD" else {"amsgrad": True}
        optimizer = getattr(library.optim, name)(problem.parameters, lr=0.02, **options)
        problem.run(optimizer, steps=3)
        states.append(optimizer.state_dict())
    one, other = states
    assert list(one) == list(other)
    assert list(one["state"]) == list(other["state"])
    for number, kept in one["state"].items():
        assert list(kept) == list(other["state"][number])
        for key, value in kept.items():
            assert isinstance(value, dk.Tensor)
            np.testing.assert_allclose(value.numpy(), other["state"][number][key].numpy(), rtol=1e-12)
    for ours, theirs in zip(one["param_groups"], other["param_groups"], strict=True):
        shared = [key for key in theirs if key in ours]
        assert list(ours) == shared
        assert set(theirs) - set(ours) <= {"foreach", "fused", "capturable", "differentiable"}
        assert all(ours[key] == theirs[key] for key in ours)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("StepLR", {"step_size": 7, "gamma": 0.5}),
        ("MultiStepLR", {"milestones": [3, 8, 8, 20], "gamma": 0.5}),
        ("ExponentialLR", {"gamma": 0.97}),
        ("CosineAnnealingLR", {"T_max": 20, "eta_min": 0.001}),
        ("CosineAnnealingLR", {"T_max": 1}),
        ("LinearLR", {"start_factor": 0.1, "total_iters": 12}),
        ("LinearLR", {"start_factor": 1.0, "end_factor": 0.0, "total_iters": 30}),
        ("LambdaLR", {"lr_lambda": lambda epoch: 1 / (1 + epoch)}),
        ("MultiplicativeLR", {"lr_lambda": [lambda epoch: 0.97, lambda epoch: 1 - 0.5**epoch]}),
        ("ConstantLR", {}),
        ("ConstantLR", {"factor": 0.2, "total_iters": 40}),
        ("PolynomialLR", {"total_iters": 60, "power": 0.7}),
        ("PolynomialLR", {}),
        ("CosineAnnealingWarmRestarts", {"T_0": 7, "eta_min": 0.001}),
        ("CosineAnnealingWarmRestarts", {"T_0": 5, "T_mult": 2}),
        ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 8}),
        ("CyclicLR", {"base_lr": [0.01, 0.02], "max_lr": [0.1, 0.3], "step_size_up": 8, "step_size_down": 3}),
        ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 7, "mode": "triangular2", "base_momentum": 0.6}),
        ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 9, "mode": "exp_range", "gamma": 0.98}),
        (
            "CyclicLR",
            {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 9, "scale_fn": lambda n: 1 / n, "cycle_momentum": False},
        ),
        (
            "CyclicLR",
            {
                "base_lr": 0.01,
                "max_lr": 0.1,
                "step_size_up": 5,
                "scale_fn": lambda n: 1 / (1 + n),
                "scale_mode": "iterations",
            },
        ),
    ],
)
def test_schedules(name: str, options: dict[str, Any]) -> None:
    rates, found = [], []
    for library in (dk, torch):
        problem = Problem(library)
        groups = [{"params": problem.parameters[:2]}, {"params": problem.parameters[2:], "lr": 0.3}]
        optimizer = library.optim.SGD(groups, lr=0.05, momentum=0.5)
        schedule = getattr(library.optim.lr_scheduler, name)(optimizer, **options)
        seen = [[*schedule.get_last_lr(), *(group["momentum"] for group in optimizer.param_groups)]]
        for _ in range(100):
            problem.run(optimizer, steps=1, schedule=schedule)
            seen.append([*schedule.get_last_lr(), *(group["momentum"] for group in optimizer.param_groups)])
        rates.append(np.array(seen))
        found.append([np.array(p.detach().numpy()) for p in problem.parameters])
    np.testing.assert_allclose(rates[0], rates[1], rtol=1e-9, atol=1e-15)
    same(found[0], found[1], tolerance=1e-9)


def test_one_schedule_after_another() -> None:
    rates = []
    for library in (dk, torch):
        problem = Problem(library)
        optimizer = library.optim.SGD(problem.parameters, lr=0.05)
        schedules = library.optim.lr_scheduler
        parts = [
            schedules.LinearLR(optimizer, 0.1, total_iters=5),
            schedules.CosineAnnealingLR(optimizer, T_max=20),
            schedules.StepLR(optimizer, 3),
        ]
        schedule = schedules.SequentialLR(optimizer, parts, milestones=[5, 25])
        seen = [schedule.get_last_lr()]
        for _ in range(40):
            optimizer.step()
            schedule.step()
            seen.append(schedule.get_last_lr())
        rates.append(np.array(seen))
    np.testing.assert_allclose(rates[0], rates[1], rtol=1e-9, atol=1e-15)


def test_two_schedules_compose() -> None:
    rates = []
    for library in (dk, torch):
        optimizer = library.optim.SGD(Problem(library).parameters, lr=0.05)
        schedules = library.optim.lr_scheduler
        parts = [schedules.StepLR(optimizer, 4), schedules.CosineAnnealingLR(optimizer, T_max=30)]
        seen = []
        for _ in range(25):
            optimizer.step()
            for part in parts:
                part.step()
            seen.append(parts[-1].get_last_lr())
        rates.append(np.array(seen))
    np.testing.assert_allclose(rates[0], rates[1], rtol=1e-9)


@pytest.mark.parametrize("cycle", [False, True])
def test_schedules_at_once_and_restarts_at_given_epochs(cycle: bool) -> None:
    rates = []
    for library in (dk, torch):
        optimizer = library.optim.Adam(Problem(library).parameters, lr=0.05)
        schedules = library.optim.lr_scheduler
        restarts = schedules.CosineAnnealingWarmRestarts(optimizer, 4, 3, 0.01)
        seen = []
        for epoch in (0.0, 0.25, 1.5, 4.0, 9.75, 16.5, 60.0, None, None):
            optimizer.step()
            restarts.step(epoch)
            seen.append([*restarts.get_last_lr(), restarts.T_cur, restarts.T_i, restarts.last_epoch])
        parts = [schedules.ConstantLR(optimizer, 0.5, 6), schedules.ExponentialLR(optimizer, 0.9)]
        if cycle:
            parts.insert(0, schedules.CyclicLR(optimizer, 0.01, 0.2, 5))
        schedule = schedules.ChainedScheduler(parts)
        for _ in range(100):
            optimizer.step()
            schedule.step()
            seen.append([*schedule.get_last_lr(), optimizer.param_groups[0]["betas"][0], 0, 0])
        rates.append(np.array(seen))
    np.testing.assert_allclose(rates[0], rates[1], rtol=1e-9)


def test_a_schedule_goes_on_where_it_was() -> None:
    rates = []
    for library in (dk, torch):
        optimizer = library.optim.SGD(Problem(library).parameters, lr=0.05)
        for group in optimizer.param_groups:
            group["initial_lr"] = 0.05
        schedule = library.optim.lr_scheduler.StepLR(optimizer, 3, last_epoch=4)
        seen = [schedule.get_last_lr()]
        for _ in range(10):
            optimizer.step()
            schedule.step()
            seen.append(schedule.get_last_lr())
        rates.append(np.array(seen))
    np.testing.assert_allclose(rates[0], rates[1], rtol=1e-12)

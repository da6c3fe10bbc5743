"""Optimisers with a step for each element: formulas written out in NumPy, PyTorch's steps and states."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

from .problems import Problem

# By name: every option, alone and with those it acts on.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "Adagrad": [{}, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}, {"initial_accumulator_value": 0.5, "eps": 1e-2}],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.5, "eps": 1e-3, "weight_decay": 0.1}, {"maximize": True, "lr": 0.1}],
    "Adamax": [{}, {"lr": 0.05, "betas": (0.5, 0.9), "weight_decay": 0.1}, {"maximize": True, "eps": 1e-3}],
    "NAdam": [
        {},
        {"lr": 0.02, "betas": (0.8, 0.95), "momentum_decay": 0.1, "weight_decay": 0.1},
        {"decoupled_weight_decay": True, "weight_decay": 0.1, "maximize": True},
    ],
    "RAdam": [
        {},
        {"lr": 0.02, "betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.1},
        {"decoupled_weight_decay": True, "weight_decay": 0.1, "maximize": True},
    ],
    "ASGD": [{}, {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 20, "weight_decay": 0.1}, {"maximize": True}],
    "Rprop": [{}, {"lr": 0.1, "etas": (0.3, 1.1), "step_sizes": (1e-3, 0.2)}, {"maximize": True, "lr": 1e-4}],
}
EVERY = [(name, options) for name, several in OPTIONS.items() for options in several]
every = pytest.mark.parametrize("name", OPTIONS)


def create(library: Any, name: str, parameters: Any, **options: Any) -> Any:
    return getattr(library.optim, name)(parameters, **options)


@pytest.fixture
def torch() -> Iterator[Any]:
    """Give PyTorch, whose counters are in double precision as well."""
    library: Any = pytest.importorskip("torch", reason="PyTorch gives the steps to compare with")
    library.set_default_dtype(library.float64)
    yield library
    library.set_default_dtype(library.float32)


@pytest.mark.parametrize(("name", "options"), EVERY, ids=str)
def test_steps_are_pytorchs(name: str, options: dict[str, Any], torch: Any) -> None:
    found = []
    for library in (dk, torch):
        problem = Problem(library)
        found.append(problem.run(create(library, name, problem.parameters, **options), steps=30))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@every
def test_single_precision_and_closures(name: str, torch: Any) -> None:
    found = []
    for library in (dk, torch):
        problem = Problem(library, "float32")
        found.append(problem.run(create(library, name, problem.parameters, lr=0.01), steps=20, closure=True))
    assert found[0][-1].dtype == np.float32
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


@every
def test_complex_parameters(name: str, torch: Any) -> None:
    found = []
    for library in (dk, torch):
        z = library.tensor(np.array([1 + 2j, -0.5 + 0.25j, 3 - 1j]), requires_grad=True)
        optimizer, seen = create(library, name, [z], lr=0.1), []
        for _ in range(30):
            optimizer.zero_grad()
            ((z - 1j) * (z - 1j).conj()).real.sum().backward()
            optimizer.step()
            seen.append(np.array(z.detach().numpy()))
        found.append(seen)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


@every
def test_states_are_pytorchs_and_either_goes_on_with_the_others(name: str, torch: Any) -> None:
    options = {**OPTIONS[name][1]}
    problems = Problem(dk), Problem(torch)
    ours, theirs = (
        create(library, name, p.parameters, **options) for library, p in zip((dk, torch), problems, strict=True)
    )
    for problem, optimizer in zip(problems, (ours, theirs), strict=True):
        problem.run(optimizer, steps=3)
    one, other = copy.deepcopy(ours.state_dict()), copy.deepcopy(theirs.state_dict())
    for number, kept in one["state"].items():
        assert list(kept) == list(other["state"][number])
        for key, value in kept.items():
            np.testing.assert_allclose(value.numpy(), other["state"][number][key].numpy(), rtol=1e-9, atol=1e-12)
    group, expected = one["param_groups"][0], other["param_groups"][0]
    assert set(expected) - set(group) <= {"foreach", "fused", "capturable", "differentiable"}
    assert all(expected[key] == value for key, value in group.items())
    ours.load_state_dict(other)
    theirs.load_state_dict(
        {
            "state": {n: {k: torch.tensor(v.numpy()) for k, v in kept.items()} for n, kept in one["state"].items()},
            "param_groups": [{**expected, **group}],
        }
    )
    for a, b in zip(problems[0].run(ours, steps=5), problems[1].run(theirs, steps=5), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def adagrad(p: Any, g: Any) -> Any:
    total = 0 * p
    for t in count(1):
        total = total + g * g
        p = p - 0.1 / (1 + (t - 1) * 0.5) * g / (np.sqrt(total) + 1e-10)
        yield p


def adadelta(p: Any, g: Any) -> Any:
    v, u = 0 * p, 0 * p
    while True:
        v = 0.9 * v + 0.1 * g * g
        d = np.sqrt(u + 1e-6) / np.sqrt(v + 1e-6) * g
        u = 0.9 * u + 0.1 * d * d
        p = p - 0.1 * d
        yield p


def adamax(p: Any, g: Any) -> Any:
    m, u = 0 * p, 0 * p
    for t in count(1):
        m, u = 0.9 * m + 0.1 * g, np.maximum(0.999 * u, np.abs(g) + 1e-8)
        p = p - 0.1 / (1 - 0.9**t) * m / u
        yield p


def nadam(p: Any, g: Any) -> Any:
    m, v, product = 0 * p, 0 * p, 1.0
    for t in count(1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        now, then = (0.9 * (1 - 0.5 * 0.96 ** (n * 4e-3)) for n in (t, t + 1))
        product *= now
        step = (1 - now) * g / (1 - product) + then * m / (1 - product * then)
        p = p - 0.1 * step / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        yield p


def radam(p: Any, g: Any) -> Any:
    m, v, most = 0 * p, 0 * p, 1999.0
    for t in count(1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        kept = 0.999**t
        length, step = most - 2 * t * kept / (1 - kept), 0.1 * m / (1 - 0.9**t)
        if length > 5:
            share = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
            step = step * np.sqrt(share * (1 - kept)) / (np.sqrt(v) + 1e-8)
        p = p - step
        yield p


def asgd(p: Any, g: Any) -> Any:
    for t in count(0):
        eta = 0.1 / (1 + 0.2 * 0.1 * t) ** 0.75
        p = p - 0.2 * eta * p - eta * g
        yield p


def rprop(p: Any, g: Any) -> Any:
    for t in count(0):
        p = p - np.sign(g) * 0.1 * 1.2**t
        yield p


REFERENCES: list[tuple[Any, dict[str, Any]]] = [
    (adagrad, {"lr_decay": 0.5}),
    (adadelta, {}),
    (adamax, {}),
    (nadam, {}),
    (radam, {}),
    (asgd, {"lambd": 0.2}),
    (rprop, {}),
]
NAMES = {name.lower(): name for name in OPTIONS}


@pytest.mark.parametrize(("reference", "options"), REFERENCES, ids=lambda x: getattr(x, "__name__", ""))
@pytest.mark.parametrize("shape", [(), (3, 2), (1, 200_000)])
def test_steps_are_the_formulas(reference: Any, options: dict[str, Any], shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    start, g = rng.standard_normal(shape), rng.standard_normal(shape)
    p = dk.tensor(start, requires_grad=True)
    optimizer = create(dk, NAMES[reference.__name__], [p], lr=0.1, **options)
    for _, expected in zip(range(8), reference(start, g), strict=False):
        p.grad = dk.tensor(g)
        optimizer.step()
        np.testing.assert_allclose(p.array, expected, rtol=1e-10, atol=1e-12)


def test_rprop_takes_no_step_where_the_sign_changes() -> None:
    x = dk.tensor([1.0, 1.0], requires_grad=True)
    optimizer = dk.optim.Rprop([x], lr=0.5)
    seen = []
    for g in ([1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0]):
        x.grad = dk.tensor(g)
        optimizer.step()
        seen.append(x.tolist())
    np.testing.assert_allclose(seen, [[0.5, 0.5], [0.5, -0.1], [0.75, -0.82]])


def test_the_average_of_asgd_begins_late() -> None:
    x = dk.tensor([4.0], requires_grad=True)
    optimizer = dk.optim.ASGD([x], lr=1.0, lambd=0.0, t0=1)
    means = []
    for _ in range(4):
        x.grad = dk.tensor([1.0])
        optimizer.step()
        means.append(optimizer.state[x]["ax"].item())
    np.testing.assert_allclose(means, [3.0, 2.0, 1.0, 0.5])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@every
def test_dtypes_stay_and_a_saved_state_goes_on(name: str, dtype: str) -> None:
    ends = []
    for interrupted in (False, True):
        p = dk.tensor([1.0, -2.0], dtype=getattr(dk, dtype), requires_grad=True)
        optimizer = create(dk, name, [p], lr=0.1)
        for step in range(6):
            p.grad = dk.tensor([0.3 - step * 0.1, 0.2], dtype=p.dtype)
            if interrupted and step == 3:
                saved = copy.deepcopy(optimizer.state_dict())
                optimizer = create(dk, name, [p])
                optimizer.load_state_dict(saved)
            optimizer.step()
        assert str(p.dtype) == dtype
        counters = optimizer._counters
        assert {str(x.dtype) for key, x in optimizer.state[p].items() if key not in counters} == {dtype}
        ends.append(p.tolist())
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("Adagrad", {"initial_accumulator_value": -1}, "Invalid initial_accumulator_value value: -1 given to Adagrad"),
        ("Adadelta", {"rho": 1.5}, "Invalid rho value: 1.5 given to Adadelta; it must be from 0 to 1"),
        ("Adamax", {"betas": (0.9, 1.0)}, "Invalid beta parameter at index 1: 1.0 given to Adamax"),
        ("NAdam", {"momentum_decay": -0.1}, "Invalid momentum_decay value: -0.1"),
        ("RAdam", {"eps": -1.0}, "Invalid epsilon value: -1.0 given to RAdam"),
        ("ASGD", {"lr": -1.0}, "Invalid learning rate: -1.0 given to ASGD"),
        ("Rprop", {"etas": (1.2, 0.5)}, "Invalid eta values: 1.2, 0.5 given to Rprop; one must be below 1, the other"),
    ],
)
def test_wrong_options_are_named(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        create(dk, name, [dk.ones(1, requires_grad=True)], **options)


def test_a_state_that_lacks_something_is_refused() -> None:
    x = dk.ones(1, requires_grad=True)
    optimizer = dk.optim.NAdam([x])
    saved = optimizer.state_dict()
    saved["state"] = {0: {"step": 1.0, "exp_avg": dk.ones(1)}}
    with pytest.raises(ValueError, match="but no 'mu_product' and no 'exp_avg_sq'"):
        optimizer.load_state_dict(saved)

"""`nn.init`: what tensors are filled with, what is repeatable, what is refused; beside PyTorch where that is."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.nn import Parameter, init

RANDOM: dict[str, Callable[..., Any]] = {
    "uniform": init.uniform_,
    "normal": init.normal_,
    "trunc_normal": init.trunc_normal_,
    "xavier_uniform": init.xavier_uniform_,
    "xavier_normal": init.xavier_normal_,
    "kaiming_uniform": init.kaiming_uniform_,
    "kaiming_normal": init.kaiming_normal_,
    "orthogonal": init.orthogonal_,
}


@pytest.mark.parametrize("fill", RANDOM.values(), ids=RANDOM.keys())
def test_random_numbers_are_repeatable_and_go_into_the_parameter(fill: Callable[..., Any]) -> None:
    dk.manual_seed(3)
    p = Parameter(dk.zeros((4, 5)))
    assert fill(p) is p
    assert p.requires_grad
    assert p.is_leaf
    assert p._version > 0
    first = p.tolist()
    assert fill(p).tolist() != first
    dk.manual_seed(3)
    assert fill(p).tolist() == first
    one, two = (fill(dk.zeros((4, 5)), generator=dk.Generator(7)) for _ in range(2))
    assert one.tolist() == two.tolist() != first
    assert fill(dk.zeros((2, 3), dtype=dk.float32)).dtype == np.float32


def test_uniform_and_normal_have_their_moments() -> None:
    g = dk.Generator(0)
    x = init.uniform_(dk.zeros(20_000), -1.0, 3.0, generator=g).array
    assert -1 <= x.min() < -0.99
    assert 2.99 < x.max() <= 3
    assert abs(x.mean() - 1) < 0.03
    y = init.normal_(dk.zeros(20_000), 2.0, 0.5, generator=g).array
    assert abs(y.mean() - 2) < 0.02
    assert abs(y.std() - 0.5) < 0.02


@given(
    low=st.floats(-3, 1),
    width=st.floats(0.1, 4),
    mean=st.floats(-1, 1),
    std=st.floats(0.5, 2),
    seed=st.integers(0, 1000),
)
def test_truncated_normal_numbers_lie_between_their_bounds(
    low: float, width: float, mean: float, std: float, seed: int
) -> None:
    high = low + width
    if not low - 2 * std <= mean <= high + 2 * std:
        return
    x = init.trunc_normal_(dk.zeros((3, 50)), mean, std, low, high, generator=dk.Generator(seed)).array
    assert x.min() >= low
    assert x.max() <= high


def test_truncated_normal_numbers_are_distributed_as_they_should() -> None:
    x = init.trunc_normal_(dk.zeros(20_000), 0.5, 2.0, -1.0, 2.0, generator=dk.Generator(1)).array
    free = np.random.default_rng(2).normal(0.5, 2.0, 200_000)
    cut = free[(free >= -1) & (free <= 2)]
    for q in (0.1, 0.25, 0.5, 0.75, 0.9):
        assert abs(np.quantile(x, q) - np.quantile(cut, q)) < 0.05


def test_a_mean_far_outside_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="mean is more than 2 std from"):
        x = init.trunc_normal_(dk.zeros(5), 100.0, 1.0, -2.0, 2.0)
    assert float(dk.max(dk.abs(x))) <= 2


def test_constants_and_the_identity() -> None:
    p = Parameter(dk.full((2, 3), 5.0))
    assert init.zeros_(p).tolist() == [[0.0] * 3] * 2
    assert init.ones_(p).tolist() == [[1.0] * 3] * 2
    assert init.constant_(p, 0.5).tolist() == [[0.5] * 3] * 2
    assert init.eye_(p).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


SHAPES = [(4, 6), (6, 4), (8, 3, 5), (4, 2, 3, 3)]


@pytest.mark.parametrize("shape", SHAPES)
def test_orthogonal(shape: tuple[int, ...]) -> None:
    w = init.orthogonal_(dk.zeros(shape), gain=3.0).array.reshape(shape[0], -1)
    gram = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(gram, 9 * np.eye(len(gram)), atol=1e-12)


def test_orthogonal_matrices_are_turned_every_way() -> None:
    g = dk.Generator(0)
    signs = [math.copysign(1, init.orthogonal_(dk.zeros((2, 2)), generator=g).array[0, 0]) for _ in range(50)]
    assert 10 < signs.count(1.0) < 40


NAMES = ["linear", "conv1d", "conv2d", "conv_transpose3d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"]


def test_gains_are_pytorchs() -> None:
    theirs = pytest.importorskip("torch").nn.init
    for name in NAMES:
        assert init.calculate_gain(name) == theirs.calculate_gain(name)
    assert init.calculate_gain("leaky_relu", 0.3) == theirs.calculate_gain("leaky_relu", 0.3)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal"])
def test_scales_are_pytorchs(name: str, shape: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    scaled: list[dict[str, Any]] = [{"gain": 2.5}, {}]
    if name.startswith("kaiming"):
        scaled = [{"a": 0.2}, {"mode": "fan_out"}, {"mode": "FAN_IN", "nonlinearity": "relu"}, {}]
    for options in scaled:
        ours = RANDOM[name](dk.zeros((50 * shape[0], *shape[1:])), generator=dk.Generator(0), **options).array
        theirs = getattr(torch.nn.init, f"{name}_")(torch.zeros((50 * shape[0], *shape[1:])), **options).numpy()
        assert abs(ours.std() / theirs.std() - 1) < 0.2
        if name.endswith("uniform"):
            assert abs(np.abs(ours).max() / np.abs(theirs).max() - 1) < 0.05


def test_scales_are_as_their_formulas_say() -> None:
    g = dk.Generator(0)
    shape = (40, 30, 3, 3)
    fan_in, fan_out = 30 * 9, 40 * 9
    bounds = {
        math.sqrt(6 / (fan_in + fan_out)): init.xavier_uniform_(dk.zeros(shape), generator=g),
        math.sqrt(2) * math.sqrt(3 / fan_in): init.kaiming_uniform_(dk.zeros(shape), generator=g),
        math.sqrt(2 / 1.04) * math.sqrt(3 / fan_out): init.kaiming_uniform_(
            dk.zeros(shape), 0.2, "fan_out", generator=g
        ),
    }
    for bound, x in bounds.items():
        assert 0.99 * bound < float(dk.max(dk.abs(x))) <= bound
    deviations = {
        math.sqrt(2 / (fan_in + fan_out)): init.xavier_normal_(dk.zeros(shape), generator=g),
        math.sqrt(2 / fan_in): init.kaiming_normal_(dk.zeros(shape), generator=g),
        5 / 3 / math.sqrt(fan_in): init.kaiming_normal_(dk.zeros(shape), nonlinearity="tanh", generator=g),
    }
    for deviation, x in deviations.items():
        assert abs(float(dk.std(x)) / deviation - 1) < 0.03


@pytest.mark.filterwarnings("ignore:.*Initializing zero-element tensors is a no-op")
def test_tensors_without_elements_stay() -> None:
    for fill in RANDOM.values():
        assert fill(dk.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("name", ["kaiming_normal_", "kaiming_uniform_"])
def test_that_there_is_nothing_to_fill_is_told(name: str) -> None:
    with pytest.warns(UserWarning, match=f"{name}: Initializing zero-element tensors is a no-op") as told:
        getattr(init, name)(dk.zeros((3, 0)))
    assert told[0].filename == __file__


@pytest.mark.parametrize(
    ("attempt", "error", "message"),
    [
        (
            lambda: init.calculate_gain("gelu"),
            ValueError,
            "calculate_gain: unsupported nonlinearity 'gelu'; known: linear",
        ),
        (lambda: init.calculate_gain("leaky_relu", True), ValueError, "negative_slope True not a valid number"),
        (
            lambda: init.xavier_uniform_(dk.zeros(3)),
            ValueError,
            "xavier_uniform_: fan in and fan out can not be computed",
        ),
        (lambda: init.kaiming_normal_(dk.zeros(3)), ValueError, "kaiming_normal_: fan in and fan out can not be"),
        (
            lambda: init.kaiming_uniform_(dk.zeros((2, 2)), mode="fan"),
            ValueError,
            "kaiming_uniform_: mode 'fan' is not",
        ),
        (lambda: init.orthogonal_(dk.zeros(3)), ValueError, "orthogonal_: only tensors with 2 or more dimensions are"),
        (
            lambda: init.eye_(dk.zeros((1, 2, 3))),
            ValueError,
            "eye_: only tensors with 2 dimensions are supported, found",
        ),
        (lambda: init.trunc_normal_(dk.zeros(2), std=0.0), ValueError, "trunc_normal_: std is positive and a below b"),
        (lambda: init.normal_(dk.zeros(2), std=-1.0), ValueError, "std must not be negative, found -1"),
        (lambda: init.ones_([1.0]), TypeError, "ones_: expected a tensor, found a list; fill the tensors inside it"),
    ],
)
def test_what_does_not_fit_is_refused(attempt: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        attempt()


def test_data_can_be_filled_too() -> None:
    p = Parameter(dk.zeros((20, 20)))
    p.data.uniform_(-0.1, 0.1)
    assert 0 < float(dk.max(dk.abs(p))) <= 0.1

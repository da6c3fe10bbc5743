"""Functions that move elements keep units and gaps, and take the array inside at once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import dispatchkit as dk
from dispatchkit.types import MaskedTensor, QuantityTensor, UncertainTensor
from dispatchkit.types.uncertain import covariance
from tests.protocol.support import steps_of

VALUES = np.arange(12.0).reshape(3, 4)
VALID = VALUES > 2.0
MOVES: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda x: dk.reshape(x, (4, 3)),
    "reshape by name": lambda x: dk.reshape(x, shape=(2, -1)),
    "T": lambda x: x.T,
    "flip": lambda x: dk.flip(x, axis=0),
    "roll": lambda x: dk.roll(x, 1, axis=1),
    "expand_dims": lambda x: dk.expand_dims(x, axis=0),
    "moveaxis": lambda x: dk.moveaxis(x, 0, 1),
    "broadcast_to": lambda x: dk.broadcast_to(x, (2, 3, 4)),
    "ravel": dk.ravel,
    "flatten": dk.flatten,
    "unsqueeze": lambda x: dk.unsqueeze(x, 1),
    "expand": lambda x: dk.expand(x, (2, 3, 4)),
}


@pytest.mark.parametrize("name", MOVES)
def test_elements_and_what_belongs_to_them_go_the_same_way(name: str) -> None:
    move = MOVES[name]
    masked, quantity = move(MaskedTensor(VALUES, VALID)), move(QuantityTensor(VALUES, "m"))
    npt.assert_array_equal(masked.data.numpy(), move(dk.asarray(VALUES)).numpy())
    npt.assert_array_equal(masked.valid.numpy(), move(dk.asarray(VALID)).numpy())
    npt.assert_array_equal(quantity.data.numpy(), move(dk.asarray(VALUES)).numpy())
    assert str(quantity.unit) == "m"


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("sources", ["of its own", "two of its own", "common"])
def test_uncertain_elements_stay_correlated_with_what_they_were(name: str, sources: str) -> None:
    x = UncertainTensor(VALUES, 0.1 * VALUES)
    if sources == "common":
        x = dk.cumulative_sum(x, axis=1)
    elif sources != "of its own":
        x = x + UncertainTensor(VALUES, 0.2)
    moved, places = MOVES[name](x), MOVES[name](dk.asarray(np.arange(12).reshape(3, 4))).numpy().ravel()
    npt.assert_array_equal(moved.value.numpy(), MOVES[name](x.value).numpy())
    npt.assert_allclose(covariance(moved).numpy(), covariance(x).numpy()[np.ix_(places, places)])
    npt.assert_allclose((moved - MOVES[name](x)).std.numpy(), 0.0)


def test_points_on_a_scale_move_too() -> None:
    assert str(dk.flip(QuantityTensor([1.0, 2.0], "degC")).unit) == str(QuantityTensor([1.0], "degC").unit)


@pytest.mark.parametrize("name", MOVES)
def test_gradients_flow_by_the_standard_deviations_of_what_moves(name: str) -> None:
    std: Any = dk.tensor(0.1 + VALUES, requires_grad=True)
    MOVES[name](UncertainTensor(VALUES, std)).std.sum().backward()
    times = 2.0 if name in ("broadcast_to", "expand") else 1.0
    npt.assert_allclose(std.grad.numpy(), np.full((3, 4), times))


def test_a_moved_standard_deviation_is_a_view_and_one_chosen_by_an_array_is_not() -> None:
    x = UncertainTensor(VALUES, 0.1 + VALUES)
    moved, chosen = x.reshape(4, 3), x[np.asarray([0, 2])]
    assert np.shares_memory(moved.factor.numpy(), x.factor.numpy())
    assert not np.shares_memory(chosen.factor.numpy(), x.factor.numpy())
    seen = moved.factor._version
    x.factor[0, 0, 0] = 9.0
    assert moved.factor._version == seen + 1
    assert (moved.std[0, 0].item(), chosen.std[0, 0].item()) == (9.0, 0.1)


@pytest.mark.parametrize(
    ("x", "most"),
    [(MaskedTensor(VALUES, VALID), 105), (QuantityTensor(VALUES, "m"), 72), (UncertainTensor(VALUES, 0.1), 150)],
)
def test_a_change_of_shape_takes_few_steps(x: Any, most: int) -> None:
    x.reshape(4, 3)
    assert steps_of(lambda: x.reshape(4, 3)) < most


@pytest.mark.parametrize(
    "x", [MaskedTensor(VALUES, VALID), QuantityTensor(VALUES, "m")], ids=lambda x: type(x).__name__
)
def test_what_does_not_fit_raises_as_for_plain_arrays(x: Any) -> None:
    with pytest.raises(ValueError, match="reshape"):
        dk.reshape(x, (5, 5))

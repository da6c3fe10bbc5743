"""Programs over four times as many things run at most four times as many steps, and what every program runs once."""

import pytest

from tests.programs.growth.numbers_of_things import SERIES
from tests.protocol.support import steps_of

FEW = 10
FACTOR = 4


@pytest.mark.parametrize("name", SERIES)
def test_steps_grow_in_proportion_to_the_number_of_things(name: str) -> None:
    make, _ = SERIES[name]
    few, many = make(FEW), make(FACTOR * FEW)
    few(), many()  # what is decided at first calls
    assert steps_of(many) <= 1.1 * FACTOR * steps_of(few)

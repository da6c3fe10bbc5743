"""Programs over four times as many things run at most four times as many steps, and what every program runs once."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.types import DiagonalTensor, UncertainTensor
from tests.programs.growth.clock import least_seconds, slope
from tests.programs.growth.numbers_of_things import SERIES
from tests.programs.growth.sizes import TIME, Study, Subject
from tests.protocol.support import steps_of

FEW = 10
FACTOR = 4


@pytest.mark.parametrize("name", SERIES)
def test_steps_grow_in_proportion_to_the_number_of_things(name: str) -> None:
    make, _ = SERIES[name]
    few, many = make(FEW), make(FACTOR * FEW)
    few(), many()  # what is decided at first calls
    assert steps_of(many) <= 1.1 * FACTOR * steps_of(few)


def test_sizes_end_where_a_call_would_take_too_long() -> None:
    tried = []

    def make(n: int) -> Callable[[], object]:
        tried.append(n)
        return partial(sum, range(n))

    assert slope(make, (10, 10**8, 10**9), lambda smaller, larger: 9.0, longest=0.01) is None
    assert tried == [10]


def test_numbers_that_only_move_take_steps_that_do_not_grow() -> None:
    few, many = (UncertainTensor(np.linspace(1.0, 2.0, n), 0.1) for n in (10, 400))
    for function in (dk.clone, dk.ravel, dk.sort, dk.nonzero):
        function(few), function(many)
        assert steps_of(partial(function, many)) <= 1.1 * steps_of(partial(function, few))


def test_calls_for_which_the_time_was_over_wait_and_are_measured_later() -> None:
    study = Study(Subject(lambda n: DiagonalTensor(np.ones(n)), sizes=(10, 100)))
    study.calls = {name: study.calls[name] for name in ("sqrt", "trace")}
    study.measure(0.0)
    assert (study.found, study.left) == ({}, {"sqrt": TIME, "trace": TIME})
    study.measure()
    assert (list(study.found), study.left, study.waiting) == (["sqrt", "trace"], {}, [])


def test_calls_whose_larger_sizes_have_no_answer_are_left_out_with_the_reason() -> None:
    def refuse(x: DiagonalTensor) -> None:
        if x.shape[0] > 10:
            raise ValueError

    study = Study(Subject(lambda n: DiagonalTensor(np.ones(n)), sizes=(10, 100)))
    study.calls = {"refuse": refuse}
    study.measure()
    assert (study.found, study.left) == ({}, {"refuse": "larger ones are answered in another way"})


def test_a_call_shorter_than_a_step_of_the_clock_takes_some_time() -> None:
    assert least_seconds(lambda: None) > 0

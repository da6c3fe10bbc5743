"""Wrong results are shown side by side with what they should be: the elements that differ, and the fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.testing import ConformanceError, WrongCallError, check_type
from dispatchkit.testing.comparing.beside import Beside


@dk.array_type(fallback=dk.fallback.dense)
@dataclass
class Marked:
    """A vector with a mark."""

    values: dk.Tensor
    mark: str = "<b>"

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape)

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    def to_dense(self) -> Any:
        return dk.clone(self.values)


@pytest.fixture(autouse=True)
def rule() -> None:
    @dk.implements(dk.negative)
    def negative(x: Marked, /) -> Marked:
        values = -x.values.detach()
        values[1] = 7.5
        return Marked(values, x.mark)


def wrong() -> WrongCallError:
    with pytest.raises(WrongCallError) as raised, dk.checked():
        dk.negative(Marked(dk.asarray([1.0, 2.0, 3.0])))
    return raised.value


def test_text_names_the_places_that_differ_and_the_fields() -> None:
    lines = str(wrong()).splitlines()
    at = lines.index("    differs:  1 of 3 elements differs")
    assert lines[at + 1] == "              at [1]  7.5 instead of -2.0"
    assert "    field:    mark = '<b>'" in lines


def test_html_has_the_places_and_the_fields_escaped() -> None:
    page = wrong()._repr_html_()
    assert "<tr><td>[1]</td><td>7.5</td><td>-2.0</td></tr>" in page
    assert "<tr><td>mark</td><td>&#x27;&lt;b&gt;&#x27;</td></tr>" in page
    assert "<b>'" not in page


def test_check_type_shows_them_too() -> None:
    with pytest.raises(ConformanceError) as raised:
        check_type(Marked, [Marked(dk.asarray([1.0, 2.0, 3.0]))], operations=[dk.negative], checks=["value"])
    assert "1 of 3 elements differs" in str(raised.value)
    assert "at [1]  7.5 instead of -2.0" in str(raised.value)
    assert "<td>[1]</td><td>7.5</td><td>-2.0</td>" in raised.value._repr_html_()


def test_a_traceback_ends_at_the_line_of_the_program() -> None:
    trace = wrong().__traceback__
    files = []
    while trace is not None:
        files.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    assert set(files) == {__file__}


def test_elements_that_differ_by_rounding_alone_are_left_out() -> None:
    found = np.asarray([1.0, 2.0 + 1e-13, np.nan, 4.0])
    assert Beside(found, np.asarray([1.0, 2.0, np.nan, 5.0])).differing() == [(3,)]


def test_many_differences_are_counted_after_the_first() -> None:
    lines = Beside(np.ones((5, 5)), np.zeros((5, 5))).lines()
    assert lines[0] == "25 of 25 elements differ"
    assert lines[1] == "at [0, 0]  1.0 instead of 0.0"
    assert lines[-1] == "and 19 more"


def test_arrays_of_other_shapes_have_no_elements_side_by_side() -> None:
    assert Beside(np.ones(2), np.ones(3)).lines() == []


def is_turned(x: Any, y: Any) -> Any:
    return dk.all(dk.abs(dk.sin(x.to_dense() - y)) < 1e-6)


@dk.array_type(tests=dk.TypeTests(relation=is_turned), fallback=dk.fallback.dense)
class Turned:
    """Angles modulo pi, whose elements are some of theirs."""

    off = 0.0

    def __init__(self, angles: Any) -> None:
        self.angles = dk.asarray(angles) % np.pi

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.angles.shape)

    @property
    def dtype(self) -> Any:
        return self.angles.dtype

    def to_dense(self) -> Any:
        return dk.clone(self.angles)

    def __iter__(self) -> Any:
        return iter([float(each) - np.pi + self.off for each in self.angles])

    def tolist(self) -> list[float]:
        return [float(each) + np.pi + self.off for each in self.angles]


def test_attributes_that_give_elements_go_by_the_relation_of_the_type() -> None:
    def failures() -> list[str]:
        try:
            check_type(Turned, [Turned([0.5, 1.0])], operations=[], checks=["attributes"])
        except ConformanceError as error:
            return [failure.call.partition(" of ")[0] for failure in error.conformance.failures]
        return []

    assert failures() == []
    Turned.off = 0.1
    try:
        assert failures() == ["iter", "tolist"]
    finally:
        Turned.off = 0.0

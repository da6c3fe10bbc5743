"""The table of what answers NumPy's functions is complete, and its page is as the table."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.tensor import numpy_calls as numpy_table
from dispatchkit.tensor.numpy_calls import answer_of
from dispatchkit.tensor.numpy_shapes import compositions, universal
from tests.interop.numpy_page import FUNCTIONS, PAGE, UFUNCS, make_page

np_: Any = np


def test_every_function_of_this_numpy_stands_in_the_table() -> None:
    assert len(FUNCTIONS) > 300
    assert [name for name, function in (*FUNCTIONS.items(), *UFUNCS.items()) if answer_of(function) is None] == []


def test_each_function_stands_in_one_place_and_is_numpys() -> None:
    named = [*numpy_table.ATTRIBUTES, *numpy_table.MADE, *compositions]
    with files("dispatchkit.tensor").joinpath("numpy_functions.csv").open(encoding="utf-8") as lines:
        named += [name for row in csv.DictReader(lines) if row["of"] == "function" for name in row["names"].split()]
    assert len(set(named)) == len(named)
    assert compositions.keys() >= numpy_table.WRITERS
    if np.lib.NumpyVersion(np.__version__) >= "2.4.0":
        modules = {name.rpartition(".")[0] for name in FUNCTIONS}
        assert set(named) - FUNCTIONS.keys() - modules == {"in1d"}  # of NumPy before
        assert universal.keys() <= UFUNCS.keys()


def test_the_page_is_as_the_table() -> None:
    if not np.__version__.startswith("2.4."):
        pytest.skip("the page is of the functions of NumPy 2.4")
    assert PAGE.read_text(encoding="utf-8") == make_page(), "python -m tests.interop.numpy_page writes it anew"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: np_.busday_count(x, x), r"numpy\.busday_count .*: it works on dates, and tensors hold numbers"),
        (lambda x: np_.lib.recfunctions.drop_fields(x, "a"), r"recfunctions\.drop_fields .*structured"),
        (lambda x: np_.isnat(x), r"numpy\.isnat .*dates"),
        (lambda x: np_.strings.str_len(x), r"numpy\.str_len .*text"),
    ],
)
def test_what_is_declined_says_why(call: Any, text: str) -> None:
    import numpy.lib.recfunctions  # noqa: F401

    x = dk.ones((2, 2))
    with pytest.raises(TypeError, match=text):
        call(x)
    assert x.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_an_array_of_numpy_is_written_into() -> None:
    a = np.zeros((2, 2))
    np_.copyto(a, dk.ones((2, 2)))
    np_.putmask(a, dk.asarray([[True, False], [False, False]]), 5.0)
    assert a.tolist() == [[5.0, 1.0], [1.0, 1.0]]


def test_what_numpy_reads_becomes_a_tensor_like_another() -> None:
    x = dk.ones(2)
    made = np_.fromiter([1.0, 2.0], float, like=x)
    assert isinstance(made, dk.Tensor)
    assert np_.fromfunction(lambda i: i + 1, (3,), like=x).tolist() == [1.0, 2.0, 3.0]
    assert np_.frombuffer(b"\x01\x02", np.uint8, like=x).tolist() == [1, 2]

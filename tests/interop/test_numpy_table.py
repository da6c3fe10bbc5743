"""The table of what answers NumPy's functions is complete, and its page is as the table."""

from __future__ import annotations

import csv
import re
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.tensor import numpy_calls as numpy_table
from dispatchkit.tensor.numpy_calls import CREATED, answer_of
from dispatchkit.tensor.numpy_shapes import COMPOSED_BY_NUMPY, compositions, universal
from dispatchkit.types import MaskedTensor, NamedTensor, QuantityTensor
from tests.interop.numpy_page import FUNCTIONS, UFUNCS

np_: Any = np


def test_every_function_of_this_numpy_stands_in_the_table() -> None:
    assert len(FUNCTIONS) > 300
    assert [name for name, function in (*FUNCTIONS.items(), *UFUNCS.items()) if answer_of(function) is None] == []


def test_each_function_stands_in_one_place_and_is_numpys() -> None:
    named = [*numpy_table.ATTRIBUTES, *numpy_table.MADE, *compositions, *COMPOSED_BY_NUMPY.split()]
    with files("dispatchkit.tensor").joinpath("numpy_functions.csv").open(encoding="utf-8") as lines:
        named += [name for row in csv.DictReader(lines) if row["of"] == "function" for name in row["names"].split()]
    assert len(set(named)) == len(named)
    assert compositions.keys() >= numpy_table.WRITERS
    if np.lib.NumpyVersion(np.__version__) >= "2.4.0":
        modules = {name.rpartition(".")[0] for name in FUNCTIONS}
        assert set(named) - FUNCTIONS.keys() - modules == {"in1d"}  # of NumPy before
        assert universal.keys() <= UFUNCS.keys()


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


def test_every_function_of_numpy_with_like_is_known_to_create_arrays() -> None:
    text = re.compile(r"^ *like : array_like", re.MULTILINE)
    functions = {name for name in dir(np) if callable(getattr(np, name))}
    assert {name for name in functions if text.search(getattr(np, name).__doc__ or "")} == CREATED


CREATING: list[tuple[str, tuple[Any, ...]]] = [
    ("arange", (2.0,)),
    ("array", ([0.0, 1.0],)),
    ("asarray", ([0.0, 1.0],)),
    ("frombuffer", (b"\x00\x01", np.uint8)),
    ("zeros", (2,)),
    ("ones", (2,)),
    ("full", (2, 3.0)),
]


@pytest.mark.parametrize(("name", "args"), CREATING)
def test_what_is_created_like_a_type_is_of_the_type(name: str, args: tuple[Any, ...]) -> None:
    create, right = getattr(np_, name), getattr(np, name)(*args).tolist()
    # NumPy uses `like` after its last reference is gone, where nothing else holds it.
    q, m = QuantityTensor([1.0, 2.0], "m"), MaskedTensor([1.0, 2.0], [True, False])
    n, like = NamedTensor(QuantityTensor([1.0, 2.0], "s"), ("x",)), Length([1.0])
    like.unit = "m"
    quantity = create(*args, like=q)
    assert isinstance(quantity, QuantityTensor)
    assert (str(quantity.unit), quantity.magnitude.tolist()) == ("m", right)
    masked = create(*args, like=m)
    assert isinstance(masked, MaskedTensor)
    assert (masked.data.tolist(), masked.valid.tolist()) == (right, [True, True])
    named = create(*args, like=n)
    assert isinstance(named, NamedTensor)
    assert (named.names, str(named.data.unit)) == (("x",), "s")
    subclass = create(*args, like=like)
    assert type(subclass) is Length
    assert (subclass.unit, subclass.tolist()) == ("m", right)


class Length(dk.Tensor):
    unit: str


def test_identities_and_layouts_like_a_quantity_are_quantities() -> None:
    q = QuantityTensor([1.0], "m")
    for square in (np_.eye(2, like=q), np_.identity(2, like=q), np_.array(np.eye(2), order="F", like=q)):
        assert isinstance(square, QuantityTensor)
        assert square.magnitude.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert np_.zeros(2, dtype=np.float32, like=q).dtype == np.float32
    assert str(np_.array([q, q * 2], like=QuantityTensor([1.0], "s")).unit) == "m"


def test_a_type_that_is_made_of_no_plain_array_refuses_like() -> None:
    text = (
        r"^numpy\.zeros: ScalarTensor, the type of like, does not say how it is made of a plain array; declare "
        r"array_type\(from_dense=\.\.\.\), or leave like out$"
    )
    with pytest.raises(TypeError, match=text):
        np_.zeros((2, 2), like=dk.types.ScalarTensor(2, 1.0))


def test_like_of_another_structure_is_refused() -> None:
    sparse = dk.types.SparseTensor.from_dense(dk.eye(2))
    assert np_.eye(2, like=sparse).to_dense().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(TypeError, match=r"^numpy\.tri: a SparseTensor of the structure of like does not hold all elem"):
        np_.tri(2, like=sparse)
    named = NamedTensor([1.0, 2.0], ("x",))
    text = r"^numpy\.eye: an array of shape \(2, 2\) does not become a NamedTensor like the one that is given: "
    with pytest.raises(TypeError, match=text):
        np_.eye(2, like=named)

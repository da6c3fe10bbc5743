"""What manipulation, joining, searching and indexing refuse beyond single parameters: shapes, axes and indices."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign
from tests.bad_input.support import Refusal, refuses

X = dk.ones((2, 3))
V = dk.ones(3)
E = dk.zeros((0, 3))
OTHERS = (np.asarray(["a"]), np.asarray([None]), np.asarray(["2020"], dtype="M8[D]"))

SHAPES: dict[str, Refusal] = {
    "concat": (lambda: dk.concat([X, V]), ValueError, "concat", ("arrays = [float64 array of shape (2, 3), ",)),
    "concat of nothing": (lambda: dk.concat([]), ValueError, "concat", ("called with arrays = []",)),
    "concat of numbers": (lambda: dk.concat([1, 2]), ValueError, "concat", ("arrays = [1, 2]",)),
    "stack": (lambda: dk.stack([X, V]), ValueError, "stack", ("of shape (3,)]", "must have the same shape")),
    "stack of nothing": (lambda: dk.stack([]), ValueError, "stack", ("arrays = []",)),
    "broadcast_to": (lambda: dk.broadcast_to(X, (2, 2)), ValueError, "broadcast_to", ("shape = (2, 2)",)),
    "broadcast_arrays": (lambda: dk.broadcast_arrays(X, dk.ones(2)), ValueError, "broadcast_arrays", ("(2, 3), (2,)",)),
    "expand": (lambda: dk.expand(X, (2, 2)), ValueError, "expand", ("x = float64 array of shape (2, 3)", "(2, 2)")),
    "reshape": (lambda: dk.reshape(X, (4,)), ValueError, "reshape", ("size 6 into shape (4,)", "shape = (4,)")),
    "view of what needs a copy": (lambda: X.T.view(6), ValueError, "view", ("shape = (6,)",)),
    "reshape twice -1": (lambda: dk.reshape(X, (-1, -1)), ValueError, "reshape", ("shape = (-1, -1)",)),
    "squeeze": (lambda: dk.squeeze(X, axis=0), ValueError, "squeeze", ("axis = 0",)),
    "permute_dims": (lambda: dk.permute_dims(X, (0,)), ValueError, "permute_dims", ("axes = (0,)",)),
    "permute_dims twice": (lambda: dk.permute_dims(X, (0, 0)), ValueError, "permute_dims", ("axes = (0, 0)",)),
    "moveaxis": (lambda: dk.moveaxis(X, (0, 1), 0), ValueError, "moveaxis", ("source",)),
    "flip twice": (lambda: dk.flip(X, axis=(0, 0)), ValueError, "flip", ("axis",)),
    "unstack of 0-D": (lambda: dk.unstack(dk.tensor(1.0)), ValueError, "unstack", ("axis",)),
    "tril of a vector": (lambda: dk.tril(V), ValueError, "tril", ("found shape (3,)",)),
    "repeat": (lambda: dk.repeat(X, dk.tensor([1, 2]), axis=1), ValueError, "repeat", ("repeats = int64 array of",)),
    "tile": (lambda: dk.tile(X, (2, -1)), ValueError, "tile", ("repetitions = (2, -1)",)),
    "sum twice": (lambda: dk.sum(X, axis=(0, 0)), ValueError, "sum", ("axis = (0, 0)",)),
    "max of nothing": (lambda: dk.max(E), ValueError, "max", ("x = float64 array of shape (0, 3)",)),
    "min along nothing": (lambda: dk.min(E, axis=0), ValueError, "min", ("axis = 0",)),
    "argmax of nothing": (lambda: dk.argmax(E), ValueError, "argmax", ("x = float64 array of shape (0, 3)",)),
    "cumulative_sum": (lambda: dk.cumulative_sum(X), ValueError, "cumulative_sum", ("axis",)),
    "cumulative_prod of 0-D": (lambda: dk.cumulative_prod(dk.tensor(1.0)), ValueError, "cumulative_prod", ("axis",)),
    "diff": (lambda: dk.diff(X, -1), ValueError, "diff", ("n = -1",)),
    "diff prepend": (lambda: dk.diff(X, prepend=V), ValueError, "diff", ("prepend = float64 array of shape (3,)",)),
    "nonzero of 0-D": (lambda: dk.nonzero(dk.tensor(1.0)), ValueError, "nonzero", ("at least one axis",)),
    "where": (lambda: dk.where(X > 0, V, dk.ones(2)), ValueError, "where", ("condition = bool array", "x2 = float64")),
    "clip": (
        lambda: dk.clip(X, dk.ones(2), 1.0),
        ValueError,
        "clip",
        ("min = float64 array of shape (2,)", "max = 1.0"),
    ),
    "searchsorted in a matrix": (lambda: dk.searchsorted(X, V), ValueError, "searchsorted", ("x1 = float64 array of",)),
    "integer to a negative power": (
        lambda: dk.tensor([2]) ** dk.tensor([-1]),
        ValueError,
        "pow",
        ("x2 = int64 array of shape (1,)",),
    ),
    "a number out of range": (
        lambda: dk.asarray([1], dtype=dk.uint8) + 300,
        OverflowError,
        "add",
        ("x1 = uint8 array", "x2 = 300"),
    ),
    "index out of range": (lambda: X[5], IndexError, "getitem", ("x = float64 array of shape (2, 3)", "key = 5")),
    "too many indices": (lambda: X[0, 0, 0], IndexError, "getitem", ("too many indices", "key = (0, 0, 0)")),
    "index by a float": (lambda: X[1.5], IndexError, "getitem", ("key = 1.5",)),
    "index by a string": (lambda: X["a"], IndexError, "getitem", ("key = 'a'",)),
    "index by a float tensor": (lambda: X[dk.tensor([1.0])], IndexError, "getitem", ("key = float64 array of",)),
    "mask of another shape": (lambda: X[V > 0], IndexError, "getitem", ("key = bool array of shape (3,)",)),
    "index by far integers": (lambda: X[dk.tensor([0, 7])], IndexError, "getitem", ("key = int64 array",)),
    "assignment": (lambda: X.__setitem__(5, 1.0), IndexError, "setitem", ("key = 5", "value = 1.0")),
    "assignment of a shape": (lambda: X.__setitem__(0, dk.ones(2)), ValueError, "setitem", ("(2,)", "(3,)")),
    "assignment of a string": (lambda: X.__setitem__(0, "a"), TypeError, "setitem", ("'value' is a str",)),
    "assignment of nothing": (lambda: X.__setitem__(0, None), TypeError, "setitem", ("'value' is None",)),
    "index_put": (lambda: dk.index_put(X, 5, 1.0), IndexError, "index_put", ("key = 5",)),
    "index_put of a shape": (lambda: dk.index_put(X, 0, dk.ones(2)), ValueError, "index_put", ("value = float64",)),
    "take": (lambda: dk.take(V, dk.tensor([7])), IndexError, "take", ("indices = int64 array of shape (1,)",)),
    "take by floats": (lambda: dk.take(V, dk.tensor([0.5])), TypeError, "take", ("indices = float64 array",)),
    "take_along_axis": (
        lambda: dk.take_along_axis(X, dk.tensor([0])),
        ValueError,
        "take_along_axis",
        ("indices = int64 array",),
    ),
}


@pytest.mark.parametrize("case", SHAPES)
def test_refused(case: str) -> None:
    call, error, name, texts = SHAPES[case]
    refuses(call, error, name, *texts)


def test_a_refused_assignment_changes_nothing() -> None:
    x = dk.zeros((2, 3))
    for key, value in [(5, 1.0), (0, dk.ones(2)), (slice(None), "a")]:
        with pytest.raises((IndexError, ValueError, TypeError)):
            x[key] = value
    assert x.tolist() == dk.zeros((2, 3)).tolist()


IN_PLACE: dict[str, Refusal] = {
    "shape": (lambda: dk.ones(3).add_(dk.ones(2)), ValueError, "add_", ("(2,)", "(3,)")),
    "growing": (lambda: dk.ones(3).add_(X), ValueError, "add_", ("(2, 3)", "(3,)")),
    "dtype": (lambda: dk.ones(3, dtype=dk.int64).add_(0.5), TypeError, "add_", ("with float", "int64")),
    "string": (lambda: dk.ones(3).add_("a"), TypeError, "add", ("'x2' is a str",)),
}


@pytest.mark.parametrize("case", IN_PLACE)
def test_refused_in_place(case: str) -> None:
    call, error, name, texts = IN_PLACE[case]
    refuses(call, error, name, *texts)


@pytest.mark.parametrize("make", [dk.asarray, dk.tensor, dk.Tensor])
def test_what_no_tensor_is_made_of(make: Any) -> None:
    name, parameter = make.__name__, {"asarray": "obj"}.get(make.__name__, "data")
    ragged = refuses(lambda: make([[1], [1, 2]]), ValueError, name, f"{parameter} = [[1], [1, 2]]", "same length")
    assert ragged.__cause__ is not None
    refuses(lambda: make([1.0], dtype="no such dtype"), TypeError, name, "'no such dtype' is no dtype; one is")
    refuses(lambda: make([1.0], dtype=object), TypeError, name, "dtype must be of numbers", "found object")
    refuses(lambda: make([1.0], device="cuda"), ValueError, name, "device = 'cuda'", '"cpu"')
    refuses(lambda: make([1.0, None]), TypeError, name, f"'{parameter}' is a list of object")
    refuses(lambda: make(["a"]), TypeError, name, f"'{parameter}' is a list of <U1")


@pytest.fixture(params=[False, True], ids=["NumPy alone", "with another library"])
def libraries(request: pytest.FixtureRequest) -> Iterator[None]:
    known = foreign.copy()
    foreign[:] = [type("Other", (), {})] if request.param else []
    yield
    foreign[:] = known


@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize("x", OTHERS, ids=lambda x: x.dtype.name)
def test_arrays_of_other_than_numbers(x: Any) -> None:
    refuses(partial(dk.from_dlpack, x), BufferError, "from_dlpack", "DLPack only supports")
    refuses(partial(dk.asarray, x), TypeError, "asarray", f"is a ndarray of {x.dtype}, not an array of any library")
    refuses(partial(dk.add, x, X), TypeError, "add", f"argument 'x1' is a NumPy array of dtype {x.dtype}")


@pytest.mark.usefixtures("libraries")
def test_a_dtype_that_is_given_makes_numbers_of_objects() -> None:
    np.testing.assert_array_equal(dk.asarray(np.asarray([1, 2.5], dtype=object), dtype=dk.float64).numpy(), [1.0, 2.5])


def test_what_has_no_dlpack() -> None:
    refuses(lambda: dk.from_dlpack([1.0]), AttributeError, "from_dlpack", "x must have __dlpack__, found a list")
    refuses(lambda: dk.ones(2).to("cuda"), ValueError, "to_device", "'cuda'", "'cpu'")

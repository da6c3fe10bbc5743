"""`map_arguments` changes the arrays of a call, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

X = dk.asarray([[1.0, 2.0], [3.0, 4.0]])
ROWS = np.array([0, 1])
# Calls, and the arrays that `change` is given with the parameter of each.
CALLS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any], list[tuple[str, Any]]]] = {
    "an int": (dk.getitem, (X, -1), {}, [("x", X)]),
    "ints": (dk.getitem, (X, (0, -1)), {}, [("x", X)]),
    "NumPy's int": (dk.getitem, (X, (np.int64(0), np.array(1))), {}, [("x", X)]),
    "slices": (dk.getitem, (X, (slice(1), None, ...)), {}, [("x", X)]),
    "an array among slices": (dk.getitem, (X, (ROWS, slice(None))), {}, [("x", X), ("key", ROWS)]),
    "a tensor": (dk.getitem, (X, X > 2), {}, [("x", X), ("key", None)]),
    "a number that is an operand": (dk.add, (X, 2), {}, [("x1", X), ("x2", 2)]),
    "members of a list": (dk.concat, ([X, ROWS],), {"axis": 0}, [("arrays", X), ("arrays", ROWS)]),
}


@pytest.mark.parametrize("name", CALLS)
def test_change_is_given_each_array_with_its_parameter(name: str) -> None:
    op, args, kwargs, expected = CALLS[name]
    found: list[tuple[str, Any]] = []

    def noted(parameter: str, value: Any) -> Any:
        found.append((parameter, value))
        return value

    made_args, made_kwargs = dk.tensor_protocol.map_arguments(op, args, kwargs, noted)
    assert [parameter for parameter, _ in found] == [parameter for parameter, _ in expected]
    assert all(one is other or other is None for (_, one), (_, other) in zip(found, expected, strict=True))
    assert (len(made_args), made_kwargs) == (len(args), kwargs)


def test_an_int_in_an_index_stays_an_int() -> None:
    (x, key), _ = dk.tensor_protocol.map_arguments(dk.getitem, (X, (0, ROWS)), {}, lambda name, value: name)
    assert (x, key) == ("x", (0, "key"))

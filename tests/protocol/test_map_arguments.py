"""`map_arguments` changes the arrays of a call, and `map_results` those of its result, and nothing else."""

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


@dk.array_type()
class Parts:
    """Two arrays that every function of a kind is to be applied to."""

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second


def move_parts(op: Any, *args: Any, **kwargs: Any) -> Any:
    def first(name: str, value: Any) -> Any:
        return value.first if isinstance(value, Parts) else value

    def second(name: str, value: Any) -> Any:
        return value.second if isinstance(value, Parts) else value

    map_arguments = dk.tensor_protocol.map_arguments
    results = []
    for part in (first, second):
        part_args, part_kwargs = map_arguments(op, args, kwargs, part)
        results.append(op(*part_args, **part_kwargs))
    return dk.tensor_protocol.map_results(results[0], Parts, results[1])


@pytest.mark.parametrize(
    ("call", "several", "first", "second"),
    [
        (lambda x: dk.flip(x), False, [2.0, 1.0], [20.0, 10.0]),
        (lambda x: dk.reshape(x, (2, 1)), False, [[1.0], [2.0]], [[10.0], [20.0]]),
        (lambda x: dk.split(x, 2)[1], False, [2.0], [20.0]),
        (lambda x: dk.unstack(x), True, [1.0, 2.0], [10.0, 20.0]),
        (lambda x: dk.chunk(x, 2), True, [[1.0], [2.0]], [[10.0], [20.0]]),
        (lambda x: dk.meshgrid(x, x)[0], False, [[1.0, 2.0]] * 2, [[10.0, 20.0]] * 2),
        (lambda x: dk.take(x, dk.asarray([1])), False, [2.0], [20.0]),
    ],
)
def test_one_rule_moves_the_parts_of_a_type_whatever_a_function_gives(
    call: Any, several: bool, first: Any, second: Any
) -> None:
    with dk.local_registrations():
        dk.implements(dk.kinds.manipulation, Parts)(move_parts)
        dk.implements(dk.kinds.indexing, Parts)(move_parts)
        results = call(Parts(dk.asarray([1.0, 2.0]), dk.asarray([10.0, 20.0])))
        assert (type(results) is not Parts) is several
        listed = list(results) if several else [results]
        found = [[part.first.tolist() for part in listed], [part.second.tolist() for part in listed]]
        assert found == ([first, second] if several else [[first], [second]])


def test_results_keep_their_form_and_what_is_no_array() -> None:
    result = dk.tensor_protocol.map_results((X, [X, "text"], 3, None), lambda x: x.shape)
    assert result == ((2, 2), [(2, 2), "text"], 3, None)
    pair = dk.linalg.slogdet(X)
    assert type(dk.tensor_protocol.map_results(pair, dk.negative)) is type(pair)


def test_results_of_another_number_of_arrays_are_refused() -> None:
    with pytest.raises(ValueError, match="map_results: the results hold 2 and 1 arrays, not as many each"):
        dk.tensor_protocol.map_results((X, X), dk.add, X)


def test_assignment_has_a_kind_of_its_own() -> None:
    assert set(dk.kinds.assignment) == {dk.setitem, dk.index_put, dk.scatter_add, dk.masked_fill}
    assert set(dk.kinds.assignment).isdisjoint(dk.kinds.indexing)
    with dk.local_registrations():
        dk.implements(dk.kinds.indexing, Parts)(move_parts)
        x = Parts(dk.asarray([1.0, 2.0]), dk.asarray([10.0, 20.0]))
        with pytest.raises(dk.NoImplementationError):
            dk.setitem(x, 0, 9.0)
        assert (x.first.tolist(), x.second.tolist()) == ([1.0, 2.0], [10.0, 20.0])

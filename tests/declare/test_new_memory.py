"""Operations whose results are not compared with the memory of their arguments: on no library do they share it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import may_share_memory, namespace_of
from dispatchkit.declare.operation import DeclaredOperation
from tests.declared import OPERATIONS, flat

KNOWN = {name: entry for name, entry in OPERATIONS.items() if entry.gives_new_memory}
LIBRARIES = ["torch", "array_api_strict"]


def shared(entry: DeclaredOperation, library: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return the results of a call on a library's arrays that show the memory of an argument without being it."""
    arrays: list[Any] = []

    def brought(name: str, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        arrays.append(library.asarray(value.copy()))
        return arrays[-1]

    args, kwargs = dk.tensor_protocol.map_arguments(entry.function, args, kwargs, brought)
    if not arrays:
        return []
    results = flat(entry.implementation.on(namespace_of(arrays[0]))(*args, **kwargs))
    return [r for r in results if not any(r is a for a in arrays) and any(may_share_memory(r, a) for a in arrays)]


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("operation", KNOWN)
def test_results_share_no_memory(operation: str, name: str) -> None:
    library, entry = pytest.importorskip(name), KNOWN[operation]
    if np.__version__.startswith("2.0.") and (operation, name) == ("dispatchkit.average", "array_api_strict"):
        pytest.skip("NumPy 2.0 does not say where read-only arrays of others lie")
    for sample in entry.samples:
        assert shared(entry, library, *sample.make(np.random.default_rng(0))) == []


REDUCTIONS = ("sum", "prod", "max", "min", "mean", "any", "all")


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("operation", REDUCTIONS)
@pytest.mark.parametrize("axis", [(), (0,), -1])
def test_reductions_of_one_element_or_none_share_no_memory(operation: str, axis: Any, name: str) -> None:
    library, entry = pytest.importorskip(name), KNOWN[f"dispatchkit.{operation}"]
    for keepdims in (False, True):
        for x in (np.ones((1, 1)), np.ones((2, 1))):
            assert shared(entry, library, (x,), {"axis": axis, "keepdims": keepdims}) == []


@pytest.mark.parametrize("name", LIBRARIES)
def test_one_array_alone_is_copied(name: str) -> None:
    library, x = pytest.importorskip(name), np.ones((2, 2))
    for operation in ("concat", "stack"):
        assert shared(KNOWN[f"dispatchkit.{operation}"], library, ([x],), {}) == []


def test_views_are_no_part_of_them() -> None:
    assert {
        "dispatchkit.sum",
        "dispatchkit.where",
        "dispatchkit.concat",
        "dispatchkit.nn.functional.linear",
    } <= KNOWN.keys()
    assert not {"dispatchkit.reshape", "dispatchkit.getitem", "dispatchkit.linalg.diagonal"} & KNOWN.keys()

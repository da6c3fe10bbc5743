"""`dk.holds` asks arrays of every kind whether a condition is true everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.testing import Wrapper

CONDITIONS: dict[str, tuple[Any, bool]] = {
    "a tensor": (dk.asarray([True, True]), True),
    "a tensor with a false element": (dk.asarray([True, False]), False),
    "no elements": (dk.zeros(0, dtype=dk.bool), True),
    "a NumPy array": (np.array([[True], [False]]), False),
    "a bool": (True, True),
    "NumPy's bool": (np.False_, False),
    "an array type": (Wrapper([True, True]), True),
    "an array type with a false element": (Wrapper([True, False]), False),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_it_gives_a_bool_for_what_can_be_a_condition(name: str) -> None:
    condition, expected = CONDITIONS[name]
    assert dk.holds(condition) is expected


def guarded(x: Any) -> Any:
    return dk.sqrt(x) if dk.holds(x >= 0) else dk.zeros_like(x)


def test_under_vmap_it_asks_the_whole_batch() -> None:
    assert dk.func.vmap(guarded)(dk.asarray([1.0, 4.0])).tolist() == [1.0, 2.0]
    assert dk.func.vmap(guarded)(dk.asarray([1.0, -4.0])).tolist() == [0.0, 0.0]


def test_under_nested_vmap_and_derivatives_it_asks_all_elements() -> None:
    found = dk.func.vmap(dk.func.vmap(dk.func.grad(guarded)))(dk.asarray([[1.0, 4.0], [16.0, 1.0]]))
    np.testing.assert_allclose(found.numpy(), [[0.5, 0.25], [0.125, 0.5]])
    _, tangent = dk.func.jvp(guarded, (dk.asarray(4.0),), (dk.asarray(1.0),))
    assert float(tangent) == 0.25


def test_if_alone_cannot_ask_a_batch() -> None:
    with pytest.raises(dk.errors.TransformError):
        dk.func.vmap(lambda x: dk.sqrt(x) if dk.all(x >= 0) else x)(dk.asarray([1.0, 4.0]))

"""`out_dims` may be an instance of the array type that the function gives."""

from __future__ import annotations

from typing import Any

import pytest

import dispatchkit as dk


@dk.array_type()
class Pair:
    """Two arrays, without a shape of its own."""

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second


@pytest.mark.parametrize("chunk_size", [None, 1])
def test_each_field_has_its_axis(chunk_size: int | None) -> None:
    pair = dk.func.vmap(lambda x: Pair(x, x), out_dims=Pair(0, 1), chunk_size=chunk_size)(dk.ones((2, 3)))
    assert (pair.first.shape, pair.second.shape) == ((2, 3), (3, 2))

"""Data sets of the blocks that Dask holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")


def test_blocks_are_computed_one_at_a_time() -> None:
    made = []

    def make(block: Any) -> Any:
        made.append(len(block))
        return block * 2.0

    x = da.from_array(np.arange(12.0).reshape(6, 2), chunks=(2, 2)).map_blocks(make, meta=np.ones((1, 1)))
    y = da.from_array(np.arange(6), chunks=2)
    data = dk.data.blocks(x, y)
    assert len(data) == len(data.delayed) == 3
    made.clear()
    for count, (rows, labels) in enumerate(data):
        assert len(made) == count + 1
        assert rows.tolist() == (2 * np.arange(12.0).reshape(6, 2)[2 * count : 2 * count + 2]).tolist()
        assert labels.tolist() == [2 * count, 2 * count + 1]
    assert [block.shape for block in dk.data.blocks(x)] == [(2, 2)] * 3


def test_what_has_no_blocks_along_the_first_axis_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^blocks: expected a Dask array or data frame, found a ndarray$"):
        dk.data.blocks(np.ones(3))
    with pytest.raises(TypeError, match=r"^blocks: expected a Dask array or data frame, found nothing$"):
        dk.data.blocks()
    with pytest.raises(ValueError, match=r"divided along several axes, \(2, 2\) blocks; rechunk it"):
        dk.data.blocks(da.ones((4, 4), chunks=2))
    with pytest.raises(ValueError, match=r"^blocks: the collections have 2, 4 blocks; rechunk them$"):
        dk.data.blocks(da.ones(4, chunks=2), da.ones(4, chunks=1))

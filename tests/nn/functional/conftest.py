"""The engines that compute the functions of layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dispatchkit as dk


@pytest.fixture(params=["numpy", "numba"])
def engine(request: Any) -> Iterator[str]:
    """Let an engine compute; Numba only where it is installed."""
    pytest.importorskip(request.param)
    before = dk.nn.get_engine()
    dk.nn.set_engine(request.param)
    yield request.param
    dk.nn.set_engine(before)

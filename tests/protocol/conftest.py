"""A protocol of the test's own: nothing registered with it outlives the test."""

import pytest

from dispatchkit.protocol.engine import DispatchProtocol


@pytest.fixture
def protocol() -> DispatchProtocol:
    return DispatchProtocol("__lib_function__", namespace="lib")

"""What Python asks of arrays: `divmod`, `round`, `math`, a buffer; the further names of cumulative sums."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import AutogradError

A = np.array([[1.5, -2.25], [3.0, 0.125]])


def test_divmod_gives_quotient_and_remainder_from_either_side() -> None:
    x = dk.tensor(A, requires_grad=True)
    got: Any
    for got, want in ((divmod(x, 0.5), divmod(A, 0.5)), (divmod(7.0, x), divmod(7.0, A)), (divmod(A, x), divmod(A, A))):
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(one.detach().numpy(), other)
    divmod(x, 0.7)[1].sum().backward()
    np.testing.assert_array_equal(np.asarray(x.grad), np.ones((2, 2)))
    with pytest.raises(TypeError, match="unsupported operand"):
        divmod(x, "text")


def test_round_takes_decimals() -> None:
    x = dk.asarray(A)
    assert round(x).tolist() == [[2.0, -2.0], [3.0, 0.0]]
    assert round(x, 1).tolist() == [[1.5, -2.2], [3.0, 0.1]]
    assert isinstance(round(dk.types.ScalarTensor(2, 1.7)), dk.types.ScalarTensor)


def test_functions_of_math_take_one_element() -> None:
    x = dk.asarray([-2.75])
    assert (math.trunc(x), math.floor(x), math.ceil(x)) == (-2, -3, -2)
    with pytest.raises(ValueError, match="one element"):
        math.trunc(dk.asarray(A))


def test_cumulative_sums_have_pytorchs_names() -> None:
    x = dk.asarray(A)
    np.testing.assert_array_equal(x.cumsum(0).numpy(), A.cumsum(0))
    np.testing.assert_array_equal(x.cumprod(axis=1).numpy(), A.cumprod(1))
    assert dk.cumsum is dk.cumulative_sum


def test_the_memory_is_a_buffer() -> None:
    x = dk.asarray(A.copy())
    view = x.__buffer__(0)
    assert (view.shape, view.format) == ((2, 2), "d")
    np.asarray(view)[0, 0] = 9.0
    assert x[0, 0].item() == 9.0
    if sys.version_info >= (3, 12):
        assert bytes(memoryview(x)) == x.numpy().tobytes()
    with pytest.raises(AutogradError, match="would lose the graph"):
        dk.tensor(A, requires_grad=True).__buffer__(0)


def test_types_and_tensors_have_one_namespace() -> None:
    metadata: Any = dk.types.MetadataTensor(A, {"unit": "m"})
    assert dk.ones(2).__array_namespace__() is metadata.__array_namespace__() is dk
    with pytest.raises(ValueError, match=r"'1999\.12' is not known; known: 2021\.12"):
        metadata.__array_namespace__(api_version="1999.12")


def test_a_python_number_is_rounded() -> None:
    assert dk.round(1.7).item() == 2.0
    assert dk.round(3).item() == 3

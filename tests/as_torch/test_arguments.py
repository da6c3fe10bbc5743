"""What PyTorch refuses about the types, dtypes and shapes of arguments is refused in its class of error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit.as_torch

torch: Any = dispatchkit.as_torch
F = torch.nn.functional
BOOLS, INTS, FLOATS = torch.tensor([True, False]), torch.tensor([1, 2]), torch.tensor([1.0, 2.0])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: F.batch_norm(torch.ones(2, 3), None, None, bias=True),
            TypeError,
            "'bias' .* must be Tensor, not bool",
        ),
        (lambda: F.mse_loss(FLOATS, 1.0), TypeError, "'target' .* must be Tensor, not float"),
        (lambda: F.elu(FLOATS, beta=2), TypeError, "got an unexpected keyword argument 'beta'"),
        (lambda: True - FLOATS, RuntimeError, "with a bool tensor is not supported"),
        (lambda: torch.rsub(BOOLS, FLOATS), RuntimeError, "with a bool tensor is not supported"),
        (lambda: F.l1_loss(BOOLS, FLOATS), RuntimeError, "with a bool tensor is not supported"),
        (lambda: torch.dist(BOOLS, BOOLS), RuntimeError, "with two bool tensors is not supported"),
        (lambda: FLOATS.mean(dtype=torch.int64), RuntimeError, "must be floating point or complex. Got: int64"),
        (
            lambda: FLOATS.softmax(0, dtype=torch.int64),
            RuntimeError,
            "\"softmax\" not implemented for 'Long' as",
        ),
        (
            lambda: torch.matrix_exp(torch.ones(2, 2, dtype=torch.int64)),
            NotImplementedError,
            "not implemented for 'Long'",
        ),
        (lambda: torch.special.gammainc(INTS, INTS), NotImplementedError, "not implemented for 'Long'"),
        (lambda: torch.linalg.vander(torch.ones(2, 1)), RuntimeError, "N must be greater than 1"),
        (lambda: torch.tensor_split(FLOATS, INTS.int()), RuntimeError, "to have dtype of long, but got Int"),
        (lambda: torch.ones(2, 2).repeat(2), RuntimeError, "can not be smaller than number of dimensions"),
        (lambda: torch.fft.fft(torch.tensor(1.0)), IndexError, "Dimension specified as -1 but tensor has no"),
        (lambda: torch.masked.sum(torch.ones(1), mask=BOOLS), RuntimeError, "cannot be expanded to the input's shape"),
    ],
)
def test_arguments_that_pytorch_refuses_are_refused(call: Callable[[], Any], error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("key", [INTS - 1, [0, 1], (slice(None), INTS - 1)])
def test_elements_of_another_dtype_are_not_put_to_places_of_arrays(key: Any) -> None:
    x = torch.zeros(2, 2)
    with pytest.raises(RuntimeError, match="got Double for the destination and Long for the source"):
        x[key] = INTS
    assert x.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_elements_of_another_dtype_are_put_to_slices_and_single_ones_to_masks() -> None:
    x = torch.zeros(2)
    x[:] = INTS
    x[BOOLS] = torch.tensor(5)
    assert x.tolist() == [5.0, 2.0]


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: torch.cat([torch.tensor([]), torch.ones(2, 1)], 1), [[1.0], [1.0]]),
        (lambda: torch.linalg.matrix_rank(torch.diag(torch.tensor([2.0, 0.25])), 0.5), 1),
        (lambda: torch.scatter(torch.ones(2), 0, INTS - 1, 3.0, reduce="multiply"), [3.0, 3.0]),
        (lambda: torch.scatter(torch.ones(2), 0, INTS * 0, FLOATS, reduce="add"), [4.0, 1.0]),
        (lambda: torch.svd(torch.ones(2, 2), compute_uv=False).S.round(), [2.0, 0.0]),
        (lambda: torch.where(torch.tensor(True))[0], [0]),
        (lambda: FLOATS.tensor_split(indices=[1])[1], [2.0]),
        (lambda: torch.full_like(torch.zeros(1, dtype=torch.uint8), -3), [253]),
        (lambda: F.l1_loss(torch.tensor([3 + 4j]), torch.tensor([0j])), 5.0),
        (lambda: torch.broadcast_to(torch.ones(1, 1), (2, -1)), [[1.0], [1.0]]),
    ],
)
def test_what_pytorch_takes_is_taken(call: Callable[[], Any], value: Any) -> None:
    assert call().tolist() == value


def test_elements_with_leading_axes_of_one_are_put_into_what_has_fewer() -> None:
    x = torch.zeros(3)
    x[-1] = torch.tensor([1.5])
    x[:2] = torch.tensor([[[2.0, 3.0]]])
    assert x.tolist() == [2.0, 3.0, 1.5]


def test_a_key_may_serve_several_queries() -> None:
    query, key = torch.ones(1, 4, 2, 3), torch.arange(12.0).reshape(1, 2, 2, 3)
    y = F.scaled_dot_product_attention(query, key, key, enable_gqa=True)
    each = F.scaled_dot_product_attention(query, key.repeat_interleave(2, 1), key.repeat_interleave(2, 1))
    assert y.tolist() == each.tolist()

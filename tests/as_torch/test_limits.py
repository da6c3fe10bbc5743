"""What PyTorch says of dtypes: their limits, and the version that is followed; tensors made like others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch

torch: Any = dispatchkit.as_torch


def test_limits_of_floating_point_numbers_have_pytorchs_names() -> None:
    info = torch.finfo(torch.float32)
    assert (info.bits, info.eps, info.dtype) == (32, 2.0**-23, "float32")
    assert info.tiny == info.smallest_normal == 2.0**-126
    assert info.max == -info.min == (2 - 2.0**-23) * 2.0**127
    assert info.resolution == pytest.approx(1e-6)
    assert torch.finfo(torch.complex64).eps == info.eps
    assert torch.finfo().dtype == torch.get_default_dtype().name


def test_limits_of_integers_have_pytorchs_names() -> None:
    info = torch.iinfo(torch.uint8)
    assert (info.bits, info.min, info.max, info.dtype) == (8, 0, 255, "uint8")


@pytest.mark.parametrize(
    ("function", "dtype", "text"),
    [
        (torch.finfo, torch.int32, "torch.finfo.. requires a floating point input type, found int32: use torch.iinfo"),
        (torch.iinfo, torch.float32, "torch.iinfo.. requires an integer input type, found float32: use torch.finfo"),
    ],
)
def test_limits_of_other_numbers_name_the_function_to_use(function: Any, dtype: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        function(dtype)


def test_programs_can_compare_the_version() -> None:
    assert tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 0)


class Marked(torch.Tensor):  # type: ignore[misc]  # of a module that is made when it is imported
    """A tensor of a class of its own."""


MADE = {
    "new_zeros": lambda x: x.new_zeros(2, 3),
    "new_ones": lambda x: x.new_ones((2, 3)),
    "new_full": lambda x: x.new_full((2, 3), 4),
    "new_empty": lambda x: x.new_empty((2, 3)),
    "new_tensor": lambda x: x.new_tensor([[1, 2, 3]] * 2),
    "zeros_like": lambda x: torch.zeros_like(x.new_zeros(2, 3)),
    "ones_like": lambda x: torch.ones_like(x.new_zeros(2, 3)),
    "full_like": lambda x: torch.full_like(x.new_zeros(2, 3), 4),
    "rand_like": lambda x: torch.rand_like(x.new_zeros(2, 3)),
    "randn_like": lambda x: torch.randn_like(x.new_zeros(2, 3)),
    "empty_like": lambda x: torch.empty_like(x.new_zeros(2, 3)),
    "randint_like": lambda x: torch.randint_like(x.new_zeros(2, 3), 5),
}


@pytest.mark.parametrize("name", MADE)
def test_tensors_made_like_others_keep_the_dtype_and_the_class(name: str) -> None:
    for cls in (torch.Tensor, Marked):
        x = torch.tensor([1.0, 2.0], dtype=torch.float32).as_subclass(cls)
        y = MADE[name](x)
        assert (type(y), y.dtype, tuple(y.shape)) == (cls, "float32", (2, 3))


@pytest.mark.parametrize("name", MADE)
def test_tensors_made_like_others_inside_a_batch_are_those_of_each(name: str) -> None:
    made = torch.vmap(lambda x: x.sum() * 0 + MADE[name](x) * 0, randomness="different")
    y = made(torch.ones(4, 2))
    assert (type(y), tuple(y.shape)) == (torch.Tensor, (4, 2, 3))


def test_a_batch_of_tensors_made_like_others_can_be_written_into() -> None:
    def doubled(x: Any) -> Any:
        y = torch.zeros_like(x)
        y[0] = 2 * x[0]
        return y

    y = torch.vmap(doubled)(torch.tensor([[1.0, 5.0], [2.0, 5.0]]))
    np.testing.assert_array_equal(y.numpy(), [[2.0, 0.0], [4.0, 0.0]])

"""`view` with a dtype: the same memory, read otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch
from dispatchkit.errors import AutogradError

Z = dk.asarray([1 + 2j, 3 - 1j])
R = dk.asarray([1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize("dtype", [float, np.float64, "f8", np.dtype("f8"), dk.float64], ids=repr)
def test_complex_numbers_are_read_as_pairs(dtype: Any) -> None:
    pairs = Z.view(dtype)
    assert pairs.dtype == np.float64
    np.testing.assert_array_equal(pairs.numpy(), [1.0, 2.0, 3.0, -1.0])
    np.testing.assert_array_equal(dk.view(Z, dtype).numpy(), pairs.numpy())
    np.testing.assert_array_equal(dk.stack([Z, Z]).view(dtype).shape, (2, 4))


def test_other_dtypes_read_the_bytes() -> None:
    np.testing.assert_array_equal(R.view(dk.int64).numpy(), np.asarray([1.0, 2.0, 3.0, 4.0]).view(np.int64))
    np.testing.assert_array_equal(R.view(complex).numpy(), [1 + 2j, 3 + 4j])
    np.testing.assert_array_equal(R.view(np.uint8).shape, (32,))
    assert torch.ones(2, dtype=torch.float32).view(torch.int32).tolist() == [1065353216, 1065353216]
    assert torch.ones(2, dtype=torch.float32).view(torch.int32).dtype == np.int32


def test_the_memory_is_shared() -> None:
    x = dk.zeros(4)
    x.view(complex)[0] = 1 + 5j
    assert x.tolist() == [1.0, 5.0, 0.0, 0.0]
    same = x.view(dk.float64)
    same[3] = 2.0
    assert x[3].item() == 2.0
    assert x._version == 2


def test_gradients_flow_between_complex_numbers_and_pairs() -> None:
    gradient = dk.func.grad(lambda z: (z.view(float) * dk.arange(4.0)).sum())(Z)
    np.testing.assert_array_equal(gradient.numpy(), [0 + 1j, 2 + 3j])
    gradient = dk.func.grad(lambda x: (dk.abs(x.view(complex)) ** 2).sum())(R)
    np.testing.assert_allclose(gradient.numpy(), [2.0, 4.0, 6.0, 8.0])
    z, x = Z.clone().requires_grad_(), R.clone().requires_grad_()
    assert dk.autograd.gradcheck(lambda z: z.view(float) ** 3, (z,), check_forward_ad=True)
    assert dk.autograd.gradgradcheck(lambda x: x.view(complex) ** 3, (x,))
    np.testing.assert_array_equal(dk.func.grad(lambda x: (x.view(dk.float64) ** 2).sum())(R).numpy(), [2, 4, 6, 8])


def test_each_element_of_a_batch_is_read() -> None:
    rows = dk.func.vmap(lambda z: z.view(float))(dk.stack([Z, 2 * Z]))
    np.testing.assert_array_equal(rows.numpy(), [[1, 2, 3, -1], [2, 4, 6, -2]])
    gradients = dk.func.vmap(dk.func.grad(lambda z: (z.view(float) * dk.arange(4.0)).sum()))(dk.stack([Z, Z]))
    np.testing.assert_array_equal(gradients.numpy(), [[1j, 2 + 3j], [1j, 2 + 3j]])
    with pytest.raises(ValueError, match="view: a number of complex128 cannot be read as float64, of another size"):
        dk.func.vmap(lambda z: z.view(float))(Z)


def test_bytes_have_no_derivative() -> None:
    x = R.clone().requires_grad_()
    assert not x.view(dk.int64).requires_grad
    tangent = dk.func.jvp(lambda x: x * x.view(dk.int64).astype(dk.float64) * 0.0 + x, (R,), (R,))[1]
    np.testing.assert_array_equal(tangent.numpy(), R.numpy())
    with pytest.raises(
        AutogradError, match=r"view: between float32 and float64 there is no derivative of reading bytes"
    ):
        x.view(np.float32).sum().backward()


def test_parts_are_changed_in_place_with_their_gradient() -> None:
    leaf = Z.clone().requires_grad_()
    z = leaf * 1.0
    z.view(float).mul_(2.0)
    np.testing.assert_array_equal(z.detach().numpy(), 2 * Z.numpy())
    dk.real(z).sum().backward()
    assert leaf.grad is not None
    np.testing.assert_array_equal(leaf.grad.numpy(), [2.0, 2.0])


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="view: Changing the dtype of a 0d array is only supported if the itemsize"):
        dk.asarray(1j).view(float)
    with pytest.raises(ValueError, match="view: When changing to a larger dtype, its size must be a divisor"):
        dk.ones(3).view(complex)
    with pytest.raises(ValueError, match="view: To change to a dtype of a different size, the last axis must be"):
        dk.ones((4, 2)).T.view(complex)
    with pytest.raises(TypeError, match="Tensor is a class, not a shape; write"):
        dk.ones(3).view(dk.Tensor)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        dk.ones(3).view(2.5)


def test_a_name_that_is_no_dtype_s_is_refused() -> None:
    with pytest.raises(TypeError, match="view: 'a' is neither a shape nor the name of a dtype, such as 'float64'"):
        dk.ones(2).view("a")
    assert dk.ones(2).view("int64").dtype == np.int64

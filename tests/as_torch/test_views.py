"""Views: by a tensor that is one number, by dtypes, by strides, and through `data`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit.as_torch as torch


def counted(*shape: int) -> Any:
    return torch.arange(float(torch.Size(shape).numel()), dtype=torch.float64).reshape(shape)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8"])
def test_an_index_that_is_one_number_makes_a_view(dtype: str) -> None:
    x = torch.zeros(3, 2, requires_grad=True)
    z = x * 2
    part = z[torch.tensor(1, dtype=getattr(torch, dtype))]
    part.add_(1).mul_(3)
    assert z.tolist() == [[0, 0], [3, 3], [0, 0]]
    z.sum().backward()
    assert x.grad.tolist() == [[2, 2], [6, 6], [2, 2]]


def test_a_byte_is_a_mask_and_numbers_that_are_too_large_are_refused() -> None:
    x = counted(2, 3)
    for mask, shape in ((torch.tensor(1, dtype=torch.uint8), (1, 2, 3)), (torch.ones(2, dtype=torch.uint8), (2, 3))):
        with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated"):
            assert x[mask].shape == shape
    assert x[torch.tensor(True)].shape == (1, 2, 3)
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 2"):
        x[torch.tensor(5)]


@pytest.mark.parametrize("zero", [0, torch.tensor(0)], ids=["int", "tensor"])
def test_a_number_beside_an_array_selects_first_and_moves_no_axis(zero: Any) -> None:
    x, places = counted(2, 3, 4), torch.tensor([0, 2])
    assert x[zero, :, places].tolist() == [[0, 2], [4, 6], [8, 10]]
    assert x[places - 1, ..., zero].tolist() == [[12, 16, 20], [12, 16, 20]]
    assert x[zero, None, places].shape == (1, 2, 4)
    x[zero, :, places] = torch.tensor([-1.0, -2.0], dtype=torch.float64)
    assert x[0].tolist() == [[-1, 1, -2, 3], [-1, 5, -2, 7], [-1, 9, -2, 11]]
    assert x[1].min() == 12


def test_a_view_in_another_dtype_shares_memory() -> None:
    x = torch.ones(2, dtype=torch.float64)
    bits = x.view(torch.int64)
    assert (bits.dtype, bits[0].item()) == (torch.int64, 0x3FF0000000000000)
    bits.zero_()
    assert x.tolist() == [0.0, 0.0]
    assert torch.tensor([1, 0], dtype=torch.uint8).view(dtype=torch.bool).tolist() == [True, False]  # type: ignore[call-overload]
    assert torch.tensor([0x3FF0000000000000]).view(torch.float64).tolist() == [1.0]
    with pytest.raises(RuntimeError, match=r"size\(-1\) must be divisible by 2"):
        torch.zeros(2, 3, dtype=torch.float32).view(torch.float64)


def test_data_writes_through() -> None:
    p: Any = torch.nn.Parameter(torch.ones(3))
    p.data.add_(1)
    p.data[0] = 5
    p.data[1:] -= 1
    assert p.tolist() == [5, 1, 1]
    other = torch.zeros(2)
    p.data = other
    other.add_(3)
    assert (p.tolist(), p.requires_grad, p.is_leaf) == ([3, 3], True, True)
    p.grad = torch.ones(2)
    p.grad.data.zero_()
    assert p.grad.tolist() == [0, 0]
    with pytest.raises(TypeError, match="data: expected a tensor, found int"):
        p.data = 3


def test_a_change_through_data_is_not_counted() -> None:
    # Solvers of differential equations fill a tensor of stages so, of which only those before are needed.
    x = torch.ones(2, requires_grad=True)
    stages = torch.zeros(2)
    stages.data[0] = 3.0
    y = (x[0] * stages[:1]).sum()
    stages.data[1] = 4.0
    y.backward()
    assert (x.grad.tolist(), stages.tolist()) == ([3, 0], [3, 4])
    x.data.clamp_(max=0.5)
    assert x.tolist() == [0.5, 0.5]


def test_strides_make_views_of_memory() -> None:
    x = counted(6)
    assert x.as_strided((2, 2), (1, 2)).tolist() == [[0, 2], [1, 3]]
    assert torch.as_strided(x, (2, 2), (1, 2), 1).tolist() == [[1, 3], [2, 4]]
    assert x.as_strided((), (), 2).item() == 2
    assert x[2:].as_strided((2,), (1,)).tolist() == [2, 3]
    assert (x[2:].as_strided((2,), (1,), 0).tolist(), x[2:].storage_offset()) == ([0, 1], 2)
    turned = x.reshape(2, 3).t()
    turned.as_strided((2, 3), (3, 1))[0] = 9
    assert turned.tolist() == [[9, 3], [9, 4], [9, 5]]
    assert torch.as_strided_copy(x, (2,), (3,)).tolist() == [9, 3]
    assert torch.as_strided_scatter(x, torch.zeros(2, dtype=torch.float64), (2,), (3,)).tolist() == [0, 9, 9, 0, 4, 5]


def test_gradients_flow_through_strides() -> None:
    x, weights = counted(4).requires_grad_(), counted(3, 2)
    y = x.as_strided((3, 2), (1, 1))
    (y * y * weights).sum().backward()
    assert x.grad.tolist() == [0, 6, 28, 30]
    x = counted(2, 3).requires_grad_()
    ((x * 1).t().as_strided((2, 2), (1, 2), 1) ** 3).sum().backward()
    assert x.grad.tolist() == [[0, 3, 12], [27, 48, 0]]


def test_a_change_of_a_view_by_strides_has_the_right_gradient() -> None:
    x = counted(6).requires_grad_()
    z = x * 1
    z.as_strided((2, 2), (1, 2), 1).mul_(torch.tensor([2.0, 3.0], dtype=torch.float64))
    (z * z).sum().backward()
    assert x.grad.tolist() == [0, 8, 16, 54, 72, 10]


def test_strides_have_second_and_forward_derivatives() -> None:
    x = counted(4).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x: x.as_strided((3, 2), (1, 1)) ** 3, (x,))
    _, tangent = torch.func.jvp(lambda x: x.as_strided((2, 2), (1, 2)) * 2, (counted(6),), (counted(6),))
    assert tangent.tolist() == [[0, 4], [2, 6]]
    rows = torch.func.vmap(lambda x: x.as_strided((2, 2), (1, 2)))(counted(2, 6))
    assert rows.tolist() == [[[0, 2], [1, 3]], [[6, 8], [7, 9]]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((2,), (-1,)), r"Negative strides are not supported at the moment, got strides: \[-1\]; write x\.flip"),
        (((2, 3), (1,)), "mismatch in length of strides and shape"),
        (((4,), (2,), 1), r"reach element 7, which is out of bounds for storage of 6 elements"),
        (((-1,), (1,)), r"lengths must be 0 or greater, found size=\[-1\]"),
        (((1,), (1,), -2), "invalid storage offset -2"),
    ],
    ids=str,
)
def test_strides_that_do_not_fit_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        counted(6).as_strided(*arguments)


def test_a_view_with_an_element_twice_is_read_only() -> None:
    x = counted(5)
    with pytest.raises(RuntimeError, match=r"memory is read-only.*change a copy"):
        x.as_strided((2, 2), (1, 1)).add_(1)
    assert x.tolist() == [0, 1, 2, 3, 4]


def test_axes_are_reversed_and_layouts_looked_at_as_in_pytorch() -> None:
    x = counted(2, 3, 4)
    with pytest.warns(UserWarning, match="dimension other than 2 to reverse their shape is deprecated"):
        assert x.T.shape == (4, 3, 2)
    assert x[0].T.shape == (4, 3)
    assert x[0, 0, 0].T.shape == ()
    images = torch.ones(2, 5, 5, 3).permute(0, 3, 1, 2)
    assert images.is_contiguous(memory_format=torch.channels_last)
    assert not images.is_contiguous()
    assert not x.is_contiguous(memory_format=torch.channels_last)
    assert x.is_contiguous(memory_format=torch.contiguous_format)


def test_adjoint_matrices_are_views_where_numbers_are_real() -> None:
    x = counted(2, 3)
    torch.adjoint(x)[0, 1] = -5.0
    assert x[1, 0] == -5
    assert torch.adjoint(torch.ones(2, 3, dtype=torch.bool)).dtype == torch.bool
    with pytest.raises(ValueError, match="read-only"):
        torch.adjoint(torch.ones(2, 2) * 1j)[0, 0] = 2.0


def test_a_tensor_without_axes_in_order_is_ravelled_into_one_piece() -> None:
    x = counted(3, 2).mT
    assert torch.ravel(x).is_contiguous()
    assert torch.ravel(counted(6)[::2]).is_contiguous()
    torch.ravel(y := counted(2, 2))[0] = 7.0
    assert y[0, 0] == 7
    assert torch.broadcast_shapes((2, 1), 3).numel() == 6


def test_parts_of_complex_numbers_are_set() -> None:
    x = torch.tensor([1 + 2j, 3.0])
    x.real = torch.tensor([5, 6])
    x.imag = 7
    assert x.tolist() == [5 + 7j, 6 + 7j]
    y = torch.ones(2)
    y.real = torch.tensor([3.0, 4.0])
    assert y.tolist() == [3.0, 4.0]
    with pytest.raises(RuntimeError, match="imag is not implemented for tensors with non-complex dtypes"):
        y.imag = 1.0


def test_dense_tensors_have_no_axes_of_indices() -> None:
    assert (torch.ones(2, 3).sparse_dim(), torch.ones(2, 3).dense_dim()) == (0, 2)


def complex_matrix() -> Any:
    return torch.tensor([[1 + 2j, 3 - 1j], [0.5j, 2.0]], dtype=torch.complex128)


def test_parts_of_complex_numbers_are_views_that_are_written_into() -> None:
    z = complex_matrix()
    z.real.mul_(2)
    z.imag[0] = 5.0
    torch.view_as_real(z.mT)[1, 0] += 1
    assert z.tolist() == [[2 + 5j, 7 + 6j], [0.5j, 4 + 0j]]
    pairs = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    torch.view_as_complex(pairs).mul_(1j)
    assert pairs.tolist() == [[-2.0, 1.0], [-4.0, 3.0]]
    assert torch.view_as_complex(pairs)[0].imag._version == pairs._version == 1
    assert torch.view_as_complex(torch.ones(1, 2, dtype=torch.float16)).tolist() == [1 + 1j]


def doubled_real_part(z: Any) -> None:
    z.real.mul_(2)


def row_of_imaginary_parts(z: Any) -> None:
    z.imag[0] = z.real.clone()[1]


def parts_by_turns(z: Any) -> None:
    real, imaginary = z.real, z.imag
    real.mul_(3)
    imaginary.sin_()
    z.mul_(2 - 1j)
    imaginary.T[1].exp_()


def pairs(z: Any) -> None:
    whole = torch.view_as_real(z)
    whole[..., 0] *= whole[..., 1].clone()
    whole.mT[0, 1].sin_()


@pytest.mark.parametrize("write", [doubled_real_part, row_of_imaginary_parts, parts_by_turns, pairs])
def test_gradients_flow_through_what_is_written_into_parts(write: Any) -> None:
    def changed(z: Any) -> Any:
        y = z * 1
        write(y)
        return y.real * y.imag, torch.view_as_real(y)[0]

    z = complex_matrix().requires_grad_()
    assert torch.autograd.gradcheck(changed, (z,))
    assert torch.autograd.gradgradcheck(changed, (z,))


def test_gradients_flow_from_complex_views_of_real_numbers() -> None:
    def changed(x: Any) -> Any:
        y = x * 1
        z = torch.view_as_complex(y)
        y[0].mul_(3)
        z[1] = z[0] * 2j
        return y * z.real, z**2

    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(changed, (x,))


def test_parts_live_on_when_the_numbers_are_gone() -> None:
    z = complex_matrix().requires_grad_()
    y = z * 1
    real, imaginary = y.real, y.imag
    del y
    real.mul_(3)
    imaginary.add_(real)
    (real + imaginary).sum().backward()
    assert z.grad.tolist() == [[6 + 1j] * 2] * 2
    empty = (z * 1)[:, :0]
    empty.real.mul_(3)
    z.grad = None
    empty.real.sum().backward()
    assert z.grad.tolist() == [[0, 0], [0, 0]]


def test_an_index_of_integers_and_slices_is_taken_as_it_is() -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    a = x.numpy()
    key: Any
    for key in ((0, 1), (slice(1, None), 2), (..., 0), (None, 1, ..., slice(0, 4, 2)), (), slice(0, 3, 2), None, ...):
        assert x[key].tolist() == a[key].tolist()
        y = x.clone()
        y[key] = 5.0
        expected = a.copy()
        expected[key] = 5.0
        assert y.tolist() == expected.tolist()
    for key in ((0, slice(None, None, -1)), slice(None, None, -1), (slice(None, None, 0),)):
        with pytest.raises(ValueError, match="step must be greater than zero"):
            x[key]
    with pytest.raises(IndexError, match="one ellipsis"):
        x[..., ..., 0]
    assert x[True].shape == (1, 2, 3, 4)
    assert x[(torch.tensor(1), 0)].tolist() == a[1, 0].tolist()


def test_lengths_and_orders_one_by_one_are_refused_in_the_words_of_pytorch() -> None:
    x: Any = torch.arange(6.0).reshape(2, 3)
    assert x.permute(1, 0).tolist() == x.permute((1, 0)).tolist() == x.T.tolist()
    assert x.permute(-1, 0).tolist() == x.T.tolist()
    assert x.expand(4, -1, 3).shape == x.expand(4, 2, 3).shape == (4, 2, 3)
    assert x.permute(-1, -2).tolist() == x.T.tolist()
    call: Callable[[], Any]
    for call in (lambda: x.permute(0), lambda: x.expand(4, 4, 3), lambda: x.view(5), lambda: x.expand(3)):
        with pytest.raises(RuntimeError, match=r"axes don't match|cannot have|broadcast together|cannot reshape"):
            call()
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.permute(0, 2)


def test_what_is_computed_of_a_tensor_has_no_attributes_of_its() -> None:
    class Noted(torch.Tensor):
        pass

    x: Any = torch.ones(2, 3)
    x.note = "mine"
    noted: Any = x.clone().as_subclass(Noted)
    noted.note = "taken over"
    compute: Callable[[Any], Any]
    for compute in (lambda y: y[0], lambda y: y.T, lambda y: y.sum(dim=0), torch.exp, lambda y: torch.stack([y, y])):
        assert "note" not in vars(compute(x))
        assert vars(compute(noted))["note"] == "taken over"

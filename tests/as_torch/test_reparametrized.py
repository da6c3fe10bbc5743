"""Weights that are computed before each call, layers of einops, and methods of tensors that programs call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch as spelled
from dispatchkit.as_torch import nn
from dispatchkit.as_torch.nn.utils import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm


def test_a_weight_is_a_length_times_a_direction() -> None:
    layer = nn.Linear(2, 2, bias=False)
    with spelled.no_grad():
        layer.weight.copy_(spelled.tensor([[3.0, 4.0], [0.0, 2.0]]))
    assert weight_norm(layer) is layer
    assert layer.weight_g.tolist() == [[5.0], [2.0]]
    with spelled.no_grad():
        layer.weight_g.copy_(spelled.tensor([[10.0], [1.0]]))
    assert layer(spelled.tensor([[1.0, 1.0]])).tolist() == [[14.0, 1.0]]
    with pytest.raises(RuntimeError, match="Cannot register two Directed hooks on the same parameter weight"):
        weight_norm(layer, "weight")
    remove_weight_norm(layer)
    assert list(layer.state_dict()) == ["weight"]
    assert layer.weight.tolist() == [[6.0, 8.0], [0.0, 1.0]]
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found in Linear"):
        remove_weight_norm(layer)


def test_a_weight_is_divided_by_its_largest_singular_value() -> None:
    layer = spectral_norm(nn.Linear(2, 2, bias=False), n_power_iterations=60)
    with spelled.no_grad():
        layer.weight_orig.copy_(spelled.tensor([[4.0, 0.0], [0.0, 2.0]]))
    y = layer(spelled.tensor([[1.0, 1.0]]))
    np.testing.assert_allclose(y.detach().numpy(), [[1.0, 0.5]], atol=1e-6)
    remove_spectral_norm(layer)
    assert list(layer.state_dict()) == ["weight"]


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm"])
def test_weights_and_their_gradients_are_those_of_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    theirs = getattr(torch.nn.utils, name)(torch.nn.Conv1d(2, 3, 2).double())
    ours = getattr(spelled.nn.utils, name)(nn.Conv1d(2, 3, 2))
    ours.load_state_dict({key: spelled.tensor(value.numpy()) for key, value in theirs.state_dict().items()})
    x = np.random.default_rng(0).normal(size=(4, 2, 5))
    found: list[Any] = []
    for library, layer in ((torch, theirs), (spelled, ours)):
        y = layer(library.tensor(x))
        (y * y).sum().backward()
        found.append([y.detach().numpy(), *(p.grad.numpy() for p in layer.parameters())])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12)


def test_layers_of_einops_are_modules() -> None:
    pytest.importorskip("einops")
    from dispatchkit.as_torch.einops_layers import Rearrange, Reduce

    model = nn.Sequential(Rearrange("b (c r) -> b r c", r=2), Reduce("b r c -> b c", "sum"))
    assert model(spelled.tensor([[1.0, 2.0, 3.0, 4.0]])).tolist() == [[3.0, 7.0]]
    assert repr(model[0]) == "Rearrange('b (c r) -> b r c', r=2)"


def test_einops_takes_tensors_whose_methods_are_those_of_pytorch() -> None:
    einops = pytest.importorskip("einops")
    x = spelled.arange(6.0).view(1, 2, 3)
    assert einops.rearrange(x, "a b c -> c b a").tolist() == [[[0.0], [3.0]], [[1.0], [4.0]], [[2.0], [5.0]]]
    assert einops.reduce(x, "a b c -> c a", "sum").tolist() == [[3.0], [5.0], [7.0]]


def test_the_size_of_a_tensor_is_the_lengths_of_another_and_a_tuple_its_elements() -> None:
    torch: Any = spelled
    x = torch.ones(2, 3)
    for make in (torch.Tensor, torch.FloatTensor, x.new):
        assert (make(x.shape).shape, make(x.size()).shape, make(x[0].size()).shape) == ((2, 3), (2, 3), (3,))
        assert (make((2, 3)).tolist(), make([2, 3]).shape, make().shape) == ([2.0, 3.0], (2,), (0,))


def test_strides_without_elements_are_those_of_an_element_for_each_axis() -> None:
    x = spelled.zeros(2, 0, 3)
    assert (x.stride(), spelled.zeros(0, 5, 64).stride(), spelled.zeros(0).stride()) == ((3, 3, 1), (320, 64, 1), (1,))
    assert x.view(spelled.uint8).shape == (2, 0, 3 * x.element_size())
    part = spelled.ones(2, 3, 4, 5)[:, :, :, 1][:, 1:1, ::2]
    assert part.stride() == (60, 20, 10)
    with pytest.raises(RuntimeError, match=r"self.stride\(-1\) must be 1 to view .* but got 10"):
        part.view(spelled.uint8)


def test_tensors_say_where_their_elements_are() -> None:
    x = spelled.zeros(2, 3, dtype=spelled.float32)
    assert (x.ndimension(), x.nelement(), x.element_size(), x.get_device()) == (2, 6, 4, -1)
    assert (x.stride(), x.t().stride(), x.stride(1)) == ((3, 1), (1, 3), 1)
    assert x[0].data_ptr() == x.data_ptr()
    assert x.pin_memory() is x
    assert (x.is_pinned(), x.is_sparse, x.layout) == (False, False, "strided")
    assert x.new(2, 2).shape == (2, 2)
    assert x.new([1.5]).dtype == spelled.float32
    assert x.is_same_size(spelled.ones(2, 3))
    assert spelled.tensor([2.0]).is_nonzero()
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with no values or more than one value"):
        x.is_nonzero()
    drawn = spelled.zeros(50, dtype=spelled.int64).random_(2, 5)
    assert set(drawn.tolist()) <= {2, 3, 4}
    assert spelled.promote_types(spelled.float32, spelled.int32) == spelled.float32


def test_lengths_of_axes_know_how_many_elements_there_are() -> None:
    x = spelled.ones(2, 3, 4)
    assert (x.shape.numel(), x.size().numel(), x.shape[1:].numel(), (x.shape + x.shape[:1]).numel()) == (24, 24, 12, 48)
    assert isinstance(x.shape, spelled.Size)
    assert (x.shape, repr(x.shape), spelled.Size([2]) == (2,)) == ((2, 3, 4), "torch.Size([2, 3, 4])", True)
    assert isinstance(x.float().dtype, spelled.dtype)
    assert isinstance(x.dtype, spelled.dtype)

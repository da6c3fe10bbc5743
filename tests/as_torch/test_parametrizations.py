"""Weights that are computed, lazy layers, `AdaptiveLogSoftmaxWithLoss` and resizing with `antialias`, by values."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch as torch
from dispatchkit.as_torch import nn

parametrize: Any = nn.utils.parametrize
parametrizations: Any = nn.utils.parametrizations


class Symmetric(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.triu() + x.triu(1).T

    def right_inverse(self, x: Any) -> Any:
        return x.triu()


def counted(*shape: int) -> Any:
    return torch.arange(float(np.prod(shape)), dtype=torch.float64).reshape(shape)


def linear(rows: Any) -> Any:
    layer: Any = nn.Linear(len(rows[0]), len(rows), dtype=torch.float64)
    layer.weight.data.copy_(torch.tensor(rows, dtype=torch.float64))
    layer.bias.data.zero_()
    return layer


def test_a_weight_is_computed_whenever_it_is_read() -> None:
    layer = linear([[1, 2], [9, 3]])
    held = layer.weight
    assert parametrize.register_parametrization(layer, "weight", Symmetric()) is layer
    assert (type(layer).__name__, list(layer.state_dict())) == (
        "ParametrizedLinear",
        ["bias", "parametrizations.weight.original"],
    )
    assert layer.parametrizations.weight.original is held
    assert layer.weight.tolist() == [[1, 2], [2, 3]]
    layer(torch.tensor([[1.0, 0.0]], dtype=torch.float64)).sum().backward()
    assert held.grad.tolist() == [[1, 1], [0, 0]]
    layer.weight = torch.tensor([[5.0, 6.0], [6.0, 7.0]], dtype=torch.float64)
    assert held.tolist() == [[5, 6], [0, 7]]
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight


def test_a_copy_has_weights_of_its_own_and_removing_leaves_a_parameter() -> None:
    layer = parametrize.register_parametrization(linear([[1, 2], [9, 3]]), "weight", Symmetric())
    twin = copy.deepcopy(layer)
    twin.weight = torch.zeros(2, 2, dtype=torch.float64)
    assert layer.weight.tolist() == [[1, 2], [2, 3]]
    parametrize.remove_parametrizations(layer, "weight")
    assert (type(layer).__name__, sorted(layer.state_dict())) == ("Linear", ["bias", "weight"])
    assert isinstance(layer.weight, nn.Parameter)
    assert layer.weight.tolist() == [[1, 2], [2, 3]]
    assert not parametrize.is_parametrized(layer)
    assert parametrize.is_parametrized(twin, "weight")


def test_what_changes_a_shape_is_refused_and_leaves_the_module() -> None:
    class Half(nn.Module):
        def forward(self, x: Any) -> Any:
            return x[:1]

    layer = linear([[1, 2], [3, 4]])
    with pytest.raises(ValueError, match="may not change the shape of the tensor, unless `unsafe` flag is enabled"):
        parametrize.register_parametrization(layer, "weight", Half())
    with pytest.raises(
        ValueError, match="does not have a parameter, a buffer, or a parametrized element with name 'w'"
    ):
        parametrize.register_parametrization(layer, "w", Half())
    assert (type(layer).__name__, sorted(layer.state_dict())) == ("Linear", ["bias", "weight"])


def test_weight_norm_has_lengths_and_directions() -> None:
    layer = parametrizations.weight_norm(linear([[3, 4], [0, 2]]))
    assert list(layer.state_dict()) == [
        *("bias", "parametrizations.weight.original0", "parametrizations.weight.original1"),
    ]
    assert layer.parametrizations.weight.original0.tolist() == [[5], [2]]
    layer.parametrizations.weight.original0.data.fill_(10)
    assert layer.weight.tolist() == [[6, 8], [0, 10]]
    assert parametrizations.weight_norm(linear([[3, 4]]), dim=None).parametrizations.weight.original0.item() == 5


def test_spectral_norm_divides_by_the_largest_singular_value() -> None:
    layer = parametrizations.spectral_norm(linear([[3, 0], [0, 1]]), n_power_iterations=40)
    weight: Any = layer.weight.detach().numpy()
    np.testing.assert_allclose(weight, np.diag([1, 1 / 3]), atol=1e-9)
    assert [name for name, _ in layer.named_buffers()] == [
        *("parametrizations.weight.0._u", "parametrizations.weight.0._v"),
    ]


@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
@pytest.mark.parametrize("trivialized", [True, False])
def test_orthogonal_weights_stay_orthogonal(kind: str, shape: Any, trivialized: bool) -> None:
    layer = linear((counted(*shape) % 5 + torch.eye(*shape, dtype=torch.float64)).tolist())
    parametrizations.orthogonal(layer, orthogonal_map=kind, use_trivialization=trivialized)
    if kind != "householder":
        layer.parametrizations.weight.original.data.add_(counted(*shape) / 9)
    weight = layer.weight
    small = weight @ weight.T
    if shape[0] > shape[1]:
        small = weight.T @ weight
    np.testing.assert_allclose(small.detach().numpy(), np.eye(min(shape)), atol=1e-9)


def test_the_exponential_of_a_matrix_turns_the_plane() -> None:
    x = torch.tensor([[0.0, -20.0], [20.0, 0.0]], dtype=torch.float64)
    cos, sin = np.cos(20), np.sin(20)
    np.testing.assert_allclose(torch.matrix_exp(x).tolist(), [[cos, -sin], [sin, cos]], atol=1e-10)
    assert torch.autograd.gradgradcheck(torch.matrix_exp, (counted(2, 2).requires_grad_(),))
    both = torch.func.vmap(torch.linalg.matrix_exp)(torch.stack([x, x * 0]))
    np.testing.assert_allclose(both[1].numpy(), np.eye(2), atol=1e-12)


def test_reflections_are_multiplied() -> None:
    # One reflection at the vector (1, 1): 1 - v v^T.
    y = torch.linalg.householder_product(
        torch.tensor([[9.0], [1.0]], dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    )
    assert y.tolist() == [[0], [-1]]


def test_a_lazy_layer_becomes_an_ordinary_one() -> None:
    layer: Any = nn.LazyLinear(2, dtype=torch.float64)
    assert repr(layer) == "LazyLinear(in_features=0, out_features=2, bias=True)"
    assert list(layer.state_dict()) == ["weight", "bias"]
    assert repr(layer.weight) == "<UninitializedParameter>"
    held = layer.weight
    assert layer(torch.ones(3, 4, dtype=torch.float64)).shape == (3, 2)
    assert (type(layer), held.shape, layer.in_features) == (nn.Linear, (2, 4), 4)
    assert layer.weight is held
    assert 0 < held.abs().max() <= 0.5
    layer(torch.ones(3, 4, dtype=torch.float64)).sum().backward()
    assert held.grad.tolist() == [[3] * 4] * 2


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_lazy_convolutions_and_norms_take_the_channels_of_their_input(axes: int) -> None:
    x = torch.ones(2, 4, *(3,) * axes)
    layers: Any = nn
    for name, options, shape in (
        ("Conv", (6, 2, 1, 0, 1, 2), (6, 2, *(2,) * axes)),
        ("ConvTranspose", (6, 2), (4, 6, *(2,) * axes)),
        ("BatchNorm", (), (4,)),
        ("InstanceNorm", (), (4,)),
    ):
        layer = getattr(layers, f"Lazy{name}{axes}d")(*options)
        layer(x)
        assert (type(layer), layer.weight.shape) == (getattr(layers, f"{name}{axes}d"), shape)
    assert layer.running_mean.tolist() == pytest.approx([0.1] * 4)


def test_a_lazy_layer_takes_the_shapes_of_a_state_that_is_loaded() -> None:
    layers: Any = nn
    model = nn.Sequential(layers.LazyLinear(2))
    model.load_state_dict({"0.weight": torch.ones(2, 5), "0.bias": torch.zeros(2)})
    assert model(torch.ones(1, 5)).tolist() == [[5, 5]]
    assert (type(model[0]), model[0].in_features) == (nn.Linear, 5)


def test_a_parameter_without_elements_is_not_computed_with() -> None:
    layers: Any = nn
    layer = layers.LazyConv2d(4, 3, groups=2)
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in add"):
        layer.weight + 1
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter or buffer"):
        _ = layer.weight.shape
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        layer(torch.ones(1, 3, 4, 4))
    with pytest.raises(RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\) input to LazyConv2d"):
        layer(torch.ones(3, 4))
    assert layers.parameter.is_lazy(layer.weight)


def test_rare_classes_stand_in_clusters() -> None:
    layers: Any = nn
    layer = layers.AdaptiveLogSoftmaxWithLoss(4, 5, [2, 3], div_value=2.0, dtype=torch.float64)
    assert list(layer.state_dict()) == [
        "head.weight", *(f"tail.{cluster}.{part}.weight" for cluster in (0, 1) for part in (0, 1))
    ]  # fmt: skip
    for p in layer.parameters():
        p.data.fill_(0.0)
    # All are alike: four places in the head, of which the last is a cluster of two.
    logs = layer.log_prob(torch.ones(1, 4, dtype=torch.float64)).exp()
    np.testing.assert_allclose(logs.detach().numpy(), [[0.25, 0.25, 0.25, 0.125, 0.125]])
    output, loss = layer(torch.ones(2, 4, dtype=torch.float64), torch.tensor([1, 4]))
    np.testing.assert_allclose(output.tolist(), [np.log(0.25), np.log(0.125)])
    np.testing.assert_allclose(loss.item(), 2.5 * np.log(2))
    loss.backward()
    assert layer.tail[0][0].weight.grad is None
    assert layer.tail[1][0].weight.grad is not None
    assert layer.predict(torch.ones(2, 4, dtype=torch.float64)).tolist() == [0, 0]
    with pytest.raises(RuntimeError, match=r"Target values should be in \[0, 4\], but values in range \[1, 5\]"):
        layer(torch.ones(2, 4, dtype=torch.float64), torch.tensor([1, 5]))
    with pytest.raises(ValueError, match=r"sorted in an increasing order.*found \[3, 2\]"):
        layers.AdaptiveLogSoftmaxWithLoss(4, 5, [3, 2])


def test_antialias_weighs_all_that_an_element_stands_for() -> None:
    x = counted(1, 1, 1, 4)
    y = nn.functional.interpolate(x, size=(1, 2), mode="bilinear", antialias=True)
    # A triangle of width 2 around each of two centres: shares 3, 3, 1 of 7.
    np.testing.assert_allclose(y[0, 0, 0].tolist(), [5 / 7, 16 / 7])
    y = nn.functional.interpolate(x, size=(1, 2), mode="bicubic", antialias=True)
    np.testing.assert_allclose(y[0, 0, 0].sum().item(), 3.0)
    x = torch.tensor([[[[0, 255, 0, 0]]]], dtype=torch.uint8)
    y = nn.functional.interpolate(x, size=(1, 2), mode="bilinear", antialias=True)
    assert (y.tolist(), y.dtype) == ([[[[109, 36]]]], torch.uint8)
    with pytest.raises(ValueError, match="Anti-alias option is restricted to bilinear and bicubic modes"):
        nn.functional.interpolate(torch.ones(1, 1, 4), size=2, mode="linear", antialias=True)

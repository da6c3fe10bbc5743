"""Parameters that are array types: their gradients, what optimisers see, how dense checkpoints load, how they print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import nn
from dispatchkit.types import LoraTensor, QuantizedTensor, ScalarTensor

X = dk.asarray(np.random.default_rng(0).normal(size=(3, 4)))


def adapted(base: Any = None) -> Any:
    """Return a layer whose weight is a matrix of any type plus an update."""
    layer: Any = nn.Linear(4, 3)
    layer.weight = nn.Parameter(LoraTensor.from_dense(layer.weight.detach() if base is None else base, rank=2))
    with dk.no_grad():
        layer.weight.left.fill_(0.5)
    return layer


def test_the_gradient_of_a_parameter_is_of_its_type() -> None:
    layer = adapted()
    weight = layer.weight
    assert layer.weight.grad is None
    (layer(X) ** 2).sum().backward()
    assert type(weight.grad) is LoraTensor
    assert weight.grad.left is weight.left.grad
    assert weight.grad.right is weight.right.grad
    assert weight.grad.base is weight.base
    dense = dk.func.grad(lambda w: ((X @ w.mT + layer.bias.detach()) ** 2).sum())(weight.merge().detach())
    np.testing.assert_allclose(weight.grad.left.numpy(), (dense @ weight.right.detach().mT).numpy(), rtol=1e-10)


def test_a_field_without_gradient_has_zeros_in_the_gradient_of_the_type() -> None:
    weight = adapted().weight
    weight.left.sum().backward()
    assert weight.grad.left.tolist() == [[1.0, 1.0]] * 3
    assert weight.grad.right.tolist() == [[0.0] * 4] * 2
    assert weight.right.grad is None


def test_the_gradient_can_be_set_and_forgotten() -> None:
    weight = adapted().weight
    made = dk.astype(weight.detach(), "float64")
    weight.grad = made
    assert weight.left.grad is made.left
    weight.grad = None
    assert weight.left.grad is None
    with pytest.raises(TypeError, match=r"^grad: expected a dispatchkit.LoraTensor or None, found dispatchkit.Tensor$"):
        weight.grad = dk.ones((3, 4))
    assert weight.left.grad is None


def test_requires_grad_is_said_of_the_fields_that_are_differentiated() -> None:
    weight = adapted().weight
    assert weight.requires_grad
    assert weight.requires_grad_(False) is weight
    assert not any([weight.requires_grad, weight.left.requires_grad, weight.right.requires_grad])
    weight.requires_grad = True
    assert weight.left.requires_grad
    assert weight.right.requires_grad
    assert not weight.base.requires_grad
    with pytest.raises(TypeError, match=r"^requires_grad_: .*PermutationTensor holds no tensors .* its fields"):
        dk.types.PermutationTensor([1, 0]).requires_grad_()
    assert not ScalarTensor(2, 1.0).requires_grad


def test_a_type_with_a_field_called_grad_keeps_it() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    class Pair:
        def __init__(self, value: Any, grad: Any) -> None:
            self.value, self.grad = value, grad

        def to_dense(self) -> Any:
            return self.value

    pair = Pair(dk.ones(2), "mine")
    assert pair.grad == "mine"
    assert Pair(dk.ones(2), None).grad is None


class Descent(dk.optim.Optimizer):
    """Steps on the objects, and counts its steps."""

    whole_types = True

    def __init__(self, params: Any, lr: float = 0.1) -> None:
        super().__init__(params, {"lr": lr})

    @dk.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                if isinstance(p, LoraTensor):
                    p.left -= group["lr"] * p.grad.left
                    p.right -= group["lr"] * p.grad.right
                    kept = self.state[p].setdefault("mean", dk.zeros_like(p.left))
                    kept += p.grad.left
                else:
                    p -= group["lr"] * p.grad
                self.state[p]["step"] = self.state[p].get("step", 0) + 1


def test_an_optimiser_of_the_user_sees_the_objects_and_shipped_ones_step_their_fields() -> None:
    layer, other = adapted(), adapted()
    other.load_state_dict(layer.state_dict())
    optimizer, shipped = Descent(layer.named_parameters(whole=True)), dk.optim.SGD(other.parameters(), lr=0.1)
    assert optimizer.param_groups[0]["params"][0] is layer.weight
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    for _ in range(2):
        for model, one in ((layer, optimizer), (other, shipped)):
            one.zero_grad()
            (model(X) ** 2).sum().backward()
            one.step()
    for name, value in layer.state_dict().items():
        np.testing.assert_allclose(value.numpy(), other.state_dict()[name].numpy(), rtol=1e-12)
    optimizer.zero_grad(set_to_none=False)
    assert not dk.any(layer.weight.grad.left)
    saved = optimizer.state_dict()
    assert list(saved["state"]) == [0, 1]
    again = Descent(other.named_parameters(whole=True))
    again.load_state_dict(saved)
    assert again.state[other.weight]["step"] == 2
    np.testing.assert_array_equal(again.state[other.weight]["mean"].numpy(), saved["state"][0]["mean"].numpy())


def test_an_object_that_is_twice_in_a_group_or_no_leaf_is_refused() -> None:
    weight = adapted().weight
    with pytest.raises(ValueError, match=r"appear more than once in a parameter group: parameter 1"):
        Descent([weight, weight])
    with pytest.raises(ValueError, match=r"can't optimize a non-leaf Tensor: parameter 0.left"):
        Descent([2 * weight])


@pytest.mark.parametrize("assign", [False, True])
def test_a_dense_checkpoint_becomes_the_base_of_an_adapter(assign: bool) -> None:
    dense, layer = nn.Linear(4, 3), adapted()
    left = layer.weight.left
    layer.load_state_dict(dense.state_dict(), assign=assign)
    np.testing.assert_allclose(layer(X).tolist(), dense(X).tolist(), rtol=1e-12)
    assert not dk.any(layer.weight.left)
    assert (layer.weight.left is left) is not assign
    assert layer.weight.rank == 2


def test_a_dense_checkpoint_is_quantised_and_names_lead_through_modules() -> None:
    dense = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    model: Any = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    model[0].weight = nn.Parameter(QuantizedTensor.from_dense(dk.zeros((3, 4))))
    model[2].weight = nn.Parameter(LoraTensor.from_dense(QuantizedTensor.from_dense(dk.zeros((2, 3))), rank=1))
    state = {name: value.numpy() for name, value in dense.state_dict().items()}
    model.load_state_dict(state)
    np.testing.assert_allclose(model(X).tolist(), dense(X).tolist(), atol=0.05)
    assert model[0].weight.data.dtype == np.int8
    assert type(model[2].weight.base) is QuantizedTensor
    assert list(state) == list(dense.state_dict())


def test_a_checkpoint_that_does_not_convert_is_refused_whole() -> None:
    layer: Any = nn.Linear(4, 3)
    layer.weight = nn.Parameter(QuantizedTensor.from_dense(dk.ones((3, 4))))
    before = {name: value.tolist() for name, value in layer.state_dict().items()}
    for weight, text in (
        (
            dk.full((3, 4), np.nan),
            "into a dispatchkit.QuantizedTensor: .* holds infinities or NaN",
        ),
        (dk.ones((2, 4)), r"size mismatch for weight.data"),
    ):
        with pytest.raises(dk.errors.StateDictError, match=text):
            layer.load_state_dict({"weight": weight, "bias": dk.ones(3)})
        assert {name: value.tolist() for name, value in layer.state_dict().items()} == before
    square: Any = nn.Linear(3, 3)
    square.weight = nn.Parameter(ScalarTensor(3, 1.0))
    with pytest.raises(dk.errors.StateDictError, match=r"does not say how it is made of one"):
        square.load_state_dict(nn.Linear(3, 3).state_dict())


@dk.array_type(fallback=dk.fallback.dense)
@dataclass
class Product:
    """Without a method `extra_repr`."""

    left: Any
    right: Any
    kind: str = "plain"

    def to_dense(self) -> Any:
        return self.left @ self.right


def test_a_module_prints_its_structured_parameters() -> None:
    assert repr(adapted()) == "Linear(in_features=4, out_features=3, bias=True, weight=LoraTensor(rank=2))"
    layer = adapted(QuantizedTensor.from_dense(dk.ones((3, 4))))
    assert "weight=LoraTensor(rank=2, base=QuantizedTensor))" in repr(nn.Sequential(layer))
    bare: Any = nn.Module()
    bare.factors = nn.Parameter(Product(dk.ones((3, 1)), dk.ones((1, 4))))
    assert repr(bare) == "Module(factors=Product(left=(3, 1), right=(1, 4), kind='plain'))"

"""`detach` and `data`: outside the graph, in the same memory."""

from __future__ import annotations

import numpy as np
import pytest

import dispatchkit as dk
from tests.graph.test_leaves import leaf


def test_a_detached_tensor_is_outside_the_graph_and_shares_memory() -> None:
    y = leaf(1.0, 2.0) * 2
    d = y.detach()
    assert d.is_leaf
    assert not d.requires_grad
    assert np.shares_memory(d.array, y.array)


def test_data_is_outside_the_graph_and_shares_memory() -> None:
    x = leaf(1.0, 2.0)
    x.data[0] = 9.0
    assert x.tolist() == [9.0, 2.0]
    assert x.requires_grad
    assert not x.data.requires_grad


def test_detach_stops_gradients() -> None:
    x = leaf(3.0)
    (x * x.detach()).backward()
    assert x.grad is not None
    assert x.grad.item() == 3.0


def test_detach_in_place_makes_a_leaf() -> None:
    y = leaf(1.0) * 2
    assert y.detach_() is y
    assert y.is_leaf
    assert not y.requires_grad


def test_new_data_takes_the_place_of_the_old() -> None:
    x = leaf(1.0, 2.0)
    x.data = dk.tensor([5.0, 6.0, 7.0])
    assert x.shape == (3,)
    assert x.is_leaf
    (x * x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [10.0, 12.0, 14.0]


def test_new_data_is_a_tensor() -> None:
    with pytest.raises(TypeError, match="data: expected a tensor, found list"):
        leaf(1.0).data = [1.0]


def test_a_weight_can_be_drawn_through_its_data() -> None:
    weight = dk.zeros((20, 20), requires_grad=True)
    weight.data.uniform_(-0.1, 0.1)
    assert 0 < abs(weight.detach().numpy()).max() <= 0.1
    assert weight.requires_grad


def test_the_attributes_of_a_subclass_come_along() -> None:
    class Named(dk.Tensor):
        name = ""

    x = Named([1.0])
    x.name = "x"
    assert type(x.detach()) is Named
    assert x.detach().name == "x"

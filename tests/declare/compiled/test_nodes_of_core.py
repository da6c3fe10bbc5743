"""What the compiled core makes in place of Python: nodes of calls with parameters and of kernels, and views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.accelerator import core
from dispatchkit.errors import AutogradError
from dispatchkit.graph.node import CallNode
from tests.references import are_let_go

F = dk.nn.functional
NUMBERS = np.arange(1.0, 9.0).reshape(2, 4)
CALLS: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda x: dk.reshape(x, (4, 2)),
    "reshape by name": lambda x: dk.reshape(x, shape=(4, 2)),
    "expand_dims": lambda x: dk.expand_dims(x, axis=0),
    "permute_dims": lambda x: dk.permute_dims(x, (1, 0)),
    "broadcast_to": lambda x: dk.broadcast_to(x, (3, 2, 4)),
    "flip": lambda x: dk.flip(x, axis=1),
    "sum": lambda x: dk.sum(x, axis=0),
    "sum of all": dk.sum,
    "sum, kept": lambda x: dk.sum(x, axis=1, keepdims=True),
    "prod": lambda x: dk.prod(x, axis=1),
    "softmax": lambda x: dk.softmax(x, axis=0),
    "cumulative_sum": lambda x: dk.cumulative_sum(x, axis=1),
    "clip": lambda x: dk.clip(x, 0.7, 1.6),
    "where": lambda x: dk.where(x > 3.0, x, 0.0),
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "layer_norm by name": lambda x: F.layer_norm(x, normalized_shape=[4], eps=1e-3),
    "gelu": F.gelu,
    "linear": lambda x: F.linear(x, x),
    "concat": lambda x: dk.concat([x, x]),
    "take": lambda x: dk.take(x, dk.asarray([0, 0, 1]), axis=0),
    "cross_entropy": lambda x: F.cross_entropy(x, dk.asarray([0, 3])),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_gradients_are_those_of_differences(call: Callable[[Any], Any]) -> None:
    x = dk.asarray(NUMBERS / 4, requires_grad=True)
    assert dk.autograd.gradcheck(call, [x])
    assert dk.autograd.gradgradcheck(call, [x])


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_parameter_gives_tensors(call: Callable[[Any], Any]) -> None:
    for requires_grad in (True, False):
        x = dk.nn.Parameter(dk.asarray(NUMBERS), requires_grad=requires_grad)
        assert type(call(x)) is dk.Tensor
        assert call(x).requires_grad is requires_grad


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_nothing_is_recorded_where_recording_is_off(call: Callable[[Any], Any]) -> None:
    x = dk.asarray(NUMBERS, requires_grad=True)
    with dk.no_grad():
        y = call(x)
    assert not y.requires_grad


def test_a_node_says_what_was_called() -> None:
    x = dk.asarray(NUMBERS, requires_grad=True)
    node: Any = dk.sum(x, axis=0, keepdims=True)._node
    assert type(node) is CallNode
    assert (node.name, node.keywords, node.shape, node.dtype) == (
        "SumBackward",
        {"axis": 0, "keepdims": True},
        (1, 4),
        np.float64,
    )
    assert node.next_functions[0][0] is x._node
    node = F.layer_norm(x, (4,), eps=0.1)._node
    assert node.name == "LayerNormBackward"
    assert node.saved[0] is x
    assert node.saved[1] == (4,)
    assert node.edges[0] is x._node
    assert [*node.saved, *node.keywords.values()][-1] == 0.1
    assert node.edges[1:] == (None,) * (len(node.edges) - 1)


def test_integers_of_a_call_have_no_node() -> None:
    x = dk.asarray(NUMBERS, requires_grad=True)
    assert dk.argmax(x, axis=1).requires_grad is False
    assert dk.astype(x, dk.int64).requires_grad is False


def test_what_was_read_may_not_be_changed() -> None:
    x = dk.asarray(NUMBERS, requires_grad=True)
    base = x * 1.0
    view = base[0]
    y = F.layer_norm(base, (4,)).sum() + dk.prod(base, axis=0).sum()
    view[0] = 5.0
    with pytest.raises(AutogradError, match="changed"):
        y.backward()


def test_views_of_views_are_of_one_family() -> None:
    x: Any = dk.asarray(NUMBERS, requires_grad=True)
    base = x * 1.0
    views = [dk.reshape(base, (8,)), dk.permute_dims(base, (1, 0)), dk.expand_dims(dk.reshape(base, (4, 2)), axis=0)]
    base[0, 0] = 0.0
    assert [view.numpy().flat[0] if not view.requires_grad else view.detach().numpy().flat[0] for view in views] == [
        0.0
    ] * 3
    (views[0] * 2.0).sum().backward()
    assert x.grad.tolist() == [[0.0, 2.0, 2.0, 2.0], [2.0] * 4]


def test_a_view_made_without_recording_is_outside_the_graph() -> None:
    x = dk.asarray(NUMBERS, requires_grad=True)
    base = x * 1.0
    with dk.no_grad():
        view = dk.reshape(base, (8,))
        view[0] = 7.0
    assert not view.requires_grad
    assert base[0, 0].item() == 7.0
    with pytest.raises(AutogradError, match="view made outside the graph"):
        view[0] = 8.0


def test_many_views_do_not_keep_memory() -> None:
    x = dk.asarray(NUMBERS, requires_grad=True)
    base = x * 1.0
    for _ in range(1000):
        dk.reshape(base, (8,))
    memory: Any = base._memory
    assert len(memory.views) < 100


def test_other_arguments_of_a_kernel_are_left_to_python() -> None:
    x = dk.asarray(NUMBERS, requires_grad=True)
    lengths: list[Any] = [(4,), [4], 4, (np.int64(4),), np.asarray([4]).tolist()]
    for length in lengths:
        assert F.layer_norm(x, length).shape == x.shape
        assert F.layer_norm(x, normalized_shape=length).shape == x.shape
    with pytest.raises(ValueError, match="layer_norm"):
        F.layer_norm(x, (3,))


def test_a_subclass_without_attributes_takes_over_nothing() -> None:
    class Bare(dk.Tensor):
        pass

    class Named(dk.Tensor):
        name: str

    assert type(Bare(NUMBERS)[1]) is Bare
    named = Named(NUMBERS)
    named.name = "first"
    part: Any = named[1]
    assert part.name == "first"
    rows: Any = list(named)
    assert [row.name for row in rows] == ["first"] * 2


@pytest.mark.skipif(core is None, reason="the compiled core is not in use")
def test_all_references_are_let_go() -> None:
    x, weight = dk.asarray(NUMBERS, requires_grad=True), dk.asarray(NUMBERS[0])

    def once() -> None:
        for call in CALLS.values():
            call(x)
        F.layer_norm(x, (4,), weight, bias=weight)

    assert are_let_go(once, (x, x.array, weight, weight.array, x._node))


@pytest.mark.parametrize("key", [1, (0, 2), slice(None, None, 2), (..., 1), (None, 0), (slice(1), 3)])
def test_a_part_of_a_tensor_in_the_graph_has_its_node(key: Any) -> None:
    x: Any = dk.asarray(NUMBERS, requires_grad=True)
    for tensor in (x, x * 1.0, dk.nn.Parameter(dk.asarray(NUMBERS))):
        part = tensor[key]
        node: Any = part._node
        assert type(part) is dk.Tensor
        assert node.name == "GetitemBackward"
        assert node.saved[1] == key
        wanted = np.zeros(NUMBERS.shape)
        wanted[key] = 2.0
        (found,) = dk.autograd.grad((part * 2.0).sum(), tensor)
        np.testing.assert_array_equal(found.numpy(), wanted)
        with dk.no_grad():
            assert not tensor[key].requires_grad


def test_a_part_is_changed_with_what_it_is_a_part_of() -> None:
    x: Any = dk.asarray(NUMBERS, requires_grad=True)
    base = x * 1.0
    part = base[0]
    part[1] = 0.0
    (base * base).sum().backward()
    assert x.grad.tolist() == [[2.0, 0.0, 6.0, 8.0], [10.0, 12.0, 14.0, 16.0]]

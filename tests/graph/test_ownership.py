"""Whose memory gradients are: nothing else that anybody holds changes with them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.autograd import Function, grad
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.rules import Rules
from dispatchkit.declare.samples import Sample
from dispatchkit.graph import sweep as ownership
from dispatchkit.graph.node import Node, NodeWrapper, saved_tensors
from dispatchkit.graph.sweep import reachable
from tests.declared import by_operation, differentiable_calls, leaves
from tests.graph.test_leaves import leaf

kept: list[Any] = []


@dk.operation
def passed_by_vjp(xp: Any, x: dk.Tensor, /) -> Any:
    return x * 1.0


@passed_by_vjp.def_vjp
def passed_by_vjp_vjp(xp: Any, g: Any, y: Any, x: Any) -> Any:
    kept.append(g * 1.0)
    return kept[-1]


@dk.operation
def passed_by_transpose(xp: Any, x: dk.Tensor, /) -> Any:
    return x * 1.0


@passed_by_transpose.def_transpose
def passed_by_transpose_transpose(xp: Any, g: Any, x: Any) -> Any:
    kept.append(g * 1.0)
    return kept[-1]


@dk.operation
def looked_at(xp: Any, x: dk.Tensor, /) -> Any:
    return x * 1.0


@looked_at.def_vjp
def looked_at_vjp(xp: Any, g: Any, y: Any, x: Any) -> Any:
    kept.append(g)
    return g


class KeepsResult(Function):
    @staticmethod
    def forward(ctx: Any, x: dk.Tensor) -> Any:
        return x * 1.0

    @staticmethod
    def backward(ctx: Any, g: dk.Tensor) -> Any:
        kept.append((g * 1.0).array)
        return dk.asarray(kept[-1])


class KeepsCotangent(KeepsResult):
    @staticmethod
    def backward(ctx: Any, g: dk.Tensor) -> Any:
        kept.append(g.array)
        return g


def hooked(x: dk.Tensor) -> Any:
    y = x * 1.0
    y.register_hook(lambda g: kept.append(g.array))
    return y + 0.0


def replaced(x: dk.Tensor) -> Any:
    y = x + 0.0

    def hook(g: dk.Tensor) -> Any:
        kept.append(g.array * 2.0)
        return dk.asarray(kept[-1])

    y.register_hook(hook)
    return y


USERS: dict[str, Callable[[dk.Tensor], dk.Tensor]] = {
    "vjp": passed_by_vjp,
    "transpose": passed_by_transpose,
    "cotangent of a vjp": looked_at,
    "Function": KeepsResult.apply,
    "cotangent of a Function": KeepsCotangent.apply,
    "hook": hooked,
    "result of a hook": replaced,
}
AROUND: dict[str, Callable[[dk.Tensor], dk.Tensor]] = {
    "alone": lambda x: x,
    "identity": lambda x: x + 0.0,
    "view": lambda x: x.reshape((2, 1)).T.reshape((2,)),
    "factor": lambda x: x * 2.0,
}


@pytest.mark.parametrize("before", AROUND)
@pytest.mark.parametrize("after", AROUND)
@pytest.mark.parametrize("user", USERS)
def test_a_gradient_shares_no_memory_with_what_user_code_kept(user: str, before: str, after: str) -> None:
    kept.clear()
    x = leaf(1.0, 2.0)
    AROUND[after](USERS[user](AROUND[before](x))).backward(dk.ones(2))
    (mine,) = kept
    assert x.grad is not None
    assert not np.may_share_memory(x.grad.array, mine)
    before_change = mine.tolist()
    x.grad.zero_()
    assert mine.tolist() == before_change


@pytest.mark.parametrize("user", USERS)
def test_what_grad_returns_shares_no_memory_with_what_user_code_kept(user: str) -> None:
    kept.clear()
    x = leaf(1.0, 2.0)
    y = x + 0.0
    for found in grad(USERS[user](y).sum(), (y, x)):
        assert not np.may_share_memory(found.array, kept[0])


@pytest.mark.parametrize("chain", AROUND)
def test_retained_gradients_share_no_memory_with_one_another_or_the_cotangent(chain: str) -> None:
    x, up = leaf(1.0, 2.0), dk.ones(2)
    y = AROUND[chain](x + 0.0)
    z = AROUND[chain](y + 0.0)
    y.retain_grad()
    z.retain_grad()
    z.backward(up)
    for one, other in itertools.combinations((x.grad, y.grad, z.grad, up), 2):
        assert one is not None
        assert other is not None
        assert not np.may_share_memory(one.array, other.array)


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_leaf_that_is_differentiated_itself_gets_a_copy_of_the_cotangent(create_graph: bool) -> None:
    x, up = leaf(1.0, 2.0), dk.ones(2)
    x.backward(up, create_graph=create_graph)
    assert x.grad is not up
    assert x.grad is not None
    assert not np.may_share_memory(x.grad.array, up.array)


@pytest.mark.parametrize("create_graph", [False, True])
def test_what_grad_returns_for_several_inputs_is_apart(create_graph: bool) -> None:
    a, b, up = leaf(1.0, 2.0), leaf(3.0, 4.0), dk.ones(2)
    y = a + b
    found = grad(y, (y, a, b), up, create_graph=create_graph)
    for one, other in itertools.combinations((*found, up), 2):
        assert not np.may_share_memory(one.array, other.array)
    assert all(one.array.flags.writeable for one in found)


@pytest.mark.parametrize("function", [lambda x: x, lambda x: x + 0.0, lambda x: x.reshape((2, 1)).T.reshape((2,))])
@pytest.mark.parametrize("recording", [False, True])
def test_what_a_pullback_returns_shares_no_memory_with_the_cotangent(function: Any, recording: bool) -> None:
    up = dk.ones(2)
    with dk.set_grad_enabled(recording):
        _, pull = dk.func.vjp(function, leaf(1.0, 2.0) if recording else dk.ones(2))
        (found,) = pull(up)
    assert not np.may_share_memory(found.array, up.array)


@pytest.mark.parametrize("recording", [False, True])
def test_what_func_grad_returns_can_be_changed(recording: bool) -> None:
    with dk.set_grad_enabled(recording):
        found = dk.func.grad(dk.sum)(dk.ones(2))
        found += 1
    assert found.tolist() == [2.0, 2.0]


PAIRS: dict[str, Callable[[dk.Tensor, dk.Tensor], dk.Tensor]] = {
    "first": lambda a, b: a + b * 1.0,
    "second": lambda a, b: b * 1.0 + a,
    "views": lambda a, b: a.reshape((2, 1)).T.reshape((2,)) + b,
    "several outputs": lambda a, b: dk.concat(dk.unstack(dk.reshape(a + b * 1.0, (2, 1)))),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_a_hook_that_changes_the_gradient_of_a_leaf_changes_no_other(pair: str) -> None:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    for one in (a, b):
        one.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(10.0))  # type: ignore[union-attr]
    (PAIRS[pair](a, b) * 2.0).backward(dk.ones(2))
    assert a.grad is not None
    assert b.grad is not None
    assert [a.grad.tolist(), b.grad.tolist()] == [[20.0, 20.0], [20.0, 20.0]]


@pytest.mark.parametrize(
    "function",
    [lambda x: dk.concat([x, dk.ones(1000)]), lambda x: dk.sum(x, axis=0, keepdims=True), dk.flip],
    ids=["a part", "one element that is several", "backwards"],
)
def test_a_gradient_has_ordinary_memory_of_its_size(function: Any) -> None:
    x = leaf(1.0, 2.0)
    y = function(x)
    (y * 2.0).backward(dk.ones(y.shape))
    assert x.grad is not None
    array = x.grad.array
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert ownership._owner(array).nbytes == array.nbytes


class Seen(NodeWrapper):
    """Notes what the operation of a node is given and gives in backward passes."""

    __slots__ = ("calls",)

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.calls: list[tuple[list[Any], list[Any]]] = []

    def pull_raw(self, node: Any, g: Any) -> Sequence[Any]:
        found = self.inner.pull_raw(node, g)
        self.calls.append((g if type(g) is list else [g], [one for one in found if type(one) is np.ndarray]))
        return found


def kept_by(node: Any) -> list[Any]:
    """Return the arrays that a node keeps."""
    tensors = [*saved_tensors(node.saved), *saved_tensors(list(getattr(node, "keywords", {}).values()))]
    y = getattr(node, "output", None)
    arrays = [*(tensor.array for tensor in tensors), *(y if isinstance(y, tuple) else (y,)), *node.saved]
    return [one for one in arrays if type(one) is np.ndarray]


@by_operation(("entry", "sample"), differentiable_calls())
def test_the_librarys_rules_give_new_memory_or_that_of_their_cotangent(
    entry: DeclaredOperation, sample: Sample
) -> None:
    function, inputs = leaves(entry, *sample.make(np.random.default_rng(5)))
    outputs = [y for y in function(*inputs) if y.requires_grad]
    nodes: list[Any] = [one for y in outputs for one in reachable([y._node]) if isinstance(one, Node)]
    for node in nodes:
        assert node.operation.trusted
        node.operation = Seen(node.operation)
    for _ in range(2):
        dk.autograd.backward(outputs, [dk.ones(y.shape, dtype=y.dtype) for y in outputs], retain_graph=True)
    for node in nodes:
        given = [g for gs, _ in node.operation.calls for g in gs if g is not None]
        foreign = kept_by(node)
        for _, found in node.operation.calls:
            for one in found:
                if not any(ownership._owner(one) is ownership._owner(g) for g in given):
                    assert not any(np.may_share_memory(one, other) for other in foreign)
            foreign += found


def test_a_rule_that_a_user_gives_an_operation_of_the_library_may_keep_its_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry: Any = dk.tensor_protocol.operation(dk.positive)
    kept.clear()
    x = leaf(1.0, 2.0)
    with monkeypatch.context() as changed:
        changed.setattr(entry.derivative, "rules", Rules())
        changed.setattr(entry.derivative, "trusted", True)
        dk.positive.def_vjp(passed_by_vjp_vjp)
        dk.positive(x).backward(dk.ones(2))
    entry.rules_changed()
    assert x.grad is not None
    assert not np.may_share_memory(x.grad.array, kept[0])


def test_gradients_of_a_training_step_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    x, labels = dk.ones((3, 4)), dk.tensor([0, 1, 1])
    w, b = dk.randn(5, 4, requires_grad=True), dk.zeros(5, requires_grad=True)
    w2, b2 = dk.randn(2, 5, requires_grad=True), dk.zeros(2, requires_grad=True)
    loss = dk.nn.functional.cross_entropy(dk.relu(x @ w.T + b) @ w2.T + b2, labels)

    def refuse(g: Any) -> Any:
        raise AssertionError("a gradient was copied")

    monkeypatch.setattr(ownership, "copy_gradient", refuse)
    loss.backward()
    assert all(p.grad is not None for p in (w, b, w2, b2))

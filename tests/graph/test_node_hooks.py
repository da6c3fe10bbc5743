"""Hooks of nodes, and hooks of several tensors; beside PyTorch where that is installed."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit as dk
from tests.graph.test_leaves import leaf
from tests.waiting import PATIENCE

register = dk.autograd.graph.register_multi_grad_hook


def lists(values: Any) -> Any:
    return (
        [lists(x) for x in values] if isinstance(values, (list, tuple)) else None if values is None else values.tolist()
    )


def product(library: Any, note: Callable[[Any], None], create_graph: bool) -> Any:
    """Go backwards through a product with hooks of its node; return the gradients."""
    x, y = (library.tensor(v, requires_grad=True) for v in ([[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0]))
    z = x * y
    node = z.grad_fn
    node.register_prehook(lambda gs: note(("before", lists(gs))))
    node.register_prehook(lambda gs: (gs[0] * 10,))
    node.register_hook(lambda of_inputs, of_outputs: note(("after", lists(of_inputs), lists(of_outputs))))
    node.register_hook(lambda of_inputs, of_outputs: (of_inputs[0] + of_outputs[0], None))
    removed = node.register_hook(lambda of_inputs, of_outputs: note("removed"))
    removed.remove()
    (z * z).sum().backward(create_graph=create_graph)
    return lists([x.grad, y.grad])


def constant_factor(library: Any, note: Callable[[Any], None], create_graph: bool) -> Any:
    """Go backwards through a product with a number."""
    x = library.tensor([1.0, 2.0], requires_grad=True)
    z = x * library.tensor([3.0, 4.0])
    z.grad_fn.register_hook(lambda of_inputs, of_outputs: note((lists(of_inputs), lists(of_outputs))))
    z.sum().backward(create_graph=create_graph)
    return lists(x.grad)


def several_at_once(library: Any, note: Callable[[Any], None], create_graph: bool) -> Any:
    """Go backwards twice through a graph with hooks of several tensors, then towards some of them."""
    graph = library.autograd.graph
    x, y, unused = (library.tensor(v, requires_grad=True) for v in (2.0, 3.0, 4.0))
    z = x * y
    graph.register_multi_grad_hook([z, x, unused, y], lambda gs: note(("all", lists(gs))))
    graph.register_multi_grad_hook((x, z), lambda g: note(("any", lists(g))), mode="any")
    for _ in range(2):
        (z * z).backward(retain_graph=True, create_graph=create_graph)
    (z * 2).backward(inputs=[y], create_graph=create_graph)
    return lists([x.grad, y.grad])


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("program", [product, constant_factor, several_at_once])
@pytest.mark.filterwarnings("ignore:Using backward")
def test_hooks_see_and_change_what_pytorchs_do(program: Any, create_graph: bool) -> None:
    torch = pytest.importorskip("torch")
    seen: list[list[Any]] = [[], []]
    ours, theirs = (
        program(library, calls.append, create_graph) for library, calls in zip((dk, torch), seen, strict=True)
    )
    assert ours == theirs
    assert seen[0] == seen[1]


def test_hooks_of_a_node_by_hand() -> None:
    seen: list[Any] = []
    assert product(dk, seen.append, False) == [[[600.0, 1680.0], [1800.0, 3360.0]], None]
    before = [[[10.0, 24.0], [30.0, 48.0]]]
    assert seen == [
        ("before", before),
        ("after", [[[500.0, 1440.0], [1500.0, 2880.0]], [1000.0, 2400.0]], [[[100.0, 240.0], [300.0, 480.0]]]),
    ]


def test_hooks_of_several_tensors_by_hand() -> None:
    seen: list[Any] = []
    several_at_once(dk, seen.append, False)
    whole = [("any", 12.0), ("all", [12.0, 36.0, None, 24.0])]
    assert seen == [*whole, *whole, ("any", 2.0), ("all", [2.0, None, None, 4.0])]


def test_hooks_of_an_operation_with_several_outputs() -> None:
    x = leaf(1.0, 2.0, 3.0)
    seen: list[Any] = []
    _, second, third = dk.unstack(x)
    for part in (second, third):
        assert part.grad_fn is not None
        part.grad_fn.register_prehook(lambda gs: seen.append(lists(gs)))
    assert third.grad_fn is not None
    third.grad_fn.register_hook(lambda of_inputs, of_outputs: (of_inputs[0] * 2,))
    (second * 5.0).backward()
    assert seen == [[None, 5.0, None]] * 2
    assert lists(x.grad) == [0.0, 10.0, 0.0]


def test_a_pre_hook_that_leaves_no_gradient() -> None:
    x = leaf(1.0)
    y = x * 2.0
    assert y.grad_fn is not None
    y.grad_fn.register_prehook(lambda gs: (None,))
    y.sum().backward()
    assert x.grad is None


def test_gradients_that_a_hook_keeps_are_not_changed() -> None:
    x = leaf(1.0, 2.0)
    kept: list[Any] = []
    y = x * 2.0
    assert y.grad_fn is not None
    y.grad_fn.register_hook(lambda of_inputs, of_outputs: kept.extend((*of_inputs[:1], *of_outputs)))
    for _ in range(2):
        y.sum().backward(retain_graph=True)
    assert lists(kept) == [[2.0, 2.0], [1.0, 1.0]] * 2
    assert lists(x.grad) == [4.0, 4.0]


def test_hooks_with_other_wrappers_of_the_operation() -> None:
    x = leaf(2.0)
    seen: list[Any] = []
    with dk.autograd.graph.saved_tensors_hooks(lambda t: t + 1.0, lambda t: t - 1.0), dk.autograd.detect_anomaly():
        y = x * x
        assert y.grad_fn is not None
        y.grad_fn.register_hook(lambda *gs: seen.append(lists(gs)))
        y.sum().backward()
    assert seen == [[[[2.0], [2.0]], [[1.0]]]]


def test_a_graph_that_saved_nothing_goes_on_repeating_with_hooks() -> None:
    x = leaf(2.0)
    y = x + 1.0
    assert y.grad_fn is not None
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 3,))
    for _ in range(2):
        y.sum().backward()
    assert lists(x.grad) == [6.0]


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        (3.0, TypeError, "MultiplyBackward: expected a hook to return a tuple of tensors, or None; found float"),
        ((3.0,), TypeError, r"found \['float'\]"),
        ((dk.ones(2),) * 3, ValueError, r"shapes \[\(2,\), None\], found \[\(2,\), \(2,\), \(2,\)\]"),
        ((dk.ones(3), None), ValueError, r"shapes \[\(2,\), None\], found \[\(3,\), None\]"),
    ],
)
def test_what_a_hook_must_not_return(returned: Any, error: type[Exception], message: str) -> None:
    y = leaf(1.0, 2.0) * dk.ones(2)
    assert y.grad_fn is not None
    y.grad_fn.register_hook(lambda of_inputs, of_outputs: returned)
    with pytest.raises(error, match=message):
        y.sum().backward()


def around_a_leaf(library: Any, note: Callable[[Any], None], create_graph: bool) -> Any:
    """Go backwards to a leaf whose vertex has hooks, thrice; return its gradients."""
    x = library.tensor([1.0, 2.0], requires_grad=True)
    vertex = (x * 2).grad_fn.next_functions[0][0]
    vertex.register_hook(lambda of_inputs, of_outputs: note(("after", lists(of_inputs), lists(of_outputs))))
    vertex.register_prehook(lambda gs: note(("before", lists(gs))))
    vertex.register_prehook(lambda gs: (gs[0] * 10,))
    x.register_hook(lambda g: g + 1)
    x.register_post_accumulate_grad_hook(lambda leaf: note(("accumulated", lists(leaf.grad))))
    (x * 3).sum().backward(create_graph=create_graph)
    (x * 4).sum().backward(create_graph=create_graph)
    note(lists(library.autograd.grad((x * 5).sum(), x, create_graph=create_graph)))
    return lists(x.grad)


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_of_the_vertex_of_a_leaf_are_called_around_accumulating(create_graph: bool) -> None:
    notes: list[Any] = []
    assert around_a_leaf(dk, notes.append, create_graph) == [90.0, 90.0]
    assert notes == [
        ("before", [[4.0, 4.0]]),
        ("accumulated", [40.0, 40.0]),
        ("after", [], [[40.0, 40.0]]),
        ("before", [[5.0, 5.0]]),
        ("accumulated", [90.0, 90.0]),
        ("after", [], [[50.0, 50.0]]),
        [[6.0, 6.0]],
    ]


@pytest.mark.filterwarnings("ignore:Using backward")  # with create_graph=True, which PyTorch warns of
@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_of_the_vertex_of_a_leaf_are_those_of_pytorch(create_graph: bool) -> None:
    torch = pytest.importorskip("torch")
    notes: dict[Any, list[Any]] = {dk: [], torch: []}
    gradients = [around_a_leaf(library, notes[library].append, create_graph) for library in notes]
    assert (gradients[0], notes[dk]) == (gradients[1], notes[torch])


def test_a_hook_of_the_vertex_of_a_leaf_is_removed_and_must_return_one_gradient() -> None:
    x = leaf(1.0)
    vertex = (x * 2).grad_fn.next_functions[0][0]  # type: ignore[union-attr]
    returned: Any = (None,)
    with vertex.register_prehook(lambda gs: returned):
        with pytest.raises(TypeError, match=r"AccumulateGrad: expected a hook to return .*; found None in it"):
            x.sum().backward()
        returned = (leaf(1.0, 2.0),)
        with pytest.raises(ValueError, match=r"AccumulateGrad: .* shapes \[\(1,\)\], found \[\(2,\)\]"):
            x.sum().backward()
    assert x.grad is None
    x.sum().backward()
    assert lists(x.grad) == [1.0]


def test_a_gradient_that_a_hook_of_a_leaf_keeps_is_not_changed_by_later_passes() -> None:
    x, kept = leaf(1.0, 2.0), list[Any]()
    vertex = (x * 2).grad_fn.next_functions[0][0]  # type: ignore[union-attr]
    vertex.register_prehook(lambda gs: kept.append(gs[0]))
    for _ in range(2):
        (x * 3).sum().backward()
    assert (lists(kept), lists(x.grad)) == ([[3.0, 3.0], [3.0, 3.0]], [6.0, 6.0])


def test_hooks_of_an_operation_are_called_where_a_pass_ends_that_keeps_its_gradient() -> None:
    x = leaf(1.0)
    y, notes = x * 2, list[Any]()
    assert y.grad_fn is not None
    y.grad_fn.register_prehook(lambda gs: notes.append(lists(gs)))
    (y * 3).sum().backward(inputs=[y])
    assert (notes, lists(y.grad), x.grad) == ([[[3.0]]], [3.0], None)


def test_wrong_arguments_of_hooks_of_several_tensors() -> None:
    x = leaf(1.0)
    with pytest.raises(ValueError, match="register_multi_grad_hook: mode must be 'all' or 'any', found 'some'"):
        register([x], print, mode="some")  # type: ignore[arg-type]
    with pytest.raises(dk.AutogradError, match="register_multi_grad_hook: one of the tensors does not require grad"):
        register([x, dk.ones(1)], print)
    with pytest.raises(TypeError, match="register_multi_grad_hook: one of the tensors is a int, not a tensor"):
        register([1], print)  # type: ignore[list-item]


def test_a_pass_that_fails_leaves_no_gradients_behind() -> None:
    x, y = leaf(1.0), leaf(2.0)
    seen: list[Any] = []
    register([x, y], lambda gs: seen.append(lists(gs)))
    broken = y * 1.0
    handle = broken.register_hook(lambda g: g * (1 / 0))
    loss = (x * 5.0 + broken).sum()
    with pytest.raises(ZeroDivisionError):
        loss.backward()
    handle.remove()
    (x * 3.0 + y * 4.0).sum().backward()
    assert seen == [[[3.0], [4.0]]]


def test_passes_in_several_threads_are_told_apart() -> None:
    x, y = leaf(1.0), leaf(2.0)
    seen: list[Any] = []
    register([x, y], lambda gs: seen.append(lists(gs)))
    both = threading.Barrier(2)
    y.register_hook(lambda g: (both.wait(PATIENCE), None)[1])
    x.register_hook(lambda g: (both.wait(PATIENCE), None)[1])
    threads = [threading.Thread(target=((x * n + y * -n).sum()).backward) for n in (1.0, 2.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [[[1.0], [-1.0]], [[2.0], [-2.0]]]


def test_hooks_of_several_tensors_are_removed_and_keep_nothing_alive() -> None:
    x = leaf(1.0)
    seen: list[Any] = []
    y = x * 2.0
    handle = register([x, y], seen.append)
    node = weakref.ref(y.grad_fn)
    y.sum().backward()
    assert len(seen) == 1
    del y
    gc.collect()
    assert node() is None
    handle.remove()
    x.sum().backward()
    assert len(seen) == 1


def test_vertices_keep_what_users_put_there_and_are_called_for_their_names() -> None:
    x = dk.tensor(2.0, requires_grad=True)
    y: Any = dk.exp(x)
    y.grad_fn.metadata["layer"] = 3
    assert y.grad_fn.metadata == {"layer": 3}
    other: Any = dk.exp(x)
    assert other.grad_fn.metadata == {}
    assert (y.grad_fn.name, y.grad_fn.name()) == ("ExpBackward", "ExpBackward")
    leaf = y.grad_fn.next_functions[0][0]
    assert leaf.name() == "AccumulateGrad"
    y.backward()
    assert y.grad_fn.metadata == {"layer": 3}

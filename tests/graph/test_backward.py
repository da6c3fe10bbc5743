"""The backward pass: cotangents, graphs used again, several roots, gradients by function."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.autograd import backward, grad
from tests.graph.test_leaves import leaf


def test_a_vector_needs_a_cotangent() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(
        dk.AutogradError,
        match=r"grad can be implicitly created only for scalar outputs; this one has shape \(2,\): pass gradient=",
    ):
        (x * 2).backward()


def test_a_tensor_of_one_element_needs_none() -> None:
    x = leaf(2.0)
    (x**3).backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), [12.0])


def test_a_complex_scalar_needs_a_cotangent() -> None:
    z = dk.tensor(1 + 2j, requires_grad=True)
    with pytest.raises(dk.AutogradError, match="only for real scalar outputs"):
        (z * z).backward()


@pytest.mark.parametrize("cotangent", [dk.tensor([1.0, 10.0]), np.array([1.0, 10.0])], ids=["tensor", "NumPy"])
def test_a_vector_is_pulled_back_by_its_cotangent(cotangent: object) -> None:
    x = leaf(2.0, 3.0)
    (x * x).backward(cotangent)
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), [4.0, 60.0])


def test_a_cotangent_of_another_shape_is_refused() -> None:
    with pytest.raises(dk.AutogradError, match=r"\[0\] has a shape of \(3,\) and output\[0\] has a shape of \(2,\)"):
        (leaf(1.0, 2.0) * 2).backward(dk.ones(3))


def test_a_tensor_outside_the_graph_has_nothing_to_go_back_through() -> None:
    with pytest.raises(dk.AutogradError, match="does not require grad and has no grad_fn"):
        dk.ones(()).backward()


def test_a_graph_used_twice_raises_and_says_what_to_do() -> None:
    y = (leaf(1.0) ** 2).sum()
    y.backward()
    with pytest.raises(
        dk.AutogradError, match=r"of PowBackward was freed by an earlier .* Specify retain_graph=True there"
    ):
        y.backward()


def test_a_graph_that_saved_nothing_can_be_used_again() -> None:
    x = leaf(1.0, 2.0)
    y = dk.concat([dk.flip(x + 1.0), -x]).reshape((2, 2)).sum()
    first, second = dk.unstack(x - 3.0)
    for _ in range(3):
        y.backward()
        (first + second).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 3.0]
    dk.autograd.grad(y, x, create_graph=True)
    assert dk.autograd.grad(y, x)[0].tolist() == [0.0, 0.0]


def test_what_an_operation_saved_is_freed_with_what_saved_nothing_around_it() -> None:
    x = leaf(1.0, 2.0)
    y = (dk.exp(x + 1.0) - 1.0).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(dk.AutogradError, match="of ExpBackward was freed by an earlier"):
        y.backward()


def test_a_retained_graph_can_be_used_again() -> None:
    x = leaf(3.0)
    y = (x**2).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad is not None
    assert x.grad.item() == 12.0


def test_create_graph_retains_the_graph() -> None:
    x = leaf(3.0)
    y = (x**2).sum()
    y.backward(create_graph=True)
    y.backward()
    assert x.grad is not None
    assert x.grad.item() == 12.0


def test_a_graph_of_which_a_part_was_freed_raises() -> None:
    x = leaf(2.0)
    shared = x**2
    shared.sum().backward()
    with pytest.raises(dk.AutogradError, match="graph of PowBackward was freed"):
        (shared * 3).sum().backward()


def test_errors_of_autograd_are_runtime_errors() -> None:
    assert issubclass(dk.AutogradError, RuntimeError)
    assert issubclass(dk.InplaceError, dk.AutogradError)


def test_inputs_say_which_leaves_get_gradients() -> None:
    x, y = leaf(2.0), leaf(3.0)
    (x * y).backward(inputs=[x])
    assert x.grad is not None
    assert x.grad.item() == 3.0
    assert y.grad is None


def test_inputs_may_be_one_tensor() -> None:
    x, y = leaf(2.0), leaf(3.0)
    (x * y).backward(inputs=y)
    assert x.grad is None
    assert y.grad is not None


def test_inputs_may_be_no_leaves() -> None:
    x = leaf(2.0)
    y = x * x
    (y * 5).backward(inputs=[y])
    assert y.grad is not None
    assert y.grad.item() == 5.0
    assert x.grad is None


def test_several_roots_add_up() -> None:
    x = leaf(1.0, 2.0)
    backward([(x * x).sum(), x * 10], [None, dk.ones(2)])
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), [12.0, 14.0])


def test_as_many_cotangents_as_outputs() -> None:
    x = leaf(1.0)
    with pytest.raises(ValueError, match="backward: 2 outputs, but 1 cotangents"):
        backward([x * 1, x * 2], [dk.ones(1)])


def test_grad_returns_gradients_and_leaves_the_leaves_alone() -> None:
    x, y = leaf(2.0), leaf(3.0)
    found = grad(x * y, [x, y])
    assert [g.item() for g in found] == [3.0, 2.0]
    assert x.grad is None
    assert y.grad is None


def test_grad_of_a_non_leaf() -> None:
    x = leaf(2.0)
    y = x * x
    assert grad(y * y, y)[0].item() == 8.0


def test_grad_of_an_output_by_itself_is_its_cotangent() -> None:
    y = leaf(2.0) * 3
    assert grad(y, y)[0].item() == 1.0


def test_grad_refuses_an_input_the_output_does_not_depend_on() -> None:
    x, other = leaf(2.0), leaf(1.0)
    with pytest.raises(dk.AutogradError, match="do not depend on input 1; pass allow_unused=True to get None for it"):
        grad(x * x, [x, other])


def test_materialized_gradients_are_zeros_where_none_flow() -> None:
    x, other, y = leaf(1.0, 2.0), dk.tensor([[1.0]], dtype=dk.float32, requires_grad=True), leaf(3.0)
    first, second, third = grad((x * y).sum(), [x, other, y], materialize_grads=True)
    assert (first.tolist(), third.tolist()) == ([3.0, 3.0], [3.0])
    assert (second.tolist(), second.dtype, second.requires_grad) == ([[0.0]], np.float32, False)


def test_batched_cotangents_give_a_gradient_for_each() -> None:
    x, w, other = leaf(1.0, 2.0), leaf(3.0), leaf(4.0)
    ys = x * x * w, dk.sum(x)
    gs = dk.asarray([[1.0, 0.0], [0.0, 1.0], [2.0, -1.0]]), dk.asarray([0.0, 1.0, 2.0])
    found = grad(ys, [x, w, other], gs, is_grads_batched=True, allow_unused=True)
    assert found[2] is None
    for row in range(3):
        expected = grad(ys, [x, w], [g[row] for g in gs], retain_graph=True)
        assert [g[row].tolist() for g in found[:2]] == [g.tolist() for g in expected]
    assert not found[0].requires_grad
    (live,) = grad(ys[0], x, gs[0], is_grads_batched=True, create_graph=True)
    assert grad(live.sum(), x)[0].tolist() == [18.0, 0.0]
    assert grad(ys[0], x, gs[0][:0], is_grads_batched=True)[0].shape == (0, 2)


def test_batched_cotangents_of_another_shape_are_named() -> None:
    y = leaf(1.0, 2.0) * 2
    with pytest.raises(dk.AutogradError, match=r"needs grad_outputs \(n, \*\(2,\)\), found \(2,\)"):
        grad(y, y, dk.ones(2), is_grads_batched=True)
    with pytest.raises(dk.AutogradError, match="found None"):
        grad(y, y, is_grads_batched=True)


def test_a_gradient_edge_takes_the_place_of_a_tensor() -> None:
    x = leaf(1.0, 2.0)
    first, second = dk.unstack(x * 3)
    edges = [dk.autograd.graph.get_gradient_edge(t) for t in (x, first, second)]
    assert [edge.output_nr for edge in edges] == [0, 0, 1]
    found = grad(first * second, edges)
    assert [g.tolist() for g in found] == [[18.0, 9.0], 6.0, 3.0]
    assert grad(second * 2, edges[1], materialize_grads=True)[0].tolist() == 0.0
    dk.autograd.backward(dk.sum(x), inputs=edges[0])
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 1.0]
    with pytest.raises(dk.AutogradError, match="get_gradient_edge: the tensor does not require grad"):
        dk.autograd.graph.get_gradient_edge(dk.ones(1))


def test_a_pass_starts_at_a_gradient_edge_whose_tensor_is_gone() -> None:
    x = leaf(1.0, 2.0)
    y = dk.sum(x * x)
    edge = dk.autograd.graph.get_gradient_edge(y)
    z = y * 3.0
    (g,) = grad(z, edge, retain_graph=True)
    del y
    assert grad(edge, x, g, retain_graph=True)[0].tolist() == [6.0, 12.0]
    (first,) = grad(edge, x, create_graph=True)  # of one element, so that it needs no cotangent
    assert grad(first.sum(), x)[0].tolist() == [2.0, 2.0]
    dk.autograd.backward([edge, dk.sum(x)], [g, None], retain_graph=True)
    assert x.grad is not None
    assert x.grad.tolist() == [7.0, 13.0]
    several = dk.autograd.graph.get_gradient_edge(x * 2)
    with pytest.raises(dk.AutogradError, match=r"only for scalar outputs; this one has shape \(2,\)"):
        grad(several, x)
    with pytest.raises(dk.AutogradError, match=r"\[0\] has a shape of \(3,\) and output\[0\] has a shape of \(2,\)"):
        grad(several, x, dk.ones(3))
    with pytest.raises(dk.AutogradError, match="take tensors as outputs, not gradient edges"):
        grad(several, x, dk.ones((1, 2)), is_grads_batched=True)


def test_allow_unused_gives_none() -> None:
    x, other = leaf(2.0), leaf(1.0)
    used, unused = grad(x * x, [x, other], allow_unused=True)
    assert used.item() == 4.0
    assert unused is None


def test_grad_refuses_an_input_outside_the_graph() -> None:
    x = leaf(2.0)
    with pytest.raises(dk.AutogradError, match="one of the inputs does not require grad"):
        grad(x * x, dk.ones(1))


def test_grad_takes_cotangents() -> None:
    x = leaf(1.0, 2.0)
    (g,) = grad(x * x, x, dk.tensor([1.0, 0.5]))
    np.testing.assert_array_equal(g.numpy(), [2.0, 2.0])


def test_what_is_not_on_the_way_to_the_inputs_keeps_its_graph() -> None:
    x, y = leaf(2.0), leaf(3.0)
    squared = y * y
    grad((x * squared).sum(), x)
    squared.backward()
    assert y.grad is not None
    assert y.grad.item() == 6.0


def test_something_that_is_no_tensor_is_refused() -> None:
    with pytest.raises(TypeError, match="the tensor to differentiate is a float, not a tensor"):
        backward(1.0)  # type: ignore[arg-type]


def test_gradients_flow_through_one_of_several_outputs() -> None:
    x = dk.tensor([[3.0, 1.0], [1.0, 2.0]], requires_grad=True)
    dk.linalg.slogdet(x).logabsdet.backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), np.linalg.inv(x.detach().numpy()).T)


def test_gradients_flow_through_members_of_a_sequence() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0)
    (dk.concat([x, y, x]) * dk.arange(5.0)).sum().backward()
    assert x.grad is not None
    assert y.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 5.0])
    np.testing.assert_array_equal(y.grad.numpy(), [2.0])


def test_a_diamond_is_swept_once() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(60):
        y = y + y  # 2**60 paths
    y.backward()
    assert x.grad is not None
    assert x.grad.item() == 2.0**60


def test_an_error_in_a_hook_comes_out_as_it_is() -> None:
    x = leaf(1.0)

    def fail(g: dk.Tensor) -> None:
        raise LookupError("mine")

    x.register_hook(fail)
    with pytest.raises(LookupError, match="mine"):
        (x * 2).backward()


def test_no_inputs_at_all_are_refused() -> None:
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    text = "^backward: inputs is empty; leave it out for all leaves$"
    with pytest.raises(dk.AutogradError, match=text):
        y.backward(inputs=[])
    with pytest.raises(dk.AutogradError, match=text):
        backward(y, inputs=())
    with pytest.raises(dk.AutogradError) as caught:
        grad(y, [])
    assert str(caught.value) == "grad: inputs is empty; name the tensors to differentiate by"
    y.backward()
    assert x.grad is not None


def test_a_gradient_can_be_deleted() -> None:
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    del x.grad
    assert x.grad is None
    constant = dk.ones(2)
    constant.grad = dk.ones(2)
    del constant.grad
    assert constant.grad is None


def test_zeros_of_unused_inputs_are_differentiable_again() -> None:
    x, a = dk.tensor(0.5, requires_grad=True), dk.tensor(2.0, requires_grad=True)
    (slope,) = grad(x * a, x, create_graph=True)
    (second,) = grad(slope, x, create_graph=True, materialize_grads=True)
    (third,) = grad(second, x, materialize_grads=True)
    assert (second.item(), third.item()) == (0.0, 0.0)
    assert not third.requires_grad
    with pytest.raises(ValueError, match="gives zeros for unused inputs, which allow_unused=False refuses"):
        grad(x * a, x, allow_unused=False, materialize_grads=True)


def test_what_arrives_from_several_places_is_added_without_a_change_of_what_was_given() -> None:
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2.0
    g, further = dk.asarray([1.0, 10.0]), dk.asarray([3.0, 4.0])
    seen: list[dk.Tensor] = []
    y.register_hook(seen.append)
    (of_x,) = dk.autograd.grad([y + y + y + y, y], [x], [g, further], retain_graph=True)
    assert of_x.tolist() == [14.0, 88.0]
    assert g.tolist() == [1.0, 10.0]
    assert further.tolist() == [3.0, 4.0]
    dk.autograd.grad(y + y + y, [x], [g])
    assert [part.tolist() for part in seen] == [[7.0, 44.0], [3.0, 30.0]]


def test_cotangents_of_one_array_at_two_places_are_added_apart() -> None:
    x, w = (dk.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    a, b = x * 1.0, w * 1.0
    (a + b + a + b + a).sum().backward()
    assert x.grad is not None
    assert w.grad is not None
    assert (x.grad.tolist(), w.grad.tolist()) == ([3.0, 3.0], [2.0, 2.0])


def test_elements_selected_one_by_one_give_their_cotangents_to_one_array() -> None:
    x = dk.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    y = x * 1.0
    parts = [y[0, 1], y[-1], y[1:], y[..., 0], y[None, 2, ::-1], y[True]]
    dk.stack([(i + 1) * part.sum() for i, part in enumerate(parts)]).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[10.0, 7.0], [13.0, 9.0], [20.0, 16.0]]


def test_a_vertex_that_is_called_pulls_gradients_back_and_leaves_the_graph_as_it_is() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    node: Any = (x * y).grad_fn
    assert [g.tolist() for g in node(dk.ones(2))] == [[3.0, 4.0], [1.0, 2.0]]
    assert x.grad is None
    square: Any = (x * x.detach()).grad_fn
    assert square(dk.ones(2))[1] is None
    exponential: Any = dk.exp(x).grad_fn
    assert exponential(dk.ones(2)).tolist() == dk.exp(x).tolist()
    first: Any = dk.unstack(x)[0].grad_fn
    assert first(dk.asarray(5.0), None).tolist() == [5.0, 0.0]
    with pytest.raises(TypeError, match="MultiplyBackward: expected 1 arguments, got 2 instead"):
        node(dk.ones(2), dk.ones(2))
    with pytest.raises(TypeError, match="UnstackBackward: expected 2 arguments, got 0 instead"):
        first()
    z = dk.sum(x * y)
    freed: Any = z.grad_fn.next_functions[0][0]  # type: ignore[union-attr]
    z.backward()
    with pytest.raises(dk.AutogradError, match=r"Trying to backward through the graph a second time: .* Multiply"):
        freed(dk.ones(2))


def test_a_change_that_is_not_seen_can_be_counted() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1.0
    z = dk.sum(y * y)
    y.detach().numpy()[0] = 5.0
    dk.autograd.graph.increment_version([y, x])
    assert (y._version, x._version) == (1, 1)
    with pytest.raises(dk.InplaceError):
        z.backward()
    with pytest.raises(TypeError, match="increment_version: expected tensors, found a int"):
        dk.autograd.graph.increment_version([3])  # type: ignore[list-item]


def test_a_pass_makes_no_class() -> None:
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    called = set()

    def note(frame: Any, event: str, arg: Any) -> None:
        if event == "call":
            called.add(frame.f_code.co_qualname)

    before, y = sys.getprofile(), (x * x).sum()
    sys.setprofile(note)
    try:
        y.backward()
    finally:
        sys.setprofile(before)
    assert [name for name in called if name.endswith("__new__")] == []

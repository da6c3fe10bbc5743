"""Versions: a value that a backward pass needs and that was changed since is noticed, and named."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from tests.graph.test_leaves import leaf
from tests.programs.faults.running import faults, lines_of

CHANGES: dict[str, Callable[[Any], Any]] = {
    "operator": lambda w: w.__iadd__(1),
    "method": lambda w: w.mul_(2.0),
    "assignment": lambda w: w.__setitem__(0, 9.0),
    "filler": lambda w: w.zero_(),
    "copy_": lambda w: w.copy_(dk.ones(2)),
    "unary": lambda w: w.exp_(),
    "uniform_": lambda w: w.uniform_(),
    "setitem": lambda w: dk.setitem(w, slice(None), 0.0),
}


class Tagged(dk.Tensor):
    """A subclass without a difference."""


ALIASES: dict[str, Callable[[Any], Any]] = {
    "itself": lambda w: w,
    "slice": lambda w: w[:1],
    "reshape": lambda w: w.reshape((2, 1)),
    "transpose": lambda w: w.reshape((1, 2)).T,
    "detach": lambda w: w.detach(),
    "data": lambda w: w.data,
    "asarray": dk.asarray,
    "Tensor": dk.Tensor,
    "copy": copy.copy,
    "as_subclass": lambda w: w.as_subclass(Tagged),
    "view of detach": lambda w: w.detach()[1:],
    "to": lambda w: w.to(dk.float64),
    "from_dlpack": lambda w: dk.from_dlpack(w),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_every_change_counts(change: Callable[[Any], Any]) -> None:
    w = dk.tensor([3.0, 4.0])
    before = w._version
    change(w)
    assert w._version > before


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_a_changed_argument_is_noticed(change: Callable[[Any], Any]) -> None:
    x, w = leaf(1.0, 2.0), dk.tensor([3.0, 4.0])
    y = (x * w).sum()
    change(w)
    with pytest.raises(dk.InplaceError):
        y.backward()


@pytest.mark.parametrize("alias", ALIASES.values(), ids=list(ALIASES))
def test_a_change_through_shared_memory_is_noticed(alias: Callable[[Any], Any]) -> None:
    x, w = leaf(1.0, 2.0), dk.tensor([3.0, 4.0])
    y = (x * w).sum()
    alias(w).add_(1.0)
    assert w.tolist() != [3.0, 4.0]
    with pytest.raises(dk.InplaceError):
        y.backward()


@pytest.mark.parametrize("alias", ALIASES.values(), ids=list(ALIASES))
def test_a_change_of_what_an_alias_looks_at_is_noticed(alias: Callable[[Any], Any]) -> None:
    w = dk.tensor([3.0, 4.0])
    view = alias(w)
    x = dk.ones(view.shape, requires_grad=True)
    y = (x * view).sum()
    w += 1
    with pytest.raises(dk.InplaceError):
        y.backward()


def test_new_data_for_a_value_that_is_needed_is_noticed_or_does_no_harm() -> None:
    x, w = leaf(1.0, 2.0), dk.tensor([3.0, 4.0])
    y = (x * w).sum()
    w.data = dk.tensor([30.0, 40.0])
    try:
        y.backward()
    except dk.InplaceError:
        return
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 4.0]


def test_new_data_shares_its_memory_knowingly() -> None:
    x, w, new = leaf(1.0, 2.0), dk.tensor([3.0, 4.0]), dk.tensor([5.0, 6.0])
    w.data = new
    y = (x * w).sum()
    new += 1
    with pytest.raises(dk.InplaceError):
        y.backward()


def test_a_changed_output_that_a_rule_reads_is_noticed() -> None:
    y = dk.exp(leaf(1.0, 2.0))
    y += 1
    with pytest.raises(dk.InplaceError, match="backward of ExpBackward"):
        y.sum().backward()


BY_INPUTS: dict[str, Callable[[Any, Any], Any]] = {
    "x / w": lambda x, w: x / w,
    "w / x": lambda x, w: w / x,
    "1 / x": lambda x, w: 1 / x,
    "x**2": lambda x, w: x**2,
    "x**1.5": lambda x, w: x**1.5,
    "x**w": lambda x, w: x**w,
    "w**x": lambda x, w: w**x,
    "reciprocal": lambda x, w: dk.reciprocal(x),
    "maximum": dk.maximum,
    "minimum": dk.minimum,
    "logaddexp": dk.logaddexp,
    "atan2": dk.atan2,
    "remainder": dk.remainder,
}


@pytest.mark.parametrize("name", BY_INPUTS)
@pytest.mark.parametrize("tracked", [False, True])
def test_an_output_that_no_rule_reads_may_be_changed(name: str, tracked: bool) -> None:
    function = BY_INPUTS[name]
    x, w = leaf(1.5, 2.0, 5.0), dk.tensor([2.0, 3.0, 4.0], requires_grad=tracked)
    (expected,) = dk.autograd.grad(function(x, w)[1:].sum(), [x])
    z = function(x, w)
    z[0] = 0.0
    z.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, *expected.tolist()[1:]]


def test_a_standardized_array_may_be_masked() -> None:
    x = leaf(1.0, 2.0, 3.0, 7.0)
    z = (x - x.mean()) / x.std()
    (expected,) = dk.autograd.grad((z * dk.tensor([0.0, 1.0, 1.0, 1.0])).sum(), [x], retain_graph=True)
    z[dk.tensor([True, False, False, False])] = 0.0
    z.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == expected.tolist()


def test_an_output_changed_through_a_view_is_noticed() -> None:
    y = dk.exp(leaf(1.0, 2.0))
    with dk.no_grad():
        y[:1] += 1
    with pytest.raises(dk.InplaceError, match="backward of ExpBackward"):
        y.sum().backward()


def test_an_index_that_was_changed_is_noticed() -> None:
    index = dk.tensor([0, 1])
    y = leaf(1.0, 2.0)[index].sum()
    index.zero_()
    with pytest.raises(dk.InplaceError, match="backward of GetitemBackward"):
        y.backward()


def test_a_member_of_a_sequence_that_was_changed_is_noticed_or_does_no_harm() -> None:
    x, w = leaf(1.0, 2.0), dk.tensor([3.0, 4.0])
    y = (dk.stack([x, w]) ** 2).sum()
    w += 1
    y.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 4.0]


def test_one_of_several_outputs_that_was_changed_is_noticed_whatever_became_of_the_others() -> None:
    x = dk.tensor([[2.0, 1.0], [0.5, 3.0]], requires_grad=True)
    u, s, _ = dk.linalg.svd(x)
    loss = u.sum() + s.sum()
    u += 1
    s.detach()
    with pytest.raises(dk.InplaceError, match=r"backward of SvdBackward .* shape \(2, 2\) is at version 1, expected"):
        loss.backward()


def test_a_change_is_not_forgotten_when_the_output_is_copied() -> None:
    y = dk.exp(leaf(1.0, 2.0))
    loss = y.sum()
    y.detach()
    with dk.no_grad():
        y += 1
    copy.copy(y)
    with pytest.raises(dk.InplaceError, match=r"backward of ExpBackward .* is at version 1, expected version 0"):
        loss.backward()


def test_a_change_before_the_call_does_no_harm() -> None:
    x, w = leaf(1.0, 2.0), dk.tensor([3.0, 4.0])
    w += 1
    view = w[:1]
    view += 1
    (x * w).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [5.0, 5.0]


def test_a_change_of_what_no_rule_reads_does_no_harm() -> None:
    x, w = leaf(1.0, 2.0), dk.tensor([3.0, 4.0])
    y = (x + w).sum()
    w += 1
    y.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_change_after_the_backward_pass_does_no_harm() -> None:
    x, w = leaf(1.0, 2.0), dk.tensor([3.0, 4.0])
    y = (x * w).sum()
    y.backward()
    w += 1
    (x * w).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [7.0, 9.0]


def test_a_leaf_stepped_between_forward_and_backward_is_noticed() -> None:
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    with dk.no_grad():
        x -= 0.1
    with pytest.raises(dk.InplaceError):
        y.backward()


def test_the_error_names_operation_shape_and_both_versions() -> None:
    x, w = dk.ones((2, 3), dtype=dk.float32, requires_grad=True), dk.ones((2, 3), dtype=dk.float32)
    w += 1
    y = (x * w).sum()
    w += 1
    w += 1
    with pytest.raises(dk.InplaceError) as caught:
        y.backward()
    assert str(caught.value) == (
        "a value needed by the backward of MultiplyBackward was changed by an in-place operation: float32 tensor of "
        "shape (2, 3) is at version 3, expected version 1; change a copy instead (detach() in place of detach_()), or "
        "change it after the backward pass"
    )
    error = caught.value
    assert (error.operation, error.shape, error.saved, error.found) == ("MultiplyBackward", (2, 3), 1, 3)


def test_views_and_detached_tensors_count_together() -> None:
    w = dk.tensor([3.0, 4.0])
    view, detached = w[:1], w.detach()
    view += 1
    assert w._version == view._version == detached._version == 1


def test_a_copy_counts_for_itself() -> None:
    w = dk.tensor([3.0, 4.0])
    other = dk.tensor(w)
    other += 1
    assert (w._version, other._version) == (0, 1)
    assert w.tolist() == [3.0, 4.0]


class Squared(dk.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g * ctx.saved_tensors[0]


SAVING: dict[str, Callable[[Any], Any]] = {
    "multiply": lambda h: h * h,
    "sin": dk.sin,
    "matmul": lambda h: h @ h,
    "cumulative_prod": dk.cumulative_prod,
    "concat": lambda h: dk.concat([h * h, h]),
    "Function": Squared.apply,
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("operation", SAVING.values(), ids=SAVING)
def test_a_saved_tensor_that_was_detached_in_place_is_refused(
    operation: Callable[[Any], Any], create_graph: bool
) -> None:
    # Its first derivative would be right, and the second be without the way through the tensor.
    x = leaf(1.0, 2.0)
    h = x * x
    y = operation(h).sum()
    h.detach_()
    with pytest.raises(
        dk.InplaceError, match=r"needed by the backward of .*change a copy instead \(detach\(\) in place"
    ):
        y.backward(create_graph=create_graph)


def test_a_tensor_that_only_its_own_node_saved_can_be_detached_in_place() -> None:
    x = leaf(1.0, 2.0)
    h = dk.exp(x)
    y = (h + 1).sum()
    h.detach_()
    (first,) = dk.autograd.grad(y, x, create_graph=True)
    (second,) = dk.autograd.grad(first.sum(), x)
    assert first.tolist() == second.tolist() == dk.exp(x).tolist()


def test_a_tensor_outside_the_graph_and_a_leaf_can_be_detached_in_place() -> None:
    x, constant = leaf(1.0, 2.0), dk.ones(2)
    y = (x * constant * x).sum()
    constant.detach_()
    (gradient,) = dk.autograd.grad(y, x, retain_graph=True)
    assert gradient.tolist() == [2.0, 4.0]
    x.detach_()
    y.backward()


def test_a_gradient_that_is_added_to_counts_as_changed_after_an_interrupt() -> None:
    assert not faults("a backward pass", KeyboardInterrupt, range(1, lines_of("a backward pass") + 1, 2))


def test_data_of_a_tensor_that_requires_grad_stays_floating() -> None:
    x = dk.ones(2, requires_grad=True)
    with pytest.raises(dk.AutogradError, match="only floating-point and complex tensors can require grad"):
        x.data = dk.arange(2)
    assert x.tolist() == [1.0, 1.0]


DEFINITE = np.array([[3.0, 1.0], [1.0, 2.0]])
KEPT_APART: dict[str, Callable[[Any], Any]] = {
    "sort": dk.sort,
    "sort in descending order": lambda x: dk.sort(x, axis=0, descending=True),
    "eigvalsh": dk.linalg.eigvalsh,
    "eigvals": lambda x: dk.real(dk.linalg.eigvals(x)),
    "svdvals": dk.linalg.svdvals,
    "cross_entropy of probabilities": lambda x: dk.nn.functional.cross_entropy(x, dk.asarray(DEFINITE)),
    "cross_entropy of smoothed classes": lambda x: dk.nn.functional.cross_entropy(
        x, dk.asarray([1, 0]), dk.asarray([0.5, 2.0]), label_smoothing=0.1
    ),
}


@pytest.mark.parametrize("name", KEPT_APART)
def test_an_argument_that_is_kept_in_a_copy_or_not_at_all_may_be_changed(name: str) -> None:
    function, found = KEPT_APART[name], []
    for factor in (1.0, -2.0):
        leaf = dk.tensor(DEFINITE, requires_grad=True)
        x = leaf * 1.0
        y = function(x)
        x *= factor
        y.sum().backward()
        assert leaf.grad is not None
        found.append(leaf.grad.numpy())
    np.testing.assert_array_equal(*found)


def test_results_of_slogdet_may_be_changed_and_its_argument_not() -> None:
    leaf = dk.tensor(DEFINITE, requires_grad=True)
    x = leaf * 1.0
    y = dk.linalg.slogdet(x)
    for part in y:
        part *= -2.0
    y.logabsdet.backward()
    assert leaf.grad is not None
    np.testing.assert_allclose(leaf.grad.numpy(), -2.0 * np.linalg.inv(DEFINITE).T)
    y = dk.linalg.slogdet(x)
    x *= 2.0
    with pytest.raises(dk.InplaceError, match="backward of SlogdetBackward"):
        y.logabsdet.backward()


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("dtype", [dk.float32, dk.float64])
def test_the_argument_of_gelu_may_not_be_changed(approximate: Any, dtype: Any) -> None:
    x = dk.linspace(-2.0, 2.0, 200, dtype=dtype, requires_grad=True) * 1.0
    y = dk.nn.functional.gelu(x, approximate=approximate)
    x *= 2.0
    with pytest.raises(dk.InplaceError, match="backward of GeluBackward"):
        y.sum().backward()

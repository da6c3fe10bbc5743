"""Backward passes in PyTorch's spelling: hooks, edges, anomalies, and what programs ask of a pass that runs."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch
from dispatchkit.graph import sweep

CORE: Any = sys.modules["dispatchkit.as_torch._C"]


def leaf(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def test_a_post_accumulate_hook_returns_none() -> None:
    x = leaf(1.0, 2.0)
    x.register_post_accumulate_grad_hook(lambda p: p.grad)
    with pytest.raises(dk.AutogradError) as caught:
        x.sum().backward()
    assert str(caught.value) == "Tensor post accumulate grad hooks should return None."


def test_a_post_accumulate_hook_can_be_removed() -> None:
    x, seen = leaf(1.0), []
    handle = x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    x.sum().backward()
    handle.remove()
    x.sum().backward()
    assert seen == [[1.0]]


def test_the_hook_of_a_leafs_vertex_sees_the_memory_of_its_first_gradient() -> None:
    x = leaf(1.0, 2.0)
    vertex = x.view_as(x).grad_fn.next_functions[0][0]
    seen = []

    def raise_by_half(p: Any) -> None:
        p.grad.add_(0.5)

    x.register_post_accumulate_grad_hook(raise_by_half)
    vertex.register_hook(lambda none, gradients: seen.append(gradients[0].tolist()))
    x.sum().backward()
    assert seen == [[1.5, 1.5]]


def test_zeros_are_not_made_for_a_gradient_edge() -> None:
    x, y = leaf(1.0).clone(), leaf(2.0).clone()
    edges = [torch.autograd.graph.get_gradient_edge(each) for each in (x, y)]
    out = x.clone().sum()
    grad = torch.autograd.grad
    with pytest.raises(RuntimeError) as caught:
        grad(out, (x, edges[1]), allow_unused=True, materialize_grads=True, retain_graph=True)
    assert str(caught.value) == "materialize_grads cannot be used when the given input is a GradientEdge"
    found = grad(out, (edges[0], y), materialize_grads=True, retain_graph=True)
    assert [g.tolist() for g in found] == [[1.0], [0.0]]
    assert grad(out, (x, edges[1]), allow_unused=True, retain_graph=True)[1] is None
    second = grad(out, (edges[0], y), create_graph=True, materialize_grads=True)[1]
    assert second.requires_grad


@pytest.mark.parametrize("name", ["data", "requires_grad", "_grad_fn", "_backward_hooks"])
def test_attributes_of_tensors_cannot_be_deleted(name: str) -> None:
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match=f"tensor attribute '{name}' cannot be deleted"):
        delattr(x, name)
    del x.grad
    assert x.grad is None
    # Either would have each attribute of each result set by a search for a method.
    assert torch.Tensor.__delattr__ is object.__delattr__
    assert torch.Tensor.__setattr__ is object.__setattr__


def test_hooks_are_read_and_replaced_by_their_private_name() -> None:
    x, seen = leaf(1.0), list[Any]()
    assert x._backward_hooks is None
    handle = x.register_hook(seen.append)
    held: Any = x._backward_hooks
    assert list(held) == [handle.id]
    x._backward_hooks = {}
    x.sum().backward()
    assert seen == []
    plain: Any = torch.ones(1)
    assert plain._backward_hooks is None
    plain._backward_hooks = {}
    plain._backward_hooks["test"] = seen.append
    (x * plain).sum().backward()
    assert seen == []
    assert list(plain._backward_hooks) == ["test"]


def test_volatile_is_gone_with_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"volatile was removed \(Variable.volatile is always False\)"):
        assert not torch.autograd.torch.ones(2).volatile


def test_each_pass_has_a_number() -> None:
    seen: list[int] = []
    y = leaf(1.0).clone()
    y.register_hook(lambda g: seen.append(CORE._current_graph_task_id()))
    y.register_hook(lambda g: seen.append(CORE._current_graph_task_id()))
    for _ in range(3):
        y.backward(retain_graph=True)
    assert seen == [seen[0], seen[0], seen[0] + 1, seen[0] + 1, seen[0] + 2, seen[0] + 2]
    assert CORE._current_graph_task_id() == -1


def test_a_pass_that_is_interrupted_as_it_ends_runs_no_longer_once_modes_are_reset() -> None:
    sweep._running.set(([],))  # as an interrupt leaves it that comes while a pass takes itself away
    assert CORE._current_graph_task_id() != -1
    assert "backward passes" in dk.reset_modes()
    assert CORE._current_graph_task_id() == -1


def test_a_pass_inside_a_pass_has_a_number_of_its_own() -> None:
    seen: list[int] = []

    def number(g: Any) -> None:
        seen.append(CORE._current_graph_task_id())

    def inside(g: Any) -> None:
        number(g)
        with torch.enable_grad():
            y = leaf(1.0).clone()
        y.register_hook(number)
        y.backward()
        number(g)

    y = leaf(1.0).clone()
    y.register_hook(inside)
    y.backward()
    assert seen == [seen[0], seen[0] + 1, seen[0]]


class Failing(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        raise KeyError("mine")


def with_anomalies(function: Any) -> None:
    """Call a function where anomalies are detected."""
    with torch.autograd.detect_anomaly():
        function()


def test_detect_anomaly_warns_and_tells_of_the_forward_call() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(dk.errors.AnomalyError), torch.autograd.detect_anomaly():
            Failing.apply(leaf(1.0)).sum().backward()
    first, second = (str(each.message) for each in seen)
    assert first == (
        "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
        "debugging."
    )
    assert seen[0].filename == __file__
    assert second.startswith("Error detected in FailingBackward. Traceback of forward call that caused the error:\n")
    assert "Failing.apply(leaf(1.0))" in second


def test_an_anomaly_of_a_call_outside_has_no_forward_information() -> None:
    y = Failing.apply(leaf(1.0)).sum()
    with pytest.warns(UserWarning, match="Error|Anomaly|Previous") as seen, pytest.raises(dk.errors.AnomalyError):
        with_anomalies(y.backward)
    assert str(seen[1].message) == (
        "Error detected in FailingBackward. No forward pass information available. Enable detect anomaly during "
        "forward pass for more information."
    )


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return Failing.apply(2 * g * ctx.saved_tensors[0])


def test_an_anomaly_of_a_second_derivative_tells_what_induced_it() -> None:
    def differentiate_twice() -> None:
        x = leaf(1.0)
        (slope,) = torch.autograd.grad(Squared.apply(x).sum(), x, create_graph=True)
        slope.sum().backward()

    with pytest.warns(UserWarning, match="Error|Anomaly|Previous") as seen, pytest.raises(dk.errors.AnomalyError):
        with_anomalies(differentiate_twice)
    texts = [str(each.message) for each in seen]
    assert "Error detected in FailingBackward." in texts[1]
    assert "Failing.apply(2 * g" in texts[1]
    assert "Previous calculation was induced by SquaredBackward. Traceback of forward call" in texts[2]
    assert "Squared.apply(x)" in texts[2]


def test_where_warnings_are_errors_the_failure_is_raised_and_they_are_written(capsys: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anomaly = torch.autograd.detect_anomaly()
        warnings.simplefilter("error")
        with pytest.raises(dk.errors.AnomalyError), anomaly:
            Failing.apply(leaf(1.0)).sum().backward()
    assert "Error detected in FailingBackward." in capsys.readouterr().err


def test_set_detect_anomaly_warns_of_failures_alone() -> None:
    failing, off = Failing.apply(leaf(1.0)).sum(), torch.autograd.set_detect_anomaly(True)
    with pytest.warns(UserWarning, match="Error") as seen, pytest.raises(dk.errors.AnomalyError), off:
        failing.backward()
    assert len(seen) == 1


def test_strict_does_not_go_with_vectorize() -> None:
    for name in ("jacobian", "hessian"):
        with pytest.raises(dk.AutogradError) as caught:
            getattr(torch.autograd.functional, name)(lambda x: x.sum(), torch.ones(2), strict=True, vectorize=True)
        assert str(caught.value) == (
            f"torch.autograd.functional.{name}: `strict=True` and `vectorize=True` are not supported together. Please "
            "either set `strict=False` or `vectorize=False`."
        )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"check_backward_ad": False}, "Expected at least one of check_forward_ad or check_backward_ad to be True"),
        (
            {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
            "Setting check_batched_grad=True requires check_backward_ad to be True",
        ),
        (
            {"check_batched_forward_grad": True},
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True",
        ),
    ],
)
def test_gradcheck_refuses_options_that_do_not_go_together(options: Any, text: str) -> None:
    x = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    with pytest.raises(AssertionError) as caught:
        torch.autograd.gradcheck(torch.exp, (x,), **options)
    assert str(caught.value) == text
    assert torch.autograd.gradcheck(torch.exp, (x,), check_forward_ad=True)


def test_gradcheck_refuses_outputs_whose_form_depends_on_values() -> None:
    x = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    functions = {
        "shape": lambda x: torch.cat([x, x]) if x >= 1 else x,
        "dtype": lambda x: x.to(torch.float32) if x >= 1 else x,
    }
    for what, function in functions.items():
        with pytest.raises(AssertionError) as caught:
            torch.autograd.gradcheck(function, (x,))
        assert str(caught.value).startswith(
            f"Expected func to return outputs with the same {what} when inputs are perturbed: The {what}s of the "
            "outputs depend on the values of input 0: "
        )


def matrices() -> tuple[Any, Any]:
    a, b = (torch.tensor(values, dtype=torch.float64, requires_grad=True) for values in ([[1.0, 2.0]], [[3.0, 4.0]]))
    return a, b


def test_the_numerical_jacobian_is_there_with_a_warning() -> None:
    check: Any = torch.autograd.gradcheck
    module: Any = sys.modules["dispatchkit.as_torch.autograd.gradcheck"]
    assert module.gradcheck is check
    a, b = matrices()

    def function(inputs: Any) -> Any:
        return 2 * inputs[0] + inputs[1], inputs[0]

    with pytest.warns(FutureWarning, match="`get_numerical_jacobian` was part of PyTorch's private API"):
        of_all = module.get_numerical_jacobian(function, (a, b), eps=1e-6)
    np.testing.assert_allclose(of_all[0].numpy(), 2 * np.eye(2), atol=1e-8)
    np.testing.assert_allclose(of_all[1].numpy(), np.eye(2), atol=1e-8)
    with pytest.warns(FutureWarning):
        (of_one,) = module.get_numerical_jacobian(function, (a, b), target=b, eps=1e-6)
    np.testing.assert_allclose(of_one.numpy(), np.eye(2), atol=1e-8)
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="Expected grad_out to be"):
        module.get_numerical_jacobian(function, (a, b), grad_out=2.0)


def test_the_analytical_jacobian_is_there_with_a_warning() -> None:
    module: Any = sys.modules["dispatchkit.as_torch.autograd.gradcheck"]
    a, b = matrices()
    with pytest.warns(FutureWarning, match="`get_analytical_jacobian` was part of PyTorch's private API"):
        (first, second), same, of_sizes, of_dtypes = module.get_analytical_jacobian((a, b), 2 * a + b * b)
    assert first.tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert second.tolist() == [[6.0, 0.0], [0.0, 8.0]]
    assert (same, of_sizes, of_dtypes) == (True, True, True)
    with pytest.warns(FutureWarning):
        unused = module.get_analytical_jacobian((a, b), 2 * a)[0][1]
    assert unused.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="Expected grad_out to be"):
        module.get_analytical_jacobian((a,), a * 1, grad_out=2.0)


def test_the_standard_basis_is_taken_apart() -> None:
    functional: Any = torch.autograd.functional
    tensors = (torch.ones(2, dtype=torch.float32), torch.ones((), dtype=torch.float64))
    first, second = functional._construct_standard_basis_for(tensors, (2, 1))
    assert first.tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    assert second.tolist() == [[0.0], [0.0], [1.0]]
    assert [first.dtype, second.dtype] == [torch.float32, torch.float64]


def test_a_reentrant_checkpoint_without_a_gradient_is_refused() -> None:
    def constant(x: Any) -> Any:
        with torch.no_grad():
            return 2 * x

    x = leaf(1.0)
    out = torch.utils.checkpoint.checkpoint(constant, x, use_reentrant=True) + x
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True, this checkpoint"):
        out.sum().backward()
    out = torch.utils.checkpoint.checkpoint(constant, x, use_reentrant=False) + x
    out.sum().backward()
    assert x.grad.tolist() == [1.0]


def test_a_forked_function_gives_a_future() -> None:
    later = torch.jit.fork(torch.add, torch.ones(2), other=1)
    assert isinstance(later, torch.futures.Future)
    assert torch.jit.wait(later).tolist() == [2.0, 2.0]
    jit: Any = torch.jit
    assert jit._wait(jit._fork(int, 3)) == 3


def test_private_forms_of_unique_give_all_that_can_be_asked_for() -> None:
    private: Any = torch
    x = torch.tensor([2, 1, 2])
    values, inverse = private._unique(x, True, True)
    assert [values.tolist(), inverse.tolist()] == [[1, 2], [1, 0, 1]]
    assert private._unique(x)[1].tolist() == []
    assert [each.tolist() for each in private._unique2(x, return_counts=True)] == [[1, 2], [], [1, 2]]
    found = private._VF.unique_dim(torch.tensor([[1, 1], [1, 1]]), 0, return_inverse=True)
    assert [each.tolist() for each in found] == [[[1, 1]], [0, 0], []]

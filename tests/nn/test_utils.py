"""`nn.utils`: clipping, vectors of parameters, calls with other values."""

import copy
import re
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import nn
from dispatchkit.nn.utils import (
    clip_grad_norm_,
    clip_grad_value_,
    functional_call,
    parameters_to_vector,
    vector_to_parameters,
)
from tests.nn.modules import Net, Scale, Structured


def with_grads(*grads: Any) -> list[Any]:
    """Return parameters with these gradients, and one without."""
    made = [nn.Parameter(dk.zeros(np.shape(g))) for g in grads]
    for p, g in zip(made, grads, strict=True):
        p.grad = dk.tensor(g)
    return [*made, nn.Parameter(dk.ones(1))]


BAD: Any = 3
GRADS = ([3.0, -4.0], [[0.5], [12.0]], 2.0)


@pytest.mark.parametrize("norm", [2.0, 1.0, 3.0, float("inf")])
@pytest.mark.parametrize("bound", [1.0, 100.0])
def test_norms_are_clipped_as_in_pytorch(norm: float, bound: float) -> None:
    torch = pytest.importorskip("torch")
    theirs = [torch.zeros(np.shape(g), dtype=torch.float64, requires_grad=True) for g in GRADS]
    for p, g in zip(theirs, GRADS, strict=True):
        p.grad = torch.tensor(g, dtype=torch.float64)
    expected = torch.nn.utils.clip_grad_norm_(theirs, bound, norm)
    ours = with_grads(*GRADS)
    arrays = [p.grad.array for p in ours[:-1]]
    total = clip_grad_norm_(ours, bound, norm)
    assert type(total) is dk.Tensor
    assert total.shape == ()
    np.testing.assert_allclose(total.item(), expected.item(), rtol=1e-12)
    for p, array, q in zip(ours, arrays, theirs, strict=False):
        np.testing.assert_allclose(p.grad.array, q.grad.numpy(), rtol=1e-12)
        assert p.grad.array is array
    assert ours[-1].grad is None


def test_norms_of_nothing_of_one_and_of_array_types() -> None:
    assert clip_grad_norm_([], 1.0).item() == 0.0
    assert clip_grad_norm_([nn.Parameter(dk.ones(1))], 1.0).item() == 0.0
    (p, _) = with_grads([3.0, 4.0])
    assert clip_grad_norm_(p, 10.0).item() == 5.0
    weight: Any = nn.Parameter(dk.types.ScalarTensor(2, 1.0))
    weight.value.grad = dk.tensor(8.0)
    clip_grad_value_(weight, 2.0)
    assert weight.value.grad.item() == 2.0
    model = Structured()
    model(dk.ones((4, 3))).sum().backward()
    assert clip_grad_norm_(model.parameters(), 0.5).item() > 0.5
    assert clip_grad_norm_(model.parameters(), 0.5).item() == pytest.approx(0.5, rel=1e-5)


def test_norms_that_are_no_numbers() -> None:
    parameters = with_grads([1.0, float("nan")], [2.0])
    with pytest.raises(RuntimeError, match=r"clip_grad_norm_: the total norm of order 2.0.*non-finite"):
        clip_grad_norm_(parameters, 1.0, error_if_nonfinite=True)
    assert parameters[1].grad.tolist() == [2.0]
    assert np.isnan(clip_grad_norm_(parameters, 1.0).item())
    assert np.isnan(parameters[1].grad.item())
    parameters = with_grads([1.0, float("inf")])
    with np.errstate(invalid="ignore"):
        assert clip_grad_norm_(parameters, 1.0).item() == float("inf")
    assert parameters[0].grad.array[0] == 0.0


def test_values_are_clipped() -> None:
    parameters = with_grads([3.0, -4.0, 0.5])
    clip_grad_value_(parameters, 1.0)
    assert parameters[0].grad.tolist() == [1.0, -1.0, 0.5]


def test_vectors_and_back() -> None:
    net = Net()
    vector = parameters_to_vector(net.parameters())
    assert vector.tolist() == [1.0, 2.0, 3.0, 4.0]
    (vector * vector).sum().backward()
    assert net.tail[1].weight.grad is not None
    assert net.tail[1].weight.grad.tolist() == [8.0]
    new = dk.tensor([5.0, 6.0, 7.0, 8.0])
    vector_to_parameters(new, net.parameters())
    assert net.tail[0].weight.tolist() == [7.0]
    assert np.shares_memory(net.gain.array, new.array)
    matrix = nn.Parameter(dk.zeros((2, 2)))
    vector_to_parameters(new, [matrix])
    assert matrix.tolist() == [[5.0, 6.0], [7.0, 8.0]]
    assert matrix.requires_grad


@pytest.mark.parametrize(
    ("attempt", "error", "message"),
    [
        (
            lambda: clip_grad_norm_([1.0], 1.0),
            TypeError,
            "clip_grad_norm_: a float is neither a tensor nor an array type",
        ),
        (
            lambda: clip_grad_norm_([dk.ones(1)], -1.0),
            ValueError,
            "clip_grad_norm_: max_norm is -1.0; it must be a number",
        ),
        (
            lambda: clip_grad_value_([], -1.0),
            ValueError,
            "clip_grad_value_: clip_value is -1.0; it must be a number that",
        ),
        (lambda: parameters_to_vector([]), ValueError, "parameters_to_vector: there are no parameters"),
        (
            lambda: vector_to_parameters(BAD, [dk.ones(1)]),
            TypeError,
            "vector_to_parameters: expected a tensor, found a",
        ),
        (
            lambda: vector_to_parameters(dk.ones(3), [dk.ones(1), dk.ones((2, 2))]),
            ValueError,
            "vector_to_parameters: the vector has shape (3,), the parameters 5 elements",
        ),
        (
            lambda: functional_call(Net(), BAD),
            TypeError,
            "functional_call: expected dictionaries of tensors by name, found",
        ),
        (
            lambda: functional_call(Net(), [BAD]),
            TypeError,
            "functional_call: expected dictionaries of tensors by name, found",
        ),
        (
            lambda: functional_call(Net(), [{"gain": 1}, {"gain": 1}]),
            ValueError,
            "functional_call: 'gain' appeared in multiple dictionaries",
        ),
        (
            lambda: functional_call(Scale(1.0), {"weight": dk.ones(1), "more": dk.ones(1)}, (1,), strict=True),
            RuntimeError,
            "functional_call: the names do not match those of Scale: missing: steps; unexpected: more",
        ),
    ],
)
def test_what_does_not_fit_is_refused(attempt: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        attempt()


def test_a_call_with_other_values() -> None:
    net = Net()
    before = dict(net.named_parameters(remove_duplicate=False))
    x = dk.ones(2)
    assert functional_call(net, {"first.weight": dk.zeros(1)}, (x,)).tolist() == [0.0, 0.0]
    assert functional_call(net, {"first.weight": dk.tensor([3.0])}, x).tolist() == [36.0, 36.0]
    assert (
        functional_call(net, [{"gain": dk.tensor([2.0])}, {"count": dk.ones(1)}], x, {"spoil": 1.0}).tolist()
        == [72.0] * 2
    )
    with pytest.warns(UserWarning, match=r"functional_call: Net has no parameter or buffer named 'first.bia', 'u"):
        y = functional_call(net, {"unknown": dk.ones(1), "gain": dk.ones(1), "first.bia": dk.ones(1)}, x)
    assert y.tolist() == net(x).tolist()
    assert dict(net.named_parameters(remove_duplicate=False)) == before
    assert all(net.get_parameter(name) is p for name, p in before.items())


def test_what_was_there_is_put_back_after_an_error() -> None:
    net = Net()
    weight = net.first.weight
    with pytest.raises(ValueError, match="broadcast"):
        functional_call(net, {"first.weight": dk.ones(5)}, (dk.ones(2),))
    assert net.first.weight is weight


def test_shared_tensors_are_replaced_together_or_not() -> None:
    model = nn.Sequential(Scale(2.0), Scale(3.0))
    model[1].weight = model[0].weight
    x = dk.ones(1)
    five = dk.tensor([5.0])
    assert functional_call(model, {"0.weight": five}, x).tolist() == [25.0]
    assert functional_call(model, {"1.weight": five}, x).tolist() == [25.0]
    assert functional_call(model, {"0.weight": five, "1.weight": five}, x).tolist() == [25.0]
    assert functional_call(model, {"0.weight": five}, x, tie_weights=False).tolist() == [10.0]
    with pytest.raises(ValueError, match=r"multiple values for '0.weight' and '1.weight', which are tied.*tie_weights"):
        functional_call(model, {"0.weight": five, "1.weight": dk.ones(1)}, x)
    twice = nn.Sequential(model[0], model[0])
    assert functional_call(twice, {"0.weight": five}, x).tolist() == [25.0]
    swapped = {"0.weight": twice[0].weight, "1.weight": twice[0].weight}
    assert functional_call(twice, swapped, x).tolist() == [4.0]


def test_one_name_is_enough_for_a_tensor_in_two_places() -> None:
    model = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
    model[1].weight = model[0].weight
    x, five = dk.ones((1, 1)), {"1.weight": dk.tensor([[5.0]])}
    assert functional_call(model, five, x, strict=True).tolist() == [[25.0]]
    with pytest.raises(RuntimeError, match=r"missing: 0.weight; unexpected: none"):
        functional_call(model, five, x, tie_weights=False, strict=True)
    with pytest.raises(RuntimeError, match=r"missing: 0.weight, 1.weight; unexpected: none"):
        functional_call(model, {}, x, strict=True)


def test_values_may_change_places() -> None:
    model = nn.Sequential(Scale(2.0), nn.Sequential(Scale(3.0)))
    first, second = model[0].weight, model[1][0].weight
    swapped = {"0.weight": second, "1.0.weight": first}

    class Looks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self) -> list[float]:
            return [float(p.item()) for p in self.inner.parameters()]

    assert functional_call(Looks(), {f"inner.{name}": p for name, p in swapped.items()}) == [3.0, 2.0]
    assert model[0].weight is first


def test_inside_array_types() -> None:
    model = Structured()
    weight = model.weight
    assert functional_call(model, {"weight.value": dk.tensor(5.0)}, dk.ones((1, 3))).tolist() == [[5.0] * 3]
    assert model.weight is weight
    whole = dict(model.named_parameters())
    assert functional_call(model, whole, dk.ones((1, 3)), strict=True).tolist() == [[2.0] * 3]


def test_an_array_type_is_replaced_as_a_whole() -> None:
    model = Structured()
    weight, scalar = model.weight, dk.types.ScalarTensor
    x = dk.ones((1, 3))

    def f(w: Any) -> Any:
        return functional_call(model, {"weight": w}, (x,)).sum()

    assert f(scalar(3, 2.0)).item() == 6.0
    assert f(scalar(3, 100.0)).item() == 300.0
    assert f(dk.ones((3, 3))).item() == 9.0
    gradient = dk.func.grad(f)(scalar(3, 3.0))
    assert type(gradient) is scalar
    assert gradient.value.item() == 3.0
    assert model.weight is weight
    whole = {"weight": scalar(3, 5.0), "offset": dk.ones(3)}
    for tied in (True, False):
        y = functional_call(model, whole, (x,), tie_weights=tied, strict=True)
        assert y.tolist() == [[6.0] * 3]


def test_an_array_type_is_given_as_a_whole_or_in_parts() -> None:
    model = Structured()
    both = {"weight": dk.types.ScalarTensor(3, 5.0), "weight.value": dk.ones(())}
    for tied in (True, False):
        with pytest.raises(ValueError, match=r"'weight.value' is a part of 'weight'; give one of the two"):
            functional_call(model, both, (dk.ones((1, 3)),), tie_weights=tied)


def test_array_types_that_share_tensors_are_replaced_together() -> None:
    model: Any = nn.Sequential(Structured(), Structured())
    model[1].weight = model[0].weight
    x, five = dk.ones((1, 3)), dk.types.ScalarTensor(3, 5.0)
    assert functional_call(model, {"1.weight": five}, (x,)).tolist() == [[25.0] * 3]
    assert functional_call(model, {"1.weight": five}, (x,), tie_weights=False).tolist() == [[10.0] * 3]
    model[1].weight = copy.copy(model[0].weight)
    assert functional_call(model, {"1.weight": five}, (x,)).tolist() == [[25.0] * 3]
    with pytest.raises(ValueError, match=r"multiple values for '1.weight' and '0.weight.value', which are tied"):
        functional_call(model, {"1.weight": five, "0.weight.value": dk.ones(())}, (x,))


def loss(model: nn.Module, parameters: Any, x: Any) -> Any:
    return (functional_call(model, parameters, (x,)) ** 2).sum()


@pytest.mark.parametrize("model", [Net(), Structured()], ids=["Net", "Structured"])
def test_gradients_by_the_parameters(model: Any) -> None:
    x = dk.tensor([1.0, 2.0, 3.0])
    model.zero_grad()
    (model(x) ** 2).sum().backward()
    expected = {name: p.grad for name, p in model.named_parameters()}
    for parameters in (dict(model.named_parameters()), {n: p.detach() for n, p in model.named_parameters()}):
        grads = dk.func.grad(lambda p: loss(model, p, x))(parameters)
        assert list(grads) == list(expected)
        for name, g in grads.items():
            np.testing.assert_allclose(g.detach().array, expected[name].array)


@pytest.mark.parametrize("model", [Net(), Structured()], ids=["Net", "Structured"])
def test_many_models_at_once(model: Any) -> None:
    g = np.random.default_rng(0)
    stacked = {name: dk.asarray(g.normal(size=(4, *p.shape))) for name, p in model.named_parameters()}
    x = dk.asarray(g.normal(size=(3,)))
    each = [{name: s[i] for name, s in stacked.items()} for i in range(4)]
    values = dk.func.vmap(lambda p: functional_call(model, p, (x,)))(stacked)
    expected = [functional_call(model, p, (x,)) for p in each]
    np.testing.assert_allclose(values.detach().array, np.stack([y.detach().array for y in expected]))
    grads = dk.func.vmap(dk.func.grad(lambda p: loss(model, p, x)))(stacked)
    for i, p in enumerate(each):
        for name, one in dk.func.grad(lambda q: loss(model, q, x))(p).items():
            np.testing.assert_allclose(grads[name].array[i], one.array)


def test_gradients_of_each_sample() -> None:
    model = Net()
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    xs = dk.asarray(np.random.default_rng(0).normal(size=(5, 3)))
    grads = dk.func.vmap(dk.func.grad(lambda p, x: loss(model, p, x)), in_dims=(None, 0))(parameters, xs)
    for i in range(5):
        one = dk.func.grad(lambda p: loss(model, p, xs[i]))(parameters)  # noqa: B023  # called at once
        for name, g in one.items():
            np.testing.assert_allclose(grads[name].array[i], g.array)

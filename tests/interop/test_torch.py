"""Gradients through PyTorch and dispatchkit in one program, and array types as weights of PyTorch's modules."""

from __future__ import annotations

import copy
import io
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign
from dispatchkit.types import ScalarTensor
from tests.interop.structured import Diagonal, LowRank

torch = pytest.importorskip("torch")
pytest.importorskip("array_api_compat")
bridge = __import__("dispatchkit.interop.torch", fromlist=["to_torch"])
from_torch, to_torch = bridge.from_torch, bridge.to_torch


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    with dk.densify(on="allow"):
        yield
    foreign.clear()  # the tests of other modules go the way of programs that have NumPy's arrays alone


def leaf(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def test_memory_is_shared_both_ways() -> None:
    t = torch.ones(3)
    assert from_torch(t).array is t
    assert to_torch(from_torch(t)) is t
    assert to_torch(t) is t
    x = dk.ones(3)
    to_torch(x)[0] = 5.0
    assert x.tolist() == [5.0, 1.0, 1.0]
    backwards = dk.Tensor(np.arange(3.0)[::-1])
    assert to_torch(backwards).tolist() == [2.0, 1.0, 0.0]
    fixed = np.ones(2)
    fixed.flags.writeable = False
    to_torch(dk.Tensor(fixed))[0] = 5.0  # a copy, since PyTorch does not know read-only memory
    assert fixed.tolist() == [1.0, 1.0]
    assert to_torch([1.0, 2.0]).tolist() == [1.0, 2.0]
    assert to_torch(Diagonal([1.0, 2.0])).tolist() == [[1.0, 0.0], [0.0, 2.0]]


def test_only_a_tensor_of_pytorch_is_taken() -> None:
    with pytest.raises(TypeError, match=r"from_torch takes a torch.Tensor, found dispatchkit.Tensor"):
        from_torch(dk.ones(2))
    with pytest.raises(dk.AutogradError, match=r"part of torch's own graph.*dispatchkit.interop.torch.from_torch\(x\)"):
        dk.asarray(leaf(1.0))
    with dk.densify(on="error"), pytest.raises(dk.DensifyError, match="to_torch"):
        to_torch(Diagonal([1.0]))


def program(x: Any) -> Any:
    """Return what uses an index, a change of part of a result, a copy, joining and a function of another chapter."""
    y = dk.concat([dk.exp(x) * 2, dk.special.erf(x)])
    z = dk.where(y > 1, y, y**2)
    z = dk.index_put(z, 0, z[1] * 3.0)
    return (
        dk.sum(dk.cumulative_sum(z)[dk.asarray(torch.tensor([0, 2, 2]))] * dk.linalg.vector_norm(x)) + dk.abs(x).sum()
    )


def test_pytorch_differentiates_what_dispatchkit_computes() -> None:
    assert torch.autograd.gradcheck(lambda t: to_torch(program(from_torch(t))), leaf(0.3, -0.7))
    assert torch.autograd.gradgradcheck(lambda t: to_torch(program(from_torch(t))), leaf(0.3, -0.7))
    values = np.array([0.3, -0.7])
    t = leaf(*values)
    x: Any = dk.Tensor(torch.tensor(values), requires_grad=True)
    to_torch(program(from_torch(t))).backward()
    program(x).backward()
    np.testing.assert_allclose(t.grad.numpy(), x.grad.numpy())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's, of its own modules
def test_transformations_of_pytorch_take_functions_of_dispatchkit() -> None:
    t = torch.tensor([0.3, -0.7], dtype=torch.float64)

    def function(a: Any) -> Any:
        return to_torch(dk.sum(dk.exp(from_torch(a)) ** 2))

    torch.testing.assert_close(torch.func.grad(function)(t), 2 * torch.exp(2 * t))
    torch.testing.assert_close(torch.func.hessian(function)(t), torch.diag(4 * torch.exp(2 * t)))
    torch.testing.assert_close(torch.func.vmap(function)(t[:, None]), torch.exp(2 * t))
    traced = torch.fx.experimental.proxy_tensor.make_fx(torch.func.grad(function), tracing_mode="fake")(t)
    torch.testing.assert_close(traced(2 * t), 2 * torch.exp(4 * t))


def test_a_tensor_in_pytorchs_graph_is_shown_read_and_taken_out() -> None:
    t = leaf(1.0, 2.0)
    x = from_torch(t * 2)
    assert repr(x) == "tensor([2., 4.])"
    assert (x.tolist(), x[0].item(), float(x[1])) == ([2.0, 4.0], 2.0, 4.0)
    assert not x.detach().array.requires_grad
    assert not x.requires_grad
    with pytest.raises(TypeError, match=r"in PyTorch's graph; take it out of it first, with x.detach\(\)"):
        x.numpy()


def test_the_backward_pass_of_pytorch_goes_on_in_dispatchkit() -> None:
    for make in (np.asarray, torch.tensor):
        w: Any = dk.Tensor(make([2.0, 3.0]), requires_grad=True)
        hidden = dk.exp(w)
        loss = (to_torch(hidden) ** 2).sum() + to_torch(hidden * w).sum()
        assert loss.requires_grad
        loss.backward(retain_graph=True)
        wanted = 2 * np.exp([4.0, 6.0]) + np.exp([2.0, 3.0]) * np.array([3.0, 4.0])
        np.testing.assert_allclose(w.grad.numpy(), wanted)
        assert type(w.grad.array) is type(w.array)
        loss.backward()
        np.testing.assert_allclose(w.grad.numpy(), 2 * wanted)
    with dk.no_grad():
        assert not to_torch(w).requires_grad
    with torch.no_grad():
        assert not to_torch(w).requires_grad


def test_both_graphs_get_their_gradients() -> None:
    w: Any = dk.Tensor(torch.tensor([2.0, 3.0]), requires_grad=True)
    t = torch.tensor([1.0, 4.0], requires_grad=True)
    to_torch(dk.sum(w * from_torch(t) ** 2)).backward()
    assert w.grad.tolist() == [1.0, 16.0]
    assert t.grad.tolist() == [4.0, 24.0]


class Clipped(dk.autograd.Function):
    """The identity, whose gradient is cut to the interval from -1 to 1."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1.0

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return dk.clip(g, -1.0, 1.0)


def test_derivatives_of_dispatchkit_differentiate_for_pytorch() -> None:
    clipped = bridge.as_torch_function(lambda x: dk.sum(Clipped.apply(x) * dk.asarray(torch.tensor([3.0, 0.5]))))
    t = torch.tensor([2.0, 2.0], requires_grad=True)
    clipped(t).backward()
    assert t.grad.tolist() == [1.0, 0.5]
    for function in (lambda x: dk.exp(x) * x, lambda x: dk.linalg.vector_norm(x), lambda x: (dk.sum(x), x[0] * x[1])):
        call = bridge.as_torch_function(function)
        assert torch.autograd.gradcheck(call, leaf(0.3, -0.7))
        assert torch.autograd.gradgradcheck(call, leaf(0.3, -0.7))


def test_a_function_of_its_own_derivative_is_not_passed_over_unseen() -> None:
    with pytest.raises(dk.AutogradError, match=r"Clipped.*as_torch_function"):
        Clipped.apply(from_torch(leaf(1.0)))
    assert Clipped.apply(from_torch(leaf(1.0).detach())).tolist() == [1.0]


def test_third_derivatives_flow_too() -> None:
    call = bridge.as_torch_function(lambda x: dk.sum(x**4))
    t = leaf(2.0)
    (first,) = torch.autograd.grad(call(t), t, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), t, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), t)
    assert [one.item() for one in (first, second, third)] == [32.0, 48.0, 48.0]


def test_containers_and_array_types_go_through_functions() -> None:
    def scaled(parts: dict[str, Any], *, by: Any) -> Any:
        """Say so."""
        return {"d": parts["d"] * by, "n": dk.sum(by > 0)}

    call = bridge.as_torch_function(scaled)
    assert call.__doc__ == "Say so."
    v, by = leaf(1.0, 2.0), torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    found = call({"d": Diagonal(from_torch(v))}, by=by)
    assert type(found["d"]) is Diagonal
    assert not found["n"].requires_grad
    to_torch(dk.sum(found["d"])).backward()
    assert (v.grad.tolist(), by.grad.item()) == ([3.0, 3.0], 3.0)


def test_functions_of_pytorch_are_differentiated_for_dispatchkit() -> None:
    entropy = bridge.as_dispatchkit_function(torch.special.entr)
    for make in (np.asarray, torch.tensor):
        x: Any = dk.Tensor(make([0.5, 0.25]), requires_grad=True)
        y = entropy(x)
        assert type(y.array) is type(x.array)
        (y * x).sum().backward()
        assert type(x.grad.array) is type(x.array)
    assert dk.autograd.gradcheck(entropy, dk.tensor([0.5, 0.25], requires_grad=True))
    assert dk.autograd.gradgradcheck(entropy, dk.tensor([0.5, 0.25], requires_grad=True))
    several = bridge.as_dispatchkit_function(lambda a, b, *, scale: (a * b * scale, torch.relu(a), torch.argmax(b)))
    a: Any = dk.tensor([1.0, -2.0], requires_grad=True)
    b = dk.tensor([3.0, 4.0])
    product, positive, place = several(a, b, scale=2.0)
    assert place.item() == 1
    (product.sum() + positive.sum()).backward()
    assert a.grad.tolist() == [7.0, 8.0]


def test_parameters_of_a_module_are_trained_through_dispatchkit() -> None:
    module = torch.nn.Linear(2, 1, dtype=torch.float64)
    x: Any = dk.tensor([[1.0, 2.0]], requires_grad=True)
    bridge.as_dispatchkit_function(module)(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), module.weight.detach().numpy())
    assert module.weight.grad.tolist() == [[1.0, 2.0]]


def weights() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "Diagonal": Diagonal(rng.normal(size=4)),
        "LowRank": LowRank(dk.asarray(rng.normal(size=(4, 2))), dk.asarray(rng.normal(size=(2, 4)))),
        "ScalarTensor": ScalarTensor(4, dk.asarray(0.5)),
    }


@pytest.mark.parametrize("kind", weights())
def test_an_array_type_is_the_weight_of_a_layer_trained_by_pytorch(kind: str) -> None:
    torch.manual_seed(0)
    start = weights()[kind]
    layer, model = torch.nn.Linear(4, 4, dtype=torch.float64), torch.nn.Sequential()
    bridge.set_weight(layer, "weight", start)
    model.append(layer)
    inputs, target = torch.randn(32, 4, dtype=torch.float64), torch.randn(32, 4, dtype=torch.float64)
    dense = to_torch(weights()[kind]).requires_grad_()
    with dk.densify(on="error"):
        output = model(inputs)
    torch.testing.assert_close(output, torch.nn.functional.linear(inputs, dense, layer.bias))
    assert type(layer.weight()) is type(start)
    assert tuple(layer.weight.shape) == (4, 4)

    def loss() -> Any:
        return torch.nn.functional.mse_loss(model(inputs), target)

    optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.05), []
    for _ in range(20):
        optimizer.zero_grad()
        losses.append(loss())
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < losses[0]
    state = model.state_dict()
    assert set(state) == {"0.bias", *(f"0.weight.{name}" for name, _ in layer.weight.named_parameters())}
    buffer = io.BytesIO()
    torch.save(state, buffer)
    buffer.seek(0)
    other = torch.nn.Linear(4, 4, dtype=torch.float64)
    bridge.set_weight(other, "weight", weights()[kind])
    again = torch.nn.Sequential(other)
    again.load_state_dict(torch.load(buffer, weights_only=True))
    torch.testing.assert_close(again(inputs), model(inputs))
    torch.testing.assert_close(copy.deepcopy(model)(inputs), model(inputs))
    assert model.float()(inputs.float()).dtype == torch.float32


def test_a_whole_layer_is_saved() -> None:
    layer = torch.nn.Linear(3, 3, dtype=torch.float64)
    bridge.set_weight(layer, "weight", ScalarTensor(3, dk.asarray(2.0)))
    buffer = io.BytesIO()
    torch.save(layer, buffer)
    buffer.seek(0)
    again = torch.load(buffer, weights_only=False)
    torch.testing.assert_close(again(torch.ones(3).double()), layer(torch.ones(3).double()))


def test_what_is_no_parameter_is_a_buffer_or_stays() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    @dataclass
    class Shifted:
        shift: dk.Tensor
        places: dk.Tensor
        base: dk.Tensor = dk.field(grad=False)
        word: str = "so"

        def to_dense(self) -> Any:
            return self.base + self.shift[self.places]

    held = bridge.FieldParameters(Shifted(dk.zeros(3), dk.asarray([0, 2]), dk.ones(2)))
    assert [name for name, _ in held.named_parameters()] == ["shift"]
    assert [name for name, _ in held.named_buffers()] == ["places", "base"]
    assert held().word == "so"
    assert held.word == "so"
    torch.sum(held).backward()
    assert held.shift.grad.tolist() == [1.0, 0.0, 1.0]
    with pytest.raises(AttributeError, match="nothing"):
        held.nothing  # noqa: B018


def test_a_wrong_weight_says_what_is_wrong() -> None:
    layer = torch.nn.Linear(3, 3)
    with pytest.raises(ValueError, match=r"set_weight: 'weight' has shape \(3, 3\), the ScalarTensor \(4, 4\)"):
        bridge.set_weight(layer, "weight", ScalarTensor(4, dk.asarray(2.0)))
    with pytest.raises(AttributeError, match="set_weight: Linear has no parameter 'weights'"):
        bridge.set_weight(layer, "weights", ScalarTensor(3, dk.asarray(2.0)))
    for value in (dk.ones((3, 3)), 2.0, torch.ones(3, 3)):
        with pytest.raises(TypeError, match="with tensors in its fields, found"):
            bridge.set_weight(layer, "weight", value)
    assert isinstance(layer.weight, torch.nn.Parameter)


@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch's, of gradients that it looks for itself
def test_a_compiled_layer_gives_the_same_gradients() -> None:
    layer = torch.nn.Linear(3, 3, dtype=torch.float64)
    bridge.set_weight(layer, "weight", Diagonal([1.0, 2.0, 3.0]))
    inputs = torch.ones(2, 3, dtype=torch.float64)

    def loss() -> Any:
        return (layer(inputs) ** 2).sum()

    parameters = list(layer.parameters())
    wanted = torch.autograd.grad(loss(), parameters)
    for one, other in zip(torch.autograd.grad(torch.compile(loss, backend="eager")(), parameters), wanted, strict=True):
        torch.testing.assert_close(one, other)


def test_a_declared_type_works_without_an_import_of_pytorch() -> None:
    program = """
import sys, dispatchkit as dk
from dispatchkit.types import ScalarTensor
s = ScalarTensor(2, 1.0)
print((s + s).value.item(), s.sum(), hasattr(s, '__torch_function__'), 'torch' in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["2.0", "tensor(2.)", "True", "False"]


def test_messages_say_whose_tensor_was_found() -> None:
    t, w = torch.ones(2), dk.tensor([1.0, 2.0], requires_grad=True)
    layer = dk.nn.Linear(2, 2)
    calls: list[Callable[[], Any]] = [
        lambda: setattr(w, "grad", t),
        lambda: setattr(w, "data", t),
        lambda: dk.autograd.grad((w * 2).sum(), t),
        lambda: dk.nn.init.zeros_(t),
        lambda: dk.nn.utils.vector_to_parameters(t, [w]),
        lambda: dk.optim.SGD([t], lr=0.1),
        lambda: setattr(layer, "weight", t),
        lambda: layer.register_buffer("running", t),
        lambda: dk.add(w, t),
        lambda: dk.save({"t": t}, "never.npz"),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError), match=r"torch\.Tensor"):
            call()

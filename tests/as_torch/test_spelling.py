"""PyTorch's names, arguments and methods, and that tensors, parameters and gradients keep them."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch
import dispatchkit.as_torch.nn.functional as F
from dispatchkit.as_torch import nn, optim
from dispatchkit.as_torch.utils.data import DataLoader, TensorDataset
from dispatchkit.graph.recording import is_grad_enabled

X = torch.arange(12.0).view(2, 6)


def values(x: Any) -> Any:
    assert type(x) is torch.Tensor, type(x)
    return x.tolist()


def test_devices_are_asked_as_programs_for_pytorch_ask() -> None:
    cudnn = importlib.import_module("dispatchkit.as_torch.backends.cudnn")
    cudnn.benchmark = True  # type: ignore[attr-defined]
    modules = importlib.import_module("dispatchkit.as_torch.nn.modules.module")
    assert modules.Module is nn.Module
    assert (X.is_cpu, X.is_cuda, X.is_mps, X.is_xpu) == (True, False, False, False)
    assert not cudnn.is_available()


def test_lengths_are_called_for_and_still_count() -> None:
    assert X.size() == (2, 6)
    assert (X.size(0), X.size(-1), X.size(dim=1)) == (2, 6, 6)
    assert X.size == 12
    assert (X.numel(), X.dim()) == (12, 2)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: torch.zeros(2, 3), torch.zeros((2, 3))),
        (lambda: torch.ones(2), torch.ones([2])),
        (lambda: torch.full((2,), 3.0), torch.tensor([3.0, 3.0])),
        (lambda: torch.arange(1, end=3), torch.tensor([1, 2])),
        (lambda: torch.linspace(0, 1, steps=3), torch.tensor([0.0, 0.5, 1.0])),
        (lambda: torch.stack((X, X), 1)[0], torch.cat((X[:1], X[:1]), 0)),
        (lambda: torch.cat((X, X), dim=-1), torch.cat([X, X], -1)),
        (lambda: torch.sum(input=X, dim=1, keepdim=True), X.sum(1, True)),
        (lambda: X.sum(axis=1, keepdims=True), X.sum(dim=[1], keepdim=True)),  # type: ignore[call-arg]  # NumPy's names
        (lambda: torch.add(X, X, alpha=2), 3 * X),
        (lambda: torch.sub(input=X, other=X, alpha=0.5), X / 2),
        (lambda: torch.div(X, 4, rounding_mode="floor"), X // 4),
        (lambda: X.max(1).indices, torch.tensor([5, 5])),
        (lambda: torch.max(X, dim=0)[0], X[1]),
        (lambda: X.sort(1, descending=True)[0], X.flip(1)),
        (lambda: X.std(1), torch.tensor([3.5**0.5, 3.5**0.5])),
        (lambda: X.roll(1, 1), X.roll(shifts=(1,), dims=(1,))),
        (lambda: X.split(2, 1)[2], X.narrow(1, 4, 2)),
        (lambda: X.split([1, 5], dim=1)[1], X[:, 1:]),
        (lambda: X.unbind(1)[3], X.select(1, 3)),
        (lambda: X.index_select(1, torch.tensor([0, 2])), X[:, [0, 2]]),
        (lambda: X.view_as(torch.ones(3, 4)), X.reshape(3, 4)),
        (lambda: X.permute(1, 0), X.t()),
        (lambda: X.permute((1, 0)), X.transpose(0, 1).contiguous()),
        (lambda: X.repeat(1, 2), torch.cat((X, X), 1)),
        (lambda: X[:, :1].expand(2, 3), X[:, :1].expand((2, 3))),
        (lambda: X.new_zeros(2, 1), torch.zeros(2, 1)),
        (lambda: X.new_full((2,), 1.0), torch.ones(2)),
        (lambda: X.gather(1, torch.tensor([[0], [1]])), torch.tensor([[0.0], [7.0]])),
        (lambda: X.type(torch.int64), X.long()),
        (lambda: X.type("torch.LongTensor"), torch.LongTensor(np.arange(12).reshape(2, 6))),
        (lambda: X.masked_fill(X > 3, 0.0), X * (X <= 3)),
        (lambda: torch.where(X > 20)[0], torch.zeros(0, dtype=torch.int64)),
        (lambda: F.softmax(X, dim=1).sum(dim=1), torch.ones(2)),
        (lambda: F.relu(-X, inplace=True), torch.zeros(2, 6)),
        (lambda: F.pad(X, (0, 1)).size(1) * torch.ones(1), torch.tensor([7.0])),
        (lambda: torch.linalg.norm(X, dim=1) ** 2, (X * X).sum(1)),
        (
            lambda: torch.linalg.matrix_norm(torch.ones(4, 2, 2), dim=(0, 1), keepdim=True),
            torch.full((1, 1, 2), 8**0.5),
        ),
        (lambda: torch.linalg.solve(2 * torch.eye(2).expand(3, 2, 2), torch.ones(3, 2)), torch.full((3, 2), 0.5)),
        (lambda: torch.linalg.eigvalsh(torch.tensor([[1.0, 0.0], [9.0, 1.0]]), UPLO="U"), torch.ones(2)),
        (lambda: torch.linalg.eigh(torch.tensor([[1.0, 9.0], [0.0, 1.0]]))[0], torch.ones(2)),
        (lambda: torch.from_numpy(np.ones(2)), torch.Tensor([1.0, 1.0])),
        (lambda: torch.einsum("ij,kj->ik", X, X), X @ X.mT),
        (lambda: torch.median(torch.tensor([4.0, 1.0, 3.0, 2.0])), torch.tensor(2.0)),
        (lambda: torch.unique(torch.tensor([2, 1, 2])), torch.tensor([1, 2])),
        (lambda: torch.normal(0.0, 1.0, (2, 3)) * 0, torch.zeros(2, 3)),
        (lambda: torch.logspace(0, 2, steps=3, base=2), torch.tensor([1.0, 2.0, 4.0])),
        (lambda: torch.einsum(X, [0, 1], X, [2, 1], [0, 2]), X @ X.mT),
        (lambda: torch.unique(torch.tensor([2, 1, 2]), return_counts=True)[1], torch.tensor([1, 2])),
        (lambda: torch.cdist(X, X[:1], p=1), torch.tensor([[0.0], [36.0]])),
        (lambda: X.scatter_reduce(0, torch.tensor([[0, 0]]), X + 1, "amax")[0, :3], torch.tensor([1.0, 2.0, 2.0])),
        (lambda: F.max_pool2d(X[None], 2, return_indices=False)[0, 0], torch.tensor([7.0, 9.0, 11.0])),
        (lambda: torch.linalg.matrix_rank(X, atol=1e-3, hermitian=False), torch.tensor(2)),
        (lambda: torch.quantile(X, 0.5, out=None), torch.tensor(5.5)),  # type: ignore[call-arg]
    ],
)
def test_arguments_are_pytorchs(call: Any, expected: Any) -> None:
    np.testing.assert_allclose(values(call()), values(expected), atol=1e-12)


def test_the_class_makes_tensors_of_the_default_dtype() -> None:
    assert torch.Tensor([1, 2]).dtype == torch.Tensor(2, 3).dtype == torch.get_default_dtype()
    assert (torch.Tensor(2, 3).size(), torch.Tensor().size()) == ((2, 3), (0,))
    assert torch.tensor([1, 2]).dtype == torch.int64
    with pytest.raises(TypeError, match="Tensor takes one positional argument, data, found 2"):
        torch.Tensor([1.0], [2.0])


def test_what_pytorch_has_as_an_attribute_is_one() -> None:
    z = torch.tensor([[1.0 + 2.0j, 3.0]])
    assert values(z.real) == [[1.0, 3.0]]
    assert values(z.imag) == [[2.0, 0.0]]
    assert values(z.mH) == [[1.0 - 2.0j], [3.0]]


def test_layouts_change_no_values() -> None:
    x: Any = X
    zeros: Any = torch.zeros
    assert x.contiguous(memory_format=torch.channels_last) is x
    assert values(x.long(memory_format=torch.contiguous_format)) == values(x.long())
    assert values(zeros(1, layout=torch.strided)) == [0.0]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("byte", "uint8"), ("char", "int8"), ("short", "int16"), ("cfloat", "complex64"), ("cdouble", "complex128")],
)
def test_methods_convert_to_dtypes(name: str, dtype: str) -> None:
    assert getattr(X, name)().dtype == dtype


def test_arguments_that_say_something_are_refused_where_they_are_not_known() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'return_indices'"):
        F.avg_pool2d(X, 2, return_indices=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'alpha'"):
        torch.fmod(X, X, alpha=2)  # type: ignore[call-arg]
    with pytest.raises(RuntimeError, match="must be one of sum, prod, mean, amax, amin, found 'median'"):
        X.scatter_reduce(0, torch.tensor([[0]]), X, "median")


def test_channels_are_dropped_as_a_whole_in_training() -> None:
    x = F.dropout1d(torch.ones(50, 4, 3), 0.5)
    assert {0.0, 2.0} == {*x.flatten().tolist()}
    assert values((x == x[..., :1]).all()) is True
    assert values(F.dropout2d(X[None, None], 0.5, training=False)[0, 0]) == values(X)


def test_places_in_a_sequence_may_be_of_fewer_bits() -> None:
    places = torch.searchsorted(torch.tensor([1.0, 2.0]), torch.tensor([1.5]), out_int32=True)
    assert (values(places), places.dtype) == ([1], torch.int32)


def test_changes_in_place_give_the_tensor_back() -> None:
    x = torch.zeros(2, 3)
    assert x.scatter_(1, torch.tensor([[0], [2]]), 1.0) is x
    assert x.masked_fill_(x == 0, 2.0) is x
    assert x.add_(x, alpha=0.5) is x
    assert values(x) == [[1.5, 3.0, 3.0], [3.0, 3.0, 1.5]]
    assert values(x.index_add_(0, torch.tensor([0]), torch.ones(1, 3)).clamp_(max=2.75)) == [
        [2.5, 2.75, 2.75],
        [2.75, 2.75, 1.5],
    ]
    assert set(x.bernoulli_(0.5).unique().tolist()) <= {0.0, 1.0}


def test_gradients_go_through_methods_in_place() -> None:
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = w * 2
    x.masked_fill_(torch.tensor([True, False, False]), 0.0)
    x.addcmul_(w, w, value=0.5)
    x.sum().backward()
    assert values(w.grad) == [1.0, 4.0, 5.0]


def test_gradients_have_the_methods_and_stay_the_same_object() -> None:
    w = torch.ones(2, requires_grad=True)
    seen = []
    w.register_hook(lambda g: seen.append(g.size(0)))
    (w * 3).sum().backward()
    assert w.grad is w.grad
    assert (w.grad.size(), seen) == ((2,), [2])
    (w * 3).sum().backward()
    assert values(w.grad) == [6.0, 6.0]
    w.grad.zero_()
    assert values(w.grad) == [0.0, 0.0]
    w.grad = torch.ones(2)
    del w.grad
    assert w.grad is None
    assert torch.autograd.grad((w * w).sum(), w)[0].size(0) == 2


def test_a_function_of_ones_own_gets_the_methods() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.view(x.size(0)) * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g.new_full((x.size(0),), 2.0) * g

    w = torch.ones(3, requires_grad=True)
    Double.apply(w).sum().backward()
    assert values(w.grad) == [2.0, 2.0, 2.0]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
        self.scale = nn.Parameter(torch.ones(3))
        self.register_buffer("mask", torch.tril(torch.ones(3, 3)))

    def forward(self, x: Any) -> Any:
        assert self.layers[0].weight.size(0) == self.mask.size(0)
        return (self.layers(x) * self.scale).view(-1, 3) @ self.mask


def test_layers_have_parameters_and_buffers_with_the_methods() -> None:
    net = Net()
    for tensor in (*net.parameters(), *net.buffers()):
        assert isinstance(tensor, torch.Tensor)
    assert all(isinstance(p, nn.Parameter) for p in net.parameters())
    assert isinstance(net.layers[0], nn.Linear)
    assert isinstance(net.layers[0], dk.nn.Linear)
    assert isinstance(net, nn.Module)
    y = net(torch.randn(5, 4))
    y.pow(2).mean().backward()
    before = net.scale.detach().clone()
    optimizer = optim.AdamW(net.parameters(), lr=0.1)
    optimizer.step()
    assert not torch.allclose(net.scale, before)
    assert type(net.double().scale) is type(net.float().scale) is type(Net().scale)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))], ids=["copy", "pickle"])
def test_copies_of_modules_keep_the_methods(again: Any) -> None:
    net = again(Net())
    assert (net.scale.size(0), net.layers[1].running_mean.size(0)) == (3, 3)
    assert isinstance(net.scale, nn.Parameter)


def test_states_go_over_between_the_spellings(tmp_path: Path) -> None:
    plain, spelled = dk.nn.Linear(3, 2), nn.Linear(3, 2)
    spelled.load_state_dict(plain.state_dict())
    assert spelled.weight.tolist() == plain.weight.tolist()
    torch.save(spelled.state_dict(), tmp_path / "state.npz")
    state = torch.load(tmp_path / "state.npz", map_location="cpu", weights_only=True)
    assert state["weight"].size() == (2, 3)
    dk.nn.Linear(3, 2).load_state_dict(state)


def test_a_checkpoint_computes_the_same() -> None:
    w = torch.randn(3, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(lambda x: x.view(x.size(0), 1).exp(), w, use_reentrant=False)
    y.sum().backward()
    np.testing.assert_allclose(w.grad.tolist(), w.exp().tolist())


def test_batches_have_the_methods() -> None:
    data = TensorDataset(torch.ones(5, 2), torch.arange(5))
    sizes = [(x.size(0), y.size(0)) for x, y in DataLoader(data, batch_size=2)]
    assert sizes == [(2, 2), (2, 2), (1, 1)]
    assert [x.size() for x in DataLoader([np.ones(2), np.ones(2)], batch_size=2)] == [(2, 2)]


def test_modes_work_with_and_without_parentheses() -> None:
    @torch.no_grad
    def bare() -> bool:
        return is_grad_enabled()

    @torch.inference_mode()
    def called() -> bool:
        return is_grad_enabled()

    @torch.inference_mode
    def inferred() -> bool:
        return is_grad_enabled()

    assert (bare(), called(), inferred()) == (False, False, False)
    with torch.inference_mode(mode=False):
        assert torch.is_grad_enabled()


def test_devices_have_names_and_types() -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    assert X.to(device).device == device
    assert (X.device.type, torch.device("cuda", 1)) == ("cpu", "cuda:1")
    assert not torch.backends.mps.is_available()


@dk.array_type()
class Diagonal:
    def __init__(self, entries: Any) -> None:
        self.entries = entries

    @property
    def shape(self) -> tuple[int, int]:
        return (*self.entries.shape, *self.entries.shape)

    @property
    def dtype(self) -> Any:
        return self.entries.dtype


@dk.implements(dk.add)
def add_diagonals(x1: Diagonal, x2: Diagonal, /) -> Diagonal:
    return Diagonal(x1.entries + x2.entries)


@dk.implements(dk.sum)
def sum_diagonal(x: Diagonal, /, *, axis: Any = None) -> Any:
    return dk.sum(x.entries) if axis is None else x.entries


def test_rules_of_array_types_answer_and_their_results_get_the_methods() -> None:
    for entries in (dk.ones(2), torch.ones(2)):
        d = Diagonal(entries)
        total: Any = torch.add(d, d, alpha=1)
        assert isinstance(total, Diagonal)
        assert values(torch.sum(total, dim=0)) == [2.0, 2.0]
        assert torch.sum(d).size() == ()
    with pytest.raises(dk.NoImplementationError, match=r"dispatchkit\.exp"):
        torch.exp(d)


@pytest.mark.parametrize("name", ["exp", "sub", "max", "where"])
def test_rules_are_registered_for_either_name(name: str) -> None:
    with dk.local_registrations():

        @dk.implements(getattr(torch, name), Diagonal)
        def answered(*args: Any, **kwargs: Any) -> str:
            return name

        operands = [Diagonal(dk.ones(2))] * {"sub": 2, "where": 3}.get(name, 1)
        assert getattr(dk, name)(*operands) == getattr(torch, name)(*operands) == name
        assert "answered" in str(dk.explain(getattr(torch, name), *operands))


@pytest.mark.parametrize(
    ("place", "name", "said"),
    [
        ("", "expand_dims", "module 'dispatchkit.as_torch' has no attribute 'expand_dims': write unsqueeze"),
        ("", "repeat", "module 'dispatchkit.as_torch' has no attribute 'repeat': write x.repeat"),
        ("", "logsumexpp", "dispatchkit has nothing of that name; there is logsumexp"),
        ("", "saddmm", "module 'dispatchkit.as_torch' has no attribute 'saddmm': dispatchkit has nothing of that name"),
        ("", "symeig", "write torch.linalg.eigh"),
        ("", "smm", "write x @ y"),
        ("", "rnn_tanh", "write torch.nn.RNN"),
        ("Tensor", "bfloat16", "write float32 or float64"),
        (
            "nn.functional",
            "lstm",
            "no attribute 'lstm': write dk.nn.functional.lstm",
        ),
        ("nn", "Nonsense", "module 'dispatchkit.as_torch.nn' has no attribute 'Nonsense'"),
        ("Tensor", "cuda", "'dispatchkit.as_torch.Tensor' object has no attribute 'cuda': write x.to(device)"),
    ],
)
def test_missing_names_say_what_to_write(place: str, name: str, said: str) -> None:
    holder: Any = X if place == "Tensor" else importlib.import_module(f"dispatchkit.as_torch.{place}".rstrip("."))
    with pytest.raises(AttributeError) as caught:
        getattr(holder, name)
    assert said in str(caught.value)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match=r"as_torch\.sum takes 4 arguments \(input, dim, keepdim, dtype\), found 5"):
        torch.sum(X, 0, False, None, 1)  # type: ignore[call-arg]  # more than there are
    with pytest.raises(TypeError, match=r"as_torch\.cat got multiple values for argument 'dim'"):
        torch.cat((X, X), 0, dim=1)  # type: ignore[misc]  # twice
    with pytest.raises(TypeError, match="argument 'out'; there is no out: assign the result, as in out"):
        torch.flip(X, (0,), out=X)  # type: ignore[call-overload]  # which is not there


def test_functions_show_pytorchs_arguments() -> None:
    assert list(inspect.signature(torch.sum).parameters) == ["input", "dim", "keepdim", "dtype"]
    assert list(inspect.signature(torch.pow).parameters) == ["input", "exponent"]
    assert "alpha" in inspect.signature(torch.add).parameters
    assert torch.sum.__module__ == "dispatchkit.as_torch"
    assert pickle.loads(pickle.dumps(torch.linalg.inv)) is torch.linalg.inv


def test_modules_are_imported_by_their_names_in_an_interpreter_of_its_own() -> None:
    program = """
import dispatchkit.as_torch.nn.functional as F
import dispatchkit.as_torch.utils.data
from dispatchkit.as_torch.nn.utils import clip_grad_norm_
from dispatchkit.as_torch.optim.lr_scheduler import StepLR
from dispatchkit.as_torch.utils.data.dataloader import DataLoader
import dispatchkit.as_torch as torch
assert DataLoader is torch.utils.data.DataLoader and F is torch.nn.functional
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_tensors_print_as_pytorchs() -> None:
    assert repr(torch.zeros(2)) == "tensor([0., 0.])"
    assert repr(nn.Parameter(torch.zeros(1))) == "Parameter containing:\ntensor([0.], requires_grad=True)"


def test_functions_under_transformations_get_pytorchs_methods() -> None:
    def row(r: Any) -> Any:
        assert isinstance(r, torch.Tensor)
        scaled = (r * 2).view(2, 3).sum(dim=0)
        return scaled.max(dim=-1, keepdim=True).values.expand(r.size(0) // 3) + 1

    assert values(torch.func.vmap(row)(X)) == [[15.0, 15.0], [39.0, 39.0]]
    assert values(torch.func.vmap(torch.func.vmap(lambda r: r.mul(2).squeeze(dim=0)))(X.unsqueeze(-1))) == values(2 * X)
    primal, tangent = torch.func.jvp(row, (X[0],), (torch.ones_like(X[0]),))
    assert (values(primal), values(tangent)) == ([15.0, 15.0], [4.0, 4.0])
    assert values(torch.func.grad(lambda x: x.pow(2).sum(dim=0).sum())(X[:, :2])) == [[0.0, 2.0], [12.0, 14.0]]
    assert values(torch.func.hessian(lambda x: x.pow(3).sum(dim=-1))(X[0, 1:3])) == [[6.0, 0.0], [0.0, 12.0]]
    # Tensors of dispatchkit, too.
    assert torch.func.vmap(lambda r: r.sum(dim=0))(dk.ones((2, 3))).tolist() == [3.0, 3.0]
    assert torch.func.vmap(nn.Linear(6, 2))(X).size() == (2, 2)


class Halves(torch.autograd.Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x / 2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return t.view(-1).view(t.size()) / 2


def test_dual_tensors_have_pytorchs_methods() -> None:
    import dispatchkit.as_torch.autograd.forward_ad as fwAD

    model = nn.Linear(6, 1)
    weight = model.weight
    with fwAD.dual_level():
        # As PyTorch's tutorial has it: parameters are replaced by dual tensors.
        del model.weight
        model.weight = fwAD.make_dual(weight, torch.ones_like(weight))
        dual = model(X).sum(dim=0)
        assert isinstance(dual, torch.Tensor)
        primal, tangent = fwAD.unpack_dual(dual)
        assert values(tangent) == [66.0]
        assert values(fwAD.unpack_dual(Halves.apply(dual.expand(3))).tangent) == [33.0, 33.0, 33.0]
    assert primal.size() == (1,)


def test_modules_of_autograd_are_imported_by_their_names() -> None:
    from dispatchkit.as_torch.autograd.function import Function, once_differentiable
    from dispatchkit.as_torch.autograd.graph import saved_tensors_hooks

    assert Function is torch.autograd.Function
    assert once_differentiable is torch.autograd.function.once_differentiable
    assert saved_tensors_hooks is dk.autograd.graph.saved_tensors_hooks


def test_older_programs_make_variables() -> None:
    x = torch.autograd.Variable(torch.ones(2), requires_grad=True)
    assert isinstance(x, torch.autograd.Variable)
    assert isinstance(torch.ones(2), torch.autograd.Variable)
    assert torch.autograd.Variable(torch.tensor([1, 2])).dtype == torch.int64
    (x * x).sum().backward()
    assert values(x.grad) == [2.0, 2.0]


def test_settings_of_pytorchs_engine_are_taken() -> None:
    from dispatchkit.as_torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

    x = torch.ones(2).requires_grad_()
    with torch.autograd.set_multithreading_enabled(False), set_checkpoint_early_stop(False):
        checkpoint(lambda x: x.exp().sum(dim=0), x, use_reentrant=False).backward()
    assert values(x.grad) == values(x.detach().exp())


def test_a_result_is_no_view_of_the_tensor_that_it_was_made_of() -> None:
    x = torch.ones(3).requires_grad_()
    y = x * 2
    view = y[:2]
    with pytest.raises(dk.AutogradError, match="a view cannot be taken out of the graph in place"):
        view.detach_()
    assert not y.detach_().requires_grad
    assert not x.detach_().requires_grad


def test_classes_of_tensors_take_lengths() -> None:
    assert torch.FloatTensor(2, 3).size() == (2, 3)
    assert torch.LongTensor(3).dtype == torch.int64
    assert values(torch.FloatTensor([1, 2])) == [1.0, 2.0]


def test_output_nr_leads_to_a_gradient_edge() -> None:
    x = torch.ones(2, 2).requires_grad_()
    u, s, vh = torch.linalg.svd(x + torch.eye(2))
    assert [part.output_nr for part in (u, s, vh)] == [0, 1, 2]
    assert (x.output_nr, (x * 2).output_nr) == (0, 0)
    edge = torch.autograd.graph.GradientEdge(s.grad_fn, s.output_nr)
    (g,) = torch.autograd.grad(s.sum(), edge)
    assert g.tolist() == [1.0, 1.0]


def test_complex_numbers_of_their_parts() -> None:
    z = torch.complex(torch.tensor([1.0, 2.0]), torch.tensor([0.5, -1.0]))
    assert values(z) == [1 + 0.5j, 2 - 1j]
    assert torch.complex(torch.zeros(2, dtype=torch.float32), torch.ones(2, dtype=torch.float32)).dtype == np.complex64


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda x: torch.addcmul(x, x),  # type: ignore[call-arg]
            r"addcmul\(\) missing 1 required positional argument: 'tensor2'",
        ),
        (
            lambda x: torch.lerp(x),  # type: ignore[call-arg]
            r"lerp\(\) missing 2 required positional arguments: 'end' and 'weight'",
        ),
        (
            lambda x: torch.frac(x, nothing=1),  # type: ignore[call-arg]
            r"frac\(\) got an unexpected keyword argument 'nothing'",
        ),
    ],
)
def test_a_function_of_one_line_is_called_by_its_name_in_errors(call: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        call(torch.ones(2))


def test_modules_and_tensors_have_the_names_of_pytorch_alone() -> None:
    x = torch.ones(2)
    for name in ("astype", "power", "expand_dims", "copy", "matvec"):
        assert name not in dir(x)
        with pytest.raises(AttributeError, match=f"'dispatchkit.as_torch.Tensor' object has no attribute '{name}': "):
            getattr(x, name)
    assert not {"spelling", "table", "calling", "array", "isdtype"} & {*dir(torch), *dir(x)}
    assert not hasattr(torch, "spelling")
    with pytest.raises(AttributeError, match=r"as_torch\.nn' has no attribute 'set_engine': write dk\.nn\.set_engine"):
        nn.set_engine  # type: ignore[attr-defined]  # noqa: B018  # asked for alone
    assert x.array.tolist() == [1.0, 1.0]

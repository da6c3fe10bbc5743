"""Names that programs of others use: optimisers of matrices, trees, methods as functions, data sets, dtypes."""

from __future__ import annotations

import importlib
import math
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch
import dispatchkit.as_torch.nn.functional as F
from dispatchkit.as_torch.utils import _pytree as trees

W, B, X = (np.random.default_rng(0).standard_normal(shape) for shape in ((4, 3), (3,), (5, 4)))


def trained(library: Any, name: str, parameters: list[Any], **options: Any) -> list[Any]:
    held = [library.tensor(p.copy(), requires_grad=True) for p in parameters]
    optimizer = getattr(library.optim, name)(held, **options)
    for _ in range(4):
        y = library.tensor(X) @ held[0]
        for bias in held[1:]:
            y = y + bias
        optimizer.zero_grad()
        (y**2).sum().backward()
        optimizer.step()
    return [p.detach().numpy() for p in held]


@pytest.mark.parametrize(
    ("name", "options", "rtol"),
    [
        ("Adafactor", {}, 1e-10),
        (
            "Adafactor",
            {"lr": 0.3, "weight_decay": 0.1, "eps": (1e-4, 0.01), "d": 1.5, "beta2_decay": -0.5, "maximize": True},
            1e-10,
        ),
        ("Muon", {"lr": 0.1}, 0.05),  # PyTorch rounds to bfloat16
        ("Muon", {"lr": 0.1, "nesterov": False, "adjust_lr_fn": "match_rms_adamw"}, 0.05),
    ],
)
def test_optimisers_of_matrices_go_the_steps_of_pytorch(name: str, options: dict[str, Any], rtol: float) -> None:
    theirs = pytest.importorskip("torch")
    parameters = [W] if name == "Muon" else [W, B]
    for ours, other in zip(
        trained(torch, name, parameters, **options), trained(theirs, name, parameters, **options), strict=True
    ):
        np.testing.assert_allclose(ours, other, rtol=rtol, atol=rtol)


def test_steps_of_muon_are_nearly_orthogonal() -> None:
    (after,) = trained(torch, "Muon", [W], lr=0.01, weight_decay=0.0)
    singular = np.linalg.svd(after - W, compute_uv=False) / (0.01 * math.sqrt(4 / 3))
    assert np.all((singular > 1.5) & (singular < 5))  # of four steps, each of about 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: torch.optim.Adafactor([p], lr=-1.0), "Learning rate should be >= 0 but is: -1.0"),
        (lambda p: torch.optim.Adafactor([p], d=0.5), "Clipping threshold d should be >= 1 but is: 0.5"),
        (
            lambda p: torch.optim.Muon([p[0].detach().requires_grad_()]),
            "Muon only supports 2D parameters whereas we found .* size: \\(3,\\)",
        ),
        (lambda p: torch.optim.Muon([p], adjust_lr_fn="other"), "Adjust learning rate function other is not supported"),
    ],
)
def test_options_of_optimisers_of_matrices_are_checked(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(torch.ones(2, 3, requires_grad=True))


def test_complex_matrices_are_refused() -> None:
    x = torch.ones(2, 2, dtype=torch.complex128, requires_grad=True)
    x.abs().sum().backward()
    with pytest.raises(RuntimeError, match="Muon does not support complex parameters"):
        torch.optim.Muon([x]).step(lambda: None)


def test_an_option_that_is_required_is_asked_for() -> None:
    class Descent(torch.optim.Optimizer):
        def __init__(self, params: Any, lr: Any = torch.optim.optimizer.required) -> None:
            super().__init__(params, {"lr": lr})

    with pytest.raises(ValueError, match="didn't specify a value of required optimization parameter lr"):
        Descent([torch.ones(2, requires_grad=True)])


class Pair(NamedTuple):
    first: Any
    second: Any


def test_trees_are_taken_apart_and_put_together() -> None:
    tree = {"a": [1, (2, None)], "b": Pair(3, OrderedDict(c=4))}
    leaves, spec = trees.tree_flatten(tree)
    assert (leaves, spec.num_leaves) == ([1, 2, None, 3, 4], 5)
    assert trees.tree_unflatten(leaves, spec) == tree
    assert type(trees.tree_unflatten(leaves, spec)["b"]) is Pair
    assert trees.tree_map(lambda x, y: x + y, [1, (2,)], [10, (20,)]) == [11, (22,)]
    assert trees.tree_map_only(int, lambda x: -x, [1, "a"]) == [-1, "a"]
    assert trees.tree_leaves([[1], [2]], is_leaf=lambda x: x == [1]) == [[1], 2]
    assert (trees.tree_all(bool, [1, 0]), trees.tree_any(bool, [1, 0])) == (False, True)
    with pytest.raises(ValueError, match="`leaves` has length 1 but the spec refers to a pytree that holds 5 items"):
        trees.tree_unflatten([1], spec)
    with pytest.raises(ValueError, match="tree_map: the trees have 2, 1 leaves"):
        trees.tree_map(max, [1, 2], [3])


def test_methods_are_functions_too() -> None:
    x = torch.tensor([1.0, -2.0])
    assert torch.relu_(x) is x
    assert x.tolist() == [1.0, 0.0]
    assert torch.fill_(x, 3.0).tolist() == torch.clamp_(torch.tensor([5.0, 3.0]), max=3.0).tolist() == [3.0, 3.0]
    assert (torch.is_nonzero(torch.ones(1)), torch.is_same_size(x, x), torch.detach(x).requires_grad) == (
        True,
        True,
        False,
    )
    y = torch.tensor([1.0, -2.0])
    assert F.leaky_relu_(y, 0.5) is y
    assert y.tolist() == [1.0, -1.0]
    assert F.threshold_(torch.tensor([1.0, -2.0]), 0.0, 5.0).tolist() == [1.0, 5.0]


@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
def test_functions_of_integers_and_places() -> None:
    assert torch.tril_indices(3, 3).tolist() == [[0, 1, 1, 2, 2, 2], [0, 0, 1, 0, 1, 2]]
    assert torch.triu_indices(2, 3, offset=1).tolist() == [[0, 0, 1], [1, 2, 2]]
    assert torch.gcd(torch.tensor([4, -6]), torch.tensor([6, 4])).tolist() == [2, 2]
    assert torch.lcm(torch.tensor([4, 6]), torch.tensor(10)).tolist() == [20, 30]
    with pytest.raises(RuntimeError, match="\"gcd\" not implemented for 'Double'"):
        torch.gcd(torch.ones(1), torch.ones(1))
    assert torch.vander(torch.tensor([2, 3])).tolist() == [[2, 1], [3, 1]]
    assert torch.vander(torch.tensor([2.0]), 3, increasing=True).tolist() == [[1.0, 2.0, 4.0]]
    assert (torch.range(1, 2, 0.5).tolist(), torch.range(0, 2).long().tolist()) == ([1.0, 1.5, 2.0], [0, 1, 2])
    assert [x.tolist() for x in torch.unravel_index(torch.tensor([5, 7]), (2, 4))] == [[1, 1], [1, 3]]
    assert torch.row_stack([torch.ones(2), torch.zeros(2)]).tolist() == [[1.0, 1.0], [0.0, 0.0]]


@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0, 4, 0), "step must be nonzero"), ((0, 4, -1), "upper bound and lower bound inconsistent with step sign")],
)
def test_ranges_that_have_no_end_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        torch.range(*arguments)


def test_counts_of_poisson_have_their_mean() -> None:
    torch.manual_seed(0)
    counts = torch.poisson(torch.full((4000,), 3.0))
    assert abs(counts.mean().item() - 3) < 6 * math.sqrt(3 / 4000)
    assert counts.dtype == torch.float64


def test_unique_parts_along_an_axis() -> None:
    x = torch.tensor([[1, 2, 1], [0, 5, 0]])
    values, inverse, counts = torch.unique(x, dim=1, return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([[1, 2], [0, 5]], [0, 1, 0], [2, 1])
    assert torch.unique(torch.tensor([[3, 1], [0, 2], [3, 1]]), dim=0).tolist() == [[0, 2], [3, 1]]
    assert torch.unique(torch.ones(0, 3), dim=0).shape == (0, 3)
    with pytest.raises(RuntimeError, match=r"There are 0 sized dimensions, .* found \[2, 0\]"):
        torch.unique(torch.ones(2, 0), dim=0)


def test_half_precision_is_a_dtype_and_bfloat16_a_name() -> None:
    x = torch.ones(2).half()
    assert (x.dtype, torch.half, x.type()) == (torch.float16, torch.float16, "torch.HalfTensor")
    assert isinstance(x, torch.HalfTensor)
    assert x.dtype != torch.bfloat16
    assert (repr(torch.bfloat16), torch.is_autocast_enabled()) == ("torch.bfloat16", False)
    with pytest.raises(TypeError, match=r"torch.bfloat16 is no dtype; one is 'float64'"):
        torch.zeros(2, dtype=torch.bfloat16)


def test_functions_of_half_precision_are_of_it_and_their_squares_are_held() -> None:
    x = torch.tensor([0.5, 0.25]).half()
    for name in ("erf", "digamma", "i0", "xlogy", "lgamma", "logit"):
        arguments = (x, x) if name == "xlogy" else (x,)
        assert getattr(torch, name)(*arguments).dtype == torch.half
    y = torch.tensor([600.0, 800.0]).half().requires_grad_()
    z = torch.nn.functional.rms_norm(y, (2,))
    assert z.dtype == torch.half
    np.testing.assert_allclose(z.detach().numpy(), [0.8486, 1.1314], rtol=1e-3)
    z.sum().backward()
    assert y.grad.dtype == torch.half
    normal = torch.nn.functional.layer_norm(y.detach() * 2 - 1400, (2,))
    np.testing.assert_allclose(normal.numpy(), [-1.0, 1.0], rtol=1e-3)


def test_processes_that_are_not_there_are_not_asked() -> None:
    from dispatchkit.as_torch.distributed import nn  # a module of a library

    for function in (torch.distributed.all_reduce, nn.all_gather):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            function(torch.ones(2))


def test_data_sets_beside_and_after_one_another() -> None:
    letters, numbers = ["a", "b"], torch.arange(2)
    assert torch.utils.data.StackDataset(letters, numbers)[1][0] == "b"
    assert list(torch.utils.data.StackDataset(letter=letters, number=numbers)[0]) == ["letter", "number"]
    with pytest.raises(ValueError, match="the data sets differ in length: 2, 1"):
        dk.data.StackDataset(letters, [1])
    with pytest.raises(ValueError, match="give data sets either one after another or by name, and at least one"):
        dk.data.StackDataset()

    class Stream(torch.utils.data.IterableDataset[int]):
        def __iter__(self) -> Any:
            return iter([1, 2])

        def __len__(self) -> int:
            return 2

    chained = torch.utils.data.ChainDataset([Stream(), Stream()])
    assert (list(chained), len(chained), torch.utils.data.get_worker_info()) == ([1, 2, 1, 2], 4, None)
    with pytest.raises(TypeError, match="ChainDataset: a list is no IterableDataset"):
        list(dk.data.ChainDataset([[1]]))


def test_convolutions_can_give_their_input() -> None:
    for groups in (1, 2):
        layer = torch.nn.Conv1d(4, 4, 3, padding=1, groups=groups, bias=False)
        torch.nn.init.dirac_(layer.weight, groups)
        x = torch.arange(12.0).reshape(1, 4, 3)
        assert layer(x).tolist() == x.tolist()
    with pytest.raises(ValueError, match="dirac_: only tensors with 3, 4, or 5 dimensions are supported"):
        torch.nn.init.dirac_(torch.ones(2, 2))
    with pytest.raises(ValueError, match="dim 0 must be divisible by groups, found shape \\(3, 2, 1\\) and 2 groups"):
        torch.nn.init.dirac_(torch.ones(3, 2, 1), 2)


def test_a_share_of_each_column_is_zero() -> None:
    w = torch.nn.init.sparse_(torch.empty(20, 30), sparsity=0.3, std=2.0)
    assert (w == 0).sum(0).tolist() == [6] * 30
    assert 1.5 < w[w != 0].std().item() < 2.5
    with pytest.raises(ValueError, match="sparse_: only tensors with 2 dimensions are supported, found shape"):
        torch.nn.init.sparse_(torch.ones(3), 0.5)


@pytest.mark.parametrize("name", ["relu", "relu6", "silu", "elu", "leaky_relu", "hardtanh", "mish", "dropout", "rrelu"])
def test_functions_of_networks_write_into_their_argument_where_they_are_told_to(name: str) -> None:
    x, plain = torch.tensor([1.0, -2.0]), torch.tensor([1.0, -2.0])
    function = getattr(F, name)
    torch.manual_seed(0)
    expected = function(plain).tolist()
    torch.manual_seed(0)
    assert function(x, inplace=True) is x
    assert (x.tolist(), plain.tolist()) == (expected, [1.0, -2.0])
    with pytest.raises(TypeError, match=rf"{name}_\(\): argument 'input' \(position 1\) must be Tensor, not list"):
        function([1.0, -2.0], inplace=True)


def test_inplace_may_be_given_by_position() -> None:
    x = torch.tensor([1.0, -2.0])
    assert F.relu(x, True) is x
    assert F.elu(torch.tensor([-1.0]), 2.0, False).tolist() == pytest.approx([2 * math.expm1(-1)])
    assert F.leaky_relu(x, 0.1, True) is x
    weight = torch.ones(2, requires_grad=True)
    F.relu(weight * torch.tensor([1.0, -2.0]), inplace=True).sum().backward()
    assert weight.grad.tolist() == [1.0, 0.0]


def test_a_loss_may_be_added_to_in_place() -> None:
    x = torch.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
    loss = F.cross_entropy(x, torch.tensor([0, 2]))
    loss += x.square().sum()
    loss.backward()
    other = x.detach().requires_grad_()
    (F.cross_entropy(other, torch.tensor([0, 2])) + other.square().sum()).backward()
    assert x.grad.tolist() == other.grad.tolist()


def test_lists_of_more_than_numbers_are_indices_of_several_axes() -> None:
    x = torch.arange(9.0).reshape(3, 3)
    assert x[[[0, 1], [1, 2]]].tolist() == [1.0, 5.0]
    assert x[[0, [1, 2]]].tolist() == [1.0, 2.0]
    assert x[[torch.tensor(0), torch.tensor(1)]].item() == 1.0
    assert x[[slice(0, 2), 0]].tolist() == [0.0, 3.0]
    assert x[[0, 1]].shape == (2, 3)
    x[[[0, 1], [1, 2]]] = 7.0
    assert (x[0, 1].item(), x[1, 2].item(), x[0, 2].item()) == (7.0, 7.0, 2.0)


def rows_after_steps(library: Any, sparse: bool, **options: Any) -> Any:
    table = library.nn.Embedding(4, 2, sparse=sparse)
    with library.no_grad():
        table.weight.copy_(library.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]))
    optimizer = library.optim.SparseAdam(table.parameters(), lr=0.1, **options)
    for places in ([0, 2], [2], [0, 2, 2]):
        optimizer.zero_grad()
        (table(library.tensor(places)) ** 2).sum().backward()
        optimizer.step()
    return table.weight.detach().numpy()


@pytest.mark.parametrize("options", [{}, {"maximize": True, "betas": (0.5, 0.9)}])
def test_adam_of_rows_is_that_of_pytorch(options: Any) -> None:
    theirs = pytest.importorskip("torch")
    expected = rows_after_steps(theirs, True, **options)
    np.testing.assert_allclose(rows_after_steps(torch, True, **options), expected, rtol=1e-5)


def test_adam_of_rows_leaves_those_without_a_gradient() -> None:
    rows = rows_after_steps(torch, False)
    assert rows[[1, 3]].tolist() == [[3.0, 4.0], [7.0, 8.0]]
    assert (rows[[0, 2]] < [[1.0, 2.0], [5.0, 6.0]]).all()
    for options, words in (
        ({"lr": 0.0}, "Invalid learning rate: 0.0"),
        ({"eps": 0.0}, "Invalid epsilon value: 0.0"),
        ({"betas": (1.0, 0.9)}, "Invalid beta parameter at index 0: 1.0"),
    ):
        with pytest.raises(ValueError, match=words):
            torch.optim.SparseAdam([torch.ones(2, requires_grad=True)], **options)


OF_ANY: Any = torch  # with names that are not public, too


def normalized(bn: Any) -> Any:
    """Return a normalization that has seen data and does not train."""
    with OF_ANY.no_grad():
        bn.running_mean.copy_(OF_ANY.linspace(-1, 1, bn.num_features))
        bn.running_var.copy_(OF_ANY.linspace(0.5, 2, bn.num_features))
        bn.weight.copy_(OF_ANY.linspace(1, 3, bn.num_features))
        bn.bias.fill_(0.25)
    return bn.eval()


@pytest.mark.parametrize("bias", [True, False])
def test_a_fused_layer_does_what_two_did(bias: bool) -> None:
    utils, x = OF_ANY.nn.utils, OF_ANY.arange(48.0).view(2, 3, 8) / 10
    conv, bn = OF_ANY.nn.Conv1d(3, 2, 3, bias=bias).eval(), normalized(OF_ANY.nn.BatchNorm1d(2))
    assert OF_ANY.allclose(utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)))
    conv = OF_ANY.nn.ConvTranspose1d(3, 2, 3, bias=bias).eval()
    assert OF_ANY.allclose(utils.fusion.fuse_conv_bn_eval(conv, bn, transpose=True)(x), bn(conv(x)))
    linear = OF_ANY.nn.Linear(8, 2, bias=bias).eval()
    fused = utils.fuse_linear_bn_eval(linear, bn)
    assert OF_ANY.allclose(fused(x[0]), bn(linear(x[0])))
    assert fused.weight.requires_grad
    assert type(fused.weight) is type(linear.weight)


def test_layers_that_train_or_do_not_fit_are_not_fused() -> None:
    conv, bn, fuse = OF_ANY.nn.Conv1d(3, 2, 3), OF_ANY.nn.BatchNorm1d(2), OF_ANY.nn.utils.fuse_conv_bn_eval
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        fuse(conv, bn.eval())
    with pytest.raises(AssertionError, match=r"bn\.running_mean and bn\.running_var must not be None"):
        fuse(conv.eval(), OF_ANY.nn.BatchNorm1d(2, track_running_stats=False).eval())
    with pytest.raises(AssertionError, match=r"got linear\.out_features=3 and bn\.num_features=2"):
        OF_ANY.nn.utils.fuse_linear_bn_eval(OF_ANY.nn.Linear(2, 3).eval(), bn)


def test_names_that_are_not_public_and_that_programs_ask_for() -> None:
    draws = OF_ANY.distributions.utils._standard_normal((2, 3), torch.float32, "cpu")
    assert (draws.shape, draws.dtype) == ((2, 3), OF_ANY.float32)
    assert OF_ANY.torch.Tensor is OF_ANY.Tensor
    OF_ANY._assert_async(OF_ANY.tensor(True))
    with pytest.raises(RuntimeError, match="the sky is low"):
        OF_ANY._assert_async(OF_ANY.tensor(False), "the sky is low")
    assert OF_ANY.hub.HASH_REGEX.search("net-0123abcd.pth")[1] == "0123abcd"
    assert not OF_ANY.onnx.is_in_onnx_export()
    assert not OF_ANY.compiler.is_exporting()
    assert OF_ANY.distributions.ExponentialFamily is OF_ANY.distributions.exp_family.ExponentialFamily
    assert OF_ANY.nn.utils.skip_init(OF_ANY.nn.Linear, 2, 3).weight.shape == (3, 2)


def test_the_folder_of_the_hub_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", "/somewhere")
    assert OF_ANY.hub.get_dir() == "/somewhere/hub"
    monkeypatch.delenv("TORCH_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert OF_ANY.hub.get_dir() == "/cache/torch/hub"


def test_memory_goes_through_dlpack() -> None:
    x = OF_ANY.arange(3.0)
    y = OF_ANY.utils.dlpack.from_dlpack(x.numpy())
    assert type(y) is OF_ANY.Tensor
    y[0] = 5.0
    assert x[0] == 5.0
    assert type(OF_ANY.to_dlpack(x)).__name__ == "PyCapsule"


def test_shapes_of_distributions_have_numel() -> None:
    d = OF_ANY.distributions.MultivariateNormal(OF_ANY.zeros(4, 3), OF_ANY.eye(3))
    assert (d.event_shape.numel(), d.batch_shape.numel(), d.expand((2, 4)).batch_shape.numel()) == (3, 4, 8)
    assert d.sample((5,)).shape.numel() == 60
    mixed = OF_ANY.distributions.Independent(OF_ANY.distributions.Normal(OF_ANY.zeros(2, 3), 1.0), 1)
    assert (mixed.batch_shape.numel(), mixed.event_shape.numel()) == (2, 3)


def test_a_function_before_loading_may_be_without_the_module() -> None:
    layer, seen = OF_ANY.nn.Linear(2, 1), []
    layer._register_load_state_dict_pre_hook(lambda state, *rest: seen.append((sorted(state), len(rest))))
    layer._register_load_state_dict_pre_hook(lambda module, *rest: seen.append(module), with_module=True)
    layer.load_state_dict(layer.state_dict())
    assert seen == [(["bias", "weight"], 6), layer]


def test_views_know_what_they_are_of() -> None:
    x = OF_ANY.zeros(2, 3)
    row = x[0]
    assert (row._is_view(), x._is_view(), x.clone()._is_view()) == (True, False, False)
    assert row._base is x
    assert row[1:]._base is x
    assert x._base is None


def test_classes_of_tensors_make_theirs_of_others() -> None:
    class Labelled(OF_ANY.nn.Parameter):  # type: ignore[misc]  # of any type
        def __new__(cls, data: Any, label: str) -> Any:
            made = OF_ANY.Tensor._make_subclass(cls, data, True)
            made.label = label
            return made

    x = OF_ANY.ones(2, requires_grad=True)
    weight = Labelled(x, "w")
    layer = OF_ANY.nn.Module()
    layer.weight = weight
    assert [*layer.parameters()] == [weight]
    assert (weight.label, weight.is_leaf, weight.requires_grad) == ("w", True, True)
    (weight * 2).sum().backward()
    assert (weight.grad.tolist(), x.grad) == ([2.0, 2.0], None)
    assert not OF_ANY.Tensor._make_subclass(Labelled, x).requires_grad


def test_callbacks_are_called_at_the_end_of_the_pass_that_runs() -> None:
    engine = OF_ANY.autograd.Variable._execution_engine
    calls: list[Any] = []

    class Outer(OF_ANY.autograd.Function):  # type: ignore[misc]  # of any type
        @staticmethod
        def forward(ctx: Any, x: Any, inner: bool) -> Any:
            ctx.inner = inner
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            def call() -> None:
                calls.append((ctx.inner, w.grad is not None))
                if not ctx.inner:
                    engine.queue_callback(lambda: calls.append("added by a callback"))

            engine.queue_callback(call)
            if not ctx.inner:
                y = g.detach().requires_grad_()
                with OF_ANY.enable_grad():
                    Outer.apply(y, True).sum().backward()
                calls.append("between")
            return g, None

    w = OF_ANY.ones(2, requires_grad=True)
    Outer.apply(w, False).sum().backward()
    assert calls == [(True, False), "between", (False, True), "added by a callback"]
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        engine.queue_callback(calls.clear)


def test_functions_that_change_their_arguments_have_a_class() -> None:
    class Doubled(OF_ANY.autograd.function.InplaceFunction):  # type: ignore[misc]  # of any type
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x = OF_ANY.ones(2, requires_grad=True)
    y = x.clone()
    assert Doubled.apply(y) is y
    y.sum().backward()
    assert (y.tolist(), x.grad.tolist()) == ([2.0, 2.0], [2.0, 2.0])


def test_classes_of_tensors_have_their_dtype() -> None:
    assert (OF_ANY.IntTensor.dtype, OF_ANY.DoubleTensor.dtype) == (OF_ANY.int32, OF_ANY.float64)


def test_a_gradient_of_another_dtype_is_refused() -> None:
    x = OF_ANY.ones(2, dtype=OF_ANY.float32)
    with pytest.raises(RuntimeError, match="assigned grad has data of a different type"):
        x.grad = OF_ANY.ones(2, dtype=OF_ANY.int64)
    x.grad = OF_ANY.ones(2, dtype=OF_ANY.float32)
    assert x.grad.tolist() == [1.0, 1.0]


def test_functions_that_pytorch_writes_in_python_are_in_a_module_of_their_own() -> None:
    from_module = importlib.import_module("dispatchkit.as_torch.functional")
    assert OF_ANY.functional is from_module
    assert {"einsum", "norm", "split", "unique"} <= set(from_module.__all__)
    assert all(getattr(OF_ANY, name) is getattr(from_module, name) for name in from_module.__all__)
    assert from_module.F is OF_ANY.nn.functional


def test_groups_of_optimisers_have_the_options_that_choose_kernels() -> None:
    held = [OF_ANY.ones(1, requires_grad=True)]
    adam = OF_ANY.optim.AdamW(held, foreach=False)
    chosen = {"foreach": False, "capturable": False, "differentiable": False, "fused": None}
    assert {name: adam.param_groups[0][name] for name in chosen} == chosen
    adam.add_param_group({"params": [OF_ANY.ones(1, requires_grad=True)], "foreach": True})
    assert (adam.param_groups[1]["foreach"], adam.defaults["foreach"]) == (True, False)
    assert "capturable" not in OF_ANY.optim.SGD(held, lr=0.1).param_groups[0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_at_equal_distances_are_counted_from_the_nearer_end(dtype: str) -> None:
    x = OF_ANY.linspace(-1.0, 1.0, 14, dtype=getattr(OF_ANY, dtype))
    assert OF_ANY.equal(x, -x.flip(0))
    tenths = OF_ANY.linspace(0, 1, 6, dtype=getattr(OF_ANY, dtype))
    assert tenths[-3] == 1.0 - 2 * tenths[1]


def test_states_of_adagrad_are_there_before_the_first_step() -> None:
    held = OF_ANY.ones(2, requires_grad=True)
    optimizer = OF_ANY.optim.Adagrad([held], lr=0.1, initial_accumulator_value=1)
    assert optimizer.state[held]["step"] == 0.0
    assert optimizer.state[held]["sum"].tolist() == [1.0, 1.0]
    held.sum().backward()
    optimizer.step()
    assert optimizer.state[held]["step"] == 1.0
    assert optimizer.state[held]["sum"].tolist() == [2.0, 2.0]


def test_absent_dtypes_of_complex_and_quantized_numbers_are_named() -> None:
    assert (OF_ANY.complex32.is_complex, OF_ANY.complex32.itemsize, str(OF_ANY.complex32)) == (
        True,
        4,
        "torch.complex32",
    )
    assert not OF_ANY.qint8.is_floating_point
    assert OF_ANY.ones(1).dtype not in (OF_ANY.quint8, OF_ANY.qint32, OF_ANY.complex32)


def test_what_modules_are_brought_to_is_read_from_arguments() -> None:
    read = OF_ANY._C._nn._parse_to
    cpu = OF_ANY.device("cpu")
    assert read("cpu", OF_ANY.float32, True) == (cpu, OF_ANY.float32, True, None)
    assert read(OF_ANY.ones(1, dtype=OF_ANY.float32)) == (cpu, OF_ANY.float32, False, None)
    assert read(dtype=OF_ANY.float64, non_blocking=True) == (None, OF_ANY.float64, True, None)


def test_loaders_say_what_they_were_given_of_workers() -> None:
    loader = OF_ANY.utils.data.DataLoader([1, 2], pin_memory=True, persistent_workers=False)
    assert (loader.pin_memory, loader.persistent_workers, loader.pin_memory_device, loader.in_order) == (
        True,
        False,
        "",
        True,
    )

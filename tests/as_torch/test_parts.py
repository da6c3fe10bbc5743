"""Tests of the parts of PyTorch that libraries import, and of which little is here."""

from __future__ import annotations

import collections
import importlib
import inspect
import typing
from typing import Any

import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch
from dispatchkit.as_torch import nn

IMPORTS = """
from torch.profiler import ProfilerActivity, profile, record_function
from torch.autograd.profiler import EventList, record_function
from torch.overrides import TorchFunctionMode, handle_torch_function, has_torch_function, is_tensor_like
from torch.nn.functional import has_torch_function_unary, has_torch_function_variadic
from torch.nn.modules.module import _IncompatibleKeys
from torch.nn.attention.flex_attention import AuxRequest, BlockMask, create_block_mask
from torch.nn.parallel.distributed import DistributedDataParallel
from torch.nn.utils.stateless import functional_call
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.tensor import DTensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributions.multivariate_normal import _precision_to_scale_tril
from torch.cuda import CUDAGraph, Event, OutOfMemoryError, Stream, nvtx
from torch.utils._pytree import _dict_flatten_with_keys, register_pytree_node
from torch.utils._pytree import SUPPORTED_NODES, LeafSpec, PyTree, TreeSpec, _get_node_type
from torch.utils.data.dataloader import _BaseDataLoaderIter, _MultiProcessingDataLoaderIter
from torch.utils.flop_counter import FlopCounterMode
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch._subclasses.fake_tensor import is_fake
from torch import PyTorchFileReader, ScriptModule
from torch._dynamo import OptimizedModule, allow_in_graph, disable
from torch._dynamo.eval_frame import OptimizedModule
from torch._jit_internal import _copy_to_script_wrapper
from torch.library import custom_op, register_autograd, register_fake
"""


@pytest.mark.parametrize("line", IMPORTS.split("\n")[1:-1])
def test_libraries_import_names_of_parts(line: str) -> None:
    found: dict[str, Any] = {}
    exec(line.replace("from torch", "from dispatchkit.as_torch", 1), found)  # noqa: S102  # a line above
    assert found.keys() >= set(line.partition(" import ")[2].split(", "))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: torch.profiler.profile(),
            r"torch\.profiler\.profile: nothing is measured here; use Python's profilers",
        ),
        (lambda: torch.cuda.Stream(), r"torch\.cuda\.Stream: there are no devices with streams here"),
        (lambda: torch.distributed.tensor.DTensor(), r"torch\.distributed\.DTensor: there is one process here"),
        (
            lambda: torch.nn.attention.flex_attention.create_block_mask(),
            "use nn.functional.scaled_dot_product_attention",
        ),
        (lambda: torch.overrides.TorchFunctionMode(), "derive from dk.TensorFunctionMode"),
        (
            lambda: torch.ops.aten.add.Tensor(1, 2),
            r"torch\.ops\.aten\.add\.Tensor: operators are not called by these names",
        ),
        (lambda: nn.Linear(2, 2).cuda(), r"Linear\.cuda: no CUDA devices here; ask torch\.cuda\.is_available\(\)"),
        (lambda: torch._check(False, lambda: "too long"), "too long"),
        (lambda: torch.library.register_autograd("mine::none", len), "there is no operation 'mine::none'"),
    ],
)
def test_what_cannot_be_says_so(call: Any, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        call()


def test_blocks_of_profiles_run_as_they_are() -> None:
    @torch.profiler.record_function("step")  # type: ignore[untyped-decorator]
    def step() -> int:
        with torch.cuda.nvtx.range("inside"), torch.backends.cudnn.flags(enabled=False):
            return 3

    assert step() == 3
    assert "USE_MKL=OFF" in torch.__config__.show()


def test_limits_of_dtypes_that_numpy_has_not_are_those_of_pytorch() -> None:
    theirs = pytest.importorskip("torch")
    names = ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
    for name in names:
        ours, limits = torch.finfo(getattr(torch, name)), theirs.finfo(getattr(theirs, name))
        assert ours == tuple(getattr(limits, field) for field in ours._fields)
        for field in ("itemsize", "is_signed", "is_floating_point"):
            assert getattr(getattr(torch, name), field) == getattr(getattr(theirs, name), field)


def test_functions_ask_for_a_torch_function() -> None:
    class Own:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func.__name__, types, args

    own, x = Own(), torch.ones(2)
    assert not torch.overrides.has_torch_function((x, 3))
    assert torch.overrides.has_torch_function((x, own))
    assert torch.nn.functional.has_torch_function_unary(own)
    assert torch.nn.functional.has_torch_function_variadic(x, own)
    assert torch.overrides.handle_torch_function(len, (x, own), own) == ("len", (Own,), (own,))
    assert torch.overrides.is_tensor_like(own)
    assert not torch.overrides.is_tensor_like(3)
    with pytest.raises(TypeError, match=r"no implementation found for 'builtins\.len' on types that implement"):
        torch.overrides.handle_torch_function(len, (x,))


def test_operations_of_libraries_have_derivatives_of_their_own() -> None:
    @torch.library.custom_op("mine::scaled", mutates_args=())  # type: ignore[untyped-decorator]
    def scaled(x: Any, by: float = 2.0) -> Any:
        return x * by

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"mine::scaled: no derivative was registered; call register_autograd"):
        scaled(x).sum().backward()

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.by = inputs[1]

    scaled.register_autograd(lambda ctx, g: (g * ctx.by * 10, None), setup_context=keep)
    scaled(x, by=3.0).sum().backward()
    assert x.grad.tolist() == [30.0, 30.0]
    assert torch.ops.mine.scaled is scaled
    assert repr(torch.ops.aten.add.Tensor) == "torch.ops.aten.add.Tensor"


class Pair:
    """What a tree is told how to take apart."""

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second


def test_trees_take_apart_values_of_registered_classes() -> None:
    trees = torch.utils._pytree
    trees.register_pytree_node(
        Pair,
        lambda pair: ([pair.first, pair.second], "told"),
        lambda parts, context: Pair(parts[0], (parts[1], context)),
    )
    leaves, spec = trees.tree_flatten({"a": Pair(1, [2, 3]), "b": 4})
    assert (leaves, spec.num_leaves) == ([1, 2, 3, 4], 4)
    tree = trees.tree_unflatten([x * 10 for x in leaves], spec)
    assert (tree["a"].first, tree["a"].second, tree["b"]) == (10, ([20, 30], "told"), 40)
    assert trees.tree_leaves([Pair(5, 6)]) == [5, 6]
    assert trees._dict_flatten_with_keys({"a": 1}) == ([("a", 1)], ["a"])
    assert trees._dict_unflatten([1], ["a"]) == {"a": 1}


def test_modules_are_converted_and_replaced_inside() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    assert model.type(torch.float64) is model
    assert {str(v.dtype) for v in model.state_dict().values()} == {"torch.float64"}
    model.to_empty(device="cpu")
    assert [tuple(p.shape) for p in model.parameters()] == [(3, 2), (3,), (3,), (3,)]
    assert model.share_memory() is model
    assert model.compile() is None
    model.set_submodule("0", nn.Linear(2, 5))
    assert model[0].out_features == 5
    with pytest.raises(ValueError, match="Cannot set the submodule without a target name!"):
        model.set_submodule("", nn.Linear(2, 5))
    with pytest.raises(ValueError, match=r"`module` is not an nn\.Module"):
        model.set_submodule("0", 3)
    with pytest.raises(AttributeError, match="has no attribute `7`"):
        model.set_submodule("7", nn.Linear(2, 5), strict=True)
    names = [name for name, _ in model._named_members(lambda module: module._parameters.items(), prefix="net")]
    assert names == ["net.0.weight", "net.0.bias", "net.1.weight", "net.1.bias"]


def test_layers_come_before_modules_beside_them() -> None:
    class Named(nn.Module):
        def __init__(self, name: str = "") -> None:
            super().__init__()
            self.name = name

        def forward(self, x: Any) -> Any:
            raise AssertionError("not of the layer")

    for layer, args in ((nn.Linear, (2, 3)), (nn.BatchNorm1d, (2,)), (nn.Conv1d, (2, 3, 1)), (nn.GRU, (2, 3))):
        both: Any = type("Both", (layer, Named), {})
        made = both(*args)
        assert made.name == ""
        assert isinstance(made, layer)
        if layer is nn.Linear:
            assert made(torch.ones(4, 2)).shape == (4, 3)


def test_classes_of_modules_may_have_a_metaclass() -> None:
    class Meta(type):
        pass

    class Own(nn.Module, metaclass=Meta):
        pass

    for layer in (nn.RNNBase, nn.LSTM, nn.modules.batchnorm._BatchNorm, nn.MSELoss):
        assert isinstance(type("Both", (layer, Own), {}), Meta)


def test_a_subclass_makes_its_tensors_in_new() -> None:
    class Marked(torch.Tensor):
        def __new__(cls, data: Any, mark: str) -> Any:
            made = data.as_subclass(cls)
            made.mark = mark
            return made

    marked = Marked(torch.ones(2), "here")
    assert (marked.tolist(), marked.mark) == ([1.0, 1.0], "here")


def test_optimisers_that_do_not_start_their_base_class_take_steps() -> None:
    class Wrapper(torch.optim.Optimizer):
        def __init__(self, inner: Any) -> None:
            self.inner, self.param_groups = inner, inner.param_groups

        def step(self) -> None:  # type: ignore[override]
            self.inner.step()

    p = torch.ones(1, requires_grad=True)
    wrapper = Wrapper(torch.optim.SGD([p], lr=0.5))
    p.sum().backward()
    wrapper.step()
    assert p.item() == 0.5


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_results_of_maxima_of_windows_may_be_changed_in_place(rank: int) -> None:
    x = torch.arange(4.0**rank).view(1, 1, *(4,) * rank).requires_grad_()
    y = getattr(nn.functional, f"max_pool{rank}d")(x, 2)
    y += 1
    y.sum().backward()
    assert x.grad.sum() == 2.0**rank
    assert x.grad.view(-1)[-1] == 1


def test_annotations_of_public_classes_can_be_read() -> None:
    classes = [value for home in (dk.nn, dk.optim, nn, torch.optim) for value in vars(home).values()]
    for cls in (dk.Tensor, torch.Tensor, *filter(inspect.isclass, classes)):
        typing.get_type_hints(cls)


def test_points_of_sobol_are_those_of_pytorch() -> None:
    theirs = pytest.importorskip("torch").quasirandom.SobolEngine
    pytest.importorskip("scipy")
    ours, engine = torch.quasirandom.SobolEngine(3), theirs(3)
    for n in (1, 4, 3):
        assert ours.draw(n).tolist() == engine.draw(n).tolist()
    assert ours.fast_forward(2).draw(1).tolist() == engine.fast_forward(2).draw(1).tolist()
    with pytest.raises(ValueError, match=r"require n to be a power of 2\. 11 points have been previously generated"):
        ours.draw_base2(1)
    assert torch.quasirandom.SobolEngine(2).draw_base2(2).tolist() == theirs(2).draw_base2(2).tolist()
    out = torch.empty(0, dtype=torch.float32)
    assert ours.reset().draw(2, out=out) is out
    assert out.tolist() == engine.reset().draw(2).tolist()
    assert (ours.num_generated, repr(ours)) == (2, repr(engine))
    assert repr(torch.quasirandom.SobolEngine(2, scramble=True, seed=3)) == repr(theirs(2, scramble=True, seed=3))
    with pytest.raises(ValueError, match=r"Supported range of dimensionality for SobolEngine is \[1, 21201\], found 0"):
        torch.quasirandom.SobolEngine(0)


def test_subclasses_are_asked_by_torch_function() -> None:
    seen = []

    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    class Plain(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    x = torch.ones(2).as_subclass(Watched)
    y = torch.sin(x) + 1
    assert (type(y), seen) == (Watched, ["sin", "add"])
    assert torch.overrides.has_torch_function((x,))
    assert type(torch.ones(2).as_subclass(Plain) + 1) is torch.Tensor
    assert x._cdata == x._cdata != y._cdata


def test_a_module_forgets_a_member_whatever_its_own_delattr_does() -> None:
    class Own(nn.Linear):
        def __delattr__(self, name: str) -> None:
            if name in self._parameters:
                del self._parameters[name]
            else:
                super().__delattr__(name)

    own = Own(2, 3)
    del own.bias
    own.mark = 1
    del own.mark
    assert ([*own._parameters], hasattr(own, "bias"), hasattr(own, "mark")) == (["weight"], False, False)
    with pytest.raises(AttributeError, match="mark"):
        del own.mark


def test_structures_are_of_the_form_that_pytorch_gives_them() -> None:
    trees = torch.utils._pytree
    tree = {"a": [1, (2, None)], "b": collections.OrderedDict(x=3), "c": collections.deque([4], 2)}
    leaves, spec = trees.tree_flatten(tree)
    assert leaves == [1, 2, None, 3, 4]
    assert (spec.type, spec.context, spec.num_children, spec.num_nodes) == (dict, ["a", "b", "c"], 3, 10)
    assert repr(spec.child(0)) == "TreeSpec(list, None, [*,\n  TreeSpec(tuple, None, [*,\n    *])])"
    assert trees.tree_unflatten(leaves, spec) == tree
    assert spec == trees.tree_structure(tree)
    assert hash(spec) == hash(trees.tree_structure(tree))
    assert spec != trees.tree_structure([1])


def test_structures_are_made_by_programs() -> None:
    trees = torch.utils._pytree
    made = trees.TreeSpec(dict, ["k"], [trees.TreeSpec(tuple, None, [trees.LeafSpec(), trees.LeafSpec()])])
    assert trees.tree_unflatten([1, 2], made) == {"k": (1, 2)}
    node = trees.SUPPORTED_NODES[trees._get_node_type({"k": 1})]
    assert node.flatten_fn({"k": 1}) == ([1], ["k"])
    named = collections.namedtuple("named", "left right")
    assert trees._get_node_type(named(1, 2)) is collections.namedtuple
    assert trees.tree_map(lambda x: -x, named(1, 2)) == named(-1, -2)
    assert trees._is_leaf(collections.UserDict())
    with pytest.raises(TypeError, match="Expected `treespec` to be instance of TreeSpec but got item of type int"):
        trees.tree_unflatten([1], 1)


@pytest.mark.parametrize("name", ["cudnn", "mkl", "mkldnn", "openmp", "opt_einsum"])
def test_libraries_of_kernels_are_not_available(name: str) -> None:
    assert not importlib.import_module(f"dispatchkit.as_torch.backends.{name}").is_available()

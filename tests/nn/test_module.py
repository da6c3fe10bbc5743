"""`Module`: registration, listing, modes, conversion, printing, copies; its messages."""

import copy
import pickle
import re
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import nn
from tests.nn.modules import Net, Scale, Structured


def test_what_is_assigned_is_registered_in_order() -> None:
    net = Net()
    assert [name for name, _ in net.named_parameters()] == ["gain", "first.weight", "tail.0.weight", "tail.1.weight"]
    assert [name for name, _ in net.named_buffers()] == ["count", "first.steps", "tail.0.steps", "tail.1.steps"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "tail", "tail.0", "tail.1"]
    assert [name for name, _ in net.named_children()] == ["first", "tail"]
    assert [type(module) for module in net.children()] == [Scale, nn.Sequential]
    assert len(list(net.modules())) == 5
    assert [name for name, _ in net.named_parameters(recurse=False)] == ["gain"]
    assert [name for name, _ in net.named_parameters(prefix="net")][1] == "net.first.weight"
    assert [name for name, _ in net.named_buffers(prefix="net", recurse=False)] == ["net.count"]
    assert len(list(net.buffers())) == 4
    assert net.first.bias is None


def test_shared_parameters_and_modules_come_once() -> None:
    net = Net()
    net.second = net.first
    net.other = Scale(3.0)
    net.other.weight = net.first.weight
    names = [name for name, _ in net.named_parameters()]
    assert names.count("first.weight") == 1
    assert "second.weight" not in names
    assert "other.weight" not in names
    every = [name for name, _ in net.named_parameters(remove_duplicate=False)]
    assert {"first.weight", "second.weight", "other.weight"} <= set(every)
    assert len(list(net.parameters())) == len(names)
    assert [name for name, _ in net.named_modules()].count("second") == 0
    assert [name for name, _ in net.named_modules(remove_duplicate=False)].count("second") == 1
    assert [name for name, _ in net.named_children()] == ["first", "tail", "other"]


def test_an_array_type_is_registered_by_the_tensors_inside() -> None:
    module = Structured()
    assert [name for name, _ in module.named_parameters()] == ["weight.value", "offset"]
    assert type(module.weight) is dk.types.ScalarTensor
    assert module.get_parameter("weight") is module.weight
    assert module.get_parameter("weight.value") is module.weight.value
    module(dk.ones((2, 3))).sum().backward()
    assert [p.grad is not None for p in module.parameters()] == [True, True]
    assert module.double().weight.value.dtype == np.float64
    assert module.float().weight.dtype == np.float32


def test_an_array_type_may_be_a_buffer() -> None:
    module = nn.Module()
    module.register_buffer("scale", dk.types.ScalarTensor(2, dk.tensor(3.0)))
    assert [name for name, _ in module.named_buffers()] == ["scale.value"]
    assert list(module.parameters()) == []
    assert module.float().scale.value.dtype == np.float32


def test_assigning_again() -> None:
    net = Net()
    gain = nn.Parameter(dk.zeros(1))
    net.gain = gain
    assert net.gain is gain
    assert next(iter(net.named_parameters()))[0] == "gain"
    net.gain = None
    assert "gain" not in dict(net.named_parameters())
    net.gain = nn.Parameter(dk.ones(1))
    net.count = dk.ones(1)
    assert "count" in net.state_dict()
    net.first = None
    assert "first" not in dict(net.named_modules())
    net.plain = 3
    net.plain = nn.Parameter(dk.ones(1))
    assert "plain" in dict(net.named_parameters())
    net.plain = Scale(1.0)
    assert "plain" not in dict(net.named_parameters())
    assert "plain" in dict(net.named_children())


def test_a_tensor_is_an_ordinary_attribute() -> None:
    module = nn.Module()
    module.x = dk.ones(1)
    assert list(module.buffers()) == []
    assert module.state_dict() == {}


def test_deleting() -> None:
    net = Net()
    del net.gain, net.count, net.first
    assert "gain" not in dict(net.named_parameters())
    assert "count" not in dict(net.named_buffers())
    assert "first" not in dict(net.named_children())
    with pytest.raises(AttributeError, match="gain"):
        del net.gain


def test_dir_has_the_names() -> None:
    found = dir(nn.Sequential(Scale(1.0)))
    assert "forward" in found
    assert "0" not in found
    assert {"gain", "count", "first"} <= set(dir(Net()))


@pytest.mark.parametrize(
    ("assign", "message"),
    [
        (lambda m: setattr(m, "gain", 3), "Net: cannot assign 'int' as parameter 'gain' (dispatchkit.nn.Parameter or"),
        (lambda m: setattr(m, "gain", dk.ones(1)), "Net: cannot assign 'dispatchkit.Tensor' as parameter 'gain'"),
        (
            lambda m: setattr(m, "first", 3),
            "Net: cannot assign 'int' as child module 'first' (dispatchkit.nn.Module",
        ),
        (lambda m: setattr(m, "count", 3), "Net: cannot assign 'int' object to buffer 'count' (dispatchkit.Tensor or"),
        (lambda m: m.register_buffer("b", [1.0]), "Net: cannot assign 'list' object to buffer 'b'"),
        (
            lambda m: m.register_parameter("p", dk.ones(1)),
            "Net: cannot assign 'dispatchkit.Tensor' object to parameter 'p'",
        ),
        (lambda m: m.register_parameter(3, None), "Net: parameter name should be a string. Got int"),
        (lambda m: m.add_module("m", 3), "Net: int is not a Module subclass"),
        (lambda m: m.register_module(3, None), "Net: module name should be a string. Got int"),
    ],
)
def test_what_does_not_belong_is_refused(assign: Any, message: str) -> None:
    net = Net()
    before = repr(net), list(net.state_dict())
    with pytest.raises(TypeError, match=re.escape(message)):
        assign(net)
    assert (repr(net), list(net.state_dict())) == before


@pytest.mark.parametrize(
    ("assign", "message"),
    [
        (lambda m: m.register_parameter("first", None), "Net: attribute 'first' already exists"),
        (lambda m: m.register_buffer("forward", None), "Net: attribute 'forward' already exists"),
        (lambda m: m.add_module("gain", None), "Net: attribute 'gain' already exists"),
        (lambda m: setattr(m, "forward", nn.Parameter(dk.ones(1))), "Net: attribute 'forward' already exists in the"),
        (lambda m: m.register_parameter("a.b", None), 'Net: parameter name can\'t contain ".", got: a.b'),
        (lambda m: m.register_buffer("", None), 'Net: buffer name can\'t be empty string ""'),
    ],
)
def test_names_that_are_taken_or_no_names_are_refused(assign: Any, message: str) -> None:
    with pytest.raises(KeyError) as caught:
        assign(Net())
    assert message in caught.value.args[0]


def test_a_module_may_take_the_place_of_a_default_of_the_class() -> None:
    class Lazy(nn.Module):
        layer = None

        def __init__(self) -> None:
            super().__init__()
            self.layer = Scale(2.0)

    assert type(Lazy().layer) is Scale
    assert [name for name, _ in Lazy().named_children()] == ["layer"]


def test_a_parameter_that_was_computed_is_refused() -> None:
    p = nn.Parameter(dk.ones(1))
    p._node = (p * 2)._node
    with pytest.raises(ValueError, match=r"Net: cannot assign non-leaf Tensor to parameter 'late'.*forward"):
        Net().late = p


class Early(nn.Module):
    def __init__(self, value: Any) -> None:
        self.value = value


@pytest.mark.parametrize(("value", "what"), [(nn.Parameter(dk.ones(1)), "parameters"), (nn.Sequential(), "module")])
def test_assigning_before_init_says_so(value: Any, what: str) -> None:
    with pytest.raises(AttributeError, match=rf"Early: cannot assign {what} before Module.__init__\(\) call"):
        Early(value)


def test_finding_one() -> None:
    net = Net()
    assert net.get_submodule("") is net
    assert net.get_submodule("tail.1") is net.tail[1]
    assert net.get_parameter("tail.1.weight") is net.tail[1].weight
    assert net.get_buffer("first.steps") is net.first.steps


@pytest.mark.parametrize(
    ("find", "message"),
    [
        (lambda m: m.get_submodule("tail.7"), "Sequential has no attribute `7`"),
        (lambda m: m.get_submodule("gain"), "Net: `gain` is not an nn.Module"),
        (lambda m: m.get_parameter("first.nothing"), "Scale has no attribute `nothing`"),
        (lambda m: m.get_parameter("count"), "Net: `count` is not an nn.Parameter"),
        (lambda m: m.get_buffer("gain"), "Net: `gain` is not a buffer"),
        (lambda m: m.get_parameter("gain.value"), "Net: `gain` has no part `value`"),
        (lambda m: m.nothing, "'Net' object has no attribute 'nothing'"),
    ],
)
def test_what_is_not_found_is_named(find: Any, message: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(message)):
        find(Net())


def test_training_mode_goes_down() -> None:
    net = Net()
    assert net.eval() is net
    assert not any(module.training for module in net.modules())
    net.train()
    assert all(module.training for module in net.modules())
    with pytest.raises(ValueError, match="train: training mode is expected to be boolean, found 'yes'"):
        net.train("yes")  # type: ignore[arg-type]  # as the message says


def test_conversion_keeps_the_parameters_and_leaves_integers() -> None:
    net = Net()
    weight = net.first.weight
    net(dk.ones(2)).sum().backward()
    assert net.to(dk.float32) is net
    assert net.first.weight is weight
    assert weight.dtype == np.float32
    assert weight.grad is not None
    assert weight.grad.dtype == np.float32
    assert weight.requires_grad
    assert net.count.dtype == np.float32
    assert net.first.steps.dtype == np.int64
    assert net(dk.ones(2, dtype=dk.float32)).dtype == np.float32
    assert net.double().gain.dtype == np.float64
    assert net.half().gain.dtype == np.float16
    assert net.to(dk.ones(1)).gain.dtype == np.float64
    assert net.to("cpu").cpu().gain.device == "cpu"
    net(dk.ones(2)).sum().backward()


def test_conversion_that_cannot_be_changes_nothing() -> None:
    net = Net()
    with pytest.raises(TypeError, match=r"Net: Module.to only accepts floating point or complex dtypes.*dtype=int64"):
        net.to(dk.int64)
    with pytest.raises(ValueError, match="cuda"):
        net.to(dk.float32, device="cuda")
    assert net.gain.dtype == np.float64


def test_gradients_can_be_switched_off_and_forgotten() -> None:
    net = Net()
    net(dk.ones(2)).sum().backward()
    grad = net.gain.grad
    net.zero_grad(set_to_none=False)
    assert net.gain.grad is grad
    assert grad.tolist() == [0.0]
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    net.zero_grad(set_to_none=False)
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())
    assert not net(dk.ones(2)).requires_grad


def test_apply_visits_children_first() -> None:
    seen: list[str] = []
    net = Net()
    assert net.apply(lambda module: seen.append(type(module).__name__)) is net
    assert seen == ["Scale", "Scale", "Scale", "Sequential", "Net"]


def test_copies_are_independent() -> None:
    net = Net()
    net.shared = net.first
    for made in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert made.first is made.shared
        assert made.first is not net.first
        assert [name for name, _ in made.named_parameters()] == [name for name, _ in net.named_parameters()]
        assert all(type(p) is nn.Parameter for p in made.parameters())
        made.first.weight.data.fill_(9.0)
        assert net.first.weight.item() == 2.0
    shallow = copy.copy(net)
    assert shallow.first is net.first
    shallow.extra = nn.Parameter(dk.ones(1))
    assert "extra" not in dict(net.named_parameters())


def test_copies_keep_array_types() -> None:
    module = Structured()
    for made in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert isinstance(made.weight, nn.Parameter)
        assert made.weight.value is not module.weight.value  # type: ignore[attr-defined]
        assert made.state_dict().keys() == module.state_dict().keys()


def test_a_module_without_forward_says_so() -> None:
    with pytest.raises(NotImplementedError, match=r'Module \[Module\] is missing the required "forward" function'):
        nn.Module()(1)


def test_an_error_names_the_module_and_the_path_to_it() -> None:
    net = Net()
    with pytest.raises(ValueError, match="broadcast") as caught:
        net(dk.ones(2), spoil=dk.ones((3, 5)))
    assert caught.value.__notes__ == ["in Scale(factor=2.0), module 'first' of Net"]
    copied = pickle.loads(pickle.dumps(caught.value))
    assert type(copied.__notes__[0]) is str
    with pytest.raises(ValueError, match="broadcast") as caught:
        Scale(1.0)(dk.ones(2), dk.ones((3, 5)))
    assert caught.value.__notes__ == ["in Scale(factor=1.0)"]


def test_names_come_from_the_outermost_module() -> None:
    outer = nn.Sequential(nn.Sequential(Net()))
    outer[0][0].first.forward = None
    with pytest.raises(TypeError, match="not callable") as caught:
        outer(dk.ones(2))
    assert caught.value.__notes__ == ["in Scale(factor=2.0), module '0.0.first' of Sequential"]


def test_what_is_written_into_the_tables_is_registered() -> None:
    net: Any = Net()
    assert list(net._parameters) == ["gain"]
    net._parameters["late"] = nn.Parameter(dk.ones(1))
    net._buffers["count"] = dk.zeros(1)
    net._modules["first"] = nn.Identity()
    assert [name for name, _ in net.named_parameters()][:2] == ["gain", "late"]
    assert (list(net.state_dict())[:3], type(net.first)) == (["gain", "late", "count"], nn.Identity)
    del net._parameters["gain"]
    assert not hasattr(net, "gain")
    with pytest.raises(KeyError, match="gain"):
        del net._parameters["gain"]
    assert (len(net._parameters), "late" in net._parameters, net._modules.get("second")) == (1, True, None)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("_parameters", "Net: cannot assign 'int' object to parameter 'x'"),
        ("_buffers", "Net: cannot assign 'int' object to buffer 'x'"),
        ("_modules", "Net: int is not a Module subclass"),
    ],
)
def test_tables_take_only_members_of_their_kind(table: str, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        getattr(Net(), table)["x"] = 3


class Stacked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parameters: Any = [dk.ones(2)]
        self.parameters = nn.ParameterList(self.parameters)


def test_a_child_of_the_name_of_a_method_does_not_hide_it() -> None:
    net = Stacked()
    assert [name for name, _ in net.named_parameters()] == ["parameters.0"]
    assert [tuple(p.shape) for p in net.parameters()] == [(2,)]
    assert list(net.state_dict()) == ["parameters.0"]
    assert repr(net).startswith("Stacked(\n  (parameters): ParameterList(")
    copied = pickle.loads(pickle.dumps(net))
    copied.load_state_dict({"parameters.0": 3 * dk.ones(2)})
    assert next(iter(copied.parameters())).tolist() == [3.0, 3.0]
    net.parameters = None  # a child that is left out
    assert (list(net.parameters()), list(net._modules.items())) == ([], [("parameters", None)])
    del net.parameters
    assert list(net._modules) == []


def test_a_child_of_the_name_of_a_default_of_the_class_is_the_attribute() -> None:
    class WithDefault(nn.Module):
        inner: Any = None

    net = WithDefault()
    net.inner = nn.Identity()
    assert type(net.inner) is nn.Identity

"""`Sequential`, `ModuleList`, `ModuleDict`, `ParameterList`, `ParameterDict`; beside PyTorch where it is installed."""

import copy
import pickle
import re
from collections import OrderedDict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit import nn
from tests.nn.modules import Scale, Structured, named


def ours() -> SimpleNamespace:
    class Layer(nn.Module):
        def __init__(self, text: str = "") -> None:
            super().__init__()
            self.text = text
            self.weight = nn.Parameter(dk.ones(1))

        def extra_repr(self) -> str:
            return self.text

    return SimpleNamespace(nn=nn, Layer=Layer, ones=dk.ones)


def theirs() -> SimpleNamespace:
    torch = pytest.importorskip("torch")

    class Layer(torch.nn.Module):  # type: ignore[name-defined, misc]  # whether PyTorch is installed or not
        def __init__(self, text: str = "") -> None:
            super().__init__()
            self.text = text
            self.weight = torch.nn.Parameter(torch.ones(1))

        def extra_repr(self) -> str:
            return self.text

    return SimpleNamespace(nn=torch.nn, Layer=Layer, ones=torch.ones)


def nested(lib: Any) -> Any:
    inner = lib.nn.Sequential(lib.Layer("one"), lib.Layer("two\nlines"), lib.Layer())
    with_own = lib.Layer("before children")
    with_own.child = lib.nn.Sequential()
    with_own.missing = None
    with_own.register_module("none", None)
    return lib.nn.Sequential(OrderedDict(inner=inner, own=with_own, last=lib.nn.ModuleDict({"a": lib.Layer()})))


def lists(lib: Any) -> Any:
    runs = [lib.Layer("a"), lib.Layer("a"), lib.Layer("b"), lib.nn.Sequential(lib.Layer()), lib.Layer("c\nd")]
    return lib.nn.ModuleList([lib.nn.ModuleList(runs), lib.nn.ModuleList(runs), lib.nn.ModuleList()])


def edited_sequential(lib: Any) -> Any:
    model = lib.nn.Sequential(*(lib.Layer(str(i)) for i in range(5)))
    model.append(lib.Layer("appended")).extend([lib.Layer("extended")])
    model.insert(1, lib.Layer("inserted"))
    del model[0]
    del model[-2:]
    model[1] = lib.Layer("set")
    model += lib.nn.Sequential(lib.Layer("added"))
    model.pop(2)
    return lib.nn.ModuleList([model, model[1:3], model[::2], model + model, model * 2, model[-1]])


def edited_list(lib: Any) -> Any:
    modules = lib.nn.ModuleList(lib.Layer(str(i)) for i in range(4))
    modules.append(lib.Layer("appended")).extend([lib.Layer("extended")])
    modules.insert(2, lib.Layer("inserted"))
    del modules[1:3]
    del modules[-1]
    modules[0] = lib.Layer("set")
    modules += [lib.Layer("added")]
    modules.pop(1)
    return lib.nn.ModuleList([modules, modules[1:], modules + modules[:1], modules[-1]])


def edited_dict(lib: Any) -> Any:
    modules = lib.nn.ModuleDict({"a": lib.Layer("a"), "b": lib.Layer("b")})
    modules.update([("c", lib.Layer("c")), ["d", lib.Layer("d")]])
    modules.update(lib.nn.ModuleDict({"e": lib.Layer("e")}))
    modules["a"] = lib.Layer("new")
    modules.pop("b")
    del modules["c"]
    return modules


def parameters(lib: Any) -> Any:
    listed = lib.nn.ParameterList([lib.ones(2), lib.nn.Parameter(lib.ones(3))])
    listed.append(lib.ones(4)).extend([lib.ones(5)])
    listed[0] = lib.nn.Parameter(lib.ones(6))
    listed += [lib.ones(7)]
    by_name = lib.nn.ParameterDict({"a": lib.ones(1), "b": lib.ones(2)})
    by_name["c"] = lib.ones(3)
    by_name.pop("a")
    return lib.nn.ModuleDict({"listed": listed, "part": listed[1:3], "by_name": by_name})


BUILDERS = [nested, lists, edited_sequential, edited_list, edited_dict]


@pytest.mark.parametrize("build", BUILDERS, ids=lambda build: build.__name__)
def test_as_in_pytorch(build: Callable[[Any], Any]) -> None:
    expected, found = build(theirs()), build(ours())
    assert repr(found) == repr(expected)
    assert list(found.state_dict()) == list(expected.state_dict())
    assert [name for name, _ in found.named_modules()] == [name for name, _ in expected.named_modules()]


def test_parameters_are_held_as_in_pytorch() -> None:
    expected, found = parameters(theirs()), parameters(ours())
    shapes = [(name, tuple(p.shape)) for name, p in found.named_parameters()]
    assert shapes == [(name, tuple(p.shape)) for name, p in expected.named_parameters()]
    assert repr(found) == re.sub(r"torch.(FloatTensor|float32)", "float64", repr(expected))


def test_sequential_calls_in_order() -> None:
    model = named(first=Scale(2.0), second=nn.Sequential(Scale(3.0)))
    assert model(dk.ones(1)).tolist() == [6.0]
    assert model.first is model[0]
    assert [type(module) for module in model] == [Scale, nn.Sequential]
    assert nn.Sequential()(5) == 5
    assert len(2 * model) == 4
    model *= 2
    assert len(model) == 4
    assert nn.Sequential(OrderedDict(a=Scale(2.0)))[:1].a.factor == 2.0


def test_names_stay_when_others_go() -> None:
    model = named(first=Scale(1.0), second=Scale(2.0), third=Scale(3.0))
    del model[0]
    assert list(model._modules) == ["second", "third"]
    model.append(Scale(4.0)).pop(0)
    assert list(model._modules) == ["third", "1"]
    model.insert(0, Scale(5.0))
    assert list(model._modules) == ["0", "third", "2"]
    model.insert(-1, Scale(6.0))
    assert [module.factor for module in model] == [5.0, 3.0, 6.0, 4.0]


def test_dictionaries_give_what_they_hold() -> None:
    a, b = Scale(1.0), Scale(2.0)
    modules = nn.ModuleDict([("a", a), ("b", b)])
    assert list(modules) == list(modules.keys()) == ["a", "b"]
    assert list(modules.values()) == [a, b]
    assert dict(modules.items()) == {"a": a, "b": b}
    assert "a" in modules
    assert len(modules) == 2
    modules.clear()
    assert len(modules) == 0


def test_array_types_become_parameters() -> None:
    held = nn.ParameterList([dk.types.ScalarTensor(2, 3.0)])
    assert [name for name, _ in held.named_parameters()] == ["0.value"]
    assert "(0): Object of type: ScalarTensor" in repr(held)
    by_name = nn.ParameterDict({"a": dk.types.ScalarTensor(2, 3.0), "none": None})
    assert [name for name, _ in by_name.named_parameters()] == ["a.value"]


BAD: Any = 3
BAD_PAIR: Any = ("a",)


@pytest.mark.parametrize(
    ("attempt", "error", "message"),
    [
        (lambda: nn.Sequential(Scale(1.0), dk.exp), TypeError, "Sequential: function is not a Module subclass"),
        (lambda: nn.Sequential({"a": 3}), TypeError, "Sequential: int is not a Module subclass"),
        (lambda: nn.ModuleList([BAD]), TypeError, "ModuleList: int is not a Module subclass"),
        (
            lambda: nn.ModuleList().extend(BAD),
            TypeError,
            "ModuleList.extend should be called with an iterable, but got int",
        ),
        (lambda: nn.ModuleList([Scale(1.0)])[1], IndexError, "ModuleList: index 1 is out of range for 1 members"),
        (lambda: nn.ModuleList().pop(-1), IndexError, "ModuleList: index -1 is out of range for 0 members"),
        (lambda: nn.ModuleList().insert(2, Scale(1.0)), IndexError, "ModuleList: index 2 is out of range for 0"),
        (
            lambda: nn.Sequential() + BAD,
            ValueError,
            "add: only a Sequential can follow a Sequential, not a int",
        ),
        (
            lambda: nn.Sequential() * 0,
            ValueError,
            "mul: a Sequential can only be repeated a positive number of times, not 0",
        ),
        (
            lambda: nn.Sequential() * 1.5,  # type: ignore[operator]
            TypeError,
            "mul: a Sequential is repeated a whole number of times, not 1.5",
        ),
        (
            lambda: nn.ModuleDict(BAD),
            TypeError,
            "ModuleDict.update should be called with an iterable of key/value pairs",
        ),
        (lambda: nn.ModuleDict([BAD]), TypeError, "ModuleDict update sequence element #0 should be a pair; is int"),
        (
            lambda: nn.ModuleDict([BAD_PAIR]),
            ValueError,
            "ModuleDict update sequence element #0 has length 1; 2 is required",
        ),
        (lambda: nn.ModuleDict({"update": Scale(1.0)}), KeyError, "attribute 'update' already exists"),
        (lambda: nn.ModuleDict()["a"], KeyError, "a"),
        (lambda: nn.ParameterList(["text"]), TypeError, "ParameterList: a str is neither a tensor nor an array type"),
        (lambda: nn.ModuleList()(1), NotImplementedError, 'Module [ModuleList] is missing the required "forward"'),
    ],
)
def test_what_does_not_fit_is_refused(attempt: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        attempt()


def test_a_refused_extension_adds_nothing() -> None:
    modules = nn.ModuleList([Scale(1.0)])
    with pytest.raises(TypeError, match="ModuleList: int is not a Module subclass"):
        modules.extend([Scale(2.0), BAD])
    assert len(modules) == 1


def test_copies() -> None:
    model = nn.Sequential(Structured(), nn.ParameterList([dk.ones(1)]), nn.ModuleDict({"a": Scale(1.0)}))
    for made in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert repr(made) == repr(model)
        assert list(made.state_dict()) == list(model.state_dict())


def test_a_list_of_parameters_may_hold_another() -> None:
    inner = dk.nn.ParameterList([dk.zeros(1)])
    outer = dk.nn.ParameterList([dk.ones(2), inner])
    outer.append(dk.ones(3))
    outer.insert(0, dk.ones(4))
    assert [name for name, _ in outer.named_parameters()] == ["0", "1", "3", "2.0"]
    assert (len(outer), outer[2] is inner, outer[-1].shape) == (4, True, (3,))
    assert "(2): Object of type: ParameterList" in repr(outer)
    del outer[2]
    assert [part.shape for part in outer] == [(4,), (2,), (3,)]
    assert not list(outer.children())


@pytest.mark.parametrize("base", [nn.ModuleDict, nn.ModuleList, nn.ParameterDict, nn.ParameterList])
def test_a_container_that_is_given_nothing_does_not_call_what_adds(base: Any) -> None:
    class Adding(base):  # type: ignore[misc]  # of each class
        def update(self, *values: Any) -> None:
            raise AssertionError("called")

        extend = update

    assert len(Adding()) == 0
    with pytest.raises(AssertionError, match="called"):
        Adding({})

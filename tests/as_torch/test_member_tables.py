"""`_parameters`, `_buffers` and `_modules` of modules, which programs for PyTorch write, replace and copy."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch as torch

OF_ANY: Any = torch
nn: Any = OF_ANY.nn
X = OF_ANY.ones(1, 3)


def layer() -> Any:
    """Return a layer whose output of ones is that of its weight, which are numbers from 0 on."""
    made = nn.Linear(3, 2)
    with OF_ANY.no_grad():
        made.weight.copy_(OF_ANY.arange(6.0).view(2, 3))
        made.bias.zero_()
    return made


def names_of(module: Any) -> list[str]:
    return [name for name, _ in module.named_parameters()]


def test_results_take_the_place_of_parameters_and_get_gradients() -> None:
    scale, module = OF_ANY.tensor(2.0, requires_grad=True), layer()
    module._parameters["weight"] = module.weight.detach() * scale
    y = module(X)
    y.sum().backward()
    assert y.tolist() == [[6.0, 24.0]]
    assert scale.grad == 15.0
    assert module._parameters["weight"] is module.weight
    assert names_of(module) == ["weight", "bias"]


def test_all_members_of_a_kind_are_replaced_at_once() -> None:
    module = nn.Sequential(layer(), nn.BatchNorm1d(2))
    module[0]._parameters = {"weight": module[0].weight, "bias": None}
    module[1]._buffers = {"running_mean": OF_ANY.ones(2), "running_var": OF_ANY.ones(2)}
    assert names_of(module) == ["0.weight", "1.weight", "1.bias"]
    assert list(module.state_dict()) == ["0.weight", "1.weight", "1.bias", "1.running_mean", "1.running_var"]
    assert not hasattr(module[1], "num_batches_tracked")
    module._modules = {"0": nn.Flatten(), "1": layer()}
    assert module(X).tolist() == [[3.0, 12.0]]


def test_a_table_that_was_replaced_keeps_what_it_had_and_can_be_put_back() -> None:
    module = layer()
    before = module._parameters
    module._parameters = {name: value * 2.0 for name, value in before.items()}
    assert module(X).tolist() == [[6.0, 24.0]]
    assert module.weight is not before["weight"]
    module._parameters = before
    assert module(X).tolist() == [[3.0, 12.0]]
    assert isinstance(module.weight, nn.Parameter)


@pytest.mark.parametrize("table", ["_parameters", "_buffers", "_modules"])
def test_tables_stand_among_the_attributes(table: str) -> None:
    module = nn.Sequential(layer(), nn.BatchNorm1d(2))[1]
    assert dict(module.__dict__[table]) == dict(getattr(module, table))
    module.__dict__[table]["further"] = None
    assert "further" in getattr(module, table)
    assert module.further is None


def test_attributes_of_a_module_given_to_another_one_by_one_leave_the_tables_of_both_alone() -> None:
    module, other = nn.Sequential(layer()), nn.Sequential()
    for name, value in module.__dict__.items():
        if name not in {"_parameters", "_buffers", "_modules"}:
            object.__setattr__(other, name, value)
    other._modules["1"] = nn.Flatten()
    assert list(module._modules) == ["0"]
    assert list(other._modules) == ["1"]


def test_a_replica_of_all_attributes_has_tables_of_its_own() -> None:
    module = nn.Sequential(layer(), nn.Flatten())
    for replica in (module._replicate_for_data_parallel(), copy.copy(module)):
        replica._modules["1"] = nn.Softmax(1)
        replica._modules["2"] = nn.Flatten()
        assert isinstance(module[1], nn.Flatten)
        assert len(module) == 2
        assert len(replica) == 3
    assert list(layer()._replicate_for_data_parallel()._parameters) == []


def test_copies_and_pickles_have_tables_of_their_own() -> None:
    module = layer()
    for made in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        made._parameters["bias"] = None
        assert names_of(made) == ["weight"]
        assert module.bias is not None
    held = copy.copy(module._parameters)
    assert type(held) is dict
    assert held == {"weight": module.weight, "bias": module.bias}
    assert module._parameters.copy() == held
    assert type(module._parameters)(held) == held


def test_a_module_takes_the_state_of_another() -> None:
    module, other = layer(), nn.Linear(3, 2)
    other.__setstate__(module.__getstate__())
    other._parameters["bias"] = OF_ANY.ones(2)
    assert other(X).tolist() == [[4.0, 13.0]]
    assert module.bias.tolist() == [0.0, 0.0]


def test_a_module_is_given_up_at_once_although_its_attributes_have_its_tables() -> None:
    gc.disable()
    try:
        module = layer()
        gone = weakref.ref(module)
        del module
        assert gone() is None
        assert list(layer()._parameters) == ["weight", "bias"]
    finally:
        gc.enable()


def test_names_of_buffers_that_are_not_saved_are_a_set_that_can_be_changed() -> None:
    module = nn.Module()
    module.register_buffer("kept", OF_ANY.ones(1))
    module.register_buffer("left", OF_ANY.ones(1), persistent=False)
    assert module._non_persistent_buffers_set == {"left"}
    module._non_persistent_buffers_set.discard("left")
    module._non_persistent_buffers_set.add("kept")
    assert list(module.state_dict()) == ["left"]
    module._non_persistent_buffers_set = set()
    assert list(module.state_dict()) == ["kept", "left"]


def test_a_step_of_descent_is_put_into_the_parameters_and_differentiated() -> None:
    module = nn.Sequential(layer(), nn.Tanh())
    weight = module[0].weight
    loss = (module(X * 0.1) ** 2.0).sum()
    (slope,) = OF_ANY.autograd.grad(loss, [weight], create_graph=True)
    module[0]._parameters["weight"] = weight - 0.5 * slope
    (through,) = OF_ANY.autograd.grad((module(X * 0.1) ** 2.0).sum(), [weight])
    module[0]._parameters["weight"] = weight
    assert module[0].weight is weight
    assert np.isfinite(through.numpy()).all()
    assert not np.allclose(through.detach().numpy(), slope.detach().numpy())


def test_hooks_around_states_are_found_by_their_names_in_pytorch() -> None:
    module = layer()
    handle = module._register_state_dict_hook(lambda *call: None)
    module.register_load_state_dict_pre_hook(lambda *call: None)
    assert len(module._state_dict_hooks) == len(module._load_state_dict_pre_hooks) == 1
    handle.remove()
    assert len(module._state_dict_hooks) == len(module._state_dict_pre_hooks) == 0

"""Weights of which elements or channels are left out, beside PyTorch's where that is installed."""

from __future__ import annotations

import copy
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch
from dispatchkit.as_torch.nn.utils import prune

torch: Any = dispatchkit.as_torch


def layer(lib: Any) -> Any:
    made = lib.nn.Linear(4, 3).double()
    made.weight.data = lib.arange(12, dtype=lib.float64).reshape(3, 4) - 5
    return made


def by_elements(lib: Any, prune: Any) -> Any:
    module = prune.l1_unstructured(layer(lib), "weight", 0.3)
    return [module.weight, module.weight_mask, module.weight_orig]


def by_scores(lib: Any, prune: Any) -> Any:
    scores = lib.arange(12).reshape(3, 4) * 7.0 % 13
    return prune.l1_unstructured(layer(lib), "weight", amount=4, importance_scores=scores).weight


def by_channels(lib: Any, prune: Any) -> Any:
    return [prune.ln_structured(layer(lib), "weight", 1, n=2, dim=dim).weight for dim in (0, 1, -1)]


def by_a_mask(lib: Any, prune: Any) -> Any:
    return prune.custom_from_mask(layer(lib), "weight", lib.eye(4)[:3]).weight


def one_after_the_other(lib: Any, prune: Any) -> Any:
    module, results = layer(lib), []
    steps: tuple[Callable[[], Any], ...] = (
        lambda: prune.l1_unstructured(module, "weight", 0.3),
        lambda: prune.ln_structured(module, "weight", 1, n=2, dim=0),
        lambda: prune.ln_structured(module, "weight", 0.25, n=1, dim=1),
        lambda: prune.custom_from_mask(module, "weight", 1 - lib.eye(4)[:3]),
        lambda: prune.l1_unstructured(module, "weight", 1),
    )
    for step in steps:
        step()
        results.append(module.weight)
    module(lib.ones(1, 4, dtype=lib.float64)).sum().backward()
    return [*results, module.weight_orig.grad]


def of_several(lib: Any, prune: Any) -> Any:
    one, two = layer(lib), layer(lib)
    two.weight.data = two.weight.data * 0.5 + 0.1
    prune.l1_unstructured(one, "weight", 2)
    prune.global_unstructured([(one, "weight"), (two, "weight")], prune.L1Unstructured, amount=0.25)
    scores = {(two, "weight"): lib.ones(3, 4) * 100}
    prune.global_unstructured([(one, "weight"), (two, "weight")], prune.L1Unstructured, scores, amount=2)
    return [one.weight, two.weight]


def of_a_tensor(lib: Any, prune: Any) -> Any:
    x = lib.arange(6.0).reshape(2, 3) - 2
    once = prune.L1Unstructured(2).prune(x)
    return [once, prune.LnStructured(1, 2, 0).prune(x, default_mask=lib.eye(3)[:2], importance_scores=-x)]


PROGRAMS: list[Callable[[Any, Any], Any]] = [
    by_elements,
    by_scores,
    by_channels,
    by_a_mask,
    one_after_the_other,
    of_several,
    of_a_tensor,
]


def arrays(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [array for part in value for array in arrays(part)]
    return [np.asarray(value.detach())]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch says what is right")
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_left_out_is_as_in_pytorch(program: Callable[[Any, Any], Any]) -> None:
    import torch as peer
    from torch.nn.utils import prune as pruning

    for one, other in zip(arrays(program(torch, prune)), arrays(program(peer, pruning)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_least_elements_are_left_out() -> None:
    module = prune.l1_unstructured(layer(torch), "weight", 0.25)
    assert module.weight.tolist() == [[-5, -4, -3, -2], [0, 0, 0, 2], [3, 4, 5, 6]]
    assert sorted(module.state_dict()) == ["bias", "weight_mask", "weight_orig"]
    assert [name for name, _ in module.named_parameters()] == ["bias", "weight_orig"]
    module.weight_orig.data = torch.ones(3, 4, dtype=torch.float64)
    module(torch.ones(1, 4, dtype=torch.float64))
    assert module.weight.sum() == 9
    copied = copy.deepcopy(module)
    assert (prune.is_pruned(torch.nn.Sequential(copied)), prune.is_pruned(layer(torch))) == (True, False)


def test_a_weight_becomes_a_parameter_again() -> None:
    module = layer(torch)
    weight = module.weight
    prune.identity(module, "weight")
    prune.ln_structured(module, "weight", 1, n=1, dim=0)
    prune.remove(module, "weight")
    assert module.weight is weight
    assert sorted(module.state_dict()) == ["bias", "weight"]
    assert module.weight.tolist() == [[-5, -4, -3, -2], [0, 0, 0, 0], [3, 4, 5, 6]]
    assert not prune.is_pruned(module)
    with pytest.raises(ValueError, match=r"Parameter 'weight' of module Linear.* has to be pruned before pruning can"):
        prune.remove(module, "weight")


@pytest.mark.parametrize("amount", [5, 0.5, 0])
def test_as_many_are_left_out_at_random(amount: Any) -> None:
    module = prune.random_unstructured(layer(torch), "weight", amount)
    assert module.weight_mask.sum() == 12 - (amount if isinstance(amount, int) else 12 * amount)
    module = prune.random_structured(layer(torch), "weight", 1, dim=1)
    assert sorted(module.weight_mask.sum(0).tolist()) == [0, 3, 3, 3]


@pytest.mark.parametrize(
    ("error", "text", "call"),
    [
        (TypeError, "Invalid type for amount: x. Must be int or float.", lambda: prune.L1Unstructured("x")),
        (ValueError, "amount=-1 should either be a float", lambda: prune.RandomStructured(-1)),
        (ValueError, "amount=1.5 should either be a float", lambda: prune.LnStructured(1.5, 2)),
        (
            ValueError,
            "amount=13 should be smaller than the number of parameters to prune=12",
            lambda: prune.l1_unstructured(layer(torch), "weight", 13),
        ),
        (
            ValueError,
            "Structured pruning can only be applied to multidimensional tensors",
            lambda: prune.random_structured(layer(torch), "bias", 1, 0),
        ),
        (IndexError, "Invalid index 2 for tensor", lambda: prune.ln_structured(layer(torch), "weight", 1, 2, 2)),
        (
            AssertionError,
            "importance_scores should have the same shape as parameter weight",
            lambda: prune.l1_unstructured(layer(torch), "weight", 1, torch.ones(2)),
        ),
        (AssertionError, "default_mask shape", lambda: prune.custom_from_mask(layer(torch), "weight", torch.ones(2))),
        (
            TypeError,
            'Only "unstructured" PRUNING_TYPE supported',
            lambda: prune.global_unstructured([(layer(torch), "weight")], prune.LnStructured, amount=1, n=1),
        ),
        (TypeError, "is not an Iterable", lambda: prune.global_unstructured(1, prune.L1Unstructured, amount=1)),
        (TypeError, "is not a BasePruningMethod subclass", lambda: prune.PruningContainer().add_pruning_method(1)),
        (NotImplementedError, "must define compute_mask", lambda: prune.BasePruningMethod().prune(torch.ones(2))),
    ],
)
def test_what_cannot_be_left_out_is_refused(error: Any, text: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=text):
        call()


def test_a_module_is_as_it_was_where_a_mask_cannot_be_made() -> None:
    module = layer(torch)
    with pytest.raises(ValueError, match="amount=13"):
        prune.l1_unstructured(module, "weight", 13)
    assert sorted(module.state_dict()) == ["bias", "weight"]
    assert not prune.is_pruned(module)

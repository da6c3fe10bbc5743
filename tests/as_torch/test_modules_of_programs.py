"""Modules as PyTorch's programs use them: arguments by name, hooks, lazy modules of their own, older states."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import dispatchkit.as_torch as spelled

torch: Any = spelled


def test_layers_take_their_arguments_by_pytorchs_names() -> None:
    x, labels = torch.ones(2, 3), torch.tensor([0, 2])
    for layer in (torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.LayerNorm(3), torch.nn.Sequential(torch.nn.Tanh())):
        assert layer(input=x).tolist() == layer(x).tolist() == layer.forward(input=x).tolist()
    assert torch.nn.CrossEntropyLoss()(input=x, target=labels) == torch.nn.CrossEntropyLoss()(x, labels)
    assert torch.nn.LSTM(3, 2)(input=x[None])[0].shape == (1, 2, 2)
    assert torch.nn.InstanceNorm1d(2)(input=x[None]).shape == torch.nn.ZeroPad1d(0)(input=x[None]).shape == (1, 2, 3)
    assert torch.nn.RMSNorm(3)(x=x).shape == (2, 3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'x'"):
        torch.nn.Linear(3, 3)(x=x)


def test_hooks_of_modules_are_looked_at_cleared_and_replaced() -> None:
    layer, x = torch.nn.Linear(2, 2), torch.ones(1, 2)
    before = layer(x).tolist()

    def double(module: Any, args: Any, y: Any) -> Any:
        return y * 2

    layer.register_forward_hook(double)
    layer.register_forward_pre_hook(lambda module, args: (args[0] * 0,))
    assert list(layer._forward_hooks.values()) == [double]
    assert (len(layer._forward_pre_hooks), len(layer._backward_hooks)) == (1, 0)
    for key in layer._forward_pre_hooks:
        del layer._forward_pre_hooks[key]
    assert layer(x).tolist() == [[2 * y for y in before[0]]]
    layer._forward_hooks.clear()
    assert layer(x).tolist() == before
    layer._forward_hooks = OrderedDict({5: double})
    assert repr(layer._forward_hooks) == f"OrderedDict({{5: {double!r}}})"
    assert layer(x).tolist() == [[2 * y for y in before[0]]]


def test_complex_tensors_are_filled_in_both_parts() -> None:
    torch.manual_seed(0)
    z = torch.zeros(2000, dtype=torch.complex128).normal_(1.0, 2.0)
    assert abs(z.real.mean().item() - 1) < 0.2
    assert abs(z.imag.mean().item()) < 0.2
    assert abs(z.std().item() - 2) < 0.2
    u = torch.zeros(100, dtype=torch.complex64).uniform_(2.0, 3.0)
    for part in (u.real, u.imag):
        assert 2 <= part.min() < part.max() <= 3
    layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(2, 3).to(torch.complex64))
    assert torch.linalg.matrix_norm(layer.weight, 2).item() < 1.5


def test_modules_of_programs_are_lazy() -> None:
    class Scaled(torch.nn.modules.lazy.LazyModuleMixin, torch.nn.Module):  # type: ignore[misc]  # of any type
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.nn.UninitializedParameter()

        def initialize_parameters(self, input: Any) -> None:
            if self.has_uninitialized_params():
                self.scale.materialize(input.shape[-1])
                torch.nn.init.ones_(self.scale)

        def forward(self, input: Any) -> Any:
            return input * self.scale

    module = Scaled()
    assert module.has_uninitialized_params()
    assert module(input=torch.ones(2, 3)).tolist() == [[1.0] * 3] * 2
    assert (tuple(module.scale.shape), module.has_uninitialized_params()) == ((3,), False)
    with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented for LazyModuleMixin"):
        torch.nn.modules.lazy.LazyModuleMixin()(torch.ones(2))


def test_states_of_the_older_weight_norm_are_loaded() -> None:
    older = torch.nn.utils.weight_norm(torch.nn.Linear(3, 2))
    newer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2))
    newer.load_state_dict(older.state_dict())
    assert newer(torch.ones(1, 3)).tolist() == older(torch.ones(1, 3)).tolist()

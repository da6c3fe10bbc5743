"""Modules as PyTorch's programs use them: arguments by name, hooks, lazy modules of their own, older states."""

from __future__ import annotations

import importlib
from collections import OrderedDict
from typing import Any

import numpy as np
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


def test_modules_of_distributions_have_what_those_of_pytorch_import() -> None:
    normal = importlib.import_module("dispatchkit.as_torch.distributions.multivariate_normal")
    assert normal.Distribution is torch.distributions.Distribution
    assert normal.constraints is torch.distributions.constraints
    assert importlib.import_module("dispatchkit.as_torch.distributions.normal").broadcast_all is not None


def test_all_optimisers_have_hooks_where_pytorch_has_them() -> None:
    log: list[str] = []
    with torch.optim.optimizer.register_optimizer_step_post_hook(lambda *args: log.append("after")):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
        optimizer._patch_step_function()
        optimizer.step()
    assert log == ["after"]


def test_statistics_of_channels_enter_the_running_ones() -> None:
    x, mean, variance = torch.arange(12.0).reshape(2, 3, 2), torch.zeros(3), torch.ones(3)
    found = torch.batch_norm_update_stats(x, mean, variance, 0.1)
    assert [each.tolist() for each in found] == [[3.5, 5.5, 7.5], [9.25] * 3]
    np.testing.assert_allclose(mean.tolist(), [0.35, 0.55, 0.75])
    np.testing.assert_allclose(variance.tolist(), [0.9 + 37 / 30] * 3)


def test_a_loader_takes_that_batches_come_in_order() -> None:
    loader = torch.utils.data.DataLoader(torch.arange(4), batch_size=2, in_order=True)
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3]]


CTC_REFUSALS: dict[str, tuple[dict[str, Any], str]] = {
    "long inputs": ({"input_lengths": [6, 5]}, "Expected input_lengths to have value at most 5, but got value 6"),
    "negative inputs": (
        {"input_lengths": [-1, 5]},
        "Expected input_lengths to have value at least 0, but got value -1",
    ),
    "too few inputs": ({"input_lengths": [5]}, "input_lengths must be of size batch_size, 2, found 1"),
    "fractions": ({"target_lengths": [3.0, 3.0]}, "target_lengths must be integral"),
    "long targets": ({"target_lengths": [4, 3]}, r"Expected targets of shape \[2, 4\], but got \[2, 3\]"),
    "targets in a row": ({"targets": torch.ones(5).long()}, r"Expected targets of shape \[6\], but got \[5\]"),
    "targets of three": ({"targets": torch.ones(3, 3).long()}, r"Expected targets of shape \[2, 3\], but got \[3, 3\]"),
    "blank": ({"blank": 4}, "blank must be in label range, from 0 to 3, found 4"),
    "axes": (
        {"log_probs": torch.zeros(4)},
        "Expected 3-dimensional tensor, but got 1-dimensional tensor for log_probs",
    ),
}


@pytest.mark.parametrize("name", CTC_REFUSALS)
def test_alignments_look_at_their_arguments(name: str) -> None:
    changed, text = CTC_REFUSALS[name]
    given = {"log_probs": torch.zeros(5, 2, 4), "targets": torch.ones(2, 3).long()}
    lengths = {"input_lengths": [5, 5], "target_lengths": [3, 3]}
    with pytest.raises(RuntimeError, match=text):
        torch.nn.functional.ctc_loss(**{**given, **lengths, **changed})

"""The modules that PyTorch's packages are made of, from which programs import names."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import pytest

import dispatchkit.as_torch as torch
from dispatchkit.as_torch import nn
from dispatchkit.as_torch.layers.families import FAMILIES

IMPORTS = """
from torch.optim.optimizer import Optimizer, required
from torch.optim.lr_scheduler import _LRScheduler, LambdaLR
from torch.optim.adamw import AdamW
from torch.nn.modules.batchnorm import _BatchNorm, BatchNorm2d
from torch.nn.modules.conv import _ConvNd, Conv2d
from torch.nn.modules.loss import _Loss, _WeightedLoss, CrossEntropyLoss
from torch.nn.modules.utils import _ntuple, _pair, _single, _triple
from torch.nn.modules.module import Module
from torch.nn.init import _calculate_correct_fan, _calculate_fan_in_and_fan_out
from torch.nn.parameter import Buffer, Parameter
from torch.nn.parallel import DataParallel, DistributedDataParallel
from torch.nn.utils.clip_grad import clip_grad_norm_
from torch.nn.utils.weight_norm import weight_norm
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.autograd.variable import Variable
from torch.autograd.grad_mode import no_grad
from torch.utils.data.dataset import Dataset
from torch.utils.data.distributed import DistributedSampler
from torch.utils.checkpoint import checkpoint_sequential
from torch.utils.model_zoo import load_url
from torch.hub import load_state_dict_from_url
from torch.multiprocessing import Process
from torch.testing import assert_close
from torch.compiler import disable
from torch.version import cuda
"""


@pytest.mark.parametrize("line", IMPORTS.split("\n")[1:-1])
def test_programs_import_names_from_the_modules_of_packages(line: str) -> None:
    found: dict[str, Any] = {}
    exec(line.replace("from torch.", "from dispatchkit.as_torch."), found)  # noqa: S102  # a line above
    assert found.keys() >= set(line.partition(" import ")[2].split(", "))


def test_a_function_is_not_hidden_by_the_module_that_holds_it() -> None:
    assert nn.utils.weight_norm(nn.Linear(2, 2)).weight_g.shape == (2, 1)
    assert torch.autograd.gradcheck(torch.sin, (torch.ones(2, dtype=torch.float64, requires_grad=True),))


def test_layers_are_of_the_families_that_pytorch_has() -> None:
    norm = torch.nn.modules.batchnorm._BatchNorm
    lazy: Any = nn.LazyBatchNorm1d
    layers = (nn.BatchNorm2d(2), nn.SyncBatchNorm(2), lazy(), nn.InstanceNorm2d(2), nn.Linear(2, 2))
    assert [isinstance(layer, norm) for layer in layers] == [True, True, True, False, False]
    assert isinstance(nn.LSTM(2, 2), nn.RNNBase)
    assert issubclass(nn.ConvTranspose1d, torch.nn.modules.conv._ConvNd)
    assert not issubclass(nn.Conv1d, torch.nn.modules.conv._ConvTransposeNd)

    class Own(norm):  # type: ignore[misc, valid-type]  # made at run time
        pass

    assert isinstance(Own(3), norm)
    assert not isinstance(nn.BatchNorm2d(2), Own)


def test_the_families_are_those_of_pytorch() -> None:
    theirs = pytest.importorskip("torch").nn
    modules = [f"torch.nn.modules.{info.name}" for info in pkgutil.iter_modules(theirs.modules.__path__)]
    bases = {name: value for path in modules for name, value in vars(importlib.import_module(path)).items()}
    for name, family in FAMILIES.items():
        for layer in (name for name in dir(theirs) if isinstance(getattr(nn, name, None), type)):
            if layer != name and issubclass(getattr(theirs, layer), theirs.Module):
                assert issubclass(getattr(nn, layer), family) == issubclass(getattr(theirs, layer), bases[name]), layer


def test_losses_dropouts_and_schedules_of_ones_own_derive_from_the_bases() -> None:
    loss = torch.nn.modules.loss

    class Scaled(loss._WeightedLoss):  # type: ignore[misc]
        def forward(self, x: Any, target: Any) -> Any:
            return nn.functional.mse_loss(self.weight * x, target, reduction=self.reduction)

    own = Scaled(torch.tensor([2.0]), reduction="sum")
    assert isinstance(own, loss._Loss)
    assert own(torch.ones(3), torch.zeros(3)).item() == 12.0
    assert list(own.state_dict()) == ["weight"]
    assert (Scaled(size_average=False).reduction, Scaled(None, None, False).reduction) == ("sum", "none")
    with pytest.raises(ValueError, match="Scaled: reduction must be 'none', 'mean' or 'sum', found 'all'"):
        Scaled(reduction="all")
    with pytest.raises(ValueError, match="_DropoutNd: p must be a probability from 0 to 1, found 2"):
        torch.nn.modules.dropout._DropoutNd(2.0)

    class Halving(torch.optim.lr_scheduler._LRScheduler):  # type: ignore[misc, name-defined]
        def get_lr(self) -> list[float]:
            return [rate * 0.5**self.last_epoch for rate in self.base_lrs]

    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    schedule = Halving(optimizer)
    optimizer.step()
    schedule.step()
    assert schedule.get_last_lr() == [0.5]


def test_optimisers_of_ones_own_with_an_option_that_is_required() -> None:
    optimizer_module = importlib.import_module("dispatchkit.as_torch.optim.optimizer")
    required = optimizer_module.required

    class Plain(optimizer_module.Optimizer):  # type: ignore[misc, name-defined]
        def __init__(self, params: Any, lr: Any = required) -> None:
            super().__init__(params, {"lr": lr})

        def step(self) -> None:
            for parameter in self.param_groups[0]["params"]:
                parameter.data.add_(parameter.grad, alpha=-self.param_groups[0]["lr"])

    assert repr(required) == "<required parameter>"
    weight = nn.Parameter(torch.ones(2))
    optimizer = Plain([weight], lr=0.5)
    weight.sum().backward()
    optimizer.step()
    assert weight.tolist() == [0.5, 0.5]


def test_sizes_and_fans() -> None:
    utils: Any = importlib.import_module("dispatchkit.as_torch.nn.modules.utils")
    init: Any = torch.nn.init
    assert (utils._pair(3), utils._single((1, 2)), utils._ntuple(4)(0)) == ((3, 3), (1, 2), (0, 0, 0, 0))
    weight = torch.ones(6, 2, 3, 3)
    assert init._calculate_fan_in_and_fan_out(weight) == (18, 54)
    assert init._calculate_correct_fan(weight, "fan_out") == 54
    with pytest.raises(ValueError, match="mode 'both' is not supported; use 'fan_in' or 'fan_out'"):
        init._calculate_correct_fan(weight, "both")
    with pytest.raises(ValueError, match="can not be computed for tensor with fewer than 2 dimensions"):
        init._calculate_fan_in_and_fan_out(torch.ones(2))


def test_a_sampler_deals_the_indices_out_to_processes() -> None:
    sampler = torch.utils.data.DistributedSampler
    parts = [list(sampler(range(7), 3, rank, seed=1)) for rank in range(3)]
    assert sorted({index for part in parts for index in part}) == list(range(7))
    assert [len(part) for part in parts] == [3, 3, 3]
    assert list(sampler(range(7), 3, 1, shuffle=False)) == [1, 4, 0]
    assert [len(sampler(range(7), 3, 0, drop_last=True)), list(sampler(range(2), shuffle=False))] == [2, [0, 1]]
    both = sampler(range(50))
    first = list(both)
    both.set_epoch(1)
    assert list(both) != first
    with pytest.raises(ValueError, match=r"Invalid rank 3, rank should be in the interval \[0, 2\]"):
        sampler(range(7), 3, 3)


def test_what_needs_the_net_or_further_processes_says_what_to_do() -> None:
    with pytest.raises(RuntimeError, match=r"download the file, and read it with torch\.load\(path\)"):
        torch.hub.load_state_dict_from_url("https://example.org/weights.pt")
    with pytest.raises(RuntimeError, match="there is one process; use the module itself"):
        nn.parallel.DistributedDataParallel(nn.Linear(2, 2))


def test_tensors_are_checked_to_be_close_by_their_dtypes() -> None:
    check = torch.testing.assert_close
    x = torch.ones(3, dtype=torch.float32)
    check(x, x + 1e-6)
    check(torch.tensor([float("nan")]), torch.tensor([float("nan")]), equal_nan=True)
    with pytest.raises(AssertionError, match=r"Tensor-likes are not close!\s+Mismatched elements: 3 / 3"):
        check(x, x + 1e-4)
    with pytest.raises(AssertionError, match=r"'shape' do not match: \(3,\) != \(2,\)"):
        check(x, x[:2])
    with pytest.raises(AssertionError, match="'dtype' do not match: float32 != float64"):
        check(x, x.double())
    with pytest.raises(AssertionError, match=r"^here: Tensor-likes"):
        check(1, 2, msg=lambda text: f"here: {text}")
    with pytest.raises(ValueError, match="rtol and atol are given together"):
        check(x, x, rtol=1e-3)

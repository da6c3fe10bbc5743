"""`AveragedModel`: averages as PyTorch's, of array types too, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import nn
from dispatchkit.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn
from tests.nn.modules import Structured


def halved(average: Any, value: Any, number: Any) -> Any:
    return average + 0.5 * (value - average) / (number + 1)


def averages_of(library: Any, utils: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the state after four values of a model with a normalization."""
    rng = np.random.default_rng(0)
    options = dict(options)
    if "decay" in options:
        options["multi_avg_fn"] = utils.get_ema_multi_avg_fn(options.pop("decay"))
    model = library.nn.Sequential(library.nn.Linear(3, 2), library.nn.BatchNorm1d(2))
    if library is not dk:
        model = model.double()
    averaged = utils.AveragedModel(model, **options)
    for _ in range(4):
        for p in model.parameters():
            p.data.copy_(library.tensor(rng.standard_normal(tuple(p.shape))))
        model(library.tensor(rng.standard_normal((5, 3))))
        averaged.update_parameters(model)
    return {name: x.detach().numpy() for name, x in averaged.state_dict().items()}


@pytest.mark.parametrize(
    "options",
    [{}, {"decay": 0.9}, {"decay": 0.25, "use_buffers": True}, {"avg_fn": halved}, {"use_buffers": True}],
    ids=["mean", "moving", "moving, with buffers", "by a function", "with buffers"],
)
def test_averages_are_pytorchs(options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch gives the averages to compare with")
    ours, theirs = averages_of(dk, dk.optim.swa_utils, options), averages_of(torch, torch.optim.swa_utils, options)
    assert list(ours) == list(theirs)
    for name, value in ours.items():
        if name.endswith("num_batches_tracked"):
            assert value == 4
        else:
            np.testing.assert_allclose(value, theirs[name], rtol=1e-12, atol=1e-14)


def test_averages_by_hand() -> None:
    model = nn.Linear(1, 1, bias=False)
    mean, moving = AveragedModel(model), AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.75))
    for value in (1.0, 2.0, 6.0):
        nn.init.constant_(model.weight, value)
        mean.update_parameters(model)
        moving.update_parameters(model)
    assert mean(dk.ones(1)).item() == 3.0
    assert moving(dk.ones(1)).item() == 1.25 + 0.25 * (6.0 - 1.25)
    assert mean.n_averaged.item() == 3
    assert model.weight.item() == 6.0
    again = pickle.loads(pickle.dumps(moving))
    again.update_parameters(model)
    assert again.n_averaged.item() == 4


def test_the_fields_of_array_types_are_averaged() -> None:
    model = Structured()
    averaged = AveragedModel(model)
    for value in (1.0, 4.0):
        model.weight.value.data.copy_(dk.tensor(value))
        averaged.update_parameters(model)
    assert averaged.module.weight.to_dense().tolist() == (2.5 * np.eye(3)).tolist()


def test_what_is_refused() -> None:
    model = nn.Linear(2, 3)
    with pytest.raises(ValueError, match="AveragedModel: either avg_fn or multi_avg_fn may be given, not both"):
        AveragedModel(model, avg_fn=halved, multi_avg_fn=get_ema_multi_avg_fn())
    with pytest.raises(ValueError, match=r"get_ema_multi_avg_fn: decay must be from 0 to 1, found 1\.5"):
        get_ema_multi_avg_fn(1.5)
    averaged = AveragedModel(model)
    before = averaged.module.weight.tolist()
    for other, message in (
        (nn.Linear(2, 3, bias=False), r"'bias' of the model has shape none, that of the average is \(3,\)"),
        (nn.Linear(4, 3), r"'weight' of the model has shape \(3, 4\), that of the average is \(3, 2\)"),
    ):
        with pytest.raises(ValueError, match=r"AveragedModel\.update_parameters: " + message):
            averaged.update_parameters(other)
    assert averaged.module.weight.tolist() == before
    assert averaged.n_averaged.item() == 0


def rates_of(library: Any, schedule: Any, **options: Any) -> list[list[float]]:
    """Return the rates of two groups over seven epochs."""
    parameters = [library.ones(1, requires_grad=True) for _ in range(2)]
    groups = [{"params": [parameters[0]], "lr": 1.0}, {"params": [parameters[1]], "lr": 0.5}]
    optimizer = library.optim.SGD(groups, lr=1.0)
    decided = schedule(optimizer, [0.25, 0.125], **options)
    rates = []
    for _ in range(7):
        rates.append([float(rate) for rate in decided.get_last_lr()])
        optimizer.step()
        decided.step()
    return rates


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 4])
def test_rates_go_to_fixed_ones_as_in_pytorch(strategy: Any, epochs: int) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch gives the rates to compare with")
    options = {"anneal_epochs": epochs, "anneal_strategy": strategy}
    expected = rates_of(torch, torch.optim.swa_utils.SWALR, **options)
    np.testing.assert_allclose(rates_of(dk, SWALR, **options), expected, rtol=1e-12)


def test_rates_go_to_fixed_ones() -> None:
    linear = [rates[0] for rates in rates_of(dk, SWALR, anneal_epochs=3, anneal_strategy="linear")]
    np.testing.assert_allclose(linear, [1.0, 0.75, 0.5, 0.25, 0.25, 0.25, 0.25], rtol=1e-12)
    cosine = [rates[1] for rates in rates_of(dk, SWALR, anneal_epochs=2)]
    np.testing.assert_allclose(cosine, [0.5, 0.3125, 0.125, 0.125, 0.125, 0.125, 0.125], rtol=1e-12)


def test_schedules_that_cannot_be() -> None:
    optimizer = dk.optim.SGD([dk.ones(1, requires_grad=True)], lr=1.0)
    with pytest.raises(ValueError, match="SWALR: anneal_strategy must be 'cos' or 'linear', found 'sine'"):
        SWALR(optimizer, 0.1, anneal_strategy="sine")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="SWALR: anneal_epochs must be an integer from 0 on, found -1"):
        SWALR(optimizer, 0.1, anneal_epochs=-1)
    with pytest.raises(ValueError, match=r"SWALR: anneal_epochs must be an integer from 0 on, found 1\.5"):
        SWALR(optimizer, 0.1, anneal_epochs=1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="SWALR: swa_lr must be one number or 1 of them, found 2"):
        SWALR(optimizer, [0.1, 0.2])
    assert "swa_lr" not in optimizer.param_groups[0]


def test_statistics_of_normalizations_are_computed_anew() -> None:
    model = nn.Sequential(nn.BatchNorm1d(1), nn.InstanceNorm1d(1, track_running_stats=True)).eval()
    batches = [[dk.tensor([[[1.0, 3.0]], [[1.0, 3.0]]]), 0], [dk.tensor([[[5.0, 7.0]], [[5.0, 7.0]]]), 1]]
    nn.init.ones_(model[0].running_mean)
    update_bn(batches, model)
    assert model[0].running_mean.tolist() == [4.0]
    np.testing.assert_allclose(model[0].running_var.tolist(), [4 / 3])
    assert (model[0].momentum, model.training, model[0].training) == (0.1, False, False)

    with pytest.raises(ValueError, match="BatchNorm1d"):
        update_bn([dk.ones((2, 3, 4, 5))], model)
    assert (model[0].momentum, model[0].training) == (0.1, False)

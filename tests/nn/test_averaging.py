"""`AveragedModel`: averages as PyTorch's, of array types too, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import nn
from dispatchkit.nn.utils import AveragedModel, get_ema_multi_avg_fn

from .modules import Structured


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
    ours, theirs = averages_of(dk, nn.utils, options), averages_of(torch, torch.optim.swa_utils, options)
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

"""Losses as modules: options, weights that are buffers, what they print."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import nn
from dispatchkit.nn import functional as F  # noqa: N812  # as everybody calls it

rng = np.random.default_rng(0)
X, TARGET, SHARE = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), rng.uniform(0.1, 0.9, size=(4, 3))
LOGARITHMS, CLASSES, WEIGHT = np.log(SHARE), np.array([2, 0, 1, 0]), np.array([0.5, 2.0, 1.5])

CASES: list[tuple[str, str, dict[str, Any], Any, Any]] = [
    ("MSELoss", "mse_loss", {}, X, TARGET),
    ("MSELoss", "mse_loss", {"reduction": "none"}, X, TARGET),
    ("L1Loss", "l1_loss", {"reduction": "sum"}, X, TARGET),
    ("HuberLoss", "huber_loss", {"delta": 0.5, "reduction": "sum"}, X, TARGET),
    ("SmoothL1Loss", "smooth_l1_loss", {"beta": 0.5}, X, TARGET),
    ("KLDivLoss", "kl_div", {"reduction": "batchmean"}, LOGARITHMS, SHARE),
    ("KLDivLoss", "kl_div", {"reduction": "sum", "log_target": True}, LOGARITHMS, np.log(SHARE)),
    ("NLLLoss", "nll_loss", {}, LOGARITHMS, CLASSES),
    ("NLLLoss", "nll_loss", {"weight": WEIGHT, "ignore_index": 1, "reduction": "sum"}, LOGARITHMS, CLASSES),
    ("CrossEntropyLoss", "cross_entropy", {}, X, CLASSES),
    ("CrossEntropyLoss", "cross_entropy", {"weight": WEIGHT, "label_smoothing": 0.1, "ignore_index": 0}, X, CLASSES),
    ("CrossEntropyLoss", "cross_entropy", {"reduction": "none"}, X, SHARE),
    ("BCELoss", "binary_cross_entropy", {"weight": WEIGHT}, SHARE, SHARE[::-1].copy()),
    ("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", {"weight": WEIGHT, "pos_weight": WEIGHT}, X, SHARE),
    ("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", {"reduction": "sum"}, X, SHARE),
]


def tensors(options: dict[str, Any]) -> dict[str, Any]:
    return {name: dk.tensor(value) if isinstance(value, np.ndarray) else value for name, value in options.items()}


@pytest.mark.parametrize(("name", "functional", "options", "x", "target"), CASES)
def test_a_module_calls_its_functional(
    name: str, functional: str, options: dict[str, Any], x: Any, target: Any
) -> None:
    module = getattr(nn, name)(**tensors(options))
    assert repr(module) == f"{name}()"
    found = module(dk.tensor(x), dk.tensor(target))
    wanted = getattr(F, functional)(dk.tensor(x), dk.tensor(target), **tensors(options))
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())
    weights = {key for key, value in options.items() if isinstance(value, np.ndarray)}
    assert {key for key, _ in module.named_buffers()} == weights == set(module.state_dict())
    assert list(module.parameters()) == []


@pytest.mark.parametrize(("name", "functional", "options", "x", "target"), CASES)
def test_it_is_that_of_pytorch(name: str, functional: str, options: dict[str, Any], x: Any, target: Any) -> None:
    torch = pytest.importorskip("torch")
    his = {key: torch.tensor(value) if isinstance(value, np.ndarray) else value for key, value in options.items()}
    theirs = getattr(torch.nn, name)(**his)
    ours = getattr(nn, name)(**tensors(options))
    assert repr(ours) == repr(theirs)
    wanted = theirs(torch.tensor(x), torch.tensor(target))
    np.testing.assert_allclose(ours(dk.tensor(x), dk.tensor(target)).numpy(), wanted.numpy(), rtol=1e-10)


def test_weights_move_with_the_module() -> None:
    module = nn.CrossEntropyLoss(dk.tensor(WEIGHT)).float()
    assert module.weight.dtype == dk.float32
    assert nn.CrossEntropyLoss().state_dict() == {}


@pytest.mark.parametrize("name", ["MSELoss", "CrossEntropyLoss", "BCEWithLogitsLoss"])
def test_a_reduction_is_checked_when_the_module_is_made(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: reduction must be 'none', 'mean' or 'sum', found 'average'"):
        getattr(nn, name)(reduction="average")


def test_an_error_says_in_which_module() -> None:
    with pytest.raises(IndexError, match="cross_entropy: argument 'target'") as caught:
        nn.CrossEntropyLoss()(dk.zeros((1, 3)), dk.tensor([3]))
    assert "in CrossEntropyLoss" in "".join(caught.value.__notes__)

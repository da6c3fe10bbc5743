"""Every optimiser on complex parameters: each number counts as two real ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

# After four steps from (1+1j, -0.5+2j) with lr=0.1 down the sum of |p|² + 0.3 Re p², by PyTorch 2.13.
AFTER_FOUR_STEPS: list[tuple[str, dict[str, Any], list[complex]]] = [
    ("SGD", {}, [0.29986576 + 0.54700816j, -0.14993288 + 1.09401632j]),
    (
        "SGD",
        {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.1},
        [-0.517217613 - 0.0205361938j, 0.258608807 - 0.0410723875j],
    ),
    ("SGD", {"momentum": 0.9, "nesterov": True}, [-0.414257232 - 0.121845284j, 0.207128616 - 0.243690567j]),
    ("SGD", {"maximize": True}, [2.52047376 + 1.68896016j, -1.26023688 + 3.37792032j]),
    ("Adam", {}, [0.60393906 + 0.603939061j, -0.112915397 + 1.6015049j]),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}, [0.60393906 + 0.603939061j, -0.112915397 + 1.6015049j]),
    ("Adam", {"maximize": True}, [1.40114653 + 1.40114653j, -0.900818623 + 2.40082183j]),
    ("AdamW", {"weight_decay": 0.1}, [0.571047597 + 0.571047598j, -0.100210538 + 1.52903271j]),
    ("AdamW", {"amsgrad": True}, [0.600598574 + 0.600598575j, -0.11162009 + 1.59415292j]),
    ("Adamax", {}, [0.630973075 + 0.630973076j, -0.160982075 + 1.6153838j]),
    ("Adamax", {"weight_decay": 0.1, "maximize": True}, [1.37808386 + 1.37808386j, -0.863438437 + 2.38778327j]),
    ("NAdam", {}, [0.68771605 + 0.687716051j, -0.2099553 + 1.67818874j]),
    (
        "NAdam",
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
        [0.655772396 + 0.655772397j, -0.197875678 + 1.60674558j],
    ),
    ("RAdam", {}, [0.164458206 + 0.501100229j, -0.0822291029 + 1.00220046j]),
    (
        "RAdam",
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
        [0.145960236 + 0.473659118j, -0.0729801179 + 0.947318236j],
    ),
    ("Adagrad", {}, [0.736223133 + 0.736223133j, -0.253608982 + 1.72855704j]),
    (
        "Adagrad",
        {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5},
        [0.765616633 + 0.775568828j, -0.290834867 + 1.75880461j],
    ),
    ("Adadelta", {}, [0.998695154 + 0.998695156j, -0.498695517 + 1.99869497j]),
    ("Adadelta", {"rho": 0.5, "weight_decay": 0.1}, [0.999321195 + 0.999321195j, -0.499321259 + 1.99932116j]),
    ("RMSprop", {}, [-2.97287784e-14 - 5.52099141e-14j, -0.0278885141 + 0.174628428j]),
    ("RMSprop", {"momentum": 0.9}, [-0.546273038 - 0.546273074j, -0.477788529 - 1.82680785j]),
    ("RMSprop", {"centered": True}, [1.51819704e-08 + 1.51817604e-08j, -0.0269299717 + 0.168388537j]),
    (
        "RMSprop",
        {"momentum": 0.9, "centered": True, "weight_decay": 0.1},
        [-0.545386317 - 0.54538635j, -0.479190029 - 1.83443133j],
    ),
    ("RMSprop", {"alpha": 0.5, "maximize": True}, [1.48441663 + 1.48441663j, -0.99605073 + 2.47666705j]),
    ("RMSprop", {"weight_decay": 0.1}, [-2.86277277e-14 - 5.1529344e-14j, -0.027888514 + 0.174628426j]),
    ("Rprop", {}, [0.4632 + 0.4632j, 0.0368 + 1.4632j]),
    ("Rprop", {"maximize": True}, [1.5368 + 1.5368j, -1.0368 + 2.5368j]),
    ("ASGD", {}, [0.299854294 + 0.546986727j, -0.149927147 + 1.09397345j]),
    ("ASGD", {"weight_decay": 0.1, "t0": 1.0}, [0.283971578 + 0.521985832j, -0.141985789 + 1.04397166j]),
    ("LBFGS", {}, [0.000233840231 + 0.000239530014j, -0.000116920116 + 0.000479060028j]),
    ("LBFGS", {"line_search_fn": "strong_wolfe"}, [1.13542328e-06 + 6.36183047e-07j, -5.6771164e-07 + 1.27236609e-06j]),
]


@pytest.mark.parametrize(("name", "options", "expected"), AFTER_FOUR_STEPS)
def test_complex_parameters_are_stepped_as_by_pytorch(
    name: str, options: dict[str, Any], expected: list[complex]
) -> None:
    p = dk.tensor([1 + 1j, -0.5 + 2j], requires_grad=True)
    optimizer = getattr(dk.optim, name)([p], lr=0.1, **options)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (dk.abs(p) ** 2).sum() + 0.3 * dk.real((p * p).sum())
        loss.backward()
        return loss

    for _ in range(4):
        optimizer.step(closure)
    np.testing.assert_allclose(p.detach().numpy(), expected, rtol=1e-6, atol=1e-8)


def test_every_optimiser_is_among_them() -> None:
    optimisers = {name for name in dir(dk.optim) if name[0].isupper()} - {"Optimizer"}
    assert {name for name, _, _ in AFTER_FOUR_STEPS} == optimisers


@pytest.mark.parametrize("centered", [False, True])
def test_rmsprop_takes_real_and_imaginary_parts_as_two_real_parameters(centered: bool) -> None:
    both = dk.tensor([1 + 2j], requires_grad=True)
    parts = dk.tensor([1.0, 2.0], requires_grad=True)
    for tensor in (both, parts):
        optimizer = dk.optim.RMSprop([tensor], lr=0.1, momentum=0.5, weight_decay=0.1, centered=centered)
        for _ in range(5):
            optimizer.zero_grad()
            (dk.abs(tensor) ** 2).sum().backward()
            optimizer.step()
    np.testing.assert_allclose([both.detach().item().real, both.detach().item().imag], parts.tolist(), rtol=1e-9)

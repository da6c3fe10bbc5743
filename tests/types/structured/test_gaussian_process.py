"""The program docs/gaussian_process.py: its likelihood beside the dense one, and a short training."""

from __future__ import annotations

import importlib.util
import math
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

DOCS = Path(__file__).parents[3] / "docs"
rng = np.random.default_rng(0)


@pytest.fixture(scope="module")
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gaussian_process", DOCS / "gaussian_process.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["gaussian_process"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def waves(shape: tuple[int, int]) -> Any:
    rows, columns = np.meshgrid(*(np.arange(n) / 6 for n in shape), indexing="ij")
    return 100 * (np.sin(rows) + np.cos(columns))


def test_the_page_shows_the_program() -> None:
    program = (DOCS / "gaussian_process.py").read_text(encoding="utf-8")
    page = (DOCS / "tutorials" / "gaussian-process.md").read_text(encoding="utf-8")
    parts = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(parts) > 4
    for part in parts:
        assert part in program


def test_likelihood_and_gradient_are_those_of_the_dense_matrix(program: ModuleType) -> None:
    y = dk.asarray(rng.normal(size=30))
    model = program.Terrain((5, 6), amplitude=2.0, noise=0.5)
    losses = []
    for dense in (False, True):
        model.zero_grad()
        covariance = model.covariance()
        loss = program.negative_log_likelihood(covariance.to_dense() if dense else covariance, y)
        loss.backward()
        losses.append([loss.item(), *(p.grad.sum().item() for p in model.parameters())])
    assert losses[0] == pytest.approx(losses[1], rel=1e-9)


def test_training_finds_the_noise_and_restores_the_heights(program: ModuleType) -> None:
    heights = waves((24, 30))
    noisy = program.measured(heights)
    y = dk.asarray(noisy.ravel())
    model = program.Terrain(heights.shape, amplitude=100.0, noise=40.0)
    losses = list(program.train(model, y, steps=15))
    assert losses[-1] < losses[0]
    assert math.exp(model.log_noise.item()) == pytest.approx(25.0, rel=0.2)
    restored = program.restored(model, y).numpy().reshape(heights.shape)
    assert np.std(restored - heights) < 0.5 * np.std(noisy - heights)

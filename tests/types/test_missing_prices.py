"""The program docs/missing_prices.py: its loss compared with that of plain tensors, and a short training."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("missing_prices", DOCS / "missing_prices.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["missing_prices"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prices(program: ModuleType, months: int = 60, series: int = 6) -> Any:
    """Return walks that move together, of which the first ones start late."""
    rng = np.random.default_rng(1)
    moves = 0.1 * rng.normal(size=(months, 1)) * np.linspace(0.5, 1.5, series)
    walks = np.cumsum(moves + 0.02 * rng.normal(size=moves.shape), axis=0)
    walks[:20, :2] = np.nan
    return program.named(walks)


def test_the_page_shows_the_program() -> None:
    source = (DOCS / "missing_prices.py").read_text(encoding="utf-8")
    page = (DOCS / "tutorials" / "missing-prices.md").read_text(encoding="utf-8")
    parts = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(parts) > 9
    for part in parts:
        assert part in source


def test_loss_and_gradient_are_those_of_plain_tensors(program: ModuleType) -> None:
    table = prices(program)
    model, found = program.Market(59, 6, factors=2), []
    model.moves.detach()[...] = np.random.default_rng(0).normal(size=(2, 59))
    for loss, given in (
        (program.loss, (table,)),
        (program.plain_loss, (table.data.data, table.data.valid)),
    ):
        model.zero_grad()
        value = loss(model, *given)
        value.backward()
        found.append([value.item(), *(p.grad.numpy().copy() for p in model.parameters())])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)


def test_training_restores_what_was_hidden_better_than_lines(program: ModuleType) -> None:
    known, hidden = program.with_gaps(prices(program))
    assert not (known.data.valid & hidden.data.valid).any().item()
    model = program.Market(59, 6)
    losses = list(program.train(model, known, steps=200))
    assert losses[-1] < 0.2 * losses[0]
    assert program.off(program.restored(model, known), hidden) < 0.6 * program.off(program.interpolated(known), hidden)

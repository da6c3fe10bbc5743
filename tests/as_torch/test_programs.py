"""Programs of docs/examples/spellings give the same losses in dispatchkit's spelling, in PyTorch's, and in PyTorch."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

PROGRAMS = Path(__file__).parents[2] / "docs" / "examples" / "spellings"
# What `train` is called with, and a loss that it is to come below.
CASES: list[tuple[str, tuple[str, ...], float]] = [
    ("gpt", (), 1.5),
    ("vae", (), 36.0),
    ("language_model", ("LSTM",), 2.3),
    ("language_model", ("GRU",), 1.8),
    ("actor_critic", (), 0.5),
    ("gcn", (), 0.05),
]
NAMES = [" ".join((name, *arguments)) for name, arguments, _ in CASES]


@pytest.fixture(autouse=True)
def default_dtype() -> Iterator[None]:
    before = dk.get_default_dtype()
    dk.set_default_dtype(dk.float64)
    yield
    dk.set_default_dtype(before)


def trained(file: Path, arguments: tuple[str, ...]) -> Any:
    return runpy.run_path(str(file))["train"](*arguments)


@pytest.mark.parametrize(("name", "arguments", "bound"), CASES, ids=NAMES)
def test_both_spellings_give_the_same_losses(name: str, arguments: tuple[str, ...], bound: float) -> None:
    losses, result = trained(PROGRAMS / f"{name}.py", arguments)
    spelled, again = trained(PROGRAMS / f"{name}_torch.py", arguments)
    assert losses[-1] < bound
    np.testing.assert_allclose(spelled, losses, rtol=1e-9)
    if np.asarray(result).dtype.kind == "U":  # letters or words
        assert again == result
    else:
        np.testing.assert_allclose(again, result, rtol=1e-9)


@pytest.mark.parametrize(("name", "arguments", "bound"), CASES, ids=NAMES)
def test_pytorch_itself_gives_them(name: str, arguments: tuple[str, ...], bound: float, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    text = (PROGRAMS / f"{name}_torch.py").read_text(encoding="utf-8")
    program = re.sub(r"import torch as torch\b", "import torch", text.replace("dispatchkit.as_torch", "torch"))
    assert "dispatchkit" not in re.sub(r'""".*?"""', "", program, flags=re.DOTALL)
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        expected, _ = trained(tmp_path / "program.py", arguments)
    finally:
        torch.set_default_dtype(before)
    losses, _ = trained(PROGRAMS / f"{name}_torch.py", arguments)
    assert losses[-1] < bound
    np.testing.assert_allclose(losses, expected, rtol=1e-7, atol=1e-9)

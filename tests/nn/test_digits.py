"""The program docs/digits.py: its type beside the dense matrix, and both networks on the real images."""

from __future__ import annotations

import importlib.util
import io
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import dispatchkit as dk

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def digits() -> ModuleType:
    spec = importlib.util.spec_from_file_location("digits", DOCS / "digits.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["digits"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_tells_the_program() -> None:
    program = (DOCS / "digits.py").read_text(encoding="utf-8")
    page = (DOCS / "training-digits.md").read_text(encoding="utf-8")
    parts = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(parts) > 5
    for part in parts:
        assert part in program


def test_the_weight_computes_and_has_gradients_as_the_dense_matrix(digits: ModuleType) -> None:
    rng = np.random.default_rng(0)
    arrays = rng.normal(size=(5, 6)), rng.normal(size=(4, 2)), rng.normal(size=(2, 6)), rng.normal(size=4)
    x, left, right, bias = (dk.tensor(a, requires_grad=True) for a in arrays)
    weight = digits.LowRank(left, right)
    thin = dk.nn.functional.linear(x, weight, bias)
    dense = dk.nn.functional.linear(x, left @ right, bias)
    np.testing.assert_allclose(thin.detach().numpy(), dense.detach().numpy(), rtol=1e-12)
    inputs = (x, left, right, bias)
    for found, wanted in zip(
        dk.autograd.grad((thin * thin).sum(), inputs), dk.autograd.grad((dense * dense).sum(), inputs), strict=True
    ):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-12)


def test_the_layer_never_makes_the_dense_matrix(digits: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    model = digits.thin_network(rank=2)
    monkeypatch.delattr(digits.LowRank, "to_dense")
    loss = dk.nn.functional.cross_entropy(model(dk.ones((2, 1, 8, 8), dtype=dk.float32)), dk.tensor([1, 2]))
    loss.backward()
    shapes = {name: p.grad.shape for name, p in model.named_parameters() if p.grad is not None}
    assert shapes["6.weight.left"] == (128, 2)
    assert shapes["6.weight.right"] == (2, 512)
    assert all(p.dtype == dk.float32 and p.grad is not None for p in model.parameters())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_a_bar_is_drawn_on_a_terminal_alone(
    digits: ModuleType, stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = stream()
    monkeypatch.setattr(sys, "stderr", drawn)
    assert list(digits.shown("dense", iter("abc"), 3)) == ["a", "b", "c"]
    written = drawn.getvalue()
    assert ("\rdense     [##########################" in written) == (stream is Terminal)
    assert ("2/3" in written) == (stream is Terminal)
    assert (written == "") == (stream is not Terminal)


def test_both_networks_learn_the_digits(digits: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    # scikit-learn brings it. Beside other tests, threads of these small products mostly wait for each other.
    threads = pytest.importorskip("threadpoolctl")
    images, asked = digits.load()
    runs = []
    with threads.threadpool_limits(1):
        for name, make in (("dense", digits.network), ("low rank", digits.thin_network)):
            dk.manual_seed(0)
            runs.append(digits.train(name, make(), images, asked))
    assert [run.parameters for run in runs] == [71754, 11338]
    for run in runs:
        assert run.accuracy > 0.97
        assert run.losses[0] > 2.0
        assert np.mean(run.losses[-10:]) < 0.1
    lines = digits.table(runs).splitlines()
    assert [line[:21] for line in lines] == ["weight    parameters ", "dense         71,754 ", "low rank      11,338 "]
    assert f"{runs[0].accuracy:.1%}" in lines[1]
    pytest.importorskip("matplotlib")
    digits.plot(runs, tmp_path / "loss.svg")
    assert "low rank: 11,338 parameters" in (tmp_path / "loss.svg").read_text(encoding="utf-8")

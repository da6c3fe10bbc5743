"""`LoraTensor`: base and update are kept apart, the update alone is trained, and what is refused."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.types import LoraTensor, QuantizedTensor
from tests.protocol.support import steps_of

DRAW = np.random.default_rng(0).normal
BASE, LEFT, RIGHT, X = (dk.asarray(DRAW(size=size)) for size in ((5, 7), (5, 2), (2, 7), (3, 7)))
BASES = {"dense": BASE, "int8": QuantizedTensor.from_dense(BASE)}
both = pytest.mark.parametrize("base", BASES)

KEPT: dict[str, Callable[[Any], Any]] = {
    "transpose": lambda w: w.mT,
    "T": lambda w: w.T,
    "permuted": lambda w: dk.permute_dims(w, (0, 1)),
    "negative": lambda w: -w,
    "times a number": lambda w: 2 * w,
    "times a tensor": lambda w: w * dk.asarray(0.5),
    "slice of rows": lambda w: w[1:3],
    "copy": copy.deepcopy,
    "pickle": lambda w: pickle.loads(pickle.dumps(w)),
}
READ: dict[str, Callable[[Any], Any]] = {
    "x @ w.mT": lambda w: X @ w.mT,
    "w @ x": lambda w: w @ X.mT,
    "vector @ w.mT": lambda w: X[0] @ w.mT,
    "linear": lambda w: dk.nn.functional.linear(X, w, dk.ones(5)),
    "embedding": lambda w: dk.nn.functional.embedding(dk.asarray([[0, 4], [2, 2]]), w),
    "sum": lambda w: w.sum(),
    "sum of columns": lambda w: w.sum(0),
    "sum of rows": lambda w: w.sum(-1, keepdims=True),
    "row": lambda w: w[1],
    "rows": lambda w: w[dk.asarray([3, 0, 3])],
    "taken": lambda w: dk.take(w, dk.asarray([3, 0]), axis=0),
}


def lora(base: str, left: Any = LEFT, right: Any = RIGHT) -> LoraTensor:
    return LoraTensor(BASES[base], left, right, scale=0.5)


@both
@pytest.mark.parametrize("name", KEPT)
def test_what_keeps_base_and_update_apart_keeps_the_type(name: str, base: str) -> None:
    w = lora(base)
    with dk.densify(on="error"):
        found = KEPT[name](w)
    assert type(found) is LoraTensor
    assert type(found.base) is type(w.base)
    np.testing.assert_allclose(found.merge().numpy(), KEPT[name](w.merge()).numpy(), rtol=1e-12, atol=1e-12)


@both
@pytest.mark.parametrize("name", READ)
def test_what_is_computed_with_the_parts(name: str, base: str) -> None:
    w = lora(base)
    with dk.densify(on="error"):
        found = READ[name](w)
    np.testing.assert_allclose(found.numpy(), READ[name](w.merge()).numpy(), rtol=1e-12, atol=1e-12)


@both
@pytest.mark.parametrize("name", READ)
def test_gradients_reach_the_update(name: str, base: str) -> None:
    parts = [part.clone().requires_grad_() for part in (LEFT, RIGHT)]
    assert dk.autograd.gradcheck(lambda *parts: READ[name](lora(base, *parts)), parts)


def test_the_gradient_is_of_the_type_and_leaves_the_base_alone() -> None:
    w: Any = lora("int8")
    found = dk.func.grad(lambda w: dk.sum((X @ w.mT) ** 2))(w)
    assert type(found) is LoraTensor
    assert np.shares_memory(found.base.data.numpy(), w.base.data.numpy())
    expected = dk.func.grad(lambda left: dk.sum((X @ (w.base.to_dense() + 0.5 * left @ RIGHT).mT) ** 2))(LEFT)
    np.testing.assert_allclose(found.left.numpy(), expected.numpy(), rtol=1e-10)


def test_nothing_merges_unasked() -> None:
    w = lora("int8")
    with dk.densify(on="error"), pytest.raises(dk.DensifyError, match="LoraTensor"):
        w + w
    # In eight bits the update is lost, which is why it is kept apart.
    small = LoraTensor(BASES["int8"], LEFT * 1e-3, RIGHT)
    merged = QuantizedTensor.from_dense(small.merge())
    np.testing.assert_array_equal(merged.data.numpy(), QuantizedTensor.from_dense(BASE).data.numpy())
    assert dk.any((X @ small.mT) != (X @ BASES["int8"].mT))


@both
def test_training_changes_the_update_alone(tmp_path: Path, base: str) -> None:
    layer: Any = dk.nn.Linear(7, 5)
    layer.weight = dk.nn.Parameter(LoraTensor.from_dense(BASE, lora(base)))
    assert [name for name, _ in layer.named_parameters()] == ["weight.left", "weight.right", "bias"]
    weight = layer.weight
    before = weight.base.to_dense().numpy() if base == "int8" else weight.base.numpy().copy()
    assert not dk.any(weight.left)
    optimizer = dk.optim.AdamW(layer.parameters(), lr=0.1, weight_decay=0.5)
    losses = []
    with dk.densify(on="error"):
        for _ in range(5):
            optimizer.zero_grad()
            loss = (layer(X) ** 2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses == sorted(losses, reverse=True)
    after = weight.base.to_dense().numpy() if base == "int8" else weight.base.numpy()
    np.testing.assert_array_equal(after, before)
    dk.save(layer.state_dict(), tmp_path / "layer.npz")
    other: Any = dk.nn.Linear(7, 5)
    other.weight = dk.nn.Parameter(LoraTensor.from_dense(BASE * 0, lora(base)))
    other.load_state_dict(dk.load(tmp_path / "layer.npz"))
    np.testing.assert_array_equal(other(X).tolist(), layer(X).tolist())


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "integers": (
        lambda: LoraTensor([[1]], [[1.0]], [[1.0]]),
        TypeError,
        "^LoraTensor: base must be of floating-point numbers, not of dtype int64$",
    ),
    "outer lengths": (lambda: LoraTensor(BASE, LEFT, LEFT.mT), ValueError, r"base \(m, n\) does not fit left"),
    "ranks": (lambda: LoraTensor(BASE, LEFT, RIGHT[:1]), ValueError, r"different r; found \[\(5, 2\), \(1, 7\)\]$"),
    "scale": (lambda: LoraTensor(BASE, LEFT, RIGHT, "2"), TypeError, "scale must be a real number, not '2'$"),  # type: ignore[arg-type]
    "product": (lambda: X @ lora("dense"), ValueError, r"^matmul: arrays of shapes \(3, 7\) and \(5, 7\) cannot"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_and_why(name: str) -> None:
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "base",
    [
        dk.asarray([[300, 2]], dtype="float16"),
        QuantizedTensor(np.asarray([[100, -18]], np.int8), dk.asarray([100], dtype="float16")),
    ],
)
def test_a_base_in_half_precision_does_not_overflow_where_the_update_is_in_single(base: Any) -> None:
    w = LoraTensor(base, dk.ones((1, 1), dtype="float32"), dk.ones((1, 2), dtype="float32"))
    half = dk.asarray([600, 600], dtype="float16")
    calls: tuple[Callable[[Any], Any], ...] = (
        lambda w: 255 * w,
        lambda w: w * half[0],
        lambda w: w @ half,
        lambda w: half[:1] @ w,
        lambda w: (w * 100).sum(),
    )
    for call in calls:
        result, wanted = call(w), call(w.to_dense())
        assert result.dtype == wanted.dtype == np.float32
        np.testing.assert_allclose(np.asarray(result.to_dense() if isinstance(result, LoraTensor) else result), wanted)


def test_a_product_with_a_transposed_matrix_takes_few_steps() -> None:
    w, x = LoraTensor.from_dense(dk.ones((4, 3)), rank=2), dk.ones((1, 3))
    x @ w.mT
    assert steps_of(lambda: x @ w.mT) < 290

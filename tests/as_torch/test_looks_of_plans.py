"""A call of a known kind is carried out by its plan, which looks at shapes and numbers each time, and at no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit.as_torch as torch
from dispatchkit.as_torch.calling.caller import FunctionCaller

F = torch.nn.functional
X, W = torch.arange(12.0).view(3, 4) / 10, torch.eye(4)
PLACES = torch.tensor([0, 1, 2])

# Calls of every day whose shapes or numbers are looked at.
LOOKED_AT: dict[str, Callable[[float], Any]] = {
    "leaky_relu": lambda number: F.leaky_relu(X, number),
    "elu": lambda number: F.elu(X, number),
    "softplus": lambda number: F.softplus(X, number),
    "hardtanh": lambda number: F.hardtanh(X, -number, number),
    "pad": lambda number: F.pad(X, (1, 1), value=number),
    "clamp": lambda number: X.clamp(-number, number),
    "lerp": lambda number: torch.lerp(X, X, number),
    "addmm": lambda number: torch.addmm(X, X, W * number, alpha=number),
    "baddbmm": lambda number: torch.baddbmm(X[None], X[None], W[None] * number),
    "dist": lambda number: torch.dist(X, X * number),
    "norm": lambda number: torch.norm(X * number),
    "cross_entropy": lambda number: F.cross_entropy(X * number, PLACES),
    "batch_norm": lambda number: F.batch_norm(X, torch.zeros(4), torch.ones(4), eps=number),
    "rms_norm": lambda number: F.rms_norm(X * number, (4,)),
    "embedding": lambda number: F.embedding(PLACES, X * number),
    "mse_loss": lambda number: F.mse_loss(X * number, X),
    "l1_loss": lambda number: F.l1_loss(X * number, X),
    "smooth_l1_loss": lambda number: F.smooth_l1_loss(X * number, X, beta=number),
    "topk": lambda number: torch.topk(X * number, 2).values,
    "chunk": lambda number: torch.chunk(X * number, 2, 1)[1],
    "split": lambda number: torch.split(X * number, 2)[1],
    "narrow": lambda number: (X * number).narrow(1, 1, 2),
    "select": lambda number: (X * number).select(1, 1),
    "index_select": lambda number: torch.index_select(X * number, 0, PLACES),
    "gather": lambda number: torch.gather(X * number, 1, PLACES[:, None]),
    "masked_fill": lambda number: X.masked_fill(X > 0.5, number),
    "flip": lambda number: torch.flip(X * number, (0,)),
    "roll": lambda number: torch.roll(X * number, 1, 0),
    "sign": lambda number: torch.sign(X - number),
    "expand": lambda number: (X * number).expand(X[None].shape),
    "cholesky": lambda number: torch.linalg.cholesky(W * number),
}


@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_second_call_is_carried_out_by_the_plan_of_the_first(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call = LOOKED_AT[name]
    call(0.5)

    def answer(self: FunctionCaller, args: Any, kwargs: Any, key: Any) -> Any:
        raise AssertionError(f"{self.path} was looked at as a whole")

    expected = call(0.25).tolist()
    monkeypatch.setattr(FunctionCaller, "answer", answer)
    assert call(0.25).tolist() == expected


HUGE = 1e300
SINGLE, PIVOTS = X.float(), torch.tensor([1, 2, 3, 4]).int()
# A call that is taken, and one of the same kind that is refused for its numbers or its shapes.
PAIRS: list[tuple[Callable[[Any], Any], Any, Any, type[Exception], str]] = [
    (lambda number: F.leaky_relu(SINGLE, number), 0.5, HUGE, RuntimeError, "cannot be converted to type"),
    (lambda number: torch.rsub(SINGLE, SINGLE, alpha=number), 0.5, HUGE, RuntimeError, "cannot be converted to type"),
    (lambda number: SINGLE.clamp(0.0, number), 0.5, HUGE, RuntimeError, "cannot be converted to type"),
    (lambda x: torch.addmm(x, X, W), X, torch.ones(2, 4), RuntimeError, "mode|expanded size|broadcast|match"),
    (lambda x: F.pad(x, (2, 2), mode="reflect"), X, X[:, :2], RuntimeError, "[Pp]adding"),
    (lambda target: F.cross_entropy(X, target), PLACES, PLACES[:2], ValueError, "batch_size"),
    (lambda y: F.binary_cross_entropy(X / 2, y), X / 2, X[:, :3], ValueError, "Target size"),
    (lambda x: F.rms_norm(x, (4,)), X, X[:, :3], RuntimeError, "normalized_shape"),
    (lambda m: F.triplet_margin_loss(X, X, X, margin=m), 0.5, -0.5, ValueError, "margin must be greater than 0"),
    (lambda tau: torch.orgqr(W, tau), torch.ones(4), torch.ones(5), RuntimeError, "tau|householder"),
    (lambda x: torch.topk(x, 2), X, X[:, :1], RuntimeError, "k out of range"),
    (lambda x: x.narrow(0, 1, 2), X, X[:2], RuntimeError, "exceeds dimension size"),
    (lambda x: torch.split(x, (1, 2)), X, X[:2], RuntimeError, "sum exactly to 2"),
    (lambda x: x.select(0, 2), X, X[:2], IndexError, "index 2 out of range"),
    (lambda y: torch.floor_divide(PLACES, y), PLACES + 1, PLACES, RuntimeError, "ZeroDivisionError"),
    (lambda q: torch.quantile(X, q), X[0] * 0 + 0.5, X[0] + 2, RuntimeError, r"range \[0, 1\]"),
    (lambda B: torch.linalg.ldl_solve(W, PIVOTS, B), X.mT, X, RuntimeError, "Incompatible matrix sizes"),
]


@pytest.mark.parametrize(("call", "good", "bad", "error", "text"), PAIRS)
def test_what_the_next_call_gets_wrong_is_refused(call: Any, good: Any, bad: Any, error: Any, text: str) -> None:
    call(good)
    call(good)
    with pytest.raises(error, match=text):
        call(bad)


def test_an_argument_that_a_look_replaces_is_replaced_in_each_call() -> None:
    numbers = torch.tensor([1, 5, 9])
    for value in (2.5, 3.5):
        assert F.threshold(numbers, 4, value).tolist() == [int(value), 5, 9]
    for weight in (0.5, 0.25):
        assert torch.allclose(torch.lerp(X, X + 1, torch.tensor(weight)), X + weight)


def test_results_of_known_calls_have_memory_of_their_own() -> None:
    x = torch.arange(4.0)
    for _ in range(3):
        for y in (torch.flip(x, (0,)), torch.flip(x[:1], (0,)), torch.sign(x > 1), torch.diag(torch.eye(2))):
            y.zero_()
        assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_target_of_another_shape_warns_once_in_each_call() -> None:
    x, target = torch.ones(3, 4), torch.zeros(3, 4)
    for _ in range(2):
        assert F.mse_loss(x, target).item() == 1.0
        with pytest.warns(UserWarning, match="target size") as warned:
            assert F.mse_loss(x, target[:1]).item() == 1.0
        assert len(warned) == 1
        assert warned[0].filename == __file__

"""`scaled_dot_product_attention` and `dropout`: values, gradients, repeatable draws, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import RandomnessError
from dispatchkit.func import checkpoint
from dispatchkit.nn import functional as F  # noqa: N812  # as everybody calls it
from dispatchkit.nn.functional import attention
from tests.nn.functional.support import agree_with_torch, drawn, gradients, torch_functional

ARRAYS = drawn(2, 3, 4, 5), drawn(2, 3, 6, 5, seed=1), drawn(2, 3, 6, 2, seed=2)
MASK = np.random.default_rng(0).uniform(size=(4, 6)) < 0.6


@pytest.mark.parametrize("parameters", [{}, {"is_causal": True}, {"scale": 0.3}])
def test_attention_is_pytorchs(parameters: dict[str, Any]) -> None:
    attention = torch_functional().scaled_dot_product_attention
    agree_with_torch(
        lambda *a: F.scaled_dot_product_attention(*a, **parameters), lambda *a: attention(*a, **parameters), *ARRAYS
    )


def test_masked_attention_is_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    attention = torch.nn.functional.scaled_dot_product_attention
    nobody = MASK.copy()
    nobody[1] = False
    for mask in (MASK, nobody, drawn(2, 1, 4, 6), np.where(nobody, 0.0, -np.inf)):
        agree_with_torch(
            lambda *a, m=mask: F.scaled_dot_product_attention(*a, dk.tensor(m)),  # type: ignore[call-arg]
            lambda *a, m=mask: attention(*a, torch.tensor(m)),
            *ARRAYS,
        )


@pytest.mark.parametrize("parameters", [{}, {"is_causal": True}, {"attn_mask": MASK}])
def test_scores_may_be_large(parameters: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")

    def options(library: Any) -> dict[str, Any]:
        return {name: library.tensor(x) if isinstance(x, np.ndarray) else x for name, x in parameters.items()}

    agree_with_torch(
        lambda *a: F.scaled_dot_product_attention(*a, **options(dk)),
        lambda *a: torch.nn.functional.scaled_dot_product_attention(*a, **options(torch)),
        *(30 * x for x in ARRAYS[:2]),
        ARRAYS[2],
    )


def test_queries_keys_and_the_result_can_be_changed_before_gradients_are_taken_and_values_cannot() -> None:
    _, wanted = gradients(F.scaled_dot_product_attention, ARRAYS)
    leaves = [dk.tensor(x, requires_grad=True) for x in ARRAYS]
    query, key, value = (x * 1.0 for x in leaves)
    y = F.scaled_dot_product_attention(query, key, value)
    assert y.grad_fn is not None
    assert y.grad_fn.name == "ScaledDotProductAttentionBackward"
    with dk.no_grad():
        for x in (query, key, y):
            x.detach().mul_(-2.0)
    found = dk.autograd.grad(y, leaves, dk.tensor(drawn(*y.shape, seed=9)))
    for gradient, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(gradient.numpy(), right, rtol=1e-10)
    y = F.scaled_dot_product_attention(query.detach(), key.detach(), value)
    with dk.no_grad():
        value.detach().mul_(2.0)
    with pytest.raises(dk.errors.InplaceError, match="backward of ScaledDotProductAttentionBackward"):
        y.sum().backward()


def test_attention_is_its_formula() -> None:
    q, k, v = ARRAYS
    scores = np.where(MASK, q @ k.swapaxes(-1, -2) / np.sqrt(5), -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    y = F.scaled_dot_product_attention(*map(dk.tensor, ARRAYS), dk.tensor(MASK))  # type: ignore[call-arg]
    np.testing.assert_allclose(y.numpy(), e / e.sum(-1, keepdims=True) @ v, rtol=1e-10)


def test_what_attends_to_nothing_is_zero_and_gives_no_gradient() -> None:
    mask = np.zeros((4, 6), dtype=bool)
    y, found = gradients(lambda *a: F.scaled_dot_product_attention(*a, dk.tensor(mask)), ARRAYS)  # type: ignore[call-arg]
    assert not y.any()
    assert not any(g.any() for g in found)


def test_a_gradient_reaches_the_mask() -> None:
    _, (*_, g) = gradients(F.scaled_dot_product_attention, [*ARRAYS, drawn(4, 6)])
    assert g.shape == (4, 6)
    np.testing.assert_allclose(g.sum(-1), 0, atol=1e-12)


def test_causal_attention_does_not_look_ahead() -> None:
    x = dk.tensor(drawn(4, 3))
    first = F.scaled_dot_product_attention(x, x, x, is_causal=True)
    changed = dk.concat([x[:3], x[3:] + 1.0])
    again = F.scaled_dot_product_attention(changed, changed, changed, is_causal=True)
    assert first[:3].tolist() == again[:3].tolist()
    assert first[3].tolist() != again[3].tolist()


def test_dropout_keeps_the_expected_value_and_scales() -> None:
    x = dk.ones((200, 100))
    y = F.dropout(x, 0.25, generator=dk.Generator(0)).numpy()
    assert sorted(set(y.ravel())) == [0.0, pytest.approx(4 / 3)]
    assert abs((y == 0).mean() - 0.25) < 0.02


def test_draws_are_repeatable_with_and_without_gradient() -> None:
    x = drawn(5, 6)
    results = []
    for tracked in (False, True):
        for generator in (None, dk.Generator(3)):
            dk.manual_seed(3)
            results.append(F.dropout(dk.tensor(x, requires_grad=tracked), 0.5, generator=generator).tolist())
    assert all(one == results[0] for one in results)
    F.dropout(dk.tensor(x))
    assert F.dropout(dk.tensor(x)).tolist() != results[0]


def test_gradients_flow_where_values_do() -> None:
    x = dk.tensor(drawn(5, 6), requires_grad=True)
    y = F.dropout(x, 0.5)
    y.sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), np.where(y.detach().numpy() == 0, 0.0, 2.0))


def test_dropout_of_attention_weights() -> None:
    tensors = list(map(dk.tensor, ARRAYS))
    dk.manual_seed(0)
    first = F.scaled_dot_product_attention(*tensors, dropout_p=0.5)  # type: ignore[misc]
    dk.manual_seed(0)
    assert first.tolist() == F.scaled_dot_product_attention(*tensors, dropout_p=0.5).tolist()  # type: ignore[misc]
    assert first.tolist() != F.scaled_dot_product_attention(*tensors).tolist()


def test_vmap_is_told_who_draws() -> None:
    x = dk.ones((3, 50))
    with pytest.raises(RandomnessError, match="draws random numbers"):
        dk.func.vmap(F.dropout)(x)
    different = dk.func.vmap(F.dropout, randomness="different")(x)
    same = dk.func.vmap(F.dropout, randomness="same")(x)
    assert len({tuple(row) for row in different.tolist()}) == 3
    assert len({tuple(row) for row in same.tolist()}) == 1


@pytest.mark.parametrize(("p", "training", "expected"), [(0.5, False, 1.0), (0.0, True, 1.0), (1.0, True, 0.0)])
def test_where_nothing_is_drawn(p: float, training: bool, expected: float) -> None:
    dk.manual_seed(0)
    x = dk.ones(3)
    y = F.dropout(x, p, training)
    assert y.tolist() == [expected] * 3
    assert not np.may_share_memory(x.array, y.array)
    before = dk.rand(1).item()
    dk.manual_seed(0)
    assert dk.rand(1).item() == before


Q = dk.ones((2, 3))
REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "query": (
        lambda: F.scaled_dot_product_attention(dk.ones(3), Q, Q),
        ValueError,
        "scaled_dot_product_attention: argument 'query' has shape (3,), expected (..., L, E)",
    ),
    "key": (
        lambda: F.scaled_dot_product_attention(Q, dk.ones((2, 4)), Q),
        ValueError,
        "argument 'key' has shape (2, 4), expected (..., S, 3) for a query of shape (2, 3)",
    ),
    "value": (
        lambda: F.scaled_dot_product_attention(Q, Q, dk.ones((3, 3))),
        ValueError,
        "argument 'value' has shape (3, 3), expected (..., 2, Ev) for a key of shape (2, 3)",
    ),
    "mask": (
        lambda: F.scaled_dot_product_attention(Q, Q, Q, dk.ones((3, 2))),
        ValueError,
        "argument 'attn_mask' has shape (3, 2), expected one that broadcasts to (..., 2, 2)",
    ),
    "both": (
        lambda: F.scaled_dot_product_attention(Q, Q, Q, dk.ones((2, 2)), is_causal=True),
        ValueError,
        "scaled_dot_product_attention: attn_mask must be None where is_causal=True",
    ),
    "probability of weights": (
        lambda: F.scaled_dot_product_attention(Q, Q, Q, dropout_p=2.0),
        ValueError,
        "scaled_dot_product_attention: dropout_p has to be a probability between 0 and 1, found 2.0",
    ),
    "probability": (
        lambda: F.dropout(Q, -0.1),
        ValueError,
        "dropout: p has to be a probability between 0 and 1, found -0.1",
    ),
    "complex": (
        lambda: F.scaled_dot_product_attention(Q, Q.astype("complex128"), Q),
        TypeError,
        "scaled_dot_product_attention: argument 'key' must be of real numbers, found complex128",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_named(name: str) -> None:
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=re.escape(text)):
        call()


BLOCKED: dict[str, dict[str, Any]] = {
    "all": {},
    "causal": {"is_causal": True},
    "mask": {"attn_mask": MASK},
    "mask of keys": {"attn_mask": MASK[0]},
    "added mask": {"attn_mask": drawn(2, 1, 4, 6)},
    "dropout": {"dropout_p": 0.5},
}


@pytest.mark.parametrize("name", BLOCKED)
def test_blocks_of_queries_give_what_all_at_once_give(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {key: dk.tensor(x) if isinstance(x, np.ndarray) else x for key, x in BLOCKED[name].items()}
    if name == "dropout":
        # The blocks draw one after another what all draw at once, where there is one matrix.
        arrays = [x[0, 0] for x in ARRAYS]
    else:
        arrays = list(ARRAYS)

    def attended(*a: Any) -> Any:
        dk.manual_seed(0)
        return F.scaled_dot_product_attention(*a, **given)

    def computed() -> list[Any]:
        y, found = gradients(attended, arrays)
        tensors = tuple(map(dk.asarray, arrays))
        tangent = dk.func.jvp(attended, tensors, tensors)[1] if name != "dropout" else dk.zeros(1)
        return [y, *found, attended(*tensors).numpy(), tangent.numpy()]

    wanted = computed()
    monkeypatch.setattr(attention, "MOST", 0)
    monkeypatch.setattr(attention, "BLOCK", 3 * 6 * (1 if name == "dropout" else 6))
    checkpoints = []

    def noted(function: Any) -> Any:
        checkpoints.append(function)
        return checkpoint(function)

    monkeypatch.setattr(attention, "checkpoint", noted)
    for one, other in zip(computed(), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
    assert checkpoints
    q, k, v = (dk.tensor(x, requires_grad=True) for x in arrays)
    y = attended(q, k, v)
    assert y.grad_fn is not None
    assert "Concat" in repr(y.grad_fn) or "concat" in str(y.grad_fn)


def test_a_generator_that_is_given_draws_for_all_queries_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "MOST", 0)
    monkeypatch.setattr(attention, "checkpoint", None)
    y, _ = gradients(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, dropout_p=0.5, generator=dk.Generator(0)),
        ARRAYS,
    )
    assert y.shape == (2, 3, 4, 2)


def test_second_derivatives_go_through_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "MOST", 0)
    monkeypatch.setattr(attention, "BLOCK", 6)
    arrays = [dk.tensor(x[0, 0, :3], requires_grad=True) for x in ARRAYS]
    assert dk.autograd.gradgradcheck(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), arrays)

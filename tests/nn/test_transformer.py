"""Transformer layers: PyTorch's values, gradients and states, their formulas in NumPy, and what they refuse."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import nn
from tests.nn.functional.support import drawn

SIZES: dict[str, Any] = {"d_model": 8, "nhead": 2, "dim_feedforward": 12, "dropout": 0.0}
CAUSAL = np.triu(np.ones((4, 4), bool), 1)
OF_PAIRS = np.where(np.arange(20).reshape(4, 5) % 3 == 1, -np.inf, 0.25)
PADDING = np.asarray([[False] * 5, [False, False, False, True, True], [False] * 4 + [True]])


def build(library: Any, name: str, **options: Any) -> Any:
    nn = library.nn
    sizes = {**SIZES, **options}
    if name == "Transformer":
        return nn.Transformer(num_encoder_layers=2, num_decoder_layers=1, **sizes)
    layer = getattr(nn, f"Transformer{name.removesuffix('s')}Layer")(**sizes)
    if not name.endswith("s"):
        return layer
    norm = nn.LayerNorm(8) if options.get("norm_first") else None
    return getattr(nn, f"Transformer{name.removesuffix('s')}")(layer, 2, norm)


def call(library: Any, layer: Any, name: str, src: Any, tgt: Any, masks: bool) -> Any:
    causal, of_pairs, padding = (library.tensor(x) for x in (CAUSAL, OF_PAIRS, PADDING))
    if name.startswith("Encoder"):
        return layer(src, src_key_padding_mask=padding) if masks else layer(src)
    if name.startswith("Decoder"):
        options = {"tgt_mask": causal, "memory_mask": of_pairs} if masks else {}
        return layer(tgt, src, **options)
    options = {"tgt_mask": causal, "src_key_padding_mask": padding, "memory_key_padding_mask": padding}
    return layer(src, tgt, **(options if masks else {}))


NAMES = ["Encoder", "Encoders", "Decoder", "Decoders", "Transformer"]
OPTIONS: list[dict[str, Any]] = [
    {"batch_first": True},
    {"batch_first": True, "norm_first": True, "activation": "gelu"},
    {"norm_first": True, "layer_norm_eps": 0.1},
    {"activation": "gelu", "bias": False},
]


@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:.*nested_tensor:UserWarning", "ignore:.*mismatched.*mask:UserWarning")
def test_values_gradients_and_states_are_pytorchs(name: str, options: dict[str, Any], masks: bool) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch gives the values to compare with")
    ours, theirs = build(dk, name, **options), build(torch, name, **options).double()
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for n, parameter in enumerate(ours.parameters()):
        parameter.data.copy_(dk.tensor(drawn(*parameter.shape, seed=n)))
    theirs.load_state_dict({key: torch.tensor(value.numpy()) for key, value in ours.state_dict().items()})
    again = build(dk, name, **options)
    again.load_state_dict({key: dk.tensor(value.numpy()) for key, value in theirs.state_dict().items()})
    results = []
    for library, layer in ((dk, ours), (torch, theirs), (dk, again)):
        arrays = [drawn(3, 5, 8), drawn(3, 4, 8, seed=1)]
        if not options.get("batch_first"):
            arrays = [x.swapaxes(0, 1) for x in arrays]
        src, tgt = (library.tensor(np.ascontiguousarray(x), requires_grad=True) for x in arrays)
        y = call(library, layer, name, src, tgt, masks)
        (y * y * y).sum().backward()
        gradients = [x.grad for x in (src, tgt, *layer.parameters()) if x.grad is not None]
        results.append([np.array(x.detach().numpy()) for x in (y, *gradients)])
    for expected, *others in zip(results[1], results[0], results[2], strict=True):
        for x in others:
            np.testing.assert_allclose(x, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_layers_have_pytorchs_parts(name: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch gives the names to compare with")
    ours, theirs = build(dk, name, batch_first=True), build(torch, name, batch_first=True)
    leaves = [key for key, _ in ours.named_modules()]
    assert leaves == [key for key, _ in theirs.named_modules()]
    shapes = [tuple(p.shape) for p in theirs.parameters()]
    assert [tuple(p.shape) for p in ours.parameters()] == shapes


def standardized(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


@pytest.mark.parametrize("norm_first", [False, True])
def test_an_encoder_layer_by_its_formula(norm_first: bool) -> None:
    layer = nn.TransformerEncoderLayer(**{**SIZES, "nhead": 1}, norm_first=norm_first, batch_first=True)
    x = drawn(1, 4, 8)
    y = layer(dk.tensor(x), is_causal=True).detach().numpy()[0]
    weights = {key: value.numpy() for key, value in layer.state_dict().items()}

    def attend(x: Any) -> Any:
        q, k, v = np.split(x @ weights["self_attn.in_proj_weight"].T, 3, axis=-1)
        scores = np.exp(np.where(CAUSAL, -np.inf, q @ k.T / np.sqrt(8)))
        return scores / scores.sum(-1, keepdims=True) @ v @ weights["self_attn.out_proj.weight"].T

    def feed(x: Any) -> Any:
        inside = np.maximum(x @ weights["linear1.weight"].T + weights["linear1.bias"], 0)
        return inside @ weights["linear2.weight"].T + weights["linear2.bias"]

    expected = x[0]
    for part in (attend, feed):
        if norm_first:
            expected = expected + part(standardized(expected))
        else:
            expected = standardized(expected + part(expected))
    np.testing.assert_allclose(y, expected, rtol=1e-9, atol=1e-12)


def test_a_causal_decoder_does_not_look_ahead() -> None:
    net = build(dk, "Transformer", batch_first=True)
    mask = net.generate_square_subsequent_mask(4)
    assert mask.tolist() == np.where(CAUSAL, -np.inf, 0.0).tolist()
    src, tgt = dk.tensor(drawn(3, 5, 8)), drawn(3, 4, 8, seed=1)
    changed = tgt.copy()
    changed[:, 3] += 1.0
    first, second = (net(src, dk.tensor(x), tgt_mask=mask).detach().numpy() for x in (tgt, changed))
    np.testing.assert_allclose(first[:, :3], second[:, :3], rtol=1e-12)
    assert not np.allclose(first[:, 3], second[:, 3])
    by_flag = net(src, dk.tensor(tgt), tgt_is_causal=True).detach().numpy()
    np.testing.assert_allclose(first, by_flag, rtol=1e-9, atol=1e-12)


def test_one_sequence_without_a_batch() -> None:
    net = build(dk, "Transformer")
    src, tgt = dk.tensor(drawn(5, 8)), dk.tensor(drawn(4, 8, seed=1))
    expected = net(src[:, None], tgt[:, None])[:, 0]
    np.testing.assert_allclose(net(src, tgt).detach().numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-12)


def test_activations_dropout_and_parts_of_ones_own() -> None:
    x = dk.ones((2, 3, 8))
    layer = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.5, activation=nn.ReLU(), batch_first=True)
    assert "activation" in dict(layer.named_children())
    assert layer(x).tolist() != layer(x).tolist()
    assert layer.eval()(x).tolist() == layer(x).tolist()
    net = nn.Transformer(
        8, 2, custom_encoder=nn.Identity(), custom_decoder=nn.TransformerDecoder(build(dk, "Decoder"), 1)
    )
    assert not net.encoder.state_dict()


def test_layers_of_a_stack_begin_as_copies_and_part() -> None:
    stack = build(dk, "Encoders")
    first, second = stack.layers
    assert first.linear1.weight.tolist() == second.linear1.weight.tolist()
    first.linear1.weight.data.fill_(0.0)
    assert second.linear1.weight.tolist() != first.linear1.weight.tolist()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.TransformerEncoderLayer(8, 3), "MultiheadAttention: embed_dim=8 must be divisible by num_heads=3"),
        (
            lambda: nn.TransformerDecoderLayer(8, 2, activation="tanh"),  # type: ignore[arg-type]
            "TransformerDecoderLayer: activation must be 'relu', 'gelu' or a function, found 'tanh'",
        ),
    ],
)
def test_what_does_not_fit_is_named(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make()

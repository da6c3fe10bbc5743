"""Recurrent layers, attention and RMSNorm: stated numbers, and PyTorch over training steps with the same weights."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import nn
from tests.nn.functional.support import drawn

# Of either library: how a layer is made, and the shape of the sequences it takes.
LAYERS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "LSTM": (lambda nn: nn.LSTM(3, 4), (5, 2, 3)),
    "LSTM, two layers, both ways": (lambda nn: nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True), (2, 5, 3)),
    "LSTM, one sequence": (lambda nn: nn.LSTM(3, 4, bias=False), (5, 3)),
    "GRU": (lambda nn: nn.GRU(3, 4, batch_first=True), (2, 5, 3)),
    "GRU, two layers, both ways": (lambda nn: nn.GRU(3, 4, 2, bidirectional=True), (5, 2, 3)),
    "RNN": (lambda nn: nn.RNN(3, 4), (5, 2, 3)),
    "RNN, ReLU, two layers, both ways": (lambda nn: nn.RNN(3, 4, 2, "relu", True, True, 0.0, True), (2, 2, 3)),
    "RNN, one sequence": (lambda nn: nn.RNN(3, 4, nonlinearity="relu", bias=False), (5, 3)),
    "RMSNorm": (lambda nn: nn.RMSNorm((2, 3)), (5, 2, 3)),
    "RMSNorm without weight": (lambda nn: nn.RMSNorm(3, eps=0.1, elementwise_affine=False), (5, 3)),
}


def copied(ours: Any, theirs: Any, torch: Any) -> None:
    own = dict(ours.named_parameters())
    assert list(own) == [name for name, _ in theirs.named_parameters()]
    for name, parameter in theirs.named_parameters():
        assert tuple(parameter.shape) == own[name].shape
        parameter.data.copy_(torch.tensor(own[name].detach().numpy()))


def trained(library: Any, layer: Any, loss: Any) -> list[float]:
    optimizer = library.optim.SGD(layer.parameters(), lr=0.1) if list(layer.parameters()) else None
    losses = []
    for _ in range(6):
        layer.zero_grad()
        found = loss(layer)
        losses.append(found.item())
        if optimizer is not None:
            found.backward()
            optimizer.step()
    return losses


@pytest.mark.parametrize("name", LAYERS)
def test_losses_are_pytorchs(name: str) -> None:
    torch: Any = pytest.importorskip("torch")
    make, shape = LAYERS[name]
    dk.manual_seed(0)
    ours, theirs = make(nn), make(torch.nn).double()
    copied(ours, theirs, torch)
    assert repr(ours) == repr(theirs)
    x = drawn(*shape)

    def loss(library: Any, layer: Any) -> Any:
        y = layer(library.tensor(x))
        if not isinstance(y, tuple):
            return (y * y * y).sum()
        states = y[1] if isinstance(y[1], tuple) else (y[1],)
        again, _ = layer(library.tensor(x), y[1])  # from states that are given
        return sum(((one * one).sum() for one in states), (again * again * again).sum())

    ours_found, theirs_found = trained(dk, ours, partial(loss, dk)), trained(torch, theirs, partial(loss, torch))
    np.testing.assert_allclose(ours_found, theirs_found, rtol=1e-12)


CELLS: dict[str, Any] = {
    "RNNCell": lambda nn: nn.RNNCell(3, 4),
    "RNNCell, ReLU": lambda nn: nn.RNNCell(3, 4, False, "relu"),
    "LSTMCell": lambda nn: nn.LSTMCell(3, 4),
    "GRUCell": lambda nn: nn.GRUCell(3, 4, bias=False),
}


@pytest.mark.parametrize("shape", [(2, 3), (3,)])
@pytest.mark.parametrize("name", CELLS)
def test_losses_of_cells_are_pytorchs(name: str, shape: tuple[int, ...]) -> None:
    torch: Any = pytest.importorskip("torch")
    dk.manual_seed(0)
    ours, theirs = CELLS[name](nn), CELLS[name](torch.nn).double()
    copied(ours, theirs, torch)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    x = drawn(4, *shape)

    def loss(library: Any, cell: Any) -> Any:
        total, state = library.tensor(0.0), None
        for of_step in library.tensor(x):
            state = cell(of_step) if state is None else cell(of_step, state)
            total = total + sum((part * part * part).sum() for part in (state if isinstance(state, tuple) else [state]))
        return total

    ours_found, theirs_found = trained(dk, ours, partial(loss, dk)), trained(torch, theirs, partial(loss, torch))
    np.testing.assert_allclose(ours_found, theirs_found, rtol=1e-12)


@pytest.mark.parametrize(
    ("layer", "cell"),
    [
        (nn.RNN(2, 3, nonlinearity="relu"), nn.RNNCell(2, 3, nonlinearity="relu")),
        (nn.LSTM(2, 3), nn.LSTMCell(2, 3)),
        (nn.GRU(2, 3, bias=False), nn.GRUCell(2, 3, bias=False)),
    ],
    ids=["RNN", "LSTM", "GRU"],
)
def test_a_cell_takes_the_steps_of_its_layer(layer: Any, cell: Any) -> None:
    cell.load_state_dict({name.removesuffix("_l0"): value for name, value in layer.state_dict().items()})
    x = dk.asarray(drawn(4, 2))
    y, last = layer(x)
    state = None
    for of_step in x:
        state = cell(of_step, state)
    np.testing.assert_allclose(dk.stack([*cell_state(state)]).tolist(), dk.concat([*cell_state(last)]).tolist())
    np.testing.assert_allclose(y[-1].tolist(), cell_state(state)[0].tolist())


def cell_state(state: Any) -> tuple[Any, ...]:
    return state if isinstance(state, tuple) else (state,)


def test_steps_of_a_plain_layer_by_hand() -> None:
    layer = nn.RNN(1, 1)
    with dk.no_grad():
        for parameter, value in zip(layer.parameters(), (0.5, 0.25, 0.125, 0.0), strict=True):
            parameter.fill_(value)
    y, h = layer(dk.asarray([[1.0], [2.0]]))
    first = np.tanh(0.5 + 0.125)
    np.testing.assert_allclose(y.tolist(), [[first], [np.tanh(1.0 + 0.25 * first + 0.125)]], rtol=1e-14)
    assert h.tolist() == y[1:].tolist()


MASK = np.triu(np.ones((4, 4), bool), 1)
PADDING = np.asarray([[False, False, True, True], [False] * 4, [False, False, False, True]])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"need_weights": False},
        {"attn_mask": MASK, "average_attn_weights": False},
        {"attn_mask": MASK, "need_weights": False},
        {"key_padding_mask": PADDING},
        {"key_padding_mask": PADDING, "attn_mask": MASK, "need_weights": False},
        {"attn_mask": drawn(6, 4, 4)},
        {"single": True},
    ],
    ids=lambda options: " ".join(options) or "plain",
)
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.filterwarnings("ignore:Support for mismatched key_padding_mask")
def test_multihead_attention_is_pytorchs(options: dict[str, Any], batch_first: bool) -> None:
    torch: Any = pytest.importorskip("torch")
    ours = nn.MultiheadAttention(6, 2, batch_first=batch_first)
    theirs = torch.nn.MultiheadAttention(6, 2, batch_first=batch_first).double()
    copied(ours, theirs, torch)
    given = dict(options)
    q, kv = (
        (drawn(4, 6), drawn(4, 6, seed=1)) if given.pop("single", False) else (drawn(3, 4, 6), drawn(3, 4, 6, seed=1))
    )
    if q.ndim == 3 and not batch_first:
        q, kv = q.swapaxes(0, 1), kv.swapaxes(0, 1)
    seen: list[Any] = []

    def loss(library: Any, layer: Any) -> Any:
        keywords = {name: library.tensor(x) if isinstance(x, np.ndarray) else x for name, x in given.items()}
        y, weights = layer(library.tensor(q), library.tensor(kv), library.tensor(kv), **keywords)
        seen.append(None if weights is None else np.asarray(weights.detach().numpy()))
        return (y * y).sum()

    ours_found, theirs_found = trained(dk, ours, partial(loss, dk)), trained(torch, theirs, partial(loss, torch))
    np.testing.assert_allclose(ours_found, theirs_found, rtol=1e-9, atol=1e-12)
    if seen[0] is None:
        assert seen[6] is None
    else:
        # The exponential of -490 has 490 times the relative error of the score: shares of 1, to the last digit of 1.
        np.testing.assert_allclose(seen[5], seen[11], rtol=1e-9, atol=1e-16)


def test_attention_is_causal_with_and_without_weights() -> None:
    layer = nn.MultiheadAttention(4, 2, batch_first=True)
    x = dk.asarray(drawn(1, 3, 4))
    with dk.no_grad():
        y, weights = layer(x, x, x, is_causal=True)
        other, _ = layer(x, x, x, need_weights=False, is_causal=True)
    assert dk.all(dk.triu(weights, k=1) == 0)
    np.testing.assert_allclose(y.numpy(), other.numpy(), rtol=1e-9, atol=1e-12)


def test_a_step_of_a_memory_by_hand() -> None:
    layer = nn.LSTM(1, 1)
    with dk.no_grad():
        for parameter, value in zip(layer.parameters(), (0.5, 0.25, 0.0, 0.0), strict=True):
            parameter.fill_(value)
    y, (h, c) = layer(dk.asarray([[1.0], [2.0]]))

    def sigmoid(x: float) -> float:
        return 1 / (1 + float(np.exp(-x)))

    kept, given = 0.0, 0.0
    for x in (1.0, 2.0):
        total = 0.5 * x + 0.25 * given
        kept = sigmoid(total) * kept + sigmoid(total) * np.tanh(total)
        given = sigmoid(total) * np.tanh(kept)
    np.testing.assert_allclose([h.item(), c.item()], [given, kept], rtol=1e-14)
    assert y[-1].item() == h.item()


def test_dropout_between_layers_is_for_training_alone() -> None:
    layer = nn.GRU(2, 3, 2, dropout=0.5)
    x = dk.ones((4, 1, 2))
    assert not dk.all(layer(x)[0] == layer(x)[0])
    layer.eval()
    assert dk.all(layer(x)[0] == layer(x)[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.LSTM(2, 3)(dk.ones((4, 3))), r"LSTM: x must have shape \(L, N, 2\) or \(L, 2\), found \(4, 3\)"),
        (lambda: nn.GRU(2, 3)(dk.ones((4, 2)), dk.ones((1, 1, 3))), r"GRU: hx must have 1 of shape \(1, 3\) for x of"),
        (lambda: nn.LSTM(2, 3, dropout=2.0), "LSTM: dropout must be from 0 to 1, found 2.0"),
        (lambda: nn.RNN(2, 3, nonlinearity="gelu"), "RNN: nonlinearity must be 'tanh' or 'relu', found 'gelu'"),  # type: ignore[arg-type]
        (lambda: nn.GRUCell(2, 3)(dk.ones((4, 3))), r"GRUCell: x must have shape \(N, 2\) or \(2,\), found \(4, 3\)"),
        (
            lambda: nn.LSTMCell(2, 3)(dk.ones((4, 2)), dk.ones((4, 3))),
            r"LSTMCell: hx must have 2 of shape \(4, 3\) for x of shape \(4, 2\)",
        ),
        (lambda: nn.GRU(0, 3), "GRU: input_size must be at least 1, found 0"),
        (lambda: nn.MultiheadAttention(5, 2), "embed_dim=5 must be divisible by num_heads=2"),
        (
            lambda: nn.RMSNorm(3)(dk.ones((3, 2))),
            r"rms_norm: argument 'x' has shape \(3, 2\), expected \(\.\.\., 3\) for normalized_shape=\(3,\)",
        ),
    ],
)
def test_what_does_not_fit_is_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN, nn.LSTMCell])
def test_states_begin_in_the_library_of_the_sequences(layer: Any) -> None:
    torch = pytest.importorskip("torch")
    with dk.arrays_of("torch"):
        net = layer(3, 4)
    output = net(dk.asarray(torch.ones((2, 3) if layer is nn.LSTMCell else (5, 2, 3))))[0]
    assert isinstance(output.array, torch.Tensor)


WHOLE: dict[str, tuple[Any, tuple[int, ...]]] = {
    **{name: case for name, case in LAYERS.items() if name.startswith(("LSTM", "GRU"))},
    "LSTMCell": (lambda nn: nn.LSTMCell(3, 4), (2, 3)),
    "GRUCell": (lambda nn: nn.GRUCell(3, 4, bias=False), (2, 3)),
}


def of_layer(layer: Any, x: Any) -> list[Any]:
    """Return outputs, states, gradients of all parameters, and the gradient of the square of one of these."""
    y = layer(x)
    parts = [one for part in cell_state(y) for one in cell_state(part)]
    total = sum(((part * part * part).sum() for part in parts), 0.0 * x.sum())
    parameters = list(layer.parameters())
    grads = dk.autograd.grad(total, parameters, create_graph=True)
    second = dk.autograd.grad((grads[0] * grads[0]).sum(), parameters)
    return [part.detach().numpy() for part in (*parts, *grads, *second)]


@pytest.mark.parametrize("name", WHOLE)
def test_whole_layers_over_pytorch_give_what_steps_over_numpy_give(name: str) -> None:
    torch = pytest.importorskip("torch")
    make, shape = WHOLE[name]
    layer, x = make(nn), drawn(*shape)
    wanted = of_layer(layer, dk.asarray(x))
    layer.to(like=dk.asarray(torch.ones(1)))
    got = of_layer(layer.double(), dk.asarray(torch.tensor(x)))
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_whole_layers_over_pytorch_take_batches_of_inputs_and_of_parameters(name: str) -> None:
    torch = pytest.importorskip("torch")
    make, shape = LAYERS[name]
    with dk.arrays_of("torch"):
        layer = make(nn)
    xs = dk.asarray(torch.tensor(drawn(2, *shape)))
    together = dk.func.vmap(lambda x: layer(x)[0])(xs)
    np.testing.assert_allclose(together.detach().numpy(), dk.stack([layer(x)[0] for x in xs]).detach().numpy())


@pytest.mark.parametrize(("function", "gates", "states"), [(nn.functional.lstm, 4, 2), (nn.functional.gru, 3, 1)])
def test_a_bias_of_inputs_needs_their_weight(function: Any, gates: int, states: int) -> None:
    arrays = [dk.ones((2, 1, gates)), dk.ones((gates, 1)), *[dk.ones((1, 1))] * states]
    with pytest.raises(ValueError, match="bias_ih is added to what weight_ih gives, which is None; give both"):
        function(*arrays, bias_ih=dk.ones(gates))


@pytest.mark.parametrize("over", ["numpy", "torch"])
@pytest.mark.parametrize("name", ["LSTM", "GRU", "LSTMCell", "GRUCell"])
def test_a_layer_is_one_call(name: str, over: str) -> None:
    library = pytest.importorskip(over)
    make, shape = WHOLE[name]
    with dk.arrays_of(over):
        layer = make(nn)
    with dk.record_calls() as calls:
        layer(dk.asarray(library.asarray(drawn(*shape))))
    assert "linear" not in str(calls)
    assert str(calls).count(name.lower().removesuffix("cell")) == 1


@pytest.mark.parametrize("cell", [nn.RNNCell, nn.LSTMCell, nn.GRUCell])
def test_cells_may_take_and_keep_nothing(cell: Any) -> None:
    y = cell(0, 3)(dk.ones((2, 0)))
    assert (y[0] if isinstance(y, tuple) else y).shape == (2, 3)
    assert cell(3, 0).weight_ih.shape[0] == 0
    with pytest.raises(ValueError, match="hidden_size must be at least 0, found -1"):
        cell(3, -1)

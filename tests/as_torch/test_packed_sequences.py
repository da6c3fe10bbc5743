"""Sequences of several lengths: padded, packed, and through recurrent layers, beside each of them alone and PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch as spelled
from dispatchkit.as_torch.nn.utils import rnn

X = np.random.default_rng(0).normal(size=(5, 4, 3))
LENGTHS = [2, 5, 1, 5]


def test_sequences_are_padded_on_either_side() -> None:
    parts = [spelled.tensor([1.0, 2.0]), spelled.tensor([3.0])]
    assert rnn.pad_sequence(parts, batch_first=True).tolist() == [[1.0, 2.0], [3.0, 0.0]]
    left = rnn.pad_sequence(parts, padding_value=9.0, padding_side="left")
    assert left.tolist() == [[1.0, 9.0], [2.0, 3.0]]
    assert [x.tolist() for x in rnn.unpad_sequence(rnn.pad_sequence(parts), [2, 1])] == [[1.0, 2.0], [3.0]]
    with pytest.raises(RuntimeError, match="padding_side 'left' or 'right', found 2 and 'top'"):
        rnn.pad_sequence(parts, padding_side="top")


def test_packed_sequences_have_all_first_elements_first() -> None:
    packed = rnn.pack_sequence([spelled.tensor([1.0, 2.0, 3.0]), spelled.tensor([4.0])])
    assert (packed.data.tolist(), packed.batch_sizes.tolist()) == ([1.0, 4.0, 2.0, 3.0], [2, 1, 1])
    assert [x.tolist() for x in rnn.unpack_sequence(packed)] == [[1.0, 2.0, 3.0], [4.0]]
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1.0, total_length=4)
    assert padded.tolist() == [[1.0, 2.0, 3.0, -1.0], [4.0, -1.0, -1.0, -1.0]]
    assert lengths.tolist() == [3, 1]


@pytest.mark.parametrize(
    ("lengths", "options", "message"),
    [
        ([1, 2], {}, "must be sorted in decreasing order when `enforce_sorted` is True"),
        ([2, 0], {}, "Length of all samples has to be greater than 0"),
        ([9, 1], {}, "lengths must be at most 3, found 9"),
        ([1], {}, r"equal to batch_size, but got 1 \(batch_size=2\)"),
    ],
)
def test_wrong_lengths_are_named(lengths: Any, options: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        rnn.pack_padded_sequence(spelled.ones(3, 2, 1), lengths, **options)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_layers_give_each_packed_sequence_what_they_give_it_alone(kind: str) -> None:
    layer = getattr(spelled.nn, kind)(3, 4, num_layers=2, bidirectional=True)
    packed = rnn.pack_padded_sequence(spelled.tensor(X), LENGTHS, enforce_sorted=False)
    y, state = layer(packed)
    padded, lengths = rnn.pad_packed_sequence(y)
    assert lengths.tolist() == LENGTHS
    for i, n in enumerate(LENGTHS):
        alone, of_alone = layer(spelled.tensor(X[:n, i : i + 1]))
        np.testing.assert_allclose(padded[:n, i].detach().numpy(), alone[:, 0].detach().numpy(), atol=1e-12)
        assert not padded[n:, i].any()
        pairs = zip(state, of_alone, strict=True) if kind == "LSTM" else [(state, of_alone)]
        for ours, theirs in pairs:
            np.testing.assert_allclose(ours[:, i].detach().numpy(), theirs[:, 0].detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("ordered", [False, True])
def test_packed_sequences_go_through_layers_as_in_pytorch(kind: str, ordered: bool) -> None:
    torch = pytest.importorskip("torch")
    lengths = sorted(LENGTHS, reverse=True) if ordered else LENGTHS
    theirs = getattr(torch.nn, kind)(3, 4, bidirectional=True, batch_first=True).double()
    ours = getattr(spelled.nn, kind)(3, 4, bidirectional=True, batch_first=True)
    ours.load_state_dict({key: spelled.tensor(value.numpy()) for key, value in theirs.state_dict().items()})
    start = np.random.default_rng(1).normal(size=(2, 4, 4))
    results = []
    for library, layer in ((torch, theirs), (spelled, ours)):
        x = library.tensor(X.swapaxes(0, 1).copy()).requires_grad_()
        utils = library.nn.utils.rnn
        packed = utils.pack_padded_sequence(x, library.tensor(lengths), batch_first=True, enforce_sorted=ordered)
        hx = library.tensor(start)
        y, state = layer(packed, (hx, hx * 2) if kind == "LSTM" else hx)
        padded, _ = utils.pad_packed_sequence(y, batch_first=True)
        first = state[0] if kind == "LSTM" else state
        ((padded**2).sum() + (first**3).sum()).backward()
        found = [y.data, y.batch_sizes, padded, first, x.grad, layer.weight_hh_l0_reverse.grad]
        results.append([each.detach().numpy() for each in found])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12)


def test_packed_sequences_are_converted_and_stay_themselves_where_nothing_changes() -> None:
    packed = rnn.pack_padded_sequence(spelled.tensor(X), LENGTHS, enforce_sorted=False)
    names = ("double", "float", "half", "long", "int", "short", "char", "byte")
    dtypes = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8")
    for name, dtype in zip(names, dtypes, strict=True):
        converted = getattr(packed, name)()
        assert converted.data.dtype == getattr(spelled, dtype)
        assert converted.sorted_indices is packed.sorted_indices
    assert packed.cpu() is packed.double() is packed.to("cpu", dtype=spelled.float64) is packed


def test_lengths_below_the_longest_and_what_is_no_sequence_raise() -> None:
    packed = rnn.pack_padded_sequence(spelled.tensor(X), LENGTHS, enforce_sorted=False)
    for length in (0, -1):
        with pytest.raises(ValueError, match=f"total_length={length} and max sequence length being {max(LENGTHS)}$"):
            rnn.pad_packed_sequence(packed, total_length=length)
    with pytest.raises(
        RuntimeError, match=r"^pad_sequence: Expected iterable for input sequences, but got arg of type: int$"
    ):
        rnn.pad_sequence(5)

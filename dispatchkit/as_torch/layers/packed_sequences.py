"""Sequences of several lengths, `torch.nn.utils.rnn`, and recurrent layers that take them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dispatchkit import nn
from dispatchkit.as_torch.spelling import Tensor
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.marks import override
from dispatchkit.nn.functional.affine import linear
from dispatchkit.nn.linear import register_zeros


class PackedSequence(NamedTuple):
    """The elements of several sequences, all first ones before all second ones; the longest sequence first.

    Attributes
    ----------
    data : of shape (elements, ...)
    batch_sizes : how many sequences have a first element, a second one, and so on
    sorted_indices : numbers of the sequences from the longest to the shortest, None where they came so
    unsorted_indices : where each sequence stands in that order
    """

    data: Any
    batch_sizes: Any
    sorted_indices: Any = None
    unsorted_indices: Any = None

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return the sequences in another dtype or on a device.

        Parameters
        ----------
        *args, **kwargs : as of `Tensor.to`
        """
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        return self._replace(data=data)

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return the sequences in the machine's memory, where they are.

        Parameters
        ----------
        *args, **kwargs : as of `Tensor.to` after the device
        """
        return self.to("cpu", *args, **kwargs)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a device of CUDA."""
        return False


# Methods that give the sequences in a dtype.
DTYPES = {
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
}


def _conversion(name: str, dtype: str) -> Callable[[PackedSequence], PackedSequence]:
    """Return a method of packed sequences."""

    def convert(self: PackedSequence) -> PackedSequence:
        return self.to(dtype)

    convert.__name__, convert.__qualname__ = name, f"PackedSequence.{name}"
    convert.__doc__ = f"Return the sequences in {dtype}."
    return convert


for _name, _dtype in DTYPES.items():
    setattr(PackedSequence, _name, _conversion(_name, _dtype))


def pad_sequence(
    sequences: Iterable[Any], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Any:
    """Return sequences of several lengths in one tensor, of shape (L, N, ...).

    Parameters
    ----------
    sequences : tensors of shape (length, ...)
    batch_first : whether the shape is (N, L, ...)
    padding_value : what stands behind the shorter ones
    padding_side : ``"right"``, or ``"left"`` for before them

    Raises
    ------
    TypeError : for a side that is no text
    RuntimeError : for another side, or no sequence, or if they cannot be gone through
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(  # noqa: TRY004  # as in PyTorch
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences).__name__}"
        )
    parts = list(sequences)
    if not isinstance(padding_side, str):
        raise TypeError(
            f"pad_sequence(): argument 'padding_side' (position 4) must be str, not {type(padding_side).__name__}"
        )
    if not parts or padding_side not in ("left", "right"):
        raise RuntimeError(
            f"pad_sequence: expected at least one sequence and padding_side 'left' or 'right', found {len(parts)} and "
            f"{padding_side!r}"
        )
    longest = max(part.shape[0] for part in parts)
    padded = []
    for part in parts:
        missing = longest - part.shape[0]
        ends = (0, missing)
        if padding_side == "left":
            ends = (missing, 0)
        padded.append(xp.pad(part, {0: ends}, constant_values=padding_value))
    return xp.stack(padded, axis=int(not batch_first))


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """Return the sequences that stand in a tensor.

    Parameters
    ----------
    padded_sequences : as `pad_sequence` gives it
    lengths : of the sequences
    batch_first : whether its shape is (N, L, ...)
    """
    if not batch_first:
        padded_sequences = xp.swapaxes(padded_sequences, 0, 1)
    return [padded_sequences[i, :n] for i, n in enumerate(_numbers(lengths))]


def _numbers(lengths: Any) -> list[int]:
    return [int(n) for n in np.asarray(lengths.numpy() if hasattr(lengths, "numpy") else lengths).reshape(-1)]


def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Return the sequences that stand in a tensor, packed.

    Parameters
    ----------
    input : of shape (L, N, ...)
    lengths : of the sequences, all greater than 0
    batch_first : whether the shape is (N, L, ...)
    enforce_sorted : whether they must come from the longest to the shortest

    Raises
    ------
    RuntimeError : for lengths that are not sorted though they must be, or too small, large, many or few
    """
    if batch_first:
        input = xp.swapaxes(input, 0, 1)
    counts = np.asarray(_numbers(lengths), np.int64)
    if len(counts) != input.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} (batch_size={input.shape[1]})"
        )
    if counts.size == 0 or counts.min() <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if counts.max() > input.shape[0]:
        raise RuntimeError(f"pack_padded_sequence: lengths must be at most {input.shape[0]}, found {int(counts.max())}")
    order = None
    if enforce_sorted:
        if np.any(np.diff(counts) > 0):
            raise RuntimeError(
                "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if "
                "you do not need ONNX exportability."
            )
    else:
        order = np.argsort(-counts, kind="stable")
        counts = counts[order]
    sizes = np.sum(counts[None] > np.arange(counts[0])[:, None], axis=1)
    steps = np.repeat(np.arange(len(sizes)), sizes)
    columns = np.concatenate([np.arange(size) for size in sizes])
    if order is not None:
        columns = order[columns]
    data = input[xp.asarray(steps), xp.asarray(columns)]
    if order is None:
        return PackedSequence(data, _tensor(sizes))
    return PackedSequence(data, _tensor(sizes), _tensor(order), _tensor(np.argsort(order)))


def _tensor(numbers: Any) -> Any:
    """Return numbers as a tensor with PyTorch's methods."""
    return Tensor(xp.asarray(np.asarray(numbers, np.int64)))


def pack_sequence(sequences: Sequence[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Return sequences packed.

    Parameters
    ----------
    sequences : tensors of shape (length, ...)
    enforce_sorted : whether they must come from the longest to the shortest
    """
    lengths = [part.shape[0] for part in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def lengths_of(sequence: PackedSequence) -> Any:
    """Return the lengths of packed sequences, the longest first, as NumPy's array."""
    sizes = np.asarray(sequence.batch_sizes.numpy())
    return np.sum(sizes[:, None] > np.arange(sizes[0])[None], axis=0)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Any, Any]:
    """Return packed sequences in one tensor of shape (L, N, ...), and their lengths.

    Parameters
    ----------
    sequence : the packed ones
    batch_first : whether the shape is (N, L, ...)
    padding_value : what stands behind the shorter ones
    total_length : L, by default that of the longest

    Raises
    ------
    ValueError : if `total_length` is less than that
    """
    counts = lengths_of(sequence)
    longest = len(sequence.batch_sizes) if total_length is None else total_length
    if longest < len(sequence.batch_sizes):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {len(sequence.batch_sizes)}"
        )
    parts = _sequences(sequence, counts)
    padded = [xp.pad(part, {0: (0, longest - part.shape[0])}, constant_values=padding_value) for part in parts]
    lengths = _tensor(counts)
    y = xp.stack(padded, axis=1)
    if sequence.unsorted_indices is not None:
        y, lengths = xp.take(y, sequence.unsorted_indices, axis=1), lengths[sequence.unsorted_indices]
    if batch_first:
        y = xp.swapaxes(y, 0, 1)
    return y, lengths


def _sequences(sequence: PackedSequence, counts: Any) -> list[Any]:
    """Return packed sequences one by one, the longest first."""
    starts = np.concatenate([[0], np.cumsum(sequence.batch_sizes.numpy())])
    return [sequence.data[xp.asarray(starts[:count] + i)] for i, count in enumerate(counts)]


def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """Return packed sequences one by one, in the order in which they came.

    Parameters
    ----------
    packed_sequences : the packed ones
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


class TakesPacked(nn.Module):
    """What recurrent layers have in PyTorch beyond those of the library: they take packed sequences.

    Those of one length go through the layer together, so that every one ends where it ends, in both directions.
    """

    @override
    def forward(self, input: Any, hx: Any = None) -> Any:
        """Go through sequences, which may be packed.

        Parameters
        ----------
        input : a tensor, or packed sequences
        hx : the states to begin with
        """
        if not isinstance(input, PackedSequence):
            return super().forward(input, hx)
        layer: Any = self
        counts, several = lengths_of(input), layer.states > 1
        order, back = input.sorted_indices, input.unsorted_indices
        states: Any = None
        if hx is not None:
            states = tuple(hx) if several else (hx,)
            if order is not None:
                states = tuple(xp.take(state, order, axis=1) for state in states)
        parts, finals, outputs = _sequences(input, counts), [], []
        for count in dict.fromkeys(counts.tolist()):
            group = np.flatnonzero(counts == count)
            initial = None
            if states is not None:
                initial = tuple(state[:, group[0] : group[-1] + 1] for state in states)
            y, final = self._of_one_length(xp.stack([parts[i] for i in group], axis=1), initial)
            outputs += xp.unstack(y, axis=1)
            finals.append(final)
        joined = tuple(xp.concat(list(each), axis=1) for each in zip(*finals, strict=True))
        if back is not None:
            joined = tuple(xp.take(state, back, axis=1) for state in joined)
        packed = pack_sequence(outputs)._replace(sorted_indices=order, unsorted_indices=back)
        if several:
            return packed, joined
        return packed, joined[0]

    def _of_one_length(self, x: Any, initial: Any) -> tuple[Any, tuple[Any, ...]]:
        """Return outputs and last states, for a tensor of shape (L, N, ...)."""
        layer: Any = self
        if layer.states == 1 and initial is not None:
            initial = initial[0]
        if layer.batch_first:
            x = xp.swapaxes(x, 0, 1)
        y, final = super().forward(x, initial)
        if layer.batch_first:
            y = xp.swapaxes(y, 0, 1)
        if layer.states == 1:
            return y, (final,)
        return y, final

    def flatten_parameters(self) -> None:
        """Do nothing: the parameters stand as they are."""


class Projected(TakesPacked):
    """What `LSTM` has in PyTorch beyond that: outputs that are projected to fewer elements."""

    def __init__(self, *args: Any, proj_size: int = 0, **kwargs: Any) -> None:
        self.__dict__["proj_size"] = proj_size
        super().__init__(*args, **kwargs)
        self.proj_size = proj_size
        layer: Any = self
        if proj_size < 0 or proj_size >= layer.hidden_size:
            raise ValueError(f"LSTM: proj_size must be from 0 to hidden_size - 1, found {proj_size}")

    def _register(self, inputs: int, ending: str, device: Any, dtype: Any) -> None:
        layer: Any = self
        size = self.__dict__.get("proj_size", 0)
        if not size:
            super()._register(inputs, ending, device, dtype)  # type: ignore[misc]  # of the layer
            return
        rows = 4 * layer.hidden_size
        if not ending.startswith("_l0"):
            inputs = size * (1 + layer.bidirectional)
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, inputs), "weight_hh": (rows, size)}
        if layer.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        shapes["weight_hr"] = (size, layer.hidden_size)
        register_zeros(layer, device, dtype, **{f"{name}{ending}": shape for name, shape in shapes.items()})

    @override
    def forward(self, input: Any, hx: Any = None) -> Any:
        """Go through sequences.

        Parameters
        ----------
        input : a tensor, or packed sequences
        hx : the states to begin with, those of the outputs and those of the cells
        """
        layer: Any = self
        if not self.proj_size or isinstance(input, PackedSequence):
            return super().forward(input, hx)
        single, swapped = input.ndim == 2, layer.batch_first and input.ndim == 3
        if single:
            input = xp.expand_dims(input, axis=1)
        elif swapped:
            input = xp.swapaxes(input, 0, 1)
        if hx is not None and single:
            hx = tuple(xp.expand_dims(state, axis=1) for state in hx)
        y, states = layer._run(input, hx)
        if single:
            y, states = y[:, 0], tuple(state[:, 0] for state in states)
        elif swapped:
            y = xp.swapaxes(y, 0, 1)
        return y, states

    def _walk(self, x: Any, state: tuple[Any, ...] | None, ending: str = "") -> tuple[Any, tuple[Any, ...]]:
        layer: Any = self
        if not self.proj_size:
            return super()._walk(x, state, ending)  # type: ignore[misc,no-any-return]  # of the layer
        parts = {name: getattr(layer, f"{name}{ending}") for name in ("weight_ih", "weight_hh", "weight_hr")}
        bias = None
        if layer.bias:
            bias = getattr(layer, f"bias_ih{ending}") + getattr(layer, f"bias_hh{ending}")
        if state is None:
            lengths = (self.proj_size, layer.hidden_size)
            state = tuple(xp.zeros((x.shape[1], n), dtype=parts["weight_hh"].dtype, like=x) for n in lengths)
        (h, c), outputs = state, []
        for of_input in xp.unstack(linear(x, parts["weight_ih"], bias)):
            i, f, g, o = xp.split(of_input + linear(h, parts["weight_hh"]), 4, axis=-1)
            c = xp.sigmoid(f) * c + xp.sigmoid(i) * xp.tanh(g)
            h = linear(xp.sigmoid(o) * xp.tanh(c), parts["weight_hr"])
            outputs.append(h)
        return xp.stack(outputs), (c,)

"""Layers over sequences: `RNN`, `LSTM`, `GRU`, and cells that take one step of theirs."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

from dispatchkit.backends.arrays import namespace_of
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.marks import override
from dispatchkit.nn.functional.affine import linear
from dispatchkit.nn.functional.attention import dropout
from dispatchkit.nn.functional.recurrent import gru, lstm
from dispatchkit.nn.init import uniform_
from dispatchkit.nn.linear import register_zeros
from dispatchkit.nn.module import Module
from dispatchkit.ops.shared import integer
from dispatchkit.tensor import Tensor

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"]


class Gated(Module):
    """What recurrent layers and cells share; a subclass says how many gates there are, and goes through sequences.

    Parameters
    ----------
    input_size, hidden_size : lengths of the vectors it takes and keeps
    bias : whether there are biases
    """

    gates: ClassVar[int]
    states: ClassVar[int]
    shortest: ClassVar[int] = 1  # that a length may be

    def __init__(self, input_size: int, hidden_size: int, bias: bool) -> None:
        super().__init__()
        self.input_size = integer(type(self), "input_size", input_size, least=self.shortest)
        self.hidden_size = integer(type(self), "hidden_size", hidden_size, least=self.shortest)
        self.bias = bias

    def _register(self, inputs: int, ending: str, device: Any, dtype: Any) -> None:
        """Give the module parameters whose names end so, for inputs of a length."""
        outputs = self.gates * self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (outputs, inputs), "weight_hh": (outputs, self.hidden_size)}
        if self.bias:
            shapes |= {"bias_ih": (outputs,), "bias_hh": (outputs,)}
        register_zeros(self, device, dtype, **{f"{name}{ending}": shape for name, shape in shapes.items()})

    def reset_parameters(self) -> None:
        """Draw all parameters anew, uniform between ``±1 / sqrt(hidden_size)``."""
        bound = 1 / math.sqrt(max(self.hidden_size, 1))
        for parameter in self.parameters():
            uniform_(parameter, -bound, bound)

    def _go(
        self, x: Any, state: tuple[Any, ...], weight: Any, bias: Any, weight_ih: Any, bias_ih: Any
    ) -> tuple[Any, tuple[Any, ...]]:
        """Return the outputs of sequences, and what is kept besides the last one.

        Parameters
        ----------
        x : of shape (L, N, inputs), or (N, inputs) for one step
        state, weight, bias : to begin with, and what the outputs before are multiplied by and added to
        weight_ih, bias_ih : what inputs are multiplied by and added to
        """
        raise NotImplementedError

    def _walk(self, x: Any, state: tuple[Any, ...] | None, ending: str = "") -> tuple[Any, tuple[Any, ...]]:
        """Return what `_go` gives for inputs and parameters whose names end so."""
        weight_ih, weight_hh = getattr(self, "weight_ih" + ending), getattr(self, "weight_hh" + ending)
        bias_ih = bias_hh = None
        if self.bias:
            bias_ih, bias_hh = getattr(self, "bias_ih" + ending), getattr(self, "bias_hh" + ending)
        if state is None:
            state = (_zeros(x, (x.shape[-2], self.hidden_size), weight_hh),) * self.states
        return self._go(x, state, weight_hh, bias_hh, weight_ih, bias_ih)


def _zeros(x: Any, shape: tuple[int, ...], weight: Any) -> Any:
    """Return a state of zeros to begin with, over the arrays of inputs and of the dtype of a weight."""
    if type(x) is Tensor and isinstance(weight, Tensor) and not weight.is_tracer:
        return wrap_array(Tensor, namespace_of(x.array).zeros(shape, dtype=weight.array.dtype))
    return xp.zeros(shape, dtype=weight.dtype, like=x)


class Recurrent(Gated):
    """What recurrent layers share.

    Parameters
    ----------
    input_size, hidden_size : lengths of the vectors it takes and keeps
    num_layers : each of which takes what the one before gives
    bias : whether there are biases
    batch_first : whether sequences have the shape (N, L, input_size)
    dropout : probability with which what a layer gives to the next is replaced by zero in training
    bidirectional : whether a second half goes through the sequence backwards
    device, dtype : of the parameters; the default floating-point dtype if None

    Raises
    ------
    ValueError : if a size is not positive, or `dropout` is no probability
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias)
        self.num_layers = integer(type(self), "num_layers", num_layers, least=1)
        if not 0 <= dropout <= 1:
            raise ValueError(f"{type(self).__name__}: dropout must be from 0 to 1, found {dropout}")
        self.batch_first, self.dropout, self.bidirectional = batch_first, dropout, bidirectional
        for layer in range(self.num_layers):
            for ending in self._endings(layer):
                if layer == 0:
                    inputs = self.input_size
                else:
                    inputs = self.hidden_size * (1 + bidirectional)
                self._register(inputs, ending, device, dtype)
        self.reset_parameters()

    def _endings(self, layer: int) -> list[str]:
        """Return what the names of a layer's parameters end in, for each direction."""
        return [f"_l{layer}", f"_l{layer}_reverse"][: 1 + self.bidirectional]

    def _run(self, x: Any, initial: tuple[Any, ...] | None) -> tuple[Any, tuple[Any, ...]]:
        """Return outputs and last states of sequences (L, N, input_size), from states (layers, N, hidden_size)."""
        finals: list[tuple[Any, ...]] = []
        for layer in range(self.num_layers):
            outputs = []
            for direction, ending in enumerate(self._endings(layer)):
                state = None
                if initial is not None:
                    state = tuple(part[len(finals)] for part in initial)
                inputs = x
                if direction:
                    inputs = xp.flip(x, axis=0)
                hidden, kept = self._walk(inputs, state, ending)
                finals.append((hidden[-1], *kept))
                if direction:
                    hidden = xp.flip(hidden, axis=0)
                outputs.append(hidden)
            if len(outputs) == 1:
                x = outputs[0]
            else:
                x = xp.concat(outputs, axis=-1)
            if self.dropout and layer < self.num_layers - 1:
                x = dropout(x, self.dropout, self.training)
        return x, tuple(xp.stack(list(parts)) for parts in zip(*finals, strict=True))

    def forward(self, x: Any, hx: Any = None) -> tuple[Any, Any]:
        """Go through sequences.

        Parameters
        ----------
        x : array of shape (L, N, input_size), with `batch_first` (N, L, input_size); or (L, input_size) for one
        hx : the states to begin with, of shape (num_layers, N, hidden_size), twice as many layers where
            `bidirectional`, without N for one sequence; zeros if None. `LSTM` takes a pair of them

        Returns
        -------
        outputs : array of shape (L, N, hidden_size), or as `x` has its axes; the two directions side by side
        states : the last ones, of the form of `hx`

        Raises
        ------
        ValueError : if shapes do not fit
        """
        name, shape = type(self).__name__, tuple(x.shape)
        if len(shape) not in (2, 3) or shape[-1] != self.input_size:
            raise ValueError(
                f"{name}: x must have shape (L, N, {self.input_size}) or (L, {self.input_size}), found {shape}"
            )
        single, swapped = len(shape) == 2, self.batch_first and len(shape) == 3
        if single:
            x = xp.expand_dims(x, axis=1)
        elif swapped:
            x = xp.moveaxis(x, 0, 1)
        initial = hx
        if hx is not None and self.states == 1:
            initial = (hx,)
        if initial is not None:
            layers = self.num_layers * (1 + self.bidirectional)
            wanted: tuple[int, ...] = (layers, x.shape[1], self.hidden_size)
            if single:
                wanted = (layers, self.hidden_size)
            if len(initial) != self.states or any(tuple(state.shape) != wanted for state in initial):
                raise ValueError(f"{name}: hx must have {self.states} of shape {wanted} for x of shape {shape}")
            initial = tuple(xp.expand_dims(state, axis=1) if single else state for state in initial)
        y, states = self._run(x, initial)
        if single:
            y, states = xp.squeeze(y, axis=1), tuple(xp.squeeze(state, axis=1) for state in states)
        if swapped:
            y = xp.moveaxis(y, 0, 1)
        if self.states == 1:
            return y, states[0]
        return y, states

    @override
    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        plain = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        parts += [f"{name}={getattr(self, name)}" for name, value in plain.items() if getattr(self, name) != value]
        return ", ".join(parts)


class RNNSteps(Gated):
    """What `RNN` and `RNNCell` compute."""

    gates, states = 1, 1
    nonlinearity: str

    def _choose(self, nonlinearity: str) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"{type(self).__name__}: nonlinearity must be 'tanh' or 'relu', found {nonlinearity!r}")
        self.nonlinearity = nonlinearity

    @override
    def _go(
        self, x: Any, state: tuple[Any, ...], weight: Any, bias: Any, weight_ih: Any, bias_ih: Any
    ) -> tuple[Any, tuple[Any, ...]]:
        outputs, h, activation = [], state[0], getattr(xp, self.nonlinearity)
        of_inputs = linear(x, weight_ih, bias_ih)
        if x.ndim == 2:
            return activation(of_inputs + linear(h, weight, bias)), ()
        for of_input in xp.unstack(of_inputs):
            h = activation(of_input + linear(h, weight, bias))
            outputs.append(h)
        return xp.stack(outputs), ()


class LSTMSteps(Gated):
    """What `LSTM` and `LSTMCell` compute."""

    gates, states = 4, 2

    @override
    def _go(
        self, x: Any, state: tuple[Any, ...], weight: Any, bias: Any, weight_ih: Any, bias_ih: Any
    ) -> tuple[Any, tuple[Any, ...]]:
        outputs, c = lstm(x, weight, state[0], state[1], bias, weight_ih, bias_ih)
        return outputs, (c,)


class GRUSteps(Gated):
    """What `GRU` and `GRUCell` compute."""

    gates, states = 3, 1

    @override
    def _go(
        self, x: Any, state: tuple[Any, ...], weight: Any, bias: Any, weight_ih: Any, bias_ih: Any
    ) -> tuple[Any, tuple[Any, ...]]:
        return gru(x, weight, state[0], bias, weight_ih, bias_ih), ()


class RNN(RNNSteps, Recurrent):
    """A layer that goes through sequences, each output made of the input and the output before.

    Parameters
    ----------
    input_size, hidden_size : lengths of the vectors it takes and keeps
    num_layers : as PyTorch has it
    nonlinearity : ``"tanh"`` or ``"relu"``
    bias, batch_first, dropout, bidirectional, device, dtype : as PyTorch has them

    Attributes
    ----------
    weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0 : as for `LSTM`, with 1 in the place of 4

    Notes
    -----
    ``h = tanh(W x + b + U h + d)``. Source: Elman, 1990; PyTorch, `torch.nn.RNN`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> y, h = dk.nn.RNN(3, 5, nonlinearity="relu")(dk.ones((7, 2, 3)))
    >>> y.shape, h.shape
    ((7, 2, 5), (1, 2, 5))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: Literal["tanh", "relu"] = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        further = bias, batch_first, dropout, bidirectional, device, dtype
        Recurrent.__init__(self, input_size, hidden_size, num_layers, *further)
        self._choose(nonlinearity)


class LSTM(LSTMSteps, Recurrent):
    """A layer that goes through sequences with a long short-term memory.

    Parameters
    ----------
    input_size, hidden_size : lengths of the vectors it takes and keeps
    num_layers, bias, batch_first, dropout, bidirectional, device, dtype : as PyTorch has them

    Attributes
    ----------
    weight_ih_l0, weight_hh_l0 : parameters of shape (4 * hidden_size, input_size) and (4 * hidden_size, hidden_size),
        of the gates i, f, g, o in this order; of further layers ``_l1`` and so on, backwards ``_l0_reverse``
    bias_ih_l0, bias_hh_l0 : parameters of shape (4 * hidden_size,), where there is a bias

    Notes
    -----
    ``c = f * c + i * g`` and ``h = o * tanh(c)``, with the logistic function for i, f, o and the hyperbolic tangent for
    g. Source: Hochreiter and Schmidhuber, 1997; PyTorch, `torch.nn.LSTM`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> layer = dk.nn.LSTM(3, 5)
    >>> layer
    LSTM(3, 5)
    >>> y, (h, c) = layer(dk.ones((7, 2, 3)))
    >>> y.shape, h.shape, c.shape
    ((7, 2, 5), (1, 2, 5), (1, 2, 5))
    """


class GRU(GRUSteps, Recurrent):
    """A layer that goes through sequences with gated recurrent units.

    Parameters
    ----------
    input_size, hidden_size : lengths of the vectors it takes and keeps
    num_layers, bias, batch_first, dropout, bidirectional, device, dtype : as PyTorch has them

    Attributes
    ----------
    weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0 : as for `LSTM`, with 3 in the place of 4, of the gates r, z, n

    Notes
    -----
    ``h = (1 - z) * n + z * h`` with ``n = tanh(W x + b + r * (U h + d))``. Source: Cho et al., 2014; PyTorch,
    `torch.nn.GRU`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> y, h = dk.nn.GRU(3, 5, batch_first=True)(dk.ones((2, 7, 3)))
    >>> y.shape, h.shape
    ((2, 7, 5), (1, 2, 5))
    """


class RecurrentCell(Gated):
    """What cells share, which take one step of a recurrent layer.

    Parameters
    ----------
    input_size, hidden_size : lengths of the vectors it takes and keeps
    bias : whether there are biases
    device, dtype : of the parameters; the default floating-point dtype if None

    Raises
    ------
    ValueError : if a size is not positive
    """

    shortest = 0  # as in PyTorch

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias)
        self._register(self.input_size, "", device, dtype)
        self.reset_parameters()

    def forward(self, x: Any, hx: Any = None) -> Any:
        """Take a step.

        Parameters
        ----------
        x : array of shape (N, input_size), or (input_size,)
        hx : the state before, of shape (N, hidden_size), without N where `x` has none; zeros if None. `LSTMCell` takes
            a pair of them

        Returns
        -------
        Array
            The state after, of the form of `hx`.

        Raises
        ------
        ValueError : if shapes do not fit
        """
        name, shape, n = type(self).__name__, tuple(x.shape), self.input_size
        if len(shape) not in (1, 2) or shape[-1] != n:
            raise ValueError(f"{name}: x must have shape (N, {n}) or ({n},), found {shape}")
        state = hx
        if not (hx is None or self.states > 1):
            state = (hx,)
        wanted = *shape[:-1], self.hidden_size
        if state is not None and (len(state) != self.states or any(tuple(part.shape) != wanted for part in state)):
            raise ValueError(f"{name}: hx must have {self.states} of shape {wanted} for x of shape {shape}")
        single = len(shape) == 1
        if single:
            x = xp.expand_dims(x, axis=0)
            state = state and tuple(xp.expand_dims(part, axis=0) for part in state)
        output, kept = self._walk(x, state)
        after = (output, *kept)
        if single:
            after = tuple(part[0] for part in after)
        if self.states > 1:
            return after
        return after[0]

    @override
    def extra_repr(self) -> str:
        bias = ""
        if not self.bias:
            bias = ", bias=False"
        return f"{self.input_size}, {self.hidden_size}{bias}"


class RNNCell(RNNSteps, RecurrentCell):
    """A cell that takes one step of an `RNN`.

    Parameters
    ----------
    input_size, hidden_size : lengths of the vectors it takes and keeps
    bias : whether there are biases
    nonlinearity : ``"tanh"`` or ``"relu"``
    device, dtype : of the parameters; the default floating-point dtype if None

    Attributes
    ----------
    weight_ih, weight_hh : parameters of shape (hidden_size, input_size) and (hidden_size, hidden_size)
    bias_ih, bias_hh : parameters of shape (hidden_size,), where there is a bias

    Notes
    -----
    Source: PyTorch, `torch.nn.RNNCell`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> cell = dk.nn.RNNCell(3, 5)
    >>> h = cell(dk.ones((2, 3)))
    >>> cell(dk.zeros((2, 3)), h).shape
    (2, 5)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: Literal["tanh", "relu"] = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        RecurrentCell.__init__(self, input_size, hidden_size, bias, device, dtype)
        self._choose(nonlinearity)

    @override
    def extra_repr(self) -> str:
        nonlinearity = ""
        if self.nonlinearity != "tanh":
            nonlinearity = f", nonlinearity={self.nonlinearity}"
        return super().extra_repr() + nonlinearity


class LSTMCell(LSTMSteps, RecurrentCell):
    """A cell that takes one step of an `LSTM`.

    Parameters
    ----------
    input_size, hidden_size : lengths of the vectors it takes and keeps
    bias : whether there are biases
    device, dtype : of the parameters; the default floating-point dtype if None

    Attributes
    ----------
    weight_ih, weight_hh, bias_ih, bias_hh : as for `RNNCell`, with 4 * hidden_size in the place of hidden_size as
        their first length, of the gates i, f, g, o in this order

    Notes
    -----
    Source: PyTorch, `torch.nn.LSTMCell`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> h, c = dk.nn.LSTMCell(3, 5)(dk.ones((2, 3)))
    >>> h.shape, c.shape
    ((2, 5), (2, 5))
    """


class GRUCell(GRUSteps, RecurrentCell):
    """A cell that takes one step of a `GRU`.

    Parameters
    ----------
    input_size, hidden_size : lengths of the vectors it takes and keeps
    bias : whether there are biases
    device, dtype : of the parameters; the default floating-point dtype if None

    Attributes
    ----------
    weight_ih, weight_hh, bias_ih, bias_hh : as for `RNNCell`, with 3 * hidden_size in the place of hidden_size as
        their first length, of the gates r, z, n in this order

    Notes
    -----
    Source: PyTorch, `torch.nn.GRUCell`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.GRUCell(3, 5)(dk.ones((2, 3))).shape
    (2, 5)
    """

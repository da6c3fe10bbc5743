"""Recurrent layers, from what their inputs give to the gates: `lstm`, `gru`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.declare.samples import draw, sample
from dispatchkit.nn.functional.affine import linear
from dispatchkit.nn.functional.rows import DTYPES
from dispatchkit.nn.functional.shared import called, expect, function, real_numbers, result_of
from dispatchkit.ops.elementwise.exponential import sigmoid
from dispatchkit.ops.manipulation.splitting import chunk
from dispatchkit.ops.shared import Named, shape_of
from dispatchkit.tensor import Tensor

__all__ = ["gru", "lstm"]


@function(
    samples=lambda: [
        sample(draw(3, 2, 8), draw(8, 2), draw(2, 2), draw(2, 2), draw(8)),
        sample(draw(2, 1, 4), draw(4, 1), draw(1, 1), draw(1, 1)),
        sample(draw(2, 2, 3), draw(4, 1), draw(2, 1), draw(2, 1), draw(4), draw(4, 3), draw(4)),
    ],
    real=True,
)
def lstm(
    xp: Any,
    x: Tensor,
    weight: Tensor,
    h: Tensor,
    c: Tensor,
    /,
    bias: Tensor | None = None,
    weight_ih: Tensor | None = None,
    bias_ih: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Go through sequences with a long short-term memory.

    Parameters
    ----------
    x : what each input gives to the gates i, f, g, o, array of shape (L, N, 4 * H); with `weight_ih` the inputs, array
        of shape (L, N, inputs)
    weight : what the output before gives to them, array of shape (4 * H, H)
    h, c : output and memory to begin with, arrays of shape (N, H)
    bias : added to the gates, array of shape (4 * H,); none if None
    weight_ih : what inputs give to the gates, array of shape (4 * H, inputs)
    bias_ih : added to what the inputs give, as `bias`

    Returns
    -------
    outputs : array of shape (L, N, H)
    memory : the last one, array of shape (N, H)

    Raises
    ------
    ValueError : if shapes do not fit

    Notes
    -----
    ``c = f * c + i * g`` and ``h = o * tanh(c)``, with the logistic function for i, f, o and the hyperbolic tangent for
    g. What `LSTM` is made of. Source: Hochreiter and Schmidhuber, 1997.

    Examples
    --------
    >>> y, c = dk.nn.functional.lstm(dk.zeros((3, 1, 4)), dk.ones((4, 1)), dk.zeros((1, 1)), dk.ones((1, 1)))
    >>> y.shape, c.shape
    ((3, 1, 1), (1, 1))
    """
    x = _of_inputs(xp, lstm, x, weight_ih, bias_ih)
    _check(lstm, 4, x, weight, bias, h=h, c=c)
    outputs = []
    for of_input in xp.unstack(x):
        i, f, g, o = called(xp, chunk, of_input + called(xp, linear, h, weight, bias), 4, axis=-1)
        c = called(xp, sigmoid, f) * c + called(xp, sigmoid, i) * xp.tanh(g)
        h = called(xp, sigmoid, o) * xp.tanh(c)
        outputs.append(h)
    return xp.stack(outputs), c


def _of_inputs(xp: Any, op: Named, x: Any, weight_ih: Any, bias_ih: Any) -> Any:
    """Return what inputs give to the gates.

    Raises
    ------
    ValueError : for a bias of the inputs without a weight of theirs
    """
    if weight_ih is not None:
        return called(xp, linear, x, weight_ih, bias_ih)
    if bias_ih is not None:
        raise ValueError(f"{op.__name__}: bias_ih is added to what weight_ih gives, which is None; give both")
    return x


def _check(op: Named, gates: int, x: Any, weight: Any, bias: Any, **states: Any) -> None:
    """Raise if shapes do not fit, or numbers are complex."""
    for name, value in {"x": x, "weight": weight, "bias": bias, **states}.items():
        real_numbers(op, name, value)
    shape, of_weight = shape_of(x), shape_of(weight)
    length = 0
    if of_weight:
        length = of_weight[-1]
    expect(op, "weight", of_weight, of_weight == (gates * length, length), f"({gates} * H, H)")
    right = len(shape) == 3 and shape[0] > 0 and shape[2] == gates * length
    expect(op, "x", shape, right, f"(L, N, {gates * length}), not empty, for a weight of shape {of_weight}")
    for name, state in states.items():
        expect(op, name, shape_of(state), shape_of(state) == (shape[1], length), f"({shape[1]}, {length})")
    if bias is not None:
        expect(op, "bias", shape_of(bias), shape_of(bias) == (gates * length,), f"({gates * length},)")


def _all_alike(*arrays: Any) -> bool:
    """Return whether arrays are NumPy's, of one dtype that the loops below take."""
    first = arrays[0]
    return all(type(x) is np.ndarray and x.dtype == first.dtype and x.dtype in DTYPES for x in arrays if x is not None)


def _gates(x: Any, transposed: Any, h: Any, bias: Any) -> Any:
    """Return what inputs and outputs before them give to the gates, all at once; the weight is transposed."""
    y = (h.reshape(-1, h.shape[-1]) @ transposed).reshape(*h.shape[:-1], -1)
    y += x
    if bias is not None:
        y += bias
    return y


def _logistic(x: Any) -> Any:
    y = np.tanh(x * 0.5)
    y += 1
    y *= 0.5
    return y


def _before(h: Any, outputs: Any) -> Any:
    return np.concatenate([h[None], outputs[:-1]])


def _of_weight(g: Any, h: Any) -> Any:
    return g.reshape(-1, g.shape[-1]).T @ h.reshape(-1, h.shape[-1])


def lstm_numpy_flow(x, weight, h, c, /, bias=None, weight_ih=None, bias_ih=None):
    if weight_ih is not None or bias_ih is not None or not _all_alike(x, weight, h, c, bias):
        return NotImplemented
    _check(lstm, 4, x, weight, bias, h=h, c=c)
    if not all(np.isfinite(part).all() for part in (x, weight, h, c, bias) if part is not None):
        return NotImplemented
    shares, memory, bounded, outputs = _lstm_steps(x, weight, h, c, bias)

    def pull(g, wanted):
        return *_lstm_cotangents(g, weight, h, c, shares, memory, bounded, outputs, bias is not None), None, None

    return (outputs, memory[-1].copy()), pull


@lstm.def_kernel("numpy", flow=lstm_numpy_flow, reads=("weight", "h", "c", "y"))
def lstm_numpy(x, weight, h, c, /, bias=None, weight_ih=None, bias_ih=None):
    return result_of(lstm_numpy_flow(x, weight, h, c, bias, weight_ih, bias_ih))


def _lstm_steps(x: Any, weight: Any, h: Any, c: Any, bias: Any) -> Any:
    """Return the gates of all steps, as shares and new values; what is kept, its hyperbolic tangent, and the outputs.

    The logistic function of a gate is ``tanh(gate / 2) / 2 + 1 / 2``, so that one call computes all four.
    """
    n, steps = weight.shape[1], len(x)
    factor = np.full(4 * n, 0.5, x.dtype)
    factor[2 * n : 3 * n] = 1
    offset = 1 - factor
    transposed = np.ascontiguousarray(weight.T) * factor
    shares, memory, outputs = np.empty(x.shape, x.dtype), *np.empty((2, steps, *h.shape), x.dtype)
    bounded, added = np.empty_like(memory), np.empty_like(h)
    of_inputs = x if bias is None else x + bias
    of_inputs = of_inputs * factor
    for t, of_input in enumerate(of_inputs):
        gates, kept, h_after = shares[t], memory[t], outputs[t]
        np.dot(h, transposed, out=gates)
        gates += of_input
        np.tanh(gates, out=gates)
        gates *= factor
        gates += offset
        np.multiply(gates[:, n : 2 * n], c, out=kept)
        kept += np.multiply(gates[:, :n], gates[:, 2 * n : 3 * n], out=added)
        np.tanh(kept, out=bounded[t])
        h = np.multiply(gates[:, 3 * n :], bounded[t], out=h_after)
        c = kept
    return shares, memory, bounded, outputs


def _lstm_cotangents(
    g: Any, weight: Any, h: Any, c: Any, shares: Any, memory: Any, bounded: Any, outputs: Any, biased: bool
) -> tuple[Any, ...]:
    """Return the cotangents of what inputs give to the gates, of the weight, of both states and of the bias."""
    (of_outputs, of_c), n = g, weight.shape[1]
    i, f, new, o = (shares[..., place * n : (place + 1) * n] for place in range(4))
    # What the cotangents of the memory, and of the output, are multiplied by.
    by_memory = np.concatenate([new * i * (1 - i), _before(c, memory) * f * (1 - f), i * (1 - new * new)], axis=-1)
    by_output, through = bounded * o * (1 - o), o * (1 - bounded * bounded)
    of_x, of_h = np.empty_like(shares), np.zeros_like(h)
    parts, by_memory = of_x.reshape(*memory.shape[:2], 4, n), by_memory.reshape(*memory.shape[:2], 3, n)
    of_c, change = of_c.copy(), np.empty_like(h)
    for t in reversed(range(len(of_x))):
        of_h += of_outputs[t]
        of_c += np.multiply(of_h, through[t], out=change)
        np.multiply(by_memory[t], of_c[:, None], out=parts[t, :, :3])
        np.multiply(of_h, by_output[t], out=parts[t, :, 3])
        np.dot(of_x[t], weight, out=of_h)
        of_c *= f[t]
    of_bias = None
    if biased:
        of_bias = of_x.sum(axis=(0, 1))
    return of_x, _of_weight(of_x, _before(h, outputs)), of_h, of_c, of_bias


@function(
    samples=lambda: [
        sample(draw(3, 2, 6), draw(6, 2), draw(2, 2), draw(6)),
        sample(draw(2, 1, 3), draw(3, 1), draw(1, 1)),
        sample(draw(2, 2, 2), draw(3, 1), draw(2, 1), draw(3), draw(3, 2), draw(3)),
    ],
    real=True,
)
def gru(
    xp: Any,
    x: Tensor,
    weight: Tensor,
    h: Tensor,
    /,
    bias: Tensor | None = None,
    weight_ih: Tensor | None = None,
    bias_ih: Tensor | None = None,
) -> Tensor:
    """Go through sequences with gated recurrent units.

    Parameters
    ----------
    x : what each input gives to the gates r, z, n, array of shape (L, N, 3 * H); with `weight_ih` the inputs, array of
        shape (L, N, inputs)
    weight : what the output before gives to them, array of shape (3 * H, H)
    h : output to begin with, array of shape (N, H)
    bias : added to what the output gives, array of shape (3 * H,); none if None
    weight_ih : what inputs give to the gates, array of shape (3 * H, inputs)
    bias_ih : added to what the inputs give, as `bias`

    Returns
    -------
    outputs : array of shape (L, N, H)

    Raises
    ------
    ValueError : if shapes do not fit

    Notes
    -----
    ``h = (1 - z) * n + z * h`` with ``n = tanh(x + r * (U h + d))``. What `GRU` is made of. Source: Cho et al., 2014;
    PyTorch, `torch.nn.GRU`.

    Examples
    --------
    >>> dk.nn.functional.gru(dk.zeros((2, 1, 3)), dk.zeros((3, 1)), dk.ones((1, 1)))
    tensor([[[0.5000]],
            [[0.2500]]])
    """
    x = _of_inputs(xp, gru, x, weight_ih, bias_ih)
    _check(gru, 3, x, weight, bias, h=h)
    outputs = []
    for of_input in xp.unstack(x):
        r, z, n = called(xp, chunk, of_input, 3, axis=-1)
        r_kept, z_kept, n_kept = called(xp, chunk, called(xp, linear, h, weight, bias), 3, axis=-1)
        z = called(xp, sigmoid, z + z_kept)
        n = xp.tanh(n + called(xp, sigmoid, r + r_kept) * n_kept)
        h = (1 - z) * n + z * h
        outputs.append(h)
    return xp.stack(outputs)


def gru_gradients(g, y, x, weight, h, bias):
    if not _all_alike(x, weight, h, bias, g):
        return NotImplemented
    n, before = weight.shape[1], _before(h, y)
    kept = _gates(0, weight.T, before, bias)
    r, z = (_logistic(x[..., part] + kept[..., part]) for part in (slice(n), slice(n, 2 * n)))
    new = np.tanh(x[..., 2 * n :] + r * kept[..., 2 * n :])
    # What the cotangents of the outputs are multiplied by.
    of_new = (1 - z) * (1 - new * new)
    factors = np.concatenate([of_new * kept[..., 2 * n :] * r * (1 - r), (before - new) * z * (1 - z), of_new], axis=-1)
    of_x, of_h = np.empty_like(x), np.zeros_like(h)
    of_kept = np.empty_like(x)
    for t in reversed(range(len(x))):
        of_h = of_h + g[t]
        np.multiply(factors[t].reshape(-1, 3, n), of_h[:, None], out=of_x[t].reshape(-1, 3, n))
        of_kept[t] = of_x[t]
        of_kept[t, :, 2 * n :] *= r[t]
        of_h = of_h * z[t] + of_kept[t] @ weight
    of_bias = None
    if bias is not None:
        of_bias = of_kept.sum(axis=(0, 1))
    return of_x, _of_weight(of_kept, before), of_h, of_bias, None, None


@gru.def_kernel("numpy", gradients=gru_gradients)
def gru_numpy(x, weight, h, /, bias=None, weight_ih=None, bias_ih=None):
    if weight_ih is not None or bias_ih is not None or not _all_alike(x, weight, h, bias):
        return NotImplemented
    _check(gru, 3, x, weight, bias, h=h)
    n, transposed = weight.shape[1], np.ascontiguousarray(weight.T)
    outputs = np.empty((*x.shape[:2], n), x.dtype)
    for t, of_input in enumerate(x):
        kept = _gates(0, transposed, h, bias)
        shares = _logistic(of_input[:, : 2 * n] + kept[:, : 2 * n])
        new = np.tanh(of_input[:, 2 * n :] + shares[:, :n] * kept[:, 2 * n :])
        h = np.add(new, shares[:, n:] * (h - new), out=outputs[t])
    return outputs

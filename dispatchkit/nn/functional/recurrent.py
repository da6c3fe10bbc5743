"""Recurrent layers, from what their inputs give to the gates: `lstm`, `gru`."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from dispatchkit.declare.samples import draw, sample
from dispatchkit.nn.functional.affine import linear
from dispatchkit.nn.functional.rows import DTYPES
from dispatchkit.nn.functional.shared import called, expect, function, real_numbers, result_of
from dispatchkit.ops.elementwise.exponential import sigmoid, to_reciprocals
from dispatchkit.ops.manipulation.splitting import chunk
from dispatchkit.ops.shared import Named, shape_of
from dispatchkit.tensor import Tensor

__all__ = ["gru", "lstm"]

# Steps below which a copy of the transposed weight does not pay.
FEW = 8


@function(
    samples=lambda: [
        sample(draw(3, 2, 8), draw(8, 2), draw(2, 2), draw(2, 2), draw(8)),
        sample(draw(2, 1, 4), draw(4, 1), draw(1, 1), draw(1, 1)),
        sample(draw(2, 2, 3), draw(4, 1), draw(2, 1), draw(2, 1), draw(4), draw(4, 3), draw(4)),
        sample(draw(2, 3), draw(4, 1), draw(2, 1), draw(2, 1), draw(4), draw(4, 3), draw(4)),
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
    x : what each input gives to the gates i, f, g, o, array of shape (L, N, 4 * H), or (N, 4 * H) for one step; with
        `weight_ih` the inputs, array of shape (L, N, inputs) or (N, inputs)
    weight : what the output before gives to them, array of shape (4 * H, H)
    h, c : output and memory to begin with, arrays of shape (N, H)
    bias : added to the gates, array of shape (4 * H,); none if None
    weight_ih : what inputs give to the gates, array of shape (4 * H, inputs)
    bias_ih : added to what the inputs give, as `bias`

    Returns
    -------
    outputs : array of shape (L, N, H), or (N, H) of one step
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
    for of_input in _each(xp, x):
        i, f, g, o = called(xp, chunk, of_input + called(xp, linear, h, weight, bias), 4, axis=-1)
        c = called(xp, sigmoid, f) * c + called(xp, sigmoid, i) * xp.tanh(g)
        h = called(xp, sigmoid, o) * xp.tanh(c)
        outputs.append(h)
    return _all(xp, x, outputs), c


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


def _each(xp: Any, x: Any) -> Any:
    """Return the steps of a sequence, or the only one."""
    if x.ndim == 2:
        return [x]
    return xp.unstack(x)


def _all(xp: Any, x: Any, outputs: list[Any]) -> Any:
    """Return the outputs of all steps, or of the only one."""
    if x.ndim == 2:
        return outputs[0]
    return xp.stack(outputs)


def _check(op: Named, gates: int, x: Any, weight: Any, bias: Any, **states: Any) -> None:
    """Raise if shapes do not fit, or numbers are complex."""
    for name, value in {"x": x, "weight": weight, "bias": bias, **states}.items():
        real_numbers(op, name, value)
    shape, of_weight = shape_of(x), shape_of(weight)
    length = 0
    if of_weight:
        length = of_weight[-1]
    expect(op, "weight", of_weight, of_weight == (gates * length, length), f"({gates} * H, H)")
    right = len(shape) in (2, 3) and shape[-1] == gates * length and (len(shape) == 2 or shape[0] > 0)
    wanted = f"(L, N, {gates * length}), not empty, or (N, {gates * length}) for a weight of shape {of_weight}"
    expect(op, "x", shape, right, wanted)
    for name, state in states.items():
        expect(op, name, shape_of(state), shape_of(state) == (shape[-2], length), f"({shape[-2]}, {length})")
    if bias is not None:
        expect(op, "bias", shape_of(bias), shape_of(bias) == (gates * length,), f"({gates * length},)")


def _alike(*arrays: Any) -> bool:
    """Return whether arrays are NumPy's, of one dtype that the loops below take."""
    dtype = getattr(arrays[0], "dtype", None)
    if dtype not in DTYPES:
        return False
    for x in arrays:  # noqa: SIM110  # a generator takes longer than the loop
        if x is not None and not (type(x) is np.ndarray and x.dtype == dtype):
            return False
    return True


def _finite(*arrays: Any) -> bool:
    """Return whether there are neither infinities nor NaN, nor numbers whose squares have an infinite sum."""
    for x in arrays:  # noqa: SIM110  # a generator takes longer than the loop
        if not isfinite(np.vdot(x, x)):
            return False
    return True


def _fits(gates: int, x: Any, weight: Any, bias: Any, weight_ih: Any, bias_ih: Any, *states: Any) -> bool:
    """Return whether shapes fit; the body says what is wrong where they do not."""
    if weight.ndim != 2 or x.ndim not in (2, 3) or not x.size:
        return False
    n = weight.shape[1]
    inputs = gates * n
    if weight_ih is not None:
        inputs = x.shape[-1]
        if weight_ih.shape != (gates * n, inputs):
            return False
    elif bias_ih is not None:
        return False
    if weight.shape != (gates * n, n) or x.shape[-1] != inputs:
        return False
    # Loops, since generators take longer.
    for part in (bias, bias_ih):
        if part is not None and part.shape != (gates * n,):
            return False
    for state in states:  # noqa: SIM110
        if state.shape != (x.shape[-2], n):
            return False
    return True


def _of_steps(x: Any, weight_ih: Any, *biases: Any) -> Any:
    """Return what inputs give to the gates with all biases, in memory of its own, of shape (L, N, gates)."""
    bias = None
    for part in biases:
        if part is not None:
            bias = part if bias is None else bias + part
    if weight_ih is None:
        y = np.add(x, 0 if bias is None else bias, order="C")
    else:
        y = np.dot(x.reshape(-1, x.shape[-1]), weight_ih.T)
        if bias is not None:
            y += bias
    return y.reshape(x.shape[0] if x.ndim == 3 else 1, x.shape[-2], -1)


def _weight_of_steps(weight: Any, steps: int) -> Any:
    """Return the transposed weight; products with a copy of it are faster, which pays for the copy in a few steps."""
    if steps < FEW:
        return weight.T
    return np.ascontiguousarray(weight.T)


def _outputs(x: Any, n: int) -> tuple[Any, Any]:
    """Return an array for the outputs, and the same memory as an array of all steps."""
    y = np.empty((*x.shape[:-1], n), x.dtype)
    return y, y.reshape(-1, x.shape[-2], n)


def _before(h: Any, outputs: Any) -> Any:
    if len(outputs) == 1:
        return h[None]
    return np.concatenate([h[None], outputs[:-1]])


def _of_weight(g: Any, h: Any) -> Any:
    return np.dot(g.reshape(-1, g.shape[-1]).T, h.reshape(-1, h.shape[-1]))


def _of_inputs_before(g: Any, x: Any, weight_ih: Any, wanted: Any) -> tuple[Any, Any]:
    """Return the cotangents of inputs and of their weight, of what is given to the gates.

    Parameters
    ----------
    g : the cotangent of what inputs give to the gates, of shape (L, N, gates)
    x, weight_ih : the inputs and their weight
    wanted : whether each of the two is
    """
    if weight_ih is None:
        return g.reshape(x.shape), None
    of_x = of_weight = None
    if wanted[0]:
        of_x = np.dot(g.reshape(-1, g.shape[-1]), weight_ih).reshape(x.shape)
    if wanted[1]:
        of_weight = _of_weight(g, x)
    return of_x, of_weight


def lstm_numpy_flow(x, weight, h, c, /, bias=None, weight_ih=None, bias_ih=None):
    if not _alike(x, weight, h, c, bias, weight_ih, bias_ih):
        return NotImplemented
    if not _fits(4, x, weight, bias, weight_ih, bias_ih, h, c):
        return NotImplemented
    with np.errstate(over="ignore", invalid="ignore"):
        shares = _of_steps(x, weight_ih, bias, bias_ih)
        shares[0] += np.dot(h, weight.T)
        if not _finite(shares, c):  # which they are of any argument that is not
            return NotImplemented
        y, outputs = _outputs(x, weight.shape[1])
        memory, bounded = _lstm_steps(shares, weight, h, c, outputs)

    def pull(g, wanted):
        kept = shares, memory, bounded, outputs
        of_gates, of_weight, of_h, of_c = _lstm_cotangents(g, weight, h, c, *kept, wanted)
        of_bias = None
        if wanted[4] or wanted[6]:
            of_bias = of_gates.sum(axis=(0, 1))
        of_x, of_weight_ih = _of_inputs_before(of_gates, x, weight_ih, (wanted[0], wanted[5]))
        return of_x, of_weight, of_h, of_c, of_bias, of_weight_ih, of_bias

    return (y, memory[-1].copy()), pull


@lstm.def_kernel("numpy", flow=lstm_numpy_flow, reads=("x", "weight", "h", "c", "weight_ih", "y"))
def lstm_numpy(x, weight, h, c, /, bias=None, weight_ih=None, bias_ih=None):
    return result_of(lstm_numpy_flow(x, weight, h, c, bias, weight_ih, bias_ih))


def _lstm_steps(shares: Any, weight: Any, h: Any, c: Any, outputs: Any) -> tuple[Any, Any]:
    """Go through all steps; return what is kept, and its hyperbolic tangent.

    Parameters
    ----------
    shares : what inputs give to the gates, with what `h` gives to the first; becomes the gates, as shares and new
        values
    weight, h, c : of the outputs before, and states to begin with
    outputs : is written to
    """
    n, transposed = weight.shape[1], _weight_of_steps(weight, len(shares))
    memory, bounded = np.empty((2, *outputs.shape), outputs.dtype)
    for t, gates in enumerate(shares):
        if t:
            gates += np.dot(h, transposed)
        new = np.tanh(gates[:, 2 * n : 3 * n])
        to_reciprocals(np.negative(gates, out=gates))
        gates[:, 2 * n : 3 * n] = new
        kept = np.multiply(gates[:, n : 2 * n], c, out=memory[t])
        new *= gates[:, :n]
        kept += new
        np.tanh(kept, out=bounded[t])
        h, c = np.multiply(gates[:, 3 * n :], bounded[t], out=outputs[t]), kept
    return memory, bounded


def _lstm_cotangents(
    g: Any, weight: Any, h: Any, c: Any, shares: Any, memory: Any, bounded: Any, outputs: Any, wanted: Any
) -> tuple[Any, ...]:
    """Return the cotangents of what inputs give to the gates, of the weight, and of both states."""
    (of_outputs, of_c), n = g, weight.shape[1]
    of_outputs = of_outputs.reshape(outputs.shape)
    i, f, new, o = (shares[..., place * n : (place + 1) * n] for place in range(4))
    # What the cotangents of the memory, and of the output, are multiplied by: each slope times the other factor.
    of_x = 1 - shares
    of_x *= shares
    parts = of_x.reshape(*memory.shape[:2], 4, n)
    parts[:, :, 0] *= new
    parts[:, :, 1] *= _before(c, memory)
    np.multiply(new, new, out=parts[:, :, 2])
    np.subtract(1, parts[:, :, 2], out=parts[:, :, 2])
    parts[:, :, 2] *= i
    parts[:, :, 3] *= bounded
    through = bounded * bounded
    np.subtract(1, through, out=through)
    through *= o
    of_h, of_c = np.zeros_like(h), of_c.copy()
    for t in reversed(range(len(of_x))):
        of_h += of_outputs[t]
        through[t] *= of_h
        of_c += through[t]
        parts[t, :, :3] *= of_c[:, None]
        parts[t, :, 3] *= of_h
        if t or wanted[2]:
            np.dot(of_x[t], weight, out=of_h)
        of_c *= f[t]
    of_weight = None
    if wanted[1]:
        of_weight = _of_weight(of_x, _before(h, outputs))
    return of_x, of_weight, of_h, of_c


@function(
    samples=lambda: [
        sample(draw(3, 2, 6), draw(6, 2), draw(2, 2), draw(6)),
        sample(draw(2, 1, 3), draw(3, 1), draw(1, 1)),
        sample(draw(2, 2, 2), draw(3, 1), draw(2, 1), draw(3), draw(3, 2), draw(3)),
        sample(draw(2, 2), draw(3, 1), draw(2, 1), draw(3), draw(3, 2), draw(3)),
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
    x : what each input gives to the gates r, z, n, array of shape (L, N, 3 * H), or (N, 3 * H) for one step; with
        `weight_ih` the inputs, array of shape (L, N, inputs) or (N, inputs)
    weight : what the output before gives to them, array of shape (3 * H, H)
    h : output to begin with, array of shape (N, H)
    bias : added to what the output gives, array of shape (3 * H,); none if None
    weight_ih : what inputs give to the gates, array of shape (3 * H, inputs)
    bias_ih : added to what the inputs give, as `bias`

    Returns
    -------
    outputs : array of shape (L, N, H), or (N, H) of one step

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
    for of_input in _each(xp, x):
        r, z, n = called(xp, chunk, of_input, 3, axis=-1)
        r_kept, z_kept, n_kept = called(xp, chunk, called(xp, linear, h, weight, bias), 3, axis=-1)
        z = called(xp, sigmoid, z + z_kept)
        n = xp.tanh(n + called(xp, sigmoid, r + r_kept) * n_kept)
        h = (1 - z) * n + z * h
        outputs.append(h)
    return _all(xp, x, outputs)


def gru_numpy_flow(x, weight, h, /, bias=None, weight_ih=None, bias_ih=None):
    if not _alike(x, weight, h, bias, weight_ih, bias_ih):
        return NotImplemented
    if not _fits(3, x, weight, bias, weight_ih, bias_ih, h):
        return NotImplemented
    with np.errstate(over="ignore", invalid="ignore"):
        shares = _of_steps(x, weight_ih, bias_ih)
        kept = np.empty_like(shares)
        np.dot(h, weight.T, out=kept[0])
        if not (_finite(shares, kept[0], h) and (bias is None or _finite(bias))):
            return NotImplemented
        y, outputs = _outputs(x, weight.shape[1])
        _gru_steps(shares, weight, h, bias, kept, outputs)

    def pull(g, wanted):
        of_gates, of_kept, of_h = _gru_cotangents(g[0], weight, h, shares, kept, outputs, wanted)
        of_weight = of_bias = of_bias_ih = None
        if wanted[1]:
            of_weight = _of_weight(of_kept, _before(h, outputs))
        if wanted[3]:
            of_bias = of_kept.sum(axis=(0, 1))
        of_x, of_weight_ih = _of_inputs_before(of_gates, x, weight_ih, (wanted[0], wanted[4]))
        if wanted[5]:
            of_bias_ih = of_gates.sum(axis=(0, 1))
        return of_x, of_weight, of_h, of_bias, of_weight_ih, of_bias_ih

    return y, pull


@gru.def_kernel("numpy", flow=gru_numpy_flow, reads=("x", "weight", "h", "weight_ih", "y"))
def gru_numpy(x, weight, h, /, bias=None, weight_ih=None, bias_ih=None):
    return result_of(gru_numpy_flow(x, weight, h, bias, weight_ih, bias_ih))


def _gru_steps(shares: Any, weight: Any, h: Any, bias: Any, kept: Any, outputs: Any) -> None:
    """Go through all steps.

    Parameters
    ----------
    shares : what inputs give to the gates; becomes the gates, as shares and new values
    weight, h, bias : of the outputs before, and the one to begin with
    kept : what the outputs before give to the gates, of `h` but for the bias; the others are written to it
    outputs : is written to
    """
    n, transposed = weight.shape[1], _weight_of_steps(weight, len(shares))
    for t, gates in enumerate(shares):
        of_output = kept[t]
        if t:
            np.dot(h, transposed, out=of_output)
        if bias is not None:
            of_output += bias
        both, new = gates[:, : 2 * n], gates[:, 2 * n :]
        both += of_output[:, : 2 * n]
        to_reciprocals(np.negative(both, out=both))
        new += gates[:, :n] * of_output[:, 2 * n :]
        np.tanh(new, out=new)
        y = np.subtract(h, new, out=outputs[t])
        y *= gates[:, n : 2 * n]
        y += new
        h = y


def _gru_cotangents(
    g: Any, weight: Any, h: Any, shares: Any, kept: Any, outputs: Any, wanted: Any
) -> tuple[Any, Any, Any]:
    """Return the cotangents of what inputs and outputs before give to the gates, and of the state to begin with."""
    n, g = weight.shape[1], g.reshape(outputs.shape)
    r, z, new = (shares[..., place * n : (place + 1) * n] for place in range(3))
    # What the cotangents of the outputs are multiplied by.
    of_x = 1 - shares
    of_x *= shares
    parts = of_x.reshape(*outputs.shape[:2], 3, n)
    np.multiply(new, new, out=parts[:, :, 2])
    np.subtract(1, parts[:, :, 2], out=parts[:, :, 2])
    parts[:, :, 2] *= 1 - z
    parts[:, :, 0] *= kept[..., 2 * n :]
    parts[:, :, 0] *= parts[:, :, 2]
    parts[:, :, 1] *= _before(h, outputs) - new
    of_kept, of_h = np.empty_like(of_x), np.zeros_like(h)
    for t in reversed(range(len(of_x))):
        of_h += g[t]
        parts[t] *= of_h[:, None]
        of_kept[t] = of_x[t]
        of_kept[t, :, 2 * n :] *= r[t]
        of_h *= z[t]
        if t or wanted[2]:
            of_h += np.dot(of_kept[t], weight)
    return of_x, of_kept, of_h

"""Short-time Fourier transforms, `torch.stft` and `torch.istft`, and the windows of signals, `torch.signal.windows`."""

from __future__ import annotations

import inspect
import math
from functools import partial
from typing import Any

import numpy as np

from dispatchkit.as_torch.calling.window_checks import check_lengths_of_padding
from dispatchkit.as_torch.table import ALONE, TRANSLATIONS, Function
from dispatchkit.backends.arrays import dtype_name
from dispatchkit.declare.namespace import tensor_namespace as xp

# Windows.


def _cosines(t: Any, *factors: float) -> Any:
    """Return a sum of cosines with one, two and more periods from 0 to 1, of alternating signs."""
    return sum((-1) ** i * factor * np.cos(2 * math.pi * i * t) for i, factor in enumerate(factors))


# Of the numbers of elements, beginning with 0, and how many there are in a symmetric window.
WINDOWS: dict[str, Function] = {
    "bartlett": lambda k, n: 1 - np.abs(2 * k / (n - 1) - 1),
    "blackman": lambda k, n: _cosines(k / (n - 1), 0.42, 0.5, 0.08),
    "cosine": lambda k, n: np.sin(math.pi * (k + 0.5) / n),
    "exponential": lambda k, n, center=None, tau=1.0: np.exp(
        -np.abs(k - ((n - 1) / 2 if center is None else center)) / tau
    ),
    "gaussian": lambda k, n, std=1.0: np.exp(-(((k - (n - 1) / 2) / std) ** 2) / 2),
    "general_cosine": lambda k, n, a: _cosines(k / (n - 1), *a),
    "general_hamming": lambda k, n, alpha=0.54: _cosines(k / (n - 1), alpha, 1 - alpha),
    "hamming": lambda k, n: _cosines(k / (n - 1), 0.54, 0.46),
    "hann": lambda k, n: _cosines(k / (n - 1), 0.5, 0.5),
    "kaiser": lambda k, n, beta=12.0: (
        np.i0(beta * np.sqrt(np.maximum(1 - (2 * k / (n - 1) - 1) ** 2, 0))) / np.i0(beta)
    ),
    "nuttall": lambda k, n: _cosines(k / (n - 1), 0.3635819, 0.4891775, 0.1365995, 0.0106411),
}


def _window(formula, /, M, *, sym=True, dtype=None, device=None, requires_grad=False, **options):
    inspect.signature(formula).bind(M, M, **options)  # raises for others
    if dtype is not None and dtype_name(dtype) not in ("float32", "float64"):
        raise ValueError(f"windows are of float32 or float64, got dtype {dtype}")
    if M > 1:
        if sym:
            length = M
        else:
            length = M + 1
        values = formula(np.arange(M), length, **options)
    else:
        values = np.ones(M)
    if dtype is None:
        dtype = xp.get_default_dtype()
    return xp.tensor(values, dtype=dtype, device=device, requires_grad=requires_grad)


# Transforms.


def stft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    return_complex=None,
    align_to_window=None,
):
    arrays = [x for x in (input, window) if x is not None]
    is_complex = any(xp.isdtype(x.dtype, "complex floating") for x in arrays)
    if return_complex is None and not is_complex:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs, found None")
    if input.ndim not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, found {input.ndim}D")
    hop, factors = _hop_and_window("stft", input, n_fft, hop_length, win_length, window)
    if center:
        half = n_fft // 2
        if pad_mode != "constant":
            check_lengths_of_padding(input[None], (half, half), pad_mode)
        padded = TRANSLATIONS["nn.functional.pad"](input[None], (half, half), pad_mode)
        input = padded[0]
    length = input.shape[-1]
    if not 0 < n_fft <= length:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {length}, but got n_fft={n_fft}")
    starts = np.arange(1 + (length - n_fft) // hop) * hop
    frames = xp.take(input, xp.asarray(starts[:, None] + np.arange(n_fft)), axis=-1) * factors
    if onesided is None:
        onesided = not is_complex
    transform = xp.fft.fft
    if onesided:
        transform = xp.fft.rfft
    y = xp.swapaxes(transform(frames, axis=-1), -1, -2)
    if normalized:
        y = y / n_fft**0.5
    if return_complex is False:
        return TRANSLATIONS["view_as_real"](y)
    return y


def _is_onesided(rows, n_fft, onesided, return_complex):
    """Return whether a spectrum has the frequencies that say all of a real signal."""
    if onesided is None:
        onesided = rows != n_fft
    wanted = n_fft
    if onesided:
        wanted = n_fft // 2 + 1
    if rows != wanted:
        raise RuntimeError(f"istft: expected the frequency dimension to be {wanted}, found {rows}")
    if onesided and return_complex:
        raise RuntimeError(f"istft: one half of the frequencies, {rows} of {n_fft}, says nothing of a complex signal")
    return onesided


def istft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    normalized=False,
    onesided=None,
    length=None,
    return_complex=False,
):
    if not xp.isdtype(input.dtype, "complex floating"):
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft")
    if window is not None and xp.isdtype(window.dtype, "complex floating") and not return_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    onesided = _is_onesided(input.shape[-2], n_fft, onesided, return_complex)
    y = xp.swapaxes(input, -1, -2)
    if normalized:
        y = y * n_fft**0.5
    if onesided:
        frames = xp.fft.irfft(y, n=n_fft, axis=-1)
    elif return_complex:
        frames = xp.fft.ifft(y, axis=-1)
    else:
        # Of a real signal, one half of the frequencies says all.
        frames = xp.fft.irfft(y[..., : n_fft // 2 + 1], n=n_fft, axis=-1)
    hop, factors = _hop_and_window("istft", frames, n_fft, hop_length, win_length, window)
    count = frames.shape[-2]
    places = xp.asarray((np.arange(count)[:, None] * hop + np.arange(n_fft)).reshape(-1))
    total = n_fft + hop * (count - 1)
    lead = frames.shape[:-2]
    zeros = xp.zeros((*lead, total), dtype=frames.dtype)
    joined = TRANSLATIONS["index_add"](zeros, -1, places, xp.reshape(frames * factors, (*lead, -1)))
    squares = xp.broadcast_to(factors * factors, (count, n_fft))
    envelope = TRANSLATIONS["index_add"](xp.zeros(total, dtype=squares.dtype), 0, places, xp.reshape(squares, (-1,)))
    first, last = 0, total
    if center:
        first, last = n_fft // 2, total - n_fft // 2
    if length is not None:
        last = first + length
    kept, envelope = joined[..., first:last], envelope[first:last]
    if bool(xp.any(xp.abs(envelope) < 1e-11)):
        raise RuntimeError("istft: window overlap add min: 1, found a place that no window covers")
    y = kept / envelope
    missing = (length or 0) - y.shape[-1]
    if missing > 0:
        y = xp.concat([y, xp.zeros((*lead, missing), dtype=y.dtype)], axis=-1)
    return y


def _hop_and_window(name, like, n_fft, hop_length, win_length, window):
    """Return the distance of frames, and the factors of their elements."""
    hop, length = hop_length, win_length
    if hop is None:
        hop = n_fft // 4
    if length is None:
        length = n_fft
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={length}, n_fft={n_fft}")
    if name == "istft" and hop > length:
        raise RuntimeError(f"istft: expected 0 < hop_length <= win_length, found {hop} and {length}")
    if window is None:
        window = xp.ones(length, dtype=xp.real(like).dtype)
    if tuple(window.shape) != (length,):
        raise RuntimeError(f"{name}: expected a 1D window tensor of size {length}, found {tuple(window.shape)}")
    before = (n_fft - length) // 2
    return hop, xp.pad(window, {0: (before, n_fft - length - before)})


def _of_old_name(name):
    """Return a window by its old name, periodic unless something else is said."""
    formula = WINDOWS[name]

    def window(window_length, periodic=True, *, dtype=None, layout=None, device=None, requires_grad=False):
        made = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        return _window(formula, window_length, sym=not periodic, **made)

    def window_of_one(window_length, periodic=True, beta=12.0, *, dtype=None, device=None, requires_grad=False):
        made = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        return _window(formula, window_length, sym=not periodic, beta=beta, **made)

    def window_of_two(
        window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, device=None, requires_grad=False
    ):
        made = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        return _window(WINDOWS["general_cosine"], window_length, sym=not periodic, a=(alpha, beta), **made)

    return {"kaiser": window_of_one, "hamming": window_of_two}.get(name, window)


for _name in ("bartlett", "blackman", "hann", "hamming", "kaiser"):
    ALONE[f"{_name}_window"] = _of_old_name(_name)
ALONE.update({f"signal.windows.{name}": partial(_window, formula) for name, formula in WINDOWS.items()})
ALONE["stft"], ALONE["istft"] = stft, istft

"""Reductions of segments of an axis, and counts in the cells of a grid."""

from __future__ import annotations

import numpy as np

from dispatchkit.as_torch.shared import written_functions
from dispatchkit.as_torch.table import ALONE
from dispatchkit.declare.namespace import tensor_namespace as xp

# What a reduction of no elements gives.
NEUTRAL = {"sum": 0.0, "mean": 0.0, "max": -np.inf, "min": np.inf, "prod": 1.0}
OTHER_NAMES = {"amax": "max", "amin": "min"}


def _check_numbers(data, numbers):
    """Raise for elements that are not reduced, and for lengths and offsets that are no integers.

    Raises
    ------
    NotImplementedError : for integers and booleans
    RuntimeError : for the others
    """
    if not xp.isdtype(data.dtype, "real floating"):
        raise NotImplementedError(f'"segment_reduce" not implemented for {data.dtype}')
    if numbers["offsets"] is not None:
        numbers = numbers | {"lengths": None}  # which are not looked at then
    for name, value in numbers.items():
        if value is not None and not xp.isdtype(value.dtype, "signed integer"):
            raise RuntimeError(f"segment_reduce(): {name} must be integers, found {value.dtype}")


def _edges(data, lengths, offsets, axis, unsafe):
    """Return where segments begin, and behind them where the last one ends."""
    if offsets is not None:
        if not offsets.shape[-1:] or not offsets.shape[-1]:
            raise RuntimeError(
                f"segment_reduce(): offsets have one element more than there are segments, found {[*offsets.shape]}"
            )
        return np.asarray(offsets.detach())
    if lengths is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    lengths = np.asarray(lengths.detach())
    if not unsafe and lengths.min(initial=0) < 0:
        raise RuntimeError(f"segment_reduce(): lengths contains negative value: {lengths.min()}")
    if not unsafe and (lengths.sum(axis=-1) != data.shape[axis]).any():
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
            f"!unsafe, found {lengths.sum(axis=-1).tolist()} for {data.shape[axis]} elements"
        )
    return np.concatenate([np.zeros_like(lengths[..., :1]), lengths.cumsum(axis=-1)], axis=-1)


def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported; give lengths or offsets")
    reduce = OTHER_NAMES.get(reduce, reduce)
    if reduce not in NEUTRAL:
        raise RuntimeError(f"segment_reduce(): reduce must be one of {', '.join(NEUTRAL)}, found {reduce!r}")
    _check_numbers(data, {"lengths": lengths, "offsets": offsets})
    axis %= data.ndim
    edges = _edges(data, lengths, offsets, axis, unsafe)
    counts = np.diff(edges, axis=-1)
    if counts.min(initial=0) < 0:
        raise RuntimeError(f"segment_reduce(): Expected segment_length >= 0, found offsets {edges.tolist()}")
    start = initial
    if initial is None:
        start = NEUTRAL[reduce]
    elements = _padded(data, edges[..., :-1], counts, axis, start if reduce in ("max", "min") else NEUTRAL[reduce])
    if reduce in ("max", "min"):
        return getattr(xp, reduce)(elements, axis=axis + 1)
    if reduce == "prod":
        return xp.prod(elements, axis=axis + 1) * start
    total = xp.sum(elements, axis=axis + 1) + start
    if reduce == "sum":
        return total
    counts = xp.asarray(counts.reshape(*counts.shape, *(1,) * (data.ndim - axis - 1)), like=data)
    nothing = start
    if initial is None:
        nothing = np.nan
    return xp.where(counts == 0, nothing, total / xp.where(counts == 0, 1, counts))


def _padded(data, starts, counts, axis, filler):
    """Return the elements of segments along an axis of their own behind `axis`, with a filler at both of its ends."""
    numbers = np.arange(counts.max(initial=0))
    inside = numbers < counts[..., None]
    places = np.where(inside, starts[..., None] + numbers, 0)
    lead, rest = data.shape[:axis], data.shape[axis + 1 :]
    before = [along[..., None] for along in np.indices((*lead, 1), sparse=True)[:-1]]
    shape = (*counts.shape, len(numbers), *rest)
    if not data.numel():
        elements = xp.zeros(shape, dtype=data.dtype)
    else:
        elements = data[tuple(xp.asarray(place, like=data) for place in (*before, places))]
    inside = xp.asarray(inside.reshape(*inside.shape, *(1,) * len(rest)), like=data)
    filled = xp.where(inside, elements, xp.asarray(filler, dtype=data.dtype, like=data))
    end = xp.full((*counts.shape, 1, *rest), filler, dtype=data.dtype, like=data)
    return xp.concat([end, filled], axis=axis + 1)


def _check_grid(input, edges, weight):
    """Raise for points, edges of cells and weights that do not go together.

    Raises
    ------
    RuntimeError : naming them
    """
    if input.ndim < 2:
        raise RuntimeError(f"histogramdd: input has at least 2 axes, found shape {[*input.shape]}")
    if len(edges) != input.shape[-1]:
        raise RuntimeError(f"histogramdd: bins are {len(edges)} for points with {input.shape[-1]} coordinates")
    if weight is not None and (tuple(weight.shape) or (1,)) != tuple(input.shape[:-1]):
        raise RuntimeError(
            f"histogramdd: weight has the shape of input without the last axis, {[*input.shape[:-1]]}, found "
            f"{[*weight.shape]}"
        )
    for place, edge in enumerate(edges):
        if isinstance(edge, np.ndarray) and not (np.diff(edge) >= 0).all():
            raise RuntimeError(f"histogramdd: bins[{place}] must increase, found {edge.tolist()}; write bins.sort()[0]")


def _edges_or_count(bins):
    """Return the edges of cells along an axis, or how many there are, which a tensor without axes says, too."""
    if not hasattr(bins, "detach"):
        return bins
    if not bins.ndim:
        return int(bins)
    return np.asarray(bins.detach())


def histogramdd(input, bins, range=None, weight=None, density=False):
    if isinstance(bins, int) or hasattr(bins, "detach"):
        bins = [bins] * input.shape[-1]
    edges = [_edges_or_count(each) for each in bins]
    _check_grid(input, edges, weight)
    samples = np.asarray(input.detach()).reshape(-1, input.shape[-1])
    if range is not None:
        range = [*zip(range[::2], range[1::2], strict=True)]
    if weight is not None:
        weight = np.asarray(weight.detach()).reshape(-1)
    counts, used = np.histogramdd(samples, edges, range, density, weight)
    return xp.asarray(counts, dtype=input.dtype), tuple(xp.asarray(edge, dtype=input.dtype) for edge in used)


ALONE.update(written_functions(globals()))

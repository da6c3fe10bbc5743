"""Functions of networks on grids, alignments, draws and dropouts: `grid_sample`, `ctc_loss`, `dropout2d`, ..."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any

import numpy as np

from dispatchkit import nn
from dispatchkit.as_torch.shared import gradient_alone, in_memory, written_functions
from dispatchkit.as_torch.table import ALONE, TRANSLATIONS
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.graph.recording import no_grad
from dispatchkit.nn import functional
from dispatchkit.nn.functional.losses import check_reduction, reduced
from dispatchkit.protocol.frames import caller_frame, warn_at
from dispatchkit.tensor import Tensor

DROPPED = -1.7580993408473766  # what alpha dropout puts in place of an element: the least that SELU gives
# The logarithm of what cannot happen, finite so that slopes are.
NEVER = -1e30


# Alignments.


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    check_reduction("ctc_loss", reduction)
    single = log_probs.ndim == 2
    if single:
        log_probs = xp.expand_dims(log_probs, axis=1)
    if log_probs.ndim != 3:
        raise RuntimeError(f"Expected 3-dimensional tensor, but got {log_probs.ndim}-dimensional tensor for log_probs")
    steps, count, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be in label range, from 0 to {classes - 1}, found {blank}")
    lengths = _lengths("input_lengths", input_lengths, count, steps)
    ends = _lengths("target_lengths", target_lengths, count, None)
    labels = _labels(targets, ends, count)
    # Between the labels, before and behind them stand blanks.
    states = 2 * labels.shape[1] + 1
    extended = xp.full((count, states), blank, dtype=xp.int64)
    extended[:, 1::2] = labels
    index = xp.broadcast_to(extended[None], (steps, count, states))
    likely = xp.take_along_axis(log_probs, index, axis=-1)
    may_skip = xp.concat([xp.zeros((count, 2), dtype=bool), extended[:, 2:] != extended[:, :-2]], axis=1)
    may_skip = may_skip[:, :states] & (extended != blank)
    reached = xp.where(xp.arange(states) < 2, likely[0], NEVER)
    for step in range(1, steps):
        one = xp.pad(reached, {1: (1, 0)}, constant_values=NEVER)[:, :states]
        two = xp.where(may_skip, xp.pad(reached, {1: (2, 0)}, constant_values=NEVER)[:, :states], NEVER)
        after = xp.logsumexp(xp.stack([reached, one, two]), axis=0) + likely[step]
        reached = xp.where((step < lengths)[:, None], after, reached)
    last = 2 * ends[:, None]
    at_end = xp.take_along_axis(reached, last, axis=1)
    before = xp.where(last > 0, xp.take_along_axis(reached, xp.maximum(last - 1, 0), axis=1), NEVER)
    losses = -xp.logaddexp(at_end, before)[:, 0]
    beyond = losses > -NEVER / 10
    instead = math.inf
    if zero_infinity:
        instead = 0.0
    losses = xp.where(beyond, instead, losses)
    if reduction == "mean":
        return xp.mean(losses / xp.astype(xp.maximum(ends, 1), losses.dtype))
    if single and reduction == "none":
        return losses[0]
    return reduced(xp, losses, reduction)


def _lengths(name, values, count, most):
    """Return lengths as a tensor of integers, one for each sequence."""
    lengths = xp.reshape(xp.asarray(values), (-1,))
    if not xp.isdtype(lengths.dtype, "integral"):
        raise RuntimeError(f"{name} must be integral")
    if lengths.shape[0] != count:
        raise RuntimeError(f"{name} must be of size batch_size, {count}, found {lengths.shape[0]}")
    least, largest = int(xp.min(lengths)), int(xp.max(lengths))
    if least < 0:
        raise RuntimeError(f"Expected {name} to have value at least 0, but got value {least}")
    if most is not None and largest > most:
        raise RuntimeError(f"Expected {name} to have value at most {most}, but got value {largest}")
    return xp.astype(lengths, xp.int64)


def _labels(targets, ends, count):
    """Return targets of shape (N, S), which may stand one behind the other."""
    longest, total = int(xp.max(ends)), int(xp.sum(ends))
    wanted: tuple[int, ...] = (total,)
    if targets.ndim == 2:
        wanted = (count, max(longest, targets.shape[1]))
    if tuple(targets.shape) != wanted:
        raise RuntimeError(f"Expected targets of shape {[*wanted]}, but got {[*targets.shape]}")
    if targets.ndim == 2:
        return xp.astype(targets, xp.int64)
    starts = xp.cumulative_sum(ends) - ends
    places = starts[:, None] + xp.minimum(xp.arange(longest)[None], xp.maximum(ends - 1, 0)[:, None])
    return xp.astype(xp.take(targets, xp.minimum(places, targets.shape[0] - 1)), xp.int64)


# Grids.


def affine_grid(theta, size, align_corners=None):
    n = len(size) - 2
    if n not in (2, 3) or tuple(theta.shape) != (size[0], n, n + 1):
        raise ValueError(
            f"affine_grid: theta must have shape (N, {n}, {n + 1}) for size {tuple(size)}, found {tuple(theta.shape)}"
        )
    axes = []
    for length in size[2:]:
        along = xp.linspace(-1.0, 1.0, length, dtype=theta.dtype) if length > 1 else xp.zeros(1, dtype=theta.dtype)
        if not align_corners:
            along = along * ((length - 1) / length)
        axes.append(along)
    # The first coordinate is that of the last axis.
    coordinates = xp.meshgrid(*axes, indexing="ij")[::-1]
    base = xp.stack([*coordinates, xp.ones_like(coordinates[0])], axis=-1)
    y = xp.reshape(base, (1, -1, n + 1)) @ xp.matrix_transpose(theta)
    return xp.reshape(y, (size[0], *size[2:], n))


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    n = input.ndim - 2
    _check_sampling(input, grid, mode, padding_mode)
    lengths = input.shape[2:]
    if not input.numel() or not grid.numel():  # of any dtype
        return xp.zeros((*input.shape[:2], *grid.shape[1:-1]), dtype=input.dtype)
    # The first coordinate is that of the last axis.
    places = [_place(grid[..., n - 1 - axis], length, align_corners) for axis, length in enumerate(lengths)]
    into_axes = partial(_into_axes, lengths, padding_mode, align_corners)
    if mode == "bicubic":
        return _between(input, places, range(-1, 3), _cubic_share, into_axes)
    places = into_axes(places)
    if mode == "nearest":
        elements, inside = _elements(input, [xp.round(place.detach()) for place in places])
        return xp.where(inside, elements, 0)
    return _between(input, places, range(2), _linear_share, list)


def _check_sampling(input, grid, mode, padding_mode):
    n = input.ndim - 2
    if not input.ndim or not grid.ndim:
        raise np.exceptions.AxisError("Dimension specified as 0 but tensor has no dimensions")
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"grid_sample: mode must be 'bilinear', 'nearest' or 'bicubic', found {mode!r}")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"grid_sample: padding_mode must be 'zeros', 'border' or 'reflection', found {padding_mode!r}")
    if n not in (2, 3) or grid.ndim != n + 2 or grid.shape[-1] != n or grid.shape[0] != input.shape[0]:
        raise ValueError(
            f"grid_sample: grid must have shape (N, ..., {n}) for input of shape {tuple(input.shape)}, "
            f"found {tuple(grid.shape)}"
        )
    if 0 in input.shape[2:]:
        raise RuntimeError(
            f"grid_sample: expected input to have non-empty spatial dimensions, found shape {tuple(input.shape)}"
        )
    if mode == "bicubic" and n != 2:
        raise RuntimeError(
            f"grid_sample: bicubic interpolation only supports 4D input, found shape {tuple(input.shape)}"
        )


def _between(input, places, numbers, share_of, into_axes):
    """Return sums of the elements around places, each times its share.

    Parameters
    ----------
    input, places : the elements, and where between them along each of the last axes
    numbers : of the elements along an axis, counted from the one before a place
    share_of : gives the share of the element of a number, by the distance from the one before
    into_axes : moves whole places beyond the axes into these
    """
    first = [xp.floor(place.detach()) for place in places]
    with np.errstate(invalid="ignore"):
        apart = [place - least for place, least in zip(places, first, strict=True)]
    total = 0.0
    for corner in itertools.product(numbers, repeat=len(places)):
        weight = 1.0
        for number, distance in zip(corner, apart, strict=True):
            weight = weight * share_of(distance, number)
        at = [least + number for number, least in zip(corner, first, strict=True)]
        elements, inside = _elements(input, into_axes(at))
        weight = xp.expand_dims(weight, axis=1)
        if len(places) == 3:
            # In PyTorch nothing is added for what is beyond volumes, though the share may be NaN.
            weight = xp.where(inside, weight, 0)
        total = total + xp.where(inside, elements, 0) * weight
    return total


def _linear_share(distance, number):
    if number:
        return distance
    return 1.0 - distance


def _cubic_share(distance, number):
    """Return the share of an element by PyTorch's cubic convolution."""
    # At a whole place, where second derivatives jump, they are those of the side behind it.
    if number < 1:
        distance = distance - number
    else:
        distance = number - distance
    if number in (0, 1):
        return (1.25 * distance - 2.25) * distance**2 + 1
    return ((3.75 - 0.75 * distance) * distance - 6) * distance + 3


def _place(coordinate, length, align_corners):
    """Return places along an axis for coordinates from -1 to 1."""
    if align_corners:
        return (coordinate + 1) / 2 * (length - 1)
    return ((coordinate + 1) * length - 1) / 2


def _into_axes(lengths, padding_mode, align_corners, places):
    """Return places with those beyond axes moved into these, unless zeros stand there."""
    if padding_mode == "zeros":
        return list(places)
    moved = []
    for place, length in zip(places, lengths, strict=True):
        if padding_mode == "reflection":
            place = _reflected(place, length, align_corners)
        # At the ends and beyond there is no slope.
        ends = xp.clip(place.detach(), 0.0, length - 1.0)
        ends = xp.where(xp.isnan(ends), 0.0, ends)
        moved.append(xp.where((place > 0) & (place < length - 1), place, ends))
    return moved


def _reflected(place, length, align_corners):
    """Return places with those beyond an axis reflected at its ends."""
    least, span = -0.5, float(length)
    if align_corners:
        least, span = 0.0, length - 1.0
    if span == 0:
        return place * 0.0
    distance = xp.where(place < least, least - place, place - least)
    with np.errstate(invalid="ignore"):
        turns = xp.floor(distance.detach() / span)
        rest = distance - turns * span
        return xp.where(turns % 2 == 0, rest, span - rest) + least


def _elements(input, places):
    """Return the elements at whole places along the last axes, and which places are there."""
    count, channels, *lengths = input.shape
    flat, inside = xp.zeros((), dtype=xp.int64), True
    for place, length in zip(places, lengths, strict=True):
        within = (place >= 0) & (place <= length - 1)
        inside = inside & within
        flat = flat * length + xp.astype(xp.where(within, place, 0), xp.int64)
    shape = flat.shape[1:]
    size = math.prod(shape)
    index = xp.broadcast_to(xp.reshape(flat, (count, 1, size)), (count, channels, size))
    elements = xp.take_along_axis(xp.reshape(input, (count, channels, math.prod(lengths))), index, axis=-1)
    return xp.reshape(elements, (count, channels, *shape)), xp.expand_dims(inside, axis=1)


# Draws, norms and vectors.


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    if eps != 1e-10:
        warn_at(caller_frame(), "`eps` parameter is deprecated and has no effect.", UserWarning)
    smallest = float(xp.finfo(logits.dtype).smallest_normal)
    u = xp.clip(xp.random.uniform(shape=logits.shape, dtype=logits.dtype), smallest, None)
    y = xp.softmax((logits - xp.log(-xp.log(u))) / tau, axis=dim)
    if not hard:
        return y
    lengths = [1] * y.ndim
    lengths[dim] = y.shape[dim]
    numbers = xp.reshape(xp.arange(y.shape[dim]), tuple(lengths))
    chosen = xp.astype(numbers == xp.argmax(y, axis=dim, keepdims=True), y.dtype)
    return chosen + gradient_alone(y)


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if max_norm is not None:
        renormalize(weight, input, max_norm, norm_type)
    if scale_grad_by_freq:
        counts = xp.bincount(xp.reshape(input, (-1,)), minlength=weight.shape[0])
        shares = xp.astype(1 / xp.maximum(counts, 1), weight.dtype)[:, None]
        # The value of the weights, and their gradient divided by how often they are looked up.
        weight = weight.detach() + gradient_alone(weight) * shares
    return functional.embedding(input, weight, padding_idx=padding_idx)


def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2.0,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    _check_bags(input, weight, offsets, mode, scale_grad_by_freq, per_sample_weights)
    numbers, count = xp.reshape(input, (-1,)), input.shape[0]
    if offsets is None:
        bags = xp.repeat(xp.arange(count), input.shape[-1])
    else:
        count = offsets.shape[0] - include_last_offset
        bags = xp.searchsorted(offsets[:count], xp.arange(numbers.size), side="right") - 1
    vectors = embedding(numbers, weight, None, max_norm, norm_type, scale_grad_by_freq)
    padding = -1
    if padding_idx is not None:
        padding = padding_idx % weight.shape[0]
    counted = numbers != padding
    zeros = xp.zeros((count, weight.shape[1]), dtype=weight.dtype)
    if mode == "max":
        index = xp.broadcast_to(bags[counted][:, None], (int(xp.count_nonzero(counted)), weight.shape[1]))
        return TRANSLATIONS["scatter_reduce"](zeros, 0, index, vectors[counted], "amax", include_self=False)
    factors = xp.astype(counted, weight.dtype)
    if mode == "mean":
        factors = factors / xp.maximum(xp.bincount(bags, factors, minlength=count), 1.0)[bags]
    if per_sample_weights is not None:
        factors = factors * xp.reshape(per_sample_weights, (-1,))
    return xp.index_put(zeros, bags, vectors * factors[:, None], accumulate=True)


def _check_bags(input, weight, offsets, mode, scales, shares):
    if shares is not None and shares.shape != input.shape:
        raise ValueError(
            f"embedding_bag: per_sample_weights must have the shape of the input {[*input.shape]}, found "
            f"{[*shares.shape]}"
        )
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if input.ndim not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if input.ndim == 2 and offsets is not None:
        raise ValueError("if input is 2D, then offsets has to be None: each row is a bag")
    if input.ndim == 1 and (offsets is None or offsets.ndim != 1):
        raise ValueError("offsets has to be a 1D Tensor where input is 1D")
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode has to be one of sum, mean or max, found {mode!r}")
    if mode == "max" and scales:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if shares is not None and mode != "sum":
        raise NotImplementedError(f"per_sample_weights is only supported for mode='sum', found {mode!r}")


def renormalize(weight: Any, numbers: Any, max_norm: float, norm_type: float = 2.0) -> None:
    """Scale those of the rows that are looked up, in place, whose norm is above a bound."""
    with no_grad():
        rows = xp.unique_values(xp.reshape(numbers, (-1,)))
        vectors = weight.detach()[rows]
        norms = xp.linalg.vector_norm(vectors, ord=norm_type, axis=-1, keepdims=True)
        scaled = xp.where(norms > max_norm, vectors * (max_norm / (norms + 1e-7)), vectors)
        # Tangents stay as they are, as in PyTorch.
        weight[rows] = scaled + (weight[rows] - vectors)


def _lp_pool(axes):
    """Return the function of norms of windows over a number of axes."""
    layer = getattr(nn, f"AvgPool{axes}d")

    def lp_pool(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        count = kernel_size**axes if isinstance(kernel_size, int) else math.prod(kernel_size)
        mean = layer(kernel_size, stride, 0, ceil_mode)(input**norm_type)
        return (xp.sign(mean) * xp.abs(mean) * count) ** (1.0 / norm_type)

    return lp_pool


# Dropouts.


def _check_probability(name, p):
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: p must be from 0 to 1, found {p}")


def _dropout(input, p=0.5, training=True, inplace=False):
    _check_probability("dropout", p)
    if not training or p == 0 or not input.numel():
        return input
    if p == 1:
        return _nothing_of(input)
    return functional.dropout(input, p)


def _nothing_of(x):
    """Return an array times 0, in its dtype: of NaN and infinities, NaN."""
    return x * xp.zeros((), dtype=x.dtype)


def _dropout_of_channels(axes):
    """Return the function that replaces whole channels of arrays of some axes each."""
    name = f"dropout{axes}d"

    def dropout(input, p=0.5, training=True, inplace=False):
        _check_probability(name, p)
        _look_at_axes_of_channels(name, axes, input.ndim)
        before = 2
        if axes != 2 and input.ndim != axes + 2:
            before = 1  # of one sample alone; two axes are always taken for samples and channels
        if not training or p == 0 or not input.numel():
            return input
        if p == 1:
            return _nothing_of(input)
        if input.ndim < (2 if axes == 2 else 1):
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        shape = (*input.shape[:before], *(1,) * (input.ndim - before))
        if in_memory(input):
            return xp.multiply(input, functional.dropout(wrap_array(Tensor, np.ones(shape, input.array.dtype)), p))
        return input * functional.dropout(xp.ones(shape, dtype=input.dtype), p)

    return dropout


def _look_at_axes_of_channels(name, axes, found):
    """Refuse, or warn of, arrays of other numbers of axes than a dropout of channels is for."""
    where = f"{name} exists to provide channel-wise dropout on inputs with {axes} spatial dimension{'s' * (axes > 1)}"
    where += f", a channel dimension, and an optional batch dimension (i.e. {axes + 1}D or {axes + 2}D inputs)."
    expected = found in (axes + 1, axes + 2)
    if axes == 1 and not expected:
        raise RuntimeError(f"{name}: Expected 2D or 3D input, but received a {found}D input. Note that {where}")
    if not expected:
        text = (
            f"{name}: Received a {found}-D input to {name}, which is deprecated and will result in an error in a "
            f"future release. To retain the behavior and silence this warning, please use dropout instead. Note that "
            f"{where}"
        )
        warn_at(caller_frame(), text, UserWarning)
    if axes == 2 and found == 3:
        text = (
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
            "desired - input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change "
            "in a future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To "
            "maintain the 1D channel-wise dropout behavior, please switch to using dropout1d instead."
        )
        warn_at(caller_frame(), text, UserWarning)


# Of shapes that operations do not take.


def linear(input, weight, bias=None):
    if bias is None:
        return functional.linear(input, weight)
    of_weight, of_bias = tuple(weight.shape), tuple(bias.shape)
    if len(of_weight) == 1 and input.ndim == 2:
        raise RuntimeError(f"mat2 must be a matrix, got 1-D tensor: weight has shape {[*of_weight]}")
    if of_bias == of_weight[:1]:
        return functional.linear(input, weight, bias)
    y = functional.linear(input, weight)
    if np.broadcast_shapes(bias.shape, y.shape) != tuple(y.shape) or (
        bias.ndim > 2 and weight.ndim > 1 and input.ndim < 4
    ):
        raise RuntimeError(
            f"The expanded size of the tensor must match the existing size: bias has shape {[*bias.shape]}, the "
            f"product {[*y.shape]}"
        )
    return y + bias


def _adaptive_avg_pool(axes):
    """Return the function of averages of windows, of which there may be none."""
    pool = getattr(functional, f"adaptive_avg_pool{axes}d")

    def of_windows(input, output_size):
        lengths = output_size
        if not isinstance(lengths, (tuple, list)):
            lengths = (lengths,) * axes
        before, own = input.shape[: input.ndim - axes], input.shape[input.ndim - axes :]
        if 0 in own and set(lengths) == {1}:
            return xp.sum(input, axis=tuple(range(input.ndim - axes, input.ndim)), keepdims=True) * np.nan
        if 0 not in lengths and 0 not in before:
            return pool(input, output_size)
        rest = [length if asked is None else asked for asked, length in zip(lengths, own, strict=True)]
        return xp.zeros((*before, *rest), dtype=input.dtype)

    return of_windows


def _alpha_dropout(of_features, /, input, p=0.5, training=False, inplace=False):
    """Return elements of which some are replaced, scaled to the mean and variance that they had."""
    _check_probability("alpha_dropout", p)
    if not training or p == 0 or not input.numel():
        return input
    if p == 1:
        return _nothing_of(input)
    if of_features:
        shape = (*input.shape[:2], *(1,) * (input.ndim - 2))
    else:
        shape = input.shape
    kept = xp.random.bernoulli(1 - p, shape=shape) == 1
    scale = ((1 - p) * (1 + p * DROPPED**2)) ** -0.5
    # In the dtype of the elements, of which integers are taken where there are none.
    return xp.astype(scale * (xp.where(kept, input, DROPPED) - p * DROPPED), input.dtype, copy=False)


for _name, _function in written_functions(globals()).items():
    if _name != "renormalize":
        ALONE[f"nn.functional.{_name}"] = _function
TRANSLATIONS["nn.functional.embedding_bag"] = ALONE.pop("nn.functional.embedding_bag")
for _axes in (1, 2, 3):
    ALONE[f"nn.functional.lp_pool{_axes}d"] = _lp_pool(_axes)
    ALONE[f"nn.functional.adaptive_avg_pool{_axes}d"] = _adaptive_avg_pool(_axes)
    TRANSLATIONS[f"nn.functional.dropout{_axes}d"] = _dropout_of_channels(_axes)
ALONE["nn.functional.dropout"] = _dropout
TRANSLATIONS["nn.functional.alpha_dropout"] = partial(_alpha_dropout, False)
TRANSLATIONS["nn.functional.feature_alpha_dropout"] = partial(_alpha_dropout, True)

"""The functions of `torch.nn.functional` that are no operation, in terms of operations.

Parameters have the names and defaults that they have in PyTorch; what is deprecated there is left out. Losses give what
they reduce. What begins with an underscore is no function of PyTorch.
"""

from __future__ import annotations

import inspect
import math

import numpy as np

from dispatchkit import nn
from dispatchkit.as_torch.calling.promotion import common_dtype, in_common_dtype
from dispatchkit.as_torch.shared import (
    copy_if_recorded,
    in_floats,
    in_single_precision,
    in_spelling_of,
    kind_of,
    norm_of_vectors,
    of_one_shape,
    plain_array,
    written_functions,
)
from dispatchkit.as_torch.table import ALONE, TRANSLATIONS, is_array
from dispatchkit.backends.arrays import dtype_name, same_dtype
from dispatchkit.backends.numpy_sums import HALF, SINGLE
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.nn import functional
from dispatchkit.nn.functional.losses import check_reduction, reduced
from dispatchkit.nn.functional.shared import sizes
from dispatchkit.nn.functional.windows import Grid, Product, Windows, summed_windows
from dispatchkit.nn.resizing import interpolate as resized
from dispatchkit.nn.resizing import lengths_and_steps, new_lengths

STIRLING = 0.5 * math.log(2 * math.pi)


# Losses.


def _clipped(x):
    """Return elements, 0 in place of negative ones."""
    return xp.clip(x, 0.0, None)


def _sum_of_products(x, y):
    """Return the sum of products along the last axis: of integers in their dtype, which small ones leave."""
    products = x * y
    if xp.isdtype(products.dtype, "integral"):
        products = xp.astype(products, xp.int64)
    return xp.sum(products, axis=-1)


def cosine_embedding_loss(input1, input2, target, margin=0.0):
    squares = [_sum_of_products(x, x) + 1e-12 for x in (input1, input2)]
    y = _sum_of_products(input1, input2) / xp.sqrt(squares[0] * squares[1])
    return xp.where(target == 1, 1.0 - y, 0.0) + xp.where(target == -1, _clipped(y - margin), 0.0)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6):
    if not is_array(var):
        var = xp.full(input.shape, var, dtype=input.dtype)
    if var.shape != input.shape and var.shape == input.shape[:-1]:
        var = var[..., None]
    # PyTorch's gradient passes the least variance, too.
    var = var + _clipped(eps - var.detach())
    constant = 0.0
    if full:
        constant = STIRLING
    return 0.5 * (xp.log(var) + (input - target) ** 2 / var) + constant


def hinge_embedding_loss(input, target, margin=1.0):
    if xp.isdtype(input.dtype, "integral"):
        margin = int(margin)
    nothing = xp.zeros_like(input)
    return xp.where(target == -1, nothing, input) + xp.where(target == 1, nothing, xp.clip(margin - input, 0, None))


def margin_ranking_loss(input1, input2, target, margin=0.0):
    return _clipped(margin - target * (input1 - input2))


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None):
    if input.ndim < 2:
        rows = xp.reshape(input, (1, -1))
        return xp.reshape(multi_margin_loss(rows, xp.reshape(target, (1,)), p, margin, weight), ())
    apart = _clipped(margin - xp.take_along_axis(input, target[..., None], axis=-1) + input) ** p
    is_target = target[..., None] == xp.arange(input.shape[-1])
    loss = xp.sum(xp.where(is_target, 0.0, apart), axis=-1) / input.shape[-1]
    if weight is None:
        return loss
    return loss * weight[target]


def multilabel_margin_loss(input, target):
    if not (input.ndim and target.ndim):
        input, target = xp.reshape(input, (1,)), xp.reshape(target, (1,))
    # Targets end at the first -1.
    counts = (xp.cumulative_prod(xp.astype(target >= 0, xp.int64), axis=-1) == 1)[..., None]
    labels = xp.where(counts[..., 0], target, 0)
    is_target = xp.any((labels[..., None] == xp.arange(input.shape[-1])) & counts, axis=-2, keepdims=True)
    apart = _clipped(1.0 - xp.take_along_axis(input, labels, axis=-1)[..., None] + input[..., None, :])
    return xp.sum(xp.where(counts & ~is_target, apart, 0.0), axis=(-1, -2)) / input.shape[-1]


def multilabel_soft_margin_loss(input, target, weight=None):
    if not input.ndim:
        raise np.exceptions.AxisError("Dimension specified as -1 but tensor has no dimensions")
    target = xp.astype(target, common_dtype((in_floats(input), target)), copy=False)
    scores, target = xp.broadcast_arrays(input, target)
    if xp.isdtype(target.dtype, "complex floating"):
        loss = (target - 1) * functional.logsigmoid(-scores) - target * functional.logsigmoid(scores)
    else:
        loss = functional.binary_cross_entropy_with_logits(scores, target, reduction="none")
    if weight is not None:
        loss = loss * weight
    return xp.sum(loss, axis=input.ndim - 1) / input.shape[-1]


def poisson_nll_loss(input, target, log_input=True, full=False, *, eps=1e-8):
    input = in_floats(input)
    if xp.isdtype(target.dtype, "integral"):
        target = xp.astype(target, xp.real(input).dtype)
    if log_input:
        loss = xp.exp(input) - target * input
    else:
        loss = input - target * xp.log(input + eps)
    many = xp.maximum(target, 1.0)
    if full:
        return loss + xp.where(target > 1, (many + 0.5) * xp.log(many) - many + STIRLING, 0.0)
    return loss


def soft_margin_loss(input, target):
    # In the input's memory in PyTorch, and so in its dtype.
    target = xp.astype(target, input.dtype, copy=False)
    if xp.isdtype(input.dtype, "complex floating"):
        return xp.log(xp.exp(-target * input) + 1.0)
    return xp.logaddexp(-target * input, 0.0)


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False):
    distance = distance_function or pairwise_distance
    far = distance(anchor, negative)
    if swap:
        far = xp.minimum(far, distance(positive, negative))
    return _clipped(margin + distance(anchor, positive) - far)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False):
    options = {"distance_function": lambda x1, x2: pairwise_distance(x1, x2, p, eps), "margin": margin, "swap": swap}
    return triplet_margin_with_distance_loss(anchor, positive, negative, **options)


def kl_div(input, target, reduction="mean", log_target=False):
    if reduction != "batchmean":
        return functional.kl_div(*of_one_shape(input, target), reduction=reduction, log_target=log_target)
    # The batch is that of the input, also where that is shorter than the target.
    count = 1
    if input.ndim:
        count = input.shape[0]
    total = functional.kl_div(*of_one_shape(input, target), reduction="sum", log_target=log_target)
    if not count:  # the mean of nothing
        return total * np.nan
    return total / count


def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    bias = None
    if linear_bias is not None:
        bias = xp.reshape(linear_bias, (-1,))
    rows = (math.prod(linear_weight.shape[:-1]), input.shape[-1])
    scores = functional.linear(copy_if_recorded(input), xp.reshape(copy_if_recorded(linear_weight), rows), bias)
    scores = xp.reshape(scores, (*input.shape[:-1], *linear_weight.shape[:-1]))
    if ignore_index is None:
        ignore_index = -100
    given = {"ignore_index": ignore_index, "reduction": reduction, "label_smoothing": label_smoothing}
    return functional.cross_entropy(scores, target, weight, **given)


def l1_loss(input, target):
    return xp.abs(input - target)


def _smooth_l1_loss(input, target, reduction="mean", beta=1.0):
    if beta == 0:  # of any numbers, as they are
        return TRANSLATIONS["nn.functional.l1_loss"](input, target, reduction=reduction)
    return functional.smooth_l1_loss(input, target, reduction=reduction, beta=beta)


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False
):
    if not dropout_p > 0:
        dropout_p = 0.0
    if enable_gqa:
        # Each key and value serves several queries.
        times = query.shape[-3] // key.shape[-3]
        key, value = (xp.repeat(x, times, axis=-3) for x in (key, value))
    return functional.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)


def _reducing(each):
    """Return the loss that reduces what a function gives."""
    parameters = inspect.signature(each).parameters.values()
    last = inspect.Parameter("reduction", inspect.Parameter.KEYWORD_ONLY, default="mean")

    def loss(*args, reduction="mean", **kwargs):
        check_reduction(each.__name__, reduction)
        losses = each(*args, **kwargs)
        if reduction == "sum" and losses.dtype == np.uint8:
            losses = xp.astype(losses, xp.int64)
        return reduced(xp, losses, reduction)

    loss.__signature__ = inspect.Signature([*parameters, last])  # type: ignore[attr-defined]
    return loss


# Normalization, and what is drawn.


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    if not input.numel():
        return input
    if same_dtype(input.dtype, HALF):  # which does not hold the squares
        return xp.astype(local_response_norm(xp.astype(input, SINGLE), size, alpha, beta, k), HALF)
    squares = xp.pad(input * input, {1: (size // 2, (size - 1) // 2)})
    total = sum(squares[:, i : i + input.shape[1]] for i in range(size))
    return input / (total * (alpha / size) + k) ** beta


def silu(input, inplace=False):
    if kind_of(input) == "c":
        return input / (1.0 + xp.exp(-input))
    return functional.silu(input)


def softsign(input):
    if kind_of(input) == "c":
        return input / (1.0 + xp.abs(input))
    return functional.softsign(input)


@in_single_precision
def rrelu(input, lower=1 / 8, upper=1 / 3, training=False, inplace=False):
    if training:
        slope = xp.random.uniform(lower, upper, shape=input.shape, dtype=input.dtype)
    else:
        slope = (lower + upper) / 2
    return xp.where(input >= 0, input, input * slope)


# Of elements and pairs of them.


def pdist(input, p=2.0):
    first, second = np.triu_indices(input.shape[0], 1)
    return xp.linalg.vector_norm(input[first] - input[second], ord=p, axis=-1)


def bilinear(input1, input2, weight, bias=None):
    y = np.einsum("...i,oij,...j->...o", input1, weight, input2)
    if bias is None:
        return y
    return y + bias


# Of images.


def channel_shuffle(input, groups):
    n, c, *rest = input.shape
    return xp.reshape(xp.swapaxes(xp.reshape(input, (n, groups, c // groups, *rest)), 1, 2), input.shape)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    return upsample(input, size, scale_factor)


def upsample_bilinear(input, size=None, scale_factor=None):
    return upsample(input, size, scale_factor, "bilinear", True)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    product = Product(_grid(input.shape[-2:], kernel_size, dilation, padding, stride), 1)
    return product.like(input, product.side_by_side(xp, product.batch(input))[:, 0])


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    windows = _grid(sizes(nn.Conv2d, "output_size", output_size, 2), kernel_size, dilation, padding, stride)
    channels = input.shape[-2] // windows.size
    parts = xp.reshape(input, (*input.shape[:-2], channels, windows.size, *windows.counts))
    elements = [parts[..., i, :, :] for i in range(windows.size)]
    return summed_windows(xp, elements, (*parts.shape[:-3], *windows.lengths), input.dtype, windows)


def _grid(lengths, *options):
    """Return the windows over images of a kernel, dilation, padding and stride."""
    names = ("kernel_size", "dilation", "padding", "stride")
    named = zip(names, options, strict=True)
    kernels, gaps, ends, steps = (sizes(nn.Conv2d, name, n, 2, least=int(name != "padding")) for name, n in named)
    return Grid(map(Windows.along, lengths, kernels, steps, gaps, ends, ends))


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    _check_filled(input, mode)
    is_bytes = dtype_name(input.dtype) == "uint8" and mode in ("bilinear", "bicubic")
    if mode == "area" and input.ndim in (3, 4, 5) and align_corners is None and not antialias:
        lengths = new_lengths(input.shape[2:], size, scale_factor, least=0)
        if 0 in lengths:
            return xp.zeros((*input.shape[:2], *lengths), dtype=input.dtype)
    if not antialias and not is_bytes:
        return resized(input, size, scale_factor, mode, align_corners, recompute_scale_factor)
    if mode not in ("bilinear", "bicubic") or input.ndim != 4:
        if not antialias:
            raise ValueError(
                f"interpolate: expected input of shape (N, C, H, W) for mode={mode!r}, found {input.shape}"
            )
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input, found "
            f"mode={mode!r} and shape {tuple(input.shape)}"
        )
    lengths, steps = lengths_and_steps(input.shape[2:], size, scale_factor, recompute_scale_factor)
    y = input
    if is_bytes:
        y = xp.astype(input, xp.float64)
    # From the last axis on, since bytes are rounded after each.
    for axis in (3, 2):
        before, length, step = input.shape[axis], lengths[axis - 2], steps[axis - 2]
        if align_corners:
            step = (before - 1) / max(length - 1, 1) * (length > 1)
        if antialias:
            shares = _shares(before, length, step, mode == "bicubic")
        else:
            shares = _shares_of_neighbours(before, length, step, bool(align_corners), mode == "bicubic")
        if is_bytes:
            shares = _in_sixteen_bits(shares)
        weights = xp.asarray(shares, dtype=y.dtype)
        y = xp.moveaxis(xp.moveaxis(y, axis, -1) @ xp.matrix_transpose(weights), -1, axis)
        if is_bytes:
            y = xp.clip(xp.floor(y + 0.5), 0.0, 255.0)
    return y


def _check_filled(input, mode):
    """Raise for samples without elements, which have means over areas alone, and in volumes not these either.

    Raises
    ------
    RuntimeError : naming the shape
    """
    if input.ndim in (3, 4, 5) and 0 in input.shape[1:] and (mode != "area" or input.ndim == 5):
        raise RuntimeError(
            f"interpolate: Non-empty {input.ndim}D data tensor expected but got a tensor with sizes {[*input.shape]}"
        )


def _shares_of_neighbours(before, length, step, align_corners, cubic):
    """Return by how much each element of an axis has part in each of the new ones, between two or four of them."""
    places = np.arange(length) * step
    if not align_corners:
        places = (np.arange(length) + 0.5) * step - 0.5
    if not cubic:
        places = np.maximum(places, 0.0)
    first, shares = np.floor(places).astype(np.int64), np.zeros((length, before))
    numbers = range(2)
    if cubic:
        numbers = range(-1, 3)
    for number in numbers:
        apart = np.abs(places - first - number)
        weights = 1.0 - apart
        if cubic:
            inner, outer = (1.25 * apart - 2.25) * apart**2 + 1, ((3.75 - 0.75 * apart) * apart - 6) * apart + 3
            weights = np.where(apart <= 1, inner, outer)
        np.add.at(shares, (np.arange(length), np.clip(first + number, 0, before - 1)), weights)
    return shares


def _in_sixteen_bits(shares):
    """Return shares rounded as they are where images of bytes are resized by whole numbers."""
    bits = 0
    while bits < 22 and 0.5 + shares.max() * 2 ** (bits + 1) < 2**15:
        bits += 1
    return np.trunc(shares * 2**bits + np.copysign(0.5, shares)) / 2**bits


def _shares(before, length, step, cubic):
    """Return by how much each element of an axis has part in each of the new ones, which stand for what is near."""
    wide = max(step, 1.0)
    support = wide * (1.0, 2.0)[cubic]
    shares = np.zeros((length, before))
    for place in range(length):
        center = step * (place + 0.5)
        first = max(int(center - support + 0.5), 0)
        last = min(int(center + support + 0.5), before)
        apart = np.abs(np.arange(first, last) - center + 0.5) / wide
        weights = np.maximum(1.0 - apart, 0.0)
        if cubic:
            inner, outer = (1.5 * apart - 2.5) * apart**2 + 1, ((2.5 - 0.5 * apart) * apart - 4) * apart + 2
            weights = np.where(apart < 1, inner, np.where(apart < 2, outer, 0.0))
        shares[place, first:last] = weights / weights.sum()
    return shares


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    x1, x2 = of_one_shape(x1, x2)
    lengths = [_at_least(xp.linalg.vector_norm(x, axis=dim, keepdims=True), eps) for x in (x1, x2)]
    return xp.sum((x1 / lengths[0]) * (x2 / lengths[1]), axis=dim)


def _at_least(length, eps):
    """Return lengths, none less than a number; PyTorch's gradient passes that, too."""
    array = plain_array(length)
    if array is None:
        return length + _clipped(eps - length.detach())
    return in_spelling_of(length, np.maximum(array, array.dtype.type(eps)))


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    pair = {"x1": x1, "x2": x2}
    pair |= in_common_dtype(pair)
    return norm_of_vectors(in_floats(pair["x1"] - pair["x2"]) + eps, p, -1, keepdim)


for _name, _function in written_functions(globals()).items():
    if _name.endswith("_loss"):
        TRANSLATIONS[f"nn.functional.{_name}"] = _reducing(_function)
    else:
        TRANSLATIONS[f"nn.functional.{_name}"] = _function
TRANSLATIONS["nn.functional.smooth_l1_loss"] = _smooth_l1_loss
# Operations, but for complex numbers.
for _name in ("silu", "softsign"):
    ALONE[f"nn.functional.{_name}"] = TRANSLATIONS.pop(f"nn.functional.{_name}")

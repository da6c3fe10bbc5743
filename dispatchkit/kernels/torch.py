"""PyTorch's own layers for tensors that hold its arrays; gradients flow by its own graph.

A call that PyTorch refuses is left to the body, which computes it or says what is wrong.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import torch
import torch.nn.functional as theirs

from dispatchkit.backends.tracing import is_traced
from dispatchkit.nn import functional as ours
from dispatchkit.nn.functional.shared import result_of
from dispatchkit.ops.elementwise.comparison import relu
from dispatchkit.ops.reductions.softmaxes import log_softmax, softmax
from dispatchkit.ops.searching.searching import TopKResult, sort, topk

Function = Callable[..., Any]
INDICES = (torch.int32, torch.int64)
FLASH = 1  # what PyTorch calls attention that never holds all scores
REDUCTIONS = ("none", "mean", "sum")
DTYPES = frozenset({torch.float32, torch.float64, torch.float16, torch.bfloat16})


def kernel(
    operation: Any,
    gradients: Any = None,
    shapes: Sequence[str] = (),
    flow: Function | None = None,
    reads: Sequence[str] = (),
) -> Callable[[Function], Function]:
    """Declare a kernel for calls whose arrays are of one floating-point dtype, but for integers, and not empty."""

    def declare(forward: Function) -> Function:
        guarded = [None if function is None else _of_one_dtype(operation, function) for function in (forward, flow)]
        operation.def_kernel("torch", guarded[0], gradients, shapes, guarded[1], reads)
        return forward

    return declare


def _of_one_dtype(operation: Any, function: Function) -> Function:
    """Return a function for the calls that a kernel is for, with the signature of the operation."""

    @wraps(function)
    def compute(*args: Any, **kwargs: Any) -> Any:
        common = None
        for x in (*args, *kwargs.values()) if kwargs else args:
            if not isinstance(x, torch.Tensor):
                continue
            if not x.numel():
                return NotImplemented
            dtype = x.dtype
            if dtype is not common and (dtype.is_floating_point or dtype.is_complex):
                if common is not None or dtype not in DTYPES:
                    return NotImplemented
                common = dtype
        if common is None:
            return NotImplemented
        try:
            return function(*args, **kwargs)
        except torch.OutOfMemoryError:
            raise
        except (RuntimeError, ValueError, TypeError, IndexError):
            return NotImplemented

    compute.__signature__ = inspect.signature(operation)  # type: ignore[attr-defined]
    return compute


def below(x: Any, count: int) -> bool:
    """Return whether integers count something; in main memory PyTorch looks itself, on a device it cannot go on."""
    return not x.is_cuda or (not is_traced(x) and bool(((x >= 0) & (x < count)).all()))


def uneven(padding: Any, weight: Any) -> bool:
    """Return whether images are padded by more on one side, of which PyTorch warns."""
    return padding == "same" and any(n % 2 == 0 for n in weight.shape[2:])


def convolution_flow(axes: int) -> Function:
    """Return what convolves over a number of axes, and gives what takes cotangents back."""
    conv = getattr(theirs, f"conv{axes}d")

    def convolve_flow(x, weight, /, bias=None, *, stride=1, padding=0, dilation=1, groups=1):
        if isinstance(padding, str) or x.ndim != axes + 2:
            return NotImplemented
        y = conv(x, weight, bias, stride, padding, dilation, groups)
        each = [[n] * axes if isinstance(n, int) else n for n in (stride, padding, dilation)]
        lengths = None
        if bias is not None:
            lengths = bias.shape

        def pull(g, wanted):
            further = lengths, *each, False, [0] * axes, groups
            return torch.ops.aten.convolution_backward(g[0], x, weight, *further, wanted)

        return y, pull

    return convolve_flow


def largest_flow_over(axes: int) -> Function | None:
    """Return what takes the largest of windows over a number of axes, and gives what takes cotangents back."""
    if axes == 1:
        return None  # of which PyTorch has no such function
    compute, backward = (getattr(torch.ops.aten, f"max_pool{axes}d_with_indices{end}") for end in ("", "_backward"))

    def largest_flow(x, /, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
        if x.ndim - axes not in (1, 2):
            return NotImplemented
        windows = kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode
        y, places = compute(x, *windows)
        lost = y.isnan()

        def pull(g, wanted):
            g = g[0].masked_fill(lost, 0)  # no element receives the cotangent of NaN
            return (backward(g, x, *windows, places),)

        return y, pull

    return largest_flow


def declare_windowed(axes: int) -> None:
    """Declare the kernels of convolutions and poolings over a number of axes."""
    names = ("conv", "conv_transpose", "max_pool", "avg_pool")
    conv, conv_transpose, max_pool, avg_pool = (getattr(theirs, f"{name}{axes}d") for name in names)

    def convolve(x, weight, /, *bias, padding=0, **options):
        if uneven(padding, weight):
            return NotImplemented
        return conv(x, weight, *bias, padding=padding, **options)

    def largest(x, /, *args, **options):
        if x.ndim - axes not in (1, 2):
            return NotImplemented
        return max_pool(x, *args, **options)

    def average(x, /, *args, **options):
        if x.ndim - axes in (1, 2):
            return avg_pool(x, *args, **options)
        return NotImplemented

    flows = (convolution_flow(axes), ("x", "weight")), (None, ()), (largest_flow_over(axes), ()), (None, ())
    for name, forward, flow in zip(names, (convolve, conv_transpose, largest, average), flows, strict=True):
        if hasattr(ours, f"{name}{axes}d"):
            kernel(getattr(ours, f"{name}{axes}d"), None, (), *flow)(forward)


for _axes in (1, 2, 3):
    declare_windowed(_axes)


def attention_flow(query, key, value, /, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, generator=None):
    if dropout_p or attn_mask is not None or query.ndim != 4 or query.is_cuda or is_traced(query):
        return NotImplemented
    if not query.dtype is key.dtype is value.dtype:
        return NotImplemented
    if torch._fused_sdp_choice(query, key, value, None, 0.0, is_causal, scale=scale) != FLASH:
        return NotImplemented
    aten, arrays = torch.ops.aten, (query, key, value)
    y, total = aten._scaled_dot_product_flash_attention_for_cpu(*arrays, 0.0, is_causal, scale=scale)

    def pull(g, wanted):
        backward = aten._scaled_dot_product_flash_attention_for_cpu_backward
        return *backward(g[0], *arrays, y, total, 0.0, is_causal, scale=scale), None

    return y, pull


@kernel(ours.scaled_dot_product_attention, flow=attention_flow, reads=("query", "key", "value", "y"))
def scaled_dot_product_attention(
    query, key, value, /, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, generator=None
):
    # Where weights are replaced, the library's own generators draw.
    if dropout_p or (attn_mask is not None and (is_causal or attn_mask.ndim < 2)):
        return NotImplemented
    if not query.dtype is key.dtype is value.dtype:
        return NotImplemented
    return theirs.scaled_dot_product_attention(query, key, value, attn_mask, is_causal=is_causal, scale=scale)


def layer_norm_flow(x, /, normalized_shape, weight=None, bias=None, eps=1e-5):
    lengths = normalized_shape
    if isinstance(normalized_shape, int):
        lengths = (normalized_shape,)
    y, mean, factor = torch.native_layer_norm(x, lengths, weight, bias, eps)

    def pull(g, wanted):
        return torch.ops.aten.native_layer_norm_backward(g[0], x, lengths, mean, factor, weight, bias, wanted)

    return y, pull


@kernel(ours.layer_norm, flow=layer_norm_flow, reads=("x", "weight"))
def layer_norm(x, /, normalized_shape, weight=None, bias=None, eps=1e-5):
    lengths = normalized_shape
    if isinstance(normalized_shape, int):
        lengths = (normalized_shape,)
    return torch.layer_norm(x, lengths, weight, bias, eps)


def rms_norm_gradients(g, x, normalized_shape, weight, eps):
    if isinstance(normalized_shape, int):
        first = -1
    else:
        first = -len(normalized_shape)
    axes = tuple(range(first, 0))
    if eps is None:
        eps = torch.finfo(x.dtype).eps
    if x.dtype is not torch.float64:
        g, x = g.float(), x.float()
    scale = (x * x).mean(axes, keepdim=True).add_(eps).rsqrt_()
    normal = x * scale
    of_weight = None
    if weight is not None:
        of_weight = (g * normal).reshape(-1, *weight.shape).sum(0)
        g = g * weight
    return g.addcmul(normal, (g * normal).mean(axes, keepdim=True), value=-1).mul_(scale), of_weight


@kernel(ours.rms_norm, rms_norm_gradients)
def rms_norm(x, /, normalized_shape, weight=None, eps=None):
    lengths = normalized_shape
    if isinstance(normalized_shape, int):
        lengths = (normalized_shape,)
    return theirs.rms_norm(x, lengths, weight, eps)


@kernel(ours.group_norm)
def group_norm(x, /, num_groups, weight=None, bias=None, eps=1e-5):
    return theirs.group_norm(x, num_groups, weight, bias, eps)


@kernel(ours.batch_norm)
def batch_norm(x, /, running_mean=None, running_var=None, weight=None, bias=None, *, training=False, eps=1e-5):
    if training:
        running_mean = running_var = None
    return theirs.batch_norm(x, running_mean, running_var, weight, bias, training, 0.0, eps)


def cross_entropy_flow(x, target, /, weight=None, *, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
    # Of several axes, weights and shares of classes PyTorch's own graph says how they flow.
    plain = x.ndim == 2 and target.ndim == 1 and target.dtype is torch.int64 and not target.is_cuda
    if not plain or weight is not None or label_smoothing or reduction not in REDUCTIONS or is_traced(x):
        return NotImplemented
    how = REDUCTIONS.index(reduction)
    likely = torch.log_softmax(x, 1)
    y, count = torch.ops.aten.nll_loss_forward(likely, target, None, how, ignore_index)

    def pull(g, wanted):
        g = torch.ops.aten.nll_loss_backward(g[0], likely, target, None, how, ignore_index, count)
        return torch._log_softmax_backward_data(g, likely, 1, likely.dtype), None, None

    return y, pull


@kernel(ours.cross_entropy, flow=cross_entropy_flow, reads=("target",))
def cross_entropy(x, target, /, weight=None, *, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
    if not target.is_floating_point():
        if target.is_cuda and not below(torch.where(target == ignore_index, 0, target), x.shape[min(1, x.ndim - 1)]):
            return NotImplemented
        if target.dtype is torch.bool:
            return NotImplemented
        if target.dtype is not torch.int64:
            target = target.long()
    return theirs.cross_entropy(
        x, target, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
    )


def embedding_gradients(g, x, weight, padding_idx):
    count = weight.shape[0]
    padding = -1
    if padding_idx is not None:
        padding = padding_idx % count
    if x.dtype not in INDICES:
        x = x.long()
    return torch.ops.aten.embedding_dense_backward(g, x, count, padding, False)


@kernel(ours.embedding, {"weight": embedding_gradients}, shapes=("weight",))
def embedding(x, weight, /, *, padding_idx=None):
    if x.dtype is torch.bool or not below(x, len(weight)):
        return NotImplemented
    if x.dtype not in INDICES:
        x = x.long()
    return theirs.embedding(x, weight, padding_idx)


def linear_gradient_x(g, weight):
    if weight.ndim != 2 or weight.is_complex() or g.dtype is not weight.dtype:
        return NotImplemented
    return g @ weight


def linear_gradient_weight(g, x):
    if g.ndim != x.ndim or x.is_complex() or g.dtype is not x.dtype:
        return NotImplemented
    if g.ndim != 2:
        g, x = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
    return g.mT @ x


def linear_gradient_bias(g, bias):
    if bias.ndim != 1:
        return NotImplemented
    if g.ndim != 2:
        g = g.reshape(-1, g.shape[-1])
    return g.sum(0)


LINEAR_GRADIENTS = {"x": linear_gradient_x, "weight": linear_gradient_weight, "bias": linear_gradient_bias}


@kernel(ours.linear, LINEAR_GRADIENTS, shapes=("bias",))
def linear(x, weight, /, bias=None):
    # What is not of one batch of rows, a matrix and a vector is left to the body.
    if weight.ndim != 2 or x.ndim < 2 or (bias is not None and bias.ndim != 1):
        return NotImplemented
    return theirs.linear(x, weight, bias)


@kernel(relu, lambda g, y: torch.ops.aten.threshold_backward(g, y, 0))
def relu_of_floats(x, /):
    return torch.relu(x)


def softmax_gradient(g, y, axis):
    if isinstance(axis, int):
        return torch._softmax_backward_data(g, y, axis, y.dtype)
    return NotImplemented


def log_softmax_gradient(g, y, axis):
    if isinstance(axis, int):
        return torch._log_softmax_backward_data(g, y, axis, y.dtype)
    return NotImplemented


@kernel(softmax, softmax_gradient)
def softmax_along(x, /, *, axis=-1):
    if isinstance(axis, int):
        return torch.softmax(x, axis)
    return NotImplemented


@kernel(log_softmax, log_softmax_gradient)
def log_softmax_along(x, /, *, axis=-1):
    if isinstance(axis, int):
        return torch.log_softmax(x, axis)
    return NotImplemented


def gelu_gradient(g, x, approximate):
    if x.is_cuda or is_traced(x) or not x.sum().isfinite():
        x = x.clamp(-40, 40)  # beyond which the derivative is 0 or 1; PyTorch's is NaN at infinities
    return torch.ops.aten.gelu_backward(g, x, approximate=approximate)


@kernel(ours.gelu, gelu_gradient)
def gelu(x, /, *, approximate="none"):
    return theirs.gelu(x, approximate=approximate)


@kernel(ours.silu, lambda g, x: torch.ops.aten.silu_backward(g, x))  # noqa: PLW0108  # a rule has names
def silu(x, /):
    return theirs.silu(x)


@kernel(sort)
def sort_along(x, /, *, axis=-1, descending=False, stable=True):
    return torch.sort(x, dim=axis, descending=descending, stable=stable).values


def topk_gradient(g, y, x, axis):
    return torch.zeros_like(x).scatter_(axis, y[1], g[0])


@kernel(topk, topk_gradient)
def topk_along(x, /, k, axis=-1, largest=True, sorted=True):  # the operation's name
    if not k or is_traced(x):
        return NotImplemented
    values, indices = torch.topk(x, k + (k < x.shape[axis]), axis, largest, sorted=True)
    count = values.shape[axis] - 1
    ahead, behind = values.narrow(axis, 0, count), values.narrow(axis, 1, count)
    # PyTorch leaves open which of equal elements come, and in which order.
    if not bool((ahead > behind if largest else ahead < behind).all()):
        return NotImplemented
    if count == k:
        values, indices = ahead.contiguous(), indices.narrow(axis, 0, k).contiguous()
    return TopKResult(values, indices)


def recurrent_shapes(gates, x, weight, *states, bias, weight_ih, bias_ih):
    """Return whether shapes fit; the body says what is wrong where they do not."""
    n = weight.shape[-1]
    inputs = gates * n
    if weight_ih is not None:
        inputs = weight_ih.shape[-1]
    elif bias_ih is not None:
        return False
    fits = weight.shape == (gates * n, n) and x.ndim in (2, 3) and x.shape[-1] == inputs
    fits_inputs = weight_ih is None or weight_ih.shape == (gates * n, inputs)
    alike = all(state.shape == (x.shape[-2], n) for state in states)
    of_biases = all(part is None or part.shape == (gates * n,) for part in (bias, bias_ih))
    return fits and fits_inputs and alike and of_biases


def whole_layer(x, weight_ih, bias, bias_ih):
    """Return whether PyTorch's own layer computes a call: on a GPU it warns of weights that do not lie side by side."""
    return weight_ih is not None and (bias is None) is (bias_ih is None) and not x.is_cuda


def in_order(weight_ih, weight, bias_ih, bias):
    """Return the parameters of a layer as PyTorch's function takes them."""
    if bias is None:
        return [weight_ih, weight]
    return [weight_ih, weight, bias_ih, bias]


def of_one_step(x, weight_ih, bias_ih):
    """Return what the inputs of one step give to the gates."""
    if weight_ih is None:
        return x
    return theirs.linear(x, weight_ih, bias_ih)


def of_parameters(g, x, weight_ih, wanted):
    """Return the cotangents of inputs, their weight and a bias, of that of what inputs give to the gates in a step.

    Parameters
    ----------
    g, x, weight_ih : the cotangent, the inputs and their weight
    wanted : whether each of the three is
    """
    if weight_ih is None:
        return g, None, None
    return (
        g @ weight_ih if wanted[0] else None,
        g.T @ x if wanted[1] else None,
        g.sum(0) if wanted[2] else None,
    )


def lstm_flow(x, weight, h, c, /, bias=None, weight_ih=None, bias_ih=None):
    shapes = {"bias": bias, "weight_ih": weight_ih, "bias_ih": bias_ih}
    if x.ndim != 2 or is_traced(x) or not recurrent_shapes(4, x, weight, h, c, **shapes):
        return NotImplemented
    n, gates = weight.shape[1], theirs.linear(h, weight, bias)
    gates += of_one_step(x, weight_ih, bias_ih)
    new = gates[:, 2 * n : 3 * n].tanh()
    shares = gates.sigmoid_()
    i, f, _, o = shares.chunk(4, 1)
    memory = torch.addcmul(f * c, i, new)
    bounded = memory.tanh()

    def pull(g, wanted):
        of_memory = torch.addcmul(g[1], g[0] * o, 1 - bounded * bounded)
        slopes = torch.addcmul(shares, shares, shares, value=-1)
        torch.addcmul(i, i * new, new, value=-1, out=slopes[:, 2 * n : 3 * n])
        of_gates = slopes.view(-1, 4, n)
        of_gates *= torch.stack([new * of_memory, c * of_memory, of_memory, bounded * g[0]], 1)
        of_weight = of_h = of_bias = None
        if wanted[1]:
            of_weight = slopes.T @ h
        if wanted[2]:
            of_h = slopes @ weight
        if wanted[4]:
            of_bias = slopes.sum(0)
        of_x, of_weight_ih, of_bias_ih = of_parameters(slopes, x, weight_ih, (wanted[0], wanted[5], wanted[6]))
        return of_x, of_weight, of_h, of_memory * f, of_bias, of_weight_ih, of_bias_ih

    return (o * bounded, memory), pull


@kernel(ours.lstm, flow=lstm_flow, reads=("x", "weight", "h", "c", "weight_ih", "y"))
def lstm(x, weight, h, c, /, bias=None, weight_ih=None, bias_ih=None):
    if x.ndim == 2:
        return result_of(lstm_flow(x, weight, h, c, bias, weight_ih, bias_ih))
    shapes = {"bias": bias, "weight_ih": weight_ih, "bias_ih": bias_ih}
    if is_traced(x) or not recurrent_shapes(4, x, weight, h, c, **shapes):
        return NotImplemented
    if whole_layer(x, weight_ih, bias, bias_ih):
        parameters = in_order(weight_ih, weight, bias_ih, bias)
        follows = any(part.requires_grad for part in (x, h, c, *parameters))
        y, _, c = torch.lstm(x, (h[None], c[None]), parameters, bias is not None, 1, 0.0, follows, False, False)
        return y, c[0]
    if weight_ih is not None:
        x = theirs.linear(x, weight_ih, bias_ih)
    if bias is not None:
        x = x + bias
    outputs, transposed = [], weight.T
    for of_input in x.unbind():
        i, f, new, o = torch.addmm(of_input, h, transposed).chunk(4, 1)
        c = torch.addcmul(f.sigmoid() * c, i.sigmoid(), new.tanh())
        h = o.sigmoid() * c.tanh()
        outputs.append(h)
    return torch.stack(outputs), c


def gru_gradients(g, y, x, weight, h, bias, weight_ih, bias_ih):
    if x.ndim == 2:
        return NotImplemented
    n, inputs = weight.shape[1], x
    if weight_ih is not None:
        x = theirs.linear(x, weight_ih, bias_ih)
    before = torch.cat([h[None], y[:-1]])
    kept = (before.reshape(-1, n) @ weight.T).reshape(x.shape)
    if bias is not None:
        kept += bias
    r, z = (x[..., : 2 * n] + kept[..., : 2 * n]).sigmoid_().chunk(2, -1)
    of_last = kept[..., 2 * n :]
    new = torch.addcmul(x[..., 2 * n :], r, of_last).tanh_()
    of_new = (1 - z) * (1 - new * new)
    factors = torch.stack([of_new * of_last * r * (1 - r), (before - new) * z * (1 - z), of_new], dim=2)
    of_x, of_kept, of_h = torch.empty_like(x), torch.empty_like(x), torch.zeros_like(h)
    parts, last = of_x.view(*x.shape[:2], 3, n), of_kept.view(*x.shape[:2], 3, n)
    for t in reversed(range(len(x))):
        of_h = of_h + g[t]
        torch.mul(factors[t], of_h[:, None], out=parts[t])
        last[t, :, :2] = parts[t, :, :2]
        torch.mul(parts[t, :, 2], r[t], out=last[t, :, 2])
        of_h = torch.addmm(of_h * z[t], of_kept[t], weight)
    of_weight = of_kept.reshape(-1, 3 * n).T @ before.reshape(-1, n)
    of_bias = None
    if bias is not None:
        of_bias = of_kept.sum((0, 1))
    if weight_ih is None:
        return of_x, of_weight, of_h, of_bias, None, None
    of_bias_ih, of_gates = None, of_x.reshape(-1, 3 * n)
    if bias_ih is not None:
        of_bias_ih = of_gates.sum(0)
    return of_x @ weight_ih, of_weight, of_h, of_bias, of_gates.T @ inputs.reshape(len(of_gates), -1), of_bias_ih


def gru_flow(x, weight, h, /, bias=None, weight_ih=None, bias_ih=None):
    shapes = {"bias": bias, "weight_ih": weight_ih, "bias_ih": bias_ih}
    if x.ndim != 2 or is_traced(x) or not recurrent_shapes(3, x, weight, h, **shapes):
        return NotImplemented
    n, gates, kept = weight.shape[1], of_one_step(x, weight_ih, bias_ih), theirs.linear(h, weight, bias)
    r, z = (gates[:, : 2 * n] + kept[:, : 2 * n]).sigmoid_().chunk(2, 1)
    kept = kept[:, 2 * n :]
    new = torch.addcmul(gates[:, 2 * n :], r, kept).tanh_()

    def pull(g, wanted):
        g = g[0]
        of_new = g * (1 - z) * (1 - new * new)
        of_r, of_z = of_new * kept * (r * (1 - r)), g * (h - new) * (z * (1 - z))
        of_gates, of_kept = torch.cat([of_r, of_z, of_new], 1), torch.cat([of_r, of_z, of_new * r], 1)
        of_weight = of_h = of_bias = None
        if wanted[1]:
            of_weight = of_kept.T @ h
        if wanted[2]:
            of_h = torch.addmm(g * z, of_kept, weight)
        if wanted[3]:
            of_bias = of_kept.sum(0)
        of_x, of_weight_ih, of_bias_ih = of_parameters(of_gates, x, weight_ih, (wanted[0], wanted[4], wanted[5]))
        return of_x, of_weight, of_h, of_bias, of_weight_ih, of_bias_ih

    return torch.lerp(new, h, z), pull


@kernel(ours.gru, gru_gradients, flow=gru_flow, reads=("x", "weight", "h", "weight_ih"))
def gru(x, weight, h, /, bias=None, weight_ih=None, bias_ih=None):
    if x.ndim == 2:
        return result_of(gru_flow(x, weight, h, bias, weight_ih, bias_ih))
    shapes = {"bias": bias, "weight_ih": weight_ih, "bias_ih": bias_ih}
    if is_traced(x) or not recurrent_shapes(3, x, weight, h, **shapes):
        return NotImplemented
    if whole_layer(x, weight_ih, bias, bias_ih):
        parameters = in_order(weight_ih, weight, bias_ih, bias)
        return torch.gru(x, h[None], parameters, bias is not None, 1, 0.0, False, False, False)[0]
    if weight_ih is not None:
        x = theirs.linear(x, weight_ih, bias_ih)
    n, transposed, outputs = weight.shape[1], weight.T, []
    for of_input in x.unbind():
        kept = h @ transposed if bias is None else torch.addmm(bias, h, transposed)
        r, z = (of_input[:, : 2 * n] + kept[:, : 2 * n]).sigmoid_().chunk(2, 1)
        new = torch.addcmul(of_input[:, 2 * n :], r, kept[:, 2 * n :]).tanh_()
        h = torch.lerp(new, h, z)
        outputs.append(h)
    return torch.stack(outputs)

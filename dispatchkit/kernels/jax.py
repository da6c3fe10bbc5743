"""JAX's own functions for tensors that hold its arrays, where XLA makes less of the operation's body.

In `jax.jit` a body is compiled as if it was written by hand, so that few operations need a kernel. A call out of the
ordinary is left to the body, which computes it or says what is wrong.
"""

from __future__ import annotations

from functools import wraps
from math import pi
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from dispatchkit.backends.arrays import namespace_of
from dispatchkit.nn import functional as ours
from dispatchkit.nn.functional.convolution import product_of
from dispatchkit.nn.functional.windows import Windows
from dispatchkit.ops.elementwise.exponential import sigmoid
from dispatchkit.ops.linalg.contraction import einsum, lengths_of, read_operands
from dispatchkit.ops.reductions.softmaxes import log_softmax
from dispatchkit.ops.searching.searching import TopKResult, sort, topk
from dispatchkit.ops.shared import integer, normal_axis
from dispatchkit.protocol.instance import tensor_protocol


def kernel(operation: Any, gradients: Any = None) -> Any:
    """Declare a kernel for calls whose inexact arrays are real and of one dtype, and no array empty."""

    def declare(forward: Any) -> Any:
        @wraps(forward)
        def compute(*args: Any, **kwargs: Any) -> Any:
            arrays = [x for x in (*args, *kwargs.values()) if isinstance(x, jax.Array)]
            dtypes = {x.dtype for x in arrays if jnp.issubdtype(x.dtype, jnp.inexact)}
            if len(dtypes) != 1 or not all(x.size for x in arrays):
                return NotImplemented
            (dtype,) = dtypes
            if not jnp.issubdtype(dtype, jnp.floating):
                return NotImplemented
            return forward(*args, **kwargs)

        operation.def_kernel("jax", compute, gradients)
        return forward

    return declare


def convolve(x: Any, weight: Any, groups: int, *windows: Windows) -> Any:
    """Return the product of images (N, C, ...), or of one (C, ...), and a weight over windows along each axis."""
    alone = x.ndim == 1 + len(windows)
    # There may be fewer windows than fit.
    more = [(along.total - along.reach) // along.stride + 1 - along.count for along in windows]
    batch = x
    if alone:
        batch = x[None]
    y = lax.conv_general_dilated(
        batch,
        weight,
        window_strides=[along.stride for along in windows],
        padding=[(along.before, along.after - n * along.stride) for along, n in zip(windows, more, strict=True)],
        rhs_dilation=[along.dilation for along in windows],
        feature_group_count=groups,
    )
    if alone:
        return y[0]
    return y


def beyond_xla(*windows: Windows) -> bool:
    """Return whether XLA may end the process: its version of JAX 0.10 exchanges images and a larger weight wrongly.

    It does so for the gradient of images, where that has zeros between its elements.
    """
    return max(along.stride for along in windows) > 1 and any(along.kernel > along.count for along in windows)


def convolution(x: Any, weight: Any, bias: Any, groups: int, *windows: Windows) -> Any:
    pointwise = all(along.kernel == along.stride == 1 and along.total == along.length for along in windows)
    if pointwise or beyond_xla(*windows):  # the body of the first is one product of matrices
        return NotImplemented
    y = convolve(x, weight, groups, *windows)
    if bias is None:
        return y
    return y + jnp.reshape(bias, (-1,) + (1,) * len(windows))


def declare_convolution(op: Any) -> None:
    """Declare the kernel of a convolution."""

    @kernel(op)
    def conv(x, weight, /, bias=None, *, stride=1, padding=0, dilation=1, groups=1):
        product = product_of(op, x, weight, bias, stride, padding, dilation, groups)
        return convolution(x, weight, bias, product.groups, *product.windows)


def declare_transposed(op: Any) -> None:
    """Declare the kernel of a transposed convolution."""

    def of_images(g, x, weight, stride, padding, output_padding, groups, dilation):
        product = product_of(op, x, weight, None, stride, padding, dilation, groups, output_padding)
        return convolve(g, weight, product.groups, *product.windows)

    def of_weight(g, x, weight, stride, padding, output_padding, groups, dilation):
        product = product_of(op, x, weight, None, stride, padding, dilation, groups, output_padding)
        pull = jax.linear_transpose(lambda w: convolve(g, w, product.groups, *product.windows), weight)
        return pull(x)[0]

    # JAX's own gradient by the weight spreads zeros between the images first, which takes over ten times as long.
    @kernel(op, {"x": of_images, "weight": of_weight})
    def conv_transpose(x, weight, /, bias=None, *, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        product = product_of(op, x, weight, bias, stride, padding, dilation, groups, output_padding)
        windows = product.windows
        if beyond_xla(*windows):
            return NotImplemented
        lengths = weight.shape[1] * product.groups, *(along.length for along in windows)
        images = jax.ShapeDtypeStruct((*x.shape[: -len(lengths)], *lengths), x.dtype)
        y = jax.linear_transpose(lambda images: convolve(images, weight, product.groups, *windows), images)(x)[0]
        if bias is None:
            return y
        return y + jnp.reshape(bias, (-1,) + (1,) * len(windows))


_op: Any
for _op in (ours.conv1d, ours.conv2d, ours.conv3d):
    declare_convolution(_op)
for _op in (ours.conv_transpose1d, ours.conv_transpose2d, ours.conv_transpose3d):
    declare_transposed(_op)


@kernel(sigmoid)
def logistic(x, /):
    return lax.logistic(x)


def gelu_gradient(g, x, approximate):
    z = x * -(0.5**0.5)
    # The density beyond is 0, also times infinity.
    density = jnp.clip(x, -40, 40) * jnp.exp(-lax.square(z)) / (2 * pi) ** 0.5
    if approximate == "none":
        return g * (0.5 * lax.erfc(z) + density)
    return NotImplemented


@kernel(ours.gelu, gelu_gradient)
def gelu(x, /, *, approximate="none"):
    if approximate == "none":
        return 0.5 * x * lax.erfc(x * -(0.5**0.5))
    return NotImplemented


@kernel(log_softmax)
def log_softmax_along(x, /, *, axis=-1):
    if x.ndim and isinstance(axis, int):
        return jax.nn.log_softmax(x, axis)
    return NotImplemented


@kernel(sort)
def sort_along(x, /, *, axis=-1, descending=False, stable=True):
    # In descending order JAX reverses elements that tie.
    if descending:
        return jnp.flip(jnp.sort(jnp.flip(x, axis), axis), axis)
    return jnp.sort(x, axis)


@kernel(topk)
def topk_along(x, /, k, axis=-1, largest=True, sorted=True):  # the operation's name
    place, count = normal_axis(axis, x.ndim, topk.__name__), integer(topk, "k", k, least=0)
    if count > x.shape[place]:
        return NotImplemented
    # JAX orders zeros and NaN by their signs.
    keys = jnp.where(jnp.isnan(x), jnp.nan, jnp.where(x == 0, 0, x))
    if not largest:
        keys = -keys
    keys = jnp.moveaxis(keys, place, -1)
    indices = jnp.moveaxis(lax.top_k(keys, count)[1].astype(int), -1, place)
    return TopKResult(jnp.take_along_axis(x, indices, axis=place, mode="promise_in_bounds"), indices)


@kernel(ours.cross_entropy)
def cross_entropy(x, target, /, weight=None, *, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
    # JAX differentiates the whole of the body at once.
    keywords = {"ignore_index": ignore_index, "label_smoothing": label_smoothing, "reduction": reduction}
    return tensor_protocol.operation(ours.cross_entropy).source(namespace_of(x), x, target, weight, **keywords)


@kernel(einsum)
def einsum_at_once(subscripts, /, *operands, optimize=True):
    plain = lengths_of(read_operands(subscripts, operands)) == tuple(map(jnp.shape, operands)) and optimize is True
    if plain:
        return jnp.einsum(subscripts, *operands)
    return NotImplemented

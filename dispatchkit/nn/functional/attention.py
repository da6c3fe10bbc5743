"""`scaled_dot_product_attention`, and `dropout`, which it uses."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any

from dispatchkit.backends.arrays import computes_alone
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.wrapping import holds
from dispatchkit.func.checkpointing import checkpoint
from dispatchkit.graph.storage import Storage
from dispatchkit.nn.functional.attention_numpy import attention_flow
from dispatchkit.nn.functional.shared import called, expect, function, real_numbers, result_of
from dispatchkit.ops.random.generator import Generator
from dispatchkit.ops.reductions.softmaxes import softmax
from dispatchkit.ops.shared import Named, floating, shape_of
from dispatchkit.tensor import Tensor

__all__ = ["dropout", "scaled_dot_product_attention"]


@function(
    # Calls that draw nothing: they can be repeated, and batched.
    samples=lambda: [sample(draw(2, 3), p=0.0), sample(draw(3), training=False), sample(draw(2), p=1.0)],
)
def dropout(
    xp: Any, x: Tensor, /, p: float = 0.5, training: bool = True, *, generator: Generator | None = None
) -> Tensor:
    """Replace elements by zeros at random, and scale the others so that the expected value stays.

    Parameters
    ----------
    p : probability that an element is replaced
    training : otherwise nothing is done
    generator : to draw from, the default one, which `dispatchkit.manual_seed` sets, if None

    Returns
    -------
    floating-point array of the shape of `x`; a copy

    Raises
    ------
    ValueError : if the probability is not between 0 and 1

    Notes
    -----
    ``x * keep / (1 - p)``. Source: Srivastava et al., 2014; PyTorch, `torch.nn.functional.dropout`.

    Examples
    --------
    >>> _ = dk.manual_seed(0)
    >>> y = dk.nn.functional.dropout(dk.ones(1000), 0.2)
    >>> dk.unique_values(y)
    tensor([0.0000, 1.2500])
    >>> bool(0.9 < dk.mean(y) < 1.1)
    True
    """
    return dropped(xp, dropout, floating(xp, x), p, training, generator)


def dropped(xp: Any, op: Named, x: Any, p: float, training: bool, generator: Generator | None) -> Any:
    """Return an array with elements replaced by zeros.

    Raises
    ------
    ValueError : naming the operation and the probability
    """
    name = "dropout_p"
    if op is dropout:
        name = "p"
    probability(op, name, p)
    if not training or p == 0:
        return x * 1.0
    if p == 1:
        return x * 0.0
    # By the operation, which asks whoever transforms the call who draws.
    keep = tensor_namespace.random.bernoulli(1.0 - p, shape=tuple(x.shape), generator=generator)
    if xp is not tensor_namespace:
        keep = xp.asarray(keep.array)
    return x * xp.astype(keep * (1.0 / (1.0 - p)), x.dtype)


def probability(op: Named, parameter: str, p: Any) -> float:
    """Return a probability.

    Raises
    ------
    ValueError : if it is no number between 0 and 1
    """
    if not isinstance(p, (int, float)) or not 0 <= p <= 1:
        raise ValueError(f"{op.__name__}: {parameter} has to be a probability between 0 and 1, found {p!r}")
    return p


# Scores that are held at once, and how many there are in a block where there are more.
MOST, BLOCK = 1 << 22, 1 << 20


@function(
    samples=lambda: [
        sample(draw(2, 3), draw(2, 3), draw(2, 2)),
        sample(draw(2, 2, 2), draw(1, 3, 2), draw(1, 3, 1), is_causal=True),
        sample(draw(2, 2), draw(3, 2), draw(3, 2), draw(2, 3), scale=0.5),
        sample(draw(2, 2), draw(3, 2), draw(3, 2), draw(2, 3, content="boolean")),
    ],
    real=True,
)
def scaled_dot_product_attention(
    xp: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    /,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Average values with the softmax of the products of queries and keys as weights.

    Parameters
    ----------
    query : array of shape (..., L, E), of real numbers
    key : array of shape (..., S, E)
    value : array of shape (..., S, Ev)
    attn_mask : array that broadcasts to (..., L, S): booleans, whether a key takes part, or numbers to add to the
        products; all take part if None
    dropout_p : probability that a weight is replaced by zero
    is_causal : whether query i meets the keys up to i alone
    scale : of the products; 1 / sqrt(E) if None
    generator : to draw from where weights are replaced, the default one if None

    Returns
    -------
    array of shape (..., L, Ev); zeros for a query that no key takes part in

    Raises
    ------
    ValueError : if shapes do not fit, both a mask is given and `is_causal`, or the probability is not between 0 and 1

    Notes
    -----
    ``softmax(query @ key.T * scale + mask) @ value``. Of more than four million scores a block is held at a time, and
    the backward pass computes it again, unless weights are replaced by a generator that is given. Source: Vaswani et
    al., 2017, equation 1; PyTorch, `torch.nn.functional.scaled_dot_product_attention`.

    Examples
    --------
    >>> x = dk.asarray([[1.0, 0.0], [0.0, 1.0]])
    >>> dk.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)
    tensor([[1.0000, 0.0000],
            [0.3302, 0.6698]])
    """
    _check(query, key, value, attn_mask)
    if is_causal and attn_mask is not None:
        raise ValueError(f"{scaled_dot_product_attention.__name__}: attn_mask must be None where is_causal=True")
    factor = _factor_of_scores(query, scale)
    step = _rows_at_once(xp, query, key, value, attn_mask)

    def attended(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, first: int) -> Tensor:
        last = first + query.shape[-2]
        if is_causal and step is not None and last < key.shape[-2]:
            # No query of the block meets the other keys.
            key, value = key[..., :last, :], value[..., :last, :]
        scores = xp.matmul(query * factor, xp.matrix_transpose(key))
        if is_causal:
            weights = _weights_of_earlier(xp, scores, first)
        else:
            weights = _weights(xp, scores, mask)
        if dropout_p != 0:
            weights = dropped(xp, scaled_dot_product_attention, weights, dropout_p, True, generator)
        return xp.matmul(weights, value)

    # What is drawn from a generator of the caller's cannot be drawn again.
    if step is None or (dropout_p != 0 and generator is not None):
        return attended(query, key, value, attn_mask, 0)
    again = attended
    if xp is tensor_namespace:
        again = checkpoint(attended)
    blocks = []
    for first in range(0, query.shape[-2], step):
        rows = slice(first, first + step)
        blocks.append(again(query[..., rows, :], key, value, _rows_of(attn_mask, rows), first))
    return xp.concat(blocks, axis=-2)


def attention_numpy_flow(
    query, key, value, /, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, generator=None
):
    if dropout_p or 0 in shape_of(key)[-2:-1] or not computes_alone("numpy"):
        return NotImplemented
    return attention_flow(query, key, value, attn_mask, is_causal, scale, MOST)


@scaled_dot_product_attention.def_kernel("numpy", flow=attention_numpy_flow, reads=("value",))
def attention_numpy(
    query, key, value, /, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, generator=None
):
    return result_of(attention_numpy_flow(query, key, value, attn_mask, dropout_p, is_causal, scale=scale))


def _factor_of_scores(query: Any, scale: Any) -> Any:
    if scale is None:
        return 1 / sqrt(max(query.shape[-1], 1))
    return scale


def _rows_at_once(xp: Any, query: Any, key: Any, value: Any, mask: Any) -> int | None:
    """Return how many queries are to meet the keys at a time, None for all: where scores are many, a block of them.

    A backward pass computes the scores of one block after another again, so that they are never all held.
    """
    arrays = [x for x in (query, key, value, mask) if x is not None]
    if not (xp is numpy_namespace or (xp is tensor_namespace and all(isinstance(x, Storage) for x in arrays))):
        return None
    shapes = [shape_of(x)[:-2] for x in arrays]
    each = max(prod(shape) for shape in shapes) * key.shape[-2]
    if each * query.shape[-2] > MOST:
        return max(1, BLOCK // each)
    return None


def _rows_of(mask: Any, rows: slice) -> Any:
    """Return what a mask has for some of the queries."""
    if mask is None or mask.ndim < 2 or mask.shape[-2] == 1:
        return mask
    return mask[..., rows, :]


def _weights_of_earlier(xp: Any, scores: Any, first: int) -> Any:
    """Return the softmax of the scores of queries, from one on, and of the keys up to each."""
    earlier = xp.tril(xp.ones(tuple(scores.shape[-2:]), dtype=xp.bool), k=first)
    return _shares(xp, xp.where(earlier, scores, -float("inf")))


def _shares(xp: Any, scores: Any) -> Any:
    """Return the softmax of the scores of each query, which may be of no keys."""
    if not scores.shape[-1]:
        return scores
    return called(xp, softmax, scores, axis=-1)


def _weights(xp: Any, scores: Any, mask: Any) -> Any:
    """Return the softmax of scores of which a mask may leave some out, zeros where it leaves out all of a row."""
    if mask is None or not scores.shape[-1]:
        return _shares(xp, scores)
    if xp.isdtype(mask.dtype, "bool"):
        scores = xp.where(mask, scores, -float("inf"))
        alive = mask
        if mask.ndim:
            alive = xp.any(mask, axis=-1, keepdims=True)
    else:
        scores = scores + mask
        alive = xp.max(scores, axis=-1, keepdims=True) != -float("inf")
    if holds(alive):
        return called(xp, softmax, scores, axis=-1)
    weights = called(xp, softmax, xp.where(alive, scores, 0.0), axis=-1)
    return xp.where(alive, weights, 0.0)


def _check(query: Any, key: Any, value: Any, attn_mask: Any) -> None:
    """Raise if shapes do not fit, or numbers are complex."""
    op = scaled_dot_product_attention
    for name, x in (("query", query), ("key", key), ("value", value), ("attn_mask", attn_mask)):
        real_numbers(op, name, x)
    of_query, of_key, of_value = shape_of(query), shape_of(key), shape_of(value)
    expect(op, "query", of_query, len(of_query) >= 2, "(..., L, E)")
    right = len(of_key) >= 2 and of_key[-1] == of_query[-1]
    expect(op, "key", of_key, right, f"(..., S, {of_query[-1]}) for a query of shape {of_query}")
    right = len(of_value) >= 2 and of_value[-2] == of_key[-2]
    expect(op, "value", of_value, right, f"(..., {of_key[-2]}, Ev) for a key of shape {of_key}")
    if attn_mask is not None:
        wanted = (of_query[-2], of_key[-2])
        of_mask = shape_of(attn_mask)
        right = all(n in (1, length) for n, length in zip(of_mask[:-3:-1], wanted[::-1], strict=False))
        expect(op, "attn_mask", of_mask, right, f"one that broadcasts to (..., {wanted[0]}, {wanted[1]})")

"""Attention in several heads by weights that are given, `torch.nn.functional.multi_head_attention_forward`."""

from __future__ import annotations

import math

from dispatchkit.as_torch.table import ALONE
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.nn import functional
from dispatchkit.nn.attention import as_addend


def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    _check_arguments(query, embed_dim_to_check, num_heads, is_causal, attn_mask)
    single = query.ndim == 2
    if single:
        query, key, value = (xp.expand_dims(x, axis=1) for x in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = xp.expand_dims(key_padding_mask, axis=0)
    weights = (q_proj_weight, k_proj_weight, v_proj_weight)
    if not use_separate_proj_weight:
        weights = xp.split(in_proj_weight, 3, axis=0)
    biases = (None, None, None)
    if in_proj_bias is not None:
        biases = xp.split(in_proj_bias, 3, axis=0)
    parts = zip((query, key, value), weights, biases, strict=True)
    q, k, v = (functional.linear(x, weight, bias) for x, weight, bias in parts)
    if bias_k is not None:
        k, v = (_with_row(x, bias) for x, bias in ((k, bias_k), (v, bias_v)))
    count = query.shape[1]
    q = _heads(q, num_heads)
    k, v = (
        _heads(x, num_heads) if given is None else xp.reshape(given, (count, num_heads, *given.shape[1:]))
        for x, given in ((k, static_k), (v, static_v))
    )
    if add_zero_attn:
        k, v = (xp.concat([x, xp.zeros((*x.shape[:2], 1, x.shape[-1]), dtype=x.dtype)], axis=2) for x in (k, v))
    scores = xp.matmul(q / math.sqrt(q.shape[-1]), xp.matrix_transpose(k))
    for mask in _addends(attn_mask, key_padding_mask, scores):
        scores = scores + mask
    attention = xp.softmax(scores, axis=-1)
    if training and dropout_p:
        attention = functional.dropout(attention, dropout_p)
    y = xp.permute_dims(xp.matmul(attention, v), (2, 0, 1, 3))
    y = functional.linear(xp.reshape(y, query.shape), out_proj_weight, out_proj_bias)
    if average_attn_weights:
        attention = xp.mean(attention, axis=1)
    if single:
        y, attention = y[:, 0], attention[0]
    if not need_weights:
        return y, None
    return y, attention


def _check_arguments(query, embed_dim_to_check, num_heads, is_causal, attn_mask):
    """Raise for lengths that do not fit, and for a mask that is only hinted at."""
    size = query.shape[-1]
    if query.ndim not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor"
        )
    if size != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {size}")
    if size % num_heads:
        raise AssertionError(f"embed_dim {size} not divisible by num_heads {num_heads}")
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")


def _with_row(x, bias):
    """Return sequences with a vector of a parameter behind them."""
    return xp.concat([x, xp.broadcast_to(bias, (1, *x.shape[1:]))], axis=0)


def _heads(x, num_heads):
    """Return vectors of shape (L, N, E) as (N, heads, L, E / heads)."""
    return xp.permute_dims(xp.reshape(x, (*x.shape[:2], num_heads, -1)), (1, 2, 0, 3))


def _addends(of_pairs, of_keys, scores):
    """Yield what masks add to products (N, heads, L, S), 0 for keys that were put behind those that masks know."""
    count, heads, _, columns = scores.shape
    if of_pairs is not None:
        if of_pairs.ndim == 3:
            of_pairs = xp.reshape(of_pairs, (count, heads, *of_pairs.shape[1:]))
        yield _padded(as_addend(of_pairs, scores), columns)
    if of_keys is not None:
        yield _padded(as_addend(of_keys, scores), columns)[:, None, None, :]


def _padded(mask, columns):
    """Return a mask with zeros behind its last axis."""
    behind = xp.zeros((*mask.shape[:-1], columns - mask.shape[-1]), dtype=mask.dtype)
    return xp.concat([mask, behind], axis=-1)


ALONE["nn.functional.multi_head_attention_forward"] = multi_head_attention_forward

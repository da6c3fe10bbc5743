"""`MultiheadAttention`."""

from __future__ import annotations

import math
from typing import Any

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.recording import no_grad
from dispatchkit.nn.functional.affine import linear
from dispatchkit.nn.functional.attention import dropout, scaled_dot_product_attention
from dispatchkit.nn.init import xavier_uniform_
from dispatchkit.nn.linear import Linear, register_zeros
from dispatchkit.nn.module import Module
from dispatchkit.ops.shared import integer


class MultiheadAttention(Module):
    """A layer in which each vector of a sequence attends to those of another, in several heads.

    Parameters
    ----------
    embed_dim : length of the vectors
    num_heads : into which they are divided
    dropout : probability with which a weight of attention is replaced by zero in training
    bias : whether there are biases
    batch_first : whether sequences have the shape (N, L, embed_dim), rather than (L, N, embed_dim)
    device, dtype : of the parameters; the default floating-point dtype if None

    Attributes
    ----------
    in_proj_weight : parameter of shape (3 * embed_dim, embed_dim), for queries, keys and values
    in_proj_bias : parameter of shape (3 * embed_dim,), or None
    out_proj : the `Linear` layer behind

    Raises
    ------
    ValueError : if the heads do not divide the vectors

    Notes
    -----
    Source: Vaswani et al., 2017; PyTorch, `torch.nn.MultiheadAttention`, for keys and values as long as the queries.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> layer = dk.nn.MultiheadAttention(4, 2, batch_first=True)
    >>> x = dk.ones((1, 3, 4))
    >>> y, weights = layer(x, x, x)
    >>> y.shape, weights.shape
    ((1, 3, 4), (1, 3, 3))
    """

    in_proj_weight: Any
    in_proj_bias: Any

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        *,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.embed_dim = integer(type(self), "embed_dim", embed_dim, least=1)
        self.num_heads = integer(type(self), "num_heads", num_heads, least=1)
        if self.embed_dim % self.num_heads:
            raise ValueError(f"{type(self).__name__}: embed_dim={embed_dim} must be divisible by num_heads={num_heads}")
        self.dropout, self.batch_first = dropout, batch_first
        shape = 3 * embed_dim, embed_dim
        of_bias = None
        if bias:
            of_bias = shape[:1]
        register_zeros(self, device, dtype, in_proj_weight=shape, in_proj_bias=of_bias)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew, and set the biases to zeros."""
        xavier_uniform_(self.in_proj_weight)
        self.out_proj.reset_parameters()
        with no_grad():
            for bias in (self.in_proj_bias, self.out_proj.bias):
                if bias is not None:
                    bias.zero_()

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        """Attend.

        Parameters
        ----------
        query : array of shape (L, N, embed_dim), with `batch_first` (N, L, embed_dim), for one sequence (L, embed_dim)
        key, value : arrays of shape (S, N, embed_dim), or as `query` has its axes
        key_padding_mask : array of booleans of shape (N, S), true for keys that nobody attends to; or numbers to add
        need_weights : whether the weights of attention are returned; without, long sequences take less memory
        attn_mask : array of shape (L, S) or (N * num_heads, L, S): booleans, true where a query must not attend to a
            key, or numbers to add to the products
        average_attn_weights : whether the weights returned are the mean over the heads
        is_causal : whether query i meets the keys up to i alone, where there is no `attn_mask`

        Returns
        -------
        output : array of the shape of `query`
        weights : array of shape (N, L, S), for each head (N, num_heads, L, S), None without `need_weights`

        Notes
        -----
        True in a mask leaves a key out, as in PyTorch's layer, where in `scaled_dot_product_attention` it lets one in.
        """
        single, itself = len(query.shape) == 2, query is key is value
        if single:
            query, key, value = (xp.expand_dims(x, axis=0) for x in (query, key, value))
            if key_padding_mask is not None:
                key_padding_mask = xp.expand_dims(key_padding_mask, axis=0)
        elif not self.batch_first:
            query, key, value = (xp.moveaxis(x, 0, 1) for x in (query, key, value))
        q, k, v = self._projected(query, key, value, itself)
        mask = self._mask(key_padding_mask, attn_mask, q, k)
        p = 0.0
        if self.training:
            p = self.dropout
        if is_causal and mask is None and need_weights:
            mask = as_addend(xp.triu(xp.ones((q.shape[-2], k.shape[-2]), dtype=xp.bool), k=1), q)
        weights = None
        if need_weights:
            scores = xp.matmul(q / math.sqrt(q.shape[-1]), xp.matrix_transpose(k))
            if mask is not None:
                scores = scores + mask
            weights = dropout(xp.softmax(scores, axis=-1), p)
            y = xp.matmul(weights, v)
            if average_attn_weights:
                weights = xp.mean(weights, axis=1)
        else:
            y = scaled_dot_product_attention(q, k, v, mask, p, is_causal and mask is None)
        y = self.out_proj(xp.reshape(xp.moveaxis(y, 1, 2), query.shape))
        if single:
            if weights is not None:
                weights = weights[0]
            return y[0], weights
        if not self.batch_first:
            y = xp.moveaxis(y, 0, 1)
        return y, weights

    def _projected(self, query: Any, key: Any, value: Any, itself: bool) -> Any:
        """Return queries, keys and values of shape (N, num_heads, L, embed_dim / num_heads).

        A sequence that attends to itself takes one product with all of the weight.
        """
        if itself:
            y = linear(query, self.in_proj_weight, self.in_proj_bias)
            y = xp.reshape(y, (*y.shape[:2], 3, self.num_heads, -1))
            return xp.unstack(xp.permute_dims(y, (2, 0, 3, 1, 4)))
        return [self._heads(x, place) for place, x in enumerate((query, key, value))]

    def _heads(self, x: Any, place: int) -> Any:
        """Return queries, keys or values of shape (N, num_heads, L, embed_dim / num_heads)."""
        rows = slice(place * self.embed_dim, (place + 1) * self.embed_dim)
        bias = None
        if self.in_proj_bias is not None:
            bias = self.in_proj_bias[rows]
        y = linear(x, self.in_proj_weight[rows], bias)
        return xp.moveaxis(xp.reshape(y, (*y.shape[:2], self.num_heads, -1)), 1, 2)

    def _mask(self, of_keys: Any, of_pairs: Any, q: Any, k: Any) -> Any:
        """Return what is added to the products (N, num_heads, L, S), None for nothing."""
        mask = None
        if of_pairs is not None:
            mask = as_addend(of_pairs, q)
            if len(mask.shape) == 3:
                mask = xp.reshape(mask, (*q.shape[:2], q.shape[-2], k.shape[-2]))
        if of_keys is not None:
            of_padding = as_addend(of_keys, q)[:, None, None, :]
            if mask is None:
                mask = of_padding
            else:
                mask = mask + of_padding
        return mask


def as_addend(mask: Any, like: Any) -> Any:
    """Return a mask as numbers to add: minus infinity where it is true."""
    if not xp.isdtype(mask.dtype, "bool"):
        return mask
    return xp.where(mask, -math.inf, xp.zeros((), dtype=like.dtype))

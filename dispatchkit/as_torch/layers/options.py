"""What PyTorch's `Embedding` and `MultiheadAttention` have beyond the library's layers."""

from __future__ import annotations

from typing import Any

from dispatchkit.as_torch.spelling import FUNCTIONS
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.recording import no_grad
from dispatchkit.marks import override
from dispatchkit.nn import Embedding, MultiheadAttention
from dispatchkit.nn.functional.affine import linear
from dispatchkit.nn.init import xavier_normal_, xavier_uniform_
from dispatchkit.nn.linear import register_zeros

PLACES = ("q_proj_weight", "k_proj_weight", "v_proj_weight")


class Lookup(Embedding):
    """A layer that gives a vector for each number.

    Parameters
    ----------
    num_embeddings, embedding_dim, padding_idx, device, dtype : as of `dispatchkit.nn.Embedding`
    max_norm : above which vectors that are looked up are scaled, in place
    norm_type : of the norm
    scale_grad_by_freq : whether gradients are divided by how often a vector is looked up
    sparse : which says nothing here
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, device, dtype)
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.sparse = sparse
        if _weight is not None:
            if tuple(_weight.shape) != (num_embeddings, embedding_dim):
                raise ValueError(
                    f"Embedding: the weight must have shape {(num_embeddings, embedding_dim)}, "
                    f"found {tuple(_weight.shape)}"
                )
            self.weight = type(self.weight)(_weight.detach(), requires_grad=not _freeze)
        self.weight.requires_grad_(not _freeze)

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, **options: Any) -> Any:
        """Return a layer with given vectors.

        Parameters
        ----------
        embeddings : the vectors, of shape (number, length)
        freeze : whether they get no gradient
        **options : of the layer
        """
        if embeddings.ndim != 2:
            raise ValueError(f"Embedding: embeddings must be 2-dimensional, found shape {tuple(embeddings.shape)}")
        number, length = embeddings.shape
        return cls(number, length, _weight=embeddings, _freeze=freeze, **options)

    @override
    def forward(self, input: Any) -> Any:
        """Look up vectors."""
        return FUNCTIONS["nn.functional.embedding"](
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq
        )


class Attending(MultiheadAttention):
    """A layer in which each vector of a sequence attends to those of another, in several heads.

    Parameters
    ----------
    embed_dim, num_heads, dropout, bias, batch_first, device, dtype : as of `dispatchkit.nn.MultiheadAttention`
    add_bias_kv : whether there is a further key, with a value, that is learned
    add_zero_attn : whether there is a further key of zeros
    kdim, vdim : lengths of keys and values, those of queries if None
    """

    bias_k: Any
    bias_v: Any

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        self.__dict__["add_zero_attn"] = add_zero_attn
        super().__init__(embed_dim, num_heads, dropout, bias, batch_first=batch_first, device=device, dtype=dtype)
        self.add_zero_attn, self.bias_k, self.bias_v = add_zero_attn, None, None
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        if self._qkv_same_embed_dim:
            for name in PLACES:
                self.register_parameter(name, None)
        else:
            of_bias = self.in_proj_bias
            del self.in_proj_weight, self.in_proj_bias
            shapes = {name: (embed_dim, n) for name, n in zip(PLACES, (embed_dim, self.kdim, self.vdim), strict=True)}
            register_zeros(self, device, dtype, **shapes)
            self.in_proj_weight, self.in_proj_bias = None, of_bias
            for name in PLACES:
                xavier_uniform_(getattr(self, name))
        if add_bias_kv:
            del self.bias_k, self.bias_v
            register_zeros(self, device, dtype, bias_k=(1, 1, embed_dim), bias_v=(1, 1, embed_dim))
            xavier_normal_(self.bias_k)
            xavier_normal_(self.bias_v)

    @override
    def _heads(self, x: Any, place: int) -> Any:
        if self._qkv_same_embed_dim and self.bias_k is None and not self.add_zero_attn:
            return super()._heads(x, place)
        rows = slice(place * self.embed_dim, (place + 1) * self.embed_dim)
        bias, weight = None, self.in_proj_weight
        if self.in_proj_bias is not None:
            bias = self.in_proj_bias[rows]
        if self._qkv_same_embed_dim:
            weight = weight[rows]
        else:
            weight = getattr(self, PLACES[place])
        y = linear(x, weight, bias)
        further = []
        if place and self.bias_k is not None:
            further.append((self.bias_k, self.bias_v)[place - 1])
        if place and self.add_zero_attn:
            further.append(xp.zeros((1, 1, self.embed_dim), dtype=y.dtype, like=y))
        y = xp.concat([y, *(xp.broadcast_to(row, (y.shape[0], 1, self.embed_dim)) for row in further)], axis=1)
        return xp.moveaxis(xp.reshape(y, (*y.shape[:2], self.num_heads, -1)), 1, 2)

    @override
    def _mask(self, of_keys: Any, of_pairs: Any, q: Any, k: Any) -> Any:
        further = int(self.bias_k is not None) + int(self.add_zero_attn)
        if further:
            of_keys, of_pairs = (_longer(mask, further) for mask in (of_keys, of_pairs))
        return super()._mask(of_keys, of_pairs, q, k)


def _longer(mask: Any, further: int) -> Any:
    """Return a mask that lets further keys in."""
    if mask is None:
        return None
    with no_grad():
        room = xp.zeros((*mask.shape[:-1], further), dtype=mask.dtype, like=mask)
    return xp.concat([mask, room], axis=-1)

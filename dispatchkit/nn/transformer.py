"""The transformer: layers of attention and of a small network, stacks of them, and the two stacks together."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal, TypeAlias

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.nn.attention import MultiheadAttention
from dispatchkit.nn.containers import ModuleList
from dispatchkit.nn.functional.smooth import gelu
from dispatchkit.nn.init import xavier_uniform_
from dispatchkit.nn.linear import Dropout, Linear
from dispatchkit.nn.module import Module
from dispatchkit.nn.normalization import LayerNorm

Activation: TypeAlias = Literal["relu", "gelu"] | Callable[[Any], Any]


class TransformerLayer(Module):
    """What the layers of the two stacks share; a subclass names its layers of attention.

    Parameters
    ----------
    d_model : length of the vectors
    nhead : heads of attention
    dim_feedforward : length of the vectors inside of the network
    dropout : probability with which an element is replaced by zero in training
    activation : ``"relu"``, ``"gelu"`` or a function
    layer_norm_eps : added to variances
    batch_first : whether sequences have the shape (N, L, d_model), rather than (L, N, d_model)
    norm_first : whether what is added is normalized before it is computed, rather than the sum
    bias : whether there are biases
    device, dtype : of the parameters; the default floating-point dtype if None

    Raises
    ------
    ValueError : for another `activation`, or if the heads do not divide the vectors
    """

    attentions: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if not callable(activation) and activation not in ("relu", "gelu"):
            raise ValueError(
                f"{type(self).__name__}: activation must be 'relu', 'gelu' or a function, found {activation!r}"
            )
        place = {"device": device, "dtype": dtype}
        for name in self.attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **place))
        self.linear1 = Linear(d_model, dim_feedforward, bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **place)
        for n in range(1, len(self.attentions) + 2):
            setattr(self, f"norm{n}", LayerNorm(d_model, layer_norm_eps, bias=bias, **place))
        for n in range(1, len(self.attentions) + 2):
            setattr(self, f"dropout{n}", Dropout(dropout))
        self.norm_first = norm_first
        if callable(activation):
            self.activation = activation
        else:
            self.activation = {"relu": xp.relu, "gelu": gelu}[activation]

    def _add(self, x: Any, n: int, compute: Callable[[Any], Any]) -> Any:
        """Return sequences with what is computed of them added, normalized before or after."""
        norm, drop = getattr(self, f"norm{n}"), getattr(self, f"dropout{n}")
        if self.norm_first:
            return x + drop(compute(norm(x)))
        return norm(x + drop(compute(x)))

    def _attend(self, x: Any, n: int, memory: Any, mask: Any, padding: Any, is_causal: bool | None) -> Any:
        """Return sequences that have attended to others, to themselves where these are None."""
        layer = getattr(self, self.attentions[n - 1])

        def attend(x: Any) -> Any:
            to = memory
            if memory is None:
                to = x
            return layer(x, to, to, padding, need_weights=False, attn_mask=mask, is_causal=bool(is_causal))[0]

        return self._add(x, n, attend)

    def _feed(self, x: Any) -> Any:
        """Return sequences that have gone through the network."""

        def feed(x: Any) -> Any:
            return self.linear2(self.dropout(self.activation(self.linear1(x))))

        return self._add(x, len(self.attentions) + 1, feed)


class TransformerEncoderLayer(TransformerLayer):
    """A layer in which sequences attend to themselves, and then go through a small network.

    Parameters
    ----------
    d_model : length of the vectors
    nhead : heads of attention
    dim_feedforward : length of the vectors inside of the network
    dropout : probability with which an element is replaced by zero in training
    activation : ``"relu"``, ``"gelu"`` or a function
    layer_norm_eps : added to variances
    batch_first : whether sequences have the shape (N, L, d_model), rather than (L, N, d_model)
    norm_first : whether what is added is normalized before it is computed, rather than the sum
    bias : whether there are biases
    device, dtype : of the parameters; the default floating-point dtype if None

    Attributes
    ----------
    self_attn : the `MultiheadAttention`
    linear1, linear2 : the `Linear` layers of the network
    norm1, norm2 : a `LayerNorm` for each

    Raises
    ------
    ValueError : for another `activation`, or if the heads do not divide the vectors

    Notes
    -----
    Source: Vaswani et al., 2017; PyTorch, `torch.nn.TransformerEncoderLayer`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> layer = dk.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True)
    >>> layer(dk.ones((2, 5, 8))).shape
    (2, 5, 8)
    """

    attentions = ("self_attn",)

    def forward(
        self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = False
    ) -> Any:
        """Let sequences through the layer.

        Parameters
        ----------
        src : array of shape (L, N, d_model), with `batch_first` (N, L, d_model), for one sequence (L, d_model)
        src_mask, src_key_padding_mask : as `attn_mask` and `key_padding_mask` of `MultiheadAttention`
        is_causal : whether vector i attends to those up to i alone, where there is no `src_mask`

        Returns
        -------
        Array
            Array of the shape of `src`.
        """
        return self._feed(self._attend(src, 1, None, src_mask, src_key_padding_mask, is_causal))


class TransformerDecoderLayer(TransformerLayer):
    """A layer in which sequences attend to themselves, then to others, and then go through a small network.

    Parameters
    ----------
    d_model : length of the vectors
    nhead : heads of attention
    dim_feedforward : length of the vectors inside of the network
    dropout, activation, layer_norm_eps : as for `TransformerEncoderLayer`
    batch_first, norm_first, bias, device, dtype : as for `TransformerEncoderLayer`

    Attributes
    ----------
    self_attn, multihead_attn : each a `MultiheadAttention`
    linear1, linear2 : the `Linear` layers of the network
    norm1, norm2, norm3 : a `LayerNorm` for each

    Notes
    -----
    Source: Vaswani et al., 2017; PyTorch, `torch.nn.TransformerDecoderLayer`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> layer = dk.nn.TransformerDecoderLayer(8, 2, dim_feedforward=16, batch_first=True)
    >>> layer(dk.ones((2, 5, 8)), dk.ones((2, 3, 8)), tgt_is_causal=True).shape
    (2, 5, 8)
    """

    attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = False,
        memory_is_causal: bool = False,
    ) -> Any:
        """Let sequences through the layer.

        Parameters
        ----------
        tgt : array of shape (L, N, d_model), with `batch_first` (N, L, d_model), for one sequence (L, d_model)
        memory : sequences that it attends to, of shape (S, N, d_model), or as `tgt` has its axes
        tgt_mask, memory_mask : as `attn_mask` of `MultiheadAttention`
        tgt_key_padding_mask, memory_key_padding_mask : as its `key_padding_mask`
        tgt_is_causal, memory_is_causal : whether vector i attends to those up to i alone, where there is no mask

        Returns
        -------
        Array
            Array of the shape of `tgt`.
        """
        x = self._attend(tgt, 1, None, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        return self._feed(self._attend(x, 2, memory, memory_mask, memory_key_padding_mask, memory_is_causal))


class Stack(Module):
    """What stacks of layers share.

    Parameters
    ----------
    layer : of which each of the stack begins as a copy
    num_layers : how many
    norm : layer behind the last one
    """

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def _climb(self, x: Any, *others: Any) -> Any:
        """Return sequences that have gone through all layers, each with the same further arguments."""
        for layer in self.layers:
            x = layer(x, *others)
        if self.norm is None:
            return x
        return self.norm(x)


class TransformerEncoder(Stack):
    """A stack of encoder layers.

    Parameters
    ----------
    encoder_layer : a `TransformerEncoderLayer`, of which each of the stack begins as a copy
    num_layers : how many
    norm : layer behind the last one, such as `LayerNorm`
    enable_nested_tensor, mask_check : for PyTorch's signature; not read

    Notes
    -----
    Source: PyTorch, `torch.nn.TransformerEncoder`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> layer = dk.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True)
    >>> dk.nn.TransformerEncoder(layer, 3)(dk.ones((2, 5, 8)), is_causal=True).shape
    (2, 5, 8)
    """

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def forward(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None
    ) -> Any:
        """Let sequences through the layers.

        Parameters
        ----------
        src, mask, src_key_padding_mask, is_causal : as `TransformerEncoderLayer` takes them

        Returns
        -------
        Array
            Array of the shape of `src`.
        """
        return self._climb(src, mask, src_key_padding_mask, is_causal)


class TransformerDecoder(Stack):
    """A stack of decoder layers.

    Parameters
    ----------
    decoder_layer : a `TransformerDecoderLayer`, of which each of the stack begins as a copy
    num_layers : how many
    norm : layer behind the last one, such as `LayerNorm`

    Notes
    -----
    Source: PyTorch, `torch.nn.TransformerDecoder`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> layer = dk.nn.TransformerDecoderLayer(8, 2, dim_feedforward=16, batch_first=True)
    >>> dk.nn.TransformerDecoder(layer, 3)(dk.ones((2, 5, 8)), dk.ones((2, 3, 8))).shape
    (2, 5, 8)
    """

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """Let sequences through the layers.

        Parameters
        ----------
        tgt, memory, tgt_mask, memory_mask : as `TransformerDecoderLayer` takes them
        tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal, memory_is_causal : likewise

        Returns
        -------
        Array
            Array of the shape of `tgt`.
        """
        paddings = tgt_key_padding_mask, memory_key_padding_mask
        return self._climb(tgt, memory, tgt_mask, memory_mask, *paddings, tgt_is_causal, memory_is_causal)


class Transformer(Module):
    """An encoder, and a decoder that attends to what it gives.

    Parameters
    ----------
    d_model : length of the vectors
    nhead : heads of attention
    num_encoder_layers, num_decoder_layers : how many of each
    dim_feedforward, dropout, activation : as for `TransformerEncoderLayer`
    custom_encoder, custom_decoder : in the place of the stacks, if not None
    layer_norm_eps, batch_first, norm_first, bias, device, dtype : as for `TransformerEncoderLayer`

    Attributes
    ----------
    encoder : the `TransformerEncoder`
    decoder : the `TransformerDecoder`

    Notes
    -----
    Source: Vaswani et al., 2017; PyTorch, `torch.nn.Transformer`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> net = dk.nn.Transformer(8, 2, 1, 1, dim_feedforward=16, batch_first=True)
    >>> mask = net.generate_square_subsequent_mask(3)
    >>> net(dk.ones((2, 5, 8)), dk.ones((2, 3, 8)), tgt_mask=mask).shape
    (2, 3, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        sizes = d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps
        further = batch_first, norm_first, bias, device, dtype
        norms = [LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype) for _ in range(2)]
        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*sizes, *further), num_encoder_layers, norms[0]
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*sizes, *further), num_decoder_layers, norms[1]
        )
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        for parameter in self.parameters():
            if len(parameter.shape) > 1:
                xavier_uniform_(parameter)

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """Let sequences through the encoder, and others through the decoder.

        Parameters
        ----------
        src : what the encoder takes, of shape (S, N, d_model), with `batch_first` (N, S, d_model), or (S, d_model)
        tgt : what the decoder takes, of shape (L, N, d_model), or as `src` has its axes
        src_mask, tgt_mask, memory_mask : as `attn_mask` of `MultiheadAttention`, of the encoder, of the decoder on its
            own sequences, and of the decoder on what the encoder gives
        src_key_padding_mask, tgt_key_padding_mask, memory_key_padding_mask : likewise, as its `key_padding_mask`
        src_is_causal, tgt_is_causal, memory_is_causal : likewise, whether vector i attends to those up to i alone

        Returns
        -------
        Array
            Array of the shape of `tgt`.
        """
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        masks = tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        return self.decoder(tgt, memory, *masks, tgt_is_causal, memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
        """Return a mask by which vector i attends to those up to i alone: zeros, and minus infinity above the diagonal.

        Parameters
        ----------
        sz : length of the sequences
        device, dtype : of the mask; the default floating-point dtype if None

        Returns
        -------
        Array
            Array of shape (sz, sz).
        """
        return xp.triu(xp.full((sz, sz), -math.inf, device=device, dtype=dtype), k=1)

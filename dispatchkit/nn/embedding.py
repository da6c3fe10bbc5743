"""A table of vectors that are looked up by number: `Embedding`."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.graph.recording import no_grad
from dispatchkit.nn.functional.lookup import embedding
from dispatchkit.nn.init import normal_
from dispatchkit.nn.module import Module
from dispatchkit.nn.parameter import Parameter
from dispatchkit.ops.shared.arguments import integer

__all__ = ["Embedding"]


class Embedding(Module):
    """A layer that gives a vector for each number.

    Parameters
    ----------
    num_embeddings : of vectors, which are numbered from 0 on
    embedding_dim : length of a vector
    padding_idx : of the vector that starts as zeros and gets no gradient; negative ones count from the end
    device, dtype : of the vectors; the default floating-point dtype if None

    Attributes
    ----------
    weight : parameter of shape (num_embeddings, embedding_dim)

    Raises
    ------
    TypeError : if a size is no int
    ValueError : if one is negative, or there is no vector `padding_idx`

    Notes
    -----
    The vectors start with standard normal numbers. Source: PyTorch, `torch.nn.Embedding`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> layer = dk.nn.Embedding(10, 3, padding_idx=0)
    >>> layer
    Embedding(10, 3, padding_idx=0)
    >>> layer(dk.asarray([0, 0]))
    tensor([[0., 0., 0.],
            [0., 0., 0.]], grad_fn=<EmbeddingBackward>)
    """

    weight: Any

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = integer(type(self), "num_embeddings", num_embeddings, least=0)
        self.embedding_dim = integer(type(self), "embedding_dim", embedding_dim, least=0)
        self.padding_idx = padding_idx
        if padding_idx is not None:
            row = integer(type(self), "padding_idx", padding_idx)
            if not -self.num_embeddings <= row < self.num_embeddings:
                raise ValueError(
                    f"{type(self).__name__}: padding_idx must be within num_embeddings={num_embeddings}, found {row}"
                )
            self.padding_idx = row % self.num_embeddings
        shape = self.num_embeddings, self.embedding_dim
        self.weight = Parameter(tensor_namespace.zeros(shape, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the vectors anew."""
        normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0.0

    def forward(self, x: Any) -> Any:
        """Look up vectors.

        Parameters
        ----------
        x : array of integers of shape (...)

        Returns
        -------
        Array
            Array of shape (..., embedding_dim).
        """
        return embedding(x, self.weight, padding_idx=self.padding_idx)

    @override
    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"

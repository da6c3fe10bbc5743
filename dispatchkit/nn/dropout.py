"""Layers that leave elements out at random: `Dropout`."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from dispatchkit.nn.functional.dropping import dropout, probability
from dispatchkit.nn.module import Module

__all__ = ["Dropout"]


class Dropout(Module):
    """A layer that in training replaces elements by zeros at random, and scales the others.

    Parameters
    ----------
    p : probability that an element is replaced

    Raises
    ------
    ValueError : if the probability is not between 0 and 1

    Notes
    -----
    Source: PyTorch, `torch.nn.Dropout`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> layer = dk.nn.Dropout(0.2)
    >>> layer.eval()(dk.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = probability(type(self), "p", p)

    def forward(self, x: Any) -> Any:
        """Replace elements in training, none in evaluation.

        Parameters
        ----------
        x : array of any shape

        Returns
        -------
        Array
            Array of the shape of `x`.
        """
        return dropout(x, self.p, self.training)

    @override
    def extra_repr(self) -> str:
        return f"p={self.p}"

"""The vertices of the graph as tensors of PyTorch's spelling give them: their hooks get such tensors."""

from __future__ import annotations

from typing import Any

from dispatchkit.as_torch.calling.raised import raising_as_pytorch
from dispatchkit.as_torch.spelling import Tensor, spell
from dispatchkit.autograd import graph
from dispatchkit.graph.node import GradientEdge

__all__ = ["get_gradient_edge", "give_vertices"]


def grad_fn(self: Any) -> Any:
    """Return the recorded operation that made this tensor, None for leaves."""
    vertex = super(Tensor, self).grad_fn
    if vertex is not None:
        vertex.spell_by(spell)
    return vertex


@raising_as_pytorch
def get_gradient_edge(tensor: Any) -> GradientEdge:
    """Return the place of a tensor in the graph: see `dispatchkit.autograd.graph.get_gradient_edge`."""
    edge = graph.get_gradient_edge(tensor)
    edge.node.spell_by(spell)
    return edge


def give_vertices() -> None:
    """Give tensors the attribute."""
    setattr(Tensor, "grad_fn", property(grad_fn))  # noqa: B010  # a property in the place of another

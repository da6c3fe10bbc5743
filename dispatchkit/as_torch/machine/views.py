"""Views that PyTorch refuses to change in place while a graph is recorded, which would be right here."""

from __future__ import annotations

from typing import Any

from dispatchkit.as_torch.spelling import Tensor
from dispatchkit.autograd.function_node import FunctionNode
from dispatchkit.errors import AutogradError
from dispatchkit.graph.node import Node, NodeWrapper

__all__ = ["give_refusals"]

BEGINNING = "{name}: Output {index} of {node} is a view and is being modified inplace. "
OF_SEVERAL = (
    "This view is the output of a function that returns multiple views. Such functions do not allow the output views "
    "to be modified inplace. You should replace the inplace operation by an out-of-place one."
)
OF_FUNCTION = (
    "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
    "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
    "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
)
# Operations that give views of one tensor, and those that give several.
VIEWS = frozenset(
    {
        *("getitem", "reshape", "view", "strided_view", "part_view", "diagonal", "squeeze", "expand_dims"),
        *("broadcast_to", "t", "matrix_transpose", "permute_dims", "moveaxis", "swapaxes"),
    }
)
SEVERAL = frozenset({"unstack", "split", "chunk"})


def refuse_change(self: Any, name: str) -> None:
    """Raise for the views that PyTorch lets no program change in place, where the graph shows that this is one.

    Parameters
    ----------
    name : of the change

    Raises
    ------
    AutogradError : for one of several views that a function gave, such as `unbind`, for a view that a `Function`
        returned, and for views of these
    """
    root, outside = self._memory.root, self._memory.outside
    if root is self and not outside:
        return
    vertex: Any = self._node
    if root is not None:
        # What is between a tensor and the root of its views is a view.
        while _name_of(vertex) in VIEWS and vertex is not root._node:
            vertex = vertex.edges[0]
    main = getattr(vertex, "main", vertex)
    if isinstance(main, FunctionNode) and (outside or (root is not None and vertex is not root._node)):
        text = OF_FUNCTION
    elif _name_of(main) in SEVERAL:
        text = OF_SEVERAL
    else:
        return
    where = BEGINNING.format(name=name, index=getattr(vertex, "index", 0), node=main.name)
    raise AutogradError(where + text)


def _name_of(vertex: Any) -> str:
    """Return the name of the operation of a vertex, "" where it has none."""
    operation = getattr(vertex, "operation", None) if isinstance(vertex, Node) else None
    while isinstance(operation, NodeWrapper):
        operation = operation.inner
    return str(getattr(operation, "name", ""))


def give_refusals() -> None:
    """Let tensors refuse these changes."""
    setattr(Tensor, "_refuse_change", refuse_change)  # noqa: B010  # in the place of another
